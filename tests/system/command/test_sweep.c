// SPDX-License-Identifier: Apache-2.0
//
// `moeswitch sweep` with the device: sweeps that are killed and continue, runs that fail, GNU
// parallel on two hosts.
#include "system/command/sweep.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void assert_same_table(const char *folder)
{
    char path[300];
    snprintf(path, sizeof path, "%s/results.csv", folder);
    char *text = read_file(path), *expected = read_file(reference_csv());
    assert_true(text && expected);
    assert_string_equal(text, expected);
    free(text);
    free(expected);
}

// ---- what is whole ------------------------------------------------------------------------------

/// A result, as the file system identifies it: a rewritten file is another one.
struct result {
    char name[256];
    ino_t inode;
    struct timespec written;
};

static unsigned results_of(const char *folder, struct result *list)
{
    char path[300];
    unsigned n = 0;
    snprintf(path, sizeof path, "%s/results", folder);
    DIR *d = opendir(path);
    if (!d)
        return 0;
    for (struct dirent *e; (e = readdir(d));) {
        struct stat st;
        const char *dot = strrchr(e->d_name, '.');
        if (strcmp(dot, ".json") != 0)
            continue;
        snprintf(path, sizeof path, "%s/results/%s", folder, e->d_name);
        assert_int_equal(stat(path, &st), 0);
        assert_true(n < POINTS);
        snprintf(list[n].name, sizeof list[n].name, "%s", e->d_name);
        list[n].inode = st.st_ino;
        list[n++].written = st.st_mtim;
    }
    closedir(d);
    return n;
}

/// Every result of `before` is still the one that it was.
static void assert_kept(const char *folder, const struct result *before, unsigned count)
{
    struct result now[POINTS];
    unsigned n = results_of(folder, now);
    assert_int_equal(n, POINTS);
    for (unsigned i = 0; i < count; i++) {
        unsigned j = 0;
        while (j < n && strcmp(now[j].name, before[i].name) != 0)
            j++;
        assert_true(j < n);
        assert_int_equal(now[j].inode, before[i].inode);
        assert_memory_equal(&now[j].written, &before[i].written, sizeof now[j].written);
    }
}

/// The same command makes what is missing, no earlier result twice, and the table of an
/// uninterrupted sweep.
static void assert_goes_on(const char *folder, const struct result *before, unsigned count)
{
    char said[100];
    snprintf(said, sizeof said, "results.csv: 12 of 12 runs, %u of them new\n", POINTS - count);
    assert_int_equal(run_command("sweep %s --out \"%s\"", grid, folder), MW_EXIT_OK);
    assert_non_null(strstr(out_text, said));
    assert_kept(folder, before, count);
    assert_same_table(folder);
}

static void wait_a_moment(void)
{
    nanosleep(&(struct timespec){0, 2000000}, NULL);
}

/// Start a sweep, and return once `count` results are there.
static pid_t start_sweep(const char *folder, unsigned count, const char *err)
{
    struct result list[POINTS];
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int nothing = open("/dev/null", O_WRONLY),
            said = open(err, O_WRONLY | O_CREAT | O_TRUNC, 0666);
        signal(SIGINT, SIG_DFL);
        dup2(nothing, STDOUT_FILENO);
        dup2(said, STDERR_FILENO);
        execl("build/moeswitch", "moeswitch", "sweep", grid, "--out", folder, "--jobs", "2",
              (char *)NULL);
        _exit(127);
    }
    for (unsigned waits = 0; results_of(folder, list) < count; waits++) {
        assert_int_equal(waitpid(child, NULL, WNOHANG), 0);
        assert_true(waits < 300000);
        wait_a_moment();
    }
    return child;
}

/// Programs that have `folder` in their command line.
static unsigned programs_of(const char *folder)
{
    char line[400];
    unsigned n = 0;
    snprintf(line, sizeof line,
             "for f in /proc/[0-9]*/cmdline; do tr '\\0' ' ' <$f 2>/dev/null | grep -c '^[^ "
             "]*moeswitch .*%s'; "
             "done | grep -c 1",
             folder);
    FILE *f = popen(line, "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%u", &n), 1);
    pclose(f);
    return n;
}

