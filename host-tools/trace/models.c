// SPDX-License-Identifier: Apache-2.0
//
// See models.h.
#include "trace/models.h"

#include <string.h>
#include <strings.h>

static const struct mw_model models[] = {
    {"deepseek-v3", "DeepSeek-V3", 256, 8, 7168, 2048, 8, 4,
     "config.json of deepseek-ai/DeepSeek-V3 (n_group, topk_group); arXiv 2412.19437, section 4.2"},
    {"deepseek-v2-lite", "DeepSeek-V2-Lite", 64, 6, 2048, 1408, 0, 0,
     "config.json of deepseek-ai/DeepSeek-V2-Lite; arXiv 2405.04434, appendix B"},
    {"qwen3-235b", "Qwen3-235B-A22B", 128, 8, 4096, 1536, 0, 0,
     "config.json of Qwen/Qwen3-235B-A22B"},
    {"gpt-oss-20b", "gpt-oss-20b", 32, 4, 2880, 2880, 0, 0, "config.json of openai/gpt-oss-20b"},
    {"gpt-oss-120b", "gpt-oss-120b", 128, 4, 2880, 2880, 0, 0,
     "config.json of openai/gpt-oss-120b"},
    {"mixtral-8x7b", "Mixtral-8x7B", 8, 2, 4096, 14336, 0, 0,
     "config.json of mistralai/Mixtral-8x7B-Instruct-v0.1; arXiv 2401.04088, table 1"},
    {"phi-3.5-moe", "Phi-3.5-MoE", 16, 2, 4096, 6400, 0, 0,
     "config.json of microsoft/Phi-3.5-MoE-instruct; PhimoeConfig of transformers"},
    {"pangu-ultra-moe", "Pangu Ultra MoE", 256, 8, 7680, 2048, 0, 0,
     "OpenPanguMoEConfig of openPangu-Ultra-MoE-718B; arXiv 2505.04519"},
    {"small", "DySHARP Small", 64, 8, 2048, 0, 0, 0,
     "arXiv 2605.05607, workloads; k 8 of its 8, 16, 32"},
    {"medium", "DySHARP Medium", 128, 8, 4096, 0, 0, 0,
     "arXiv 2605.05607, workloads; k 8 of its 8, 16, 32"},
    {"large", "DySHARP Large", 256, 8, 7168, 0, 0, 0,
     "arXiv 2605.05607, workloads; k 8 of its 8, 16, 32"},
};

enum { MODELS = sizeof models / sizeof *models };

int mw_set_model(void *place, const char *name, const char *text, struct mw_error *err)
{
    const char *names[MODELS];
    char all[512] = "";
    for (unsigned i = 0; i < MODELS; i++) {
        names[i] = models[i].name;
        if (strcasecmp(text, models[i].name) == 0) {
            *(const struct mw_model **)place = &models[i];
            return MW_EXIT_OK;
        }
        size_t at = strlen(all);
        snprintf(all + at, sizeof all - at, "%s%s", i ? ", " : "", models[i].name);
    }
    const char *near = mw_closest(text, names, MODELS);
    return mw_fail(err, MW_EXIT_INPUT, "--%s %s: %s%s%sknown are %s", name, text,
                   near ? "did you mean " : "", near ? near : "", near ? "? " : "", all);
}

bool mw_model_names(unsigned i, struct mw_term *term)
{
    if (i < MODELS)
        *term = (struct mw_term){models[i].name, models[i].title};
    return i < MODELS;
}

void mw_models_list(FILE *out)
{
    fprintf(out, "%-17s %7s %3s %7s %7s  %s\n", "model", "experts", "k", "hidden", "groups",
            "source");
    for (unsigned i = 0; i < MODELS; i++) {
        const struct mw_model *m = &models[i];
        char groups[16] = "-";
        if (m->groups)
            snprintf(groups, sizeof groups, "%u of %u", m->topk_groups, m->groups);
        fprintf(out, "%-17s %7u %3u %7u %7s  %s\n", m->name, m->experts, m->k, m->hidden, groups,
                m->source);
    }
}
