// SPDX-License-Identifier: Apache-2.0
//
// See setting_table.h.
#include "device/setting_table.h"

#include "moeswitch.h"

#include "device/old_names.h"
#include "far_links.h"
#include "trace/workload.h"

#include <stdio.h>
#include <string.h>

enum { PORT_LIMIT = 22, COST = (1 << 24) - 1, CLASSES = (1 << MW_NUM_CLASSES) - 1 };

/// Fields of the layer's configuration, which every command hands to the library, and others.
#define FIELD(name, high, text) \
    { \
        name, true, true, high, text \
    }
#define RUN_FIELD(name, high, text) \
    { \
        name, true, false, high, text \
    }
#define RUN(name, high, text) \
    { \
        name, false, false, high, text \
    }
#define BOTH(name, high, text) \
    { \
        name, false, true, high, text \
    }

static const struct mw_setting_kind kinds[] = {
    FIELD("store_credits", UINT8_MAX,
          "credits of stores on an uplink, in packets, at most the device's"),
    FIELD("part_credits", UINT8_MAX,
          "credits of partial sums on an uplink, in packets, at most the device's"),
    FIELD("ctrl_credits", MW_FAR_CTRL_PKTS,
          "credits of control packets on an uplink, in packets, at most the device's"),
    FIELD("down_store_credits", UINT8_MAX,
          "credits of stores on a downlink, in packets, at most the device's"),
    FIELD("down_part_credits", UINT8_MAX,
          "credits of partial sums on a downlink, in packets, at most the device's"),
    FIELD("throttle", UINT8_MAX,
          "chance, in 256ths, that the start of a packet on an uplink is delayed by a cycle"),
    FIELD("down_throttle", UINT8_MAX, "the same on a downlink"),
    FIELD("window", MW_BUILT_WINDOW,
          "look-ahead of the switch, in store packets of an input; 0: no limit"),
    RUN_FIELD("launch_cycles", UINT16_MAX,
              "cycles of a kernel launch on every GPU: before the first instruction of every "
              "layer, and before each further kernel of a system"),
    FIELD("start_delay", UINT16_MAX, "cycles by which a GPU starts after the one before it"),
    FIELD("partial_wait", UINT16_MAX,
          "cycles without work before an idle engine starts an open tile"),
    FIELD("adder_bypass", 1, "0: rows that need no addition also go through the hub's adder"),
    FIELD(
        "own_by_adder", 1,
        "1: own rows that need no addition go through the hub's adder while no row waits for one"),
    FIELD("balance_rows", 1,
          "1: hubs send partial sums first to the GPUs that have received the smallest part of "
          "theirs; only with copy counts"),
    FIELD("target_list_cache", 1, "1: only the first packet of a row carries the target list"),
    RUN("switch_reductions", 1,
        "1: the switch opens reductions, for systems that send signals; only with "
        "target_list_cache"),
    RUN("token_order", 1, "1: GPUs count copies, and order their tokens by these counts"),
    RUN("order_waits", 1,
        "1: under token_order only the first tokens leave by their numbers; the others wait for "
        "the order"),
    RUN("order_cycles", UINT16_MAX, "cycles charged per token for token_order"),
    RUN("exchange_cycles", COST, "cycles until software can use the counts that it waits for"),
    RUN("barrier_cycles", COST, "cycles until software sees the end of a barrier"),
    RUN("poll_cycles", COST, "cycles until software sees a flag of another GPU"),
    RUN("address_cycles", UINT16_MAX,
        "cycles per token that is sent to addresses which software computes"),
    RUN("allocator", 1,
        "0: moe-hub sends after all counts have arrived, like software that computes addresses"),
    RUN("tracker", 1,
        "0: moe-hub has barriers after dispatch and after experts instead of trackers"),
    RUN("dispatch_throttle", 1,
        "1: GPUs exchange copy counts; dispatch leaves in step with partial sums"),
    RUN_FIELD("throttle_lead", UINT16_MAX, "rows that dispatch is kept ahead of partial sums"),
    RUN_FIELD("throttle_ahead", UINT16_MAX, "rows that dispatch may be ahead; 0: no limit"),
    RUN_FIELD("throttle_idle", UINT16_MAX,
              "cycles without a flit on the uplink after which a held row is sent"),
    RUN_FIELD("sum_entries", MW_BUILT_SUMS,
              "usable entries of each table of sums, under systems with red.cais"),
    RUN_FIELD("sum_cycles", UINT16_MAX,
              "cycles without a change after which a sum leaves the switch, likewise"),
    RUN_FIELD("fetch_cycles", UINT16_MAX,
              "cycles that the switch waits for loads of other GPUs before it fetches a row, at "
              "most, under systems with ld.cais"),
    FIELD("packet_manager", 1, "1: hubs merge small stores of one target for the uplink"),
    FIELD("rpm_timer", UINT16_MAX,
          "cycles for which a packet manager keeps a store, twice at most; 0: none waits"),
    FIELD("cache_entries", MW_BUILT_CACHE,
          "entries of the allocators' caches, a power of two, at least 16; 0: 512"),
    FIELD("scatter", 5,
          "1 or more: rows with one target are stored in pieces of 32 bytes, over 1 to 16 lines of "
          "128 bytes in turn"),
    RUN("tile_guard", 1,
        "0: an idle engine starts no partial tile, even if --in-flight is reached and no tile can "
        "become full"),
    BOTH("small", 1, "1: the configuration that `make synth-check` measures; only simulated"),
    RUN("rows_per_expert", 1 << 18,
        "places for rows of each expert (flashdmoe: of each {expert, source}), rounded up to a "
        "power of two; 0: as many as the routing needs; with fewer the run gets stuck"),
    RUN("quiet_cycles", UINT32_MAX, "cycles without progress before a run ends with exit status 3"),
    RUN("latency_classes", CLASSES,
        "classes of packets whose latencies ports record, a sum of 1: control, 2: stores, 4: "
        "requests, 8: results (default 2)"),
    RUN("port_limit", PORT_LIMIT, "log2 of the period of the switch's time limits; 0: none"),
    RUN("fault", MW_FAULT_ALL,
        "how one GPU misbehaves, a sum of 1: returns no credits, 2: stops inside a packet, 4: "
        "sends no partial sums, 8: sends stores with an unknown opcode, 16: sends stores of an "
        "older layer"),
    RUN("fault_gpu", MW_MAX_PORTS - 1, "the GPU that misbehaves"),
    RUN("fault_after", 64 * UINT16_MAX, "cycles from go until it begins to misbehave"),
};

