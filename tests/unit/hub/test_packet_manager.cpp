// SPDX-License-Identifier: Apache-2.0
//
// packet_manager between a source of stores of every kind and an uplink that is ready at any rate,
// beside a model of each GPU's memory: every byte that was stored leaves, in its order, or is
// replaced by a later one; what must come behind comes behind; what is no such store comes as it
// went in. Then, with numbers: lines that must leave full, the rate of full lines and of scattered
// sectors, who leaves first, the timer, and that nobody starves. MW_SEED repeats a run.
#include "bench/stream.h"

#include <algorithm>
#include <array>
#include <map>

using namespace tb;

static const unsigned F = sizeof(Vpacket_manager::st_data_i), N = PARAM_N, E = PARAM_RpmEntries;
static const unsigned HEAD = MW_HEADER_BYTES / F, SECTOR = 32, LINE = MW_PAYLOAD_MAX_BYTES;
// lines that may be open at a GPU without one that must give way
static const unsigned OPEN = E > 2 ? E - 2 : E;

// What stores of one kind of address to one line are about: opcode without .nop's bit is not
// enough, as priorities are not merged.
struct line_key {
    unsigned gpu, opcode, stage, target;
    uint64_t line, row;
    bool operator<(const line_key &o) const
    {
        return std::tie(gpu, opcode, stage, target, line, row) <
               std::tie(o.gpu, o.opcode, o.stage, o.target, o.line, o.row);
    }
};

struct written {
    uint8_t value;
    uint64_t seq; // of its packet
};

struct manager : model<Vpacket_manager> {
    explicit manager(unsigned cycles_of_timer, bool is_on = true, bool once = false,
                     unsigned shift_of_row = 7)
        : timer(cycles_of_timer), row_shift(shift_of_row), on(is_on), target_list_cache(once)
    {
        dut.go_i = dut.emap_we_i = dut.st_valid_i = 0;
        dut.on_i = on;
        dut.timer_i = static_cast<uint16_t>(timer);
        dut.target_list_cache_i = target_list_cache;
        dut.row_shift_i = static_cast<uint8_t>(row_shift);
        reset();
        for (unsigned e = 0; e < PARAM_MaxExperts; e++) {
            gpu_of.push_back(e % N);
            dut.emap_we_i = 1;
            dut.emap_addr_i = static_cast<uint16_t>(e);
            dut.emap_data_i = tb::place(e != UNMAPPED, gpu_of[e]);
            settle();
            edge();
        }
        dut.emap_we_i = 0;
        dut.go_i = 1;
        settle();
        edge();
        dut.go_i = 0;
        settle();
        assert_true(dut.idle_o);
    }

    static const unsigned UNMAPPED = 3;    // an expert that no GPU has
    unsigned timer, row_shift, room = 100; // percent of the cycles in which the uplink takes a flit
    bool on, target_list_cache;
    packet_source in;
    packet_watch out{"uplink"};
    std::vector<unsigned> gpu_of;
    std::deque<packet> sent; // in the order in which they went in
    std::vector<packet> got; // and out
    std::vector<uint64_t> begun,
        arrived; // when the first flit of each left, when the last one went in
    uint64_t flits_in = 0, flits_out = 0, merged = 0, full = 0, by_timer = 0, count_in = 0,
             count_out = 0, last_out = 0, first_in = 0;

    // A byte of a line never has the value that it had shortly before: which store
    // it comes from shows.
    void send(packet p)
    {
        if (on && !behind(p))
            for (unsigned b = 0; b < p.h.len; b++) {
                uint8_t &value = value_of[key(p)][p.h.addr % LINE + b];
                p.payload[b] = value = static_cast<uint8_t>(value + 1 + rng.below(5));
            }
        sent.push_back(p);
        in.queue.push_back(encode(p, F, &rng));
        note(p, seq++);
    }

