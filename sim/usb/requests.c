// SPDX-License-Identifier: Apache-2.0
//
// Execution of requests: the work of the firmware and the DMA.
#include "requests.h"

#include <stdlib.h>
#include <string.h>

enum {
    SLICE = 20000,        ///< cycles of a WAIT between two checks of the link
    TEST_BYTES = 1 << 16, ///< of each memory that the self-test checks
    GPU_MASK = 0xffff,
};

static void refuse(struct mwd_device *d, const struct mwd_request *r, uint8_t status)
{
    mwd_reply(d, r, status, 0, 0, NULL, 0);
}

static void info(struct mwd_device *d, const struct mwd_request *r)
{
    struct mw_frame_info i = {
        .features = d->settings.features,
        .window = d->settings.window,
        .max_payload =
            d->settings.credit < MW_HOST_MAX_PAYLOAD ? d->settings.credit : MW_HOST_MAX_PAYLOAD,
        .bulk_bytes = d->settings.credit,
        .firmware = mwd_cpu_version(d),
        .clock_hz = 0,
        .gpus = d->backend.gpus,
        .flit_bytes = d->backend.flit_bytes,
        .mem_bytes = d->backend.mem_bytes,
        .needs_minor = d->settings.needs_minor,
        .resets = d->cpu.starts,
    };
    memcpy(i.name, d->backend.name, strnlen(d->backend.name, sizeof i.name - 1));
    memcpy(i.serial, d->settings.serial, strnlen(d->settings.serial, sizeof i.serial - 1));
    uint8_t *frame = mwd_make_frame(sizeof i);
    memcpy(frame + MW_HOST_HEADER_BYTES, &i, sizeof i);
    mwd_reply(d, r, MW_STATUS_OK, 0, 0, frame, sizeof i);
}

static void registers(struct mwd_device *d, const struct mwd_request *r)
{
    bool write = r->header.type == MW_FRAME_REG_WRITE;
    size_t bytes = 8 * (size_t)r->header.words;
    uint32_t count = r->header.words;
    if (bytes > MW_HOST_MAX_COMMAND) {
        refuse(d, r, MW_STATUS_LENGTH);
        return;
    }
    struct mw_frame_register list[MW_HOST_MAX_COMMAND / sizeof(struct mw_frame_register)];
    if (bytes)
        memcpy(list, r->payload, bytes);
    for (uint32_t i = 0; i < count; i++) {
        int error = mwd_cpu_access(d, write, list[i].address, &list[i].value);
        if (error == -2)
            error = d->backend.cfg(d->backend.context, write, list[i].address, &list[i].value);
        if (error) {
            mwd_reply(d, r, error == -1 ? MW_STATUS_ACCESS : MW_STATUS_FAULT, 0, i, NULL, 0);
            return;
        }
    }
    if (write || !bytes) {
        mwd_reply(d, r, MW_STATUS_OK, 0, write ? count : 0, NULL, 0);
        return;
    }
    uint8_t *frame = mwd_make_frame(bytes);
    memcpy(frame + MW_HOST_HEADER_BYTES, list, bytes);
    mwd_reply(d, r, MW_STATUS_OK, 0, 0, frame, bytes);
}

static bool in_memory(const struct mwd_device *d, uint64_t gpu, uint64_t offset, size_t bytes)
{
    return gpu < d->backend.gpus && offset % MW_HOST_MEM_BYTES_ALIGN == 0 &&
           offset <= d->backend.mem_bytes && bytes <= d->backend.mem_bytes - offset;
}

static void memory(struct mwd_device *d, const struct mwd_request *r)
{
    bool write = r->header.type == MW_FRAME_MEM_WRITE;
    size_t bytes = write ? 8 * (size_t)r->header.words : r->header.count;
    uint64_t gpu = r->header.argument >> MW_HOST_GPU_SHIFT & GPU_MASK;
    uint64_t offset = r->header.argument & ((UINT64_C(1) << MW_HOST_GPU_SHIFT) - 1);
    if (bytes > MW_HOST_MAX_PAYLOAD || bytes % MW_HOST_MEM_BYTES_ALIGN ||
        (!write && r->header.words)) {
        refuse(d, r, MW_STATUS_LENGTH);
        return;
    }
    if (!in_memory(d, gpu, offset, bytes)) {
        refuse(d, r, MW_STATUS_RANGE);
        return;
    }
    uint8_t *frame = write || !bytes ? NULL : mwd_make_frame(bytes);
    uint8_t *data = write ? r->payload : frame ? frame + MW_HOST_HEADER_BYTES : NULL;
    if (bytes && d->backend.mem(d->backend.context, write, (unsigned)gpu, offset, data, bytes)) {
        free(frame);
        refuse(d, r, MW_STATUS_FAULT);
        return;
    }
    mwd_reply(d, r, MW_STATUS_OK, 0, 0, frame, frame ? bytes : 0);
}

