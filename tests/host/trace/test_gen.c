// SPDX-License-Identifier: Apache-2.0
//
// Tests of `moeswitch gen`: the distributions of synthetic traces, the limit on groups, the
// folder that it writes, and what it refuses. Statistics are of a fixed seed, so that they
// are the same everywhere.
#include "host/support.h"
#include "host/words.h"

#include "base/random.h"
#include "trace/gen.h"
#include "trace/trace.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#define RUN(...) run_words(mw_gen_command, "gen", (const char *const[]){__VA_ARGS__, NULL})

enum { SEED = 7 };

// ---- distributions ------------------------------------------------------------------------------

static struct mw_trace make(struct mw_synthetic how)
{
    struct mw_trace trace;
    struct mw_error err = {0};
    how.layers = 1;
    how.seed = SEED;
    if (mw_trace_make(&trace, &how, &err))
        fail_msg("%s", err.text);
    assert_int_equal(mw_trace_check(&trace, 0, how.tokens, false, &err), MW_EXIT_OK);
    return trace;
}

static void count(const struct mw_trace *trace, unsigned *tokens)
{
    memset(tokens, 0, trace->experts * sizeof *tokens);
    for (size_t i = 0; i < trace->tokens * trace->k; i++)
        tokens[trace->ids[i]]++;
}

/// Pearson's statistic of equal chances, in standard deviations above its mean.
static double chi_square(const unsigned *tokens, unsigned n)
{
    double all = 0, sum = 0;
    for (unsigned e = 0; e < n; e++)
        all += tokens[e];
    for (unsigned e = 0; e < n; e++) {
        double off = tokens[e] - all / n;
        sum += off * off / (all / n);
    }
    return (sum - (n - 1)) / sqrt(2.0 * (n - 1));
}

/// Draws that are independent and of equal chance are neither uneven nor too even.
static void draws_evenly_without_sigma(void **state)
{
    (void)state;
    static const unsigned sizes[] = {2, 7, 64, 1024};
    unsigned tokens[MW_MAX_EXPERTS];
    for (unsigned i = 0; i < 4; i++) {
        struct mw_trace t =
            make((struct mw_synthetic){.tokens = 40 * sizes[i], .k = 1, .experts = sizes[i]});
        count(&t, tokens);
        double x = chi_square(tokens, sizes[i]);
        if (x < -3 || x > 4)
            fail_msg("%u experts: %g standard deviations", sizes[i], x);
        mw_trace_free(&t);
    }
}

/// ln(tokens of an expert) is normal with the requested standard deviation: its first four moments.
/// The noise of an expert's n tokens adds 1 / n to the variance.
static void popularity_is_log_normal(void **state)
{
    (void)state;
    enum { EXPERTS = 1024 };
    static const double sigmas[] = {0.25, 0.5, 0.75};
    static unsigned tokens[EXPERTS];
    for (unsigned i = 0; i < 3; i++) {
        struct mw_trace t = make((struct mw_synthetic){
            .tokens = 25 * EXPERTS, .k = 8, .experts = EXPERTS, .sigma = sigmas[i]});
        double sum = 0, m[5] = {0}, expected = sigmas[i] * sigmas[i];
        count(&t, tokens);
        for (unsigned e = 0; e < EXPERTS; e++) {
            sum += log(tokens[e]);
            expected += 1.0 / tokens[e] / EXPERTS;
        }
        for (unsigned e = 0; e < EXPERTS; e++)
            for (unsigned p = 2; p < 5; p++)
                m[p] += pow(log(tokens[e]) - sum / EXPERTS, p) / EXPERTS;
        double skew = m[3] / pow(m[2], 1.5), excess = m[4] / (m[2] * m[2]) - 3;
        if (fabs(sqrt(m[2] / expected) - 1) > 0.05 || fabs(skew) > 0.2 || fabs(excess) > 0.4)
            fail_msg("sigma %g: variance %g for %g, skew %g, excess %g", sigmas[i], m[2], expected,
                     skew, excess);
        mw_trace_free(&t);
    }
}

