// SPDX-License-Identifier: Apache-2.0
//
// Tests of the JSON writer (exact bytes, and read back by another parser) and of
// the meta.json reader.
#include "host/support.h"

#include "formats/json.h"
#include "trace/meta.h"

#include <cjson/cJSON.h>
#include <math.h>

static void write_sample(struct mw_json *j)
{
    assert_int_equal(mw_json_open(j, NULL), MW_EXIT_OK);
    mw_json_object(j, NULL, false);
    mw_json_string(j, "name", "a \"b\"\\\n\x01 \xc3\xa9");
    mw_json_string(j, "strange", "\x7f\xc2\x9b\xff\xe2\x80\xa8");
    mw_json_uint(j, "big", UINT64_MAX);
    mw_json_uint(j, "larger", MW_JSON_EXACT + 1);
    mw_json_uint(j, "exact", MW_JSON_EXACT);
    mw_json_array(j, "list", true);
    mw_json_uint(j, NULL, 1);
    mw_json_object(j, NULL, false);
    mw_json_bool(j, "t", true);
    mw_json_end(j);
    mw_json_end(j);
    mw_json_object(j, "empty", false);
    mw_json_end(j);
    mw_json_double(j, "share", 1.0 / 3.0);
    mw_json_double(j, "nan", NAN);
    mw_json_null(j, "none");
    mw_json_string(j, "nothing", NULL);
    mw_json_end(j);
    assert_int_equal(mw_json_close(j, NULL), MW_EXIT_OK);
}

static void writes_exact_bytes(void **state)
{
    (void)state;
    struct mw_json j = {0};
    write_sample(&j);
    static const char expected[] = "{\n"
                                   "  \"name\": \"a \\\"b\\\"\\\\\\u000a\\u0001 \xc3\xa9\",\n"
                                   "  \"strange\": \"\\u007f\\u009b\xef\xbf\xbd\\u2028\",\n"
                                   "  \"big\": \"18446744073709551615\",\n"
                                   "  \"larger\": \"9007199254740992\",\n"
                                   "  \"exact\": 9007199254740991,\n"
                                   "  \"list\": [1, {\"t\": true}],\n"
                                   "  \"empty\": {},\n"
                                   "  \"share\": 0.3333333333333333,\n"
                                   "  \"nan\": null,\n"
                                   "  \"none\": null,\n"
                                   "  \"nothing\": null\n"
                                   "}\n";
    assert_string_equal(j.text, expected);
    assert_int_equal(j.size, sizeof expected - 1);
    mw_json_free(&j);
}

static void another_parser_reads_it(void **state)
{
    (void)state;
    struct mw_json j = {0};
    write_sample(&j);
    cJSON *root = cJSON_Parse(j.text);
    assert_non_null(root);
    assert_string_equal(cJSON_GetObjectItem(root, "name")->valuestring, "a \"b\"\\\n\x01 \xc3\xa9");
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(root, "list")), 2);
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(root, "nan")));
    cJSON_Delete(root);
    mw_json_free(&j);
}

/// A program must get back the number that was measured, at any size.
static void numbers_are_exact(void **state)
{
    (void)state;
    static const double value[] = {0.1,    1234567.5, 16777217, 123456789012.0,     1e300,
                                   5e-324, 1.0 / 3.0, -2.5e-7,  9007199254740993.0, 0};
    static const char *const text[] = {"0.1", "1234567.5", "16777217"};
    for (unsigned i = 0; i < sizeof value / sizeof *value; i++) {
        struct mw_json j = {0};
        assert_int_equal(mw_json_open(&j, NULL), MW_EXIT_OK);
        mw_json_double(&j, NULL, value[i]);
        assert_int_equal(mw_json_close(&j, NULL), MW_EXIT_OK);
        assert_true(strtod(j.text, NULL) == value[i]);
        if (i < 3) {
            j.text[strlen(j.text) - 1] = 0;
            assert_string_equal(j.text, text[i]); // and no longer than it must be
        }
        mw_json_free(&j);
    }
}

