// SPDX-License-Identifier: Apache-2.0
//
// Every option of every command, at and beyond both ends of its range: help, parser and device must
// agree. All comes from the tables of options, so a new option is tested as soon as it is in one.
#include "system/command.h"

#include "bench/bench.h"
#include "cli/command_help.h"
#include "device/setting_table.h"
#include "program/commands.h"
#include "run/run.h"
#include "systems/systems.h"
#include "trace/gen.h"

#include <inttypes.h>

/// Parameters of any command.
enum { PARAMS_BYTES = 1 << 16, WORDS = 24 };

static struct mw_error err;

/// Parse `--name=value` alone, as `t` does.
static int parse(const struct mw_option_table *t, const struct mw_option *o, const char *value)
{
    static uint64_t params[PARAMS_BYTES / sizeof(uint64_t)];
    struct mw_options_said said;
    char word[200], *argv[] = {(char *)t->command, word, NULL};
    assert_true(t->params_bytes <= sizeof params);
    memset(params, 0, sizeof params);
    if (t->defaults)
        t->defaults(params);
    snprintf(word, sizeof word, "--%s=%s", o->name, value);
    err = (struct mw_error){0};
    return mw_options_parse(t, 2, argv, params, &said, &err);
}

static void takes(const struct mw_option_table *t, const struct mw_option *o, const char *value)
{
    if (parse(t, o, value))
        fail_msg("%s --%s %s is in its range: %s", t->command, o->name, value, err.text);
}

/// The line has the range as help states it.
static void refuses(const struct mw_option_table *t, const struct mw_option *o, const char *value,
                    const char *range)
{
    char name[100];
    snprintf(name, sizeof name, "--%s %s: expected ", o->name, value);
    if (parse(t, o, value) != MW_EXIT_INPUT)
        fail_msg("%s --%s %s is beyond %s", t->command, o->name, value, range);
    assert_line(err.text, name);
    if (!strstr(err.text, range))
        fail_msg("%s: help says %s: %s", t->command, range, err.text);
    assert_own_options(t, "--", err.text);
}

static bool is_number(const struct mw_option *o)
{
    return o->kind == MW_OPTION_UNSIGNED || o->kind == MW_OPTION_NUMBER ||
           o->kind == MW_OPTION_REAL || (o->kind == MW_OPTION_OWN && o->high);
}

/// The value `steps` beyond an end.
static void beyond(const struct mw_option *o, uint64_t end, int steps, char text[MW_END_BYTES])
{
    mw_option_end(o, end + (uint64_t)steps, text);
    if (end == UINT64_MAX && steps > 0)
        snprintf(text, MW_END_BYTES, "18446744073709551616");
    if (end == 0 && steps < 0)
        snprintf(text, MW_END_BYTES, "-1");
}

static void walk_number(const struct mw_option_table *t, const struct mw_option *o,
                        const char *help)
{
    char low[MW_END_BYTES], high[MW_END_BYTES], range[2 * MW_END_BYTES + 8], out[MW_END_BYTES];
    mw_option_end(o, o->low, low);
    mw_option_end(o, o->high, high);
    if (o->kind == MW_OPTION_REAL)
        snprintf(range, sizeof range, "from %s to %s", low, high);
    else
        snprintf(range, sizeof range, "from %" PRIu64 " to %" PRIu64, o->low, o->high);
    if (!strstr(help, range + strlen("from ")))
        fail_msg("%s: help of --%s does not say %s: %s", t->command, o->name, range, help);
    takes(t, o, low);
    takes(t, o, high);
    beyond(o, o->low, -1, out);
    refuses(t, o, out, range);
    beyond(o, o->high, 1, out);
    refuses(t, o, out, range);
    refuses(t, o, "", range);
    refuses(t, o, "1x", range);
}

