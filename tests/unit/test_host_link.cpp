// SPDX-License-Identifier: Apache-2.0
//
// host_link against the protocol: random requests, good and bad, with everything around it waiting at random; every reply compared with what a model of
// registers, memories and firmware says. Broken, cut, repeated and lost frames, resets of the link, and the rates. MW_SEED repeats a run.
#include "host_link_bench.h"

namespace {
struct expected {
    mw_frame_header header;
    bytes payload;
    bool any_argument = false;
};

/// A host: makes requests, and knows the replies in advance.
struct host : host_link_bench {
    uint16_t number = 0;
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
        send(make_frame(h, payload));
        expect.push_back(e);
    }

    void sync(unsigned zeros = 0)
    {
        out.insert(out.end(), zeros, 0);
        number = static_cast<uint16_t>(rng());
        mw_frame_header h = request(MW_FRAME_SYNC);
        h.argument = rng();
        h.count = MW_HOST_PROTOCOL_MAJOR << 16 | MW_HOST_PROTOCOL_MINOR;
        expected e = reply(h, MW_STATUS_OK);
        e.header.argument = h.argument;
        e.header.count = h.count;
        add(h, {}, e);
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
            x.value = word();
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
        const unsigned kinds[] = {MW_FRAME_INFO, MW_FRAME_SELFTEST, MW_FRAME_LOG_READ,
                                  MW_FRAME_LOG_CLEAR};
        mw_frame_header h = request(kinds[below(4)]);
        h.argument = rng();
        h.count = word();
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
            h = request(below(2) ? 12 + below(100) : 0);
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

    /// A right frame with a payload that was damaged on its way: nothing is done, but memory may hold anything.
    void damaged_payload()
    {
        size_t before = out.size();
        auto registers_before = model_registers;
        auto memory_before = model_memory;
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
        if (e.header.type == (MW_FRAME_MEM_WRITE | MW_FRAME_REPLY)) {
            // the host writes that again; here, all of it
            for (unsigned g = 0; g < GPUS; g++)
                rewrite(g);
        }
        (void)memory_before;
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

    void check_reply()
    {
        frame f = receive();
        assert_false(expect.empty());
        expected e = expect.front();
        expect.pop_front();
        assert_int_equal(f.header.type, e.header.type);
        assert_int_equal(f.header.sequence, e.header.sequence);
        assert_int_equal(f.header.status, e.header.status);
        if (!e.any_argument)
            assert_true(f.header.argument == e.header.argument);
        assert_int_equal(f.header.count, e.header.count);
        assert_int_equal(f.header.words * 8u, e.payload.size());
        assert_int_equal(f.trailer, 0);
        assert_memory_equal(f.payload.data(), e.payload.data(), e.payload.size());
    }

    void check_all()
    {
        while (!expect.empty())
            check_reply();
    }

    void quiet(unsigned n)
    {
        for (unsigned i = 0; i < n; i++)
            step();
        assert_true(in.empty());
    }

    void paces()
    {
        const unsigned rates[] = {100, 100, 80, 30};
        out_rate = rates[below(4)];
        in_rate = rates[below(4)];
        mem_rate = rates[below(4)];
        most_bytes = below(2) ? 8 : 1 + below(8);
        delay = 1 + below(30);
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

void test_random(void **)
{
    host b;
    b.sync();
    for (unsigned round = 0; round < 40; round++) {
        b.paces();
        b.dut.done_i = b.below(2);
        for (unsigned n = 5 + b.below(20); n > 0; n--)
            b.percent(5) ? b.damaged_payload() : b.any_request();
        b.check_all();
    }
    b.quiet(1000);
    for (unsigned g = 0; g < GPUS; g++)
        assert_memory_equal(b.memory[g].data(), b.model_memory[g].data(), 1 << MEM_LOG2);
}

/// Before the first SYNC nothing is said, whatever comes; SYNC is found at every byte.
void test_out_of_step(void **)
{
    for (unsigned offset = 0; offset < 12; offset++) {
        host b;
        b.paces();
        b.quiet(50);
        for (unsigned i = 0; i < 4; i++)
            b.any_request();
        b.send(b.random_bytes(b.below(300)));
        b.expect.clear();
        while (!b.out.empty() && b.cycles < 1000000)
            b.step();
        b.quiet(100);
        // what looked like the begin of a header ends in these zeros
        b.sync(24 + offset);
        b.mem_read();
        b.check_all();
    }
}

void test_header_errors(void **)
{
    for (unsigned i = 0; i < 60; i++) {
        host b;
        b.paces();
        b.sync();
        unsigned good = b.below(4);
        for (unsigned n = 0; n < good; n++)
            b.any_request();
        uint16_t last = static_cast<uint16_t>(b.number - 1);
        // a header with one wrong bit
        mw_frame_header h = b.request(MW_FRAME_REG_WRITE);
        bytes f = make_frame(h, b.random_bytes(8 * b.below(5)));
        unsigned bit = b.below(8 * sizeof h);
        f[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
        b.send(f);
        b.check_all();
        b.link_error(MW_STATUS_HEADER, f[0] | f[1] << 8, last);
        // all of that, and right requests, are lost until SYNC
        b.any_request();
        b.expect.clear();
        b.sync(MW_HOST_SYNC_GAP);
        b.firmware_frame();
        b.mem_read();
        b.check_all();
        b.quiet(200);
    }
}

void test_sequence_errors(void **)
{
    for (unsigned i = 0; i < 20; i++) {
        host b;
        b.paces();
        b.sync();
        b.any_request();
        uint16_t last = static_cast<uint16_t>(b.number - 1);
        // a frame that came twice, or one that is missing
        uint16_t seen = i % 2 ? static_cast<uint16_t>(b.number + 1 + b.below(1000)) : last;
        mw_frame_header h = b.request(MW_FRAME_REG_READ);
        h.sequence = seen;
        b.send(make_frame(h));
        b.check_all();
        b.link_error(MW_STATUS_SEQUENCE, seen, last);
        b.quiet(100);
        b.sync(MW_HOST_SYNC_GAP);
        b.mem_read();
        b.check_all();
    }
}

/// A frame that was cut swallows what follows, fails its CRC, and SYNC_GAP zeros bring everything to an end.
void test_truncated(void **)
{
    for (unsigned i = 0; i < 40; i++) {
        host b;
        b.paces();
        b.sync();
        mw_frame_header h = b.request(MW_FRAME_MEM_WRITE);
        bytes f = make_frame(h, b.random_bytes(16 * (1 + b.below(i % 4 ? 100 : 4096))));
        size_t keep = 1 + b.below(static_cast<uint32_t>(f.size() - 1));
        f.resize(keep);
        b.send(f);
        b.check_all();
        for (unsigned n = 0; n < 500; n++)
            b.step();
        assert_true(b.in.empty());
        mw_frame_header lost = b.request(MW_FRAME_MEM_READ);
        b.out.insert(b.out.end(), MW_HOST_SYNC_GAP, 0);
        (void)lost;
        b.sync();
        frame r = b.receive();
        if (keep < sizeof h) {
            assert_int_equal(r.header.type, MW_FRAME_LINK_ERROR);
            assert_int_equal(r.header.status, MW_STATUS_HEADER);
        } else {
            assert_int_equal(r.header.type, MW_FRAME_MEM_WRITE | MW_FRAME_REPLY);
            assert_int_equal(r.header.status, MW_STATUS_PAYLOAD);
        }
        b.model_memory = b.memory;
        b.any_request();
        b.check_all();
        b.quiet(100);
    }
}

/// A reset of the link at any time: nothing of before is heard afterwards, and the next SYNC finds everything at work.
void test_link_reset(void **)
{
    host b;
    for (unsigned i = 0; i < 300; i++) {
        b.paces();
        b.sync();
        unsigned requests = 1 + b.below(5);
        for (unsigned n = 0; n < requests; n++)
            b.any_request();
        for (unsigned n = b.below(i % 3 ? 300 : 3000); n > 0; n--)
            b.step();
        b.reset_link();
        b.expect.clear();
        b.quiet(b.below(100));
        b.sync();
        b.check_all();
        b.model_memory = b.memory;
        b.model_registers = b.registers;
    }
}

void test_versions(void **)
{
    host b;
    mw_frame_header h = b.request(MW_FRAME_SYNC);
    h.argument = 77;
    h.count = (MW_HOST_PROTOCOL_MAJOR + 1) << 16;
    expected e = b.reply(h, MW_STATUS_VERSION);
    e.header.argument = 77;
    e.header.count = MW_HOST_PROTOCOL_MAJOR << 16 | MW_HOST_PROTOCOL_MINOR;
    b.add(h, {}, e);
    h = b.request(MW_FRAME_MEM_READ);
    b.add(h, {}, b.reply(h, MW_STATUS_TYPE));
    h = b.request(MW_FRAME_INFO);
    firmware_reply f = firmware(h.type, 0, 0, {});
    e = b.reply(h, f.status);
    e.header.argument = f.argument;
    e.header.count = f.count;
    e.payload = f.payload;
    b.add(h, {}, e);
    b.check_all();
    b.sync();
    b.mem_read();
    b.check_all();
}

void test_wait_and_reset(void **)
{
    host b;
    b.sync();
    b.check_all();
    auto wait = [&](uint64_t cycles) {
        mw_frame_header h = b.request(MW_FRAME_WAIT);
        h.argument = cycles;
        b.send(make_frame(h));
        return b.receive().header;
    };
    uint64_t start = b.cycles;
    mw_frame_header r = wait(5000);
    assert_int_equal(r.count, 0);
    assert_in_range(b.cycles - start, 5000, 5050);
    b.dut.done_i = 1;
    start = b.cycles;
    assert_int_equal(wait(5000).count, 1);
    assert_true(b.cycles - start < 50);
    b.dut.done_i = 0;
    // another frame ends it
    start = b.cycles;
    mw_frame_header h = b.request(MW_FRAME_WAIT);
    h.argument = UINT64_MAX;
    b.send(make_frame(h));
    for (int i = 0; i < 3000; i++)
        b.step();
    assert_true(b.in.empty());
    b.sync();
    assert_int_equal(b.receive().header.type, MW_FRAME_WAIT | MW_FRAME_REPLY);
    b.check_all();
    // cycles are counted from the reset of the fabric
    h = b.request(MW_FRAME_RESET);
    b.send(make_frame(h));
    r = b.receive().header;
    assert_int_equal(r.status, MW_STATUS_OK);
    assert_int_equal(b.resets, 1);
    assert_in_range(wait(100).argument, 100, 200);
}

/// The rates that the endpoint needs, and those that a simulation likes.
void test_rate(void **)
{
    for (unsigned most : {1, 8}) {
        host b;
        b.most_bytes = most;
        b.sync();
        b.check_all();
        for (bool write : {true, false}) {
            uint64_t start = b.cycles;
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
            uint64_t cycles = b.cycles - start, bytes = 4 * MW_HOST_MAX_PAYLOAD;
            print_message("%s, %u bytes per cycle offered: %.3f bytes per cycle\n",
                          write ? "write" : "read", most,
                          static_cast<double>(bytes) / static_cast<double>(cycles));
            // at 60 MHz, 50 MB/s is 0.834 bytes per cycle
            assert_true(cycles * (write ? most : 8) < bytes + bytes / 64);
        }
    }
}
} // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_random),        cmocka_unit_test(test_out_of_step),
        cmocka_unit_test(test_header_errors), cmocka_unit_test(test_sequence_errors),
        cmocka_unit_test(test_truncated),     cmocka_unit_test(test_link_reset),
        cmocka_unit_test(test_versions),      cmocka_unit_test(test_wait_and_reset),
        cmocka_unit_test(test_rate),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
