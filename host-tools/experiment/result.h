// SPDX-License-Identifier: Apache-2.0
//
// The result of a run: the data from a system's driver, their comparison with the golden model and
// the analytic counts, and their sums as figures.
#ifndef MW_HOST_RESULT_H
#define MW_HOST_RESULT_H

#include "experiment/expected.h"
#include "experiment/monitor.h"
#include "experiment/params.h"
#include "experiment/phases.h"
#include "experiment/timeline.h"

enum { MW_MAX_STALLS = 24 };

/// Stalled cycles, summed over the device, by cause.
struct mw_stall {
    char cause[40];
    uint64_t cycles;
};

struct mw_mismatch {
    unsigned token, element;
    uint16_t expected, got;
};

/// A gradient of a gate weight: of which place of the token in its home's table.
struct mw_wrong_gradient {
    unsigned token, place;
    uint32_t expected, got;
};

/// Counts of the packet managers of all hubs: stores in, packets out, stores merged into others,
/// lines that left full. `timer` counts lines that left by the timer, not full.
struct mw_merging {
    uint64_t in, out, merged, full, timer;
};

/// One layer on the device.
struct mw_layer_result {
    uint64_t cycles;               ///< from go to done
    struct mw_phase_cycles phases; ///< of a phased system on a machine
    struct mw_traffic traffic;
    uint64_t alloc_hits, alloc_misses; ///< look-ups in the caches of all hubs' allocators
    struct mw_merging merging;
    unsigned stalls;
    struct mw_stall stall[MW_MAX_STALLS]; ///< the same causes in the same order in every layer
    uint16_t *out;                        ///< [N * T][H], the output as read from the device
    uint32_t *dw; ///< [N * T][mw_gradient_places], tables as read; NULL: the layer makes none
    struct mw_monitor *monitor;   ///< what the ports recorded, NULL if not requested
    struct mw_timeline *timeline; ///< what its GPUs did when, NULL if not requested
    // Filled in by mw_result_check:
    uint64_t wrong; ///< elements that differ from the golden model
    struct mw_mismatch first;
    uint64_t gradients, wrong_gradients; ///< those that it makes; places that differ
    struct mw_wrong_gradient first_gradient;
};

/// All layers once more through the device's queue of layers.
struct mw_feeding_run {
    uint64_t device_cycles; ///< from the first write to the last read
    uint64_t layer_cycles;  ///< from go to done, of all layers
    uint64_t idle_cycles;   ///< from done to the next go
};
struct mw_feeding {
    uint32_t
        clock_hz; ///< cycles of the fabric per second; a simulated one counts as one of 60 million
    struct mw_feeding_run apart; ///< each layer written, run and read
    struct mw_feeding_run fed;   ///< the next written and the last read while one runs
    uint64_t wrong;              ///< elements of both that differ from the layer's own output
};

/// All layers of a run once more, as a stack through the queue of layers.
struct mw_stack {
    unsigned layers;                    ///< 0: none
    unsigned cached;                    ///< of them, those with the handle of their forward layer
    uint64_t layer_cycles, idle_cycles; ///< of the layers, and between them
    uint64_t wrong; ///< elements and gradients of gate weights other than in the layer's own run
    unsigned other_cycles; ///< layers that took other cycles than by themselves
    bool other_flits;      ///< counters of the last one that differ from its own
};

/// The planes of a machine that were simulated, if more than one.
struct mw_plane_results {
    unsigned count, slowest;
    uint64_t cycles[MW_MAX_PLANES]; ///< of all layers
};

/// One system. mw_result_make allocates it, mw_system_run fills it in.
struct mw_result {
    const struct mw_system *system;
    unsigned layers;
    struct mw_layer_result *layer;
    uint64_t
        simulated_cycles;  ///< all clock cycles that were simulated, loading and reading included
    struct mw_error error; ///< of a run that failed
    char *state;           ///< of a stuck device: streams and queues, several lines, from malloc
    double seconds;        ///< wall clock of the run
    struct mw_simulation model; ///< all empty: it was no simulated device
    struct mw_plane_results planes;
    bool has_feeding;
    struct mw_feeding feeding;
    struct mw_stack stack;
};

