// SPDX-License-Identifier: Apache-2.0
//
// See compute.h.
#include "cost/compute.h"

#include "formats/csv_read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 1 << 28 };

struct mw_compute_row {
    enum mw_operator_kind kind;
    enum mw_gemm_type type;
    double m, n, k;   ///< as an operator has them
    unsigned experts; ///< of a GPU; 0: a GEMM
    double seconds;
};

// ---- reading ------------------------------------------------------------------------------------

struct columns {
    unsigned type, time;
    double unit; ///< seconds of the time column
    unsigned size[6];
};

static const char *const gemm_sizes[] = {"m", "n", "k", NULL};
static const char *const expert_sizes[] = {"num_tokens",  "inter_size",  "hidden_size", "topk",
                                           "num_experts", "moe_ep_size", NULL};

static enum mw_gemm_type type_of(const char *name)
{
    if (strncmp(name, "fp8", 3) == 0)
        return MW_GEMM_FP8;
    return strncmp(name, "fp4", 3) == 0 || strncmp(name, "nvfp4", 5) == 0 ? MW_GEMM_FP4
                                                                          : MW_GEMM_BF16;
}

static int find_columns(struct columns *c, const struct mw_csv_table *t, bool *experts,
                        struct mw_error *err)
{
    *experts = mw_csv_column(t, "num_tokens") != MW_CSV_NONE;
    const char *const *names = *experts ? expert_sizes : gemm_sizes;
    int status = MW_EXIT_OK;
    for (unsigned i = 0; names[i] && !status; i++)
        status = mw_csv_need(t, names[i], &c->size[i], err);
    c->type = mw_csv_column(t, *experts ? "moe_dtype" : "gemm_dtype");
    c->time = mw_csv_column(t, "us");
    c->unit = 1e-6;
    if (!status && c->time == MW_CSV_NONE) {
        c->unit = 1e-3;
        status = mw_csv_need(t, "latency", &c->time, err);
    }
    return status;
}

static int take_row(struct mw_compute_row *r, const struct mw_csv_table *t, size_t row,
                    const struct columns *c, bool experts, struct mw_error *err)
{
    double size[6], time;
    int status = mw_csv_number(t, row, c->time, 1e-9, &time, err);
    for (unsigned i = 0; i < (experts ? 6u : 3u) && !status; i++)
        status = mw_csv_number(t, row, c->size[i], 1, &size[i], err);
    if (status)
        return status;
    *r = (struct mw_compute_row){
        .kind = experts ? MW_OP_EXPERTS : MW_OP_GEMM,
        .type = c->type == MW_CSV_NONE ? MW_GEMM_BF16 : type_of(mw_csv_cell(t, row, c->type)),
        .m = size[0],
        .n = size[1],
        .k = size[2],
        .seconds = time * c->unit,
    };
    if (experts) { // rows of one GPU, with an even load
        r->m = size[0] * size[3] / size[5];
        r->experts = (unsigned)(size[4] / size[5]);
    }
    return MW_EXIT_OK;
}

int mw_compute_read(struct mw_compute *c, const char *path, struct mw_error *err)
{
    struct mw_csv_table t;
    struct columns columns;
    bool experts = false;
    *c = (struct mw_compute){.path = path};
    int status = mw_csv_read(&t, path, MOST_BYTES, "a table of times", err);
    if (status)
        return status;
    status = find_columns(&columns, &t, &experts, err);
    if (!status && !(c->row = calloc(t.rows + 1, sizeof *c->row)))
        status = mw_fail_memory(err, path);
    for (; c->count < t.rows && !status; c->count += !status)
        status = take_row(&c->row[c->count], &t, c->count, &columns, experts, err);
    mw_csv_table_free(&t);
    if (status)
        mw_compute_free(c);
    return status;
}

void mw_compute_free(struct mw_compute *c)
{
    free(c->row);
    *c = (struct mw_compute){0};
}

// ---- times --------------------------------------------------------------------------------------

static bool same(double a, double b)
{
    return fabs(a - b) < 0.5;
}

static bool matches(const struct mw_compute_row *r, const struct mw_operator *op)
{
    return r->kind == op->kind && r->type == op->type && same(r->n, op->n) && same(r->k, op->k) &&
           r->experts == op->local_experts;
}

/// From the table, or 0.
static double measured_seconds(const struct mw_compute *c, const struct mw_operator *op)
{
    const struct mw_compute_row *below = NULL, *above = NULL;
    for (size_t i = 0; i < c->count; i++) {
        const struct mw_compute_row *r = &c->row[i];
        if (!matches(r, op))
            continue;
        if (r->m <= op->m && (!below || r->m > below->m))
            below = r;
        if (r->m >= op->m && (!above || r->m < above->m))
            above = r;
    }
    if (!below || !above)
        return 0;
    if (below->m == above->m)
        return below->seconds;
    return below->seconds +
           (above->seconds - below->seconds) * (op->m - below->m) / (above->m - below->m);
}

double mw_compute_seconds(const struct mw_compute *c, const struct mw_task *t,
                          const struct mw_operator *op, bool *measured)
{
    const double found = measured_seconds(c, op);
    *measured = found > 0;
    if (*measured)
        return found;
    const double share = op->kind == MW_OP_ATTENTION ? t->attention_share : t->gemm_share;
    const double compute = op->flops / (t->hardware->tflops[op->type] * 1e12 * share);
    const double memory = op->bytes / (t->hardware->memory_gbytes * 1e9 * t->memory_share);
    return fmax(compute, memory);
}
