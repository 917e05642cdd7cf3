// SPDX-License-Identifier: Apache-2.0
//
// libmoeswitch: the way from a program to a moeswitch device, simulated or on a board.
//
// Words: multicast objects and regions are created and bound as in the CUDA driver, dispatch and
// combine as in DeepEP, instructions are those of docs/isa.md. A device has N GPUs, 0 to N - 1; all
// of them use the same layout of their memories.
//
// Every function that can fail returns 0 (MW_ERR_OK) or a negative MW_ERR_ code of errors.h;
// mw_strerror gives its text, and mw_message what exactly was wrong. Arguments that a call's
// description excludes, and a NULL where it does not allow one, give MW_ERR_INVALID; a transport that
// fails, MW_ERR_IO; no memory, MW_ERR_NOMEM; this is not repeated below.
//
// State. A device is idle, configured, running, or unknown (mw_query tells). It becomes unknown when a
// request that changes it has failed, so that nobody can tell whether it was carried out, and when a
// layer is canceled. Every call that needs to reach the device gives MW_ERR_STATE then, but mw_reset,
// mw_close and those that only look (mw_info, mw_query, mw_state_report, mw_firmware_info, mw_log_read,
// mw_total_cycles).
//
// Threads. Calls for one device may come from several threads; they take turns, in the order in which
// they come. A call that waits lets others have theirs: none is kept waiting by more than some ten
// milliseconds of another's wait, but mw_combine, which waits until no other mw_combine has the device.
// Threads that the library starts take no signals.
//
// Lifetimes. A device, object or handle is valid until it is closed or destroyed, in any order: what is
// made of another keeps what it needs of it, and calls for it give MW_ERR_STATE once the device is
// closed, or the object of a handle is destroyed. While one is closed or destroyed, no other call for
// the same one may begin; mw_close ends those that wait, and may not be called from `progress`.
//
// Processes. A device belongs to the process that opened it. After fork(2) every call of the child for
// that device, or for what was made of it, gives MW_ERR_STATE at once; mw_total_cycles gives 0. The child
// may close the device and destroy the objects, which frees its own copy and leaves the parent's device
// as it is. It may open devices of its own. What it inherits and does not close ends with it. A child that
// was forked inside a callback of the library must not return from that callback.
//
// Sizes. Structs of options start with their size, as the program knows them: mw_open_defaults and
// mw_layer_defaults set it, else it is {.size = sizeof(struct ...)}. A program that was built with an
// older header gets what was the default then. A size that no header has had is MW_ERR_INVALID; one of a
// later header is taken where all that this library does not know is 0, else it is MW_ERR_VERSION.
// Structs that come in lists (mw_transfer, mw_tokens, mw_expert_place) stay as they are.
#ifndef MOESWITCH_H
#define MOESWITCH_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "errors.h" // MW_ERR_*, MW_HWERR_*
#include "isa.h"    // MW_I_*, MW_EV_*, struct mw_instr
#include "packet.h" // MW_DTYPE_*, MW_REDOP_*

