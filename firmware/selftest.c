// SPDX-License-Identifier: Apache-2.0
#include "selftest.h"

#include "isa.h"

// ---- memory -------------------------------------------------------------------------------------

/// Words that test the address lines: word 0 and the words 2^i.
static uint32_t line_word(unsigned i)
{
    return i ? 1u << (i - 1) : 0;
}

static void one_pass(unsigned gpu, uint32_t step, uint32_t words, uint32_t invert, unsigned lines,
                     struct mw_frame_selftest *r)
{
    for (uint32_t i = 0, at = 0; i < words; i++, at += step)
        hw_mem_write(gpu, 4 * at, at ^ invert);
    board_feed();
    for (uint32_t i = 0, at = 0; i < words; i++, at += step)
        r->failed += hw_mem_read(gpu, 4 * at) != (at ^ invert);
    board_feed();
    for (unsigned i = 0; i < lines; i++)
        hw_mem_write(gpu, 4 * line_word(i), line_word(i) ^ invert);
    for (unsigned i = 0; i < lines; i++)
        r->failed += hw_mem_read(gpu, 4 * line_word(i)) != (line_word(i) ^ invert);
}

void selftest_memory(const struct board *b, unsigned gpu, unsigned words,
                     struct mw_frame_selftest *result)
{
    unsigned lines = b->mem_log2 - 2;
    uint32_t all = 1u << lines, step = 1;
    // an odd distance visits every bank and every value of the low address lines
    if (all > words)
        step = (all / words - 1) | 1;
    else
        words = all;
    *result = (struct mw_frame_selftest){MW_TEST_MEMORY, gpu, words + lines + 1, 0};
    one_pass(gpu, step, words, 0, lines + 1, result);
    one_pass(gpu, step, words, 0xffffffff, lines + 1, result);
}

// ---- links --------------------------------------------------------------------------------------

/// Where the layer of this test lies in every memory; blocks of BLOCK bytes, one per sender.
enum {
    BLOCK = 256,
    STREAM = 0,
    SOURCE = MW_STREAM_INSTRS_LEAST * MW_INSTR_BYTES,
    LANDING = SOURCE + BLOCK,
    POLLS = 2000, // of the state: some 100 times as long as the layer takes
};

static uint32_t pattern(unsigned gpu, uint32_t i)
{
    return (gpu + 1) * 0x01000193u ^ i * 0x9e3779b9u;
}

static void put_instr(unsigned gpu, unsigned index, const struct mw_instr *in)
{
    const uint32_t words[] = {in->op | (uint32_t)in->flags << 8 | (uint32_t)in->imm << 16, in->a,
                              in->b, in->c};
    for (unsigned i = 0; i < 4; i++)
        hw_mem_write(gpu, STREAM + MW_INSTR_BYTES * index + 4 * i, words[i]);
}

static void load(const struct board *b, unsigned gpu)
{
    unsigned index = 0;
    for (uint32_t i = 0; i < BLOCK / 4; i++)
        hw_mem_write(gpu, SOURCE + 4 * i, pattern(gpu, i));
    for (unsigned q = 0; q < b->gpus; q++) {
        for (uint32_t i = 0; i < BLOCK / 4; i++)
            hw_mem_write(gpu, LANDING + BLOCK * q + 4 * i, 0);
        board_feed();
        if (q != gpu)
            put_instr(gpu, index++,
                      &(struct mw_instr){.op = MW_I_ST_LINEAR,
                                         .imm = (uint16_t)q,
                                         .a = SOURCE,
                                         .b = BLOCK,
                                         .c = LANDING + BLOCK * gpu});
    }
    put_instr(gpu, index++, &(struct mw_instr){.op = MW_I_FENCE});
    put_instr(gpu, index, &(struct mw_instr){.op = MW_I_END});
}

static void configure(const struct board *b, unsigned gpu)
{
    hw_write(NODE(gpu, shape), PUT(MW_NODE__SHAPE__K, 1));
    hw_write(NODE(gpu, shifts),
             PUT(MW_NODE__SHIFTS__N_SHIFT, 5) | PUT(MW_NODE__SHIFTS__ROW_SHIFT, 7));
    hw_write(NODE(gpu, row), PUT(MW_NODE__ROW__ROW_BYTES, 128));
    hw_write(NODE(gpu, st_lo), LANDING / MW_BASE_UNIT);
    hw_write(NODE(gpu, st_hi), (LANDING + BLOCK * b->gpus) / MW_BASE_UNIT);
    hw_write(NODE(gpu, stream_base0), STREAM / MW_BASE_UNIT);
    hw_write(NODE(gpu, streams), PUT(MW_NODE__STREAMS__ENABLE, 1));
}

/// A layer of these streams, from go to done. False: it does not end.
static bool run(void)
{
    hw_write(FABRIC(control), MW_FABRIC__CONTROL__GO_bm);
    for (unsigned i = 0; i < POLLS; i++) {
        board_feed();
        if (hw_read(FABRIC(state)) & MW_FABRIC__STATE__DONE_bm)
            return true;
    }
    return false;
}

static void compare(const struct board *b, unsigned gpu, struct mw_frame_selftest *r)
{
    *r = (struct mw_frame_selftest){MW_TEST_LINK, gpu, 0, 0};
    for (unsigned p = 0; p < b->gpus; p++) {
        board_feed();
        for (uint32_t i = 0; p != gpu && i < BLOCK / 4; i++) {
            r->checked++;
            r->failed += hw_mem_read(gpu, LANDING + BLOCK * p + 4 * i) != pattern(p, i);
        }
    }
}

bool selftest_links(const struct board *b, struct mw_frame_selftest *result)
{
    board_reset_fabric();
    for (unsigned g = 0; g < b->gpus; g++) {
        load(b, g);
        configure(b, g);
    }
    bool ended = run();
    uint32_t errors = hw_read(FABRIC(node_error));
    for (unsigned g = 0; g < b->gpus; g++) {
        compare(b, g, &result[g]);
        if (!ended || errors >> g & 1)
            result[g].failed++;
    }
    return ended;
}
