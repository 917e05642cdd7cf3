// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Moves words of 8 bytes between the host link and the memory of a GPU, in flits.
//
// Function: start_i with write_i begins a write, and words follow until the next start. start_i
// without write_i begins a read of words_i words. Addresses are not checked here.
// Ports: busy_o: words of a read are still to come, or a flit waits for its port.
// Order: Ascending addresses.
// Back-pressure: At most Depth flits of a read are under way, so each answer has a place. A
// write waits for its port (in_ready_o).
// Latency: One word per cycle is sustained in both directions.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module link_dma #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type user_t = `MW_USER(Cfg),
    parameter type heard_t = `MW_HEARD(Cfg)
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,

    input  wire logic        start_i,
    input  wire logic        write_i,
    input  wire logic [Cfg.PortW-1:0] gpu_i,
    input  wire logic [31:0] addr_i,
    input  wire logic [13:0] words_i,
    output logic             busy_o,

    input  wire logic        in_valid_i,
    output logic             in_ready_o,
    input  wire logic [63:0] in_data_i,
    output logic             out_valid_o,
    input  wire logic        out_ready_i,
    output logic [63:0]      out_data_o,

    // stream_mux
    output user_t       mem_o,  // by flit address
    input  wire logic   mem_ready_i,
    input  wire heard_t mem_i
);
    localparam int unsigned Words = Cfg.FlitBytes / 8, Depth = 16, LevelW = $clog2(Depth + 1);

    logic write_q, flit_valid_q, push, pop, fifo_valid, fifo_room;
    logic [31:0] addr_q;
    logic [Cfg.PortW-1:0] gpu_q;
    logic [13:0] ask_q;  // flits of a read not requested
    logic [13:0] left_q;  // words of a read not handed on
    logic [LevelW-1:0] out_q;  // flits requested and not handed on
    logic [Cfg.FlitW-1:0] flit_q, fifo_data;
    logic half_q;  // which word of a flit of 16 bytes

    assign mem_o.we = write_q;
    assign mem_o.gpu = gpu_q;
    assign mem_o.addr = addr_q;
    assign mem_o.wdata = flit_q;
    assign mem_o.valid = write_q ? flit_valid_q : ask_q != '0 && out_q != LevelW'(Depth);
    assign mem_o.claim = write_q ? flit_valid_q : left_q != '0;
    assign busy_o = write_q ? flit_valid_q : left_q != '0;
    assign push = mem_i.rvalid;

    // ---- writes: words gather to a flit ----
    assign in_ready_o = !flit_valid_q || mem_ready_i;

    always_ff @(posedge clk_i) begin
        if (!rst_ni || start_i) begin
            flit_valid_q <= 1'b0;
        end else if (in_ready_o) begin
            flit_valid_q <= write_q && in_valid_i && (Words == 1 || half_q);
        end
        if (in_ready_o && in_valid_i) flit_q <= Cfg.FlitW'({in_data_i, flit_q} >> 64);
    end

    // ---- reads ----
    fifo #(
        .Width(Cfg.FlitW),
        .Depth(Depth)
    ) i_fifo (
        .clk_i,
        .rst_ni,
        .valid_i(push),
        .ready_o(fifo_room),
        .data_i(mem_i.rdata),
        .valid_o(fifo_valid),
        .ready_i(pop),
        .data_o(fifo_data),
        .level_o()
    );

    assign out_valid_o = fifo_valid;
    assign out_data_o = Words == 1 || !half_q ? fifo_data[63:0] : fifo_data[Cfg.FlitW-1-:64];
    assign pop = out_ready_i && (Words == 1 || half_q);

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            write_q <= 1'b0;
            ask_q <= '0;
            left_q <= '0;
            out_q <= '0;
            half_q <= 1'b0;
        end else if (start_i) begin
            write_q <= write_i;
            ask_q <= write_i ? '0 : words_i / 14'(Words);
            left_q <= write_i ? '0 : words_i;
            half_q <= 1'b0;
        end else begin
            if (!write_q && mem_o.valid && mem_ready_i) ask_q <= ask_q - 14'd1;
            if (out_valid_o && out_ready_i) left_q <= left_q - 14'd1;
            if (write_q ? in_valid_i && in_ready_o : out_valid_o && out_ready_i)
                half_q <= Words != 1 && !half_q;
            out_q <= out_q + LevelW'(!write_q && mem_o.valid && mem_ready_i)
                     - LevelW'(fifo_valid && pop);
        end
        if (start_i) begin
            addr_q <= addr_i;
            gpu_q <= gpu_i;
        end else if (mem_o.valid && mem_ready_i) begin
            addr_q <= addr_q + 32'd1;
        end
    end

    wire unused = &{1'b0, mem_i.lost, fifo_room};

    `MW_CONTRACT(push, fifo_room, "an answer without a place")
    `MW_CONTRACT(start_i, !busy_o, "a transfer begins inside a transfer")
    `MW_CONTRACT(1'b1, out_q <= LevelW'(Depth), "more flits on their way than places")
endmodule

`default_nettype wire
