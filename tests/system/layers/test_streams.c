// SPDX-License-Identifier: Apache-2.0
//
// The instruction streams of the systems, word for word as docs/design/systems.md lists them. They
// depend only on the number of GPUs and of own tokens, the GPU, and the layout of the memories. The
// generators get nothing else.
#include "analysis/bounds.h"
#include "host/support.h"
#include "systems/generator.h"
#include "systems/system_list.h"
#include "systems/systems.h"

enum { GPUS = 5, GPU = 3, TOKENS = 48, GROUP = 6 };

/// Of it, addresses and strides.
static const struct mw_layout layout = {
    .row_shift = 10, .xd_base = 0x100000, .gt_base = 0x200000, .cb_base = 0x300000};

#define RANGE(op_) \
    { \
        .op = (op_), .a = 0, .b = TOKENS \
    }
#define WAIT(event_, count_) \
    { \
        .op = MW_I_WAIT, .imm = (event_), .a = (count_) \
    }

static bool cached;    ///< of the layer whose streams are made
static uint32_t early; ///< of its tokens

static void check_of(const struct mw_system *system, const struct mw_generator *g, unsigned stream,
                     const struct mw_instr *expected, unsigned count)
{
    struct mw_stream s[MW_STREAMS];
    for (unsigned i = 0; i < g->streams; i++)
        mw_stream_init(&s[i]);
    const struct mw_place at = {.system = system,
                                .gpus = GPUS,
                                .gpu = GPU,
                                .tokens = TOKENS,
                                .layout = &layout,
                                .group = GROUP,
                                .early = early,
                                .cached = cached};
    g->make(s, &at);
    for (unsigned i = 0; i < g->streams; i++) {
        assert_int_equal(mw_stream_end(&s[i]), 0);
        assert_true(s[i].count <= g->instrs && g->instrs <= MW_STREAM_INSTRS);
    }
    assert_int_equal(s[stream].count, count);
    for (unsigned i = 0; i < count; i++) {
        const struct mw_instr *got = &s[stream].instr[i], *want = &expected[i];
        if (got->op != want->op || got->flags != want->flags || got->imm != want->imm ||
            got->a != want->a || got->b != want->b || got->c != want->c)
            fail_msg("%s, stream %u, instruction %u: op 0x%x flags %u imm %u a %u b %u c %u",
                     g->name, stream, i, got->op, got->flags, got->imm, got->a, got->b, got->c);
    }
}

static void check(const struct mw_generator *g, unsigned stream, const struct mw_instr *expected,
                  unsigned count)
{
    check_of(mw_system_find(g->name), g, stream, expected, count);
}

#define CHECK(g, stream, ...) \
    do { \
        static const struct mw_instr list_[] = {__VA_ARGS__}; \
        check(g, stream, list_, sizeof list_ / sizeof *list_); \
    } while (0)

