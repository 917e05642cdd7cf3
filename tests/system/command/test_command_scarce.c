// SPDX-License-Identifier: Apache-2.0
//
// The command when something is scarce: memory, file descriptors, /proc, the end of a file, room
// for one, a reader. It ends with a status that help lists and at most one line, never by a signal.
// No part of a file stays.
#include "system/command.h"

#include "program/commands.h"
#include "sweep/sweep.h"
#include "trace/trace_info.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIZES "--gpus 2 --flit-bytes 8 "
#define TINY_RUN "run " SIZES "--tokens-per-gpu 2 --hidden 16 --tile 2 --experts 4 --k 2 --system "
/// Short runs of each command. %s is the scratch folder.
static const char *const commands[] = {
    TINY_RUN "dysharp,unicast --json %s/x.json --html %s/x.html",
    "bench unicast " SIZES "--maxbytes 4096 --csv %s/x.csv",
    "gen %s/gen --layers 4 --tokens 100000",
    "trace info %s/trace",
    "sweep %s/grid.json --list",
    "info " SIZES,
    "list",
    "top --count 1 --interval 0.05",
    "help run",
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static int set_up(void **state)
{
    static const uint16_t ids[4] = {0, 1, 2, 3};
    static const float weights[4] = {1, 1, 1, 1};
    static const char grid[] = "{\"gpus\": 2, \"flit-bytes\": 8, \"k\": [1, 2], \"experts\": 4}";
    if (scratch_make(state) || mkdir(scratch("files"), 0777))
        return 1;
    write_trace("trace", 1, 2, 2, 4, ids, weights);
    write_file(scratch("grid.json"), grid, sizeof grid - 1);
    return 0;
}

/// The words of a command, in the scratch folder.
static void fill_in(char words[1000], const char *command)
{
    char *at = words;
    for (; *command; command++)
        if (command[0] == '%' && command[1] == 's') {
            at += sprintf(at, "%s", scratch("."));
            command++;
        } else {
            *at++ = *command;
        }
    *at = 0;
}

/// Run a command after the shell's `first`. It must end with a documented status, and at most one
/// line with the cause.
static int endure(const char *first, const char *command)
{
    char words[1000], line[2000];
    fill_in(words, command);
    // redirected before anything is scarce
    snprintf(line, sizeof line,
             "rm -rf %s; exec >/dev/null 2>%s </dev/null; %s; exec build/moeswitch %s",
             scratch("gen"), scratch("err"), first, words);
    int status = system(line);
    if (!WIFEXITED(status) || WEXITSTATUS(status) > MW_EXIT_FAILED)
        fail_msg("%s; %s: ended with %d", first, words, status);
    char *text = read_file(scratch("err"));
    assert_non_null(text);
    const char *end = strchr(text, '\n');
    if (WEXITSTATUS(status) > MW_EXIT_MISMATCH &&
        (strncmp(text, "moeswitch: ", 11) != 0 || !end || end[1]))
        fail_msg("%s; %s: status %d: %s", first, words, WEXITSTATUS(status), text);
    free(text);
    return WEXITSTATUS(status);
}

/// From 20 MB up, twice as much each time, or by halves, to what is enough for all.
static void little_memory(void **state)
{
    (void)state;
    for (unsigned c = 0; c < COMMANDS; c++) {
        unsigned failed = 0, passed = 0;
        int status = MW_EXIT_FAILED;
        for (unsigned long kb = 20000; kb < 400000000; kb += kb / test_cases(1, 2)) {
            char first[64];
            snprintf(first, sizeof first, "ulimit -v %lu", kb);
            status = endure(first, commands[c]);
            failed += status != 0;
            passed += !status;
        }
        print_message("%s: %u refused, %u done\n", commands[c], failed, passed);
        assert_int_equal(status, 0);
    }
}

/// From as many as the program needs to start: three, and one for its libraries.
static void few_descriptors(void **state)
{
    (void)state;
    for (unsigned c = 0; c < COMMANDS; c++)
        for (unsigned n = 4; n < 24; n += n < 12 ? 1 : 11) {
            char first[64];
            snprintf(first, sizeof first, "ulimit -n %u", n);
            int status = endure(first, commands[c]);
            if (n > 20 && status)
                fail_msg("%u descriptors: %s: status %d", n, commands[c], status);
        }
}

/// Files of at most so many blocks of 512 bytes. What has no room is reported, and no part of it
/// stays.
static void small_files(void **state)
{
    (void)state;
    unsigned failed = 0;
    for (unsigned c = 0; c < COMMANDS; c++) {
        char line[600];
        failed += endure("ulimit -f 1", commands[c]) == MW_EXIT_FAILED;
        snprintf(line, sizeof line, "! find %s -name '.moeswitch-*' | grep .", scratch("."));
        if (system(line))
            fail_msg("%s: half a file stays", commands[c]);
    }
    assert_int_equal(failed, 2); // run and gen write more
}

/// Standard descriptors that are closed. Only commands that print to them fail.
static void closed_descriptors(void **state)
{
    (void)state;
    static const char quiet[] = TINY_RUN "dysharp --quiet --json %s/x.json";
    for (unsigned c = 0; c < COMMANDS; c++) {
        assert_int_equal(endure("exec <&-", commands[c]), MW_EXIT_OK);
        assert_int_equal(endure("exec <&- >&-", commands[c]), MW_EXIT_FAILED);
    }
    remove(scratch("x.json"));
    assert_int_equal(endure("exec <&- >&- 2>&-", quiet), MW_EXIT_OK);
    cJSON_Delete(read_json(scratch("x.json")));
}

/// A line of a file that the memory does not hold is no end of the file.
static void long_line(void **state)
{
    (void)state;
    static const char counts[] = "gen %s/gen --counts %s/counts.csv --k 2";
    char line[600];
    snprintf(line, sizeof line, "{ echo 1,2,3; head -c 48M /dev/zero | tr '\\0' ' '; echo; } >%s",
             scratch("counts.csv"));
    assert_int_equal(system(line), 0);
    assert_int_equal(endure("ulimit -v 50000", counts), MW_EXIT_FAILED);
    assert_int_equal(endure(":", counts), MW_EXIT_OK);
    remove(scratch("counts.csv"));
}

static void empty_proc(void **state)
{
    (void)state;
    if (system("unshare -m sh -c 'mount -t tmpfs none /proc' 2>/dev/null")) {
        print_message("SKIPPED: /proc cannot be taken away here\n");
        skip();
    }
    for (unsigned c = 0; c < COMMANDS; c++) {
        char words[1000], line[2000];
        fill_in(words, commands[c]);
        snprintf(line, sizeof line,
                 "rm -rf %s; unshare -m sh -c 'mount -t tmpfs none /proc; "
                 "exec build/moeswitch %s' >/dev/null 2>%s </dev/null",
                 scratch("gen"), words, scratch("err"));
        int status = system(line);
        char *text = read_file(scratch("err"));
        if (!WIFEXITED(status) || WEXITSTATUS(status) > MW_EXIT_FAILED)
            fail_msg("%s: ended with %d: %s", words, status, text);
        free(text);
    }
}

/// A reader that ends stops a command like a full disk.
static void no_reader(void **state)
{
    (void)state;
    for (unsigned c = 0; c < COMMANDS; c++) {
        char words[1000], line[2000];
        fill_in(words, commands[c]);
        snprintf(line, sizeof line,
                 "rm -rf %s; { sleep 0.2; build/moeswitch %s 2>%s; echo $? >%s; } | true",
                 scratch("gen"), words, scratch("err"), scratch("status"));
        assert_int_equal(system(line), 0);
        char *text = read_file(scratch("err")), *status = read_file(scratch("status"));
        assert_non_null(status);
        bool silent = *text == 0 && strcmp(status, "0\n") == 0; // it had nothing to print
        if (!silent && (strcmp(status, "141\n") != 0 || *text))
            fail_msg("%s: status %s: %s", words, status, text);
        free(text);
        free(status);
    }
}

/// A full disk is no success, for any command that prints there.
static void reports_output_that_is_lost(void **state)
{
    (void)state;
    static const char *const writers[] = {"list", "--help", "--version", "run --help",
                                          TINY_RUN "dysharp"};
    for (unsigned i = 0; i < sizeof writers / sizeof *writers; i++) {
        if (run_command_to("/dev/full", "%s", writers[i]) != MW_EXIT_FAILED)
            fail_msg("%s: %s", writers[i], err_text);
        err_text[strlen(err_text) - 1] = 0;
        assert_line(err_text, "moeswitch: standard output: cannot write");
    }
}

/// Every file that is written, and every command that writes: /dev/full is no success.
static void reports_files_that_are_lost(void **state)
{
    (void)state;
    static const char *const writers[] = {TINY_RUN "dysharp --quiet --json",
                                          TINY_RUN "dysharp --quiet --csv",
                                          TINY_RUN "dysharp --quiet --interval 100 --plot",
                                          "bench unicast " SIZES "--maxbytes 4096 --quiet --json",
                                          "bench unicast " SIZES "--maxbytes 4096 --quiet --csv"};
    for (unsigned i = 0; i < sizeof writers / sizeof *writers; i++) {
        if (run_command("%s /dev/full", writers[i]) != MW_EXIT_FAILED)
            fail_msg("%s: %s", writers[i], err_text);
        assert_string_equal(out_text, "");
        assert_string_equal(err_text,
                            "moeswitch: /dev/full: cannot write: No space left on device\n");
        if (run_command_to("/dev/full", "%s -", writers[i]) != MW_EXIT_FAILED)
            fail_msg("%s: %s", writers[i], err_text);
        assert_string_equal(err_text,
                            "moeswitch: standard output: cannot write: No space left on device\n");
    }
}

/// If their writer cannot write, this is reported, too, and no partial file stays.
static void reports_waveforms_that_are_lost(void **state)
{
    (void)state;
    char line[1200], fst[512];
    snprintf(fst, sizeof fst, "%s", scratch("files/lost.fst"));
    snprintf(line, sizeof line,
             "trap '' XFSZ; ulimit -f 16; build/moeswitch run " WITH_WAVES
             "--quiet --trace-fst %s 2>%s",
             fst, scratch("err"));
    int status = system(line);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), MW_EXIT_FAILED);
    char *text = read_file(scratch("err"));
    assert_non_null(strstr(text, "lost.fst: cannot write the waveforms"));
    free(text);
    assert_int_equal(entries("files"), 0);
    assert_int_equal(run_command("run " WITH_WAVES "--trace-fst /dev/full"), MW_EXIT_FAILED);
    assert_non_null(strstr(err_text, "moeswitch: /dev/full: cannot write the waveforms"));
}

