// SPDX-License-Identifier: Apache-2.0
//
// Execution traces of MLCommons Chakra (schema/protobuf/et_def.proto): nodes of communication get
// the plan's times.
#ifndef MW_PLAN_CHAKRA_H
#define MW_PLAN_CHAKRA_H

#include "plan/step.h"

/// What a node's time depends on.
struct mw_chakra_times {
    const struct mw_hardware *hardware;
    unsigned ranks;                 ///< of every collective
    double expert_seconds_per_byte; ///< all-to-all: dispatch and combine, for each byte of a GPU
    double expert_latency;          ///< and what it takes without any
};

/// What was done.
struct mw_chakra_counts {
    size_t nodes, timed, all_to_all;
    double micros; ///< sum of the times
};

/// Those of the step, under its system.
int mw_chakra_times_of(struct mw_chakra_times *times, struct mw_planner *p, const struct mw_step *s,
                       unsigned ranks, struct mw_error *err);

/// Read a trace (`size` bytes; messages with their sizes in front, GlobalMetadata first) and write
/// it to `out`. A collective, a send or a receive gets duration_micros (rounded up); every other
/// field and node stays as it is. `path` is for messages. MW_EXIT_INPUT: the trace is malformed, or
/// has a node or a collective of unknown kind, or one without a size. The line names the node.
int mw_chakra_apply(FILE *out, const uint8_t *text, size_t size, const char *path,
                    const struct mw_chakra_times *times, struct mw_chakra_counts *counts,
                    struct mw_error *err);
/// The same from file to file.
int mw_chakra_file(const char *in, const char *out, const struct mw_chakra_times *times,
                   struct mw_chakra_counts *counts, struct mw_error *err);

#endif
