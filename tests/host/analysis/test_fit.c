// SPDX-License-Identifier: Apache-2.0
//
// Resources of a run. Counts of rows are compared with a plain count, and regions with the
// library's layout. Also the lines for what does not fit, and this machine's memory.
#include "host/support.h"

#include "analysis/fit.h"
#include "base/host_memory.h"
#include "core/device.h" // a device of which nothing but its sizes is there

#include <unistd.h>

static struct mw_trace trace;
static struct mw_demand demand;

/// The demand of the first `layers` layers of a synthetic trace, `tokens` tokens per GPU.
static void make(unsigned gpus, unsigned tokens, unsigned hidden, unsigned experts, unsigned k,
                 unsigned layers)
{
    const struct mw_synthetic how = {.layers = layers,
                                     .tokens = (size_t)gpus * tokens,
                                     .k = k,
                                     .experts = experts,
                                     .sigma = 0.7,
                                     .locality = 0.2,
                                     .seed = 1};
    const struct mw_shape shape = {.gpus = gpus, .tokens_per_gpu = tokens, .hidden = hidden};
    const size_t numbers[] = {0, 1, 2};
    assert_int_equal(mw_trace_make(&trace, &how, NULL), MW_EXIT_OK);
    assert_int_equal(mw_demand_of_trace(&demand, &trace, numbers, layers, &shape, NULL),
                     MW_EXIT_OK);
}

static struct mw_device_info device_of(unsigned gpus, unsigned flit_bytes)
{
    return (struct mw_device_info){.gpus = gpus,
                                   .flit_bytes = flit_bytes,
                                   .mem_bytes = UINT64_C(1) << 34,
                                   .rows = 1 << 18,
                                   .tokens = 8192,
                                   .local_experts = 64,
                                   .experts = 1024};
}

static void counts_rows(void **state)
{
    (void)state;
    // two layers of four tokens on two GPUs, experts 0 and 1 on GPU 0, and 2 and 3 on GPU 1
    static const uint16_t a[4][2] = {{0, 1}, {0, 2}, {0, MW_NO_EXPERT}, {3, 1}},
                          b[4][2] = {{3, 2}, {3, 2}, {3, 2}, {3, 1}};
    const uint16_t *const ids[] = {&a[0][0], &b[0][0]};
    const struct mw_shape shape = {.gpus = 2, .tokens_per_gpu = 2, .hidden = 8};
    struct mw_demand d;
    assert_int_equal(mw_demand_count(&d, &shape, 2, 4, ids, 1, NULL), MW_EXIT_OK);
    assert_int_equal(d.rows_per_expert, 3); // expert 0
    assert_int_equal(d.received_rows, 4);   // all tokens have an expert at GPU 0
    assert_int_equal(d.rows, 7);
    assert_int_equal(d.received, 4 + 2);
    assert_int_equal(mw_demand_count(&d, &shape, 2, 4, ids, 2, NULL), MW_EXIT_OK);
    assert_int_equal(d.rows_per_expert, 4); // expert 3, in the second
    assert_int_equal(d.received_rows, 4);
    assert_int_equal(d.rows, 3 + 2 + 3 + 4);
    assert_int_equal(d.received, 4 + 4);
}

