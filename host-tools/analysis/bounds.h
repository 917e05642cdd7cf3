// SPDX-License-Identifier: Apache-2.0
//
// Analytic flit counts and the three bounds (docs/design/architecture.md section 3,
// docs/design/systems.md). One table describes the systems; one count, driven by it, gives the
// flits that every system must send on every port, direction and class, and the device's counters
// must equal them.
#ifndef MW_HOST_BOUNDS_H
#define MW_HOST_BOUNDS_H

#include "analysis/costs.h"
#include "golden/workload.h"
#include "packet.h"

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

/// What a system sends. A round of fences is, per ordered pair of different GPUs, a store packet
/// without payload and a control packet back; a round of flags is the store packet alone; a round of
/// barriers is a control packet (an event) per ordered pair.
struct mw_system {
    const char *name;
    bool multicast;        ///< dispatch: one packet up and trimmed copies down, with target lists
    bool reduction;        ///< combine: requests and partial sums, reduced in the switch
    bool signals;          ///< one control packet home per remote (token, expert) row
    bool list_once;        ///< of a row's packets the first alone carries the target list
    bool switch_asks;      ///< in place of signals and requests: rows are reported to the switch
    bool partial_tiles;    ///< idle engines start open tiles, whatever the run's options say
    bool token_order;      ///< GPUs exchange copy counts and put their tokens in order by them
    bool pace;             ///< ... and keep dispatch and partial sums in step
    struct mw_costs costs; ///< of software
    bool gathered;         ///< every token goes to every GPU and back, by the static group of all
    bool row_sparse;       ///< a row per (token, expert), which returns to its home by itself
    bool
        source_lists; ///< ... in lists of each {expert, source}, with a flag behind each and each tile
    bool scatter;     ///< rows with one target leave in packets of 32 bytes
    bool packet_manager; ///< ... which hubs merge on their way to the uplink
    bool row_ranges;     ///< experts run on ranges of tokens, as their rows arrive
    bool phased;         ///< phases one after the other; if not, all side by side
    enum mw_counts counts;
    enum mw_phase counts_in;                         ///< the phase that sends the counts
    unsigned fences[MW_PHASES], barriers[MW_PHASES]; ///< rounds, at the end of a phase
    unsigned flags[MW_PHASES];                       ///< rounds
};

/// Ranges of tokens in which `unicast` combines, and in which `overlap` dispatches and combines; a round
/// of flags behind each.
enum { MW_UNICAST_RANGES = 6, MW_OVERLAP_RANGES = 15 };

enum { MW_SYSTEMS = 8 };
extern const struct mw_system mw_systems[MW_SYSTEMS];     ///< `unicast` comes first
const struct mw_system *mw_system_find(const char *name); ///< NULL if there is none

/// Rows in a packet that reports or grants several of them.
enum { MW_ROWS_GATHERED = MW_LANES };

/// Flits and payload bytes on every link. How many packets rows take that are reported or granted
/// several at a time depends on when they come, and so does how many stores a packet manager merges:
/// flits has the fewest, gathered the others at most.
struct mw_traffic {
    uint64_t flits[MW_MAX_GPUS][MW_DIRECTIONS][MW_CLASSES];
    uint64_t gathered[MW_MAX_GPUS][MW_DIRECTIONS][MW_CLASSES];
    uint64_t payload[MW_MAX_GPUS][MW_DIRECTIONS]; ///< bytes; target lists are not payload
};

enum mw_resource {
    MW_LINK,   ///< one direction of a port's link
    MW_ENGINE, ///< a GPU's expert engine
    MW_ADDER,  ///< its hub's adder
    MW_BANKS,  ///< its memory
};

/// A time and what needs it.
struct mw_bound {
    uint64_t cycles;
    enum mw_resource resource;
    unsigned index;              ///< the GPU, or the port
    enum mw_direction direction; ///< of a link
};

struct mw_bounds {
    struct mw_bound strict;      ///< links and engines, the same for every system
    struct mw_bound strict_link; ///< links alone
    struct mw_bound own; ///< of a phased system: the sum, and where the longest phase is bound
    struct mw_bound own_link;
    struct mw_bound own_engine;
    struct mw_bound own_phase[MW_PHASES]; ///< of a phased system; 0 cycles otherwise
};

/// Facts of a layer that do not depend on the system.
struct mw_layer_facts {
    uint64_t rows[MW_MAX_GPUS]; ///< (token, expert) rows of each engine
    unsigned busiest;           ///< the engine with the most of them
    uint64_t additions
        [MW_MAX_GPUS]; ///< of rows in the hub of each GPU where the switch joins partial sums: terms - 1 of every row summed there
    double remote_gpus_per_token; ///< mean of d, home excluded
    double home_share;            ///< share of tokens with an expert at home
};

struct mw_link_parameters {
    unsigned flit_bytes;    ///< 8 or 16
    unsigned link_cycles;   ///< that a flit takes on a link, from 1 on
    uint64_t expert_cycles; ///< per row
    unsigned tile;          ///< rows that an engine starts together; 0: 1
};

void mw_layer_facts(const struct mw_workload *w, unsigned layer, struct mw_layer_facts *facts);

/// What `system` sends in one layer, phase by phase, on links of those flits, with those tiles.
void mw_traffic_count(const struct mw_workload *w, unsigned layer, const struct mw_system *system,
                      const struct mw_link_parameters *link, struct mw_traffic phases[MW_PHASES]);
/// to += from
void mw_traffic_add(struct mw_traffic *to, const struct mw_traffic *from);
/// Flits of all classes on one port and direction.
uint64_t mw_traffic_flits(const struct mw_traffic *t, unsigned port, enum mw_direction direction);

/// The bounds of one layer.
void mw_bounds_compute(const struct mw_workload *w, unsigned layer, const struct mw_system *system,
                       const struct mw_link_parameters *link, struct mw_bounds *bounds);
/// The strict bound of the links alone, in cycles; the expert's default time comes from it.
struct mw_bound mw_strict_link(const struct mw_workload *w, unsigned layer,
                               const struct mw_link_parameters *link);
/// Default of expert_cycles (which `link` need not have): sum over the layers of the strict link bound,
/// over twice the rows of the busiest engine, rounded down. 0 where no token has an expert.
uint64_t mw_default_expert_cycles(const struct mw_workload *w,
                                  const struct mw_link_parameters *link);

/// "port 3 down", or "engine 5" and the like; returns `text`.
const char *mw_bound_text(const struct mw_bound *b, char *text, size_t size);

#endif