    void drain(uint64_t limit = 0)
    {
        until(
            "the packets' end", limit ? limit : 3000 + 2 * (timer + N * E) + N * E * 40,
            [&] { return in.empty() && dut.idle_o && !dut.st_valid_o && !busy(); },
            [&] { return flits_out + flits_in; });
        cycles(5);
        assert_true(dut.idle_o && !dut.st_valid_o);
        for (const auto &l : bytes_of)
            for (const auto &b : l.second)
                assert_true(b.empty());
        for (const auto &w : waiting)
            assert_true(w.second.empty());
        assert_true(out.open.empty());
        assert_int_equal(count_out, got.size());
        if (on) {
            assert_int_equal(count_in, sent.size());
        }
    }

    packet store(unsigned opcode, unsigned to, unsigned stage, uint64_t addr, unsigned len)
    {
        packet p = {header(opcode)};
        p.h.src = 1;
        p.h.epoch = 2;
        p.h.stage = stage;
        p.h.addr = addr;
        p.h.len = len;
        p.payload = rng.some(len);
        p.lane = static_cast<unsigned>(addr % F);
        if (opcode == MW_OP_ST)
            p.h.dst = to;
        else
            p.set_targets({target(to, to % 3)});
        return p;
    }
    packet st(unsigned gpu, uint64_t addr, unsigned len)
    {
        return store(MW_OP_ST, gpu, MW_STAGE_DISPATCH, addr, len);
    }
    packet bare(unsigned opcode, unsigned gpu)
    {
        packet p = {header(opcode)};
        p.h.src = 1;
        p.h.epoch = 2;
        p.h.dst = gpu;
        return p;
    }

    // How far one goes past the others: what it must come behind. 0: bytes alone, 1:
    // all of its GPU, 2: all.
    unsigned behind(const packet &p) const
    {
        const mw_header &h = p.h;
        const bool plain = !h.tag && !h.poison && !h.dtype && !h.redop && !h.reduce && !h.own;
        const bool short_one = h.addr % LINE + h.len <= LINE && h.len;
        if (h.opcode == MW_OP_ST && h.cnt == 0 && h.dst < N)
            return plain && short_one && !(h.addr >> ADDR_BITS) && !h.target0 ? 0 : 1;
        if (mw_opcode_of(h.opcode).targets == MW_TARGETS_PORT)
            return h.dst < N ? 1 : 2;
        const bool one = h.cnt == 1 && (is_rowsp(h.opcode) ||
                                        (h.opcode == MW_OP_DYMULTIMEM_ST && !target_list_cache));
        const unsigned expert = h.target0 >> 4;
        return one && expert < PARAM_MaxExperts && expert != UNMAPPED && plain && short_one &&
                       !(h.addr >> ADDR_BITS)
                   ? 0
                   : 2;
    }
    unsigned gpu(const packet &p) const { return has_list(p) ? gpu_of[p.h.target0 >> 4] : p.h.dst; }

  private:
    static const unsigned TOKEN_BITS = PARAM_TokensLog2 + (N > 2 ? log2_up(N) : 1) + 15;
    static const unsigned ADDR_BITS =
        TOKEN_BITS > PARAM_MemBytesLog2 ? TOKEN_BITS : PARAM_MemBytesLog2;

    static bool has_list(const packet &p) { return stores_row(p.h.opcode); }
    bool busy() const { return in.busy(); }
    // a token's row, where a line holds several
    unsigned row_bits() const { return std::min(row_shift, 7u); }
    line_key key(const packet &p) const
    {
        return {gpu(p),      p.h.opcode,      p.h.stage,
                p.h.target0, p.h.addr / LINE, has_list(p) ? p.h.addr >> row_bits() : 0};
    }

    void note(const packet &p, uint64_t s)
    {
        if (!on)
            return;
        if (behind(p)) {
            waiting[behind(p) == 1 ? p.h.dst : N].push_back({s, encode(p, F)});
            return;
        }
        auto &line = bytes_of[key(p)];
        for (unsigned b = 0; b < p.h.len; b++)
            line[p.h.addr % LINE + b].push_back({p.payload[b], s});
    }

