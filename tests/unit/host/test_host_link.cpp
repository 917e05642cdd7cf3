// SPDX-License-Identifier: Apache-2.0
//
// host_link against the protocol: random requests, good and bad, with everything around it waiting
// at random; every reply compared with what a model of registers, memories and firmware says.
// Broken, cut, repeated and lost frames, resets of the link, and the rates. MW_SEED repeats a run.
#include "host_link_bench.h"

namespace {
struct expected {
    mw_frame_header header;
    bytes payload;
    bool any_argument = false, makes_key = false;
};

constexpr uint32_t VERSION = MW_HOST_PROTOCOL_MAJOR << 16 | MW_HOST_PROTOCOL_MINOR;
constexpr uint32_t KEYLESS = MW_HOST_PROTOCOL_MAJOR << 16 | (MW_HOST_KEY_MINOR - 1);

/// A host: makes requests, and knows the replies in advance.
struct host : host_link_bench {
    uint16_t number = 0;
    uint32_t version = VERSION, key = 0, last_key = 0;
    bool fresh = true; ///< nothing was sent since the reset of the link
    std::map<uint32_t, uint32_t> model_registers;
    std::vector<bytes> model_memory = memory;
    std::deque<expected> expect;

    mw_frame_header request(unsigned kind)
    {
        mw_frame_header h = {};
        h.type = static_cast<uint8_t>(kind);
        h.sequence = number++;
        return h;
    }

    expected reply(const mw_frame_header &h, unsigned status)
    {
        expected e = {};
        e.header.type = h.type | MW_FRAME_REPLY;
        e.header.sequence = h.sequence;
        e.header.status = static_cast<uint8_t>(status);
        return e;
    }

    void add(const mw_frame_header &h, const bytes &payload, const expected &e)
    {
        put(h, payload);
        expect.push_back(e);
    }

    void put(const mw_frame_header &h, const bytes &payload = {})
    {
        send(make_frame(h, payload, h.type == MW_FRAME_SYNC ? 0 : key));
    }

    void zeros(size_t count) { out.insert(out.end(), count, 0); }

    mw_frame_header sync_header()
    {
        number = static_cast<uint16_t>(rng());
        mw_frame_header h = request(MW_FRAME_SYNC);
        h.argument = rng();
        h.count = version;
        return h;
    }

    /// Into step, with the replies of all before; the gap is sent where it must be.
    void sync(unsigned status = MW_STATUS_OK)
    {
        zeros(fresh ? 0 : MW_HOST_SYNC_GAP);
        mw_frame_header h = sync_header();
        expected e = reply(h, status);
        e.header.argument = h.argument;
        e.header.count = VERSION;
        e.makes_key =
            h.count >> 16 == MW_HOST_PROTOCOL_MAJOR && (h.count & 0xffff) >= MW_HOST_KEY_MINOR;
        add(h, {}, e);
        fresh = false;
        check_all();
        if (!e.makes_key)
            key = 0;
    }

    void restart()
    {
        reset_link();
        expect.clear();
        fresh = true;
    }

    bytes random_bytes(size_t size)
    {
        bytes b(size);
        for (auto &x : b)
            x = static_cast<uint8_t>(rng());
        return b;
    }

    /// A piece of a memory: mostly short, at times the longest, at times up to the memory's end.
    void piece(unsigned *gpu, uint32_t *at, uint32_t *size)
    {
        *gpu = below(GPUS);
        *size = 16 * (percent(90)   ? below(20)
                      : percent(70) ? below(300)
                                    : MW_HOST_MAX_PAYLOAD / 16);
        *at = 16 * below(((1u << MEM_LOG2) - *size) / 16 + 1);
        if (percent(10))
            *at = (1u << MEM_LOG2) - *size;
    }

    void mem_write()
    {
        unsigned gpu;
        uint32_t at, size;
        piece(&gpu, &at, &size);
        mw_frame_header h = request(MW_FRAME_MEM_WRITE);
        h.argument = static_cast<uint64_t>(gpu) << MW_HOST_GPU_SHIFT | at;
        bytes data = random_bytes(size);
        if (size)
            memcpy(&model_memory[gpu][at], data.data(), size);
        add(h, data, reply(h, MW_STATUS_OK));
    }

