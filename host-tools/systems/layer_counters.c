// SPDX-License-Identifier: Apache-2.0
//
// See layer_counters.h.
#include "systems/layer_counters.h"

static void take_traffic(struct mw_traffic *t, const struct mw_counters *c, unsigned gpus)
{
    for (unsigned p = 0; p < gpus; p++) {
        const struct mw_port_counters *port = &c->port[p];
        for (unsigned i = 0; i < MW_CLASSES; i++) {
            t->flits[p][MW_UP][i] = port->up_flits[i];
            t->flits[p][MW_DOWN][i] = port->down_flits[i];
        }
        t->payload[p][MW_UP] = port->up_payload;
        t->payload[p][MW_DOWN] = port->down_payload;
    }
}

static void take_stalls(struct mw_layer_result *r, const struct mw_counters *c, unsigned gpus)
{
    for (unsigned g = 0; g < gpus; g++) {
        const struct mw_gpu_counters *n = &c->gpu[g];
        mw_result_stall(r, "uplink_idle", n->link_idle);
        mw_result_stall(r, "store_credit", n->stall_store);
        mw_result_stall(r, "no_partial", n->part_empty);
        mw_result_stall(r, "ctrl_credit", n->stall_ctrl);
        mw_result_stall(r, "switch_output", c->port[g].stall_output);
        mw_result_stall(r, "switch_credit", c->port[g].stall_credit);
        mw_result_stall(r, "memory_bank", n->mem_conflict);
        mw_result_stall(r, "engine_idle", n->expert_idle);
        mw_result_stall(r, "engine_memory", n->expert_wait);
    }
}

static void take_hubs(struct mw_layer_result *r, const struct mw_counters *c, unsigned gpus)
{
    r->alloc_hits = r->alloc_misses = 0;
    r->merging = (struct mw_merging){0};
    for (unsigned g = 0; g < gpus; g++) {
        r->alloc_hits += c->gpu[g].alloc_hit;
        r->alloc_misses += c->gpu[g].alloc_miss;
        r->merging.in += c->gpu[g].rpm_in;
        r->merging.out += c->gpu[g].rpm_out;
        r->merging.merged += c->gpu[g].rpm_merged;
        r->merging.full += c->gpu[g].rpm_full;
        r->merging.timer += c->gpu[g].rpm_timer;
    }
}

void mw_layer_counters(struct mw_layer_result *r, const struct mw_counters *c, unsigned gpus)
{
    take_traffic(&r->traffic, c, gpus);
    take_stalls(r, c, gpus);
    take_hubs(r, c, gpus);
}
