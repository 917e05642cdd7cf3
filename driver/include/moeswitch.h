// SPDX-License-Identifier: Apache-2.0
//
// libmoeswitch: access to a moeswitch device, simulated or on a board.
//
// Terms. Multicast objects and regions are created and bound as in the CUDA driver. Dispatch and
// combine are those of DeepEP. docs/reference/isa.md describes the instructions. A device has N
// GPUs, 0 to N - 1, and all of them use the same memory layout.
//
// Errors. Every function that can fail returns 0 (MW_ERR_OK) or a negative MW_ERR_ code of
// errors.h. mw_strerror returns its text, and mw_message the exact cause. The following errors are
// not repeated below.
// MW_ERR_INVALID: an argument that the call's description excludes, or a NULL that it does not
// allow.
// MW_ERR_IO: the transport failed.
// MW_ERR_NOMEM: out of memory.
//
// State. A device is idle, configured, running, or unknown (mw_query). It becomes unknown when a
// layer is canceled, or when a request that changes it has failed and its effect is uncertain. In
// the unknown state every call that needs the device returns MW_ERR_STATE. Exceptions are mw_reset,
// mw_close and the calls that only read: mw_info, mw_query, mw_state_report, mw_firmware_info,
// mw_log_read, mw_total_cycles.
//
// Threads. Several threads may call functions for one device. The calls run one at a time, in the
// order of arrival. A call that waits lets other calls run: it delays another call by at most some
// ten milliseconds. There is one exception: a call of a handle that uses the device waits until no
// other such call, and no dispatch of another handle, uses the device. Threads that the library
// starts receive no signals.
//
// Lifetimes. A device, object or handle is valid until it is closed or destroyed. The order is
// free, because an object keeps what it needs of its device, and a handle what it needs of its
// object. After a device is closed, calls for its objects and handles return MW_ERR_STATE. After an
// object is destroyed, calls for its handles do. While one is being closed or destroyed, no other
// call for it may begin. mw_close ends calls that wait. It may not be called from `progress`.
//
// Processes. A device belongs to the process that opened it. After fork(2) every call of the child
// for that device, its objects or its handles returns MW_ERR_STATE at once. mw_total_cycles returns
// 0. The child may close the device and destroy the objects. This frees its own copy and does not
// affect the parent's device. The child may open devices of its own. What it inherits and does not
// close ends with the child. A child that was forked inside a callback of the library must not
// return from that callback.
//
// Sizes. Structs of options start with their size, as the program was compiled. mw_open_defaults
// and mw_layer_defaults set it. Otherwise write {.size = sizeof(struct ...)}. A program that was
// built with an older header gets the defaults of that header. A size that no header has had is
// MW_ERR_INVALID. The size of a later header is accepted if all fields that this library does not
// have are 0, otherwise it is MW_ERR_VERSION. Structs that come in lists (mw_transfer, mw_tokens,
// mw_typed_rows, mw_expert_place) never change.
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

/// Version of this header. mw_version returns that of the library.
#define MW_VERSION "0.1.0"

enum {
    MW_API_VERSION = 5,
    MW_MAX_PORTS = 72,   ///< GPUs of a device
    MW_MEM_ALIGN = 16,   ///< addresses and sizes of mw_mem_* are multiples of it
    MW_MAX_TARGETS = 16, ///< experts per token
    MW_FEED_BUFFERS = 4, ///< most buffers of a layout that layers are fed from
    MW_NUM_CLASSES = 4,  ///< link classes: 0 control, 1 store, 2 reduction request, 3 partial
};

struct mw_device;
struct mw_multicast;
struct mw_dymulticast;
struct mw_handle;

// ---- errors -------------------------------------------------------------------------------------

/// Version of the library in use, "major.minor.patch".
MW_API const char *mw_version(void);
/// Name of a code, such as "MW_ERR_INVALID", or "unknown". Never NULL.
MW_API const char *mw_error_name(int code);
/// Text of a MW_ERR_ code, or "unknown error". Never NULL.
MW_API const char *mw_strerror(int code);
/// Text of an error code that the hardware records (MW_HWERR_).
MW_API const char *mw_hw_strerror(unsigned code);
/// One line about this thread's last call that failed: place and cause. Never NULL.
MW_API const char *mw_message(void);

// ---- device -------------------------------------------------------------------------------------

struct mw_transport;

/// Primitives of mw_device_info that a program needs.
enum mw_primitives {
    MW_PRIMITIVES_ALL,
    MW_PRIMITIVES_PUBLISHED, ///< all but target_list_cache, switch_reductions, token_order,
                             ///< link_rate, and red_types of 8 and 64 bits
    MW_PRIMITIVES_BASIC,     ///< adder_bypass alone
};

struct mw_open_options {
    size_t size;           ///< sizeof(struct mw_open_options)
    const char *transport; ///< "sim": the Verilated model, in this process; "usb": a device on USB
    const char *serial;    ///< usb: serial number; NULL or empty: the only device
    unsigned timeout_ms;   ///< usb: end a call after this time without progress; 0: 10 s
    unsigned gpus;         ///< N, 2 .. 72; usb: 0, as many as the device has
    unsigned flit_bytes;   ///< 8 or 16; usb: 0, that of the device
    unsigned link_latency; ///< cycles of every link, 1 .. max_latency of the device
    bool small;            ///< sim: the configuration that synth-check measures (16 KB per GPU)
    const char *fst;       ///< sim: file for waveforms, or NULL
    const char *model;     ///< sim: the model's file; NULL: search for it (docs/user/install.md)
    /// A transport that is not built in (tests). NULL: use `transport`.
    const struct mw_transport *custom;
    void *custom_context; ///< passed to custom->open
    /// sim: "lanes" or "plain" (docs/developer/simulation.md). NULL: lanes, or plain where lanes do
    /// not work.
    const char *backend;
    /// Other programs of the same user may watch the device (mw_shared_look, `moeswitch top`).
    bool share;
    /// sim: a model with only these primitives is enough. Of the existing models (make model
    /// PRIMITIVES=...) the one with the fewest others is used. It is faster, and takes the same
    /// cycles.
    enum mw_primitives primitives;
};

/// Defaults: sim, N = 8, 16-byte flits, latency 1, no waveforms. `size` is the size of the
/// struct. If no header has that size, only the size field is written, as 0, and every call refuses
/// the struct.
MW_API void mw_open_defaults_of(struct mw_open_options *options, size_t size);
static inline void mw_open_defaults(struct mw_open_options *options)
{
    mw_open_defaults_of(options, sizeof *options);
}

/// Open a device and reset it.
/// MW_ERR_INVALID: neither `transport` nor `custom` is set, or `custom` lacks a required function.
/// MW_ERR_INVALID: the device has another N or flit width, or there are several and no serial
/// number was given.
/// MW_ERR_NODEV: no such transport, serial number or model. The library builds no models:
/// the message names the command that builds this one.
/// MW_ERR_BUSY: another program uses the device.
/// MW_ERR_VERSION: the device does not have this library's host protocol or registers. The message
/// says which side to upgrade. Also: the device reports sizes that this library does not support,
/// or the model is for another processor, of another version, or built from other definitions
/// (docs/developer/simulation.md).
/// MW_ERR_CAPACITY: link_latency is above its maximum.
/// MW_ERR_FIRMWARE: the device is there, but its firmware does not reply. mw_firmware_load
/// (`moeswitch firmware FILE`) repairs this.
///
/// If a usb device is unplugged, the call in progress and every later one return MW_ERR_NODEV.
/// Close the device, and open it again when it is back.
MW_API int mw_open(const struct mw_open_options *options, struct mw_device **device);
/// Close a device in any state. Waits end with MW_ERR_STATE. Its objects and handles may be
/// destroyed before or after this call. After it no other call is allowed for them. NULL is
/// allowed.
MW_API void mw_close(struct mw_device *device);
/// Reset a device in any state. This is the only way out of the unknown state. A layer that runs
/// ends, and waits for it end with MW_ERR_CANCELED. Afterwards the device is as after mw_open:
/// nothing is configured, and the contents of the GPU memories are undefined. Partitions, time
/// limits, monitors and faults must be set again. Link latency, bound multicast objects and expert
/// maps are kept. On every failure the state stays unknown.
/// MW_ERR_VERSION: the transport cannot reset, or the device is not the same as before.
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
    unsigned window;        ///< largest look-ahead window of the switch, 0: none
    unsigned max_latency;   ///< of a link, cycles
    unsigned link_latency;  ///< as configured
    bool adder_bypass, target_list_cache,
        switch_reductions;  ///< these primitives of mw_layer_config exist
    bool token_order;       ///< mw_stream_order, and dispatch_throttle of mw_layer_config, exist
    bool link_rate;         ///< link_cycles of mw_layer_config exists
    bool delay, row_ranges; ///< mw_stream_delay; mw_stream_flag_rows and _expert_range exist
    bool row_sparse;        ///< mw_stream_st_rowsp, and row_returns of mw_layer_config, exist
    bool source_lists;      ///< source_lists of mw_layer_config, and mw_stream_flag_lists, exist
    bool more_events;       ///< the event counters from MW_EV_SW8 on exist
    bool gathered; ///< the calls of gathered tokens, from mw_stream_multimem_st_rows on, exist
    bool packet_manager;     ///< packet_manager and scatter of mw_layer_config exist
    bool cache_limit;        ///< cache_entries of mw_layer_config may be below the maximum
    unsigned cache_entries;  ///< of the allocator's cache, 2^i
    unsigned ctrl_pkts;      ///< credits of control packets, GPU to switch
    unsigned rx_result_pkts; ///< credits of results, switch to GPU
    bool tile_reductions;    ///< tile_reductions of mw_layer_config, and _expert_homes, exist
    bool merge_loads;        ///< merge_loads of mw_layer_config, mw_stream_ld_cais, _sync and
                             ///< _expert_landed exist. If so:
    unsigned merge_entries;  ///< of the table of loads at each port of the switch
    unsigned open_loads;     ///< rows that a GPU may load at a time
    unsigned open_syncs;     ///< tiles that it may have reported and not been granted
    bool row_types;          ///< dispatch_type of mw_layer_config exists
    bool multimem_red;       ///< mw_stream_multimem_red exists
    bool gate_gradients;     ///< gate_gradients of mw_layer_config, and mw_stream_expert_gradients,
                             ///< exist
    bool cached_handle;      ///< handle of mw_layer_config may be other than MW_HANDLE_NONE
    unsigned red_types;      ///< mask: bit i is type i (MW_DTYPE_) of mw_stream_reduction
    unsigned kept_bytes;     ///< of answers that a port keeps; 0: keep_answers of mw_layer_config
                             ///< does not exist
    unsigned load_parts;     ///< of one GPU's rows, in layers with load_bytes; 0: load_bytes of
                             ///< mw_layer_config does not exist
    bool merge_reds;         ///< sum_entries and sum_gpus of mw_layer_config, mw_stream_red_cais
                             ///< and _red_cais_homes exist
    unsigned sum_entries;    ///< of the table of sums at each port of the switch
    unsigned stream_instrs;  ///< most instructions of a stream, to MW_STREAM_INSTRS
    bool balance_rows;       ///< balance_rows of mw_layer_config exists
};
MW_API int mw_info(struct mw_device *device, struct mw_device_info *info);