/// Runs a slice. Another frame that has arrived ends it.
static bool wait(struct mwd_device *d, const struct mwd_request *r)
{
    if (!d->waiting) {
        d->waiting = true;
        d->wait_left = r->header.argument;
    }
    uint64_t slice = d->wait_left < SLICE ? d->wait_left : SLICE;
    bool done = d->backend.run(d->backend.context, slice);
    d->wait_left -= slice;
    if (!done && d->wait_left && d->request_count == 1)
        return false;
    d->waiting = false;
    mwd_reply(d, r, MW_STATUS_OK, d->backend.cycles(d->backend.context), done, NULL, 0);
    return true;
}

/// Each word's address, then its inverse.
static uint32_t test_memory(struct mwd_device *d, unsigned gpu, uint8_t *data, size_t bytes)
{
    uint32_t wrong = 0;
    for (unsigned pass = 0; pass < 2; pass++) {
        uint64_t flip = pass ? UINT64_MAX : 0, word;
        for (size_t i = 0; i < bytes; i += sizeof word) {
            word = (i + ((uint64_t)gpu << MW_HOST_GPU_SHIFT)) ^ flip;
            memcpy(data + i, &word, sizeof word);
        }
        bool failed = d->backend.mem(d->backend.context, true, gpu, 0, data, bytes);
        memset(data, 0, bytes);
        failed |= d->backend.mem(d->backend.context, false, gpu, 0, data, bytes);
        for (size_t i = 0; i < bytes; i += sizeof word) {
            memcpy(&word, data + i, sizeof word);
            wrong += failed || word != ((i + ((uint64_t)gpu << MW_HOST_GPU_SHIFT)) ^ flip);
        }
    }
    return wrong;
}

static void selftest(struct mwd_device *d, const struct mwd_request *r)
{
    const uint64_t tests = r->header.argument;
    const size_t records =
        ((tests >> MW_TEST_MEMORY & 1) + (tests >> MW_TEST_LINK & 1)) * d->backend.gpus;
    bool odd = tests >> (MW_TEST_LINK + 1) ||
               records > MW_HOST_MAX_COMMAND / sizeof(struct mw_frame_selftest);
    if (odd || mwi_queue_busy(&d->queue)) {
        refuse(d, r, odd ? MW_STATUS_LENGTH : MW_STATUS_STATE);
        return;
    }
    size_t units = tests >> MW_TEST_MEMORY & 1 ? d->backend.gpus : 0;
    size_t bytes = d->backend.mem_bytes < TEST_BYTES ? d->backend.mem_bytes : TEST_BYTES;
    uint8_t *data = mwd_allocate(bytes),
            *frame = mwd_make_frame(units * sizeof(struct mw_frame_selftest));
    for (size_t g = 0; g < units; g++) {
        struct mw_frame_selftest one = {.test = MW_TEST_MEMORY,
                                        .unit = (uint32_t)g,
                                        .checked = (uint32_t)(2 * bytes / 8),
                                        .failed = test_memory(d, (unsigned)g, data, bytes)};
        memcpy(frame + MW_HOST_HEADER_BYTES + g * sizeof one, &one, sizeof one);
        if (one.failed)
            mwd_log(d, MW_LOG_SELFTEST, MW_TEST_MEMORY << 16 | one.unit);
    }
    free(data);
    mwd_reply(d, r, MW_STATUS_OK, 0, 0, frame, units * sizeof(struct mw_frame_selftest));
}

static void log_read(struct mwd_device *d, const struct mwd_request *r)
{
    uint64_t first = r->header.argument;
    if (first < d->log_first || first > d->log_next)
        first = d->log_first;
    size_t most = MW_HOST_MAX_COMMAND / sizeof(struct mw_frame_log);
    size_t count = d->log_next - first < most ? d->log_next - first : most;
    uint8_t *frame = mwd_make_frame(count * sizeof(struct mw_frame_log));
    for (size_t i = 0; i < count; i++)
        memcpy(frame + MW_HOST_HEADER_BYTES + i * sizeof(struct mw_frame_log),
               &d->log[(first + i) % MWD_LOG], sizeof(struct mw_frame_log));
    mwd_reply(d, r, MW_STATUS_OK, d->log_next, 0, frame, count * sizeof(struct mw_frame_log));
}

