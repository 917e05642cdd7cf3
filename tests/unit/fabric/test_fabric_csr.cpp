// SPDX-License-Identifier: Apache-2.0
//
// Registers of the fabric with 5 or 72 nodes: routing and refusal of accesses, tables, settings,
// masks of ports, monitors, and errors of the switch. Then layers from go to done.
#include "bench/dut.h"
#include "bench/packet.h"
#include "fabric_regs.h"
#include "map.h"

#include <bitset>

using namespace tb;

#define FABRIC(reg) static_cast<uint32_t>(offsetof(mw_fabric_t, reg))

static const unsigned NODES = PARAM_N;

/// Ports, bit p for port p. Registers have four words for them.
using ports = std::bitset<128>;

static uint32_t word_of(const ports &set, unsigned w)
{
    return static_cast<uint32_t>((set >> 32 * w & ports(0xffffffff)).to_ulong());
}
static ports any_ports(dice &rng, unsigned count = NODES)
{
    ports set;
    for (unsigned p = 0; p < count; p++)
        set[p] = rng.percent(50);
    return set;
}
static ports all_ports()
{
    return ~ports() >> (128 - NODES);
}
template <class Port> void put_ports(Port &port, const ports &set)
{
    const uint32_t words[] = {word_of(set, 0), word_of(set, 1), word_of(set, 2), word_of(set, 3)};
    put(port, words);
}
/// `count` bits of a pin of any width, from `low` on.
template <class Port> ports bits_of(const Port &port, unsigned low, unsigned count)
{
    ports set;
    const bytes all = get(port);
    for (unsigned i = 0; i < count; i++)
        set[i] = all[(low + i) / 8] >> (low + i) % 8 & 1;
    return set;
}

/// A read path of four cycles: whether the answer for this address is valid.
struct read_path {
    uint32_t place = 0;
    unsigned cycles = 0;

    bool through(uint32_t now_at)
    {
        cycles = now_at == place ? cycles + 1 : 0;
        place = now_at;
        return cycles >= 4;
    }
};

struct registers : model<Vfabric_csr> {
    read_path mon_path, cnt_path;
    unsigned node_wait = 0, node_asked = NODES;
    bool node_wrote = false;
    uint32_t node_address = 0, node_data = 0;
    unsigned accesses = 0;
    // what pulses showed
    unsigned gos = 0, runs = 0, sweeps = 0, emaps = 0, groups = 0;
    unsigned ups[NODES] = {}, downs[NODES] = {};
    uint32_t emap_address = 0, emap_data = 0, group_address = 0;
    ports group_data;

    registers()
    {
        dut.cfg_req_i = dut.sweep_busy_i = dut.sw_err_valid_i = 0;
        put_ports(dut.node_error_i, {});
        put_ports(dut.node_reset_i, {});
        put_ports(dut.down_i, {});
        dut.all_idle_i = dut.switch_idle_i = dut.links_idle_i = 1;
        put_ports(dut.node_idle_i, all_ports());
        quiet_nodes();
        reset();
    }

    void quiet_nodes()
    {
        for (unsigned w = 0; w < NODES; w++)
            dut.node_ack_i[w] = dut.node_err_i[w] = dut.node_rdata_i[w] = 0;
    }

    /// The addressed node returns its own number and address, node 3 with an error.
    void nodes()
    {
        quiet_nodes();
        unsigned asked = 0, g = 0;
        for (unsigned w = 0; w < NODES; w++)
            if (dut.node_req_o[w]) {
                asked++;
                g = w;
            }
        if (!asked)
            return;
        assert_int_equal(asked, 1);
        if (node_wait++ < accesses % 7)
            return;
        node_wait = 0;
        node_asked = g;
        node_wrote = dut.node_we_o[g];
        node_address = dut.node_addr_o[g];
        node_data = dut.node_wdata_o[g];
        dut.node_ack_i[g] = 1;
        dut.node_err_i[g] = g == 3;
        dut.node_rdata_i[g] = g << 16 | dut.node_addr_o[g];
    }

