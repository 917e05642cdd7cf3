// SPDX-License-Identifier: Apache-2.0
//
// A model's file in memory, to be changed: its code, and the contents of its note.
#ifndef MW_TEST_MODEL_FILE_H
#define MW_TEST_MODEL_FILE_H

#include "host/support.h"

struct model_file {
    char *bytes; ///< to be freed
    size_t size;
};

struct model_file load_model(const char *path);
void store_model(const char *path, const struct model_file *f);
/// Every instruction becomes one that there is not.
void spoil_code(struct model_file *f);
/// The note's text, from its first line on.
char *model_note(struct model_file *f);
/// Whether a model is one of lanes.
bool has_lanes(const char *path);
/// Replace the first of these words of the note by others as long.
void replace_note(struct model_file *f, const char *what, const char *with);
/// Of lanes ("cpu abm adx ..."), which need AVX2 at least: needs what no processor has.
void other_features(struct model_file *f);
/// For a processor of another kind.
void other_machine(struct model_file *f);

#endif