/// With one expert per token the next token has the same one with the chance L + (1 - L) / E.
static void repeats_as_often_as_requested(void **state)
{
    (void)state;
    enum { EXPERTS = 16, TOKENS = 50000 };
    static const double localities[] = {0, 0.2, 0.5, 0.9, 1};
    for (unsigned i = 0; i < 5; i++) {
        const double l = localities[i], chance = l + (1 - l) / EXPERTS;
        struct mw_trace t = make(
            (struct mw_synthetic){.tokens = TOKENS, .k = 1, .experts = EXPERTS, .locality = l});
        size_t same = 0;
        for (size_t n = 1; n < TOKENS; n++)
            same += t.ids[n] == t.ids[n - 1];
        double off = (double)same - (TOKENS - 1) * chance;
        if (fabs(off) > 4 * sqrt(TOKENS * chance * (1 - chance)) + 0.5)
            fail_msg("locality %g: %zu repetitions of %d", l, same, TOKENS - 1);
        mw_trace_free(&t);
    }
}

static unsigned groups_of(const struct mw_trace *t, size_t token, unsigned size)
{
    unsigned found = 0;
    for (unsigned j = 0; j < t->k; j++) {
        bool seen = false;
        for (unsigned i = 0; i < j; i++)
            seen = seen || t->ids[token * t->k + i] / size == t->ids[token * t->k + j] / size;
        found += !seen;
    }
    return found;
}

static void keeps_to_its_groups(void **state)
{
    (void)state;
    static const struct mw_synthetic how[] = {
        {.k = 8, .experts = 256, .groups = 8, .topk_groups = 4, .sigma = 0.5, .locality = 0.2},
        {.k = 8, .experts = 256, .groups = 8, .topk_groups = 1, .sigma = 0.5, .locality = 0.9},
        {.k = 6, .experts = 64, .groups = 8, .topk_groups = 2, .sigma = 4, .locality = 0.5},
        {.k = 16, .experts = 64, .groups = 16, .topk_groups = 4, .sigma = 1, .locality = 0.7},
        {.k = 16, .experts = 16, .groups = 4, .topk_groups = 4, .locality = 1},
        {.k = 3, .experts = 9, .groups = 9, .topk_groups = 3, .sigma = 1},
        {.k = 4, .experts = 4096, .groups = 1024, .topk_groups = 1, .sigma = 1, .locality = 0.3},
    };
    for (unsigned i = 0; i < sizeof how / sizeof *how; i++) {
        struct mw_synthetic h = how[i];
        h.tokens = 500;
        struct mw_trace t = make(h);
        unsigned most = 0;
        for (size_t n = 0; n < t.tokens; n++) {
            unsigned g = groups_of(&t, n, h.experts / h.groups);
            most = g > most ? g : most;
        }
        if (most != h.topk_groups)
            fail_msg("case %u: a token in %u groups, not %u", i, most, h.topk_groups);
        mw_trace_free(&t);
    }
}

/// Groups are chosen with equal chances, and experts of them.
static void chooses_groups_evenly(void **state)
{
    (void)state;
    enum { GROUPS = 8, SIZE = 4, TOKENS = 20000 };
    unsigned first[GROUPS * SIZE] = {0}, pairs[GROUPS * (GROUPS - 1) / 2] = {0},
                            tokens[GROUPS * SIZE];
    struct mw_trace t = make((struct mw_synthetic){
        .tokens = TOKENS, .k = 6, .experts = GROUPS * SIZE, .groups = GROUPS, .topk_groups = 2});
    for (size_t n = 0; n < TOKENS; n++) {
        const uint16_t *ids = t.ids + n * t.k;
        unsigned a = ids[0] / SIZE, b = a;
        for (unsigned j = 1; j < t.k && a == b; j++)
            b = ids[j] / SIZE;
        assert_int_not_equal(a, b); // six experts do not fit into one group
        unsigned low = a < b ? a : b, high = a < b ? b : a;
        pairs[high * (high - 1) / 2 + low]++;
        first[ids[0]]++;
    }
    count(&t, tokens);
    double x = chi_square(pairs, GROUPS * (GROUPS - 1) / 2), y = chi_square(first, GROUPS * SIZE);
    if (x < -3 || x > 4 || y < -3 || y > 4)
        fail_msg("%g, %g standard deviations", x, y);
    mw_trace_free(&t);
}