    void mem_read()
    {
        unsigned gpu;
        uint32_t at, size;
        piece(&gpu, &at, &size);
        mw_frame_header h = request(MW_FRAME_MEM_READ);
        h.argument = static_cast<uint64_t>(gpu) << MW_HOST_GPU_SHIFT | at;
        h.count = size;
        expected e = reply(h, MW_STATUS_OK);
        e.payload.assign(model_memory[gpu].begin() + at, model_memory[gpu].begin() + at + size);
        add(h, {}, e);
    }

    void registers_frame(bool write)
    {
        std::vector<mw_frame_register> r(percent(20) ? 64 : below(6)), values;
        unsigned done = 0;
        bool failed = false;
        for (auto &x : r) {
            x.address = 4 * below(12);
            if (percent(3))
                x.address = BAD_REGISTER;
            x.value = rng.word();
            failed = failed || x.address == BAD_REGISTER;
            if (failed)
                continue;
            done++;
            if (write)
                model_registers[x.address] = x.value;
            values.push_back({x.address, model_registers[x.address]});
        }
        mw_frame_header h = request(write ? MW_FRAME_REG_WRITE : MW_FRAME_REG_READ);
        expected e = reply(h, failed ? MW_STATUS_ACCESS : MW_STATUS_OK);
        e.header.count = write || failed ? done : 0;
        if (!write && !failed) {
            e.payload.resize(8 * values.size());
            if (!values.empty())
                memcpy(e.payload.data(), values.data(), e.payload.size());
        }
        bytes payload(8 * r.size());
        if (!r.empty())
            memcpy(payload.data(), r.data(), payload.size());
        add(h, payload, e);
    }

    void firmware_frame()
    {
        const unsigned kinds[] = {MW_FRAME_INFO,      MW_FRAME_SELFTEST, MW_FRAME_LOG_READ,
                                  MW_FRAME_LOG_CLEAR, MW_FRAME_FEED,     MW_FRAME_FED};
        mw_frame_header h = request(kinds[below(6)]);
        h.argument = rng();
        h.count = rng.word();
        bytes payload = random_bytes(percent(50) ? 0 : 8 * below(65));
        firmware_reply f = firmware(h.type, h.argument, h.count, payload);
        expected e = reply(h, f.status);
        e.header.argument = f.argument;
        e.header.count = f.count;
        e.payload = f.payload;
        add(h, payload, e);
    }

    void wait_frame()
    {
        mw_frame_header h = request(MW_FRAME_WAIT);
        h.argument = below(200);
        expected e = reply(h, MW_STATUS_OK);
        e.any_argument = true;
        e.header.count = dut.done_i;
        add(h, {}, e);
    }

    /// A request that must be refused, and changes nothing.
    void refused()
    {
        mw_frame_header h;
        bytes payload;
        unsigned status = MW_STATUS_LENGTH;
        switch (below(8)) {
        case 0:
            h = request(below(2) ? MW_FRAME_FED + 1 + below(100) : 0);
            payload = random_bytes(8 * below(100));
            status = MW_STATUS_TYPE;
            break;
        case 1:
            h = request(MW_FRAME_MEM_READ);
            h.count = below(2) ? MW_HOST_MAX_PAYLOAD + 16 : 16 * below(20) + 1 + below(15);
            break;
        case 2:
            h = request(MW_FRAME_MEM_READ);
            h.argument = static_cast<uint64_t>(below(2) ? GPUS : 0xffff) << MW_HOST_GPU_SHIFT;
            h.count = 16;
            status = MW_STATUS_RANGE;
            break;
        case 3:
            h = request(MW_FRAME_MEM_WRITE);
            h.argument = (UINT64_C(1) << MEM_LOG2) - 16 * below(3);
            payload = random_bytes(48 + 16 * below(20));
            status = MW_STATUS_RANGE;
            break;
        case 4:
            h = request(MW_FRAME_MEM_WRITE);
            h.argument = 1 + below(15);
            payload = random_bytes(16);
            status = MW_STATUS_RANGE;
            break;
        case 5:
            h = request(MW_FRAME_MEM_WRITE);
            payload = random_bytes(8 + 16 * below(20));
            break;
        case 6:
            h = request(below(2) ? MW_FRAME_WAIT : MW_FRAME_RESET);
            payload = random_bytes(8 + 8 * below(10));
            break;
        default:
            h = request(below(2) ? MW_FRAME_REG_WRITE : MW_FRAME_INFO);
            payload = random_bytes(MW_HOST_MAX_COMMAND + 8 + 8 * below(100));
        }
        add(h, payload, reply(h, status));
    }

