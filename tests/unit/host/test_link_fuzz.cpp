// SPDX-License-Identifier: Apache-2.0
//
// host_link with frames that are damaged in every way. Each reply is the one that a reader of the
// protocol predicts. The link's model in C gets the same bytes and must give the same replies.
#include "link_reader.h"

namespace {
const unsigned FRAMES = tb::cases(8000, 20000);

struct fuzz : host_link_bench {
    protocol model;
    link_model in_c{GPUS, MEM_LOG2, ZEROS, BAD_REGISTER};
    bytes for_c; ///< not fed to it yet: after a SYNC it must have the session's key first
    uint64_t fed_c = 0;
    uint16_t number = 0;
    uint32_t version = VERSION, old_key = 0;
    bool alive = true;
    std::map<unsigned, unsigned> seen; ///< replies by status
    unsigned errors = 0;

    void put(const bytes &b)
    {
        send(b);
        model.take(b);
        for_c.insert(for_c.end(), b.begin(), b.end());
        feed_c();
    }

    /// Feeds what the reader has read, and everything else unless it waits for a key, in transfers
    /// of any size.
    void feed_c()
    {
        for (auto &a : model.new_answers)
            in_c.expected.push_back(a);
        model.new_answers.clear();
        in_c.layer_done = model.layer_done;
        size_t count = model.blocked ? static_cast<size_t>(model.read() - fed_c) : for_c.size();
        size_t at = 0;
        for (size_t n; at < count; at += n) {
            n = std::min<size_t>(count - at, 1 + below(percent(30)   ? 4
                                                       : percent(50) ? 600
                                                                     : 1 << 17));
            in_c.feed(&for_c[at], n);
        }
        for_c.erase(for_c.begin(), for_c.begin() + static_cast<long>(count));
        fed_c += count;
        if (!in_c.expected.empty())
            fail_msg("the C model missed 0x%02x, status %u", in_c.expected.front().header.type,
                     in_c.expected.front().header.status);
    }

    /// Waits until all expected replies have come and the device has taken everything.
    void settle_all()
    {
        uint64_t since = now;
        while (!model.answers.empty() || !out.empty()) {
            while (!in.empty())
                check();
            assert_true(now - since < 3000000);
            cycle();
        }
        cycles(100);
        assert_true(in.empty());
    }

    void check()
    {
        frame f = receive();
        if (model.answers.empty())
            fail_msg("cycle %llu: reply of type 0x%02x, status %u, where none was expected",
                     static_cast<unsigned long long>(now), f.header.type, f.header.status);
        answer a = model.answers.front();
        model.answers.pop_front();
        uint32_t key = static_cast<uint32_t>(f.header.argument >> 32);
        if (a.new_key) {
            assert_true(key & 1);
            assert_true(key != old_key);
            old_key = key;
            a.header.argument =
                static_cast<uint64_t>(key) << 32 | static_cast<uint32_t>(a.header.argument);
        } else if (a.any_argument) {
            a.header.argument = f.header.argument;
        }
        a.header.magic = f.header.magic;
        a.header.crc = f.header.crc; // the reader has checked both
        a.header.words = static_cast<uint16_t>(a.payload.size() / 8);
        if (memcmp(&a.header, &f.header, sizeof f.header) || f.trailer || f.payload != a.payload)
            fail_msg("cycle %llu: reply 0x%02x to %u, status %u, count 0x%x, %u words; expected "
                     "0x%02x to %u, status %u, count 0x%x, %u words",
                     static_cast<unsigned long long>(now), f.header.type, f.header.sequence,
                     f.header.status, f.header.count, f.header.words, a.header.type,
                     a.header.sequence, a.header.status, a.header.count, a.header.words);
        seen[f.header.status]++;
        errors += f.header.type == MW_FRAME_LINK_ERROR;
        if (a.new_key) {
            in_c.set_key(key);
            model.set_key(key);
            feed_c();
        }
    }