/// Every valid value, and an invalid one.
static void walk_choice(const struct mw_option_table *t, const struct mw_option *o,
                        const char *help)
{
    struct mw_term term;
    for (unsigned i = 0; o->terms(i, &term); i++) {
        char value[80];
        snprintf(value, sizeof value, o->repeats ? "%s=0" : "%s", term.name);
        takes(t, o, value);
        if (strstr(o->text, "{}") && !strstr(help, term.name))
            fail_msg("%s: help of --%s does not name %s", t->command, o->name, term.name);
    }
    assert_int_equal(parse(t, o, o->repeats ? "no-such=1" : "no-such"), MW_EXIT_INPUT);
    assert_own_options(t, "--", err.text);
    for (unsigned i = 0; strstr(o->text, "{}") && o->terms(i, &term); i++)
        if (!strstr(err.text, term.name))
            fail_msg("%s does not name %s", err.text, term.name);
}

/// Help and parser, of every command.
static void help_and_parser_agree(void **state)
{
    (void)state;
    unsigned numbers = 0, choices = 0;
    for (unsigned c = 0; c < mw_command_count; c++) {
        const struct mw_option_table *t = mw_commands[c].table;
        void *defaults = mw_option_defaults(t);
        for (unsigned i = 0; i < t->count; i++) {
            const struct mw_option *o = &t->option[i];
            char help[MW_OPTION_TEXT_BYTES];
            if (!o->name)
                continue;
            mw_option_text(o, defaults, help);
            numbers += is_number(o);
            choices += o->kind == MW_OPTION_OWN && o->terms;
            if (is_number(o))
                walk_number(t, o, help);
            else if (o->kind == MW_OPTION_OWN && o->terms)
                walk_choice(t, o, help);
            else if (o->kind == MW_OPTION_PATH)
                assert_int_equal(parse(t, o, ""), MW_EXIT_INPUT);
        }
        free(defaults);
    }
    print_message("%u ranges, %u lists\n", numbers, choices);
    assert_true(numbers > 30 && choices > 10);
}

// ---- the device ---------------------------------------------------------------------------------

/// The options of a run of the smallest sizes. The option under test replaces its own value.
static const char *const small_run[][2] = {
    {"--gpus", "2"},           {"--flit-bytes", "8"}, {"--experts", "16"}, {"--k", "2"},
    {"--tokens-per-gpu", "2"}, {"--hidden", "16"},    {"--tile", "2"}};

/// Where an end of one range contradicts the small run's other sizes: the message that must appear
/// instead.
static const struct {
    const char *option, *line;
} contradicts[] = {{"--experts", "experts per GPU"},
                   {"--experts", "k = 2 with 1 experts"},
                   {"--experts", "cannot be divided evenly"},
                   {"--hidden", "no multiple of the 8-byte flit"},
                   {"--groups", "(--topk-groups), expected"},
                   {"--groups", "expected a number that divides"},
                   {"--set", "switch_reductions: only with target_list_cache"},
                   {"--set", "of two: lower --set rows_per_expert"},
                   {"--set", "--set fault_gpu=71: expected 0 to 1"}, // two GPUs
                   {"--topk-groups", "expected a number that divides"},
                   {"--replicas", "at most 16, as the 16 experts of "},
                   {"--rows", "not with --workload moe"},
                   {"--gemm-rs-cycles", "not with --workload moe"},
                   {"--ln-cycles", "not with --workload moe"},
                   {"--ag-gemm-cycles", "not with --workload moe"},
                   {"--jitter", "not with --workload moe"},
                   {"--start-spread", "not with --workload moe"},
                   {"--merge-entries", "not with --workload moe"},
                   {"--load-bytes", "not with --workload moe"},
                   // ranges end with what devices for long links have
                   {"--open-rows", "open_rows: 64, the device holds 8"},
                   {"--set", "store_credits: 255, the device holds 32"},
                   {"--set", "part_credits: 255, the device holds 4"},
                   {"--set", "ctrl_credits: 64, the device holds 16"}};