// ---- files that end early -----------------------------------------------------------------------

typedef int command(int argc, char **argv, FILE *out, FILE *err);

/// Call it in this process. The caller frees the text of its standard error.
static int call(command *run, char *const *words, char **said)
{
    char *argv[8], *printed = NULL;
    size_t size;
    int argc = 0;
    for (; words[argc]; argc++)
        argv[argc] = words[argc];
    FILE *out = open_memstream(&printed, &size), *errors = open_memstream(said, &size);
    assert_true(out && errors);
    int status = run(argc, argv, out, errors);
    fclose(out);
    fclose(errors);
    free(printed);
    return status;
}

/// Cut `path` to every length. `command` must refuse each with one line, and accept the whole.
static void cut_everywhere(const char *path, command *run, char *const *words)
{
    struct stat st;
    char *said;
    assert_int_equal(stat(path, &st), 0);
    unsigned char *bytes = malloc((size_t)st.st_size);
    FILE *f = fopen(path, "rb");
    assert_true(bytes && f);
    assert_int_equal(fread(bytes, 1, (size_t)st.st_size, f), st.st_size);
    fclose(f);
    for (size_t n = 0; n < (size_t)st.st_size; n++) {
        write_file(path, bytes, n);
        if (call(run, words, &said) != MW_EXIT_INPUT)
            fail_msg("%s of %zu bytes was taken", path, n);
        said[strlen(said) - 1] = 0;
        assert_line(said, "moeswitch: ", path);
        free(said);
    }
    write_file(path, bytes, (size_t)st.st_size);
    free(bytes);
    assert_int_equal(call(run, words, &said), MW_EXIT_OK);
    free(said);
}

