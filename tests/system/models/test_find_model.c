// SPDX-License-Identifier: Apache-2.0
//
// Which model the command finds, and its message if there is none. If it is installed in the
// folders of a prefix, it builds models in the user's cache. In a tree of sources it builds them in
// that tree. The code of models that must not be used ends the program.
#include "system/command.h"
#include "host/support.h"
#include "system/model_file.h"

#include "base/error.h"
#include "device/device_build.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static const char MODEL[] = "build/model/n2f8/libmwsim.so";
static const char PLAIN[] = "build/model/n2f8-plain/libmwsim.so";
#define INSTALLED "prefix/lib/moeswitch/model"
/// Reported to be made by a plain model.
static const char BY_PLAIN[] = "model            plain";

static char *said, *printed; ///< by the last run

static void shell(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void shell(const char *format, ...)
{
    char line[3000];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    assert_true(length > 0 && (size_t)length < sizeof line);
    if (system(line) != 0)
        fail_msg("%s", line);
}

/// A copy of a model there, without code that could run if it is not to be taken.
static void put(const char *model, const char *place, bool taken,
                void (*change)(struct model_file *))
{
    char folder[200];
    struct model_file f = load_model(model);
    if (!taken)
        spoil_code(&f);
    if (change)
        change(&f);
    snprintf(folder, sizeof folder, "%s", place);
    *strrchr(folder, '/') = 0;
    shell("mkdir -p %s", scratch(folder));
    store_model(scratch(place), &f);
    free(f.bytes);
}

/// A new prefix, with only the program.
static void install(void)
{
    shell("cd %s && rm -rf prefix cache home sources models && mkdir -p prefix/bin home",
          scratch(""));
    shell("cp build/moeswitch %s", scratch("prefix/bin/moeswitch"));
}

/// Run a line of the shell. Returns its exit status. `printed` and `said` get its output.
static int run(const char *line)
{
    char whole[3500];
    snprintf(whole, sizeof whole, "{ %s; } >%s 2>%s", line, scratch("out"), scratch("err"));
    int status = system(whole);
    free(said);
    free(printed);
    said = read_file(scratch("err"));
    printed = read_file(scratch("out"));
    assert_true(said && printed && WIFEXITED(status));
    size_t length = strlen(said);
    if (length && said[length - 1] == '\n')
        said[length - 1] = 0;
    return WEXITSTATUS(status);
}

/// Exit status of `moeswitch info` on `gpus` GPUs, in an environment of these words alone.
static int info(const char *environment, unsigned gpus, const char *options)
{
    char line[3000];
    snprintf(line, sizeof line,
             "cd %s && env -i PATH=\"$PATH\" HOME=%s %s %s info --gpus %u --flit-bytes 8 %s",
             scratch("home"), scratch("home"), environment, scratch("prefix/bin/moeswitch"), gpus,
             options);
    return run(line);
}

static void assert_taken(const char *environment, const char *options, bool plain)
{
    int status = info(environment, 2, options);
    if (status || *said || (strstr(printed, BY_PLAIN) != NULL) != plain)
        fail_msg("status %d, %s, plain is %d: %s", status, said, plain, printed);
}

static void assert_refused(const char *environment, const char *options, const char *const *parts)
{
    assert_int_equal(info(environment, 2, options), MW_EXIT_FAILED);
    assert_line_has(said, parts);
}
#define REFUSED(environment, options, ...) \
    assert_refused(environment, options, (const char *const[]){__VA_ARGS__, NULL})

// ---- what is installed --------------------------------------------------------------------------

static void the_one_for_this_processor(void **state)
{
    (void)state;
    install();
    put(MODEL, INSTALLED "/n2f8/libmwsim.so", true, NULL);
    put(PLAIN, INSTALLED "/n2f8-plain/libmwsim.so", false, NULL);
    assert_taken("", "", !has_lanes(MODEL));
    // also by a link from elsewhere
    shell("cd %s && mv prefix/bin/moeswitch prefix/bin/real && ln -s ../prefix/bin/real home/other "
          "&& "
          "ln -s ../../home/other prefix/bin/moeswitch",
          scratch(""));
    assert_taken("", "", !has_lanes(MODEL));
}

static void plain_where_it_cannot_run(void **state)
{
    (void)state;
    if (!has_lanes(MODEL))
        skip();
    install();
    put(MODEL, INSTALLED "/n2f8/libmwsim.so", false, other_features);
    put(PLAIN, INSTALLED "/n2f8-plain/libmwsim.so", true, NULL);
    assert_taken("", "", true);
    assert_taken("", "--device sim:plain", true);
    REFUSED("", "--device sim:lanes", "n2f8/libmwsim.so was built for another processor",
            "needs avx9");
    put(PLAIN, INSTALLED "/n2f8-plain/libmwsim.so", false, other_machine);
    REFUSED("", "", "n2f8/libmwsim.so was built for another processor", "needs avx9");
    shell("rm -r %s", scratch(INSTALLED "/n2f8"));
    REFUSED("", "", "n2f8-plain/libmwsim.so was built for another kind of processor");
}

static void none(void **state)
{
    (void)state;
    install();
    REFUSED("", "", "no model n2f8: set MOESWITCH_SOURCE", "MOESWITCH_MODEL");
    put(MODEL, INSTALLED "/n4f16/libmwsim.so", false, NULL);
    put(MODEL, INSTALLED "/n16f16/libmwsim.so", false, NULL);
    put(PLAIN, INSTALLED "/n4f16-plain/libmwsim.so", false, NULL);
    REFUSED("", "", "no model n2f8 (installed: n4f16, n16f16): set MOESWITCH_SOURCE");
}

// ---- MOESWITCH_MODEL ----------------------------------------------------------------------------

static void one_that_is_named(void **state)
{
    (void)state;
    char environment[600];
    install();
    put(PLAIN, INSTALLED "/n2f8/libmwsim.so", false, NULL);
    put(PLAIN, "models/n2f8/libmwsim.so", true, NULL);
    put(PLAIN, "models/mine.so", true, NULL);
    snprintf(environment, sizeof environment, "MOESWITCH_MODEL=%s", scratch("models"));
    assert_taken(environment, "", true);
    snprintf(environment, sizeof environment, "MOESWITCH_MODEL=%s", scratch("models/mine.so"));
    assert_taken(environment, "", true);
    assert_int_equal(info(environment, 4, ""), MW_EXIT_INPUT);
    assert_line(said, "the device has 2 GPUs");
    snprintf(environment, sizeof environment, "MOESWITCH_MODEL=%s", scratch("models/none"));
    REFUSED(environment, "", "MOESWITCH_MODEL=", "models/none: No such file or directory");
    snprintf(environment, sizeof environment, "MOESWITCH_MODEL=%s", scratch("home"));
    REFUSED(environment, "", "MOESWITCH_MODEL=", "home: no model n2f8 there");
    // an empty variable counts as not set
    put(PLAIN, INSTALLED "/n2f8/libmwsim.so", true, NULL);
    assert_taken("MOESWITCH_MODEL=", "", true);
}

// ---- the user's cache ---------------------------------------------------------------------------

/// A folder of sources whose Makefile copies a model to the requested path, slowly, and counts.
static const char *make_sources(const char *recipe)
{
    static char environment[1200];
    char here[400];
    assert_non_null(getcwd(here, sizeof here));
    shell("mkdir -p %s && touch %s", scratch("sources/rtl/fabric"),
          scratch("sources/rtl/fabric/fabric.sv"));
    shell("printf 'model:\\n\\t@echo $(N) $(F) >>count; sleep 0.3; %s mkdir -p "
          "$(B)/model/n$(N)f$(F) && cp %s/%s "
          "$(B)/model/n$(N)f$(F)/\\n' >%s",
          recipe, here, PLAIN, scratch("sources/Makefile"));
    snprintf(environment, sizeof environment, "MOESWITCH_SOURCE=%s XDG_CACHE_HOME=%s",
             scratch("sources"), scratch("cache"));
    return environment;
}

static void one_that_is_missing_is_built(void **state)
{
    (void)state;
    install();
    const char *environment = make_sources("");
    assert_int_equal(info(environment, 2, ""), 0);
    assert_line(said, "building the model n2f8 in ", "cache/moeswitch/");
    assert_non_null(strstr(printed, BY_PLAIN));
    // The next time the model exists, with or without the sources.
    assert_taken(environment, "", true);
    shell("rm -r %s", scratch("sources"));
    char cache[600];
    snprintf(cache, sizeof cache, "XDG_CACHE_HOME=%s", scratch("cache"));
    assert_taken(cache, "", true);
    // Without that variable it is in the home folder.
    shell("cd %s && mkdir home/.cache && mv cache/moeswitch home/.cache", scratch(""));
    assert_taken("", "", true);
    assert_taken("XDG_CACHE_HOME=", "", true);
}

/// A model of another version is rebuilt.
static void one_of_the_cache_that_cannot_run(void **state)
{
    (void)state;
    install();
    const char *environment = make_sources("");
    assert_int_equal(info(environment, 2, ""), 0);
    shell("cd %s && mkdir models && mv cache/moeswitch/*/model/n2f8 models", scratch(""));
    put(PLAIN, "models/n2f8/libmwsim.so", false, other_machine);
    shell("cd %s && mv models/n2f8 cache/moeswitch/*/model", scratch(""));
    assert_int_equal(info(environment, 2, ""), 0);
    assert_non_null(strstr(said, "was built for another kind of processor"));
    assert_non_null(strstr(said, "building the model n2f8 in "));
    assert_taken(environment, "", true);
}

static void one_that_cannot_be_built(void **state)
{
    (void)state;
    char environment[1200];
    install();
    REFUSED("MOESWITCH_SOURCE=/dev", "", "MOESWITCH_SOURCE=/dev: no sources of moeswitch there");
    snprintf(environment, sizeof environment, "%s", make_sources("false;"));
    shell("sed -i 's/false;/false \\&\\&/' %s", scratch("sources/Makefile"));
    assert_int_equal(info(environment, 2, ""), MW_EXIT_FAILED);
    assert_non_null(strstr(said, "no model n2f8, and it cannot be built: make model N=2 F=8 in "));
    snprintf(environment, sizeof environment, "MOESWITCH_SOURCE=%s XDG_CACHE_HOME=/dev/null",
             scratch("sources"));
    REFUSED(environment, "", "/dev/null/moeswitch/",
            "where the model is to be built: Not a directory");
    snprintf(environment, sizeof environment, "HOME= MOESWITCH_SOURCE=%s", scratch("sources"));
    REFUSED(environment, "", "neither HOME nor XDG_CACHE_HOME is set");
}

/// If programs miss the same model at the same time, one builds it.
static void once_for_all(void **state)
{
    (void)state;
    install();
    const char *environment = make_sources("");
    shell("cd %s && for i in 1 2 3 4; do env -i PATH=\"$PATH\" %s %s info --gpus 2 --flit-bytes 8 "
          ">out$i 2>err$i & pids=\"$pids $!\"; done; for p in $pids; do wait $p || exit 1; done",
          scratch(""), environment, scratch("prefix/bin/moeswitch"));
    char *count = read_file(scratch("sources/count"));
    assert_string_equal(count, "2 8\n");
    free(count);
}

// ---- a tree of sources --------------------------------------------------------------------------

static const char UNDER_SIGNALS[] = "--under-signals";

/// A separate tree with the program and a model for another processor. Its Makefile copies one for
/// this processor, with words of the shell before and after.
static void make_tree(const char *before, const char *after)
{
    char here[256];
    assert_non_null(getcwd(here, sizeof here));
    shell("cd %s && rm -rf tree && mkdir -p tree/build tree/rtl/fabric && "
          "touch tree/rtl/fabric/fabric.sv && cp %s/build/moeswitch tree/build && "
          "printf 'model:\\n\\t@%s cp %s/%s build/model/n2f8/ %s\\n' >tree/Makefile",
          scratch(""), here, before, here, MODEL, after);
    put(MODEL, "tree/build/model/n2f8/libmwsim.so", false, other_machine);
}

/// Exit status of that tree's `moeswitch info`.
static int info_of_tree(void)
{
    char line[400];
    snprintf(line, sizeof line, "%s info --gpus 2 --flit-bytes 8", scratch("tree/build/moeswitch"));
    return run(line);
}

static void one_that_is_found_is_built_anew(void **state)
{
    (void)state;
    make_tree("", "");
    assert_int_equal(info_of_tree(), 0);
    const char *why = strstr(said, "built for another kind of processor");
    assert_true(why && strstr(why, "building the model n2f8"));
    // There is nothing to build or to report now.
    assert_int_equal(info_of_tree(), 0);
    assert_string_equal(said, "");
}

static void one_that_cannot_be_built_is_named(void **state)
{
    (void)state;
    make_tree("false &&", "");
    assert_int_equal(info_of_tree(), MW_EXIT_FAILED);
    assert_non_null(strstr(said, "built for another kind of processor"));
    assert_non_null(strstr(said, "no model n2f8, and it cannot be built: make model N=2 F=8"));
}

/// Three programs that lack the same model at once: they build in sequence.
static void several_take_turns_to_build(void **state)
{
    (void)state;
    char line[400];
    make_tree("mkdir alone; sleep 0.2;", "; rmdir alone");
    snprintf(line, sizeof line,
             "cd %s; run() { build/moeswitch info --gpus 2 --flit-bytes 8; }; "
             "run & a=$!; run & b=$!; run && wait $a && wait $b",
             scratch("tree"));
    int status = run(line);
    if (status || strstr(said, "mkdir"))
        fail_msg("status %d: %s", status, said);
}

static void ignore_signal(int number)
{
    (void)number;
}

/// What another program does in `interrupted_by_signals`: opens a model that it must wait for,
/// while signals arrive.
static int open_under_signals(void)
{
    struct mw_open_options o;
    struct mw_device *d;
    const struct itimerval often = {{0, 1000}, {0, 1000}};
    const struct sigaction nothing = {.sa_handler =
                                          ignore_signal}; // no SA_RESTART: calls end with EINTR
    sigaction(SIGALRM, &nothing, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    mw_open_defaults(&o);
    o.gpus = 2;
    o.flit_bytes = 8;
    struct mw_error err;
    int status = mw_device_open_built(&o, &d, &err);
    if (status)
        fprintf(stderr, "%s\n", err.text);
    else
        mw_close(d);
    return status;
}

/// A program whose timer ticks still gets its model.
static void interrupted_by_signals(void **state)
{
    (void)state;
    char line[700];
    make_tree("sleep 0.2;", "");
    snprintf(line, sizeof line, "cp /proc/%d/exe %s && %s %s", (int)getpid(),
             scratch("tree/build/opens"), scratch("tree/build/opens"), UNDER_SIGNALS);
    int status = run(line);
    if (status)
        fail_msg("status %d: %s", status, said);
}

static int end(void **state)
{
    free(said);
    free(printed);
    return scratch_remove(state);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], UNDER_SIGNALS) == 0)
        return open_under_signals();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_one_for_this_processor),
        cmocka_unit_test(plain_where_it_cannot_run),
        cmocka_unit_test(none),
        cmocka_unit_test(one_that_is_named),
        cmocka_unit_test(one_that_is_missing_is_built),
        cmocka_unit_test(one_of_the_cache_that_cannot_run),
        cmocka_unit_test(one_that_cannot_be_built),
        cmocka_unit_test(once_for_all),
        cmocka_unit_test(one_that_is_found_is_built_anew),
        cmocka_unit_test(one_that_cannot_be_built_is_named),
        cmocka_unit_test(several_take_turns_to_build),
        cmocka_unit_test(interrupted_by_signals),
    };
    return cmocka_run_group_tests(tests, scratch_make, end);
}
