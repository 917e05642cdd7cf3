// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Unit load has one instruction. The switch grants reported tiles in any order. The uplink takes
// LDs at any time. Rows land in any order, after the lanes of their parts. With Parts a row has two
// parts, or only the first.
`default_nettype none
`include "bundles.svh"

module prove_load #(
    localparam int unsigned N = 2,
    localparam int unsigned TokensLog2 = 2,
    localparam int unsigned Rows = 2**TokensLog2,
    parameter int unsigned  Open = 2,
    parameter int unsigned  Parts = 0,
    localparam int unsigned Syncs = 2,
    localparam int unsigned NumberW = TokensLog2 + Parts
) (
    input wire logic                  clk_i, cmd_i, sync_i, report_ready_i, grant_i, ld_ready_i,
    input wire logic                  own_ready_i, land_i, short_i,
    input wire logic [TokensLog2-1:0] a_i,
    input wire logic [TokensLog2:0]   b_i, offered_i,
    input wire logic [1:0]            tile_i,
    input wire logic [TokensLog2:0]   grant_tile_i, land_row_i // {home, index}
);
    import packet_pkg::*;
    function automatic cfg_pkg::cfg_t sizes();
        cfg_pkg::cfg_t c;
        c = cfg_pkg::usual();
        c.N = N;
        c.TokensLog2 = TokensLog2;
        c.MergeLoads = 1'b1;
        c.OpenLoads = Open;
        c.OpenSyncs = Syncs;
        c = cfg_pkg::derived(c);
        c.LoadIndexW = NumberW;
        return c;
    endfunction
    localparam cfg_pkg::cfg_t Cfg = sizes();

    node_pkg::node_cfg_t cfg;
    isa_pkg::instr_t     cmd;
    bundle_pkg::token_t  landed;
    bundle_pkg::error_t  err;
    bundle_pkg::ctl_t    ld;
    `MW_HOME_ROW(Cfg)    report;
    logic                rst_n, ready, retire, grant_ready;
    logic                own_valid, started_q, accept;
    logic [NumberW-1:0]    own_index;
    logic                  short_q; // rows have only their first part
    logic [TokensLog2:0]   first_q, end_q;

    always_comb begin
        cfg             = '0;
        cfg.port        = 5'd1;
        cfg.token_shift = 4'(TokensLog2);
        cfg.load_parts  = 3'(Parts);
        cfg.row_shift   = 4'd8;
        cfg.row_bytes   = short_q ? 15'd128 : 15'd256;
        cmd             = '0;
        cmd.op          = isa_pkg::I_LD_CAIS;
        cmd.a           = 32'(a_i);
        cmd.b           = 32'(b_i);
        cmd.imm         = sync_i ? 16'(tile_i) : '0;
        landed          = '{valid: land_i, token: node_pkg::TokenW'(land_row_i)};
    end

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    load #(.Cfg(Cfg)) i_dut (
        .clk_i, .rst_ni(rst_n), .go_i(1'b0), .cfg_i(cfg), .cmd_valid_i(cmd_i), .cmd_ready_o(ready),
        .cmd_i(cmd), .retire_o(retire), .offered_i,
        .report_o(report), .report_ready_i,
        .grant_i({grant_i, grant_tile_i}), .grant_ready_o(grant_ready),
        .ld_o(ld), .ld_ready_i,
        .own_valid_o(own_valid), .own_ready_i, .own_index_o(own_index), .landed_i(landed),
        .err_o(err)
    );
    assign accept = cmd_i && ready;

    // ---- reported tiles, open rows, rows in memory ----
    logic [2*Rows-1:0]   tiles_q;
    logic [2*Rows-1:0][Parts:0] open_q, here_q, lanes, land; // the parts of each row
    logic [Parts:0]      whole;
    logic                wrong; // a lane is outside the range, or twice in a packet
    logic [TokensLog2:0] offered_q;
    logic                report_q, own_q;
    lane_t               lane;
    logic [14:0]         row;
    logic                part;
    logic [63:0]         upper;

    assign upper = {ld.header.target0, ld.header.addr};
    assign whole = short_q ? (Parts + 1)'(1) : '1;
    always_comb begin
        land = '0;
        if (land_i) land[land_row_i] = whole;
    end
    always_comb begin
        lanes = '0;
        wrong = 1'b0;
        for (int unsigned i = 0; i < Lanes; i++) begin
            lane = upper[LaneBits*i +: LaneBits];
            if (ld.valid && ld_ready_i && lane.valid) begin
                row  = lane.index >> Parts;
                part = lane.index[0] && Parts != 0;
                wrong |= lane.home != '0 || 15'(first_q) > row || row >= 15'(end_q)
                         || lanes[(TokensLog2+1)'(row)][part];
                lanes[(TokensLog2+1)'(row)][part] = 1'b1;
            end
        end
        if (own_valid && own_ready_i)
            lanes[Rows + (32'(own_index) >> Parts)][own_index[0] && Parts != 0] = 1'b1;
    end

    always_ff @(posedge clk_i) begin
        offered_q <= rst_n ? offered_i : '0;
        short_q   <= rst_n ? short_q : short_i && Parts != 0;
        if (!rst_n) begin
            {tiles_q, open_q, here_q} <= '0;
            started_q <= 1'b0;
        end else begin
            started_q <= started_q || accept;
            tiles_q   <= (tiles_q | ((2*Rows)'(report.valid && report_ready_i)
                                     << {report.home, report.index}))
                         & ~((2*Rows)'(grant_i) << grant_tile_i);
            open_q    <= (open_q | lanes) & ~land;
            here_q    <= here_q | land;
        end
        if (accept) begin
            first_q <= (TokensLog2+1)'(a_i);
            end_q   <= (TokensLog2+1)'(a_i) + b_i;
        end
    end
    always_comb begin
        assume (!(cmd_i && started_q) && 32'(a_i) + 32'(b_i) <= Rows);
        assume (offered_i >= offered_q);
        if (sync_i) assume (tile_i != '0);
        if (grant_i) assume (tiles_q[grant_tile_i]);
        if (land_i) assume (open_q[land_row_i] == whole);
        if (!rst_n) assume (!cmd_i && !grant_i && !land_i);
    end

    logic [4:0] others;
    logic [2*Rows-1:0][Parts:0] range;
    always_comb begin
        others = '0;
        range  = '0;
        for (int unsigned r = 0; r < Rows; r++) begin
            others += 5'($countones(open_q[r]));
            if ((TokensLog2+1)'(r) >= first_q && (TokensLog2+1)'(r) < end_q)
                {range[r], range[Rows + r]} = {whole, whole};
        end
    end

    always_ff @(posedge clk_i) if (rst_n) begin
        // each row once, own ones when they are offered, at most Open at a time
        a_lane:   assert (!wrong && (lanes & (open_q | here_q)) == '0);
        a_range:  assert (lanes == '0 || (lanes & ~range) == '0);
        a_own:    assert (!own_valid || (TokensLog2+1)'(own_index >> Parts) < offered_i);
        a_window: assert (32'(others) <= Open);
        a_syncs:  assert ($countones(tiles_q) <= 32'(Syncs));
        // the instruction retires only when all rows are here
        a_retire: assert (!retire || !started_q || here_q == range);
        a_error:  assert (!err.valid);
        c_start:  cover (accept);
        c_syncs:  cover ($countones(tiles_q) == 32'(Syncs));
    end
    // With fewer open rows a packet never fills its three lanes, and its wait exceeds the bound.
    if (Open >= Lanes)
        always_ff @(posedge clk_i)
            if (rst_n) c_retire: cover (retire && started_q && here_q != '0);
endmodule

`default_nettype wire