/// How a simulated device was built.
struct mw_simulation {
    char backend[8];    ///< "lanes" or "plain"
    char verilator[64]; ///< versions
    char compiler[128];
    char flags[1024]; ///< of both, and the settings of the hardware
    char sources[72]; ///< SHA-256 of its sources
    char cpu[512];    ///< required features of the processor, as in /proc/cpuinfo
};
/// On a failure `model` is not changed.
/// MW_ERR_NODEV: the transport has no model (usb).
MW_API int mw_simulation_info(struct mw_device *device, struct mw_simulation *model);

/// A device on USB.
struct mw_found {
    char serial[64];     ///< empty if it could not be read
    char path[64];       ///< bus and ports, as in sysfs: 1-2.3
    unsigned mbit_per_s; ///< 12, 480, ...; 0: unknown
    unsigned protocol;   ///< bcdDevice: 0x0100 is version 1.0
    int state;           ///< 0: free, MW_ERR_BUSY: in use, MW_ERR_IO: may not be opened
};
/// Find devices on USB. Returns their number, or a MW_ERR_ code. The first `max` are described.
MW_API int mw_list(struct mw_found *list, size_t max);

/// The firmware on a device's own processor.
struct mw_firmware {
    unsigned protocol_major, protocol_minor; ///< of the host protocol
    uint32_t version;                        ///< {major[31:24], minor[23:16], patch[15:0]}
    uint32_t features;                       ///< mask of MW_FEATURE_
    uint32_t clock_hz;                       ///< of the fabric's nodes; 0: simulated
    uint32_t resets;                         ///< starts but the first, since power-up; at most 255
    char name[40], serial[64];
    uint32_t cycle_clocks; ///< clocks per cycle of the fabric, at least 1
};
/// On a failure `firmware` is not changed.
/// MW_ERR_NODEV: the transport has no firmware (sim).
MW_API int mw_firmware_info(struct mw_device *device, struct mw_firmware *firmware);

/// One test of one unit. docs/reference/host-protocol.md lists the numbers of the tests.
struct mw_selftest {
    uint32_t test, unit;
    uint32_t checked, failed;
};
/// Let the firmware test the device. `tests` is a mask. The device is reset afterwards, tables
/// included. `count` receives the number of results. The first `max` are in `list`.
/// MW_ERR_NODEV: no firmware.
/// MW_ERR_VERSION: the firmware has no such tests.
/// MW_ERR_STATE: a layer runs.
MW_API int mw_selftest(struct mw_device *device, uint32_t tests, struct mw_selftest *list,
                       size_t max, size_t *count);

struct mw_log_entry {
    uint32_t number, code, detail, seconds; ///< docs/reference/host-protocol.md
};
/// Read entries of the firmware's error log from number `first` on, at most `max`. Errors as for
/// mw_selftest.
MW_API int mw_log_read(struct mw_device *device, uint32_t first, struct mw_log_entry *list,
                       size_t max, size_t *count);

/// The header of a firmware image. docs/reference/host-protocol.md describes the format.
struct mw_firmware_image {
    uint32_t version;   ///< as in struct mw_firmware
    uint32_t bytes;     ///< of the image, a multiple of 4
    uint32_t ram_bytes; ///< of the required RAM
    uint32_t soc;       ///< required registers of the SoC: {major[31:16], minor[15:0]}
};
/// Check that a complete image with the right checksum lies at `words`, which has `count` words.
/// MW_ERR_INVALID: there is none.
MW_API int mw_firmware_check(const uint32_t *words, size_t count, struct mw_firmware_image *image);
/// Read the RAM of a device's processor. The first `max` words go to `words`, and `count` receives
/// the number of words. The device must not be open. Of the options only those that select the
/// device, and timeout_ms, have an effect. The firmware starts again, unless the processor was
/// held. Then it stays held.
/// MW_ERR_NODEV, MW_ERR_BUSY, MW_ERR_INVALID: as for mw_open.
/// MW_ERR_NODEV: also if the transport has no firmware (sim).
/// MW_ERR_VERSION: the device's registers give no access to its RAM.
MW_API int mw_firmware_read(const struct mw_open_options *options, uint32_t *words, size_t max,
                            size_t *count);
/// Load firmware into a device and start it. It stays until power-off. The device need not run any
/// firmware before. Arguments and errors as for mw_firmware_read. The device is reset. Its log is
/// kept if both images have it at the same place. These errors leave the device as it is.
/// MW_ERR_INVALID: mw_firmware_check refuses the image.
/// MW_ERR_CAPACITY: it needs more RAM than the device has.
/// MW_ERR_VERSION: it needs other registers of the SoC.
///
/// `keep` (may be NULL) is called with the contents of the RAM before the first write. If it does
/// not return 0, the previous firmware starts again and the call ends with MW_ERR_CANCELED.
/// MW_ERR_FIRMWARE: the RAM does not hold what was written, or the firmware does not reply to the
/// requests of mw_open within timeout_ms. The previous contents of the RAM are restored and, unless
/// the processor was held, started. The message states whether that firmware replies. After any
/// other failure during the load the processor may be held. A second call repairs this.
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

/// Write or read a list of pieces. The GPUs' host ports work concurrently. Pieces of one GPU are
/// processed in their order. After an error it is undefined which data were moved.
/// MW_ERR_RANGE: a piece is outside the memory.
/// MW_ERR_STATE: a launched layer runs, or fed layers run and a piece is outside the buffers that
/// none of them uses.
MW_API int mw_mem_write(struct mw_device *device, const struct mw_transfer *list, size_t count);
MW_API int mw_mem_read(struct mw_device *device, const struct mw_transfer *list, size_t count);

// ---- tables -------------------------------------------------------------------------------------

/// The place of an expert.
struct mw_expert_place {
    unsigned expert;       ///< 0 .. experts of the device - 1
    unsigned gpu;          ///< 0 .. N - 1
    unsigned local_expert; ///< its index there, 0 .. local_experts of the device - 1
};
/// Write entries of the expert map for layers that mw_launch and mw_feed start. The map is kept
/// from layer to layer. (The layers of a handle use the map of its object.)
/// MW_ERR_CAPACITY: an index that the device does not have.
/// MW_ERR_STATE: a layer runs.
MW_API int mw_expert_map_set(struct mw_device *device, const struct mw_expert_place *places,
                             size_t count);
/// Write the map of `experts` experts, a multiple of N: expert e is on GPU e / (experts / N), at
/// index e % (experts / N).
MW_API int mw_expert_map_even(struct mw_device *device, unsigned experts);
/// A set of GPUs, or of their ports: GPU g is bit g % 32 of word g / 32.
struct mw_gpu_set {
    uint32_t word[4];
};
/// Set the ports that `gpu` may reach. After open: all.
/// MW_ERR_INVALID: a port that the device does not have. MW_ERR_STATE: a layer runs.
MW_API int mw_partition_set_wide(struct mw_device *device, unsigned gpu,
                                 const struct mw_gpu_set *reachable);
/// The same with a mask: bit p is port p.
/// MW_ERR_CAPACITY: the device has more than 32 GPUs.
MW_API int mw_partition_set(struct mw_device *device, unsigned gpu, uint32_t reachable);

// ---- ports that are down ------------------------------------------------------------------------

/// Read which ports are down. The switch takes a port down if its GPU exceeds a time limit. Such a
/// GPU accepts no packets, does not end a packet, or does not send a partial sum. The switch then
/// discards packets for this GPU, replaces its partial sums by poisoned ones, and accepts nothing
/// from it.
MW_API int mw_ports_down_wide(struct mw_device *device, struct mw_gpu_set *down);
/// The same with a mask: bit p is port p.
/// MW_ERR_CAPACITY: the device has more than 32 GPUs.
MW_API int mw_ports_down(struct mw_device *device, uint32_t *mask);
/// Enable a port that is down. Its queues are flushed. Its GPU is reset except for its memory, and
/// ends its part of a layer that runs. All GPUs must be configured again before the next layer.
/// MW_ERR_TIMEOUT: the port does not come up.
MW_API int mw_port_enable(struct mw_device *device, unsigned gpu);
/// Take a port down. It is down on return.
/// MW_ERR_TIMEOUT: it does not go down.
MW_API int mw_port_disable(struct mw_device *device, unsigned gpu);
/// Set the time limits from a period of 2^period_log2 cycles (1 .. 22). Control and open packets
/// have 2 to 3 periods, stores twice as many, results and partial sums four times as many. 0: no
/// limits. After open: 13.
MW_API int mw_port_limit(struct mw_device *device, unsigned period_log2);

/// Faults that an emulated GPU can simulate.
enum {
    MW_FAULT_ACCEPT = 1, ///< return no credits
    MW_FAULT_SEND = 2,   ///< stop inside a packet and send nothing more
    MW_FAULT_ANSWER = 4, ///< send no partial sums
    MW_FAULT_OPCODE = 8, ///< send stores with an unknown opcode
    MW_FAULT_EPOCH = 16, ///< send stores with the epoch of the previous layer
    MW_FAULT_ALL = 31,
};
/// Simulate faults from `after` cycles after each go on, until the next call or a reset of the GPU.
/// `after` is rounded down to a multiple of 64. Devices without faults ignore this call.
/// MW_ERR_STATE: a layer runs.
MW_API int mw_fault_set(struct mw_device *device, unsigned gpu, unsigned faults, unsigned after);

/// Create a static multicast object (`cuMulticastCreate`): a group of GPUs whose memories have an
/// area of `bytes` bytes, at least 1, at the same address.
/// MW_ERR_CAPACITY: no group is free.
MW_API int mw_multicast_create(struct mw_device *device, uint64_t bytes,
                               struct mw_multicast **object);
/// Add a GPU (`cuMulticastAddDevice`). Each GPU may be added once.
/// MW_ERR_STATE: the object is bound.
MW_API int mw_multicast_add_device(struct mw_multicast *object, unsigned gpu);
/// Bind the area to `address` in every member's memory (`cuMulticastBindAddr`) and write the group
/// into the switch. The hardware refuses an instruction that names a group without a bound object
/// (MW_HWERR_UNMAPPED).
/// MW_ERR_RANGE: the area is outside the memory.
/// MW_ERR_STATE: no member, or a layer runs.
MW_API int mw_multicast_bind_addr(struct mw_multicast *object, uint64_t address);
/// Return the group number for mw_stream_multimem_*.
/// MW_ERR_STATE: the object is not bound.
MW_API int mw_multicast_group(const struct mw_multicast *object);
/// Free the group. It has no members from the next layer on. NULL is allowed.
MW_API void mw_multicast_destroy(struct mw_multicast *object);

// ---- layer: sizes, memory layout, registers -----------------------------------------------------

