// SPDX-License-Identifier: Apache-2.0
//
// Packets of the rows that the switch opens, and the errors that are reported to a port.
#ifndef SWITCH_ROW_BENCH_H
#define SWITCH_ROW_BENCH_H

#include "switch_model.h"

constexpr unsigned TOKENS = 1u << PARAM_TokensLog2;

/// A switch in a layer in which it opens reductions.
inline std::unique_ptr<hubs> asking(unsigned row_bytes, bool tiles = false, unsigned latency = 1)
{
    auto b = bench(latency);
    b->layer(true, row_bytes, tiles);
    return b;
}

// ---- packets of a row ----
inline packet of_row(hubs &b, unsigned home, unsigned index, unsigned stage)
{
    packet p = b.store(MW_OP_DYMULTIMEM_ST, home, 0, b.f * b.rng.between(1, 128 / b.f));
    p.h.stage = stage;
    p.h.addr = (uint64_t{home} << b.token_shift | index) << b.rules.row_shift;
    return p;
}
inline packet gate(hubs &b, unsigned home, unsigned index, bool own, unsigned reduce = 1)
{
    packet p = of_row(b, home, index, MW_STAGE_GATE);
    p.h.reduce = reduce;
    p.h.own = own;
    return p;
}
// Experts of these ports, as many of each as it occurs in the list, or as it has.
inline std::vector<uint16_t> targets_on(hubs &b, const std::vector<unsigned> &ports)
{
    std::vector<uint16_t> t;
    std::vector<unsigned> next(b.n);
    for (unsigned p : ports)
        if (next[p] * b.n + p < b.max_experts)
            t.push_back(static_cast<uint16_t>(expert(b, p, next[p]++) | t.size()));
    return t;
}
inline packet gate_to(hubs &b, unsigned home, unsigned index, const std::vector<unsigned> &ports,
                      bool own = false, unsigned reduce = 1)
{
    packet p = gate(b, home, index, own, reduce);
    p.set_targets(targets_on(b, ports));
    return p;
}
inline void open_row(hubs &b, unsigned home, unsigned index, const std::vector<unsigned> &ports)
{
    packet p = of_row(b, home, index, MW_STAGE_DISPATCH);
    p.set_targets(targets_on(b, ports));
    assert_int_equal(b.send(home, p), MW_HWERR_NONE);
}
// The packets of a row, as a hub sends them.
inline void whole_row(hubs &b, unsigned home, unsigned index, const std::vector<unsigned> &ports,
                      bool own)
{
    if (b.percent(20)) { // all in one packet
        assert_int_equal(b.send(home, gate_to(b, home, index, ports, own)), MW_HWERR_NONE);
        return;
    }
    open_row(b, home, index, ports);
    for (unsigned k = b.below(3); k; k--)
        b.send(home, of_row(b, home, index, MW_STAGE_DISPATCH));
    assert_int_equal(b.send(home, gate(b, home, index, own)), MW_HWERR_NONE);
}
inline void says(hubs &b, unsigned src, std::vector<std::pair<unsigned, unsigned>> lanes)
{
    b.send(src, b.ready(src, lanes));
}

// Other traffic in such a layer.
inline void other(hubs &b, unsigned s)
{
    const unsigned d = (s + 1 + b.below(b.n - 1)) % b.n;
    const unsigned op =
        b.rng.pick({MW_OP_ST, MW_OP_ST, MW_OP_FLAG, MW_OP_FENCE, MW_OP_COUNTS, MW_OP_MULTIMEM_ST,
                    MW_OP_DYMULTIMEM_ST, MW_OP_EVENT, MW_OP_ACK, MW_OP_SIGNAL});
    packet p = tb::has_payload(op) ? b.store(op, s, d, b.below(129)) : b.make(op, s, d);
    if (op == MW_OP_MULTIMEM_ST)
        p.h.target0 = 0;
    if (op == MW_OP_DYMULTIMEM_ST) {
        p.h.stage = MW_STAGE_FLAT;
        p.set_targets(targets_on(b, {d}));
    }
    assert_int_equal(b.send(s, p), MW_HWERR_NONE);
}

// Random members of a row: up to 16 targets on some ports.
inline std::vector<unsigned> some_ports(hubs &b, unsigned home)
{
    std::vector<unsigned> list;
    const unsigned spread = b.rng.between(1, b.n - 1);
    for (unsigned k = b.percent(10) ? 16 : b.rng.between(1, 6); k; k--)
        list.push_back((home + 1 + b.below(spread)) % b.n);
    return list;
}

/// Errors by name in a layer in which the switch opens reductions.
struct named_errors {
    std::unique_ptr<hubs> b;
    const unsigned n = b->n, home = 0, q = 1, last = b->n - 1;

    explicit named_errors(std::unique_ptr<hubs> its) : b(std::move(its)) { b->auto_report = false; }
    // port src gets this error for what `act` sends, and no other port gets one
    void notified(unsigned code, unsigned src, const std::function<void()> &act)
    {
        const std::vector<unsigned> before = b->reports;
        act();
        b->finish();
        for (unsigned p = 0; p < n; p++) {
            assert_int_equal(b->reports[p] - before[p], p == src && code);
            assert_true(b->reject_codes[p].empty());
        }
        if (code)
            assert_int_equal(b->reported[src].back().second, code);
    }
    void lane(unsigned code, unsigned src, unsigned of, unsigned index)
    {
        notified(code, src, [&] { says(*b, src, {{of, index}}); });
    }
};

#endif
