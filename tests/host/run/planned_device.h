// SPDX-License-Identifier: Apache-2.0
//
// A device made of the golden model and the analytic counts, in place of the real one. It serves
// the programs that test the command `moeswitch run`. Each includes it once.
#ifndef MW_TEST_PLANNED_DEVICE_H
#define MW_TEST_PLANNED_DEVICE_H

#include "host/support.h"
#include "host/words.h"

#include "analysis/bounds.h"
#include "golden/golden.h"
#include "run/run.h"
#include "systems/system_list.h"
#include "systems/systems.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

// ---- the device -------------------------------------------------------------------------------

/// How the device behaves, and the requests that it got.
static struct {
    const char *faulty; ///< the system to which the next two apply; NULL: all
    int status;
    bool wrong_bit, wrong_count, too_fast;
    bool planes;      ///< it has four planes of different cycles,
    int wrong_planes; ///< and this mask of them a wrong bit,
    int killed;       ///< is killed,
    int endless;      ///< or never ends
    bool interrupts;  ///< the first plane interrupts the command
    bool too_large;   ///< the run is, before it begins
    unsigned lacks;   ///< the index of a system without whose primitives it is; 0: has all
    uint64_t touched; ///< bytes that a system takes of this machine
    unsigned checks;
    atomic_uint runs;
    atomic_uint running, most; ///< at once, where every run waits for that many others
    unsigned meet;
    int signal; ///< raised by the first run, which then continues until it is stopped
    bool deaf;  ///< ... which it must not notice
    struct mw_run_params params; ///< of the last run
    unsigned experts, k;         ///< of its workload
    char fst[256];
} device;

static void run_layer(const struct mw_run_params *params, const struct mw_workload *w, unsigned l,
                      struct mw_result *r)
{
    struct mw_traffic phases[MW_PHASES];
    mw_golden_layer(w, l, r->layer[l].out);
    const struct mw_link_parameters link = mw_run_links(params);
    mw_traffic_count(w, l, r->system, &link, phases);
    for (unsigned p = 0; p < MW_PHASES; p++)
        mw_traffic_add(&r->layer[l].traffic, &phases[p]);
    struct mw_bounds bounds;
    mw_bounds_compute(w, l, r->system, &link, &bounds);
    r->layer[l].cycles = strcmp(r->system->name, mw_systems[0].name) == 0 ? 3000 : 2000;
    if (r->layer[l].cycles < bounds.own.cycles)
        r->layer[l].cycles = bounds.own.cycles;
    r->simulated_cycles += r->layer[l].cycles;
    mw_result_stall(&r->layer[l], "bank", 5);
}

int mw_systems_check(const struct mw_run_params *params, const struct mw_demand *demand, bool built,
                     uint64_t touched[MW_SYSTEMS], struct mw_left_out left_out[MW_SYSTEMS],
                     struct mw_error *err)
{
    (void)built;
    device.checks++;
    for (unsigned i = 0; i < MW_SYSTEMS; i++)
        left_out[i] =
            (struct mw_left_out){!params->systems && i && i == device.lacks, "as planned"};
    assert_int_equal(params->shape.gpus, demand->shape.gpus);
    for (unsigned i = 0; i < MW_SYSTEMS; i++)
        touched[i] = mw_run_asks_for(params, i) ? device.touched : 0;
    return device.too_large ? mw_fail(err, MW_EXIT_INPUT, "too large, as planned") : MW_EXIT_OK;
}

/// The plane whose first packet of token 0 the workload has.
static unsigned plane_of(const struct mw_workload *w)
{
    unsigned plane = 0;
    while (w->layer[0].x[5] != mw_hidden_value(w->shape.seed, 0, 0, 64 * plane + 5))
        assert_true(++plane < 4);
    return plane;
}

static pthread_mutex_t recording = PTHREAD_MUTEX_INITIALIZER; ///< of the requests of a run

/// Concurrent runs wait for each other. The later a system, the earlier it ends.
static void meet_others(void)
{
    unsigned now = ++device.running, most = device.most;
    while (now > most && !atomic_compare_exchange_weak(&device.most, &most, now))
        continue;
    for (unsigned i = 0; i < 500 && device.most < device.meet; i++)
        usleep(10000);
    device.running--;
}

