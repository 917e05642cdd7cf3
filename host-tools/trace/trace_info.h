// SPDX-License-Identifier: Apache-2.0
//
// `moeswitch trace info`: what a routing trace holds.
#ifndef MW_HOST_TRACE_INFO_H
#define MW_HOST_TRACE_INFO_H

#include "cli/option_table.h"
#include "trace/trace.h"

#include <stdio.h>

/// How the tokens of a layer spread over the experts.
struct mw_trace_spread {
    size_t min, max;  ///< tokens of an expert
    double mean;      ///< ... of all experts
    double imbalance; ///< max / mean; 0 where no token has an expert
    unsigned idle;    ///< experts without a token
    double sigma;    ///< standard deviation of ln(tokens), of experts that have any: --sigma of run
    double repeated; ///< share of the lists' places whose expert the token before has, too
    size_t empty;    ///< places without an expert
};

/// Of layer `layer`, whose elements were checked (mw_trace_check).
int mw_trace_spread(const struct mw_trace *trace, size_t layer, struct mw_trace_spread *spread,
                    struct mw_error *err);

/// The options of the command.
extern const struct mw_option_table mw_trace_table;
/// `moeswitch trace`: argv[0] is the name of the command.
int mw_trace_command(int argc, char **argv, FILE *out, FILE *errors);

#endif
