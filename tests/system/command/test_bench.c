// SPDX-License-Identifier: Apache-2.0
//
// `moeswitch bench`: every pattern with the right bytes, its JSON, bad options, and that a wrong
// byte in any result is found.
#include "system/command.h"

#include "bench/bench.h"

#include <math.h>
#include <signal.h>
#include <sys/stat.h>

enum { LINES = MW_BENCH_PATTERNS };

static int set_up(void **state)
{
    return scratch_make(state) || mkdir(scratch("files"), 0777);
}

/// The rows of a JSON file. Free `whole` by cJSON_Delete.
static cJSON *read_rows(const char *path, cJSON **whole)
{
    *whole = read_json(path);
    cJSON *rows = cJSON_GetObjectItem(*whole, "rows");
    assert_true(cJSON_IsArray(rows));
    return rows;
}

// ---- patterns -----------------------------------------------------------------------------------

static void check_rows(const char *path, unsigned gpus, unsigned sizes)
{
    cJSON *whole, *rows = read_rows(path, &whole);
    assert_int_equal(cJSON_GetArraySize(rows), LINES * sizes);
    for (int i = 0; i < cJSON_GetArraySize(rows); i++) {
        const cJSON *row = cJSON_GetArrayItem(rows, i);
        const char *name = cJSON_GetStringValue(cJSON_GetObjectItem(row, "pattern"));
        assert_string_equal(name, mw_bench_patterns[i / (int)sizes].name);
        assert_true(number(row, "gpus") == gpus && number(row, "window") == 0);
        assert_true(number(row, "size") > 0 && number(row, "cycles") > 0);
        assert_true(number(row, "share") > 0.05 && number(row, "share") <= 1);
        assert_true(number(row, "busiest") > 0.05 && number(row, "busiest") <= 1);
        assert_true(number(row, "algbw") == number(row, "algbw") && number(row, "busbw") > 0);
        if (number(row, "wrong") != 0)
            fail_msg("%s: %g wrong", name, number(row, "wrong"));
    }
    cJSON_Delete(whole);
}

static void all_patterns(const char *options, unsigned gpus)
{
    char json[512];
    snprintf(json, sizeof json, "%s", scratch("files/all.json"));
    int status = run_command("bench all %s --minbytes 2K --maxbytes 4K --stepfactor 2 --json %s",
                             options, json);
    if (status)
        fail_msg("exit status %d: %s", status, err_text);
    assert_string_equal(err_text, "");
    for (unsigned i = 0; i < MW_BENCH_PATTERNS; i++)
        assert_non_null(strstr(out_text, mw_bench_patterns[i].name));
    assert_non_null(strstr(out_text, "#wrong"));
    check_rows(json, gpus, 2);
    assert_int_equal(remove(json), 0);
}

static void all_patterns_4(void **state)
{
    (void)state;
    all_patterns("--gpus 4 --flit-bytes 8 --link-latency 3 --iters 2", 4);
}

static void all_patterns_2(void **state)
{
    (void)state;
    all_patterns("--gpus 2 --flit-bytes 8 --experts 8 --k 3", 2);
}

/// Blocks that are no multiple of a row, three GPUs, one size that rounds to the smallest.
static void odd_sizes(void **state)
{
    (void)state;
    assert_int_equal(run_command("bench all --gpus 3 --minbytes 5000 --maxbytes 5000 --row 208 "
                                 "--experts 6 --k 2"),
                     MW_EXIT_OK);
    assert_int_equal(
        run_command("bench all --gpus 4 --flit-bytes 8 --minbytes 1 --maxbytes 1 --row 8"),
        MW_EXIT_OK);
}