    // Nothing that came before s is still to come: of one GPU, or of all (N).
    void nothing_before(uint64_t s, unsigned gpu) const
    {
        for (const auto &l : bytes_of)
            if (gpu == N || l.first.gpu == gpu)
                for (const auto &b : l.second)
                    if (!b.empty() && b.front().seq < s)
                        fail_msg("a packet that must come behind has passed a store");
        for (const auto &w : waiting)
            if (gpu == N || w.first == gpu || w.first == N)
                if (!w.second.empty() && w.second.front().first < s)
                    fail_msg("a packet that must come behind has passed another one");
    }

    void check(const bytes &b)
    {
        packet p = {header_of(b)};
        const size_t head = MW_HEADER_BYTES;
        if (behind(p)) {
            const unsigned to = behind(p) == 1 ? p.h.dst : N;
            auto &list = waiting[to];
            assert_false(list.empty());
            assert_wire(list.front().second, b, "a packet that passes");
            const uint64_t s = list.front().first;
            list.pop_front();
            nothing_before(s, to);
            return;
        }
        assert_int_equal(p.h.cls, MW_CLS_STORE);
        assert_int_equal(p.h.src, 1);
        assert_int_equal(p.h.epoch, 2);
        p.lane = p.h.addr % F;
        assert_int_equal(b.size(), (head + (p.lane + p.h.len + F - 1) / F * F));
        p.payload.assign(b.begin() + static_cast<long>(head + p.lane),
                         b.begin() + static_cast<long>(head + p.lane + p.h.len));
        const auto line = bytes_of.find(key(p));
        assert_true(line != bytes_of.end());
        uint64_t newest = 0;
        for (unsigned i = 0; i < p.h.len; i++) {
            auto &byte = line->second[p.h.addr % LINE + i];
            // values in between were replaced before they left
            while (!byte.empty() && byte.front().value != p.payload[i])
                byte.pop_front();
            if (byte.empty())
                fail_msg("byte %u of a store at %llx was never stored, or has left before", i,
                         static_cast<unsigned long long>(p.h.addr));
            newest = std::max(newest, byte.front().seq);
            byte.pop_front();
        }
        // what lies behind it and is for the same line has not been passed
        for (unsigned to : {line->first.gpu, N}) {
            const auto w = waiting.find(to);
            if (w != waiting.end() && !w->second.empty() && w->second.front().first < newest)
                fail_msg("a store has passed a packet that came before");
        }
        got.push_back(p);
    }

    void drive() override
    {
        in.drive(rng, dut.st_valid_i, dut.st_data_i, dut.st_last_i);
        dut.st_ready_i = percent(room);
    }
    bool percent(unsigned p) { return rng.percent(p); }

    void sample() override
    {
        if (!on) {
            assert_int_equal(dut.st_valid_o, dut.st_valid_i);
            assert_int_equal(dut.st_ready_o, dut.st_ready_i);
            if (dut.st_valid_o)
                assert_true(get(dut.st_data_o) == get(dut.st_data_i) &&
                            dut.st_last_o == dut.st_last_i);
        }
        if (dut.st_valid_o && dut.st_ready_i) {
            if (out.open.empty())
                begun.push_back(now);
            flits_out++;
            last_out = now;
        }
        if (out.see(dut.st_valid_o, dut.st_ready_i, dut.st_data_o, dut.st_last_o)) {
            while (!out.packets.empty()) {
                const bytes b = out.take();
                const size_t before = got.size();
                if (on)
                    check(b);
                if (got.size() == before)
                    got.push_back({header_of(b)});
            }
        }
        if (dut.st_valid_i && dut.st_ready_o) {
            if (!flits_in++)
                first_in = now;
            if (dut.st_last_i)
                arrived.push_back(now);
        }
        in.taken(dut.st_ready_o);
        merged += dut.count_merged_o;
        full += dut.count_full_o;
        by_timer += dut.count_timer_o;
        count_in += dut.count_in_o;
        count_out += on ? dut.count_out_o : dut.st_valid_o && dut.st_ready_i && dut.st_last_o;
    }

