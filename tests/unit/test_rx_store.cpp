// SPDX-License-Identifier: Apache-2.0
//
// The receive side of a hub (rx_hub: rx, loc_merge, rx_store, allocator, row_tracker, token_tracker)
// through whole layers: packets of every source interleaved at random on the link, the own ones on
// the local streams, memory ports and allocation table as slow as they like. Memory is compared byte by byte with
// a model that knows no order, the lists of rows with what was sent, credits and errors are counted.
// FLAG and FENCE are judged in the cycle in which they act. MW_SEED repeats a run.

#include "Vrx_hub.h"
#include "node_cfg.h"
#include "rx_model.h"
#include "verilated.h"

#include <algorithm>
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <memory>
#include <set>

extern "C" {
#include <cmocka.h>
}

#ifndef PORTS
#define PORTS 4
#endif

static const unsigned N = PORTS, F = sizeof(Vrx_hub::rx_data_i), LE = 4, EXPERTS = 64;
static const unsigned LOG_N = N == 2 ? 1 : N == 4 ? 2 : 3, TOKENS_LOG2 = 5, SLOTS = 16, RESULTS = 4;
static const unsigned MEM = 1 << 17;
static const unsigned AL = 0x0400, GT = 0x4000, XD = 0x8000, YD = 0x10000;
static const unsigned ST_LO = 0x18003, ST_HI = 0x1bff5;

static uint64_t seed;

struct settings {
    unsigned port = 1;
    unsigned k = 4;
    unsigned row_bytes = 256;
    unsigned token_shift = TOKENS_LOG2;
    unsigned cap_shift = 4;
    unsigned tokens = 8;     // per GPU
    unsigned density = 60;   // percent of the tokens that have experts here
    unsigned one_target = 0; // percent of tokens with a single expert here
    unsigned wr_ready[2] = {100, 100};
    unsigned al_ready = 100, al_latency = 3;
    unsigned gap = 0; // percent of cycles without a packet on the link
    unsigned credit_delay = 0;
    unsigned wrong = 0;   // percent of packets that are preceded by a wrong one
    unsigned plain = 0;   // percent of packets that are preceded by an explicit store
    unsigned ordered = 0; // percent of packets that are preceded by FLAG or FENCE
    unsigned look = 30;   // percent of cycles with a look-up of client 1
    bool counts = true;
    unsigned results = 0; // packets of class PART
    unsigned result_share =
        50; // percent of the packets on the link that are of that class, while there are any
    unsigned result_size = 0; // bytes, 0: random
    unsigned result_ready = 100;
    unsigned result_wrong = 0; // percent with another epoch, and as many that turn bad on the way
};

struct key {
    unsigned le, token;
    bool operator<(const key &o) const { return le != o.le ? le < o.le : token < o.token; }
};

// One source's stream of packets, with what each is expected to do.
struct item {
    packet p;
    std::vector<key> rows;               // of a right dynamic store
    std::map<unsigned, unsigned> errors; // code -> number
    bool writes = false;
};

struct source {
    std::vector<item> items;
    size_t sent = 0;          // handed to the device
    std::deque<size_t> flags; // items that are FLAG, not seen yet
    std::deque<size_t> fences;
};

class bench {
  public:
    explicit bench(const settings &set)
        : s(set), c(seed), dut(new Vrx_hub), mem(random_bytes(c, MEM))
    {
        dut->clk_i = 0;
        dut->rst_ni = 0;
        dut->go_i = dut->sweep_i = 0;
        dut->emap_we_i = 0;
        dut->rx_valid_i = dut->rx_last_i = dut->rx_err_i = 0;
        dut->loc_valid_i = dut->clo_valid_i = dut->loc_last_i = dut->clo_last_i = 0;
        dut->res_ready_i = dut->ack_ready_i = dut->rdy_ready_i = 1;
        dut->req1_valid_i = 0;
        dut->push_valid_i = dut->push_last_i = 0;
        dut->list_valid_i = 0;
        dut->arm_valid_i = dut->own_valid_i = 0;
        dut->alm_rd_rvalid_i = 0;
        dut->rd_ready_i = dut->rd_rvalid_i = 0;
        cfg.set("port", s.port);
        cfg.set("k", s.k);
        cfg.set("token_shift", s.token_shift);
        cfg.set("n_shift", LOG_N);
        cfg.set("local_experts", LE);
        cfg.set("row_bytes", s.row_bytes);
        row_shift = 7;
        while (1u << row_shift < s.row_bytes)
            row_shift++;
        gate_shift = F == 8 ? 3 : 4;
        while (1u << gate_shift < 4 * s.k)
            gate_shift++;
        cfg.set("row_shift", row_shift);
        cfg.set("gate_shift", gate_shift);
        cfg.set("cap_shift", s.cap_shift);
        cfg.set("al_base", AL);
        cfg.set("gt_base", GT);
        cfg.set("xd_base", XD);
        cfg.set("yd_base", YD);
        cfg.set("st_lo", ST_LO);
        cfg.set("st_hi", ST_HI);
        cfg.set("epoch", epoch);
        cfg.drive(dut->cfg_i);
        edge();
        edge();
        dut->rst_ni = 1;
        fill_map();
    }

    // Experts: every GPU has LE of them, in an order of its own; the last ids are unmapped.
    void fill_map()
    {
        for (unsigned e = 0; e < EXPERTS; e++) {
            bool valid = e < LE * N;
            unsigned gpu = e % N, le = (e / N + e % N) % LE;
            if (valid)
                expert_id[gpu][le] = e;
            dut->emap_we_i = 1;
            dut->emap_addr_i = static_cast<uint16_t>(e);
            dut->emap_data_i = static_cast<uint16_t>((valid ? 1 : 0) << 11 | gpu << 6 | le);
            edge();
        }
        // beyond the table: must change nothing
        dut->emap_addr_i = EXPERTS + 1;
        dut->emap_data_i = 0;
        edge();
        dut->emap_we_i = 0;
    }