    mw_frame_header any_header()
    {
        static const unsigned types[] = {
            MW_FRAME_INFO,      MW_FRAME_REG_READ,  MW_FRAME_REG_WRITE, MW_FRAME_REG_WRITE,
            MW_FRAME_MEM_READ,  MW_FRAME_MEM_READ,  MW_FRAME_MEM_WRITE, MW_FRAME_MEM_WRITE,
            MW_FRAME_MEM_WRITE, MW_FRAME_WAIT,      MW_FRAME_RESET,     MW_FRAME_SELFTEST,
            MW_FRAME_LOG_READ,  MW_FRAME_LOG_CLEAR, MW_FRAME_FEED,      MW_FRAME_FED};
        mw_frame_header h = {};
        h.type = static_cast<uint8_t>(types[below(16)]);
        h.sequence = number++;
        h.count = rng.word();
        h.argument = rng();
        if (h.type == MW_FRAME_MEM_READ || h.type == MW_FRAME_MEM_WRITE) {
            h.count = 16 * below(percent(98) ? 12 : MW_HOST_MAX_PAYLOAD / 16 + 2);
            h.argument = static_cast<uint64_t>(below(percent(97) ? GPUS : 40))
                             << MW_HOST_GPU_SHIFT |
                         16 * below((1 << MEM_LOG2) / 16 + (percent(97) ? -12 : 12));
        }
        if (h.type == MW_FRAME_WAIT)
            h.argument = below(100);
        return h;
    }

    /// Frames that may be stored in a payload.
    bytes hidden()
    {
        bytes all;
        if (percent(30))
            all.resize(below(2 * ZEROS));
        for (unsigned n = 1 + below(3); n; n--) {
            mw_frame_header h = any_header();
            number--;
            h.sequence = static_cast<uint16_t>(number + below(3) - 1);
            uint32_t key = percent(30) ? model.key : percent(30) ? old_key : 0;
            if (percent(40)) {
                h.type = MW_FRAME_SYNC;
                h.count = MW_HOST_PROTOCOL_MAJOR << 16 | below(4);
                key = 0;
            }
            bytes f =
                make_frame(h, h.type == MW_FRAME_SYNC ? bytes() : random_bytes(8 * below(4)), key);
            all.insert(all.end(), f.begin(), f.end());
        }
        all.resize((all.size() + 15) / 16 * 16);
        return all;
    }

    bytes any_payload(const mw_frame_header &h)
    {
        if (h.type == MW_FRAME_REG_READ || h.type == MW_FRAME_REG_WRITE) {
            bytes p;
            for (unsigned n = below(percent(95) ? 6 : 70); n; n--) {
                mw_frame_register r = {percent(95) ? 4 * below(20) : rng.word() | 1u << 31,
                                       rng.word()};
                const auto *q = reinterpret_cast<uint8_t *>(&r);
                p.insert(p.end(), q, q + sizeof r);
            }
            return p;
        }
        if (h.type == MW_FRAME_MEM_WRITE)
            return percent(50)   ? hidden()
                   : percent(98) ? random_bytes(16 * below(12))
                                 : bytes(8 * below(MW_HOST_MAX_PAYLOAD / 8 + 1));
        if (h.type >= MW_FRAME_SELFTEST || h.type == MW_FRAME_INFO)
            return random_bytes(8 * (percent(70) ? 0 : below(percent(90) ? 8 : 80)));
        return percent(95) ? bytes() : random_bytes(8 * (1 + below(4)));
    }

    void flip(bytes *f, size_t from, size_t to)
    {
        for (unsigned n = percent(70) ? 1 : 1 + below(40); n && to > from; n--)
            (*f)[from + below(static_cast<uint32_t>(to - from))] ^=
                static_cast<uint8_t>(1u << below(8));
    }

    void cut(bytes *f, size_t from, size_t to)
    {
        to = std::min(to, f->size());
        from = std::min(from, to);
        f->erase(f->begin() + static_cast<long>(from), f->begin() + static_cast<long>(to));
    }