static bool may_refuse(const char *option, const char *line)
{
    for (unsigned i = 0; i < sizeof contradicts / sizeof *contradicts; i++)
        if (strcmp(contradicts[i].option, option) == 0 && strstr(line, contradicts[i].line))
            return true;
    return false;
}

/// Whether the device of two GPUs takes a run with that option, up to its layout.
static int ask_device(const char *option, const char *value)
{
    char *argv[WORDS] = {(char *)"run"};
    int argc = 1;
    for (unsigned i = 0; i < sizeof small_run / sizeof *small_run; i++)
        if (strcmp(small_run[i][0], option) != 0) {
            argv[argc++] = (char *)small_run[i][0];
            argv[argc++] = (char *)small_run[i][1];
        }
    argv[argc++] = (char *)option;
    argv[argc++] = (char *)value;
    struct mw_run_params *p = calloc(1, sizeof *p);
    struct mw_trace trace = {0};
    struct mw_demand demand;
    uint64_t touched[MW_SYSTEMS];
    bool help;
    assert_non_null(p);
    err = (struct mw_error){0};
    int status = mw_run_parse(p, argc, argv, &help, &err);
    if (!status)
        status = mw_run_route(p, &trace, &err);
    if (!status)
        status = mw_demand_of_trace(&demand, &trace, p->layers, p->layer_count, &p->shape, &err);
    if (!status)
        status = mw_systems_check(p, &demand, false, touched, p->left_out, &err);
    mw_trace_free(&trace);
    free(p);
    return status;
}

/// Help states what a value must be besides in its range. The parser requires the same.
static void help_shows_all_other_terms(void **state)
{
    (void)state;
    static const struct {
        const struct mw_option_table *table;
        const char *option, *says;
    } asked[] = {
        {&mw_run_table, "hidden", "multiple of half of --flit-bytes"},
        {&mw_run_table, "experts", "multiple of the GPUs"},
        {&mw_run_table, "k", "at most --experts"},
        {&mw_run_table, "groups", "divisor of --experts, with --topk-groups"},
        {&mw_run_table, "topk-groups", "at most --groups"},
        {&mw_run_table, "layer", "not with --layers"},
        {&mw_run_table, "gemm-rs-cycles", "not with --shape"},
        {&mw_run_table, "ag-gemm-cycles", "not with --shape"},
        {&mw_run_table, "replicas", "multiple of the GPUs"},
        {&mw_run_table, "replicas", "at most one of an expert on a GPU"},
        {&mw_run_table, "expert-loads", "--placement loads"},
        {&mw_run_table, "jobs", "on sim only"},
        {&mw_run_table, "timeline", "on sim only"},
        {&mw_run_table, "trace-fst", "on sim only"},
        {&mw_bench_table, "row", "multiple of --flit-bytes"},
        {&mw_bench_table, "experts", "multiple of the GPUs"},
        {&mw_bench_table, "k", "at most --experts"},
        {&mw_bench_table, "load", "with 4 GPUs or more"},
        {&mw_gen_table, "counts", "with --k or --model"},
    };
    for (unsigned i = 0; i < sizeof asked / sizeof *asked; i++) {
        const struct mw_option *o = NULL;
        for (unsigned k = 0; k < asked[i].table->count; k++)
            if (asked[i].table->option[k].name &&
                strcmp(asked[i].table->option[k].name, asked[i].option) == 0)
                o = &asked[i].table->option[k];
        assert_non_null(o);
        if (!strstr(o->text, asked[i].says))
            fail_msg("%s: help of --%s does not say: %s", asked[i].table->command, asked[i].option,
                     asked[i].says);
    }
}

