// SPDX-License-Identifier: Apache-2.0
//
// Options of the commands that read or make a trace.
#ifndef MW_HOST_TRACE_OPTIONS_H
#define MW_HOST_TRACE_OPTIONS_H

#include "cli/option_value.h"
#include "cli/tables.h"
#include "trace/trace.h"

/// The order of an array's axes, a struct mw_axes.
int mw_set_axes(void *axes, const char *name, const char *text, struct mw_error *err);
/// The option for it: `place` is that of the struct.
#define MW_AXES_OPTION(place) \
    MW_OWN("axes", place, mw_set_axes, "A,A,A", \
           "order of the axes of the trace's arrays, if its meta.json does not declare it: " \
           "layers,tokens,k, or tokens,layers,k (vLLM and SGLang), or another order; without " \
           "layers the trace has one layer")

/// The options of a synthetic trace, see struct mw_synthetic. `at` gives the place of a field,
/// whose name has `prefix` in front. `most` is the maximum number of experts.
#define MW_SYNTHETIC_OPTIONS(at, prefix, most) \
    MW_UNSIGNED( \
        "experts", at(prefix experts), 1, most, "E", \
        "number of experts, {}, a multiple of the GPUs that run them (default {default})"), \
        MW_UNSIGNED("k", at(prefix k), 1, MW_MAX_K, "K", \
                    "experts per token, {}, at most --experts (default {default})"), \
        MW_REAL("sigma", at(prefix sigma), 0, 4, "X", \
                "sigma of the log-normal expert popularity, {} (default {default})"), \
        MW_REAL("locality", at(prefix locality), 0, 1, "X", \
                "chance that a place of a list repeats an expert of the previous token, {} " \
                "(default {default})"), \
        MW_UNSIGNED("groups", at(prefix groups), 1, most, "G", \
                    "groups of equally many experts, {}, for group-limited routing as in " \
                    "DeepSeek-V3; a divisor of --experts, with --topk-groups"), \
        MW_UNSIGNED("topk-groups", at(prefix topk_groups), 1, most, "M", \
                    "groups in which a token may have experts, {}, at most --groups")

/// Refuse an output of these (see mw_outputs_spare) that would replace one of the files that the
/// trace `trace` (may be NULL) is read from.
int mw_outputs_spare_trace(const char *const *option, const char *const *path, unsigned count,
                           const char *trace, struct mw_error *err);

/// mw_outputs_differ and mw_outputs_spare_trace for the files of `files`, with a trace
/// that is read, or NULL.
int mw_data_check(const struct mw_data_files *files, const char *trace, struct mw_error *err);

#endif