static void unicast(void **state)
{
    (void)state;
    assert_int_equal(mw_generate_unicast.streams, 3);
#define SUM_ST(from, tokens) \
    { \
        .op = MW_I_SUM_ST, .a = (from), .b = (tokens) \
    }
#define FLAG(e) \
    { \
        .op = MW_I_FLAG, .imm = (e) \
    }
#define SUM(own, from, tokens) \
    { \
        .op = MW_I_SUM, .flags = (own), .a = (from), .b = (tokens) \
    }
#define SELF(e) \
    { \
        .op = MW_I_FLAG, .flags = 1, .imm = (e) \
    }
    // 48 tokens: ranges of 2, 2, 3, 3, 3 and 3 sixteenths.
    CHECK(&mw_generate_unicast, 0, {.op = MW_I_COUNT, .flags = 1, .b = TOKENS},
          WAIT(MW_EV_COUNTS, GPUS), {.op = MW_I_PREFIX}, RANGE(MW_I_ST), {.op = MW_I_FENCE},
          {.op = MW_I_SIGNAL, .imm = MW_EV_SW0}, WAIT(MW_EV_SW0, GPUS - 1),
          {.op = MW_I_EXPERT_ROWS}, SELF(MW_EV_SW0), SUM_ST(0, 6), FLAG(MW_EV_SW2), SUM_ST(6, 6),
          FLAG(MW_EV_SW3), SUM_ST(12, 9), FLAG(MW_EV_SW4), SUM_ST(21, 9), FLAG(MW_EV_SW5),
          SUM_ST(30, 9), FLAG(MW_EV_SW6), SUM_ST(39, 9), FLAG(MW_EV_SW7), {.op = MW_I_END});
    CHECK(&mw_generate_unicast, 1, WAIT(MW_EV_SW2, GPUS - 1), SUM(0, 0, 6), SELF(MW_EV_SW1),
          WAIT(MW_EV_SW3, GPUS - 1), SUM(0, 6, 6), SELF(MW_EV_SW1), WAIT(MW_EV_SW4, GPUS - 1),
          SUM(0, 12, 9), SELF(MW_EV_SW1), WAIT(MW_EV_SW5, GPUS - 1), SUM(0, 21, 9), SELF(MW_EV_SW1),
          WAIT(MW_EV_SW6, GPUS - 1), SUM(0, 30, 9), SELF(MW_EV_SW1), WAIT(MW_EV_SW7, GPUS - 1),
          SUM(0, 39, 9), SELF(MW_EV_SW1), {.op = MW_I_END});
    CHECK(&mw_generate_unicast, 2, WAIT(MW_EV_SW0, GPUS), WAIT(MW_EV_SW1, 1), SUM(1, 0, 6),
          WAIT(MW_EV_SW1, 2), SUM(1, 6, 6), WAIT(MW_EV_SW1, 3), SUM(1, 12, 9), WAIT(MW_EV_SW1, 4),
          SUM(1, 21, 9), WAIT(MW_EV_SW1, 5), SUM(1, 30, 9), WAIT(MW_EV_SW1, 6), SUM(1, 39, 9),
          {.op = MW_I_END});
}

/// 48 tokens in ranges of 5 (nine times), 4, 4, 4, 3, 2 and 2 sixty-fourths. Each kind of flag uses
/// three counters in turn.
static void overlap(void **state)
{
    (void)state;
    static const uint32_t ends[] = {3, 7, 11, 15, 18, 22, 26, 30, 33, 36, 39, 42, 45, 46, 48};
    enum { RANGES = sizeof ends / sizeof *ends };
    struct mw_instr list[4][MW_STREAM_INSTRS] = {{{.op = MW_I_COUNT, .flags = 1, .b = TOKENS},
                                                  WAIT(MW_EV_COUNTS, GPUS),
                                                  {.op = MW_I_PREFIX}}};
    unsigned count[4] = {3};
#define ADD(stream, ...) list[stream][count[stream]++] = (struct mw_instr)__VA_ARGS__
    for (unsigned r = 0, from = 0; r < RANGES; from = ends[r++]) {
        unsigned rows = MW_EV_SW1 + r % 3, sums = MW_EV_SW4 + r % 3, turn = r / 3 + 1;
        uint32_t tokens = ends[r] - from;
        if (r >= 3)
            ADD(0, WAIT(sums, (turn - 1) * (GPUS - 1)));
        ADD(0, {.op = MW_I_ST, .a = from, .b = tokens});
        ADD(0, {.op = MW_I_FLAG, .flags = 2, .imm = (uint16_t)rows});
        ADD(0, {.op = MW_I_FLAG, .flags = 3, .imm = (uint16_t)rows});
        ADD(1, WAIT(rows, turn * GPUS));
        ADD(1, {.op = MW_I_EXPERT_ROWS, .flags = 1, .a = from, .b = tokens});
        ADD(1, SELF(MW_EV_SW0));
        ADD(2, WAIT(MW_EV_SW0, r + 1));
        ADD(2, SUM_ST(from, tokens));
        ADD(2, FLAG((uint16_t)sums));
        ADD(3, WAIT(sums, turn * (GPUS - 1)));
        ADD(3, SUM(0, from, tokens));
        ADD(3, WAIT(MW_EV_SW0, r + 1));
        ADD(3, SUM(1, from, tokens));
    }
    for (unsigned s = 0; s < 4; s++) {
        ADD(s, {.op = MW_I_END});
        check(&mw_generate_overlap, s, list[s], count[s]);
    }
    assert_int_equal(count[0], mw_generate_overlap.instrs);
}