static void cut_files(void **state)
{
    (void)state;
    static const char *const files[] = {"meta.json", "topk_ids.npy", "topk_weights.npy"};
    char folder[256], path[300], grid[256], out[256];
    snprintf(folder, sizeof folder, "%s", scratch("trace"));
    for (unsigned i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        cut_everywhere(path, mw_trace_command,
                       (char *[]){(char *)"trace", (char *)"info", folder, NULL});
    }
    snprintf(grid, sizeof grid, "%s", scratch("grid.json"));
    snprintf(out, sizeof out, "%s", scratch("sweep"));
    cut_everywhere(grid, mw_sweep_command,
                   (char *[]){(char *)"sweep", grid, (char *)"--out", out, (char *)"--list", NULL});
}

/// A model whose file ends early, at its head, its notes and anywhere: never loaded.
static void cut_model(void **state)
{
    (void)state;
    struct stat st;
    char model[256], first[400], line[600];
    const char *whole = "build/model/n2f8/libmwsim.so";
    snprintf(model, sizeof model, "%s", scratch("cut.so"));
    snprintf(first, sizeof first, "export MOESWITCH_MODEL=%s", model);
    assert_int_equal(stat(whole, &st), 0);
    snprintf(line, sizeof line, "cp %s %s", whole, model);
    assert_int_equal(system(line), 0);
    assert_int_equal(endure(first, "info " SIZES), MW_EXIT_OK);
    for (off_t size = st.st_size - 1; size >= 0; size = size > 4096 ? size / 2 : size - 127) {
        assert_int_equal(truncate(model, size), 0);
        if (!endure(first, "info " SIZES))
            fail_msg("a model of %lld bytes was taken", (long long)size);
    }
    unlink(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cut_files),
        cmocka_unit_test(cut_model),
        cmocka_unit_test(little_memory),
        cmocka_unit_test(few_descriptors),
        cmocka_unit_test(empty_proc),
        cmocka_unit_test(no_reader),
        cmocka_unit_test(small_files),
        cmocka_unit_test(closed_descriptors),
        cmocka_unit_test(long_line),
        cmocka_unit_test(reports_output_that_is_lost),
        cmocka_unit_test(reports_files_that_are_lost),
        cmocka_unit_test(reports_waveforms_that_are_lost),
    };
    return cmocka_run_group_tests_name("command_scarce", tests, set_up, scratch_remove);
}
