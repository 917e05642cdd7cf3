// SPDX-License-Identifier: Apache-2.0
//
// One MoE layer whose program does its own work between dispatch and combine, as with DeepEP:
// 2 GPUs with 16 tokens each, 64 hidden values, 8 experts, 2 per token. While the rows are on their
// way, the program computes a shared expert, which each token visits at home. Then it computes
// the routed experts from the rows that they have received, and the device adds and returns their
// results. All numbers are exact in bf16: expert e multiplies by 1 + e % 2, the shared one by 2.
#include "moeswitch.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

enum { GPUS = 2, TOKENS = 16, HIDDEN = 64, EXPERTS = 8, K = 2, ROWS = GPUS * TOKENS };

static uint16_t x[GPUS][TOKENS][HIDDEN], out[GPUS][TOKENS][HIDDEN];
static int16_t topk_idx[GPUS][TOKENS][K];
static float topk_weights[GPUS][TOKENS][K], shared[GPUS][TOKENS][HIDDEN];

static int check(const char *call, int status)
{
    if (status)
        fprintf(stderr, "%s: %s: %s\n", call, mw_strerror(status), mw_message());
    return status;
}

static float to_float(uint16_t bf16)
{
    const uint32_t bits = (uint32_t)bf16 << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/// Of a value that bf16 holds.
static uint16_t to_bf16(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)(bits >> 16);
}

static void make_tokens(struct mw_tokens *part)
{
    for (int g = 0; g < GPUS; g++) {
        for (int t = 0; t < TOKENS; t++) {
            for (int i = 0; i < HIDDEN; i++)
                x[g][t][i] = to_bf16((float)((g * TOKENS + t + i) % 32));
            for (int j = 0; j < K; j++) {
                topk_idx[g][t][j] = (int16_t)((g + 3 * t + 5 * j) % EXPERTS);
                topk_weights[g][t][j] = 0.5f;
            }
        }
        part[g] = (struct mw_tokens){TOKENS, x[g][0], topk_idx[g][0], topk_weights[g][0]};
    }
}

/// The program's own work, which needs no row of another GPU.
static void compute_shared(void)
{
    for (int g = 0; g < GPUS; g++)
        for (int t = 0; t < TOKENS; t++)
            for (int i = 0; i < HIDDEN; i++)
                shared[g][t][i] = 2 * to_float(x[g][t][i]);
}

/// Expert e: read its rows, multiply, and write its results, with the gate weights.
static int compute_expert(struct mw_handle *handle, unsigned e)
{
    static struct mw_received_row row[ROWS];
    static uint16_t values[ROWS][HIDDEN];
    size_t count;
    if (check("received", mw_received(handle, e, row, values[0], ROWS, &count, NULL)))
        return 1;
    for (size_t r = 0; r < count; r++)
        for (int i = 0; i < HIDDEN; i++)
            values[r][i] = to_bf16(row[r].weight * (float)(1 + e % 2) * to_float(values[r][i]));
    return check("expert output", mw_expert_output(handle, e, values[0], NULL));
}

static int run_layer(struct mw_device *device, struct mw_dymulticast **object,
                     struct mw_handle **handle)
{
    const struct mw_dymulticast_prop prop = {.size = sizeof prop,
                                             .block_bytes = 2 * HIDDEN,
                                             .region_sets = 2,
                                             .k = K,
                                             .experts = EXPERTS};
    static const uint16_t unused[EXPERTS]; // coefficients of the device's own experts
    uint16_t *rows[GPUS] = {out[0][0], out[1][0]};
    struct mw_tokens part[GPUS];
    uint64_t arrived, cycles;
    make_tokens(part);
    // From the first call on a thread of the library advances a simulated device.
    struct pollfd event = {.fd = mw_event_fd(device), .events = POLLIN};
    if (event.fd < 0)
        return check("event", event.fd);
    if (check("create", mw_dymulticast_create(device, &prop, object)) ||
        check("bind", mw_dymulticast_bind_addr(*object, ROWS, ROWS)) ||
        check("dispatch", mw_dispatch(*object, part, unused, handle)))
        return 1;
    compute_shared(); // while the rows are on their way
    poll(&event, 1, -1);
    if (check("dispatch wait", mw_dispatch_wait(*handle, NULL, &arrived)))
        return 1;
    for (unsigned e = 0; e < EXPERTS; e++)
        if (compute_expert(*handle, e))
            return 1;
    if (check("combine", mw_combine(*handle, rows, NULL, &cycles)))
        return 1;
    printf("%d tokens: rows received after %llu cycles, combined in %llu more\n", ROWS,
           (unsigned long long)arrived, (unsigned long long)(cycles - arrived));
    return 0;
}

/// Tokens whose sum of shared and routed experts is wrong.
static int count_wrong(void)
{
    int wrong = 0;
    for (int g = 0; g < GPUS; g++)
        for (int t = 0; t < TOKENS; t++) {
            float factor = 2;
            int bad = 0;
            for (int j = 0; j < K; j++)
                factor += topk_weights[g][t][j] * (float)(1 + topk_idx[g][t][j] % 2);
            for (int i = 0; i < HIDDEN; i++)
                bad |= shared[g][t][i] + to_float(out[g][t][i]) != factor * to_float(x[g][t][i]);
            wrong += bad;
        }
    return wrong;
}

int main(void)
{
    struct mw_open_options options;
    struct mw_device *device;
    struct mw_dymulticast *object = NULL;
    struct mw_handle *handle = NULL;
    mw_open_defaults(&options);
    options.gpus = GPUS;
    options.flit_bytes = 8;
    if (check("open", mw_open(&options, &device)))
        return 1;
    int status = run_layer(device, &object, &handle);
    mw_handle_destroy(handle);
    mw_dymulticast_destroy(object);
    mw_close(device);
    if (!status && count_wrong()) {
        fprintf(stderr, "%d tokens are wrong\n", count_wrong());
        status = 1;
    }
    return status;
}