static void moe_hub(void **state)
{
    (void)state;
    const struct mw_generator *g = &mw_generate_moe_hub;
    CHECK(g, 0, RANGE(MW_I_COUNT), {.op = MW_I_END});
    CHECK(g, 1, RANGE(MW_I_ST_ROWSP), {.op = MW_I_END});
    CHECK(g, 2, {.op = MW_I_EXPERT, .flags = 2}, {.op = MW_I_END});
    CHECK(g, 3, {.op = MW_I_SUM, .flags = 1, .b = TOKENS}, {.op = MW_I_END});
}

/// The same without allocators and trackers, and with what software takes in their place.
static void moe_hub_by_software(void **state)
{
    (void)state;
    const struct mw_settings set = {.count = 6,
                                    .item = {{"allocator", 0},
                                             {"tracker", 0},
                                             {"exchange_cycles", 70},
                                             {"barrier_cycles", 30},
                                             {"launch_cycles", 5},
                                             {"address_cycles", 2}}};
    const struct mw_generator *g = &mw_generate_moe_hub;
    const struct mw_system system = mw_system_as_set(mw_system_find(g->name), &set);
    static const struct mw_instr sends[] = {
        {.op = MW_I_WAIT, .imm = MW_EV_COUNTS, .a = GPUS, .b = 70},
        {.op = MW_I_DELAY, .a = 2 * TOKENS},
        RANGE(MW_I_ST_ROWSP),
        {.op = MW_I_FENCE},
        {.op = MW_I_SIGNAL, .imm = MW_EV_SW0},
        {.op = MW_I_END}};
    static const struct mw_instr experts[] = {
        {.op = MW_I_WAIT, .imm = MW_EV_SW0, .a = GPUS - 1, .b = 35},
        {.op = MW_I_EXPERT, .flags = 2},
        {.op = MW_I_SIGNAL, .imm = MW_EV_SW1},
        {.op = MW_I_END}};
    static const struct mw_instr sums[] = {
        {.op = MW_I_WAIT, .imm = MW_EV_SW1, .a = GPUS - 1, .b = 35},
        {.op = MW_I_SUM, .flags = 1, .b = TOKENS},
        {.op = MW_I_END}};
    check_of(&system, g, 1, sends, sizeof sends / sizeof *sends);
    check_of(&system, g, 2, experts, sizeof experts / sizeof *experts);
    check_of(&system, g, 3, sums, sizeof sums / sizeof *sums);
    assert_int_equal(sizeof sends / sizeof *sends, g->instrs);
}

static void flashdmoe(void **state)
{
    (void)state;
    const struct mw_generator *g = &mw_generate_flashdmoe;
    CHECK(g, 0, RANGE(MW_I_ST_ROWSP), {.op = MW_I_FLAG, .flags = 4}, {.op = MW_I_END});
    CHECK(g, 1, {.op = MW_I_EXPERT, .flags = 2}, {.op = MW_I_END});
    CHECK(g, 2, {.op = MW_I_SUM, .flags = 1, .b = TOKENS}, {.op = MW_I_END});
    assert_int_equal(g->streams, 3);
}

