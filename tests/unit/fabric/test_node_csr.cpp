// SPDX-License-Identifier: Apache-2.0
//
// node_csr: every field of the layer configuration by its register, the status window, errors and
// counters, and accesses that must be refused. MW_SEED repeats a run.
#include "isa.h"
#include "bench/dut.h"
#include "node_cfg.h"
#include "node_regs.h"

using namespace tb;

#define NODE(reg) static_cast<uint32_t>(offsetof(mw_node_t, reg))

static const unsigned ERRORS = PARAM_NumErr;
static const unsigned WORDS = sizeof(Vnode_csr::cfg_o) / 4;

struct registers : model<Vnode_csr> {
    registers()
    {
        dut.go_i = dut.csr_req_i = dut.state_i = dut.count_i = 0;
        report(0);
        dut.port_i = 21;
        dut.epoch_i = 2;
        reset();
    }

    void idle(unsigned n)
    {
        dut.csr_req_i = 0;
        cycles(n);
    }

    void sample() override { assert_false(!dut.csr_req_i && dut.csr_ack_o); }

    /// One bit for each source.
    void report(unsigned sources)
    {
        for (unsigned e = 0; e < ERRORS; e++)
            dut.err_valid_i[e] = sources >> e & 1;
    }

    void go()
    {
        dut.go_i = 1;
        idle(1);
        dut.go_i = 0;
    }

    /// Returns whether the block answered without an error.
    bool access(bool write, uint32_t address, uint32_t *value)
    {
        dut.csr_req_i = 1;
        dut.csr_we_i = write;
        dut.csr_addr_i = static_cast<uint16_t>(address);
        dut.csr_wdata_i = *value;
        until("an answer", 33, [&] {
            settle();
            return dut.csr_ack_o;
        });
        bool good = !dut.csr_err_o;
        if (!write)
            *value = dut.csr_rdata_o;
        edge();
        dut.csr_req_i = 0;
        settle();
        assert_int_equal(dut.csr_rdata_o, 0);
        assert_false(dut.csr_ack_o);
        return good;
    }

    void write(uint32_t address, uint32_t value) { assert_true(access(true, address, &value)); }

    uint32_t read(uint32_t address)
    {
        uint32_t value = 0;
        assert_true(access(false, address, &value));
        return value;
    }
};

struct field {
    const char *name;
    uint32_t address;
    unsigned low, width;
    unsigned unit = 1; // bytes
};

