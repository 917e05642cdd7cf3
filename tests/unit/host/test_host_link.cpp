// SPDX-License-Identifier: Apache-2.0
//
// Valid requests of host_link at random rates: each reply is that of a model of registers, memories
// and firmware. Then resets of the link, versions, lost accesses, and the rates.

#include "link_host.h"

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

/// A reset of the link at any time. No earlier reply comes afterwards, and after the next SYNC
/// everything works.
TEST(link_reset)
{
    host b;
    for (unsigned i = 0; i < tb::cases(100, 300); i++) {
        b.rates(30);
        b.sync();
        unsigned requests = 1 + b.below(5);
        for (unsigned n = 0; n < requests; n++)
            b.any_request();
        b.cycles(b.below(i % 3 ? 300 : 3000));
        b.restart();
        b.quiet(b.below(100));
        b.sync();
        b.model_memory = b.memory;
        b.model_registers = b.registers;
    }
}

/// The same in each cycle from a request for the firmware, or RESET, to the end of its answer. The
/// bench checks unheard_o.
TEST(link_reset_at_every_phase)
{
    host b;
    unsigned given = 0, unheard = 0;
    for (unsigned kind : {MW_FRAME_INFO, MW_FRAME_RESET})
        for (unsigned at = 0; at < 70; at++) {
            b.sync();
            b.put(b.request(kind));
            b.cycles(at);
            b.restart();
            b.quiet(1);
            b.settle();
            unheard += b.dut.unheard_o;
            for (unsigned n = 0; n < 60; n++) {
                b.cycle();
                given += b.dut.give_o;
            }
            assert_int_equal(b.dut.unheard_o, 0);
        }
    print_message("%u of 140 were unheard\n", unheard);
    assert_int_equal(given, 0); // what was not passed on before the reset never is
    assert_true(unheard > 20);  // 29 to 34, depending on the seed
}

/// A host that gets VERSION may send SYNC and INFO. Other requests are refused.
static void check_foreign(host &b)
{
    b.sync(MW_STATUS_VERSION);
    mw_frame_header h = b.request(MW_FRAME_MEM_READ);
    b.add(h, {}, b.reply(h, MW_STATUS_TYPE));
    h = b.request(MW_FRAME_REG_WRITE);
    b.add(h, bytes(8), b.reply(h, MW_STATUS_TYPE));
    h = b.request(MW_FRAME_INFO);
    b.command(h, {});
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
    // Hosts without keys work until one with keys has connected. Then they must reset the link.
    for (unsigned minor = 0; minor < MW_HOST_KEY_MINOR; minor++) {
        b.version = MW_HOST_PROTOCOL_MAJOR << 16 | minor;
        b.sync();
        assert_int_equal(b.key, 0);
        b.works();
    }
    for (unsigned minor : {MW_HOST_KEY_MINOR, 0xffff}) {
        b.version = MW_HOST_PROTOCOL_MAJOR << 16 | minor;
        b.sync();
        assert_true(b.key & 1);
        b.works();
        b.version = MW_HOST_PROTOCOL_MAJOR << 16 | (MW_HOST_KEY_MINOR - 1);
        check_foreign(b);
        b.restart();
        b.sync();
        b.works();
    }
}

/// An access that is lost because its GPU is in reset. Any kind of answer reports this, and the
/// next access works.
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
        mw_frame_header h =
            b.request(write ? MW_FRAME_MEM_WRITE : MW_FRAME_MEM_READ, 0, write ? 0 : size);
        b.put(h, b.random_bytes(write ? size : 0));
        frame f = b.receive();
        assert_int_equal(f.header.type, h.type | MW_FRAME_REPLY);
        assert_int_equal(f.header.status, write ? MW_STATUS_STATE : MW_STATUS_OK);
        assert_int_equal(f.trailer, write ? MW_STATUS_OK : MW_STATUS_STATE);
        assert_int_equal(f.payload.size(), write ? 0 : size);
        assert_int_equal(b.lose, 0);
        b.model_memory = b.memory;
        b.any_request();
        b.works();
    }
}

TEST(wait_and_reset)
{
    host b;
    b.sync();
    auto wait = [&](uint64_t cycles) {
        b.put(b.request(MW_FRAME_WAIT, cycles));
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
    mw_frame_header h = b.request(MW_FRAME_WAIT, UINT64_MAX);
    b.put(h);
    b.zeros(100);
    b.quiet(3000);
    expected e = b.reply(h, MW_STATUS_OK);
    e.any_argument = true;
    b.expect.push_back(e);
    b.sync();
    // cycles are counted from the reset of the fabric
    b.put(b.request(MW_FRAME_RESET));
    r = b.receive().header;
    assert_int_equal(r.status, MW_STATUS_OK);
    assert_int_equal(b.resets, 1);
    assert_in_range(wait(100).argument, 100, 200);
}

/// The rates that the endpoint requires, and those that simulation prefers.
TEST(rate)
{
    for (unsigned most : {1, 8}) {
        host b;
        b.most_bytes = most;
        b.sync();
        for (bool write : {true, false}) {
            uint64_t start = b.now;
            for (unsigned i = 0; i < 4; i++) {
                mw_frame_header h =
                    b.request(write ? MW_FRAME_MEM_WRITE : MW_FRAME_MEM_READ,
                              host::place(i % GPUS, 0), write ? 0 : MW_HOST_MAX_PAYLOAD);
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