/// GPU 3 of 5 receives 192 tokens of others: first from GPU 4, then from GPUs 0 to 2 in order. A
/// range of them that passes token 240 is split in two.
static void nvls(void **state)
{
    (void)state;
    static const uint32_t ends[] = {3, 9, 18, 30, 45, 60, 75, 90, 105, 120, 138, 156, 174, 192};
    enum { RANGES = sizeof ends / sizeof *ends, OWN = GPU * TOKENS, LAST = 48 };
    struct mw_instr list[2][MW_STREAM_INSTRS] = {
        {{.op = MW_I_MULTIMEM_ST,
          .flags = 2,
          .imm = GROUP,
          .b = 128 * TOKENS,
          .c = 0x200000 + 128 * OWN},
         FLAG(MW_EV_SW2),
         SELF(MW_EV_SW2),
         {.op = MW_I_MULTIMEM_ST,
          .flags = 1,
          .imm = GROUP,
          .b = TOKENS << 10,
          .c = 0x100000 + (OWN << 10)},
         {.op = MW_I_FENCE},
         {.op = MW_I_SIGNAL, .imm = MW_EV_SW0},
         WAIT(MW_EV_SW0, GPUS - 1)},
        {WAIT(MW_EV_SW2, GPUS), SUM(2, 192, 48), SUM(2, 0, 144), SUM(6, OWN, TOKENS)}};
    unsigned count[2] = {7, 4};
    for (unsigned r = 0, from = 0; r < RANGES; from = ends[r++]) {
        uint32_t behind = from < LAST ? LAST : from, end = ends[r];
        if (from < LAST) {
            uint32_t stop = end < LAST ? end : LAST;
            ADD(0, {.op = MW_I_EXPERT_ROWS, .flags = 2, .a = 192 + from, .b = stop - from});
        }
        if (end > LAST)
            ADD(0, {.op = MW_I_EXPERT_ROWS, .flags = 2, .a = behind - LAST, .b = end - behind});
        ADD(0, SELF(MW_EV_SW3));
        ADD(1, WAIT(MW_EV_SW3, r + 1));
        if (from < LAST)
            ADD(1, SUM(3, 192 + from, (end < LAST ? end : LAST) - from));
        if (end > LAST)
            ADD(1, SUM(3, behind - LAST, end - behind));
    }
    ADD(0, {.op = MW_I_EXPERT_ROWS, .flags = 2, .a = OWN, .b = TOKENS});
    ADD(0, SELF(MW_EV_SW3));
    ADD(0, {.op = MW_I_END});
    ADD(1, WAIT(MW_EV_SW3, RANGES + 1));
    ADD(1, {.op = MW_I_SIGNAL, .imm = MW_EV_SW1});
    ADD(1, WAIT(MW_EV_SW1, GPUS - 1));
    for (unsigned r = 0; r < 8; r++) {
        ADD(1, {.op = MW_I_MULTIMEM_LD_REDUCE,
                .flags = 1,
                .imm = GROUP,
                .a = 0x300000 + ((OWN + 6 * r) << 10),
                .b = 6 << 10,
                .c = (6 * r) << 10});
        ADD(1, {.op = MW_I_SUM, .flags = 5, .a = 6 * r, .b = 6, .c = OWN + 6 * r});
    }
    ADD(1, {.op = MW_I_END});
    for (unsigned s = 0; s < 2; s++)
        check(&mw_generate_nvls, s, list[s], count[s]);
    assert_int_equal(mw_generate_nvls.instrs, count[1]);
}

static void dysharp_basic(void **state)
{
    (void)state;
    assert_int_equal(mw_generate_dysharp_basic.streams, 1);
    CHECK(&mw_generate_dysharp_basic, 0, RANGE(MW_I_COUNT), RANGE(MW_I_DYMULTIMEM_ST),
          WAIT(MW_EV_ROWS_DONE, 1), {.op = MW_I_EXPERT, .flags = 1},
          {.op = MW_I_SIGNAL, .imm = MW_EV_SW0}, WAIT(MW_EV_SW0, GPUS - 1),
          RANGE(MW_I_DYMULTIMEM_LD_REDUCE), {.op = MW_I_END});
}

static void dysharp(void **state)
{
    (void)state;
    const struct mw_generator *g = &mw_generate_dysharp;
    assert_int_equal(g->streams, 4);
    CHECK(g, 0, RANGE(MW_I_COUNT), {.op = MW_I_END});
    CHECK(g, 1, RANGE(MW_I_DYMULTIMEM_ST), {.op = MW_I_END});
    CHECK(g, 2, {.op = MW_I_EXPERT}, {.op = MW_I_END});
    CHECK(g, 3, {.op = MW_I_DYMULTIMEM_LD_REDUCE, .flags = 1, .b = TOKENS}, {.op = MW_I_END});
}

