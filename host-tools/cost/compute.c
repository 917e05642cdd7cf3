// SPDX-License-Identifier: Apache-2.0
//
// See compute.h.
#include "cost/compute.h"

#include "formats/csv_read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 1 << 28 };

enum { KEYS = 5, MOST_SIZES = 6 };

/// What must be the same. `on` is on a line between two rows.
struct key {
    enum mw_operator_kind kind;
    enum mw_gemm_type type;
    double same[KEYS], on;
};

struct mw_compute_row {
    struct key key;
    double seconds;
};

static struct key attention_key(bool decode, double sequences, double heads, double kv_heads,
                                double head_size, double span)
{
    return (struct key){.kind = MW_OP_ATTENTION,
                        .same = {decode, sequences, heads, kv_heads, head_size},
                        .on = span};
}

static struct key key_of(const struct mw_operator *op)
{
    struct key key = {
        .kind = op->kind, .type = op->type, .same = {op->n, op->k, op->local_experts}, .on = op->m};
    if (op->kind == MW_OP_ATTENTION) {
        key = attention_key(op->decode, op->sequences, op->heads, op->kv_heads, op->head_size,
                            op->span);
        key.type = op->cache;
    }
    return key;
}

// ---- reading ------------------------------------------------------------------------------------

/// What a table is of. A size after the first `needed` ones may be missing, and is 0 then.
struct form {
    const char *sign; ///< a column that others have not
    enum mw_operator_kind kind;
    const char *type, *size[MOST_SIZES];
    unsigned needed, sizes;
    double least;
};

static const struct form forms[] = {
    {"num_tokens",
     MW_OP_EXPERTS,
     "moe_dtype",
     {"num_tokens", "inter_size", "hidden_size", "topk", "num_experts", "moe_ep_size"},
     6,
     6,
     1},
    {"isl",
     MW_OP_ATTENTION,
     "kv_cache_dtype",
     {"batch_size", "isl", "step", "num_heads", "num_key_value_heads", "head_dim"},
     4,
     6,
     0},
    {NULL, MW_OP_GEMM, "gemm_dtype", {"m", "n", "k"}, 3, 3, 1},
};

struct columns {
    const struct form *form;
    unsigned type, time, size[MOST_SIZES];
    double unit; ///< seconds of the time column
};

static enum mw_gemm_type type_of(const char *name)
{
    if (strncmp(name, "fp8", 3) == 0)
        return MW_GEMM_FP8;
    return strncmp(name, "fp4", 3) == 0 || strncmp(name, "nvfp4", 5) == 0 ? MW_GEMM_FP4
                                                                          : MW_GEMM_BF16;
}

static int find_columns(struct columns *c, const struct mw_csv_table *t, struct mw_error *err)
{
    const struct form *f = forms;
    while (f->sign && mw_csv_column(t, f->sign) == MW_CSV_NONE)
        f++;
    int status = MW_EXIT_OK;
    for (unsigned i = 0; i < f->sizes && !status; i++) {
        c->size[i] = mw_csv_column(t, f->size[i]);
        if (i < f->needed)
            status = mw_csv_need(t, f->size[i], &c->size[i], err);
    }
    c->form = f;
    c->type = mw_csv_column(t, f->type);
    c->time = mw_csv_column(t, "us");
    c->unit = 1e-6;
    if (!status && c->time == MW_CSV_NONE) {
        c->unit = 1e-3;
        c->time = mw_csv_column(t, "latency");
        if (c->time == MW_CSV_NONE)
            status = mw_fail(err, MW_EXIT_INPUT,
                             "%s: line 1: no column \"us\" and none \"latency\"", t->path);
    }
    return status;
}

static struct key key_of_row(enum mw_operator_kind kind, const double size[MOST_SIZES],
                             enum mw_gemm_type type)
{
    struct key key = {.kind = kind, .type = type, .same = {size[1], size[2]}, .on = size[0]};
    if (kind == MW_OP_EXPERTS) { // rows of one GPU, with an even load
        key.on = size[0] * size[3] / size[5];
        key.same[2] = floor(size[4] / size[5]);
    }
    if (kind == MW_OP_ATTENTION) { // one new token after `step` others, or a whole prompt
        const bool decode = size[2] > 0;
        key = attention_key(decode, size[0], size[3], size[4], size[5], decode ? size[2] : size[1]);
        key.type = decode ? type : MW_GEMM_BF16;
    }
    return key;
}

