// SPDX-License-Identifier: Apache-2.0
//
// Tests of the .npy reader: what it must read, and every way in which a file can be malformed.
#include "host/support.h"

#include "formats/npy.h"

#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

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

/// Three elements of a type as the bytes of a file, in either byte order.
static void write_elements(const char *descr, size_t bytes, const void *little)
{
    char header[100];
    unsigned char data[3 * 8];
    for (size_t i = 0; i < 3 * bytes; i++)
        data[i] =
            ((const unsigned char *)little)[*descr == '>' ? i + bytes - 1 - 2 * (i % bytes) : i];
    snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (1, 3, 1)}",
             descr);
    write_npy(scratch("three.npy"), header, data, 3 * bytes);
}

static struct mw_npy read_three(unsigned types)
{
    struct mw_npy npy;
    struct mw_error err = {0};
    if (mw_npy_read(&npy, scratch("three.npy"), types, &err))
        fail_msg("%s", err.text);
    assert_true(npy.dims == 3 && npy.dim[1] == 3 && npy.count == 3);
    return npy;
}

static void reads_whole_numbers_of_every_type(void **state)
{
    (void)state;
    const int8_t one[] = {-1, 100, INT8_MIN};
    const int16_t two[] = {-1, 300, INT16_MIN};
    const int32_t four[] = {-1, 70000, INT32_MIN};
    const int64_t eight[] = {-1, INT64_C(1) << 40, INT64_MIN};
    const struct {
        const char *name;
        const void *data;
        size_t bytes;
        int64_t value[3];
    } kinds[] = {{"u1", one, 1, {255, 100, 128}},
                 {"u2", two, 2, {65535, 300, 32768}},
                 {"u4", four, 4, {UINT32_MAX, 70000, INT64_C(1) << 31}},
                 {"u8", eight, 8, {INT64_MAX, INT64_C(1) << 40, INT64_MAX}},
                 {"i1", one, 1, {-1, 100, INT8_MIN}},
                 {"i2", two, 2, {-1, 300, INT16_MIN}},
                 {"i4", four, 4, {-1, 70000, INT32_MIN}},
                 {"i8", eight, 8, {-1, INT64_C(1) << 40, INT64_MIN}}};
    for (unsigned i = 0; i < 3 * sizeof kinds / sizeof *kinds; i++) {
        const unsigned k = i / 3;
        char descr[8];
        snprintf(descr, sizeof descr, "%c%s", "<>|"[i % 3], kinds[k].name);
        if (i % 3 == 2 && kinds[k].bytes > 1)
            continue;
        write_elements(descr, kinds[k].bytes, kinds[k].data);
        struct mw_npy npy = read_three(MW_NPY_WHOLE);
        assert_string_equal(npy.descr, descr);
        assert_string_equal(mw_npy_name(npy.type), kinds[k].name);
        for (unsigned e = 0; e < 3; e++)
            assert_true(mw_npy_whole(&npy, e) == kinds[k].value[e]);
        assert_true(mw_npy_is_largest(&npy, 0));
        assert_false(mw_npy_is_largest(&npy, 1) || mw_npy_is_largest(&npy, 2));
        mw_npy_free(&npy);
        struct mw_error err = {0};
        assert_int_equal(mw_npy_read(&npy, scratch("three.npy"), MW_NPY_FLOAT, &err),
                         MW_EXIT_INPUT);
        assert_line(err.text, descr, "expected one of f2, f4, f8, bfloat16");
    }
}

static void reads_floats_of_every_type(void **state)
{
    (void)state;
    const uint16_t half[] = {0x3555, 0x8001, 0x7bff}, brain[] = {0x3eab, 0x8001, 0x7f7f},
                   half_odd[] = {0x7c00, 0xfc00, 0x7e01}, half_more[] = {0x0000, 0x03ff, 0xc000};
    const float single[] = {0.1f, -0x1p-149f, 0x1.fffffep127f};
    const double twice[] = {0.1, -0x1p-1074, 0x1.fffffffffffffp1023};
    const struct {
        const char *descr;
        const void *data;
        size_t bytes;
        double value[3];
    } kinds[] = {{"<f2", half, 2, {0x1.554p-2, -0x1p-24, 65504}},
                 {">f2", half, 2, {0x1.554p-2, -0x1p-24, 65504}},
                 {"<f2", half_odd, 2, {INFINITY, -INFINITY, NAN}},
                 {"<f2", half_more, 2, {0, 0x1.ff8p-15, -2}},
                 {"<f4", single, 4, {0.1f, -0x1p-149, 0x1.fffffep127}},
                 {">f4", single, 4, {0.1f, -0x1p-149, 0x1.fffffep127}},
                 {"<f8", twice, 8, {0.1, -0x1p-1074, 0x1.fffffffffffffp1023}},
                 {">f8", twice, 8, {0.1, -0x1p-1074, 0x1.fffffffffffffp1023}},
                 {"<V2", brain, 2, {0x1.56p-2, -0x1p-133, 0x1.fep127}},
                 {"bfloat16", brain, 2, {0x1.56p-2, -0x1p-133, 0x1.fep127}}};
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        write_elements(kinds[i].descr, kinds[i].bytes, kinds[i].data);
        struct mw_npy npy = read_three(MW_NPY_FLOAT);
        for (unsigned e = 0; e < 3; e++) {
            double value = mw_npy_real(&npy, e), right = kinds[i].value[e];
            if (value != right && !(isnan(value) && isnan(right)))
                fail_msg("%s: element %u is %a, not %a", kinds[i].descr, e, value, right);
        }
        mw_npy_free(&npy);
    }
    // two bytes that may be anything are no bf16, unless the caller sets the type
    write_elements("|V2", 2, brain);
    struct mw_npy npy;
    struct mw_error err = {0};
    assert_int_equal(mw_npy_read(&npy, scratch("three.npy"), MW_NPY_FLOAT, &err), MW_EXIT_INPUT);
    assert_line(err.text, "'|V2'");
    npy = read_three(1u << MW_NPY_RAW2);
    mw_npy_free(&npy);
}

