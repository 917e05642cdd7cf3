// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Bench for small parts of a switch port's queues and loads, side by side, each with its own ports.
`default_nettype none

module queue_parts #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,

    // load_counts
    input  wire logic        loads_clear_i,
    input  wire logic [4:0]  loads_events_i,  // load, fetch, bypass, evict, kept
    input  wire logic [8:0]  loads_used_i,
    input  wire logic        loads_free_i,
    input  wire logic [15:0] loads_spread_i,
    input  wire logic [3:0]  loads_idx_i,
    output logic [31:0]      loads_count_o,

    // load_window
    input  wire logic                 window_go_i,
    input  wire logic [1:0]           window_open_i,
    input  wire logic [Cfg.Others-1:0] window_answered_i,
    input  wire logic [Cfg.Others-1:0] window_bad_i,
    output logic [Cfg.OpenLoadW-1:0]  window_room_o,
    output logic [15:0]               window_loads_o,  // constant: its size

    // request_turn
    input  wire logic        turn_grant_i,
    input  wire logic [63:0] turn_grant_upper_i,
    output logic             turn_grant_sent_o,
    input  wire logic        turn_fetch_i,
    input  wire logic [63:0] turn_fetch_upper_i,
    output logic             turn_fetch_sent_o,
    output logic             turn_valid_o,
    output logic             turn_fetch_o,
    output logic [63:0]      turn_upper_o,
    input  wire logic        turn_sent_i,

    // read_turns
    input  wire logic [Cfg.Others-1:0] claim_want_i,
    input  wire logic [Cfg.Others-1:0] claim_read_i,
    input  wire logic [Cfg.Others-1:0] claim_done_i,
    output logic [Cfg.Others-1:0]      claim_may_o,
    input  wire logic                  claim_open_i,
    input  wire logic [Cfg.Others-1:0] claim_able_i,
    input  wire logic [Cfg.Others-1:0] claim_pop_i,
    input  wire logic [Cfg.Others-1:0] claim_reads_i,
    output logic [Cfg.Others-1:0]      claimed_o,

    // gated_ram, of four lanes
    input  wire logic        ram_we_i,
    input  wire logic [3:0]  ram_lane_i,
    input  wire logic [2:0]  ram_waddr_i,
    input  wire logic [17:0] ram_wdata_i,
    input  wire logic        ram_re_i,
    input  wire logic [2:0]  ram_raddr_i,
    output logic [17:0]      ram_rdata_o
);
    load_counts i_loads (
        .clk_i, .clear_i(loads_clear_i), .load_i(loads_events_i[0]), .fetch_i(loads_events_i[1]),
        .bypass_i(loads_events_i[2]), .evict_i(loads_events_i[3]), .kept_i(loads_events_i[4]),
        .used_i(loads_used_i), .free_i(loads_free_i), .spread_i(loads_spread_i),
        .idx_i(loads_idx_i), .count_o(loads_count_o)
    );

    load_window #(.Cfg(Cfg)) i_window (
        .clk_i, .rst_ni, .go_i(window_go_i), .open_i(window_open_i),
        .answered_i(window_answered_i), .bad_i(window_bad_i), .room_o(window_room_o)
    );
    assign window_loads_o = 16'(Cfg.OpenLoads);

    request_turn i_turn (
        .clk_i, .rst_ni, .grant_valid_i(turn_grant_i), .grant_upper_i(turn_grant_upper_i),
        .grant_sent_o(turn_grant_sent_o), .fetch_valid_i(turn_fetch_i),
        .fetch_upper_i(turn_fetch_upper_i), .fetch_sent_o(turn_fetch_sent_o),
        .valid_o(turn_valid_o), .fetch_o(turn_fetch_o), .upper_o(turn_upper_o),
        .sent_i(turn_sent_i)
    );

    read_turns #(.Cfg(Cfg)) i_claims (
        .clk_i, .rst_ni, .want_i(claim_want_i), .read_i(claim_read_i), .done_i(claim_done_i),
        .may_o(claim_may_o), .open_i(claim_open_i), .able_i(claim_able_i), .pop_i(claim_pop_i),
        .reads_i(claim_reads_i), .claimed_o
    );

    gated_ram #(.Width(18), .Depth(8), .LaneW(4)) i_ram (
        .clk_i, .we_i(ram_we_i), .lane_i(ram_lane_i), .waddr_i(ram_waddr_i),
        .wdata_i(ram_wdata_i), .re_i(ram_re_i), .raddr_i(ram_raddr_i), .rdata_o(ram_rdata_o)
    );
endmodule

`default_nettype wire