int mw_result_make(struct mw_result *r, const struct mw_workload *w, const struct mw_system *system,
                   struct mw_error *err);
void mw_result_free(struct mw_result *r);
/// Give back the outputs, which nothing but mw_result_check needs.
void mw_result_free_out(struct mw_result *r);
/// Append a cause to a layer's stalls, or add to it if it is there.
void mw_result_stall(struct mw_layer_result *layer, const char *cause, uint64_t cycles);
/// Compare every output element, and every place of the tables of gradients.
void mw_result_check(struct mw_result *r, const struct mw_workload *w,
                     const struct mw_expected expected[MW_MAX_LAYERS]);

/// A port and direction whose counters differ from the analytic list.
struct mw_flit_error {
    unsigned layer, port; ///< layer as an index
    const char *direction, *what;
    uint64_t counted, expected;
};

/// Number of counters (flits by class, payload bytes) that differ. The first of them in `first`.
unsigned mw_result_flit_errors(const struct mw_result *r, const struct mw_workload *w,
                               const struct mw_link_parameters *link, struct mw_flit_error *first);

/// A layer that took fewer cycles than a system's own bound.
struct mw_below_bound {
    unsigned layer; ///< as an index
    uint64_t cycles, bound;
};

/// Number of layers that did: then the bound is wrong, as where phases that run side by side are
/// added up. The first of them in `first`.
unsigned mw_result_below_bound(const struct mw_result *r, const struct mw_workload *w,
                               const struct mw_link_parameters *link, struct mw_below_bound *first);

/// A result in figures, summed over the layers.
struct mw_summary {
    const char *system;
    uint64_t cycles, strict, own, own_link;
    uint64_t wrong; ///< elements, and gradients of gate weights
    unsigned flit_errors;
    unsigned below_bound;     ///< layers, see mw_result_below_bound
    uint64_t pass[MW_PASSES]; ///< cycles of each; without --pass: forward alone
    struct mw_summary_gradients {
        uint64_t made, wrong; ///< of all layers
        uint64_t flits, all;  ///< of uplinks in backward layers with the handle: theirs, and all
    } gradients;              ///< of gate weights
    struct mw_phase_cycles phases; ///< known if those of every layer are
    double speedup;                ///< over the first system, 0 where there is none to compare with
    const char *over;              ///< its name, or NULL
    double strict_share, own_share;
    char strict_at[48], own_at[48]; ///< where the bound is; "varies" if not the same in all layers
    struct mw_summary_part {
        uint64_t cycles;
        char at[48];
    } adder, engine, banks, limit; ///< of the busiest GPUs, see resources.h
    struct mw_traffic traffic;
    struct {
        double payload_mean, payload_max, wire_mean, wire_max; ///< bytes per port
        double use_mean, use_max; ///< share of the cycles in which the link carried a flit
    } direction[MW_DIRECTIONS];
    uint64_t alloc_hits, alloc_misses;
    unsigned stalls;
    struct mw_stall stall[MW_MAX_STALLS];
    double cycles_per_second;
    const struct mw_result *result;
};

/// `base_cycles` are those of the system `over`, which is compared with; 0 and NULL
/// where there is none.
void mw_summarize(struct mw_summary *s, const struct mw_result *r, const struct mw_workload *w,
                  const struct mw_run_params *params, uint64_t base_cycles, const char *over);
/// Bytes and use of each direction, from the traffic and the cycles of `s`.
void mw_summarize_links(struct mw_summary *s, unsigned gpus, const struct mw_link_parameters *link);

/// a / b, 0 where b is 0.
static inline double mw_ratio(double a, double b)
{
    return b > 0 ? a / b : 0;
}
/// How many times as fast as `base` a pass is; 0 where the system is compared with nothing.
double mw_pass_speedup(const struct mw_summary *s, const struct mw_summary *base,
                       enum mw_pass pass);
/// Tokens per second of device time, of one way to go through the queue of layers.
double mw_tokens_per_second(const struct mw_workload *w, const struct mw_feeding *f,
                            const struct mw_feeding_run *r);

#endif