    /// Checks all outputs of this cycle, without the edge.
    void look()
    {
        settle();
        nodes();
        uint32_t monitor = static_cast<uint32_t>(dut.ctl_mon_series_o << 16 |
                                                 dut.ctl_mon_port_o << 8 | dut.ctl_mon_word_o);
        uint32_t counter = (dut.ctl_cnt_loads_o ? 0x6000u : 0x5000u) +
                           (static_cast<uint32_t>(dut.ctl_cnt_port_o) << 4) + dut.ctl_cnt_idx_o;
        dut.mon_data_i = dut.ctl_mon_read_o && mon_path.through(monitor)
                             ? monitor
                             : static_cast<uint32_t>(rng());
        dut.mon_samples_i = 77;
        dut.cnt_data_i = cnt_path.through(counter) ? counter : static_cast<uint32_t>(rng());
        settle();
        gos += dut.go_o;
        runs += dut.run_o;
        sweeps += dut.sweep_o;
        for (unsigned p = 0; p < NODES; p++) {
            ups[p] += bit(dut.enable_o, p);
            downs[p] += bit(dut.disable_o, p);
        }
        if (dut.emap_we_o) {
            emaps++;
            emap_address = dut.emap_addr_o;
            emap_data = dut.emap_data_o;
        }
        if (dut.groups_we_o) {
            groups++;
            group_address = dut.groups_addr_o;
            group_data = bits_of(dut.groups_data_o, 0, std::max(NODES, 32u));
        }
    }

    bool access(bool write, uint32_t address, uint32_t *value)
    {
        accesses++;
        dut.cfg_req_i = 1;
        dut.cfg_we_i = write;
        dut.cfg_addr_i = address;
        dut.cfg_wdata_i = *value;
        unsigned waited = 0;
        for (look(); !dut.cfg_ack_o; look()) {
            edge();
            assert_true(++waited < 20);
        }
        bool good = !dut.cfg_err_o;
        if (!write)
            *value = dut.cfg_rdata_o;
        edge();
        dut.cfg_req_i = 0;
        for (unsigned i = below(3); i > 0; i--) {
            look();
            assert_false(dut.cfg_ack_o);
            edge();
        }
        return good;
    }

    void write(uint32_t address, uint32_t value) { assert_true(access(true, address, &value)); }

    uint32_t read(uint32_t address)
    {
        uint32_t value = 0xdeadbeef;
        assert_true(access(false, address, &value));
        return value;
    }

    void cycle() override
    {
        look();
        edge();
    }
};

TEST(identification)
{
    registers b;
    assert_int_equal(b.read(FABRIC(id)) >> 16, 0x4d57);
    assert_int_equal(b.read(FABRIC(size)), NODES | 8u << 8 | 14u << 16 | 4u << 24);
    assert_int_equal(b.read(FABRIC(capacity)), 10 | 8u << 8 | 9u << 16 | 16u << 24);
    assert_int_equal(b.read(FABRIC(windows)), 8 | 4u << 10 | 64u << 20);
    assert_int_equal(b.read(FABRIC(up_room)), 16 | 16u << 16);
    assert_int_equal(b.read(FABRIC(down_room)), 32 | 4u << 16);
    assert_int_equal(b.read(FABRIC(tables)), 64 | 16u << 16 | 10u << 24 | 6u << 28);
    assert_int_equal(b.read(FABRIC(primitives)), 0x5ffff |
                                                     0x1f << MW_FABRIC__PRIMITIVES__RED_TYPES_bp |
                                                     MW_FABRIC__PRIMITIVES__MERGE_REDS_bm |
                                                     MW_FABRIC__PRIMITIVES__BALANCE_ROWS_bm);
    assert_int_equal(b.read(FABRIC(load_room)), 24 | 16u << 16 | 4u << 24);
    assert_int_equal(b.read(FABRIC(sum_room)), 12);
}