    unsigned sweep()
    {
        dut->sweep_i = 1;
        cycle();
        dut->sweep_i = 0;
        cycle();
        unsigned n = 0;
        for (; dut->sweep_busy_o; n++) {
            assert_true(n < 20000);
            cycle();
        }
        for (unsigned e = 0; e < LE << (LOG_N + s.token_shift); e++)
            assert_int_equal(entry(AL + 4 * e), 0);
        return n;
    }

    void go(unsigned new_epoch)
    {
        epoch = new_epoch;
        cfg.set("epoch", epoch);
        cfg.drive(dut->cfg_i);
        dut->go_i = 1;
        cycle();
        dut->go_i = 0;
        for (unsigned q = 0; q < N; q++) {
            sources[q] = source();
            plain_at[q] = ST_LO + q * ((ST_HI - ST_LO) / N);
        }
        expected = mem;
        want_errors.clear();
        got_errors.clear();
        rows.clear();
        expected_rows.assign(LE, 0);
        late_rows.clear();
        row_events = count_words = count_packets = hits = misses = looks = 0;
        stalled = granted = 0;
        results_left = s.results;
        start = now;
    }

    // ---- what is sent ----
    uint16_t target(unsigned le, unsigned pos)
    {
        return static_cast<uint16_t>(expert_id[s.port][le] << 4 | pos);
    }

    item dynamic(unsigned src, unsigned token, const std::vector<uint16_t> &targets,
                 const std::vector<key> &keys, unsigned stage, unsigned offset, unsigned len)
    {
        item i;
        i.p.h.opcode = MW_OP_DYMULTIMEM_ST;
        i.p.h.cls = MW_CLS_STORE;
        i.p.h.src = src;
        i.p.h.dst = s.port;
        i.p.h.epoch = epoch;
        i.p.h.stage = stage;
        i.p.h.len = len;
        i.p.h.cnt = static_cast<uint32_t>(targets.size());
        i.p.h.addr = static_cast<uint64_t>(token) << row_shift | offset;
        i.p.h.target0 = targets[0];
        i.p.more.assign(targets.begin() + 1, targets.end());
        i.p.body = random_bytes(c, len);
        i.rows = keys;
        i.writes = true;
        return i;
    }

    // An explicit store into the part of the window that is this source's own, each byte once in a layer.
    item plain(unsigned src, unsigned len)
    {
        item i;
        i.p.h.opcode = c.percent(50) ? MW_OP_ST : MW_OP_MULTIMEM_ST;
        i.p.h.cls = MW_CLS_STORE;
        i.p.h.src = src;
        i.p.h.epoch = epoch;
        i.p.h.target0 = c.below(16);
        i.p.h.addr = plain_at[src];
        i.p.h.len = len = std::min(len, 128 - plain_at[src] % F);
        i.p.body = random_bytes(c, len);
        i.writes = true;
        return i;
    }

    // The same as a dynamic store with an explicit address, for one expert or two.
    void flatten(item &i)
    {
        i.p.h.opcode = MW_OP_DYMULTIMEM_ST;
        i.p.h.stage = MW_STAGE_FLAT;
        i.p.h.dst = s.port;
        i.p.h.target0 = target(0, 0);
        i.p.h.cnt = 1;
        if (LE > 1 && c.percent(50)) {
            i.p.h.cnt = 2;
            i.p.more = {target(1, 1)};
        }
    }

    item simple(unsigned src, unsigned opcode, unsigned addr)
    {
        item i;
        i.p.h.opcode = opcode;
        i.p.h.cls = MW_CLS_STORE;
        i.p.h.src = src;
        i.p.h.epoch = epoch;
        i.p.h.addr = addr;
        return i;
    }

    item counts(unsigned src, unsigned kind)
    {
        item i = simple(src, MW_OP_COUNTS, 0);
        i.p.h.stage = kind;
        i.p.h.len = 4 * (kind ? N : LE);
        for (unsigned w = 0; w < i.p.h.len / 4; w++) {
            uint32_t v = kind ? static_cast<uint32_t>(c.rng()) : count_of[src][w];
            for (unsigned b = 0; b < 4; b++)
                i.p.body.push_back(static_cast<uint8_t>(v >> 8 * b));
        }
        return i;
    }

    // A packet with something wrong; it must do nothing but be counted, once for every target where the target is to blame.
    item wrong(unsigned src)
    {
        bool dyn = c.percent(50);
        unsigned len = F * (2 + c.below(64 / F));
        item i = dyn ? dynamic(src, src << s.token_shift, {target(0, 0)}, {},
                               c.percent(50) ? MW_STAGE_DISPATCH : MW_STAGE_COMBINE, 0, len)
                     : plain(src, len);
        mw_header &h = i.p.h;
        unsigned code = MW_HWERR_LENGTH;
        i.writes = false;
        auto resize = [&](unsigned n) {
            h.len = n;
            i.p.body.resize(n);
        };
        switch (c.below(dyn ? 14 : 11)) {
        case 0:
            h.epoch = (epoch + 1 + c.below(3)) % 4;
            code = MW_HWERR_EPOCH;
            break;
        case 1:
            h.opcode = c.percent(50) ? MW_OP_ST_ROWSP : MW_OP_LD;
            code = MW_HWERR_OPCODE;
            break;
        case 2:
            h.poison = 1;
            code = MW_HWERR_POISON;
            break;
        case 3:
            h.len = 129 + c.below(32000);
            break;
        case 4:
            h.len = 0;
            break;
        case 5:
            i.p.cut = 1 + static_cast<int>(c.below(40));
            break;
        case 6:
            i.p.cut = -1 - static_cast<int>(c.below(24));
            break;
        case 7:
            i.p.err = src != s.port;
            i.p.cut = i.p.err ? 0 : 1;
            break;
        case 8:
            h.addr |= 1ull << (23 + c.below(25));
            code = MW_HWERR_BOUNDS;
            break;
        case 9: // the address itself: home, or window
            if (dyn)
                h.addr = static_cast<uint64_t>(N) << s.token_shift << row_shift;
            else
                h.addr = c.percent(50) ? ST_LO - 1 : ST_HI - h.len + 1;
            code = MW_HWERR_BOUNDS;
            break;
        case 10:
            h.opcode = MW_OP_COUNTS;
            resize(c.percent(50) ? 4 * h.len / 4 - 2 : 4);
            code = MW_HWERR_LENGTH;
            if (h.len == 4) {
                h.addr = 4;
                code = MW_HWERR_BOUNDS;
            }
            break;
        case 11: // beyond the row, or its gate weights
            code = MW_HWERR_BOUNDS;
            if (c.percent(50)) {
                h.stage = MW_STAGE_GATE;
                resize(4 * s.k + 1);
            } else {
                h.stage = MW_STAGE_DISPATCH;
                h.addr += s.row_bytes - h.len + F;
            }
            break;
        case 12:
            h.cnt = c.percent(50) ? 0 : LE + 1 + c.below(16 - LE);
            i.p.more.resize(h.cnt ? h.cnt - 1 : 0);
            code = MW_HWERR_TARGETS;
            break;
        default: { // an expert of another GPU, of none, or beyond the map
            unsigned ids[] = {expert_id[(s.port + 1) % N][0], EXPERTS - 1,
                              EXPERTS + expert_id[s.port][0]};
            h.target0 = ids[c.below(3)] << 4;
            if (c.percent(50)) {
                h.cnt = 2;
                i.p.more = {static_cast<uint16_t>(ids[c.below(3)] << 4)};
            }
            resize(F);
            code = MW_HWERR_UNMAPPED;
        }
        }
        i.errors[code] = code == MW_HWERR_UNMAPPED ? h.cnt : 1;
        return i;
    }

