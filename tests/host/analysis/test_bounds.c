// SPDX-License-Identifier: Apache-2.0
//
// Tests of the analytic flit counts and bounds: a case small enough to count by hand in both flit
// widths, invariants on random workloads, and the worked example on the real trace.
#include "host/support.h"

#include "analysis/bounds.h"
#include "analysis/resources.h"
#include "systems/system_list.h"

/// 4 GPUs with 2 experts each and one token each, k = 4, hidden 70 (140 bytes: packets of 128 and
/// 12). Token 0: experts 0 (home), 2, 3 (GPU 1) and 7 (GPU 3). Token 1: its own 2 and 3 only.
/// Tokens 2 and 3: none.
struct by_hand {
    struct mw_workload w;
    struct mw_layer layer;
    uint16_t ids[4 * 4];
    float weights[4 * 4];
};

static void set_up(struct by_hand *b)
{
    static const uint16_t ids[16] = {0,      2,      3,      7,      2,      3,
                                     0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff,
                                     0xffff, 0xffff, 0xffff, 0xffff};
    memset(b, 0, sizeof *b);
    memcpy(b->ids, ids, sizeof ids);
    b->layer = (struct mw_layer){.ids = b->ids, .weights = b->weights};
    b->w = (struct mw_workload){
        .shape = {.gpus = 4, .tokens_per_gpu = 1, .hidden = 70, .allow_padding = true},
        .tokens = 4,
        .k = 4,
        .experts = 8,
        .experts_per_gpu = 2,
        .layers = 1,
        .layer = &b->layer,
    };
}

/// A system without counts, fences, flags and barriers.
static struct mw_system bare(const char *name)
{
    struct mw_system s = *mw_system_find(name);
    s.counts = MW_COUNTS_NONE;
    memset(s.fences, 0, sizeof s.fences);
    memset(s.barriers, 0, sizeof s.barriers);
    memset(s.flags, 0, sizeof s.flags);
    return s;
}

static struct mw_traffic total(const struct mw_workload *w, const struct mw_system *s, unsigned f)
{
    struct mw_traffic phases[MW_PHASES], sum;
    const struct mw_link_parameters link = {.flit_bytes = f, .tile = 2};
    mw_traffic_count(w, 0, s, &link, phases);
    memset(&sum, 0, sizeof sum);
    for (unsigned p = 0; p < MW_PHASES; p++)
        mw_traffic_add(&sum, &phases[p]);
    return sum;
}

static void expect(const struct mw_traffic *t, unsigned port, enum mw_direction d, unsigned ctrl,
                   unsigned store, unsigned request, unsigned partial)
{
    const unsigned want[MW_CLASSES] = {ctrl, store, request, partial};
    for (unsigned c = 0; c < MW_CLASSES; c++)
        if (t->flits[port][d][c] != want[c])
            fail_msg("port %u %s %s: %u, expected %u", port, mw_direction_names[d],
                     mw_class_names[c], (unsigned)t->flits[port][d][c], want[c]);
}

