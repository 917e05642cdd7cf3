// SPDX-License-Identifier: Apache-2.0
//
// See shapes.h.
#include "tp/shapes.h"

#include "cli/option_value.h"

#include <string.h>

enum { KB = 1024, FLIT_BYTES = 16 }; ///< FLIT_BYTES: what links move in one of the cycles

/// Attention's sub-layer ends with the projection of its output, and the FFN's first GEMM follows.
/// The FFN's sub-layer ends with its last GEMM, and the projection of Q, K and V follows.
static const struct mw_tp_shape shapes[] = {
    {"mega-gpt-4b-attention", "Mega-GPT-4B, output projection and FFN-1", 8, 4 * KB, 450, 11, 43},
    {"mega-gpt-4b-ffn", "Mega-GPT-4B, FFN-2 and QKV", 8, 4 * KB, 450, 43, 32},
    {"mega-gpt-8b-attention", "Mega-GPT-8B, output projection and FFN-1", 8, 6 * KB, 450, 16, 64},
    {"mega-gpt-8b-ffn", "Mega-GPT-8B, FFN-2 and QKV", 8, 6 * KB, 450, 64, 48},
    {"llama-7b-attention", "LLaMA-7B, output projection and FFN-1", 8, 8 * KB, 450, 21, 59},
    {"llama-7b-ffn", "LLaMA-7B, FFN-2 and QKV", 8, 8 * KB, 450, 59, 64},
    {"llama-3-70b-attention", "Llama-3-70B, output projection and FFN-1", 8, 16 * KB, 450, 43, 298},
    {"llama-3-70b-ffn", "Llama-3-70B, FFN-2 and QKV", 8, 16 * KB, 450, 149, 53},
    {"deepseek-v3-attention", "DeepSeek-V3's attention", 4, 14 * KB, 450, 170, 167},
    {"deepseek-v3-attention-200", "the same with links of 200 GB/s", 4, 14 * KB, 200, 76, 74},
};

enum { SHAPES = sizeof shapes / sizeof *shapes };

bool mw_tp_shape_values(unsigned i, struct mw_term *term)
{
    if (i >= SHAPES)
        return false;
    *term = (struct mw_term){shapes[i].name, shapes[i].text};
    return true;
}

int mw_tp_set_shape(void *shape, const char *name, const char *text, struct mw_error *err)
{
    for (unsigned i = 0; i < SHAPES; i++)
        if (strcmp(text, shapes[i].name) == 0) {
            *(const struct mw_tp_shape **)shape = &shapes[i];
            return MW_EXIT_OK;
        }
    return mw_fail_choice(name, text, mw_tp_shape_values, err);
}

/// LN's cycles per KB: it reads and writes a row once.
static unsigned norm(const struct mw_tp_shape *shape)
{
    const unsigned memory = MW_TP_MEMORY * FLIT_BYTES;
    return (2 * KB * shape->link + memory / 2) / memory;
}

unsigned mw_tp_shape_cycles(const struct mw_tp_shape *shape, const struct mw_tp_problem *p,
                            enum mw_tp_part part)
{
    const unsigned per_kb = part == MW_TP_GEMM_1 ? shape->reduced
                            : part == MW_TP_LN   ? norm(shape)
                                                 : shape->gathered;
    const unsigned link = FLIT_BYTES / p->flit_bytes * p->link_cycles;
    return (per_kb * link * mw_tp_row_bytes(p) + KB / 2) / KB;
}
