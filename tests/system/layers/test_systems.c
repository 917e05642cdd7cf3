// SPDX-License-Identifier: Apache-2.0
//
// Every system through the Verilated device: golden bits and analytic flit counts for the sizes and
// shapes at which something changes. All runs of a test print the options that repeat them.
#include "system/bench.h"
#include "systems/system_list.h"

/// N = 8 with 16-byte flits, and the smaller models with 8-byte flits.
#define N8 "--gpus 8 --flit-bytes 16 --hidden 64 "
#define N4 "--gpus 4 --flit-bytes 8 --hidden 64 "
#define N2 "--gpus 2 --flit-bytes 8 --hidden 64 "

#define ALL(...) \
    do { \
        static const char *const options_[] = {__VA_ARGS__}; \
        for (unsigned i_ = 0; i_ < sizeof options_ / sizeof *options_; i_++) \
            bench_all(options_[i_], NULL, NULL); \
    } while (0)

static void sizes_of_device(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 6; seed++) { // an engine of one expert, with few rows or none
        char text[160];
        snprintf(text, sizeof text,
                 N2 "--tokens-per-gpu 2 --experts 2 --k 1 --hidden 64 --spread far --seed %u",
                 seed);
        bench_all(text, NULL, NULL);
    }
    ALL(N2 "--tokens-per-gpu 1 --experts 2 --k 1 --tile 1",
        N2 "--tokens-per-gpu 9 --experts 8 --k 3 --tile 4", N4 "--tokens-per-gpu 12 --tile 4",
        N8 "--tokens-per-gpu 12 --tile 4",
        "--gpus 3 --flit-bytes 16 --hidden 64 --experts 9 --k 4 --tokens-per-gpu 10 --tile 2",
        // counts of 32 experts fill a packet
        N4 "--tokens-per-gpu 6 --experts 128 --k 8 --tile 2",
        N4 "--tokens-per-gpu 6 --experts 132 --k 8 --tile 2",
        N4 "--tokens-per-gpu 6 --experts 256 --k 8 --tile 2");
}

static void tiles(void **state)
{
    (void)state;
    ALL(N8 "--tokens-per-gpu 12 --tile 1", N8 "--tokens-per-gpu 24 --tile 16",
        N8 "--tokens-per-gpu 12 --tile 128", N8 "--tokens-per-gpu 12 --tile 255",
        N8 "--tokens-per-gpu 12 --tile 1 --partial-tiles",
        N8 "--tokens-per-gpu 12 --tile 4 --partial-tiles",
        N8 "--tokens-per-gpu 24 --tile 16 --partial-tiles",
        N8 "--tokens-per-gpu 12 --tile 128 --partial-tiles --set partial_wait=0",
        N4 "--tokens-per-gpu 13 --experts 4 --k 2 --tile 4",
        N4 "--tokens-per-gpu 16 --experts 4 --k 4 --tile 16");
}

static void experts_per_token(void **state)
{
    (void)state;
    for (unsigned k = 1; k <= 16; k++) {
        char text[160];
        snprintf(text, sizeof text, N4 "--tokens-per-gpu 5 --experts 32 --k %u --tile 2 --seed %u",
                 k, k);
        bench_all(text, NULL, NULL);
    }
    ALL(N8 "--tokens-per-gpu 6 --experts 16 --k 16 --tile 4",
        N8 "--tokens-per-gpu 7 --k 1 --tile 4");
}

static void rows(void **state)
{
    (void)state;
    // one flit, less than a packet, one packet, a short last packet, the real model's
    ALL("--gpus 2 --flit-bytes 8 --tokens-per-gpu 5 --experts 4 --k 2 --tile 1 --hidden 4",
        "--gpus 4 --flit-bytes 8 --tokens-per-gpu 5 --experts 8 --k 3 --tile 2 --hidden 36",
        "--gpus 8 --flit-bytes 16 --tokens-per-gpu 5 --tile 2 --hidden 8",
        "--gpus 8 --flit-bytes 16 --tokens-per-gpu 5 --tile 2 --hidden 56",
        "--gpus 8 --flit-bytes 16 --tokens-per-gpu 5 --tile 2 --hidden 72",
        "--gpus 8 --flit-bytes 16 --tokens-per-gpu 3 --tile 2 --hidden 2048",
        "--gpus 2 --flit-bytes 8 --tokens-per-gpu 2 --experts 4 --k 2 --tile 1 --hidden 16376");
}