static void wait_for_the_end(const char *folder)
{
    for (unsigned waits = 0; programs_of(folder); waits++) {
        assert_true(waits < 100);
        wait_a_moment();
    }
}

/// A run of many minutes does not continue when no process waits for it.
static void runs_end_with_their_sweep(void **state)
{
    (void)state;
    static const char text[] =
        "{\"system\": \"unicast\", \"gpus\": 2, \"flit-bytes\": 8, \"hidden\": "
        "4096, \"tokens-per-gpu\": 4096}";
    char folder[200];
    snprintf(folder, sizeof folder, "%s", scratch("long"));
    write_file(grid, text, sizeof text - 1);
    pid_t child = start_sweep(folder, 0, scratch("err"));
    for (unsigned waits = 0; programs_of(folder) < 2; waits++) {
        assert_true(waits < 100);
        wait_a_moment();
    }
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    wait_for_the_end(folder);
    write_file(grid, GRID, sizeof GRID - 1);
}

static void goes_on_where_it_was_killed(void **state)
{
    (void)state;
    struct result before[POINTS];
    unsigned last = 0;
    char folder[200];
    snprintf(folder, sizeof folder, "%s", scratch("killed"));
    // killed again and again, with more results each time
    for (unsigned count = 1; count <= POINTS - 4; count = last + 3) {
        pid_t child = start_sweep(folder, count, scratch("err"));
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, NULL, 0), child);
        wait_for_the_end(folder);
        last = results_of(folder, before);
        assert_true(last >= count);
        char path[300];
        snprintf(path, sizeof path, "%s/results.csv", folder);
        assert_int_not_equal(access(path, F_OK), 0);
    }
    assert_goes_on(folder, before, last);
    // once more: nothing is left to run
    assert_goes_on(folder, before, results_of(folder, before));
}

/// By SIGINT, or by SIGTERM as cluster managers and `timeout` send it.
static void ends_in_order(int number)
{
    struct result before[POINTS];
    char folder[200], err[200];
    int status;
    snprintf(folder, sizeof folder, "%s", scratch(number == SIGINT ? "interrupted" : "terminated"));
    snprintf(err, sizeof err, "%s", scratch("err"));
    pid_t child = start_sweep(folder, 2, err);
    assert_int_equal(kill(child, number), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 128 + number);
    assert_int_equal(programs_of(folder), 0);
    char *text = read_file(err);
    assert_string_equal(text, "moeswitch: interrupted; the same command continues it\n");
    free(text);
    unsigned count = results_of(folder, before);
    assert_true(count >= 2 && count < POINTS);
    assert_goes_on(folder, before, count);
}

static void ends_in_order_when_interrupted(void **state)
{
    (void)state;
    ends_in_order(SIGINT);
    ends_in_order(SIGTERM);
}

static void one_sweep_at_a_time(void **state)
{
    (void)state;
    char folder[200];
    snprintf(folder, sizeof folder, "%s", scratch("locked"));
    assert_int_equal(mkdir(folder, 0777), 0);
    int lock = open(folder, O_RDONLY);
    assert_int_equal(flock(lock, LOCK_EX), 0);
    assert_int_equal(run_command("sweep %s --out %s", grid, folder), MW_EXIT_INPUT);
    err_text[strlen(err_text) - 1] = 0;
    assert_line(err_text, "moeswitch: ", folder, "another sweep is writing there");
    close(lock);
}

// ---- runs and results ---------------------------------------------------------------------------

/// The grid of docs/user/sweep.md.
static void the_example_is_a_grid(void **state)
{
    (void)state;
    assert_int_equal(run_command("sweep bench/n_and_k.json --out %s --list", scratch("example")),
                     MW_EXIT_OK);
    assert_int_equal(count_of("\n", out_text), MW_SYSTEMS * 2 * 3);
}

