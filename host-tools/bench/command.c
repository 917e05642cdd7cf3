// SPDX-License-Identifier: Apache-2.0
//
// `moeswitch bench`: one device, all lines, the table for people and the JSON for programs.
#include "base/interrupt.h"
#include "base/text.h"
#include "bench/bench.h"
#include "cli/command_help.h"
#include "device/device_build.h"
#include "device/setting_table.h"
#include "experiment/round_trip.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct job {
    struct mw_bench_params params;
    struct mw_bench bench;
    struct mw_json json;
    struct mw_csv csv;
    FILE *out;  ///< tables
    FILE *data; ///< standard output
    FILE *err;
};

/// A model takes minutes to build. Sizes that it will not hold are refused before; the largest
/// of a pattern decides.
static int check_sizes(struct job *j, const struct mw_open_options *o)
{
    const struct mw_bench_params *p = &j->params;
    struct mw_bench *b = &j->bench;
    uint64_t size = p->min_bytes;
    int status = MW_EXIT_OK;
    while (size * p->factor <= p->max_bytes)
        size *= p->factor;
    mw_device_built(&b->info, o);
    if (p->latency)
        return mw_bench_pingpong_fits(b, size);
    for (unsigned i = 0; i < MW_BENCH_PATTERNS && !status; i++)
        if (p->run[i])
            status = mw_bench_fits(b, &mw_bench_patterns[i], size);
    return status;
}

static int open_device(struct job *j)
{
    struct mw_bench *b = &j->bench;
    struct mw_open_options o;
    mw_device_options(&j->params.device, &o);
    o.gpus = j->params.gpus;
    o.flit_bytes = j->params.flit_bytes;
    o.link_latency = j->params.link_latency;
    o.small = mw_setting_value(&j->params.settings, "small", 0);
    int status = mw_device_lacks_model(&o) ? check_sizes(j, &o) : MW_EXIT_OK;
    if (!status)
        status = mw_device_open_built(&o, &b->device, b->err);
    int code = status ? 0 : mw_info(b->device, &b->info);
    return code ? mw_bench_failed(b, "device", code) : status;
}

// ---- lines --------------------------------------------------------------------------------------

static void print_head(const struct job *j)
{
    const struct mw_bench_params *p = &j->params;
    fprintf(j->out,
            "# %u GPUs, flits of %u bytes, link latency %u, window %u, iterations %u, seed %" PRIu64
            "%s\n",
            p->gpus, p->flit_bytes, p->link_latency, p->window, p->iterations, p->seed,
            p->split  ? ", the lower half sends"
            : p->load ? ", the other GPUs send"
                      : "");
    if (p->trace)
        fprintf(j->out, "# lists of %s, layer %u%s\n", MW_SHOWN(p->trace), p->layer,
                j->bench.trace.uniform ? ", without gate weights: each is taken as 1/k" : "");
    if (p->hardware)
        fprintf(j->out, "# %s: one plane of %u, whose sizes these are; a cycle is %.3f ns\n",
                MW_SHOWN(p->hardware->name), p->hardware->planes, p->plane.cycle_ns);
    if (p->latency)
        fprintf(j->out,
                "#%9s %10s %9s %9s %9s %9s %9s %9s %7s%s\n#%9s %10s %9s %9s %9s %9s %9s %9s%s\n",
                "bytes", "iterations", "min", "typical", "max", "average", "99%", "99.9%", "#wrong",
                p->hardware ? "   typical   average     99.9%" : "", "", "", "[cycles]", "[cycles]",
                "[cycles]", "[cycles]", "[cycles]", "[cycles]",
                p->hardware ? "              [us]      [us]      [us]" : "");
    else
        fprintf(j->out,
                "#%-14s %9s %9s %6s %6s %9s %7s %7s %8s %7s %7s%s%s\n#%-14s %9s %9s %6s %6s %9s "
                "%7s %7s %8s %7s %7s%s%s\n",
                "pattern", "size", "count", "type", "redop", "cycles", "algbw", "busbw", "share",
                "whole", "#wrong", p->hardware ? "         us   algGB/s   busGB/s" : "",
                p->distribution ? "     50%     99%   99.9%     max" : "", "", "[B]", "", "", "",
                "", "[B/cyc]", "[B/cyc]", "[%]", "[%]", "",
                p->hardware ? "                               " : "",
                p->distribution ? "        [cycles in the switch]" : "");
}

