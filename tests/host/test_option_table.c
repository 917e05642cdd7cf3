// SPDX-License-Identifier: Apache-2.0
//
// Tests of the one loop that reads command lines: every kind of option, words, what is told where a
// line is wrong, and which name a wrong one is nearest to.
#include "support.h"

#include "option_table.h"

struct params {
    bool fast;
    unsigned count;
    uint64_t size;
    double share;
    const char *file;
    char own[32], words[64];
};

static int set_own(void *place, const char *name, const char *text, struct mw_error *err)
{
    if (strcmp(text, "bad") == 0)
        return mw_fail(err, MW_EXIT_INPUT, "--%s %s: as planned", name, text);
    snprintf(place, sizeof((struct params *)0)->own, "%s", text);
    return MW_EXIT_OK;
}

static int take_word(void *place, const char *text, struct mw_error *err)
{
    struct params *p = place;
    (void)err;
    strcat(strcat(p->words, text), ";");
    return MW_EXIT_OK;
}

#define AT(field) offsetof(struct params, field)

static const struct mw_option options[] = {
    MW_FLAG("fast", AT(fast)),
    MW_UNSIGNED("count", AT(count), 2, 9),
    MW_NUMBER("size", AT(size), 0, UINT64_MAX),
    MW_REAL("share", AT(share), 4),
    MW_PATH("file", AT(file)),
    MW_OWN("own", AT(own), set_own),
};
static const struct mw_option_table table = {"try", options, 6, NULL},
                                    with_words = {"try", options, 6, take_word};

static struct params params;
static struct mw_options_said said;
static struct mw_error err;

static int parse(const struct mw_option_table *t, const char *const *words)
{
    char *argv[12] = {(char *)"try"};
    int argc = 1;
    for (; words[argc - 1]; argc++)
        argv[argc] = (char *)words[argc - 1];
    memset(&params, 0, sizeof params);
    memset(&err, 0, sizeof err);
    return mw_options_parse(t, argc, argv, &params, &said, &err);
}

#define PARSE(t, ...) parse(t, (const char *const[]){__VA_ARGS__, NULL})

static void reads_every_kind(void **state)
{
    (void)state;
    assert_int_equal(PARSE(&table, "--count", "3", "--fast", "--size=0xffffffffffffffff", "--share",
                           "0.5", "--file", "-", "--own", "x"),
                     MW_EXIT_OK);
    assert_true(params.fast);
    assert_int_equal(params.count, 3);
    assert_true(params.size == UINT64_MAX);
    assert_true(params.share == 0.5);
    assert_string_equal(params.file, "-");
    assert_string_equal(params.own, "x");
    assert_true(mw_option_given(&table, &said, "count"));
    assert_int_equal(PARSE(&table, "--count", "3", "--count", "4"), MW_EXIT_OK); // the last counts
    assert_int_equal(params.count, 4);
    assert_false(mw_option_given(&table, &said, "fast"));
    assert_false(said.help);
}

static void takes_words_where_they_stand(void **state)
{
    (void)state;
    assert_int_equal(PARSE(&with_words, "a", "--count", "3", "b", "--", "--fast"), MW_EXIT_OK);
    assert_string_equal(params.words, "a;b;--fast;");
    assert_false(params.fast);
    assert_int_equal(params.count, 3);
}

/// What follows is not looked at.
static void help_ends_it(void **state)
{
    (void)state;
    assert_int_equal(PARSE(&table, "--help", "--count", "99"), MW_EXIT_OK);
    assert_true(said.help);
    assert_int_equal(PARSE(&table, "--fast", "-h"), MW_EXIT_OK);
    assert_true(said.help);
}

static void refuses(const char *word, const char *value, const char *line)
{
    assert_int_equal(PARSE(&table, word, value), MW_EXIT_INPUT);
    assert_string_equal(err.text, line);
}

static void says_what_is_wrong(void **state)
{
    (void)state;
    refuses("--count", "1", "--count 1: expected a whole number from 2 to 9");
    refuses("--share", "5", "--share 5: expected a number from 0 to 4");
    refuses("--file", "", "--file: the name is empty");
    refuses("--own", "bad", "--own bad: as planned");
    refuses("--count", NULL, "--count: the value is missing");
    refuses("--fast=1", NULL, "--fast=1: the option has no value");
    refuses("word", NULL, "word: unexpected word, see moeswitch try --help");
    refuses("--", "word", "word: unexpected word, see moeswitch try --help");
    refuses("-x", NULL, "-x: unknown option, see moeswitch try --help");
    refuses("--zzz", NULL, "--zzz: unknown option, see moeswitch try --help");
    refuses("--counter", "3", "--counter: unknown option, see moeswitch try --help (--count?)");
    refuses("--Sise=3", NULL, "--Sise=3: unknown option, see moeswitch try --help (--size?)");
}

static void finds_the_nearest_name(void **state)
{
    (void)state;
    static const char *const names[] = {"deepseek-v3", "deepseek-v2-lite", "mixtral-8x7b"};
    assert_string_equal(mw_closest("DeepSeek-V3", names, 3), "deepseek-v3");
    assert_string_equal(mw_closest("deepsek-v2-lite", names, 3), "deepseek-v2-lite");
    assert_string_equal(mw_closest("mixtral8x7b", names, 3), "mixtral-8x7b");
    assert_null(mw_closest("llama", names, 3));
    assert_null(mw_closest("", names, 3));
    char longer[300];
    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    assert_null(mw_closest(longer, names, 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_every_kind),       cmocka_unit_test(takes_words_where_they_stand),
        cmocka_unit_test(help_ends_it),           cmocka_unit_test(says_what_is_wrong),
        cmocka_unit_test(finds_the_nearest_name),
    };
    return cmocka_run_group_tests_name("option_table", tests, NULL, NULL);
}
