// SPDX-License-Identifier: Apache-2.0
//
// Tests of the analytic flit counts of each system, of lists, of synchronisation and of types of
// rows. All are counted by hand in both flit widths.
#include "host/analysis/by_hand.h"

static void counts_multicast_by_hand(void **state)
{
    (void)state;
    struct mw_system s = bare("dysharp");
    // Two equal targets to GPU 1, one to GPU 3.
    struct mw_traffic t = total(&b.w, &s, 16);
    expect(&t, 0, MW_UP, 0, 16, 2, 0);
    expect(&t, 1, MW_DOWN, 0, 16, 2, 0);
    expect(&t, 3, MW_DOWN, 0, 13, 1, 0);
    // Partial rows: 1+8 and 1+1. Signals: one per (token, expert).
    expect(&t, 1, MW_UP, 2, 0, 0, 11);
    expect(&t, 3, MW_UP, 1, 0, 0, 11);
    expect(&t, 0, MW_DOWN, 3, 0, 0, 11);
    expect(&t, 2, MW_UP, 0, 0, 0, 0);
    expect(&t, 2, MW_DOWN, 0, 0, 0, 0);
    assert_int_equal(t.payload[0][MW_UP], 156);
    assert_int_equal(t.payload[0][MW_DOWN], 140);
    assert_int_equal(t.payload[1][MW_DOWN], 156);
    assert_int_equal(t.payload[1][MW_UP], 140);
    // 8-byte flits: header 2, list of 3 or 2 targets 1 flit. Packets 2+1+16, 2+1+2, 2+1+2.
    t = total(&b.w, &s, 8);
    expect(&t, 0, MW_UP, 0, 29, 3, 0);
    expect(&t, 1, MW_DOWN, 0, 29, 3, 0);
    expect(&t, 3, MW_DOWN, 0, 26, 2, 0);
    expect(&t, 1, MW_UP, 4, 0, 0, 22);
    expect(&t, 0, MW_DOWN, 6, 0, 0, 22);
    // The list with the first packet of a row alone, a flit less in the other two.
    s.target_list_cache = true;
    t = total(&b.w, &s, 8);
    expect(&t, 0, MW_UP, 0, 27, 3, 0);
    expect(&t, 1, MW_DOWN, 0, 27, 3, 0);
    expect(&t, 3, MW_DOWN, 0, 26, 2, 0);
    t = total(&b.w, &s, 16);
    expect(&t, 0, MW_UP, 0, 14, 2, 0);
    expect(&t, 1, MW_DOWN, 0, 14, 2, 0);
    assert_int_equal(t.payload[0][MW_UP], 156);
    // Switch-initiated reductions: rows reported and granted, up to three to a header, in place
    // of signals and requests.
    s = bare("moeswitch");
    s.token_order = s.dispatch_throttle = false; // whose counts are equal for all
    t = total(&b.w, &s, 16);
    expect(&t, 0, MW_UP, 1, 14, 0, 0);
    expect(&t, 0, MW_DOWN, 0, 0, 1, 11);
    expect(&t, 1, MW_UP, 1, 0, 0, 11);
    expect(&t, 1, MW_DOWN, 0, 14, 1, 0);
    expect(&t, 3, MW_UP, 1, 0, 0, 11);
    expect(&t, 3, MW_DOWN, 0, 13, 1, 0);
    expect(&t, 2, MW_UP, 0, 0, 0, 0);
    assert_int_equal(t.gathered[1][MW_UP][MW_CTRL], 1); // two rows, if apart
    assert_int_equal(t.gathered[3][MW_UP][MW_CTRL], 0);
    t = total(&b.w, &s, 8);
    expect(&t, 1, MW_UP, 2, 0, 0, 22);
    assert_int_equal(t.gathered[1][MW_UP][MW_CTRL], 2);
    // Without signals nothing else changes.
    s = bare("dysharp-basic");
    t = total(&b.w, &s, 8);
    expect(&t, 1, MW_UP, 0, 0, 0, 22);
    expect(&t, 0, MW_DOWN, 0, 0, 0, 22);
}

