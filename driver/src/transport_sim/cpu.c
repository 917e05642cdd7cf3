// SPDX-License-Identifier: Apache-2.0
//
// The features come from the CPUID instruction. Their names are those of /proc/cpuinfo, which not
// every process can read.
#include "transport_sim/cpu.h"

#include <stddef.h>
#include <string.h>

#ifdef __x86_64__
#include <cpuid.h>
#include <stdint.h>

enum { EAX, EBX, ECX, EDX };

static const struct feature {
    const char *name;
    unsigned leaf, subleaf, reg, bit;
} FEATURES[] = {
    {"pni", 1, 0, ECX, 0},
    {"ssse3", 1, 0, ECX, 9},
    {"fma", 1, 0, ECX, 12},
    {"sse4_1", 1, 0, ECX, 19},
    {"sse4_2", 1, 0, ECX, 20},
    {"movbe", 1, 0, ECX, 22},
    {"popcnt", 1, 0, ECX, 23},
    {"avx", 1, 0, ECX, 28},
    {"f16c", 1, 0, ECX, 29},
    {"bmi1", 7, 0, EBX, 3},
    {"avx2", 7, 0, EBX, 5},
    {"bmi2", 7, 0, EBX, 8},
    {"avx512f", 7, 0, EBX, 16},
    {"avx512dq", 7, 0, EBX, 17},
    {"adx", 7, 0, EBX, 19},
    {"avx512ifma", 7, 0, EBX, 21},
    {"avx512cd", 7, 0, EBX, 28},
    {"avx512bw", 7, 0, EBX, 30},
    {"avx512vl", 7, 0, EBX, 31},
    {"avx512vbmi", 7, 0, ECX, 1},
    {"avx512_vbmi2", 7, 0, ECX, 6},
    {"gfni", 7, 0, ECX, 8},
    {"avx512_vnni", 7, 0, ECX, 11},
    {"avx512_bitalg", 7, 0, ECX, 12},
    {"avx512_vpopcntdq", 7, 0, ECX, 14},
    {"avx512_fp16", 7, 0, EDX, 23},
    {"avx_vnni", 7, 1, EAX, 4},
    {"avx512_bf16", 7, 1, EAX, 5},
    {"abm", 0x80000001, 0, ECX, 5},
};

/// Registers that the system keeps for each thread: 2 and 4: 256 bits, 0xe0: 512 bits.
static uint32_t kept_registers(void)
{
    enum { OSXSAVE = 1 << 27 };
    unsigned r[4];
    if (!__get_cpuid(1, &r[EAX], &r[EBX], &r[ECX], &r[EDX]) || !(r[ECX] & OSXSAVE))
        return 0;
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

static bool kept(const char *name)
{
    static const char *const wide[] = {"avx", "fma", "f16c"};
    uint32_t needed = strncmp(name, "avx512", 6) == 0 ? 0xe6 : 0;
    for (size_t i = 0; i < sizeof wide / sizeof *wide && !needed; i++)
        needed = strncmp(name, wide[i], strlen(wide[i])) == 0 ? 6 : 0;
    return (kept_registers() & needed) == needed;
}

bool mwi_cpu_has(const char *name)
{
    for (size_t i = 0; i < sizeof FEATURES / sizeof *FEATURES; i++) {
        const struct feature *f = &FEATURES[i];
        unsigned r[4];
        if (strcmp(name, f->name) == 0)
            return __get_cpuid_count(f->leaf, f->subleaf, &r[EAX], &r[EBX], &r[ECX], &r[EDX]) &&
                   r[f->reg] >> f->bit & 1 && kept(name);
    }
    return false;
}
#else
bool mwi_cpu_has(const char *name)
{
    (void)name; // models for others need nothing that has a name
    return false;
}
#endif