/// A limit equal to the number of groups has no effect: the same trace.
static void limits_nothing_with_all_groups(void **state)
{
    (void)state;
    struct mw_synthetic how = {.tokens = 300, .k = 6, .experts = 64, .sigma = 0.5, .locality = 0.2};
    struct mw_trace free_ = make(how);
    how.groups = how.topk_groups = 8;
    struct mw_trace all = make(how);
    assert_memory_equal(free_.ids, all.ids, 300 * 6 * sizeof *all.ids);
    assert_memory_equal(free_.weights, all.weights, 300 * 6 * sizeof *all.weights);
    mw_trace_free(&free_);
    mw_trace_free(&all);
}

// ---- the folder ---------------------------------------------------------------------------------

static size_t read_bytes(const char *folder, unsigned file, char *bytes, size_t size)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s", folder, mw_trace_files[file]);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t n = fread(bytes, 1, size, f);
    assert_true(n < size);
    fclose(f);
    return n;
}

static void writes_what_it_made(void **state)
{
    (void)state;
    const char *folder = scratch("made"), *again = scratch("again");
    assert_int_equal(RUN(folder, "--experts", "32", "--k", "4", "--layers", "3", "--tokens", "50",
                         "--hidden", "96", "--sigma", "1", "--locality", "0.4", "--groups", "4",
                         "--topk-groups", "2", "--seed", "11"),
                     MW_EXIT_OK);
    assert_string_equal(err_text, "");
    struct mw_synthetic how = {.layers = 3,
                               .tokens = 50,
                               .k = 4,
                               .experts = 32,
                               .sigma = 1,
                               .locality = 0.4,
                               .groups = 4,
                               .topk_groups = 2,
                               .seed = 11};
    struct mw_trace read, made;
    struct mw_error err = {0};
    if (mw_trace_load(&read, folder, NULL, &err))
        fail_msg("%s", err.text);
    assert_int_equal(mw_trace_make(&made, &how, &err), MW_EXIT_OK);
    assert_true(read.layers == 3 && read.tokens == 50 && read.k == 4 && read.experts == 32);
    assert_int_equal(read.hidden, 96);
    assert_string_equal(read.model, "synthetic");
    assert_memory_equal(read.ids, made.ids, 3 * 50 * 4 * sizeof *made.ids);
    assert_memory_equal(read.weights, made.weights, 3 * 50 * 4 * sizeof *made.weights);
    mw_trace_free(&read);
    mw_trace_free(&made);

    assert_int_equal(RUN(again, "--experts", "32", "--k", "4", "--layers", "3", "--tokens", "50",
                         "--hidden", "96", "--sigma", "1", "--locality", "0.4", "--groups", "4",
                         "--topk-groups", "2", "--seed", "11"),
                     MW_EXIT_OK);
    static char a[8000], b[8000];
    for (unsigned i = 0; i < 3; i++) {
        size_t n = read_bytes(folder, i, a, sizeof a), m = read_bytes(again, i, b, sizeof b);
        assert_int_equal(n, m);
        assert_memory_equal(a, b, n);
        if (i < 2) // elements begin where NumPy lets them begin
            assert_int_equal((n - 3 * 50 * 4 * (i ? 4 : 2)) % 64, 0);
    }
}

/// Options override the values of a model.
static void takes_sizes_of_a_model(void **state)
{
    (void)state;
    const char *folder = scratch("model");
    struct mw_trace t;
    struct mw_error err = {0};
    assert_int_equal(RUN(folder, "--model", "deepseek-v3", "--tokens", "40", "--k", "7"),
                     MW_EXIT_OK);
    if (mw_trace_load(&t, folder, NULL, &err))
        fail_msg("%s", err.text);
    assert_true(t.experts == 256 && t.k == 7 && t.hidden == 7168 && t.tokens == 40);
    assert_non_null(strstr(t.model, "DeepSeek-V3"));
    unsigned most = 0;
    for (size_t n = 0; n < t.tokens; n++) {
        unsigned g = groups_of(&t, n, 32);
        most = g > most ? g : most;
    }
    assert_int_equal(most, 4);
    mw_trace_free(&t);
}

#define REFUSES(part, ...) \
    refuse_words(mw_gen_command, "gen", (const char *const[]){__VA_ARGS__, NULL}, part)

