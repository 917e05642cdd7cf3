// SPDX-License-Identifier: Apache-2.0
//
// Tests of the accepted files of a trace: the order of the axes, types of IDs and weights,
// archives, files without a meta.json. Also archives that are damaged or inconsistent.
#include "host/support.h"

#include "formats/npz.h"
#include "trace/trace.h"

#include <math.h>
#include <minizip/zip.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { LAYERS = 3, TOKENS = 5, K = 2, EXPERTS = 8, ALL = LAYERS * TOKENS * K };

/// Each place has an expert and a weight of its own, so that no two orders give the same trace.
static uint16_t expert_of(size_t l, size_t t, size_t j)
{
    return (uint16_t)((l + 2 * t + 3 * j) % EXPERTS);
}

static float weight_of(size_t l, size_t t, size_t j)
{
    return (float)(1 + j + K * (t + TOKENS * l)) / 64; // exact in bf16 and in float16
}

static void assert_trace(const struct mw_trace *t)
{
    assert_true(t->layers == LAYERS && t->tokens == TOKENS && t->k == K && t->experts == EXPERTS);
    for (size_t l = 0; l < LAYERS; l++)
        for (size_t n = 0; n < TOKENS; n++)
            for (size_t j = 0; j < K; j++) {
                size_t at = mw_trace_at(t, l, n) + j;
                assert_int_equal(t->ids[at], expert_of(l, n, j));
                assert_true(t->weights[at] == (t->uniform ? 1.0f / K : weight_of(l, n, j)));
            }
}

// ---- files --------------------------------------------------------------------------------------

/// The arrays of a trace, in the order of axes that make_arrays was given.
static struct {
    bool fortran;
    uint16_t ids[ALL];
    float weights[ALL];
    char shape[40];
} a;

/// "tkl" is [tokens, k, layers].
static void make_arrays(const char *order, bool fortran)
{
    size_t dim[3], stride[3];
    a.fortran = fortran;
    for (unsigned i = 0; i < 3; i++)
        dim[i] = order[i] == 'l' ? LAYERS : order[i] == 't' ? TOKENS : K;
    snprintf(a.shape, sizeof a.shape, "(%zu, %zu, %zu)", dim[0], dim[1], dim[2]);
    for (unsigned i = 0; i < 3; i++) {
        stride[i] = 1;
        for (unsigned n = fortran ? 0 : i + 1; n < (fortran ? i : 3); n++)
            stride[i] *= dim[n];
    }
    for (size_t l = 0; l < LAYERS; l++)
        for (size_t t = 0; t < TOKENS; t++)
            for (size_t j = 0; j < K; j++) {
                size_t at = 0;
                for (unsigned i = 0; i < 3; i++)
                    at += stride[i] * (order[i] == 'l' ? l : order[i] == 't' ? t : j);
                a.ids[at] = expert_of(l, t, j);
                a.weights[at] = weight_of(l, t, j);
            }
}

static const char *header_of(const char *descr)
{
    static char text[2][120];
    static unsigned next;
    char *header = text[next++ % 2];
    snprintf(header, sizeof text[0], "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }", descr,
             a.fortran ? "True" : "False", a.shape);
    return header;
}

static const char *in(const char *folder, const char *file)
{
    static char path[300];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    return path;
}

/// A new folder with both arrays and a meta.json of that text.
static const char *write_folder(const char *meta)
{
    static unsigned number;
    char name[32];
    snprintf(name, sizeof name, "folder%u", number++);
    const char *folder = scratch(name);
    assert_int_equal(mkdir(folder, 0777), 0);
    write_npy(in(folder, "topk_ids.npy"), header_of("<u2"), a.ids, sizeof a.ids);
    write_npy(in(folder, "topk_weights.npy"), header_of("<f4"), a.weights, sizeof a.weights);
    write_file(in(folder, "meta.json"), meta, strlen(meta));
    return folder;
}

static struct mw_trace load(const char *path, const struct mw_trace_said *said)
{
    struct mw_trace trace;
    struct mw_error err = {0};
    if (mw_trace_load(&trace, path, said, &err))
        fail_msg("%s", err.text);
    return trace;
}

