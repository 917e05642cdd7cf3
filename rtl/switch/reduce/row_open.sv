// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Opens the rows of one port that are ready to open, one per slot.
//
// Function: One cycle later the row enters the port's join and the grant queue of every member and
// of the port itself. The grant queue of this port is inside.
// Order: Rows are opened in the order in which they became ready, and enter the join and each grant
// queue in this order. One port opens a row per cycle, so a grant queue gets at most one row per
// cycle.
// Back-pressure: A row waits while the join has no room (full_i), and while a grant queue that it
// would enter is full (crowded). Neither waits for a row that is not open. A port that has been
// down since the last go (fell_i) gets no grants.
// Rows that are loaded (their indices, from load_first on, are of tiles) enter no join, and wait
// for grant queues only. With push_sync so do all others: the GPUs push them.
// Latency: N cycles to its slot, plus the above.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module row_open #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type common_t = `MW_COMMON(Cfg),
    parameter type opened_t = `MW_OPENED(Cfg),
    parameter int unsigned Places = 16  // for rows in the grant queue
) (
    input  wire logic       clk_i,
    input  wire logic       rst_ni,
    input  wire logic [Cfg.PortW-1:0] port_i,  // constant: the number of this port
    input  wire common_t    common_i,

    // by distance, as all sets of ports here; see report_scoreboard
    input  wire opened_t    row_i,
    output logic            row_take_o,

    // a row of this port is opened
    input  wire logic       full_i,  // the join has no room for one more
    output opened_t         opened_o,
    output logic            joins_o,  // and enters the join

    // a port opens a row of which this one is a member
    input  wire logic [Cfg.Others-1:0]     opened_i,
    input  wire logic [Cfg.TokensLog2-1:0] opened_index_i [Cfg.Others],

    // grants: the queue here has no room, others have none
    input  wire logic                  fell_i,
    output logic                       crowded_o,
    input  wire logic [Cfg.Others-1:0] crowded_i,
    output logic                       grant_valid_o,  // see grant_queue
    output logic [63:0]                grant_upper_o,
    input  wire logic                  grant_sent_i,
    output logic                       grants_idle_o,

    output logic idle_o  // but for rows that are ready to open
);
    logic [Cfg.GpuW-1:0] home;
    logic [Cfg.TokensLog2-1:0] index;

    logic synced, synced_q;

    assign synced = Cfg.MergeLoads
                    && ((common_i.merge_loads && 15'(row_i.index) >= common_i.load_first)
                        || (Cfg.SumEntries != 0 && common_i.push_sync));
    assign joins_o = opened_o.valid && !(Cfg.MergeLoads && synced_q);
    assign row_take_o = row_i.valid && common_i.turn == port_i && (!full_i || synced) && !crowded_o
        && (row_i.members & crowded_i) == '0;

    always_ff @(posedge clk_i) begin
        opened_o.valid <= rst_ni && row_take_o;
        opened_o.members <= row_i.members;
        opened_o.index <= row_i.index;
        synced_q <= synced;
    end

    always_comb begin
        home = opened_o.valid ? Cfg.GpuW'(port_i) : '0;
        index = opened_o.valid ? opened_o.index : '0;
        for (int unsigned d = 0; d < Cfg.Others; d++) begin
            if (opened_i[d]) begin
                home |= Cfg.GpuW'((32'(port_i) + d + 1) % Cfg.N);
                index |= opened_index_i[d];
            end
        end
    end

    grant_queue #(
        .Cfg(Cfg),
        .Places(Places)
    ) i_grants (
        .clk_i,
        .rst_ni,
        .push_i((opened_o.valid || opened_i != '0) && !fell_i),
        .home_i(home),
        .index_i(index),
        .full_o(crowded_o),
        .valid_o(grant_valid_o),
        .upper_o(grant_upper_o),
        .sent_i(grant_sent_i),
        .idle_o(grants_idle_o)
    );
    assign idle_o = grants_idle_o && !opened_o.valid;


    `MW_CONTRACT(1'b1, $onehot0({opened_o.valid, opened_i}), "two rows in one cycle")
endmodule

`default_nettype wire