// ---- counts -------------------------------------------------------------------------------------

/// The trace that gen makes of a file of counts. `name` is scratch.
static struct mw_trace of_counts(const char *file, const char *k, const char *tokens)
{
    static unsigned number;
    char name[32];
    struct mw_trace t;
    struct mw_error err = {0};
    snprintf(name, sizeof name, "counts%u", number++);
    const char *folder = scratch(name);
    if (RUN(folder, "--counts", file, "--k", k, "--tokens", tokens))
        fail_msg("%s", err_text);
    if (mw_trace_load(&t, folder, NULL, &err))
        fail_msg("%s", err.text);
    for (size_t l = 0; l < t.layers; l++)
        assert_int_equal(mw_trace_check(&t, l, t.tokens, false, &err), MW_EXIT_OK);
    return t;
}

static void assert_counts(const struct mw_trace *t, size_t layer, const unsigned *right)
{
    unsigned found[MW_MAX_EXPERTS] = {0};
    for (size_t i = 0; i < t->tokens * t->k; i++)
        found[t->ids[mw_trace_at(t, layer, 0) + i]]++;
    for (unsigned e = 0; e < t->experts; e++)
        if (found[e] != right[e])
            fail_msg("layer %zu, expert %u: %u tokens, not %u", layer, e, found[e], right[e]);
}

/// Counts that are tokens * k come back exactly, of CSV and of arrays of any type and order.
static void keeps_counts(void **state)
{
    (void)state;
    static const unsigned counts[2][6] = {{10, 4, 0, 1, 7, 8}, {5, 5, 5, 5, 5, 5}};
    static const char csv[] = "\xef\xbb\xbf# expert 0 to 5\r\n10,4,0, 1,7 ,8\r\n\n5,5,5.0,5e0,5,5";
    const char *file = scratch("counts.csv");
    write_file(file, csv, sizeof csv - 1);
    struct mw_trace t = of_counts(file, "3", "10");
    assert_true(t.layers == 2 && t.experts == 6 && t.k == 3 && t.tokens == 10);
    for (size_t l = 0; l < 2; l++)
        assert_counts(&t, l, counts[l]);
    mw_trace_free(&t);

    int64_t fortran[12];
    double flat[6];
    for (unsigned i = 0; i < 12; i++)
        fortran[i] = counts[i % 2][i / 2];
    for (unsigned e = 0; e < 6; e++)
        flat[e] = 0.25 * counts[0][e];
    file = scratch("counts.npy");
    write_npy(file, "{'descr': '<i8', 'fortran_order': True, 'shape': (2, 6)}", fortran,
              sizeof fortran);
    t = of_counts(file, "3", "10");
    for (size_t l = 0; l < 2; l++)
        assert_counts(&t, l, counts[l]);
    mw_trace_free(&t);
    write_npy(file, "{'descr': '<f8', 'fortran_order': False, 'shape': (6,)}", flat, sizeof flat);
    t = of_counts(file, "3", "10");
    assert_int_equal(t.layers, 1);
    assert_counts(&t, 0, counts[0]);
    mw_trace_free(&t);
}

/// Others keep their shares: each expert is at most one place away from its own.
static void keeps_shares(void **state)
{
    (void)state;
    enum { N = 64, TOKENS = 1000, PLACES = 8 };
    char csv[4096];
    double load[N], sum = 0;
    size_t at = 0;
    struct mw_random r = {SEED};
    for (unsigned e = 0; e < N; e++) {
        load[e] = 1 + (double)mw_random_below(&r, 100000);
        sum += load[e];
        at += (size_t)snprintf(csv + at, sizeof csv - at, "%s%.0f", e ? "," : "", load[e]);
    }
    write_file(scratch("shares.csv"), csv, at);
    struct mw_trace t = of_counts(scratch("shares.csv"), "8", "1000");
    unsigned found[N] = {0};
    size_t together = 0, repeated = 0;
    for (size_t i = 0; i < TOKENS * PLACES; i++)
        found[t.ids[i]]++;
    for (unsigned e = 0; e < N; e++)
        if (fabs(found[e] - load[e] / sum * TOKENS * PLACES) > 1)
            fail_msg("expert %u: %u places for a share of %g", e, found[e], load[e] / sum);
    // and tokens are independent: pairs of experts are as frequent as their shares predict,
    // neighbours share as much
    for (size_t n = 0; n < TOKENS; n++)
        for (unsigned i = 0; i < PLACES; i++)
            for (unsigned j = 0; j < PLACES; j++) {
                together += t.ids[n * 8 + i] / 8 == t.ids[n * 8 + j] / 8 && i != j;
                repeated += n && t.ids[n * 8 + i] == t.ids[(n - 1) * 8 + j];
            }
    double expected = 0, meet = 0;
    for (unsigned e = 0; e < N; e++) {
        expected += (double)found[e] / TOKENS * found[e];
        for (unsigned f = e / 8 * 8; f < e / 8 * 8 + 8; f++)
            meet += f == e ? 0 : (double)found[e] / TOKENS * found[f];
    }
    if (fabs((double)repeated / expected - 1) > 0.1 || fabs((double)together / meet - 1) > 0.15)
        fail_msg("%zu repetitions for %g, %zu meetings for %g", repeated, expected, together, meet);
    mw_trace_free(&t);
}