#define REFUSES(path, said, ...) refuse(path, said, (const char *const[]){__VA_ARGS__, NULL})

static void refuse(const char *path, const struct mw_trace_said *said, const char *const *parts)
{
    struct mw_trace trace;
    struct mw_error err = {0};
    assert_int_equal(mw_trace_load(&trace, path, said, &err), MW_EXIT_INPUT);
    assert_line_has(err.text, parts);
    assert_null(trace.ids);
}

/// Options of a user for a trace. Valid until the next call.
static const struct mw_trace_said *say(const char *axes, unsigned experts)
{
    static struct mw_trace_said said;
    said = (struct mw_trace_said){.experts = experts};
    if (axes)
        assert_true(mw_axes_parse(&said.axes, axes));
    return &said;
}

/// A trace of these arrays: every expert and weight is in its place.
static void reads(const char *path, const struct mw_trace_said *said, bool uniform)
{
    struct mw_trace t = load(path, said);
    assert_trace(&t);
    assert_int_equal(t.uniform, uniform);
    mw_trace_free(&t);
}

// ---- axes ---------------------------------------------------------------------------------------

static void reads_names_of_axes(void **state)
{
    (void)state;
    struct mw_axes axes;
    char text[MW_AXES_BYTES];
    static const char *const good[] = {"layers,tokens,k", "tokens,layers,k", "k,tokens", "tokens,k",
                                       "k,layers,tokens"};
    static const char *const bad[] = {"",         "tokens",    "k,layers",  "tokens,k,k",
                                      "tokens k", "tokens,k,", ",tokens,k", "tokens,k,layers,k",
                                      "Tokens,k", "token,k"};
    for (unsigned i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(mw_axes_parse(&axes, good[i]));
        assert_string_equal(mw_axes_text(&axes, text), good[i]);
    }
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(mw_axes_parse(&axes, bad[i]));
}

/// Every order, declared in meta.json and by the option, in C order and Fortran order.
static void reads_declared_axes(void **state)
{
    (void)state;
    static const char *const orders[][2] = {{"ltk", "layers,tokens,k"}, {"tlk", "tokens,layers,k"},
                                            {"lkt", "layers,k,tokens"}, {"tkl", "tokens,k,layers"},
                                            {"klt", "k,layers,tokens"}, {"ktl", "k,tokens,layers"}};
    for (unsigned i = 0; i < 12; i++) {
        char meta[100];
        make_arrays(orders[i / 2][0], i % 2);
        snprintf(meta, sizeof meta, "{\"experts\": 8, \"axes\": \"%s\"}", orders[i / 2][1]);
        reads(write_folder(meta), NULL, false);
        reads(write_folder("{\"experts\": 8}"), say(orders[i / 2][1], 0), false);
    }
}

/// Lengths identify the axes if they fit only one order.
static void lengths_declare_axes(void **state)
{
    (void)state;
    static const char *const metas[] = {
        "{\"experts\": 8, \"layers\": 3, \"tokens\": 5, \"top_k\": 2}",
        "{\"experts\": 8, \"layers\": 3}", "{\"experts\": 8, \"tokens\": 5}"};
    for (unsigned i = 0; i < 6; i++) {
        make_arrays(i % 2 ? "tlk" : "ltk", false);
        reads(write_folder(metas[i / 2]), NULL, false);
    }
}