    uint64_t seq = 0;
    std::map<line_key, std::array<std::deque<written>, LINE>> bytes_of;
    std::map<line_key, std::array<uint8_t, LINE>> value_of;            // given last
    std::map<unsigned, std::deque<std::pair<uint64_t, wire>>> waiting; // by GPU; N: behind all
};

static unsigned any_gpu(dice &rng)
{
    return rng.below(N);
}

// A packet of any kind, to few lines, so that they meet.
static packet anything(manager &m, dice &rng, unsigned lines, unsigned odd)
{
    const uint64_t line = rng.below(lines) * uint64_t{LINE};
    if (rng.percent(odd)) {
        switch (rng.below(9)) {
        case 0:
            return m.bare(rng.pick({MW_OP_FLAG, MW_OP_FENCE}), any_gpu(rng));
        case 1: {
            packet p = m.bare(MW_OP_COUNTS, any_gpu(rng));
            p.h.len = 4 * rng.between(1, 8);
            p.payload = rng.some(p.h.len);
            return p;
        }
        case 2: { // a multicast
            packet p = m.store(MW_OP_DYMULTIMEM_ST, 0, MW_STAGE_DISPATCH, line, 128);
            p.set_targets({target(0), target(1), target(2, 1)});
            return p;
        }
        case 3: {
            packet p = m.st(0, line, 64);
            p.h.opcode = rng.pick({MW_OP_MULTIMEM_ST, MW_OP_MULTIMEM_RED});
            return p;
        }
        case 4: // a line is crossed, by packets that are longer than any may be, too
            return m.st(any_gpu(rng), line + 16 * rng.between(1, 7),
                        rng.one_in(3) ? 32 * rng.between(5, 8) : 128);
        case 5: { // bytes, not sectors
            const unsigned from = rng.below(127);
            return m.st(any_gpu(rng), line + from, rng.between(1, 128 - from));
        }
        case 6: { // bits that a merged header would not have
            packet p = m.st(any_gpu(rng), line, 32);
            switch (rng.below(4)) {
            case 0:
                p.h.tag = rng.between(1, 255);
                break;
            case 1:
                p.h.addr |= uint64_t{1} << rng.between(40, 47);
                break;
            case 2:
                p.h.poison = 1;
                break;
            default:
                p.h.dtype = rng.between(1, 4);
            }
            return p;
        }
        case 7: { // an expert that is not mapped, or not there; a packet of an open row
            packet p = m.store(MW_OP_ST_ROWSP, rng.pick({manager::UNMAPPED, 4095u}),
                               MW_STAGE_DISPATCH, line, 32);
            if (rng.one_in(2)) {
                p = m.store(MW_OP_DYMULTIMEM_ST, 0, MW_STAGE_DISPATCH, line, 64);
                p.set_targets({});
            }
            return p;
        }
        default: { // gate weights
            packet p = m.store(MW_OP_DYMULTIMEM_ST, 4, MW_STAGE_GATE, line, 24);
            p.h.reduce = rng.below(2);
            return p;
        }
        }
    }
    // of one row, whose token tells the receiver where it lands
    const unsigned kind = rng.below(5), first = rng.below(4),
                   end = kind < 3 && m.row_shift < 7
                             ? (first >> (m.row_shift - 5) << (m.row_shift - 5)) +
                                   (1u << (m.row_shift - 5))
                             : 4,
                   sectors = rng.between(1, end - first);
    const uint64_t addr = line + first * SECTOR;
    static const unsigned experts[] = {0, 1, 2, 4};
    const unsigned expert = rng.pick(experts);
    switch (kind) {
    case 0:
        return m.store(MW_OP_ST_ROWSP, expert, MW_STAGE_DISPATCH, addr, sectors * SECTOR);
    case 1:
        return m.store(MW_OP_ST_ROWSP_NOP, expert, MW_STAGE_DISPATCH, addr, sectors * SECTOR);
    case 2:
        return m.store(MW_OP_DYMULTIMEM_ST, expert, rng.pick({MW_STAGE_DISPATCH, MW_STAGE_FLAT}),
                       addr, sectors * SECTOR);
    default:
        return m.st(any_gpu(rng), addr, sectors * SECTOR);
    }
}