/// Rows of dispatch of one byte per value: those sizes, and what else depends on them.
static void types_of_rows(void **state)
{
    (void)state;
#define E4M3 "--dispatch-type e4m3-tensor "
    ALL(E4M3 "--gpus 2 --flit-bytes 8 --tokens-per-gpu 5 --experts 4 --k 2 --tile 1 --hidden 8",
        E4M3 "--gpus 4 --flit-bytes 8 --tokens-per-gpu 5 --experts 8 --k 3 --tile 2 --hidden 72",
        E4M3 "--gpus 8 --flit-bytes 16 --tokens-per-gpu 5 --tile 2 --hidden 16",
        E4M3 "--gpus 8 --flit-bytes 16 --tokens-per-gpu 5 --tile 2 --hidden 112 --spread far",
        E4M3 "--gpus 8 --flit-bytes 16 --tokens-per-gpu 5 --tile 2 --hidden 144 --layers 0,1,0",
        E4M3 "--gpus 8 --flit-bytes 16 --tokens-per-gpu 3 --tile 2 --hidden 2048",
        E4M3 "--gpus 2 --flit-bytes 8 --tokens-per-gpu 2 --experts 4 --k 2 --tile 1 --hidden 16376",
        E4M3 N4 "--tokens-per-gpu 8 --tile 1 --expert-cycles 0 --link-latency 7",
        E4M3 N8 "--tokens-per-gpu 8 --tile 4 --set throttle=200 --set down_throttle=120",
        E4M3 N4 "--tokens-per-gpu 8 --tile 2 --set scatter=3 --set packet_manager=1");
#define SCALED "--dispatch-type e4m3 "
    ALL(SCALED "--gpus 2 --flit-bytes 8 --tokens-per-gpu 5 --experts 4 --k 2 --tile 1 --hidden 128",
        SCALED "--gpus 4 --flit-bytes 8 --tokens-per-gpu 5 --experts 8 --k 3 --tile 2 --hidden 384 "
               "--spread far",
        SCALED N4 "--hidden 128 --tokens-per-gpu 5 --tile 1 --expert-cycles 0 --link-latency 7",
        SCALED N4 "--hidden 256 --tokens-per-gpu 4 --tile 2 --set scatter=3 --set "
                  "packet_manager=1");
#define NVFP4 "--dispatch-type nvfp4 "
    ALL(NVFP4 "--gpus 2 --flit-bytes 8 --tokens-per-gpu 5 --experts 4 --k 2 --tile 1 --hidden 128",
        NVFP4 "--gpus 4 --flit-bytes 8 --tokens-per-gpu 5 --experts 8 --k 3 --tile 2 --hidden 384 "
              "--spread far",
        NVFP4 N4 "--hidden 128 --tokens-per-gpu 5 --tile 1 --expert-cycles 0 --link-latency 7",
        NVFP4 "--gpus 8 --flit-bytes 16 --tokens-per-gpu 3 --tile 2 --hidden 2048");
}

static void engines(void **state)
{
    (void)state;
    ALL(N8 "--tokens-per-gpu 12 --tile 4 --expert-cycles 0",
        N8 "--tokens-per-gpu 12 --tile 4 --expert-cycles 1",
        N8 "--tokens-per-gpu 8 --tile 4 --expert-cycles 200",
        N4 "--tokens-per-gpu 8 --tile 1 --expert-cycles 0");
}

static void links(void **state)
{
    (void)state;
    ALL(N8 "--tokens-per-gpu 8 --tile 2 --link-latency 64",
        N2 "--tokens-per-gpu 8 --experts 8 --k 4 --tile 2 --link-latency 64",
        N4 "--tokens-per-gpu 8 --tile 2 --link-latency 7");
}

static void limits(void **state)
{
    (void)state;
#define LEAST \
    "--set store_credits=1 --set part_credits=1 --set ctrl_credits=1 " \
    "--set down_store_credits=1 --set down_part_credits=1 --open-rows 1 "
    ALL(N8 "--tokens-per-gpu 8 --tile 2 " LEAST, N4 "--tokens-per-gpu 8 --tile 2 " LEAST,
        N4 "--tokens-per-gpu 6 --tile 4 --link-latency 64 " LEAST,
        N8 "--tokens-per-gpu 8 --tile 4 --open-rows 2",
        N8 "--tokens-per-gpu 8 --tile 4 --set throttle=200 --set down_throttle=120",
        N8 "--tokens-per-gpu 8 --tile 4 --set start_delay=300");
}

