// SPDX-License-Identifier: Apache-2.0
//
// Tests of the .npy reader: what it must read, and every way in which a file can be malformed.
#include "support.h"

#include "npy.h"

static const char good[] = "{'descr': '<u2', 'fortran_order': False, 'shape': (2, 3, 2), }";
static const uint16_t elements[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0xffff};

static void reads_version_1(void **state)
{
    (void)state;
    struct mw_npy npy;
    struct mw_error err = {0};
    write_npy(scratch("a.npy"), good, elements, sizeof elements);
    assert_int_equal(mw_npy_read(&npy, scratch("a.npy"), 1u << MW_NPY_U2, &err), MW_EXIT_OK);
    assert_int_equal(npy.dim[0], 2);
    assert_int_equal(npy.dim[1], 3);
    assert_int_equal(npy.dim[2], 2);
    assert_memory_equal(npy.data, elements, sizeof elements);
    mw_npy_free(&npy);
    assert_null(npy.data);
}

static void reads_version_2_and_floats(void **state)
{
    (void)state;
    // Another order of keys, double quotes, no trailing comma: all of it is legal.
    static const char header[] = "{\"shape\":(1,1,3),\"fortran_order\":False,\"descr\":\"<f4\"}\n";
    const float values[3] = {1.5f, -2.25f, 0.0f};
    unsigned char bytes[12 + sizeof header - 1 + sizeof values] = "\x93NUMPY\x02";
    bytes[8] = sizeof header - 1;
    memcpy(bytes + 12, header, sizeof header - 1);
    memcpy(bytes + 12 + sizeof header - 1, values, sizeof values);
    write_file(scratch("v2.npy"), bytes, sizeof bytes);
    struct mw_npy npy;
    struct mw_error err = {0};
    assert_int_equal(mw_npy_read(&npy, scratch("v2.npy"), MW_NPY_FLOAT, &err), MW_EXIT_OK);
    assert_int_equal(npy.dim[2], 3);
    assert_memory_equal(npy.data, values, sizeof values);
    mw_npy_free(&npy);
}

static void reads_whole_numbers_of_every_type(void **state)
{
    (void)state;
    const int16_t two[] = {-1, 300, INT16_MIN};
    const int32_t four[] = {-1, 70000, INT32_MIN};
    const int64_t eight[] = {-1, INT64_C(1) << 40, INT64_MIN};
    const struct {
        enum mw_npy_type type;
        const void *data;
        int64_t value[3];
    } kinds[] = {{MW_NPY_U2, two, {65535, 300, 32768}},
                 {MW_NPY_I2, two, {-1, 300, INT16_MIN}},
                 {MW_NPY_I4, four, {-1, 70000, INT32_MIN}},
                 {MW_NPY_I8, eight, {-1, INT64_C(1) << 40, INT64_MIN}}};
    for (unsigned i = 0; i < 4; i++) {
        struct mw_npy npy;
        struct mw_error err = {0};
        char header[100];
        snprintf(header, sizeof header,
                 "{'descr': '%s', 'fortran_order': False, 'shape': (1, 3, 1)}",
                 mw_npy_descr(kinds[i].type));
        write_npy(scratch("whole.npy"), header, kinds[i].data, 3 * mw_npy_bytes(kinds[i].type));
        assert_int_equal(mw_npy_read(&npy, scratch("whole.npy"), MW_NPY_WHOLE, &err), MW_EXIT_OK);
        assert_int_equal(npy.type, kinds[i].type);
        for (unsigned e = 0; e < 3; e++)
            assert_true(mw_npy_whole(&npy, e) == kinds[i].value[e]);
        mw_npy_free(&npy);
        assert_int_equal(mw_npy_read(&npy, scratch("whole.npy"), MW_NPY_FLOAT, &err),
                         MW_EXIT_INPUT);
        assert_line(err.text, mw_npy_descr(kinds[i].type), "expected '<f4'");
    }
}

/// The reader must refuse `path` with a line that names it and says `place` and `cause`.
static void refuse(const char *path, const char *place, const char *cause)
{
    struct mw_npy npy;
    struct mw_error err = {0};
    assert_int_equal(mw_npy_read(&npy, path, 1u << MW_NPY_U2, &err), MW_EXIT_INPUT);
    assert_line(err.text, path, place, cause);
    assert_null(npy.data);
}

static void refuse_header(const char *header, const char *place, const char *cause)
{
    const char *path = scratch("bad.npy");
    write_npy(path, header, elements, sizeof elements);
    refuse(path, place, cause);
}