TEST(random)
{
    dice rng;
    for (unsigned r = 0; r < (N > 8 ? 6 : 40); r++) {
        manager m(rng.pick({0u, 1u, 40u, 300u, 3000u}), true, r % 4 == 3,
                  rng.pick({5u, 6u, 7u, 15u}));
        m.in.rate = rng.pick({100u, 100u, 60u, 15u});
        m.room = rng.pick({100u, 100u, 70u, 20u});
        const unsigned lines = rng.pick({1u, 3u, 10u, 40u}), odd = rng.pick({0u, 3u, 30u});
        for (unsigned i = 0; i < 300; i++)
            m.send(anything(m, rng, lines, odd));
        m.drain();
        assert_true(m.full + m.by_timer <= m.got.size());
    }
}

TEST(off_is_a_wire)
{
    dice rng;
    manager m(20, false);
    m.in.rate = 70;
    m.room = 70;
    for (unsigned i = 0; i < 300; i++)
        m.send(anything(m, rng, 5, 20));
    m.drain();
    assert_int_equal(m.flits_in, m.flits_out);
    assert_int_equal(m.merged + m.full + m.by_timer + m.count_in, 0);
}

// Sectors of up to OPEN lines at a time of each GPU, in any order: all lines leave full.
TEST(scattered_lines_leave_full)
{
    dice rng;
    for (unsigned r = 0; r < cases(4, 10); r++) {
        manager m(60000);
        m.in.rate = rng.pick({100u, 50u});
        m.room = rng.pick({100u, 80u, 40u});
        const unsigned window = r ? rng.between(1, OPEN) : OPEN, windows = 12;
        unsigned lines = 0;
        std::vector<std::deque<packet>> of(N);
        for (unsigned g = 0; g < N; g++)
            for (unsigned w = 0; w < windows; w++) {
                std::vector<packet> part;
                for (unsigned l = 0; l < window; l++, lines++)
                    for (unsigned s = 0; s < 4; s++)
                        part.push_back(
                            m.st(g, (uint64_t{w} * window + l) * LINE + s * SECTOR, SECTOR));
                rng.shuffle(part);
                for (const packet &p : part)
                    of[g].push_back(p);
            }
        for (unsigned left = 4 * lines; left--;) {
            unsigned g;
            do {
                g = rng.below(N);
            } while (of[g].empty());
            m.send(of[g].front());
            of[g].pop_front();
        }
        m.drain();
        assert_int_equal(m.got.size(), lines);
        assert_int_equal(m.full, lines);
        assert_int_equal(m.merged, 3 * lines);
        assert_int_equal(m.by_timer, 0);
        for (const packet &p : m.got)
            assert_int_equal(p.h.len, LINE);
    }
}

TEST(full_lines_go_at_line_rate)
{
    dice rng;
    manager m(200);
    const unsigned count = 200;
    for (unsigned i = 0; i < count; i++)
        m.send(m.st(any_gpu(rng), uint64_t{i} * LINE, LINE));
    m.drain();
    assert_int_equal(m.flits_out, count * (HEAD + LINE / F));
    assert_int_equal(m.last_out - m.first_in, m.flits_out - 1 + 1 + HEAD);
    assert_int_equal(m.full, 0); // none was kept
}