static void refuses_undeclared_axes(void **state)
{
    (void)state;
    make_arrays("tlk", false);
    const char *folder = write_folder("{\"experts\": 8}");
    REFUSES(folder, NULL, "topk_ids.npy: header: shape (5, 3, 2)", "not declared",
            "\"axes\": \"layers,tokens,k\"", "--axes tokens,layers,k");
    REFUSES(write_folder("{\"experts\": 8, \"top_k\": 2}"), NULL, "not declared");
    REFUSES(in(folder, "topk_ids.npy"), say(NULL, EXPERTS), "not declared: say --axes");

    // as many layers as tokens: the lengths identify no axis
    uint16_t ids[2][2][1] = {{{0}, {1}}, {{2}, {3}}};
    write_npy(in(folder, "topk_ids.npy"),
              "{'descr': '<u2', 'fortran_order': False, 'shape': (2, 2, 1)}", ids, sizeof ids);
    assert_int_equal(unlink(in(folder, "topk_weights.npy")), 0);
    static const char same[] = "{\"experts\": 8, \"layers\": 2, \"tokens\": 2}";
    write_file(in(folder, "meta.json"), same, sizeof same - 1);
    REFUSES(folder, NULL, "shape (2, 2, 1)", "not declared");
    struct mw_trace t = load(folder, say("tokens,layers,k", 0));
    assert_true(t.ids[0] == 0 && t.ids[1] == 2 && t.ids[2] == 1 && t.ids[3] == 3);
    mw_trace_free(&t);
}

static void refuses_axes_that_contradict(void **state)
{
    (void)state;
    make_arrays("ltk", false);
    REFUSES(write_folder("{\"experts\": 8, \"tokens\": 7}"), NULL, "meta.json: \"tokens\" is 7",
            "shape (3, 5, 2)");
    REFUSES(write_folder("{\"experts\": 8, \"layers\": 3, \"axes\": \"tokens,layers,k\"}"), NULL,
            "\"layers\" is 3", "has 5 with the axes tokens,layers,k");
    REFUSES(write_folder("{\"experts\": 8, \"top_k\": 3, \"axes\": \"layers,tokens,k\"}"), NULL,
            "\"top_k\" is 3", "has 2");
    REFUSES(write_folder("{\"experts\": 8, \"axes\": \"tokens,k\"}"), NULL, "3 dimensions",
            "axes tokens,k are 2");
    REFUSES(write_folder("{\"experts\": 8, \"axes\": \"tokens,experts\"}"), NULL,
            "meta.json: \"axes\" is \"tokens,experts\"", "expected");
    REFUSES(write_folder("{\"experts\": 8, \"axes\": 3}"), NULL, "\"axes\" is not a string");
    REFUSES(write_folder("{\"experts\": 8, \"axes\": \"layers,tokens,k\"}"),
            say("tokens,layers,k", 0), "--axes tokens,layers,k",
            "meta.json says \"layers,tokens,k\"");
    // an order that makes the list of a token as long as the trace
    static uint16_t ids[1][20][2];
    const char *folder = write_folder("{\"experts\": 64, \"axes\": \"layers,k,tokens\"}");
    write_npy(in(folder, "topk_ids.npy"),
              "{'descr': '<u2', 'fortran_order': False, 'shape': (1, 20, 2)}", ids, sizeof ids);
    assert_int_equal(unlink(in(folder, "topk_weights.npy")), 0);
    REFUSES(folder, NULL, "20 experts per token with the axes layers,k,tokens, at most 16");
}

/// One layer, as a hook at one layer of an engine records it.
static void reads_two_dimensions(void **state)
{
    (void)state;
    static const int32_t ids[3][2] = {{1, 2}, {3, -1}, {5, 6}};
    const char *path = scratch("flat.npy");
    write_npy(path, "{'descr': '<i4', 'fortran_order': False, 'shape': (3, 2)}", ids, sizeof ids);
    struct mw_trace t = load(path, say("tokens,k", EXPERTS));
    assert_true(t.layers == 1 && t.tokens == 3 && t.k == 2 && t.uniform);
    assert_true(t.ids[2] == 3 && t.ids[3] == MW_NO_EXPERT && t.ids[4] == 5);
    mw_trace_free(&t);
    t = load(path, say("k,tokens", EXPERTS));
    assert_true(t.tokens == 2 && t.k == 3 && t.ids[1] == 3 && t.ids[3] == 2);
    mw_trace_free(&t);
    REFUSES(path, say(NULL, EXPERTS), "shape (3, 2)", "not declared");
}

// ---- types --------------------------------------------------------------------------------------

