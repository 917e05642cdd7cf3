// SPDX-License-Identifier: Apache-2.0
//
// Stores that break a rule: opcode, epoch, poison, length, bounds, targets, credit and reduction. A
// row with targets only in its first packet stays open or is closed.

#include "bench/values.h"
#include "event_numbers.h"
#include "rx_errors_model.h"

using namespace tb;

// ---- STORE ----
TEST(stores_of_another_kind)
{
    hub b;
    for (unsigned e = 1; e < 4; e++) {
        for (unsigned op : {MW_OP_ST, MW_OP_MULTIMEM_ST, MW_OP_DYMULTIMEM_ST, MW_OP_FLAG,
                            MW_OP_FENCE, MW_OP_COUNTS}) {
            packet p = op == MW_OP_DYMULTIMEM_ST
                           ? b.row(OTHER << TOKEN_SHIFT, MW_STAGE_DISPATCH, 0, 128)
                           : b.store(ST_LO, 64);
            p.h.opcode = op;
            p.h.epoch = (b.epoch + e) % 4;
            b.rejects(MW_HWERR_EPOCH, p);
            p.h.poison = 1; // the epoch is checked before poison
            b.rejects(MW_HWERR_EPOCH, p);
            p.h.epoch = b.epoch;
            b.rejects(MW_HWERR_POISON, p);
        }
    }
    for (unsigned op = 0; op < 64; op++) {
        if ((op >= MW_OP_ST && op <= MW_OP_COUNTS) || (REDS && op == MW_OP_MULTIMEM_RED) ||
            is_rowsp(op))
            continue;
        packet p = b.store(ST_LO, 64);
        p.h.opcode = op;
        b.rejects(MW_HWERR_OPCODE, p);
        p.h.len = 0; // the opcode is checked before the length
        p.payload.clear();
        b.rejects(MW_HWERR_OPCODE, p);
    }
}

TEST(stores_of_a_wrong_length)
{
    hub b;
    for (unsigned len : {0u, 129u, 192u, 255u, 256u, 384u, 16384u, 32767u}) {
        for (unsigned op : {MW_OP_ST, MW_OP_MULTIMEM_ST, MW_OP_DYMULTIMEM_ST, MW_OP_COUNTS}) {
            packet p = op == MW_OP_DYMULTIMEM_ST
                           ? b.row(OTHER << TOKEN_SHIFT, MW_STAGE_DISPATCH, 0, 128)
                           : b.store(ST_LO, 128);
            p.h.opcode = op;
            p.h.len = len;
            b.rejects(MW_HWERR_LENGTH, p);
        }
    }
    for (unsigned op : {MW_OP_FLAG, MW_OP_FENCE}) {
        packet p = b.store(ST_LO, 8);
        p.h.opcode = op;
        b.rejects(MW_HWERR_LENGTH, p); // they have no payload
        p.h.len = 0;
        b.rejects(MW_HWERR_LENGTH, p);
    }
    for (unsigned len : {1u, 2u, 3u, 5u, 127u}) {
        packet p = b.words(0, std::vector<uint32_t>(32, 0));
        p.h.len = len;
        p.payload.resize(len);
        b.rejects(MW_HWERR_LENGTH, p);
    }
    // too few or too many flits, and the link's error bit, in packets that are otherwise valid
    const packet right[] = {
        b.store(ST_LO, 128), b.store(ST_LO + 3, 2), b.store(ST_LO + F - 1, F + 2),
        b.words(1, {1, 2, 3, 4}),
        b.row(OTHER << TOKEN_SHIFT, MW_STAGE_DISPATCH, 0, 128, {own(0), own(1), own(2), own(3)})};
    for (const packet &r : right) {
        const int flits = static_cast<int>(encode(r, F).flits());
        packet bare = r;
        bare.payload.clear();
        const int front = static_cast<int>(encode(bare, F).flits());
        for (int cut = -flits + 1; cut < 40; cut++) {
            packet p = r;
            p.cut = cut;
            p.err = cut == 0;
            // if the list is complete, each target is reported
            b.rejects(MW_HWERR_LENGTH, p, p.err || flits + cut < front || !p.h.cnt ? 1 : p.h.cnt);
        }
    }
    // more than a packet may hold, from its lane on
    packet p = b.store(ST_LO + 1, 128);
    b.rejects(MW_HWERR_LENGTH, p);
}

