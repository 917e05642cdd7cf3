// SPDX-License-Identifier: Apache-2.0
//
// See transformer_file.h. Models name the same sizes differently: of each field, the first key that
// the file has counts.
#include "cost/transformer_file.h"

#include "base/text.h"
#include "formats/json.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_BYTES = 1 << 20, NAMES = 3, MOST = 1 << 24, MOST_LAYERS = 1024 };

struct field {
    const char *key[NAMES];
    size_t offset;
    unsigned most;
};

#define AT(field) offsetof(struct mw_transformer, field)
static const struct field needed[] = {
    {{"num_hidden_layers"}, AT(layers), MOST_LAYERS},
    {{"hidden_size"}, AT(hidden), MOST},
    {{"num_attention_heads"}, AT(heads), MOST},
    {{"vocab_size"}, AT(vocabulary), MOST},
    {{"num_experts_per_tok", "num_experts_per_token", "moe_topk"}, AT(k), MOST},
    {{"moe_intermediate_size", "intermediate_size"}, AT(expert_size), MOST},
};
static const struct field latent[] = {
    {{"qk_rope_head_dim", "attention_qk_rope_dim"}, AT(rope_size), MOST},
    {{"v_head_dim", "attention_v_dim"}, AT(value_size), MOST},
};
static const struct field optional[] = {
    {{"num_key_value_heads"}, AT(kv_heads), MOST},
    {{"head_dim"}, AT(head_size), MOST},
    {{"q_lora_rank", "attention_q_lora_dim"}, AT(q_rank), MOST},
    {{"kv_lora_rank", "attention_kv_lora_dim"}, AT(kv_rank), MOST},
    {{"first_k_dense_replace", "num_dense_layers"}, AT(dense_layers), MOST_LAYERS},
    {{"intermediate_size"}, AT(dense_size), MOST},
    {{"shared_expert_intermediate_size"}, AT(shared_size), MOST},
    {{"num_nextn_predict_layers", "num_mtp_layers"}, AT(predicted), MOST_LAYERS},
    {{"n_group"}, AT(groups), MOST},
    {{"topk_group"}, AT(topk_groups), MOST},
    {{"sliding_window"}, AT(window), MOST},
};

/// The first of the keys that the file has with a value that is not null. NULL: none.
static const cJSON *find(const cJSON *root, const char *const key[NAMES])
{
    for (unsigned i = 0; i < NAMES && key[i]; i++) {
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, key[i]);
        if (item && !cJSON_IsNull(item))
            return item;
    }
    return NULL;
}

static int get(struct mw_transformer *m, const cJSON *root, const char *path, const struct field *f,
               bool required, struct mw_error *err)
{
    const cJSON *item = find(root, f->key);
    const double least = required ? 1 : 0;
    if (!item && !required)
        return MW_EXIT_OK;
    if (!item)
        return mw_fail(err, MW_EXIT_INPUT, "%s: key \"%s\" is missing", path, f->key[0]);
    if (!cJSON_IsNumber(item) || item->valuedouble != floor(item->valuedouble) ||
        item->valuedouble < least || item->valuedouble > f->most)
        return mw_fail(err, MW_EXIT_INPUT, "%s: \"%s\" is not a whole number from %.0f to %u", path,
                       item->string, least, f->most);
    *(unsigned *)((char *)m + f->offset) = (unsigned)item->valuedouble;
    return MW_EXIT_OK;
}

static int get_all(struct mw_transformer *m, const cJSON *root, const char *path,
                   const struct field *field, size_t count, bool required, struct mw_error *err)
{
    int status = MW_EXIT_OK;
    for (size_t i = 0; i < count && !status; i++)
        status = get(m, root, path, &field[i], required, err);
    return status;
}

#define GET(list, required) get_all(m, root, path, list, sizeof list / sizeof *list, required, err)

