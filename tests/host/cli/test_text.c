// SPDX-License-Identifier: Apache-2.0
//
// Tests of output of external text: what counts as a character, and what replaces an invalid one.
// Messages, CSV and JSON contain nothing else.
#include "host/support.h"

#include "base/error.h"
#include "base/text.h"
#include "formats/csv.h"

#define NONE MW_TEXT_REPLACEMENT

/// What a name may hold, and what is shown of it.
static const struct {
    const char *text, *shown;
} cases[] = {
    {"plain", "plain"},
    {"", ""},
    {"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\xb4", "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\xb4"},
    {"\033[2Ja\nb\rc\td\x7f", NONE "[2Ja" NONE "b" NONE "c" NONE "d" NONE},
    {"\xc2\x85\xc2\x9b"
     "1m",
     NONE NONE "1m"},                  // C1: a line, an escape
    {"a\xff\x80z", "a" NONE NONE "z"}, // no bytes of UTF-8
    {"\xc3", NONE},                    // cut short
    {"\xe2\x82"
     "x",
     NONE NONE "x"},
    {"\xc0\xaf\xe0\x80\xaf", NONE NONE NONE NONE NONE}, // longer than it need be
    {"\xed\xa0\x80", NONE NONE NONE},                   // a surrogate
    {"\xf4\x90\x80\x80\xf8\x88\x80\x80\x80", NONE NONE NONE NONE NONE NONE NONE NONE NONE},
    {"\xef\xbf\xbf\xef\xb7\x90", NONE NONE}, // no characters
    {"\xe2\x80\xa8\xe2\x80\xa9", NONE NONE}, // a line, a paragraph
    {"\xe2\x80\xa9\xe2\x80\xaa\xe2\x80\xae\xe2\x80\xaf", NONE NONE NONE "\xe2\x80\xaf"},
    {"\xe2\x81\xa5\xe2\x81\xa6\xe2\x81\xa9\xe2\x81\xaa",
     "\xe2\x81\xa5" NONE NONE "\xe2\x81\xaa"}, // another order of what follows
};

/// A value of a table of CSV.
static void assert_csv(const char *value, const char *csv)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    mw_csv_write(f, value);
    fclose(f);
    assert_string_equal(text, csv);
    free(text);
}

static void shows_what_is_text(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_string_equal(MW_SHOWN(cases[i].text), cases[i].shown);
        struct mw_error err;
        mw_fail(&err, MW_EXIT_INPUT, "%s", cases[i].text);
        assert_string_equal(err.text, cases[i].shown);
        assert_csv(cases[i].text, cases[i].shown);
    }
    assert_string_equal(MW_SHOWN(NULL), "");
}

/// No character is cut in two, and nothing is written after the end.
static void cuts_between_characters(void **state)
{
    (void)state;
    for (unsigned size = 1; size < 8; size++) {
        char to[16];
        memset(to, 'e', sizeof to);
        mw_text_clean(to, size, "\xe2\x82\xac\xff");
        assert_string_equal(to, size < 4 ? "" : size < 7 ? "\xe2\x82\xac" : "\xe2\x82\xac" NONE);
        assert_int_equal(to[size], 'e');
    }
}

/// Every byte after every byte: for any input the output is text.
static void any_bytes_become_text(void **state)
{
    (void)state;
    for (unsigned a = 1; a < 256; a++)
        for (unsigned b = 1; b < 256; b++) {
            const char in[4] = {(char)a, (char)b, '.'};
            const char *out = MW_SHOWN(in);
            for (uint32_t code; *out; out += mw_text_char(out, &code)) {
                assert_true(mw_text_char(out, &code));
                assert_true(mw_text_is_plain(code));
            }
        }
}

static void quotes_csv(void **state)
{
    (void)state;
    static const struct {
        const char *text, *csv;
    } quoted[] = {{"a,b", "\"a,b\""}, {"\"", "\"\"\"\""}, {"a\n,\"", "\"a" NONE ",\"\"\""}};
    for (unsigned i = 0; i < sizeof quoted / sizeof *quoted; i++)
        assert_csv(quoted[i].text, quoted[i].csv);
}

/// For any length of a name, the cause after it is complete, in whole characters.
static void long_messages_keep_their_ends(void **state)
{
    (void)state;
    static const char *const parts[] = {"a", "\xe2\x82\xac", "\033"};
    static char name[4096];
    struct mw_error err;
    for (unsigned p = 0; p < 3; p++)
        for (unsigned n = 0; n < 1100; n++) {
            *name = 0;
            for (unsigned i = 0; i < n; i++)
                memcpy(name + i * strlen(parts[p]), parts[p], strlen(parts[p]) + 1);
            mw_fail(&err, MW_EXIT_INPUT, "--option %s: the cause", name);
            const size_t length = strlen(err.text);
            assert_true(length < sizeof err.text);
            assert_int_equal(strncmp(err.text, "--option ", 9), 0);
            assert_string_equal(err.text + length - 11, ": the cause");
            assert_string_equal(MW_SHOWN(err.text), err.text);
            mw_fail(&err, MW_EXIT_INPUT, "more: %s", err.text);
            assert_non_null(strstr(err.text, "more: --option "));
            assert_non_null(strstr(err.text, ": the cause"));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shows_what_is_text),
        cmocka_unit_test(cuts_between_characters),
        cmocka_unit_test(any_bytes_become_text),
        cmocka_unit_test(quotes_csv),
        cmocka_unit_test(long_messages_keep_their_ends),
    };
    return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
