// SPDX-License-Identifier: Apache-2.0
//
// An instruction from its fields, for the tests of the units that run it.
#ifndef INSTR_H
#define INSTR_H

#include <isa.h>

namespace tb {
/// `flags`: bits 3:0 are the flags, 5:4 a_high, 7:6 c_high.
inline mw_instr instr(unsigned op, unsigned flags, unsigned imm, uint32_t a, uint32_t b, uint32_t c)
{
    return {static_cast<uint8_t>(op),
            static_cast<uint8_t>(flags & 15),
            static_cast<uint8_t>(flags >> 4 & 3),
            static_cast<uint8_t>(flags >> 6 & 3),
            static_cast<uint16_t>(imm),
            a,
            b,
            c};
}
} // namespace tb

#endif
