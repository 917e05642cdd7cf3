// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Mailbox between host link and firmware.
//
// Function: One buffer of 64 words of 8 bytes for the payload of a command, and one for its
// reply. The host link writes a payload (cmd_w*). It reads that itself (cmd_r*), or passes it to
// the firmware with the command (give_i).
// Ports: While valid_o is high the buffers belong to the firmware, in words of 4 bytes. send_i
// ends that. reply_valid_o then stays high until the host link has read the payload (rep_r*) and
// raises taken_i. Without valid_o the host link may also write the reply buffer (rep_w*).
// Order: One command at a time, and exactly one reply to each.
// Back-pressure: A command waits for the firmware for any time (soc_csr has the watchdog).
// Latency: A read returns its word one cycle later.
// Errors: A restart of the CPU (restart_i) answers a pending command with status FAULT. While
// the CPU is held (restart_i and held_i), a command is answered with STATE at once.
`default_nettype none
`include "assert.svh"

module mailbox
    import soc_pkg::*;
(
    input  wire logic clk_i,
    input  wire logic rst_ni,

    // host link
    input  wire bundle_pkg::mail_t cmd_i,
    output logic [63:0]            cmd_rdata_o,
    input  wire logic              give_i,
    input  wire message_t          command_i,
    input  wire bundle_pkg::mail_t rep_i,
    output logic [63:0]            rep_rdata_o,
    output logic                   reply_valid_o,
    output message_t               reply_o,
    input  wire logic              taken_i,

    // firmware
    output logic          valid_o,
    output message_t      command_o,
    input  wire words_t   words_i,
    output logic [31:0]   rdata_o,
    input  wire logic     send_i,
    input  wire message_t reply_i,
    input  wire logic     restart_i,
    input  wire logic     held_i
);
    logic half_q;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            valid_o <= 1'b0;
            reply_valid_o <= 1'b0;
        end else begin
            if (give_i) valid_o <= 1'b1;
            else if (send_i || restart_i) valid_o <= 1'b0;
            if (valid_o && (send_i || restart_i)) reply_valid_o <= 1'b1;
            else if (taken_i) reply_valid_o <= 1'b0;
        end
        if (give_i) command_o <= command_i;
        if (valid_o && restart_i)
            reply_o <= '{
                kind: held_i ? host_pkg::STATUS_STATE : host_pkg::STATUS_FAULT,
                default: '0
            };
        else if (valid_o && send_i) reply_o <= reply_i;
        half_q <= words_i.raddr[0];
    end

    ram_sdp #(
        .Width(64),
        .Depth(64)
    ) i_command (
        .clk_i,
        .we_i(cmd_i.we),
        .waddr_i(cmd_i.waddr),
        .wdata_i(cmd_i.wdata),
        .wbe_i('1),
        .re_i(cmd_i.re || words_i.re),
        .raddr_i(valid_o ? words_i.raddr[6:1] : cmd_i.raddr),
        .rdata_o(cmd_rdata_o)
    );

    assign rdata_o = half_q ? cmd_rdata_o[63:32] : cmd_rdata_o[31:0];

    ram_sdp #(
        .Width(64),
        .Depth(64),
        .ByteEn(1)
    ) i_reply (
        .clk_i,
        .we_i(valid_o ? words_i.we : rep_i.we),
        .waddr_i(valid_o ? words_i.waddr[6:1] : rep_i.waddr),
        .wdata_i(valid_o ? {2{words_i.wdata}} : rep_i.wdata),
        .wbe_i(!valid_o ? 8'hff : words_i.waddr[0] ? 8'hf0 : 8'h0f),
        .re_i(rep_i.re),
        .raddr_i(rep_i.raddr),
        .rdata_o(rep_rdata_o)
    );

    `MW_CONTRACT(give_i, !valid_o && !reply_valid_o,
                 "a command comes before the reply to the last one was taken")
endmodule

`default_nettype wire
