// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Replaces rtl/hub/send/dispatch_throttle.sv. Its outputs are free choices in every cycle
// (throttle_i of the proof). The properties of tx thus hold for any throttle.
`default_nettype none
`include "bundles.svh"

module dispatch_throttle #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter int unsigned Packets = 16
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire logic                go_i,
    input  wire node_pkg::node_cfg_t cfg_i,
    input  wire `MW_SHARE(Cfg)       share_i,

    input  wire logic       in_valid_i,
    input  wire logic       in_last_i,
    input  wire logic [5:0] in_opcode_i,
    input  wire logic       out_i,

    input  wire logic start_store_i,
    input  wire logic start_part_i,
    input  wire logic used_i,

    output logic throttled_o,
    output logic first_o,
    output logic hold_o
);
    assign {throttled_o, first_o, hold_o} = share_i.tokens[2:0];

    wire unused = &{1'b0, clk_i, rst_ni, go_i, cfg_i, share_i, in_valid_i, in_last_i, in_opcode_i,
                    out_i, start_store_i, start_part_i, used_i};
endmodule

`default_nettype wire