/// The largest number of an unsigned type stands for -1, unless an expert has this number.
static void reads_unsigned_ids(void **state)
{
    (void)state;
    static const struct {
        const char *descr;
        unsigned bytes, experts;
        int64_t largest;
        uint16_t id;
    } kinds[] = {{"|u1", 1, 255, 0xff, MW_NO_EXPERT},    {"|u1", 1, 256, 0xff, 255},
                 {"<u2", 2, 4096, 0xffff, MW_NO_EXPERT}, {"<u4", 4, 256, 0xffffffff, MW_NO_EXPERT},
                 {"<u8", 8, 256, -1, MW_NO_EXPERT},      {"|i1", 1, 128, -1, MW_NO_EXPERT}};
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        unsigned char data[2 * 8];
        const int64_t second = 7;
        char header[100];
        memcpy(data, &kinds[i].largest, kinds[i].bytes);
        memcpy(data + kinds[i].bytes, &second, kinds[i].bytes);
        snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (1, 2)}",
                 kinds[i].descr);
        write_npy(scratch("ids.npy"), header, data, 2 * kinds[i].bytes);
        struct mw_trace t = load(scratch("ids.npy"), say("tokens,k", kinds[i].experts));
        assert_true(t.ids[0] == kinds[i].id && t.ids[1] == 7);
        assert_string_equal(t.ids_type, kinds[i].descr);
        mw_trace_free(&t);
    }
    static const uint64_t large[2] = {UINT64_MAX - 1, 0};
    write_npy(scratch("ids.npy"), "{'descr': '<u8', 'fortran_order': False, 'shape': (1, 2)}",
              large, sizeof large);
    REFUSES(scratch("ids.npy"), say("tokens,k", EXPERTS), "layer 0, token 0, column 0: expert",
            "expected -1 (none)");
}

static uint16_t bf16_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)(bits >> 16);
}

/// bf16 as ml_dtypes writes it, and as bits whose type is in meta.json.
static void reads_weights_of_every_type(void **state)
{
    (void)state;
    static const char declared[] =
        "{\"experts\": 8, \"axes\": \"layers,tokens,k\", \"weights_type\": "
        "\"bfloat16\"}",
                      plain[] = "{\"experts\": 8, \"axes\": \"layers,tokens,k\"}";
    uint16_t brain[ALL], half[ALL];
    double twice[ALL];
    make_arrays("ltk", false);
    for (unsigned i = 0; i < ALL; i++) {
        int exponent;
        double fraction = frexp(a.weights[i], &exponent);
        brain[i] = bf16_of(a.weights[i]);
        half[i] = (uint16_t)((exponent + 14) << 10 | (unsigned)(ldexp(fraction, 11) - 1024));
        twice[i] = a.weights[i];
    }
    const struct {
        const char *descr, *meta;
        const void *data;
        size_t size;
        const char *type;
    } kinds[] = {{"<V2", plain, brain, sizeof brain, "bfloat16"},
                 {"<V2", declared, brain, sizeof brain, "bfloat16"},
                 {"|V2", declared, brain, sizeof brain, "bfloat16"},
                 {"<u2", declared, brain, sizeof brain, "bfloat16"},
                 {"<f2", plain, half, sizeof half, "<f2"},
                 {"<f8", plain, twice, sizeof twice, "<f8"}};
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const char *folder = write_folder(kinds[i].meta);
        write_npy(in(folder, "topk_weights.npy"), header_of(kinds[i].descr), kinds[i].data,
                  kinds[i].size);
        struct mw_trace t = load(folder, NULL);
        assert_trace(&t);
        assert_string_equal(t.weights_type, kinds[i].type);
        assert_string_equal(mw_trace_weights(&t), "trace");
        mw_trace_free(&t);
    }
    const char *folder = write_folder(plain);
    write_npy(in(folder, "topk_weights.npy"), header_of("<u2"), brain, sizeof brain);
    REFUSES(folder, NULL, "topk_weights.npy", "'<u2' are no weights",
            "\"weights_type\": \"bfloat16\"");
    write_npy(in(folder, "topk_weights.npy"), header_of("|V2"), brain, sizeof brain);
    REFUSES(folder, NULL, "'|V2' are no weights");
    REFUSES(write_folder(declared), NULL, "meta.json", "\"bfloat16\", but", "type '<f4'");
    REFUSES(write_folder("{\"experts\": 8, \"axes\": \"layers,tokens,k\", \"weights_type\": "
                         "\"float8\"}"),
            NULL, "\"weights_type\" is \"float8\", expected \"bfloat16\"");
    // a number that float32 has not
    twice[ALL - 1] = 1e39;
    folder = write_folder(plain);
    write_npy(in(folder, "topk_weights.npy"), header_of("<f8"), twice, sizeof twice);
    REFUSES(folder, NULL, "layer 2, token 4, column 1: the weight 1e+39 is no float32");
}

