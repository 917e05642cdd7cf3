// SPDX-License-Identifier: Apache-2.0
//
// Every public call with what no longer exists: a closed device, a destroyed object, and, in a
// forked process, a device of its parent.
#include "waiting.h"

#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/wait.h>

enum { EXPERTS = 8, ROW = 16, CHILD_SECONDS = 900, NO_MOUNT = 77 };

/// The objects that a program has made of a device. Pointers that are NULL are not used.
static struct {
    struct mw_multicast *group, *open_group; ///< bound, and not bound
    struct mw_dymulticast *object;
    struct mw_handle *handle;
} made;

static const uint16_t X[ROW], COEFFICIENT[EXPERTS];
static const int16_t IDX[1] = {3};
static const float WEIGHT[1] = {1};
static const struct mw_tokens PART[WAITING_GPUS] = {{1, X, IDX, WEIGHT}};

static void make_all(void)
{
    const struct mw_dymulticast_prop prop = {
        .size = sizeof prop, .block_bytes = 2 * ROW, .region_sets = 2, .k = 1, .experts = EXPERTS};
    assert_code(mw_multicast_create(device, 64, &made.group), 0);
    assert_code(mw_multicast_add_device(made.group, 1), 0);
    assert_code(mw_multicast_bind_addr(made.group, 0), 0);
    assert_code(mw_multicast_create(device, 64, &made.open_group), 0);
    assert_code(mw_multicast_add_device(made.open_group, 1), 0);
    assert_code(mw_dymulticast_create(device, &prop, &made.object), 0);
    assert_code(mw_dymulticast_bind_addr(made.object, WAITING_GPUS, 4), 0);
    assert_code(mw_handle_create(made.object, PART, COEFFICIENT, &made.handle), 0);
}

static void destroy_all(void)
{
    mw_multicast_destroy(made.group);
    mw_multicast_destroy(made.open_group);
    mw_dymulticast_destroy(made.object);
    mw_handle_destroy(made.handle);
    memset(&made, 0, sizeof made);
}

// ---- every call ---------------------------------------------------------------------------------

static char called[8192]; ///< names of those that were made, each between blanks

/// Number of failures. A child counts them, too, because cmocka must not end its process.
static unsigned wrong;

#define EXPECT(condition, name) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s: %s\n", name, mw_message()); \
            wrong++; \
        } \
    } while (0)

static void note(const char *name)
{
    snprintf(called + strlen(called), sizeof called - strlen(called), " %s ", name);
}