/// The library accepts every size that the tool reports.
static void regions_are_the_librarys(void **state)
{
    (void)state;
    static const struct {
        unsigned gpus, flit_bytes, tokens, hidden, experts, k, batches;
    } sizes[] = {{2, 8, 1, 4, 2, 1, 0},
                 {4, 8, 6, 32, 8, 2, 0},
                 {3, 16, 33, 40, 9, 3, 2},
                 {8, 16, 64, 512, 64, 6, 3},
                 {8, 16, 100, 7168, 256, 8, 0}};
    // unicast, multicast, switch-initiated reductions, rows return, to lists of their sources
    for (unsigned n = 0; n < 5 * sizeof sizes / sizeof *sizes; n++) {
        const unsigned kind = n % 5, i = 2 * (n / 5) + (kind > 0);
        struct mw_device device = {.process = getpid(),
                                   .info = device_of(sizes[i / 2].gpus, sizes[i / 2].flit_bytes)};
        device.info.local_experts = 1024;
        device.info.rows = 1 << 20;
        device.info.stream_instrs = MW_STREAM_INSTRS;
        device.info.target_list_cache = device.info.switch_reductions = device.info.row_sparse =
            device.info.source_lists = true;
        struct mw_layer_config c;
        struct mw_layout layout;
        struct mw_fit fit;
        make(sizes[i / 2].gpus, sizes[i / 2].tokens, sizes[i / 2].hidden, sizes[i / 2].experts,
             sizes[i / 2].k, 1);
        mw_layer_defaults(&c);
        mw_fit_config(&c, &demand, i % 2);
        c.stream_instrs = n + 2;
        c.target_list_cache = c.switch_reductions = kind == 2;
        c.row_returns = kind > 2;
        c.source_lists = kind > 3;
        c.buffers = sizes[i / 2].batches;
        assert_int_equal(mw_layout_make(&device, &c, &layout), 0);
        mw_fit_make(&fit, &c, &device.info, &demand);
        assert_int_equal(fit.bytes, layout.end);
        assert_int_equal(fit.row_shift, layout.row_shift);
        assert_int_equal(fit.cap_shift, layout.cap_shift);
        assert_int_equal(mw_fit_check(&fit, &device.info, &demand, NULL), MW_EXIT_OK);
        uint64_t all = 0;
        for (unsigned r = 0; r < MW_REGIONS; r++) {
            all += fit.region[r].bytes;
            assert_true(fit.region[r].touched <= fit.region[r].bytes * sizes[i / 2].gpus);
        }
        assert_int_equal(all, fit.bytes);
        device.info.mem_bytes = fit.bytes;
        assert_int_equal(mw_fit_check(&fit, &device.info, &demand, NULL), MW_EXIT_OK);
        mw_trace_free(&trace);
    }
}

/// The library accepts what the check accepts, and refuses what it refuses.
static void limits_are_the_librarys(void **state)
{
    (void)state;
    make(4, 100, 512, 16, 4, 1);
    for (unsigned unicast = 0; unicast < 2; unicast++) {
        for (unsigned limit = 0; limit < 4; limit++) {
            for (int64_t step = -1; step <= 1; step++) {
                struct mw_device device = {.process = getpid(), .info = device_of(4, 16)};
                struct mw_layer_config c;
                struct mw_layout layout;
                struct mw_fit fit;
                mw_layer_defaults(&c);
                mw_fit_config(&c, &demand, !unicast);
                mw_fit_make(&fit, &c, &device.info, &demand);
                if (limit == 0)
                    device.info.tokens = (unsigned)(100 + step);
                else if (limit == 1)
                    device.info.local_experts = (unsigned)(4 + step);
                else if (limit == 2)
                    device.info.rows = (unsigned)((4 << fit.cap_shift) + step);
                else
                    device.info.mem_bytes = fit.bytes + (uint64_t)step;
                struct mw_error err = {0};
                int status = mw_fit_check(&fit, &device.info, &demand, &err);
                assert_int_equal(status, step < 0 ? MW_EXIT_INPUT : MW_EXIT_OK);
                assert_int_equal(mw_layout_make(&device, &c, &layout) == 0, status == 0);
            }
        }
    }
    mw_trace_free(&trace);
}

#define REFUSED(info, multicast, ...) \
    refused(info, multicast, (const char *const[]){__VA_ARGS__, NULL})

