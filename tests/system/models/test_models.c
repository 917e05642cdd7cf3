// SPDX-License-Identifier: Apache-2.0
//
// Models that cannot run here are refused with a message: for another processor, of another
// version, no model at all. If any of their code runs, it ends the program, as that of another
// processor does. test_find_model.c tests where the command finds models.
#include "system/command.h"
#include "system/model_file.h"
#include "host/support.h"

#include "base/error.h"
#include "transport_sim/model_note.h"
#include "moeswitch.h"
#include "mw_device.h"
#include "mw_sim.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static const char MODEL[] = "build/model/n2f8/libmwsim.so";
static const char PUBLISHED[] = "build/model/n2f8-published/libmwsim.so";
static const char BASIC[] = "build/model/n2f8-basic/libmwsim.so";
static const char PLAIN[] = "build/model/n2f8-plain/libmwsim.so";
static const char DEVICE[] = "build/model/dev-n2f8/libmwdevice.so";

static void assert_refused(const struct model_file *f, int code, const char *message)
{
    struct mw_open_options o;
    struct mw_device *d;
    const char *path = scratch("libmwsim.so");
    write_file(path, f->bytes, f->size);
    mw_open_defaults(&o);
    o.gpus = 2;
    o.flit_bytes = 8;
    o.model = path;
    int status = mw_open(&o, &d);
    if (status != code || !strstr(mw_message(), message))
        fail_msg("%d, %s: expected %d, %s", status, mw_message(), code, message);
}

/// The program that connects a whole device to USB must report the error, and end before it waits
/// for a connection.
static void assert_device_refused(const struct model_file *f, const char *option,
                                  const char *message)
{
    char line[1024];
    const char *path = scratch("libmwdevice.so");
    write_file(path, f->bytes, f->size);
    snprintf(line, sizeof line, "build/mw-usb-device --socket %s %s %s 2>%s", scratch("socket"),
             option, path, scratch("err"));
    int status = system(line);
    char *said = read_file(scratch("err"));
    assert_true(said && WIFEXITED(status));
    if (WEXITSTATUS(status) != 1 || !strstr(said, message))
        fail_msg("%d, %s: expected 1, %s", WEXITSTATUS(status), said, message);
    free(said);
}

/// A model whose code cannot run, changed by `change`. The caller frees its bytes.
static struct model_file spoiled(const char *model, void (*change)(struct model_file *))
{
    struct model_file f = load_model(model);
    spoil_code(&f);
    change(&f);
    return f;
}

/// A model changed by `change` must be refused with these words.
static void refuses(void (*change)(struct model_file *), int code, const char *message)
{
    struct model_file f = spoiled(MODEL, change);
    assert_refused(&f, code, message);
    free(f.bytes);
}

/// The same of the model of a whole device.
static void refuses_device(void (*change)(struct model_file *), const char *message)
{
    struct model_file f = spoiled(DEVICE, change);
    assert_device_refused(&f, "--whole", message);
    free(f.bytes);
}

// ---- what is changed ----------------------------------------------------------------------------

static void other_interface(struct model_file *f)
{
    model_note(f)[strlen("interface ")] = '1';
}

static void no_interface(struct model_file *f)
{
    replace_note(f, "interface", "somewhere");
}

static void unsaid_model(struct model_file *f)
{
    replace_note(f, "\nmodel ", "\nmadel ");
}

static void other_definitions(struct model_file *f)
{
    char *definitions = strstr(model_note(f), "\ndefinitions ");
    assert_non_null(definitions);
    definitions[strlen("\ndefinitions ")] ^= 1;
}

static void no_definitions(struct model_file *f)
{
    replace_note(f, "\ndefinitions ", "\ndifinitions ");
    replace_note(f, "\nmake ", "\nmade ");
}

static void long_line(struct model_file *f)
{
    replace_note(f, "\ncompiler ", " compiler ");
}

static void unchanged(struct model_file *f)
{
    (void)f;
}

static void others_note(struct model_file *f)
{
    char *owner = model_note(f) - 12;
    assert_memory_equal(owner, "moeswitch", 10);
    owner[0] = 'n';
}