/// A list flit holds 8 (or 4) targets besides the one in the header: 9 fit in one, 10 do not.
static void counts_list_flits_at_their_edge(void **state)
{
    (void)state;
    uint16_t ids[4 * 10];
    float weights[4 * 10] = {0};
    b.layer.ids = ids;
    b.layer.weights = weights;
    b.w.k = 10;
    b.w.experts = 64;
    b.w.experts_per_gpu = 16;
    b.w.shape.hidden = 64; // a row of one full packet, and 40 bytes of weights
    struct mw_system s = bare("dysharp");
    for (unsigned targets = 1; targets <= 10; targets++) {
        for (unsigned i = 0; i < 4 * 10; i++)
            ids[i] = i < targets ? (uint16_t)(16 + i) : MW_NO_EXPERT;
        unsigned list = (targets > 1) + (targets > 9);
        struct mw_traffic t = total(&b.w, &s, 16);
        expect(&t, 0, MW_UP, 0, 1 + list + 8 + 1 + list + 3, 1 + list, 0);
        expect(&t, 1, MW_DOWN, 0, 1 + list + 8 + 1 + list + 3, 1 + list, 0);
        list = (targets > 1) + (targets > 5) + (targets > 9);
        t = total(&b.w, &s, 8);
        expect(&t, 0, MW_UP, 0, 2 + list + 16 + 2 + list + 5, 2 + list, 0);
        expect(&t, 1, MW_DOWN, 0, 2 + list + 16 + 2 + list + 5, 2 + list, 0);
    }
}

static void counts_unicast_by_hand(void **state)
{
    (void)state;
    struct mw_system s = bare("unicast");
    // Rows 1+8, 1+1 and a last packet of 4 + 24 bytes, 1+2. Combine 11, to home.
    struct mw_traffic t = total(&b.w, &s, 16);
    expect(&t, 0, MW_UP, 0, 28, 0, 0);
    expect(&t, 1, MW_DOWN, 0, 14, 0, 0);
    expect(&t, 3, MW_DOWN, 0, 14, 0, 0);
    expect(&t, 1, MW_UP, 0, 11, 0, 0);
    expect(&t, 0, MW_DOWN, 0, 22, 0, 0);
    assert_int_equal(t.payload[0][MW_UP], 2 * 168);
    t = total(&b.w, &s, 8); // 2+16, 2+2, 2+4
    expect(&t, 0, MW_UP, 0, 56, 0, 0);
    expect(&t, 0, MW_DOWN, 0, 44, 0, 0);
    s = bare("overlap"); // the same packets
    t = total(&b.w, &s, 8);
    expect(&t, 0, MW_UP, 0, 56, 0, 0);
    expect(&t, 0, MW_DOWN, 0, 44, 0, 0);
}

/// A row to each remote expert and back, for any other experts of its GPU.
static void counts_row_sparse_by_hand(void **state)
{
    (void)state;
    struct mw_system s = bare("moe-hub");
    // Rows 1+8, 1+1 and weights 1+1. Back: 1+8, 1+1.
    struct mw_traffic t = total(&b.w, &s, 16);
    expect(&t, 0, MW_UP, 0, 3 * 13, 0, 0);
    expect(&t, 0, MW_DOWN, 0, 3 * 11, 0, 0);
    expect(&t, 1, MW_UP, 0, 2 * 11, 0, 0);
    expect(&t, 1, MW_DOWN, 0, 2 * 13, 0, 0);
    expect(&t, 2, MW_UP, 0, 0, 0, 0);
    expect(&t, 3, MW_UP, 0, 11, 0, 0);
    expect(&t, 3, MW_DOWN, 0, 13, 0, 0);
    assert_int_equal(t.payload[0][MW_UP], 3 * 156);
    assert_int_equal(t.payload[0][MW_DOWN], 3 * 140);
    t = total(&b.w, &s, 8); // 2+16, 2+2, 2+2; 2+16, 2+2
    expect(&t, 0, MW_UP, 0, 3 * 26, 0, 0);
    expect(&t, 1, MW_UP, 0, 2 * 22, 0, 0);
    // Besides, a flag of both lists of every other GPU, and one of each tile.
    s = bare("flashdmoe");
    t = total(&b.w, &s, 16);
    expect(&t, 0, MW_UP, 0, 3 * 13 + 6, 0, 0);
    expect(&t, 0, MW_DOWN, 0, 3 * 11 + 6 + 3, 0, 0);
    expect(&t, 1, MW_UP, 0, 2 * 11 + 6 + 2, 0, 0);
    expect(&t, 1, MW_DOWN, 0, 2 * 13 + 6, 0, 0);
    expect(&t, 2, MW_UP, 0, 6, 0, 0);
    expect(&t, 2, MW_DOWN, 0, 6, 0, 0);
    expect(&t, 3, MW_UP, 0, 11 + 6 + 1, 0, 0);
    assert_int_equal(t.payload[0][MW_UP], 3 * 156);
    t = total(&b.w, &s, 8);
    expect(&t, 0, MW_UP, 0, 3 * 26 + 12, 0, 0);
    expect(&t, 1, MW_UP, 0, 2 * 22 + 12 + 4, 0, 0);
    assert_int_equal(t.gathered[1][MW_UP][MW_STORE], 0);
}