    void add(unsigned src, const item &i)
    {
        if (i.p.h.opcode == MW_OP_FLAG && i.errors.empty())
            sources[src].flags.push_back(sources[src].items.size());
        if (i.p.h.opcode == MW_OP_FENCE && i.errors.empty())
            sources[src].fences.push_back(sources[src].items.size());
        for (auto &e : i.errors)
            want_errors[e.first] += e.second;
        sources[src].items.push_back(i);
    }

    void add_around(unsigned src)
    {
        while (c.percent(s.wrong))
            add(src, wrong(src));
        while (c.percent(s.plain)) {
            item i = plain(src, c.percent(30) ? 1 + c.below(4) : 1 + c.below(128));
            if (c.percent(30))
                flatten(i);
            if (plain_at[src] + i.p.h.len > ST_LO + (src + 1) * ((ST_HI - ST_LO) / N))
                break;
            plain_at[src] += i.p.h.len;
            add(src, i);
        }
        if (c.percent(s.ordered))
            add(src, simple(src, c.percent(50) ? MW_OP_FLAG : MW_OP_FENCE, src));
    }

    // A layer's dispatch to this GPU: every source sends its tokens in order.
    void make_layer()
    {
        count_of.assign(N, std::vector<unsigned>(LE, 0));
        for (unsigned src = 0; src < N; src++) {
            size_t counts_at = c.below(s.tokens);
            std::vector<item> body;
            for (unsigned t = 0; t < s.tokens; t++) {
                if (!c.percent(s.density))
                    continue;
                unsigned token = src << s.token_shift | t;
                std::vector<unsigned> le(LE), pos(s.k);
                for (unsigned i = 0; i < LE; i++)
                    le[i] = i;
                for (unsigned i = 0; i < s.k; i++)
                    pos[i] = i;
                std::shuffle(le.begin(), le.end(), c.rng);
                std::shuffle(pos.begin(), pos.end(), c.rng);
                unsigned n = 1 + (c.percent(s.one_target) ? 0 : c.below(std::min(LE, s.k)));
                std::vector<uint16_t> targets;
                std::vector<key> keys;
                for (unsigned i = 0; i < n; i++) {
                    targets.push_back(target(le[i], pos[i]));
                    keys.push_back({le[i], token});
                    rows[{le[i], token}] = pos[i];
                    count_of[src][le[i]]++;
                    expected_rows[le[i]]++;
                }
                for (unsigned at = 0; at < s.row_bytes; at += 128) {
                    add_around(src);
                    add(src, dynamic(src, token, targets, keys, MW_STAGE_DISPATCH, at,
                                     std::min(128u, s.row_bytes - at)));
                }
                add_around(src);
                add(src, dynamic(src, token, targets, keys, MW_STAGE_GATE, 0, 4 * s.k));
                if (c.percent(20) && s.plain) // a region of its own, not counted
                    add(src, dynamic(src, token, targets, keys, MW_STAGE_COMBINE, 0,
                                     std::min(128u, s.row_bytes)));
            }
            if (s.counts) {
                auto &items = sources[src].items;
                size_t at = std::min(counts_at, items.size());
                items.insert(items.begin() + static_cast<long>(at), counts(src, 0));
                for (auto *list : {&sources[src].flags, &sources[src].fences})
                    for (auto &f : *list)
                        f += f >= at;
                if (c.percent(50))
                    add(src, counts(src, 1));
            }
            add(src, simple(src, MW_OP_FLAG, src));
            add(src, simple(src, MW_OP_FENCE, 0));
        }
        lossy = *std::max_element(expected_rows.begin(), expected_rows.end()) > 1u << s.cap_shift;
    }

    // ---- memory and table ----
    uint32_t entry(unsigned addr) const
    {
        return static_cast<uint32_t>(mem[addr] | mem[addr + 1] << 8 | mem[addr + 2] << 16) |
               static_cast<uint32_t>(mem[addr + 3]) << 24;
    }

    // Row of a token at a local expert, -1 if the table has none.
    int row_of(const key &k) const
    {
        uint32_t e = entry(AL + 4 * (k.le << (LOG_N + s.token_shift) | k.token));
        if (!(e >> 31) || (e >> 29 & 3) != epoch)
            return -1;
        return static_cast<int>(e & 0xfffff);
    }

