// SPDX-License-Identifier: Apache-2.0
//
// Time of tensor parallelism's collectives with the GEMMs beside them, on one machine's switches:
// the workloads of docs/design/tensor-parallel.md. Features are taken from the bounds of a run, and
// coefficients are fitted to RTL runs by `moeswitch calibrate`.
#ifndef MW_COST_TENSOR_H
#define MW_COST_TENSOR_H

#include "cost/calibration.h"
#include "tp/tp.h"

/// A workload on `gpus` GPUs. Rows of a machine are more and longer than those of a run.
struct mw_tensor_work {
    enum mw_tp_kind kind;
    unsigned gpus;              ///< 2 or more
    double rows;                ///< of all homes
    unsigned hidden;            ///< bf16 values of a row on one plane
    double cycles[MW_TP_PARTS]; ///< of a row of each part
    unsigned tile, flit_bytes, link_latency;
};

/// The one feature: cycles by tensor_schedule.h, so that a coefficient is the share of them that
/// runs take.
enum mw_tensor_feature { MW_T_SCHEDULE, MW_TENSOR_FEATURES };
extern const char *const mw_tensor_feature_names[MW_FEATURES];

enum mw_tensor_range { MW_TR_GPUS, MW_TR_ROWS, MW_TR_HIDDEN, MW_TR_CYCLES, MW_TR_LATENCY };
enum { MW_TENSOR_RANGES = 5 };
extern const char *const mw_tensor_range_names[MW_TENSOR_RANGES];

/// The system whose streams mw_tp_systems[system] has in the workload: its own, or those of another
/// one.
unsigned mw_tensor_system(enum mw_tp_kind kind, unsigned system);
/// Of mw_tp_systems[system], which runs the workload.
void mw_tensor_features(const struct mw_tensor_work *w, unsigned system,
                        double feature[MW_FEATURES]);
/// Where the workload is in the ranges. Those that it has not are 0.
void mw_tensor_ranges(const struct mw_tensor_work *w, double value[MW_RANGES]);
/// Cycles under the system whose streams mw_tp_systems[system] has.
double mw_tensor_cycles(const struct mw_calibration *c, const struct mw_tensor_work *w,
                        unsigned system);

#endif