static void takes_equal_weights_where_there_are_none(void **state)
{
    (void)state;
    make_arrays("ltk", false);
    const char *folder = write_folder("{\"experts\": 8, \"axes\": \"layers,tokens,k\"}");
    assert_int_equal(unlink(in(folder, "topk_weights.npy")), 0);
    struct mw_trace t = load(folder, NULL);
    assert_true(t.uniform);
    assert_trace(&t);
    assert_string_equal(mw_trace_weights(&t), "1/k");
    mw_trace_free(&t);
}

static void requires_experts_for_bare_files(void **state)
{
    (void)state;
    make_arrays("tlk", false);
    const char *folder = write_folder("{\"experts\": 8}"), *path = in(folder, "topk_ids.npy");
    struct mw_trace_said said = *say("tokens,layers,k", 0);
    REFUSES(path, &said, "how many experts", "--experts E");
    said.model_experts = EXPERTS;
    reads(path, &said, true);
    REFUSES("/dev/null", &said, "/dev/null: not a regular file and no folder");
    said.experts = 9;
    REFUSES(folder, &said, "--experts 9: but ", "meta.json says 8");
}

// ---- archives -----------------------------------------------------------------------------------

static void add_member(zipFile zip, const char *name, int method, const char *header,
                       const void *data, size_t size)
{
    static unsigned char bytes[4096];
    const char *path = scratch("member");
    write_npy(path, header, data, size);
    FILE *f = fopen(path, "rb");
    size_t count = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    assert_int_equal(zipOpenNewFileInZip64(zip, name, NULL, NULL, 0, NULL, 0, NULL, method, 9, 1),
                     ZIP_OK); // with a zip64 field, as NumPy has it
    assert_int_equal(zipWriteInFileInZip(zip, bytes, (unsigned)count), ZIP_OK);
    assert_int_equal(zipCloseFileInZip(zip), ZIP_OK);
}

static const char *write_archive(const char *path, int method, bool weights)
{
    zipFile zip = zipOpen64(path, APPEND_STATUS_CREATE);
    assert_non_null(zip);
    add_member(zip, "other.npy", 0, header_of("<f4"), a.weights, sizeof a.weights);
    add_member(zip, "topk_ids.npy", method, header_of("<u2"), a.ids, sizeof a.ids);
    if (weights)
        add_member(zip, "topk_weights.npy", method, header_of("<f4"), a.weights, sizeof a.weights);
    assert_int_equal(zipClose(zip, NULL), ZIP_OK);
    return path;
}

