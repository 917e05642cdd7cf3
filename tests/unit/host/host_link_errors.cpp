// SPDX-License-Identifier: Apache-2.0
//
// What host_link refuses: broken, truncated, repeated and lost frames, and requests with a format
// that is not permitted. A SYNC resynchronizes the link.

#include "link_host.h"

/// Before the first SYNC nothing is answered. A SYNC at any byte is found after enough zeros.
TEST(out_of_step)
{
    for (unsigned offset = 0; offset < 12; offset++) {
        host b;
        b.rates(30);
        b.quiet(50);
        for (unsigned i = 0; i < 4; i++)
            b.ignored_request();
        b.send(b.random_bytes(b.below(300)));
        b.send({1}); // not among the zeros
        b.expect.clear();
        b.fresh = false;
        // too few zeros, zeros too early, and none
        for (unsigned zeros : {0u, 1u, 4096u, MW_HOST_SYNC_ZEROS - 1u}) {
            b.zeros(zeros);
            b.put(b.sync_header());
        }
        b.zeros(MW_HOST_SYNC_ZEROS);
        b.send({1});
        b.put(b.sync_header());
        while (!b.out.empty() && b.now < 10000000)
            b.cycle();
        b.quiet(100);
        // bytes like the beginning of a header end in these zeros
        b.zeros(offset);
        b.sync();
        b.mem_read();
        b.check_all();
    }
}