TEST(node_accesses)
{
    registers b;
    for (unsigned i = 0; i < 500; i++) {
        unsigned g = b.below(NODES), offset = 4 * b.below(0x400);
        uint32_t value = b.rng.word(), sent = value;
        bool write = b.percent(50);
        b.node_asked = NODES;
        bool good = b.access(write, MW_MAP_NODES + MW_MAP_NODE_STRIDE * g + offset, &value);
        assert_int_equal(good, g != 3);
        assert_int_equal(b.node_asked, g);
        assert_int_equal(b.node_address, offset);
        assert_int_equal(b.node_wrote, write);
        if (write)
            assert_int_equal(b.node_data, sent);
        else
            assert_int_equal(value, g << 16 | offset);
    }
}

TEST(refused)
{
    registers b;
    for (uint32_t a : {0x38u, 0x3cu, 0x4cu, 0x74u, 0xb0u, 0x7fcu, 0x1800u, 0x12000u, 0x40000u,
                       0x50000u, MW_MAP_NODES + MW_MAP_NODE_STRIDE * NODES,
                       0x10000 + MW_MAP_NODES * 2, 0x80200000u, 0xfffffffcu}) {
        uint32_t value = 1;
        assert_false(b.access(true, a, &value));
        assert_false(b.access(false, a, &value));
        assert_int_equal(b.node_asked, NODES);
    }
    uint32_t value = 1;
    assert_false(b.access(true, FABRIC(id), &value));
    assert_false(b.access(true, FABRIC(counters), &value));
    assert_false(b.access(true, FABRIC(histogram), &value));
    assert_false(b.access(true, FABRIC(series), &value));
    assert_false(b.access(false, FABRIC(emap), &value));
    assert_false(b.access(false, FABRIC(control), &value));
    assert_int_equal(b.gos, 0);
}

TEST(monitors)
{
    registers b;
    assert_int_equal(b.dut.ctl_mon_interval_o, 0);
    assert_int_equal(b.dut.ctl_mon_classes_o, 15);
    b.write(FABRIC(monitor), 0x5abcd);
    assert_int_equal(b.dut.ctl_mon_interval_o, 0xabcd);
    assert_int_equal(b.dut.ctl_mon_classes_o, 5);
    assert_int_equal(b.read(FABRIC(monitor)), 1u << 31);
    assert_int_equal(b.read(FABRIC(samples)), 77);
    for (unsigned i = 0; i < 300; i++) {
        unsigned port = b.below(128), bin = b.below(64), word = b.below(256), counter = b.below(16);
        assert_int_equal(b.read(FABRIC(histogram) + 4 * (64 * port + bin)), port << 8 | bin);
        assert_int_equal(b.read(FABRIC(series) + 4 * (256 * port + word)),
                         1u << 16 | port << 8 | word);
        assert_int_equal(b.read(FABRIC(counters) + 4 * (16 * port + counter)),
                         0x5000 + 16 * port + counter);
        assert_int_equal(b.read(FABRIC(load_counters) + 4 * (16 * port + counter)),
                         0x6000 + 16 * port + counter);
    }
    assert_false(b.dut.run_o);
    b.dut.all_idle_i = 0;
    b.write(FABRIC(control), 1);
    b.cycles(3);
    assert_true(b.dut.run_o);
    b.dut.all_idle_i = 1;
    b.cycles(8);
    assert_false(b.dut.run_o);
}