/// Few tokens in flight: below the safe limit, idle engines start tiles that never become full.
static void tokens_in_flight(void **state)
{
    (void)state;
    ALL(N4 "--tokens-per-gpu 12 --experts 16 --k 4 --tile 16 --in-flight 1",
        N8 "--tokens-per-gpu 6 --tile 16 --in-flight 1",
        N8 "--tokens-per-gpu 8 --tile 16 --in-flight 1 --partial-tiles",
        N8 "--tokens-per-gpu 12 --tile 1 --in-flight 1",
        N8 "--tokens-per-gpu 12 --tile 1 --in-flight 3",
        N4 "--tokens-per-gpu 40 --experts 4 --k 1 --tile 4 --in-flight 13", // just above E (tile-1)
        N4 "--tokens-per-gpu 40 --experts 4 --k 1 --tile 4 --in-flight 12");
}

/// Coefficients near 1 reveal a lost row, and coefficients far apart another order.
static void spreads(void **state)
{
    (void)state;
    ALL(N8 "--tokens-per-gpu 12 --tile 4 --spread near --seed 3",
        N8 "--tokens-per-gpu 12 --tile 4 --spread far --seed 3",
        N4 "--tokens-per-gpu 12 --experts 32 --k 16 --tile 4 --spread far --seed 4");
}

/// The configuration that synth-check measures, with 16 KB per GPU.
static void small_device(void **state)
{
    (void)state;
#define TINY "--gpus 4 --flit-bytes 8 --hidden 32 --experts 8 --set small=1 "
    ALL(TINY "--tokens-per-gpu 6 --k 2 --tile 1", TINY "--tokens-per-gpu 6 --k 2 --tile 4",
        TINY "--tokens-per-gpu 3 --k 4 --tile 2 --spread far",
        TINY "--tokens-per-gpu 5 --k 2 --tile 16 --partial-tiles --link-latency 8",
        TINY "--tokens-per-gpu 5 --k 1 --tile 2 --layers 0,1,2,3,4,0");
    struct bench b;
    struct mw_result r;
    bench_options(&b, TINY "--hidden 128 --tokens-per-gpu 6 --k 2");
    bench_prepare(&b, NULL, NULL);
    assert_int_equal(bench_run(&b, "dysharp", &r), MW_EXIT_INPUT);
    assert_line(r.error.text, "cannot hold", "bytes of memory per GPU", "16384");
    mw_result_free(&r);
    bench_free(&b);
    bench_options(&b, TINY "--tokens-per-gpu 4 --k 2 --set target_list_cache=1");
    bench_prepare(&b, NULL, NULL);
    assert_int_equal(bench_run(&b, "dysharp", &r), MW_EXIT_INPUT);
    assert_line(r.error.text, "target_list_cache", "does not remember", "leave it out");
    mw_result_free(&r);
    bench_free(&b);
    bench_options(&b, TINY
                  "--tokens-per-gpu 4 --k 2 --set target_list_cache=0 --set switch_reductions=1");
    bench_prepare(&b, NULL, NULL);
    assert_int_equal(bench_run(&b, "moeswitch", &r), MW_EXIT_INPUT);
    assert_line(r.error.text, "switch_reductions", "opens no reductions", "leave it out");
    mw_result_free(&r);
    bench_free(&b);
    bench_options(&b, TINY "--tokens-per-gpu 4 --k 2");
    bench_prepare(&b, NULL, NULL);
    assert_int_equal(bench_run(&b, "overlap", &r), MW_EXIT_INPUT);
    assert_line(r.error.text, "lacks the primitive row_ranges", "leave out --set small=1");
    mw_result_free(&r);
    assert_int_equal(bench_run(&b, "nvls", &r), MW_EXIT_INPUT);
    assert_line(r.error.text, "lacks the primitive gathered", "leave out --set small=1");
    mw_result_free(&r);
    bench_free(&b);
    bench_options(&b, TINY "--tokens-per-gpu 4 --k 2 --link-cycles 2");
    bench_prepare(&b, NULL, NULL);
    assert_int_equal(bench_run(&b, "dysharp", &r), MW_EXIT_INPUT);
    assert_line(r.error.text, "link_cycles", "a flit per cycle", "leave it out");
    mw_result_free(&r);
    bench_free(&b);
}

