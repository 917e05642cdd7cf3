// SPDX-License-Identifier: Apache-2.0
//
// Calls that write and read what a layer needs in the memories of all GPUs at once.
#include "api/memory_image.h"
#include "core/registers.h"
#include "core/state.h"

#include <stdlib.h>

/// Write the image of a call, if it was made.
static int write_image(struct mw_device *device, struct mwi_image *im, int status)
{
    if (!status)
        status = mw_mem_write(device, im->list, im->count);
    mwi_image_free(im);
    return status;
}

static int write_streams(struct mw_device *device, struct mwi_image *im, int status)
{
    uint64_t delays = im->delays;
    status = write_image(device, im, status);
    mwi_lock(device);
    if (!status)
        mwi_state_streams(device, delays);
    return mwi_unlock(device, status);
}

static int check_streams(unsigned streams)
{
    if (streams < 1 || streams > MW_STREAMS)
        return mwi_fail(MW_ERR_INVALID, "%u streams: 1 to %d", streams, MW_STREAMS);
    return 0;
}

int mw_streams_load(struct mw_device *device, const struct mw_layout *layout, unsigned streams,
                    mw_stream_make_fn make, void *context)
{
    MWI_NEED(device);
    MWI_NEED(layout);
    MWI_NEED(make);
    struct mwi_image im = {0};
    int status = check_streams(streams);
    if (!status)
        status = mwi_image_made_streams(&im, layout, &device->info, streams, make, context);
    return write_streams(device, &im, status);
}

int mw_stream_load(struct mw_device *device, const struct mw_layout *layout,
                   const struct mw_stream *s, unsigned streams)
{
    MWI_NEED(device);
    MWI_NEED(layout);
    MWI_NEED(s);
    struct mwi_image im = {0};
    int status = check_streams(streams);
    if (!status)
        status = mwi_image_streams(&im, layout, s, &device->info, streams);
    return write_streams(device, &im, status);
}

// ---- tokens -------------------------------------------------------------------------------------

/// What part[g] must have, of those that there are: k 0: rows, else lists.
static int check_parts(const struct mw_device *d, const char *call, unsigned k,
                       const struct mw_tokens *part)
{
    if (k > MW_MAX_TARGETS)
        return mwi_fail(MW_ERR_INVALID, "%s: k = %u: 1 to %d", call, k, MW_MAX_TARGETS);
    for (unsigned g = 0; g < d->info.gpus; g++) {
        bool missing = k ? !part[g].topk_idx || !part[g].topk_weights : !part[g].x;
        if (part[g].tokens && missing)
            return mwi_fail(MW_ERR_INVALID, "%s: GPU %u: %u tokens without %s", call, g,
                            part[g].tokens, k ? "topk_idx or topk_weights" : "x");
        if (part[g].tokens > d->info.tokens)
            return mwi_fail(MW_ERR_CAPACITY, "%s: GPU %u: %u tokens, the device holds %u", call, g,
                            part[g].tokens, d->info.tokens);
    }
    return 0;
}

static int check_row(const char *call, unsigned row_bytes, unsigned row_shift)
{
    if (row_shift > 15 || !row_bytes || row_bytes % 2 || row_bytes > 1u << row_shift)
        return mwi_fail(MW_ERR_INVALID,
                        "%s: rows of %u bytes in 2^%u: expected an even number that fits there, "
                        "and at most 2^15",
                        call, row_bytes, row_shift);
    return 0;
}

int mw_routing_load(struct mw_device *device, uint64_t address, unsigned k,
                    const struct mw_tokens *part)
{
    MWI_NEED(device);
    MWI_NEED(part);
    struct mwi_image im = {0};
    int status = k ? check_parts(device, __func__, k, part)
                   : mwi_fail(MW_ERR_INVALID, "%s: k = 0: 1 to %d", __func__, MW_MAX_TARGETS);
    if (!status)
        status = mwi_image_routing(&im, address, device->info.gpus, k, part);
    return write_image(device, &im, status);
}

int mw_rows_load(struct mw_device *device, uint64_t address, unsigned row_bytes, unsigned row_shift,
                 const struct mw_tokens *part)
{
    MWI_NEED(device);
    MWI_NEED(part);
    struct mwi_image im = {0};
    int status = check_row(__func__, row_bytes, row_shift);
    if (!status)
        status = check_parts(device, __func__, 0, part);
    if (!status)
        status = mwi_image_rows(&im, address, device->info.gpus, row_bytes, row_shift, part);
    return write_image(device, &im, status);
}

int mw_rows_read(struct mw_device *device, uint64_t address, unsigned row_bytes, unsigned row_shift,
                 const unsigned *tokens, uint16_t *const *out)
{
    MWI_NEED(device);
    MWI_NEED(tokens);
    MWI_NEED(out);
    struct mwi_image im = {0};
    const unsigned gpus = device->info.gpus;
    uint8_t *data;
    int status = check_row(__func__, row_bytes, row_shift);
    for (unsigned g = 0; g < gpus && !status; g++) {
        if (tokens[g] && !out[g])
            status = mwi_fail(MW_ERR_INVALID, "%s: GPU %u: out is NULL", __func__, g);
        else if (tokens[g] > device->info.tokens)
            status = mwi_fail(MW_ERR_CAPACITY, "%s: GPU %u: %u tokens, the device holds %u",
                              __func__, g, tokens[g], device->info.tokens);
        else
            status = mwi_image_area(&im, g, address, (size_t)tokens[g] << row_shift, &data);
    }
    if (!status)
        status = mw_mem_read(device, im.list, im.count);
    if (!status)
        mwi_image_take_rows(&im, gpus, row_bytes, row_shift, tokens, out);
    mwi_image_free(&im);
    return status;
}

int mw_coefficients_load(struct mw_device *device, const struct mw_layout *layout,
                         unsigned experts_per_gpu, const uint16_t *coefficient)
{
    MWI_NEED(device);
    MWI_NEED(layout);
    if (experts_per_gpu)
        MWI_NEED(coefficient);
    struct mwi_image im = {0};
    int status = experts_per_gpu > device->info.local_experts
                     ? mwi_fail(MW_ERR_CAPACITY, "%s: %u experts of a GPU, the device holds %u",
                                __func__, experts_per_gpu, device->info.local_experts)
                     : mwi_image_coefficients(&im, layout->ce_base, device->info.gpus,
                                              experts_per_gpu, coefficient);
    return write_image(device, &im, status);
}