static void long_note(struct model_file *f)
{
    uint32_t bytes = 0x7fffffff;
    memcpy(model_note(f) - 20, &bytes, sizeof bytes);
}

static void far_headers(struct model_file *f)
{
    Elf64_Ehdr e;
    memcpy(&e, f->bytes, sizeof e);
    e.e_phoff = UINT64_MAX - 8;
    memcpy(f->bytes, &e, sizeof e);
}

static void begun(struct model_file *f)
{
    f->size = 100;
}

static void nothing(struct model_file *f)
{
    f->size = 0;
}

static void text(struct model_file *f)
{
    f->size = (size_t)snprintf(f->bytes, 64, "interface 2\ncpu \n");
}

// ---- tests --------------------------------------------------------------------------------------

static void for_another_processor(void **state)
{
    (void)state;
    refuses(other_machine, MW_ERR_VERSION, "built for another kind of processor");
    if (has_lanes(MODEL))
        refuses(other_features, MW_ERR_VERSION,
                "built for another processor: it needs avx9, which this one lacks");
}

static void of_another_version(void **state)
{
    (void)state;
    char cause[64];
    snprintf(cause, sizeof cause, "has interface 1, the library %d", MW_SIM_ABI);
    refuses(other_interface, MW_ERR_VERSION, cause);
    refuses(no_interface, MW_ERR_VERSION, "has interface (none)");
    refuses(unsaid_model, MW_ERR_VERSION, "`make model` builds it anew");
    refuses(long_line, MW_ERR_VERSION, "the line verilator of its note is longer");
}

/// Instructions, registers or packets of the model may mean something else to this library.
static void of_other_definitions(void **state)
{
    (void)state;
    refuses(other_definitions, MW_ERR_VERSION,
            "libmwsim.so and this library were built from different definitions (spec/): `make "
            "model N=2 F=8");
    refuses(no_definitions, MW_ERR_VERSION, "`make model` builds the model anew, `make` the tool");
    refuses_device(other_definitions, "`make device-model N=2 F=8` builds the model anew");
}

/// The command reports it in one line, with the status of a machine that failed.
static void the_command_refuses_other_definitions(void **state)
{
    (void)state;
    struct model_file f = spoiled(MODEL, other_definitions);
    write_file(scratch("other.so"), f.bytes, f.size);
    free(f.bytes);
    static const char *const COMMANDS[] = {"info", "run --tokens-per-gpu 8 --system dysharp"};
    for (size_t i = 0; i < sizeof COMMANDS / sizeof *COMMANDS; i++) {
        assert_int_equal(setenv("MOESWITCH_MODEL", scratch("other.so"), 1), 0);
        const int status = run_command("%s --gpus 2 --flit-bytes 8", COMMANDS[i]);
        assert_int_equal(unsetenv("MOESWITCH_MODEL"), 0);
        const char *end = strchr(err_text, '\n');
        if (status != MW_EXIT_FAILED || !strstr(err_text, scratch("other.so")) ||
            !strstr(err_text, "different definitions (spec/): `make model N=2 F=8") || !end ||
            end[1])
            fail_msg("%s: %d, %s", COMMANDS[i], status, err_text);
    }
}

static void no_model(void **state)
{
    (void)state;
    refuses(others_note, MW_ERR_NODEV, "is not a model, or of a version that does not say");
    refuses(long_note, MW_ERR_NODEV, "is not a model");
    refuses(far_headers, MW_ERR_NODEV, "is not a model");
    refuses(begun, MW_ERR_NODEV, "is not a model");
    refuses(nothing, MW_ERR_NODEV, "is not a model");
    refuses(text, MW_ERR_NODEV, "is not a model");
}

static void whole_devices_too(void **state)
{
    (void)state;
    refuses_device(other_machine, "built for another kind of processor");
    char cause[64];
    snprintf(cause, sizeof cause, "has interface 1, the library %d", MW_DEVICE_ABI);
    refuses_device(other_interface, cause);
    refuses_device(unsaid_model, "`make model` builds it anew");
    refuses_device(others_note, "is not a model, or of a version that does not say");
    refuses_device(begun, "is not a model");
}

