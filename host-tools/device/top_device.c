// SPDX-License-Identifier: Apache-2.0
//
// What `moeswitch top` shows of one device, see top.h. Use and waits are of the cycles since the
// sample before, bytes and numbers of all since go.
#include "base/text.h"
#include "device/top.h"

#include <inttypes.h>
#include <string.h>

enum { BAR = 18 }; ///< characters of a bar, its figure included

static uint64_t sum(const uint32_t flits[MW_NUM_CLASSES])
{
    uint64_t all = 0;
    for (unsigned c = 0; c < MW_NUM_CLASSES; c++)
        all += flits[c];
    return all;
}

static double percent(uint64_t part, uint64_t whole)
{
    return whole ? 100 * (double)part / (double)whole : 0;
}

/// "[|||||      43.1 %]": as long as the share is large.
static void bar(FILE *out, double share, const char *begin, const char *end)
{
    char text[BAR + 1], figure[16];
    int n = snprintf(figure, sizeof figure, "%.1f %%", share);
    double part = share / 100 * BAR;
    int filled = part < 0 ? 0 : part > BAR ? BAR : (int)(part + 0.5);
    memset(text, ' ', BAR);
    memset(text, '|', (size_t)filled);
    memcpy(text + BAR - n, figure, (size_t)n);
    text[BAR] = 0;
    fprintf(out, " [%s%.*s%s%s]", begin, filled, text, end, text + filled);
}

static void port(FILE *out, const struct mw_shared *now, const struct mw_shared *before, unsigned p,
                 bool colour)
{
    const struct mw_port_counters *n = &now->counters.port[p], *b = &before->counters.port[p];
    const struct mw_gpu_counters *gpu = &now->counters.gpu[p], *was = &before->counters.gpu[p];
    uint64_t cycles = n->cycles - b->cycles;
    const char *end = colour ? "\033[0m" : "";
    fprintf(out, "%4u", p);
    bar(out, percent(sum(n->up_flits) - sum(b->up_flits), cycles), colour ? "\033[34m" : "", end);
    bar(out, percent(sum(n->down_flits) - sum(b->down_flits), cycles), colour ? "\033[33m" : "",
        end);
    fprintf(out, " %8.0f %8.0f %6.1f %6.1f %7.1f %6" PRIu32 " %7" PRIu32 " %7" PRIu32 "\n",
            (double)(sum(n->up_flits) * now->flit_bytes) / 1024,
            (double)(sum(n->down_flits) * now->flit_bytes) / 1024,
            percent(n->stall_output - b->stall_output, cycles),
            percent(n->stall_credit - b->stall_credit, cycles),
            percent(gpu->expert_idle - was->expert_idle, cycles), gpu->expert_tiles,
            gpu->rows_received, gpu->tokens_done);
}

static void head(FILE *out, const struct mw_shared *now, const struct mw_shared *before,
                 double seconds)
{
    static const char *const states[] = {[MW_STATE_IDLE] = "idle",
                                         [MW_STATE_CONFIGURED] = "configured",
                                         [MW_STATE_RUNNING] = "running",
                                         [MW_STATE_DONE] = "done",
                                         [MW_STATE_UNKNOWN] = "unknown"};
    uint64_t tokens = 0;
    for (unsigned g = 0; g < now->gpus; g++)
        tokens += now->counters.gpu[g].tokens_done;
    fprintf(out, "%s, process %u, device %u: %u GPUs on %s, flits of %u bytes\n",
            MW_SHOWN(now->program), now->id.pid, now->id.number, now->gpus,
            MW_SHOWN(now->transport), now->flit_bytes);
    if (!now->sampled) {
        fputs("no sample yet: it has not waited for a layer since\n", out);
        return;
    }
    fprintf(out,
            "%" PRIu64 " layer%s since it was opened, the last %s, cycle %" PRIu64 ", %" PRIu64
            " of %" PRIu64 " tokens",
            now->layer, now->layer == 1 ? "" : "s", states[now->state], now->counters.cycles,
            tokens, now->tokens_total);
    if (before->sampled && seconds > 0)
        fprintf(out, ", %.1f kcycles/s",
                (double)(now->total_cycles - before->total_cycles) / seconds / 1000);
    fprintf(out, ", %.1f s ago\n", (double)now->age_ms / 1000);
}

void mw_top_device(FILE *out, const struct mw_shared *now, const struct mw_shared *before,
                   double seconds, bool colour)
{
    struct mw_shared none = {.sampled = false};
    head(out, now, before, seconds);
    if (!now->sampled)
        return;
    // of another layer: all since go is new
    bool same = before->sampled && before->layer == now->layer &&
                before->counters.cycles <= now->counters.cycles;
    fprintf(out, "%4s  %-*s   %-*s  %8s %8s %6s %6s %7s %6s %7s %7s\n", "", BAR, "uplink", BAR,
            "downlink", "up", "down", "output", "credit", "engine", "", "rows", "tokens");
    fprintf(out, "%4s  %-*s   %-*s  %8s %8s %6s %6s %7s %6s %7s %7s\n", "port", BAR, "use", BAR,
            "use", "KiB", "KiB", "wait %", "wait %", "idle %", "tiles", "here", "done");
    for (unsigned p = 0; p < now->gpus && p < MW_MAX_PORTS; p++)
        port(out, now, same ? before : &none, p, colour);
}