/// The predicted figures of a device are those that it later reports.
static void built_is_what_was_said(void **state)
{
    (void)state;
    static const struct {
        unsigned gpus, flit_bytes;
        bool small;
        unsigned link_latency;
    } kinds[] = {{2, 8, false, 1}, {8, 16, false, 1}, {4, 8, true, 1}, {2, 8, false, 2047}};
    // that with long links is built for long tests alone
    const unsigned count = sizeof kinds / sizeof *kinds - (getenv("MW_LONG") ? 0 : 1);
    for (unsigned i = 0; i < count; i++) {
        struct mw_open_options o;
        struct mw_device *device;
        struct mw_device_info said, built;
        mw_open_defaults(&o);
        o.gpus = kinds[i].gpus;
        o.flit_bytes = kinds[i].flit_bytes;
        o.small = kinds[i].small;
        o.link_latency = kinds[i].link_latency;
        if (mw_open(&o, &device))
            fail_msg("%s", mw_message());
        memset(&said, 0, sizeof said);
        memset(&built, 0, sizeof built);
        assert_int_equal(mw_info(device, &said), 0);
        mw_close(device);
        mw_device_built(&built, &o);
#define SAME(field) assert_int_equal(said.field, built.field)
        SAME(gpus), SAME(flit_bytes), SAME(mem_bytes), SAME(banks), SAME(rows), SAME(tokens);
        SAME(local_experts), SAME(experts), SAME(groups), SAME(open_rows), SAME(part_pkts);
        SAME(store_pkts), SAME(rx_store_pkts), SAME(window), SAME(max_latency);
        SAME(ctrl_pkts), SAME(rx_result_pkts);
        SAME(adder_bypass), SAME(target_list_cache), SAME(switch_reductions), SAME(token_order),
            SAME(link_rate), SAME(tile_reductions);
        SAME(delay), SAME(row_ranges), SAME(row_sparse), SAME(source_lists), SAME(more_events);
        SAME(gathered), SAME(packet_manager), SAME(cache_limit), SAME(cache_entries);
        SAME(merge_loads), SAME(row_types), SAME(multimem_red), SAME(gate_gradients);
        SAME(cached_handle), SAME(merge_entries), SAME(kept_bytes), SAME(load_parts);
        SAME(balance_rows);
        SAME(open_loads), SAME(open_syncs), SAME(merge_reds);
        SAME(sum_entries), SAME(stream_instrs), SAME(red_types);
#undef SAME
    }
}

/// No model is built or searched for a run that the device cannot hold. None of these sizes exists.
static void refuses_before_it_builds(void **state)
{
    (void)state;
#define NO_MODEL "run --gpus 31 --flit-bytes 16 --experts 62 --k 2 --tokens-per-gpu 2 "
    static const struct {
        const char *words, *says;
    } bad[] = {
        {NO_MODEL "--hidden 33", "--hidden must be a multiple of 8"},
        {NO_MODEL "--hidden 24 --dispatch-type e4m3-tensor", "--hidden must be a multiple of 16"},
        {NO_MODEL "--hidden 64 --dispatch-type e4m3", "--hidden must be a multiple of 128"},
        {NO_MODEL "--hidden 33 --trace-fst %s", "--hidden must be a multiple of 8"},
        {NO_MODEL "--hidden 16376 --experts 1023", "experts"},
        {"run --gpus 32 --tokens-per-gpu 8192 --hidden 16376 --experts 1024 --k 16", "cannot hold"},
        {NO_MODEL "--hidden 32 --replicas 1860", "it has 1024: lower --replicas"},
        {NO_MODEL "--hidden 32 --set switch_reductions=1 --set target_list_cache=0",
         "only with target_list_cache"},
        {NO_MODEL "--hidden 32 --set small=1 --link-latency 9", "at most 8 cycles"},
        {NO_MODEL "--hidden 32 --set small=1 --set target_list_cache=1", "no system is left"},
    };
    setenv("MOESWITCH_MODEL", scratch("no-model"), 1);
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        char words[400];
        snprintf(words, sizeof words, bad[i].words, scratch("w.fst"));
        if (run_command("%s", words) != MW_EXIT_INPUT)
            fail_msg("%s: %s", words, err_text);
        assert_null(strstr(err_text, "model"));
        if (!strstr(err_text, bad[i].says))
            fail_msg("%s: %s", words, err_text);
    }
    unsetenv("MOESWITCH_MODEL");
}