static void reads_meta(void **state)
{
    (void)state;
    static const char text[] =
        "{\"model\": \"m\", \"experts\": 64, \"hidden\": 2048,\n \"layers\": 26,"
        " \"tokens\": 4096, \"top_k\": 6, \"note\": [1, {}]}\n\n";
    write_file(scratch("meta.json"), text, sizeof text - 1);
    struct mw_meta meta;
    struct mw_error err = {0};
    assert_int_equal(mw_meta_read(&meta, scratch("meta.json"), &err), MW_EXIT_OK);
    assert_string_equal(meta.model, "m");
    assert_int_equal(meta.experts, 64);
    assert_int_equal(meta.hidden, 2048);
    assert_int_equal(meta.layers, 26);
    assert_int_equal(meta.tokens, 4096);
    assert_int_equal(meta.k, 6);
}

/// Numbers that no double holds come with all their digits, at any depth.
static void reads_large_numbers(void **state)
{
    (void)state;
    static const char text[] =
        "\xef\xbb\xbf {\"a\": [18446744073709551615, {\"b\\\"]\": -9223372036854775807 }],\n"
        "\"c\":9007199254740991, \"d\": 9007199254740992 ,\"e\": 1.5e300, \"f\": 1e19, \"g\": null,"
        "\"h\": [true,false,\"x\\\\\"] , \"i\": {}, \"j\":9007199254740993}\r\n";
    cJSON *root;
    struct mw_error err = {0};
    write_file(scratch("large.json"), text, sizeof text - 1);
    if (mw_json_read(&root, scratch("large.json"), 1 << 20, "a text", &err))
        fail_msg("%s", err.text);
    const cJSON *a = cJSON_GetObjectItem(root, "a");
    assert_string_equal(cJSON_GetArrayItem(a, 0)->valuestring, "18446744073709551615");
    assert_string_equal(cJSON_GetArrayItem(a, 1)->child->valuestring, "-9223372036854775807");
    assert_true(cJSON_GetObjectItem(root, "c")->valuedouble == 9007199254740991.0);
    assert_string_equal(cJSON_GetObjectItem(root, "d")->valuestring, "9007199254740992");
    assert_true(cJSON_IsNumber(cJSON_GetObjectItem(root, "e")));
    assert_true(cJSON_IsNumber(cJSON_GetObjectItem(root, "f")));
    assert_string_equal(cJSON_GetArrayItem(cJSON_GetObjectItem(root, "h"), 2)->valuestring, "x\\");
    assert_string_equal(cJSON_GetObjectItem(root, "j")->valuestring, "9007199254740993");
    cJSON_Delete(root);
}

static void refuse(const char *text, const char *place, const char *cause)
{
    const char *path = scratch("bad.json");
    write_file(path, text, strlen(text));
    struct mw_meta meta;
    struct mw_error err = {0};
    assert_int_equal(mw_meta_read(&meta, path, &err), MW_EXIT_INPUT);
    assert_line(err.text, path, place, cause);
}

