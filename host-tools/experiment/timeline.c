// SPDX-License-Identifier: Apache-2.0
//
// See timeline.h. A GPU under a system is a process. Its streams and its expert engine are threads
// of it, whose slices are instructions and tiles. The open rows at its port of the switch are a
// counter.
#include "experiment/timeline.h"

#include "experiment/result.h"

#include "isa.h"

#include <stdlib.h>

enum {
    ENGINE = MW_STREAMS,
    THREADS,    ///< of a process
    STRIDE = 8, ///< of numbers of threads
};

/// No two processes share one, and none is 0: Perfetto expects that.
static unsigned thread_number(unsigned process, unsigned thread)
{
    return STRIDE * process + thread;
}

// ---- recording ----------------------------------------------------------------------------------

void mw_timeline_take(void *timeline, const struct mw_watch_event *event)
{
    struct mw_timeline *t = timeline;
    if (t->count == t->room) {
        size_t room = t->room ? 2 * t->room : 4096;
        struct mw_watch_event *list = realloc(t->list, room * sizeof *list);
        if (!list) {
            t->short_of_memory = true;
            return;
        }
        t->list = list;
        t->room = room;
    }
    t->list[t->count++] = *event;
}

void mw_timeline_free(struct mw_timeline *t)
{
    if (t)
        free(t->list);
    free(t);
}

int mw_timeline_start(struct mw_timeline **t, struct mw_device *device, struct mw_error *err)
{
    *t = calloc(1, sizeof **t);
    if (!*t)
        return mw_fail_memory(err, "the timeline");
    int code = mw_watch(device, mw_timeline_take, *t);
    return code ? mw_device_failed(err, "--timeline", code) : MW_EXIT_OK;
}

int mw_timeline_stop(const struct mw_timeline *t, struct mw_device *device, struct mw_error *err)
{
    int code = mw_watch(device, NULL, NULL);
    if (code)
        return mw_device_failed(err, "--timeline", code);
    return t->short_of_memory ? mw_fail_memory(err, "the timeline") : MW_EXIT_OK;
}

// ---- writing ------------------------------------------------------------------------------------

/// A layer that is written.
struct scene {
    struct mw_json *j;
    const struct mw_captions *captions;
    unsigned layer;   ///< its index
    unsigned process; ///< of GPU 0
    uint64_t from;    ///< when it begins
    /// What they are at, and since when.
    struct mw_watch_event stream[MW_MAX_PORTS][MW_STREAMS], tile[MW_MAX_PORTS];
};

/// An event up to its arguments.
static void begin(struct scene *s, const char *phase, const char *name, unsigned gpu,
                  unsigned thread, uint64_t cycle)
{
    mw_json_object(s->j, NULL, true);
    mw_json_string(s->j, "ph", phase);
    mw_json_string(s->j, "name", name);
    mw_json_uint(s->j, "pid", s->process + gpu);
    mw_json_uint(s->j, "tid", thread_number(s->process + gpu, thread));
    mw_json_uint(s->j, "ts", s->from + cycle);
}

/// The current instruction of a stream. Between instructions, it has none.
static void end_of_stream(struct scene *s, const struct mw_watch_event *was, uint64_t now)
{
    enum mw_stream_state state = was->stream.state;
    if (state != MW_STREAM_UNIT && state != MW_STREAM_RUN && state != MW_STREAM_WAIT)
        return;
    begin(s, "X", mw_op_name(was->stream.op), was->place, was->stream.number, was->cycle);
    mw_json_uint(s->j, "dur", now - was->cycle);
    mw_json_string(s->j, "cat", state == MW_STREAM_RUN ? "run" : "wait");
    mw_json_object(s->j, "args", true);
    // one that waits for its unit has not been issued
    mw_json_uint(s->j, "instruction", was->stream.next - (state == MW_STREAM_UNIT ? 0 : 1));
    mw_json_string(s->j, "state",
                   state == MW_STREAM_RUN    ? "runs"
                   : state == MW_STREAM_WAIT ? "waits for an event"
                                             : "waits for its unit");
    mw_json_end(s->j);
    mw_json_end(s->j);
}

static void take_stream(struct scene *s, const struct mw_watch_event *e)
{
    struct mw_watch_event *was = &s->stream[e->place][e->stream.number];
    end_of_stream(s, was, e->cycle);
    if (e->stream.state == MW_STREAM_OFF && was->stream.state != MW_STREAM_OFF) {
        begin(s, "i", mw_op_name(e->stream.op), e->place, e->stream.number, e->cycle);
        mw_json_string(s->j, "s", "t"); // a mark on its thread
        mw_json_end(s->j);
    }
    *was = *e;
}

static void end_of_tile(struct scene *s, const struct mw_watch_event *was, uint64_t now)
{
    char name[MW_CAPTION_BYTES];
    const unsigned expert =
        mw_captions_expert(s->captions, s->layer, was->place, was->tile.local_expert);
    mw_caption_expert(s->captions, s->layer, was->place, was->tile.local_expert, name);
    begin(s, "X", name, was->place, ENGINE, was->cycle);
    mw_json_uint(s->j, "dur", now - was->cycle);
    mw_json_string(s->j, "cat", "tile");
    mw_json_object(s->j, "args", true);
    mw_json_uint(s->j, "expert", expert);
    mw_json_uint(s->j, "first_row", was->tile.first_row);
    mw_json_uint(s->j, "rows", was->tile.last_row - was->tile.first_row + 1);
    mw_json_end(s->j);
    mw_json_end(s->j);
}