/// The counts, allocated rows and lists that a layer uses.
enum {
    MW_HANDLE_NONE = 0, ///< its own
    /// Its own, which later layers with MW_HANDLE_CACHED may use. Up to three such layers may
    /// follow, or fewer if this layer does not begin with a sweep. It begins with one if otherwise
    /// none could follow.
    MW_HANDLE_KEEP = 1,
    /// Those of the last layer with MW_HANDLE_KEEP. The layer has the same routing. Its streams
    /// must have no mw_stream_count, mw_stream_prefix or mw_stream_flag_lists, and no wait for
    /// MW_EV_COUNTS. Its rows are dispatched to xd_cached, so the rows of the other layer stay.
    MW_HANDLE_CACHED = 2,
};

/// Settings of a layer that are the same on all GPUs. Start from mw_layer_defaults.
struct mw_layer_config {
    size_t size; ///< sizeof(struct mw_layer_config)
    // sizes
    unsigned k;              ///< experts per token, 1 .. 16
    unsigned tokens_per_gpu; ///< most own tokens of a GPU
    unsigned row_bytes;      ///< of a token's hidden values, a multiple of the flit, at most 32 752
    unsigned experts_per_gpu; ///< most experts of a GPU
    /// Most (token, expert) rows of any expert; with source_lists: of any expert and source
    unsigned rows_per_expert;
    unsigned received_rows; ///< unicast: most rows that a GPU receives, own copies included; else 0
    uint64_t scratch_bytes; ///< area for st.linear and multimem.st, may be 0
    unsigned stream_instrs; ///< most instructions of a stream; 0: as many as the device has
    unsigned buffers;       ///< of routing table, hidden values and output rows, for mw_feed; 0: 1
    // behaviour
    unsigned tile;          ///< rows of one expert that start together, 1 .. 255
    unsigned expert_cycles; ///< engine time per row, at most 65 535
    bool partial_tiles;     ///< an idle engine starts its fullest open tile
    unsigned partial_wait;  ///< ... after that many cycles without work
    unsigned in_flight;     ///< tokens dispatched and not finished per GPU; 0: no limit
    unsigned open_rows;     ///< reductions in flight per GPU; 0: the device's maximum
    // limits for tests; 0: those of the hardware. MW_ERR_CAPACITY: more credits than there are
    unsigned store_credits, part_credits, ctrl_credits; ///< of the uplinks
    unsigned down_store_credits, down_part_credits;     ///< of the downlinks
    unsigned throttle, down_throttle; ///< of 256 chances, how many delay a packet by a cycle
    unsigned window;                  ///< look-ahead: store packets of a switch input; 0: all
    unsigned start_delay;             ///< cycles by which GPU g starts after GPU g - 1
    // primitives
    bool adder_bypass; ///< rows that need no addition bypass the hub's adder, if the device has it
    /// only a row's first packet has its targets; MW_ERR_CAPACITY if the device lacks it
    bool target_list_cache;
    /// Switch-initiated reductions: the switch opens a reduction when all members have finished the
    /// row. mw_stream_dymultimem_ld_reduce takes tokens in that order. Requires target_list_cache.
    /// MW_ERR_CAPACITY: the device has no switch_reductions.
    bool switch_reductions;
    /// Tile reductions: every GPU computes a term of every row, and reports it
    /// (mw_stream_expert_homes). The switch opens the reduction with the last report, in the order
    /// of each home's rows. Nothing is dispatched. With sum_gpus GPUs report tiles of pushes
    /// instead (mw_stream_sync_pushes), and no reduction opens.
    /// Requires switch_reductions and k = 1. MW_ERR_CAPACITY: the device has no tile_reductions.
    bool tile_reductions;
    /// Finished rows of other GPUs' tokens return one by one to slots at their homes, which count
    /// the bytes. The flags of mw_stream_expert select this. mw_stream_sum then adds all terms of a
    /// token. Excludes switch_reductions. MW_ERR_CAPACITY: the device has no row_sparse.
    bool row_returns;
    /// Rows of mw_stream_st_rowsp land in lists of each {expert, source}, at places that the source
    /// counts. mw_stream_flag_lists reports the length of each list. The number of lists is
    /// experts_per_gpu times the number of GPUs, the latter rounded up to a power of two. Requires
    /// row_returns. MW_ERR_CAPACITY: the device has no source_lists.
    bool source_lists;
    // dispatch throttle, from the arrival of all GPUs' copy counts on (mw_stream_count, per_gpu)
    bool dispatch_throttle; ///< dispatch and partial sums leave in step; MW_ERR_CAPACITY if missing
    unsigned throttle_lead; ///< rows that dispatch is kept ahead of them, at most 65 535
    unsigned throttle_ahead; ///< rows that dispatch may be ahead, at most 65 535; 0: no limit
    unsigned throttle_idle;  ///< idle cycles after which a held row goes, at most 65 535
    /// Cycles that a flit takes on each link, 1 .. 4; 0: 1. With a value of 2, GPUs and hubs move
    /// twice as much as their links. MW_ERR_CAPACITY: the device has no link_rate.
    unsigned link_cycles;
    /// Costs of software: cycles from go to the first instruction of a GPU, in addition to
    /// start_delay. At most 65 535 together.
    unsigned launch_cycles;
    /// Hubs hold stores of whole 32 bytes for the uplink and merge them into packets of up to 128
    /// bytes. A store is held for little more than 2 rpm_timer cycles at most. The number of
    /// packets then depends on timing.
    bool packet_manager; ///< MW_ERR_CAPACITY if missing
    unsigned rpm_timer;  ///< at most 65 535; 0: none waits while the uplink has room
    /// 1 .. 5: st, st.rowsp and st.linear send 32 bytes per packet, and lines of 2^(scatter - 1)
    /// such packets are interleaved. 0: 128 bytes. MW_ERR_CAPACITY: the device has no
    /// packet_manager.
    unsigned scatter;
    /// Entries of the allocator's cache, a power of two, at least 16. The value changes the number
    /// of misses, but no bit of the result. 0: 512, or all if the device has fewer.
    /// MW_ERR_CAPACITY: more than the device has, or fewer and it has no cache_limit.
    unsigned cache_entries;
    /// Merged loads: GPUs load rows of all homes (mw_stream_ld_cais). The switch fetches a row once
    /// for all loads that wait for it. The row of GPU g's own token i is read there at row i of
    /// load_base, and lands at every GPU at row g << token_shift | i of xd_base. Both are in
    /// mw_layout. Requires tile_reductions, and received_rows of at least gpus << token_shift.
    /// MW_ERR_CAPACITY: the device has no merge_loads.
    bool merge_loads;
    unsigned load_first;    ///< own tokens from this one on are loaded, those below are summed
    unsigned load_expert;   ///< own expert that mw_stream_expert_landed runs on rows that landed
    unsigned merge_entries; ///< entries of each table of loads in use; 511: all; 0: none merges
    /// Type of the hidden values at xs_base and xd_base, MW_ROWTYPE_ of packet.h. With
    /// MW_ROWTYPE_E4M3 a row there has row_bytes / 2 bytes, a multiple of the flit, and no scale:
    /// the experts' coefficients include it. The stride is that of bf16 rows. The experts convert
    /// values without rounding, and their bf16 results have row_bytes.
    /// With MW_ROWTYPE_E4M3_BLOCKS the row has whole blocks of MW_SCALE_BLOCK values.
    /// Their fp32 scales follow, filled up with zeros to 16 bytes. Experts multiply the gate weight
    /// by the scale of a block, rounded to fp32. With MW_ROWTYPE_NVFP4 the row has whole blocks,
    /// too: row_bytes / 4 bytes of values, then scales as in packet.h. Experts multiply the gate
    /// weight by the row's scale, and values by the scales of groups, which needs no rounding.
    /// Excludes merge_loads. MW_ERR_CAPACITY: the device has no row_types.
    unsigned dispatch_type;
    /// Room for gradients of gate weights (mw_stream_expert_gradients) at dw_base of mw_layout.
    /// Requires bf16 rows of dispatch. MW_ERR_CAPACITY: the device has no gate_gradients.
    bool gate_gradients;
    /// MW_HANDLE_: whether the layer uses or keeps a cached handle. A backward layer, for example,
    /// uses the routes of its forward layer. mw_layer_configure, mw_launch, mw_feed and
    /// mw_feed_layer return MW_ERR_HANDLE for a cached layer if the handle is gone. It is gone
    /// after a layer that counts and keeps none, after a sweep, mw_reset or mw_port_enable, if
    /// sizes differ, and when no epoch is left. The device itself records MW_HWERR_HANDLE, and no
    /// row moves. Excludes merge_loads.
    /// MW_ERR_CAPACITY: the device has no cached_handle.
    unsigned handle;
    /// Own rows that need no addition go through the hub's adder while no row waits for an
    /// addition. Rows of other GPUs then have the bypass to themselves. Without adder_bypass this
    /// has no effect.
    bool own_by_adder;
    /// The switch keeps answers of loads at the port of their home, for later loads. A new row
    /// replaces the least recently used one. Rows larger than kept_bytes are not kept. GPUs leave
    /// MW_KEPT_STORES credits of their uplinks unused. MW_ERR_INVALID: without merge_loads.
    /// MW_ERR_CAPACITY: the device keeps none, kept_bytes is 0.
    bool keep_answers;
    /// Bytes of a load, a power of two, at least 128. A row is loaded in parts of this size, each
    /// with its own entry, fetch and answer. 0: whole rows. MW_ERR_INVALID: without merge_loads, or
    /// row_bytes is no multiple. MW_ERR_CAPACITY: a row has more parts than open_loads, or the
    /// tokens of a GPU have more than load_parts.
    unsigned load_bytes;
    /// Usable entries of each table of sums, 0 to 511. More than the device has: all. The switch
    /// adds up merged reds (mw_stream_red_cais) for the same address, and sends one packet for
    /// several. 0: it adds up none.
    /// MW_ERR_CAPACITY: the device has no merge_reds. MW_ERR_INVALID: down_store_credits is 1.
    unsigned sum_entries;
    unsigned sum_cycles; ///< cycles without a change after which a sum leaves the switch, to 65535
    /// GPUs whose merged reds complete an own row at xd_base, 0 to the device's number of GPUs.
    /// The event counter MW_EV_TOKENS then counts complete rows, in the order of their indices from
    /// sum_first on. A merged red that names no such row records MW_HWERR_BOUNDS, and one too many
    /// MW_HWERR_COUNT. 0: MW_EV_TOKENS counts finished sums of dymultimem.ld_reduce. The rows must
    /// lie in [st_lo, st_hi) of the layout, so set these two fields before mw_layer_configure.
    /// MW_ERR_CAPACITY: the device has no merge_reds. MW_ERR_INVALID: more than its GPUs.
    unsigned sum_gpus;
    unsigned sum_first; ///< index of the first own row that is counted, to 32767
    /// A row is fetched from its home when all GPUs that the home may reach have loaded it, or so
    /// many cycles after the first load, 0 to 65535. So loads merge that would otherwise come after
    /// the first packet of the answer. 0: with the first load. Loads that bypass a full table
    /// do not wait, and when many rows wait, none does. Without effect without merge_loads.
    unsigned fetch_cycles;
    /// Hubs send partial sums first to the GPUs that have received the smallest part of theirs, by
    /// the copy counts. Without copy counts this has no effect. MW_ERR_CAPACITY: the device has no
    /// balance_rows.
    bool balance_rows;
};
/// Defaults: tile 1, partial_wait 64, adder_bypass true, throttle_lead 1, throttle_idle 256,
/// rpm_timer 256, merge_entries 511, sum_cycles 1024, all else 0. `size` as for
/// mw_open_defaults_of.
MW_API void mw_layer_defaults_of(struct mw_layer_config *config, size_t size);
static inline void mw_layer_defaults(struct mw_layer_config *config)
{
    mw_layer_defaults_of(config, sizeof *config);
}
/// Set a field of the behaviour or the limits by its name.
/// MW_ERR_INVALID: no such field, or the value is out of its range. The message states the range.
MW_API int mw_layer_set(struct mw_layer_config *config, const char *name, uint64_t value);

