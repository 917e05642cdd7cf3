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
// Rows that are loaded (their indices, from load_first_i on, are of tiles) enter no join, and wait
// for grant queues only. With pushes_i so do all others: the GPUs push them.
// Latency: N cycles to its slot, plus the above.
`default_nettype none
`include "assert.svh"

module row_open #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter int unsigned Places = 16  // for rows in the grant queue
) (
    input  wire logic       clk_i,
    input  wire logic       rst_ni,
    input  wire logic [Cfg.PortW-1:0] port_i,  // constant: the number of this port
    input  wire logic [Cfg.PortW-1:0] turn_i,  // the port that may open a row

    // by distance, as all sets of ports here; see report_scoreboard
    input  wire logic                      ready_to_open_i,
    input  wire logic [Cfg.Others-1:0]     ready_members_i,
    input  wire logic [Cfg.TokensLog2-1:0] ready_index_i,
    output logic                           ready_take_o,

    // a row of this port is opened, with these members
    input  wire logic                 full_i,  // the join has no room for one more
    input  wire logic                 loads_i,  // rows are loaded, from this index on
    input  wire logic [14:0]          load_first_i,
    input  wire logic                 pushes_i,
    output logic                      opened_o,
    output logic                      joins_o,  // and enters the join
    output logic [Cfg.Others-1:0]     members_o,
    output logic [Cfg.TokensLog2-1:0] index_o,

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

    assign synced = Cfg.MergeLoads && ((loads_i && 15'(ready_index_i) >= load_first_i)
                                       || (Cfg.SumEntries != 0 && pushes_i));
    assign joins_o = opened_o && !(Cfg.MergeLoads && synced_q);
    assign ready_take_o = ready_to_open_i && turn_i == port_i && (!full_i || synced) && !crowded_o
        && (ready_members_i & crowded_i) == '0;

    always_ff @(posedge clk_i) begin
        opened_o <= rst_ni && ready_take_o;
        members_o <= ready_members_i;
        index_o <= ready_index_i;
        synced_q <= synced;
    end

    always_comb begin
        home = opened_o ? Cfg.GpuW'(port_i) : '0;
        index = opened_o ? index_o : '0;
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
        .push_i((opened_o || opened_i != '0) && !fell_i),
        .home_i(home),
        .index_i(index),
        .full_o(crowded_o),
        .valid_o(grant_valid_o),
        .upper_o(grant_upper_o),
        .sent_i(grant_sent_i),
        .idle_o(grants_idle_o)
    );
    assign idle_o = grants_idle_o && !opened_o;


    `MW_CONTRACT(1'b1, $onehot0({opened_o, opened_i}), "two rows in one cycle")
endmodule

`default_nettype wire