    /// A right frame with a payload that was damaged on its way: nothing is done, but memory may
    /// hold anything; and where it ended nobody knows.
    void damaged_payload()
    {
        size_t before = out.size();
        uint16_t last = number;
        auto registers_before = model_registers;
        switch (below(3)) {
        case 0:
            mem_write();
            break;
        case 1:
            registers_frame(true);
            break;
        default:
            firmware_frame();
        }
        size_t size = out.size() - before;
        if (size == sizeof(mw_frame_header))
            return;
        size_t at = before + sizeof(mw_frame_header) +
                    below(static_cast<uint32_t>(size - sizeof(mw_frame_header)));
        out[at] ^= static_cast<uint8_t>(1u << below(8));
        expected e = expect.back();
        e.payload.clear();
        e.header.status = MW_STATUS_PAYLOAD;
        e.header.argument = e.header.count = 0;
        expect.back() = e;
        model_registers = registers_before;
        check_all();
        link_error(MW_STATUS_PAYLOAD, 0, last);
        sync();
        if (e.header.type == (MW_FRAME_MEM_WRITE | MW_FRAME_REPLY)) {
            // the host writes that again; here, all of it
            for (unsigned g = 0; g < GPUS; g++)
                rewrite(g);
        }
    }

    void rewrite(unsigned gpu)
    {
        for (uint32_t at = 0; at < 1u << MEM_LOG2; at += MW_HOST_MAX_PAYLOAD) {
            mw_frame_header h = request(MW_FRAME_MEM_WRITE);
            h.argument = static_cast<uint64_t>(gpu) << MW_HOST_GPU_SHIFT | at;
            bytes data = random_bytes(MW_HOST_MAX_PAYLOAD);
            memcpy(&model_memory[gpu][at], data.data(), data.size());
            add(h, data, reply(h, MW_STATUS_OK));
        }
    }

    void any_request()
    {
        switch (below(10)) {
        case 0:
        case 1:
            mem_write();
            break;
        case 2:
        case 3:
            mem_read();
            break;
        case 4:
            registers_frame(true);
            break;
        case 5:
            registers_frame(false);
            break;
        case 6:
            firmware_frame();
            break;
        case 7:
            wait_frame();
            break;
        case 8:
            refused();
            break;
        default:
            // zeros between frames are nothing
            out.insert(out.end(), below(20), 0);
            mem_read();
        }
    }

    /// A right request that the device must not carry out; the caller clears `expect`.
    void ignored_request()
    {
        const auto memory_then = model_memory;
        const auto registers_then = model_registers;
        any_request();
        model_memory = memory_then;
        model_registers = registers_then;
    }

    void check_reply()
    {
        frame f = receive();
        assert_false(expect.empty());
        expected e = expect.front();
        expect.pop_front();
        assert_int_equal(f.header.type, e.header.type);
        assert_int_equal(f.header.sequence, e.header.sequence);
        assert_int_equal(f.header.status, e.header.status);
        if (e.makes_key) {
            assert_int_equal(static_cast<uint32_t>(f.header.argument),
                             static_cast<uint32_t>(e.header.argument));
            assert_true(f.header.argument >> 32 & 1);
            assert_true(f.header.argument >> 32 != key);
            last_key = key;
            key = static_cast<uint32_t>(f.header.argument >> 32);
        } else if (!e.any_argument) {
            assert_true(f.header.argument == e.header.argument);
        }
        assert_int_equal(f.header.count, e.header.count);
        assert_int_equal(f.header.words * 8u, e.payload.size());
        assert_int_equal(f.trailer, 0);
        assert_memory_equal(f.payload.data(), e.payload.data(), e.payload.size());
    }

    void check_all()
    {
        while (!expect.empty())
            check_reply();
        settle();
        if (out.empty())
            assert_false(dut.mem_claim_o); // others may have the memories
    }

    void quiet(unsigned n)
    {
        for (unsigned i = 0; i < n; i++)
            step();
        assert_true(in.empty());
    }