/// Addresses that change from layer to layer.
struct mw_feed_buffer {
    uint64_t rt_base, xs_base, out_base; ///< as in mw_layout
};

/// Memory layout, the same on all GPUs: byte addresses below 2^34, multiples of MW_BASE_UNIT, and
/// shifts (docs/design/microarchitecture/README.md, Addresses).
struct mw_layout {
    unsigned token_shift, n_shift, k_shift, row_shift, gate_shift, cap_shift;
    uint64_t stream[MW_STREAMS]; ///< stream_instrs * MW_INSTR_BYTES bytes each
    uint64_t rt_base;            ///< routing table, ROUTE_BYTES per own token
    uint64_t ce_base;            ///< bf16 coefficient of each own expert
    uint64_t al_base;            ///< allocation table
    uint64_t xs_base;            ///< hidden values of own tokens, 1 << row_shift bytes apart
    uint64_t out_base;           ///< output rows, the same stride
    uint64_t yd_base;            ///< combine region
    uint64_t xd_base;            ///< dispatch region
    uint64_t gt_base;            ///< gate weights, or meta table of unicast
    uint64_t cb_base;            ///< slots: for partial sums of unicast, or for rows that return
    uint64_t rl_base;      ///< switch_reductions: lists of targets, for each token of all GPUs
    uint64_t scratch;      ///< scratch_bytes
    uint64_t st_lo, st_hi; ///< range in which explicit stores may land
    uint64_t end;          ///< bytes used
    unsigned buffers;      ///< for mw_feed; the first has the addresses above
    struct mw_feed_buffer buffer[MW_FEED_BUFFERS];
    uint64_t rt_bytes, row_bytes; ///< of a routing table, and of hidden values or output rows
    uint64_t load_base; ///< merge_loads: rows that others load, by own token; made as xs_base
    /// gate_gradients: rows of x under the numbers of those of dY at xd_base, made as xd_base; and
    /// fp32 for each place {own token << k_shift | list position}
    uint64_t xf_base, dw_base;
    /// dispatch region of layers with MW_HANDLE_CACHED; the same in the layouts of all layers whose
    /// `handle` is not MW_HANDLE_NONE and whose other sizes are the same
    uint64_t xd_cached;
    /// merge_loads: bytes of a loaded row, and whether merged reds complete own rows (sum_gpus).
    /// Else 0 and false. mw_stream_load uses them to check stores.
    unsigned loaded_bytes;
    bool reds_counted;
};
/// Lay out the memories for `config`.
/// MW_ERR_CAPACITY: the device cannot hold it. The message names the size that is too large, and
/// its maximum.
MW_API int mw_layout_make(struct mw_device *device, const struct mw_layer_config *config,
                          struct mw_layout *layout);
/// The same for a device that has the sizes and primitives of `info`; no device is needed.
MW_API int mw_layout_of(const struct mw_device_info *info, const struct mw_layer_config *config,
                        struct mw_layout *layout);

/// Write the registers of all GPUs. tokens[g] and experts[g] are the numbers of GPU g's own tokens
/// and experts, at most the sizes of `config`. Bit s of `streams` enables stream s.
/// If the streams count rows (mw_stream_count), every experts[g] must be the largest number of any
/// GPU. Counts have as many words as the sender has experts, so with others the layer never ends.
/// MW_ERR_CAPACITY: the device does not support `config`.
/// MW_ERR_STATE: a layer runs.
MW_API int mw_layer_configure(struct mw_device *device, const struct mw_layer_config *config,
                              const struct mw_layout *layout, const unsigned *tokens,
                              const unsigned *experts, unsigned streams);

/// Write one entry of the routing table, ROUTE_BYTES bytes, to `entry`: k experts of a token, -1
/// for none, and their k gate weights.
MW_API void mw_route_pack(uint8_t *entry, const int16_t *topk_idx, const float *topk_weights,
                          unsigned k);

// ---- instruction streams ------------------------------------------------------------------------

/// A stream under construction. Each call below adds one instruction. docs/reference/isa.md
/// describes what it does, in what order, and when it retires. The stream keeps the first failure:
/// build a whole stream, then check it once, by mw_stream_end. The device itself refuses
/// instructions and operands that it does not have, and records an error (MW_HWERR_).
/// MW_ERR_CAPACITY: the stream is full.
/// MW_ERR_INVALID: no device has such an operand. Examples are a counter that packets do not count
/// (signal, flag), a counter that does not exist (wait), and an error code of mw_multicast_group as
/// the group. The first numbers that are refused are group STATIC_GROUPS, GPU MW_MAX_PORTS and
/// address 2^34.
struct mw_stream {
    unsigned count;
    int error;
    struct mw_instr instr[MW_STREAM_INSTRS];
};
MW_API void mw_stream_init(struct mw_stream *s);
MW_API int mw_stream_end(struct mw_stream *s); ///< returns the first failure of the stream
MW_API int mw_stream_wait(struct mw_stream *s, unsigned event, uint32_t threshold);
/// Wait like software that polls: it sees the event `cycles` later (below 2^31).
MW_API int mw_stream_poll(struct mw_stream *s, unsigned event, uint32_t threshold, uint32_t cycles);
/// Send counts of rows, or with per_gpu counts of copies, to every GPU. Each of the two is allowed
/// once per layer. Other GPUs reject a repetition (MW_HWERR_COUNT). A count of rows covers all
/// tokens of the layer: first is 0, and `tokens` is the layer's number of own tokens (else
/// MW_HWERR_BOUNDS).
MW_API int mw_stream_count(struct mw_stream *s, uint32_t first, uint32_t tokens, bool per_gpu);
MW_API int mw_stream_prefix(struct mw_stream *s);
/// Add 1 to counter `event` of every other GPU. A flag follows this GPU's stores to that GPU. With
/// `self` only this GPU's counter changes.
MW_API int mw_stream_signal(struct mw_stream *s, unsigned event);
MW_API int mw_stream_flag(struct mw_stream *s, unsigned event, bool self);
/// A flag that also reports to each GPU the number of rows that the preceding mw_stream_st sent to
/// it. expert_range and sum_st on that GPU stop at this number. No st may run concurrently.
MW_API int mw_stream_flag_rows(struct mw_stream *s, unsigned event, bool self);
/// In layers with source_lists: report to every GPU, this one included, how many rows the preceding
/// mw_stream_st_rowsp sent to each of its experts.
MW_API int mw_stream_flag_lists(struct mw_stream *s);
MW_API int mw_stream_fence(struct mw_stream *s);
/// Wait for a number of cycles, below 2^31.
MW_API int mw_stream_delay(struct mw_stream *s, uint32_t cycles);
MW_API int mw_stream_dymultimem_st(struct mw_stream *s, uint32_t first, uint32_t tokens);
MW_API int mw_stream_st(struct mw_stream *s, uint32_t first, uint32_t tokens);
/// Order the tokens for mw_stream_dymultimem_st_ordered of the same range, by the copy counts of
/// all GPUs. mw_stream_wait for these counts first. Until this instruction has retired, the store
/// sends tokens in the order of their numbers. It sends each token once in any case. Each token
/// takes unit control at least `cycles`, at most 65 535. If the device has no token_order, the
/// hardware refuses the instruction.
MW_API int mw_stream_order(struct mw_stream *s, uint32_t first, uint32_t tokens, unsigned cycles);
MW_API int mw_stream_dymultimem_st_ordered(struct mw_stream *s, uint32_t first, uint32_t tokens);
/// Send a row to each of its experts separately. The receiver allocates the row's place. With
/// source_lists the place is the next one of the source's list, and the instruction may run once in
/// a layer.
MW_API int mw_stream_st_rowsp(struct mw_stream *s, uint32_t first, uint32_t tokens);
/// dymultimem.st without gate weights, for rows that no expert waits for. With `flat` the allocator
/// is not used: row i of GPU g lands at byte address (g << token_shift | i) << row_shift of the
/// GPUs of its targets.
MW_API int mw_stream_dymultimem_st_rows(struct mw_stream *s, uint32_t first, uint32_t tokens,
                                        bool flat);
MW_API int mw_stream_st_linear(struct mw_stream *s, unsigned gpu, uint64_t from, uint32_t bytes,
                               uint64_t to);
MW_API int mw_stream_multimem_st(struct mw_stream *s, unsigned group, uint64_t from, uint32_t bytes,
                                 uint64_t to);
/// Reduce this GPU's memory into that of every member. mw_stream_reduction selects the operator.
/// MW_ERR_CAPACITY at load: the device has no multimem_red.
MW_API int mw_stream_multimem_red(struct mw_stream *s, unsigned group, uint64_t from,
                                  uint32_t bytes, uint64_t to);
/// The same with merged reds (red.cais): in layers with sum_entries the switch may add up packets
/// of several GPUs for the same address. They are in memory when a later FLAG or FENCE of this GPU
/// takes effect there. Before this GPU adds to the same bytes again, it needs a FLAG or FENCE.
/// Otherwise it may record MW_HWERR_COUNT. In layers with sum_gpus the home counts the packets.
/// MW_ERR_CAPACITY at load: the device has no merge_reds.
MW_API int mw_stream_red_cais(struct mw_stream *s, unsigned group, uint64_t from, uint32_t bytes,
                              uint64_t to);
/// The same for rows of every other home in turn, so that rows of all homes are on their way at
/// once. Row i of home q lies at `from` + (i << row_shift) + (q << (token_shift + row_shift)). Its
/// row_bytes go to static group `group` + q, at `to` + (i << row_shift). `bytes` counts
/// 1 << row_shift bytes for each row of a home.
MW_API int mw_stream_red_cais_homes(struct mw_stream *s, unsigned group, uint64_t from,
                                    uint32_t bytes, uint64_t to);
/// `flags` are those of the instruction (docs/reference/isa.md).
MW_API int mw_stream_expert(struct mw_stream *s, unsigned flags);
MW_API int mw_stream_expert_rows(struct mw_stream *s);
/// expert.rows of a range of tokens: first and tokens are indices at the tokens' homes. These rows
/// follow those of the previous range.
MW_API int mw_stream_expert_range(struct mw_stream *s, uint32_t first, uint32_t tokens);
MW_API int mw_stream_dymultimem_ld_reduce(struct mw_stream *s, uint32_t first, uint32_t tokens,
                                          bool as_completed);
/// Write the sum of the members' memories to `to` of this GPU. If this GPU is a member, its memory
/// is the last term.
MW_API int mw_stream_multimem_ld_reduce(struct mw_stream *s, unsigned group, uint64_t from,
                                        uint32_t bytes, uint64_t to);
