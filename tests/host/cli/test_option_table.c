// SPDX-License-Identifier: Apache-2.0
//
// The loop that reads command lines: every kind of option, and words. Also the error for each wrong
// line, and the name that is proposed for a wrong one.
#include "host/support.h"

#include "base/text_wrap.h"
#include "cli/command_help.h"
#include "device/old_names.h"
#include "device/setting_table.h"

#include <math.h>

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

static MW_TERMS(owns, {"good", "as it should be"}, {"bad", NULL}, {"longer-than-the-others", "so"});

static void defaults(void *place)
{
    *(struct params *)place = (struct params){.count = 7, .size = UINT64_MAX, .share = 0.25};
}

static int take_word(void *place, const char *text, struct mw_error *err)
{
    struct params *p = place;
    (void)err;
    strcat(strcat(p->words, text), ";");
    return MW_EXIT_OK;
}

static int add_word(void *place, const char *name, const char *text, struct mw_error *err)
{
    (void)name;
    (void)err;
    strcat(strcat(place, text), ";");
    return MW_EXIT_OK;
}

#define AT(field) offsetof(struct params, field)

static const struct mw_option options[] = {
    MW_GROUP("First"),
    MW_FLAG("fast", AT(fast), "a flag"),
    MW_UNSIGNED("count", AT(count), 2, 9, "N",
                "of things, {} (default {default}; on others {default})"),
    MW_NUMBER("size", AT(size), 0, UINT64_MAX, "S", "(default {default})"),
    MW_REAL("share", AT(share), 0.25, 4, "X", "{} (default {default})"),
    MW_GROUP("Second"),
    MW_PATH("file", AT(file), "FILE", "a file"),
    MW_CHOICE("own", AT(own), set_own, owns, "OWN", "one of {}"),
    MW_ADDS("add", AT(words), add_word, NULL, "WORD", "one more"),
};
static const struct mw_section sections[] = {{"Values of --own", owns}, {0}};
static const struct mw_option_table table = {
    .command = "try",
    .option = options,
    .count = sizeof options / sizeof *options,
    .synopsis = "[OPTION]...\n--other",
    .text = "Tries options, in a text that is too long for a line of help, so that it goes on in a "
            "second one.",
    .section = sections,
    .defaults = defaults,
    .params_bytes = sizeof(struct params),
};
static const struct mw_option_table with_words = {
    .command = "try",
    .option = options,
    .count = sizeof options / sizeof *options,
    .word = take_word,
};

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
    // a 0 in front makes no octal number, and no sign stays before a 0
    assert_int_equal(PARSE(&table, "--size", "010"), MW_EXIT_OK);
    assert_true(params.size == 10);
    assert_int_equal(PARSE(&table, "--size", "0X1f"), MW_EXIT_OK);
    assert_true(params.size == 31);
    double zero = -1;
    assert_int_equal(mw_set_real("any", "-0", 0, 4, &zero, &err), MW_EXIT_OK);
    assert_true(zero == 0 && !signbit(zero));
    assert_int_equal(PARSE(&table, "--count", "3"), MW_EXIT_OK);
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

/// The words after it are not parsed.
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
    refuses("--share", "5", "--share 5: expected a number from 0.25 to 4");
    refuses("--share", "0.2", "--share 0.2: expected a number from 0.25 to 4");
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

/// A second word must not contradict the first. A flag, and an option that adds something, may be
/// repeated.
static void refuses_to_be_reported_twice(void **state)
{
    (void)state;
    assert_int_equal(PARSE(&table, "--count", "3", "--fast", "--count=4"), MW_EXIT_INPUT);
    assert_string_equal(err.text, "--count 4: --count is there twice");
    assert_int_equal(PARSE(&table, "--own", "x", "--own", "x"), MW_EXIT_INPUT);
    assert_string_equal(err.text, "--own x: --own is there twice");
    assert_int_equal(PARSE(&table, "--fast", "--fast", "--add", "a", "--add", "a"), MW_EXIT_OK);
    assert_string_equal(params.words, "a;a;");
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

/// Help has the texts of the table, in lines of 80 columns.
static void help_shows_the_table(void **state)
{
    (void)state;
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    assert_non_null(f);
    mw_command_help(&table, f);
    fclose(f);
    assert_string_equal(
        text, "usage: moeswitch try [OPTION]...\n"
              "       moeswitch try --other\n"
              "Tries options, in a text that is too long for a line of help, so that it goes on\n"
              "in a second one.\n"
              "\nFirst\n"
              "  --fast                a flag\n"
              "  --count N             of things, 2 to 9 (default 7; on others 7)\n"
              "  --size S              (default 18446744073709551615)\n"
              "  --share X             0.25 to 4 (default 0.25)\n"
              "\nSecond\n"
              "  --file FILE           a file\n"
              "  --own OWN             one of good, bad or longer-than-the-others\n"
              "  --add WORD            one more\n"
              "  --help, -h            this text\n"
              "\nValues of --own\n"
              "  good  as it should be\n"
              "  bad\n"
              "  longer-than-the-others\n"
              "        so\n");
    free(text);
}

static void wraps(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        unsigned at;
        const char *wrapped;
    } cases[] = {{"", 0, "\n"},
                 {" a  b\nc ", 0, "a b c\n"},
                 {"1234567890 x", 0, "1234567890\n  x\n"},
                 {"12345678901 x", 0, "12345678901\n  x\n"},
                 {"1234 67890 x", 0, "1234 67890\n  x\n"},
                 {"123 5678 12345678 12", 2, "123 5678\n  12345678\n  12\n"}};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = NULL;
        size_t size = 0;
        FILE *f = open_memstream(&text, &size);
        assert_non_null(f);
        mw_wrap(f, cases[i].text, cases[i].at, 2, 10);
        fclose(f);
        assert_string_equal(text, cases[i].wrapped);
        free(text);
    }
}

/// Every former name of a setting sets the current one. Help lists only the current one, which can
/// be set once.
static void former_names_set_current_ones(void **state)
{
    (void)state;
    const char *old, *now;
    unsigned count = 0;
    for (; mw_old_name(count, &old, &now); count++) {
        struct mw_settings settings = {0};
        struct mw_term term;
        char text[80];
        bool listed = false;
        snprintf(text, sizeof text, "%s=1", old);
        assert_int_equal(mw_add_run_setting(&settings, "set", text, &err), MW_EXIT_OK);
        assert_string_equal(settings.item[0].name, now);
        for (unsigned i = 0; mw_run_settings(i, &term); i++) {
            assert_string_not_equal(term.name, old);
            listed |= strcmp(term.name, now) == 0;
        }
        assert_true(listed);
        snprintf(text, sizeof text, "%s=1", now);
        assert_int_equal(mw_add_run_setting(&settings, "set", text, &err), MW_EXIT_INPUT);
        assert_line(err.text, text, "is set twice");
    }
    assert_int_equal(count, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_every_kind),
        cmocka_unit_test(takes_words_where_they_stand),
        cmocka_unit_test(help_ends_it),
        cmocka_unit_test(says_what_is_wrong),
        cmocka_unit_test(refuses_to_be_reported_twice),
        cmocka_unit_test(finds_the_nearest_name),
        cmocka_unit_test(help_shows_the_table),
        cmocka_unit_test(wraps),
        cmocka_unit_test(former_names_set_current_ones),
    };
    return cmocka_run_group_tests_name("option_table", tests, NULL, NULL);
}