/// Archives whose members are stored or deflated, at the top or in a folder.
static void reads_archives(void **state)
{
    (void)state;
    const struct mw_trace_said *said = say("tokens,layers,k", EXPERTS);
    make_arrays("tlk", false);
    for (unsigned i = 0; i < 4; i++) {
        const char *path = write_archive(scratch("trace.npz"), i % 2 ? Z_DEFLATED : 0, i / 2);
        reads(path, said, !(i / 2));
        const char *folder = write_folder("{\"experts\": 8, \"axes\": \"tokens,layers,k\"}");
        write_archive(in(folder, "topk.npz"), i % 2 ? Z_DEFLATED : 0, i / 2);
        REFUSES(folder, NULL, "topk.npz and arrays of its own");
        assert_int_equal(unlink(in(folder, "topk_ids.npy")), 0);
        assert_int_equal(unlink(in(folder, "topk_weights.npy")), 0);
        reads(folder, NULL, !(i / 2));
    }
    zipFile zip = zipOpen64(scratch("other.npz"), APPEND_STATUS_CREATE);
    add_member(zip, "arr_0.npy", 0, header_of("<u2"), a.ids, sizeof a.ids);
    assert_int_equal(zipClose(zip, NULL), ZIP_OK);
    REFUSES(scratch("other.npz"), said, "no member topk_ids.npy: there are arr_0.npy");
    zip = zipOpen64(scratch("other.npz"), APPEND_STATUS_CREATE);
    add_member(zip, "topk_ids.npy", 0, header_of("<u2"), a.ids, sizeof a.ids);
    add_member(zip, "topk_ids.npy", 0, header_of("<u2"), a.ids, sizeof a.ids);
    assert_int_equal(zipClose(zip, NULL), ZIP_OK);
    REFUSES(scratch("other.npz"), said, "topk_ids.npy: the archive has several members");
}

static unsigned char bytes[8192];

/// Read an archive of both arrays into `bytes`. Returns its size.
static size_t make_archive(bool deflated)
{
    FILE *f = fopen(write_archive(scratch("trace.npz"), deflated ? Z_DEFLATED : 0, true), "rb");
    assert_non_null(f);
    size_t size = fread(bytes, 1, sizeof bytes, f);
    assert_true(size < sizeof bytes);
    fclose(f);
    return size;
}

static void refuses_an_empty_archive(void **state)
{
    (void)state;
    static const char end[22] = "PK\5\6"; // as numpy.savez without arrays writes it
    const struct mw_trace_said *said = say("tokens,layers,k", EXPERTS);
    write_file(scratch("empty.npz"), end, sizeof end);
    REFUSES(scratch("empty.npz"), said, "empty.npz: the zip archive has no members");
}

/// An archive that is cut anywhere is refused with a line.
static void refuses_every_cut_archive(void **state)
{
    (void)state;
    const struct mw_trace_said *said = say("tokens,layers,k", EXPERTS);
    make_arrays("tlk", false);
    for (unsigned i = 0; i < 2; i++) {
        size_t size = make_archive(i);
        for (size_t cut = 0; cut < size; cut++) {
            write_file(scratch("cut.npz"), bytes, cut);
            REFUSES(scratch("cut.npz"), said, "cut.npz");
        }
        bytes[size] = 0;
        write_file(scratch("long.npz"), bytes, size + 1);
        REFUSES(scratch("long.npz"), said, "long.npz", "no directory at its end");
    }
}

/// Any byte is changed: the result is a line, or the same trace if the byte has no meaning.
static void survives_every_changed_byte(void **state)
{
    (void)state;
    const struct mw_trace_said *said = say("tokens,layers,k", EXPERTS);
    unsigned refused = 0, taken = 0;
    make_arrays("tlk", false);
    for (unsigned i = 0; i < 2; i++) {
        size_t size = make_archive(i);
        for (size_t at = 0; at < size; at++) {
            struct mw_trace t;
            struct mw_error err = {0};
            bytes[at] ^= 0x41;
            write_file(scratch("bad.npz"), bytes, size);
            bytes[at] ^= 0x41;
            int status = mw_trace_load(&t, scratch("bad.npz"), said, &err);
            if (status) {
                assert_int_equal(status, MW_EXIT_INPUT);
                assert_line(err.text, "bad.npz");
                refused++;
            } else {
                assert_trace(&t);
                mw_trace_free(&t);
                taken++;
            }
        }
    }
    print_message("%u refused, %u of no meaning\n", refused, taken);
    assert_true(refused > 900);
}

/// Position of topk_ids.npy's header with this signature, whose name is `far` bytes after it.
static size_t find_header(size_t size, const char *signature, size_t far)
{
    for (size_t at = 0; at + far + 12 < size; at++)
        if (!memcmp(bytes + at, signature, 4) && !memcmp(bytes + at + far, "topk_ids.npy", 12))
            return at;
    fail();
    return 0;
}