/// Set element type and operator (MW_DTYPE_, MW_REDOP_) of the ld_reduce or red that was added
/// last. The default is the sum of bf16. If the type does not have the operator, or the device
/// lacks the operator, the device records MW_HWERR_REDUCTION.
/// MW_ERR_INVALID, which the stream keeps: another last instruction, a type above 15, or an
/// operator above 7. MW_ERR_CAPACITY at load: the device lacks the type (red_types).
MW_API int mw_stream_reduction(struct mw_stream *s, unsigned dtype, unsigned redop);
MW_API int mw_stream_sum_st(struct mw_stream *s, uint32_t first, uint32_t tokens);
/// Add remote partial sums or, with `own`, add the own experts' rows to them. In layers with
/// row_returns it does both, and `own` selects the order of tokens. With `own` it is the order in
/// which they become complete. Without it, it is the order of their numbers, and the instruction
/// waits for no row.
MW_API int mw_stream_sum(struct mw_stream *s, uint32_t first, uint32_t tokens, bool own);

// *Gathered* tokens (MoE by a static group alone) are the tokens of all GPUs. The caller numbers
// them. Their routing entries (MW_ROUTE_BYTES each) start at gt_base of mw_layout, their rows at
// xd_base, results of their experts at yd_base, and dense partial sums at cb_base. The layout needs
// as many received_rows as there are gathered tokens.

/// Copy the hidden values, or (_routes) the routing entries, of own tokens to `to` at every member.
/// Rows there are 2^row_shift bytes apart, as on this GPU.
MW_API int mw_stream_multimem_st_rows(struct mw_stream *s, unsigned group, uint32_t first,
                                      uint32_t tokens, unsigned row_shift, uint64_t to);
MW_API int mw_stream_multimem_st_routes(struct mw_stream *s, unsigned group, uint32_t first,
                                        uint32_t tokens, uint64_t to);
/// expert.rows of gathered tokens, for the experts of this GPU in their routing entries.
MW_API int mw_stream_expert_gathered(struct mw_stream *s, uint32_t first, uint32_t tokens);
/// Set the engine time per row of the expert_gathered that was added last: cycles, at most 65 535.
/// 0 is the default and means the layer's expert_cycles. MW_ERR_INVALID, which the stream keeps:
/// more cycles, or another last instruction.
MW_API int mw_stream_expert_cycles(struct mw_stream *s, unsigned cycles);
/// Let the expert or expert.rows that was added last make gradients of gate weights. Rows of
/// dispatch (at xd_base of mw_layout, in a cached layer at xd_cached) are then those of dY. A
/// gradient is the dot product of such a row and the expert's value, without gate weight, of the
/// row of x at xf_base. It lands at dw_base of the token's home. The order of its additions is
/// fixed (docs/design/backward.md). MW_ERR_INVALID, which the stream keeps: another last
/// instruction. MW_ERR_CAPACITY at load: the device has no gate_gradients.
MW_API int mw_stream_expert_gradients(struct mw_stream *s);
/// expert.rows of gathered tokens: own tokens [first, first + tokens) of every GPU, the first of
/// GPU 0, 1, ..., then the second, and so on. `report`: each finished row is reported to the
/// switch. mw_stream_expert_cycles may follow.
/// MW_ERR_CAPACITY at load: the device has no tile_reductions.
MW_API int mw_stream_expert_homes(struct mw_stream *s, uint32_t first, uint32_t tokens,
                                  bool report);

// *Merged loads*, in layers with merge_loads. No instruction may store to the rows in the same
// layer (mw_stream_load).
enum mw_load_flags {
    MW_LOAD_ALONE = 1,  ///< the switch fetches each row for each GPU
    MW_LOAD_BESIDE = 2, ///< the stream continues when the loads start
};
/// Load the rows of tokens [first, first + tokens) of every GPU; this GPU's own rows are copied.
/// With `tile` (at most 255), the range is cut into tiles of this many tokens. A tile is loaded
/// when all GPUs have reported it: the first tile of GPU 0, 1, ..., then the second, and so on.
/// With 0 no GPU waits for another, and the rows must already be in memory. `flags`: a sum of
/// mw_load_flags. All GPUs need the same calls in the same order.
/// MW_ERR_CAPACITY at load: the device has no merge_loads.
MW_API int mw_stream_ld_cais(struct mw_stream *s, uint32_t first, uint32_t tokens, unsigned tile,
                             unsigned flags);
/// Offer the rows of own tokens below first + tokens for loads. Earlier instructions of the stream
/// must have written them.
MW_API int mw_stream_sync(struct mw_stream *s, uint32_t first, uint32_t tokens);
/// Report to the switch that this GPU is about to push (mw_stream_red_cais) to a tile: rows [first,
/// first + rows) of GPU `home`, at least one row. When all GPUs have reported {home, first}, the
/// event counter MW_EV_SYNCS increments at each of them. All GPUs report the same tiles in the same
/// order. Each GPU reports a tile once in a layer, else MW_HWERR_COUNT. At most info.open_syncs
/// tiles may be reported and not granted, else MW_HWERR_WINDOW.
/// Only in layers with tile_reductions and sum_gpus, else MW_HWERR_INSTR.
/// MW_ERR_INVALID: the GPU cannot exist. MW_ERR_CAPACITY at load: the device has no merge_reds.
MW_API int mw_stream_sync_pushes(struct mw_stream *s, unsigned home, uint32_t first, uint32_t rows);
/// expert.rows of the next `rows` loaded rows, in the order in which they land.
/// mw_stream_expert_cycles may follow.
MW_API int mw_stream_expert_landed(struct mw_stream *s, uint32_t rows);
/// Dense rows of gathered tokens that mw_stream_sum_dense writes.
enum mw_dense {
    MW_DENSE_EMPTY = 2, ///< rows of tokens without own experts, as -0
    MW_DENSE_SUMS = 3,  ///< rows of the other tokens, as the partial sum over own experts
    MW_DENSE_ALL = 6,   ///< all rows, as -0
};
MW_API int mw_stream_sum_dense(struct mw_stream *s, uint32_t first, uint32_t tokens,
                               enum mw_dense which);
/// multimem.ld_reduce of rows that start at `from`, 2^row_shift bytes apart, to the output rows of
/// own tokens.
MW_API int mw_stream_multimem_ld_reduce_rows(struct mw_stream *s, unsigned group, uint64_t from,
                                             uint32_t first, uint32_t tokens, unsigned row_shift);
/// mw_stream_sum of own experts' rows. Own token `first` is gathered token `gathered`, and so on.
MW_API int mw_stream_sum_gathered(struct mw_stream *s, uint32_t first, uint32_t tokens,
                                  uint32_t gathered);

/// Write `streams` streams of each GPU into the memories. s[g * streams + i] is stream i of GPU g.
/// MW_ERR_STATE: a stream has no end, or kept a failure.
/// MW_ERR_CAPACITY: a stream has an instruction that the device was built without: delay,
/// flag_rows, flag_lists, expert_range, gathered tokens, or an event counter from MW_EV_SW8 on.
/// MW_ERR_INVALID: in a layer with merge_loads, an instruction stores to bytes of a row that an
/// mw_stream_ld_cais of any GPU loads, at the row's home or where it lands. In layers with sum_gpus
/// mw_stream_red_cais may add to rows at their homes. Places of mw_stream_st and of stores with an
/// allocator are not known before the layer runs: these are refused.
MW_API int mw_stream_load(struct mw_device *device, const struct mw_layout *layout,
                          const struct mw_stream *s, unsigned streams);

/// Add the instructions of the streams of one GPU, s[0] to s[streams - 1], which are empty.
typedef void (*mw_stream_make_fn)(void *context, unsigned gpu, struct mw_stream *s);
/// Call `make` to build the streams of each GPU, end them, and write them. Errors as for
/// mw_stream_end and mw_stream_load.
MW_API int mw_streams_load(struct mw_device *device, const struct mw_layout *layout,
                           unsigned streams, mw_stream_make_fn make, void *context);

// ---- data of a layer ----------------------------------------------------------------------------

/// One GPU's part of a layer. Rows are bf16 values that fill the bytes of a row, without a gap.
struct mw_tokens {
    unsigned tokens;           ///< may be 0
    const uint16_t *x;         ///< [tokens][row] hidden values
    const int16_t *topk_idx;   ///< [tokens][k] experts, -1: none; each at most once per token
    const float *topk_weights; ///< [tokens][k] gate weights
};
/// The rows of one GPU if their type is not bf16, like DeepEP's pair of data and scales. A call
/// that takes rows only reads them.
struct mw_typed_rows {
    /// [tokens][values] e4m3 codes, of one byte each; MW_ROWTYPE_NVFP4: [tokens][values / 2] pairs
    /// of e2m1 codes, the even value's in the low half
    void *x;
    /// MW_ROWTYPE_E4M3_BLOCKS: [tokens][values / MW_SCALE_BLOCK]; MW_ROWTYPE_NVFP4: [tokens], of
    /// rows; others: NULL
    float *scales;
    /// MW_ROWTYPE_NVFP4: [tokens][values / MW_SCALE_GROUP] e4m3 scales; others: NULL
    uint8_t *group_scales;
};
// The following calls write or read the memories of all GPUs, with the errors of mw_mem_write and
// mw_mem_read. Element part[g] (N of them) belongs to GPU g. Addresses are those of a layout, or of
// one of its buffers.

/// Load routing tables to `address`: k experts and weights of each token.
MW_API int mw_routing_load(struct mw_device *device, uint64_t address, unsigned k,
                           const struct mw_tokens *part);
/// Load hidden values, or output rows, to `address`. Each token's x has row_bytes (a multiple of 2,
/// at most 1 << row_shift). Rows are 1 << row_shift bytes apart, with 0 between them.
MW_API int mw_rows_load(struct mw_device *device, uint64_t address, unsigned row_bytes,
                        unsigned row_shift, const struct mw_tokens *part);
/// Read tokens[g] such rows into out[g], row_bytes each without a gap. NULL for a GPU without
/// tokens.
MW_API int mw_rows_read(struct mw_device *device, uint64_t address, unsigned row_bytes,
                        unsigned row_shift, const unsigned *tokens, uint16_t *const *out);
/// Load the bf16 coefficients of experts_per_gpu emulated experts of each GPU to ce_base.
/// `coefficient` has those of GPU 0 first, then those of GPU 1, and so on.
MW_API int mw_coefficients_load(struct mw_device *device, const struct mw_layout *layout,
                                unsigned experts_per_gpu, const uint16_t *coefficient);

// ---- running ------------------------------------------------------------------------------------

/// Start the layer (`go`) in a new epoch. Allocation tables are cleared when the epochs wrap
/// around, and at the first layer.
/// MW_ERR_STATE: a layer runs, or none is configured.
MW_API int mw_launch(struct mw_device *device);

