// SPDX-License-Identifier: Apache-2.0
//
// See chakra.h. Numbers of fields, kinds of nodes and of collectives are those of et_def.proto.
#include "plan/chakra.h"

#include "base/input.h"
#include "base/output.h"
#include "base/text.h"
#include "cost/collective.h"
#include "formats/protobuf.h"
#include "plan/layer.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum field { ID = 1, NAME = 2, TYPE = 3, DURATION = 7, ATTRIBUTE = 10 };
enum attribute {
    ATTRIBUTE_NAME = 1,
    INT32 = 7,
    INT64 = 9,
    UINT32 = 11,
    UINT64 = 13,
    SINT32 = 15,
    SINT64 = 17,
    FIXED32 = 19,
    FIXED64 = 21,
    SFIXED32 = 23,
    SFIXED64 = 25
};
enum kind { COMM_SEND = 5, COMM_RECV = 6, COMM_COLL = 7, KINDS = 11 };
enum collective {
    ALL_REDUCE,
    REDUCE,
    ALL_GATHER,
    GATHER,
    SCATTER,
    BROADCAST,
    ALL_TO_ALL,
    REDUCE_SCATTER,
    REDUCE_SCATTER_BLOCK,
    BARRIER,
    COLLECTIVES
};
enum { MOST_BYTES = 1 << 30, NAME_BYTES = 64, NONE = -1 };

struct node {
    uint64_t id;
    char name[NAME_BYTES];
    uint64_t type;
    double comm_type, comm_size; ///< attributes; NAN: not there
};

// ---- reading ------------------------------------------------------------------------------------

static void copy_text(char *to, size_t size, const struct mw_pb *bytes)
{
    const size_t length = (size_t)(bytes->end - bytes->at);
    snprintf(to, size, "%.*s", (int)(length < size ? length : size - 1), (const char *)bytes->at);
}

/// A whole number of any of its types. Those of SINT are zigzag: 0, -1, 1, -2 and so on.
static void take_number(const struct mw_pb_field *f, double *value)
{
    if (f->type == MW_PB_BYTES)
        return;
    switch ((enum attribute)f->number) {
    case SINT32:
    case SINT64:
        *value = f->value & 1 ? -1 - (double)(f->value >> 1) : (double)(f->value >> 1);
        break;
    case SFIXED32:
        *value = (int32_t)f->value;
        break;
    case INT32:
    case INT64:
    case SFIXED64:
        *value = (double)(int64_t)f->value;
        break;
    case UINT32:
    case UINT64:
    case FIXED32:
    case FIXED64:
        *value = (double)f->value;
        break;
    case ATTRIBUTE_NAME:
        break;
    }
}

static bool take_attribute(struct node *n, struct mw_pb bytes)
{
    char name[NAME_BYTES] = "";
    double value = NAN;
    struct mw_pb_field f;
    while (mw_pb_next(&bytes, &f)) {
        if (f.number == ATTRIBUTE_NAME && f.type == MW_PB_BYTES)
            copy_text(name, sizeof name, &f.bytes);
        else
            take_number(&f, &value);
    }
    if (strcmp(name, "comm_type") == 0)
        n->comm_type = value;
    if (strcmp(name, "comm_size") == 0)
        n->comm_size = value;
    return bytes.at == bytes.end;
}

static bool take_node(struct node *n, struct mw_pb message)
{
    struct mw_pb_field f;
    *n = (struct node){.comm_type = NAN, .comm_size = NAN};
    while (mw_pb_next(&message, &f)) {
        if (f.number == ID && f.type == MW_PB_VARINT)
            n->id = f.value;
        else if (f.number == TYPE && f.type == MW_PB_VARINT)
            n->type = f.value;
        else if (f.number == NAME && f.type == MW_PB_BYTES)
            copy_text(n->name, sizeof n->name, &f.bytes);
        else if (f.number == ATTRIBUTE && f.type == MW_PB_BYTES && !take_attribute(n, f.bytes))
            return false;
    }
    return message.at == message.end;
}

// ---- times --------------------------------------------------------------------------------------

static int refuse(const char *path, const struct node *n, const char *what, struct mw_error *err)
{
    return mw_fail(err, MW_EXIT_INPUT, "%s: node %" PRIu64 " (%s): %s", path, n->id,
                   MW_SHOWN(n->name), what);
}

static double collective_seconds(const struct mw_chakra_times *t, enum collective kind,
                                 double bytes)
{
    const struct mw_group group = {t->ranks, 1};
    switch (kind) {
    case ALL_TO_ALL:
        return t->expert_latency + t->expert_seconds_per_byte * bytes;
    case ALL_REDUCE: // a reduce-scatter, then an all-gather
        return 2 * mw_gather_seconds(t->hardware, group, bytes);
    case BARRIER:
        return mw_gather_seconds(t->hardware, group, 0);
    default:
        return mw_gather_seconds(t->hardware, group, bytes);
    }
}