TEST(header_errors)
{
    for (unsigned i = 0; i < 60; i++) {
        host b;
        b.rates(30);
        b.version -= i % 3 == 0; // a host without keys
        b.sync();
        unsigned good = b.below(4);
        for (unsigned n = 0; n < good; n++)
            b.any_request();
        uint16_t last = static_cast<uint16_t>(b.number - 1);
        // a header with one wrong bit
        mw_frame_header h = b.request(MW_FRAME_REG_WRITE);
        bytes f = make_frame(h, b.random_bytes(8 * b.below(5)), b.key);
        unsigned bit = b.below(8 * sizeof h);
        f[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
        b.send(f);
        b.check_all();
        b.link_error(MW_STATUS_HEADER, f[0] | f[1] << 8, last);
        // these frames, and valid requests, are lost until SYNC
        b.ignored_request();
        b.expect.clear();
        b.sync();
        b.firmware_frame();
        b.mem_read();
        b.check_all();
        b.quiet(200);
    }
}

TEST(sequence_errors)
{
    for (unsigned i = 0; i < 20; i++) {
        host b;
        b.rates(30);
        b.sync();
        b.any_request();
        uint16_t last = static_cast<uint16_t>(b.number - 1);
        // a frame that comes twice, or a missing one
        uint16_t seen = i % 2 ? static_cast<uint16_t>(b.number + 1 + b.below(1000)) : last;
        mw_frame_header h = b.request(MW_FRAME_REG_READ);
        h.sequence = seen;
        b.put(h);
        b.check_all();
        b.link_error(MW_STATUS_SEQUENCE, seen, last);
        b.quiet(100);
        b.sync();
        b.mem_read();
        b.check_all();
    }
}

/// A truncated frame takes the following bytes as its payload, and its CRC fails. SYNC_GAP zeros
/// end it in any case.
TEST(truncated)
{
    for (unsigned i = 0; i < 40; i++) {
        host b;
        b.rates(30);
        b.version -= i % 3 == 0;
        b.sync();
        mw_frame_header h = b.request(MW_FRAME_MEM_WRITE);
        bytes f = make_frame(h, b.random_bytes(16 * (1 + b.below(i % 4 ? 100 : 4096))), b.key);
        size_t keep = 1 + b.below(static_cast<uint32_t>(f.size() - 1));
        f.resize(keep);
        b.send(f);
        b.quiet(500);
        b.zeros(MW_HOST_SYNC_GAP);
        b.fresh = true; // that was the gap
        if (keep < sizeof h) {
            b.link_error(MW_STATUS_HEADER, keep > 1 ? f[0] | f[1] << 8 : f[0],
                         static_cast<uint16_t>(h.sequence - 1));
        } else {
            b.expect.push_back(b.reply(h, MW_STATUS_PAYLOAD));
            b.check_all();
            b.link_error(MW_STATUS_PAYLOAD, 0, h.sequence);
        }
        b.sync();
        b.model_memory = b.memory;
        b.works();
        b.quiet(100);
    }
}

/// Requests of every format that is not permitted, and some at its limits, with the status of their
/// replies.
TEST(shapes)
{
    constexpr uint64_t SECOND = UINT64_C(1) << MW_HOST_GPU_SHIFT, END = 1 << MEM_LOG2;
    constexpr unsigned COMMAND = MW_HOST_MAX_COMMAND, MOST = MW_HOST_MAX_PAYLOAD;
    static const struct {
        const char *name;
        unsigned kind;
        uint64_t argument;
        uint32_t count;
        unsigned bytes;
        unsigned status;
    } shapes[] = {
        {"type 0", 0, 0, 0, 0, MW_STATUS_TYPE},
        {"type 0 with the longest payload", 0, 0, 0, MOST, MW_STATUS_TYPE},
        {"first type that is not there", MW_FRAME_FED + 1, 0, 0, 0, MW_STATUS_TYPE},
        {"type 0x7f", 0x7f, 0, 0, 8, MW_STATUS_TYPE},
        {"REG_READ of nothing", MW_FRAME_REG_READ, 0, 0, 0, MW_STATUS_OK},
        {"REG_WRITE of nothing", MW_FRAME_REG_WRITE, 0, 0, 0, MW_STATUS_OK},
        {"REG_READ too long", MW_FRAME_REG_READ, 0, 0, COMMAND + 8, MW_STATUS_LENGTH},
        {"REG_WRITE too long", MW_FRAME_REG_WRITE, 0, 0, COMMAND + 8, MW_STATUS_LENGTH},
        {"REG_WRITE much too long", MW_FRAME_REG_WRITE, 0, 0, MOST, MW_STATUS_LENGTH},
        {"INFO too long", MW_FRAME_INFO, 0, 0, COMMAND + 8, MW_STATUS_LENGTH},
        {"SELFTEST too long", MW_FRAME_SELFTEST, 0, 0, COMMAND + 8, MW_STATUS_LENGTH},
        {"LOG_READ too long", MW_FRAME_LOG_READ, 0, 0, COMMAND + 8, MW_STATUS_LENGTH},
        {"LOG_CLEAR too long", MW_FRAME_LOG_CLEAR, 0, 0, COMMAND + 8, MW_STATUS_LENGTH},
        {"FEED too long", MW_FRAME_FEED, 0, 0, COMMAND + 8, MW_STATUS_LENGTH},
        {"FED too long", MW_FRAME_FED, 0, 0, COMMAND + 8, MW_STATUS_LENGTH},
        {"WAIT with a payload", MW_FRAME_WAIT, 0, 0, 8, MW_STATUS_LENGTH},
        {"RESET with a payload", MW_FRAME_RESET, 0, 0, 8, MW_STATUS_LENGTH},
        {"MEM_READ with a payload", MW_FRAME_MEM_READ, 0, 16, 16, MW_STATUS_LENGTH},
        {"MEM_READ of nothing", MW_FRAME_MEM_READ, 0, 0, 0, MW_STATUS_OK},
        {"MEM_READ of nothing at the end", MW_FRAME_MEM_READ, END, 0, 0, MW_STATUS_OK},
        {"MEM_READ of nothing behind the end", MW_FRAME_MEM_READ, END + 16, 0, 0, MW_STATUS_RANGE},
        {"MEM_READ of 8 bytes", MW_FRAME_MEM_READ, 0, 8, 0, MW_STATUS_LENGTH},
        {"MEM_READ of 17 bytes", MW_FRAME_MEM_READ, 0, 17, 0, MW_STATUS_LENGTH},
        {"MEM_READ too long", MW_FRAME_MEM_READ, 0, MOST + 16, 0, MW_STATUS_LENGTH},
        {"MEM_READ of 4 GiB", MW_FRAME_MEM_READ, 0, UINT32_MAX - 15, 0, MW_STATUS_LENGTH},
        {"MEM_READ, length before range", MW_FRAME_MEM_READ, 1, 8, 0, MW_STATUS_LENGTH},
        {"MEM_READ at 8", MW_FRAME_MEM_READ, 8, 16, 0, MW_STATUS_RANGE},
        {"MEM_READ over the end", MW_FRAME_MEM_READ, END - 16, 32, 0, MW_STATUS_RANGE},
        {"MEM_READ behind the end", MW_FRAME_MEM_READ, END, 16, 0, MW_STATUS_RANGE},
        {"MEM_READ at the last address", MW_FRAME_MEM_READ, SECOND - 16, 16, 0, MW_STATUS_RANGE},
        {"MEM_READ of the GPU behind the last", MW_FRAME_MEM_READ, GPUS * SECOND, 16, 0,
         MW_STATUS_RANGE},
        {"MEM_READ of GPU 32", MW_FRAME_MEM_READ, 32 * SECOND, 16, 0, MW_STATUS_RANGE},
        {"MEM_WRITE of nothing", MW_FRAME_MEM_WRITE, 0, 0, 0, MW_STATUS_OK},
        {"MEM_WRITE of nothing behind the end", MW_FRAME_MEM_WRITE, END + 16, 0, 0,
         MW_STATUS_RANGE},
        {"MEM_WRITE of 8 bytes", MW_FRAME_MEM_WRITE, 0, 0, 8, MW_STATUS_LENGTH},
        {"MEM_WRITE, length before range", MW_FRAME_MEM_WRITE, END, 0, 24, MW_STATUS_LENGTH},
        {"MEM_WRITE at 4", MW_FRAME_MEM_WRITE, 4, 0, 16, MW_STATUS_RANGE},
        {"MEM_WRITE over the end", MW_FRAME_MEM_WRITE, END - 16, 0, 32, MW_STATUS_RANGE},
        {"MEM_WRITE of the GPU behind the last", MW_FRAME_MEM_WRITE, GPUS * SECOND, 0, 16,
         MW_STATUS_RANGE},
        {"MEM_WRITE of GPU 65535", MW_FRAME_MEM_WRITE, 0xffff * SECOND, 0, MOST, MW_STATUS_RANGE},
    };
    host b;
    for (bool keys : {true, false}) {
        b.version = keys ? VERSION : KEYLESS;
        b.restart();
        b.sync();
        for (const auto &s : shapes) {
            b.rates(30);
            mw_frame_header h = b.request(s.kind, s.argument, s.count);
            h.status = static_cast<uint8_t>(b.rng()); // ignored in a request
            auto registers = b.registers;
            auto memory = b.memory;
            b.put(h, b.random_bytes(s.bytes));
            frame f = b.receive();
            if (f.header.type != (s.kind | MW_FRAME_REPLY) || f.header.sequence != h.sequence ||
                f.header.status != s.status || f.header.words || f.header.argument ||
                f.header.count)
                fail_msg("%s: status %u instead of %u, or more than that", s.name, f.header.status,
                         s.status);
            if (registers != b.registers || memory != b.memory || b.resets)
                fail_msg("%s: something was done", s.name);
        }
        // its payload's CRC is checked first
        for (unsigned kind : {0x7f, +MW_FRAME_MEM_WRITE, +MW_FRAME_WAIT}) {
            mw_frame_header h = b.request(kind, 1);
            bytes f = make_frame(h, b.random_bytes(24), b.key);
            f[30] ^= 1;
            b.send(f);
            b.expect.push_back(b.reply(h, MW_STATUS_PAYLOAD));
            b.check_all();
            b.link_error(MW_STATUS_PAYLOAD, 0, h.sequence);
            b.sync();
        }
        // and the status in a trailer is ignored
        mw_frame_header h = b.request(MW_FRAME_REG_WRITE);
        h.words = 1;
        bytes f = seal(h, b.key), rest = b.random_bytes(12);
        memset(rest.data(), 0, 4);
        uint32_t start = 0, crc;
        if (keys)
            memcpy(&start, &f[20], 4);
        crc = crc32(rest.data(), rest.size(), start);
        rest.resize(16);
        memcpy(&rest[12], &crc, 4);
        expected e = b.reply(h, MW_STATUS_OK);
        e.header.count = 1;
        b.send(join({f, rest}));
        b.expect.push_back(e);
        b.check_all();
        b.model_registers = b.registers;
    }
}

/// A frame that is no request takes the link out of step.
TEST(no_request)
{
    for (unsigned shape = 0; shape < 10; shape++) {
        host b;
        b.rates(30);
        b.sync();
        mw_frame_header h = b.request(MW_FRAME_LOG_CLEAR);
        uint16_t last = static_cast<uint16_t>(h.sequence - 1);
        bytes f;
        unsigned status = MW_STATUS_HEADER;
        uint32_t seen = MW_HOST_MAGIC;
        switch (shape) {
        case 0: // types of replies
        case 1:
        case 2:
            h.type = shape == 0 ? +MW_FRAME_LINK_ERROR : shape == 1 ? MW_FRAME_INFO | 0x80 : 0xff;
            f = seal(h, b.key);
            break;
        case 3: // a word too many
            h.words = MW_HOST_MAX_PAYLOAD / 8 + 1;
            f = seal(h, b.key);
            break;
        case 4:
            h.words = 0xffff;
            f = seal(h, b.key);
            break;
        case 5: // SYNC with a payload, after its zeros
            b.zeros(MW_HOST_SYNC_GAP);
            h.type = MW_FRAME_SYNC;
            f = make_frame(h, bytes(8), 0);
            break;
        case 6: // SYNC without them, with the right number too
            h.type = MW_FRAME_SYNC;
            h.count = b.version;
            f = seal(h);
            break;
        case 7: // a session's key is not for SYNC
            b.zeros(MW_HOST_SYNC_GAP);
            h.type = MW_FRAME_SYNC;
            f = seal(h, b.key);
            break;
        case 8: // without the key
            f = seal(h);
            break;
        default: // text
            f = {'h', 'e', 'l', 'l', 'o'};
            seen = 'h' | 'e' << 8;
        }
        b.send(f);
        b.link_error(status, seen, last);
        b.quiet(1000);
        b.sync();
        b.works();
    }
}