TEST(tables)
{
    registers b;
    for (unsigned p = 0; p < NODES; p++)
        assert_true(bits_of(b.dut.partition_o, NODES * p, NODES) == all_ports()); // after reset
    // one that exists, the last one, the first one that does not exist, or any
    auto around = [&](uint32_t there, uint32_t most) {
        return b.rng.percent(60)   ? b.below(there)
               : b.rng.percent(50) ? there - b.below(2)
                                   : b.below(most);
    };
    for (unsigned i = 0, heard = 0, grouped = 0; i < 500; i++) {
        // The tables get only writes of an expert that they have, to a GPU and a number that exist,
        // or to none.
        uint32_t expert = around(PARAM_MaxExperts, 4096);
        uint32_t valid = !b.rng.one_in(8), gpu = around(NODES, 128);
        uint32_t local = around(PARAM_MaxLocalExperts, 64);
        b.write(FABRIC(emap) + 4 * expert, place(valid, gpu, local));
        heard += expert < PARAM_MaxExperts;
        assert_int_equal(b.emaps, heard);
        if (expert < PARAM_MaxExperts) {
            valid = valid && gpu < NODES && local < PARAM_MaxLocalExperts;
            assert_int_equal(b.emap_address, expert);
            assert_int_equal(b.emap_data, place(valid, gpu, local));
        }
        // The lowest word ends a group. Words of ports or groups that do not exist change nothing.
        const uint32_t group = around(PARAM_Groups, 128);
        const ports members = any_ports(b.rng, 128);
        ports written = members & ports(0xffffffff);
        for (unsigned w = 3; w > 0; w--) {
            if (b.rng.one_in(3))
                continue;
            b.write(FABRIC(groups) + 16 * group + 4 * w, word_of(members, w));
            written |= members & ports(0xffffffff) << 32 * w;
            assert_int_equal(b.groups, grouped);
        }
        b.write(FABRIC(groups) + 16 * group, word_of(members, 0));
        grouped += group < PARAM_Groups;
        assert_int_equal(b.groups, grouped);
        if (group < PARAM_Groups) {
            assert_int_equal(b.group_address, group);
            assert_true(b.group_data == (written & ~ports() >> (128 - std::max(NODES, 32u))));
        }
    }
    ports mask[NODES];
    for (unsigned p = 0; p < NODES; p++) {
        mask[p] = any_ports(b.rng, 128);
        for (unsigned w = 0; w < 4; w++)
            b.write(FABRIC(partitions) + 16 * p + 4 * w, word_of(mask[p], w));
    }
    b.write(FABRIC(partitions) + 16 * NODES, 0);
    for (unsigned p = 0; p < NODES; p++)
        assert_true(bits_of(b.dut.partition_o, NODES * p, NODES) == (mask[p] & all_ports()));
    for (unsigned i = 0; i < 50; i++) {
        unsigned port = b.below(128), index = b.below(16);
        assert_int_equal(b.read(FABRIC(counters) + 4 * (16 * port + index)),
                         0x5000 + 16 * port + index);
    }
}

TEST(settings)
{
    registers b;
    assert_int_equal(b.dut.latency_o, 1);
    assert_int_equal(b.dut.ctl_throttle_o, 0);
    assert_int_equal(b.dut.ctl_window_o, 0);
    b.write(FABRIC(epoch), 2);
    b.write(FABRIC(link), 33);
    b.write(FABRIC(credits), 3 | 4 << 8 | 200u << 24);
    assert_int_equal(b.read(FABRIC(lookahead)) >> 8, 16);
    b.write(FABRIC(lookahead), 13);
    assert_int_equal(b.dut.epoch_o, 2);
    assert_int_equal(b.dut.latency_o, 33);
    assert_int_equal(b.dut.ctl_store_credits_o, 3);
    assert_int_equal(b.dut.ctl_part_credits_o, 4);
    assert_int_equal(b.dut.ctl_throttle_o, 200);
    assert_int_equal(b.dut.ctl_window_o, 13);
    assert_int_equal(b.read(FABRIC(epoch)), 2);
    assert_int_equal(b.read(FABRIC(link)), 33);
    put_ports(b.dut.node_idle_i, ports(0x15));
    put_ports(b.dut.node_error_i, ports(0x0a));
    b.dut.links_idle_i = 0;
    b.dut.sweep_busy_i = 1;
    assert_int_equal(b.read(FABRIC(node_idle)), 0x15);
    assert_int_equal(b.read(FABRIC(node_error)), 0x0a);
    assert_int_equal(b.read(FABRIC(state)), 4 | 16);
    b.write(FABRIC(control), 2);
    assert_int_equal(b.sweeps, 1);
    assert_int_equal(b.gos, 0);
}