// Every counter that packets count, every number with one bit more, and reports of more rows than
// exist.
TEST(flags_out_of_bounds)
{
    hub b;
    for (unsigned bit = 0; bit < 48; bit++) {
        for (unsigned e = 0; e < 32; e++) {
            packet p = b.bare(MW_OP_FLAG, e | uint64_t{bit > 4} << bit);
            // rows of all tokens, and one beyond them
            const bool notified = PARAM_RowRanges && bit > 4 && bit < 5 + TOKEN_BITS + 1;
            if ((bit > 4 && !notified) || !is_counted(PARAM_Events, e)) {
                if (bit < 5 || e % 8 == 0 || bit == 5 + TOKEN_BITS + 1)
                    b.rejects(MW_HWERR_BOUNDS, p);
                continue;
            }
            const unsigned flags = b.flags;
            b.lands(p);
            b.errors.done();
            assert_int_equal(b.flags, flags + 1);
        }
    }
}

TEST(stores_out_of_bounds)
{
    hub b;
    b.rejects(MW_HWERR_BOUNDS, b.store(ST_LO - 1, 1));
    b.rejects(MW_HWERR_BOUNDS, b.store(ST_LO - 1, 64));
    b.rejects(MW_HWERR_BOUNDS, b.store(ST_HI - 63, 64));
    b.rejects(MW_HWERR_BOUNDS, b.store(ST_HI, 1));
    for (unsigned op : {MW_OP_ST, MW_OP_MULTIMEM_ST, MW_OP_DYMULTIMEM_ST}) {
        for (unsigned bit = 17; bit < 48; bit++) {
            packet p = b.store(ST_LO, 16);
            p.h.opcode = op;
            p.h.addr |= 1ull << bit;
            if (op == MW_OP_DYMULTIMEM_ST) {
                p.set_targets({own(0)});
                p.h.stage = MW_STAGE_FLAT;
            }
            b.rejects(MW_HWERR_BOUNDS, p);
        }
    }
    for (unsigned at = 1; at < F; at++) { // counts begin with a flit
        packet p = b.words(0, {1, 2});
        p.h.addr = at;
        p.lane = at;
        b.rejects(MW_HWERR_BOUNDS, p);
    }
    // rows, gate weights, tokens
    const unsigned token = OTHER << TOKEN_SHIFT;
    for (unsigned stage : {MW_STAGE_DISPATCH, MW_STAGE_COMBINE}) {
        const char *size = TYPES && stage == MW_STAGE_DISPATCH ? "dispatch_bytes" : "row_bytes";
        b.set(size, 128 + F);
        b.rejects(MW_HWERR_BOUNDS, b.row(token, stage, 128, F + 1));
        b.rejects(MW_HWERR_BOUNDS, b.row(token, stage, 128 + F, 1));
        b.rejects(MW_HWERR_BOUNDS, b.row(token, stage, 255, 1));
        b.set(size, ROW);
    }
    b.rejects(MW_HWERR_BOUNDS, b.row(token, MW_STAGE_GATE, 0, 4 * K + 1));
    b.rejects(MW_HWERR_BOUNDS, b.row(token, MW_STAGE_GATE, 4 * K, 1));
    for (unsigned t : {N << TOKEN_SHIFT, (N << TOKEN_SHIFT) + 5, 127u})
        b.rejects(MW_HWERR_BOUNDS,
                  b.row(t, MW_STAGE_DISPATCH, 0, 128)); // of no GPU: the allocator's
    for (unsigned bit = TOKEN_BITS; bit + ROW_SHIFT < 48; bit++) {
        packet p = b.row(token, MW_STAGE_DISPATCH, 0, 128);
        p.h.addr |= 1ull << (bit + ROW_SHIFT);
        b.rejects(MW_HWERR_BOUNDS, p);
    }
    b.set("local_experts", 2); // an expert that the map has and this layer does not
    b.rejects(MW_HWERR_BOUNDS, b.row(token, MW_STAGE_DISPATCH, 0, 128, {own(2), own(3)}), 2);
    for (unsigned le = 0; le < LE; le++)
        assert_int_equal(b.complete(le), 0);
}