    void link_error(unsigned status, uint32_t seen, uint16_t last)
    {
        frame f = receive();
        assert_int_equal(f.header.type, MW_FRAME_LINK_ERROR);
        assert_int_equal(f.header.status, status);
        assert_int_equal(f.header.sequence, last);
        assert_int_equal(f.header.count, seen);
        assert_int_equal(f.header.words, 0);
    }
};

TEST(random)
{
    host b;
    b.sync();
    for (unsigned round = 0; round < tb::cases(16, 40); round++) {
        b.rates(30);
        b.dut.done_i = b.below(2);
        for (unsigned n = 5 + b.below(20); n > 0; n--)
            b.percent(5) ? b.damaged_payload() : b.any_request();
        b.check_all();
    }
    b.quiet(1000);
    for (unsigned g = 0; g < GPUS; g++)
        assert_memory_equal(b.memory[g].data(), b.model_memory[g].data(), 1 << MEM_LOG2);
}

/// Before the first SYNC nothing is said, whatever comes; SYNC is found at every byte,
/// behind zeros enough.
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
        // too few of them, too early ones, none
        for (unsigned zeros : {0u, 1u, 4096u, MW_HOST_SYNC_ZEROS - 1u}) {
            b.zeros(zeros);
            b.put(b.sync_header());
        }
        b.zeros(MW_HOST_SYNC_ZEROS);
        b.send({1});
        b.put(b.sync_header());
        while (!b.out.empty() && b.now < 10000000)
            b.step();
        b.quiet(100);
        // what looked like the begin of a header ends in these zeros
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
        // all of that, and right requests, are lost until SYNC
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
        // a frame that came twice, or one that is missing
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

/// A frame that was cut swallows what follows, fails its CRC, and SYNC_GAP zeros bring
/// everything to an end.
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
        b.any_request();
        b.check_all();
        b.quiet(100);
    }
}

/// A reset of the link at any time: nothing of before is heard afterwards, and the next SYNC
/// finds everything at work.
TEST(link_reset)
{
    host b;
    for (unsigned i = 0; i < tb::cases(100, 300); i++) {
        b.rates(30);
        b.sync();
        unsigned requests = 1 + b.below(5);
        for (unsigned n = 0; n < requests; n++)
            b.any_request();
        for (unsigned n = b.below(i % 3 ? 300 : 3000); n > 0; n--)
            b.step();
        b.restart();
        b.quiet(b.below(100));
        b.sync();
        b.model_memory = b.memory;
        b.model_registers = b.registers;
    }
}

/// The same in each cycle from a request for the firmware, or RESET, to behind its answer:
/// the bench sees that unheard_o tells of it.
TEST(link_reset_at_every_phase)
{
    host b;
    unsigned given = 0, unheard = 0;
    for (unsigned kind : {MW_FRAME_INFO, MW_FRAME_RESET})
        for (unsigned at = 0; at < 70; at++) {
            b.sync();
            b.put(b.request(kind));
            for (unsigned n = 0; n < at; n++)
                b.step();
            b.restart();
            b.quiet(1);
            b.settle();
            unheard += b.dut.unheard_o;
            for (unsigned n = 0; n < 60; n++) {
                b.step();
                given += b.dut.give_o;
            }
            assert_int_equal(b.dut.unheard_o, 0);
        }
    print_message("%u of 140 were unheard\n", unheard);
    assert_int_equal(given, 0); // what was not given until the reset never is
    assert_true(unheard > 20);  // 29 to 34 as the seed has the pauses of the stream
}

/// SYNC and INFO of a host that is answered VERSION; all else is not for it.
void check_foreign(host &b)
{
    b.sync(MW_STATUS_VERSION);
    mw_frame_header h = b.request(MW_FRAME_MEM_READ);
    b.add(h, {}, b.reply(h, MW_STATUS_TYPE));
    h = b.request(MW_FRAME_REG_WRITE);
    b.add(h, bytes(8), b.reply(h, MW_STATUS_TYPE));
    h = b.request(MW_FRAME_INFO);
    firmware_reply f = firmware(h.type, 0, 0, {});
    expected e = b.reply(h, f.status);
    e.header.argument = f.argument;
    e.header.count = f.count;
    e.payload = f.payload;
    b.add(h, {}, e);
    b.check_all();
}

