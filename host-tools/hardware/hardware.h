// SPDX-License-Identifier: Apache-2.0
//
// Machines: GPUs, planes, links, memory and FLOPS of a real machine, from a preset or a JSON file
// (docs/user/hardware.md). The parameters of the simulated fabric follow from them.
#ifndef MW_HOST_HARDWARE_H
#define MW_HOST_HARDWARE_H

#include "cli/option_value.h"

#include <stdio.h>

/// Types of an expert's GEMMs.
enum mw_gemm_type { MW_GEMM_BF16, MW_GEMM_FP8, MW_GEMM_FP4, MW_GEMM_TYPES };

extern const char *const mw_gemm_names[MW_GEMM_TYPES]; ///< "bf16", "fp8", "fp4": keys of the file

enum { MW_HARDWARE_NAME = 64, MW_HARDWARE_SOURCE = 512, MW_MAX_PLANES = 64 };

/// A machine. Rates are of one GPU, peak, dense.
struct mw_hardware {
    char name[MW_HARDWARE_NAME];
    unsigned gpus;        ///< 2 .. 128
    unsigned planes;      ///< parallel switches, each with a link to every GPU: 1 .. MW_MAX_PLANES
    double link_gbytes;   ///< GB/s (10^9 bytes) of all planes together, in each direction
    double link_ns;       ///< from GPU to switch, or from switch to GPU
    double memory_gbytes; ///< GB/s of the GPU's memory
    double tflops[MW_GEMM_TYPES]; ///< 10^12 operations per second; 0: not stated
    double capacity_gbytes;       ///< GB of the GPU's memory; 0: not stated
    double network_gbytes;        ///< GB/s of a GPU to other machines, per direction; 0: not stated
    double network_ns;            ///< from GPU to GPU of two machines; 0: not stated
    char source[MW_HARDWARE_SOURCE]; ///< of these numbers
};

/// The value of --gemm-type and other types: `place` is an enum mw_gemm_type.
int mw_set_gemm_type(void *place, const char *name, const char *text, struct mw_error *err);
mw_terms mw_gemm_type_values;
/// The value of --hardware for option_table.h: `place` is a const struct mw_hardware *. A preset's
/// name, else the path of a file, whose contents are kept until the program ends. MW_EXIT_INPUT:
/// no such preset or file, or a file that contradicts itself, with file, key and cause.
int mw_set_hardware(void *place, const char *name, const char *text, struct mw_error *err);
/// The path of the file that mw_set_hardware read it from, or NULL: a preset, or none (NULL).
const char *mw_hardware_file(const struct mw_hardware *hardware);
/// The names of the presets.
mw_terms mw_hardware_names;
#define MW_HARDWARE_OPTION(place, function, text) \
    MW_CHOICE("hardware", place, function, mw_hardware_names, "NAME|FILE", \
              text "; {} or the path of a JSON file ('moeswitch hardware' shows and writes them)")
/// Preset number `i`, or NULL.
const struct mw_hardware *mw_hardware_preset(unsigned i);
/// All presets as a table for people.
void mw_hardware_list(FILE *out);
/// `hardware` as a file that mw_set_hardware reads. MW_EXIT_FAILED: no memory.
int mw_hardware_write(FILE *out, const struct mw_hardware *hardware, struct mw_error *err);

#endif