static void take_tile(struct scene *s, const struct mw_watch_event *e)
{
    struct mw_watch_event *was = &s->tile[e->place];
    bool same = e->tile.there && was->tile.there &&
                e->tile.local_expert == was->tile.local_expert &&
                e->tile.first_row == was->tile.first_row;
    if (same) {
        was->tile.last_row = e->tile.last_row;
        return;
    }
    if (was->tile.there)
        end_of_tile(s, was, e->cycle);
    *was = *e;
}

static void take_rows(struct scene *s, const struct mw_watch_event *e)
{
    begin(s, "C", "open rows", e->place, 0, e->cycle);
    mw_json_object(s->j, "args", true);
    mw_json_uint(s->j, "rows", e->open_rows);
    mw_json_end(s->j);
    mw_json_end(s->j);
}

static void write_layer(struct mw_json *j, const struct mw_captions *captions, unsigned layer,
                        unsigned process, uint64_t from, const struct mw_layer_result *r)
{
    static const struct scene none;
    struct scene s = none;
    s.j = j;
    s.captions = captions;
    s.layer = layer;
    s.process = process;
    s.from = from;
    for (size_t i = 0; i < r->timeline->count; i++) {
        const struct mw_watch_event *e = &r->timeline->list[i];
        if (e->kind == MW_WATCH_STREAM)
            take_stream(&s, e);
        else if (e->kind == MW_WATCH_TILE)
            take_tile(&s, e);
        else
            take_rows(&s, e);
    }
}

static void name_it(struct mw_json *j, const char *what, const char *name, unsigned process,
                    unsigned thread)
{
    mw_json_object(j, NULL, true);
    mw_json_string(j, "ph", "M");
    mw_json_string(j, "name", what);
    mw_json_uint(j, "pid", process);
    mw_json_uint(j, "tid", thread_number(process, thread));
    mw_json_object(j, "args", true);
    mw_json_string(j, "name", name);
    mw_json_end(j);
    mw_json_end(j);
}

static void name_process(struct mw_json *j, const char *system, unsigned gpu, unsigned process)
{
    char name[64];
    snprintf(name, sizeof name, "%s, GPU %u", system, gpu);
    name_it(j, "process_name", name, process, 0);
    for (unsigned t = 0; t < THREADS; t++) {
        snprintf(name, sizeof name, t == ENGINE ? "expert engine" : "stream %u", t);
        name_it(j, "thread_name", name, process, t);
    }
}

/// The layers of a system, as slices of a process of their own.
static void write_span(struct mw_json *j, const struct mw_captions *captions, unsigned layer,
                       unsigned process, uint64_t from, uint64_t cycles)
{
    char name[MW_CAPTION_BYTES];
    struct scene s = {.j = j, .process = process, .from = from};
    begin(&s, "X", mw_caption_layer(captions, layer, name), 0, 0, 0);
    mw_json_uint(j, "dur", cycles);
    mw_json_string(j, "cat", "layer");
    mw_json_object(j, "args", true);
    if (captions->layers)
        mw_json_uint(j, "first_token", captions->layers->layer[layer].first);
    mw_json_uint(j, "cycles", cycles);
    mw_json_end(j);
    mw_json_end(j);
}

static void write_system(struct mw_json *j, const struct mw_captions *captions,
                         const struct mw_summary *s, unsigned process)
{
    uint64_t from = 0;
    name_it(j, "process_name", s->system, process, 0);
    name_it(j, "thread_name", "layers", process, 0);
    for (unsigned g = 0; g < captions->gpus; g++)
        name_process(j, s->system, g, process + 1 + g);
    for (unsigned l = 0; l < s->result->layers; l++) {
        const struct mw_layer_result *r = &s->result->layer[l];
        write_span(j, captions, l, process, from, r->cycles);
        write_layer(j, captions, l, process + 1, from, r);
        from += r->cycles;
    }
}

char *mw_timeline_json(const struct mw_captions *captions, const struct mw_summary *summaries,
                       unsigned count, size_t *size, struct mw_error *err)
{
    struct mw_json j = {0};
    if (mw_json_open(&j, err))
        return NULL;
    mw_json_object(&j, NULL, false);
    mw_json_string(&j, "displayTimeUnit", "ns");
    mw_json_object(&j, "otherData", true);
    mw_json_string(&j, "tool", "moeswitch " MW_VERSION);
    mw_json_string(&j, "unit", "a microsecond is a cycle");
    mw_json_end(&j);
    mw_json_array(&j, "traceEvents", false);
    for (unsigned i = 0; i < count; i++)
        write_system(&j, captions, &summaries[i], 1 + i * (captions->gpus + 1));
    mw_json_end(&j);
    mw_json_end(&j);
    char *text = NULL;
    if (!mw_json_close(&j, err)) {
        text = j.text;
        *size = j.size;
        j.text = NULL;
    }
    mw_json_free(&j);
    return text;
}
