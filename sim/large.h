// SPDX-License-Identifier: Apache-2.0
//
// Memory of a plain model: all memories of its GPUs are one object, which may be larger than the
// machine's memory. An object of this size takes from the system only the pages that are used.
// Include it once: it replaces the operators of the program, or of the shared object that exports
// none of them.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>

#include <sys/mman.h>

namespace large {
constexpr std::size_t LEAST = std::size_t(1) << 26;

// existing blocks and their sizes: never destroyed, because others may be destroyed later
struct list {
    std::mutex lock;
    std::map<void *, std::size_t> blocks;
};
inline list &all()
{
    static list &the_list = *new list;
    return the_list;
}

inline void *take(std::size_t bytes)
{
    void *block = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (block == MAP_FAILED)
        return nullptr;
    std::lock_guard<std::mutex> guard(all().lock);
    all().blocks[block] = bytes;
    return block;
}

// Returns false if it is no such block
inline bool give(void *block)
{
    std::size_t bytes;
    {
        std::lock_guard<std::mutex> guard(all().lock);
        auto found = all().blocks.find(block);
        if (found == all().blocks.end())
            return false;
        bytes = found->second;
        all().blocks.erase(found);
    }
    munmap(block, bytes);
    return true;
}

// only these begin at a page, so others need no search
inline bool may_be(void *block)
{
    return block && reinterpret_cast<std::size_t>(block) % 4096 == 0;
}
} // namespace large

void *operator new(std::size_t bytes, const std::nothrow_t &) noexcept
{
    return bytes >= large::LEAST ? large::take(bytes) : std::malloc(bytes ? bytes : 1);
}
void *operator new(std::size_t bytes)
{
    void *block = operator new(bytes, std::nothrow);
    if (!block)
        throw std::bad_alloc();
    return block;
}
// Verilator's classes are aligned to lines of the cache.
void *operator new(std::size_t bytes, std::align_val_t align)
{
    const std::size_t unit = static_cast<std::size_t>(align);
    void *block = bytes >= large::LEAST ? large::take(bytes)
                                        : std::aligned_alloc(unit, (bytes / unit + 1) * unit);
    if (!block)
        throw std::bad_alloc();
    return block;
}
void operator delete(void *block) noexcept
{
    if (!large::may_be(block) || !large::give(block))
        std::free(block);
}
void operator delete(void *block, std::size_t) noexcept
{
    operator delete(block);
}
void operator delete(void *block, std::align_val_t) noexcept
{
    operator delete(block);
}
void operator delete(void *block, std::size_t, std::align_val_t) noexcept
{
    operator delete(block);
}
