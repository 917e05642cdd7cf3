// SPDX-License-Identifier: Apache-2.0
//
// `moeswitch list`, `info`, `selftest` and `bench link` on the simulated device, and --device.
#include "system/command.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SMALL "--gpus 4 --flit-bytes 8"

static void assert_out(const char *part)
{
    if (!strstr(out_text, part))
        fail_msg("\"%s\" is not in \"%s\"", part, out_text);
}

static void test_info(void **state)
{
    (void)state;
    assert_int_equal(run_command("info --device sim " SMALL), 0);
    assert_out("GPUs             4, 8.0 GiB of memory each");
    assert_out("flits            8 bytes");
    assert_out("streams          4 on each GPU, of up to 256 instructions\n");
    assert_out("loads            32 open and 8 open SYNCs of a GPU, 320 entries at a port\n"
               "sums             64 entries at a port\n"
               "primitives ");
    assert_out(
        "primitives       adder_bypass, target_list_cache, switch_reductions, "
        "tile_reductions, merge_loads, merge_reds, row_types, gate_gradients, cached_handle, "
        "balance_rows, token_order, "
        "link_rate, delay, "
        "row_ranges, "
        "more_events, gathered, row_sparse, source_lists, packet_manager, "
        "cache_limit, multimem_red\n"
        "reductions       bf16, fp16, fp32, u32, s32, u64, s64, e4m3, e5m2, fp64\n"
        "MoE systems      unicast, overlap, nvls, moe-hub, flashdmoe, dysharp-basic, dysharp, "
        "moeswitch\n"
        "tensor-parallel  nvls, nvls-tile, chain, pull, t3, ring, tiles, cais-ordered, "
        "cais, cais-base\n");
    assert_null(strstr(out_text, "firmware"));
    assert_int_equal(run_command("info --device sim --gpus 3 --flit-bytes 16"), 0);
    assert_out("320 entries and 16.0 KiB of kept answers at a port\n");
}

/// A device without all primitives reports which systems it cannot run, and the missing primitive.
static void test_info_lacks(void **state)
{
    (void)state;
    setenv("MOESWITCH_MODEL", "build/model/n2f8-published/libmwsim.so", 1);
    assert_int_equal(run_command("info --gpus 2 --flit-bytes 8"), 0);
    unsetenv("MOESWITCH_MODEL");
    assert_null(strstr(out_text, "\nloads "));
    assert_null(strstr(out_text, "\nsums "));
    assert_out(
        "MoE systems      unicast, overlap, nvls, moe-hub, flashdmoe, dysharp-basic, dysharp\n"
        "lacks for        moeswitch: target_list_cache\n"
        "tensor-parallel  nvls, nvls-tile, chain, pull, t3, ring\n"
        "lacks for        tiles: tile_reductions, cais-ordered: tile_reductions, "
        "cais: tile_reductions, cais-base: tile_reductions\n");
}

static void test_selftest(void **state)
{
    (void)state;
    assert_int_equal(run_command("selftest " SMALL), 0);
    assert_out("4 of 65536 bytes written and read, 0 wrong");
    assert_out("\nunicast ");
    assert_out("\ndysharp ");
}

/// The layer of the self-test fits the memory of a board.
static void test_selftest_small(void **state)
{
    (void)state;
    setenv("MOESWITCH_MODEL", "build/model/n4f8-small/libmwsim.so", 1);
    int status = run_command("selftest " SMALL);
    unsetenv("MOESWITCH_MODEL");
    if (status)
        fail_msg("status %d: %s", status, err_text);
    assert_out("4 of 16384 bytes written and read, 0 wrong");
    assert_out("\ndysharp ");
}

static void test_bench_link(void **state)
{
    (void)state;
    assert_int_equal(run_command("bench link " SMALL), 0);
    unsigned long bytes, writes, reads, wrong, lines = 0;
    double to_device, from_device;
    for (const char *at = strstr(out_text, "#wrong"); at; at = strchr(at + 1, '\n'))
        if (sscanf(at, "\n %lu %lu %lf %lu %lf %lu", &bytes, &writes, &to_device, &reads,
                   &from_device, &wrong) == 6) {
            assert_int_equal(bytes, 16ul << 2 * lines++);
            assert_true(writes > 0 && reads > 0 && to_device > 0 && from_device > 0);
            assert_int_equal(wrong, 0);
        }
    assert_int_equal(lines, 9); // 16 bytes to 1 MB
}

/// One line on standard error with that part, and status 2.
static void assert_refused(const char *words, const char *part)
{
    assert_int_equal(run_command("%s", words), 2);
    if (strncmp(err_text, "moeswitch: ", 11) != 0 || !strstr(err_text, part) ||
        strchr(err_text, '\n') != err_text + strlen(err_text) - 1)
        fail_msg("%s: \"%s\", expected a line with \"%s\"", words, err_text, part);
}

/// The options for a device on USB reach the library. No device has this serial number.
static void test_no_device(void **state)
{
    (void)state;
    static const char *const commands[] = {"info", "selftest", "bench link", "run",
                                           "bench unicast"};
    for (unsigned i = 0; i < sizeof commands / sizeof *commands; i++) {
        assert_int_equal(run_command("%s --device usb:there-is-none", commands[i]), 4);
        assert_non_null(strstr(err_text, "moeswitch: "));
        assert_ptr_equal(strchr(err_text, '\n'), err_text + strlen(err_text) - 1);
    }
}

static void test_bad_input(void **state)
{
    (void)state;
    assert_refused("info --device pci",
                   "--device pci: expected sim, sim:lanes, sim:plain or usb, or usb:SERIAL");
    assert_refused("info --device usb:", "--device usb:");
    assert_refused("info --device", "--device: the value is missing");
    assert_refused("info --gpus 1", "--gpus 1");
    assert_refused("list all", "all: unexpected word");
    assert_refused("selftest --fast", "--fast: unknown option, see moeswitch selftest --help");
    assert_refused("bench link --iters 3", "--iters: unknown option, see moeswitch bench link");
    assert_refused("run --device usb:X --trace-fst x.fst", "--trace-fst: only with --device sim");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_info),       cmocka_unit_test(test_info_lacks),
        cmocka_unit_test(test_selftest),   cmocka_unit_test(test_selftest_small),
        cmocka_unit_test(test_bench_link), cmocka_unit_test(test_no_device),
        cmocka_unit_test(test_bad_input),
    };
    return cmocka_run_group_tests_name("device_commands", tests, NULL, NULL);
}
