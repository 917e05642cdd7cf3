// SPDX-License-Identifier: Apache-2.0
//
// expert_fetch against the addresses of its rows, with any shifts, bases and numbers of rows up to
// the end of memory. Rows are those of dispatch, those of st, and gathered ones. Lists and memory
// answer late. Starts and resets come in the middle. MW_SEED repeats a run.
#include "bench/dut.h"
#include "isa.h"
#include "node_cfg.h"

using namespace tb;

static const unsigned FLIT = PARAM_FlitBytes, FLIT_BITS = log2_up(FLIT), W = PARAM_MemBytesLog2,
                      COUNT = PARAM_RowsLog2 + 1, LATENCY = 3;

static uint32_t field(uint64_t v, unsigned low, unsigned bits)
{
    return static_cast<uint32_t>(v >> low & ((uint64_t{1} << bits) - 1));
}

struct fetch : model<Vexpert_fetch> {
    struct row {
        unsigned le = 0, idx = 0, x = 0, y = 0, c_at = 0, w_at = 0;
        uint16_t c = 0;
        uint32_t w = 0;
        bool last = false;
    };
    struct read {
        uint64_t due;
        bytes data;
    };
    node_cfg cfg;
    std::deque<row> asked; ///< not taken yet
    size_t reads = 0;      ///< for each of `asked`, two reads
    std::deque<read> answers;
    unsigned le = 0, at = 0, behind = 0, list_due = 0;
    bool tile = false, unicast = false, gathered = false, listing = false;
    unsigned rate = 100, taken = 0, behind_take = 0;
    row out;

    fetch() { dut.go_i = 0; }

    unsigned any(unsigned bits) { return static_cast<unsigned>(rng.bits(bits)); }
    /// A random number of `bits` bits, often with a single one.
    unsigned number(unsigned bits) { return percent(50) ? 1u << below(bits) : any(bits); }
    unsigned get(const char *name) const { return static_cast<unsigned>(cfg[name]); }

    void set_layer()
    {
        cfg = {};
        unicast = percent(50);
        gathered = unicast && percent(50);
        cfg.set("k_shift", below(5));
        cfg.set("n_shift", below(6));
        cfg.set("source_lists", percent(50));
        cfg.set("cap_shift", below(W + 1));
        cfg.set("row_shift", FLIT_BITS + 2 + below(14 - FLIT_BITS));
        cfg.set("gate_shift", 2 + below(14));
        for (const char *base : {"xd_base", "yd_base", "gt_base", "ce_base"})
            cfg.set(base, uint64_t{any(W - FLIT_BITS - 2)} << (FLIT_BITS + 2));
        cfg.any_rest(rng);
        cfg.drive(dut.cfg_i);
        dut.unicast_i = unicast;
        dut.gathered_i = gathered;
    }

    /// The list's answer for the requested row, and the addresses that follow from it.
    void answer(row &r)
    {
        const unsigned k_shift = get("k_shift"), stride = get("gate_shift");
        const unsigned entry = number(22), pos = any(std::min(4u, stride - 2));
        dut.list_row_i = entry;
        dut.list_pos_i = static_cast<uint8_t>(pos);
        unsigned line = r.le << get("cap_shift") | entry, source = line;
        uint64_t weight = (uint64_t{line} << stride) + 4 * pos;
        if (unicast) {
            line = entry;
            source = entry >> k_shift;
            weight = uint64_t{source} * MW_META_BYTES + 4 * (entry & ((1u << k_shift) - 1)) +
                     (gathered ? MW_LIST_BYTES : 4);
        }
        const unsigned lists = get("source_lists") ? r.le >> get("n_shift") : r.le;
        r.c_at = field(cfg["ce_base"] + 2 * lists, 0, W);
        r.w_at = field(cfg["gt_base"] + weight, 0, W);
        r.x = field(cfg["xd_base"] + (uint64_t{source} << get("row_shift")), 0, W);
        r.y = field(cfg["yd_base"] + (uint64_t{line} << get("row_shift")), 0, W);
    }

    void drive() override
    {
        if (!tile && percent(rate)) {
            tile = true;
            le = number(6);
            at = number(COUNT) - below(2);
            behind = at + 1 + (percent(50) ? 0 : below(6));
        }
        dut.tile_valid_i = tile;
        dut.tile_le_i = static_cast<uint8_t>(tile ? le : any(6));
        dut.tile_first_i = first_of_tile();
        dut.tile_behind_i = field(tile ? behind : any(COUNT), 0, COUNT);
        dut.list_ready_i = percent(rate);
        dut.list_rvalid_i = listing && now >= list_due && percent(rate);
        dut.list_mine_i = 1;
        dut.list_row_i = any(22);
        dut.list_pos_i = static_cast<uint8_t>(any(4));
        if (dut.list_rvalid_i)
            answer(asked.back());
        else if (percent(50)) { // an answer for another module
            dut.list_rvalid_i = percent(50);
            dut.list_mine_i = 0;
        }
        dut.rd_ready_i = percent(rate);
        dut.rd_rvalid_i = !answers.empty() && answers.front().due <= now;
        if (dut.rd_rvalid_i)
            put(dut.rd_rdata_i, answers.front().data.data());
        else
            scramble(dut.rd_rdata_i, 8 * FLIT, rng);
        dut.row_take_i = 0;
        settle();
        dut.row_take_i = dut.row_valid_o && percent(rate);
    }
    bool going = false;
    /// Counts only for the first row of a tile.
    unsigned first_of_tile() { return field(tile && !going ? at : any(COUNT), 0, COUNT); }