/// Each impossible run ends with a line. The others have their rows.
static void goes_on_behind_runs_that_fail(void **state)
{
    (void)state;
    char path[200], folder[200];
    static const char text[] =
        "{\"system\": \"dysharp\", \"gpus\": 4, \"flit-bytes\": 8, \"experts\": 8, \"k\": 2, "
        "\"hidden\": [16376, 32], \"tokens-per-gpu\": [512, 6], \"set\": {\"quiet_cycles\": "
        "2000000}}";
    snprintf(path, sizeof path, "%s", scratch("large.json"));
    snprintf(folder, sizeof folder, "%s", scratch("large.sweep")); // the default
    char small[sizeof text + 40];
    snprintf(small, sizeof small, "%.*s, \"small\": 1}}", (int)(sizeof text - 3), text);
    write_file(path, small, strlen(small));
    assert_int_equal(run_command("sweep %s", path), MW_EXIT_INPUT);
    const unsigned reported = count_of("moeswitch: run ", err_text);
    assert_true(reported >= 1 && reported < 4);
    assert_non_null(strstr(err_text, "(hidden 16376, tokens-per-gpu 512): "));
    assert_non_null(strstr(err_text, "the device cannot hold this run"));
    snprintf(small, sizeof small, "runs without a result: %u; the same command runs them again\n",
             reported);
    assert_non_null(strstr(err_text, small));
    struct result list[POINTS];
    assert_int_equal(results_of(folder, list), 4 - reported);
}

/// A damaged result counts as missing: its run is repeated.
static void replaces_what_is_spoilt(void **state)
{
    (void)state;
    struct result list[POINTS];
    char folder[200], path[600];
    snprintf(folder, sizeof folder, "%s", scratch("spoilt"));
    assert_int_equal(run_command("sweep %s --out %s", grid, folder), MW_EXIT_OK);
    results_of(folder, list);
    snprintf(path, sizeof path, "%s/results/%s", folder, list[5].name);
    assert_int_equal(truncate(path, 700), 0);
    assert_int_equal(run_command("sweep %s --out %s", grid, folder), MW_EXIT_OK);
    assert_non_null(strstr(err_text, list[5].name));
    assert_non_null(strstr(out_text, "12 of 12 runs, 1 of them new"));
    assert_same_table(folder);
}

/// Run a command line under a limit on the size of files, which acts as a full disk. Returns its
/// exit status.
static int run_on_full_disk(unsigned blocks, const char *words)
{
    char line[900];
    snprintf(line, sizeof line, "trap '' XFSZ; ulimit -f %u; build/moeswitch %s >%s 2>%s", blocks,
             words, scratch("out"), scratch("err"));
    int status = system(line);
    free(err_text);
    err_text = read_file(scratch("err"));
    assert_true(err_text && WIFEXITED(status));
    return WEXITSTATUS(status);
}

/// Output that cannot be written is an error, and no part of it stays.
static void reports_what_it_cannot_write(void **state)
{
    (void)state;
    char words[600], folder[200], path[300];
    struct result list[POINTS];
    snprintf(folder, sizeof folder, "%s", scratch("full"));
    // blocks of 512 bytes: ids fit, weights do not
    snprintf(words, sizeof words, "gen %s --tokens 1000", folder);
    assert_int_equal(run_on_full_disk(40, words), MW_EXIT_FAILED);
    err_text[strlen(err_text) - 1] = 0;
    assert_line(err_text, "moeswitch: ", "topk_weights.npy: cannot write: File too large");
    assert_int_not_equal(access(folder, F_OK), 0);
    // no report fits: the machine failed, so that no other run begins
    snprintf(words, sizeof words, "sweep %s --out %s --jobs 1", grid, folder);
    assert_int_equal(run_on_full_disk(4, words), MW_EXIT_FAILED);
    assert_non_null(strstr(err_text, ".json: cannot write: File too large\n"));
    assert_non_null(
        strstr(err_text, "moeswitch: the sweep ends here; the same command continues it\n"));
    assert_int_equal(count_of("\n", err_text), 2);
    assert_int_equal(results_of(folder, list), 0);
    // all runs have a report, and the table does not fit
    snprintf(words, sizeof words, "sweep %s --out %s", grid, folder);
    assert_int_equal(run_command("%s", words), MW_EXIT_OK);
    snprintf(path, sizeof path, "%s/results.csv", folder);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(run_on_full_disk(4, words), MW_EXIT_FAILED);
    assert_non_null(strstr(err_text, "results.csv: cannot write: File too large\n"));
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_equal(run_command_to("/dev/full", "%s", words), MW_EXIT_FAILED);
    assert_string_equal(err_text,
                        "moeswitch: standard output: cannot write: No space left on device\n");
}