/// The strides give the place of an element: of C order and of Fortran order, of one to three
/// dimensions.
static void reads_both_orders(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        unsigned dims;
        size_t dim[3], stride[3];
    } kinds[] = {
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (2, 3, 2), }", 3, {2, 3, 2}, {6, 2, 1}},
        {"{'descr': '<u2', 'fortran_order': True, 'shape': (2, 3, 2), }", 3, {2, 3, 2}, {1, 2, 6}},
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (4, 3), }", 2, {4, 3, 1}, {3, 1, 0}},
        {"{'descr': '<u2', 'fortran_order': True, 'shape': (4, 3), }", 2, {4, 3, 1}, {1, 4, 0}},
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (12,), }", 1, {12, 1, 1}, {1, 0, 0}}};
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct mw_npy npy;
        write_npy(scratch("a.npy"), kinds[i].header, elements, sizeof elements);
        assert_int_equal(mw_npy_read(&npy, scratch("a.npy"), MW_NPY_WHOLE, NULL), MW_EXIT_OK);
        assert_int_equal(npy.dims, kinds[i].dims);
        assert_memory_equal(npy.dim, kinds[i].dim, sizeof npy.dim);
        assert_memory_equal(npy.stride, kinds[i].stride, sizeof npy.stride);
        mw_npy_free(&npy);
    }
}

/// The reader must refuse `path` with a line that has the path, `place` and `cause`.
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

/// The same with a NUL in place of '#', which ends no string.
static void refuse_nul(const char *header, const char *cause)
{
    const char *path = scratch("bad.npy");
    write_npy(path, header, elements, sizeof elements);
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    for (int c; (c = getc(f)) != EOF && c != '#';)
        ;
    fseek(f, -1, SEEK_CUR);
    putc(0, f);
    fclose(f);
    refuse(path, "byte", cause);
}

static void refuses_what_is_not_npy(void **state)
{
    (void)state;
    refuse(scratch("absent.npy"), "", "cannot open");
    refuse(scratch("."), "", "not a regular file");
    assert_int_equal(mkfifo(scratch("fifo"), 0600), 0);
    alarm(20); // no process writes to it: opening it must not wait for one
    refuse(scratch("fifo"), "", "not a regular file");
    alarm(0);
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
                  "element type is '<i8', expected one of u2");
    static const char *const unknown[] = {"|b1", "<c8", "<U4", "<M8[ns]", "=u2", "|u2",
                                          "<V1", "u2",  "",    ">V2",     "|O"};
    for (unsigned i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        char header[100], type[32];
        snprintf(header, sizeof header,
                 "{'descr': '%s', 'fortran_order': False, 'shape': (2, 3, 2), }", unknown[i]);
        snprintf(type, sizeof type, "'%s'", unknown[i]);
        refuse_header(header, "header", type);
    }
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
    refuse_header("{'descr': '<u2', 'descr': '<i2', 'fortran_order': False, 'shape': (2, 3, 2), }",
                  "byte", "descr is there twice");
    refuse_header(
        "{'descr': '<u2', 'fortran_order': False, 'fortran_order': False, 'shape': (12,)}", "byte",
        "fortran_order is there twice");
    refuse_header("{'descr': '<u2', 'fortran_order': False, 'shape': (3,), 'shape': (2, 3, 2)}",
                  "byte", "shape is there twice");
    refuse_header("{'descr' '<u2'}", "byte", "no colon");
    refuse_header("{'descr': '<u2', 'fortran_order': False, 'shape': (2, 3, 2)} x", "byte",
                  "after the dictionary");
    refuse_nul("{'descr': '<u2#', 'fortran_order': False, 'shape': (2, 3, 2), }",
               "not a simple type");
    refuse_nul("{'descr#': '<u2', 'fortran_order': False, 'shape': (2, 3, 2), }",
               "not a short string");
}

/// A name with a newline must not break the line.
static void keeps_to_one_line(void **state)
{
    (void)state;
    struct mw_npy npy;
    struct mw_error err = {0};
    assert_int_equal(mw_npy_read(&npy, "/no\nwhere", 1u << MW_NPY_U2, &err), MW_EXIT_INPUT);
    assert_line(err.text, "/no\xef\xbf\xbdwhere");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_version_1),
        cmocka_unit_test(reads_version_2_and_floats),
        cmocka_unit_test(reads_whole_numbers_of_every_type),
        cmocka_unit_test(reads_floats_of_every_type),
        cmocka_unit_test(reads_both_orders),
        cmocka_unit_test(refuses_what_is_not_npy),
        cmocka_unit_test(refuses_every_truncation),
        cmocka_unit_test(refuses_wrong_types_and_shapes),
        cmocka_unit_test(refuses_malformed_headers),
        cmocka_unit_test(keeps_to_one_line),
    };
    return cmocka_run_group_tests_name("npy", tests, scratch_make, scratch_remove);
}
