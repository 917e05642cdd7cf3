// SPDX-License-Identifier: Apache-2.0
//
// Shapes of whole MoE models for `moeswitch plan`: a preset of models.h and the other parts of its
// layers, or a config.json of Hugging Face's transformers.
#ifndef MW_COST_TRANSFORMER_H
#define MW_COST_TRANSFORMER_H

#include "cli/option_table.h"

#include <stdint.h>

/// A decoder of MoE layers. Sizes are numbers of values; a projection of a x b has a * b weights.
struct mw_transformer {
    char name[64];
    const char *file;      ///< the caller's path of a config.json; NULL: a preset
    unsigned layers;       ///< of the decoder, 1 .. 1024, with those that are dense
    unsigned dense_layers; ///< the first ones, with one FFN of dense_size in place of experts
    unsigned hidden;
    unsigned heads;
    unsigned kv_heads;    ///< GQA; 0: MLA
    unsigned head_size;   ///< of a query and key, of GQA of a value, too
    unsigned q_rank;      ///< MLA: of the query's latent; 0: the query has none
    unsigned kv_rank;     ///< MLA: of the latent of key and value; 0: GQA
    unsigned rope_size;   ///< MLA: of the part of head_size that all heads share
    unsigned value_size;  ///< MLA: of a head's value
    unsigned experts, k;  ///< routed ones of a layer, and of them per token
    unsigned expert_size; ///< inner size of a routed expert: gate, up and down of hidden x size
    unsigned shared_size; ///< inner size of all shared experts together; 0: none
    unsigned dense_size;  ///< inner size of a dense layer's FFN
    unsigned window;      ///< tokens before it that a token attends to in some layers; 0: to all
    unsigned windowed;    ///< layers with a window
    unsigned vocabulary;  ///< embedding and head have vocabulary x hidden each
    bool tied;            ///< they are one
    unsigned predicted;   ///< layers of multi-token prediction, which training has in addition
    unsigned groups, topk_groups; ///< of group-limited routing, as in trace.h; 0: none
};

/// `--model`: the name of a preset, else the path of a config.json (with a '/' or '.' in it).
/// `place` is a struct mw_transformer. MW_EXIT_INPUT, with file, key and cause: no such preset or
/// file, a preset whose source states no layers, or a file that is no MoE model.
mw_option_set mw_set_transformer;
/// The presets, for help.
mw_terms mw_transformer_names;

/// Embedding and head, as tables that a GPU with both of them holds.
double mw_tables(const struct mw_transformer *m);
/// Weights of attention, of the router and shared experts, and of one routed expert, of a layer.
double mw_attention_weights(const struct mw_transformer *m);
double mw_shared_weights(const struct mw_transformer *m);
double mw_expert_weights(const struct mw_transformer *m);
/// Weights of a dense layer's FFN.
double mw_dense_weights(const struct mw_transformer *m);
/// All weights of the model, without multi-token prediction; and those that a token uses.
double mw_all_weights(const struct mw_transformer *m);
double mw_active_weights(const struct mw_transformer *m);
/// Tokens that a token attends to, as the mean of all layers. `behind`: of a token after `sequence`
/// others. `within`: the mean of all tokens of a sequence.
double mw_attended_behind(const struct mw_transformer *m, double sequence);
double mw_attended_within(const struct mw_transformer *m, double sequence);
/// Operations (a multiply-add has two) of forward of one token that attends to so many. Training
/// has three times as many. Used for MFU.
double mw_model_flops(const struct mw_transformer *m, double attended);
/// Values that a token keeps for later ones in a layer: keys and values, or their latent.
double mw_kept_values(const struct mw_transformer *m);

#endif
