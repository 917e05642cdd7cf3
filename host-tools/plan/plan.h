// SPDX-License-Identifier: Apache-2.0
//
// `moeswitch plan`: time of a step of a whole model on a machine, under each system, for every
// fitting split over GPUs.
#ifndef MW_PLAN_H
#define MW_PLAN_H

#include "cli/tables.h"
#include "experiment/params.h"
#include "plan/search.h"
#include "plan/variants.h"

struct mw_plan_params {
    struct mw_task task;
    struct mw_hardware machine; ///< the task's, with as many GPUs of it as are used
    const char *machine_file;   ///< where it is from; NULL: a preset
    struct mw_run_params run;   ///< of this only the systems
    struct mw_parallel fixed;   ///< sizes that were given; 0: all are tried
    bool recompute_fixed;
    unsigned tensor_system; ///< an index of mw_tp_systems
    double memory;          ///< GB of a GPU; 0: the machine's
    const char *compute, *trace;
    struct mw_trace_said said;
    unsigned layer;     ///< of the trace
    unsigned redundant; ///< experts of each layer that are there twice
    double sigma, locality;
    unsigned tile, top, explain;
    const char *html;                ///< file for a page to look at, or NULL
    const char *chakra, *chakra_out; ///< an execution trace, and where it goes with times; or NULL
    unsigned chakra_ranks;           ///< of its collectives; 0: as many as share the experts
    const char *moe_csv;             ///< file for LLMServingSim, or NULL
    struct mw_data_files files;
};

/// What a plan found.
struct mw_plan {
    const struct mw_plan_params *params;
    struct mw_planner planner;
    struct mw_trace trace;
    struct mw_search search;
    struct mw_variants variants; ///< where JSON or a page is written
};

extern const struct mw_option_table mw_plan_table;
/// The command: argv[0] is "plan". Returns the exit status.
int mw_plan_command(int argc, char **argv, FILE *out, FILE *errors);

/// Read a command line. MW_EXIT_INPUT: an option is wrong, or sizes do not divide.
int mw_plan_parse(struct mw_plan_params *params, int argc, char **argv, bool *help,
                  struct mw_error *err);

/// Tables for people, and the expansion of line params->explain.
void mw_plan_report(FILE *out, const struct mw_plan *plan);
/// The same for programs; rows of CSV are the array "configurations". MW_EXIT_FAILED: no memory.
int mw_plan_json(struct mw_json *j, const struct mw_plan *plan, struct mw_error *err);
enum { MW_OUTSIDE_BYTES = 512 };
/// Names of quantities outside the calibrated ranges, with commas; "" if there are none. Returns
/// `text`.
const char *mw_plan_outside(unsigned outside, char *text, size_t size);
/// The part of the step that takes longest.
enum mw_step_part mw_plan_limit(const struct mw_step *s);
/// "tp 1, cp 1, ep 64, pp 16, dp 128, micro-batch 1": sizes that are not 1, but always ep, pp and
/// dp. Returns `text`.
const char *mw_plan_sizes(const struct mw_parallel *p, char *text, size_t size);

#endif