/// Two rows of one list are a tile, or one each, depending on their arrival. Rows in lists of two
/// sources never share a tile.
static void counts_tiles_of_lists_by_hand(void **state)
{
    (void)state;
    static const uint16_t ids[16] = {2, 3, 2, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 2};
    memset(b.ids, 0xff, sizeof b.ids);
    memcpy(b.ids, ids, 9 * sizeof *ids);
    b.w.k = 2;
    b.w.shape.tokens_per_gpu = 2;
    b.w.tokens = 8; // tokens 0 and 1 of GPU 0 and 4 of GPU 2 go to GPU 1
    struct mw_system s = bare("flashdmoe");
    struct mw_traffic t = total(&b.w, &s, 16);
    expect(&t, 1, MW_UP, 0, 4 * 11 + 6 + 3, 0, 0);
    expect(&t, 0, MW_DOWN, 0, 3 * 11 + 6 + 2, 0, 0);
    expect(&t, 2, MW_DOWN, 0, 11 + 6 + 1, 0, 0);
    assert_int_equal(t.gathered[1][MW_UP][MW_STORE], 1);
    assert_int_equal(t.gathered[0][MW_DOWN][MW_STORE], 1);
    assert_int_equal(t.gathered[2][MW_DOWN][MW_STORE], 0);
}

/// For any experts. Each of four GPUs has one token.
static void counts_gathered_by_hand(void **state)
{
    (void)state;
    struct mw_system s = bare("nvls");
    for (unsigned none = 0; none < 2; none++) {
        if (none)
            memset(b.ids, 0xff, sizeof b.ids);
        // Rows 1+8, 1+1 and an entry, 1+8. A request, 1. Partial sums of three homes, 11 each, and
        // a result.
        struct mw_traffic t = total(&b.w, &s, 16);
        for (unsigned p = 0; p < 4; p++) {
            expect(&t, p, MW_UP, 0, 20, 1, 33);
            expect(&t, p, MW_DOWN, 0, 3 * 20, 3, 11);
            assert_int_equal(t.payload[p][MW_UP], 268 + 3 * 140);
            assert_int_equal(t.payload[p][MW_DOWN], 3 * 268 + 140);
        }
        t = total(&b.w, &s, 8); // 2+16, 2+2, 2+16
        expect(&t, 3, MW_UP, 0, 40, 2, 66);
        expect(&t, 3, MW_DOWN, 0, 120, 6, 22);
    }
}

static void counts_synchronisation_by_hand(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 16; i++)
        b.ids[i] = MW_NO_EXPERT;
    struct mw_system s = bare("dysharp-basic");
    s.counts = MW_COUNTS_PER_EXPERT; // 8 bytes to each of 3 GPUs
    s.fences[MW_DISPATCH] = 2;
    s.barriers[MW_COMBINE] = 5;
    s.flags[MW_COMBINE] = 4;
    struct mw_traffic phases[MW_PHASES];
    struct mw_link_parameters link = {.flit_bytes = 16};
    mw_traffic_count(&b.w, 0, &s, &link, phases);
    for (unsigned p = 0; p < 4; p++) {
        for (unsigned d = 0; d < 2; d++) {
            expect(&phases[MW_EXCHANGE], p, (enum mw_direction)d, 0, 0, 0, 0);
            expect(&phases[MW_DISPATCH], p, (enum mw_direction)d, 6, 6 + 6, 0, 0);
            expect(&phases[MW_COMBINE], p, (enum mw_direction)d, 15, 12, 0, 0);
        }
    }
    link.flit_bytes = 8;
    mw_traffic_count(&b.w, 0, &s, &link, phases);
    expect(&phases[MW_DISPATCH], 2, MW_UP, 12, 9 + 12, 0, 0);
    // Counts that do not fit in one packet: 4 * 64 bytes.
    b.w.experts = 256;
    b.w.experts_per_gpu = 64;
    s = bare("dysharp");
    s.counts = MW_COUNTS_PER_EXPERT;
    struct mw_traffic t = total(&b.w, &s, 16);
    expect(&t, 0, MW_UP, 0, 3 * 18, 0, 0);
    s.counts = MW_COUNTS_PER_GPU;
    t = total(&b.w, &s, 16);
    expect(&t, 0, MW_DOWN, 0, 3 * 2, 0, 0);
}