/// Seconds of a node, or NONE for those that keep theirs.
static int time_node(const struct node *n, const char *path, const struct mw_chakra_times *t,
                     double *seconds, struct mw_error *err)
{
    *seconds = NONE;
    if (n->type == 0 || n->type >= KINDS)
        return refuse(path, n, "a node of unknown kind", err);
    if (n->type != COMM_SEND && n->type != COMM_RECV && n->type != COMM_COLL)
        return MW_EXIT_OK;
    // a number that is 0 may not be written
    const double kind = isnan(n->comm_type) ? ALL_REDUCE : n->comm_type;
    if (n->type == COMM_COLL && !(kind >= 0 && kind < COLLECTIVES))
        return refuse(path, n, "a collective of unknown kind", err);
    const bool sized = n->type != COMM_COLL || kind != BARRIER;
    if (sized && isnan(n->comm_size))
        return refuse(path, n, "no comm_size", err);
    if (sized && n->comm_size < 0)
        return refuse(path, n, "comm_size is negative", err);
    const double bytes = sized ? n->comm_size : 0;
    *seconds = n->type == COMM_COLL ? collective_seconds(t, (enum collective)kind, bytes)
                                    : mw_send_seconds(t->hardware, t->ranks, bytes);
    return MW_EXIT_OK;
}

/// A micro-batch's dispatch and combine without experts, on bytes that a GPU sends in one of them.
int mw_chakra_times_of(struct mw_chakra_times *times, struct mw_planner *p, const struct mw_step *s,
                       unsigned ranks, struct mw_error *err)
{
    struct mw_step step = *s;
    double seconds, nothing, bytes;
    *times = (struct mw_chakra_times){.hardware = p->task.hardware,
                                      .ranks = ranks ? ranks : s->parallel.ep};
    int status = mw_layer_communication(p, &step, &seconds, &nothing, &bytes, err);
    if (status)
        return status;
    // dispatch and combine are an all-to-all each
    times->expert_latency = nothing / 2;
    times->expert_seconds_per_byte = bytes > 0 ? (seconds - nothing) / 2 / bytes : 0;
    return MW_EXIT_OK;
}

// ---- writing ------------------------------------------------------------------------------------

static void put_bytes(FILE *out, const struct mw_pb *bytes)
{
    fwrite(bytes->at, 1, (size_t)(bytes->end - bytes->at), out);
}

/// The message with another duration. Its fields are in their order.
static int put_timed(FILE *out, struct mw_pb message, uint64_t micros, struct mw_error *err)
{
    char *text = NULL;
    size_t size = 0;
    struct mw_pb_field f;
    bool done = false;
    FILE *node = open_memstream(&text, &size);
    if (!node)
        return mw_fail_memory(err, "a node");
    while (mw_pb_next(&message, &f)) {
        if (f.number > DURATION && !done)
            mw_pb_put_number(node, DURATION, micros);
        done |= f.number > DURATION;
        if (f.number != DURATION)
            put_bytes(node, &f.whole);
    }
    if (!done)
        mw_pb_put_number(node, DURATION, micros);
    fclose(node);
    if (!text)
        return mw_fail_memory(err, "a node");
    mw_pb_put(out, size);
    fwrite(text, 1, size, out);
    free(text);
    return MW_EXIT_OK;
}

static int put_node(FILE *out, const struct mw_pb *message, const char *path,
                    const struct mw_chakra_times *times, struct mw_chakra_counts *counts,
                    struct mw_error *err)
{
    struct node n;
    double seconds;
    counts->nodes++;
    if (!take_node(&n, *message))
        return mw_fail(err, MW_EXIT_INPUT, "%s: message %zu is malformed", path, counts->nodes);
    int status = time_node(&n, path, times, &seconds, err);
    if (status)
        return status;
    if (seconds == NONE) {
        mw_pb_put(out, (uint64_t)(message->end - message->at));
        put_bytes(out, message);
        return MW_EXIT_OK;
    }
    const uint64_t micros = (uint64_t)ceil(1e6 * seconds);
    counts->timed++;
    counts->all_to_all += n.type == COMM_COLL && n.comm_type == ALL_TO_ALL;
    counts->micros += (double)micros;
    return put_timed(out, *message, micros, err);
}

int mw_chakra_apply(FILE *out, const uint8_t *text, size_t size, const char *path,
                    const struct mw_chakra_times *times, struct mw_chakra_counts *counts,
                    struct mw_error *err)
{
    struct mw_pb all = {text, text + size};
    int status = MW_EXIT_OK;
    *counts = (struct mw_chakra_counts){0};
    for (size_t messages = 0; all.at < all.end && !status; messages++) {
        uint64_t bytes;
        if (!mw_pb_varint(&all, &bytes) || bytes > (uint64_t)(all.end - all.at))
            return mw_fail(err, MW_EXIT_INPUT, "%s: message %zu ends after the end of the file",
                           path, messages);
        const struct mw_pb message = {all.at, all.at + bytes};
        all.at = message.end;
        if (messages) {
            status = put_node(out, &message, path, times, counts, err);
            continue;
        }
        mw_pb_put(out, bytes); // GlobalMetadata
        put_bytes(out, &message);
    }
    if (!status && !size)
        status = mw_fail(err, MW_EXIT_INPUT, "%s: no GlobalMetadata", path);
    return status;
}

int mw_chakra_file(const char *in, const char *out, const struct mw_chakra_times *times,
                   struct mw_chakra_counts *counts, struct mw_error *err)
{
    char *text = NULL, *made = NULL;
    size_t size = 0, bytes = 0;
    int status = mw_input_text(&text, &size, in, MOST_BYTES, "a trace", err);
    FILE *f = status ? NULL : open_memstream(&made, &bytes);
    if (!status && !f)
        status = mw_fail_memory(err, out);
    if (!status)
        status = mw_chakra_apply(f, (const uint8_t *)text, size, in, times, counts, err);
    if (f)
        fclose(f);
    if (!status)
        status = mw_output_write(out, made, bytes, err);
    free(made);
    free(text);
    return status;
}
