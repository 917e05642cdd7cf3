// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The row before which the rows of st of each GPU are in memory, as reported by FLAG packets that
// follow the rows.
//
// Ports: ev_i.notified: the rows of ev_i.src before row ev_i.row are in memory. rows_o[u] is what
// is known of src_i[u]: the total, and the row before which they are in memory. go_i clears all
// reports. Without RowRanges nothing is stored.
// Back-pressure: None.
// Latency: A report takes effect in the next cycle, one cycle before its event counter counts.
`default_nettype none

module notified_rows #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    localparam int unsigned Users = 2
) (
    input  wire logic                      clk_i,
    input  wire logic                      rst_ni,
    input  wire logic                      go_i,
    input  wire bundle_pkg::event_t        ev_i,
    input  wire logic [Cfg.GpuW-1:0]       src_i [Users],
    input  wire logic [node_pkg::RowW-1:0] src_rows_i [Users],  // of copy_bases
    output bundle_pkg::src_rows_t          rows_o [Users]
);
    localparam int unsigned RowW = Cfg.TokW + 1;  // a row behind the last one, too

    if (Cfg.RowRanges) begin : gen_notified
        logic tell;
        logic [Cfg.N-1:0] notified_q;

        assign tell = ev_i.valid && ev_i.notified;

        always_ff @(posedge clk_i) begin
            if (!rst_ni || go_i) notified_q <= '0;
            else if (tell) notified_q[ev_i.src[Cfg.GpuW-1:0]] <= 1'b1;
        end

        for (genvar u = 0; u < Users; u++) begin : gen_user
            logic [RowW-1:0] row;

            lutram #(
                .Width(RowW),
                .Depth(Cfg.N)
            ) i_row (
                .clk_i,
                .we_i(tell),
                .waddr_i(ev_i.src[Cfg.GpuW-1:0]),
                .wdata_i(ev_i.row[RowW-1:0]),
                .raddr_i(src_i[u]),
                .rdata_o(row)
            );
            assign rows_o[u] = '{
                    rows: src_rows_i[u],
                    notified: notified_q[src_i[u]],
                    row: node_pkg::RowW'(row)
                };
        end
    end else begin : gen_none
        for (genvar u = 0; u < Users; u++) begin : gen_user
            assign rows_o[u] = '{rows: src_rows_i[u], notified: 1'b0, row: '0};
        end
    end
endmodule

`default_nettype wire
