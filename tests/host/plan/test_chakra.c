// SPDX-License-Identifier: Apache-2.0
//
// Protocol Buffers' wire format, Chakra traces, and what LLMServingSim reads: bytes written by
// hand.
#include "host/support.h"
#include "host/words.h"

#include "cost/collective.h"
#include "formats/csv_read.h"
#include "formats/protobuf.h"
#include "plan/chakra.h"
#include "plan/plan.h"

#include <math.h>

/// A message that is being written.
struct text {
    char *bytes;
    size_t size;
    FILE *f;
};

static void begin(struct text *t)
{
    *t = (struct text){0};
    t->f = open_memstream(&t->bytes, &t->size);
    assert_non_null(t->f);
}

static void put_bytes(FILE *f, unsigned number, const void *bytes, size_t size)
{
    mw_pb_put(f, number << 3 | MW_PB_BYTES);
    mw_pb_put(f, size);
    fwrite(bytes, 1, size, f);
}

static void put_attribute(FILE *node, const char *name, unsigned number, uint64_t value)
{
    struct text a;
    begin(&a);
    put_bytes(a.f, 1, name, strlen(name));
    mw_pb_put_number(a.f, number, value);
    fclose(a.f);
    put_bytes(node, 10, a.bytes, a.size);
    free(a.bytes);
}

/// A node with a field 6 (start), perhaps a duration, and one that no schema has.
static void put_node(FILE *trace, unsigned id, unsigned type, int comm_type, int comm_size,
                     int duration)
{
    struct text n;
    begin(&n);
    mw_pb_put_number(n.f, 1, id);
    put_bytes(n.f, 2, "node", 4);
    mw_pb_put_number(n.f, 3, type);
    mw_pb_put_number(n.f, 6, 77);
    if (duration >= 0)
        mw_pb_put_number(n.f, 7, (uint64_t)duration);
    if (comm_type >= 0)
        put_attribute(n.f, "comm_type", 9, (uint64_t)comm_type);
    if (comm_size != -1)
        put_attribute(n.f, "comm_size", comm_size < 0 ? 9 : 13, (uint64_t)comm_size);
    put_bytes(n.f, 999, "new", 3);
    fclose(n.f);
    mw_pb_put(trace, n.size);
    fwrite(n.bytes, 1, n.size, trace);
    free(n.bytes);
}

static void put_head(FILE *trace)
{
    static const char metadata[] = {1 << 3 | MW_PB_BYTES, 3, '0', '.', '1'};
    mw_pb_put(trace, sizeof metadata);
    fwrite(metadata, 1, sizeof metadata, trace);
}

static struct mw_chakra_times times_of(void)
{
    return (struct mw_chakra_times){.hardware = mw_hardware_preset(0),
                                    .ranks = 8,
                                    .expert_latency = 10e-6,
                                    .expert_seconds_per_byte = 1e-9};
}

/// The trace with times. Returns its status.
static int apply(const struct text *in, struct text *out, struct mw_chakra_counts *counts,
                 struct mw_error *err)
{
    const struct mw_chakra_times times = times_of();
    begin(out);
    int status =
        mw_chakra_apply(out->f, (const uint8_t *)in->bytes, in->size, "t", &times, counts, err);
    fclose(out->f);
    return status;
}

// ---- the wire -----------------------------------------------------------------------------------

static void numbers_come_back(void **state)
{
    (void)state;
    static const uint64_t values[] = {0, 1, 127, 128, 300, UINT32_MAX, UINT64_MAX};
    for (unsigned i = 0; i < sizeof values / sizeof *values; i++) {
        struct text t;
        begin(&t);
        mw_pb_put_number(t.f, 7, values[i]);
        fclose(t.f);
        struct mw_pb m = {(const uint8_t *)t.bytes, (const uint8_t *)t.bytes + t.size};
        struct mw_pb_field f;
        assert_true(mw_pb_next(&m, &f));
        assert_true(f.number == 7 && f.type == MW_PB_VARINT && f.value == values[i]);
        assert_false(mw_pb_next(&m, &f));
        assert_ptr_equal(m.at, m.end);
        free(t.bytes);
    }
}