TEST(versions)
{
    host b;
    for (unsigned major : {0u, MW_HOST_PROTOCOL_MAJOR + 1u, 0xffffu}) {
        b.version = major << 16 | MW_HOST_KEY_MINOR;
        check_foreign(b);
        assert_int_equal(b.key, 0);
    }
    // hosts of before the keys, as long as none with keys was here; then they have
    // to reset the link
    for (unsigned minor = 0; minor < MW_HOST_KEY_MINOR; minor++) {
        b.version = MW_HOST_PROTOCOL_MAJOR << 16 | minor;
        b.sync();
        assert_int_equal(b.key, 0);
        b.any_request();
        b.check_all();
    }
    for (unsigned minor : {MW_HOST_KEY_MINOR, 0xffff}) {
        b.version = MW_HOST_PROTOCOL_MAJOR << 16 | minor;
        b.sync();
        assert_true(b.key & 1);
        b.any_request();
        b.check_all();
        b.version = MW_HOST_PROTOCOL_MAJOR << 16 | (MW_HOST_KEY_MINOR - 1);
        check_foreign(b);
        b.restart();
        b.sync();
        b.any_request();
        b.check_all();
    }
}

// ---- what is stored never becomes a command -----------------------------------------------------

constexpr uint32_t VICTIM = 0x40; ///< a register that nothing but hidden frames writes

/// Frames as they may lie in a payload: a write of the victim with that number, for a
/// session with that key.
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

bytes join(std::initializer_list<bytes> parts)
{
    bytes all;
    for (const bytes &p : parts)
        all.insert(all.end(), p.begin(), p.end());
    return all;
}

void pad(bytes &b, size_t to)
{
    if (b.size() % to)
        b.resize(b.size() + to - b.size() % to);
}

/// A payload that tries everything, and is sent as a MEM_WRITE of which [from, to) is lost on the
/// way, with some bits turned.
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
    // whatever is said, it is no reply to what was hidden
    uint64_t start = b.now;
    while (!b.out.empty() || b.now - start < 3000) {
        b.step();
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
            // a wrong bit of the header; SYNC at the front, behind as many zeros as
            // there is room for
            attack("bit, hidden SYNC", b, frames(), 0, 0, 37);
            attack("bit, hidden SYNC behind zeros", b, join({zeros, frames()}), 0, 0, 3);
            // the header is lost, or the first packet
            attack("no header, hidden SYNC", b, frames(), 0, HEAD, -1);
            attack("no header, zeros, SYNC", b, join({zeros, frames()}), 0, HEAD, -1);
            attack("no packet, hidden SYNC", b, join({filler, frames()}), 0, PACKET, -1);
            // bytes lost inside: what comes next is swallowed
            attack("bytes lost", b, join({filler, frames()}), HEAD + 8, HEAD + 24, -1);
        }
        // frames with the number that comes next, at the place where a frame begins: who has no key
        // cannot tell them from the host's
        for (int lost = 0; keys && lost < 2; lost++) {
            bytes front = lost ? filler : bytes();
            attack("next number", b, join({front, hidden_write(b.number, 0)}), 0,
                   lost ? PACKET : HEAD, -1);
            attack("next number, an old key", b, join({front, hidden_write(b.number, b.last_key)}),
                   0, lost ? PACKET : HEAD, -1);
        }
    }
}

/// The header of one frame before the payload and trailer of another: all between them was lost.
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

// ---- what is refused ----------------------------------------------------------------------------

/// A request of every shape that is not allowed, and some at the edge of it, with the status that
/// each is answered with.
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
            mw_frame_header h = b.request(s.kind);
            h.argument = s.argument;
            h.count = s.count;
            h.status = static_cast<uint8_t>(b.rng()); // of a request it counts for nothing
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
        // its payload's CRC comes before all else
        for (unsigned kind : {0x7f, +MW_FRAME_MEM_WRITE, +MW_FRAME_WAIT}) {
            mw_frame_header h = b.request(kind);
            h.argument = 1;
            bytes f = make_frame(h, b.random_bytes(24), b.key);
            f[30] ^= 1;
            b.send(f);
            b.expect.push_back(b.reply(h, MW_STATUS_PAYLOAD));
            b.check_all();
            b.link_error(MW_STATUS_PAYLOAD, 0, h.sequence);
            b.sync();
        }
        // and the status in a trailer counts for nothing
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

