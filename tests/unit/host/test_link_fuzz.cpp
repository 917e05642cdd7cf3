// SPDX-License-Identifier: Apache-2.0
//
// host_link under frames that were damaged in every way, against a reader of
// docs/reference/host-protocol.md of its own that sees the same bytes: it tells every reply of the
// device, bit for bit, in advance, and what its registers and memories hold in the end. Nothing
// else may come. (Of a new key it knows what a host knows: it takes it from the reply.) The link's
// model in C gets the same bytes, and gives the same replies. MW_SEED repeats a run.
#include "host_link_bench.h"
#include "link_model.h"

#include <algorithm>
#include <set>

#ifndef ZEROS
#define ZEROS 64 // of a SYNC: the module's parameter here
#endif

namespace {
const unsigned FRAMES = tb::cases(8000, 20000);
constexpr uint32_t VERSION = MW_HOST_PROTOCOL_MAJOR << 16 | MW_HOST_PROTOCOL_MINOR;

/// The protocol, as its page has it.
struct protocol {
    std::vector<bytes> memory = std::vector<bytes>(GPUS, bytes(1 << MEM_LOG2));
    std::map<uint32_t, uint32_t> registers;
    unsigned resets = 0;
    bool layer_done = false;

    bool in_step = false, guarded = false, foreign = false;
    bool blocked = false; ///< until the key of the new session is known
    uint32_t key = 0;
    uint16_t number = 0;
    std::deque<answer> answers, new_answers; ///< all, and those of the last call

    /// Bytes that have been read; more may be here.
    uint64_t read() const { return forgotten + at; }

    void take(const bytes &b)
    {
        stream.insert(stream.end(), b.begin(), b.end());
        run();
    }

    void set_key(uint32_t k)
    {
        key = k;
        blocked = false;
        run();
    }

    /// Zeros that end what has begun.
    size_t missing() const
    {
        size_t whole = in_payload ? 8 * (head.words + size_t(1)) : sizeof head;
        return whole - std::min(whole, stream.size() - at);
    }

  private:
    bytes stream;
    size_t at = 0, zeros = ZEROS;
    uint64_t forgotten = 0; ///< bytes before the stream
    bool in_payload = false;
    mw_frame_header head = {};

    void run()
    {
        while (!blocked && (in_payload ? payload() : between()))
            ;
        if (at > 1 << 16) {
            stream.erase(stream.begin(), stream.begin() + static_cast<long>(at));
            forgotten += at;
            at = 0;
        }
    }

    /// The words of frames are zero or they are not.
    void words(size_t count)
    {
        for (; count; count--, at += 8)
            zeros = std::any_of(&stream[at], &stream[at] + 8, [](uint8_t b) { return b != 0; })
                        ? 0
                        : zeros + 8;
    }

    bool between()
    {
        size_t left = stream.size() - at;
        if (left && !stream[at]) {
            zeros++;
            at++;
            return true;
        }
        if (left < 2)
            return false;
        uint16_t first = static_cast<uint16_t>(stream[at] | stream[at + 1] << 8);
        if (first == MW_HOST_MAGIC) {
            if (left < sizeof head)
                return false;
            bool gap = zeros >= ZEROS;
            memcpy(&head, &stream[at], sizeof head);
            words(3);
            header(gap);
        } else if (in_step) {
            lose(MW_STATUS_HEADER, first);
        } else {
            zeros = 0;
            at++;
        }
        return true;
    }

    void tell(const answer &a)
    {
        answers.push_back(a);
        new_answers.push_back(a);
    }

    void lose(unsigned status, uint32_t seen)
    {
        answer a;
        a.header.type = MW_FRAME_LINK_ERROR;
        a.header.status = static_cast<uint8_t>(status);
        a.header.sequence = static_cast<uint16_t>(number - 1);
        a.header.count = seen;
        tell(a);
        in_step = false;
    }

