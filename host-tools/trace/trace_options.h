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
           "order of the axes of the trace's arrays, where its meta.json does not say it: " \
           "layers,tokens,k, or tokens,layers,k as vLLM and SGLang write them, or another one; " \
           "without layers there is one")

/// The options of a synthetic trace, see struct mw_synthetic: `at` gives the place of a field,
/// whose name has `prefix` in front, and `most` is how many experts there may be.
#define MW_SYNTHETIC_OPTIONS(at, prefix, most) \
    MW_UNSIGNED("experts", at(prefix experts), 1, most, "E", \
                "{}, a multiple of the GPUs where it runs (default {default})"), \
        MW_UNSIGNED("k", at(prefix k), 1, MW_MAX_K, "K", \
                    "experts per token, {}, at most --experts (default {default})"), \
        MW_REAL("sigma", at(prefix sigma), 0, 4, "X", \
                "of log-normal expert popularity, {} (default {default})"), \
        MW_REAL("locality", at(prefix locality), 0, 1, "X", \
                "chance to repeat an expert of the token before, {} (default {default})"), \
        MW_UNSIGNED( \
            "groups", at(prefix groups), 1, most, "G", \
            "the experts in G groups of as many, {}, of which a token has experts in some " \
            "alone, as DeepSeek-V3 routes; a divisor of --experts, with --topk-groups"), \
        MW_UNSIGNED("topk-groups", at(prefix topk_groups), 1, most, "M", \
                    "in at most so many, {}, at most --groups")

/// Refuse an output of these (see mw_outputs_spare) that would replace one of the files that the
/// trace `trace` (may be NULL) is read from.
int mw_outputs_spare_trace(const char *const *option, const char *const *path, unsigned count,
                           const char *trace, struct mw_error *err);

/// mw_outputs_differ and mw_outputs_spare_trace for the files of `files`, with a trace
/// that is read, or NULL.
int mw_data_check(const struct mw_data_files *files, const char *trace, struct mw_error *err);

#endif
