// SPDX-License-Identifier: Apache-2.0
//
// Programs of the library when memory, file descriptors, /proc or the end of the model are missing,
// and when another process has the device. A layer runs, or a call fails with a code and a message.
// No failure ends the process.
#include "host/support.h"

#include "moeswitch.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    GPUS = 4,
    ROW = 32,
    EXPERTS = 4,
    MB = 1 << 20,
    CHILD_SECONDS = 900, // after which it hangs: it has work for less than one
};

/// How a child ends.
enum end { RAN = 0, NOT_OPENED, FAILED, WRONG, SET_UP };

static struct mw_open_options options(bool small)
{
    struct mw_open_options o;
    mw_open_defaults(&o);
    o.gpus = GPUS;
    o.flit_bytes = 8;
    o.small = small;
    return o;
}

/// Whether a failure is one that a program can do something about.
static bool is_reported(int code)
{
    return (code == MW_ERR_NOMEM || code == MW_ERR_NODEV || code == MW_ERR_IO) && *mw_message();
}

static int layer(struct mw_device *d)
{
    static const uint16_t x[ROW] = {0x3f80, 0x4000},
                          coefficient[EXPERTS] = {0x3f80, 0x3f80, 0x3f80, 0x3f80};
    static const int16_t idx[2] = {1, 2};
    static const float weights[2] = {0.5f, 0.5f};
    static uint16_t out[GPUS][ROW];
    const struct mw_tokens part[GPUS] = {
        {1, x, idx, weights}, {1, x, idx, weights}, {0}, {1, x, idx, weights}};
    uint16_t *rows[GPUS] = {out[0], out[1], NULL, out[3]};
    const struct mw_dymulticast_prop prop = {
        .size = sizeof prop, .block_bytes = 2 * ROW, .region_sets = 2, .k = 2, .experts = EXPERTS};
    struct mw_dymulticast *object = NULL;
    struct mw_handle *handle = NULL;
    int status = mw_dymulticast_create(d, &prop, &object);
    if (!status)
        status = mw_dymulticast_bind_addr(object, GPUS, GPUS);
    if (!status)
        status = mw_dispatch(object, part, coefficient, &handle);
    if (!status)
        status = mw_combine(handle, rows, NULL, NULL);
    mw_handle_destroy(handle);
    mw_dymulticast_destroy(object);
    return status ? status : memcmp(out[0], x, sizeof x) ? MW_ERR_DEVICE : 0;
}

static const char *model; ///< NULL: the one that is there

static enum end whole_program(bool small)
{
    struct mw_open_options o = options(small);
    o.model = model;
    struct mw_device *d;
    int status = mw_open(&o, &d);
    if (status) {
        fprintf(stderr, "%s: %s\n", mw_error_name(status), mw_message());
        const bool why = !strstr(mw_message(), "no memory for the model") ||
                         strstr(mw_message(), "(ulimit -v allows this process ");
        return is_reported(status) && why ? NOT_OPENED : WRONG;
    }
    int fd = mw_event_fd(d);
    if (fd < 0 && !is_reported(fd))
        return WRONG;
    free(mw_state_report(d));
    status = layer(d);
    if (status)
        fprintf(stderr, "%s: %s\n", mw_error_name(status), mw_message());
    mw_close(d);
    return !status ? RAN : is_reported(status) ? FAILED : WRONG;
}

/// Makes a resource scarce in a child. Returns false if this is impossible here.
typedef bool scarce_fn(unsigned long value);

static enum end child(bool small, scarce_fn *scarce, unsigned long value)
{
    int status;
    fflush(NULL);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        alarm(CHILD_SECONDS);
        if (!freopen("/dev/null", "w", stderr) || !scarce(value))
            _exit(SET_UP);
        _exit(whole_program(small));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFEXITED(status))
        fail_msg("with %lu: the process was ended by signal %d", value, WTERMSIG(status));
    if (WEXITSTATUS(status) == WRONG)
        fail_msg("with %lu: a code without a cause", value);
    return (enum end)WEXITSTATUS(status);
}

