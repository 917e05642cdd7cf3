// SPDX-License-Identifier: Apache-2.0
#include "experiment/monitor.h"

#include "experiment/params.h"

#include <stdlib.h>
#include <string.h>

enum {
    WANTED = 240, ///< samples of a layer
    READ =
        24, ///< cycles of a simulated device in which one port's part of a sample is read, at most
};

unsigned mw_monitor_interval(uint64_t cycles, unsigned ports)
{
    uint64_t fine = cycles / WANTED, interval = fine;
    if (fine <
        2ull * READ * ports) // slow to fetch: all must fit, even if it takes three times as long
        interval = 3 * cycles / MW_SERIES_SAMPLES + 2;
    return interval > UINT16_MAX ? UINT16_MAX : (unsigned)interval;
}

int mw_monitor_start(struct mw_monitor **monitor, struct mw_device *device,
                     const struct mw_run_params *params, unsigned ports, uint64_t cycles,
                     unsigned classes, struct mw_error *err)
{
    struct mw_monitor *m = *monitor = calloc(1, sizeof *m);
    if (!m)
        return mw_fail_memory(err, "the monitors");
    m->ports = ports;
    m->link_cycles = params->link_cycles;
    m->interval = params->interval ? params->interval : mw_monitor_interval(cycles, ports);
    int code = mw_monitor_set(device, classes, m->interval);
    if (code && (code != MW_ERR_CAPACITY || params->monitor_must))
        return mw_device_failed(err, "monitors", code);
    if (code) {
        mw_monitor_free(m);
        *monitor = NULL;
    }
    return MW_EXIT_OK;
}

uint64_t mw_monitor_step(const struct mw_monitor *m)
{
    return (uint64_t)m->interval * MW_SERIES_SAMPLES / 4; // of a ring of so many
}

/// Room for so many samples; new ones are zeros.
static int reserve(struct mw_monitor *m, size_t samples)
{
    if (samples <= m->room)
        return 0;
    size_t room = samples + WANTED;
    struct mw_sample *list = realloc(m->list, room * m->ports * sizeof *list);
    if (!list)
        return MW_ERR_NOMEM;
    memset(list + m->room * m->ports, 0, (room - m->room) * m->ports * sizeof *list);
    m->list = list;
    m->room = room;
    return 0;
}

int mw_monitor_fetch(struct mw_monitor *m, struct mw_device *device)
{
    if (!m->interval)
        return 0;
    struct mw_sample *got = malloc(sizeof *got * MW_SERIES_SAMPLES * m->ports);
    uint64_t first = 0;
    size_t count = 0;
    int status = got ? mw_series_read(device, m->samples, got, MW_SERIES_SAMPLES, &first, &count)
                     : MW_ERR_NOMEM;
    if (!status && count)
        status = reserve(m, (size_t)first + count);
    if (!status && count) {
        m->lost += (size_t)first - m->samples;
        memcpy(m->list + (size_t)first * m->ports, got, count * m->ports * sizeof *got);
        m->samples = (size_t)first + count;
    }
    free(got);
    return status;
}

int mw_monitor_finish(struct mw_monitor *m, struct mw_device *device)
{
    int status = mw_monitor_fetch(m, device);
    for (unsigned p = 0; p < m->ports && !status; p++)
        status = mw_latencies_read(&m->latencies[p], device, p);
    return status;
}

void mw_monitor_free(struct mw_monitor *m)
{
    if (m)
        free(m->list);
    free(m);
}

struct mw_latencies mw_monitor_all(const struct mw_monitor *m)
{
    struct mw_latencies all = {{0}};
    for (unsigned p = 0; p < m->ports; p++)
        mw_latencies_add(&all, &m->latencies[p]);
    return all;
}

// ---- JSON ---------------------------------------------------------------------------------------

static void json_series(struct mw_json *j, const struct mw_monitor *m, unsigned port)
{
    static const char *const names[] = {"up", "down", "wait_credit", "wait_turn"};
    mw_json_object(j, NULL, false);
    mw_json_uint(j, "port", port);
    for (unsigned k = 0; k < sizeof names / sizeof *names; k++) {
        mw_json_array(j, names[k], true);
        for (size_t i = 0; i < m->samples; i++) {
            const struct mw_sample *s = &m->list[i * m->ports + port];
            const uint16_t value[] = {s->up, s->down, s->wait_credit, s->wait_turn};
            mw_json_uint(j, NULL, value[k]);
        }
        mw_json_end(j);
    }
    mw_json_end(j);
}

void mw_monitor_json(struct mw_json *j, const struct mw_monitor *m)
{
    mw_json_array(j, "latency", false);
    for (unsigned p = 0; p < m->ports; p++) {
        mw_json_object(j, NULL, true);
        mw_json_uint(j, "port", p);
        mw_latencies_json(j, &m->latencies[p]);
        mw_json_end(j);
    }
    mw_json_end(j);
    mw_json_object(j, "series", false);
    mw_json_uint(j, "interval", m->interval);
    mw_json_uint(j, "samples", m->samples);
    mw_json_uint(j, "lost", m->lost);
    mw_json_array(j, "ports", false);
    for (unsigned p = 0; p < m->ports; p++)
        json_series(j, m, p);
    mw_json_end(j);
    mw_json_end(j);
}