#define REFUSES_COUNTS(part, text) \
    do { \
        write_file(scratch("bad.csv"), text, sizeof text - 1); \
        REFUSES(part, scratch("y"), "--counts", scratch("bad.csv"), "--k", "2"); \
    } while (0)

static void refuses_bad_counts(void **state)
{
    (void)state;
    REFUSES_COUNTS("bad.csv: no counts in it", "");
    REFUSES_COUNTS("line 1, column 1: \"layer\" is not a number", "layer,e0,e1\n0,1,2\n");
    REFUSES_COUNTS("line 2: 2 counts, but 3 in the lines before", "1,2,3\n1,2\n");
    REFUSES_COUNTS("line 1, column 2: \"\" is not a number", "1,,3\n");
    REFUSES_COUNTS("line 1, column 3: \"\" is not a number", "1,2,\n");
    REFUSES_COUNTS("line 1, column 2: \"-2\" is negative", "1,-2,3\n");
    REFUSES_COUNTS("\"nan\" is not a number", "1,nan,3\n");
    REFUSES_COUNTS("\"1e999\" is infinite", "1,1e999,3\n");
    REFUSES_COUNTS("\"1 2 3\" is no number with a comma", "1 2 3\n");
    REFUSES_COUNTS("column 1: \"forty_characters_of_a_word_are_shown_all\" is not a number",
                   "forty_characters_of_a_word_are_shown_all\n");
    REFUSES_COUNTS("column 1: \"forty_characters_of_a_word_are_shown_all\" is not a number",
                   "forty_characters_of_a_word_are_shown_all_and_no_more\n");
    REFUSES_COUNTS("line 1: a NUL", "1,2\0,3\n");
    REFUSES_COUNTS("layer 1: the counts sum up to 0", "1,2,2\n0,0,0\n");
    REFUSES_COUNTS("layer 0: the counts sum up to inf", "1e308,1e308,1\n");
    REFUSES_COUNTS(
        "layer 0, expert 1: 60.0 % of the counts; with k = 2 (--k) an expert has at most "
        "50.0 %",
        "1,3,1\n");
    REFUSES_COUNTS("counts of 1 experts, fewer than k = 2", "5\n");
    static const float cube[8] = {1};
    const char *npy = scratch("bad.npy");
    write_npy(npy, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2, 2)}", cube,
              sizeof cube);
    REFUSES("shape (2, 2, 2), expected [experts] or [layers, experts]", scratch("y"), "--counts",
            npy, "--k", "2");
    write_npy(npy, "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 4097)}", cube, 4097 * 0);
    REFUSES("truncated", scratch("y"), "--counts", npy, "--k", "2");
    static const float minus[2] = {1, -INFINITY};
    write_npy(npy, "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2)}", minus,
              sizeof minus);
    REFUSES("layer 0, expert 1: the count is infinite", scratch("y"), "--counts", npy, "--k", "2");
    REFUSES("cannot open", scratch("y"), "--counts", "/nowhere", "--k", "2");
    REFUSES("/dev/zero: not a regular file", scratch("y"), "--counts", "/dev/zero", "--k", "2");
    REFUSES("not a regular file", scratch("y"), "--counts", scratch("."), "--k", "2");
    write_file(scratch("good.csv"), "1,1,1,1\n", 8);
    REFUSES("say --k, or --model", scratch("y"), "--counts", scratch("good.csv"));
    REFUSES("--layers: not with --counts", scratch("y"), "--counts", scratch("good.csv"), "--k",
            "2", "--layers", "3");
    REFUSES("--model mixtral-8x7b: 8 experts, but", scratch("y"), "--counts", scratch("good.csv"),
            "--model", "mixtral-8x7b");
    assert_int_not_equal(access(scratch("y"), F_OK), 0);
}

