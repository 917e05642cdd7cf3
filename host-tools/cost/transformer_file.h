// SPDX-License-Identifier: Apache-2.0
//
// A config.json of Hugging Face's transformers as a model's shape.
#ifndef MW_COST_TRANSFORMER_FILE_H
#define MW_COST_TRANSFORMER_FILE_H

#include "cost/transformer.h"

/// Read the file at `path`. Keys that do not describe the shape are skipped. MW_EXIT_INPUT: a key
/// that is needed is missing or out of range, or the model has no experts. The line names file, key
/// and cause.
int mw_transformer_read(struct mw_transformer *m, const char *path, struct mw_error *err);

#endif