// ---- routing ------------------------------------------------------------------------------------

static void set_token(struct bench *b, size_t token, const uint16_t *list)
{
    for (unsigned j = 0; j < b->trace.k; j++)
        *bench_id(b, 0, token, j) = list[j];
}

/// Every token goes to the same experts: the others get none.
static void edit_same(struct bench *b, void *context)
{
    for (size_t t = 0; t < b->trace.tokens; t++)
        set_token(b, t, context);
}

/// Every token stays at home.
static void edit_local(struct bench *b, void *context)
{
    (void)context;
    unsigned per_gpu = b->trace.experts / b->params.shape.gpus;
    for (size_t t = 0; t < b->trace.tokens; t++) {
        unsigned home = (unsigned)t / b->params.shape.tokens_per_gpu;
        for (unsigned j = 0; j < b->trace.k; j++)
            *bench_id(b, 0, t, j) = (uint16_t)(home * per_gpu + (t + j) % per_gpu);
    }
}

/// Every token goes away, half of it to the next GPU.
static void edit_away(struct bench *b, void *context)
{
    (void)context;
    unsigned n = b->params.shape.gpus, per_gpu = b->trace.experts / n;
    for (size_t t = 0; t < b->trace.tokens; t++) {
        unsigned home = (unsigned)t / b->params.shape.tokens_per_gpu;
        for (unsigned j = 0; j < b->trace.k; j++)
            *bench_id(b, 0, t, j) =
                (uint16_t)((home + 1 + j % 2) % n * per_gpu + (t + j / 2) % per_gpu);
    }
}

/// Lists of every length, including the empty one, and empty places in the middle of lists.
static void edit_padding(struct bench *b, void *context)
{
    (void)context;
    struct mw_random r = {7};
    for (size_t t = 0; t < b->trace.tokens; t++)
        for (unsigned j = 0; j < b->trace.k; j++)
            if (t % 5 == 0 || mw_random_below(&r, 3) == 0)
                *bench_id(b, 0, t, j) = MW_NO_EXPERT;
}

/// The GPUs of a mask have no tokens: all places of theirs are empty.
static void edit_no_tokens(struct bench *b, void *context)
{
    unsigned mask = *(unsigned *)context;
    for (size_t t = 0; t < b->trace.tokens; t++)
        if (mask >> (t / b->params.shape.tokens_per_gpu) & 1)
            for (unsigned j = 0; j < b->trace.k; j++)
                *bench_id(b, 0, t, j) = MW_NO_EXPERT;
}

static void experts_without_tokens(void **state)
{
    (void)state;
    uint16_t two_on_one[] = {2, 3}, apart[] = {5, 0}, last_first[] = {7, 6, 0, 1};
    bench_all(N4 "--tokens-per-gpu 7 --experts 8 --k 2 --tile 4", edit_same, two_on_one);
    bench_all(N4 "--tokens-per-gpu 7 --experts 8 --k 2 --tile 4 --partial-tiles", edit_same, apart);
    bench_all(N8 "--tokens-per-gpu 9 --experts 8 --k 4 --tile 4", edit_same, last_first);
    bench_all(N2 "--tokens-per-gpu 9 --experts 8 --k 4 --tile 2", edit_same, last_first);
}

static void tokens_at_home_and_away(void **state)
{
    (void)state;
    bench_all(N8 "--tokens-per-gpu 9 --experts 64 --k 6 --tile 4", edit_local, NULL);
    bench_all(N2 "--tokens-per-gpu 9 --experts 8 --k 4 --tile 16", edit_local, NULL);
    bench_all(N8 "--tokens-per-gpu 9 --experts 64 --k 6 --tile 4", edit_away, NULL);
    bench_all(N4 "--tokens-per-gpu 9 --experts 16 --k 8 --tile 1", edit_away, NULL);
}