TEST(stores_with_wrong_targets)
{
    hub b;
    const unsigned token = OTHER << TOKEN_SHIFT;
    for (unsigned cnt = 0; cnt < 32; cnt++) {
        if (cnt >= 1 && cnt <= LE)
            continue;
        packet p = b.row(token, MW_STAGE_DISPATCH, 0, 128);
        p.set_targets(std::vector<uint16_t>(cnt, own(0)));
        b.rejects(MW_HWERR_TARGETS, p);
    }
    for (unsigned op : {MW_OP_ST_ROWSP, MW_OP_ST_ROWSP_NOP}) { // which have exactly one
        for (unsigned cnt : {0u, 2u, 3u, 4u, 16u}) {
            packet p = b.row(token, MW_STAGE_DISPATCH, 0, 128);
            p.h.opcode = op;
            p.set_targets(std::vector<uint16_t>(cnt, own(0)));
            b.rejects(MW_HWERR_TARGETS, p);
        }
    }
    std::vector<uint16_t> wrong;
    for (unsigned e = 0; e < 4096; e++)
        if (e >= N * LE || e % N != PORT)
            wrong.push_back(target(e, b.below(16)));
    for (unsigned i = 0; i < 200; i++) {
        std::vector<uint16_t> list(1 + b.below(LE));
        for (auto &t : list)
            t = b.rng.pick(wrong);
        b.rejects(MW_HWERR_UNMAPPED, b.row(token, MW_STAGE_COMBINE, 0, F, list),
                  static_cast<unsigned>(list.size()));
    }
}

// Packets beyond their credit are reported with their first flit, and dropped. Those with a credit
// are written.
TEST(stores_beyond_credit)
{
    hub b;
    b.rate = 0;
    std::vector<packet> sent;
    for (unsigned i = 0; i < SLOTS + 4; i++) {
        sent.push_back(b.store(ST_LO + 128 * i, 128));
        if (i >= SLOTS)
            b.errors.expect_between(b.now, b.now, MW_HWERR_CREDIT, STORE);
        b.send(sent[i], MW_CLS_STORE);
    }
    b.errors.done();
    bytes before = b.mem.data;
    b.rate = 60;
    b.settle_down();
    for (unsigned i = 0; i < SLOTS; i++)
        std::copy(sent[i].payload.begin(), sent[i].payload.end(), before.begin() + ST_LO + 128 * i);
    assert_true(b.mem.data == before);
    assert_int_equal(b.credits[MW_CLS_STORE], SLOTS);
}

// Invalid packets from the link, without a pause and with nothing to write, delay no own row whose
// last packet has begun.
TEST(a_row_beside_wrong_packets)
{
    hub b;
    const unsigned token = PORT << TOKEN_SHIFT;
    auto send_own = [&](const packet &p) { b.local.queue.push_back(encode(p, F, &b.rng)); };
    send_own(b.row(token, MW_STAGE_GATE, 0, 4 * K));
    send_own(b.row(token, MW_STAGE_DISPATCH, 0, 128));
    b.settle_down();
    send_own(b.row(token, MW_STAGE_DISPATCH, 128, 128));
    b.cycles(8);
    packet wrong = b.bare(MW_OP_FLAG);
    wrong.h.epoch = (b.epoch + 1) % 4;
    for (unsigned i = 0; i < 100; i++) {
        b.errors.expect_between(b.now, b.now + 20, MW_HWERR_EPOCH, STORE);
        b.send(wrong, MW_CLS_STORE);
        if (F == 16)
            b.cycle(); // as many jobs as with flits of 8 bytes
        if (i == 30)
            assert_int_equal(b.row_events, 1);
    }
    b.settle_down();
    b.errors.done();
}

