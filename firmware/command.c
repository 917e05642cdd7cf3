// SPDX-License-Identifier: Apache-2.0
//
// A handler writes its payload into the mailbox and sets the status of the reply, which
// command_poll sends. Nothing of a payload is built in RAM.
#include "command.h"

#include "log.h"
#include "selftest.h"

enum {
    WINDOW = 64, ///< the link takes no packet that it has no room for, so any number does
    BULK_BYTES = 16 * MW_HOST_MAX_PAYLOAD, ///< likewise
    WORD = 8,                              ///< bytes of a word of a payload
    MAX_GPUS = MW_HOST_MAX_GPUS,
};

struct reply {
    unsigned status;
    unsigned bytes; ///< of payload
    uint64_t argument;
    uint32_t count;
};

static void put(struct reply *r, uint32_t value)
{
    hw_write(SOC(mbox_reply) + r->bytes, value);
    r->bytes += 4;
}

/// A text of 32 bytes.
static void put_text(struct reply *r, const char *text)
{
    for (unsigned i = 0; i < 32; i += 4) {
        uint32_t word = 0;
        for (unsigned j = 0; j < 4 && *text; j++)
            word |= (uint32_t)(uint8_t)*text++ << 8 * j;
        put(r, word);
    }
}

static void info(const struct board *b, bool found, struct reply *r)
{
    uint32_t restart = hw_read(SOC(restart));
    put(r, 1u << MW_FEATURE_SELFTEST | 1u << MW_FEATURE_LOG |
               (found ? 1u << MW_FEATURE_FABRIC | 1u << MW_FEATURE_FEED : 0));
    put(r, WINDOW);
    put(r, MW_HOST_MAX_PAYLOAD);
    put(r, BULK_BYTES);
    put(r, FW_MAJOR << 24 | FW_MINOR << 16 | FW_PATCH);
    put(r, b->khz * 1000);
    put(r, found ? b->gpus : 0);
    put(r, b->flit_bytes);
    put(r, b->mem_log2 < 32 ? 1u << b->mem_log2 : 0);
    put(r, b->mem_log2 < 32 ? 0 : 1u << (b->mem_log2 - 32));
    put(r, 0); // needs_minor
    put(r, GET(MW_SOC__RESTART__COUNT, restart));
    put_text(r, "moeswitch");
    put_text(r, FW_SERIAL);
    put(r, b->cycle);
    for (unsigned i = r->bytes; i < sizeof(struct mw_frame_info); i += 4)
        put(r, 0);
}

static void put_result(const struct board *b, struct reply *r, const struct mw_frame_selftest *t)
{
    put(r, t->test);
    put(r, t->unit);
    put(r, t->checked);
    put(r, t->failed);
    if (t->failed)
        log_add(b, MW_LOG_SELFTEST, t->test << 16 | t->unit);
}

static void selftest(const struct feed *f, const struct board *b, bool found, uint32_t mask,
                     struct reply *r)
{
    const unsigned most = MW_HOST_MAX_COMMAND / sizeof(struct mw_frame_selftest);
    struct mw_frame_selftest result[MAX_GPUS];
    unsigned tests = (mask >> MW_TEST_MEMORY & 1) + (mask >> MW_TEST_LINK & 1);
    if (!found)
        r->status = MW_STATUS_FAULT;
    else if (mask & ~(1u << MW_TEST_MEMORY | 1u << MW_TEST_LINK) || tests * b->gpus > most)
        r->status = MW_STATUS_LENGTH;
    else if (feed_busy(f) || hw_read(FABRIC(state)) & MW_FABRIC__STATE__BUSY_bm)
        r->status = MW_STATUS_STATE;
    if (r->status != MW_STATUS_OK)
        return;
    for (unsigned g = 0; g < b->gpus && mask >> MW_TEST_MEMORY & 1; g++) {
        selftest_memory(b, g, b->khz ? SELFTEST_WORDS : SELFTEST_WORDS_SIMULATED, result);
        put_result(b, r, result);
    }
    if (mask >> MW_TEST_LINK & 1) {
        selftest_links(b, result);
        for (unsigned g = 0; g < b->gpus; g++)
            put_result(b, r, &result[g]);
        board_reset_fabric();
    }
}

/// From the oldest, where there is no such entry.
static void log_read(uint32_t from, bool known, struct reply *r)
{
    struct mw_frame_log e;
    if (!known || from - log_first() > log_next() - log_first())
        from = log_first();
    while (r->bytes < MW_HOST_MAX_COMMAND && log_get(from, &e)) {
        put(r, e.number);
        put(r, e.code);
        put(r, e.detail);
        put(r, e.seconds);
        from++;
    }
    r->argument = log_next();
}

static void add_layer(struct feed *f, const struct board *b, unsigned words, uint32_t argument,
                      struct reply *r)
{
    uint32_t number = 0;
    r->status = argument > 1 ? MW_STATUS_LENGTH : feed_add(f, b, words, argument & 1, &number);
    r->argument = number;
}

/// False: not now.
static bool tell_layer(struct feed *f, uint32_t number, struct reply *r)
{
    const struct mw_frame_fed *t;
    if (!feed_ask(f, number, hw_read(SOC(mbox_count)), &r->status, &t))
        return false;
    if (!t)
        return true;
    r->count = 1;
    for (unsigned i = 0; i < sizeof *t / 4; i++)
        put(r, ((const uint32_t *)t)[i]);
    return true;
}

void command_poll(struct feed *f, const struct board *b, bool found)
{
    uint32_t mbox = hw_read(SOC(mbox));
    if (!(mbox & MW_SOC__MBOX__VALID_bm))
        return;
    struct reply r = {MW_STATUS_OK, 0, 0, 0};
    uint32_t argument = hw_read(SOC(mbox_argument_lo));
    unsigned kind = GET(MW_SOC__MBOX__KIND, mbox), words = GET(MW_SOC__MBOX__WORDS, mbox);
    bool feeds = kind == MW_FRAME_FEED || kind == MW_FRAME_FED;
    if (feeds && !found)
        r.status = MW_STATUS_TYPE;
    else if (feeds && hw_read(SOC(mbox_argument_hi)))
        r.status = MW_STATUS_LENGTH;
    else if (words && kind != MW_FRAME_FEED)
        r.status = MW_STATUS_LENGTH; // no other has a payload
    else
        switch (kind) {
        case MW_FRAME_INFO:
            info(b, found, &r);
            break;
        case MW_FRAME_SELFTEST:
            if (hw_read(SOC(mbox_argument_hi)))
                r.status = MW_STATUS_LENGTH;
            else
                selftest(f, b, found, argument, &r);
            break;
        case MW_FRAME_FEED:
            add_layer(f, b, words, argument, &r);
            break;
        case MW_FRAME_FED:
            if (!tell_layer(f, argument, &r))
                return;
            break;
        case MW_FRAME_LOG_READ:
            log_read(argument, !hw_read(SOC(mbox_argument_hi)), &r);
            break;
        case MW_FRAME_LOG_CLEAR:
            log_clear();
            break;
        default:
            r.status = MW_STATUS_TYPE;
        }
    hw_write(SOC(mbox_reply_lo), (uint32_t)r.argument);
    hw_write(SOC(mbox_reply_hi), (uint32_t)(r.argument >> 32));
    hw_write(SOC(mbox_reply_count), r.count);
    hw_write(SOC(mbox_send), PUT(MW_SOC__MBOX_SEND__WORDS, r.status ? 0 : r.bytes / WORD) |
                                 PUT(MW_SOC__MBOX_SEND__STATUS, r.status));
}