/// A trace that was written and a synthetic one of a run are the same.
static void runs_what_gen_wrote(void **state)
{
    (void)state;
    static const char options[] = "--experts 16 --k 4 --sigma 0.8 --locality 0.4 --groups 4 "
                                  "--topk-groups 2 --seed 9",
                      sizes[] = "--gpus 2 --flit-bytes 8 --hidden 32 --tokens-per-gpu 10 --tile 2 "
                                "--system all";
    char *cycles[2][MW_SYSTEMS], folder[200];
    snprintf(folder, sizeof folder, "%s", scratch("gen"));
    assert_int_equal(run_command("gen %s --layers 2 --tokens 30 %s", folder, options), MW_EXIT_OK);
    for (unsigned i = 0; i < 2; i++) {
        const char *json = scratch("gen.json");
        assert_int_equal(
            i ? run_command("run --trace %s --layer 1 --seed 9 %s --json %s", folder, sizes, json)
              : run_command("run --layer 1 %s %s --json %s", options, sizes, json),
            MW_EXIT_OK);
        cJSON *root = read_json(json);
        for (unsigned s = 0; s < MW_SYSTEMS; s++) {
            cJSON *system = cJSON_GetArrayItem(member(root, "systems"), (int)s);
            cJSON_DeleteItemFromObject(system, "seconds_wall");
            cJSON_DeleteItemFromObject(system, "sim_cycles_per_s");
            cycles[i][s] = cJSON_Print(system);
        }
        cJSON_Delete(root);
    }
    for (unsigned s = 0; s < MW_SYSTEMS; s++) {
        assert_string_equal(cycles[0][s], cycles[1][s]);
        free(cycles[0][s]);
        free(cycles[1][s]);
    }
}

// ---- elsewhere ----------------------------------------------------------------------------------

/// Any line runs by hand, from any folder. Line N is what element N of a Slurm array runs.
static void lines_run_by_themselves(void **state)
{
    (void)state;
    struct result list[POINTS];
    char folder[200], line[1000];
    snprintf(folder, sizeof folder, "%s", scratch("lines of it's own"));
    snprintf(line, sizeof line, "build/moeswitch sweep %s --out \"%s\" --list >%s", grid, folder,
             scratch("lines"));
    assert_int_equal(system(line), 0);
    snprintf(line, sizeof line, "cd / && sed -n 3p %s | sh >/dev/null", scratch("lines"));
    assert_int_equal(system(line), 0);
    assert_int_equal(results_of(folder, list), 1);
    snprintf(line, sizeof line, "test $(wc -l <%s) = 12", scratch("lines"));
    assert_int_equal(system(line), 0);
    assert_goes_on(folder, list, 1);
}

