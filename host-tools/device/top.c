// SPDX-License-Identifier: Apache-2.0
//
// See top.h. Each look requests samples from the owners until the next look, so the first one often
// has none. On a terminal, the screen is redrawn each time, on its alternate page, which is left at
// any end.
#include "device/top.h"

#include "base/error.h"
#include "base/seconds.h"
#include "cli/command_help.h"
#include "cli/tables.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { DEVICES = 16 }; ///< that are shown

struct asked {
    double interval; ///< s
    unsigned count;  ///< looks, 0: until Ctrl-C
    unsigned pid;    ///< 0: all
};

/// The last two samples of a device, and when they were taken (s).
struct seen {
    struct mw_shared last, before;
    double when, when_before;
};

struct screen {
    FILE *out;
    bool terminal, colour;
    struct seen seen[DEVICES];
    unsigned count;
};

static volatile sig_atomic_t ended; ///< by a signal: its number

static void take_signal(int number)
{
    ended = number;
}

/// No end leaves the terminal on its alternate page: signals are checked between two waits, and
/// Ctrl-Z has no effect.
static void catch_signals(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction catch = {.sa_handler = take_signal}, ignore = {.sa_handler = SIG_IGN};
    for (unsigned i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i], &catch, NULL);
    sigaction(SIGTSTP, &ignore, NULL);
}

static void rest(double seconds)
{
    struct timespec t = {.tv_sec = (time_t)seconds};
    t.tv_nsec = (long)(1e9 * (seconds - (double)t.tv_sec));
    if (!ended)
        nanosleep(&t, NULL);
}

// ---- looking ------------------------------------------------------------------------------------

/// The devices that are shared now. Returns how many.
static unsigned look(const struct asked *a, struct mw_shared list[DEVICES])
{
    struct mw_shared_id id[4 * DEVICES];
    size_t found = 0;
    unsigned count = 0;
    mw_shared_list(id, sizeof id / sizeof *id, &found);
    for (size_t i = 0; i < found && count < DEVICES; i++)
        if ((!a->pid || id[i].pid == a->pid) &&
            mw_shared_look(&id[i], (unsigned)(1000 * a->interval), &list[count]) == 0)
            count++;
    return count;
}

/// The samples of that device so far. Empty for a new one.
static struct seen recall(const struct screen *s, const struct mw_shared_id *id)
{
    for (unsigned i = 0; i < s->count; i++)
        if (s->seen[i].last.id.pid == id->pid && s->seen[i].last.id.number == id->number)
            return s->seen[i];
    return (struct seen){.when = 0};
}

/// If its owner has taken no new sample since, the result of the last two stays.
static void take(struct seen *seen, const struct mw_shared *now, double time)
{
    const struct mw_shared *last = &seen->last;
    bool another = !last->sampled || last->layer != now->layer ||
                   last->total_cycles != now->total_cycles ||
                   last->counters.cycles != now->counters.cycles;
    if (another) {
        seen->before = seen->last;
        seen->when_before = seen->when;
        seen->when = time - (double)now->age_ms / 1000;
    }
    seen->last = *now;
}

static int write_devices(struct screen *s, FILE *out, const struct mw_shared *list, unsigned count,
                         struct mw_error *err)
{
    struct seen *seen = calloc(DEVICES, sizeof *seen);
    double time = mw_seconds();
    if (!seen)
        return mw_fail_memory(err, "the screen");
    if (!count)
        fputs("no program of this user shares a device\n", out);
    for (unsigned i = 0; i < count; i++) {
        seen[i] = recall(s, &list[i].id);
        take(&seen[i], &list[i], time);
        if (i)
            fputc('\n', out);
        mw_top_device(out, &seen[i].last, &seen[i].before, seen[i].when - seen[i].when_before,
                      s->colour);
    }
    memcpy(s->seen, seen, sizeof s->seen);
    s->count = count;
    free(seen);
    return MW_EXIT_OK;
}

// ---- the terminal -------------------------------------------------------------------------------

static void enter(struct screen *s)
{
    if (s->terminal)
        fputs("\033[?1049h\033[?25l", s->out);
}

static void leave(struct screen *s)
{
    if (s->terminal)
        fputs("\033[?25h\033[?1049l", s->out);
    fflush(s->out);
}