/// Every type with each of its operators, and both flit widths. With three GPUs, some experts share
/// one. With few cases, each pattern has one width.
static void all_reductions(void **state)
{
    (void)state;
    static const char *const options[] = {"--gpus 3 --row 208",
                                          "--gpus 4 --flit-bytes 8 --row 128"};
    static const char *const few[] = {"reduce_scatter,combine --experts 12 --k 6",
                                      "all_reduce,red"};
    for (unsigned i = 0; i < 2; i++) {
        const int patterns = (int)test_cases(2, 4);
        char json[512];
        snprintf(json, sizeof json, "%s", scratch("files/types.json"));
        int status = run_command(
            "bench %s %s --type all --redop all --minbytes 2K --maxbytes 2K --json %s",
            patterns == 2 ? few[i] : "reduce_scatter,all_reduce,red,combine --experts 12 --k 6",
            options[i], json);
        if (status)
            fail_msg("exit status %d: %s", status, err_text);
        cJSON *whole, *rows = read_rows(json, &whole);
        assert_int_equal(cJSON_GetArraySize(rows), patterns * 40);
        const cJSON *last = cJSON_GetArrayItem(rows, patterns * 40 - 1);
        assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(last, "type")), "fp64");
        assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(last, "redop")), "sum");
        assert_true(number(last, "count") == number(last, "size") / 8);
        cJSON_Delete(whole);
        assert_int_equal(remove(json), 0);
    }
    assert_int_equal(run_command("bench reduce_scatter --gpus 3 --type u32 --redop max"),
                     MW_EXIT_OK);
    assert_non_null(strstr(out_text, "   u32    max "));
}

/// A file of a machine of `planes` planes. A cycle is a nanosecond, and links have 6 cycles.
static const char *write_machine(unsigned planes)
{
    static char path[300];
    char text[400];
    snprintf(path, sizeof path, "%s", scratch("machine.json"));
    snprintf(text, sizeof text,
             "{\"name\": \"m\", \"gpus\": 2, \"planes\": %u, \"link_gbytes_per_s\": %u, "
             "\"link_latency_ns\": 6, \"memory_gbytes_per_s\": 999, \"tflops\": {\"bf16\": 1}, "
             "\"source\": \"s\"}",
             planes, 8 * planes);
    write_file(path, text, strlen(text));
    return path;
}

/// The same cycles as with the same latency by hand. A cycle is a nanosecond, and four planes carry
/// four times as much.
static void machines(void **state)
{
    (void)state;
    char json[512];
    snprintf(json, sizeof json, "%s", scratch("files/machine.json"));
    assert_int_equal(run_command("bench unicast,all_reduce --hardware %s --flit-bytes 8 --maxbytes "
                                 "4K --json %s",
                                 write_machine(4), json),
                     MW_EXIT_OK);
    assert_non_null(
        strstr(out_text, "# m: one plane of 4, whose sizes these are; a cycle is 1.000 ns"));
    assert_non_null(strstr(out_text, "#wrong         us   algGB/s   busGB/s\n"));
    cJSON *whole, *rows = read_rows(json, &whole);
    double cycles[2];
    assert_int_equal(cJSON_GetArraySize(rows), 2);
    for (int i = 0; i < 2; i++) {
        const cJSON *row = cJSON_GetArrayItem(rows, i);
        cycles[i] = number(row, "cycles");
        assert_true(fabs(number(row, "us") - cycles[i] / 1000) < 1e-9);
        assert_true(fabs(number(row, "algorithm_gbytes_per_s") - 4 * number(row, "algbw")) < 1e-9);
        assert_true(fabs(number(row, "bus_gbytes_per_s") - 4 * number(row, "busbw")) < 1e-9);
    }
    cJSON_Delete(whole);
    assert_int_equal(run_command("bench unicast,all_reduce --gpus 2 --flit-bytes 8 --maxbytes 4K "
                                 "--link-latency 6 --json %s",
                                 json),
                     MW_EXIT_OK);
    assert_null(strstr(out_text, "GB/s"));
    rows = read_rows(json, &whole);
    for (int i = 0; i < 2; i++) {
        const cJSON *row = cJSON_GetArrayItem(rows, i);
        assert_true(number(row, "cycles") == cycles[i]);
        assert_null(cJSON_GetObjectItem(row, "us"));
    }
    cJSON_Delete(whole);
    assert_int_equal(
        run_command("bench latency --hardware %s --flit-bytes 8 --iters 3 --maxbytes 16 "
                    "--json %s",
                    write_machine(1), json),
        MW_EXIT_OK);
    rows = read_rows(json, &whole);
    const cJSON *row = cJSON_GetArrayItem(rows, 0);
    assert_true(fabs(number(row, "typical_us") - number(row, "typical") / 1000) < 1e-9);
    assert_true(fabs(number(row, "p99_9_us") - number(row, "p99_9") / 1000) < 1e-9);
    cJSON_Delete(whole);
    assert_int_equal(remove(json), 0);
}