/// Each kind is refused in place of the other.
static void fabric_or_device(void **state)
{
    (void)state;
    struct model_file device = spoiled(DEVICE, unchanged), fabric = spoiled(MODEL, unchanged);
    assert_refused(&device, MW_ERR_NODEV, "is a model of the device, not of the fabric");
    assert_device_refused(&device, "--model", "is a model of the device, not of the fabric");
    assert_device_refused(&fabric, "--whole", "is a model of the fabric, not of the whole device");
    free(device.bytes);
    free(fabric.bytes);
}

/// The contents of a device's note.
static void a_device_says_what_it_is(void **state)
{
    (void)state;
    struct mw_simulation s;
    char message[400];
    assert_int_equal(mwi_model_note(DEVICE, MWI_DEVICE, &s, message, sizeof message), 0);
    assert_string_equal(s.backend, "plain");
    assert_string_equal(s.cpu, "");
    assert_int_equal(strlen(s.sources), 64);
    assert_non_null(strstr(s.flags, "device -O3"));
    assert_non_null(strstr(s.flags, "N=2 FlitBytes=8"));
    assert_true(*s.verilator && *s.compiler);
}

/// An unchanged model reports its kind, and is refused if another is requested.
static void says_what_it_is(void **state)
{
    (void)state;
    struct mw_open_options o;
    struct mw_device *d;
    struct mw_simulation s;
    mw_open_defaults(&o);
    o.gpus = 2;
    o.flit_bytes = 8;
    o.model = PLAIN;
    o.backend = "lanes";
    assert_int_equal(mw_open(&o, &d), MW_ERR_NODEV);
    assert_non_null(strstr(mw_message(), "is plain, not lanes"));
    o.backend = "plain";
    assert_int_equal(mw_open(&o, &d), 0);
    assert_int_equal(mw_simulation_info(d, &s), 0);
    assert_string_equal(s.backend, "plain");
    assert_string_equal(s.cpu, "");
    assert_int_equal(strlen(s.sources), 64);
    assert_non_null(strstr(s.flags, "N=2 FlitBytes=8"));
    assert_true(*s.verilator && *s.compiler);
    mw_close(d);
    o.model = NULL; // searched in the program's folder
    assert_int_equal(mw_open(&o, &d), 0);
    assert_int_equal(mw_simulation_info(d, &s), 0);
    assert_string_equal(s.backend, "plain");
    mw_close(d);
}

// ---- those without what only some systems need --------------------------------------------------

/// The primitives of the device that the library finds in a folder for a request of `asked`.
static enum mw_primitives found(const char *folder, enum mw_primitives asked)
{
    struct mw_open_options o;
    struct mw_device *d;
    struct mw_device_info info;
    mw_open_defaults(&o);
    o.gpus = 2;
    o.flit_bytes = 8;
    o.primitives = asked;
    assert_int_equal(setenv("MOESWITCH_MODEL", scratch(folder), 1), 0);
    assert_int_equal(mw_open(&o, &d), 0);
    assert_int_equal(unsetenv("MOESWITCH_MODEL"), 0);
    assert_int_equal(mw_info(d, &info), 0);
    mw_close(d);
    assert_true(info.adder_bypass);
    const bool all = info.target_list_cache, published = info.row_ranges;
    assert_true(info.switch_reductions == all && info.token_order == all && info.link_rate == all);
    assert_true(info.tile_reductions == all);
    assert_int_equal(info.red_types, all ? 0x3ff : 0x1f);
    assert_true(info.gathered == published && info.row_sparse == published &&
                info.source_lists == published && info.delay == published &&
                info.more_events == published && info.packet_manager == published &&
                info.cache_limit == published && (published || !all));
    return all ? MW_PRIMITIVES_ALL : published ? MW_PRIMITIVES_PUBLISHED : MW_PRIMITIVES_BASIC;
}

static void place_model(const char *model, const char *folder, void (*change)(struct model_file *))
{
    char line[1024];
    struct model_file f = load_model(model);
    change(&f);
    snprintf(line, sizeof line, "mkdir -p %s", scratch(folder));
    assert_int_equal(system(line), 0);
    snprintf(line, sizeof line, "%s/libmwsim.so", folder);
    write_file(scratch(line), f.bytes, f.size);
    free(f.bytes);
}