static void malformed_fields_end(void **state)
{
    (void)state;
    static const struct {
        uint8_t bytes[12];
        size_t size;
    } bad[] = {
        {{0x80}, 1},          // a tag without its end
        {{0x00, 0x01}, 2},    // field 0
        {{0x0b}, 1},          // a group
        {{0x0a, 0x02, 1}, 3}, // bytes beyond the end
        {{0x09, 1, 2, 3}, 4}, // eight bytes, of which three are there
        {{0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02}, 11}, // 65 bits
    };
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct mw_pb m = {bad[i].bytes, bad[i].bytes + bad[i].size};
        struct mw_pb_field f;
        assert_false(mw_pb_next(&m, &f));
        assert_ptr_equal(m.at, bad[i].bytes);
    }
}

// ---- traces -------------------------------------------------------------------------------------

/// Without communication the trace is the same bytes.
static void others_stay(void **state)
{
    (void)state;
    struct text in, out;
    struct mw_chakra_counts counts;
    struct mw_error err = {0};
    begin(&in);
    put_head(in.f);
    put_node(in.f, 1, 4, -1, -1, 5);
    put_node(in.f, 2, 2, -1, -1, -1);
    fclose(in.f);
    assert_int_equal(apply(&in, &out, &counts, &err), MW_EXIT_OK);
    assert_true(counts.nodes == 2 && counts.timed == 0);
    assert_int_equal(out.size, in.size);
    assert_memory_equal(out.bytes, in.bytes, in.size);
    free(in.bytes);
    free(out.bytes);
}

/// A trace without durations, or with others, gets the computed ones.
static void times_by_hand(void **state)
{
    (void)state;
    const struct mw_hardware *h = mw_hardware_preset(0);
    const struct mw_group all = {8, 1};
    const struct {
        unsigned type;
        int kind, size;
        double seconds;
    } node[] = {
        {7, 6, 1000000, 1010e-6},                            // all-to-all
        {7, 0, 8000000, 2 * mw_gather_seconds(h, all, 8e6)}, // all-reduce
        {7, 2, 8000000, mw_gather_seconds(h, all, 8e6)},     // all-gather
        {7, 9, -1, mw_gather_seconds(h, all, 0)},            // barrier
        {5, -1, 4000000, mw_send_seconds(h, 8, 4e6)},
        {6, -1, 4000000, mw_send_seconds(h, 8, 4e6)},
    };
    for (int known = -1; known < 1000; known += 500) {
        struct text in, want, out;
        struct mw_chakra_counts counts;
        struct mw_error err = {0};
        begin(&in);
        begin(&want);
        put_head(in.f);
        put_head(want.f);
        for (unsigned i = 0; i < sizeof node / sizeof *node; i++) {
            put_node(in.f, i, node[i].type, node[i].kind, node[i].size, known);
            put_node(want.f, i, node[i].type, node[i].kind, node[i].size,
                     (int)ceil(1e6 * node[i].seconds));
        }
        fclose(in.f);
        fclose(want.f);
        assert_int_equal(apply(&in, &out, &counts, &err), MW_EXIT_OK);
        assert_true(counts.nodes == 6 && counts.timed == 6 && counts.all_to_all == 1);
        assert_int_equal(out.size, want.size);
        assert_memory_equal(out.bytes, want.bytes, want.size);
        free(in.bytes);
        free(want.bytes);
        free(out.bytes);
    }
}