static bool limit_memory(unsigned long bytes)
{
    const struct rlimit limit = {bytes, bytes};
    return setrlimit(RLIMIT_AS, &limit) == 0;
}

/// From 4 MB, less than a process has, up to what is enough, in steps of 1/`part`.
static void memory(bool small, unsigned part)
{
    unsigned long bytes = 4ul * MB;
    unsigned count[SET_UP + 1] = {0};
    for (unsigned ran = 0; ran < 3; bytes += bytes / part) {
        const enum end end = child(small, limit_memory, bytes);
        assert_int_not_equal(end, SET_UP);
        ran = end == RAN ? ran + 1 : 0;
        count[end]++;
    }
    print_message("%lu MB are enough; with less %u programs did not open, %u failed later\n",
                  bytes / MB, count[NOT_OPENED], count[FAILED]);
}

static void memory_of_small(void **state)
{
    (void)state;
    memory(true, 256);
}

static void memory_of_large(void **state)
{
    (void)state;
    memory(false, 32);
}

static bool limit_files(unsigned long files)
{
    const struct rlimit limit = {files, files};
    return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

static void files(void **state)
{
    (void)state;
    enum end end = SET_UP;
    for (unsigned long n = 0; n < 16; n++)
        end = child(true, limit_files, n);
    assert_int_equal(end, RAN);
}

static bool hide_proc(unsigned long value)
{
    (void)value;
    return unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("none", "/proc", "tmpfs", 0, NULL) == 0;
}

static void no_proc(void **state)
{
    (void)state;
    const enum end end = child(true, hide_proc, 0);
    if (end == SET_UP) {
        print_message("/proc cannot be hidden here: that takes root\n");
        skip();
    }
    assert_int_equal(end, RAN);
}

enum { CUTS = 128, HEAD = 8192 };

/// A copy of the model, whose descriptor is returned.
static int copy_model(const char *path, const char *from)
{
    static char buffer[1 << 16];
    FILE *in = fopen(from, "rb");
    const int out = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_true(in && out >= 0);
    for (size_t n; (n = fread(buffer, 1, sizeof buffer, in)) > 0;)
        assert_int_equal(write(out, buffer, n), n);
    fclose(in);
    return out;
}

static bool cut(unsigned long bytes)
{
    return truncate(model, (off_t)bytes) == 0;
}

/// A model's file of which the end is missing, wherever that is.
static void cut_model(void **state)
{
    (void)state;
    const char *path = scratch("cut.so");
    const int file = copy_model(path, "build/model/n4f8-small/libmwsim.so");
    const unsigned long whole = (unsigned long)lseek(file, 0, SEEK_END);
    model = path;
    assert_int_equal(child(true, cut, whole), RAN);
    assert_int_equal(child(true, cut, whole - 1), NOT_OPENED);
    for (unsigned long i = CUTS - 1; i > 0; i--)
        assert_int_equal(child(true, cut, whole / CUTS * i), NOT_OPENED);
    for (unsigned long bytes = HEAD; bytes > 0; bytes -= bytes < 128 ? 1 : 64)
        assert_int_equal(child(true, cut, bytes), NOT_OPENED);
    assert_int_equal(child(true, cut, 0), NOT_OPENED);
    model = NULL;
    close(file);
}

static struct mw_device *parents;

static bool close_inherited(unsigned long value)
{
    struct mw_progress now;
    const bool refused = mw_query(parents, &now) == MW_ERR_STATE;
    (void)value;
    mw_close(parents);
    return refused;
}

/// A device of the parent's, whose threads are not here: it is closed at once, and another can be
/// opened. The parent's continues.
static void inherited(void **state)
{
    (void)state;
    struct mw_open_options o = options(true);
    assert_int_equal(mw_open(&o, &parents), 0);
    assert_true(mw_event_fd(parents) >= 0);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(child(true, close_inherited, 0), RAN);
        assert_int_equal(layer(parents), 0);
    }
    mw_close(parents);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_of_small), cmocka_unit_test(memory_of_large),
        cmocka_unit_test(files),           cmocka_unit_test(no_proc),
        cmocka_unit_test(cut_model),       cmocka_unit_test(inherited)};
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
