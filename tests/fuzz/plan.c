// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer target: files of `moeswitch plan`. The first byte of the input selects the format of
// the rest. It is a config.json, a table of measured times, a table of a sweep, or a Chakra trace.
// For any content the readers give a line, or a result that can be used.
#include "cost/compute.h"
#include "formats/csv_read.h"
#include "plan/chakra.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile double sink;

static void need_line(int status, const struct mw_error *err)
{
    if (status && (!*err->text || strchr(err->text, '\n')))
        abort();
}

static void read_model(const char *path)
{
    struct mw_transformer m;
    struct mw_error err = {0};
    int status = mw_set_transformer(&m, "model", path, &err);
    need_line(status, &err);
    if (!status && (!(mw_all_weights(&m) > 0) || mw_active_weights(&m) > mw_all_weights(&m)))
        abort();
}

static void read_times(const char *path)
{
    const struct mw_task task = {.hardware = mw_hardware_preset(0),
                                 .gemm_share = 1,
                                 .attention_share = 1,
                                 .memory_share = 1};
    const struct mw_operator op = {
        .kind = MW_OP_GEMM, .m = 16, .n = 16, .k = 16, .bytes = 1, .flops = 1};
    struct mw_compute c;
    struct mw_error err = {0};
    bool measured;
    int status = mw_compute_read(&c, path, &err);
    need_line(status, &err);
    if (!status && !(mw_compute_seconds(&c, &task, &op, &measured) > 0))
        abort();
    mw_compute_free(&c);
}

/// Every value of every row.
static void read_table(const char *path)
{
    struct mw_csv_table t;
    struct mw_error err = {0};
    int status = mw_csv_read(&t, path, 1 << 16, "a table", &err);
    need_line(status, &err);
    for (size_t r = 0; !status && r < t.rows; r++)
        for (unsigned c = 0; c < t.columns; c++) {
            double value;
            sink = (double)strlen(mw_csv_cell(&t, r, c));
            need_line(mw_csv_number(&t, r, c, 0, &value, &err), &err);
        }
    mw_csv_table_free(&t);
}

/// A trace with times gets the same ones again.
static void read_trace(const uint8_t *data, size_t size)
{
    const struct mw_chakra_times times = {
        .hardware = mw_hardware_preset(0), .ranks = 8, .expert_seconds_per_byte = 1e-12};
    struct mw_chakra_counts counts, again;
    struct mw_error err = {0};
    char *text[2] = {NULL, NULL};
    size_t bytes[2];
    FILE *f = open_memstream(&text[0], &bytes[0]);
    int status = mw_chakra_apply(f, data, size, "t", &times, &counts, &err);
    fclose(f);
    need_line(status, &err);
    if (!status) {
        f = open_memstream(&text[1], &bytes[1]);
        status = mw_chakra_apply(f, (const uint8_t *)text[0], bytes[0], "t", &times, &again, &err);
        fclose(f);
        if (status || counts.timed != again.timed || bytes[0] != bytes[1] ||
            memcmp(text[0], text[1], bytes[0]) != 0)
            abort();
    }
    free(text[0]);
    free(text[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    static char path[64];
    if (!size)
        return 0;
    if (fd < 0) {
        fd = memfd_create("input", 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    if (data[0] % 4 == 3) {
        read_trace(data + 1, size - 1);
        return 0;
    }
    if (ftruncate(fd, 0) || pwrite(fd, data + 1, size - 1, 0) != (ssize_t)(size - 1))
        abort();
    if (data[0] % 4 == 0)
        read_model(path);
    else if (data[0] % 4 == 1)
        read_times(path);
    else
        read_table(path);
    return 0;
}