enum { KINDS = sizeof kinds / sizeof *kinds, TEXT_BYTES = 320 };

const struct mw_setting_kind *mw_setting_find(const char *name)
{
    for (unsigned i = 0; i < KINDS; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    return NULL;
}

uint64_t mw_setting_value(const struct mw_settings *settings, const char *name, uint64_t otherwise)
{
    for (unsigned i = 0; i < settings->count; i++)
        if (strcmp(settings->item[i].name, name) == 0)
            otherwise = settings->item[i].value;
    return otherwise;
}

int mw_settings_apply(const struct mw_settings *settings, struct mw_layer_config *config,
                      struct mw_error *err)
{
    for (unsigned i = 0; i < settings->count; i++) {
        const struct mw_setting *s = &settings->item[i];
        const struct mw_setting_kind *kind = mw_setting_find(s->name);
        if (kind && kind->layer && mw_layer_set(config, s->name, s->value))
            return mw_fail(err, MW_EXIT_INPUT, "--set %s=%llu: %s", s->name,
                           (unsigned long long)s->value, mw_message());
    }
    return MW_EXIT_OK;
}

static bool has(const struct mw_setting_kind *k, bool bench)
{
    return k->bench || !bench;
}

/// A text with the range after it. Each has room of its own, as help and manual keep several.
static const char *with_range(unsigned i)
{
    static char text[KINDS][TEXT_BYTES];
    snprintf(text[i], sizeof text[i], "%s (0 to %llu)", kinds[i].text,
             (unsigned long long)kinds[i].high);
    return text[i];
}

static bool list(unsigned n, bool bench, struct mw_term *term)
{
    for (unsigned i = 0; i < KINDS; i++)
        if (has(&kinds[i], bench) && !n--) {
            *term = (struct mw_term){kinds[i].name, with_range(i)};
            return true;
        }
    return false;
}

bool mw_run_settings(unsigned i, struct mw_term *term)
{
    return list(i, false, term);
}

bool mw_bench_settings(unsigned i, struct mw_term *term)
{
    return list(i, true, term);
}

static int no_setting(const struct mw_setting_kind *kind, bool bench, const char *name,
                      const char *text, struct mw_error *err)
{
    const char *names[KINDS], *command = bench ? "bench" : "run";
    char word[sizeof((struct mw_setting *)0)->name];
    unsigned count = 0;
    if (kind)
        return mw_fail(err, MW_EXIT_INPUT, "--%s %s: only of moeswitch run", name, text);
    for (unsigned i = 0; i < KINDS; i++)
        if (has(&kinds[i], bench))
            names[count++] = kinds[i].name;
    snprintf(word, sizeof word, "%.*s", (int)strcspn(text, "="), text);
    const char *near = mw_closest(word, names, count);
    return mw_fail(err, MW_EXIT_INPUT,
                   "--%s %s: there is no setting of that name, see moeswitch %s --help%s%s%s", name,
                   text, command, near ? " (" : "", near ? near : "", near ? "?)" : "");
}

static int add(void *place, bool bench, const char *name, const char *text, struct mw_error *err)
{
    struct mw_settings *settings = place;
    int status = mw_add_setting(settings, name, text, err);
    if (status)
        return status;
    struct mw_setting *s = &settings->item[settings->count - 1];
    const char *current = mw_current_name(s->name);
    if (current != s->name)
        snprintf(s->name, sizeof s->name, "%s", current);
    const struct mw_setting_kind *kind = mw_setting_find(s->name);
    if (!kind || !has(kind, bench))
        return no_setting(kind, bench, name, text, err);
    for (unsigned i = 0; i + 1 < settings->count; i++)
        if (strcmp(settings->item[i].name, s->name) == 0)
            return mw_fail(err, MW_EXIT_INPUT, "--%s %s: %s is set twice", name, text, s->name);
    if (s->value > kind->high)
        return mw_fail(err, MW_EXIT_INPUT, "--%s %s: expected 0 to %llu", name, text,
                       (unsigned long long)kind->high);
    return MW_EXIT_OK;
}

int mw_add_run_setting(void *place, const char *name, const char *text, struct mw_error *err)
{
    return add(place, false, name, text, err);
}

int mw_add_bench_setting(void *place, const char *name, const char *text, struct mw_error *err)
{
    return add(place, true, name, text, err);
}