static void of_other_sources(struct model_file *f)
{
    char *sources = strstr(model_note(f), "sources ");
    sources[strlen("sources ")] ^= 1;
}

static void of_other_backend(struct model_file *f)
{
    const bool lanes = has_lanes(MODEL);
    replace_note(f, lanes ? "\nbackend lanes\n" : "\nbackend plain\n",
                 lanes ? "\nbackend plain\n" : "\nbackend lanes\n");
}

typedef void (*change_of)(struct model_file *);

/// A whole model, and a published and a basic one changed by these functions (NULL: no such model).
/// Requests of published and of basic must get the given kinds, and a request of all the whole
/// model.
static void finds(change_of published, change_of basic, enum mw_primitives get_published,
                  enum mw_primitives get_basic)
{
    // one folder for each case: a model stays loaded as long as its thread
    static unsigned cases;
    char folder[32], place[64];
    snprintf(folder, sizeof folder, "models%u", cases++);
    snprintf(place, sizeof place, "%s/n2f8", folder);
    place_model(MODEL, place, unchanged);
    snprintf(place, sizeof place, "%s/n2f8-published", folder);
    if (published)
        place_model(PUBLISHED, place, published);
    snprintf(place, sizeof place, "%s/n2f8-basic", folder);
    if (basic)
        place_model(BASIC, place, basic);
    assert_int_equal(found(folder, MW_PRIMITIVES_ALL), MW_PRIMITIVES_ALL);
    assert_int_equal(found(folder, MW_PRIMITIVES_PUBLISHED), get_published);
    assert_int_equal(found(folder, MW_PRIMITIVES_BASIC), get_basic);
}

static void ones_with_fewer_stand_in(void **state)
{
    (void)state;
    static const change_of unfit[] = {NULL, other_machine, of_other_sources, of_other_backend,
                                      other_definitions};
    for (unsigned i = 0; i < sizeof unfit / sizeof *unfit; i++) {
        finds(unfit[i], unfit[i], MW_PRIMITIVES_ALL, MW_PRIMITIVES_ALL);
        finds(unfit[i], unchanged, MW_PRIMITIVES_ALL, MW_PRIMITIVES_BASIC);
        finds(unchanged, unfit[i], MW_PRIMITIVES_PUBLISHED, MW_PRIMITIVES_PUBLISHED);
    }
    finds(unchanged, unchanged, MW_PRIMITIVES_PUBLISHED, MW_PRIMITIVES_BASIC);
}

/// Run a system with the model of a folder, or a file. Returns the report of the system, which the
/// caller deletes.
static cJSON *run_on(const char *model, const char *system, const char *options)
{
    assert_int_equal(setenv("MOESWITCH_MODEL", model, 1), 0);
    int status = run_command(
        "run --gpus 2 --flit-bytes 8 --tokens-per-gpu 24 --hidden 48 "
        "--experts 10 --k 3 --tile 3 --seed 5 --link-latency 3 --system %s %s --json %s",
        system, options, scratch("run.json"));
    assert_int_equal(unsetenv("MOESWITCH_MODEL"), 0);
    if (status)
        fail_msg("%s %s: %s", system, options, err_text);
    cJSON *run = read_json(scratch("run.json")), *one;
    one = cJSON_DetachItemFromArray(cJSON_GetObjectItem(run, "systems"), 0);
    assert_non_null(one);
    cJSON_Delete(run);
    return one;
}

static void assert_simulated_by(const cJSON *one, enum mw_primitives kind)
{
    const char *flags = member(member(one, "simulated_by"), "flags")->valuestring;
    const enum mw_primitives is = strstr(flags, "RowRanges=0")         ? MW_PRIMITIVES_BASIC
                                  : strstr(flags, "TargetListCache=0") ? MW_PRIMITIVES_PUBLISHED
                                                                       : MW_PRIMITIVES_ALL;
    if (is != kind)
        fail_msg("%s: by %d, not %d", member(one, "system")->valuestring, is, kind);
}