    // Places that an item's bytes go to, by the table of now; false if a row is missing.
    bool places(const item &i, std::vector<unsigned> &at) const
    {
        bool all = true;
        if (i.p.h.opcode != MW_OP_DYMULTIMEM_ST || i.p.h.stage == MW_STAGE_FLAT) {
            at.push_back(static_cast<unsigned>(i.p.h.addr));
            return true;
        }
        for (auto &k : i.rows) {
            int r = row_of(k);
            if (r < 0) {
                all = false;
                continue;
            }
            unsigned row = k.le << s.cap_shift | static_cast<unsigned>(r);
            unsigned offset = static_cast<unsigned>(i.p.h.addr & ((1u << row_shift) - 1));
            at.push_back(i.p.h.stage == MW_STAGE_GATE
                             ? GT + (row << gate_shift)
                             : (i.p.h.stage == MW_STAGE_COMBINE ? YD : XD) + (row << row_shift) +
                                   offset);
        }
        return all;
    }

    void check_behind(unsigned src, size_t upto)
    {
        for (size_t n = 0; n < upto; n++) {
            const item &i = sources[src].items[n];
            std::vector<unsigned> at;
            if (!i.writes)
                continue;
            if (!places(i, at))
                assert_true(lossy);
            for (unsigned a : at)
                assert_memory_equal(&mem[a], i.p.body.data(), i.p.body.size());
        }
    }

    // ---- one cycle ----
    void edge()
    {
        dut->clk_i = 1;
        dut->eval();
        dut->clk_i = 0;
        dut->eval();
        now++;
    }

    void write(unsigned addr, const void *data, uint32_t be)
    {
        assert_true(addr * F + F <= MEM);
        for (unsigned b = 0; b < F; b++)
            if (be >> b & 1)
                mem[addr * F + b] = static_cast<const uint8_t *>(data)[b];
    }

    void cycle()
    {
        drive_link();
        drive_local();
        for (unsigned w = 0; w < 2; w++)
            dut->wr_ready_i[w] = c.percent(s.wr_ready[w]);
        dut->alm_rd_ready_i = c.percent(s.al_ready);
        dut->alm_wr_ready_i = c.percent(s.al_ready);
        dut->ack_ready_i = c.percent(70);
        dut->res_ready_i = c.percent(s.result_ready);
        dut->alm_rd_rvalid_i = !answers.empty() && answers.front().first <= now;
        if (dut->alm_rd_rvalid_i) {
            memcpy(&dut->alm_rd_rdata_i, answers.front().second.data(), F);
            answers.pop_front();
        }
        if (!dut->req1_valid_i && !look_open && running && c.percent(s.look)) {
            look = {c.below(LE), c.below(N << s.token_shift)};
            dut->req1_valid_i = 1;
            dut->req1_le_i = static_cast<uint8_t>(look.le);
            dut->req1_token_i = look.token;
            look_row = row_of(look);
        }
        dut->eval();
        bool look_taken = dut->req1_valid_i && dut->req1_ready_o;
        bool local_taken =
            (dut->loc_valid_i && dut->loc_ready_o) || (dut->clo_valid_i && dut->clo_ready_o);
        observe();
        edge();
        if (look_taken) {
            dut->req1_valid_i = 0;
            look_open = true;
        }
        if (local_taken) {
            local.pop_front();
            local_up = false;
        }
    }

    void observe()
    {
        for (unsigned e = 0; e < 4; e++)
            if (dut->err_valid_o >> e & 1)
                got_errors[dut->err_code_o[e]]++;
        if (dut->resp1_valid_o) {
            assert_true(look_open);
            look_open = false;
            if (look_row >= 0) {
                assert_false(dut->resp1_err_o);
                assert_int_equal(dut->resp1_row_o, look_row);
            } else if (!dut->resp1_err_o) {
                assert_true(rows.count(look));
                late_rows[look] = static_cast<int>(dut->resp1_row_o);
            }
            looks++;
        }
        if (dut->ev_valid_o[0])
            flag(dut->ev_idx_o[0]);
        if (dut->ack_valid_o && dut->ack_ready_i)
            fence(dut->ack_dst_o);
        if (dut->ev_row_o)
            row_events++;
        hits += dut->hit_o;
        misses += dut->miss_o;
        if (dut->cnt_valid_o)
            count_word();
        // reads see what was granted before
        if (dut->alm_rd_valid_o && dut->alm_rd_ready_i) {
            bytes data(mem.begin() + dut->alm_rd_addr_o * F,
                       mem.begin() + dut->alm_rd_addr_o * F + F);
            answers.push_back({now + s.al_latency, data});
        }
        for (unsigned w = 0; w < 2; w++) {
            if (dut->wr_valid_o[w] && dut->wr_ready_i[w]) {
                write(dut->wr_addr_o[w], &dut->wr_data_o[w], dut->wr_be_o[w]);
                granted++;
            }
            // a refused write must stay as it is
            if (held[w].valid) {
                assert_true(dut->wr_valid_o[w]);
                assert_int_equal(dut->wr_addr_o[w], held[w].addr);
                assert_memory_equal(&dut->wr_data_o[w], held[w].data, F);
            }
            held[w].valid = dut->wr_valid_o[w] && !dut->wr_ready_i[w];
            held[w].addr = dut->wr_addr_o[w];
            memcpy(held[w].data, &dut->wr_data_o[w], F);
        }
        if (dut->alm_wr_valid_o && dut->alm_wr_ready_i)
            write(dut->alm_wr_addr_o, &dut->alm_wr_data_o, dut->alm_wr_be_o);
        if (dut->crd_o & 1 << MW_CLS_STORE)
            credits_back.push_back(now + s.credit_delay);
        result();
        assert_int_equal(dut->crd_o & ~(1 << MW_CLS_STORE | 1 << MW_CLS_PART), 0);
        while (!credits_back.empty() && credits_back.front() <= now) {
            credits_back.pop_front();
            credits++;
            assert_true(credits <= SLOTS);
        }
    }

    // Results come out whole, in their order, and wait as they are; a credit returns with the last flit.
    void result()
    {
        bool gone = dut->res_valid_o && dut->res_ready_i;
        if (dut->res_valid_o) {
            assert_false(results.empty());
            assert_memory_equal(&dut->res_data_o, results.front().data.data(), F);
            assert_int_equal(dut->res_last_o, results.front().last);
            assert_int_equal(dut->res_bad_o, results.front().bad);
        } else {
            assert_false(result_waits);
        }
        assert_int_equal(dut->crd_o >> MW_CLS_PART & 1, gone && dut->res_last_o);
        result_waits = dut->res_valid_o && !gone;
        longest_gap = std::max(longest_gap, result_gap);
        result_gap = results.empty() || dut->res_valid_o ? 0 : result_gap + 1;
        if (gone) {
            result_credits += results.front().last;
            results.pop_front();
        }
    }