#ifdef __cplusplus
extern "C" {
#endif

#define MW_API __attribute__((visibility("default")))

/// Version of this header; mw_version tells that of the library.
#define MW_VERSION "0.1.0"

enum {
    MW_API_VERSION = 3,
    MW_MAX_PORTS = 32,   ///< GPUs of a device
    MW_MEM_ALIGN = 16,   ///< addresses and sizes of mw_mem_* are multiples of it
    MW_MAX_TARGETS = 16, ///< experts per token
    MW_FEED_BUFFERS = 4, ///< buffers of a layout that layers are fed from, at most
    MW_NUM_CLASSES = 4,  ///< link classes: 0 control, 1 store, 2 reduction request, 3 partial
};

struct mw_device;
struct mw_multicast;
struct mw_dymulticast;
struct mw_handle;

// ---- errors -------------------------------------------------------------------------------------

/// Version of the library that runs, "major.minor.patch".
MW_API const char *mw_version(void);
/// Name of a code, "MW_ERR_INVALID"; "unknown" for others. Never NULL.
MW_API const char *mw_error_name(int code);
/// Text of a MW_ERR_ code; "unknown error" for others. Never NULL.
MW_API const char *mw_strerror(int code);
/// Text of a code that the hardware records (MW_HWERR_).
MW_API const char *mw_hw_strerror(unsigned code);
/// One line about the last call of this thread that failed: place and cause. Never NULL.
MW_API const char *mw_message(void);

// ---- device -------------------------------------------------------------------------------------

struct mw_transport;

/// Which of the primitives of mw_device_info a program can do with.
enum mw_primitives {
    MW_PRIMITIVES_ALL,
    MW_PRIMITIVES_PUBLISHED, ///< without list_once, switch_asks, token_order and link_rate
    MW_PRIMITIVES_BASIC,     ///< copy_lane alone
};

struct mw_open_options {
    size_t size;           ///< sizeof(struct mw_open_options)
    const char *transport; ///< "sim": the Verilated model, in this process; "usb": a device on USB
    const char *serial;    ///< usb: its serial number; NULL or empty: the only one that there is
    unsigned timeout_ms;   ///< usb: give a call up when nothing has moved for so long; 0: 10 s
    unsigned gpus;         ///< N, 2 .. 32; usb: 0, as many as it has
    unsigned flit_bytes;   ///< 8 or 16; usb: 0, what it has
    unsigned link_latency; ///< cycles of every link, 1 .. max_latency of the device
    bool small;            ///< sim: the configuration that synth-check measures (16 KB per GPU)
    const char *fst;       ///< sim: file for waves, or NULL
    const char *model;     ///< sim: the model's file, or NULL: look for it (docs/install.md)
    bool build;            ///< sim: run `make model` where it is missing and the sources are there
    /// Called with one line whenever something takes long; may be NULL.
    void (*log)(void *context, const char *line);
    void *log_context;
    /// Another transport than the built-in ones (tests); NULL: take `transport`.
    const struct mw_transport *custom;
    void *custom_context; ///< handed to custom->open
    /// sim: "lanes" or "plain" (docs/simulation.md); NULL: lanes, or plain where they do not work
    const char *backend;
    /// Other programs of the same user may see what the device does (mw_shared_look, `moeswitch top`).
    bool share;
    /// sim: a model with no others will do. Of those that there are (make model PRIMITIVES=...) the one with
    /// the fewest that has these is taken: it is faster, and takes the same cycles.
    enum mw_primitives primitives;
};

/// sim, N = 8, 16-byte flits, latency 1, no waves, build; of a struct of that size. Where no header has
/// that size, only the size is written, as 0: no call takes the struct then.
MW_API void mw_open_defaults_of(struct mw_open_options *options, size_t size);
static inline void mw_open_defaults(struct mw_open_options *options)
{
    mw_open_defaults_of(options, sizeof *options);
}

/// Open a device and reset it. MW_ERR_INVALID: `transport` is NULL, and `custom` too, or a function that
/// every transport has; MW_ERR_NODEV: there is none (no such transport, serial number or model, and
/// `build` not set or failed); MW_ERR_BUSY: another program has it; MW_ERR_VERSION: it does not
/// speak this library's host protocol or registers, and the message says which to upgrade, or it claims
/// sizes that this library does not know, or it is a model for another processor, or of another version;
/// MW_ERR_CAPACITY: link_latency above its maximum; MW_ERR_INVALID: it has another N or flit width than
/// asked for, or there are several and no serial number was given; MW_ERR_FIRMWARE: the device is there,
/// but its firmware does not answer, which mw_firmware_load (`moeswitch firmware FILE`) mends.
///
/// A usb device that is unplugged ends the call under way, and every later one, with MW_ERR_NODEV;
/// close it, and open it anew when it is back.
MW_API int mw_open(const struct mw_open_options *options, struct mw_device **device);
/// Close it, whatever it does. Waits end with MW_ERR_STATE; objects and handles of it may be destroyed
/// before or after, and nothing else. NULL is allowed.
MW_API void mw_close(struct mw_device *device);
/// Reset it, whatever it does: the only way back from the unknown state. What runs ends, and waits for
/// it end with MW_ERR_CANCELED. Afterwards it is as after mw_open: nothing is configured, GPU memories
/// hold anything, and partitions, time limits, monitors and faults are to be set again. Link latency,
/// bound multicast objects, and expert maps stand. MW_ERR_VERSION: the transport cannot, or the device
/// is another than it was; the state stays unknown on every failure.
MW_API int mw_reset(struct mw_device *device);

struct mw_device_info {
    unsigned gpus;
    unsigned flit_bytes;
    uint64_t mem_bytes;     ///< of each GPU
    unsigned banks;         ///< of each memory
    unsigned rows;          ///< rows {expert, row} that a GPU's tracker holds
    unsigned tokens;        ///< own tokens of a GPU
    unsigned local_experts; ///< experts of a GPU
    unsigned experts;       ///< of the expert map
    unsigned groups;        ///< static multicast groups
    unsigned open_rows;     ///< reductions in flight per GPU
    unsigned part_pkts;     ///< credits of partials, per pair of GPUs
    unsigned store_pkts;    ///< credits of stores, GPU to switch
    unsigned rx_store_pkts; ///< credits of stores, switch to GPU
    unsigned window;        ///< largest look-ahead window of the switch, 0: it has none
    unsigned max_latency;   ///< of a link, cycles
    unsigned link_latency;  ///< as set
    bool copy_lane, list_once, switch_asks; ///< there are these primitives of mw_layer_config
    bool token_order;       ///< there are mw_stream_order, and pace of mw_layer_config
    bool link_rate;         ///< there is link_cycles of mw_layer_config
    bool delay, row_ranges; ///< there are mw_stream_delay; mw_stream_flag_rows and _expert_range
    bool row_sparse;        ///< there are mw_stream_st_rowsp, and row_returns of mw_layer_config
    bool source_lists;      ///< there is source_lists of mw_layer_config, and mw_stream_flag_lists
    bool more_events;       ///< there are the event counters from MW_EV_SW8 on
    bool gathered; ///< there are the calls of gathered tokens, from mw_stream_multimem_st_rows on
    bool packet_manager;    ///< there are packet_manager and scatter of mw_layer_config
    bool cache_limit;       ///< cache_entries of mw_layer_config may be fewer than there are
    unsigned cache_entries; ///< of the allocator's cache, 2^i
};
MW_API int mw_info(struct mw_device *device, struct mw_device_info *info);

/// What a simulated device was made of.
struct mw_simulation {
    char backend[8];    ///< "lanes" or "plain"
    char verilator[64]; ///< versions
    char compiler[128];
    char flags[512];  ///< of both, and the settings of the hardware
    char sources[72]; ///< SHA-256 of what it was made of
    char cpu[512];    ///< what it needs of a processor, as /proc/cpuinfo names it
};
/// MW_ERR_NODEV: the transport has no model (usb). On a failure `model` stays as it is.
MW_API int mw_simulation_info(struct mw_device *device, struct mw_simulation *model);

/// A device on USB.
struct mw_found {
    char serial[64];     ///< empty where it could not be read
    char path[64];       ///< bus and ports, as in sysfs: 1-2.3
    unsigned mbit_per_s; ///< 12, 480, ...; 0: unknown
    unsigned protocol;   ///< bcdDevice: 0x0100 is version 1.0
    int state;           ///< 0: free, MW_ERR_BUSY: in use, MW_ERR_IO: may not be opened
};
/// Devices on USB: how many there are, of which the first `max` are described, or a MW_ERR_ code.
MW_API int mw_list(struct mw_found *list, size_t max);

/// What runs on a device's own processor.
struct mw_firmware {
    unsigned protocol_major, protocol_minor; ///< of the host protocol
    uint32_t version;                        ///< {major[31:24], minor[23:16], patch[15:0]}
    uint32_t features;                       ///< mask of MW_FEATURE_ of docs/host-protocol.md
    uint32_t clock_hz;                       ///< of the fabric's nodes; 0: simulated
    uint32_t resets;                         ///< by its watchdog, since power-up
    char name[40], serial[64];
    uint32_t cycle_clocks; ///< clocks of a cycle of the fabric, at least 1
};
/// MW_ERR_NODEV: the transport has no firmware (sim). On a failure `firmware` stays as it is.
MW_API int mw_firmware_info(struct mw_device *device, struct mw_firmware *firmware);

/// One test of one unit; numbers of tests are in docs/host-protocol.md.
struct mw_selftest {
    uint32_t test, unit;
    uint32_t checked, failed;
};
/// Let the firmware test the device, which is reset afterwards, tables included; `tests` is a mask.
/// `count` gets how many results there are, of which the first `max` are in `list`. MW_ERR_NODEV: no
/// firmware; MW_ERR_VERSION: it has no such tests; MW_ERR_STATE: a layer runs.
MW_API int mw_selftest(struct mw_device *device, uint32_t tests, struct mw_selftest *list,
                       size_t max, size_t *count);

struct mw_log_entry {
    uint32_t number, code, detail, seconds; ///< docs/host-protocol.md
};
/// Entries of the firmware's error log from number `first` on, at most `max`. Errors as mw_selftest.
MW_API int mw_log_read(struct mw_device *device, uint32_t first, struct mw_log_entry *list,
                       size_t max, size_t *count);

/// What the image of a firmware says of itself; docs/host-protocol.md has its format.
struct mw_firmware_image {
    uint32_t version;   ///< as in struct mw_firmware
    uint32_t bytes;     ///< of the image, a multiple of 4
    uint32_t ram_bytes; ///< of the RAM that it needs
    uint32_t soc;       ///< registers of the SoC that it needs: {major[31:16], minor[15:0]}
};
/// Whether an image lies at `words`, of which there are `count`: whole, and with the right checksum.
/// MW_ERR_INVALID: not so.
MW_API int mw_firmware_check(const uint32_t *words, size_t count, struct mw_firmware_image *image);
/// Read the RAM of a device's processor, of whose words the first `max` go to `words`; `count` gets how
/// many there are. The device must not be open: of the options, those count that say which one it is, and
/// timeout_ms. The firmware starts anew, unless the processor was held: then it stays so. MW_ERR_NODEV,
/// MW_ERR_BUSY, MW_ERR_INVALID as mw_open, MW_ERR_NODEV also where the transport has no firmware (sim);
/// MW_ERR_VERSION: the device's registers have no way to its RAM.
MW_API int mw_firmware_read(const struct mw_open_options *options, uint32_t *words, size_t max,
                            size_t *count);
/// Bring a firmware into a device, until power goes, and start it; nothing needs to run there. Arguments
/// and errors as mw_firmware_read. The device is reset, and its log stays where both keep it at the same
/// place. Before anything is touched: MW_ERR_INVALID: mw_firmware_check refuses it; MW_ERR_CAPACITY: it
/// needs more RAM than there is; MW_ERR_VERSION: it needs other registers of the SoC.
///
/// `keep` (may be NULL) is called with all of the RAM before any of it is written; unless it returns 0,
/// what was there starts anew and the call ends with MW_ERR_CANCELED. MW_ERR_FIRMWARE: the RAM does not
/// hold what was written, or the firmware does not answer as mw_open needs it, within timeout_ms: what was
/// in the RAM is there again and, unless it was held, runs; the message says whether it answers. On any
/// other failure on the way the processor may be held, and a second call mends it.
typedef int mw_firmware_keep(void *context, const uint32_t *words, size_t count);
MW_API int mw_firmware_load(const struct mw_open_options *options, const uint32_t *words,
                            size_t count, mw_firmware_keep *keep, void *context);

// ---- memory -------------------------------------------------------------------------------------

/// A piece of one GPU's memory. address and bytes are multiples of MW_MEM_ALIGN.
struct mw_transfer {
    unsigned gpu;
    uint64_t address; ///< byte address in the memory of that GPU
    size_t bytes;
    void *data; ///< read by mw_mem_write, filled by mw_mem_read
};

/// Write or read many pieces; the GPUs' host ports work side by side, the pieces of one GPU in their
/// order. MW_ERR_RANGE: outside the memory; MW_ERR_STATE: a layer runs that was launched, or one that
/// was fed, and a piece is not in a buffer that no layer uses. On any error nothing may be assumed about
/// what was moved.
MW_API int mw_mem_write(struct mw_device *device, const struct mw_transfer *list, size_t count);
MW_API int mw_mem_read(struct mw_device *device, const struct mw_transfer *list, size_t count);

// ---- tables -------------------------------------------------------------------------------------

/// Where an expert lives.
struct mw_expert_place {
    unsigned expert;       ///< 0 .. experts of the device - 1
    unsigned gpu;          ///< 0 .. N - 1
    unsigned local_expert; ///< its index there, 0 .. local_experts of the device - 1
};
/// Write entries of the expert map of layers that mw_launch and mw_feed start; it is kept from layer to
/// layer (mw_combine uses the map of its object). MW_ERR_CAPACITY: an index that the device does not
/// have; MW_ERR_STATE: a layer runs.
MW_API int mw_expert_map_set(struct mw_device *device, const struct mw_expert_place *places,
                             size_t count);
/// Write that of `experts` experts, a multiple of N: expert e is on GPU e / (experts / N), at index
/// e % (experts / N).
MW_API int mw_expert_map_even(struct mw_device *device, unsigned experts);
/// Which ports `gpu` may reach, as a mask of bits below N; after open, all. MW_ERR_STATE: a layer runs.
MW_API int mw_partition_set(struct mw_device *device, unsigned gpu, uint32_t reachable);

// ---- ports that are down ------------------------------------------------------------------------

/// The switch shuts off a GPU that takes nothing, does not end a packet, or owes a partial sum, for longer than the time limit: what is for it
/// is discarded, its partial sums are replaced by poisoned ones, nothing of it comes in. Bit p of `mask`: port p is down.
MW_API int mw_ports_down(struct mw_device *device, uint32_t *mask);
/// Enable a port that is down: its queues are flushed, its GPU is reset but for its memory, and ends its part of a layer that runs. All GPUs must be configured
/// anew before the next layer. MW_ERR_TIMEOUT: it does not come up.
MW_API int mw_port_enable(struct mw_device *device, unsigned gpu);
/// Take a port down; it is down on return. MW_ERR_TIMEOUT: it does not go down.
MW_API int mw_port_disable(struct mw_device *device, unsigned gpu);
/// Time limits: 2 to 3 periods of 2^period_log2 cycles (1 .. 22) for control and open packets, twice that for stores, four times for results and partial sums.
/// 0: none; after open, 13.
MW_API int mw_port_limit(struct mw_device *device, unsigned period_log2);

/// What an emulated GPU may be made to do wrong.
enum {
    MW_FAULT_ACCEPT = 1, ///< give no credit back
    MW_FAULT_SEND = 2,   ///< stop inside a packet and send nothing more
    MW_FAULT_ANSWER = 4, ///< send no partial sums
    MW_FAULT_OPCODE = 8, ///< send stores with an opcode that is unknown
    MW_FAULT_EPOCH = 16, ///< send stores with the epoch of the layer before
    MW_FAULT_ALL = 31,
};
/// From `after` cycles behind each go on (a multiple of 64; it is rounded down), until set again or the GPU is reset. Devices without faults ignore it.
/// MW_ERR_STATE: a layer runs.
MW_API int mw_fault_set(struct mw_device *device, unsigned gpu, unsigned faults, unsigned after);

/// A static multicast object (`cuMulticastCreate`): a group of GPUs whose memories hold an area of
/// `bytes` bytes, at least 1, at the same address. MW_ERR_CAPACITY: no group is free.
MW_API int mw_multicast_create(struct mw_device *device, uint64_t bytes,
                               struct mw_multicast **object);
/// Add a GPU (`cuMulticastAddDevice`), each once, before the bind. MW_ERR_STATE after it.
MW_API int mw_multicast_add_device(struct mw_multicast *object, unsigned gpu);
/// Bind the area to `address` in every member's memory (`cuMulticastBindAddr`) and write the group
/// into the switch. MW_ERR_RANGE: it does not fit there; MW_ERR_STATE: no member, or a layer runs. An
/// instruction that names a group of no bound object is refused by the hardware (MW_HWERR_UNMAPPED).
MW_API int mw_multicast_bind_addr(struct mw_multicast *object, uint64_t address);
/// The group number for mw_stream_multimem_*; MW_ERR_STATE before the bind.
MW_API int mw_multicast_group(const struct mw_multicast *object);
/// Give the group back: it has no members from the next layer on. NULL is allowed.
MW_API void mw_multicast_destroy(struct mw_multicast *object);

// ---- layer: sizes, memory layout, registers -------------------------------------------------------

/// Everything that is the same on all GPUs in one layer. Start from mw_layer_defaults.
struct mw_layer_config {
    size_t size; ///< sizeof(struct mw_layer_config)
    // sizes
    unsigned k;              ///< experts per token, 1 .. 16
    unsigned tokens_per_gpu; ///< most own tokens of a GPU
    unsigned row_bytes;      ///< of a token's hidden values, a multiple of the flit, at most 32 752
    unsigned experts_per_gpu; ///< most experts of a GPU
    /// Most (token, expert) rows that any expert gets; with source_lists: that one gets from any GPU
    unsigned rows_per_expert;
    unsigned received_rows; ///< unicast: most rows that a GPU gets, own copies included; else 0
    uint64_t scratch_bytes; ///< area for st.linear and multimem.st, may be 0
    unsigned stream_instrs; ///< most instructions of a stream, 0: MW_STREAM_INSTRS
    unsigned buffers;       ///< of routing table, hidden values and output rows, for mw_feed; 0: 1
    // behaviour
    unsigned tile;          ///< rows of one expert that start together, 1 .. 255
    unsigned expert_cycles; ///< engine time per row, at most 65 535
    bool partial_tiles;     ///< an idle engine starts its fullest open tile
    unsigned partial_wait;  ///< after that many cycles without work
    unsigned in_flight;     ///< tokens dispatched and not finished per GPU, 0: no limit
    unsigned open_rows;     ///< reductions in flight per GPU, 0: as many as the device has
    // limits for tests; 0: the hardware's own. MW_ERR_CAPACITY: more credits than it has
    unsigned store_credits, part_credits, ctrl_credits; ///< of the uplinks
    unsigned down_store_credits, down_part_credits;     ///< of the downlinks
    unsigned throttle, down_throttle; ///< of 256 chances, how often a packet's start is put off
    unsigned window;      ///< store packets of a switch input that its outputs may take, 0: all
    unsigned start_delay; ///< cycles by which GPU g starts later than GPU g - 1
    // primitives of the hub, of those that the device has
    bool copy_lane; ///< rows that need no addition pass the hub's adder by; without it they take it
    bool list_once; ///< only a row's first packet has its targets; MW_ERR_CAPACITY without
    /// The switch opens reductions when all members have finished a row; only with list_once, and
    /// mw_stream_dymultimem_ld_reduce takes tokens in that order. MW_ERR_CAPACITY without
    bool switch_asks;
    /// Finished rows of other GPUs' tokens return singly to slots of their homes, which count their bytes;
    /// then mw_stream_expert may say so and mw_stream_sum takes all terms of a token. Not with
    /// switch_asks. MW_ERR_CAPACITY without row_sparse
    bool row_returns;
    /// Rows of mw_stream_st_rowsp land in lists of each {expert, source}, at places that the source counts;
    /// mw_stream_flag_lists says how many they are. Lists: experts_per_gpu times the GPUs, rounded up to a
    /// power of two. Only with row_returns. MW_ERR_CAPACITY without source_lists of mw_device_info
    bool source_lists;
    // once the copy counts of all GPUs are here (mw_stream_count with per_gpu)
    bool pace;           ///< dispatch and partial sums leave a GPU in step; MW_ERR_CAPACITY without
    unsigned pace_lead;  ///< rows that dispatch is kept ahead of them, at most 65 535
    unsigned pace_ahead; ///< rows that dispatch may be ahead, 0: no limit, at most 65 535
    unsigned pace_idle;  ///< cycles without a flit and a row goes all the same, at most 65 535
    /// Cycles that a flit takes on each link, 1 .. 4, 0: 1. With 2 GPUs and hubs move twice as much as
    /// their links. MW_ERR_CAPACITY without link_rate
    unsigned link_cycles;
    /// Costs of software: cycles from go to the first instruction of a GPU, besides start_delay; at most
    /// 65 535 with that
    unsigned launch_cycles;
    /// Hubs keep stores of whole 32 bytes for the uplink, at most 2 rpm_timer cycles and a little more, and
    /// merge them into packets of up to 128 bytes; then counters of packets depend on time
    bool packet_manager; ///< MW_ERR_CAPACITY without
    unsigned rpm_timer;  ///< at most 65 535; 0: none waits while the uplink has room
    /// 1 .. 5: st, st.rowsp and st.linear send 32 bytes in a packet, lines of 2^(scatter - 1) of them interleaved;
    /// 0: 128 bytes. MW_ERR_CAPACITY without packet_manager of mw_device_info
    unsigned scatter;
    /// Entries of the allocator's cache, 2^i from 16 on, which change no bit, only how often it misses; 0: 512, or all
    /// where there are fewer. MW_ERR_CAPACITY: more than there are, or fewer without cache_limit
    unsigned cache_entries;
};
/// tile 1, partial_wait 64, copy_lane true, pace_lead 1, pace_idle 256, rpm_timer 256, all else 0; of a struct of that
/// size, as mw_open_defaults_of.
MW_API void mw_layer_defaults_of(struct mw_layer_config *config, size_t size);
static inline void mw_layer_defaults(struct mw_layer_config *config)
{
    mw_layer_defaults_of(config, sizeof *config);
}
/// Set a field of the behaviour or the limits by its name. MW_ERR_INVALID: there is none of that name,
/// or the value does not fit it (the message says its range).
MW_API int mw_layer_set(struct mw_layer_config *config, const char *name, uint64_t value);

/// What changes from layer to layer.
struct mw_feed_buffer {
    uint64_t rt_base, xs_base, out_base; ///< as in mw_layout
};

/// Byte addresses below 2^34, multiples of MW_BASE_UNIT, the same on all GPUs, and shifts
/// (docs/microarchitecture/README.md, Addresses).
struct mw_layout {
    unsigned token_shift, n_shift, k_shift, row_shift, gate_shift, cap_shift;
    uint64_t stream[MW_STREAMS]; ///< STREAM_INSTRS * INSTR_BYTES bytes each
    uint64_t rt_base;            ///< routing table, ROUTE_BYTES per own token
    uint64_t ce_base;            ///< bf16 coefficient of each own expert
    uint64_t al_base;            ///< allocation table
    uint64_t xs_base;            ///< hidden values of own tokens, 1 << row_shift bytes apart
    uint64_t out_base;           ///< output rows, the same stride
    uint64_t yd_base;            ///< combine region
    uint64_t xd_base;            ///< dispatch region
    uint64_t gt_base;            ///< gate weights, or meta table of unicast
    uint64_t cb_base;            ///< slots: for partial sums of unicast, or for rows that return
    uint64_t rl_base;            ///< switch_asks: lists of targets, for each token of all GPUs
    uint64_t scratch;            ///< scratch_bytes
    uint64_t st_lo, st_hi;       ///< where explicit stores may land
    uint64_t end;                ///< bytes used
    unsigned buffers;            ///< for mw_feed; the first has the addresses above
    struct mw_feed_buffer buffer[MW_FEED_BUFFERS];
    uint64_t rt_bytes, row_bytes; ///< of a routing table, and of hidden values or output rows
};
/// Lay out the memories for `config`. MW_ERR_CAPACITY: the device cannot hold it; the message says
/// what is too large, and how large it may be.
MW_API int mw_layout_make(struct mw_device *device, const struct mw_layer_config *config,
                          struct mw_layout *layout);

/// Write the registers of all GPUs. tokens[g] and experts[g] (at most the sizes of `config`) are GPU
/// g's own; bit s of streams enables stream s. MW_ERR_CAPACITY: the device cannot do what `config` asks
/// for; MW_ERR_STATE: a layer runs.
MW_API int mw_layer_configure(struct mw_device *device, const struct mw_layer_config *config,
                              const struct mw_layout *layout, const unsigned *tokens,
                              const unsigned *experts, unsigned streams);

/// One entry of the routing table (ROUTE_BYTES bytes at `entry`): the experts of a token, -1 for an
/// empty place, and their gate weights, k of each.
MW_API void mw_route_pack(uint8_t *entry, const int16_t *topk_idx, const float *topk_weights,
                          unsigned k);

// ---- instruction streams --------------------------------------------------------------------------

/// A stream being built. Each call below adds one instruction (docs/isa.md has what it does, in what
/// order, and when it retires) and fails with MW_ERR_CAPACITY when the stream is full, with
/// MW_ERR_INVALID for an operand that no device has: a counter that packets do not count (signal, flag)
/// or that does not exist (wait), a group from STATIC_GROUPS on, such as a failure of
/// mw_multicast_group, a GPU from MW_MAX_PORTS on, an address from 2^34 on. What this device has not, it refuses itself, and records an error (MW_HWERR_). The first
/// failure is kept, so that a whole stream can be built and checked once, by mw_stream_end.
struct mw_stream {
    unsigned count;
    int error;
    struct mw_instr instr[MW_STREAM_INSTRS];
};
MW_API void mw_stream_init(struct mw_stream *s);
MW_API int mw_stream_end(struct mw_stream *s); ///< returns the first failure of the stream
MW_API int mw_stream_wait(struct mw_stream *s, unsigned event, uint32_t threshold);
/// The same by software that polls: it gets to know of the event `cycles` later, which are below 2^31.
MW_API int mw_stream_poll(struct mw_stream *s, unsigned event, uint32_t threshold, uint32_t cycles);
/// Once in a layer for rows, once for copies (per_gpu): the other GPUs reject what comes again (MW_HWERR_COUNT).
MW_API int mw_stream_count(struct mw_stream *s, uint32_t first, uint32_t tokens, bool per_gpu);
MW_API int mw_stream_prefix(struct mw_stream *s);
/// Add 1 to the counter of every other GPU; flag: behind this GPU's stores to it, or (`self`) to the own one alone.
MW_API int mw_stream_signal(struct mw_stream *s, unsigned event);
MW_API int mw_stream_flag(struct mw_stream *s, unsigned event, bool self);
/// flag that says, too, how many rows of the mw_stream_st before it each GPU gets: expert_range and
/// sum_st there go no further. No st may run beside it.
MW_API int mw_stream_flag_rows(struct mw_stream *s, unsigned event, bool self);
/// In layers with source_lists: say to every GPU, this one included, how many rows the mw_stream_st_rowsp before it has
/// sent to each of its experts.
MW_API int mw_stream_flag_lists(struct mw_stream *s);
MW_API int mw_stream_fence(struct mw_stream *s);
/// Nothing but time; cycles below 2^31.
MW_API int mw_stream_delay(struct mw_stream *s, uint32_t cycles);
MW_API int mw_stream_dymultimem_st(struct mw_stream *s, uint32_t first, uint32_t tokens);
MW_API int mw_stream_st(struct mw_stream *s, uint32_t first, uint32_t tokens);
/// Put the tokens in order by the copy counts of all GPUs, which are here (mw_stream_wait), for
/// mw_stream_dymultimem_st_ordered of the same range: it takes them as they are numbered until this has
/// retired, and sends each once in any case. A token costs `cycles` of unit control at least, at most
/// 65 535. Only where there is token_order of mw_device_info, else the hardware refuses it.
MW_API int mw_stream_order(struct mw_stream *s, uint32_t first, uint32_t tokens, unsigned cycles);
MW_API int mw_stream_dymultimem_st_ordered(struct mw_stream *s, uint32_t first, uint32_t tokens);
/// A row to each of its experts by itself, allocated where it lands, or (source_lists) at the next place of its list;
/// once in such a layer.
MW_API int mw_stream_st_rowsp(struct mw_stream *s, uint32_t first, uint32_t tokens);
/// dymultimem.st without gate weights: rows that no expert waits for. With `flat`, row i of GPU g's
/// lands at byte address (g << token_shift | i) << row_shift of its targets' GPUs, without allocator.
MW_API int mw_stream_dymultimem_st_rows(struct mw_stream *s, uint32_t first, uint32_t tokens,
                                        bool flat);
MW_API int mw_stream_st_linear(struct mw_stream *s, unsigned gpu, uint64_t from, uint32_t bytes,
                               uint64_t to);
MW_API int mw_stream_multimem_st(struct mw_stream *s, unsigned group, uint64_t from, uint32_t bytes,
                                 uint64_t to);
/// Take own memory into that of every member; mw_stream_reduction says how.
MW_API int mw_stream_multimem_red(struct mw_stream *s, unsigned group, uint64_t from,
                                  uint32_t bytes, uint64_t to);
/// `flags` is the instruction's; see docs/isa.md.
MW_API int mw_stream_expert(struct mw_stream *s, unsigned flags);
MW_API int mw_stream_expert_rows(struct mw_stream *s);
/// expert.rows of the tokens of a range, counted at their homes, behind those of the one before.
MW_API int mw_stream_expert_range(struct mw_stream *s, uint32_t first, uint32_t tokens);
MW_API int mw_stream_dymultimem_ld_reduce(struct mw_stream *s, uint32_t first, uint32_t tokens,
                                          bool as_completed);
/// The members' memories added up, the own one last if this GPU is a member, at `to` here.
MW_API int mw_stream_multimem_ld_reduce(struct mw_stream *s, unsigned group, uint64_t from,
                                        uint32_t bytes, uint64_t to);
/// Element type and operator (MW_DTYPE_, MW_REDOP_) of the ld_reduce or red that was added last; without this
/// it is the sum of bf16. Whether the device has it shows in its errors (MW_HWERR_REDUCTION).
MW_API int mw_stream_reduction(struct mw_stream *s, unsigned dtype, unsigned redop);
MW_API int mw_stream_sum_st(struct mw_stream *s, uint32_t first, uint32_t tokens);
/// Remote partial sums, or (`own`) own experts' rows on top of them. In layers with row_returns both, of tokens as they
/// get complete (`own`) or as they are numbered, which waits for no row.
MW_API int mw_stream_sum(struct mw_stream *s, uint32_t first, uint32_t tokens, bool own);

// Of *gathered* tokens (MoE by a static group alone): those of all GPUs, as the caller numbers them. Their routing
// entries (MW_ROUTE_BYTES each) lie from gt_base of mw_layout on, their rows from xd_base, what the experts make of
// them from yd_base, and dense partial sums from cb_base: a layout for as many received_rows as there are of them.

/// Copy the hidden values of own tokens to `to` on at every member, where rows lie 2^row_shift bytes apart as they do
/// here; or their routing entries.
MW_API int mw_stream_multimem_st_rows(struct mw_stream *s, unsigned group, uint32_t first,
                                      uint32_t tokens, unsigned row_shift, uint64_t to);
MW_API int mw_stream_multimem_st_routes(struct mw_stream *s, unsigned group, uint32_t first,
                                        uint32_t tokens, uint64_t to);
/// expert.rows of gathered tokens, of the experts that their routing entries name and this GPU has.
MW_API int mw_stream_expert_gathered(struct mw_stream *s, uint32_t first, uint32_t tokens);
/// Dense rows of gathered tokens.
enum mw_dense {
    MW_DENSE_EMPTY = 2, ///< of those without own experts: -0
    MW_DENSE_SUMS = 3,  ///< of the others: the partial sum over these
    MW_DENSE_ALL = 6,   ///< of each, whatever its experts: -0
};
MW_API int mw_stream_sum_dense(struct mw_stream *s, uint32_t first, uint32_t tokens,
                               enum mw_dense which);
/// multimem.ld_reduce of rows that lie 2^row_shift bytes apart at `from` on, to the output rows of own tokens.
MW_API int mw_stream_multimem_ld_reduce_rows(struct mw_stream *s, unsigned group, uint64_t from,
                                             uint32_t first, uint32_t tokens, unsigned row_shift);
/// mw_stream_sum of own experts' rows, where own token `first` is gathered token `gathered`, and so on.
MW_API int mw_stream_sum_gathered(struct mw_stream *s, uint32_t first, uint32_t tokens,
                                  uint32_t gathered);

/// Write `streams` streams of each GPU into the memories: s[g * streams + i] is stream i of GPU g.
/// MW_ERR_STATE: one has no end, or kept a failure; MW_ERR_CAPACITY: one has delay, flag_rows, flag_lists, expert_range,
/// gathered tokens or an event counter from MW_EV_SW8 on, and the device was built without.
MW_API int mw_stream_load(struct mw_device *device, const struct mw_layout *layout,
                          const struct mw_stream *s, unsigned streams);

/// Add the instructions of the streams of one GPU: s[0] to s[streams - 1], which have none yet.
typedef void (*mw_stream_make_fn)(void *context, unsigned gpu, struct mw_stream *s);
/// Let `make` build the streams of each GPU, end them and write them. Errors as mw_stream_end and
/// mw_stream_load.
MW_API int mw_streams_load(struct mw_device *device, const struct mw_layout *layout,
                           unsigned streams, mw_stream_make_fn make, void *context);

// ---- data of a layer ------------------------------------------------------------------------------

/// One GPU's part of a layer. Rows are bf16 values, as many as fill the bytes of a row, without a gap.
struct mw_tokens {
    unsigned tokens;           ///< may be 0
    const uint16_t *x;         ///< [tokens][row] hidden values
    const int16_t *topk_idx;   ///< [tokens][k] experts, -1: none; an expert at most once per token
    const float *topk_weights; ///< [tokens][k] gate weights
};
// Each of these writes or reads the memories of all GPUs, as mw_mem_write and mw_mem_read do, with their
// errors; part[g] (N of them) is GPU g's. Addresses are those of a layout, or of one of its buffers.

/// Routing tables at `address`: k experts and weights of each token.
MW_API int mw_routing_load(struct mw_device *device, uint64_t address, unsigned k,
                           const struct mw_tokens *part);
/// Hidden values, or output rows, at `address`: x, row_bytes (a multiple of 2, at most 1 << row_shift)
/// of each token, 1 << row_shift bytes apart, 0 between them.
MW_API int mw_rows_load(struct mw_device *device, uint64_t address, unsigned row_bytes,
                        unsigned row_shift, const struct mw_tokens *part);
/// ... read tokens[g] of them into out[g], row_bytes each without a gap; NULL for a GPU without tokens.
MW_API int mw_rows_read(struct mw_device *device, uint64_t address, unsigned row_bytes,
                        unsigned row_shift, const unsigned *tokens, uint16_t *const *out);
/// The bf16 coefficients of experts_per_gpu emulated experts of each GPU at ce_base; `coefficient` has
/// one GPU's behind the other's.
MW_API int mw_coefficients_load(struct mw_device *device, const struct mw_layout *layout,
                                unsigned experts_per_gpu, const uint16_t *coefficient);

// ---- running ----------------------------------------------------------------------------------------

/// Start the layer (`go`) in a new epoch; allocation tables are cleared when the epochs have come
/// round, and at the first layer. MW_ERR_STATE: a layer runs, or none was configured.
MW_API int mw_launch(struct mw_device *device);

struct mw_wait_options {
    size_t size;           ///< sizeof(struct mw_wait_options)
    uint64_t quiet_cycles; ///< give up after that many cycles without progress; 0: the library's
                           ///< choice, from the layer's expert time and start delays
    uint64_t step_cycles;  ///< cycles between two looks at the device; 0: the library's choice
    /// Called at every look: own tokens finished and of all GPUs, and cycles since go; may be NULL. The
    /// layer is canceled, as by mw_cancel, if it does not return 0.
    int (*progress)(void *context, uint64_t tokens, uint64_t tokens_total, uint64_t cycles);
    void *progress_context;
    /// Looked at some hundred times a second; may be NULL. The layer is canceled when it is not 0, so
    /// that a signal handler can end a wait.
    const volatile sig_atomic_t *stop;
};
/// Wait until the layer of the last mw_launch is done; `cycles` (may be NULL) are those from go to done.
/// `options` may be NULL. MW_ERR_TIMEOUT: no progress, mw_state_report tells where it stands, and the layer
/// goes on: wait again, or cancel it; MW_ERR_DEVICE: done, but the hardware recorded errors;
/// MW_ERR_CANCELED: a thread called mw_cancel or mw_reset, or `options` canceled it; MW_ERR_STATE: nothing
/// runs.
///
/// Any number of threads may wait for one layer. A result stays until another layer begins, and one that
/// was done before mw_reset until then: whoever waits meanwhile gets it at once, once more, too.
///
/// The message of MW_ERR_TIMEOUT and MW_ERR_DEVICE names the first error. Where an expert's region is too
/// small for the rows that the routing tables send there (BOUNDS: they are written nowhere, and the layer
/// waits for them until mw_reset), it says which that is, and how large it is.
MW_API int mw_wait(struct mw_device *device, const struct mw_wait_options *options,
                   uint64_t *cycles);

enum mw_state {
    MW_STATE_IDLE,       ///< no layer is configured
    MW_STATE_CONFIGURED, ///< mw_launch or mw_feed may start one
    MW_STATE_RUNNING,    ///< launched, or fed: not done
    MW_STATE_DONE, ///< launched and done, and nobody has got its result: mw_wait returns it at once
    MW_STATE_UNKNOWN, ///< mw_reset is needed
};
struct mw_progress {
    enum mw_state state;
    uint64_t tokens, tokens_total; ///< own tokens finished, and of all GPUs, of the last layer
    uint64_t cycles;               ///< since its go, at most to done
};
/// Look without waiting. A simulated device gets on by some cycles at every look, and not between them.
MW_API int mw_query(struct mw_device *device, struct mw_progress *progress);
/// Give up what runs, from any thread: mw_wait, mw_fed_wait and mw_combine of it end with
/// MW_ERR_CANCELED. The device may go on with it until mw_reset, and its state is unknown; of a mw_combine
/// that only moves data nothing goes on, and its state stays known. MW_ERR_STATE: nothing runs.
MW_API int mw_cancel(struct mw_device *device);
/// A descriptor for poll(2) and the like: readable once a layer has ended, however it did. Reading 8
/// bytes from it gives their number (eventfd(2)) and clears it. From the first call on, a thread lets
/// the device get on while a layer runs. It is closed with the device. A MW_ERR_ code on failure.
MW_API int mw_event_fd(struct mw_device *device);

/// What became of a layer that was fed.
struct mw_fed {
    uint64_t cycles; ///< from go to done
    uint64_t start;  ///< the device's clock cycles at go
    uint32_t outcome,
        error; ///< MW_FED_ of docs/host-protocol.md, MW_HWERR_ code of the first error
};
/// Give the device a layer to run as soon as those before it are done: that of the last
/// mw_layer_configure, with routing table and hidden values in `buffer` of its layout, whose output
/// rows it writes. `number` (may be NULL) is for mw_fed_wait. Returns at once; the next buffer may be
/// written, and the output of a layer that is done read, while this one runs. What the layers have in
/// common (streams, coefficients, expert map) is written before the first.
///
/// MW_ERR_STATE: a layer that was fed uses that buffer, a layer runs that was launched, none was
/// configured, or an earlier one failed since open or mw_reset; MW_ERR_INVALID: the layout has no such buffer;
/// MW_ERR_VERSION: the device cannot do it, upgrade its firmware. Afterwards mw_launch needs
/// mw_layer_configure first.
MW_API int mw_feed(struct mw_device *device, const struct mw_layout *layout, unsigned buffer,
                   uint32_t *number);
/// Wait until that layer is done. Those fed before it are done then, too: none of their buffers is in
/// use. `fed` may be NULL, `options` too; its progress tells of the layer that runs. MW_ERR_TIMEOUT as
/// mw_wait; MW_ERR_DEVICE: that layer failed, or was not started because one before it did;
/// MW_ERR_CANCELED as mw_wait; MW_ERR_STATE: no such layer, or one of more than 8 layers ago.
MW_API int mw_fed_wait(struct mw_device *device, uint32_t number,
                       const struct mw_wait_options *options, struct mw_fed *fed);

/// How many instructions stream `stream` of GPU `gpu` has issued, while a layer runs or after it: all
/// but the last of them have retired; STREAM_INSTRS once the stream has ended. Where the device is
/// simulated, the look takes some cycles of the layer, which mw_total_cycles counts.
MW_API int mw_stream_position(struct mw_device *device, unsigned gpu, unsigned stream,
                              unsigned *issued);

/// The state of every stream, unit, queue and link as text, several lines; free() it. NULL: no memory.
MW_API char *mw_state_report(struct mw_device *device);

/// Counters since go; they count cycles, flits, bytes or events.
struct mw_port_counters {
    uint32_t cycles; ///< from go to done, or until this port was read
    uint32_t up_flits[MW_NUM_CLASSES], down_flits[MW_NUM_CLASSES];
    uint32_t up_payload, down_payload; ///< bytes; headers and target lists excluded
    uint32_t rejected;                 ///< packets with an error
    uint32_t stall_output,
        stall_credit; ///< cycles in which a copy waited for its output, for credit
    uint32_t discarded,
        dropped; ///< packets for it while it was down; its own, cut short or not let in
};
struct mw_gpu_counters {
    uint32_t stall_store, stall_ctrl;  ///< cycles in which a packet waited for credit
    uint32_t part_empty, link_idle;    ///< cycles without a partial, a flit on the uplink
    uint32_t mem_conflict;             ///< accesses put off by a busy bank
    uint32_t expert_tiles;             ///< tiles started
    uint32_t expert_idle, expert_wait; ///< cycles without a tile, with one that waits for memory
    uint32_t alloc_hit, alloc_miss;    ///< look-ups in the allocator's cache
    uint32_t rows_received, tokens_done, retired; ///< rows, own tokens, instructions
    uint32_t errors, first_error;                 ///< number, and MW_HWERR_ code of the first
    /// of the packet manager, 0 without: stores that came, packets that left, stores that were merged into
    /// others; lines that left full, and not full by the timer
    uint32_t rpm_in, rpm_out, rpm_merged, rpm_full, rpm_timer;
};
struct mw_counters {
    uint64_t cycles; ///< from go to done, or until the call
    uint32_t switch_errors, switch_first_error, switch_error_port;
    struct mw_port_counters port[MW_MAX_PORTS];
    struct mw_gpu_counters gpu[MW_MAX_PORTS];
};
/// All of them. While a layer runs the device gets on between two registers; each port's cycles are read with its flits.
MW_API int mw_counters_read(struct mw_device *device, struct mw_counters *counters);
/// The counters of one port alone, which takes a tenth of the time or less.
MW_API int mw_port_counters_read(struct mw_device *device, unsigned port,
                                 struct mw_port_counters *counters);

enum {
    MW_HISTOGRAM_BINS = 64,
    MW_SERIES_SAMPLES = 128, ///< that a device keeps
};

/// What the switch's ports record of every layer from now on: latencies of the packets whose class is in the mask `classes` (bit MW_CLS_: after open, all of
/// them; MW_CLS_PART stands for results), and a time series with a sample every `interval` cycles (2 to 65 535; 0, as after open: none).
/// MW_ERR_CAPACITY: the device has no monitors; MW_ERR_STATE: a layer runs.
MW_API int mw_monitor_set(struct mw_device *device, unsigned classes, unsigned interval);
/// Packets that left the switch at `port` since go, by latency: cycles from their first flit on the source's uplink to their first flit on the
/// downlink, of results from the first flit of the request. Bin b counts those from mw_histogram_from(b) to mw_histogram_from(b + 1) - 1 cycles.
MW_API int mw_histogram_read(struct mw_device *device, unsigned port,
                             uint32_t bins[MW_HISTOGRAM_BINS]);
MW_API uint32_t mw_histogram_from(unsigned bin);

/// Cycles of an interval in which, at one port, ...
struct mw_sample {
    uint16_t up, down;    ///< ... a flit came to the switch, one left it
    uint16_t wait_credit; ///< ... a copy of a store waited for credit,
    uint16_t wait_turn;   ///< ... or for the output
};
/// Samples of every port (list[i * N + port], i < max) since go, from number `from` on; the device keeps the last MW_SERIES_SAMPLES, so while a layer runs they
/// are to be fetched in time. The first one read is number `first`, greater than `from` where some were lost; `count` were read. The last interval of a layer ends with it.
MW_API int mw_series_read(struct mw_device *device, uint64_t from, struct mw_sample *list,
                          size_t max, uint64_t *first, size_t *count);
/// Clock cycles since open, loading and reading included; 0 where the transport cannot tell.
MW_API uint64_t mw_total_cycles(struct mw_device *device);

// ---- seeing what another program's device does -------------------------------------------------------------

// A device has one owner, and nobody else reaches it. An owner that shares it (mw_open_options) reads its
// counters between the slices of its waits while somebody looks, and leaves them in a file that both map,
// below $XDG_RUNTIME_DIR/moeswitch, or /tmp/moeswitch-UID where that is not set. Nobody looks: no cost.
// Layers take the same cycles in any case; of a simulated device a sample takes some thousand of those
// between which it is called.

struct mw_shared_id {
    unsigned pid, number; ///< of the process; of its devices
};
struct mw_shared {
    struct mw_shared_id id;
    char program[32], transport[16];
    unsigned gpus, flit_bytes;
    bool sampled;    ///< all below was read once, namely
    uint64_t age_ms; ///< so long ago: an owner that does not wait for a layer takes no sample
    enum mw_state state;
    uint64_t layer;        ///< launched since mw_open, this one included
    uint64_t tokens_total; ///< of it
    uint64_t total_cycles; ///< as mw_total_cycles
    struct mw_counters counters;
};
/// Devices that are shared, by process and number: `count` of them, at most `max`.
MW_API int mw_shared_list(struct mw_shared_id *list, size_t max, size_t *count);
/// What its owner has left there; for the next seconds it takes a sample every `interval_ms`, 50 at least.
/// MW_ERR_NODEV: the device is closed, or its owner gone.
MW_API int mw_shared_look(const struct mw_shared_id *id, unsigned interval_ms,
                          struct mw_shared *shared);

// ---- watching a simulated device ------------------------------------------------------------------------

enum mw_watch_kind {
    MW_WATCH_STREAM, ///< an instruction stream of a GPU
    MW_WATCH_TILE,   ///< the expert engine of a GPU
    MW_WATCH_ROWS,   ///< open reductions at a port of the switch
};

/// As rtl/gpu/streams.sv numbers them.
enum mw_stream_state {
    MW_STREAM_OFF,   ///< ended, or not enabled
    MW_STREAM_FETCH, ///< its next instruction comes
    MW_STREAM_UNIT,  ///< that waits for its unit,
    MW_STREAM_RUN,   ///< runs there,
    MW_STREAM_WAIT,  ///< or waits for an event
};

/// What a GPU or port is at from this cycle on; a tile takes one event more for each of its rows.
struct mw_watch_event {
    uint64_t cycle; ///< of the layer: 0 is the one that starts the streams
    enum mw_watch_kind kind;
    unsigned place; ///< GPU or port
    union {
        struct {
            unsigned number;
            enum mw_stream_state state;
            unsigned op,
                next; ///< MW_I_ opcode that was decoded last; index of the next instruction
        } stream;
        struct {
            bool there;                   ///< none in the engine: false, and all else 0
            unsigned local_expert;        ///< on this GPU
            unsigned first_row, last_row; ///< of that expert; last: so far
        } tile;
        unsigned open_rows;
    };
};
typedef void (*mw_watch_fn)(void *context, const struct mw_watch_event *event);

/// Call `event` whenever something changes, from inside the calls in which the device's time passes; it must not call the library. Layers take the same cycles.
/// NULL: nobody any more. MW_ERR_CAPACITY: it is no simulated device, or its model does not show what goes on inside.
MW_API int mw_watch(struct mw_device *device, mw_watch_fn event, void *context);
/// "dymultimem.st" of MW_I_DYMULTIMEM_ST; "?" where there is no such instruction.
MW_API const char *mw_op_name(unsigned op);

// ---- one layer in DeepEP's words ----------------------------------------------------------------------

// The data of an object's layers lie where it is bound, from address 0 on, as those of every other
// object of the device do. The library keeps what was dispatched, and writes it, and the object's expert
// map, before a layer begins if another's are in the device. What a program has written there itself
// does not outlast a mw_combine.

/// What a dynamic multicast object maps (`cuDyMulticastCreate`).
struct mw_dymulticast_prop {
    size_t size;          ///< sizeof(struct mw_dymulticast_prop)
    unsigned block_bytes; ///< one token's hidden values, a multiple of the flit, at most 32 752
    unsigned region_sets; ///< regions that share one mapping; 2: dispatch and combine
    unsigned k;           ///< experts per token, at most `experts`
    unsigned experts;     ///< of all GPUs
    /// [experts], each expert of 0 to experts - 1 once; NULL: `experts` is a multiple of N, and expert e
    /// is on GPU e / (experts / N). Read before mw_dymulticast_create returns.
    const struct mw_expert_place *places;
};
/// Create one. MW_ERR_CAPACITY: more experts than the device has, or than a GPU has.
MW_API int mw_dymulticast_create(struct mw_device *device, const struct mw_dymulticast_prop *prop,
                                 struct mw_dymulticast **object);
/// Bind it (`cuDyMulticastBindAddr`): `tokens` tokens of all GPUs together (ntoken; each GPU has at
/// most tokens / N, rounded up) and the local space of `rows_per_expert` rows of every expert
/// (nactive), at least 1 of both. Errors as mw_layout_make. It may be bound anew: handles keep to
/// what was bound when they were dispatched. On failure it stays as it was bound.
MW_API int mw_dymulticast_bind_addr(struct mw_dymulticast *object, unsigned tokens,
                                    unsigned rows_per_expert);
/// Where it is bound; MW_ERR_STATE before that.
MW_API int mw_dymulticast_layout(const struct mw_dymulticast *object, struct mw_layout *layout);
/// Its handles can only be destroyed afterwards. NULL is allowed.
MW_API void mw_dymulticast_destroy(struct mw_dymulticast *object);

/// Take the data of a layer: part[g] (N of them) is GPU g's, `coefficient` [experts] the emulated
/// experts' (bf16 each); all are copied. This call does not use the device: dispatch, experts and combine
/// run side by side there, token by token, and mw_combine begins them. There may be any number of handles.
/// MW_ERR_CAPACITY: more tokens or rows than bound; MW_ERR_INVALID: an expert out of range or twice in a
/// list; MW_ERR_STATE: not bound.
MW_API int mw_dispatch(struct mw_dymulticast *object, const struct mw_tokens *part,
                       const uint16_t *coefficient, struct mw_handle **handle);
/// Change what the layer's experts and links do before it runs; see mw_layer_config. MW_ERR_CAPACITY: not
/// this device's can; MW_ERR_STATE: its object was destroyed.
MW_API int mw_handle_set(struct mw_handle *handle, const char *name, uint64_t value);
/// Run the layer and read the result: out[g] gets GPU g's output rows ([tokens][block_bytes / 2]
/// bf16, may be NULL for a GPU without tokens). It may be run again. Errors as mw_launch and mw_wait,
/// and MW_ERR_STATE: its object was destroyed, or `progress` of a mw_combine calls it. `options` and `cycles` may be NULL. While another thread's
/// mw_combine has the device, this one waits for it, and `options` may end that, too.
///
/// Before the layer, data are written that the device does not have yet, and after it its rows are read, in
/// pieces of some ten milliseconds. Between two pieces `options` are looked at as between two slices of the
/// layer: progress gets 0 tokens and 0 cycles then. What ends the call there, be it `options` or mw_cancel,
/// gives MW_ERR_CANCELED, and the device needs no mw_reset.
MW_API int mw_combine(struct mw_handle *handle, uint16_t *const *out,
                      const struct mw_wait_options *options, uint64_t *cycles);
/// NULL is allowed.
MW_API void mw_handle_destroy(struct mw_handle *handle);

// ---- transports -----------------------------------------------------------------------------------------

/// A register and its value.
struct mw_register {
    uint32_t address, value;
};

/// A way to a device, which the library keeps a copy of. All functions return 0 or a MW_ERR_ code. The library makes one call at a time.
struct mw_transport {
    size_t size; ///< sizeof(struct mw_transport)
    const char *name;
    /// Connect and reset. `context` is the transport's own; `message` (size bytes) may get the cause
    /// of a failure.
    int (*open)(const struct mw_open_options *options, void **context, char *message, size_t size);
    void (*close)(void *context);
    /// One word of the configuration bus (docs/registers.md). MW_ERR_IO: the device answered with
    /// an error, or not at all.
    int (*cfg_read)(void *context, uint32_t address, uint32_t *value);
    int (*cfg_write)(void *context, uint32_t address, uint32_t value);
    /// As mw_mem_write and mw_mem_read; arguments were checked.
    int (*mem_write)(void *context, const struct mw_transfer *list, size_t count);
    int (*mem_read)(void *context, const struct mw_transfer *list, size_t count);
    /// Let the device run until the layer is done, at most max_cycles; `done` says whether it is.
    int (*run_until)(void *context, uint64_t max_cycles, bool *done);
    // All below may be NULL.
    /// As mw_total_cycles.
    uint64_t (*total_cycles)(void *context);
    /// Read or write many registers, in their order, up to the first that fails.
    int (*cfg_list)(void *context, struct mw_register *list, size_t count, bool write);
    /// As mw_firmware_info, mw_selftest, mw_log_read.
    int (*firmware)(void *context, struct mw_firmware *firmware);
    int (*selftest)(void *context, uint32_t tests, struct mw_selftest *list, size_t max,
                    size_t *count);
    int (*log_read)(void *context, uint32_t first, struct mw_log_entry *list, size_t max,
                    size_t *count);
    /// FEED and FED of docs/host-protocol.md: queue a layer, which writes the registers and starts;
    /// and wait until it is done, at most max_cycles.
    int (*feed)(void *context, const struct mw_register *list, size_t count, bool sweep,
                uint32_t *number);
    int (*fed)(void *context, uint32_t number, uint64_t max_cycles, struct mw_fed *fed, bool *done);
    /// Put the device into its state after open, whatever it does, its queue of layers included.
    int (*reset)(void *context);
    /// Cycles of a wait after which other calls have their turn: always the same; NULL: some thousand.
    uint64_t (*slice)(void *context);
    /// As mw_simulation_info.
    int (*model)(void *context, struct mw_simulation *model);
    /// As mw_firmware_read and mw_firmware_load; the image was checked.
    int (*image_read)(const struct mw_open_options *options, uint32_t *words, size_t max,
                      size_t *count);
    int (*image_load)(const struct mw_open_options *options, const uint32_t *words,
                      const struct mw_firmware_image *image, mw_firmware_keep *keep, void *context);
    /// As mw_watch.
    int (*watch)(void *context, mw_watch_fn event, void *event_context);
};

#ifdef __cplusplus
}
#endif

#endif
