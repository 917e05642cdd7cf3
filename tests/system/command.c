// SPDX-License-Identifier: Apache-2.0
//
// See command.h.
#include "command.h"

#include "program/commands.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

char *out_text, *err_text;

cJSON *read_json(const char *path)
{
    char *text = read_file(path);
    cJSON *root = text ? cJSON_Parse(text) : NULL;
    if (!root)
        fail_msg("%s: no JSON", path);
    free(text);
    return root;
}

const cJSON *member(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItem(object, key);
    if (!item)
        fail_msg("%s is missing", key);
    return item;
}

double number(const cJSON *object, const char *key)
{
    const cJSON *item = member(object, key);
    if (!cJSON_IsNumber(item))
        fail_msg("%s is no number", key);
    return item->valuedouble;
}

/// Standard output goes to `output`.
static int run_words(const char *output, const char *format, va_list args)
{
    char words[1500], line[2600];
    vsnprintf(words, sizeof words, format, args);
    snprintf(line, sizeof line, "build/moeswitch %s >%s 2>%s", words, output, scratch("err"));
    int status = system(line);
    free(err_text);
    err_text = read_file(scratch("err"));
    assert_true(err_text && WIFEXITED(status));
    return WEXITSTATUS(status);
}

int run_command(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int status = run_words(scratch("out"), format, args);
    va_end(args);
    free(out_text);
    out_text = read_file(scratch("out"));
    assert_non_null(out_text);
    return status;
}

int run_command_to(const char *output, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int status = run_words(output, format, args);
    va_end(args);
    return status;
}

unsigned entries(const char *folder)
{
    char line[400];
    unsigned n = 0;
    snprintf(line, sizeof line, "ls -A %s | wc -l", scratch(folder));
    FILE *f = popen(line, "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%u", &n), 1);
    pclose(f);
    return n;
}

void assert_own_options(const struct mw_option_table *t, const char *words, const char *line)
{
    for (const char *at = line; (at = strstr(at, "--")); at += 2) {
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)strspn(at, "-abcdefghijklmnopqrstuvwxyz"), at);
        bool own = strcmp(name, "--help") == 0 || strstr(words, name);
        for (unsigned i = 0; i < t->count && !own; i++)
            own = t->option[i].name && strcmp(t->option[i].name, name + 2) == 0;
        if (!own)
            fail_msg("%s has no %s: %s", t->command, name, line);
    }
}

void assert_refuses(const char *subcommand, const char *words, const char *const *parts)
{
    int status = run_command("%s %s --json %s", subcommand, words, scratch("files/x.json"));
    if (status != MW_EXIT_INPUT)
        fail_msg("%s %s: exit status %d: %s", subcommand, words, status, err_text);
    size_t n = strlen(err_text);
    assert_true(n > 0 && err_text[n - 1] == '\n');
    err_text[n - 1] = 0;
    assert_line_has(err_text, parts);
    assert_line(err_text, "moeswitch: ");
    char *word = strdup(subcommand);
    int count;
    const struct mw_command *c = mw_command_find(1, &word, &count);
    free(word);
    assert_non_null(c);
    assert_own_options(c->table, words, err_text);
    assert_int_equal(entries("files"), 0);
}

void assert_interrupts(const char *words, int number, const char *message)
{
    char line[1400], err[256];
    snprintf(err, sizeof err, "%s", scratch("err"));
    snprintf(line, sizeof line, "exec build/moeswitch %s >/dev/null 2>%s", words, err);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        signal(number, SIG_DFL);
        execl("/bin/sh", "sh", "-c", line, (char *)NULL);
        _exit(127);
    }
    struct timespec from;
    struct rusage used;
    clockid_t clock;
    int status;
    sleep(2);
    assert_int_equal(clock_getcpuclockid(child, &clock), 0);
    assert_int_equal(clock_gettime(clock, &from), 0);
    assert_int_equal(kill(child, number), 0);
    assert_int_equal(wait4(child, &status, 0, &used), child);
    char *text = read_file(err);
    assert_string_equal(text, message);
    free(text);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 128 + number);
    // of processor time, which concurrent tests do not change
    double seconds = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec - from.tv_sec) +
                     1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) -
                     1e-9 * (double)from.tv_nsec;
    if (seconds > 1)
        print_message("%.1f s of processor time until it ended\n", seconds);
    assert_true(seconds < 5);
}