static void split_traffic(void **state)
{
    (void)state;
    char json[512];
    snprintf(json, sizeof json, "%s", scratch("files/split.json"));
    assert_int_equal(run_command("bench unicast,multicast --gpus 4 --flit-bytes 8 --split "
                                 "--minbytes 16K --maxbytes 16K --json %s",
                                 json),
                     MW_EXIT_OK);
    cJSON *whole, *rows = read_rows(json, &whole);
    for (int i = 0; i < 2; i++) {
        const cJSON *row = cJSON_GetArrayItem(rows, i);
        assert_true(number(row, "wrong") == 0 && number(row, "share") > 0.4);
    }
    cJSON_Delete(whole);
    assert_int_equal(remove(json), 0);
}

/// One line of a pattern on eight GPUs, with `kib` KiB each. Returns its share of the links.
static double share_of(const char *options, unsigned kib)
{
    char json[512];
    snprintf(json, sizeof json, "%s", scratch("files/share.json"));
    assert_int_equal(run_command("bench %s --gpus 8 --minbytes %uK --maxbytes %uK --json %s",
                                 options, kib, kib, json),
                     MW_EXIT_OK);
    cJSON *whole, *rows = read_rows(json, &whole);
    const cJSON *row = cJSON_GetArrayItem(rows, 0);
    assert_true(number(row, "wrong") == 0);
    double share = number(row, "share");
    printf("%s: %.4f\n", options, share);
    cJSON_Delete(whole);
    assert_int_equal(remove(json), 0);
    return share;
}

/// The figures of the switch hold with hubs around it. A window of one shows the known limit of
/// four inputs and four outputs. In a quarter of the bytes, start and end have a larger share.
static void look_ahead(void **state)
{
    (void)state;
    const unsigned kib = test_cases(128, 512);
    const double edge = kib < 512 ? 0.01 : 0;
    const double one = share_of("unicast --split --window 1", kib);
    assert_true(one > 0.645 && one < 0.665 + edge);
    assert_true(share_of("unicast", kib) >= 0.99 - edge);
    assert_true(share_of("multicast --window 4", kib) >= 0.98);
    assert_true(share_of("multicast --window 16", kib) >= 0.995);
}

/// Every packet of the class is in the distribution. There is one store per 16 flits of payload,
/// which are 128 bytes. There is one result per 128 bytes of the row. --window shortens the wait in
/// the switch.
static void distribution(void **state)
{
    (void)state;
    double p99[2] = {0};
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(
            run_command("bench unicast,reduce_scatter --gpus 4 --flit-bytes 8 --minbytes 16K "
                        "--maxbytes 16K --row 128 --window %u --distribution --json %s",
                        i ? 1 : 0, scratch("files/d.json")),
            MW_EXIT_OK);
        assert_non_null(strstr(out_text, "cycles in the switch"));
        cJSON *whole, *rows = read_rows(scratch("files/d.json"), &whole);
        for (int r = 0; r < 2; r++) {
            const cJSON *row = cJSON_GetArrayItem(rows, r);
            const cJSON *d = cJSON_GetObjectItem(row, "switch_latency");
            assert_non_null(d);
            // unicast: rows of one packet, and each GPU's fence to the 3 others. Sum: every GPU's 4
            // KB block comes in packets
            double packets = r == 0 ? 4 * (16384 / 128 + 3) : 4 * 4096 / 128;
            assert_true(number(d, "packets") == packets);
            assert_true(number(d, "p50") >= 3 && number(d, "p99_9") <= number(d, "max"));
            if (r == 0)
                p99[i] = number(d, "p99");
        }
        cJSON_Delete(whole);
        remove(scratch("files/d.json"));
    }
    assert_true(p99[0] != p99[1]);
}