static void empty_places(void **state)
{
    (void)state;
    unsigned one = 1 << 2, all_but_one = 0xf & ~2u, all = 0xff;
    bench_all(N8 "--tokens-per-gpu 11 --k 4 --tile 4 --allow-padding", edit_padding, NULL);
    bench_all(N2 "--tokens-per-gpu 11 --experts 4 --k 3 --tile 2 --allow-padding", edit_padding,
              NULL);
    bench_all(N8 "--tokens-per-gpu 6 --tile 4 --allow-padding", edit_no_tokens, &one);
    bench_all(N4 "--tokens-per-gpu 6 --tile 4 --allow-padding", edit_no_tokens, &all_but_one);
    bench_all(N4 "--tokens-per-gpu 6 --tile 4 --allow-padding", edit_no_tokens, &all);
}

/// Tokens of zeros, of -0, of both alternately, and others, with empty places. A sum keeps the sign
/// of a zero. Only nvls uses -0 for a term that is missing.
static void tokens_of_zeros(void **state)
{
    (void)state;
    static const char *const options[] = {
        N8 "--tokens-per-gpu 12 --k 4 --tile 4 --allow-padding",
        N4 "--tokens-per-gpu 12 --experts 16 --k 8 --tile 2 --allow-padding",
        N2 "--tokens-per-gpu 12 --experts 8 --k 3 --tile 1 --allow-padding"};
    for (unsigned o = 0; o < sizeof options / sizeof *options; o++) {
        struct bench b;
        bench_options(&b, "%s", options[o]);
        bench_prepare(&b, edit_padding, NULL);
        const size_t hidden = b.w.shape.hidden;
        for (unsigned e = 0; e < b.w.experts && o < 2; e++) // of no sign: all terms of -0 are
            b.w.coefficients[e] &= 0x7fff;
        for (size_t t = 0; t < b.w.tokens; t++)
            for (size_t i = 0; i < hidden && t % 4 != 3; i++)
                b.w.layer[0].x[t * hidden + i] = t % 4 == 1 || (t % 4 == 2 && i % 2) ? 0x8000 : 0;
        bench_golden(&b);
        size_t zeros[2] = {0, 0}; // +0, -0
        for (size_t i = 0; i < b.w.tokens * hidden; i++)
            if (!(b.expected[0].out[i] & 0x7fff))
                zeros[b.expected[0].out[i] >> 15]++;
        assert_true(zeros[0] > 4 * hidden && zeros[1] > (o < 2 ? 4 * hidden : 0));
        for (unsigned i = 0; i < MW_SYSTEMS; i++)
            bench_pass(&b, mw_systems[i].name);
        bench_free(&b);
    }
}

/// Of a layer with `set`, cycles.
static uint64_t cycles_with(const char *system, const char *layer, const char *set)
{
    struct bench b;
    bench_options(&b, "%s%s", layer, set);
    bench_prepare(&b, NULL, NULL);
    uint64_t cycles = bench_pass(&b, system);
    bench_free(&b);
    return cycles;
}

/// moe-hub with software in place of allocators and trackers, and with merged small stores.
static void without_mechanisms(void **state)
{
    (void)state;
    static const char *const more[] = {"--set allocator=0", "--set tracker=0",
                                       "--set allocator=0 --set tracker=0 --costs papers",
                                       "--set tracker=0 --set scatter=3 --set packet_manager=1",
                                       "--set allocator=1 --set tracker=1"};
    static const char *const sizes[] = {N8 "--tokens-per-gpu 10 --tile 4",
                                        N4 "--tokens-per-gpu 9 --experts 16 --k 4 --tile 2"};
    for (unsigned s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        uint64_t as_it_is = 0;
        for (unsigned m = sizeof more / sizeof *more; m--;) {
            struct bench b;
            bench_options(&b, "%s %s", sizes[s], more[m]);
            bench_prepare(&b, NULL, NULL);
            const uint64_t cycles = bench_pass(&b, "moe-hub");
            print_message("%s: %llu cycles\n", more[m], (unsigned long long)cycles);
            as_it_is = as_it_is ? as_it_is : cycles;
            assert_true(strstr(more[m], "tracker=0") ? cycles > as_it_is + as_it_is / 10
                                                     : cycles >= as_it_is);
            bench_free(&b);
        }
    }
    // the other systems have neither, and run as usual
    for (unsigned i = 0; i < MW_SYSTEMS; i++)
        if (strcmp(mw_systems[i].name, "moe-hub") != 0)
            assert_int_equal(
                cycles_with(mw_systems[i].name, sizes[1], ""),
                cycles_with(mw_systems[i].name, sizes[1], " --set allocator=0 --set tracker=0"));
}

