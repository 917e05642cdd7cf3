// SPDX-License-Identifier: Apache-2.0
//
// Files of a run to look at: --plot, --html and --timeline. Each is a file, or standard output
// in place of the tables.
#ifndef MW_HOST_PICTURES_H
#define MW_HOST_PICTURES_H

#include "experiment/captions.h"
#include "experiment/result.h"

/// Find out before a long run whether the files can be written.
int mw_pictures_probe(const struct mw_run_params *params, struct mw_error *err);
/// Whether one of them goes to standard output.
bool mw_pictures_replace_tables(const struct mw_run_params *params);
/// Write those that `params` names. `json` is that of the run, closed; only --html needs it.
/// `out` is standard output.
int mw_pictures_write(const struct mw_run_params *params, FILE *out, const struct mw_json *json,
                      const struct mw_captions *captions, const struct mw_summary *summaries,
                      unsigned count, struct mw_error *err);

#endif