/// Another seed gives other traffic. The same seed gives equal output, to the byte.
static void seeds(void **state)
{
    (void)state;
    static const unsigned seed[3] = {5, 5, 6};
    char *text[3];
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(run_command("bench unicast --gpus 4 --flit-bytes 8 --maxbytes 4K "
                                     "--seed %u",
                                     seed[i]),
                         MW_EXIT_OK);
        text[i] = strdup(strchr(out_text, '\n')); // the first line has the seed
    }
    assert_string_equal(text[0], text[1]);
    assert_string_not_equal(text[1], text[2]);
    for (unsigned i = 0; i < 3; i++)
        free(text[i]);
}

static void latency(void **state)
{
    (void)state;
    char json[512];
    snprintf(json, sizeof json, "%s", scratch("files/latency.json"));
    double average[2] = {0};
    for (unsigned load = 0; load < 2; load++) {
        int status = run_command("bench latency --gpus 4 --flit-bytes 8 --iters 30 --minbytes 16 "
                                 "--maxbytes 64 %s --json %s",
                                 load ? "--load" : "", json);
        if (status)
            fail_msg("exit status %d: %s", status, err_text);
        cJSON *whole, *rows = read_rows(json, &whole);
        assert_int_equal(cJSON_GetArraySize(rows), 2);
        for (int i = 0; i < 2; i++) {
            const cJSON *row = cJSON_GetArrayItem(rows, i);
            static const char *const order[] = {"min", "typical", "p99", "p99_9", "max"};
            for (unsigned k = 0; k + 1 < 5; k++)
                assert_true(number(row, order[k]) <= number(row, order[k + 1]));
            assert_true(number(row, "min") > 10 && number(row, "average") < 2000);
            assert_true(number(row, "count") == 30 && number(row, "wrong") == 0);
        }
        average[load] = number(cJSON_GetArrayItem(rows, 0), "average");
        cJSON_Delete(whole);
    }
    assert_true(average[1] > average[0]);
    assert_non_null(strstr(out_text, "typical"));
    assert_int_equal(remove(json), 0);
}

// ---- wrong bytes --------------------------------------------------------------------------------

/// Flip a bit at `address` of GPU `gpu`.
static void flip(struct mw_device *device, unsigned gpu, uint64_t address)
{
    uint8_t data[MW_MEM_ALIGN];
    struct mw_transfer t = {gpu, address / MW_MEM_ALIGN * MW_MEM_ALIGN, sizeof data, data};
    assert_int_equal(mw_mem_read(device, &t, 1), 0);
    data[address % MW_MEM_ALIGN] ^= 4;
    assert_int_equal(mw_mem_write(device, &t, 1), 0);
}

/// Where GPU 1 has bytes of the result.
static uint64_t result_of(const struct mw_bench *b)
{
    if (b->pattern->fewest)
        return b->result + b->size / b->info.gpus + 4; // its own block, which alltoall leaves alone
    if (!b->pattern->gates)
        return 4; // token 0, for any list
    return (b->pattern->make == mw_bench_combine ? b->layout.out_base : b->layout.xd_base) + 4;
}