/// Random writes to all settings. Each setting shows at its pins the last value written, whatever
/// else is written. A read returns the value at the pins.
TEST(any_settings)
{
#define FIELD(reg, pin, name) \
    { \
        FABRIC(reg), name##_bp, name##_bw, name##_reset, \
            [](const Vfabric_csr &d) { return uint32_t{d.pin}; } \
    }
    struct field {
        uint32_t at;
        unsigned low, width;
        uint32_t value;
        uint32_t (*pin)(const Vfabric_csr &);
    } fields[] = {
        FIELD(epoch, epoch_o, MW_FABRIC__EPOCH__EPOCH),
        FIELD(link, latency_o, MW_FABRIC__LINK__LATENCY),
        FIELD(credits, ctl_store_credits_o, MW_FABRIC__CREDITS__STORE),
        FIELD(credits, ctl_part_credits_o, MW_FABRIC__CREDITS__PART),
        FIELD(credits, ctl_throttle_o, MW_FABRIC__CREDITS__THROTTLE),
        FIELD(credits, ctl_link_wait_o, MW_FABRIC__CREDITS__WAIT_CYCLES),
        FIELD(lookahead, ctl_window_o, MW_FABRIC__LOOKAHEAD__PACKETS),
        FIELD(limit, ctl_limit_o, MW_FABRIC__LIMIT__PERIOD),
        FIELD(rows, ctl_row_bytes_o, MW_FABRIC__ROWS__ROW_BYTES),
        FIELD(rows, ctl_row_shift_o, MW_FABRIC__ROWS__ROW_SHIFT),
        FIELD(rows, ctl_token_shift_o, MW_FABRIC__ROWS__TOKEN_SHIFT),
        FIELD(rows, ctl_switch_reductions_o, MW_FABRIC__ROWS__ENABLE),
        FIELD(rows, ctl_tile_reductions_o, MW_FABRIC__ROWS__TILES),
        FIELD(loads, ctl_load_first_o, MW_FABRIC__LOADS__FIRST),
        FIELD(loads, ctl_load_entries_o, MW_FABRIC__LOADS__ENTRIES),
        FIELD(loads, ctl_load_parts_o, MW_FABRIC__LOADS__PARTS),
        FIELD(fetches, ctl_fetch_cycles_o, MW_FABRIC__FETCHES__CYCLES),
        FIELD(sums, ctl_sum_entries_o, MW_FABRIC__SUMS__ENTRIES),
        FIELD(sums, ctl_sum_cycles_o, MW_FABRIC__SUMS__CYCLES),
        FIELD(monitor, ctl_mon_interval_o, MW_FABRIC__MONITOR__INTERVAL),
        FIELD(monitor, ctl_mon_classes_o, MW_FABRIC__MONITOR__CLASSES),
    };
#undef FIELD
    registers b;
    uint32_t rows = 0, sums = 0;
    auto look_at_all = [&] {
        for (const field &f : fields)
            assert_int_equal(f.pin(b.dut), f.value);
        assert_int_equal(b.dut.ctl_push_sync_o, sums & MW_FABRIC__SUMS__PUSHES_bm &&
                                                    rows & MW_FABRIC__ROWS__TILES_bm &&
                                                    rows & MW_FABRIC__ROWS__ENABLE_bm);
    };
    look_at_all();
    for (unsigned i = 0; i < 600; i++) {
        const uint32_t at =
            b.rng.pick({FABRIC(epoch), FABRIC(link), FABRIC(credits), FABRIC(lookahead),
                        FABRIC(limit), FABRIC(monitor), FABRIC(rows), FABRIC(sums),
                        FABRIC(emap) + 4 * b.below(4096), FABRIC(groups) + 4 * b.below(512),
                        FABRIC(partitions) + 4 * b.below(512), MW_MAP_NODES + 4 * b.below(0x400)});
        const uint32_t value = b.rng.word();
        b.write(at, value);
        for (field &f : fields)
            f.value = f.at == at ? value >> f.low & ((1u << f.width) - 1) : f.value;
        rows = at == FABRIC(rows) ? value : rows;
        sums = at == FABRIC(sums) ? value : sums;
        look_at_all();
        const ports idle = any_ports(b.rng), error = any_ports(b.rng), down = any_ports(b.rng);
        put_ports(b.dut.node_idle_i, idle);
        put_ports(b.dut.node_error_i, error);
        put_ports(b.dut.down_i, down);
        for (unsigned w = 0; w < 4; w++) {
            assert_int_equal(b.read(FABRIC(node_idle) + 4 * w), word_of(idle, w));
            assert_int_equal(b.read(FABRIC(node_error) + 4 * w), word_of(error, w));
            assert_int_equal(b.read(FABRIC(down) + 4 * w), word_of(down, w));
        }
    }
    assert_int_equal(b.gos + b.sweeps, 0);
}