// ---- layers -------------------------------------------------------------------------------------

/// More layers than epochs, back to back without a reset. Equal layers take equal cycles.
static void layers_back_to_back(void **state)
{
    (void)state;
    static const char layers[] = "--tokens-per-gpu 10 --tile 4 --layers 0,1,2,0,0,3,2,0,1";
    struct bench size[2]; // the systems in turn
    bench_options(&size[0], N8 "%s", layers);
    bench_options(&size[1], N4 "%s", layers);
    bench_prepare(&size[0], NULL, NULL);
    bench_prepare(&size[1], NULL, NULL);
    for (unsigned i = 0; i < MW_SYSTEMS; i++) {
        const struct bench *b = &size[i % test_cases(2, 1)];
        struct mw_result r;
        int status = bench_run(b, mw_systems[i].name, &r);
        bench_check(b, mw_systems[i].name, &r, status);
        for (unsigned l = 0; l < r.layers; l++)
            for (unsigned m = 0; m < l; m++)
                if (b->params.layers[l] == b->params.layers[m]) {
                    assert_int_equal(r.layer[l].cycles, r.layer[m].cycles);
                    assert_memory_equal(r.layer[l].stall, r.layer[m].stall,
                                        r.layer[l].stalls * sizeof r.layer[l].stall[0]);
                }
        mw_result_free(&r);
    }
    bench_free(&size[0]);
    bench_free(&size[1]);
}

/// A new device gives the same cycles again, after any runs of the first.
static void runs_repeat(void **state)
{
    (void)state;
    struct bench b;
    bench_options(&b, N4 "--tokens-per-gpu 10 --tile 4 --set throttle=60 --set down_throttle=60");
    bench_prepare(&b, NULL, NULL);
    for (unsigned i = 0; i < MW_SYSTEMS; i++)
        assert_int_equal(bench_pass(&b, mw_systems[i].name), bench_pass(&b, mw_systems[i].name));
    bench_free(&b);
}

/// A launch precedes every layer, and in a phased system two more kernels. Each makes the layer
/// longer by its cycles. Units that alternate by the cycle start at go. The sweep of the tables
/// starts at go, too, so a layer that begins later does not wait for it.
static void launches_cost_what_they_say(void **state)
{
    (void)state;
    static const unsigned launches[] = {4, 444, 65535, 65532};
    static const char layer[] = N2 "--tokens-per-gpu 10 --tile 4 --experts 8 --layers ";
    for (unsigned i = 0; i < MW_SYSTEMS; i++) {
        const char *system = mw_systems[i].name;
        const uint64_t of[] = {0, cycles_with(system, layer, "0"),
                               cycles_with(system, layer, "0,1")};
        const unsigned kernels = mw_systems[i].phased ? 3 : 1;
        // two systems alone, one of them phased, wait for the longest launch, one layer of theirs
        for (unsigned n = 0; n < test_cases(i % 4 == 1 ? 3 : 2, 4); n++) {
            const unsigned layers = launches[n] > 1000 ? 1 : 2;
            char set[64];
            snprintf(set, sizeof set, "%s --set launch_cycles=%u", layers == 1 ? "0" : "0,1",
                     launches[n]);
            const uint64_t cycles =
                cycles_with(system, layer, set) - (uint64_t)layers * kernels * launches[n];
            assert_in_range(cycles, of[layers] - of[layers] / 16, of[layers] + of[layers] / 16);
        }
    }
}

enum { BESIDE = -1 }; ///< a cost that overlaps with other work of a layer

static const char *const costs[] = {"launch", "exchange", "barrier", "address", "poll", "order"};
enum { COSTS = sizeof costs / sizeof *costs };

/// How often each cost occurs in sequence in a layer of 10 tokens.
static const struct charged {
    const char *system;
    int times[COSTS]; ///< as in `costs`
} charged[] = {{"unicast", {3, 1, 1, 10, 6, 0}},  {"overlap", {1, 1, 0, 10, BESIDE, 0}},
               {"nvls", {3, 0, 2, 0, 1, 0}},      {"moe-hub", {1, 0, 0, 0, 0, 0}},
               {"flashdmoe", {1, 0, 0, 0, 0, 0}}, {"dysharp-basic", {3, 0, 1, 0, 0, 0}},
               {"dysharp", {1, 0, 0, 0, 0, 0}},   {"moeswitch", {1, 0, 0, 0, 0, BESIDE}}};

