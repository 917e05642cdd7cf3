// SPDX-License-Identifier: Apache-2.0
//
// Packets of docs/reference/packets.md and their flits, of 8 or of 16 bytes. There is one encoder
// and one decoder for valid and invalid packets. The header is encoded as it is: header() and
// target() make a valid one.
#ifndef BENCH_PACKET_H
#define BENCH_PACKET_H

#include "bench/random.h"

#include <packet.h> // the generated one

namespace tb {
/// It has exactly one target.
inline bool is_rowsp(unsigned opcode)
{
    return mw_opcode_of(opcode).needs == MW_NEEDS_ROW_SPARSE;
}
inline bool has_targets(unsigned opcode)
{
    return mw_opcode_of(opcode).targets == MW_TARGETS_EXPERTS;
}
inline bool has_group(unsigned opcode)
{
    return mw_opcode_of(opcode).targets == MW_TARGETS_GROUP;
}
inline bool has_payload(unsigned opcode)
{
    return mw_opcode_of(opcode).payload;
}
/// Opcodes of the packets of a row, for each of its targets.
inline bool stores_row(unsigned opcode)
{
    return has_targets(opcode) && has_payload(opcode);
}
/// Opcodes that an endpoint may send to the switch, without primitives of the switch itself.
/// Partial sums are answers.
inline bool may_ask(unsigned opcode)
{
    const struct mw_opcode op = mw_opcode_of(opcode);
    return op.sender == MW_UNIT_HUB && op.receiver == MW_UNIT_HUB &&
           op.needs != MW_NEEDS_MERGED_LOADS;
}

/// Data of an entry of the expert map, node_pkg::emap_t.
inline uint16_t place(bool valid, unsigned gpu, unsigned local = 0)
{
    const unsigned local_bits = 6;
    return static_cast<uint16_t>(valid << (MW_PORT_BITS + local_bits) | gpu << local_bits | local);
}

/// One entry of a target list.
inline uint16_t target(unsigned expert, unsigned position = 0)
{
    return static_cast<uint16_t>(expert << 4 | position);
}

inline mw_header header(unsigned opcode)
{
    mw_header h = {};
    h.opcode = opcode;
    h.cls = opcode >> 4;
    return h;
}

struct packet {
    mw_header h = {};
    std::vector<uint16_t> targets = {}; ///< all; the first is in the header, too
    bytes payload = {};
    unsigned lane = 0; ///< byte of its first flit in which the payload begins
    bool err = false;  ///< the link's error bit, with the last flit
    int cut = 0;       ///< flits missing at the end (< 0) or too many (> 0)

    /// Sets the list, with the header's count and first target.
    void set_targets(const std::vector<uint16_t> &list)
    {
        targets = list;
        h.cnt = static_cast<uint32_t>(list.size());
        h.target0 = list.empty() ? 0 : list[0];
    }
};

/// A packet as it is on a link.
struct wire {
    unsigned flit = 0; ///< bytes of one
    bytes data = {};
    std::vector<bool> sure = {}; ///< bytes that count, not those after targets and payload
    bool err = false;
    std::vector<bool> bad = {}; ///< flits that the link marks, besides the last one with err

