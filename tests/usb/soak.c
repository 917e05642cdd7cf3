// SPDX-License-Identifier: Apache-2.0
#include "soak.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    AREA = 1 << 20,  ///< bytes of each GPU's memory that are used
    PIECE = 1 << 16, ///< longest piece
    PIECES = 8,      ///< most in a call
    OPEN_TRIES = 600,
    OPEN_PAUSE_US = 50000, ///< while there is no device, or another process uses it
    SMALL = 8,             ///< one of this many calls moves no memory
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int open_device(struct soak *s)
{
    struct mw_open_options o;
    mw_open_defaults(&o);
    o.transport = "usb";
    o.serial = s->serial;
    o.gpus = o.flit_bytes = 0;
    o.timeout_ms = s->timeout_ms;
    int code = MW_ERR_NODEV;
    for (unsigned i = 0; i < OPEN_TRIES && code; i++) {
        if (i && (code == MW_ERR_NODEV || code == MW_ERR_BUSY))
            usleep(OPEN_PAUSE_US);
        code = mw_open(&o, &s->device);
    }
    if (code)
        fprintf(stderr, "soak: %s\n", mw_message());
    else
        mw_info(s->device, &s->info);
    return code;
}

static size_t random_size(struct soak *s)
{
    size_t most = mw_random_below(&s->random, s->large) ? 1024 : PIECE;
    return MW_MEM_ALIGN * (1 + mw_random_below(&s->random, most / MW_MEM_ALIGN));
}

/// Pieces that do not overlap: each has its own stripe.
static unsigned make_pieces(struct soak *s, struct mw_transfer *list, uint8_t *data)
{
    enum { STRIPE = AREA / PIECES };
    unsigned count = (unsigned)(1 + mw_random_below(&s->random, PIECES));
    for (unsigned i = 0; i < count; i++) {
        size_t bytes = random_size(s);
        uint64_t at =
            MW_MEM_ALIGN * mw_random_below(&s->random, (STRIPE - bytes) / MW_MEM_ALIGN + 1);
        list[i] = (struct mw_transfer){.gpu = (unsigned)mw_random_below(&s->random, s->info.gpus),
                                       .address = i * STRIPE + at,
                                       .bytes = bytes,
                                       .data = data + i * PIECE};
    }
    return count;
}

static void note_write(struct soak *s, const struct mw_transfer *t, bool ok)
{
    size_t at = (size_t)t->gpu * AREA + t->address;
    if (ok)
        memcpy(s->copy + at, t->data, t->bytes);
    for (size_t b = 0; b < t->bytes; b += MW_MEM_ALIGN)
        s->unknown[(at + b) / MW_MEM_ALIGN] = !ok;
}

static void compare(struct soak *s, const struct mw_transfer *t)
{
    size_t at = (size_t)t->gpu * AREA + t->address;
    const uint8_t *data = t->data;
    for (size_t b = 0; b < t->bytes; b += MW_MEM_ALIGN)
        if (!s->unknown[(at + b) / MW_MEM_ALIGN] &&
            memcmp(s->copy + at + b, data + b, MW_MEM_ALIGN))
            s->lost += MW_MEM_ALIGN;
}

/// A call that moves no memory. Returns its code.
static int small_call(struct soak *s)
{
    struct mw_firmware firmware;
    struct mw_log_entry log[32];
    size_t count = 0;
    int code;
    switch (mw_random_below(&s->random, 3)) {
    case 0:
        code = mw_firmware_info(s->device, &firmware);
        s->wrong += !code && s->serial && strcmp(firmware.serial, s->serial) != 0;
        return code;
    case 1:
        code = mw_log_read(s->device, 0, log, 32, &count);
        for (size_t i = 1; !code && i < count; i++)
            s->wrong += log[i].number != log[0].number + i;
        return code;
    default:
        return mw_partition_set(s->device, (unsigned)mw_random_below(&s->random, s->info.gpus),
                                (1u << s->info.gpus) - 1);
    }
}

/// A call that moves memory. Returns its code.
static int memory_call(struct soak *s, uint8_t *data)
{
    struct mw_transfer list[PIECES];
    unsigned count = make_pieces(s, list, data);
    bool write = mw_random_below(&s->random, 2);
    for (size_t i = 0; write && i < count * (size_t)PIECE; i += sizeof(uint64_t)) {
        uint64_t word = mw_random_next(&s->random);
        memcpy(data + i, &word, sizeof word);
    }
    int code = write ? mw_mem_write(s->device, list, count) : mw_mem_read(s->device, list, count);
    for (unsigned i = 0; i < count; i++) {
        s->bytes += list[i].bytes;
        if (write)
            note_write(s, &list[i], code == 0);
        else if (!code)
            compare(s, &list[i]);
    }
    return code;
}

static int call(struct soak *s, uint8_t *data)
{
    double start = now();
    int code = mw_random_below(&s->random, SMALL) ? memory_call(s, data) : small_call(s);
    double took = now() - start;
    s->longest = took > s->longest ? took : s->longest;
    s->calls++;
    return code;
}

/// After a failed write of a register only a reset helps, which may fail, too.
static void bring_back(struct soak *s)
{
    struct mw_progress progress;
    if (mw_query(s->device, &progress) || progress.state != MW_STATE_UNKNOWN)
        return;
    mw_reset(s->device);
    if (!s->keeps)
        memset(s->unknown, true, (size_t)s->info.gpus * AREA / MW_MEM_ALIGN);
}

int soak_run(struct soak *soak)
{
    struct soak *s = soak;
    uint8_t *data = malloc((size_t)PIECES * PIECE);
    int code = data ? open_device(s) : MW_ERR_NOMEM;
    if (!code) {
        size_t area = (size_t)s->info.gpus * AREA;
        s->copy = calloc(1, area);
        s->unknown = malloc(area / MW_MEM_ALIGN);
        if (!s->copy || !s->unknown || s->info.mem_bytes < AREA)
            code = MW_ERR_NOMEM;
        else
            memset(s->unknown, true, area / MW_MEM_ALIGN);
    }
    while (!code && !s->enough(s->context)) {
        code = call(s, data);
        s->timeouts += code == MW_ERR_TIMEOUT;
        s->errors += code && code != MW_ERR_TIMEOUT && code != MW_ERR_NODEV;
        if (code == MW_ERR_NODEV) {
            s->disconnects++;
            mw_close(s->device);
            s->device = NULL;
            if (s->unplugged)
                s->unplugged(s->context);
            code = open_device(s);
            if (!s->keeps)
                memset(s->unknown, true, (size_t)s->info.gpus * AREA / MW_MEM_ALIGN);
        } else {
            if (code)
                bring_back(s);
            code = 0; // the next call must work, or fail with its own reason
        }
    }
    mw_close(s->device);
    s->device = NULL;
    free(s->copy);
    free(s->unknown);
    free(data);
    return code;
}
