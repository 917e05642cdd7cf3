// SPDX-License-Identifier: Apache-2.0
//
// One MoE layer through libmoeswitch: 2 GPUs with 16 tokens each, 64 hidden values, 8 experts, 2
// per token. The experts' coefficients are 1 and the gate weights 1/2, so that every output row
// must be the token itself, bit for bit, after it has been at two experts and their sum came home.
#include "moeswitch.h"

#include <stdio.h>
#include <string.h>

enum { GPUS = 2, TOKENS = 16, HIDDEN = 64, EXPERTS = 8, K = 2 };

static uint16_t x[GPUS][TOKENS][HIDDEN], out[GPUS][TOKENS][HIDDEN];
static int16_t topk_idx[GPUS][TOKENS][K];
static float topk_weights[GPUS][TOKENS][K];

static int check(const char *call, int status)
{
    if (status)
        fprintf(stderr, "%s: %s: %s\n", call, mw_strerror(status), mw_message());
    return status;
}

static void make_tokens(struct mw_tokens *part)
{
    for (int g = 0; g < GPUS; g++) {
        for (int t = 0; t < TOKENS; t++) {
            for (int i = 0; i < HIDDEN; i++) // bf16 from 1.0 upwards
                x[g][t][i] = (uint16_t)(0x3f80 + (g * TOKENS + t) * HIDDEN / 2 + i);
            for (int j = 0; j < K; j++) {
                topk_idx[g][t][j] = (int16_t)((g + 3 * t + 5 * j) % EXPERTS);
                topk_weights[g][t][j] = 0.5f;
            }
        }
        part[g] = (struct mw_tokens){TOKENS, x[g][0], topk_idx[g][0], topk_weights[g][0]};
    }
}

static int run_layer(struct mw_device *device, struct mw_dymulticast **object,
                     struct mw_handle **handle)
{
    const struct mw_dymulticast_prop prop = {.size = sizeof prop,
                                             .block_bytes = 2 * HIDDEN,
                                             .region_sets = 2,
                                             .k = K,
                                             .experts = EXPERTS};
    uint16_t one[EXPERTS], *rows[GPUS];
    struct mw_tokens part[GPUS];
    uint64_t cycles;
    make_tokens(part);
    for (int e = 0; e < EXPERTS; e++)
        one[e] = 0x3f80;
    for (int g = 0; g < GPUS; g++)
        rows[g] = out[g][0];
    if (check("create", mw_dymulticast_create(device, &prop, object)) ||
        check("bind", mw_dymulticast_bind_addr(*object, GPUS * TOKENS, 2 * TOKENS)) ||
        check("dispatch", mw_dispatch(*object, part, one, handle)) ||
        check("combine", mw_combine(*handle, rows, NULL, &cycles)))
        return 1;
    printf("%d tokens in %llu cycles\n", GPUS * TOKENS, (unsigned long long)cycles);
    return 0;
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
    if (!status && memcmp(x, out, sizeof x) != 0) {
        fprintf(stderr, "the output differs from the input\n");
        status = 1;
    }
    return status;
}
