// SPDX-License-Identifier: Apache-2.0
//
// See hardware.h. Where a source states both directions together, a direction has half. Where it
// states FLOPS with sparsity, dense ones are half. The latency of a link is that of the papers'
// simulators.
#include "hardware/hardware.h"

#include <inttypes.h>

/// GB/s of one 400 Gb/s network port per GPU, and an assumed latency between two machines.
#define NETWORK 50, 5000

static const struct mw_hardware presets[] = {
    {"hgx-h100",
     8,
     4,
     450,
     250,
     3350,
     {989, 1979, 0},
     80,
     NETWORK,
     "NVIDIA H100 data sheet, SXM: NVLink 900 GB/s in both directions, 3.35 TB/s, 80 GB, dense "
     "FLOPS; HGX H100: 4 NVSwitch; 250 ns a link: arXiv 2605.05607, evaluation; network: DGX H100, "
     "one 400 Gb/s port per GPU; 5 us assumed"},
    {"hgx-h800",
     8,
     4,
     200,
     250,
     3350,
     {989, 1979, 0},
     80,
     NETWORK,
     "hgx-h100 with NVLink of 400 GB/s in both directions, as arXiv 2605.05888, evaluation; "
     "network: arXiv 2412.19437, section 3.1 (InfiniBand), 400 Gb/s per GPU"},
    {"hgx-b200",
     8,
     18,
     900,
     250,
     8000,
     {2250, 4500, 9000},
     180,
     NETWORK,
     "NVIDIA HGX B200 data sheet: NVLink 1.8 TB/s in both directions, 2 NVSwitch, 8 TB/s, 1.44 TB "
     "of 8 GPUs, dense FLOPS; the 9 links of a GPU to each switch as planes of one link, as in "
     "gb200-nvl72; 250 ns a link and network: as hgx-h100"},
    {"gh200-nvl32",
     32,
     9,
     450,
     250,
     4900,
     {989, 1979, 0},
     144,
     NETWORK,
     "NVIDIA GH200 NVL32: 9 NVSwitch trays as planes of two links, NVLink 900 GB/s in both "
     "directions, HBM3e 144 GB, 4.9 TB/s; arXiv 2605.05607, evaluation: 32 GPUs, 9 NVSwitch, 250 "
     "ns a link; network: as hgx-h100"},
    {"gb200-nvl72",
     72,
     18,
     900,
     250,
     8000,
     {2500, 5000, 10000},
     186,
     NETWORK,
     "NVIDIA GB200 NVL72 data sheet: 72 GPUs, NVLink 1.8 TB/s in both directions, 8 TB/s, 13.4 TB "
     "of 72 GPUs, dense FLOPS; 18 NVSwitch chips in 9 trays; 250 ns a link and network: as "
     "hgx-h100"},
    {"dysharp",
     32,
     9,
     450,
     250,
     4800,
     {989, 1979, 0},
     141,
     NETWORK,
     "arXiv 2605.05607, evaluation: NVL32 with H200 parameters (141 GB), 9 NVSwitch, 900 GB/s in "
     "both directions, 250 ns a link; network: as hgx-h100"},
    {"moe-hub",
     8,
     4,
     200,
     250,
     3350,
     {989, 1979, 0},
     80,
     NETWORK,
     "arXiv 2605.05888, evaluation: 8 GPUs like H800 (80 GB), 4 NVSwitch, 400 GB/s per GPU (in "
     "both directions), 250 ns a link; network: as hgx-h800"},
    {"cais",
     8,
     4,
     450,
     250,
     3350,
     {495, 989, 0},
     80,
     NETWORK,
     "CAIS, evaluation: DGX-H100, 4 NVSwitch, 250 ns a hop, half the SMs, as the models' sizes are "
     "halved; network: as hgx-h100"},
};

enum { PRESETS = sizeof presets / sizeof *presets };

const struct mw_hardware *mw_hardware_preset(unsigned i)
{
    return i < PRESETS ? &presets[i] : NULL;
}

bool mw_hardware_names(unsigned i, struct mw_term *term)
{
    if (i < PRESETS)
        *term = (struct mw_term){presets[i].name, NULL};
    return i < PRESETS;
}

void mw_hardware_list(FILE *out)
{
    fprintf(out, "%-12s %5s %7s %10s %8s %11s %10s %13s %7s %7s %7s\n", "hardware", "GPUs",
            "planes", "link GB/s", "link ns", "memory GB/s", "memory GB", "network GB/s", "bf16",
            "fp8", "fp4");
    for (unsigned i = 0; i < PRESETS; i++) {
        const struct mw_hardware *h = &presets[i];
        fprintf(out, "%-12s %5u %7u %10.0f %8.0f %11.0f %10.0f %13.0f %7.0f %7.0f %7.0f\n", h->name,
                h->gpus, h->planes, h->link_gbytes, h->link_ns, h->memory_gbytes,
                h->capacity_gbytes, h->network_gbytes, h->tflops[MW_GEMM_BF16],
                h->tflops[MW_GEMM_FP8], h->tflops[MW_GEMM_FP4]);
    }
    fputs(
        "Rates are of one GPU; links per direction, all planes together; the last three are dense "
        "TFLOPS, 0: not stated.\n",
        out);
}
