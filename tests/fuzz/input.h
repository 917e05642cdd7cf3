// SPDX-License-Identifier: Apache-2.0
//
// A fuzzer's input as a stream of bytes that end in zeros, and changes of a frame that it selects.
#ifndef MW_FUZZ_INPUT_H
#define MW_FUZZ_INPUT_H

#include <stddef.h>
#include <stdint.h>

struct input {
    const uint8_t *data;
    size_t left;
};

static inline unsigned byte(struct input *in)
{
    if (!in->left)
        return 0;
    in->left--;
    return *in->data++;
}

/// Change a byte of a frame, or cut it. `how` returns further choices of the input to the caller.
/// Returns its size.
static inline size_t damage(struct input *in, uint8_t *bytes, size_t count, unsigned *how)
{
    *how = byte(in);
    unsigned at = byte(in) << 8 | byte(in);
    if (*how & 1)
        bytes[at % count] ^= (uint8_t)byte(in);
    return *how & 2 ? at % (count + 1) : count;
}

#endif