/// Progress of a layer is a flit on an uplink or a downlink, a token that is finished, a tile that
/// starts, or an instruction that ends.
struct mw_wait_options {
    size_t size;           ///< sizeof(struct mw_wait_options)
    uint64_t quiet_cycles; ///< end after that many cycles without progress; 0: computed
                           ///< from the layer's expert time and start delays
    uint64_t step_cycles;  ///< cycles between two polls of the device; 0: the library's choice
    /// Called at every poll with the finished own tokens of all GPUs, all of them, and the cycles
    /// since go. May be NULL. If it does not return 0, the layer is canceled, as by mw_cancel.
    int (*progress)(void *context, uint64_t tokens, uint64_t tokens_total, uint64_t cycles);
    void *progress_context;
    /// Read some hundred times a second. May be NULL. If it is not 0, the layer is canceled. A
    /// signal handler can therefore end a wait.
    const volatile sig_atomic_t *stop;
};
/// Wait until the layer of the last mw_launch is done. `cycles` (may be NULL) receives the cycles
/// from go to done. `options` may be NULL.
/// MW_ERR_TIMEOUT: no progress. The layer continues: wait again, or cancel it. mw_state_report
/// describes its state.
/// MW_ERR_DEVICE: the layer is done, but the hardware recorded errors.
/// MW_ERR_CANCELED: a thread called mw_cancel or mw_reset, or `options` canceled the layer.
/// MW_ERR_STATE: no layer runs.
///
/// Any number of threads may wait for one layer. The result of a layer stays until the next layer
/// begins, or until a mw_reset after its end. Until then mw_wait returns it at once, also
/// repeatedly.
///
/// The message of MW_ERR_TIMEOUT and MW_ERR_DEVICE names the first error. If the routing tables
/// send more rows to an expert than its region holds (BOUNDS), the message names the expert and the
/// size of the region. These rows are not written, and the layer waits for them until mw_reset.
MW_API int mw_wait(struct mw_device *device, const struct mw_wait_options *options,
                   uint64_t *cycles);

enum mw_state {
    MW_STATE_IDLE,       ///< no layer is configured
    MW_STATE_CONFIGURED, ///< mw_launch or mw_feed may start a layer
    MW_STATE_RUNNING,    ///< launched or fed, and not done
    MW_STATE_DONE,       ///< launched and done, result not yet read: mw_wait returns it at once
    MW_STATE_UNKNOWN,    ///< mw_reset is needed
};
struct mw_progress {
    enum mw_state state;
    uint64_t tokens, tokens_total; ///< own tokens of all GPUs in the last layer: finished, all
    uint64_t cycles;               ///< since its go, at most to done
};
/// Read the state without waiting. Each call advances a simulated device by some cycles. Between
/// calls it stands still.
MW_API int mw_query(struct mw_device *device, struct mw_progress *progress);
/// Cancel the running layer or call, from any thread: every wait for it ends with MW_ERR_CANCELED.
/// The device may continue the layer until mw_reset, and its state is unknown. If a call of a
/// handle only moves data, nothing continues, and the state stays known.
/// MW_ERR_STATE: nothing runs.
MW_API int mw_cancel(struct mw_device *device);
/// Return a descriptor for poll(2) and the like, or a MW_ERR_ code. It is readable once a layer has
/// ended, with any result. Reading 8 bytes from it returns the number of such layers (eventfd(2))
/// and clears it. From the first call on, a thread advances the device while a layer runs. The
/// descriptor is closed with the device.
MW_API int mw_event_fd(struct mw_device *device);

/// The result of a fed layer.
struct mw_fed {
    uint64_t cycles;         ///< from go to done
    uint64_t start;          ///< clock cycles of the device at go
    uint32_t outcome, error; ///< MW_FED_ of docs/reference/host-protocol.md; first MW_HWERR_ code
};
/// Queue a layer, which starts as soon as earlier layers are done. It is the layer of the last
/// mw_layer_configure, with routing table, hidden values and output rows in `buffer` of its layout.
/// `number` (may be NULL) receives its number for mw_fed_wait. The call returns at once. While this
/// layer runs, the next buffer may be written, and the output of a layer that is done may be read.
/// Write what the layers have in common (streams, coefficients, expert map) before the first layer.
/// After fed layers, mw_launch needs another mw_layer_configure.
/// MW_ERR_STATE: a fed layer uses that buffer, a launched layer runs, none is configured, or an
/// earlier one failed since open or mw_reset.
/// MW_ERR_INVALID: the layout has no such buffer.
/// MW_ERR_VERSION: the device does not support it. Upgrade its firmware.
MW_API int mw_feed(struct mw_device *device, const struct mw_layout *layout, unsigned buffer,
                   uint32_t *number);
/// Queue a layer of a stack, which may read what the previous layer has written. The layer is that
/// of the last mw_layer_configure, with the addresses of `layout`, `handle` (MW_HANDLE_) and
/// `expert_cycles` instead of the configured ones. Only the addresses of streams, rt_base, ce_base,
/// xs_base, out_base, yd_base, xd_base, xd_cached, xf_base and dw_base may differ. xs_base of a
/// layer may be out_base of the previous one. The program must write all other data before the
/// first layer: until such a layer is done, it can neither write nor read memory. Counters are
/// those of the layer that began last. Waits derive their time limit from the configured
/// expert_cycles, so configure the largest value.
/// MW_ERR_INVALID: any other address or a shift differs, or `handle` is not MW_HANDLE_NONE while
/// the configured layer has MW_HANDLE_NONE.
/// MW_ERR_HANDLE: as for mw_layer_configure. All else as for mw_feed.
MW_API int mw_feed_layer(struct mw_device *device, const struct mw_layout *layout, unsigned handle,
                         unsigned expert_cycles, uint32_t *number);
/// Wait until the fed layer `number` is done. Layers that were fed before it are then done, too,
/// and none of their buffers is in use. `fed` and `options` may be NULL. The progress of `options`
/// is that of the layer that runs.
/// MW_ERR_TIMEOUT, MW_ERR_CANCELED: as for mw_wait.
/// MW_ERR_DEVICE: that layer failed, or was not started because one before it failed.
/// MW_ERR_STATE: no such layer, or one of more than 8 layers ago.
MW_API int mw_fed_wait(struct mw_device *device, uint32_t number,
                       const struct mw_wait_options *options, struct mw_fed *fed);

/// Read how many instructions stream `stream` of GPU `gpu` has issued, while a layer runs or after
/// it. All but the last of these have retired. Once the stream has ended, the number is
/// MW_STREAM_INSTRS. On a simulated device the call advances the layer by some cycles, which
/// mw_total_cycles counts.
MW_API int mw_stream_position(struct mw_device *device, unsigned gpu, unsigned stream,
                              unsigned *issued);

/// Describe the state of every stream, unit, queue and link as text of several lines. The caller
/// frees it. NULL: no memory.
/// While one layer runs, a stream that waits has its instruction there, from GPU memory: what it
/// works on, or an event counter with its threshold. ROWS, ROWS_DONE and TOKENS have their values;
/// no register shows the others. On a simulated device the call advances the layer by some cycles.
MW_API char *mw_state_report(struct mw_device *device);

/// Counters of a port since go: cycles, flits, bytes or events.
struct mw_port_counters {
    uint32_t cycles; ///< from go to done, or until this port was read
    uint32_t up_flits[MW_NUM_CLASSES], down_flits[MW_NUM_CLASSES];
    uint32_t up_payload, down_payload;   ///< bytes; headers and target lists excluded
    uint32_t rejected;                   ///< packets with an error
    uint32_t stall_output, stall_credit; ///< cycles a copy waited for its output, for credit
    uint32_t discarded, dropped; ///< packets for it while down; its own, cut short or refused
};
struct mw_gpu_counters {
    uint32_t stall_store, stall_ctrl;  ///< cycles in which a packet waited for credit
    uint32_t part_empty, link_idle;    ///< cycles without a partial, without a flit on the uplink
    uint32_t mem_conflict;             ///< accesses delayed by a busy bank
    uint32_t expert_tiles;             ///< tiles started
    uint32_t expert_idle, expert_wait; ///< cycles without a tile, with one that waits for memory
    uint32_t alloc_hit, alloc_miss;    ///< look-ups in the allocator's cache
    uint32_t rows_received, tokens_done, retired; ///< rows, own tokens, instructions
    uint32_t errors, first_error;                 ///< number, and MW_HWERR_ code of the first
    /// of the packet manager, 0 without it: stores received, packets sent, stores merged into
    /// others, full lines sent, other lines sent by the timer
    uint32_t rpm_in, rpm_out, rpm_merged, rpm_full, rpm_timer;
};
struct mw_counters {
    uint64_t cycles; ///< from go to done, or until the call
    uint32_t switch_errors, switch_first_error, switch_error_port;
    struct mw_port_counters port[MW_MAX_PORTS];
    struct mw_gpu_counters gpu[MW_MAX_PORTS];
};
/// Read all counters. While a layer runs, the device continues between two registers. Each port's
/// cycles are read together with its flits.
MW_API int mw_counters_read(struct mw_device *device, struct mw_counters *counters);
/// Merged loads of the rows of each GPU since go; 0 on a device without merge_loads.
struct mw_load_counters {
    struct {
        uint32_t loads, fetches; ///< rows loaded by other GPUs, rows fetched for them
        uint32_t bypasses;       ///< of the fetches: those past the table, for one GPU
        uint32_t evictions;      ///< kept rows that made room for others
        uint32_t most_entries;   ///< in use at a time
        /// cycles from an entry's first to its last load, each modulo 2^16: sum, most
        uint32_t spread, longest;
    } port[MW_MAX_PORTS];
    uint32_t kept[MW_MAX_PORTS]; ///< loads that kept rows answered, without a fetch
};
MW_API int mw_load_counters_read(struct mw_device *device, struct mw_load_counters *counters);
/// Sums of merged reds by home since go. All are 0 on a device without merge_reds.
struct mw_sum_counters {
    struct mw_port_sums {
        uint32_t reds;         ///< merged reds that the table took
        uint32_t sums;         ///< sums that left the table
        uint32_t parts;        ///< of these, sums without a red of every GPU
        uint32_t saved_flits;  ///< flits that came for the downlink and did not leave
        uint32_t most_entries; ///< maximum of entries in use
    } port[MW_MAX_PORTS];
};
MW_API int mw_sum_counters_read(struct mw_device *device, struct mw_sum_counters *counters);
/// Read the counters of one port alone. This takes at most a tenth of the time.
MW_API int mw_port_counters_read(struct mw_device *device, unsigned port,
                                 struct mw_port_counters *counters);

enum {
    MW_HISTOGRAM_BINS = 64,
    MW_SERIES_SAMPLES = 128, ///< that a device keeps
};

/// Set what the switch's ports record of every layer from now on. `classes` is a mask of the
/// classes whose packets are counted by latency (bit MW_CLS_, and MW_CLS_PART means results). After
/// open: all. `interval` is the number of cycles between two samples of the time series, 2 to
/// 65 535. 0, as after open: no series.
/// MW_ERR_CAPACITY: the device has no monitors.
/// MW_ERR_STATE: a layer runs.
MW_API int mw_monitor_set(struct mw_device *device, unsigned classes, unsigned interval);
/// Read how many packets left the switch at `port` since go, by latency. Latency is the number of
/// cycles from the first flit on the source's uplink to the first flit on the downlink. For results
/// it starts with the first flit of the request. Bin b counts latencies from mw_histogram_from(b)
/// to mw_histogram_from(b + 1) - 1.
MW_API int mw_histogram_read(struct mw_device *device, unsigned port,
                             uint32_t bins[MW_HISTOGRAM_BINS]);
