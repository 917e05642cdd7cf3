// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The soft CPU's access to the memories of the GPUs.
//
// Function: An access of 32 bits becomes accesses of whole flits at a host stream port. A write
// reads the flit, replaces the enabled bytes, and writes it back. Until then the port is
// claimed, so no other user writes that flit.
// Ports: The CPU holds its access until ack_o. gpu_i and the byte address are checked by the
// caller.
// Order: One access at a time.
// Back-pressure: The CPU waits for ack_o.
// Latency: The time until the other user releases the ports, and two flits.
// Errors: A read that is lost (stream_mux) returns 0, and its write is left out.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module gpu_window #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type user_t = `MW_USER(Cfg),
    parameter type heard_t = `MW_HEARD(Cfg)
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,

    input  wire logic        req_i,
    input  wire logic [3:0]  we_i,   // byte enables, 0: read
    input  wire logic [Cfg.PortW-1:0] gpu_i,
    input  wire logic [31:0] addr_i,
    input  wire logic [31:0] wdata_i,
    output logic             ack_o,  // one cycle
    output logic [31:0]      rdata_o,

    // stream_mux
    output user_t       mem_o,  // by flit address
    input  wire logic   mem_ready_i,
    input  wire heard_t mem_i
);
    localparam int unsigned Words = Cfg.FlitBytes / 4, LaneW = $clog2(Words), ByteW = Cfg.FlitLog2;

    typedef enum logic [2:0] {
        Idle,
        Read,
        Wait,
        Write,
        Done
    } state_e;
    state_e state_q;
    logic [Words-1:0][31:0] flit_q;
    logic [LaneW-1:0] lane;

    assign lane = addr_i[ByteW-1-:LaneW];
    assign mem_o.claim = state_q inside {Read, Wait, Write};
    assign mem_o.valid = state_q == Read || state_q == Write;
    assign mem_o.we = state_q == Write;
    assign mem_o.gpu = gpu_i;
    assign mem_o.addr = 32'(addr_i[31:ByteW]);
    assign mem_o.wdata = flit_q;
    assign ack_o = state_q == Done;
    assign rdata_o = flit_q[lane];

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            state_q <= Idle;
        end else begin
            unique case (state_q)
                Idle: if (req_i) state_q <= Read;
                Read: if (mem_ready_i) state_q <= Wait;
                Wait: if (mem_i.rvalid) state_q <= we_i == '0 || mem_i.lost ? Done : Write;
                Write: if (mem_ready_i) state_q <= Done;
                default: state_q <= Idle;
            endcase
        end
        if (state_q == Wait && mem_i.rvalid) begin
            flit_q <= mem_i.rdata;
            for (int unsigned b = 0; b < 4; b++) begin
                if (we_i[b]) flit_q[lane][8*b+:8] <= wdata_i[8*b+:8];
            end
        end
    end

    wire unused = &{1'b0, addr_i[1:0]};

    `MW_STABLE(req_i, ack_o, {we_i, gpu_i, addr_i, wdata_i}, "an access changes before its answer")
    `MW_CONTRACT(mem_i.rvalid, state_q == Wait, "an answer that was not requested")
endmodule

`default_nettype wire