static const field FIELDS[] = {
    {"k", NODE(shape), 0, 5},
    {"tokens", NODE(shape), 16, 16},
    {"token_shift", NODE(shifts), 0, 4},
    {"n_shift", NODE(shifts), 4, 3},
    {"k_shift", NODE(shifts), 8, 3},
    {"row_shift", NODE(shifts), 12, 4},
    {"gate_shift", NODE(shifts), 16, 4},
    {"cap_shift", NODE(shifts), 20, 5},
    {"cache_log2", NODE(shifts), 25, 4},
    {"row_bytes", NODE(row), 0, 15},
    {"local_experts", NODE(row), 16, 7},
    {"dispatch_bytes", NODE(dispatch_row), 0, 15},
    {"dispatch_type", NODE(dispatch_row), 16, 2},
    {"handle_epoch", NODE(handle), 0, 2},
    {"cached", NODE(handle), 8, 1},
    {"xs_base", NODE(xs_base), 0, 32, MW_BASE_UNIT},
    {"rt_base", NODE(rt_base), 0, 32, MW_BASE_UNIT},
    {"xd_base", NODE(xd_base), 0, 32, MW_BASE_UNIT},
    {"yd_base", NODE(yd_base), 0, 32, MW_BASE_UNIT},
    {"xf_base", NODE(xf_base), 0, 32, MW_BASE_UNIT},
    {"dw_base", NODE(dw_base), 0, 32, MW_BASE_UNIT},
    {"gt_base", NODE(gt_base), 0, 32, MW_BASE_UNIT},
    {"al_base", NODE(al_base), 0, 32, MW_BASE_UNIT},
    {"out_base", NODE(out_base), 0, 32, MW_BASE_UNIT},
    {"cb_base", NODE(cb_base), 0, 32, MW_BASE_UNIT},
    {"ce_base", NODE(ce_base), 0, 32, MW_BASE_UNIT},
    {"rl_base", NODE(rl_base), 0, 32, MW_BASE_UNIT},
    {"st_lo", NODE(st_lo), 0, 32, MW_BASE_UNIT},
    {"st_hi", NODE(st_hi), 0, 32, MW_BASE_UNIT},
    {"stream_enable", NODE(streams), 0, 4},
    {"start_delay", NODE(streams), 16, 16},
    {"tile", NODE(expert), 0, 8},
    {"expert_cycles", NODE(expert), 16, 16},
    {"partial_tiles", NODE(partial), 0, 1},
    {"partial_wait", NODE(partial), 16, 16},
    {"in_flight", NODE(window), 0, 16},
    {"open_rows", NODE(window), 16, 8},
    {"store_credits", NODE(credits), 0, 8},
    {"part_credits", NODE(credits), 8, 8},
    {"ctrl_credits", NODE(credits), 16, 8},
    {"throttle", NODE(credits), 24, 8},
    {"adder_bypass", NODE(uses), 0, 1},
    {"own_by_adder", NODE(uses), 9, 1},
    {"balance_rows", NODE(uses), 10, 1},
    {"target_list_cache", NODE(uses), 1, 1},
    {"switch_reductions", NODE(uses), 2, 1},
    {"tile_reductions", NODE(uses), 7, 1},
    {"merge_loads", NODE(uses), 8, 1},
    {"load_first", NODE(loads), 0, 15},
    {"load_expert", NODE(loads), 16, 6},
    {"load_parts", NODE(loads), 24, 3},
    {"load_base", NODE(load_base), 0, 32, MW_BASE_UNIT},
    {"red_first", NODE(red_rows), 0, 15},
    {"red_count", NODE(red_rows), 16, 16},
    {"row_returns", NODE(uses), 4, 1},
    {"source_lists", NODE(uses), 6, 1},
    {"dispatch_throttle", NODE(uses), 3, 1},
    {"throttle_ahead", NODE(dispatch_throttle), 0, 16},
    {"throttle_lead", NODE(lead), 0, 16},
    {"throttle_idle", NODE(dispatch_throttle), 16, 16},
    {"link_wait", NODE(link), 0, 2},
    {"packet_manager", NODE(uses), 5, 1},
    {"rpm_timer", NODE(merge), 0, 16},
    {"scatter", NODE(merge), 16, 3},
};

TEST(configuration)
{
    registers b;
    for (unsigned round = 0; round < 50; round++) {
        uint32_t reg[0x100] = {};
        node_cfg expect;
        // With switch-initiated reductions no rows return. Tile reductions require them, and loads
        // require tile reductions. Lists require rows that return.
        bool by_switch = false, tiles = false, returns = false;
        expect.set("port", 21);
        expect.set("epoch", 2);
        for (const field &f : FIELDS) {
            uint64_t value = b.rng.word() & ((UINT64_C(1) << f.width) - 1);
            by_switch |= value && !strcmp(f.name, "switch_reductions");
            tiles |= value && by_switch && !strcmp(f.name, "tile_reductions");
            returns |= value && !by_switch && !strcmp(f.name, "row_returns");
            const bool off = (by_switch && !strcmp(f.name, "row_returns")) ||
                             (!by_switch && !strcmp(f.name, "tile_reductions")) ||
                             (!tiles && !strcmp(f.name, "merge_loads")) ||
                             (!returns && !strcmp(f.name, "source_lists"));
            expect.set(f.name, off ? 0 : value * f.unit);
            reg[f.address / 4] |= static_cast<uint32_t>(value) << f.low;
        }
        for (const field &f : FIELDS)
            b.write(f.address, reg[f.address / 4]);
        // node_cfg sets fields of at most 64 bits; the four stream bases are checked as words
        uint32_t base[4];
        for (unsigned i = 0; i < 4; i++) {
            base[i] = b.rng.word();
            b.write(NODE(stream_base0) + 4 * i, base[i]);
        }
        b.settle();
        std::vector<uint32_t> want(WORDS), streams(WORDS);
        expect.drive(want);
        node_cfg mask;
        mask.set("stream_base", UINT64_MAX);
        mask.drive(streams);
        unsigned first = 0; // bit of stream_base[0]
        while (!(streams[first / 32] >> first % 32 & 1))
            first++;
        for (unsigned i = 0; i < 4; i++) {
            const uint64_t bytes = uint64_t(MW_BASE_UNIT) * base[i];
            for (unsigned k = 0; k < 36; k++) {
                const unsigned bit = first + 36 * i + k;
                want[bit / 32] |= static_cast<uint32_t>(bytes >> k & 1) << bit % 32;
            }
        }
        for (unsigned w = 0; w < WORDS; w++)
            assert_int_equal(b.dut.cfg_o[w], want[w]);
    }
}