/// GB/s of all planes, from bytes per cycle of the simulated one.
static double gbytes(const struct mw_bench_params *p, double bytes_per_cycle)
{
    return bytes_per_cycle * p->hardware->planes / p->plane.cycle_ns;
}

static void print_row(FILE *out, const struct mw_bench_params *params, const struct mw_bench_row *r)
{
    const struct mw_pattern *p = r->pattern;
    fprintf(out,
            " %-14s %9" PRIu64 " %9" PRIu64 " %6s %6s %9.0f %7.2f %7.2f %s%7.1f %7.1f %7" PRIu64,
            p->name, r->size, r->size / r->element, r->type, r->redop, r->cycles, r->algbw,
            r->busbw, r->steady ? " " : "~", 100 * r->share, 100 * r->busiest, r->wrong);
    if (params->hardware)
        fprintf(out, " %10.3f %9.1f %9.1f", mw_plane_us(&params->plane, r->cycles),
                gbytes(params, r->algbw), gbytes(params, r->busbw));
    if (r->has_latencies)
        fprintf(out, " %7u %7u %7u %7u", mw_latencies_at(&r->latencies, 0.5),
                mw_latencies_at(&r->latencies, 0.99), mw_latencies_at(&r->latencies, 0.999),
                mw_latencies_at(&r->latencies, 1));
    fputc('\n', out);
}

static void json_row(struct job *j, const struct mw_bench_row *r)
{
    const struct mw_bench_params *p = &j->params;
    struct mw_json *t = &j->json;
    mw_json_object(t, NULL, true);
    mw_json_string(t, "pattern", r->pattern->name);
    mw_json_uint(t, "gpus", p->gpus);
    mw_json_uint(t, "window", p->window);
    mw_json_uint(t, "size", r->size);
    mw_json_uint(t, "count", r->size / r->element);
    mw_json_string(t, "type", r->type);
    mw_json_string(t, "redop", r->redop);
    mw_json_uint(t, "row_bytes", r->row);
    mw_json_bool(t, "split", p->split);
    mw_json_double(t, "cycles", r->cycles);
    mw_json_double(t, "algbw", r->algbw);
    mw_json_double(t, "busbw", r->busbw);
    mw_json_double(t, "share", r->share);
    mw_json_bool(t, "steady", r->steady);
    mw_json_string(t, "direction", r->down ? "down" : "up");
    mw_json_double(t, "busiest", r->busiest);
    mw_json_uint(t, "up_flits", r->up_flits);
    mw_json_uint(t, "down_flits", r->down_flits);
    mw_json_uint(t, "wrong", r->wrong);
    if (p->hardware) {
        mw_json_double(t, "us", mw_plane_us(&p->plane, r->cycles));
        mw_json_double(t, "algorithm_gbytes_per_s", gbytes(p, r->algbw));
        mw_json_double(t, "bus_gbytes_per_s", gbytes(p, r->busbw));
    }
    if (r->has_latencies) {
        mw_json_object(t, "switch_latency", true);
        mw_latencies_json(t, &r->latencies);
        mw_json_end(t);
    }
    mw_json_end(t);
}

static void print_latency(FILE *out, const struct mw_bench_params *p,
                          const struct mw_bench_latency *r)
{
    fprintf(out, " %9" PRIu64 " %10u %9.1f %9.1f %9.1f %9.1f %9.1f %9.1f %7" PRIu64, r->size,
            r->count, r->min, r->typical, r->max, r->average, r->p99, r->p999, r->wrong);
    if (p->hardware)
        fprintf(out, " %9.3f %9.3f %9.3f", mw_plane_us(&p->plane, r->typical),
                mw_plane_us(&p->plane, r->average), mw_plane_us(&p->plane, r->p999));
    fputc('\n', out);
}

