// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Finished rows of the expert engine: those that return to another GPU go to row_build, as items of unit push, one at a
// time; of all others the token is told to unit control (sig_o).
//
// Order: as the engine names them. Back-pressure: ready_o; a row that returns waits for the item before it, which waits
// for a place among the rows of push (as many as open_rows).
`default_nettype none

module row_return #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire node_pkg::node_cfg_t cfg_i,

    input  wire bundle_pkg::finished_t row_i,
    output logic                       ready_o,
    output bundle_pkg::token_t         sig_o,
    input  wire logic                  sig_ready_i,

    output logic                      item_valid_o,
    output logic [Cfg.GpuW-1:0]       item_home_o,
    output logic [Cfg.LineW-1:0]      item_row_o,   // of all experts' rows
    output logic [Cfg.TokensLog2-1:0] item_token_o, // at home
    output logic [3:0]                item_pos_o,
    input  wire logic                 item_done_i
);
    if (Cfg.RowSparse) begin : gen_returns
        logic [Cfg.GpuW-1:0] home;
        logic                back, valid_q;

        if (Cfg.RowsLog2 > Cfg.LineW) begin : gen_check
            $error("row_return: memory holds fewer rows than RowsLog2 says");
        end

        assign home         = Cfg.GpuW'(row_i.token[Cfg.TokW-1:0] >> cfg_i.token_shift);
        assign back         = row_i.back && home != cfg_i.port[Cfg.GpuW-1:0];
        assign sig_o.valid  = row_i.valid && !back;
        assign ready_o      = back ? !valid_q : sig_ready_i;
        assign item_valid_o = valid_q;

        always_ff @(posedge clk_i) begin
            if (!rst_ni) valid_q <= 1'b0;
            else         valid_q <= valid_q ? !item_done_i : row_i.valid && back;
            if (!valid_q) begin
                item_home_o  <= home;
                item_row_o   <= Cfg.LineW'(row_i.le) << cfg_i.cap_shift | Cfg.LineW'(row_i.row);
                item_token_o <= Cfg.TokensLog2'(row_i.token) & ~(~Cfg.TokensLog2'(0) << cfg_i.token_shift);
                item_pos_o   <= row_i.pos;
            end
        end
    end else begin : gen_signals
        assign sig_o.valid = row_i.valid;
        assign ready_o     = sig_ready_i;
        assign {item_valid_o, item_home_o, item_row_o, item_token_o, item_pos_o} = '0;
        wire unused_item = &{1'b0, clk_i, rst_ni, item_done_i};
    end

    assign sig_o.token = row_i.token;

    wire unused = &{1'b0, cfg_i, row_i};
endmodule

`default_nettype wire
