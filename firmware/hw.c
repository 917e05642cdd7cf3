// SPDX-License-Identifier: Apache-2.0
//
// The bus and the GPUs' memories, where spec/map.toml puts them into the CPU's address space.
#include "hw.h"

static volatile uint32_t *word(uint32_t address)
{
    return (volatile uint32_t *)(uintptr_t)address;
}

uint32_t hw_read(uint32_t address)
{
    return *word(MW_MAP_CPU_BUS + address);
}

void hw_write(uint32_t address, uint32_t value)
{
    *word(MW_MAP_CPU_BUS + address) = value;
}

uint32_t hw_mem_read(unsigned gpu, uint32_t address)
{
    return *word(MW_MAP_CPU_GPU + MW_MAP_CPU_GPU_STRIDE * gpu + address);
}

void hw_mem_write(unsigned gpu, uint32_t address, uint32_t value)
{
    *word(MW_MAP_CPU_GPU + MW_MAP_CPU_GPU_STRIDE * gpu + address) = value;
}
