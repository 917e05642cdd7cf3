// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer target: files of arrays. The first byte of the input selects the format of the rest. It
// is a .npy file, an .npz archive, a CSV file of expert counts, or the IDs of a trace. For any
// content the readers give a line, or arrays that can be read from end to end.
#include "formats/npz.h"
#include "trace/counts.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ANY = (1u << MW_NPY_TYPES) - 1 };

static volatile double sink;

/// Every element, by its strides.
static void read_all(const struct mw_npy *npy)
{
    for (size_t a = 0; a < npy->dim[0]; a++)
        for (size_t b = 0; b < npy->dim[1]; b++)
            for (size_t c = 0; c < npy->dim[2]; c++) {
                size_t at = a * npy->stride[0] + b * npy->stride[1] + c * npy->stride[2];
                if (at >= npy->count)
                    abort();
                sink = npy->type == MW_NPY_RAW2 ? 0 : mw_npy_real(npy, at);
            }
}

static void need_line(int status, const struct mw_error *err)
{
    if (status && (!*err->text || strchr(err->text, '\n')))
        abort();
}

static void read_arrays(const char *path, bool archive)
{
    struct mw_npy npy;
    struct mw_error err = {0};
    int status = archive ? mw_npz_read(&npy, path, "topk_ids.npy", ANY, &err)
                         : mw_npy_read(&npy, path, ANY, &err);
    need_line(status, &err);
    if (!status)
        read_all(&npy);
    mw_npy_free(&npy);
}

static void read_counts(const char *path)
{
    struct mw_counts counts;
    struct mw_trace trace = {0};
    struct mw_error err = {0};
    int status = mw_counts_read(&counts, path, &err);
    if (!status && counts.layers < 8) {
        status = mw_trace_of_counts(&trace, &counts, 5, 2, 1, path, &err);
        for (size_t l = 0; !status && l < trace.layers; l++)
            if (mw_trace_check(&trace, l, 5, false, &err))
                abort();
        mw_trace_free(&trace);
    }
    need_line(status, &err);
    mw_counts_free(&counts);
}

static void read_trace(const char *path)
{
    const struct mw_trace_said said = {.axes = {3, {MW_AXIS_TOKENS, MW_AXIS_LAYERS, MW_AXIS_K}},
                                       .experts = 256};
    struct mw_trace trace;
    struct mw_error err = {0};
    int status = mw_trace_load(&trace, path, &said, &err);
    for (size_t l = 0; !status && l < trace.layers; l++)
        status = mw_trace_check(&trace, l, trace.tokens, true, &err);
    need_line(status, &err);
    mw_trace_free(&trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int file = -1;
    static char path[40];
    if (file < 0) {
        file = memfd_create("input", MFD_CLOEXEC);
        snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    }
    if (!size || ftruncate(file, 0) != 0 ||
        pwrite(file, data + 1, size - 1, 0) != (ssize_t)(size - 1))
        return 0;
    switch (data[0] % 4) {
    case 0:
    case 1:
        read_arrays(path, data[0] % 4);
        break;
    case 2:
        read_counts(path);
        break;
    default:
        read_trace(path);
    }
    return 0;
}