    void flag(unsigned src)
    {
        assert_true(src < N && !sources[src].flags.empty());
        size_t at = sources[src].flags.front();
        assert_true(at < sources[src].sent);
        sources[src].flags.pop_front();
        check_behind(src, at);
    }

    void fence(unsigned src)
    {
        assert_true(src < N && !sources[src].fences.empty());
        size_t at = sources[src].fences.front();
        assert_true(at < sources[src].sent);
        sources[src].fences.pop_front();
        check_behind(src, at);
    }

    void count_word()
    {
        unsigned src = dut->cnt_src_o;
        assert_true(src < N);
        assert_int_equal(dut->cnt_idx_o, count_words);
        unsigned last = (dut->cnt_kind_o ? N : LE) - 1;
        assert_int_equal(dut->cnt_last_o, count_words == last);
        if (!dut->cnt_kind_o) {
            assert_int_equal(dut->cnt_val_o, count_of[src][count_words]);
        } else {
            bool found = false; // the copy counts are in the only packet of that kind
            for (auto &i : sources[src].items)
                if (i.p.h.opcode == MW_OP_COUNTS && i.p.h.stage == 1)
                    found = !memcmp(&i.p.body[4 * count_words], &dut->cnt_val_o, 4);
            assert_true(found);
        }
        count_words = dut->cnt_last_o ? 0 : count_words + 1;
        count_packets += dut->cnt_last_o;
    }

    // ---- running a layer ----
    void start_result()
    {
        packet p;
        p.h.opcode = MW_OP_RESULT;
        p.h.cls = MW_CLS_PART;
        p.h.src = (s.port + 1) % N;
        p.h.dst = s.port;
        p.h.epoch = epoch;
        p.body = random_bytes(c, s.result_size ? s.result_size : 1 + c.below(128));
        p.h.len = static_cast<uint32_t>(p.body.size());
        if (c.percent(s.result_wrong)) {
            p.h.epoch = (epoch + 1 + c.below(3)) % 4;
            want_errors[MW_HWERR_EPOCH]++;
        }
        for (auto &f : flits_of<F>(p, c))
            link.push_back(f);
        // what another epoch sent is poisoned
        p.h.poison = p.h.epoch != epoch;
        uint64_t w[2];
        mw_header_pack(&p.h, w);
        expected_results.clear();
        size_t bad = link.size(); // from this flit on
        if (c.percent(s.result_wrong)) {
            bad = 16 / F + c.below(static_cast<unsigned>(link.size()) - 16 / F);
            want_errors[MW_HWERR_LENGTH]++;
        }
        for (size_t i = 0; i < link.size(); i++) {
            flit<F> f = link[i];
            if (i < 16 / F)
                memcpy(f.data(), reinterpret_cast<uint8_t *>(w) + i * F, F);
            expected_results.push_back({f, i + 1 == link.size(), i >= bad});
        }
        link_cls = MW_CLS_PART;
        link_err = false;
        result_credits--;
        results_left--;
    }

    void drive_link()
    {
        if (link.empty() && results_left && result_credits && c.percent(s.result_share))
            start_result();
        if (link.empty()) {
            dut->rx_valid_i = 0;
            std::vector<unsigned> can;
            for (unsigned q = 0; q < N; q++)
                if (q != s.port && sources[q].sent < sources[q].items.size())
                    can.push_back(q);
            if (can.empty() || credits == 0 || c.percent(s.gap)) {
                stalled += !can.empty() && credits == 0;
                return;
            }
            source &src = sources[can[c.below(static_cast<unsigned>(can.size()))]];
            const packet &p = src.items[src.sent++].p;
            for (auto &f : flits_of<F>(p, c))
                link.push_back(f);
            link_err = p.err;
            link_cls = MW_CLS_STORE;
            credits--;
        }
        dut->rx_valid_i = 1;
        dut->rx_cls_i = link_cls;
        bool bad = link_cls == MW_CLS_PART && expected_results.front().bad;
        if (link_cls == MW_CLS_PART) {
            results.push_back(expected_results.front());
            expected_results.pop_front();
        }
        memcpy(&dut->rx_data_i, link.front().data(), F);
        link.pop_front();
        dut->rx_last_i = link.empty();
        dut->rx_err_i = bad || (link.empty() && link_err);
    }

    // The own packets come from send and, every few, from control: one stream after the other, as ordered stores need it.
    void drive_local()
    {
        source &src = sources[s.port];
        if (local.empty() && src.sent < src.items.size() && !c.percent(s.gap)) {
            const packet &p = src.items[src.sent++].p;
            for (auto &f : flits_of<F>(p, c))
                local.push_back(f);
            local_control =
                p.h.opcode == MW_OP_COUNTS || p.h.opcode == MW_OP_FLAG || p.h.opcode == MW_OP_FENCE;
        }
        local_up = !local.empty() && (local_up || !c.percent(s.gap / 2));
        dut->loc_valid_i = local_up && !local_control;
        dut->clo_valid_i = local_up && local_control;
        if (local_up) {
            memcpy(&dut->loc_data_i, local.front().data(), F);
            memcpy(&dut->clo_data_i, local.front().data(), F);
            dut->loc_last_i = dut->clo_last_i = local.size() == 1;
        }
    }

    bool finished() const
    {
        for (auto &src : sources)
            if (src.sent < src.items.size() || !src.flags.empty() || !src.fences.empty())
                return false;
        return link.empty() && local.empty() && credits == SLOTS && results_left == 0 &&
               result_credits == RESULTS && dut->idle_o == 0x1f;
    }