static void refuses_traces(void **state)
{
    (void)state;
    static const struct {
        unsigned type;
        int kind, size;
        const char *part;
    } bad[] = {
        {0, -1, -1, "node 4 (node): a node of unknown kind"},
        {11, -1, -1, "node 4 (node): a node of unknown kind"},
        {7, 10, 8, "node 4 (node): a collective of unknown kind"},
        {7, 6, -1, "node 4 (node): no comm_size"},
        {5, -1, -1, "node 4 (node): no comm_size"},
        {7, 0, -2, "node 4 (node): comm_size is negative"},
        {6, -1, -2, "node 4 (node): comm_size is negative"},
    };
    struct text in, out;
    struct mw_chakra_counts counts;
    struct mw_error err;
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        begin(&in);
        put_head(in.f);
        put_node(in.f, 4, bad[i].type, bad[i].kind, bad[i].size, -1);
        fclose(in.f);
        assert_int_equal(apply(&in, &out, &counts, &err), MW_EXIT_INPUT);
        assert_line(err.text, bad[i].part);
        free(in.bytes);
        free(out.bytes);
    }
    // every file that is cut short, except those that end after a message
    begin(&in);
    put_head(in.f);
    put_node(in.f, 1, 4, -1, -1, 5);
    fclose(in.f);
    const struct text whole = in;
    for (in.size = 1; in.size < whole.size; in.size++)
        if (in.size != 6) {
            assert_int_equal(apply(&in, &out, &counts, &err), MW_EXIT_INPUT);
            free(out.bytes);
        }
    in.size = 0;
    assert_int_equal(apply(&in, &out, &counts, &err), MW_EXIT_INPUT);
    assert_line(err.text, "no GlobalMetadata");
    free(out.bytes);
    free(whole.bytes);
}

// ---- the command --------------------------------------------------------------------------------

#define SMALL \
    "--model", "mixtral-8x7b", "--hardware", "hgx-h100", "--goal", "prefill", "--ep", "8", "--tp", \
        "1"

static void writes_a_trace(void **state)
{
    (void)state;
    struct text in;
    const char *path = scratch("in.et"), *to = scratch("out.et");
    begin(&in);
    put_head(in.f);
    put_node(in.f, 1, 7, 6, 1 << 26, -1);
    fclose(in.f);
    write_file(path, in.bytes, in.size);
    assert_int_equal(
        run_words(mw_plan_command, "plan",
                  (const char *const[]){SMALL, "--chakra", path, "--chakra-out", to, NULL}),
        0);
    assert_non_null(strstr(out_text, "1 nodes, 1 with times (1 all-to-all, extrapolated *)"));
    refuse_words(mw_plan_command, "plan", (const char *const[]){SMALL, "--chakra", path, NULL},
                 "--chakra-out is missing");
    refuse_words(mw_plan_command, "plan",
                 (const char *const[]){SMALL, "--chakra", path, "--chakra-out", path, NULL},
                 "would replace the input");
    free(in.bytes);
}

/// Columns of LLMServingSim's profiler. More rows or experts take at least as much time.
static void writes_times_of_experts(void **state)
{
    (void)state;
    const char *path = scratch("moe.csv");
    struct mw_csv_table t;
    struct mw_error err = {0};
    double before = 0;
    assert_int_equal(
        run_words(mw_plan_command, "plan",
                  (const char *const[]){"--model", "mixtral-8x7b", "--hardware", "hgx-h100",
                                        "--goal", "prefill", "--ep", "2", "--moe-csv", path, NULL}),
        0);
    assert_int_equal(mw_csv_read(&t, path, 1 << 20, "a table", &err), MW_EXIT_OK);
    assert_int_equal(t.columns, 3);
    assert_string_equal(mw_csv_cell(&t, 0, 0), "1");
    for (size_t i = 0; i < t.rows; i++) {
        double tokens, activated, us;
        assert_int_equal(mw_csv_number(&t, i, 0, 1, &tokens, &err), MW_EXIT_OK);
        assert_int_equal(mw_csv_number(&t, i, 1, 1, &activated, &err), MW_EXIT_OK);
        assert_int_equal(mw_csv_number(&t, i, 2, 0, &us, &err), MW_EXIT_OK);
        assert_true(activated <= 4 && activated <= 2 * tokens);
        assert_true(activated == 1 || us >= before);
        before = us;
    }
    mw_csv_table_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_come_back),
        cmocka_unit_test(malformed_fields_end),
        cmocka_unit_test(others_stay),
        cmocka_unit_test(times_by_hand),
        cmocka_unit_test(refuses_traces),
        cmocka_unit_test(writes_a_trace),
        cmocka_unit_test(writes_times_of_experts),
    };
    return cmocka_run_group_tests_name("chakra", tests, scratch_make, finish_words);
}
