// SPDX-License-Identifier: Apache-2.0
#include "frames.h"

#include "transport_sim/model_note.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { LIMIT = 20000000, IN_LAYER_CYCLES = 100 };

struct endpoints *endpoints_open_in(const char *configuration, const char *model)
{
    char path[96];
    snprintf(path, sizeof path, "build/model/%s/lib%s.so", configuration, model);
    struct endpoints *e = calloc(1, sizeof *e);
    assert_non_null(e);
    e->limit = LIMIT;
    struct mw_simulation made;
    char message[400];
    if (mwi_model_note(path, MWI_DEVICE, &made, message, sizeof message))
        fail_msg("%s", message);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fail_msg("%s", dlerror());
    void *symbol = dlsym(library, "mw_device_get_ops");
    mw_device_get_ops_fn get_ops;
    memcpy(&get_ops, &symbol, sizeof get_ops);
    e->ops = get_ops();
    assert_int_equal(e->ops->abi, MW_DEVICE_ABI);
    e->model = e->ops->create();
    assert_non_null(e->model);
    return e;
}

struct endpoints *endpoints_open(const char *model)
{
    return endpoints_open_in("dev-n2f8", model);
}

void endpoints_clock(const char *khz)
{
    assert_int_equal(setenv("MW_DEVICE_KHZ", khz, 0), 0);
}

void endpoints_close(struct endpoints *e)
{
    e->ops->destroy(e->model);
    free(e);
}

size_t endpoints_make(struct endpoints *e, const struct mw_frame_header *header,
                      const void *payload, size_t bytes)
{
    struct mw_frame_header h = *header;
    h.words = (uint16_t)(bytes / 8);
    mwf_seal_request(&h, e->key);
    memcpy(e->bytes, &h, sizeof h);
    if (!bytes)
        return sizeof h;
    struct mw_frame_trailer t =
        mwf_trailer_behind(mwf_crc(mwf_payload_start(&h, e->key), payload, bytes), MW_STATUS_OK);
    memcpy(e->bytes + sizeof h, payload, bytes);
    memcpy(e->bytes + sizeof h + bytes, &t, sizeof t);
    return sizeof h + bytes + sizeof t;
}

void endpoints_receive(struct endpoints *e, uint64_t cycles)
{
    size_t have = 0;
    bool last = false;
    uint64_t passed = 0;
    while (!last) {
        have += e->ops->in(e->model, e->bytes + have, sizeof e->bytes - have, &last);
        if (last)
            break;
        assert_true(passed < cycles);
        passed += e->ops->run(e->model, cycles - passed);
    }
    e->cycles += passed;
    memcpy(&e->reply, e->bytes, sizeof e->reply);
    assert_true(have >= sizeof e->reply && mwf_header_ok(&e->reply));
    size_t bytes = 8 * (size_t)e->reply.words;
    assert_int_equal(have, mwf_bytes(bytes));
    e->payload = e->bytes + sizeof e->reply;
    e->trailer = MW_STATUS_OK;
    if (bytes) {
        struct mw_frame_trailer t;
        memcpy(&t, e->payload + bytes, sizeof t);
        assert_int_equal(t.crc, mwf_trailer(e->payload, bytes, t.status).crc);
        e->trailer = t.status;
    }
}

void endpoints_session(struct endpoints *e)
{
    static const uint8_t gap[MW_HOST_SYNC_GAP];
    struct mw_frame_header h = {
        .type = MW_FRAME_SYNC,
        .sequence = e->sequence++,
        .argument = (uint32_t)e->cycles + 1,
        .count = MW_HOST_PROTOCOL_MAJOR << 16 | MW_HOST_PROTOCOL_MINOR,
    };
    e->ops->out(e->model, gap, sizeof gap);
    e->ops->out(e->model, e->bytes, endpoints_make(e, &h, NULL, 0));
    do
        endpoints_receive(e, LIMIT);
    while (e->reply.type != (MW_FRAME_SYNC | MW_FRAME_REPLY) ||
           (uint32_t)e->reply.argument != h.argument);
    assert_int_equal(e->reply.status, MW_STATUS_OK);
    e->key = mwf_key(&e->reply);
    assert_true(e->key & 1);
}

void endpoints_sync(struct endpoints *e)
{
    endpoints_session(e);
    // as the protocol requires before bulk: at power-up the firmware tests memories, and answers
    // when it has
    assert_int_equal(endpoints_call(e, MW_FRAME_INFO, 0, 0, NULL, 0), MW_STATUS_OK);
}

unsigned endpoints_call(struct endpoints *e, unsigned type, uint64_t argument, uint32_t count,
                        const void *payload, size_t bytes)
{
    struct mw_frame_header h = {
        .type = (uint8_t)type, .sequence = e->sequence++, .argument = argument, .count = count};
    e->ops->out(e->model, e->bytes, endpoints_make(e, &h, payload, bytes));
    endpoints_receive(e, e->limit);
    assert_int_equal(e->reply.type, type | MW_FRAME_REPLY);
    assert_int_equal(e->reply.sequence, h.sequence);
    return e->reply.status ? e->reply.status : e->trailer;
}

// ---- transport ----------------------------------------------------------------------------------

static int result(unsigned status)
{
    return status == MW_STATUS_STATE ? MW_ERR_STATE : status ? MW_ERR_IO : 0;
}

static int transport_open(const struct mw_open_options *o, void **context, char *message,
                          size_t size)
{
    (void)message;
    (void)size;
    *context = o->custom_context;
    return result(endpoints_call(o->custom_context, MW_FRAME_RESET, 0, 0, NULL, 0));
}