    void run(uint64_t limit)
    {
        running = true;
        start = now;
        do {
            cycle();
            if (now - start > limit)
                print_error("not finished after %llu cycles: credits %u, idle %x\n",
                            static_cast<unsigned long long>(limit), credits, dut->idle_o);
            assert_true(now - start <= limit);
        } while (!finished());
        taken = now - start;
        running = false;
        while (look_open || dut->req1_valid_i)
            cycle();
        for (unsigned n = 0; n < 10; n++)
            cycle();
    }

    // ---- after a layer ----
    void check_errors()
    {
        for (unsigned code = 0; code < 32; code++)
            if (want_errors[code] != got_errors[code])
                fail_msg("error %u: %u reported, %u expected", code, got_errors[code],
                         want_errors[code]);
    }

    // Rows of an expert are dense, each belongs to one token that was sent, and nothing else changed in the table.
    void check_table()
    {
        for (unsigned le = 0; le < LE; le++) {
            std::set<int> used;
            unsigned asked = 0;
            for (unsigned token = 0; token < N << s.token_shift; token++) {
                key k{le, token};
                int r = row_of(k);
                asked += rows.count(k) != 0;
                if (r < 0)
                    continue;
                assert_true(rows.count(k));
                assert_true(used.insert(r).second);
            }
            assert_int_equal(used.size(), std::min(asked, 1u << s.cap_shift));
            if (!used.empty())
                assert_int_equal(*used.rbegin(), used.size() - 1);
        }
        for (auto &l : late_rows)
            assert_int_equal(l.second, row_of(l.first));
    }

    void check_memory()
    {
        unsigned lost = 0;
        for (auto &src : sources) {
            for (auto &i : src.items) {
                std::vector<unsigned> at;
                if (!i.writes)
                    continue;
                places(i, at);
                if (i.p.h.opcode == MW_OP_DYMULTIMEM_ST && i.p.h.stage != MW_STAGE_FLAT)
                    lost += static_cast<unsigned>(i.rows.size() - at.size());
                for (unsigned a : at)
                    std::copy(i.p.body.begin(), i.p.body.end(), expected.begin() + a);
            }
        }
        want_errors[MW_HWERR_BOUNDS] += lost;
        if (!lossy)
            assert_int_equal(lost, 0);
        unsigned table_end = AL + (4 * LE << (LOG_N + s.token_shift));
        std::copy(mem.begin() + AL, mem.begin() + table_end, expected.begin() + AL);
        for (unsigned a = 0; a < MEM; a++)
            if (mem[a] != expected[a])
                fail_msg("memory at %05x is %02x, not %02x", a, mem[a], expected[a]);
    }

    // Every row is in its expert's list once, with its token and list position.
    void check_lists()
    {
        unsigned total = 0;
        for (unsigned le = 0; le < LE; le++) {
            dut->stat_le_i = static_cast<uint8_t>(le);
            cycle();
            unsigned complete = dut->stat_complete_o;
            unsigned capacity = 1u << s.cap_shift;
            assert_int_equal(complete, std::min(expected_rows[le], capacity));
            if (s.counts)
                assert_int_equal(dut->stat_expected_o, expected_rows[le]);
            std::set<unsigned> seen;
            for (unsigned i = 0; i < complete; i++) {
                dut->list_valid_i = 1;
                dut->list_le_i = static_cast<uint8_t>(le);
                dut->list_idx_i = i;
                cycle();
                assert_true(dut->list_rvalid_o);
                key k{le, dut->list_token_o};
                assert_true(rows.count(k));
                assert_int_equal(dut->list_pos_o, rows[k]);
                assert_int_equal(dut->list_row_o, row_of(k));
                assert_true(seen.insert(k.token).second);
            }
            dut->list_valid_i = 0;
            total += complete;
        }
        assert_int_equal(row_events, total);
        assert_int_equal(dut->counts_all_o, s.counts);
        assert_int_equal(dut->rows_done_o, s.counts && !lossy);
    }

    void check_lookups()
    {
        unsigned asked = 0;
        for (auto &src : sources)
            for (auto &i : src.items)
                if (i.writes)
                    asked += static_cast<unsigned>(i.rows.size());
        assert_int_equal(hits + misses, asked + looks);
    }

    void check()
    {
        check_table();
        check_memory();
        check_errors();
        check_lists();
        check_lookups();
        assert_int_equal(count_words, 0);
    }

    settings s;
    chance c;
    std::unique_ptr<Vrx_hub> dut;
    bytes mem, expected;
    node_cfg cfg;
    uint64_t now = 0, start = 0, taken = 0, granted = 0, stalled = 0, looks = 0;
    unsigned epoch = 0, row_shift = 0, gate_shift = 0;
    unsigned expert_id[N][LE] = {};
    unsigned plain_at[N] = {};
    source sources[N];
    std::map<unsigned, unsigned> want_errors, got_errors;
    std::map<key, unsigned> rows; // list position
    std::map<key, int> late_rows;
    std::vector<unsigned> expected_rows;
    std::vector<std::vector<unsigned>> count_of;
    unsigned row_events = 0, count_words = 0, count_packets = 0, hits = 0, misses = 0;
    std::deque<std::pair<uint64_t, bytes>> answers;
    std::deque<uint64_t> credits_back;
    unsigned credits = SLOTS;
    std::deque<flit<F>> link, local;
    struct result_flit {
        flit<F> data;
        bool last, bad;
    };
    std::deque<result_flit> results, expected_results; // came, will come
    unsigned results_left = 0, result_credits = RESULTS, result_gap = 0, longest_gap = 0;
    uint8_t link_cls = 0;
    bool result_waits = false;
    bool link_err = false, local_control = false, local_up = false;
    bool look_open = false, running = false, lossy = false;
    key look = {0, 0};
    int look_row = -1;
    struct {
        bool valid;
        unsigned addr;
        uint8_t data[F];
    } held[2] = {};
};

// ---- the tests ----
static void one_layer(const settings &s)
{
    bench b(s);
    b.sweep();
    b.go(1);
    b.make_layer();
    b.run(400000);
    b.check();
}

static void layer_at_full_speed(void **state)
{
    (void)state;
    one_layer(settings());
}

