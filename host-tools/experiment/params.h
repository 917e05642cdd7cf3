// SPDX-License-Identifier: Apache-2.0
//
// The parameters of a run, and its data: its trace and its workload.
#ifndef MW_HOST_PARAMS_H
#define MW_HOST_PARAMS_H

#include "analysis/costs.h"
#include "analysis/traffic.h"
#include "cli/tables.h"
#include "device/device.h"
#include "hardware/derive.h"
#include "placement/placement.h"
#include "tp/tp.h"
#include "trace/models.h"
#include "trace/workload.h"

#include <signal.h>

enum {
    MW_MAX_LAYERS = 64,
};

struct mw_run_params {
    bool list_models;                   ///< show the models that there are, and nothing else
    const struct mw_model *model;       ///< or NULL; experts, k and hidden size are taken from it
    const struct mw_hardware *hardware; ///< the machine, one plane of which is simulated; or NULL
    enum mw_gemm_type gemm;             ///< of its experts
    struct mw_plane plane;              ///< where there is a machine
    bool all_planes;                    ///< all of it are simulated, not one alone
    const char *trace;                  ///< path; NULL: make a trace of what follows, see trace.h
    struct mw_trace_said said;          ///< of that path by options
    bool repeat_tokens;                 ///< a trace that is too short repeats
    unsigned experts, k;
    double sigma, locality;
    unsigned groups, topk_groups;
    size_t layers[MW_MAX_LAYERS]; ///< run back to back, without a reset in between
    unsigned layer_count;
    struct mw_placing placing;
    struct mw_shape shape; ///< GPUs, tokens, hidden size, padding, spread, seed
    const struct mw_system *system[MW_SYSTEMS]; ///< those that run, in this order
    unsigned systems;                           ///< of them; 0: all, but those left out
    struct mw_tp_options tp;                    ///< the workload, where it is not MoE layers
    const struct mw_tp_system *tp_system[MW_TP_SYSTEMS]; ///< the same of its systems
    unsigned tp_systems;
    const char *moe_only, *tp_only; ///< a system that was named and one of them lacks, or NULL
    struct mw_left_out {
        bool out;      ///< the device lacks what the system is made of
        char why[200]; ///< what that is
    } left_out[MW_SYSTEMS];
    bool no_gate_gradients; ///< shape.gate_gradients is false
    bool as_dysharp;        ///< moeswitch sends what dysharp does, see mw_system_fit_layer
    unsigned tile;          ///< rows of one expert that start together
    bool partial_tiles;     ///< an idle engine starts its fullest open tile
    bool expert_cycles_given;
    uint64_t expert_cycles; ///< per row; mw_run_prepare fills in the default
    struct mw_device_choice device;
    unsigned flit_bytes;   ///< 8 or 16; mw_run_prepare fills in the default, as that of shape.gpus
    unsigned link_latency; ///< cycles
    unsigned link_cycles;  ///< that a flit takes on a link, from 1 on
    unsigned in_flight;    ///< tokens in flight per home, 0: no limit but the device's
    unsigned open_rows;    ///< open reductions per home, 0: as many as the device has
    struct mw_settings settings;
    enum mw_cost_preset costs; ///< what mw_run_fill adds to them
    struct mw_data_files files;
    bool details;         ///< tables of traffic, resources and stalls, too
    const char *plot;     ///< file for a picture of what the ports recorded, or NULL
    const char *html;     ///< file for a page to look at, or NULL
    const char *timeline; ///< file for what each GPU did when, or NULL; simulated devices only
    bool monitor;         ///< the ports record latencies and a time series, if they can
    bool monitor_must;    ///< a device whose ports cannot is refused
    unsigned interval;    ///< cycles of one of its samples, 0: chosen by the length of the layer
    const char
        *fst; ///< file for waveforms, or NULL; with all systems, the name of each is inserted

    unsigned stack_layers; ///< of a stack, those that run through the queue (tests); 0: all
    unsigned jobs;         ///< systems that run side by side
    /// If set, mw_system_run calls it at intervals. It gets the layer of the run (an index), the
    /// share of it that is done (0 to 1), and the cycles since its start. False stops the run.
    bool (*progress)(void *context, unsigned layer, double done, uint64_t cycles);
    void *progress_context;
    /// Set from outside to stop the run sooner than at the next progress; or NULL.
    const volatile sig_atomic_t *stop;
};

/// Planes that are simulated.
static inline unsigned mw_run_planes_of(const struct mw_run_params *params)
{
    return params->all_planes ? params->hardware->planes : 1;
}
/// What the bounds of a run depend on.
struct mw_link_parameters mw_run_links(const struct mw_run_params *params);
/// Load or make the trace, and check what the run takes from it. On failure it is empty.
int mw_run_route(struct mw_run_params *params, struct mw_trace *trace, struct mw_error *err);
/// Make the workload of it, and fill in what depends on that. On failure the workload is empty.
int mw_run_fill(struct mw_run_params *params, const struct mw_trace *trace,
                struct mw_workload *workload, struct mw_error *err);
/// Both, one after the other. On failure both are empty.
int mw_run_prepare(struct mw_run_params *params, struct mw_trace *trace,
                   struct mw_workload *workload, struct mw_error *err);

#endif