static const int *times_of(const char *system)
{
    for (unsigned i = 0; i < sizeof charged / sizeof *charged; i++)
        if (strcmp(charged[i].system, system) == 0)
            return charged[i].times;
    fail_msg("%s: what costs of software it meets is not listed", system);
    return NULL;
}

/// Each cost of software makes a layer longer by the sum of its sequential occurrences. At most
/// half of the layer overlaps with them, and at most 1/16 of it is added. Systems without the cost
/// take the same cycles.
static void costs_are_charged(void **state)
{
    (void)state;
    static const char layer[] = N2 "--tokens-per-gpu 10 --tile 4 --experts 8";
    for (unsigned i = 0; i < MW_SYSTEMS; i++) {
        const char *system = mw_systems[i].name;
        const int *times = times_of(system);
        const uint64_t without = cycles_with(system, layer, "");
        for (unsigned c = 0; c < COSTS; c++) {
            char set[48];
            // the sum of all occurrences, so that one more or fewer is beyond the bounds
            const unsigned cycles = times[c] > 3 ? 20000 : 10000;
            const unsigned each = cycles / (times[c] > 1 ? (unsigned)times[c] : 1);
            snprintf(set, sizeof set, " --set %s_cycles=%u", costs[c], each);
            const uint64_t with = cycles_with(system, layer, set);
            print_message("%s,%s: %llu cycles, %llu without\n", system, set,
                          (unsigned long long)with, (unsigned long long)without);
            if (times[c] == BESIDE)
                assert_true(with >= cycles);
            else if (times[c])
                assert_in_range(with, cycles + without / 2, cycles + without + without / 16);
            else
                assert_int_equal(with, without);
        }
    }
    // after each of the 15 ranges a stream waits for one flag of another GPU, during any other work
    assert_in_range(cycles_with("overlap", layer, " --set poll_cycles=3000"), 30000, 180000);
    // no progress is visible for longer than the library's own limit, 200 000 cycles
    assert_true(cycles_with("unicast", layer, " --set barrier_cycles=220000") > 220000);
}

/// All systems, directly compared: the same bits.
static void systems_agree(void **state)
{
    (void)state;
    struct bench b;
    struct mw_result r[MW_SYSTEMS];
    bench_options(&b, N8 "--tokens-per-gpu 16 --tile 4 --spread far");
    bench_prepare(&b, NULL, NULL);
    size_t bytes = (size_t)b.w.tokens * b.w.shape.hidden * 2;
    for (unsigned i = 0; i < MW_SYSTEMS; i++) {
        int status = bench_run(&b, mw_systems[i].name, &r[i]);
        bench_check(&b, mw_systems[i].name, &r[i], status);
    }
    for (unsigned i = 1; i < MW_SYSTEMS; i++)
        assert_memory_equal(r[0].layer[0].out, r[i].layer[0].out, bytes);
    for (unsigned i = 0; i < MW_SYSTEMS; i++)
        mw_result_free(&r[i]);
    bench_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_of_device),
        cmocka_unit_test(tiles),
        cmocka_unit_test(experts_per_token),
        cmocka_unit_test(rows),
        cmocka_unit_test(types_of_rows),
        cmocka_unit_test(engines),
        cmocka_unit_test(links),
        cmocka_unit_test(limits),
        cmocka_unit_test(tokens_in_flight),
        cmocka_unit_test(spreads),
        cmocka_unit_test(small_device),
        cmocka_unit_test(experts_without_tokens),
        cmocka_unit_test(tokens_at_home_and_away),
        cmocka_unit_test(empty_places),
        cmocka_unit_test(tokens_of_zeros),
        cmocka_unit_test(without_mechanisms),
        cmocka_unit_test(layers_back_to_back),
        cmocka_unit_test(runs_repeat),
        cmocka_unit_test(launches_cost_what_they_say),
        cmocka_unit_test(costs_are_charged),
        cmocka_unit_test(systems_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