static void layer_with_everything(void **state)
{
    (void)state;
    chance c(seed);
    for (unsigned run = 0; run < 12; run++) {
        settings s;
        s.port = c.below(N);
        s.k = 1 + c.below(8);
        s.row_bytes = F * (1 + c.below(256 / F));
        s.token_shift = 3 + c.below(TOKENS_LOG2 - 2);
        s.tokens = 1 + c.below(std::min(8u, 1u << s.token_shift));
        s.wr_ready[0] = 10 + c.below(91);
        s.wr_ready[1] = 10 + c.below(91);
        s.al_ready = 10 + c.below(91);
        s.al_latency = 1 + c.below(40);
        s.gap = c.below(70);
        s.credit_delay = c.below(30);
        s.wrong = c.below(25);
        s.plain = c.below(40);
        s.ordered = c.below(10);
        s.counts = c.percent(80);
        s.results = c.below(300);
        s.result_share = 5 + c.below(96);
        s.result_ready = 10 + c.below(91);
        s.result_wrong = c.below(20);
        one_layer(s);
    }
}

// Results share a RAM with worker 0: alone they come through at one flit per cycle; beside stores for every target, that keep both workers busy, one of them waits for a job that was begun at most, and the stores keep their rate.
static void results_between_stores(void **state)
{
    (void)state;
    settings s;
    s.results = 100;
    s.result_share = 100;
    s.result_size = 128;
    s.tokens = 0;
    s.counts = false;
    {
        bench b(s);
        b.sweep();
        b.go(1);
        b.run(100000);
        b.check();
        assert_true(b.taken <= s.results * (16 + 128) / F + 12);
    }
    s.tokens = 8;
    s.counts = true;
    s.density = 100;
    s.row_bytes = 256;
    s.look = 0;
    for (unsigned busy = 0; busy < 2; busy++) {
        s.result_share = 30;
        s.wr_ready[0] = busy ? 50 : 100;
        bench b(s);
        b.sweep();
        b.go(1);
        b.make_layer();
        b.run(100000);
        b.check();
        print_message("results beside stores: %llu cycles, a flit waited %u at most\n",
                      static_cast<unsigned long long>(b.taken), b.longest_gap);
        assert_true(b.longest_gap <= (busy ? 6 : 2) * 128 / F + 8);
    }
}

// Results that nobody takes are in nobody's way.
static void results_wait(void **state)
{
    (void)state;
    settings s;
    s.results = RESULTS;
    s.result_share = 100;
    s.result_ready = 0;
    bench b(s);
    b.sweep();
    b.go(1);
    b.make_layer();
    for (unsigned i = 0; i < 5000; i++)
        b.cycle();
    for (auto &src : b.sources)
        assert_int_equal(src.sent, src.items.size());
    assert_int_equal(b.credits, SLOTS);
    assert_int_equal(b.result_credits, 0);
    b.s.result_ready = 100;
    b.run(1000);
    b.check();
}

// Few rows per expert: those that come too late get none, are counted target by target, and leave nothing behind.
static void no_row_left(void **state)
{
    (void)state;
    for (unsigned cap = 0; cap < 3; cap++) {
        settings s;
        s.cap_shift = cap;
        s.density = 100;
        s.wr_ready[0] = 60;
        s.al_latency = 9;
        s.ordered = 5;
        one_layer(s);
    }
}

// More rows in flight than the cache holds, and a slow table: parked targets all the time.
static void table_is_slow(void **state)
{
    (void)state;
    settings s;
    s.density = 100;
    s.tokens = 12;
    s.row_bytes = F;
    s.al_latency = 60;
    s.al_ready = 30;
    s.ordered = 3;
    s.cap_shift = 6 - 2;
    one_layer(s);
}

// Layers one after the other: epochs differ until they wrap, then the tables are swept. The same layer takes the same cycles.
static void layers_repeat(void **state)
{
    (void)state;
    settings s;
    s.gap = 20;
    s.al_latency = 7;
    s.wr_ready[0] = s.wr_ready[1] = 80;
    s.credit_delay = 5;
    bench b(s);
    b.sweep();
    uint64_t taken = 0;
    for (unsigned layer = 0; layer < 11; layer++) {
        if (layer && layer % 4 == 0)
            b.sweep();
        b.c = chance(seed + layer / 2);
        b.go(layer % 4);
        b.make_layer();
        b.run(400000);
        if (layer % 2)
            assert_int_equal(b.taken, taken);
        taken = b.taken;
        b.check();
    }
}

// A small layer does not wait for tables that it does not use: of the allocation table a flit per cycle, of the rows one.
static void sweeps_are_short(void **state)
{
    (void)state;
    settings s;
    for (s.cap_shift = 1; s.cap_shift < 4; s.cap_shift++) {
        bench b(s);
        unsigned cache = F == 16 ? 16 : 64; // entries, of the parameters in modules.mk
        unsigned table = (LE << (LOG_N + s.token_shift)) / (F / 4), rows = LE << s.cap_shift;
        assert_true(b.sweep() < cache + table + rows + 16);
    }
}

// What the link can bring in back-to-back packets must not wait for credits, with the local stream in the gaps.
static void measure(unsigned targets, unsigned local, double *per_packet, unsigned *stalled)
{
    const unsigned packets = 96;
    settings s;
    s.row_bytes = 1024;
    s.cap_shift = 2;
    s.k = 8;
    s.look = 0;
    s.counts = false;
    s.credit_delay = 4;
    bench b(s);
    b.sweep();
    b.go(1);
    for (unsigned i = 0; i < packets + local; i++) {
        unsigned src = i < packets ? (s.port + 1) % N : s.port, n = i < packets ? i : i - packets;
        std::vector<uint16_t> t;
        std::vector<key> k;
        unsigned token = src << s.token_shift | n / (s.row_bytes / 128) % (s.port == src ? 1 : 2);
        for (unsigned j = 0; j < targets; j++) {
            t.push_back(b.target(j, j));
            k.push_back({j, token});
            b.rows[{j, token}] = j;
        }
        b.add(src, b.dynamic(src, token, t, k, MW_STAGE_COMBINE, n * 128 % s.row_bytes, 128));
    }
    // the same bytes are written several times: only the time counts here
    b.run(100000);
    *per_packet = static_cast<double>(b.taken) / packets;
    *stalled = static_cast<unsigned>(b.stalled);
    assert_int_equal(b.granted, (packets + local) * targets * (128 / F));
}