/// Experts, and shared ones, whose keys are numbers of experts and not sizes.
static int get_experts(struct mw_transformer *m, const cJSON *root, const char *path,
                       struct mw_error *err)
{
    static const char *const all[][NAMES] = {{"n_routed_experts", "num_experts"},
                                             {"num_local_experts", "num_routed_experts"}};
    static const struct field shared = {{"n_shared_experts", "num_shared_experts"},
                                        offsetof(struct mw_transformer, shared_size),
                                        MOST_LAYERS};
    const cJSON *item = find(root, all[0]);
    item = item ? item : find(root, all[1]);
    if (!item)
        return mw_fail(err, MW_EXIT_INPUT,
                       "%s: a model without experts: none of n_routed_experts, num_experts, "
                       "num_local_experts, num_routed_experts",
                       path);
    if (!cJSON_IsNumber(item) || item->valuedouble != floor(item->valuedouble) ||
        item->valuedouble < 2 || item->valuedouble > MOST)
        return mw_fail(err, MW_EXIT_INPUT, "%s: \"%s\" is not a whole number from 2 to %u", path,
                       item->string, MOST);
    m->experts = (unsigned)item->valuedouble;
    int status = get(m, root, path, &shared, false, err);
    m->shared_size *= m->expert_size;
    return status;
}

/// Sizes of heads: MLA has them by its own keys, GQA as hidden / heads where the file has none.
static int get_heads(struct mw_transformer *m, const cJSON *root, const char *path,
                     struct mw_error *err)
{
    static const struct field unshared = {
        {"qk_nope_head_dim", "attention_qk_dim"}, offsetof(struct mw_transformer, head_size), MOST};
    if (m->kv_rank) {
        int status = GET(latent, true);
        if (!status)
            status = get(m, root, path, &unshared, true, err);
        m->head_size += m->rope_size;
        m->kv_heads = 0;
        return status;
    }
    if (!m->kv_heads)
        m->kv_heads = m->heads;
    if (m->heads % m->kv_heads)
        return mw_fail(err, MW_EXIT_INPUT,
                       "%s: \"num_key_value_heads\" %u does not divide %u heads", path, m->kv_heads,
                       m->heads);
    if (!m->head_size && m->hidden % m->heads)
        return mw_fail(err, MW_EXIT_INPUT,
                       "%s: no \"head_dim\", and %u heads do not divide %u values", path, m->heads,
                       m->hidden);
    if (!m->head_size)
        m->head_size = m->hidden / m->heads;
    return MW_EXIT_OK;
}

/// A key that is true or false; `otherwise` where it is missing or null.
static int get_bool(bool *value, bool otherwise, const cJSON *root, const char *key,
                    const char *path, struct mw_error *err)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, key);
    *value = !item || cJSON_IsNull(item) ? otherwise : cJSON_IsTrue(item);
    if (item && !cJSON_IsNull(item) && !cJSON_IsBool(item))
        return mw_fail(err, MW_EXIT_INPUT, "%s: \"%s\" is not true or false", path, key);
    return MW_EXIT_OK;
}

/// Layers whose attention has a window: all, those from max_window_layers on, or those that
/// layer_types names.
static int get_window(struct mw_transformer *m, const cJSON *root, const char *path,
                      struct mw_error *err)
{
    static const struct field full = {{"max_window_layers"}, AT(windowed), MOST_LAYERS};
    const cJSON *types = cJSON_GetObjectItemCaseSensitive(root, "layer_types"), *type;
    bool use;
    int status = get_bool(&use, true, root, "use_sliding_window", path, err);
    if (!status)
        status = get(m, root, path, &full, false, err);
    if (status)
        return status;
    const bool named = types && !cJSON_IsNull(types);
    m->window = use ? m->window : 0;
    m->windowed = named ? 0 : m->layers - (m->windowed < m->layers ? m->windowed : m->layers);
    if (named && (unsigned)cJSON_GetArraySize(types) != m->layers)
        return mw_fail(err, MW_EXIT_INPUT, "%s: \"layer_types\" has no text for each of %u layers",
                       path, m->layers);
    cJSON_ArrayForEach(type, types)
    {
        const char *name = cJSON_GetStringValue(type);
        const bool windowed = name && strcmp(name, "sliding_attention") == 0;
        if (!windowed && (!name || strcmp(name, "full_attention") != 0))
            return mw_fail(err, MW_EXIT_INPUT,
                           "%s: \"layer_types\" has %s, expected full_attention or "
                           "sliding_attention",
                           path, name ? MW_SHOWN(name) : "no text");
        m->windowed += windowed;
    }
    if (named && m->windowed && !m->window)
        return mw_fail(err, MW_EXIT_INPUT,
                       "%s: \"layer_types\" has sliding_attention, but no \"sliding_window\" is "
                       "used",
                       path);
    m->windowed = m->window ? m->windowed : 0;
    m->window = m->windowed ? m->window : 0;
    return MW_EXIT_OK;
}