static void sync(struct mwd_device *d, const struct mwd_request *r)
{
    uint64_t argument = r->header.argument;
    d->refused = r->status == MW_STATUS_VERSION;
    if (r->key)
        argument = (uint64_t)r->key << 32 | (uint32_t)argument;
    mwd_reply(d, r, r->status, argument, d->settings.major << 16 | d->settings.minor, NULL, 0);
}

static bool is_firmwares(unsigned type)
{
    return type == MW_FRAME_INFO || type == MW_FRAME_SELFTEST || type == MW_FRAME_LOG_READ ||
           type == MW_FRAME_LOG_CLEAR || type == MW_FRAME_FEED || type == MW_FRAME_FED;
}

/// A feature of the firmware; without it, the type is unknown.
static bool has(const struct mwd_device *d, unsigned feature)
{
    return d->settings.features >> feature & 1;
}

/// Types of the device without a payload. MEM_READ checks this itself.
static bool no_payload(const struct mwd_device *d, unsigned type)
{
    return type == MW_FRAME_INFO || type == MW_FRAME_WAIT || type == MW_FRAME_RESET ||
           (type == MW_FRAME_SELFTEST && has(d, MW_FEATURE_SELFTEST)) ||
           ((type == MW_FRAME_LOG_READ || type == MW_FRAME_LOG_CLEAR) && has(d, MW_FEATURE_LOG));
}

bool mwd_carry_out(struct mwd_device *device, const struct mwd_request *request)
{
    struct mwd_device *d = device;
    const struct mwd_request *r = request;
    unsigned type = r->header.type;
    if (type == MW_FRAME_LINK_ERROR) {
        mwd_reply(d, r, r->status, 0, r->header.count, NULL, 0);
    } else if (type == MW_FRAME_SYNC) {
        sync(d, r);
    } else if (r->status) {
        refuse(d, r, r->status);
    } else if (d->refused && type != MW_FRAME_INFO) {
        refuse(d, r, MW_STATUS_TYPE);
    } else if (r->header.words && no_payload(d, type)) {
        refuse(d, r, MW_STATUS_LENGTH);
    } else if (is_firmwares(type) && d->cpu.held) {
        refuse(d, r, MW_STATUS_STATE);
    } else if (is_firmwares(type) && mwd_cpu_firmware(d) == MWD_BITTEN) {
        refuse(d, r, MW_STATUS_FAULT);
    } else if (is_firmwares(type) && mwd_cpu_firmware(d) == MWD_KEEPS) {
        return false;
    } else if (type == MW_FRAME_INFO) {
        info(d, r);
    } else if (type == MW_FRAME_REG_READ || type == MW_FRAME_REG_WRITE) {
        registers(d, r);
    } else if (type == MW_FRAME_MEM_READ || type == MW_FRAME_MEM_WRITE) {
        memory(d, r);
    } else if (type == MW_FRAME_WAIT) {
        return wait(d, r);
    } else if (type == MW_FRAME_RESET) {
        mwi_queue_reset(&d->queue);
        refuse(d, r, d->backend.reset(d->backend.context) ? MW_STATUS_FAULT : MW_STATUS_OK);
    } else if (type == MW_FRAME_SELFTEST && has(d, MW_FEATURE_SELFTEST)) {
        selftest(d, r);
    } else if (type == MW_FRAME_LOG_READ && has(d, MW_FEATURE_LOG)) {
        log_read(d, r);
    } else if (type == MW_FRAME_LOG_CLEAR && has(d, MW_FEATURE_LOG)) {
        d->log_first = d->log_next;
        refuse(d, r, MW_STATUS_OK);
    } else if (type == MW_FRAME_FEED && has(d, MW_FEATURE_FEED)) {
        mwd_feed(d, r);
    } else if (type == MW_FRAME_FED && has(d, MW_FEATURE_FEED)) {
        return mwd_fed(d, r);
    } else {
        refuse(d, r, MW_STATUS_TYPE);
    }
    return true;
}