/// Synchronisation of the real systems (docs/design/systems.md): the same on every port, 3 others
/// each.
static void systems_synchronise_as_listed(void **state)
{
    (void)state;
    memset(b.ids, 0xff, sizeof b.ids);
    for (unsigned p = 0; p < 4; p++) {
        for (unsigned i = 0; i < 2; i++) {
            enum mw_direction d = i ? MW_DOWN : MW_UP;
            // Counts of 16 bytes. A fence, its acknowledgement, an event, and six flags.
            struct mw_traffic t = total(&b.w, mw_system_find("unicast"), 8);
            expect(&t, p, d, 3 * (2 + 2), 3 * (2 + 2) + 3 * (1 + 6) * 2, 0, 0);
            // Counts of 16 bytes. Fifteen flags of rows and as many of partial sums.
            t = total(&b.w, mw_system_find("overlap"), 8);
            expect(&t, p, d, 0, 3 * (2 + 2) + 3 * (15 + 15) * 2, 0, 0);
            // A fence, its acknowledgement, two events, a flag. The rows of one token of each GPU
            // follow.
            struct mw_system nvls = *mw_system_find("nvls");
            nvls.gathered = false;
            t = total(&b.w, &nvls, 8);
            expect(&t, p, d, 3 * (1 + 2) * 2, 3 * (1 + 1) * 2, 0, 0);
            // Counts of 8 bytes for two experts, and one event.
            t = total(&b.w, mw_system_find("dysharp-basic"), 8);
            expect(&t, p, d, 3 * 2, 3 * (2 + 1), 0, 0);
            t = total(&b.w, mw_system_find("dysharp"), 8);
            expect(&t, p, d, 0, 3 * (2 + 1), 0, 0);
            t = total(&b.w, mw_system_find("moe-hub"), 8);
            expect(&t, p, d, 0, 3 * (2 + 1), 0, 0);
            // A flag for each of two lists.
            t = total(&b.w, mw_system_find("flashdmoe"), 8);
            expect(&t, p, d, 0, 3 * 2 * 2, 0, 0);
        }
    }
}

/// Scales are bytes of the row: of 128 and 256 values.
static void rows_with_scales_by_hand(void **state)
{
    (void)state;
    static const struct {
        unsigned type, hidden;
        uint64_t flits, payload;
    } of[] = {
        // 1+1+8, 1+1+1 of the scales, 1+1+1
        {MW_ROWTYPE_E4M3_BLOCKS, 128, 16, 128 + 16 + 16},
        // twice 1+1+8, 1+1+1 of two scales with padding, 1+1+1
        {MW_ROWTYPE_E4M3_BLOCKS, 256, 26, 256 + 16 + 16},
        // 64 bytes, 8 and 8 of scales: 1+1+5, 1+1+1
        {MW_ROWTYPE_NVFP4, 128, 10, 80 + 16},
        // 128 bytes, 8 and 16, filled up: 1+1+8, 1+1+2, 1+1+1
        {MW_ROWTYPE_NVFP4, 256, 17, 160 + 16},
    };
    for (unsigned i = 0; i < sizeof of / sizeof *of; i++) {
        set_up(state);
        b.w.shape.dispatch_type = of[i].type;
        b.w.shape.hidden = of[i].hidden;
        struct mw_system s = bare("dysharp");
        struct mw_traffic t = total(&b.w, &s, 16);
        expect(&t, 0, MW_UP, 0, of[i].flits, 2, 0);
        assert_int_equal(t.payload[0][MW_UP], of[i].payload);
        // partial rows of bf16, in packets of 1+8
        expect(&t, 1, MW_UP, 2, 0, 0, of[i].hidden / 64 * 9);
    }
}

static void finds_systems(void **state)
{
    (void)state;
    assert_string_equal(mw_systems[0].name, "unicast");
    for (unsigned i = 0; i < MW_SYSTEMS; i++)
        assert_ptr_equal(mw_system_find(mw_systems[i].name), &mw_systems[i]);
    assert_null(mw_system_find("nvl"));
    assert_null(mw_system_find(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(counts_multicast_by_hand, set_up),
        cmocka_unit_test_setup(counts_list_flits_at_their_edge, set_up),
        cmocka_unit_test_setup(counts_unicast_by_hand, set_up),
        cmocka_unit_test_setup(counts_row_sparse_by_hand, set_up),
        cmocka_unit_test_setup(counts_tiles_of_lists_by_hand, set_up),
        cmocka_unit_test_setup(counts_gathered_by_hand, set_up),
        cmocka_unit_test_setup(counts_synchronisation_by_hand, set_up),
        cmocka_unit_test_setup(systems_synchronise_as_listed, set_up),
        cmocka_unit_test_setup(rows_with_scales_by_hand, set_up),
        cmocka_unit_test(finds_systems),
    };
    return cmocka_run_group_tests_name("traffic", tests, NULL, NULL);
}
