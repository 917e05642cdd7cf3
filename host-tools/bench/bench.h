// SPDX-License-Identifier: Apache-2.0
//
// `moeswitch bench`: patterns of traffic through the fabric without an MoE layer
// (docs/user/bench.md). This header has the options, the pattern and the result. Each pattern has a
// file of its own and is independent of time. measure.c runs the patterns and is independent of
// what they send.
#ifndef MW_HOST_BENCH_H
#define MW_HOST_BENCH_H

#include "moeswitch.h"

#include "cli/option_value.h"
#include "cli/tables.h"
#include "device/device.h"
#include "experiment/latencies.h"
#include "formats/json.h"
#include "golden/reduce.h"
#include "hardware/derive.h"
#include "trace/workload.h"

enum {
    MW_BENCH_PATTERNS = 9,
    MW_BENCH_UNTOUCHED =
        0xe5, ///< bytes of results before a run: what is never written must not pass
};

struct mw_bench_params {
    bool named;                  ///< the command line has the next two
    bool run[MW_BENCH_PATTERNS]; ///< requested patterns, by their index
    bool latency;                ///< the ping-pong instead
    struct mw_device_choice device;
    unsigned gpus, flit_bytes, link_latency; ///< the first two 0 only while parsing
    const struct mw_hardware *hardware; ///< the machine, one plane of which is simulated; or NULL
    struct mw_plane plane;              ///< where there is a machine
    uint64_t min_bytes, max_bytes;      ///< 0: the command's own
    unsigned factor, iterations;        ///< iterations 0: the command's own
    unsigned window;         ///< look-ahead window of the switch, store packets of an input; 0: all
    unsigned row;            ///< bytes, 0: the pattern's own
    unsigned dtypes, redops; ///< masks of types and operators of reductions; those that exist run.
                             ///< Bits MW_DTYPES and MW_REDOPS: all were requested
    unsigned experts, k;
    bool k_given, experts_given;
    bool distribution; ///< of the latencies in the switch, for each line
    bool split;        ///< the lower half sends, the upper half receives
    bool load;         ///< latency: the other GPUs send all the time
    const char *trace; ///< or NULL
    struct mw_trace_said said;
    unsigned layer;
    uint64_t seed;
    struct mw_settings settings;
    struct mw_data_files files;
};

int mw_bench_parse(struct mw_bench_params *params, int argc, char **argv, bool *help,
                   struct mw_error *err);
/// Refuse options that do not go together, and fill in those that depend on others.
int mw_bench_check(struct mw_bench_params *params, struct mw_error *err);
/// The options of the commands.
extern const struct mw_option_table mw_bench_table, mw_bench_link_table;
/// `moeswitch bench link`: argv[0] is the name of the command.
int mw_bench_link_command(int argc, char **argv, FILE *out, FILE *errors);

// ---- a line -------------------------------------------------------------------------------------

struct mw_pattern;

/// The device, and one iteration of one line on it.
struct mw_bench {
    const struct mw_bench_params *params;
    struct mw_error *err;
    struct mw_device *device; ///< NULL: only sizes are checked
    struct mw_device_info info;
    struct mw_trace trace; ///< loaded, where one was given

    const struct mw_pattern *pattern;
    uint64_t size;         ///< of the line, as rounded
    uint64_t seed;         ///< of this iteration
    unsigned row;          ///< bytes
    unsigned dtype, redop; ///< of patterns that reduce

    // made by the pattern
    struct mw_layer_config config;
    struct mw_layout layout;
    unsigned tokens[MW_MAX_PORTS]; ///< that each GPU sends
    unsigned streams;              ///< per GPU
    struct mw_multicast *group;    ///< of all GPUs, or NULL
    uint64_t source, result;       ///< areas of explicit addresses
    uint64_t scratch;              ///< bytes of them beside a pattern of tokens
    uint64_t flat;        ///< bytes from address 0 on where rows land at their token's number
    struct mw_workload w; ///< of patterns that send tokens
};

struct mw_pattern {
    const char *name;
    const char *text;   ///< half a line, for help
    bool reduces;       ///< type and operator are those of the line
    const char *type;   ///< of other patterns
    unsigned element;   ///< bytes of it
    unsigned row;       ///< default of --row
    unsigned fewest;    ///< bytes per GPU: sizes are multiples of it times N; 0: of a row
    unsigned classes;   ///< mask of link classes whose uplink flits show how far a sender is
    unsigned bus_times; ///< busbw is algbw * bus_times * (N - 1) / N; 0: from the counters
    bool lists;         ///< tokens go to k of E experts; else, where there are tokens, to one of N
    bool gates;         ///< gate weights and row counts too: `--trace` means something
    /// Sizes, layout, and whatever depends on size and seed. Returns an exit status, as all do.
    int (*prepare)(struct mw_bench *b);
    void (*make)(const struct mw_bench *b, unsigned gpu, struct mw_stream *s);
    int (*load)(struct mw_bench *b);
    /// Number of elements that are wrong.
    int (*check)(struct mw_bench *b, uint64_t *wrong);
    /// Streams without the phase that is measured. NULL: everything is.
    void (*make_before)(const struct mw_bench *b, unsigned gpu, struct mw_stream *s);
};