// Reds of each type and operator, most of which do not exist. Those that exist follow the rules of
// stores.
TEST_IF(REDS, reds)
{
    hub b;
    for (unsigned dtype = 0; dtype < 16; dtype++) {
        for (unsigned redop = 0; redop < 8; redop++) {
            packet p = b.store(ST_LO + 64, 64);
            p.h.opcode = MW_OP_MULTIMEM_RED;
            p.h.dtype = dtype;
            p.h.redop = redop;
            if (!reduces(dtype, redop)) {
                b.rejects(MW_HWERR_REDUCTION, p);
                p.h.addr = ST_HI; // is checked before the bounds
                b.rejects(MW_HWERR_REDUCTION, p);
                p.cut = 1; // and after the length
                b.rejects(MW_HWERR_LENGTH, p);
                continue;
            }
            packet q = p;
            q.h.addr = ST_LO - 1;
            q.lane = (ST_LO - 1) % F;
            b.rejects(MW_HWERR_BOUNDS, q);
            q = p;
            q.h.addr = ST_HI - 48;
            b.rejects(MW_HWERR_BOUNDS, q);
            q = p;
            q.h.epoch ^= 1;
            b.rejects(MW_HWERR_EPOCH, q);
            q = p;
            q.h.poison = 1;
            b.rejects(MW_HWERR_POISON, q);
            for (int cut : {-5, -1, 1, 5}) {
                q = p;
                q.cut = cut;
                b.rejects(MW_HWERR_LENGTH, q);
            }
            // a valid one changes only its bytes
            bytes want = b.mem.data;
            const void *terms[] = {&want[ST_LO + 64], p.payload.data()};
            bytes sum(64);
            mw_reduce_rows(dtype, redop, terms, 2, 64, sum.data());
            std::copy(sum.begin(), sum.end(), want.begin() + ST_LO + 64);
            b.lands(p);
            assert_true(b.mem.data == want);
        }
    }
}

// Merged reds that name counted own rows report their contributions. Others are errors.
TEST_IF(REDS, counted_reds)
{
    const unsigned first = 3, rows = 1u << TOKEN_SHIFT;
    hub b;
    b.set("st_lo", 0);
    b.set("st_hi", MEM);
    b.set("red_first", first);
    b.set("red_count", 12);
    packet p = b.store(XD + first * ROW, 128);
    p.h.opcode = MW_OP_MULTIMEM_RED;
    p.h.dtype = MW_DTYPE_U32;
    p.h.redop = MW_REDOP_ADD;
    p.h.own = 1;
    for (unsigned place : {XD, XD + first * ROW - 128, XD + rows * ROW, XD - 128, MEM - 128}) {
        packet q = p;
        q.h.addr = place;
        b.rejects(MW_HWERR_BOUNDS, q);
        q.h.own = 0; // is not counted
        b.counted.clear();
        b.lands(q);
        assert_true(b.counted.empty());
    }
    packet over = p; // leaves its row
    over.h.addr += ROW - 64;
    b.rejects(MW_HWERR_BOUNDS, over);
    for (unsigned tag : {N, N + 1, 64u, 255u}) {
        packet q = p;
        q.h.tag = tag;
        b.rejects(MW_HWERR_COUNT, q);
    }
    for (unsigned row = first; row < rows; row++)
        for (unsigned tag = 0; tag < N; tag++) {
            packet q = p;
            q.h.addr = XD + row * ROW + (row % 2 ? 128 : 0);
            q.h.tag = tag;
            b.counted.clear();
            b.lands(q);
            const std::vector<std::pair<unsigned, unsigned>> want = {{row, tag + 1}};
            assert_true(b.counted == want);
        }
    b.set("red_count", 0); // no row is counted
    b.counted.clear();
    p.h.addr = XD;
    b.lands(p);
    assert_true(b.counted.empty());
}

// ---- rows whose first packet alone has the targets ----
static const unsigned ROW_TOKEN = OTHER << TOKEN_SHIFT | 3;

// A later packet of a row.
static packet follower(hub &b, unsigned token = ROW_TOKEN, unsigned stage = MW_STAGE_DISPATCH,
                       unsigned src = OTHER)
{
    packet p = b.row(token, stage, 0, stage == MW_STAGE_GATE ? 4 * K : 128, {});
    p.h.src = src;
    return p;
}

