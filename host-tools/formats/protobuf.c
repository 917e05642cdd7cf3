// SPDX-License-Identifier: Apache-2.0
//
// See protobuf.h.
#include "formats/protobuf.h"

enum { TYPE_BITS = 3, MOST_NUMBER = (1 << 29) - 1 };

bool mw_pb_varint(struct mw_pb *m, uint64_t *value)
{
    const uint8_t *at = m->at;
    *value = 0;
    for (unsigned shift = 0; at < m->end && shift < 64; shift += 7) {
        const uint8_t byte = *at++;
        if (shift == 63 && byte > 1) // beyond 64 bits
            return false;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte & 0x80)
            continue;
        m->at = at;
        return true;
    }
    return false;
}

/// A number of so many bytes, the lowest first.
static bool take_fixed(struct mw_pb *m, unsigned bytes, uint64_t *value)
{
    if ((size_t)(m->end - m->at) < bytes)
        return false;
    *value = 0;
    for (unsigned i = 0; i < bytes; i++)
        *value |= (uint64_t)m->at[i] << 8 * i;
    m->at += bytes;
    return true;
}

static bool take_value(struct mw_pb *m, struct mw_pb_field *f)
{
    switch (f->type) {
    case MW_PB_VARINT:
        return mw_pb_varint(m, &f->value);
    case MW_PB_FIXED64:
        return take_fixed(m, 8, &f->value);
    case MW_PB_FIXED32:
        return take_fixed(m, 4, &f->value);
    case MW_PB_BYTES:
        if (!mw_pb_varint(m, &f->value) || f->value > (uint64_t)(m->end - m->at))
            return false;
        f->bytes = (struct mw_pb){m->at, m->at + f->value};
        m->at = f->bytes.end;
        return true;
    default:
        return false;
    }
}

bool mw_pb_next(struct mw_pb *m, struct mw_pb_field *f)
{
    struct mw_pb rest = *m;
    uint64_t tag;
    *f = (struct mw_pb_field){0};
    if (m->at == m->end || !mw_pb_varint(&rest, &tag))
        return false;
    const uint64_t number = tag >> TYPE_BITS;
    f->number = (uint32_t)number;
    f->type = (enum mw_pb_type)(tag & ((1 << TYPE_BITS) - 1));
    if (!number || number > MOST_NUMBER || !take_value(&rest, f))
        return false;
    f->whole = (struct mw_pb){m->at, rest.at};
    m->at = rest.at;
    return true;
}

void mw_pb_put(FILE *out, uint64_t value)
{
    for (; value > 0x7f; value >>= 7)
        fputc((int)(value & 0x7f) | 0x80, out);
    fputc((int)value, out);
}

void mw_pb_put_number(FILE *out, uint32_t number, uint64_t value)
{
    mw_pb_put(out, (uint64_t)number << TYPE_BITS | MW_PB_VARINT);
    mw_pb_put(out, value);
}