static void refuses_bad_meta(void **state)
{
    (void)state;
    refuse("", "line 1", "malformed JSON, the file ends too early");
    refuse("{\"experts\": 64", "line 1", "ends too early");
    refuse("{\n\"experts\": 64,\n oops}", "line 3", "malformed");
    refuse("{\"experts\": 64}\n{}", "line 2", "malformed");
    refuse("[64]", "line 1", "not a JSON object");
    refuse("{\"model\": \"m\"}", "\"experts\"", "missing");
    refuse("{\"experts\": 0}", "\"experts\"", "whole number from 1 to 4096");
    refuse("{\"experts\": 4097}", "\"experts\"", "whole number from 1 to 4096");
    refuse("{\"experts\": 6.5}", "\"experts\"", "whole number");
    refuse("{\"experts\": \"64\"}", "\"experts\"", "whole number");
    refuse("{\"experts\": 64, \"model\": 7}", "\"model\"", "not a string");
    refuse("{\"experts\": 64, \"tokens\": -1}", "\"tokens\"", "whole number");
    refuse("{\"experts\": 64,\n\"k\": 2,\n\"experts\": 32}", "line 3",
           "the key \"experts\" is there twice, first in line 1");
    refuse("{\"experts\": 64, \"\\u0065xperts\": 64}", "line 1", "\"experts\" is there twice");
    refuse("{\"experts\": 64, \"note\": [\n{\"b\": {}, \"c\": 1,\n \"b\": 2}]}", "line 3",
           "\"b\" is there twice, first in line 2");
    refuse("{\"experts\": 18446744073709551615}", "\"experts\"", "whole number from 1 to 4096");
    static const char *const numbers[] = {"064", "-01", "1.", "1e", "1.e3", "1e+", "-"};
    for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char text[64];
        snprintf(text, sizeof text, "{\"experts\": 64,\n\"x\": %s}", numbers[i]);
        refuse(text, "line 2", "malformed JSON");
    }
    refuse("{\"experts\": 64,\n\"x\": 1e400}", "line 2", "1e400 is beyond all numbers");
    refuse("{\"experts\": 64,\n\"x\": [-1.5e+309]}", "line 2", "-1.5e+309 is beyond all numbers");
    // in C a text ends there: a value, a key, and inside of what no code reads
    refuse("{\"experts\": 64,\n\"model\": \"m\\u0000n\"}", "line 2", "\\u0000 in a string");
    refuse("{\"experts\\u0000\": 64}", "line 1", "\\u0000 in a string");
    refuse("{\"experts\": 64, \"x\": [\n[{\"a\\\\\\u0000\": 1}]]}", "line 2",
           "\\u0000 in a string");
    // an escaped backslash before digits is no escape of a NUL
    static const char escaped[] = "{\"experts\": 64, \"model\": \"\\\\u0000\"}";
    write_file(scratch("plain.json"), escaped, sizeof escaped - 1);
    struct mw_meta plain;
    assert_int_equal(mw_meta_read(&plain, scratch("plain.json"), NULL), MW_EXIT_OK);
    assert_string_equal(plain.model, "\\u0000");
    static const char nul[] = "{\"experts\": 64,\n\0\"model\": \"m\"}";
    struct mw_meta meta;
    struct mw_error err = {0};
    write_file(scratch("nul.json"), nul, sizeof nul - 1);
    assert_int_equal(mw_meta_read(&meta, scratch("nul.json"), &err), MW_EXIT_INPUT);
    assert_line(err.text, "nul.json: line 2: malformed JSON");
    assert_int_equal(mw_meta_read(&meta, scratch("absent.json"), &err), MW_EXIT_INPUT);
    assert_line(err.text, "absent.json", "cannot open");
}

/// A file that ends early is reported for every length, and nothing is read after its end.
static void cut_anywhere(void **state)
{
    (void)state;
    static const char text[] = "{\"experts\": 64, \"n\": [1, -2.5e3, \"\\u00e9\\\"\", {\"a\": "
                               "true, \"b\": null}], \"k\": {}}";
    for (size_t n = 0; n < sizeof text - 1; n++) {
        struct mw_meta meta;
        struct mw_error err = {0};
        write_file(scratch("cut.json"), text, n);
        assert_int_equal(mw_meta_read(&meta, scratch("cut.json"), &err), MW_EXIT_INPUT);
        assert_line(err.text, "cut.json: line 1: malformed JSON");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_exact_bytes), cmocka_unit_test(another_parser_reads_it),
        cmocka_unit_test(numbers_are_exact),  cmocka_unit_test(reads_meta),
        cmocka_unit_test(refuses_bad_meta),   cmocka_unit_test(reads_large_numbers),
        cmocka_unit_test(cut_anywhere),
    };
    return cmocka_run_group_tests_name("json", tests, scratch_make, scratch_remove);
}