static void refuses_what_is_not_npy(void **state)
{
    (void)state;
    refuse(scratch("absent.npy"), "", "cannot open");
    refuse(scratch("."), "", "not a regular file");
    const char *path = scratch("text.npy");
    write_file(path, "layer,token,expert\n", 19);
    refuse(path, "byte 0", "not a .npy file");
    write_file(path, "", 0);
    refuse(path, "byte 0", "not a .npy file");
    write_file(path, "\x93NUMPY\x03\x00\x10\x00\x00\x00", 12);
    refuse(path, "byte 6", "version 3.0");
}

/// A good file cut anywhere must be called truncated.
static void refuses_every_truncation(void **state)
{
    (void)state;
    const char *path = scratch("whole.npy");
    write_npy(path, good, elements, sizeof elements);
    unsigned char bytes[256];
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t size = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    assert_int_equal(size, 128 + sizeof elements);
    for (size_t cut = 1; cut < size; cut++) {
        path = scratch("cut.npy");
        write_file(path, bytes, cut);
        char place[32];
        snprintf(place, sizeof place, "byte %zu", cut);
        refuse(path, place, "truncated");
    }
    bytes[size] = 0;
    write_file(path, bytes, size + 1);
    refuse(path, "byte 152", "1 bytes after the last element");
}

static void refuses_wrong_types_and_shapes(void **state)
{
    (void)state;
    refuse_header("{'descr': '<i8', 'fortran_order': False, 'shape': (2, 3, 2), }", "header",
                  "element type is '<i8', expected '<u2'");
    refuse_header("{'descr': '>u2', 'fortran_order': False, 'shape': (2, 3, 2), }", "header",
                  "'>u2'");
    refuse_header("{'descr': '<u2', 'fortran_order': True, 'shape': (2, 3, 2), }", "header",
                  "Fortran order");
    refuse_header("{'descr': '<u2', 'fortran_order': False, 'shape': (6, 2), }", "header",
                  "2 dimensions");
    refuse_header("{'descr': '<u2', 'fortran_order': False, 'shape': (1, 2, 3, 2), }", "header",
                  "4 dimensions");
    refuse_header("{'descr': '<u2', 'fortran_order': False, 'shape': (), }", "header",
                  "0 dimensions");
    refuse_header("{'descr': '<u2', 'fortran_order': False, 'shape': (2, 0, 2), }", "header",
                  "dimension 1 of the shape is 0");
    refuse_header(
        "{'descr': '<u2', 'fortran_order': False, 'shape': (4294967296, 4294967296, 2), }",
        "header", "too large");
    refuse_header("{'descr': '<u2', 'fortran_order': False, 'shape': "
                  "(99999999999999999999999999, 1, 1), }",
                  "byte", "too large");
}

static void refuses_malformed_headers(void **state)
{
    (void)state;
    refuse_header("['descr', '<u2']", "byte", "not a dictionary");
    refuse_header("{'descr': '<u2', 'fortran_order': False, }", "byte", "missing");
    refuse_header("{'descr': '<u2', 'fortran_order': 0, 'shape': (2, 3, 2), }", "byte",
                  "fortran_order");
    refuse_header("{'descr': [('a', '<u2')], 'fortran_order': False, 'shape': (2, 3, 2), }", "byte",
                  "not a simple type");
    refuse_header("{'descr': '<u2', 'fortran_order': False, 'shape': (2, 3, -2), }", "byte",
                  "not a number");
    refuse_header("{'descr': '<u2', 'fortran_order': False, 'shape': (2, 3, 2", "byte", "not end");
    refuse_header("{'descr': '<u2', 'fortran_order': False, 'shape': (2, 3, 2)", "byte", "not end");
    refuse_header("{'descr': '<u2', 'color': 1}", "byte", "unknown key");
    refuse_header("{'descr", "byte", "not a short string");
    refuse_header("{'descr' '<u2'}", "byte", "no colon");
    refuse_header("{'descr': '<u2', 'fortran_order': False, 'shape': (2, 3, 2)} x", "byte",
                  "after the dictionary");
}

/// A name with a newline must not break the line.
static void keeps_to_one_line(void **state)
{
    (void)state;
    struct mw_npy npy;
    struct mw_error err = {0};
    assert_int_equal(mw_npy_read(&npy, "/no\nwhere", 1u << MW_NPY_U2, &err), MW_EXIT_INPUT);
    assert_line(err.text, "/no?where");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_version_1),
        cmocka_unit_test(reads_version_2_and_floats),
        cmocka_unit_test(reads_whole_numbers_of_every_type),
        cmocka_unit_test(refuses_what_is_not_npy),
        cmocka_unit_test(refuses_every_truncation),
        cmocka_unit_test(refuses_wrong_types_and_shapes),
        cmocka_unit_test(refuses_malformed_headers),
        cmocka_unit_test(keeps_to_one_line),
    };
    return cmocka_run_group_tests_name("npy", tests, scratch_make, scratch_remove);
}