extern const struct mw_pattern mw_bench_patterns[MW_BENCH_PATTERNS];

// patterns with explicit addresses (buffers.c)
int mw_bench_buffers_prepare(struct mw_bench *b);
int mw_bench_buffers_load(struct mw_bench *b);
int mw_bench_buffers_check(struct mw_bench *b, uint64_t *wrong);
void mw_bench_alltoall(const struct mw_bench *b, unsigned gpu, struct mw_stream *s);
void mw_bench_all_gather(const struct mw_bench *b, unsigned gpu, struct mw_stream *s);
void mw_bench_reduce_scatter(const struct mw_bench *b, unsigned gpu, struct mw_stream *s);
void mw_bench_all_reduce(const struct mw_bench *b, unsigned gpu, struct mw_stream *s);
void mw_bench_red(const struct mw_bench *b, unsigned gpu, struct mw_stream *s);

// patterns of tokens (tokens.c, landed.c)
int mw_bench_tokens_prepare(struct mw_bench *b);
int mw_bench_tokens_load(struct mw_bench *b);
int mw_bench_landed_check(struct mw_bench *b, uint64_t *wrong);
int mw_bench_flat_check(struct mw_bench *b, uint64_t *wrong);
int mw_bench_combine_check(struct mw_bench *b, uint64_t *wrong);
void mw_bench_rows(const struct mw_bench *b, unsigned gpu, struct mw_stream *s);
void mw_bench_dispatch(const struct mw_bench *b, unsigned gpu, struct mw_stream *s);
void mw_bench_experts(const struct mw_bench *b, unsigned gpu, struct mw_stream *s);
void mw_bench_combine(const struct mw_bench *b, unsigned gpu, struct mw_stream *s);

// ---- what comes out -----------------------------------------------------------------------------

struct mw_bench_row {
    const struct mw_pattern *pattern;
    const char *type, *redop;
    unsigned element; ///< bytes of the type
    uint64_t size;
    unsigned row;
    double cycles; ///< mean of the iterations
    double algbw, busbw;
    double share, busiest;
    bool steady;
    bool down; ///< the direction that carries more
    uint64_t wrong;
    uint64_t up_flits, down_flits; ///< of all links, of the last iteration
    bool has_latencies;
    struct mw_latencies latencies; ///< in the switch, of the class that carries the pattern's data
};

struct mw_bench_latency {
    uint64_t size;
    unsigned count;
    double min, typical, max, average, p99, p999; ///< cycles, one way
    unsigned resolution; ///< cycles between two looks at the device, of a round trip
    uint64_t wrong;
};

/// Exit status and message of a run that Ctrl-C ends.
int mw_bench_interrupted(const struct mw_bench *b);
/// Exit status of a library call that failed. The message goes to b->err.
int mw_bench_failed(const struct mw_bench *b, const char *what, int code);
/// Settings of the layer from the options, on top of mw_layer_defaults.
int mw_bench_configure(struct mw_bench *b);
/// Lay out the memories for b->config, by b->info.
int mw_bench_layout(struct mw_bench *b);
/// Streams of every GPU, built by `make`, into the memories.
int mw_bench_load_streams(struct mw_bench *b,
                          void (*make)(const struct mw_bench *, unsigned, struct mw_stream *));
/// Move an area of `bytes` bytes of each GPU, one after the other in `data`.
int mw_bench_move(struct mw_bench *b, bool write, uint64_t address, void *data, size_t bytes,
                  const char *what);
void mw_bench_release(struct mw_bench *b);
/// Bytes of an element of the line that is being run.
unsigned mw_bench_element(const struct mw_bench *b);

/// Whether the device holds a line of that size, by b->info; no device is needed.
/// Returns an exit status.
int mw_bench_fits(struct mw_bench *b, const struct mw_pattern *pattern, uint64_t size);
int mw_bench_pingpong_fits(struct mw_bench *b, uint64_t size);
/// One line: all iterations. Patterns that reduce do so with b->dtype and b->redop.
int mw_bench_measure(struct mw_bench *b, const struct mw_pattern *pattern, uint64_t size,
                     struct mw_bench_row *row);
int mw_bench_pingpong(struct mw_bench *b, uint64_t size, struct mw_bench_latency *result);

/// The command: argv[0] is "bench".
int mw_bench_command(int argc, char **argv, FILE *out, FILE *err);

#endif