// The input is not slowed down: four packets in for one out.
TEST(scattered_sectors_go_in_at_line_rate)
{
    manager m(60000);
    const unsigned windows = 30;
    for (unsigned w = 0; w < windows; w++)
        for (unsigned s = 0; s < 4; s++)
            for (unsigned l = 0; l < OPEN; l++)
                m.send(m.st(w % N, (uint64_t{w} * OPEN + l) * LINE + s * SECTOR, SECTOR));
    const unsigned lines = windows * OPEN;
    m.drain();
    assert_int_equal(m.got.size(), lines);
    assert_int_equal(m.flits_in, lines * 4 * (HEAD + SECTOR / F));
    assert_int_equal(m.flits_out, lines * (HEAD + LINE / F));
    // with one place in a partition a line waits until the one before has left
    const uint64_t end = m.arrived.back() - m.first_in + 1;
    if (E > 2 || N > 2)
        assert_true(end <= m.flits_in + 2 * OPEN * (HEAD + LINE / F));
}

// Sectors of lines that never meet: nothing can be merged, and little is lost.
TEST_IF(E > 2, lonely_sectors_keep_half_of_the_rate)
{
    dice rng;
    manager m(60000);
    const unsigned count = 300;
    for (unsigned i = 0; i < count; i++)
        m.send(m.st(0, rng.below(60) * uint64_t{LINE} * 64 + uint64_t{i % 64} * LINE, SECTOR));
    m.until("the last one", 60000, [&] { return m.in.empty(); });
    assert_true(m.arrived.back() - m.first_in <= 2 * m.flits_in);
    m.send(m.bare(MW_OP_FENCE, 0));
    m.drain();
}

TEST_IF(E > 4, order_of_leaving)
{
    dice rng;
    for (unsigned r = 0; r < 30; r++) {
        manager m(60000);
        // no entry must give way: normal ones and .nop in any order of lines
        std::vector<std::pair<bool, unsigned>> want;
        std::vector<unsigned> lines;
        for (unsigned i = 0; i < 40; i++)
            lines.push_back(i);
        rng.shuffle(lines);
        for (unsigned i = 0; i < OPEN; i++) {
            const bool nop = rng.one_in(2);
            want.push_back({nop, lines[i]});
            m.send(m.store(nop ? MW_OP_ST_ROWSP_NOP : MW_OP_ST_ROWSP, 0, MW_STAGE_DISPATCH,
                           uint64_t{lines[i]} * LINE, SECTOR));
        }
        m.send(m.bare(MW_OP_FLAG, m.gpu_of[0]));
        m.drain(3000);
        std::sort(want.begin(), want.end());
        assert_int_equal(m.got.size(), OPEN + 1);
        for (unsigned i = 0; i < OPEN; i++) {
            assert_int_equal(m.got[i].h.opcode == MW_OP_ST_ROWSP_NOP, want[i].first);
            assert_int_equal(m.got[i].h.addr / LINE, want[i].second);
        }
        assert_int_equal(m.got[OPEN].h.opcode, MW_OP_FLAG);
    }
}

// An entry that has become full leaves while others, of smaller rows, stay.
TEST_IF(E > 4, full_ones_first)
{
    manager m(60000);
    for (unsigned i = 0; i < OPEN; i++)
        m.send(m.st(0, uint64_t{i} * LINE, 3 * SECTOR));
    m.send(m.st(0, uint64_t{OPEN - 1} * LINE + 3 * SECTOR, SECTOR));
    m.cycles(400);
    assert_int_equal(m.got.size(), 1);
    assert_int_equal(m.got[0].h.addr / LINE, OPEN - 1);
    assert_int_equal(m.got[0].h.len, LINE);
    assert_int_equal(m.full, 1);
    m.send(m.bare(MW_OP_FENCE, 0));
    m.drain(3000);
}