#define GONE(name, ...) \
    do { \
        note(#name); \
        EXPECT(name(__VA_ARGS__) == MW_ERR_STATE, #name); \
    } while (0)

static int progress(void *context, uint64_t tokens, uint64_t total, uint64_t cycles)
{
    (void)context, (void)tokens, (void)total, (void)cycles;
    return 0;
}

static void make_none(void *context, unsigned gpu, struct mw_stream *s)
{
    (void)context, (void)gpu;
    mw_stream_fence(s);
}

static void watched(void *context, const struct mw_watch_event *event)
{
    (void)context, (void)event;
}

static void calls_for_the_device(const struct mw_layout *layout)
{
    static struct mw_counters counters;
    static struct mw_load_counters loads;
    static struct mw_sum_counters sums;
    static struct mw_stream streams[WAITING_GPUS];
    static struct mw_simulation simulation;
    const struct mw_layer_config config = small_config();
    const struct mw_expert_place place = {0, 0, 0};
    const struct mw_dymulticast_prop prop = {
        .size = sizeof prop, .block_bytes = 2 * ROW, .region_sets = 2, .k = 1, .experts = EXPERTS};
    const unsigned some[WAITING_GPUS] = {1};
    uint16_t out[ROW], *rows[WAITING_GPUS] = {out};
    uint8_t data[16] = {0};
    const struct mw_transfer t = {0, 0, sizeof data, data};
    struct mw_layout made_layout;
    struct mw_device_info info;
    struct mw_firmware firmware;
    struct mw_selftest test;
    struct mw_log_entry entry;
    struct mw_port_counters port;
    struct mw_progress now;
    struct mw_sample sample[WAITING_GPUS];
    struct mw_multicast *group;
    struct mw_dymulticast *object;
    struct mw_gpu_set set = {{0}};
    uint32_t mask, number, bins[MW_HISTOGRAM_BINS];
    uint64_t first;
    size_t count;
    unsigned issued;
    for (unsigned g = 0; g < WAITING_GPUS; g++) {
        mw_stream_init(&streams[g]);
        mw_stream_end(&streams[g]);
    }
    GONE(mw_reset, device);
    GONE(mw_info, device, &info);
    GONE(mw_simulation_info, device, &simulation);
    GONE(mw_firmware_info, device, &firmware);
    GONE(mw_selftest, device, 1, &test, 1, &count);
    GONE(mw_log_read, device, 0, &entry, 1, &count);
    GONE(mw_mem_write, device, &t, 1);
    GONE(mw_mem_read, device, &t, 1);
    GONE(mw_expert_map_set, device, &place, 1);
    GONE(mw_expert_map_even, device, EXPERTS);
    GONE(mw_partition_set, device, 0, 1);
    GONE(mw_partition_set_wide, device, 0, &set);
    GONE(mw_ports_down, device, &mask);
    GONE(mw_ports_down_wide, device, &set);
    GONE(mw_port_enable, device, 0);
    GONE(mw_port_disable, device, 0);
    GONE(mw_port_limit, device, 3);
    GONE(mw_fault_set, device, 0, 0, 0);
    GONE(mw_multicast_create, device, 64, &group);
    GONE(mw_layout_make, device, &config, &made_layout);
    GONE(mw_layer_configure, device, &config, layout, some, some, 1);
    GONE(mw_stream_load, device, layout, streams, 1);
    GONE(mw_streams_load, device, layout, 1, make_none, NULL);
    GONE(mw_routing_load, device, layout->rt_base, 1, PART);
    GONE(mw_rows_load, device, layout->xs_base, 2 * ROW, 5, PART);
    GONE(mw_rows_read, device, layout->xs_base, 2 * ROW, 5, some, rows);
    GONE(mw_coefficients_load, device, layout, EXPERTS / WAITING_GPUS, COEFFICIENT);
    GONE(mw_launch, device);
    GONE(mw_wait, device, NULL, NULL);
    GONE(mw_query, device, &now);
    GONE(mw_cancel, device);
    GONE(mw_event_fd, device);
    GONE(mw_feed_layer, device, layout, MW_HANDLE_NONE, 0, &number);
    GONE(mw_feed, device, layout, 0, &number);
    GONE(mw_fed_wait, device, 0, NULL, NULL);
    GONE(mw_stream_position, device, 0, 0, &issued);
    GONE(mw_counters_read, device, &counters);
    GONE(mw_load_counters_read, device, &loads);
    GONE(mw_sum_counters_read, device, &sums);
    GONE(mw_port_counters_read, device, 0, &port);
    GONE(mw_monitor_set, device, 0, 0);
    GONE(mw_histogram_read, device, 0, bins);
    GONE(mw_series_read, device, 0, sample, 1, &first, &count);
    GONE(mw_watch, device, watched, NULL);
    GONE(mw_dymulticast_create, device, &prop, &object);
    note("mw_total_cycles");
    EXPECT(mw_total_cycles(device) == 0, "mw_total_cycles");
    note("mw_state_report");
    char *text = mw_state_report(device);
    EXPECT(text && strstr(text, "forked"), "mw_state_report");
    free(text);
}

static void calls_for_handles(void)
{
    uint16_t out[ROW], *rows[WAITING_GPUS] = {out};
    const struct mw_wait_options options = {.size = sizeof options, .progress = progress};
    const struct mw_typed_rows typed = {.x = out};
    const uint16_t *x[WAITING_GPUS] = {out, out, out, out};
    float weights[ROW], *dw[WAITING_GPUS] = {weights};
    struct mw_handle *cached;
    size_t count;
    GONE(mw_handle_set, made.handle, "tile", 2);
    GONE(mw_handle_create_cached, made.handle, x, NULL, &cached);
    GONE(mw_dispatch_cached, made.handle, x, NULL, &cached);
    GONE(mw_gate_gradients, made.handle, dw);
    GONE(mw_dispatch_start, made.handle, NULL);
    GONE(mw_dispatch_start, made.handle, &options);
    GONE(mw_dispatch_wait, made.handle, NULL, NULL);
    GONE(mw_received, made.handle, 3, NULL, out, 1, &count, NULL);
    GONE(mw_received, made.handle, 3, NULL, NULL, 0, &count, NULL);
    GONE(mw_received_typed, made.handle, 3, NULL, &typed, 1, &count, NULL);
    GONE(mw_expert_output, made.handle, 3, out, NULL);
    GONE(mw_combine, made.handle, rows, NULL, NULL);
    GONE(mw_combine, made.handle, rows, &options, NULL);
    GONE(mw_layer_run, made.handle, rows, NULL, NULL);
}

static void calls_for_objects(void)
{
    struct mw_layout layout;
    struct mw_handle *handle;
    const struct mw_typed_rows typed[WAITING_GPUS] = {{NULL, NULL, NULL}};
    GONE(mw_multicast_add_device, made.open_group, 0);
    GONE(mw_multicast_bind_addr, made.open_group, 0);
    GONE(mw_multicast_bind_addr, made.group, 64);
    GONE(mw_multicast_group, made.group);
    GONE(mw_multicast_group, made.open_group);
    GONE(mw_dymulticast_bind_addr, made.object, WAITING_GPUS, 4);
    GONE(mw_dymulticast_layout, made.object, &layout);
    GONE(mw_dispatch, made.object, PART, COEFFICIENT, &handle);
    GONE(mw_handle_create, made.object, PART, COEFFICIENT, &handle);
    GONE(mw_dispatch_typed, made.object, PART, typed, COEFFICIENT, &handle);
    GONE(mw_handle_create_typed, made.object, PART, typed, COEFFICIENT, &handle);
    calls_for_handles();
}

/// The header has no other call for a device, an object or a handle than those above,
/// and those that end one.
static void nothing_is_left_out(void)
{
    static const char *const ends[] = {"mw_open", "mw_close", "mw_multicast_destroy",
                                       "mw_dymulticast_destroy", "mw_handle_destroy"};
    static const char *const kinds[] = {"struct mw_device *", "struct mw_multicast *",
                                        "struct mw_dymulticast *", "struct mw_handle *"};
    char line[400];
    unsigned found = 0;
    FILE *f = fopen("driver/include/moeswitch.h", "r");
    EXPECT(f, "driver/include/moeswitch.h");
    while (f && fgets(line, sizeof line, f)) {
        char name[64];
        bool takes = false;
        const char *bracket = strchr(line, '(');
        if (strncmp(line, "MW_API ", 7) != 0 || !bracket)
            continue;
        for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
            takes = takes || strncmp(bracket + 1, kinds[i], strlen(kinds[i])) == 0 ||
                    (strncmp(bracket + 1, "const ", 6) == 0 &&
                     strncmp(bracket + 7, kinds[i], strlen(kinds[i])) == 0);
        const char *begin = bracket;
        while (begin > line && begin[-1] != ' ' && begin[-1] != '*')
            begin--;
        snprintf(name, sizeof name, " %.*s ", (int)(bracket - begin), begin);
        for (unsigned i = 0; i < sizeof ends / sizeof *ends; i++)
            takes = takes && strncmp(name + 1, ends[i], strlen(ends[i])) != 0;
        found += takes;
        EXPECT(!takes || strstr(called, name), name);
    }
    if (f)
        fclose(f);
    EXPECT(found > 40, "calls in the header");
}

// ---- close and destroy --------------------------------------------------------------------------

static void closed(void **state)
{
    (void)state;
    make_all();
    mw_close(device);
    device = NULL;
    const long calls = fake.calls;
    calls_for_objects();
    assert_int_equal(wrong, 0);
    assert_message("the device was closed");
    destroy_all();
    assert_int_equal(fake.calls, calls);
}

static void destroyed(void **state)
{
    (void)state;
    make_all();
    mw_dymulticast_destroy(made.object);
    made.object = NULL;
    const long calls = fake.calls;
    calls_for_handles();
    assert_int_equal(wrong, 0);
    assert_message("its object was destroyed");
    assert_int_equal(fake.calls, calls);
    destroy_all();
}

// ---- fork ---------------------------------------------------------------------------------------

/// A device of the child's own: a layer.
static void own_device(void)
{
    struct mw_device *own;
    struct mw_layer_config c = small_config();
    struct mw_layout l;
    const unsigned some[WAITING_GPUS] = {0};
    static struct fake another;
    fake_init(&another, WAITING_GPUS, 8);
    EXPECT(fake_open(&another, &own) == 0, "mw_open");
    EXPECT(mw_layout_make(own, &c, &l) == 0, "mw_layout_make");
    EXPECT(mw_layer_configure(own, &c, &l, some, some, 1) == 0, "mw_layer_configure");
    EXPECT(mw_launch(own) == 0, "mw_launch");
    EXPECT(mw_wait(own, NULL, NULL) == 0, "mw_wait");
    mw_close(own);
    fake_free(&another);
}

static void in_child(const struct mw_layout *layout)
{
    alarm(CHILD_SECONDS); // what hangs ends, and is seen
    const unsigned closed_before = fake.closed;
    const long calls = fake.calls;
    calls_for_the_device(layout);
    calls_for_objects();
    EXPECT(strstr(mw_message(), "forked from it: open a device here"), "message");
    nothing_is_left_out();
    own_device();
    destroy_all();
    mw_close(device);
    EXPECT(fake.calls == calls && fake.closed == closed_before, "the transport was called");
    _exit(wrong != 0);
}

static void fork_and_look(const struct mw_layout *layout)
{
    int status;
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (!child)
        in_child(layout);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/// Forks of a process with an idle device, and with one whose lock is in use. A thread that waits
/// and the descriptor's thread use it. The parent's calls still work afterwards.
static void forked(void **state)
{
    (void)state;
    struct mw_layer_config c = small_config();
    struct mw_layout layout;
    struct waiter w = {0};
    uint16_t out[ROW], *rows[WAITING_GPUS] = {out};
    assert_code(mw_layout_make(device, &c, &layout), 0);
    make_all();
    fork_and_look(&layout);
    const int fd = mw_event_fd(device);
    assert_true(fd >= 0);
    start_long();
    begin_wait(&w);
    for (unsigned i = 0; i < 5; i++) // wherever in a slice they are
        fork_and_look(&layout);
    slices = MOST_SLICES;
    pthread_join(w.thread, NULL);
    assert_code(w.code, 0);
    struct pollfd p = {.fd = fd, .events = POLLIN};
    assert_int_equal(poll(&p, 1, 5000), 1);
    assert_code(mw_combine(made.handle, rows, NULL, NULL), 0);
    assert_int_equal(mw_event_fd(device), fd); // it is the parent's still
    destroy_all();
}

/// If a child closes a shared device, its parent still shares it.
static void forked_shared(void **state)
{
    (void)state;
    char folder[] = "/tmp/mw-gone-XXXXXX", inside[sizeof folder + 16];
    struct mw_shared_id id;
    struct mw_shared shared;
    struct mw_open_options o;
    size_t count;
    int status;
    assert_non_null(mkdtemp(folder));
    setenv("XDG_RUNTIME_DIR", folder, 1);
    mw_close(device);
    mw_open_defaults(&o);
    o.gpus = WAITING_GPUS;
    o.flit_bytes = 8;
    o.custom = &fake_transport;
    o.custom_context = &fake;
    o.share = true;
    assert_code(mw_open(&o, &device), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        alarm(CHILD_SECONDS);
        mw_close(device);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_code(mw_shared_list(&id, 1, &count), 0);
    assert_int_equal(count, 1);
    assert_int_equal(id.pid, getpid());
    assert_code(mw_shared_look(&id, 50, &shared), 0);
    mw_close(device);
    device = NULL;
    assert_code(mw_shared_list(&id, 1, &count), 0);
    assert_int_equal(count, 0);
    snprintf(inside, sizeof inside, "%s/moeswitch", folder);
    assert_int_equal(rmdir(inside), 0);
    assert_int_equal(rmdir(folder), 0);
}

/// Open a shared device in a file system with only one free page. Ends the process.
static void open_without_room(const char *folder)
{
    struct mw_shared_id id;
    struct mw_open_options o;
    size_t count;
    if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount("full", folder, "tmpfs", 0, "size=4k"))
        _exit(NO_MOUNT);
    setenv("XDG_RUNTIME_DIR", folder, 1);
    alarm(CHILD_SECONDS);
    mw_close(device);
    mw_open_defaults(&o);
    o.gpus = WAITING_GPUS;
    o.flit_bytes = 8;
    o.custom = &fake_transport;
    o.custom_context = &fake;
    o.share = true;
    _exit(mw_open(&o, &device) || mw_shared_list(&id, 1, &count) || count);
}

/// Such a device works, but is not shared.
static void shared_without_room(void **state)
{
    (void)state;
    char folder[] = "/tmp/mw-gone-XXXXXX";
    int status;
    assert_non_null(mkdtemp(folder));
    const pid_t child = fork();
    assert_true(child >= 0);
    if (!child)
        open_without_room(folder);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(rmdir(folder), 0);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == NO_MOUNT)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, waiting_setup, fake_teardown)
    const struct CMUnitTest tests[] = {TEST(closed), TEST(destroyed), TEST(forked),
                                       TEST(forked_shared), TEST(shared_without_room)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