/// The same, with copy counts for the order of tokens and the dispatch throttle.
static void moeswitch(void **state)
{
    (void)state;
    const struct mw_generator *g = &mw_generate_moeswitch;
    assert_int_equal(g->streams, 4);
    CHECK(g, 0, RANGE(MW_I_COUNT), {.op = MW_I_COUNT, .flags = 1, .b = TOKENS},
          WAIT(MW_EV_COUNTS, 2 * GPUS), RANGE(MW_I_ORDER), {.op = MW_I_END});
    CHECK(g, 1, {.op = MW_I_DYMULTIMEM_ST, .flags = 4, .b = TOKENS}, {.op = MW_I_END});
    CHECK(g, 2, {.op = MW_I_EXPERT}, {.op = MW_I_END});
    CHECK(g, 3, {.op = MW_I_DYMULTIMEM_LD_REDUCE, .flags = 1, .b = TOKENS}, {.op = MW_I_END});
}

/// All but the first tokens wait for the order, unless the first are more than a quarter.
static void order_waits(void **state)
{
    (void)state;
    const struct mw_system s = *mw_system_find("moeswitch");
    early = 7;
    const struct mw_instr
        stream[] = {RANGE(MW_I_COUNT),
                    {.op = MW_I_COUNT, .flags = 1, .b = TOKENS},
                    WAIT(MW_EV_COUNTS, 2 * GPUS),
                    {.op = MW_I_ORDER, .a = 7, .b = TOKENS - 7},
                    {.op = MW_I_DYMULTIMEM_ST, .flags = 4, .a = 7, .b = TOKENS - 7},
                    {.op = MW_I_END}},
        first[] = {{.op = MW_I_DYMULTIMEM_ST, .a = 0, .b = 7}, {.op = MW_I_END}},
        all[] = {{.op = MW_I_DYMULTIMEM_ST, .flags = 4, .b = TOKENS}, {.op = MW_I_END}};
    check_of(&s, &mw_generate_moeswitch, 0, stream, 6);
    check_of(&s, &mw_generate_moeswitch, 1, first, 2);
    early = TOKENS / 4 + 1;
    check_of(&s, &mw_generate_moeswitch, 1, all, 2);
    early = TOKENS / 4;
    cached = true;
    check_of(&s, &mw_generate_moeswitch, 0,
             (const struct mw_instr[]){
                 {.op = MW_I_ORDER, .a = early, .b = TOKENS - early},
                 {.op = MW_I_DYMULTIMEM_ST, .flags = 4, .a = early, .b = TOKENS - early},
                 {.op = MW_I_END}},
             3);
    cached = false;
    early = 0;
}

/// With a handle no stream counts or waits for counts. The rest stays.
static void cached_layers(void **state)
{
    (void)state;
    cached = true;
    CHECK(&mw_generate_dysharp, 0, {.op = MW_I_END});
    CHECK(&mw_generate_dysharp, 1, RANGE(MW_I_DYMULTIMEM_ST), {.op = MW_I_END});
    CHECK(&mw_generate_moeswitch, 0, RANGE(MW_I_ORDER), {.op = MW_I_END});
    CHECK(&mw_generate_flashdmoe, 0, RANGE(MW_I_ST_ROWSP), {.op = MW_I_END});
    CHECK(&mw_generate_moe_hub, 0, {.op = MW_I_END});
    CHECK(&mw_generate_moe_hub, 1, RANGE(MW_I_ST_ROWSP), {.op = MW_I_END});
    CHECK(&mw_generate_dysharp_basic, 0, RANGE(MW_I_DYMULTIMEM_ST), WAIT(MW_EV_ROWS_DONE, 1),
          {.op = MW_I_EXPERT, .flags = 1}, {.op = MW_I_SIGNAL, .imm = MW_EV_SW0},
          WAIT(MW_EV_SW0, GPUS - 1), RANGE(MW_I_DYMULTIMEM_LD_REDUCE), {.op = MW_I_END});
    cached = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unicast),
        cmocka_unit_test(overlap),
        cmocka_unit_test(nvls),
        cmocka_unit_test(moe_hub),
        cmocka_unit_test(moe_hub_by_software),
        cmocka_unit_test(flashdmoe),
        cmocka_unit_test(dysharp_basic),
        cmocka_unit_test(dysharp),
        cmocka_unit_test(moeswitch),
        cmocka_unit_test(order_waits),
        cmocka_unit_test(cached_layers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
