// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Rows of one term that go elsewhere are not summed: unit send copies them, as an st.linear from the term to the
// destination.
//
// Order: as they are set up. No back-pressure: row_build has one on its way that has not begun (copy_valid_o and
// copy_ready_i), and asks for no other before. It is offered when the copy before has ended.
// Worst case: as long as unit send has other instructions.
`default_nettype none

module serve_copy #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire node_pkg::node_cfg_t cfg_i,

    input  wire logic                 from_i, // addr_i is that of the term
    input  wire logic                 push_i, // addr_i is that of the destination, at GPU dst_i: the copy is complete
    input  wire logic [Cfg.AddrW-1:0] addr_i,
    input  wire logic [Cfg.GpuW-1:0]  dst_i,

    output logic            copy_valid_o,
    input  wire logic       copy_ready_i,
    output isa_pkg::instr_t copy_o,
    output logic            copy_busy_o, // it runs
    input  wire logic       copy_retire_i
);

    logic                 copy_q;
    logic [Cfg.AddrW-1:0] from_q, to_q;
    logic [Cfg.GpuW-1:0]  dst_q;

    assign copy_valid_o = copy_q && !copy_busy_o;

    always_comb begin
        copy_o     = '0;
        copy_o.op  = isa_pkg::I_ST_LINEAR;
        copy_o.imm = 16'(dst_q);
        copy_o.b   = 32'(cfg_i.row_bytes);
        {copy_o.a_high, copy_o.a} = node_pkg::byte_t'(from_q) << Cfg.FlitLog2;
        {copy_o.c_high, copy_o.c} = node_pkg::byte_t'(to_q) << Cfg.FlitLog2;
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            copy_q      <= 1'b0;
            copy_busy_o <= 1'b0;
        end else begin
            if (push_i)                            copy_q <= 1'b1;
            else if (copy_valid_o && copy_ready_i) copy_q <= 1'b0;
            if (copy_valid_o && copy_ready_i) copy_busy_o <= 1'b1;
            else if (copy_retire_i)           copy_busy_o <= 1'b0;
        end
        if (from_i) from_q <= addr_i;
        if (push_i) begin
            to_q  <= addr_i;
            dst_q <= dst_i;
        end
    end

    wire unused = &{1'b0, cfg_i};
endmodule

`default_nettype wire