/// As many lines as the terminal has, each with the rest of the last one taken away.
static void draw(struct screen *s, char *text)
{
    struct winsize size = {0};
    unsigned rows = ioctl(fileno(s->out), TIOCGWINSZ, &size) == 0 && size.ws_row ? size.ws_row : 24;
    fputs("\033[H", s->out);
    for (char *line = strtok(text, "\n"); line && rows > 1; line = strtok(NULL, "\n"), rows--)
        fprintf(s->out, "%s\033[K\n", line);
    fputs("\033[J", s->out);
}

static int show(struct screen *s, const struct mw_shared *list, unsigned count,
                struct mw_error *err)
{
    char *text = NULL;
    size_t size;
    FILE *memory = open_memstream(&text, &size);
    if (!memory)
        return mw_fail_memory(err, "the screen");
    int status = write_devices(s, memory, list, count, err);
    if (fclose(memory) && !status)
        status = mw_fail_memory(err, "the screen");
    if (status) {
        free(text);
        return status;
    }
    if (s->terminal)
        draw(s, text);
    else
        fputs(text, s->out);
    free(text);
    return mw_tables_flush(s->out, err);
}

// ---- the command --------------------------------------------------------------------------------

static int run(const struct asked *a, struct screen *s, struct mw_error *err)
{
    struct mw_shared list[DEVICES];
    int status = MW_EXIT_OK;
    look(a, list); // requests the samples that are shown first
    for (unsigned i = 0; !status && (!a->count || i < a->count); i++) {
        rest(a->interval);
        if (ended)
            return 128 + ended;
        status = show(s, list, look(a, list), err);
    }
    return status;
}

#define AT(field) offsetof(struct asked, field)

static const struct mw_option options[] = {
    MW_REAL("interval", AT(interval), 0.05, 3600, "S",
            "seconds between two samples, {} (default {default})"),
    MW_UNSIGNED("count", AT(count), 1, 1000000000, "N",
                "end after N samples, {} (default: run until Ctrl-C)"),
    MW_UNSIGNED("pid", AT(pid), 1, 1u << 30, "P", "show only devices of this process, {}"),
};

static MW_TERMS(exits, {"0", "all samples are taken"}, {"2", "bad input"},
                {"4", MW_EXIT_FAILED_TEXT}, {"130", MW_EXIT_INTERRUPTED_TEXT});
static const struct mw_section sections[] = {{"Exit status", exits}, {0}};

static void defaults(void *params)
{
    *(struct asked *)params = (struct asked){.interval = 1};
}

const struct mw_option_table mw_top_table = {
    .command = "top",
    .option = options,
    .count = sizeof options / sizeof *options,
    .summary = "show the activity of the devices that programs have open",
    .synopsis = "[OPTION]...",
    .text = "Shows the activity of the devices that programs of this user have open, and refreshes "
            "it: use of each port's links, bytes, waits, expert engines, rows and tokens. Ctrl-C "
            "ends it.\nmoeswitch run and bench share their devices; other programs share theirs if "
            "they set mw_open_options.share. The program that has a device samples it while it "
            "waits for layers and top runs.",
    .section = sections,
    .defaults = defaults,
    .params_bytes = sizeof(struct asked),
};

int mw_top_command(int argc, char **argv, FILE *out, FILE *errors)
{
    struct asked a;
    struct mw_options_said said;
    struct mw_error err = {0};
    defaults(&a);
    int status = mw_options_parse(&mw_top_table, argc, argv, &a, &said, &err);
    if (!status && said.help) {
        mw_command_help(&mw_top_table, out);
        return MW_EXIT_OK;
    }
    struct screen *s = status ? NULL : calloc(1, sizeof *s);
    if (!status && !s)
        status = mw_fail_memory(&err, "the screen");
    if (!status) {
        *s = (struct screen){.out = out, .terminal = isatty(fileno(out))};
        s->colour = s->terminal && !getenv("NO_COLOR");
        catch_signals();
        enter(s);
        status = run(&a, s, &err);
        leave(s);
    }
    free(s);
    if (err.text[0])
        fprintf(errors, "moeswitch: %s\n", err.text);
    return status;
}
