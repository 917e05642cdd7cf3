// SPDX-License-Identifier: Apache-2.0
//
// The host's RESET comes at any time, and no register write or go of an earlier layer may follow
// it. So RESET is held while a layer is started, and the count of resets shows whether one came
// before.
#include "feed.h"

#include "log.h"
#include "watch.h"

static uint32_t queue_read(const struct board *b, uint32_t address)
{
    (void)b;
    return hw_read(address);
}

static void queue_write(const struct board *b, uint32_t address, uint32_t value)
{
    (void)b;
    hw_write(address, value);
}

/// Until it is in the log.
static bool queue_fault(const struct board *b)
{
    (void)b;
    return hw_read(SOC(fault)) & MW_SOC__FAULT__VALID_bm;
}

static uint64_t queue_cycles(const struct board *b)
{
    (void)b;
    uint32_t low = hw_read(SOC(time_lo));
    return low | (uint64_t)hw_read(SOC(time_hi)) << 32;
}

static uint32_t queue_error(const struct board *b)
{
    return watch_first_error(b);
}

static void queue_failed(const struct board *b, uint32_t error)
{
    log_add(b, MW_LOG_FABRIC, error);
}

static unsigned queue_gpus(const struct board *b)
{
    return b->gpus;
}

#define LAYER_QUEUE_CONTEXT const struct board *
#include "layer_queue_poll.h"

static uint32_t resets(void)
{
    return GET(MW_SOC__FABRIC_RESET__COUNT, hw_read(SOC(fabric_reset)));
}

void feed_begin(struct feed *f)
{
    f->queue.next = 0;
    layer_queue_reset(&f->queue);
    f->asked = false;
    f->resets = resets();
}

bool feed_busy(const struct feed *f)
{
    return layer_queue_busy(&f->queue);
}

/// True: there was no reset, and none begins before `release`.
static bool hold(struct feed *f)
{
    hw_write(SOC(fabric_reset), MW_SOC__FABRIC_RESET__HOLD_bm);
    uint32_t count = resets();
    if (count == f->resets)
        return true;
    f->resets = count;
    layer_queue_reset(&f->queue);
    return false;
}

static void release(void)
{
    hw_write(SOC(fabric_reset), 0);
}

/// A reset that has not been noticed yet empties the queue before a command.
static void notice(struct feed *f)
{
    hold(f);
    release();
}

// ---- commands -----------------------------------------------------------------------------------

unsigned feed_add(struct feed *f, const struct board *b, unsigned words, bool sweep,
                  uint32_t *number)
{
    notice(f);
    unsigned status = layer_queue_check(&f->queue, b, words);
    if (status)
        return status;
    struct mw_frame_register *list = layer_queue_place(&f->queue);
    for (unsigned i = 0; i < words; i++) {
        list[i].address = hw_read(SOC(mbox_command) + 8 * i);
        list[i].value = hw_read(SOC(mbox_command) + 8 * i + 4);
    }
    return layer_queue_add(&f->queue, words, sweep, number);
}

bool feed_ask(struct feed *f, uint32_t number, uint32_t patience, unsigned *status,
              const struct mw_frame_fed **record)
{
    uint32_t now = hw_read(SOC(time_lo));
    if (!f->asked) {
        notice(f);
        f->since = now;
    }
    f->asked = true;
    *status = layer_queue_ask(&f->queue, number, record);
    if (!*status && !*record && now - f->since < patience &&
        !(hw_read(SOC(link)) & MW_SOC__LINK__WAITING_bm))
        return false;
    f->asked = false;
    return true;
}

// ---- layers -------------------------------------------------------------------------------------

void feed_poll(struct feed *f, const struct board *b)
{
    if (!feed_busy(f) && !f->queue.stopped)
        return;
    if (hold(f))
        layer_queue_poll(&f->queue, b);
    release();
}