// Sectors that are no run leave as several packets, ascending.
TEST(runs)
{
    for (unsigned mask = 1; mask < 15; mask++) {
        manager m(60000);
        for (unsigned s = 4; s--;)
            if (mask >> s & 1)
                m.send(m.st(0, 5 * LINE + s * SECTOR, SECTOR));
        m.send(m.bare(MW_OP_FLAG, 0));
        m.drain(3000);
        std::vector<std::pair<unsigned, unsigned>> want;
        for (unsigned s = 0; s < 4; s++)
            if (mask >> s & 1) {
                if (s && mask >> (s - 1) & 1)
                    want.back().second++;
                else
                    want.push_back({s, 1});
            }
        assert_int_equal(m.got.size(), want.size() + 1);
        for (size_t i = 0; i < want.size(); i++) {
            assert_int_equal(m.got[i].h.addr % LINE, want[i].first * SECTOR);
            assert_int_equal(m.got[i].h.len, want[i].second * SECTOR);
        }
        assert_int_equal(m.merged, static_cast<unsigned>(__builtin_popcount(mask)) - 1);
    }
}

// A lone sector leaves behind one to two sweeps; with 0 as soon as it is here.
TEST(timer)
{
    dice rng;
    for (unsigned t : {1u, 50u, 700u, 5000u, 65535u}) {
        manager m(t);
        m.cycles(rng.below(2 * t));
        m.send(m.st(N - 1, 3 * LINE, SECTOR));
        m.drain(4 * (t + N * E) + 100);
        assert_int_equal(m.by_timer, 1);
        const uint64_t kept = m.begun[0] - m.arrived[0];
        assert_true(kept + 12 >= t && kept <= 2 * (t + N * E) + 12);
    }
    manager m(0);
    m.send(m.st(0, 3 * LINE, SECTOR));
    m.drain(100);
    assert_true(m.begun[0] - m.arrived[0] <= 8);
}

// The last in every order, beside a stream of full ones, of smaller lines and of other GPUs:
// it leaves all the same.
TEST(nothing_starves)
{
    const unsigned t = 200;
    for (unsigned what = 0; what < 3; what++) {
        manager m(t);
        m.room = what == 2 ? 50 : 100;
        m.send(m.store(MW_OP_ST_ROWSP_NOP, 0, MW_STAGE_DISPATCH, 999 * LINE, SECTOR));
        const unsigned to = m.gpu_of[0];
        for (unsigned i = 0; i < 1200; i++)
            m.send(what == 1 ? m.st(i % 2 ? to : (to + 1) % N, uint64_t{i % 90} * LINE, SECTOR)
                             : m.store(MW_OP_ST_ROWSP, 0, MW_STAGE_DISPATCH,
                                       uint64_t{i / 4 % 90} * LINE + i % 4 * SECTOR, SECTOR));
        m.until("the last one", 60000, [&] { return m.in.empty(); });
        size_t at = 0;
        while (m.got[at].h.opcode != MW_OP_ST_ROWSP_NOP)
            at++; // below m.got.size(), or the test ends here
        // each sweep may have to send all entries, at the uplink's rate
        assert_true(m.begun[at] - m.arrived[0] <=
                    2 * (t + 2 * N * E + (N * E) * (HEAD + LINE / F) * (what == 2 ? 3 : 1)));
        m.drain();
    }
}

// go puts turns and sweeps where they were: the same packets take the same cycles,
// whatever came before.
TEST(repeats)
{
    for (unsigned n = 0; n < 6; n++) {
        std::vector<uint64_t> when[2];
        manager m(150);
        dice rng;
        std::vector<packet> list;
        for (unsigned g = 0; g < N; g++) // all partitions have one to give at once
            list.push_back(m.st(g, 5 * LINE, SECTOR));
        for (unsigned i = 0; i < 100; i++)
            list.push_back(anything(m, rng, 10, 10));
        for (unsigned r = 0; r < 2; r++) {
            for (unsigned i = rng.below(100); r && i; i--)
                m.send(anything(m, rng, 10, 10));
            m.drain();
            m.cycles(r * 37);
            m.dut.go_i = 1;
            m.cycle();
            m.dut.go_i = 0;
            const uint64_t from = m.now;
            const size_t old = m.begun.size();
            for (const packet &p : list)
                m.send(p);
            m.drain();
            for (size_t i = old; i < m.begun.size(); i++)
                when[r].push_back(m.begun[i] - from);
        }
        assert_true(when[0] == when[1]);
    }
}