static void transport_close(void *context)
{
    (void)context;
}

static int cfg_read(void *context, uint32_t address, uint32_t *value)
{
    struct endpoints *e = context;
    struct mw_frame_register r = {address, 0};
    unsigned status = endpoints_call(e, MW_FRAME_REG_READ, 0, 0, &r, sizeof r);
    if (!status) {
        memcpy(&r, e->payload, sizeof r);
        assert_int_equal(r.address, address);
        *value = r.value;
    }
    return result(status);
}

static int cfg_write(void *context, uint32_t address, uint32_t value)
{
    const struct mw_frame_register r = {address, value};
    return result(endpoints_call(context, MW_FRAME_REG_WRITE, 0, 0, &r, sizeof r));
}

static int cfg_list(void *context, struct mw_register *list, size_t count, bool write)
{
    struct endpoints *e = context;
    struct mw_frame_register r[MW_HOST_MAX_COMMAND / sizeof(struct mw_frame_register)];
    for (size_t at = 0, n; at < count; at += n) {
        n = count - at < sizeof r / sizeof *r ? count - at : sizeof r / sizeof *r;
        for (size_t i = 0; i < n; i++)
            r[i] = (struct mw_frame_register){list[at + i].address, list[at + i].value};
        unsigned status = endpoints_call(e, write ? MW_FRAME_REG_WRITE : MW_FRAME_REG_READ, 0, 0, r,
                                         n * sizeof *r);
        if (status)
            return result(status);
        if (!write)
            memcpy(r, e->payload, n * sizeof *r);
        for (size_t i = 0; i < n && !write; i++)
            list[at + i].value = r[i].value;
    }
    return 0;
}

static int memory(struct endpoints *e, bool write, const struct mw_transfer *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t at = 0, n; at < list[i].bytes; at += n) {
            uint8_t *data = (uint8_t *)list[i].data + at;
            uint64_t argument = (uint64_t)list[i].gpu << MW_HOST_GPU_SHIFT | (list[i].address + at);
            n = list[i].bytes - at < MW_HOST_MAX_PAYLOAD ? list[i].bytes - at : MW_HOST_MAX_PAYLOAD;
            unsigned status =
                endpoints_call(e, write ? MW_FRAME_MEM_WRITE : MW_FRAME_MEM_READ, argument,
                               write ? 0 : (uint32_t)n, data, write ? n : 0);
            if (status)
                return result(status);
            if (!write)
                memcpy(data, e->payload, n);
        }
    }
    return 0;
}

static int mem_write(void *context, const struct mw_transfer *list, size_t count)
{
    return memory(context, true, list, count);
}

static int mem_read(void *context, const struct mw_transfer *list, size_t count)
{
    return memory(context, false, list, count);
}

static int run_until(void *context, uint64_t max_cycles, bool *done)
{
    struct endpoints *e = context;
    if (e->in_layer) {
        void (*call)(struct endpoints *) = e->in_layer;
        e->in_layer = NULL;
        assert_int_equal(endpoints_call(e, MW_FRAME_WAIT, IN_LAYER_CYCLES, 0, NULL, 0),
                         MW_STATUS_OK);
        assert_int_equal(e->reply.count, 0); // it runs
        call(e);
    }
    unsigned status = endpoints_call(e, MW_FRAME_WAIT, max_cycles, 0, NULL, 0);
    *done = e->reply.count;
    return result(status);
}

void endpoints_selftest(struct endpoints *e, unsigned gpus)
{
    assert_int_equal(endpoints_call(e, MW_FRAME_SELFTEST, 3, 0, NULL, 0), MW_STATUS_OK);
    assert_int_equal(e->reply.words * 8, 2 * gpus * sizeof(struct mw_frame_selftest));
    for (unsigned i = 0; i < 2 * gpus; i++) {
        struct mw_frame_selftest t;
        memcpy(&t, e->payload + i * sizeof t, sizeof t);
        assert_true(t.checked > 0);
        assert_int_equal(t.failed, 0);
    }
}

static uint64_t total_cycles(void *context)
{
    const struct endpoints *e = context;
    return e->cycles;
}

static int feed(void *context, const struct mw_register *list, size_t count, bool sweep,
                uint32_t *number)
{
    struct endpoints *e = context;
    unsigned status = endpoints_call(e, MW_FRAME_FEED, sweep, 0, list, count * sizeof *list);
    *number = (uint32_t)e->reply.argument;
    return result(status);
}

static int fed(void *context, uint32_t number, uint64_t max_cycles, struct mw_fed *f, bool *done)
{
    struct endpoints *e = context;
    struct mw_frame_fed r;
    unsigned status = endpoints_call(e, MW_FRAME_FED, number, (uint32_t)max_cycles, NULL, 0);
    *done = !status && e->reply.count;
    assert_int_equal(e->reply.words * 8, *done ? sizeof r : 0);
    memcpy(&r, e->payload, sizeof r);
    if (*done) {
        assert_int_equal(r.number, number);
        *f = (struct mw_fed){r.cycles, r.start, r.outcome, r.error};
    }
    return result(status);
}

const struct mw_transport endpoints_transport = {
    .size = sizeof(struct mw_transport),
    .name = "endpoints",
    .open = transport_open,
    .close = transport_close,
    .cfg_read = cfg_read,
    .cfg_write = cfg_write,
    .mem_write = mem_write,
    .mem_read = mem_read,
    .run_until = run_until,
    .total_cycles = total_cycles,
    .cfg_list = cfg_list,
    .feed = feed,
    .fed = fed,
};