/// A stand-in for ssh. It records the requested host, and runs the command here in another folder
/// and environment, as another host has them.
static const char *write_ssh(void)
{
    static char path[200];
    char text[600];
    snprintf(path, sizeof path, "%s", scratch("ssh"));
    snprintf(text, sizeof text,
             "#!/bin/sh\nwhile [ \"${1#-}\" != \"$1\" ]; do shift; done\nhost=$1\nshift\n"
             "[ \"$1\" = -- ] && shift\n"
             "echo \"$host\" >>%s\ncd / && exec env -i PATH=\"$PATH\" HOME=/ SHELL=/bin/sh sh -c "
             "\"$*\"\n",
             scratch("hosts"));
    write_file(path, text, strlen(text));
    assert_int_equal(chmod(path, 0755), 0);
    return path;
}

static void gnu_parallel_runs_it_on_two_hosts(void **state)
{
    (void)state;
    struct result before[POINTS];
    char folder[200], line[1500];
    snprintf(folder, sizeof folder, "%s", scratch("hosts-sweep"));
    snprintf(line, sizeof line,
             "build/moeswitch sweep %s --out %s --list | HOME=%s parallel --will-cite --ssh %s "
             "--sshlogin 1/first,1/second >%s 2>&1",
             grid, folder, scratch(""), write_ssh(), scratch("said"));
    if (system(line)) {
        char *said = read_file(scratch("said"));
        fail_msg("%s", said);
    }
    char *hosts = read_file(scratch("hosts"));
    assert_non_null(strstr(hosts, "first\n"));
    assert_non_null(strstr(hosts, "second\n"));
    free(hosts);
    assert_int_equal(results_of(folder, before), POINTS);
    assert_goes_on(folder, before, POINTS);
}

/// A model that is missing is built before the runs, once, and that is reported: here by
/// a make that fails.
static void builds_models_first(void **state)
{
    (void)state;
    static const char words[] = "{\"gpus\": 7, \"flit-bytes\": 8, \"k\": [1, 2], \"experts\": 7, "
                                "\"tokens-per-gpu\": 8, \"hidden\": 64}";
    char line[1600], grid_of_7[200], folder[200];
    if (access("build/model/n7f8", F_OK) == 0)
        skip(); // it is built already
    snprintf(grid_of_7, sizeof grid_of_7, "%s", scratch("grid7.json"));
    write_file(grid_of_7, words, sizeof words - 1);
    snprintf(folder, sizeof folder, "%s", scratch("missing"));
    snprintf(line, sizeof line,
             "mkdir -p %s/bin && printf '#!/bin/sh\\necho made $5 $6\\nexit 1\\n' >%s/bin/make && "
             "chmod +x %s/bin/make && PATH=%s/bin:$PATH build/moeswitch sweep %s --out %s/out 2>%s",
             folder, folder, folder, folder, grid_of_7, folder, scratch("err"));
    int status = system(line);
    assert_int_equal(WEXITSTATUS(status), MW_EXIT_FAILED);
    char *text = read_file(scratch("err"));
    assert_non_null(text);
    const char *reported =
        strstr(text, "moeswitch: building the model n7f8, which takes some minutes\n");
    const char *made = strstr(text, "made N=7 F=8\n"), *cause = strstr(text, "no model n7f8");
    if (!reported || !made || !cause || reported > made || made > cause ||
        strstr(made + 1, "made N=7") || strstr(text, " runs"))
        fail_msg("%s", text);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_end_with_their_sweep),
        cmocka_unit_test(goes_on_where_it_was_killed),
        cmocka_unit_test(ends_in_order_when_interrupted),
        cmocka_unit_test(one_sweep_at_a_time),
        cmocka_unit_test(the_example_is_a_grid),
        cmocka_unit_test(goes_on_behind_runs_that_fail),
        cmocka_unit_test(replaces_what_is_spoilt),
        cmocka_unit_test(reports_what_it_cannot_write),
        cmocka_unit_test(runs_what_gen_wrote),
        cmocka_unit_test(lines_run_by_themselves),
        cmocka_unit_test(gnu_parallel_runs_it_on_two_hosts),
        cmocka_unit_test(builds_models_first),
    };
    return cmocka_run_group_tests_name("sweep", tests, set_up, finish);
}