static void finds_wrong_bytes(void **state)
{
    (void)state;
    struct mw_error err = {0};
    struct mw_open_options o;
    struct mw_bench_params params = {
        .gpus = 2, .flit_bytes = 8, .iterations = 1, .experts = 8, .k = 3, .seed = 3};
    struct mw_bench b = {.params = &params, .err = &err};
    mw_open_defaults(&o);
    o.gpus = 2;
    o.flit_bytes = 8;
    assert_int_equal(mw_open(&o, &b.device), 0);
    assert_int_equal(mw_info(b.device, &b.info), 0);
    for (unsigned i = 0; i < MW_BENCH_PATTERNS; i++) {
        b.pattern = &mw_bench_patterns[i];
        b.size = 1024;
        b.row = 128;
        b.seed = 7 + i;
        assert_int_equal(b.pattern->prepare(&b), 0);
        assert_int_equal(b.pattern->load(&b), 0);
        assert_int_equal(mw_bench_load_streams(&b, b.pattern->make), 0);
        uint64_t wrong = 0;
        assert_int_equal(b.pattern->check(&b, &wrong), 0);
        assert_true(wrong > 0); // nothing was sent yet
        unsigned experts[2] = {b.config.experts_per_gpu, b.config.experts_per_gpu};
        assert_int_equal(mw_layer_configure(b.device, &b.config, &b.layout, b.tokens, experts,
                                            (1u << b.streams) - 1),
                         0);
        assert_int_equal(mw_launch(b.device), 0);
        assert_int_equal(mw_wait(b.device, NULL, NULL), 0);
        for (unsigned turn = 0; turn < 3; turn++) {
            wrong = 0;
            assert_int_equal(b.pattern->check(&b, &wrong), 0);
            if (wrong != turn % 2)
                fail_msg("%s: %u wrong elements, expected %u", b.pattern->name, (unsigned)wrong,
                         turn % 2);
            flip(b.device, 1, result_of(&b));
        }
        mw_bench_release(&b);
    }
    mw_close(b.device);
}

// ---- bad options --------------------------------------------------------------------------------

#define REFUSES(words, ...) ASSERT_REFUSES("bench", words, __VA_ARGS__)

#define SMALL " --gpus 2 --flit-bytes 8 --maxbytes 4K "

static void refuses_bad_options(void **state)
{
    (void)state;
    REFUSES("", "no pattern");
    REFUSES("alltoal", "alltoal", "no such pattern");
    REFUSES("unicast,", "unicast,", "no such pattern");
    REFUSES("unicast alltoall", "alltoall", "unexpected word");
    REFUSES("unicast,unicast", "unicast,unicast", "unicast is there twice");
    REFUSES("all,unicast", "all,unicast", "all stands alone");
    REFUSES("unicast --speed 3", "--speed", "unknown option");
    REFUSES("unicast --gpus 1", "--gpus 1", "2 to 72");
    REFUSES("unicast --gpus x", "--gpus x");
    REFUSES("unicast --flit-bytes 12", "--flit-bytes 12", "8 or 16");
    REFUSES("unicast --minbytes 0", "--minbytes 0");
    REFUSES("unicast --minbytes 4Q", "--minbytes 4Q");
    REFUSES("unicast --minbytes 8K --maxbytes 4K", "--minbytes 8192", "--maxbytes 4096");
    REFUSES("unicast --stepfactor 1", "--stepfactor 1");
    REFUSES("unicast --iters 0", "--iters 0");
    REFUSES("unicast --row 100", "--row 100", "16-byte flit");
    REFUSES("unicast --k 2", "--k", "only with");
    REFUSES("multicast --experts 4 --k 6", "--k 6", "4 experts");
    REFUSES("multicast --split --experts 8 --k 6", "--k 6", "4 experts");
    REFUSES("alltoall --split", "--split", "alltoall");
    REFUSES("unicast --split --gpus 3", "--gpus 3", "odd");
    REFUSES("unicast --load", "--load");
    REFUSES("latency --load --gpus 2", "--load");
    REFUSES("latency --row 128", "--row", "latency");
    REFUSES("alltoall --trace x", "--trace");
    REFUSES("dispatch --trace x --k 3", "--k", "--trace");
    REFUSES("dispatch --trace /nowhere/at/all", "/nowhere/at/all");
    REFUSES("unicast --type fp16", "--type", "only with");
    REFUSES("alltoall --redop min", "--redop", "only with");
    REFUSES("combine --type fp128", "--type fp128");
    REFUSES("combine --type fp64 --redop min", "--redop", "fp64");
    REFUSES("combine --type e4m3.acc::f16", "--type e4m3.acc::f16", "fp16 (.acc::f16)", "fp32");
    REFUSES("combine --redop prod", "--redop prod");
    REFUSES("combine --type fp32 --redop xor", "--redop", "u32");
    REFUSES("unicast --window 300", "--window 300");
    REFUSES("unicast --gpus 4 --flit-bytes 8 --window 17", "--window 17", "0 to 16");
    REFUSES("unicast --set nothing", "--set nothing");
    REFUSES("unicast --set fault=1", "--set fault=1: only of moeswitch run");
    REFUSES("unicast --set small=2", "--set small=2: expected 0 to 1");
    REFUSES("unicast --set throtle=2", "(throttle?)");
    REFUSES("unicast --csv=", "--csv: the name is empty");
}