static void refused(struct mw_device_info info, bool multicast, const char *const *parts)
{
    struct mw_layer_config c;
    struct mw_fit fit;
    struct mw_error err = {0};
    mw_layer_defaults(&c);
    mw_fit_config(&c, &demand, multicast);
    mw_fit_make(&fit, &c, &info, &demand);
    assert_int_equal(mw_fit_check(&fit, &info, &demand, &err), MW_EXIT_INPUT);
    assert_line_has(err.text, parts);
}

static void says_what_does_not_fit(void **state)
{
    (void)state;
    struct mw_device_info info = device_of(8, 16);
    make(8, 300, 7168, 256, 8, 1);
    info.mem_bytes = 32 << 20;
    REFUSED(info, true, "bytes of memory per GPU, it has 33554432", "dispatch rows 256.0 MiB",
            "combine rows 256.0 MiB", "all else", "each of 32 experts: 512 rows, of ",
            "a row takes 16384 bytes, of 14336", "lower --tokens-per-gpu or --hidden");
    REFUSED(info, false, "received rows ", "combine rows ", "partial sums ");
    info = device_of(8, 16);
    info.rows = 2048;
    REFUSED(info, true, "rows per GPU: 16384, it has 2048", "32 experts with 512 each",
            "--tokens-per-gpu");
    info.tokens = 256;
    REFUSED(info, true, "tokens per GPU: 300, it has 256: lower --tokens-per-gpu");
    info.local_experts = 16;
    info.tokens = 300;
    REFUSED(info, true, "experts per GPU: 32, it has 16: raise --gpus or lower --experts");
    mw_trace_free(&trace);
    make(4, 8, 16380, 8, 2, 1);
    REFUSED(device_of(4, 16), true, "32760 bytes per row are no multiple of the 16-byte flit",
            "multiple of 8");
    REFUSED(device_of(4, 8), true, "bytes per row: 32760, it has 32752: --hidden may be 16376");
    mw_trace_free(&trace);
}

// ---- this machine -------------------------------------------------------------------------------

static void reads_available_memory(void **state)
{
    (void)state;
    static const char text[] = "MemTotal:       24000000 kB\nMemFree:         9000000 kB\n"
                               "MemAvailable:   20000000 kB\nBuffers:          100000 kB\n";
    write_file(scratch("meminfo"), text, sizeof text - 1);
    assert_true(mw_memory_available(scratch("meminfo")) == UINT64_C(20000000) << 10);
    assert_true(mw_memory_available("/proc/meminfo") > 0);
    write_file(scratch("old"), text, 54);
    assert_int_equal(mw_memory_available(scratch("old")), 0);
    assert_int_equal(mw_memory_available(scratch("absent")), 0);
}

static void refuses_more_than_there_is(void **state)
{
    (void)state;
    struct mw_memory m = {.gpus = UINT64_C(3) << 30, .host = UINT64_C(1) << 30};
    struct mw_error err = {0};
    assert_int_equal(mw_memory_check(&m, UINT64_C(4) << 30, &err), MW_EXIT_OK);
    assert_int_equal(mw_memory_check(&m, 0, &err), MW_EXIT_OK); // unknown
    assert_int_equal(mw_memory_check(&m, (UINT64_C(4) << 30) - 1, &err), MW_EXIT_INPUT);
    assert_line(err.text, "takes 4.0 GiB", "simulated GPUs 3.0 GiB", "data of the run 1.0 GiB",
                "has 4.0 GiB available", "--tokens-per-gpu or --hidden");
    m.several = true;
    mw_memory_check(&m, 1, &err);
    assert_line(err.text, "has 1 bytes available", "--tokens-per-gpu, --jobs or --hidden");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_rows),
        cmocka_unit_test(regions_are_the_librarys),
        cmocka_unit_test(limits_are_the_librarys),
        cmocka_unit_test(says_what_does_not_fit),
        cmocka_unit_test(reads_available_memory),
        cmocka_unit_test(refuses_more_than_there_is),
    };
    return cmocka_run_group_tests_name("fit", tests, scratch_make, scratch_remove);
}
