// SPDX-License-Identifier: Apache-2.0
//
// Tests of input files that are read as a whole: their contents, files that are too large, and a
// disk that fails during the read.
#include "host/support.h"

#include "base/input.h"
#include "formats/csv_read.h"
#include "formats/json.h"

#include <cjson/cJSON.h>
#include <dlfcn.h>
#include <errno.h>

static bool broken; ///< each read fails after half of the requested bytes

/// In place of the C library's.
size_t fread(void *to, size_t size, size_t count, FILE *f)
{
    size_t (*real)(void *, size_t, size_t, FILE *);
    *(void **)&real = dlsym(RTLD_NEXT, "fread");
    if (!broken)
        return real(to, size, count, f);
    const size_t got = real(to, size, count / 2, f);
    fputc(0, f); // sets the error of a stream that is not for writing
    errno = EIO;
    return got;
}

static const char *file_of(const char *text, size_t bytes)
{
    const char *path = scratch("input");
    write_file(path, text, bytes);
    return path;
}

static void reads_what_is_there(void **state)
{
    (void)state;
    static const char bytes[] = "a\0b\n";
    struct mw_error err = {0};
    char *text;
    size_t size;
    for (size_t n = 0; n < sizeof bytes; n++) {
        assert_int_equal(mw_input_text(&text, &size, file_of(bytes, n), n, "it", &err), 0);
        assert_int_equal(size, n);
        assert_memory_equal(text, bytes, n);
        assert_int_equal(text[n], 0);
        free(text);
    }
    assert_int_equal(mw_input_text(&text, &size, file_of(bytes, 4), 3, "a list", &err),
                     MW_EXIT_INPUT);
    assert_null(text);
    assert_line(err.text, "4 bytes, more than a list can have");
}

static void a_read_that_fails(void **state)
{
    (void)state;
    struct mw_error err = {0};
    struct mw_csv_table table;
    cJSON *root;
    const char *path = file_of("[1, 2]\n", 7);
    broken = true;
    const int json = mw_json_read(&root, path, 100, "it", &err);
    broken = false;
    assert_int_equal(json, MW_EXIT_FAILED);
    assert_null(root);
    assert_line(err.text, "input: cannot read: Input/output error");
    path = file_of("a,b\n1,2\n", 8);
    broken = true;
    const int csv = mw_csv_read(&table, path, 100, "it", &err);
    broken = false;
    assert_int_equal(csv, MW_EXIT_FAILED);
    assert_line(err.text, "input: cannot read: Input/output error");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_is_there),
        cmocka_unit_test(a_read_that_fails),
    };
    return cmocka_run_group_tests_name("input", tests, scratch_make, scratch_remove);
}