/// What no option shows: the device refuses it.
static void refuses_what_the_device_cannot_hold(void **state)
{
    (void)state;
    REFUSES("unicast --set nothing=1" SMALL, "--set nothing=1");
    REFUSES("unicast --set small=1 --gpus 4 --flit-bytes 8 --minbytes 4K",
            "the device holds 16384");
    REFUSES("dispatch --gpus 2 --flit-bytes 8 --row 32752 --experts 32 --k 16 --minbytes 255M "
            "--maxbytes 255M",
            "memory per GPU");
    REFUSES("dispatch --gpus 2 --flit-bytes 8 --row 128 --minbytes 4M --maxbytes 4M",
            "tokens per GPU");
    REFUSES("dispatch --experts 9" SMALL, "9 experts", "2 GPUs");
    REFUSES("unicast --link-latency 2048" SMALL, "--link-latency 2048", "1 to 2047");
}

/// Ctrl-C between lines and in the middle of one: those that are whole are kept.
static void ends_when_interrupted(void **state)
{
    (void)state;
    char json[256], words[900];
    snprintf(json, sizeof json, "%s", scratch("files/some.json"));
    const char *what[] = {"unicast --minbytes 2K --maxbytes 64M --stepfactor 4",
                          "latency --minbytes 16 --maxbytes 16M --iters 50"};
    for (unsigned i = 0; i < 2; i++) {
        snprintf(words, sizeof words, "bench %s --gpus 4 --flit-bytes 8 --json %s", what[i], json);
        assert_interrupts(words, i ? SIGTERM : SIGINT,
                          "moeswitch: interrupted: the lines above are complete\n");
        cJSON *whole, *rows = read_rows(json, &whole);
        assert_true(cJSON_GetArraySize(rows) > 0);
        for (int r = 0; r < cJSON_GetArraySize(rows); r++)
            assert_true(number(cJSON_GetArrayItem(rows, r), "wrong") == 0);
        cJSON_Delete(whole);
        assert_int_equal(remove(json), 0);
    }
}