    void sample() override
    {
        settle();
        if (dut.busy_o != !asked.empty())
            fail_msg("busy %u with %zu rows", dut.busy_o, asked.size());
        if (dut.rd_rvalid_i)
            answers.pop_front();
        sample_row();
        sample_read();
        sample_list();
    }
    void sample_list()
    {
        const bool ask = dut.list_valid_o && dut.list_ready_i;
        if (dut.list_rvalid_i && dut.list_mine_i)
            listing = false;
        assert_true(!dut.list_valid_o || tile);
        assert_int_equal(dut.tile_ready_o, ask && at + 1 == behind);
        if (!dut.list_valid_o)
            return;
        assert_int_equal(dut.list_le_o, le);
        assert_int_equal(dut.list_idx_o, field(at, 0, COUNT));
        if (!ask)
            return;
        assert_true(!listing);
        row r;
        r.le = le;
        r.idx = field(at, 0, COUNT);
        r.last = at + 1 == behind;
        asked.push_back(r);
        listing = true;
        list_due = static_cast<unsigned>(now) + 1 + (percent(rate) ? 1 : below(5));
        tile = going = !r.last;
        at++;
    }
    void sample_read()
    {
        if (!dut.rd_valid_o || !dut.rd_ready_i)
            return;
        assert_true(reads / 2 < asked.size() && !(listing && reads / 2 == asked.size() - 1));
        row &r = asked[reads / 2];
        const unsigned at_byte = reads % 2 ? r.w_at : r.c_at;
        assert_int_equal(dut.rd_addr_o, at_byte / FLIT);
        const bytes data = rng.some(FLIT);
        if (reads % 2)
            memcpy(&r.w, &data[at_byte % FLIT], 4);
        else
            memcpy(&r.c, &data[at_byte % FLIT], 2);
        answers.push_back({now + LATENCY, data});
        reads++;
    }
    void sample_row()
    {
        // stable up to this cycle, and the factor is complete
        if (behind_take && behind_take <= LATENCY) {
            assert_row();
            if (behind_take == LATENCY)
                assert_factor();
            behind_take++;
        }
        if (!dut.row_take_i)
            return;
        assert_true(reads >= 2);
        out = asked.front();
        asked.pop_front();
        reads -= 2;
        taken++;
        assert_row();
        behind_take = 1;
    }
    void assert_row()
    {
        assert_int_equal(dut.row_x_o, out.x / FLIT / 4);
        assert_int_equal(dut.row_y_o, out.y / FLIT / 4);
        assert_int_equal(dut.row_le_o, out.le);
        assert_int_equal(dut.row_idx_o, out.idx);
        assert_int_equal(dut.row_last_o, out.last);
    }
    /// fp_pkg::factor_t of c and w.
    void assert_factor()
    {
        const unsigned ce = field(out.c, 7, 8), cf = field(out.c, 0, 7), we = field(out.w, 23, 8),
                       wf = field(out.w, 0, 23);
        const bool c_inf = ce == 255 && !cf, w_inf = we == 255 && !wf;
        const bool nan = (ce == 255 && cf) || (we == 255 && wf) || (c_inf && !we) || (!ce && w_inf);
        uint32_t mant = (0x80 | cf) * (0x800000 | wf);
        const bool small = !(mant >> 31);
        mant <<= small;
        const uint64_t exp = (0x300 + ce + we + !small) & 0x3ff;
        const uint64_t limit = (ce >= 127 ? 125 - ce : 127 - ce) & 0xff;
        uint64_t f = nan;
        f = f << 1 | (c_inf || w_inf);
        f = f << 1 | (!ce || !we);
        f = f << 1 | ((out.c >> 15 ^ out.w >> 31) & 1);
        f = f << 7 | cf;
        f = f << 1 | (ce >= 127);
        f = f << 8 | limit;
        f = f << 10 | exp;
        assert_int_equal(dut.row_factor_o, f << 32 | mant);
    }

    /// A start or a reset, after which nothing is in flight.
    void begin(bool by_reset)
    {
        set_layer();
        if (by_reset) {
            reset();
        } else {
            dut.go_i = 1;
            settle();
            edge();
            dut.go_i = 0;
        }
        asked.clear();
        answers.clear();
        reads = behind_take = 0;
        tile = going = listing = false;
        list_due = 0;
    }
};

TEST(rows_are_where_their_numbers_say)
{
    fetch b;
    for (unsigned i = 0; i < 1200; i++) {
        b.begin(i == 0 || b.rng.one_in(4));
        b.rate = b.rng.pick({30u, 70u, 100u});
        b.cycles(60 + b.below(60));
        assert_true(b.taken > 0);
    }
    assert_true(b.taken > 8000);
}

TEST(a_row_takes_six_cycles)
{
    fetch b;
    b.begin(true);
    b.cycles(30);
    const unsigned before = b.taken;
    b.cycles(600);
    assert_int_equal(b.taken - before, 100);
}