static void counts_multicast_by_hand(void **state)
{
    (void)state;
    struct by_hand b;
    set_up(&b);
    struct mw_system s = bare("dysharp");
    // 16-byte flits. Up: 3 remote targets, 4 bytes of list, one flit in each of 3 packets:
    // 1+1+8, 1+1+1, 1+1+1 (16 bytes of weights). To GPU 1 two targets, the same; to GPU 3 one.
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
    // 8-byte flits: header 2, list of 3 or 2 targets 1 flit; 2+1+16, 2+1+2, 2+1+2.
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
    s.token_order = s.dispatch_throttle = false; // whose counts are for all alike
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
    struct by_hand b;
    set_up(&b);
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
    struct by_hand b;
    set_up(&b);
    struct mw_system s = bare("unicast");
    // Rows 1+8, 1+1 and a last packet of 4 + 24 bytes, 1+2; combine 11, to home.
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

/// A row to each remote expert and back, whoever else of its GPU gets the token.
static void counts_row_sparse_by_hand(void **state)
{
    (void)state;
    struct by_hand b;
    set_up(&b);
    struct mw_system s = bare("moe-hub");
    // Rows 1+8, 1+1 and weights 1+1; back 1+8, 1+1.
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

/// Two rows of one list are a tile, or one each, as they come; those of lists of two
/// sources are never one.
static void counts_tiles_of_lists_by_hand(void **state)
{
    (void)state;
    static const uint16_t ids[16] = {2, 3, 2, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 2};
    struct by_hand b;
    set_up(&b);
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

/// Whatever the experts: each of four GPUs has one token.
static void counts_gathered_by_hand(void **state)
{
    (void)state;
    struct by_hand b;
    set_up(&b);
    struct mw_system s = bare("nvls");
    for (unsigned none = 0; none < 2; none++) {
        if (none)
            memset(b.ids, 0xff, sizeof b.ids);
        // Rows 1+8, 1+1 and an entry, 1+8; a request, 1; partial sums of three homes, 11
        // each, and a result.
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
    struct by_hand b;
    set_up(&b);
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
    struct by_hand b;
    set_up(&b);
    memset(b.ids, 0xff, sizeof b.ids);
    for (unsigned p = 0; p < 4; p++) {
        for (unsigned i = 0; i < 2; i++) {
            enum mw_direction d = i ? MW_DOWN : MW_UP;
            // Counts of 16 bytes; a fence, its acknowledgement, an event; six flags.
            struct mw_traffic t = total(&b.w, mw_system_find("unicast"), 8);
            expect(&t, p, d, 3 * (2 + 2), 3 * (2 + 2) + 3 * (1 + 6) * 2, 0, 0);
            // Counts of 16 bytes; fifteen flags of rows and as many of partial sums.
            t = total(&b.w, mw_system_find("overlap"), 8);
            expect(&t, p, d, 0, 3 * (2 + 2) + 3 * (15 + 15) * 2, 0, 0);
            // A fence, its acknowledgement, two events, a flag; the rows of one token
            // of each GPU follow.
            struct mw_system nvls = *mw_system_find("nvls");
            nvls.gathered = false;
            t = total(&b.w, &nvls, 8);
            expect(&t, p, d, 3 * (1 + 2) * 2, 3 * (1 + 1) * 2, 0, 0);
            // Counts of 8 bytes for two experts; one event.
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

static void bounds_by_hand(void **state)
{
    (void)state;
    struct by_hand b;
    set_up(&b);
    struct mw_layer_facts facts;
    mw_layer_facts(&b.w, 0, &facts);
    assert_int_equal(facts.rows[0], 1);
    assert_int_equal(facts.rows[1], 4);
    assert_int_equal(facts.rows[2], 0);
    assert_int_equal(facts.rows[3], 1);
    assert_int_equal(facts.busiest, 1);
    // GPU 0: the token's sum on top of its own row; GPU 1: two rows of either token
    const unsigned additions[4] = {1, 2, 0, 0};
    for (unsigned q = 0; q < 4; q++)
        assert_int_equal(facts.additions[q], additions[q]);
    assert_true(facts.remote_gpus_per_token == 0.5);
    assert_true(facts.home_share == 0.5);

    // Without lists: 9 + 2 + 2 = 13 down to GPU 1, 11 back.
    struct mw_system s = bare("dysharp");
    struct mw_bounds bounds;
    struct mw_link_parameters link = {16, 1, 1, 0};
    mw_bounds_compute(&b.w, 0, &s, &link, &bounds);
    assert_int_equal(bounds.strict.cycles, 13);
    char text[32];
    assert_string_equal(mw_bound_text(&bounds.strict, text, sizeof text), "port 0 up");
    // Its own: 16 + 2 up at GPU 0; the engine moves 4 rows of 9 flits, two a cycle.
    assert_int_equal(bounds.own_link.cycles, 18);
    assert_int_equal(bounds.own.cycles, 18);
    assert_int_equal(bounds.own.resource, MW_LINK);
    link.expert_cycles = 10;
    mw_bounds_compute(&b.w, 0, &s, &link, &bounds);
    assert_int_equal(bounds.strict.cycles, 40);
    assert_int_equal(bounds.strict_link.cycles, 13);
    assert_string_equal(mw_bound_text(&bounds.strict, text, sizeof text), "engine 1");
    assert_int_equal(bounds.own.cycles, 40);
    assert_int_equal(bounds.own_link.cycles, 18);
    // One after the other: dispatch 16, expert 18 (movement), combine 11 partials and a request at
    // GPU 1: 11 up, 2 down; 11 down at GPU 0.
    link.expert_cycles = 0;
    s = bare("dysharp-basic");
    mw_bounds_compute(&b.w, 0, &s, &link, &bounds);
    assert_int_equal(bounds.own_phase[MW_DISPATCH].cycles, 16);
    assert_int_equal(bounds.own_phase[MW_EXPERT].cycles, 18);
    assert_int_equal(bounds.own_phase[MW_COMBINE].cycles, 11);
    assert_int_equal(bounds.own.cycles, 45);
    assert_int_equal(bounds.own_link.cycles, 27);
    assert_string_equal(mw_bound_text(&bounds.own, text, sizeof text), "engine 1");
    assert_string_equal(mw_bound_text(&bounds.own_link, text, sizeof text), "port 0 up");
    // floor(13 / (2 * 4)), and nothing to do gives no bound.
    const struct mw_link_parameters half = {16, 2, 0, 0};
    assert_int_equal(mw_default_expert_cycles(&b.w, &link), 1);
    assert_int_equal(mw_default_expert_cycles(&b.w, &half), 3);
    // On links of half the rate all but the expert takes twice as long.
    mw_bounds_compute(&b.w, 0, &s, &half, &bounds);
    assert_int_equal(bounds.strict.cycles, 26);
    assert_int_equal(bounds.own.cycles, 32 + 18 + 22);
    assert_int_equal(bounds.own_link.cycles, 54);
    memset(b.ids, 0xff, sizeof b.ids);
    assert_int_equal(mw_default_expert_cycles(&b.w, &link), 0);
    mw_bounds_compute(&b.w, 0, &s, &link, &bounds);
    assert_int_equal(bounds.strict.cycles, 0);
    assert_string_equal(mw_bound_text(&bounds.strict, text, sizeof text), "none");
    // Events at the end of the expert's phase take their time even where no engine works.
    mw_bounds_compute(&b.w, 0, mw_system_find("dysharp-basic"), &link, &bounds);
    assert_int_equal(bounds.own_phase[MW_EXPERT].cycles, 3);
    assert_int_equal(bounds.own.cycles, bounds.own_link.cycles);
}

/// A backward layer: experts take twice their time, for gradients of gate weights they read two
/// rows, and each remote (token, expert) sends 4 bytes home: two of GPU 1, one of GPU 3.
static void gradients_by_hand(void **state)
{
    (void)state;
    struct by_hand b;
    struct mw_bounds bounds;
    struct mw_resources r;
    struct mw_link_parameters link = {16, 1, 10, 0};
    struct mw_system s = bare("dysharp-basic");
    set_up(&b);
    b.layer.pass = MW_PASS_COUNTED;
    mw_bounds_compute(&b.w, 0, &s, &link, &bounds);
    assert_int_equal(bounds.strict.cycles, 80);
    assert_int_equal(bounds.own_phase[MW_EXPERT].cycles, 80);
    link.expert_cycles = 0;
    mw_bounds_compute(&b.w, 0, &s, &link, &bounds);
    assert_int_equal(bounds.own_phase[MW_EXPERT].cycles, 18);
    b.w.shape.gate_gradients = true;
    mw_bounds_compute(&b.w, 0, &s, &link, &bounds);
    assert_int_equal(bounds.own_phase[MW_EXPERT].cycles, 36);
    assert_int_equal(bounds.own_link.cycles, 27 + 6); // all gradients go to GPU 0
    assert_int_equal(bounds.strict.cycles, 13);
    mw_resources_compute(&b.w, 0, &s, 16, &bounds, &r);
    assert_int_equal(r.engine.cycles, 36);
    // GPU 1 reads 8 rows to compute, 1 to send to itself and 4 to sum: 13 of 9 flits in 4 banks
    assert_int_equal(r.banks.cycles, 30);
    struct mw_traffic t = total(&b.w, &s, 16);
    expect(&t, 1, MW_UP, 0, 4, 0, 11);
    expect(&t, 3, MW_UP, 0, 2, 0, 11);
    expect(&t, 0, MW_DOWN, 0, 6, 0, 11);
    expect(&t, 2, MW_DOWN, 0, 0, 0, 0);
    assert_int_equal(t.payload[0][MW_DOWN], 140 + 12);
    t = total(&b.w, &s, 8);
    expect(&t, 1, MW_UP, 0, 6, 0, 22);
    expect(&t, 0, MW_DOWN, 0, 9, 0, 22);
    b.layer.pass = MW_PASS_FORWARD;
    t = total(&b.w, &s, 16);
    expect(&t, 1, MW_UP, 0, 0, 0, 11);
}

static void expect_part(const struct mw_bound *b, uint64_t cycles, const char *at)
{
    char text[32];
    assert_int_equal(b->cycles, cycles);
    assert_string_equal(mw_bound_text(b, text, sizeof text), at);
}

static void compute_parts(const struct mw_workload *w, const struct mw_system *s,
                          const struct mw_link_parameters *link, struct mw_resources *r)
{
    struct mw_bounds bounds;
    mw_bounds_compute(w, 0, s, link, &bounds);
    mw_resources_compute(w, 0, s, link->flit_bytes, &bounds, r);
}

// Rows of 9 flits. GPU 1 computes four rows, sums two of token 0 and two of its own.
/// One byte for each of the 70 values on their way to the experts: 5 flits of 16 bytes, 9 of 8.
static void typed_rows_by_hand(void **state)
{
    (void)state;
    struct by_hand b;
    set_up(&b);
    b.w.shape.dispatch_type = MW_ROWTYPE_E4M3;
    struct mw_system s = bare("dysharp");
    // 1+1+5, 1+1+1; partial rows as ever
    struct mw_traffic t = total(&b.w, &s, 16);
    expect(&t, 0, MW_UP, 0, 10, 2, 0);
    expect(&t, 1, MW_DOWN, 0, 10, 2, 0);
    expect(&t, 3, MW_DOWN, 0, 8, 1, 0);
    expect(&t, 1, MW_UP, 2, 0, 0, 11);
    expect(&t, 0, MW_DOWN, 3, 0, 0, 11);
    assert_int_equal(t.payload[0][MW_UP], 86);
    assert_int_equal(t.payload[0][MW_DOWN], 140);
    // 2+1+9, 2+1+2
    t = total(&b.w, &s, 8);
    expect(&t, 0, MW_UP, 0, 17, 3, 0);
    // two copies of 1+5 and 1+2, of 28 bytes; rows back of 1+8 and 1+1
    s = bare("unicast");
    t = total(&b.w, &s, 16);
    expect(&t, 0, MW_UP, 0, 18, 0, 0);
    expect(&t, 0, MW_DOWN, 0, 22, 0, 0);
    // a copy to all, and a routing entry of 1+8; the second token's goes to home 0, too
    s = bare("nvls");
    t = total(&b.w, &s, 16);
    expect(&t, 0, MW_UP, 0, 15, 1, 33);
    mw_traffic_strict(&b.w, 0, 16, &t);
    assert_int_equal(mw_traffic_flits(&t, 0, MW_UP), 8);
    assert_int_equal(mw_traffic_flits(&t, 0, MW_DOWN), 11);
    // GPU 1 reads 4 rows to compute and 1 to send to itself, of 5 flits, and 4 to sum, of 9
    const struct mw_link_parameters link = {16, 1, 1, 0};
    struct mw_resources r;
    s = bare("dysharp");
    compute_parts(&b.w, &s, &link, &r);
    expect_part(&r.engine, 4 * 9 / 2, "engine 1");
    expect_part(&r.banks, (5 * 5 + 4 * 9 + 3) / 4, "banks 1");
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
        // twice 1+1+8; two scales, filled up
        {MW_ROWTYPE_E4M3_BLOCKS, 256, 26, 256 + 16 + 16},
        // 64 bytes, 8 and 8 of scales: 1+1+5, 1+1+1
        {MW_ROWTYPE_NVFP4, 128, 10, 80 + 16},
        // 128 bytes, 8 and 16, filled up: 1+1+8, 1+1+2, 1+1+1
        {MW_ROWTYPE_NVFP4, 256, 17, 160 + 16},
    };
    for (unsigned i = 0; i < sizeof of / sizeof *of; i++) {
        struct by_hand b;
        set_up(&b);
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

static void resources_by_hand(void **state)
{
    (void)state;
    struct by_hand b;
    set_up(&b);
    struct mw_link_parameters link = {16, 1, 1, 0};
    struct mw_resources r;
    // GPU 1 reads 4 rows to compute, 4 to sum, 1 to send to itself.
    struct mw_system s = bare("dysharp");
    compute_parts(&b.w, &s, &link, &r);
    expect_part(&r.adder, 2 * 9, "adder 1");
    expect_part(&r.engine, 4 * 9 / 2, "engine 1");
    expect_part(&r.banks, (9 * 9 + 3) / 4, "banks 1");
    expect_part(&r.limit, (9 * 9 + 3) / 4, "banks 1");
    // GPU 0 adds two partial sums, and its own row to them; GPU 1 reads as before.
    s = bare("unicast");
    compute_parts(&b.w, &s, &link, &r);
    expect_part(&r.adder, 2 * 9, "adder 0");
    expect_part(&r.banks, (9 * 9 + 3) / 4, "banks 1");
    assert_int_equal(r.limit.resource, MW_LINK);
    // Slower experts: the engine is the limit.
    link.expert_cycles = 100;
    s = bare("dysharp");
    compute_parts(&b.w, &s, &link, &r);
    expect_part(&r.limit, 400, "engine 1");
    // Without token 0 nothing crosses a link, and GPU 1 adds once.
    memset(b.ids, 0xff, 4 * sizeof *b.ids);
    compute_parts(&b.w, &s, &link, &r);
    expect_part(&r.adder, 9, "adder 1");
    memset(b.ids, 0xff, sizeof b.ids);
    compute_parts(&b.w, &s, &link, &r);
    expect_part(&r.adder, 0, "none");
    expect_part(&r.banks, 0, "none");
}

/// Of several that are as busy the first one is named; an odd number of flits takes the cycle that
/// it begins; a tile of a list takes its time, full or not.
static void engines_by_hand(void **state)
{
    (void)state;
    struct by_hand b;
    struct mw_layer_facts facts;
    struct mw_bounds bounds;
    set_up(&b);
    b.ids[0] = b.ids[4] = 7; // three rows each for GPUs 1 and 3
    mw_layer_facts(&b.w, 0, &facts);
    assert_int_equal(facts.rows[1], 3);
    b.ids[5] = 6;
    b.ids[1] = MW_NO_EXPERT;
    mw_layer_facts(&b.w, 0, &facts);
    assert_int_equal(facts.rows[3], 4);
    b.ids[3] = b.ids[0] = 2;
    b.ids[2] = MW_NO_EXPERT;
    mw_layer_facts(&b.w, 0, &facts);
    assert_int_equal(facts.rows[1], 2);
    assert_int_equal(facts.rows[3], 2);
    assert_int_equal(facts.busiest, 1);
    struct mw_link_parameters link = {16, 1, 1, 0};
    memset(b.ids, 0xff, sizeof b.ids);
    b.ids[0] = 2; // a row of 9 flits of 16 bytes
    mw_bounds_compute(&b.w, 0, mw_system_find("dysharp"), &link, &bounds);
    assert_int_equal(bounds.own_engine.cycles, 5);
    link.tile = 4;
    link.expert_cycles = 100;
    mw_bounds_compute(&b.w, 0, mw_system_find("flashdmoe"), &link, &bounds);
    assert_int_equal(bounds.own_engine.cycles, 400);
    mw_bounds_compute(&b.w, 0, mw_system_find("dysharp"), &link, &bounds);
    assert_int_equal(bounds.own_engine.cycles, 100);
}

static void make(struct mw_workload *w, struct mw_trace *trace, unsigned gpus, unsigned hidden,
                 unsigned k, uint64_t seed)
{
    struct mw_synthetic how = {.layers = 1,
                               .tokens = gpus * 8u,
                               .k = k,
                               .experts = 64,
                               .sigma = 0.7,
                               .locality = 0.3,
                               .seed = seed};
    struct mw_shape shape = {.gpus = gpus, .tokens_per_gpu = 8, .hidden = hidden, .seed = seed};
    const size_t layer = 0;
    assert_int_equal(mw_trace_make(trace, &how, NULL), MW_EXIT_OK);
    assert_int_equal(mw_workload_make(w, trace, &layer, 1, &shape, NULL), MW_EXIT_OK);
}

/// What must hold whatever the routing: the strict bound is below every own bound's sum of links,
/// unicast conserves flits between up and down, nobody sends less than strict counts.
static void invariants_on_random_workloads(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    for (unsigned i = 0; i < 40; i++) {
        struct mw_workload w;
        struct mw_trace trace;
        unsigned f = i & 1 ? 8 : 16;
        make(&w, &trace, 2u << i % 5, 64 + 24 * i, 1 + i % 16, seed + i);
        for (unsigned s = 0; s < MW_SYSTEMS; s++) {
            struct mw_bounds bounds;
            struct mw_link_parameters link = {f, 1, i, 0};
            mw_bounds_compute(&w, 0, &mw_systems[s], &link, &bounds);
            assert_true(bounds.own_link.cycles >= bounds.strict_link.cycles);
            assert_true(bounds.own.cycles >= bounds.strict.cycles);
            assert_true(bounds.own.cycles >= bounds.own_link.cycles);
            struct mw_traffic t = total(&w, &mw_systems[s], f);
            uint64_t sum[MW_DIRECTIONS] = {0}, bytes[MW_DIRECTIONS] = {0};
            for (unsigned p = 0; p < w.shape.gpus; p++)
                for (unsigned d = 0; d < MW_DIRECTIONS; d++) {
                    sum[d] += mw_traffic_flits(&t, p, (enum mw_direction)d);
                    bytes[d] += t.payload[p][d];
                    assert_true(t.payload[p][d] <=
                                f * mw_traffic_flits(&t, p, (enum mw_direction)d));
                }
            if (!mw_systems[s].multicast && !mw_systems[s].gathered) {
                assert_int_equal(sum[MW_UP], sum[MW_DOWN]);
                assert_int_equal(bytes[MW_UP], bytes[MW_DOWN]);
            }
        }
        mw_workload_free(&w);
        mw_trace_free(&trace);
    }
}

/// The worked example of the design notes.
static void worked_example_on_the_real_trace(void **state)
{
    (void)state;
    static const struct {
        unsigned gpus;
        unsigned strict, unicast;
        double remote, home;
    } known[] = {{4, 75057, 111740, 2.472, 0.839},
                 {8, 135207, 230436, 4.135, 0.557},
                 {16, 253557, 463980, 5.052, 0.337}};
    const char *folder = real_trace("deepseek-v2-lite-intent");
    if (!folder)
        skip();
    struct mw_trace trace;
    struct mw_error err = {0};
    assert_int_equal(mw_trace_load(&trace, folder, NULL, &err), MW_EXIT_OK);
    for (unsigned i = 0; i < 3; i++) {
        struct mw_workload w;
        const size_t layer = 7;
        struct mw_shape shape = {
            .gpus = known[i].gpus, .tokens_per_gpu = 256, .hidden = 512, .seed = 1};
        assert_int_equal(mw_workload_make(&w, &trace, &layer, 1, &shape, &err), MW_EXIT_OK);
        struct mw_system s = bare("unicast");
        struct mw_link_parameters link = {16, 1, 0, 0};
        link.expert_cycles = mw_default_expert_cycles(&w, &link);
        struct mw_bounds bounds;
        mw_bounds_compute(&w, 0, &s, &link, &bounds);
        assert_int_equal(bounds.strict.cycles, known[i].strict);
        assert_int_equal(bounds.strict.resource, MW_LINK);
        assert_int_equal(bounds.own_link.cycles, known[i].unicast);
        struct mw_layer_facts facts;
        mw_layer_facts(&w, 0, &facts);
        assert_true(facts.remote_gpus_per_token > known[i].remote - 0.00051 &&
                    facts.remote_gpus_per_token < known[i].remote + 0.00051);
        assert_true(facts.home_share > known[i].home - 0.00051 &&
                    facts.home_share < known[i].home + 0.00051);
        mw_workload_free(&w);
    }
    mw_trace_free(&trace);
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
        cmocka_unit_test(counts_multicast_by_hand),
        cmocka_unit_test(counts_list_flits_at_their_edge),
        cmocka_unit_test(counts_unicast_by_hand),
        cmocka_unit_test(counts_row_sparse_by_hand),
        cmocka_unit_test(counts_tiles_of_lists_by_hand),
        cmocka_unit_test(counts_gathered_by_hand),
        cmocka_unit_test(counts_synchronisation_by_hand),
        cmocka_unit_test(systems_synchronise_as_listed),
        cmocka_unit_test(bounds_by_hand),
        cmocka_unit_test(gradients_by_hand),
        cmocka_unit_test(rows_with_scales_by_hand),
        cmocka_unit_test(resources_by_hand),
        cmocka_unit_test(typed_rows_by_hand),
        cmocka_unit_test(engines_by_hand),
        cmocka_unit_test(invariants_on_random_workloads),
        cmocka_unit_test(worked_example_on_the_real_trace),
        cmocka_unit_test(finds_systems),
    };
    return cmocka_run_group_tests_name("bounds", tests, NULL, NULL);
}