static void refuses_what_it_cannot_make(void **state)
{
    (void)state;
    const char *x = scratch("x");
    REFUSES("folder is missing", NULL);
    REFUSES("a word is empty", "");
    REFUSES("y: unexpected word", x, "y");
    REFUSES("--tokens 0: expected", x, "--tokens", "0");
    REFUSES("--layers many: expected", x, "--layers", "many");
    REFUSES("--sigma nan", x, "--sigma", "nan");
    REFUSES("--locality 1.01", x, "--locality", "1.01");
    REFUSES("--grups=3: unknown option, see moeswitch gen --help (--groups?)", x, "--grups=3");
    REFUSES("--seed -1", x, "--seed", "-1");
    REFUSES("--model ds: known are deepseek-v3", x, "--model", "ds");
    REFUSES("k = 6 with 4 experts", x, "--experts", "4");
    REFUSES("7 groups (--groups), expected a number that divides the 64 experts", x, "--groups",
            "7", "--topk-groups", "2");
    REFUSES("a token in 0 of the 8 groups (--topk-groups), expected 1 to 8", x, "--groups", "8");
    REFUSES("a token in 9 of the 8 groups", x, "--groups", "8", "--topk-groups", "9");
    REFUSES("0 groups (--groups)", x, "--topk-groups", "2");
    REFUSES("k = 6, expected at most the 4 experts of 2 of 32 groups", x, "--groups", "32",
            "--topk-groups", "2");
    REFUSES("--model", x, "--model");
    REFUSES("the trace takes 1.", x, "--tokens", "1073741824", "--layers", "10000", "--k", "16");
    assert_int_not_equal(access(x, F_OK), 0);
    REFUSES("/nowhere/at/all: cannot make the folder", "/nowhere/at/all");
    write_file(scratch("file"), "", 0);
    REFUSES("file/topk_ids.npy: cannot write", scratch("file"));
}

/// An existing file stays as it is.
static void writes_over_nothing(void **state)
{
    (void)state;
    char byte, path[400];
    for (unsigned i = 0; i < 3; i++) {
        const char *folder = scratch("full");
        assert_int_equal(mkdir(folder, 0777), 0);
        snprintf(path, sizeof path, "%s/%s", folder, mw_trace_files[i]);
        write_file(path, "", 0);
        REFUSES("exists, and is not overwritten", folder);
        assert_int_equal(read_bytes(folder, i, &byte, 1), 0);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(rmdir(folder), 0); // and nothing else is in it
    }
    // an existing empty folder is used
    const char *folder = scratch("empty");
    assert_int_equal(mkdir(folder, 0777), 0);
    assert_int_equal(RUN(folder, "--tokens", "3"), MW_EXIT_OK);
    REFUSES("exists, and is not overwritten", folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draws_evenly_without_sigma),
        cmocka_unit_test(popularity_is_log_normal),
        cmocka_unit_test(repeats_as_often_as_requested),
        cmocka_unit_test(keeps_to_its_groups),
        cmocka_unit_test(chooses_groups_evenly),
        cmocka_unit_test(limits_nothing_with_all_groups),
        cmocka_unit_test(writes_what_it_made),
        cmocka_unit_test(takes_sizes_of_a_model),
        cmocka_unit_test(keeps_counts),
        cmocka_unit_test(keeps_shares),
        cmocka_unit_test(refuses_bad_counts),
        cmocka_unit_test(refuses_what_it_cannot_make),
        cmocka_unit_test(writes_over_nothing),
    };
    return cmocka_run_group_tests_name("gen", tests, scratch_make, finish_words);
}
