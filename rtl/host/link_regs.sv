// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Executes REG_READ and REG_WRITE.
//
// Function: It reads the words {value, address} of the mailbox, and makes a bus access of each.
// A read writes {value, address} into the reply buffer.
// Ports: start_i comes with write_i and words_i (0 .. 64). done_o is a pulse. count_o is the
// number of accesses that succeeded.
// Order: One access at a time, in the order of the words.
// Back-pressure: Each access waits for its bus slave.
// Latency: About 10 cycles per register.
// Errors: It stops at the first access that fails (failed_o).
`default_nettype none
`include "assert.svh"

module link_regs (
    input  wire logic clk_i,
    input  wire logic rst_ni,

    input  wire logic       start_i,
    input  wire logic       write_i,
    input  wire logic [6:0] words_i,
    output logic            done_o,
    output logic [6:0]      count_o,
    output logic            failed_o,

    output logic             cmd_re_o,
    output logic [5:0]       cmd_raddr_o,
    input  wire logic [63:0] cmd_rdata_i,
    output logic             rep_we_o,
    output logic [5:0]       rep_waddr_o,
    output logic [63:0]      rep_wdata_o,

    output bundle_pkg::bus_req_t      bus_o,
    input  wire bundle_pkg::bus_rsp_t bus_i
);
    typedef enum logic [2:0] {
        Idle,
        Fetch,
        Access,
        Next,
        Done
    } state_e;
    state_e state_q;
    logic write_q;
    logic [6:0] words_q;

    assign cmd_re_o = state_q == Fetch;
    assign cmd_raddr_o = count_o[5:0];
    assign bus_o.req = state_q == Access;
    assign bus_o.we = write_q;
    assign bus_o.addr = cmd_rdata_i[31:0];
    assign bus_o.wdata = cmd_rdata_i[63:32];
    assign rep_we_o = state_q == Access && bus_i.ack && !write_q;
    assign rep_waddr_o = count_o[5:0];
    assign rep_wdata_o = {bus_i.rdata, cmd_rdata_i[31:0]};
    assign done_o = state_q == Done;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            state_q <= Idle;
        end else begin
            unique case (state_q)
                Idle: if (start_i) state_q <= words_i == '0 ? Done : Fetch;
                Fetch: state_q <= Access;
                Access: if (bus_i.ack) state_q <= bus_i.err ? Done : Next;
                Next: state_q <= count_o == words_q ? Done : Fetch;
                default: state_q <= Idle;
            endcase
        end
        if (state_q == Idle) begin
            write_q <= write_i;
            words_q <= words_i;
            count_o <= '0;
            failed_o <= 1'b0;
        end else if (state_q == Access && bus_i.ack) begin
            failed_o <= bus_i.err;
            if (!bus_i.err) count_o <= count_o + 7'd1;
        end
    end

    `MW_STABLE(bus_o.req, bus_i.ack, {bus_o.we, bus_o.addr, bus_o.wdata},
               "an access changes before its answer")
    `MW_CONTRACT(start_i, state_q == Idle, "accesses begin before those before have ended")
    `MW_CONTRACT(1'b1, count_o <= words_q || state_q == Idle, "more accesses than words")
endmodule

`default_nettype wire
