// SPDX-License-Identifier: Apache-2.0
//
// See rows.h.
#include "moe/rows.h"

#include "core/device.h"
#include "core/error.h"
#include "core/layer_sizes.h"

#include <math.h>
#include <string.h>

static struct mwi_row_parts parts_of(const struct mw_dymulticast *m)
{
    return mwi_row_parts(m->dispatch_type, m->block_bytes);
}

/// Experts flush subnormal numbers, so that such a scale is a zero. One of a row is block 0.
static int check_scales(unsigned gpu, unsigned tokens, size_t blocks, const float *scales)
{
    for (size_t i = 0; i < tokens * blocks; i++)
        if (!isnormal(scales[i]) || scales[i] < 0)
            return mwi_fail(MW_ERR_INVALID,
                            "GPU %u, token %zu, block %zu: the scale is %g: expected a positive "
                            "normal number",
                            gpu, i / blocks, i % blocks, (double)scales[i]);
    return 0;
}

/// e4m3 scales of groups: no zero, no NaN, no sign.
static int check_groups(unsigned gpu, unsigned tokens, size_t groups, const uint8_t *scales)
{
    enum { E4M3_NAN = 0x7f };
    for (size_t i = 0; i < tokens * groups; i++)
        if (scales[i] == 0 || scales[i] >= E4M3_NAN)
            return mwi_fail(MW_ERR_INVALID,
                            "GPU %u, token %zu, group %zu: the e4m3 scale is 0x%02x: expected 0x01 "
                            "to 0x7e, a positive number",
                            gpu, i / groups, i % groups, scales[i]);
    return 0;
}

int mwi_check_rows(const struct mw_dymulticast *m, const unsigned *tokens, const char *call,
                   const struct mw_typed_rows *rows)
{
    const bool other = m->dispatch_type != MW_ROWTYPE_BF16;
    const struct mwi_row_parts p = parts_of(m);
    const size_t scales = p.scales / sizeof(float);
    int status = 0;
    if (!rows && other)
        return mwi_fail(MW_ERR_INVALID,
                        "%s: the object's dispatch_type is not bf16: call mw_handle_create_typed "
                        "or mw_dispatch_typed",
                        call);
    if (rows && !other)
        return mwi_fail(MW_ERR_INVALID,
                        "%s: the object's rows are bf16: set dispatch_type, or call "
                        "mw_handle_create or mw_dispatch",
                        call);
    for (unsigned g = 0; rows && g < m->device->info.gpus && !status; g++) {
        if (tokens[g] &&
            (!rows[g].x || (scales && !rows[g].scales) || (p.groups && !rows[g].group_scales)))
            status = mwi_fail(MW_ERR_INVALID, "GPU %u: %u tokens without x%s%s", g, tokens[g],
                              scales ? " or scales" : "", p.groups ? " or group_scales" : "");
        else if (scales)
            status = check_scales(g, tokens[g], scales, rows[g].scales);
        if (!status && p.groups)
            status = check_groups(g, tokens[g], p.groups, rows[g].group_scales);
    }
    return status;
}

int mwi_rows_image(struct mwi_image *im, const struct mw_dymulticast *m, const struct mw_layout *l,
                   const unsigned *tokens, const struct mw_typed_rows *rows)
{
    const struct mwi_row_parts p = parts_of(m);
    int status = 0;
    for (unsigned g = 0; g < m->device->info.gpus && !status; g++) {
        const struct mw_typed_rows *own = &rows[g];
        uint8_t *data;
        status = mwi_image_area(im, g, l->xs_base, (size_t)tokens[g] << l->row_shift, &data);
        for (size_t t = 0; t < tokens[g] && !status; t++) {
            uint8_t *row = data + (t << l->row_shift);
            memcpy(row, (const uint8_t *)own->x + t * p.x, p.x);
            if (p.scales)
                memcpy(row + p.x, (const uint8_t *)own->scales + t * p.scales, p.scales);
            if (p.groups)
                memcpy(row + p.groups_at, own->group_scales + t * p.groups, p.groups);
        }
    }
    return status;
}

void mwi_row_take(unsigned type, unsigned bytes, const uint8_t *row, const struct mw_typed_rows *to,
                  size_t i)
{
    const struct mwi_row_parts p = mwi_row_parts(type, bytes);
    if (to->x)
        memcpy((uint8_t *)to->x + i * p.x, row, p.x);
    if (to->scales && p.scales)
        memcpy((uint8_t *)to->scales + i * p.scales, row + p.x, p.scales);
    if (to->group_scales && p.groups)
        memcpy(to->group_scales + i * p.groups, row + p.groups_at, p.groups);
}
