// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The soft CPU's way to the GPUs' memories: single accesses of 32 bits become accesses of whole flits at a host stream port. A write reads the flit,
// puts the enabled bytes into it and writes it back; nobody else may write that flit in between (the port is claimed until the write was taken).
//
// One access at a time: held until ack_o. Addresses: gpu_i and byte address in its memory; the caller checks both. Worst case: what the other user of the
// ports needs to let go, and two flits. A read that is lost (stream_mux) reads as 0, and nothing is written then.
`default_nettype none

module gpu_window #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,

    input  wire logic        req_i,
    input  wire logic [3:0]  we_i,  // byte enables, 0: read
    input  wire logic [4:0]  gpu_i,
    input  wire logic [31:0] addr_i,
    input  wire logic [31:0] wdata_i,
    output logic             ack_o, // one cycle
    output logic [31:0]      rdata_o,

    // stream_mux
    output logic                      claim_o,
    output logic                      valid_o,
    input  wire logic                 ready_i,
    output logic                      we_o,
    output logic [4:0]                gpu_o,
    output logic [31:0]               addr_o, // flit address
    output logic [Cfg.FlitW-1:0]      wdata_o,
    input  wire logic                 rvalid_i,
    input  wire logic                 lost_i,
    input  wire logic [Cfg.FlitW-1:0] rdata_i
);
    localparam int unsigned Words = Cfg.FlitBytes / 4, LaneW = $clog2(Words), ByteW = Cfg.FlitLog2;

    typedef enum logic [2:0] {IDLE, READ, WAIT, WRITE, DONE} state_e;
    state_e                 state_q;
    logic [Words-1:0][31:0] flit_q;
    logic [LaneW-1:0]       lane;

    assign lane    = addr_i[ByteW-1 -: LaneW];
    assign claim_o = state_q inside {READ, WAIT, WRITE};
    assign valid_o = state_q == READ || state_q == WRITE;
    assign we_o    = state_q == WRITE;
    assign gpu_o   = gpu_i;
    assign addr_o  = 32'(addr_i[31:ByteW]);
    assign wdata_o = flit_q;
    assign ack_o   = state_q == DONE;
    assign rdata_o = flit_q[lane];

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            state_q <= IDLE;
        end else begin
            unique case (state_q)
                IDLE: if (req_i) state_q <= READ;
                READ: if (ready_i) state_q <= WAIT;
                WAIT: if (rvalid_i) state_q <= we_i == '0 || lost_i ? DONE : WRITE;
                WRITE: if (ready_i) state_q <= DONE;
                default: state_q <= IDLE;
            endcase
        end
        if (state_q == WAIT && rvalid_i) begin
            flit_q <= rdata_i;
            for (int unsigned b = 0; b < 4; b++) begin
                if (we_i[b]) flit_q[lane][8*b +: 8] <= wdata_i[8*b +: 8];
            end
        end
    end

    wire unused = &{1'b0, addr_i[1:0]};
endmodule

`default_nettype wire
