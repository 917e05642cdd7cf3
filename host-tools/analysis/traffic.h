// SPDX-License-Identifier: Apache-2.0
//
// Analytic flit counts (docs/design/systems.md). A row describes each system. From it, one count
// computes the flits that a system must send on every port, direction and class. The device's
// counters must equal them.
#ifndef MW_HOST_TRAFFIC_H
#define MW_HOST_TRAFFIC_H

#include "analysis/costs.h"
#include "packet.h"
#include "trace/row_type.h"
#include "trace/workload.h"

enum mw_direction { MW_UP, MW_DOWN, MW_DIRECTIONS }; ///< GPU to switch, switch to GPU

/// The classes of the links.
enum mw_class { MW_CTRL, MW_STORE, MW_REQUEST, MW_PARTIAL, MW_CLASSES };

enum mw_phase { MW_EXCHANGE, MW_DISPATCH, MW_EXPERT, MW_COMBINE, MW_PHASES };

extern const char *const mw_direction_names[MW_DIRECTIONS]; ///< "up", "down"
extern const char *const mw_class_names[MW_CLASSES];        ///< "ctrl", "store", ...
extern const char *const mw_phase_names[MW_PHASES];

/// What every ordered pair of GPUs exchanges at the start of a layer, in one packet.
enum mw_counts {
    MW_COUNTS_NONE,
    MW_COUNTS_PER_EXPERT, ///< 4 bytes for each expert of the receiver
    MW_COUNTS_PER_GPU,    ///< 4 bytes for each GPU
};

/// What a system sends. Rounds have packets for each ordered pair of different GPUs. A fence is a
/// store packet without payload and a control packet back. A flag is the store packet alone. A
/// barrier is a control packet (an event).
struct mw_system {
    const char *name;
    bool multicast;         ///< dispatch: one packet up and trimmed copies down, with target lists
    bool reduction;         ///< combine: requests and partial sums, reduced in the switch
    bool signals;           ///< one control packet home per remote (token, expert) row
    bool target_list_cache; ///< of a row's packets the first alone carries the target list
    bool switch_reductions; ///< in place of signals and requests: rows are reported to the switch
    bool partial_tiles;     ///< idle engines start open tiles, whatever the run's options
    bool token_order;       ///< GPUs exchange copy counts and put their tokens in order by them
    bool order_waits;       ///< ... for which all but the first tokens wait
    bool dispatch_throttle; ///< ... and keep dispatch and partial sums in step
    bool balance_rows;      ///< hubs balance partial sums by them, on devices whose hubs can
    struct mw_costs costs;  ///< of software
    bool gathered;          ///< every token goes to every GPU and back, by the static group of all
    bool row_sparse;        ///< a row per (token, expert), which returns to its home by itself
    bool source_lists;   ///< ... in lists of each {expert, source}, a flag after each list and tile
    bool scatter;        ///< rows with one target leave in packets of 32 bytes
    bool packet_manager; ///< ... which hubs merge on their way to the uplink
    bool row_ranges;     ///< experts run on ranges of tokens, as their rows arrive
    bool phased;         ///< phases one after the other; if not, all side by side
    enum mw_counts counts;
    enum mw_phase counts_in;                         ///< the phase that sends the counts
    unsigned fences[MW_PHASES], barriers[MW_PHASES]; ///< rounds, at the end of a phase
    unsigned flags[MW_PHASES];                       ///< rounds
};

/// Ranges of tokens in which `unicast` combines, and in which `overlap` dispatches and combines;
/// a round of flags after each.
enum { MW_UNICAST_RANGES = 6, MW_OVERLAP_RANGES = 15 };

enum { MW_SYSTEMS = 8 };

/// Rows in a packet that reports or grants several of them.
enum { MW_ROWS_GATHERED = MW_LANES };

/// Flits and payload bytes on every link. Two numbers depend on timing: packets of rows that are
/// reported or granted several at a time, and stores that a packet manager merges. `flits` has the
/// fewest. `gathered` has the most that may come in addition.
struct mw_traffic {
    uint64_t flits[MW_MAX_GPUS][MW_DIRECTIONS][MW_CLASSES];
    uint64_t gathered[MW_MAX_GPUS][MW_DIRECTIONS][MW_CLASSES];
    uint64_t payload[MW_MAX_GPUS][MW_DIRECTIONS]; ///< bytes; target lists are not payload
};

struct mw_link_parameters {
    unsigned flit_bytes;    ///< 8 or 16
    unsigned link_cycles;   ///< that a flit takes on a link, from 1 on
    uint64_t expert_cycles; ///< per row
    unsigned tile;          ///< rows that an engine starts together; 0: 1
};

/// Bytes of a token's results, and of its hidden values on their way to the experts.
static inline uint64_t mw_row_bytes(const struct mw_workload *w)
{
    return mw_row_type_bytes(MW_ROWTYPE_BF16, w->shape.hidden);
}

static inline uint64_t mw_dispatch_bytes(const struct mw_workload *w)
{
    return mw_row_type_bytes(w->shape.dispatch_type, w->shape.hidden);
}

/// Rows that an engine starts together.
static inline unsigned mw_link_tile(const struct mw_link_parameters *link)
{
    return link->tile ? link->tile : 1;
}

/// What `system` sends in one layer, phase by phase, on links of those flits, with those tiles.
void mw_traffic_count(const struct mw_workload *w, unsigned layer, const struct mw_system *system,
                      const struct mw_link_parameters *link, struct mw_traffic phases[MW_PHASES]);
/// Add to `t` the gradients of gate weights, if the layer makes them: a store of 4 bytes home from
/// each remote (token, expert). No packet manager merges them.
void mw_traffic_gradients(const struct mw_workload *w, unsigned layer, unsigned flit_bytes,
                          struct mw_traffic *t);
/// to += from
void mw_traffic_add(struct mw_traffic *to, const struct mw_traffic *from);
/// Flits of all classes on one port and direction.
uint64_t mw_traffic_flits(const struct mw_traffic *t, unsigned port, enum mw_direction direction);
/// What every system must move in one layer. Each token goes up once, and down once to every GPU
/// that has an expert of it. One partial sum of it goes up from each of these, and one goes down to
/// its home.
void mw_traffic_strict(const struct mw_workload *w, unsigned layer, unsigned flit_bytes,
                       struct mw_traffic *t);

#endif