    void header(bool gap)
    {
        bool sync = head.type == MW_FRAME_SYNC;
        uint32_t crc = crc32(reinterpret_cast<uint8_t *>(&head), 20) ^ (sync ? 0 : key);
        bool good = crc == head.crc && head.words <= MW_HOST_MAX_PAYLOAD / 8 && head.type < 0x80 &&
                    (!sync || (!head.words && gap));
        if (!good) {
            if (in_step)
                lose(MW_STATUS_HEADER, head.magic);
        } else if (sync) {
            session();
        } else if (in_step && head.sequence != number) {
            lose(MW_STATUS_SEQUENCE, head.sequence);
        } else if (in_step) {
            number++;
            in_payload = head.words;
            if (!head.words)
                carry_out({}, true);
        }
    }

    void session()
    {
        bool same = head.count >> 16 == MW_HOST_PROTOCOL_MAJOR;
        bool keys = same && (head.count & 0xffff) >= MW_HOST_KEY_MINOR;
        foreign = !same || (guarded && !keys);
        guarded |= keys;
        in_step = true;
        number = static_cast<uint16_t>(head.sequence + 1);
        key = 0;
        answer a = reply(foreign ? MW_STATUS_VERSION : MW_STATUS_OK);
        a.header.argument = head.argument;
        a.header.count = VERSION;
        a.new_key = blocked = keys;
        tell(a);
    }

    answer reply(unsigned status) const
    {
        answer a;
        a.header.type = head.type | MW_FRAME_REPLY;
        a.header.sequence = head.sequence;
        a.header.status = static_cast<uint8_t>(status);
        return a;
    }

    bool payload()
    {
        size_t size = 8 * size_t(head.words);
        if (stream.size() - at < size + 8)
            return false;
        const uint8_t *p = &stream[at];
        uint32_t crc;
        memcpy(&crc, p + size + 4, 4);
        bytes data(p, p + size);
        bool right = crc32(p, size + 4, key ? head.crc : 0) == crc;
        words(head.words + size_t(1));
        in_payload = false;
        carry_out(data, right);
        if (!right)
            lose(MW_STATUS_PAYLOAD, 0);
        return true;
    }

    unsigned verdict() const
    {
        static const std::set<unsigned> types = {
            MW_FRAME_INFO,      MW_FRAME_REG_READ,  MW_FRAME_REG_WRITE, MW_FRAME_MEM_READ,
            MW_FRAME_MEM_WRITE, MW_FRAME_WAIT,      MW_FRAME_RESET,     MW_FRAME_SELFTEST,
            MW_FRAME_LOG_READ,  MW_FRAME_LOG_CLEAR, MW_FRAME_FEED,      MW_FRAME_FED};
        if (!types.count(head.type) || (foreign && head.type != MW_FRAME_INFO))
            return MW_STATUS_TYPE;
        bool read = head.type == MW_FRAME_MEM_READ, write = head.type == MW_FRAME_MEM_WRITE;
        bool none = read || head.type == MW_FRAME_WAIT || head.type == MW_FRAME_RESET;
        if ((none && head.words) || (!write && 8u * head.words > MW_HOST_MAX_COMMAND))
            return MW_STATUS_LENGTH;
        if (!read && !write)
            return MW_STATUS_OK;
        uint64_t size = read ? head.count : 8u * head.words;
        uint64_t gpu = head.argument >> MW_HOST_GPU_SHIFT;
        uint64_t from = head.argument & ((UINT64_C(1) << MW_HOST_GPU_SHIFT) - 1);
        if (size % MW_HOST_MEM_BYTES_ALIGN || size > MW_HOST_MAX_PAYLOAD)
            return MW_STATUS_LENGTH;
        if (gpu >= GPUS || from % MW_HOST_MEM_BYTES_ALIGN || from + size > 1 << MEM_LOG2)
            return MW_STATUS_RANGE;
        return MW_STATUS_OK;
    }

