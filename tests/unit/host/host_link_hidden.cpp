// SPDX-License-Identifier: Apache-2.0
//
// Frames hidden in a payload never become commands of host_link, whatever around them is lost or
// damaged.

#include "link_host.h"

namespace {
constexpr uint32_t VICTIM = 0x40; ///< a register that nothing but hidden frames writes

/// Frames as they may occur in a payload: a write of the victim with this number, for a session
/// with this key.
bytes hidden_write(uint16_t number, uint32_t key)
{
    mw_frame_header h = {};
    h.type = MW_FRAME_REG_WRITE;
    h.sequence = number;
    mw_frame_register r = {VICTIM, 0xbad};
    bytes payload(sizeof r);
    memcpy(payload.data(), &r, sizeof r);
    return make_frame(h, payload, key);
}

bytes hidden_sync(uint16_t number, uint32_t version)
{
    mw_frame_header h = {};
    h.type = MW_FRAME_SYNC;
    h.sequence = number;
    h.count = version;
    return make_frame(h);
}

void pad(bytes &b, size_t to)
{
    if (b.size() % to)
        b.resize(b.size() + to - b.size() % to);
}

/// Sends a payload with every kind of hidden frame as a MEM_WRITE. Its bytes [from, to) are lost on
/// the way, and some bits change.
void attack(const char *name, host &b, bytes payload, size_t from, size_t to, int flip)
{
    pad(payload, 16);
    mw_frame_header h = b.request(MW_FRAME_MEM_WRITE);
    bytes f = make_frame(h, payload, b.key);
    if (flip >= 0)
        f[static_cast<size_t>(flip) / 8] ^= static_cast<uint8_t>(1u << flip % 8);
    f.erase(f.begin() + static_cast<long>(from), f.begin() + static_cast<long>(to));
    b.send(f);
    b.zeros(MW_HOST_SYNC_GAP);
    b.fresh = true;
    b.expect.clear();
    // no reply is one to a hidden frame
    uint64_t start = b.now;
    while (!b.out.empty() || b.now - start < 3000) {
        b.cycle();
        while (!b.in.empty()) {
            frame r = b.receive();
            if (r.header.type != MW_FRAME_LINK_ERROR &&
                r.header.type != (MW_FRAME_MEM_WRITE | MW_FRAME_REPLY))
                fail_msg("%s: reply of type 0x%02x", name, r.header.type);
        }
        assert_true(b.now - start < 2000000);
    }
    if (b.registers.count(VICTIM))
        fail_msg("%s: what was stored was carried out", name);
    b.sync();
    b.model_memory = b.memory;
    b.mem_read();
    b.check_all();
}
} // namespace

TEST(hidden)
{
    constexpr size_t HEAD = sizeof(mw_frame_header), PACKET = 512;
    for (bool keys : {true, false}) {
        host b;
        b.rates(30);
        b.out_rate = 100;
        b.most_bytes = 8;
        b.version = keys ? VERSION : KEYLESS;
        b.sync();
        bytes zeros(MW_HOST_MAX_PAYLOAD - 512), filler(PACKET - HEAD, 0x5a);
        for (uint32_t version : {VERSION, KEYLESS, KEYLESS - 1u}) {
            auto frames = [&] {
                uint16_t n = b.number;
                return join({hidden_sync(n, version), hidden_write(static_cast<uint16_t>(n + 1), 0),
                             hidden_write(n, 0), hidden_write(static_cast<uint16_t>(n + 1), 0)});
            };
            // A wrong bit of the header. SYNC is at the front, or after as many zeros as there is
            // room for.
            attack("bit, hidden SYNC", b, frames(), 0, 0, 37);
            attack("bit, hidden SYNC behind zeros", b, join({zeros, frames()}), 0, 0, 3);
            // the header is lost, or the first packet
            attack("no header, hidden SYNC", b, frames(), 0, HEAD, -1);
            attack("no header, zeros, SYNC", b, join({zeros, frames()}), 0, HEAD, -1);
            attack("no packet, hidden SYNC", b, join({filler, frames()}), 0, PACKET, -1);
            // bytes lost inside: the frame takes following ones in their place
            attack("bytes lost", b, join({filler, frames()}), HEAD + 8, HEAD + 24, -1);
        }
        // Frames with the next number, where a frame may begin. Without keys they cannot be
        // distinguished from the host's.
        for (int lost = 0; keys && lost < 2; lost++) {
            bytes front = lost ? filler : bytes();
            attack("next number", b, join({front, hidden_write(b.number, 0)}), 0,
                   lost ? PACKET : HEAD, -1);
            attack("next number, an old key", b, join({front, hidden_write(b.number, b.last_key)}),
                   0, lost ? PACKET : HEAD, -1);
        }
    }
}

/// The header of one frame before the payload and trailer of another: everything between was lost.
TEST(spliced)
{
    host b;
    for (unsigned i = 0; i < 50; i++) {
        b.sync();
        std::vector<mw_frame_register> list(2 + 2 * b.below(20), {VICTIM, 0xbad});
        bytes stored(8 * list.size());
        memcpy(stored.data(), list.data(), stored.size());
        mw_frame_header registers = b.request(MW_FRAME_REG_WRITE),
                        memory = b.request(MW_FRAME_MEM_WRITE);
        bytes first = make_frame(registers, b.random_bytes(stored.size()), b.key),
              second = make_frame(memory, stored, b.key);
        size_t keep = sizeof registers + (i % 2 ? 8 * b.below(2) : 0);
        first.resize(keep);
        second.erase(second.begin(), second.begin() + static_cast<long>(keep));
        b.send(join({first, second}));
        b.expect.push_back(b.reply(registers, MW_STATUS_PAYLOAD));
        b.check_all();
        b.link_error(MW_STATUS_PAYLOAD, 0, registers.sequence);
        assert_int_equal(b.registers.count(VICTIM), 0);
    }
}