MW_API uint32_t mw_histogram_from(unsigned bin);

/// Cycles of an interval in which, at one port, ...
struct mw_sample {
    uint16_t up, down;    ///< ... a flit arrived at the switch, left it,
    uint16_t wait_credit; ///< ... a copy of a store waited for credit,
    uint16_t wait_turn;   ///< ... or for the output
};
/// Read samples of every port since go, from number `from` on: list[i * N + port], i < max. `first`
/// receives the number of the first one that was read, and `count` how many. The device keeps the
/// last MW_SERIES_SAMPLES. While a layer runs, read them in time. If some were lost, `first` is
/// greater than `from`. The last interval of a layer ends with it.
MW_API int mw_series_read(struct mw_device *device, uint64_t from, struct mw_sample *list,
                          size_t max, uint64_t *first, size_t *count);
/// Clock cycles since open, loading and reading included. 0 if the transport does not count them.
MW_API uint64_t mw_total_cycles(struct mw_device *device);

// ---- watching another program's device ----------------------------------------------------------

// A device has one owner, and no other program can access it. The owner may share it
// (mw_open_options). If another program then watches it, the owner reads the counters between the
// slices of its waits, and writes them to a file that both programs map. The file is below
// $XDG_RUNTIME_DIR/moeswitch, or below /tmp/moeswitch-UID if the variable is not set. Without a
// watcher there is no cost. Layers take the same cycles in any case. On a simulated device a sample
// takes as much time as some thousand cycles of simulation.

struct mw_shared_id {
    unsigned pid, number; ///< of the process; of its devices
};
struct mw_shared {
    struct mw_shared_id id;
    char program[32], transport[16];
    unsigned gpus, flit_bytes;
    bool sampled;    ///< whether the following was read at least once
    uint64_t age_ms; ///< age of the sample: an owner that does not wait takes none
    enum mw_state state;
    uint64_t layer;        ///< launched since mw_open, this one included
    uint64_t tokens_total; ///< of it
    uint64_t total_cycles; ///< as mw_total_cycles
    struct mw_counters counters;
};
/// List shared devices, by process and number: `count` of them, at most `max`.
MW_API int mw_shared_list(struct mw_shared_id *list, size_t max, size_t *count);
/// Read the last sample of the owner. For the next seconds the owner takes a sample every
/// `interval_ms`, at least 50.
/// MW_ERR_NODEV: the device is closed, or its owner has ended.
MW_API int mw_shared_look(const struct mw_shared_id *id, unsigned interval_ms,
                          struct mw_shared *shared);

// ---- watching a simulated device ----------------------------------------------------------------

enum mw_watch_kind {
    MW_WATCH_STREAM, ///< an instruction stream of a GPU
    MW_WATCH_TILE,   ///< the expert engine of a GPU
    MW_WATCH_ROWS,   ///< open reductions at a port of the switch
};

/// States of a stream, with the numbers of rtl/gpu/streams.sv.
enum mw_stream_state {
    MW_STREAM_OFF,   ///< ended, or not enabled
    MW_STREAM_FETCH, ///< its next instruction is fetched
    MW_STREAM_UNIT,  ///< the instruction waits for its unit,
    MW_STREAM_RUN,   ///< runs there,
    MW_STREAM_WAIT,  ///< or waits for an event
};

/// The state of a GPU or port from this cycle on. A tile adds an event for each of its rows.
struct mw_watch_event {
    uint64_t cycle; ///< of the layer: the streams start in cycle 0
    enum mw_watch_kind kind;
    unsigned place; ///< GPU or port
    union {
        struct {
            unsigned number;
            enum mw_stream_state state;
            unsigned op, next; ///< MW_I_ opcode decoded last; next instruction's index
        } stream;
        struct {
            bool there;                   ///< false: no tile in the engine, and the rest is 0
            unsigned local_expert;        ///< on this GPU
            unsigned first_row, last_row; ///< of that expert; last: so far
        } tile;
        unsigned open_rows;
    };
};
typedef void (*mw_watch_fn)(void *context, const struct mw_watch_event *event);

/// Call `event` for every change. The calls come from inside the functions that advance the device,
/// and must not call the library. Layers take the same cycles. NULL ends the calls.
/// MW_ERR_CAPACITY: the device is not simulated, or its model does not show internal state.
MW_API int mw_watch(struct mw_device *device, mw_watch_fn event, void *context);
/// Name of an instruction, such as "dymultimem.st" for MW_I_DYMULTIMEM_ST. "?" if there is none.
MW_API const char *mw_op_name(unsigned op);

// ---- one layer in DeepEP's words ----------------------------------------------------------------

// All objects of a device use the same addresses, from 0 on, for the data of their layers. The
// library keeps the dispatched data. If the device holds the data or the expert map of another
// object, the library writes those of this object before a layer begins. Data that a program has
// itself written to these addresses are lost when a handle's layer begins. Data that it writes
// there between dispatch and combine may change the result.
//
// Phases. mw_dispatch starts the first phase of a layer: the device sends the rows of all tokens to
// the GPUs of their experts. mw_combine runs the rest: experts, sums and their way home. In between
// the program may do its own work, read the received rows (mw_received), and compute the results
// itself (mw_expert_output) in place of the device's emulated experts. mw_layer_run is the fused
// call: one program runs dispatch, experts and combine, overlapped token by token as in DySHARP. It
// takes fewer cycles. Outputs have the same bits.
//
// | DeepEP                                    | here                                  |
// |-------------------------------------------|---------------------------------------|
// | dispatch(..., async_finish=True)          | mw_dispatch, or mw_dispatch_start     |
// | dispatch((x, scales), ...)                | mw_dispatch_typed                     |
// | event.current_stream_wait()               | mw_dispatch_wait; mw_event_fd to poll |
// | recv_x, num_recv_tokens_per_expert_list   | mw_received                           |
// | handle                                    | struct mw_handle                      |
// | combine(x, handle)                        | mw_expert_output, then mw_combine     |
// | dispatch(dy, handle=handle)               | mw_dispatch_cached                    |
// | combine(dx, handle, topk_weights=dw)      | mw_combine, then mw_gate_gradients    |
//
// Cached handles. The backward pass of a layer sends gradients along the routes of its forward
// pass: dY is dispatched as x was, and dX is combined as y was. If the object has cached_handles,
// mw_dispatch_cached makes a handle whose rows take the routes of another handle, the *forward*
// one. Its layers use the counts and rows that the device keeps from the last layer of the forward
// handle, so nothing is counted, exchanged or allocated again. All calls for handles accept such a
// handle. The experts multiply by the gate weights as in the forward pass. So the program applies
// weights neither to dY before the dispatch, nor to dX after combine. If the object also has
// gate_gradients, the device's experts return the gradients of the gate weights, too.
//
// A device keeps counts and rows of one forward handle. They last until another layer counts,
// whether mw_dispatch, mw_layer_run, mw_launch, mw_feed or mw_feed_layer starts it. They also end
// with mw_reset, mw_selftest, mw_port_enable and an error of a layer. At least one cached layer may
// follow a forward layer, and three at most, as there are four epochs (docs/design/backward.md).
// Afterwards mw_dispatch_cached, and mw_dispatch_start, mw_combine and mw_layer_run of a cached
// handle, return MW_ERR_HANDLE. The message says what came in between, and no row has moved.
// Dispatch or run the forward handle again then. Handles may be destroyed in any order.
//
// States of a handle. It is *prepared* by mw_handle_create. Its rows are *arriving* from
// mw_dispatch or mw_dispatch_start on, and *received* once that layer is done. While rows arrive,
// the device is in MW_STATE_RUNNING, and mw_wait, mw_query, mw_cancel and mw_event_fd treat the
// dispatch as a launched layer. A handle becomes prepared again, and loses rows and results, by
// - mw_combine of it, once the second phase has begun,
// - mw_handle_set of it,
// - the begin of any other layer: mw_layer_run, mw_launch, mw_feed, and dispatch or combine of
//   another handle, which first wait until this dispatch is done,
// - mw_reset, mw_selftest and mw_port_enable, and a dispatch that was canceled or failed.
// Then mw_combine runs the dispatch, too, as the library keeps the data. Calls that need the rows
// (mw_dispatch_wait, mw_received, mw_expert_output, and mw_combine after mw_expert_output) return
// MW_ERR_STATE, and the message names the call that helps. An abort in the middle leaves nothing
// behind: after mw_reset the handle may be dispatched or combined again.

/// Properties of a dynamic multicast object (`cuDyMulticastCreate`).
struct mw_dymulticast_prop {
    size_t size;          ///< sizeof(struct mw_dymulticast_prop)
    unsigned block_bytes; ///< one token's hidden values, a multiple of the flit, at most 32 752
    unsigned region_sets; ///< regions that share one mapping; 2: dispatch and combine
    unsigned k;           ///< experts per token, at most `experts`
    unsigned experts;     ///< of all GPUs
    /// [experts], each expert of 0 to experts - 1 once. Read before mw_dymulticast_create returns.
    /// NULL: `experts` is a multiple of N, and expert e is on GPU e / (experts / N).
    const struct mw_expert_place *places;
    /// Type of the hidden values on their way to the experts, MW_ROWTYPE_ of packet.h, as in
    /// mw_layer_config. 0: bf16. With another type, the program passes rows to mw_dispatch_typed or
    /// mw_handle_create_typed, and reads them with mw_received_typed. Rows of cached handles,
    /// results of experts and output rows are bf16 in any case.
    unsigned dispatch_type;
    /// Layers keep counts and rows for cached handles. The layout then has a second dispatch
    /// region. MW_ERR_CAPACITY: the device has no cached_handle.
    bool cached_handles;
    /// Experts of cached layers return gradients of gate weights (mw_gate_gradients). They read
    /// twice as many rows, and take longer. MW_ERR_CAPACITY: the device has no gate_gradients.
    /// MW_ERR_INVALID: cached_handles is not set, or dispatch_type is not bf16.
    bool gate_gradients;
};
/// Create an object.
/// MW_ERR_CAPACITY: more experts than the device has, or than a GPU has, or it lacks the type.
/// MW_ERR_INVALID: also rows that are not whole blocks of a type with scales.
MW_API int mw_dymulticast_create(struct mw_device *device, const struct mw_dymulticast_prop *prop,
                                 struct mw_dymulticast **object);
/// Bind an object (`cuDyMulticastBindAddr`). `tokens` is the number of tokens of all GPUs together
/// (ntoken). Each GPU has at most tokens / N of them, rounded up. `rows_per_expert` is the local
/// space of every expert in rows (nactive). Both are at least 1. Errors as for mw_layout_make. An
/// object may be bound again. Handles keep the binding of their dispatch. On failure the binding is
/// not changed.
MW_API int mw_dymulticast_bind_addr(struct mw_dymulticast *object, unsigned tokens,
                                    unsigned rows_per_expert);