// Who sees that all rows are counted must see all of them in the numbers: the engine would end too early.
static void pushed_rows_are_counted(void **state)
{
    (void)state;
    for (unsigned rows = 1; rows <= 3; rows++) {
        settings s;
        s.counts = false;
        bench b(s);
        b.sweep();
        b.go(1);
        b.dut->stat_le_i = 1;
        unsigned pushed = 0;
        for (unsigned i = 0; i < 40; i++) {
            b.dut->push_valid_i = pushed < rows;
            b.dut->push_le_i = 1;
            b.dut->push_row_i = pushed;
            b.dut->push_last_i = pushed == rows;
            b.dut->eval();
            pushed += b.dut->push_valid_i && b.dut->push_ready_o;
            b.cycle();
            if (b.dut->counts_all_o) {
                assert_int_equal(b.dut->stat_expected_o, rows);
                assert_int_equal(b.dut->stat_complete_o, rows);
            }
        }
        assert_true(b.dut->counts_all_o);
    }
}

static void rates(void **state)
{
    (void)state;
    const unsigned pf = 128 / F, hf = 16 / F;
    struct {
        unsigned targets, local;
        double most;
    } cases[] = {
        {1, 0, hf + pf + 0.6}, {1, 12, hf + pf + 0.6}, {2, 0, hf + pf + 1.6},
        {3, 0, 1.5 * pf + 1},  {4, 0, 2.0 * pf + 1},
    };
    for (auto &m : cases) {
        double per_packet;
        unsigned stalled;
        measure(m.targets, m.local, &per_packet, &stalled);
        print_message("%u targets, %u local packets: %.2f cycles per packet, %u stalled\n",
                      m.targets, m.local, per_packet, stalled);
        assert_true(per_packet <= m.most);
        if (m.targets <= 2)
            assert_int_equal(stalled, 0);
    }
}

// A sender that ignores credits loses what has no slot, and only that.
static void beyond_credit(void **state)
{
    (void)state;
    settings s;
    s.wr_ready[0] = s.wr_ready[1] = 0;
    s.look = 0;
    s.counts = false;
    bench b(s);
    b.sweep();
    b.go(2);
    unsigned src = (s.port + 1) % N, lost = 5;
    for (unsigned i = 0; i < SLOTS + lost; i++) {
        item p = b.plain(src, 1 + b.c.below(100));
        b.plain_at[src] += p.p.h.len;
        p.writes = i < SLOTS;
        if (!p.writes)
            p.errors[MW_HWERR_CREDIT] = 1;
        b.add(src, p);
    }
    b.credits = SLOTS + lost;
    for (unsigned i = 0; i < 900; i++)
        b.cycle();
    assert_int_equal(b.credits, 0);
    assert_int_equal(b.sources[src].sent, SLOTS + lost);
    b.s.wr_ready[0] = b.s.wr_ready[1] = 100;
    b.run(1000);
    b.check();
}

// The window of plain stores, to the byte, wherever its ends are, behind the end of memory too: what lies inside both is written, what leaves either is not.
static void window_to_the_byte(void **state)
{
    (void)state;
    const uint64_t ends[] = {0,        1,       ST_LO,       MEM - 1,  MEM,       MEM + 1,
                             MEM + 64, 2 * MEM, 2 * MEM + 1, 1u << 31, 0xffffffff};
    settings s;
    s.counts = false;
    bench b(s);
    b.sweep();
    unsigned src = (s.port + 1) % N, written = 0, rejected = 0;
    for (uint64_t lo : ends) {
        for (uint64_t hi : ends) {
            b.cfg.set("st_lo", lo);
            b.cfg.set("st_hi", hi);
            for (unsigned i = 0; i < 12; i++) {
                unsigned len = i % 3 == 0 ? 1 : i % 3 == 1 ? 2 * F : 128;
                uint64_t from = b.c.percent(50) ? lo : b.c.percent(50) ? hi : MEM;
                uint64_t at = from + b.c.below(3) - 1 - (b.c.percent(50) ? len : 0);
                at &= (1ull << 48) - 1;
                if (len == 128)
                    at &= ~static_cast<uint64_t>(F - 1); // or it has a flit too many
                if (b.c.percent(5))
                    at |= 1ull << (33 + b.c.below(15));
                if (at >= AL - 128 && at < GT)
                    continue;
                b.go(2);
                item p = b.plain(src, F);
                p.p.h.addr = at;
                p.p.h.len = len;
                p.p.body = random_bytes(b.c, len);
                p.writes = lo <= at && at + len <= hi && at + len <= MEM;
                if (at % F + len > 128)
                    continue;
                if (!p.writes)
                    p.errors[MW_HWERR_BOUNDS] = 1;
                (p.writes ? written : rejected)++;
                b.add(src, p);
                b.run(1000);
                b.check();
            }
        }
    }
    assert_true(written > 50 && rejected > 500);
}

int main()
{
    const char *e = getenv("MW_SEED");
    seed = e ? strtoull(e, nullptr, 0) : static_cast<uint64_t>(time(nullptr));
    printf("MW_SEED=%llu\n", static_cast<unsigned long long>(seed));
    Verilated::randReset(2); // registers and memories start with random contents
    Verilated::randSeed(static_cast<int>(seed % 0x7ffffffe) + 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layer_at_full_speed),
        cmocka_unit_test(layer_with_everything),
        cmocka_unit_test(results_between_stores),
        cmocka_unit_test(results_wait),
        cmocka_unit_test(no_row_left),
        cmocka_unit_test(table_is_slow),
        cmocka_unit_test(layers_repeat),
        cmocka_unit_test(sweeps_are_short),
        cmocka_unit_test(rates),
        cmocka_unit_test(beyond_credit),
        cmocka_unit_test(window_to_the_byte),
        cmocka_unit_test(pushed_rows_are_counted),
    };
    return cmocka_run_group_tests_name("rx_store", tests, nullptr, nullptr);
}