TEST(reset_values)
{
    registers b;
    node_cfg reset;
    std::vector<uint32_t> want(WORDS);
    reset.set("stream_enable", 0xf);
    reset.set("throttle", 0xff);
    reset.set("partial_tiles", 1);
    reset.drive(want);
    for (unsigned w = 0; w < WORDS; w++)
        assert_int_equal(b.dut.cfg_o[w] & want[w], 0);
}

TEST(status)
{
    registers b;
    b.dut.state_i = 0x12345678;
    for (unsigned i = 0; i < 4; i++)
        b.dut.stream_i[i] = 0x1000 + i;
    assert_int_equal(b.read(NODE(status.state)), 0x12345678);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(b.read(NODE(status.stream0) + 4 * i), 0x1000 + i);
}

TEST(counters_of_the_packet_manager)
{
    registers b;
    b.go();
    uint32_t count[5] = {};
    for (unsigned i = 0; i < 3000; i++) {
        const unsigned events = b.rng.below(32);
        b.dut.manager_in_i = events & 1;
        b.dut.manager_out_i = events >> 1 & 1;
        b.dut.manager_merged_i = events >> 2 & 1;
        b.dut.manager_full_i = events >> 3 & 1;
        b.dut.manager_timer_i = events >> 4;
        for (unsigned j = 0; j < 5; j++)
            count[j] += events >> j & 1;
        b.idle(1);
    }
    b.dut.manager_in_i = b.dut.manager_out_i = b.dut.manager_merged_i = b.dut.manager_full_i = 0;
    b.dut.manager_timer_i = 0;
    for (unsigned j = 0; j < 5; j++)
        assert_int_equal(b.read(NODE(status.rpm_in) + 4 * j), count[j]);
    b.go();
    for (unsigned j = 0; j < 5; j++)
        assert_int_equal(b.read(NODE(status.rpm_in) + 4 * j), 0);
}

TEST(counters)
{
    registers b;
    b.go();
    uint32_t count[13] = {};
    for (unsigned i = 0; i < 3000; i++) {
        uint32_t events = b.rng.word() & 0x1fff & (i % 3 ? b.rng.word() : 0x1fff);
        b.dut.count_i = static_cast<uint16_t>(events);
        for (unsigned j = 0; j < 13; j++)
            count[j] += events >> j & 1;
        b.idle(1);
    }
    b.dut.count_i = 0;
    for (unsigned j = 0; j < 13; j++)
        assert_int_equal(b.read(NODE(status.stall_store) + 4 * j), count[j]);
    b.go();
    for (unsigned j = 0; j < 13; j++)
        assert_int_equal(b.read(NODE(status.stall_store) + 4 * j), 0);
}

TEST(errors)
{
    registers b;
    b.go();
    assert_int_equal(b.read(NODE(status.error)), 0);
    assert_false(b.dut.error_o);
    for (unsigned e = 0; e < ERRORS; e++)
        b.dut.err_code_i[e] = static_cast<uint8_t>(7 + e);
    b.report(0x6); // two in one cycle: the lowest source comes first
    b.idle(1);
    b.report(0x1);
    b.idle(1);
    b.report(0);
    assert_int_equal(b.read(NODE(status.error)), 8 | 3u << 16);
    assert_true(b.dut.error_o);
    b.report(0x7);
    b.idle(65536 / ERRORS + 2);
    b.report(0);
    uint32_t stopped = b.read(NODE(status.error));
    assert_int_equal(stopped & 0xffff, 8);
    assert_in_range(stopped >> 16, 65520, 65535);
    b.go();
    assert_int_equal(b.read(NODE(status.error)), 0);
}

TEST(refused)
{
    registers b;
    uint32_t value = 0;
    assert_false(b.access(true, 0x0c, &value));         // a hole
    assert_false(b.access(true, 0x400, &value));        // beyond the registers
    assert_false(b.access(false, NODE(shape), &value)); // write-only
    assert_false(b.access(false, 0xffc, &value));       // beyond the window
    for (unsigned i = 0; i < 3; i++)                    // and the bus still works
        assert_true(b.access(true, NODE(credits), &value));
}
