// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Report scoreboard of one port: the reports that are missing for each own token of its GPU.
//
// Function: A word holds the ports with experts of the token, the number of their missing reports,
// and whether the GPU's own report is missing. The last packet of a row makes an entry (entry_i,
// see row_entry). Lanes of READY packets count it down: one of each other port (by distance), and
// of the port itself (the top bit). The port's own lane may come before the entry, which then
// includes it. At zero the row is ready to open. Entries of another epoch do not count. sweep_i
// clears the words of the tokens that the configuration uses, one per cycle. Indices are below
// 1 << token_shift_i, which is constant from sweep to sweep.
// With tile reductions every row is expected, without an entry, from all members in tiles_i and
// from the GPU itself. A word holds the ports whose reports are missing, and a word of another
// epoch stands for all. tiles_i is constant from go to done.
// Order: Reports of one source are processed in order. Rows become ready to open in completion
// order.
// Back-pressure: An entry is taken at once, at most one in two cycles. Lanes are taken round robin,
// one in each cycle without an entry, and take_o reports it in the next cycle. A row that is ready
// has its place, one for each token. From the cycle in which the port goes down until the next go
// (fell_o) everything is taken and discarded.
// Latency: A lane waits for one lane of each other source, twice as long while entries come every
// second cycle.
// Errors: BOUNDS: an entry for another GPU's token. COUNT: an entry for a row that is already
// expected, or that its GPU has reported without own experts. COUNT to the source (bad_o): a lane
// for a row that is not expected, not from this source, or already reported. Reports of the other
// ports are counted together, so an extra report of one shows at the last one. With tile
// reductions COUNT for any entry, for each second report (before or after the row opens), and for
// reports of ports outside these members. If there are none, every report is COUNT. None of these
// changes the table.
`default_nettype none
`include "bundles.svh"

