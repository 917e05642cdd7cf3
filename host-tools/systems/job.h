// SPDX-License-Identifier: Apache-2.0
//
// A run of one system on one device: what the ways to run it share.
#ifndef MW_HOST_JOB_H
#define MW_HOST_JOB_H

#include "analysis/fit.h"
#include "systems/generator.h"
#include "systems/system_list.h"
#include "systems/systems.h"

struct job {
    const struct mw_run_params *params;
    const struct mw_workload *w;
    const struct mw_system *system;
    const struct mw_generator *generator;
    unsigned experts, k; ///< of a token
    bool every;          ///< primitive that the device can have is requested, not only the system's
    struct mw_result *result;
    struct mw_error *err;

    // settings that are not the layer's
    uint64_t small; ///< the configuration that synth-check measures
    uint64_t dispatch_throttle, token_order, order_waits; ///< of the system, see bounds.h
    uint64_t allocator, tracker;                          ///< likewise
    uint64_t rows_per_expert;                             ///< 0: as the routing needs
    uint64_t quiet_cycles; ///< without progress before the device counts as stuck, 0: library's
    uint64_t tile_guard;   ///< 0: no partial tiles against a stuck in-flight window
    uint64_t switch_reductions; ///< what the system has of it is in `system`
    uint64_t latency_classes;   ///< mask of classes whose latencies the ports record
    uint64_t port_limit;        ///< log2 of the switch's period of time limits, UINT64_MAX: its own
    uint64_t fault, fault_gpu,
        fault_after; ///< a GPU that misbehaves: MW_FAULT_ mask, which, from when on

    struct mw_device *device;
    bool built; ///< without a device, whose sizes are those of mw_device_built
    struct mw_layer_config config;
    struct mw_layout layout;
    struct mw_multicast *all; ///< the static group of all GPUs, where the system has use for it
    unsigned layer;           ///< that runs, an index
    uint64_t own_bound;       ///< of that layer, for progress
    uint64_t cycles;          ///< since its go, as far as is known
    double from, to; ///< shares of the layer's time at which the current step begins and ends
    bool stopped;    ///< the callback of the progress has stopped it
};

/// Which system it is: one of mw_systems, or a copy with other settings.
int mw_job_begin(struct job *j, const struct mw_system *system);
/// The configuration's behaviour, and the settings that are not the layer's.
int mw_job_settings(struct job *j);
int mw_job_open(struct job *j);
/// Sizes and primitives of the device.
int mw_job_info(struct job *j, struct mw_device_info *info);
/// The configuration's sizes, and the layout of the memories. `fit` has the reasons for its size.
int mw_job_layout(struct job *j, const struct mw_demand *demand, struct mw_fit *fit);
/// The streams of a GPU, for mw_streams_load. `job` is a struct job.
void mw_job_streams(void *job, unsigned gpu, struct mw_stream *s);
/// A step of the layer begins: the next until the share `to` of its time.
void mw_job_step(struct job *j, double to);
/// Report the progress of the step. Returns whether to continue.
bool mw_job_goes_on(struct job *j, double done);
int mw_job_interrupted(struct job *j);
/// Exit status of a call that failed: the run requires too much, or the device is faulty.
int mw_job_failed(struct job *j, const char *what, int code);
/// A layer that did not end well: `what`, and the state of a device that is stuck.
int mw_job_stuck(struct job *j, const char *what, int code);
/// Wait for a layer of the device's queue (`what` in messages). `fed` has the time of its run.
int mw_job_wait_fed(struct job *j, uint32_t number, const char *what, struct mw_fed *fed);
/// Write the expert map of a layer (an index), and what each place computes.
int mw_job_load_experts(struct job *j, unsigned layer);
/// Write the routing tables of a layer (an index) at `address` of every GPU.
int mw_job_load_routing(struct job *j, unsigned layer, uint64_t address);
/// Write [tokens][hidden] values as rows, some at a time at `address`, with gaps between them; and
/// read them.
int mw_job_load_rows(struct job *j, uint64_t address, const uint16_t *values, const char *what);
/// The same with rows of `width` words of 16 bits.
int mw_job_load_words(struct job *j, uint64_t address, const uint16_t *values, unsigned width,
                      const char *what);
/// Write the hidden values of a layer (an index) as rows of dispatch. How many words such a row
/// has; and all of them, one after the other.
int mw_job_load_hidden(struct job *j, unsigned layer, uint64_t address);
unsigned mw_job_dispatch_words(const struct job *j);
void mw_job_pack_hidden(const struct job *j, unsigned layer, uint16_t *words);
/// Write MW_NO_GRADIENT to every place of the tables of gradients of gate weights, at `address` of
/// every GPU; and read them, [N * T][mw_gradient_places].
int mw_job_clear_gradients(struct job *j, uint64_t address);
int mw_job_read_gradients(struct job *j, uint64_t address, uint32_t *dw);
int mw_job_read_rows(struct job *j, uint64_t address, uint16_t *values, const char *what);

/// The streams and registers of a layer with the handle of the job's configuration.
int mw_job_load_streams(struct job *j);
int mw_job_configure(struct job *j);
/// Whether the GPUs' memories hold all layers of a stack.
int mw_job_check_stack(struct job *j);
/// Run all layers again as a stack, through the device's queue of layers.
int mw_job_stack(struct job *j);
/// Run all layers again through the device's queue of layers, without and with feeding.
int mw_job_feed(struct job *j);

#endif