/// What is no request takes the link out of step.
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
        case 5: // SYNC with a payload, behind its zeros
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
        b.any_request();
        b.check_all();
    }
}

/// An access that is lost, since its GPU is being reset: the answer says so, whichever it is, and
/// the next one is well again.
TEST(lost)
{
    host b;
    b.sync();
    for (unsigned i = 0; i < tb::cases(80, 200); i++) {
        b.rates(30);
        bool write = b.below(2);
        uint32_t size = 16 * (1 + b.below(i % 10 ? 20 : 400));
        unsigned accesses = size / host_link_bench::FLIT;
        b.lose = i % 4 ? 1 + b.below(accesses) : accesses;
        mw_frame_header h = b.request(write ? MW_FRAME_MEM_WRITE : MW_FRAME_MEM_READ);
        h.count = write ? 0 : size;
        b.put(h, b.random_bytes(write ? size : 0));
        frame f = b.receive();
        assert_int_equal(f.header.type, h.type | MW_FRAME_REPLY);
        assert_int_equal(f.header.status, write ? MW_STATUS_STATE : MW_STATUS_OK);
        assert_int_equal(f.trailer, write ? MW_STATUS_OK : MW_STATUS_STATE);
        assert_int_equal(f.payload.size(), write ? 0 : size);
        assert_int_equal(b.lose, 0);
        b.model_memory = b.memory;
        b.any_request();
        b.any_request();
        b.check_all();
    }
}

TEST(wait_and_reset)
{
    host b;
    b.sync();
    auto wait = [&](uint64_t cycles) {
        mw_frame_header h = b.request(MW_FRAME_WAIT);
        h.argument = cycles;
        b.put(h);
        return b.receive().header;
    };
    uint64_t start = b.now;
    mw_frame_header r = wait(5000);
    assert_int_equal(r.count, 0);
    assert_in_range(b.now - start, 5000, 5050);
    b.dut.done_i = 1;
    start = b.now;
    assert_int_equal(wait(5000).count, 1);
    assert_true(b.now - start < 50);
    b.dut.done_i = 0;
    // another frame ends it, zeros do not
    start = b.now;
    mw_frame_header h = b.request(MW_FRAME_WAIT);
    h.argument = UINT64_MAX;
    b.put(h);
    b.zeros(100);
    b.quiet(3000);
    expected e = b.reply(h, MW_STATUS_OK);
    e.any_argument = true;
    b.expect.push_back(e);
    b.sync();
    // cycles are counted from the reset of the fabric
    h = b.request(MW_FRAME_RESET);
    b.put(h);
    r = b.receive().header;
    assert_int_equal(r.status, MW_STATUS_OK);
    assert_int_equal(b.resets, 1);
    assert_in_range(wait(100).argument, 100, 200);
}

/// The rates that the endpoint needs, and those that a simulation likes.
TEST(rate)
{
    for (unsigned most : {1, 8}) {
        host b;
        b.most_bytes = most;
        b.sync();
        for (bool write : {true, false}) {
            uint64_t start = b.now;
            for (unsigned i = 0; i < 4; i++) {
                mw_frame_header h = b.request(write ? MW_FRAME_MEM_WRITE : MW_FRAME_MEM_READ);
                h.argument = static_cast<uint64_t>(i % GPUS) << MW_HOST_GPU_SHIFT;
                h.count = write ? 0 : MW_HOST_MAX_PAYLOAD;
                bytes data(write ? MW_HOST_MAX_PAYLOAD : 0, 1);
                expected e = b.reply(h, MW_STATUS_OK);
                e.payload.assign(write ? 0 : MW_HOST_MAX_PAYLOAD, 1);
                b.add(h, data, e);
            }
            b.check_all();
            uint64_t cycles = b.now - start, bytes = 4 * MW_HOST_MAX_PAYLOAD;
            print_message("%s, %u bytes per cycle offered: %.3f bytes per cycle\n",
                          write ? "write" : "read", most,
                          static_cast<double>(bytes) / static_cast<double>(cycles));
            // at 60 MHz, 50 MB/s is 0.834 bytes per cycle
            assert_true(cycles * (write ? most : 8) < bytes + bytes / 64);
        }
    }
}
} // namespace