int mw_system_run(const struct mw_run_params *params, const struct mw_workload *w,
                  struct mw_result *r)
{
    const char *system = r->system->name;
    bool faulty = !device.faulty || strcmp(device.faulty, system) == 0;
    device.runs++;
    meet_others();
    pthread_mutex_lock(&recording);
    device.params = *params;
    device.experts = w->experts;
    device.k = w->k;
    if (params->fst) {
        snprintf(device.fst, sizeof device.fst, "%s", params->fst);
        write_file(params->fst, "waves", 5);
    }
    pthread_mutex_unlock(&recording);
    if (device.signal && device.runs == 1)
        raise(device.signal);
    if (device.signal && device.runs == 1 && !device.deaf) {
        for (unsigned i = 0; params->progress(params->progress_context, 0, 0.5, 1000); i++) {
            assert_true(i < 1000);
            usleep(10000);
        }
        return mw_fail(&r->error, MW_EXIT_INTERRUPTED, "stopped");
    }
    if (faulty && device.status) {
        if (device.status == MW_EXIT_STUCK)
            r->state = strdup("GPU 0: stream 1 waits\nport 3: store queue 16\n");
        return mw_fail(&r->error, device.status, "as planned");
    }
    for (unsigned l = 0; l < w->layers; l++)
        run_layer(params, w, l, r);
    if (device.planes) {
        if (device.killed >> plane_of(w) & 1)
            raise(SIGKILL);
        if (device.interrupts && plane_of(w) == 0)
            kill(getppid(), SIGINT);
        while (device.endless >> plane_of(w) & 1)
            pause();
        r->layer[0].cycles += plane_of(w) == 2 ? 900 : 100 * plane_of(w);
        if (device.wrong_planes >> plane_of(w) & 1)
            r->layer[0].out[2 * w->shape.hidden + plane_of(w)] ^= 1;
    }
    if (faulty && device.wrong_bit)
        r->layer[w->layers - 1].out[3 * w->shape.hidden + 2] ^= 1;
    if (faulty && device.wrong_count)
        r->layer[0].traffic.flits[1][MW_UP][MW_STORE]++;
    if (faulty && device.too_fast)
        r->layer[w->layers - 1].cycles = 100;
    return MW_EXIT_OK;
}

// ---- calling the command ----------------------------------------------------------------------

#define RUN(...) run_words(mw_run_command, "run", (const char *const[]){__VA_ARGS__, NULL})

/// A small run, to which options are appended.
#define SMALL "--gpus", "4", "--tokens-per-gpu", "4", "--hidden", "64", "--experts", "8", "--k", "3"

/// The command refuses these words for that cause, before anything runs.
#define REFUSE(cause, ...) refuse(cause, (const char *const[]){__VA_ARGS__, NULL})
static void refuse(const char *cause, const char *const *words)
{
    refuse_words(mw_run_command, "run", words, cause);
    assert_int_equal(device.runs, 0);
}

static int reset(void **state)
{
    (void)state;
    memset(&device, 0, sizeof device);
    return 0;
}

/// Number of entries of the scratch folder: no file may remain under another name either.
static unsigned scratch_entries(void)
{
    char command[300];
    unsigned n = 0;
    snprintf(command, sizeof command, "ls -A %s | wc -l", scratch("."));
    FILE *f = popen(command, "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%u", &n), 1);
    pclose(f);
    return n;
}

/// Drop the lines of wall-clock fields.
static void drop_wall(char *text)
{
    char *to = text;
    for (char *line = text; *line;) {
        char *end = strchr(line, '\n') + 1;
        size_t n = (size_t)(end - line);
        char *field = strstr(line, "_wall\""), *speed = strstr(line, "\"sim_cycles_per_s\"");
        if (!(field && field < end) && !(speed && speed < end)) {
            memmove(to, line, n);
            to += n;
        }
        line = end;
    }
    *to = 0;
}

#endif