/// Cycles from the go pulse to the edge at which done appears. The fabric is idle from `idle_at`
/// on.
static unsigned run_layer(registers &b, unsigned idle_at)
{
    b.dut.all_idle_i = 1;
    b.dut.cfg_req_i = 1;
    b.dut.cfg_we_i = 1;
    b.dut.cfg_addr_i = FABRIC(control);
    b.dut.cfg_wdata_i = 1;
    unsigned waited = 0;
    for (b.look(); !b.dut.go_o; b.look()) {
        if (++waited == 20)
            fail_msg("no go %u cycles after it was written", waited);
        b.edge();
    }
    assert_true(b.dut.cfg_ack_o);
    for (unsigned cycles = 0;; cycles++) {
        b.edge();
        b.dut.cfg_req_i = 0;
        b.dut.all_idle_i = cycles >= idle_at || cycles == 0; // streams start the cycle after go
        b.look();
        if (b.dut.done_o)
            return cycles;
        if (cycles == idle_at + 1000)
            fail_msg("the layer is not done %u cycles after all were idle", cycles - idle_at);
    }
}

TEST(go_and_done)
{
    registers b;
    unsigned total = 0;
    assert_false(b.dut.done_o);
    for (unsigned i = 1; i < 50; i++) {
        unsigned idle_at = i < 10 ? i : 10 + b.below(300);
        unsigned cycles = run_layer(b, idle_at);
        assert_int_equal(b.gos, i);
        assert_int_equal(cycles, idle_at < 3 ? 4 : idle_at + 1);
        total += cycles;
        assert_int_equal(b.runs, total);
        assert_int_equal(b.read(FABRIC(state)), 2 | 4 | 8);
        assert_int_equal(b.read(FABRIC(cycles)), cycles);
        b.cycles(b.below(5));
        assert_int_equal(b.read(FABRIC(cycles)), cycles); // it stands
        assert_true(b.dut.done_o);
    }
    b.dut.all_idle_i = 0;
    b.write(FABRIC(control), 1);
    assert_false(b.dut.done_o);
    b.cycles(100);
    assert_int_equal(b.read(FABRIC(state)), 1 | 4 | 8);
}