    void carry_out(const bytes &data, bool right)
    {
        unsigned status = verdict();
        uint8_t *place = &memory[head.argument >> MW_HOST_GPU_SHIFT & (GPUS - 1)]
                                [head.argument & ((1 << MEM_LOG2) - 1)];
        // the memory holds what came, whether it was right or not
        if (status == MW_STATUS_OK && head.type == MW_FRAME_MEM_WRITE && !data.empty())
            memcpy(place, data.data(), data.size());
        answer a = reply(right ? status : +MW_STATUS_PAYLOAD);
        if (!right && status == MW_STATUS_OK && head.type == MW_FRAME_MEM_WRITE)
            a.then = [data, gpu = head.argument >> MW_HOST_GPU_SHIFT & (GPUS - 1),
                      from = head.argument & ((1 << MEM_LOG2) - 1)](std::vector<bytes> &m) {
                std::copy(data.begin(), data.end(), m[gpu].begin() + static_cast<long>(from));
            };
        if (right && status == MW_STATUS_OK) {
            switch (head.type) {
            case MW_FRAME_MEM_WRITE:
                break;
            case MW_FRAME_MEM_READ:
                a.payload.assign(place, place + head.count);
                break;
            case MW_FRAME_REG_READ:
            case MW_FRAME_REG_WRITE:
                list(data, &a);
                break;
            case MW_FRAME_WAIT:
                a.any_argument = true;
                a.header.count = layer_done;
                break;
            case MW_FRAME_RESET:
                resets++;
                break;
            default:
                firmware_reply f = firmware(head.type, head.argument, head.count, data);
                a.header.status = f.status;
                a.header.argument = f.argument;
                a.header.count = f.count;
                a.payload = f.payload;
            }
        }
        tell(a);
    }

    void list(const bytes &data, answer *a)
    {
        bool write = head.type == MW_FRAME_REG_WRITE;
        unsigned done = 0;
        for (; done < head.words; done++) {
            mw_frame_register r;
            memcpy(&r, &data[8 * done], sizeof r);
            if (r.address >= BAD_REGISTER)
                break;
            if (write)
                registers[r.address] = r.value;
            r.value = registers[r.address];
            const auto *p = reinterpret_cast<uint8_t *>(&r);
            if (!write)
                a->payload.insert(a->payload.end(), p, p + sizeof r);
        }
        if (done < head.words) {
            a->header.status = MW_STATUS_ACCESS;
            a->payload.clear();
        }
        if (write || done < head.words)
            a->header.count = done;
    }
};

struct fuzz : host_link_bench {
    protocol model;
    link_model in_c{GPUS, MEM_LOG2, ZEROS, BAD_REGISTER};
    bytes for_c; ///< not fed to it yet: behind a SYNC it has to know the session's key
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

    /// What the reader has read, and all else where it does not wait for a key, in
    /// transfers of any size.
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
            fail_msg("the C model owes 0x%02x, status %u", in_c.expected.front().header.type,
                     in_c.expected.front().header.status);
    }

    bytes random_bytes(size_t size)
    {
        bytes b(size);
        for (auto &x : b)
            x = static_cast<uint8_t>(rng());
        return b;
    }

    /// All that is expected comes, and the device has taken what was sent.
    void settle_all()
    {
        uint64_t since = now;
        while (!model.answers.empty() || !out.empty()) {
            while (!in.empty())
                check();
            assert_true(now - since < 3000000);
            step();
        }
        for (unsigned i = 0; i < 100; i++)
            step();
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
        a.header.crc = f.header.crc; // of both the reader has seen that they are right
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

    /// Frames that somebody may have stored.
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

    /// A frame, right or not.
    bytes any_frame()
    {
        mw_frame_header h = any_header();
        bytes payload = any_payload(h);
        if (percent(3))
            h.type = static_cast<uint8_t>(rng()); // right in all else
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
        case 2: // cut short, or the front is missing
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
        // old hosts only where none with keys was, or they are reported so
        version = percent(90) ? VERSION : (MW_HOST_PROTOCOL_MAJOR + below(2)) << 16 | below(4);
        h.count = version;
        bytes f = bytes(model.missing() + ZEROS + 8), s = make_frame(h);
        if (percent(5))
            flip(&s, 0, s.size());
        f.insert(f.end(), s.begin(), s.end());
        put(f);
    }
};

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
            auto memory = b.model.memory;
            auto registers = b.model.registers;
            unsigned resets = b.model.resets;
            bool done = b.model.layer_done;
            b.model = protocol();
            b.model.memory = memory;
            b.model.registers = registers;
            b.model.resets = resets;
            b.model.layer_done = done;
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
} // namespace