static void open_row(hub &b, unsigned token = ROW_TOKEN, unsigned src = OTHER,
                     const std::vector<uint16_t> &targets = {own(0)})
{
    packet p = b.row(token, MW_STAGE_COMBINE, 0, 128, targets); // which counts for no row
    p.h.src = src;
    b.lands(p);
}

// The row is open: a follower has its targets, and closes it.
static void is_open(hub &b, const std::vector<unsigned> &les, unsigned token = ROW_TOKEN,
                    unsigned src = OTHER)
{
    packet p = follower(b, token, MW_STAGE_COMBINE, src);
    b.lands(p);
    for (unsigned le = 0; le < LE; le++) {
        const auto l = b.look(le, token);
        const bool has = std::count(les.begin(), les.end(), le);
        if (!has)
            continue;
        assert_false(l.err);
        assert_true(b.mem.read(YD + ((le << CAP_SHIFT | l.row) << ROW_SHIFT), 128) == p.payload);
    }
    b.rejects(MW_HWERR_TARGETS, follower(b, token ^ 1, MW_STAGE_COMBINE, src));
}

TEST(no_lists_without_a_row)
{
    hub b;
    for (unsigned stage : {MW_STAGE_DISPATCH, MW_STAGE_COMBINE, MW_STAGE_GATE, MW_STAGE_FLAT})
        b.rejects(MW_HWERR_TARGETS, follower(b, ROW_TOKEN, stage));
    for (unsigned src = 0; src < 32; src++)
        b.rejects(MW_HWERR_TARGETS, follower(b, ROW_TOKEN, MW_STAGE_DISPATCH, src));
    if (LISTS)
        return;
    open_row(b);
    b.rejects(MW_HWERR_TARGETS, follower(b));
}

TEST_IF(LISTS, a_row_of_followers)
{
    hub b;
    b.send(b.row(ROW_TOKEN, MW_STAGE_DISPATCH, 0, 128, {own(2), own(0), own(3)}), MW_CLS_STORE);
    packet rest = b.row(ROW_TOKEN, MW_STAGE_DISPATCH, 128, 128, {});
    b.send(rest, MW_CLS_STORE);
    b.send(b.words(1, {1, 2, 3, 4}), MW_CLS_STORE); // control's packets come between
    b.lands(follower(b, ROW_TOKEN, MW_STAGE_GATE));
    b.errors.done();
    for (unsigned le = 0; le < LE; le++) {
        assert_int_equal(b.complete(le), le != 1);
        const auto l = b.look(le, ROW_TOKEN);
        assert_int_equal(l.err, le == 1);
        if (!l.err)
            assert_true(b.mem.read(XD + ((le << CAP_SHIFT | l.row) << ROW_SHIFT) + 128, 128) ==
                        rest.payload);
    }
    // gate weights were its last packet, and these are second ones
    b.rejects(MW_HWERR_TARGETS, follower(b, ROW_TOKEN, MW_STAGE_GATE));
    b.rejects(MW_HWERR_TARGETS, follower(b));
}

TEST_IF(LISTS, what_closes_a_row)
{
    hub b;
    // another token, and then its own
    open_row(b);
    b.rejects(MW_HWERR_TARGETS, follower(b, ROW_TOKEN + 1));
    b.rejects(MW_HWERR_TARGETS, follower(b));
    // an address beyond all tokens whose low bits are those of one
    open_row(b);
    packet p = follower(b);
    p.h.addr |= 1ull << 40;
    b.rejects(MW_HWERR_TARGETS, p);
    b.rejects(MW_HWERR_TARGETS, follower(b));
    p = b.row(ROW_TOKEN, MW_STAGE_DISPATCH, 0, 128);
    p.h.addr |= 1ull << 40;
    open_row(b);
    b.rejects(MW_HWERR_BOUNDS, p);
    b.rejects(MW_HWERR_TARGETS, follower(b));
    // gate weights that come with targets
    open_row(b);
    b.lands(b.row(ROW_TOKEN, MW_STAGE_GATE, 0, 4 * K));
    b.rejects(MW_HWERR_TARGETS, follower(b));
    // each fault of a packet of a row, with targets or without
    for (unsigned with = 0; with < 2; with++) {
        for (unsigned fault = 0; fault < 6; fault++) {
            open_row(b);
            p = with ? b.row(ROW_TOKEN, MW_STAGE_COMBINE, 0, 128) : follower(b);
            unsigned code = MW_HWERR_LENGTH;
            switch (fault) {
            case 0:
                p.h.poison = 1;
                code = MW_HWERR_POISON;
                break;
            case 1:
                p.h.epoch ^= 1;
                code = MW_HWERR_EPOCH;
                break;
            case 2:
                p.h.len = 0;
                break;
            case 3:
                p.h.len = 129;
                break;
            case 4:
                p.err = true;
                break;
            default:
                if (HF == 1)
                    continue;
                p.cut = -128;
            }
            b.fails(STORE, code, p);
            b.rejects(MW_HWERR_TARGETS, follower(b));
        }
    }
    open_row(b);
    p = b.row(ROW_TOKEN, MW_STAGE_COMBINE, 0, 128, std::vector<uint16_t>(LE + 1, own(0)));
    b.rejects(MW_HWERR_TARGETS, p);
    b.rejects(MW_HWERR_TARGETS, follower(b));
}