    size_t flits() const { return data.size() / flit; }
    const uint8_t *at(size_t i) const { return data.data() + i * flit; }
    bool last(size_t i) const { return i + 1 == flits(); }
    bool marked(size_t i) const { return (err && last(i)) || (i < bad.size() && bad[i]); }
};

/// Bytes that do not count are random with a filler, or 0.
inline wire encode(const packet &p, unsigned flit, dice *filler = nullptr)
{
    wire w;
    w.flit = flit;
    w.err = p.err;
    auto add = [&w](uint8_t b) {
        w.data.push_back(b);
        w.sure.push_back(true);
    };
    auto fill_to = [&](size_t size) {
        while (w.data.size() < size) {
            w.data.push_back(filler ? static_cast<uint8_t>((*filler)()) : 0);
            w.sure.push_back(false);
        }
    };
    auto round_up = [&] { fill_to((w.data.size() + flit - 1) / flit * flit); };
    uint64_t head[2];
    mw_header_pack(&p.h, head);
    for (unsigned i = 0; i < MW_HEADER_BYTES; i++)
        add(static_cast<uint8_t>(head[i / 8] >> 8 * (i % 8)));
    for (size_t t = 1; t < p.targets.size(); t++) {
        add(static_cast<uint8_t>(p.targets[t]));
        add(static_cast<uint8_t>(p.targets[t] >> 8));
    }
    round_up();
    if (!p.payload.empty())
        fill_to(w.data.size() + p.lane);
    for (uint8_t b : p.payload)
        add(b);
    round_up();
    const int flits = static_cast<int>(w.flits()) + p.cut;
    const size_t size = flit * static_cast<size_t>(flits < 1 ? 1 : flits);
    fill_to(size);
    w.data.resize(size);
    w.sure.resize(size);
    return w;
}

/// Faults of a packet that must be only a header. They are another epoch, an opcode of `opcodes`, a
/// length, a number of targets, too few or too many flits, and a link error.
enum { BARE_FAULTS = 6 };
inline void spoil_bare(packet &p, unsigned fault, unsigned flit, dice &rng,
                       std::initializer_list<unsigned> opcodes)
{
    switch (fault) {
    case 0:
        p.h.epoch = (p.h.epoch + rng.between(1, 3)) & 3;
        break;
    case 1:
        p.h.opcode = rng.pick(opcodes);
        break;
    case 2:
        p.h.len = rng.between(1, 20);
        break;
    case 3:
        p.h.cnt = rng.between(1, 16);
        break;
    case 4:
        p.cut = flit == 8 ? rng.pick({-1, 1, 3}) : rng.pick({1, 3});
        break;
    default:
        p.err = true;
    }
}

inline mw_header header_of(const bytes &data)
{
    uint64_t head[2] = {};
    memcpy(head, data.data(), data.size() < MW_HEADER_BYTES ? data.size() : MW_HEADER_BYTES);
    mw_header h;
    mw_header_unpack(&h, head);
    return h;
}

/// A received packet. The payload is what follows the targets, at most len bytes from its lane on.
inline packet decode(const bytes &data, unsigned flit, unsigned lane = 0)
{
    packet p;
    p.h = header_of(data);
    p.lane = lane;
    size_t at = MW_HEADER_BYTES;
    if (has_targets(p.h.opcode) && p.h.cnt) {
        p.targets.push_back(static_cast<uint16_t>(p.h.target0));
        for (unsigned t = 1; t < p.h.cnt && at + 2 <= data.size(); t++, at += 2)
            p.targets.push_back(static_cast<uint16_t>(data[at] | data[at + 1] << 8));
    }
    at = (at + flit - 1) / flit * flit + lane;
    for (; has_payload(p.h.opcode) && at < data.size() && p.payload.size() < p.h.len; at++)
        p.payload.push_back(data[at]);
    return p;
}

/// Fails, with both, unless every byte that counts is the same.
inline void assert_wire(const wire &want, const bytes &got, const char *where)
{
    bool same = want.data.size() == got.size();
    for (size_t i = 0; same && i < got.size(); i++)
        same = !want.sure[i] || want.data[i] == got[i];
    if (same)
        return;
    std::string text;
    char byte[4];
    for (size_t i = 0; i < want.data.size(); i++) {
        snprintf(byte, sizeof byte, " %02x", want.data[i]);
        text += want.sure[i] ? byte : " --";
    }
    text += "\ngot ";
    for (uint8_t b : got) {
        snprintf(byte, sizeof byte, " %02x", b);
        text += byte;
    }
    print_error("%s: wrong packet\nwant%s\n", where, text.c_str());
    fail_msg("%s: wrong packet", where);
}
} // namespace tb

#endif