/// `bench` on the device that synth-check measures, like `run`, and data instead of the table.
static void small_device_and_csv(void **state)
{
    (void)state;
    assert_int_equal(run_command("bench unicast,alltoall --set small=1 --gpus 4 --flit-bytes 8 "
                                 "--minbytes 512 --maxbytes 512 --csv -"),
                     MW_EXIT_OK);
    assert_string_equal(err_text, "");
    assert_non_null(strstr(out_text, ",pattern,gpus,window,size,count,type,"));
    assert_non_null(strstr(out_text, ",unicast,4,0,512,256,bf16,"));
    assert_non_null(strstr(out_text, ",alltoall,4,0,512,512,uint8,"));
    assert_null(strchr(out_text, '#'));
    assert_int_equal(run_command("bench unicast --gpus 4 --flit-bytes 8 --maxbytes 4K --quiet"),
                     MW_EXIT_OK);
    assert_string_equal(out_text, "");
}

static void helps(void **state)
{
    (void)state;
    assert_int_equal(run_command("help bench link"), MW_EXIT_OK);
    assert_non_null(strstr(out_text, "usage: moeswitch bench link "));
    assert_int_equal(run_command("help bench nolink"), MW_EXIT_INPUT);
    assert_non_null(strstr(err_text, "nolink: unexpected word behind help bench"));
    assert_int_equal(run_command("bench --help"), MW_EXIT_OK);
    for (unsigned i = 0; i < MW_BENCH_PATTERNS; i++)
        assert_non_null(strstr(out_text, mw_bench_patterns[i].name));
    assert_non_null(strstr(out_text, "algbw * (N - 1) / N"));
}

/// No model of these sizes exists, and none is searched or built if the device cannot hold the
/// largest line.
static void refuses_before_it_builds(void **state)
{
    (void)state;
#define NO_MODEL "bench %s --gpus 31 --flit-bytes 16 --minbytes 1K "
    static const struct {
        const char *pattern, *options, *says;
    } bad[] = {
        {"dispatch", "--maxbytes 512M --row 128 --experts 62",
         "cannot hold this size: tokens per GPU"},
        {"multicast", "--maxbytes 512M --row 128", "cannot hold this size: tokens per GPU"},
        {"combine", "--maxbytes 512M --row 128 --experts 62", "tokens per GPU"},
        {"latency", "--set small=1 --maxbytes 64K", "cannot hold this size: scratch bytes"},
        {"alltoall", "--set small=1 --maxbytes 64K", "cannot hold this size: scratch bytes"},
        {"red", "--set small=1 --maxbytes 16K", "cannot hold this size"},
        {"alltoall", "--set small=1 --set target_list_cache=1", "target_list_cache"},
    };
    setenv("MOESWITCH_MODEL", scratch("no-model"), 1);
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        char words[400];
        snprintf(words, sizeof words, NO_MODEL "%s", bad[i].pattern, bad[i].options);
        if (run_command("%s", words) != MW_EXIT_INPUT)
            fail_msg("%s: %s", words, err_text);
        assert_null(strstr(err_text, "model"));
        if (!strstr(err_text, bad[i].says))
            fail_msg("%s: %s", words, err_text);
    }
    assert_int_equal(run_command("bench alltoall --gpus 31 --maxbytes 64K"), MW_EXIT_FAILED);
    assert_non_null(strstr(err_text, "no-model")); // what fits fails because it is missing
    unsetenv("MOESWITCH_MODEL");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_patterns_4),
        cmocka_unit_test(all_patterns_2),
        cmocka_unit_test(odd_sizes),
        cmocka_unit_test(all_reductions),
        cmocka_unit_test(machines),
        cmocka_unit_test(split_traffic),
        cmocka_unit_test(look_ahead),
        cmocka_unit_test(distribution),
        cmocka_unit_test(seeds),
        cmocka_unit_test(latency),
        cmocka_unit_test(finds_wrong_bytes),
        cmocka_unit_test(ends_when_interrupted),
        cmocka_unit_test(refuses_bad_options),
        cmocka_unit_test(refuses_before_it_builds),
        cmocka_unit_test(refuses_what_the_device_cannot_hold),
        cmocka_unit_test(small_device_and_csv),
        cmocka_unit_test(helps),
    };
    return cmocka_run_group_tests(tests, set_up, scratch_remove);
}
