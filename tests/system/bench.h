// SPDX-License-Identifier: Apache-2.0
//
// Shared by the system tests: a workload with its golden result, runs of it under a system, and the
// checks that every run must pass. The Verilated models must be there (make models), see docs of
// `moeswitch run` for the parameters.
#ifndef MW_TEST_BENCH_H
#define MW_TEST_BENCH_H

#include "host/support.h"

#include "base/random.h"
#include "golden/golden.h"
#include "systems/systems.h"

/// One workload and how it is run.
struct bench {
    struct mw_run_params params;
    struct mw_trace trace;
    struct mw_workload w;
    struct mw_expected expected[MW_MAX_LAYERS];
};

/// Changes a synthetic trace before it becomes a workload.
typedef void bench_edit(struct bench *b, void *context);

/// Set the parameters from words as they follow `moeswitch run`, separated by blanks. A later
/// option overrides an earlier one.
void bench_options(struct bench *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
/// Make trace, workload and golden result. `edit` may be NULL.
void bench_prepare(struct bench *b, bench_edit *edit, void *context);
/// Make the golden result again, of values that have changed since.
void bench_golden(struct bench *b);
void bench_free(struct bench *b);

/// Run a system. Returns mw_system_run's status. The output is compared. Free it by mw_result_free.
int bench_run(const struct bench *b, const char *system, struct mw_result *r);
/// The run must have ended well, with the golden bits and the analytic flit counts.
void bench_check(const struct bench *b, const char *system, const struct mw_result *r, int status);
/// Run and check. Returns the cycles of all layers.
uint64_t bench_pass(const struct bench *b, const char *system);
/// Whether the device has the primitives of the system, and lists long enough for it.
bool bench_has(const struct bench *b, const struct mw_system *system);
/// Set options, prepare, run every third system if the device has it, from another first one in
/// each call (with MW_LONG all), and free.
void bench_all(const char *options, bench_edit *edit, void *context);

/// Expert at place `j` of a token's list, for edits.
static inline uint16_t *bench_id(struct bench *b, size_t layer, size_t token, unsigned j)
{
    return &b->trace.ids[mw_trace_at(&b->trace, layer, token) + j];
}

#endif
