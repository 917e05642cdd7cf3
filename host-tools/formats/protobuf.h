// SPDX-License-Identifier: Apache-2.0
//
// Protocol Buffers' wire format, field by field. A rewritten message keeps every field that its
// reader does not support, byte for byte. Code generated from one version of a schema does not
// guarantee this.
#ifndef MW_HOST_PROTOBUF_H
#define MW_HOST_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/// Wire types; groups (3, 4) are refused.
enum mw_pb_type { MW_PB_VARINT, MW_PB_FIXED64, MW_PB_BYTES, MW_PB_FIXED32 = 5 };

/// Where a reader is in a message.
struct mw_pb {
    const uint8_t *at, *end;
};

struct mw_pb_field {
    uint32_t number; ///< 1 .. 2^29 - 1
    enum mw_pb_type type;
    uint64_t value;     ///< of a number, not decoded further
    struct mw_pb bytes; ///< of MW_PB_BYTES: a string, a message, or packed numbers
    struct mw_pb whole; ///< the field with its tag
};

/// The next field; false at the end, and where the message is malformed: then m->at is not m->end.
bool mw_pb_next(struct mw_pb *m, struct mw_pb_field *field);
/// The next number of packed ones, or the size in front of a message; false as above.
bool mw_pb_varint(struct mw_pb *m, uint64_t *value);
/// Write a varint, and a field that is one.
void mw_pb_put(FILE *out, uint64_t value);
void mw_pb_put_number(FILE *out, uint32_t number, uint64_t value);

#endif