module report_scoreboard #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type entry_t = `MW_ENTRY(Cfg),
    parameter type members_t = `MW_MEMBERS(Cfg),
    parameter type opened_t = `MW_OPENED(Cfg)
) (
    input  wire logic       clk_i,
    input  wire logic       rst_ni,
    input  wire logic       go_i,
    input  wire logic [1:0] epoch_i,
    input  wire logic       sweep_i,
    output logic            sweep_busy_o,
    input  wire logic [3:0] token_shift_i,
    input  wire logic       down_i,  // the port is down
    output logic            fell_o,

    input  wire members_t              tiles_i,  // with tile reductions

    input  wire entry_t                entry_i,
    input  wire logic [Cfg.Others-1:0] members_i,  // by distance, with entry_i

    input  wire logic [Cfg.N-1:0]          lane_i,
    input  wire logic [Cfg.TokensLog2-1:0] lane_index_i [Cfg.N],
    output logic [Cfg.N-1:0]               take_o,
    output logic [Cfg.N-1:0]               bad_o,

    output opened_t        row_o,  // it may be opened
    input  wire logic      row_take_i,

    output bundle_pkg::error_t err_o,
    output logic               idle_o
);
    import error_pkg::*;

    // own: without members that report came already; with members it is to come. With tile
    // reductions: members and own are to report; left is not 0, unlike that of a cleared word.
    typedef struct packed {
        logic [1:0]            epoch;
        logic [Cfg.Others-1:0] members;
        logic                  own;
        logic [4:0]            left;     // reports of members to come
    } word_t;

    // ---- one entry or lane a cycle ----
    logic [Cfg.N-1:0] choice;
    logic any_lane, act_q, entry_q, own_q, mine_q;
    logic [Cfg.N-1:0] from_q;  // the lane's source
    logic [Cfg.Others-1:0] members_q;
    logic [4:0] cnt_q;
    logic [Cfg.TokensLog2-1:0] index, index_q, sweep_q, sweep_last;

    // what was taken is not there any more, though its source has no answer yet
    rr_arb #(
        .N(Cfg.N)
    ) i_arb (
        .clk_i,
        .rst_ni,
        .clear_i(go_i),
        .req_i(lane_i & ~take_o),
        .grant_o(choice),
        .idx_o(),
        .advance_i(any_lane)
    );
    assign any_lane = choice != '0 && !entry_i.valid && !sweep_busy_o;

    always_comb begin
        index = entry_i.valid ? entry_i.index : '0;
        for (int unsigned s = 0; s < Cfg.N; s++)
        index |= (any_lane && choice[s]) ? lane_index_i[s] : '0;
    end

    always_ff @(posedge clk_i) begin
        act_q <= rst_ni && (entry_i.valid || any_lane);
        take_o <= (rst_ni && any_lane) ? choice : '0;
        entry_q <= entry_i.valid;
        from_q <= choice;
        own_q <= entry_i.own;
        mine_q <= entry_i.mine;
        members_q <= members_i;
        cnt_q <= entry_i.cnt;
        index_q <= index;
    end

    // ---- its word ----
    word_t read, word, next, last_q;  // last_q: written in the cycle before
    logic [Cfg.TokensLog2-1:0] last_index_q;
    logic last_valid_q, we, of_own, wanted, early, good, ready_to_open;
    logic [Cfg.Others-1:0] row_members;  // of the row that is

    table_ram #(
        .Width($bits(word_t)),
        .Depth(2 ** Cfg.TokensLog2)
    ) i_words (
        .clk_i,
        .we_i(we || sweep_busy_o),
        .waddr_i(sweep_busy_o ? sweep_q : index_q),
        .wdata_i(sweep_busy_o ? '0 : next),
        .re_i(entry_i.valid || any_lane),
        .raddr_i(index),
        .rdata_o(read)
    );

    assign word = (last_valid_q && last_index_q == index_q) ? last_q : read;
    assign wanted = word.epoch == epoch_i && word.members != '0;
    assign early = word.epoch == epoch_i && word.members == '0 && word.own;
    assign of_own = from_q[Cfg.N-1];

    // With tile reductions: the reports of the row that are missing.
    logic tiles, fresh, missing_own;
    logic [Cfg.Others-1:0] missing;

    assign tiles = Cfg.TileReductions && tiles_i.valid;
    assign fresh = word.epoch != epoch_i || word.left == '0;
    assign missing = fresh ? tiles_i.members : word.members;
    assign missing_own = fresh ? tiles_i.members != '0 : word.own;

    always_comb begin
        next = '{
            epoch: epoch_i,
            members: word.members,
            own: word.own && !of_own,
            left: word.left - 5'(!of_own)
        };
        good = wanted && (of_own ? word.own : word.left != '0
                          && (from_q[Cfg.Others-1:0] & word.members) != '0);
        if (tiles) begin
            next = '{
                epoch: epoch_i,
                members: missing & ~from_q[Cfg.Others-1:0],
                own: missing_own && !of_own,
                left: 5'd1
            };
            good = !entry_q && (of_own ? missing_own : (from_q[Cfg.Others-1:0] & missing) != '0);
        end else if (entry_q) begin
            next = '{epoch: epoch_i, members: members_q, own: own_q && !early, left: cnt_q};
            good = mine_q && !wanted && (own_q || !early);
        end else if (of_own && !wanted) begin
            next = '{epoch: epoch_i, members: '0, own: 1'b1, left: '0};
            good = !early;
        end
    end

    assign we = act_q && good && !fell_o;
    assign ready_to_open = we && !next.own && (tiles ? next.members == '0
                                               : next.members != '0 && next.left == '0);
    assign row_members = tiles ? tiles_i.members : next.members;

    assign sweep_last = ~(~Cfg.TokensLog2'(0) << token_shift_i);

    always_ff @(posedge clk_i) begin
        last_valid_q <= we;
        last_q <= next;
        last_index_q <= index_q;
        bad_o <= (rst_ni && act_q && !entry_q && !good && !fell_o) ? from_q : '0;
        err_o.valid <= rst_ni && act_q && entry_q && !good && !fell_o;
        err_o.code <= mine_q ? ERR_COUNT : ERR_BOUNDS;
        if (!rst_ni) fell_o <= 1'b0;
        else fell_o <= down_i || (fell_o && !go_i);
        if (!rst_ni) sweep_busy_o <= 1'b0;
        else sweep_busy_o <= sweep_busy_o ? sweep_q != sweep_last : sweep_i;
        sweep_q <= sweep_busy_o ? sweep_q + 1'b1 : '0;
    end

    // ---- rows that are ready to open ----
    logic some_ready;

    fifo_sized #(
        .Width(Cfg.Others + Cfg.TokensLog2),
        .Depth(2 ** Cfg.TokensLog2)
    ) i_ready (
        .clk_i,
        .rst_ni(rst_ni && !go_i),
        .valid_i(ready_to_open),
        .ready_o(),
        .data_i({row_members, index_q}),
        .valid_o(some_ready),
        .ready_i(row_take_i),
        .data_o({row_o.members, row_o.index}),
        .level_o()
    );
    assign row_o.valid = some_ready && !fell_o;
    // a row that became ready to open is seen two cycles later at most
    assign idle_o = !entry_i.valid && !act_q && !last_valid_q && !row_o.valid && bad_o == '0
        && !err_o.valid && !sweep_busy_o;

endmodule

`default_nettype wire