/// Whether the row is of attention that no operator of a plan is.
static bool is_other(const struct mw_csv_table *t, size_t row, const struct columns *c)
{
    static const char *const types[] = {"attn_dtype", "mla_dtype"};
    const unsigned window = mw_csv_column(t, "window_size"), beam = mw_csv_column(t, "beam_width");
    for (unsigned i = 0; i < 2 && c->form->kind == MW_OP_ATTENTION; i++) {
        const unsigned column = mw_csv_column(t, types[i]);
        if (column != MW_CSV_NONE && type_of(mw_csv_cell(t, row, column)) != MW_GEMM_BF16)
            return true;
    }
    return c->form->kind == MW_OP_ATTENTION &&
           ((window != MW_CSV_NONE && strtod(mw_csv_cell(t, row, window), NULL) > 0) ||
            (beam != MW_CSV_NONE && strtod(mw_csv_cell(t, row, beam), NULL) > 1));
}

static int take_row(struct mw_compute *table, const struct mw_csv_table *t, size_t row,
                    const struct columns *c, struct mw_error *err)
{
    double size[MOST_SIZES] = {0}, time;
    int status = mw_csv_number(t, row, c->time, 1e-9, &time, err);
    for (unsigned i = 0; i < c->form->sizes && !status; i++)
        if (c->size[i] != MW_CSV_NONE)
            status = mw_csv_number(t, row, c->size[i], c->form->least, &size[i], err);
    if (status || is_other(t, row, c))
        return status;
    const enum mw_gemm_type type =
        c->type == MW_CSV_NONE ? MW_GEMM_BF16 : type_of(mw_csv_cell(t, row, c->type));
    table->row[table->count++] =
        (struct mw_compute_row){key_of_row(c->form->kind, size, type), time * c->unit};
    return MW_EXIT_OK;
}

int mw_compute_read(struct mw_compute *c, const char *path, struct mw_error *err)
{
    struct mw_csv_table t;
    struct columns columns;
    *c = (struct mw_compute){.path = path};
    int status = mw_csv_read(&t, path, MOST_BYTES, "a table of times", err);
    if (status)
        return status;
    status = find_columns(&columns, &t, err);
    if (!status && !t.rows)
        status = mw_fail(err, MW_EXIT_INPUT, "%s: no rows after the names of columns", path);
    if (!status && !(c->row = calloc(t.rows + 1, sizeof *c->row)))
        status = mw_fail_memory(err, path);
    for (size_t i = 0; i < t.rows && !status; i++)
        status = take_row(c, &t, i, &columns, err);
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

static bool matches(const struct key *a, const struct key *b)
{
    bool all = a->kind == b->kind && a->type == b->type;
    for (unsigned i = 0; i < KEYS; i++)
        all &= same(a->same[i], b->same[i]);
    return all;
}

/// From the table, or 0.
static double measured_seconds(const struct mw_compute *c, const struct mw_operator *op)
{
    const struct mw_compute_row *below = NULL, *above = NULL;
    const struct key key = key_of(op);
    for (size_t i = 0; i < c->count; i++) {
        const struct mw_compute_row *r = &c->row[i];
        if (!matches(&r->key, &key))
            continue;
        if (r->key.on <= key.on && (!below || r->key.on > below->key.on))
            below = r;
        if (r->key.on >= key.on && (!above || r->key.on < above->key.on))
            above = r;
    }
    if (!below || !above)
        return 0;
    if (below->key.on == above->key.on)
        return below->seconds;
    return below->seconds + (above->seconds - below->seconds) * (key.on - below->key.on) /
                                (above->key.on - below->key.on);
}

double mw_compute_seconds(const struct mw_compute *c, const struct mw_task *t,
                          const struct mw_operator *op, bool *measured)
{
    const double found = measured_seconds(c, op);
    const double sms = t->overlap_batches ? 1 - t->communication_share : 1;
    *measured = found > 0;
    if (*measured)
        return found / sms;
    const double share = op->kind == MW_OP_ATTENTION ? t->attention_share : t->gemm_share;
    const double compute = op->flops / (t->hardware->tflops[op->type] * 1e12 * share * sms);
    const double memory = op->bytes / (t->hardware->memory_gbytes * 1e9 * t->memory_share);
    return fmax(compute, memory);
}