static void refuses_archives_that_lie(void **state)
{
    (void)state;
    enum { FLAGS = 8, METHOD = 10, CRC = 16, SIZE = 24 };
    const struct mw_trace_said *said = say("tokens,layers,k", EXPERTS);
    make_arrays("tlk", false);
    static const struct {
        size_t field;
        uint32_t value;
        unsigned count;
        const char *cause;
    } lies[] = {{FLAGS, 1, 2, "encrypted"},
                {METHOD, 12, 2, "compression method 12, expected 0 (stored) or 8 (deflated)"},
                {CRC, 0, 4, "damaged"},
                {SIZE, 0x7fffffff, 4, "2147483647 bytes cannot come from"},
                {SIZE, 0xffffffff, 4, "4 GB or more in an archive"}};
    for (unsigned i = 0; i < 2 * sizeof lies / sizeof *lies; i++) {
        size_t size = make_archive(i % 2);
        memcpy(bytes + find_header(size, "PK\1\2", 46) + lies[i / 2].field, &lies[i / 2].value,
               lies[i / 2].count);
        write_file(scratch("lie.npz"), bytes, size);
        REFUSES(scratch("lie.npz"), said, "lie.npz: topk_ids.npy", lies[i / 2].cause);
    }
    // the data itself: the CRCs of directory and member are equal, but not that of the data
    size_t size = make_archive(false);
    memset(bytes + find_header(size, "PK\1\2", 46) + CRC, 0x55, 4);
    memset(bytes + find_header(size, "PK\3\4", 30) + 14, 0x55, 4);
    write_file(scratch("lie.npz"), bytes, size);
    REFUSES(scratch("lie.npz"), said, "topk_ids.npy", "the CRC is wrong");
}

/// An array of zeros of 64 GiB and more packs a thousandfold. Its size is checked before it is
/// inflated.
static void refuses_more_than_the_memory(void **state)
{
    (void)state;
    zipFile zip = zipOpen64(scratch("bomb.npz"), APPEND_STATUS_CREATE);
    static const char header[] =
        "{'descr': '<u2', 'fortran_order': False, 'shape': (1048576, 1048576, "
        "4), }";
    make_arrays("ltk", false);
    add_member(zip, "topk_ids.npy", Z_DEFLATED, header, a.ids, sizeof a.ids);
    assert_int_equal(zipClose(zip, NULL), ZIP_OK);
    const struct mw_trace_said *said = say("tokens,layers,k", EXPERTS);
    REFUSES(scratch("bomb.npz"), said, "truncated, shape (1048576, 1048576, 4) needs");

    // a sparse file that has as many bytes as its header states
    const char *path = scratch("sparse.npy");
    write_npy(path, header, "", 0);
    if (truncate(path, 128 + (INT64_C(8) << 40)) != 0)
        return; // not on this file system
    REFUSES(path, said, "the elements take 8.0 TiB of memory, this machine has");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_names_of_axes),
        cmocka_unit_test(reads_declared_axes),
        cmocka_unit_test(lengths_declare_axes),
        cmocka_unit_test(refuses_undeclared_axes),
        cmocka_unit_test(refuses_axes_that_contradict),
        cmocka_unit_test(reads_two_dimensions),
        cmocka_unit_test(reads_unsigned_ids),
        cmocka_unit_test(reads_weights_of_every_type),
        cmocka_unit_test(takes_equal_weights_where_there_are_none),
        cmocka_unit_test(requires_experts_for_bare_files),
        cmocka_unit_test(reads_archives),
        cmocka_unit_test(refuses_an_empty_archive),
        cmocka_unit_test(refuses_every_cut_archive),
        cmocka_unit_test(survives_every_changed_byte),
        cmocka_unit_test(refuses_archives_that_lie),
        cmocka_unit_test(refuses_more_than_the_memory),
    };
    return cmocka_run_group_tests_name("formats", tests, scratch_make, scratch_remove);
}
