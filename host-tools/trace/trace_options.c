// SPDX-License-Identifier: Apache-2.0
//
// See trace_options.h.
#include "trace/trace_options.h"

#include "base/output.h"

int mw_set_axes(void *axes, const char *name, const char *text, struct mw_error *err)
{
    if (mw_axes_parse(axes, text))
        return MW_EXIT_OK;
    return mw_fail(err, MW_EXIT_INPUT,
                   "--%s %s: expected tokens, k and perhaps layers, each once, with commas", name,
                   text);
}

int mw_outputs_spare_trace(const char *const *option, const char *const *path, unsigned count,
                           const char *trace, struct mw_error *err)
{
    const char *const files[] = {mw_trace_files[0], mw_trace_files[1], mw_trace_files[2],
                                 mw_trace_archive};
    int status = mw_outputs_spare(option, path, count, trace, err);
    for (unsigned i = 0; trace && i < sizeof files / sizeof *files && !status; i++) {
        char file[MW_PATH_BYTES];
        if ((size_t)snprintf(file, sizeof file, "%s/%s", trace, files[i]) < sizeof file)
            status = mw_outputs_spare(option, path, count, file, err);
    }
    return status;
}

int mw_data_check(const struct mw_data_files *files, const char *trace, struct mw_error *err)
{
    const char *const option[] = {"json", "csv"}, *const path[] = {files->json, files->csv};
    int status = mw_outputs_differ(option, path, 2, err);
    return status ? status : mw_outputs_spare_trace(option, path, 2, trace, err);
}