    /// A frame, valid or not.
    bytes any_frame()
    {
        mw_frame_header h = any_header();
        bytes payload = any_payload(h);
        if (percent(3))
            h.type = static_cast<uint8_t>(rng()); // valid in all else
        if (h.type == MW_FRAME_WAIT)
            h.argument %= 100; // or it would wait for the next frame
        if (percent(10))
            h.status = static_cast<uint8_t>(rng());
        if (percent(2))
            h.sequence = static_cast<uint16_t>(rng());
        uint32_t key = h.type == MW_FRAME_SYNC ? 0 : model.key;
        bytes f = make_frame(h, payload, key);
        size_t head = sizeof h;
        uint32_t size = static_cast<uint32_t>(f.size());
        switch (below(30)) {
        case 0:
            flip(&f, 0, head);
            break;
        case 1:
            flip(&f, head, size);
            break;
        case 2: // truncated, or without its front
            percent(50) ? cut(&f, below(size), size) : cut(&f, 0, percent(50) ? head : below(size));
            break;
        case 3: { // something is lost inside
            uint32_t from = below(size);
            cut(&f, from, from + 1 + below(percent(50) ? 8 : 64));
            break;
        }
        case 4: { // or comes twice, or is new
            uint32_t from = below(size), count = 1 + below(32);
            bytes more = percent(50) ? random_bytes(count)
                                     : bytes(&f[from], &f[from] + std::min(count, size - from));
            f.insert(f.begin() + from, more.begin(), more.end());
            break;
        }
        case 5:
            f.insert(f.end(), f.begin(), f.begin() + size);
            break;
        case 6: // another length, in a right header
            h.words = static_cast<uint16_t>(percent(90) ? below(100) : rng.word());
            payload = seal(h, key);
            std::copy(payload.begin(), payload.end(), f.begin());
            break;
        case 7: // another session's
            f = make_frame(h, payload, percent(50) ? old_key ^ 2 : 0);
            break;
        case 8:
            f.clear();
            break;
        case 9:
            f.insert(f.begin(), below(100), 0);
            break;
        case 10: { // what may look like a frame, or like the first byte of one
            bytes more = random_bytes(1 + below(40));
            if (percent(50))
                more[below(static_cast<uint32_t>(more.size()))] = MW_HOST_MAGIC & 0xff;
            f.insert(f.begin(), more.begin(), more.end());
            break;
        }
        default:
            break;
        }
        return f;
    }

    void sync()
    {
        mw_frame_header h = {};
        number = static_cast<uint16_t>(rng());
        h.type = MW_FRAME_SYNC;
        h.sequence = number++;
        h.argument = rng();
        // old hosts are valid while none with keys has connected, and get an error later
        version = percent(90) ? VERSION : (MW_HOST_PROTOCOL_MAJOR + below(2)) << 16 | below(4);
        h.count = version;
        bytes f = bytes(model.missing() + ZEROS + 8), s = make_frame(h);
        if (percent(5))
            flip(&s, 0, s.size());
        f.insert(f.end(), s.begin(), s.end());
        put(f);
    }
};
} // namespace

TEST(fuzz)
{
    fuzz b;
    unsigned frames = 0, sessions = 0;
    uint64_t restart = 0;
    while (frames < FRAMES) {
        b.settle_all();
        b.rates(10);
        b.dut.done_i = b.model.layer_done = b.below(2);
        if (frames >= restart) { // hosts without keys may come again
            b.put(
                bytes(b.model.missing())); // of a write in part received, some would have been done
            b.settle_all();
            b.reset_link();
            b.in_c.reset();
            b.for_c.clear();
            b.fed_c = 0;
            protocol anew;
            anew.memory = b.model.memory;
            anew.registers = b.model.registers;
            anew.resets = b.model.resets;
            anew.layer_done = b.model.layer_done;
            b.model = anew;
            restart = frames + 500;
        }
        while (!b.model.in_step) {
            b.sync();
            b.settle_all();
            sessions++;
        }
        for (unsigned burst = 1 + b.below(8); burst; burst--, frames++)
            b.put(b.any_frame());
    }
    b.settle_all();
    b.put(bytes(b.model.missing()));
    b.settle_all();
    assert_int_equal(b.resets, b.model.resets);
    for (unsigned g = 0; g < GPUS; g++)
        assert_memory_equal(b.memory[g].data(), b.model.memory[g].data(), 1 << MEM_LOG2);
    b.registers.insert(b.model.registers.begin(),
                       b.model.registers.end()); // those that were only read
    for (const auto &r : b.registers)
        assert_int_equal(r.second, b.model.registers[r.first]);
    for (unsigned g = 0; g < GPUS; g++)
        assert_true(b.in_c.memory[g] == b.model.memory[g]);
    print_message(
        "%u frames, %u sessions, %u times out of step, %llu cycles; %u replies of the C model\n",
        frames, sessions, b.errors, static_cast<unsigned long long>(b.now), b.in_c.compared);
    for (unsigned status : {MW_STATUS_OK, MW_STATUS_HEADER, MW_STATUS_SEQUENCE, MW_STATUS_PAYLOAD,
                            MW_STATUS_TYPE, MW_STATUS_LENGTH, MW_STATUS_RANGE, MW_STATUS_ACCESS,
                            MW_STATUS_STATE, MW_STATUS_VERSION}) {
        print_message("status %u: %u\n", status, b.seen[status]);
        assert_true(b.seen[status] > FRAMES / 1000);
    }
}