TEST_IF(LISTS, what_leaves_a_row_open)
{
    hub b;
    open_row(b, ROW_TOKEN, OTHER, {own(1), own(3)});
    b.rejects(MW_HWERR_BOUNDS, b.store(ST_HI, 1));
    b.rejects(MW_HWERR_LENGTH, b.store(ST_LO + 1, 128));
    packet p = b.store(ST_LO, 64);
    p.h.opcode = MW_OP_DYMULTIMEM_ST;
    p.h.stage = MW_STAGE_FLAT;
    p.set_targets({own(0)});
    b.lands(p);
    is_open(b, {1, 3});
    // a packet that does not fit still belongs to the row
    open_row(b);
    p = follower(b);
    p.h.addr |= ROW_SHIFT - 1;
    b.fails(STORE, MW_HWERR_LENGTH, p);
    is_open(b, {0});
}

TEST_IF(LISTS, the_newest_list_counts)
{
    hub b;
    open_row(b, ROW_TOKEN, OTHER, {own(0), own(1)});
    open_row(b, ROW_TOKEN, OTHER, {own(3)});
    is_open(b, {3});
    open_row(b, ROW_TOKEN, OTHER, {own(3)});
    open_row(b, ROW_TOKEN ^ 1, OTHER, {own(2)});
    is_open(b, {2}, ROW_TOKEN ^ 1);
}

TEST_IF(LISTS, a_row_of_each_source)
{
    hub b;
    const unsigned token[N] = {1, PORT << TOKEN_SHIFT | 2, ROW_TOKEN, 3 << TOKEN_SHIFT};
    for (unsigned src = 0; src < N; src++)
        open_row(b, token[src], src, {own((src + 1) % LE)});
    for (unsigned src = 0; src < N; src++)
        is_open(b, {(src + 1) % LE}, token[src], src);
    // a source that does not exist has no row, and does not use the row of another
    open_row(b, ROW_TOKEN, 4 + OTHER);
    b.rejects(MW_HWERR_TARGETS, follower(b, ROW_TOKEN, MW_STAGE_COMBINE, 4 + OTHER));
    open_row(b);
    b.rejects(MW_HWERR_TARGETS, follower(b, ROW_TOKEN, MW_STAGE_COMBINE, 4 + OTHER));
    is_open(b, {0});
}

TEST_IF(LISTS, rows_end_with_their_epoch)
{
    hub b(0);
    for (unsigned e = 1; e < 4; e++) {
        open_row(b);
        is_open(b, {0});
        open_row(b);
        b.go(e);
        b.rejects(MW_HWERR_TARGETS, follower(b));
        if (e == 2) { // also where the epoch is the same again
            open_row(b);
            b.go(e + 1);
            b.go(e);
            b.rejects(MW_HWERR_TARGETS, follower(b));
        }
    }
    open_row(b);
    b.reset(1);
    b.write_map();
    b.sweep();
    b.go(3);
    b.rejects(MW_HWERR_TARGETS, follower(b));
}