/// While a layer runs, a write that is permitted only between layers returns an error and has no
/// effect. All other accesses work.
TEST(locked_while_running)
{
    registers b;
    b.write(FABRIC(link), 3);
    b.write(FABRIC(epoch), 1);
    for (unsigned i = 0; i < 50; i++) {
        b.dut.all_idle_i = 0;
        b.write(FABRIC(control), 1);
        assert_int_equal(b.gos, i + 1);
        const uint32_t locked[][2] = {{FABRIC(control), 1},
                                      {FABRIC(control), 2},
                                      {FABRIC(control), 3},
                                      {FABRIC(epoch), 2},
                                      {FABRIC(link), 9}};
        for (unsigned n = 0; n < 10; n++) {
            const uint32_t *l = locked[b.below(5)];
            uint32_t value = l[1];
            b.cycles(b.below(5));
            assert_false(b.access(true, l[0], &value));
            assert_int_equal(b.read(FABRIC(epoch)), 1);
            assert_int_equal(b.read(FABRIC(link)), 3);
            b.write(FABRIC(credits), 1);
            b.write(MW_MAP_NODES + MW_MAP_NODE_STRIDE + 0x20, 5); // a node's, at the same place
        }
        b.cycles(3);
        assert_int_equal(b.dut.epoch_o, 1);
        assert_int_equal(b.dut.latency_o, 3);
        assert_int_equal(b.gos, i + 1);
        assert_int_equal(b.sweeps, i);
        assert_int_equal(b.read(FABRIC(state)) & 3, 1);
        b.dut.all_idle_i = 1;
        b.cycles(5);
        assert_int_equal(b.read(FABRIC(state)) & 3, 2);
        b.write(FABRIC(control), 2);
        b.write(FABRIC(link), 3);
        b.write(FABRIC(epoch), 1);
    }
}

TEST(switch_errors)
{
    registers b;
    assert_int_equal(b.read(FABRIC(error)), 0);
    for (unsigned i = 0; i < 3; i++) {
        b.dut.sw_err_valid_i = 1;
        b.dut.sw_err_code_i = static_cast<uint8_t>(6 + i);
        b.dut.sw_err_port_i = static_cast<uint8_t>(NODES - 1 - i);
        b.cycles(1);
    }
    b.dut.sw_err_valid_i = 0;
    assert_int_equal(b.read(FABRIC(error)), 6 | (NODES - 1) << 8 | 3u << 16);
    b.dut.sw_err_valid_i = 1;
    b.cycles(70000);
    b.dut.sw_err_valid_i = 0;
    assert_int_equal(b.read(FABRIC(error)), 6 | (NODES - 1) << 8 | 0xffffu << 16);
    b.write(FABRIC(control), 1);
    assert_int_equal(b.read(FABRIC(error)), 0);
}

TEST(ports_up_and_down)
{
    registers b;
    assert_int_equal(b.dut.ctl_limit_o, MW_FABRIC__LIMIT__PERIOD_reset);
    b.write(FABRIC(limit), 9);
    assert_int_equal(b.dut.ctl_limit_o, 9);
    assert_int_equal(b.read(FABRIC(limit)), 9);
    unsigned ups[NODES] = {}, downs[NODES] = {};
    for (unsigned i = 0; i < 8 * NODES; i++) {
        uint32_t p = b.below(NODES + 3), what = b.below(4); // also ports that do not exist
        b.write(FABRIC(ports), p | what << MW_FABRIC__PORTS__UP_bp);
        if (p < NODES) {
            ups[p] += what & 1;
            downs[p] += what >> 1;
        }
    }
    b.cycles(3);
    for (unsigned p = 0; p < NODES; p++) {
        assert_int_equal(b.ups[p], ups[p]);
        assert_int_equal(b.downs[p], downs[p]);
    }
    // a node in reset does not answer, and the others do
    for (unsigned g : {2u, NODES - 1}) {
        const uint32_t there = MW_MAP_NODES + g * MW_MAP_NODE_STRIDE + 8;
        put_ports(b.dut.node_reset_i, ports(1) << g);
        uint32_t value = 0;
        assert_false(b.access(false, there, &value));
        assert_false(b.access(true, there, &value));
        assert_int_equal(b.read(MW_MAP_NODES + MW_MAP_NODE_STRIDE + 8), 1u << 16 | 8);
        put_ports(b.dut.node_reset_i, {});
        assert_int_equal(b.read(there), g << 16 | 8);
    }
}