static void device_takes(const char *option, const char *value)
{
    int status = ask_device(option, value);
    if (status && !may_refuse(option, err.text))
        fail_msg("%s %s is in its range, but: %s", option, value, err.text);
    assert_own_options(&mw_run_table, "--", err.text);
}

/// Both ends of every number of `run`.
static void device_takes_both_ends(void **state)
{
    (void)state;
    unsigned asked = 0;
    for (unsigned i = 0; i < mw_run_table.count; i++) {
        const struct mw_option *o = &mw_run_table.option[i];
        char name[64], end[MW_END_BYTES];
        if (!o->name || !is_number(o))
            continue;
        snprintf(name, sizeof name, "--%s", o->name);
        device_takes(name, mw_option_end(o, o->low, end));
        // models of so many GPUs, and of so long links, take minutes to build
        if (strcmp(o->name, "gpus") != 0 &&
            (test_cases(0, 1) || strcmp(o->name, "link-latency") != 0))
            device_takes(name, mw_option_end(o, o->high, end));
        asked++;
    }
    assert_true(asked > 15);
}

/// Every setting of --set, of both commands that have it.
static void settings_have_one_range(void **state)
{
    (void)state;
    struct mw_term term;
    for (unsigned i = 0; mw_run_settings(i, &term); i++) {
        const struct mw_setting_kind *kind = mw_setting_find(term.name);
        char text[80], range[40];
        assert_non_null(kind);
        snprintf(range, sizeof range, "0 to %" PRIu64, kind->high);
        if (!strstr(term.text, range))
            fail_msg("help of %s does not say %s: %s", term.name, range, term.text);
        snprintf(text, sizeof text, "%s=%" PRIu64, term.name, kind->high + 1);
        assert_int_equal(ask_device("--set", text), MW_EXIT_INPUT);
        assert_line(err.text, text, "expected ", range);
        if (strcmp(term.name, "small") == 0) // another model
            continue;
        snprintf(text, sizeof text, "%s=%" PRIu64, term.name, kind->high);
        device_takes("--set", text);
        snprintf(text, sizeof text, "%s=0", term.name);
        device_takes("--set", text);
    }
}

/// The same range is that of each command whose device is the same. GPUs of `plan` are a machine's.
static void commands_agree(void **state)
{
    (void)state;
    for (unsigned c = 0; c < mw_command_count; c++)
        for (unsigned i = 0; i < mw_commands[c].table->count; i++) {
            const struct mw_option *o = &mw_commands[c].table->option[i];
            static const char *const shared[] = {"gpus", "link-latency", "k", "seed"};
            for (unsigned s = 0; s < sizeof shared / sizeof *shared; s++)
                for (unsigned r = 0; o->name && r < mw_run_table.count; r++) {
                    const struct mw_option *own = &mw_run_table.option[r];
                    if (strcmp(o->name, shared[s]) != 0 || !own->name ||
                        strcmp(own->name, o->name) != 0 ||
                        strcmp(mw_commands[c].table->command, "plan") == 0)
                        continue;
                    assert_int_equal(o->low, own->low);
                    assert_true(o->high == own->high);
                }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(help_and_parser_agree),  cmocka_unit_test(help_shows_all_other_terms),
        cmocka_unit_test(built_is_what_was_said), cmocka_unit_test(refuses_before_it_builds),
        cmocka_unit_test(device_takes_both_ends), cmocka_unit_test(settings_have_one_range),
        cmocka_unit_test(commands_agree),
    };
    return cmocka_run_group_tests_name("options", tests, scratch_make, scratch_remove);
}
