// SPDX-License-Identifier: Apache-2.0
//
// `moeswitch bench link`: round trips and bulk rates between this program and the device, in the
// manner of perftest. Time is that of the wall.
#include "base/random.h"
#include "base/seconds.h"
#include "base/text.h"
#include "bench/bench.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    TRIPS = 1000,
    MIN_BYTES = 16,
    MAX_BYTES = 1 << 20,
    FACTOR = 4,
    CALL_BYTES = 1 << 20, ///< most of a call: a list of pieces that the library queues at once
    CALL_PIECES = 1024,
};

#define LINE_SECONDS 0.25 // at least, each way

struct link_bench {
    struct mw_device *device;
    struct mw_device_info info;
    struct mw_error *err;
    FILE *out;
    uint8_t *sent, *back; ///< CALL_BYTES each
    struct mw_transfer list[CALL_PIECES];
};

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/// A register read, one at a time, in microseconds.
static int round_trips(struct link_bench *b)
{
    static double sample[TRIPS];
    double sum = 0;
    for (unsigned i = 0; i < TRIPS; i++) {
        unsigned position;
        double start = mw_seconds();
        int code = mw_stream_position(b->device, 0, 0, &position);
        if (code)
            return mw_device_failed(b->err, "round trip", code);
        sample[i] = (mw_seconds() - start) * 1e6;
        sum += sample[i];
    }
    qsort(sample, TRIPS, sizeof *sample, by_value);
    fprintf(b->out, "# register reads, one at a time [us]\n#%9s %9s %9s %9s %9s %9s\n", "count",
            "min", "typical", "max", "average", "99%");
    fprintf(b->out, " %9d %9.1f %9.1f %9.1f %9.1f %9.1f\n", TRIPS, sample[0], sample[TRIPS / 2],
            sample[TRIPS - 1], sum / TRIPS, sample[TRIPS * 99 / 100]);
    return MW_EXIT_OK;
}

/// Pieces of `bytes` bytes, as many as fit into a call, all over the first GPU's memory.
static size_t make_list(struct link_bench *b, size_t bytes, uint8_t *data)
{
    size_t count = CALL_BYTES / bytes, places = b->info.mem_bytes / bytes;
    count = count < CALL_PIECES ? count : CALL_PIECES;
    count = count < places ? count : places;
    for (size_t i = 0; i < count; i++)
        b->list[i] =
            (struct mw_transfer){.address = i * bytes, .bytes = bytes, .data = data + i * bytes};
    return count;
}

/// Calls in one direction until the time is over. Megabytes per second.
static int rate(struct link_bench *b, size_t count, size_t bytes, bool write, uint64_t *calls,
                double *result)
{
    double start = mw_seconds(), time = 0;
    *calls = 0;
    while (time < LINE_SECONDS) {
        int code = write ? mw_mem_write(b->device, b->list, count)
                         : mw_mem_read(b->device, b->list, count);
        if (code)
            return mw_device_failed(b->err, write ? "writing" : "reading", code);
        time = mw_seconds() - start;
        ++*calls;
    }
    *result = (double)*calls * (double)count * (double)bytes / time / 1e6;
    return MW_EXIT_OK;
}

static int line(struct link_bench *b, size_t bytes, uint64_t *wrong)
{
    uint64_t writes, reads, differ = 0;
    double to_device, from_device;
    size_t count = make_list(b, bytes, b->sent);
    int status = rate(b, count, bytes, true, &writes, &to_device);
    if (status)
        return status;
    memset(b->back, MW_BENCH_UNTOUCHED, CALL_BYTES);
    make_list(b, bytes, b->back);
    if ((status = rate(b, count, bytes, false, &reads, &from_device)))
        return status;
    for (size_t i = 0; i < count * bytes; i++)
        differ += b->sent[i] != b->back[i];
    fprintf(b->out, " %9zu %9" PRIu64 " %9.2f %9" PRIu64 " %9.2f %7" PRIu64 "\n", bytes,
            writes * count, to_device, reads * count, from_device, differ);
    fflush(b->out);
    *wrong += differ;
    return MW_EXIT_OK;
}

static int bulk(struct link_bench *b)
{
    uint64_t wrong = 0;
    int status = MW_EXIT_OK;
    fprintf(b->out,
            "# memory of GPU 0, up to 1 MB queued at once [MB/s]\n#%9s %9s %9s %9s %9s %7s\n",
            "bytes", "writes", "write", "reads", "read", "#wrong");
    for (size_t bytes = MIN_BYTES; bytes <= MAX_BYTES && bytes <= b->info.mem_bytes && !status;
         bytes *= FACTOR)
        status = line(b, bytes, &wrong);
    if (!status && wrong)
        return mw_fail(b->err, MW_EXIT_MISMATCH, "%" PRIu64 " bytes are wrong", wrong);
    return status;
}

static const struct mw_option options[] = {MW_DEVICE_ASKED_OPTIONS};

static MW_TERMS(exits, {"0", "every byte came back"}, {"1", "one is wrong"}, {"2", "bad input"},
                {"4", MW_EXIT_FAILED_TEXT});
static const struct mw_section sections[] = {{"Exit status", exits}, {0}};

const struct mw_option_table mw_bench_link_table = {
    .command = "bench link",
    .option = options,
    .count = sizeof options / sizeof *options,
    .summary = "measure the connection from this program to the device",
    .synopsis = "[OPTION]...",
    .text = "Measures the connection from this program to the device: round trips of register "
            "reads in microseconds, one at a time, and MB/s (10^6 bytes) of memory written and "
            "read in pieces from 16 bytes to 1 MB. It overwrites the memory of GPU 0.",
    .section = sections,
};

int mw_bench_link_command(int argc, char **argv, FILE *out, FILE *errors)
{
    struct mw_error err = {0};
    struct mw_device_asked asked;
    int status = mw_device_parse(&mw_bench_link_table, &asked, argc, argv, out, &err);
    if (asked.help)
        return MW_EXIT_OK;
    struct link_bench *b = calloc(1, sizeof *b);
    if (b) {
        b->sent = malloc(CALL_BYTES);
        b->back = malloc(CALL_BYTES);
    }
    if (!status && (!b || !b->sent || !b->back))
        status = mw_fail_memory(&err, "the buffers");
    if (!status)
        status = mw_device_open(&asked, &b->device, &err);
    if (!status) {
        struct mw_random random = {1};
        b->err = &err;
        b->out = out;
        mw_info(b->device, &b->info);
        for (size_t i = 0; i < CALL_BYTES; i++)
            b->sent[i] = (uint8_t)mw_random_next(&random);
        fprintf(out, "# --device %s: %u GPUs, flits of %u bytes\n", MW_SHOWN(asked.device_text),
                b->info.gpus, b->info.flit_bytes);
        status = round_trips(b);
    }
    if (!status)
        status = bulk(b);
    if (b) {
        mw_close(b->device);
        free(b->sent);
        free(b->back);
    }
    free(b);
    return mw_device_finish(status, &err, errors);
}
