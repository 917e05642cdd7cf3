// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// With FlitBytes 64 packets have two flits. Nothing in the module depends on the number.
`default_nettype none

module prove_part_queue #(
    parameter int unsigned PartPkts = 2,
    parameter bit          SharedRam = 1'b0 // the RAM is here, and packets are
                                            // announced before they come
) (
    input  wire logic clk_i, come_i, watch_i, line_i, we_i, widx_i, short_i, data_i, re_i, done_i
);
    function automatic cfg_pkg::cfg_t sizes();
        cfg_pkg::cfg_t c;
        c = cfg_pkg::usual();
        c.FlitBytes = 64;
        c.PartPkts = PartPkts;
        c.PartSharedRam = SharedRam;
        return cfg_pkg::derived(c);
    endfunction
    localparam cfg_pkg::cfg_t Cfg = sizes();

    localparam int unsigned W = $clog2(PartPkts + 1);
    logic rst_n, full, has;
    logic [513:0] rdata, own;
    logic [W-1:0] coming_q;              // announced and not begun
    logic [$clog2(PartPkts):0] waddr, raddr;
    logic open_q, read_q;                // a packet is being written, being read
    logic [W-1:0] count_q, ahead_q;      // whole or in writing; ahead of the followed one
    logic start, in_q, writing_q, known_q, value_q, mine, ask_q, want_q, line_q, gone_q;

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    part_queue #(.Cfg(Cfg)) i_dut (
        .clk_i, .rst_ni(rst_n), .come_i, .we_i, .widx_i, .wdata_i({513'd0, data_i}), .full_o(full),
        .has_o(has), .re_i, .ridx_i(read_q), .done_i, .rdata_o(own),
        .waddr_o(waddr), .raddr_o(raddr)
    );
    if (SharedRam) begin : gen_host
        gated_ram #(.Width(514), .Depth(2 * PartPkts)) i_ram (
            .clk_i, .we_i, .lane_i(1'b1), .waddr_i(waddr),
            .wdata_i({513'd0, data_i}), .re_i, .raddr_i(raddr),
            .rdata_o(rdata)
        );
    end else begin : gen_own
        assign rdata = own;
    end

    assign start = we_i && !widx_i;
    // The writer starts a packet only with a credit. The second flit follows at once or never. The
    // reader stays behind the writer.
    always_ff @(posedge clk_i) begin
        open_q  <= rst_n && start && !short_i;
        count_q <= rst_n ? count_q + W'(start) - W'(done_i) : '0;
        coming_q <= rst_n ? coming_q + W'(come_i) - W'(start) : '0;
        read_q  <= rst_n && (read_q ^ (re_i && !done_i)) && !done_i;
        line_q  <= line_i;
    end
    always_comb begin
        if (!rst_n) assume (!we_i && !re_i);
        if (32'(count_q) + 32'(coming_q) == PartPkts) assume (!come_i);
        if (!SharedRam) assume (come_i == start);
        else if (coming_q == '0) assume (!start);
        assume (!we_i || widx_i == open_q);
        if (open_q) assume (we_i);
        if (!has) assume (!re_i);
        if (!re_i) assume (!done_i);
        if (read_q && re_i) assume (done_i);
        if (rst_n) assume (line_i == line_q);
    end

    // The proof follows one flit (line_i) of one packet.
    assign mine = in_q && ahead_q == '0;
    always_ff @(posedge clk_i) begin
        if (!rst_n) begin
            in_q    <= 1'b0;
            known_q <= 1'b0;
            ask_q   <= 1'b0;
            gone_q  <= 1'b0;
        end else begin
            if (start && watch_i && !in_q) begin
                in_q    <= 1'b1;
                ahead_q <= count_q - W'(done_i);
                known_q <= !line_i;
                value_q <= data_i;
            end else if (in_q) begin
                if (writing_q && we_i && widx_i && line_i) begin
                    known_q <= 1'b1;
                    value_q <= data_i;
                end
                if (done_i) begin
                    if (ahead_q == '0) in_q <= 1'b0;
                    else ahead_q <= ahead_q - 1'b1;
                end
            end
            ask_q  <= re_i && mine && known_q && read_q == line_i;
            want_q <= value_q;
            gone_q <= !re_i;
            a_has:  assert (has == (count_q != '0));
            a_full: assert (full == (32'(count_q) + 32'(coming_q) == PartPkts));
            a_data: assert (!ask_q || rdata[0] == want_q);
            a_zero: assert (!gone_q || rdata == '0);
        end
        writing_q <= start && watch_i && !in_q;
    end

    // reachable under the assumptions
    always_ff @(posedge clk_i) begin
        if (rst_n) begin
            c_full:  cover (full && has);
            c_short: cover (re_i && done_i && !read_q);
            c_whole: cover (done_i && read_q);
            c_asked: cover (ask_q && line_i);
        end
    end
    if (SharedRam) begin : gen_c_ahead
        always_ff @(posedge clk_i) if (rst_n) c_ahead: cover (coming_q == W'(PartPkts));
    end
endmodule

`default_nettype wire