/// All that a run reports of its system except its speed. Checks that a model of this kind
/// simulated it.
static char *reported(const char *system, const char *model, enum mw_primitives kind)
{
    cJSON *one = run_on(model, system, "");
    assert_simulated_by(one, kind);
    static const char *const differs[] = {
        "simulated_by", "simulated_cycles", "seconds_wall",
        "sim_cycles_per_s"}; // those of registers that are written, too
    for (unsigned i = 0; i < sizeof differs / sizeof *differs; i++)
        cJSON_DeleteItemFromObject(one, differs[i]);
    char *text = cJSON_Print(one);
    cJSON_Delete(one);
    return text;
}

/// The same bits, cycles, flits and stalls, where there are all kinds and where
/// there is no basic one.
static void who_needs_no_more_runs_on_it(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum mw_primitives least;
    } systems[] = {
        {"unicast", MW_PRIMITIVES_BASIC},       {"overlap", MW_PRIMITIVES_PUBLISHED},
        {"nvls", MW_PRIMITIVES_PUBLISHED},      {"moe-hub", MW_PRIMITIVES_PUBLISHED},
        {"flashdmoe", MW_PRIMITIVES_PUBLISHED}, {"dysharp-basic", MW_PRIMITIVES_BASIC},
        {"dysharp", MW_PRIMITIVES_BASIC},       {"moeswitch", MW_PRIMITIVES_ALL},
    };
    place_model(MODEL, "two/n2f8", unchanged);
    place_model(PUBLISHED, "two/n2f8-published", unchanged);
    for (unsigned i = 0; i < sizeof systems / sizeof *systems; i++) {
        const char *name = systems[i].name;
        const enum mw_primitives least = systems[i].least;
        char *whole = reported(name, MODEL, MW_PRIMITIVES_ALL);
        char *one = reported(name, "build/model", least);
        assert_string_equal(one, whole);
        free(one);
        if (least == MW_PRIMITIVES_BASIC) {
            one = reported(name, scratch("two"), MW_PRIMITIVES_PUBLISHED);
            assert_string_equal(one, whole);
            free(one);
        }
        free(whole);
    }
}

/// The other options of a run may need more primitives than its system, or only what every model
/// has.
static void a_request_for_more_is_met(void **state)
{
    (void)state;
    char timeline[300];
    snprintf(timeline, sizeof timeline, "--interval 64 --batches 2 --timeline %s",
             scratch("timeline.json"));
    const struct {
        const char *system, *options;
        enum mw_primitives least;
    } runs[] = {
        {"unicast", "--costs papers", MW_PRIMITIVES_PUBLISHED},
        {"overlap", "--costs papers", MW_PRIMITIVES_PUBLISHED},
        {"dysharp", "--costs papers --set dispatch_throttle=1", MW_PRIMITIVES_ALL},
        {"moeswitch", "--costs papers", MW_PRIMITIVES_ALL},
        {"nvls", "--link-cycles 2", MW_PRIMITIVES_ALL},
        {"dysharp", "--link-cycles 2", MW_PRIMITIVES_ALL},
        {"moe-hub", "--set packet_manager=1", MW_PRIMITIVES_ALL},
        {"dysharp", "--set dispatch_throttle=1", MW_PRIMITIVES_ALL},
        {"dysharp", "--set target_list_cache=1", MW_PRIMITIVES_ALL},
        {"flashdmoe", timeline, MW_PRIMITIVES_PUBLISHED},
        {"dysharp", timeline, MW_PRIMITIVES_BASIC},
    };
    for (unsigned i = 0; i < sizeof runs / sizeof *runs; i++) {
        cJSON *one = run_on("build/model", runs[i].system, runs[i].options);
        assert_simulated_by(one, runs[i].least);
        cJSON_Delete(one);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(for_another_processor),
        cmocka_unit_test(of_another_version),
        cmocka_unit_test(of_other_definitions),
        cmocka_unit_test(the_command_refuses_other_definitions),
        cmocka_unit_test(no_model),
        cmocka_unit_test(whole_devices_too),
        cmocka_unit_test(fabric_or_device),
        cmocka_unit_test(a_device_says_what_it_is),
        cmocka_unit_test(says_what_it_is),
        cmocka_unit_test(ones_with_fewer_stand_in),
        cmocka_unit_test(who_needs_no_more_runs_on_it),
        cmocka_unit_test(a_request_for_more_is_met),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