static void json_latency(struct job *j, const struct mw_bench_latency *r)
{
    const struct {
        const char *name, *us;
        double cycles;
    } figures[] = {
        {"min", "min_us", r->min}, {"typical", "typical_us", r->typical},
        {"max", "max_us", r->max}, {"average", "average_us", r->average},
        {"p99", "p99_us", r->p99}, {"p99_9", "p99_9_us", r->p999},
    };
    const unsigned count = sizeof figures / sizeof *figures;
    struct mw_json *t = &j->json;
    mw_json_object(t, NULL, true);
    mw_json_string(t, "pattern", "latency");
    mw_json_uint(t, "gpus", j->params.gpus);
    mw_json_uint(t, "window", 0);
    mw_json_bool(t, "load", j->params.load);
    mw_json_uint(t, "size", r->size);
    mw_json_uint(t, "count", r->count);
    for (unsigned i = 0; i < count; i++)
        mw_json_double(t, figures[i].name, figures[i].cycles);
    for (unsigned i = 0; i < count && j->params.hardware; i++)
        mw_json_double(t, figures[i].us, mw_plane_us(&j->params.plane, figures[i].cycles));
    mw_json_uint(t, "resolution", r->resolution);
    mw_json_uint(t, "wrong", r->wrong);
    mw_json_end(t);
}

/// One size; lines that round to the size before are left out.
static int run_line(struct job *j, const struct mw_pattern *pattern, uint64_t size, uint64_t *last,
                    uint64_t *wrong)
{
    if (!pattern) {
        struct mw_bench_latency r;
        int status = mw_bench_pingpong(&j->bench, size, &r);
        if (status)
            return status;
        if (r.size != *last) {
            print_latency(j->out, &j->params, &r);
            json_latency(j, &r);
            status = mw_tables_flush(j->out, j->bench.err);
        }
        *last = r.size;
        *wrong += r.wrong;
        return status;
    }
    struct mw_bench_row r;
    int status = mw_bench_measure(&j->bench, pattern, size, &r);
    if (status)
        return status;
    if (r.size != *last) {
        print_row(j->out, &j->params, &r);
        json_row(j, &r);
        status = mw_tables_flush(j->out, j->bench.err);
    }
    *last = r.size;
    *wrong += r.wrong;
    return status;
}

static int run_sizes(struct job *j, const struct mw_pattern *pattern, uint64_t *wrong)
{
    uint64_t last = 0;
    int status = MW_EXIT_OK;
    for (uint64_t size = j->params.min_bytes; size <= j->params.max_bytes && !status;
         size *= j->params.factor)
        status = mw_interrupted ? mw_bench_interrupted(&j->bench)
                                : run_line(j, pattern, size, &last, wrong);
    return status;
}

/// All requested types and operators, one after the other. If all types were requested, those of
/// the device.
static int run_reductions(struct job *j, const struct mw_pattern *pattern, uint64_t *wrong)
{
    struct mw_bench *b = &j->bench;
    const unsigned all = 1u << MW_DTYPES; // mw_bench_params
    const unsigned types = j->params.dtypes & (j->params.dtypes & all ? b->info.red_types : ~0u);
    int status = MW_EXIT_OK;
    for (b->dtype = 0; b->dtype < MW_DTYPES; b->dtype++)
        for (b->redop = 0; b->redop < MW_REDOPS && !status; b->redop++)
            if (types >> b->dtype & j->params.redops >> b->redop & 1 &&
                mw_reduce_exists(b->dtype, b->redop))
                status = run_sizes(j, pattern, wrong);
    return status;
}

static void warn_of_credits(const struct job *j)
{
    const struct mw_bench_params *p = &j->params;
    struct mw_round_trip trip;
    unsigned classes = 0;
    for (unsigned i = 0; i < MW_BENCH_PATTERNS; i++)
        if (p->run[i])
            classes |= mw_bench_patterns[i].classes;
    mw_round_trip_make(&trip, &j->bench.info, &p->settings, p->link_latency, classes);
    mw_round_trip_warn(j->err, &trip);
}