/// A step has one kind of layer after its dense layers in front. Keys of other patterns may be
/// there with the value that names none.
static int check_pattern(const cJSON *root, const char *path, struct mw_error *err)
{
    static const char *const every[] = {"decoder_sparse_step",       "moe_layer_freq",
                                        "interleave_moe_layer_step", "expert_layer_period",
                                        "attn_layer_period",         "full_attention_interval"};
    static const char expected[] = "behind dense layers in front all must be alike";
    for (size_t i = 0; i < sizeof every / sizeof *every; i++) {
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, every[i]);
        if (item && !cJSON_IsNull(item) && !(cJSON_IsNumber(item) && item->valuedouble == 1))
            return mw_fail(err, MW_EXIT_INPUT, "%s: \"%s\" is not 1: %s", path, every[i], expected);
    }
    const cJSON *dense = cJSON_GetObjectItemCaseSensitive(root, "mlp_only_layers");
    if (dense && !cJSON_IsNull(dense) && !(cJSON_IsArray(dense) && !dense->child))
        return mw_fail(err, MW_EXIT_INPUT, "%s: \"mlp_only_layers\" is not []: %s", path, expected);
    return MW_EXIT_OK;
}

static int check(const struct mw_transformer *m, const char *path, struct mw_error *err)
{
    if (m->k > m->experts)
        return mw_fail(err, MW_EXIT_INPUT, "%s: %u experts per token, but %u experts", path, m->k,
                       m->experts);
    if (m->dense_layers >= m->layers)
        return mw_fail(err, MW_EXIT_INPUT, "%s: all %u layers are dense", path, m->layers);
    if (m->dense_layers && !m->dense_size)
        return mw_fail(
            err, MW_EXIT_INPUT,
            "%s: key \"intermediate_size\" is missing, the inner size of %u dense layers "
            "in front",
            path, m->dense_layers);
    if (m->groups > 1 && !m->topk_groups)
        return mw_fail(err, MW_EXIT_INPUT, "%s: key \"topk_group\" is missing, with %u groups",
                       path, m->groups);
    if (m->groups > 1 && m->experts % m->groups)
        return mw_fail(err, MW_EXIT_INPUT, "%s: %u groups do not divide %u experts", path,
                       m->groups, m->experts);
    return MW_EXIT_OK;
}

static int get_shape(struct mw_transformer *m, const cJSON *root, const char *path,
                     struct mw_error *err)
{
    if (!cJSON_IsObject(root))
        return mw_fail(err, MW_EXIT_INPUT, "%s: line 1: not a JSON object", path);
    const cJSON *text = cJSON_GetObjectItemCaseSensitive(root, "text_config");
    if (cJSON_IsObject(text)) // of a model that reads more than text
        root = text;
    int status = GET(optional, false);
    if (!status)
        status = get_bool(&m->tied, false, root, "tie_word_embeddings", path, err);
    const unsigned shared = m->shared_size;
    // which reports first what a dense model lacks
    if (!status)
        status = get(m, root, path, &needed[5], false, err);
    if (!status)
        status = get_experts(m, root, path, err);
    if (!status)
        status = GET(needed, true);
    if (!status)
        status = get_heads(m, root, path, err);
    if (!status)
        status = get_window(m, root, path, err);
    if (!status)
        status = check_pattern(root, path, err);
    m->shared_size = shared ? shared : m->shared_size;
    if (m->groups <= 1)
        m->groups = m->topk_groups = 0;
    return status ? status : check(m, path, err);
}

int mw_transformer_read(struct mw_transformer *m, const char *path, struct mw_error *err)
{
    cJSON *root;
    *m = (struct mw_transformer){0};
    int status = mw_json_read(&root, path, MOST_BYTES, "a model's config.json", err);
    if (!status)
        status = get_shape(m, root, path, err);
    cJSON_Delete(root);
    if (status)
        return status;
    const char *slash = strrchr(path, '/');
    m->file = path;
    snprintf(m->name, sizeof m->name, "%s", slash ? slash + 1 : path);
    return MW_EXIT_OK;
}