/// Read the layout of the binding.
/// MW_ERR_STATE: the object is not bound.
MW_API int mw_dymulticast_layout(const struct mw_dymulticast *object, struct mw_layout *layout);
/// Destroy an object. Afterwards its handles can only be destroyed. NULL is allowed.
MW_API void mw_dymulticast_destroy(struct mw_dymulticast *object);

/// Make a handle from the data of a layer. part[g] (N of them) is the data of GPU g, and
/// `coefficient` [experts] has the emulated experts' bf16 coefficients. All are copied. This call
/// does not use the device. Any number of handles may exist.
/// MW_ERR_CAPACITY: more tokens or rows than bound.
/// MW_ERR_INVALID: an expert is out of range, or twice in a list, or its weight is no finite
/// number. Weights of places without expert are not read.
/// MW_ERR_STATE: the object is not bound.
MW_API int mw_handle_create(struct mw_dymulticast *object, const struct mw_tokens *part,
                            const uint16_t *coefficient, struct mw_handle **handle);
/// The same with rows of the object's dispatch_type: rows[g] (N of them) instead of part[g].x,
/// which is not read. MW_ERR_INVALID: also if a scale is NaN, infinite, zero or negative, an fp32
/// one subnormal, or the object's rows are bf16. mw_handle_create returns it if they are not.
MW_API int mw_handle_create_typed(struct mw_dymulticast *object, const struct mw_tokens *part,
                                  const struct mw_typed_rows *rows, const uint16_t *coefficient,
                                  struct mw_handle **handle);
/// Make a handle whose rows follow the routes of `forward`. x[g] has the rows of GPU g's tokens of
/// that handle, [tokens][block_bytes / 2] in bf16, whatever the object's dispatch_type.
/// `coefficient` is as above, or NULL: that of `forward`. Routes, weights and settings are those
/// that `forward` has now. `forward` may be a cached handle itself: then gradients also use the
/// rows of x of its own forward handle. All are copied, and the device is not used.
/// MW_ERR_INVALID: the object of `forward` has no cached_handles.
/// MW_ERR_STATE: the object was destroyed.
MW_API int mw_handle_create_cached(struct mw_handle *forward, const uint16_t *const *x,
                                   const uint16_t *coefficient, struct mw_handle **handle);
/// Change the behaviour of the layer's experts and links before it runs (see mw_layer_config).
/// Rows that were dispatched before are lost, and mw_combine sends them again. Of these settings
/// in_flight, switch_reductions and dispatch_throttle concern mw_layer_run alone.
/// MW_ERR_CAPACITY: the device does not support it.
/// MW_ERR_INVALID: also tile_reductions, merge_loads, row_returns and source_lists, which need
/// other streams than those of a handle.
/// MW_ERR_STATE: the object of the handle was destroyed, or mw_expert_output has written results.
MW_API int mw_handle_set(struct mw_handle *handle, const char *name, uint64_t value);

/// mw_handle_create and mw_dispatch_start in one call. On failure there is no handle.
MW_API int mw_dispatch(struct mw_dymulticast *object, const struct mw_tokens *part,
                       const uint16_t *coefficient, struct mw_handle **handle);
/// mw_handle_create_typed and mw_dispatch_start in one call.
MW_API int mw_dispatch_typed(struct mw_dymulticast *object, const struct mw_tokens *part,
                             const struct mw_typed_rows *rows, const uint16_t *coefficient,
                             struct mw_handle **handle);
/// mw_handle_create_cached and mw_dispatch_start in one call.
MW_API int mw_dispatch_cached(struct mw_handle *forward, const uint16_t *const *x,
                              const uint16_t *coefficient, struct mw_handle **handle);
/// Write the data that the device does not have yet, and start the dispatch. Returns while the rows
/// are on their way. If a call or a dispatch of another handle uses the device, this one waits for
/// it. `options` (may be NULL) and mw_cancel may end the call before the start, as in mw_combine.
/// MW_ERR_HANDLE: the handle is cached, and the device no longer has what it uses.
/// MW_ERR_STATE: its rows are arriving or received (combine them first), a launched or fed layer
/// runs, the object of the handle was destroyed, or `progress` of a call of a handle calls it.
MW_API int mw_dispatch_start(struct mw_handle *handle, const struct mw_wait_options *options);
/// Wait until all rows of a dispatch are in the memories of their GPUs. `cycles` (may be NULL)
/// receives the cycles from go to done. Errors as for mw_wait: `options` and mw_cancel cancel the
/// dispatch. Returns at once if the rows are received.
/// MW_ERR_STATE: also if the handle is prepared.
MW_API int mw_dispatch_wait(struct mw_handle *handle, const struct mw_wait_options *options,
                            uint64_t *cycles);

/// A received row: its token, and the gate weight of the expert for it.
struct mw_received_row {
    unsigned gpu, token; ///< home of the token, and its number there
    float weight;
};
/// Read what expert `expert` has received. `count` receives the number of its rows, in any state.
/// row[i] and x[i] (`max` of each, [max][block_bytes / 2] bf16) describe row i, as it lies in the
/// expert's region. Their order depends on arrival. Either may be NULL. With both NULL or `max` 0
/// the device is not used. `options` (may be NULL) and mw_cancel may end the call.
/// MW_ERR_STATE: rows are read, and the handle is not in state received.
/// MW_ERR_DEVICE: the allocation table of the device does not describe these rows.
MW_API int mw_received(struct mw_handle *handle, unsigned expert, struct mw_received_row *row,
                       uint16_t *x, size_t max, size_t *count,
                       const struct mw_wait_options *options);
/// The same for rows of any type. The arrays of `rows`, of which each may be NULL, receive the
/// codes and scales of up to `max` rows. mw_received returns MW_ERR_INVALID if it would have to
/// read values that are not bf16.
MW_API int mw_received_typed(struct mw_handle *handle, unsigned expert, struct mw_received_row *row,
                             const struct mw_typed_rows *rows, size_t max, size_t *count,
                             const struct mw_wait_options *options);
/// Write the results of an expert: y[i] ([rows][block_bytes / 2] bf16) belongs to row i of
/// mw_received. The device adds results as they are, so multiply by the gate weight before.
/// From this call until the next mw_dispatch_start, mw_combine runs no emulated experts. It needs
/// the results of every expert that has received rows. The call may be repeated for an expert.
/// `options` as for mw_received.
/// MW_ERR_STATE: the handle is not in state received.
MW_API int mw_expert_output(struct mw_handle *handle, unsigned expert, const uint16_t *y,
                            const struct mw_wait_options *options);

/// Run what is left of the layer and read the result: wait for the dispatch, or run it if the
/// handle is prepared, then run experts and combine. out[g] receives GPU g's output rows
/// ([tokens][block_bytes / 2] bf16, may be NULL for a GPU without tokens). `options` and `cycles`
/// may be NULL. `cycles` receives those of both phases, without the time between them. A handle may
/// be combined again. If a call or a dispatch of another handle uses the device, this call waits
/// for it. `options` may end that wait, too. Errors as for mw_launch and mw_wait.
/// MW_ERR_HANDLE: as for mw_dispatch_start, if the dispatch has to run.
/// MW_ERR_STATE: also if the object of the handle was destroyed, an expert lacks mw_expert_output,
/// or `progress` of a call of a handle calls it.
///
/// Before a phase, the call writes data that the device does not have yet. At the end it reads the
/// output rows. It does both in pieces of some ten milliseconds, and polls `options` between two
/// pieces, as between two slices of the layer. `progress` then gets 0 tokens and 0 cycles. If
/// `options` or mw_cancel ends the call there, it returns MW_ERR_CANCELED, and the device needs no
/// mw_reset.
MW_API int mw_combine(struct mw_handle *handle, uint16_t *const *out,
                      const struct mw_wait_options *options, uint64_t *cycles);
/// The fused call: run the whole layer as one program, whatever was dispatched, and read the
/// result. Arguments and errors as for mw_combine.
/// MW_ERR_STATE: also if mw_expert_output has written results.
MW_API int mw_layer_run(struct mw_handle *handle, uint16_t *const *out,
                        const struct mw_wait_options *options, uint64_t *cycles);
/// Copy the gradients of the gate weights that the last mw_combine or mw_layer_run of a cached
/// handle has brought home. dw[g] ([tokens][k], may be NULL for a GPU without tokens) receives
/// those of GPU g's tokens, 0 where a list has no expert. A gradient is a dot product of two rows:
/// the cached handle's row (dY), and the emulated expert's output for the forward handle's row (x),
/// without the gate weight. The order of its additions is fixed (docs/design/backward.md). The
/// device is not used.
/// MW_ERR_INVALID: the handle is not cached, or its object has no gate_gradients.
/// MW_ERR_STATE: neither call has run, or mw_expert_output has written results.
MW_API int mw_gate_gradients(struct mw_handle *handle, float *const *dw);
/// Destroy a handle in any state. Rows that are arriving continue to arrive, and mw_wait waits for
/// them. NULL is allowed.
MW_API void mw_handle_destroy(struct mw_handle *handle);

// ---- transports ---------------------------------------------------------------------------------

/// A register and its value.
struct mw_register {
    uint32_t address, value;
};

/// A transport: the functions that reach a device. The library keeps a copy of it, and makes one
/// call at a time. All functions return 0 or a MW_ERR_ code.
struct mw_transport {
    size_t size; ///< sizeof(struct mw_transport)
    const char *name;
    /// Connect and reset. `context` belongs to the transport. On failure `message` (size bytes) may
    /// receive the cause.
    int (*open)(const struct mw_open_options *options, void **context, char *message, size_t size);
    void (*close)(void *context);
    /// Access one word of the configuration bus (docs/reference/registers.md). MW_ERR_IO: the
    /// device replied with an error, or not at all.
    int (*cfg_read)(void *context, uint32_t address, uint32_t *value);
    int (*cfg_write)(void *context, uint32_t address, uint32_t value);
    /// As mw_mem_write and mw_mem_read. Arguments are already checked.
    int (*mem_write)(void *context, const struct mw_transfer *list, size_t count);
    int (*mem_read)(void *context, const struct mw_transfer *list, size_t count);
    /// Let the device run until the layer is done, at most max_cycles. `done` receives whether it
    /// is.
    int (*run_until)(void *context, uint64_t max_cycles, bool *done);
    // All following functions may be NULL.
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
    /// FEED and FED of docs/reference/host-protocol.md. `feed` queues a layer, which writes the
    /// registers and starts. `fed` waits until it is done, at most max_cycles.
    int (*feed)(void *context, const struct mw_register *list, size_t count, bool sweep,
                uint32_t *number);
    int (*fed)(void *context, uint32_t number, uint64_t max_cycles, struct mw_fed *fed, bool *done);
    /// Put the device, with its queue of layers, into its state after open, from any state.
    int (*reset)(void *context);
    /// Cycles of a wait between which other calls run: a constant. NULL: some thousand.
    uint64_t (*slice)(void *context);
    /// As mw_simulation_info.
    int (*model)(void *context, struct mw_simulation *model);
    /// As mw_firmware_read and mw_firmware_load. The image is already checked.
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