static int run_all(struct job *j)
{
    uint64_t wrong = 0;
    int status = MW_EXIT_OK;
    warn_of_credits(j);
    print_head(j);
    if (j->params.latency)
        status = run_sizes(j, NULL, &wrong);
    for (unsigned i = 0; i < MW_BENCH_PATTERNS && !status; i++)
        if (j->params.run[i])
            status = mw_bench_patterns[i].reduces ? run_reductions(j, &mw_bench_patterns[i], &wrong)
                                                  : run_sizes(j, &mw_bench_patterns[i], &wrong);
    if (!status && wrong)
        return mw_fail(j->bench.err, MW_EXIT_MISMATCH, "%" PRIu64 " elements are wrong", wrong);
    return status;
}

// ---- the command --------------------------------------------------------------------------------

static int start_json(struct job *j)
{
    const struct mw_bench_params *p = &j->params;
    struct mw_json *t = &j->json;
    if (p->files.csv)
        mw_csv_begin(&j->csv, "rows", t);
    int status = mw_json_open(t, j->bench.err);
    if (status)
        return status;
    mw_json_object(t, NULL, false);
    mw_json_object(t, "params", false);
    mw_json_uint(t, "gpus", p->gpus);
    mw_json_uint(t, "flit_bytes", p->flit_bytes);
    mw_json_uint(t, "link_latency", p->link_latency);
    mw_json_uint(t, "window", p->window);
    mw_json_uint(t, "iterations", p->iterations);
    mw_json_uint(t, "experts", p->experts);
    mw_json_uint(t, "k", p->k);
    mw_json_bool(t, "split", p->split);
    mw_json_bool(t, "load", p->load);
    mw_json_uint(t, "seed", p->seed);
    mw_json_string(t, "trace", p->trace);
    mw_json_uint(t, "layer", p->layer);
    for (unsigned i = 0; i < p->settings.count; i++)
        mw_json_uint(t, p->settings.item[i].name, p->settings.item[i].value);
    if (p->hardware) {
        mw_json_object(t, "hardware", false);
        mw_plane_json(t, p->hardware, &p->plane);
        mw_json_end(t);
    }
    mw_json_end(t);
    mw_json_array(t, "rows", false);
    return MW_EXIT_OK;
}

static int finish_json(struct job *j)
{
    mw_json_end(&j->json);
    mw_json_end(&j->json);
    int status = mw_json_close(&j->json, j->bench.err);
    if (!status)
        status = mw_data_write(&j->params.files, j->data, &j->json, &j->csv, j->bench.err);
    return status;
}

static int run_job(struct job *j)
{
    struct mw_bench *b = &j->bench;
    const struct mw_data_files *files = &j->params.files;
    int status = mw_data_probe(files, b->err);
    if (!status && !(j->out = mw_tables_open(j->data, mw_data_replaces_tables(files), b->err)))
        status = MW_EXIT_FAILED;
    if (!status && j->params.trace)
        status = mw_trace_load(&b->trace, j->params.trace, &j->params.said, b->err);
    if (status || (status = open_device(j)) || (status = start_json(j)))
        return status;
    mw_interrupt_begin();
    status = run_all(j);
    mw_interrupt_end();
    if (status <= MW_EXIT_MISMATCH || status == MW_EXIT_INTERRUPTED || status == MW_EXIT_PIPE) {
        int written = finish_json(j);
        status = written ? written : status;
    }
    mw_json_free(&j->json);
    mw_csv_free(&j->csv);
    return status;
}

int mw_bench_command(int argc, char **argv, FILE *out, FILE *errors)
{
    struct mw_error err = {0};
    bool help = false;
    struct job *j = calloc(1, sizeof *j);
    if (!j) {
        fprintf(errors, "moeswitch: out of memory\n");
        return MW_EXIT_FAILED;
    }
    j->out = j->data = out;
    j->err = errors;
    j->bench.params = &j->params;
    j->bench.err = &err;
    int status = mw_bench_parse(&j->params, argc, argv, &help, &err);
    if (help)
        mw_command_help(&mw_bench_table, out);
    else if (!status)
        status = run_job(j);
    if (err.text[0])
        fprintf(errors, "moeswitch: %s\n", err.text);
    mw_tables_close(j->out, out);
    mw_close(j->bench.device);
    mw_trace_free(&j->bench.trace);
    free(j);
    return status;
}
