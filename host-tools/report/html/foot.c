// SPDX-License-Identifier: Apache-2.0
//
// The end of the page: with what the run can be done again, and what simulated it.
#include "report/html/page.h"

static void number(struct mw_page *p, const char *name, uint64_t value, const char *key)
{
    mw_page_row(p, "%s", name);
    mw_page_uint(p, value, "/params/%s", key);
    mw_page_row_end(p);
}

static void word(struct mw_page *p, const char *name, const char *value, const char *key)
{
    mw_page_row(p, "%s", name);
    mw_page_string(p, value, "/params/%s", key);
    mw_page_row_end(p);
}

static void share(struct mw_page *p, const char *name, double value, const char *key)
{
    mw_page_row(p, "%s", name);
    mw_page_real(p, value, 3, "/params/%s", key);
    mw_page_row_end(p);
}

static void parameters(struct mw_page *p)
{
    const struct mw_run_params *a = p->params;
    const struct mw_workload *w = p->w;
    mw_page_folded(p, "parameters of the run", MW_HEADS("parameter", "value"));
    word(p, "trace", p->trace->name, "trace");
    word(p, "model", p->trace->model, "model");
    if (a->model)
        word(p, "--model", a->model->name, "preset");
    word(p, "synthetic", p->trace->synthetic ? "true" : "false", "synthetic");
    word(p, "gate weights", mw_trace_weights(p->trace), "weights");
    for (unsigned i = 0; i < a->layer_count; i++) {
        mw_page_row(p, "layer");
        mw_page_uint(p, a->layers[i], "/params/layers/%u", i);
        mw_page_row_end(p);
    }
    number(p, "GPUs", w->shape.gpus, "gpus");
    number(p, "tokens per GPU", w->shape.tokens_per_gpu, "tokens_per_gpu");
    if (w->shape.batches)
        number(p, "batches", w->shape.batches, "batches");
    number(p, "hidden size, values", w->shape.hidden, "hidden");
    number(p, "experts", w->experts, "experts");
    number(p, "experts per token (k)", w->k, "k");
    if (p->trace->synthetic) {
        share(p, "popularity, sigma", a->sigma, "sigma");
        share(p, "locality", a->locality, "locality");
        number(p, "groups of experts, 0: none", a->groups, "groups");
        number(p, "groups that a token has experts in, at most", a->topk_groups, "topk_groups");
    }
    number(p, "tile, rows", a->tile, "tile");
    word(p, "partial tiles", a->partial_tiles ? "true" : "false", "partial_tiles");
    if (a->as_dysharp)
        word(p, "moeswitch sends what dysharp does", "true", "moeswitch_as_dysharp");
    number(p, "expert, cycles per row", a->expert_cycles, "expert_cycles");
    number(p, "flit, bytes", a->flit_bytes, "flit_bytes");
    number(p, "link latency, cycles", a->link_latency, "link_latency");
    number(p, "link, cycles per flit", a->link_cycles, "link_cycles");
    number(p, "tokens in flight per home, 0: no limit", a->in_flight, "in_flight");
    number(p, "open rows per home, 0: as the device has", a->open_rows, "open_rows");
    word(p, "padding allowed", w->shape.allow_padding ? "true" : "false", "allow_padding");
    word(p, "spread of the coefficients", w->shape.spread == MW_SPREAD_FAR ? "far" : "near",
         "spread");
    number(p, "seed", w->shape.seed, "seed");
    for (unsigned i = 0; i < a->settings.count; i++) {
        mw_page_row(p, "--set %s", a->settings.item[i].name);
        mw_page_uint(p, a->settings.item[i].value, "/params/settings/%s", a->settings.item[i].name);
        mw_page_row_end(p);
    }
    mw_page_table_end(p, true);
}

static void simulation(struct mw_page *p)
{
    mw_page_folded(p, "what simulated it, and how fast",
                   MW_HEADS("system", "simulated cycles", "seconds of wall clock",
                            "cycles per second", "<backend", "<Verilator", "<compiler",
                            "<flags and settings", "<sources, SHA-256"));
    for (unsigned i = 0; i < p->count; i++) {
        const struct mw_result *r = p->summaries[i].result;
        mw_page_row(p, "%s", p->summaries[i].system);
        mw_page_uint(p, r->simulated_cycles, "/systems/%u/simulated_cycles", i);
        mw_page_real(p, r->seconds, 2, "/systems/%u/seconds_wall", i);
        mw_page_real(p, p->summaries[i].cycles_per_second, 0, "/systems/%u/sim_cycles_per_s", i);
        if (*r->model.backend) {
            mw_page_string(p, r->model.backend, "/systems/%u/simulated_by/backend", i);
            mw_page_string(p, r->model.verilator, "/systems/%u/simulated_by/verilator", i);
            mw_page_string(p, r->model.compiler, "/systems/%u/simulated_by/compiler", i);
            mw_page_string(p, r->model.flags, "/systems/%u/simulated_by/flags", i);
            mw_page_string(p, r->model.sources, "/systems/%u/simulated_by/sources", i);
        } else {
            fputs("<td class=\"l\" colspan=\"5\">a device on USB</td>", p->out);
        }
        mw_page_row_end(p);
    }
    mw_page_table_end(p, true);
}

void mw_page_foot(struct mw_page *p)
{
    fputs("<section aria-labelledby=\"run\"><h2 id=\"run\">The run</h2>\n", p->out);
    parameters(p);
    simulation(p);
    fputs("</section>\n</main>\n<footer>moeswitch " MW_VERSION
          ". Cycles are exact and the same in every run; figures of wall clock are not. "
          "The same figures for programs: <code>--json FILE</code>.</footer>\n",
          p->out);
}
