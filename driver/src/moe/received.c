// SPDX-License-Identifier: Apache-2.0
//
// What experts have received, and results that the program computes from it. Rows of an
// expert lie one after the other in its region. Which token a row belongs to is in the
// allocation table of its GPU.
#include "core/registers.h"
#include "core/state.h"
#include "core/struct_size.h"
#include "moe/rows.h"
#include "moe/turn.h"

#include <stdlib.h>
#include <string.h>

enum { ENTRY_BYTES = 4, ENTRY_VALID = 31, ENTRY_EPOCH = 29, ENTRY_EPOCHS = 3 };
#define ENTRY_ROW 0xfffffu

static uint32_t get32(const uint8_t *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static float get_float(const uint8_t *at)
{
    const uint32_t bits = get32(at);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/// The place of an expert in the list of a token.
static unsigned position(const struct mw_handle *h, unsigned gpu, unsigned token, unsigned expert)
{
    const uint8_t *ids = (const uint8_t *)h->data.list[gpu].data + (size_t)token * MW_ROUTE_BYTES;
    unsigned j = 0;
    while (j < h->object->k && (ids[2 * j] | (unsigned)ids[2 * j + 1] << 8) != expert)
        j++;
    return j;
}

static int damaged(unsigned expert, const char *what, uint64_t value)
{
    return mwi_fail(MW_ERR_DEVICE,
                    "the allocation table of expert %u does not describe its rows: %s %llu", expert,
                    what, (unsigned long long)value);
}

/// Whether its rows have the numbers that an earlier layer has allocated.
static bool is_cached(const struct mw_handle *h)
{
    return h->config.handle == MW_HANDLE_CACHED;
}

/// Find the tokens of rows in the expert's part of the allocation table, and their weights,
/// which lie row by row.
static int describe(const struct mw_handle *h, unsigned expert, const uint8_t *table,
                    const uint8_t *gates, size_t max, struct mw_received_row *row, bool *seen)
{
    const struct mw_layout *l = &h->layout;
    const struct mw_device *d = h->object->device;
    const uint32_t epoch = is_cached(h) ? mwi_state_kept_epoch(d) : mwi_state_last_epoch(d);
    unsigned found = 0;
    for (uint32_t t = 0; t < 1u << (l->n_shift + l->token_shift); t++) {
        const uint32_t entry = get32(table + (size_t)t * ENTRY_BYTES), at = entry & ENTRY_ROW;
        if (!(entry >> ENTRY_VALID) || (entry >> ENTRY_EPOCH & ENTRY_EPOCHS) != epoch)
            continue;
        const unsigned gpu = t >> l->token_shift, token = t & ((1u << l->token_shift) - 1);
        if (at >= h->rows[expert] || seen[at] || gpu >= h->object->device->info.gpus ||
            token >= h->tokens[gpu])
            return damaged(expert, "row", at);
        seen[at] = true;
        const unsigned j = position(h, gpu, token, expert);
        if (j == h->object->k)
            return damaged(expert, "token", t);
        found++;
        if (at < max)
            row[at] = (struct mw_received_row){
                gpu, token, get_float(gates + ((size_t)at << l->gate_shift) + 4 * (size_t)j)};
    }
    return found == h->rows[expert] ? 0 : damaged(expert, "number of rows", found);
}

/// Read rows of an expert and what belongs to them.
static int read_rows(struct mw_handle *h, unsigned expert, struct mw_received_row *row,
                     const struct mw_typed_rows *to, size_t count, const struct mwi_pause *pause)
{
    const bool values = to->x || to->scales || to->group_scales;
    const struct mw_layout *l = &h->layout;
    const struct mw_expert_place *p = &h->object->places[expert];
    const uint64_t first = (uint64_t)p->local_expert << l->cap_shift;
    const uint64_t bytes = (uint64_t)ENTRY_BYTES << (l->n_shift + l->token_shift);
    const uint64_t table = l->al_base + p->local_expert * bytes, skip = table % MW_MEM_ALIGN;
    struct mwi_image im = {0};
    uint8_t *rows = NULL, *entries = NULL, *gates = NULL;
    bool *seen = calloc(h->rows[expert], sizeof *seen);
    int status = seen ? 0 : mwi_fail(MW_ERR_NOMEM, "no memory for %u rows", h->rows[expert]);
    if (values && !status)
        status = mwi_image_area(
            &im, p->gpu, (is_cached(h) ? l->xd_cached : l->xd_base) + (first << l->row_shift),
            count << l->row_shift, &rows);
    if (row && !status)
        status = mwi_image_area(&im, p->gpu, table - skip, skip + bytes, &entries);
    if (row && !status)
        status = mwi_image_area(&im, p->gpu, l->gt_base + (first << l->gate_shift),
                                count << l->gate_shift, &gates);
    if (!status)
        status = mwi_move(h->object->device, false, im.list, im.count, pause);
    for (size_t i = 0; i < count && values && !status; i++)
        mwi_row_take(h->config.dispatch_type, h->config.row_bytes, rows + (i << l->row_shift), to,
                     i);
    if (row && !status)
        status = describe(h, expert, entries + skip, gates, count, row, seen);
    free(seen);
    mwi_image_free(&im);
    return status;
}

/// Write results, row after row, to the region that the sums read.
static int write_results(struct mw_handle *h, unsigned expert, const uint16_t *y,
                         const struct mwi_pause *pause)
{
    const struct mw_layout *l = &h->layout;
    const struct mw_expert_place *p = &h->object->places[expert];
    const size_t count = h->rows[expert];
    struct mwi_image im = {0};
    uint8_t *rows;
    int status = mwi_image_area(
        &im, p->gpu, l->yd_base + ((uint64_t)p->local_expert << l->cap_shift << l->row_shift),
        count << l->row_shift, &rows);
    for (size_t i = 0; i < count && !status; i++)
        memcpy(rows + (i << l->row_shift), (const uint8_t *)y + i * h->object->block_bytes,
               h->object->block_bytes);
    h->outputs = true;
    h->output[expert] = false;
    if (!status)
        status = mwi_move(h->object->device, true, im.list, im.count, pause);
    if (!status)
        h->output[expert] = true;
    mwi_image_free(&im);
    return status;
}

static int check_expert(const struct mw_handle *h, const char *call, unsigned expert)
{
    if (expert >= h->object->experts)
        return mwi_fail(MW_ERR_INVALID, "%s: expert %u of %u", call, expert, h->object->experts);
    return 0;
}

/// The rows are there, and no other call uses the device.
static int begin(struct mw_handle *h, struct mwi_pause *pause)
{
    int status = mwi_check_handle(h, pause->call);
    if (!status)
        status = mwi_check_received(h, pause->call);
    if (!status)
        status = mwi_handle_begin(h, pause);
    if (status)
        return status;
    status = mwi_check_received(h, pause->call); // another call may have had its turn
    if (status)
        mwi_handle_end(h);
    return status;
}

static int received(struct mw_handle *handle, const char *call, unsigned expert,
                    struct mw_received_row *row, const struct mw_typed_rows *to, size_t max,
                    size_t *count, const struct mw_wait_options *options)
{
    struct mw_device *d = handle->object->device;
    struct mw_wait_options o;
    int status = mwi_take_wait(&o, options);
    if (!status)
        status = check_expert(handle, call, expert);
    if (status)
        return status;
    mwi_lock(d);
    status = mwi_check_handle(handle, call);
    const size_t rows = handle->rows[expert], wanted = max < rows ? max : rows;
    if (!status && wanted && (row || to->x || to->scales || to->group_scales)) {
        struct mwi_pause pause = mwi_pause_begin(d, call, &o, mwi_handle_tokens(handle));
        status = begin(handle, &pause);
        if (!status) {
            status = read_rows(handle, expert, row, to, wanted, &pause);
            mwi_handle_end(handle);
        }
    }
    if (!status)
        *count = rows;
    return mwi_unlock(d, status);
}

int mw_received(struct mw_handle *handle, unsigned expert, struct mw_received_row *row, uint16_t *x,
                size_t max, size_t *count, const struct mw_wait_options *options)
{
    MWI_NEED(handle);
    MWI_NEED(count);
    if (x && handle->config.dispatch_type != MW_ROWTYPE_BF16)
        return mwi_fail(MW_ERR_INVALID, "%s: the rows are not bf16: call mw_received_typed",
                        __func__);
    const struct mw_typed_rows to = {.x = x};
    return received(handle, __func__, expert, row, &to, max, count, options);
}

int mw_received_typed(struct mw_handle *handle, unsigned expert, struct mw_received_row *row,
                      const struct mw_typed_rows *rows, size_t max, size_t *count,
                      const struct mw_wait_options *options)
{
    MWI_NEED(handle);
    MWI_NEED(rows);
    MWI_NEED(count);
    return received(handle, __func__, expert, row, rows, max, count, options);
}

int mw_expert_output(struct mw_handle *handle, unsigned expert, const uint16_t *y,
                     const struct mw_wait_options *options)
{
    MWI_NEED(handle);
    struct mw_device *d = handle->object->device;
    struct mw_wait_options o;
    int status = mwi_take_wait(&o, options);
    if (!status)
        status = check_expert(handle, __func__, expert);
    if (!status && handle->rows[expert])
        MWI_NEED(y);
    if (status)
        return status;
    mwi_lock(d);
    struct mwi_pause pause = mwi_pause_begin(d, __func__, &o, mwi_handle_tokens(handle));
    status = begin(handle, &pause);
    if (!status) {
        status = write_results(handle, expert, y, &pause);
        mwi_handle_end(handle);
    }
    return mwi_unlock(d, status);
}
