// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Data path and clock of the expert engine: reads rows two flits per cycle, multiplies, writes.
//
// Order: rows as they come. Port 0 reads and writes the first half of a row, port 1 the second, flit by flit; of an odd number of flits
// port 0 has the one in the middle, and port 1 is left out at the end. (Even and odd flits would meet other streams at every second access:
// see gpu_mem.) Read data wait in 16 words per port that are reserved before the read; results wait in 16 words
// per port that are reserved before a pair of flits, one of each half, enters the lanes. So neither memory nor the lanes can be held up by the
// other, and two flits per cycle are sustained across rows and tiles.
// Time: a tile starts when the time of the one before is over and its last flit has entered the lanes, with data or without, and takes
// tile * expert_cycles cycles. Its first flit does not enter before. done_*: tiles, in order, whose time is over and whose results
// were all taken by the memory; up to MaxOpen tiles are started and not done.
// Back-pressure: a port's writes are held up by its memory port only.
`default_nettype none

module expert_path #(
    parameter int unsigned FlitBytes    = 8,
    parameter int unsigned MemBytesLog2 = 14,
    localparam int unsigned FW    = 8 * FlitBytes,
    localparam int unsigned AddrW = MemBytesLog2 - $clog2(FlitBytes),
    localparam int unsigned PairW = AddrW - 1
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire logic                go_i,
    /* verilator lint_off UNUSEDSIGNAL */  // a unit uses a part of the configuration
    input  wire node_pkg::node_cfg_t cfg_i,
    /* verilator lint_on UNUSEDSIGNAL */

    input  wire logic                tile_valid_i,  // a tile's rows are on their way
    output logic                     tile_start_o,  // it starts

    input  wire logic                x_valid_i,
    output logic                     x_ready_o,
    input  wire logic [PairW-1:0]    x_addr_i,

    input  wire logic                row_valid_i,
    output logic                     row_pop_o,
    input  wire logic [PairW-1:0]    row_y_i,
    input  wire logic                row_last_i,
    input  wire logic [31:0]         row_w_i,
    input  wire logic [15:0]         row_c_i,

    output logic                     rd_valid_o  [2],
    input  wire logic                rd_ready_i  [2],
    output logic [AddrW-1:0]         rd_addr_o   [2],
    input  wire logic                rd_rvalid_i [2],
    input  wire logic [FW-1:0]       rd_rdata_i  [2],

    output logic                     wr_valid_o  [2],
    input  wire logic                wr_ready_i  [2],
    output logic [AddrW-1:0]         wr_addr_o   [2],
    output logic [FW-1:0]            wr_data_o   [2],

    output logic                     done_valid_o,
    input  wire logic                done_ready_i,

    output logic                     idle_o,       // no tile in the engine; some may not be done
    output logic                     empty_o,      // and all are done
    output logic                     wait_o        // in a tile, without data or without room for results
);
    localparam int unsigned Depth = 16, PtrW = 5;
    localparam int unsigned Latency = 3;                     // of memory
    localparam int unsigned LaneLat = fp_pkg::ExpertLatency;
    localparam int unsigned OffW  = 14 - $clog2(FlitBytes);  // pairs of flits of a row
    localparam int unsigned Lanes = FlitBytes / 2;
    localparam int unsigned OpenW = 4;                       // MaxOpen = 15

    // ---- shape of a row -----------------------------------------------------------
    logic [OffW-1:0]  last_q;   // its last pair
    logic [AddrW-1:0] pairs_q;  // one half of a row is that much behind the other
    logic             odd_q;    // which is half a pair

    always_ff @(posedge clk_i) begin
        last_q  <= OffW'((cfg_i.row_bytes - 15'(FlitBytes)) >> ($clog2(FlitBytes) + 1));
        pairs_q <= AddrW'(last_q) + 1'b1;
        odd_q   <= cfg_i.row_bytes[$clog2(FlitBytes)];
    end

    // ---- reads ----------------------------------------------------------------------
    logic [AddrW-1:0] x_q [2];   // the port's first flit
    logic [1:0]       act_q, at_last, skip, adv;
    logic [OffW-1:0]  off_q [2];
    logic [PtrW-1:0]  ask_q [2], got_q [2][Latency], use_q [2];  // asked for, arrived Latency cycles later, used
    logic [1:0]       pop;
    logic [FW-1:0]    x_data [2];

    always_comb begin
        for (int unsigned p = 0; p < 2; p++) begin
            at_last[p]    = off_q[p] == last_q;
            skip[p]       = (p == 1) && odd_q && at_last[p];
            rd_valid_o[p] = act_q[p] && !skip[p] && ask_q[p] != {~use_q[p][PtrW-1], use_q[p][PtrW-2:0]};
            rd_addr_o[p]  = x_q[p] + AddrW'(off_q[p]);
        end
    end
    always_comb begin
        for (int unsigned p = 0; p < 2; p++) adv[p] = act_q[p] && (skip[p] || (rd_valid_o[p] && rd_ready_i[p]));
    end
    assign x_ready_o = (~act_q | (adv & at_last)) == '1;

    always_ff @(posedge clk_i) begin
        for (int unsigned p = 0; p < 2; p++) begin
            if (!rst_ni || go_i) begin
                act_q[p] <= 1'b0;
                ask_q[p] <= '0;
                use_q[p] <= '0;
            end else begin
                if (x_ready_o) act_q[p] <= x_valid_i;
                else if (adv[p] && at_last[p]) act_q[p] <= 1'b0;
                if (adv[p] && !skip[p]) ask_q[p] <= ask_q[p] + 1'b1;
                if (pop[p]) use_q[p] <= use_q[p] + 1'b1;
            end
            for (int unsigned l = 0; l < Latency; l++) begin
                if (!rst_ni || go_i) got_q[p][l] <= '0;
                else got_q[p][l] <= (l == 0) ? ask_q[p] : got_q[p][l-1];
            end
            if (x_ready_o) off_q[p] <= '0;
            else if (adv[p]) off_q[p] <= off_q[p] + 1'b1;
        end
        if (x_ready_o && x_valid_i) begin
            x_q[0] <= {x_addr_i, 1'b0};
            x_q[1] <= {x_addr_i, 1'b0} + pairs_q;
        end
    end

    for (genvar p = 0; p < 2; p++) begin : gen_rd
        lutram #(.Width(FW), .Depth(Depth)) i_data (
            .clk_i, .we_i(rd_rvalid_i[p]), .waddr_i(got_q[p][Latency-1][PtrW-2:0]), .wdata_i(rd_rdata_i[p]),
            .raddr_i(use_q[p][PtrW-2:0]), .rdata_o(x_data[p])
        );
    end

    // ---- a pair of flits enters the lanes ---------------------------------------------
    logic             open_q, fire, row_end, half, tile_end;
    logic [OffW-1:0]  at_q;
    logic [1:0]       have, room;
    logic [PtrW-1:0]  in_q, lanes_q [LaneLat], out, wr_q [2];  // results: reserved, computed LaneLat cycles later, taken

    assign row_end = at_q == last_q;
    assign half    = odd_q && row_end;
    always_comb begin
        for (int unsigned p = 0; p < 2; p++) begin
            have[p] = got_q[p][Latency-1] != use_q[p];
            room[p] = in_q != {~wr_q[p][PtrW-1], wr_q[p][PtrW-2:0]};
        end
    end
    assign fire      = open_q && row_valid_i && have[0] && (have[1] || half) && room == '1;
    assign pop       = {fire && !half, fire};
    assign row_pop_o = fire && row_end;
    assign tile_end  = row_pop_o && row_last_i;

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) begin
            at_q    <= '0;
            in_q    <= '0;
        end else begin
            if (fire) at_q <= row_end ? '0 : at_q + 1'b1;
            if (fire) in_q <= in_q + 1'b1;
        end
        for (int unsigned l = 0; l < LaneLat; l++) begin
            if (!rst_ni || go_i) lanes_q[l] <= '0;
            else lanes_q[l] <= (l == 0) ? in_q : lanes_q[l-1];
        end
    end

    // A result is written while the count of those that entered moves past it.
    logic          y_valid;
    logic [FW-1:0] y_data [2];
    assign out     = lanes_q[LaneLat-1];
    assign y_valid = lanes_q[LaneLat-2] != out;
    for (genvar p = 0; p < 2; p++) begin : gen_lanes
        for (genvar i = 0; i < Lanes; i++) begin : gen_lane
            expert_lane i_lane (
                .clk_i, .valid_i(pop[p]), .x_i(x_data[p][16*i +: 16]), .c_i(row_c_i), .w_i(row_w_i), .y_o(y_data[p][16*i +: 16])
            );
        end
    end

    // ---- results ------------------------------------------------------------------------
    logic [1:0]       res_write, res_last, res_pop, last_pop;
    logic [AddrW-1:0] y_first, y_second;
    assign y_first  = {row_y_i, 1'b0} + AddrW'(at_q);
    assign y_second = y_first + pairs_q;

    for (genvar p = 0; p < 2; p++) begin : gen_wr
        lutram #(.Width(AddrW + 2), .Depth(Depth)) i_addr (
            .clk_i, .we_i(fire), .waddr_i(in_q[PtrW-2:0]), .wdata_i({(p == 0) ? y_first : y_second, (p == 0) || !half, tile_end}),
            .raddr_i(wr_q[p][PtrW-2:0]), .rdata_o({wr_addr_o[p], res_write[p], res_last[p]})
        );
        lutram #(.Width(FW), .Depth(Depth)) i_data (
            .clk_i, .we_i(y_valid), .waddr_i(out[PtrW-2:0]), .wdata_i(y_data[p]),
            .raddr_i(wr_q[p][PtrW-2:0]), .rdata_o(wr_data_o[p])
        );
        assign wr_valid_o[p] = out != wr_q[p] && res_write[p];
        assign res_pop[p]    = out != wr_q[p] && (!res_write[p] || wr_ready_i[p]);
        assign last_pop[p]   = res_pop[p] && res_last[p];
        always_ff @(posedge clk_i) begin
            if (!rst_ni || go_i) wr_q[p] <= '0;
            else if (res_pop[p]) wr_q[p] <= wr_q[p] + 1'b1;
        end
    end

    // ---- time ----------------------------------------------------------------------------
    // busy_q: the tile's time runs. open_q: its flits enter the lanes.
    logic [OpenW-1:0] count_q [4];
    logic [3:0]       up;
    logic             down, open_full;
    logic             busy_q, time_end, zero_time;
    logic [15:0]      cycle_q;
    logic [7:0]       slot_q;

    assign zero_time    = cfg_i.expert_cycles == '0;
    assign time_end     = busy_q && cycle_q == cfg_i.expert_cycles && slot_q == cfg_i.tile;
    assign tile_start_o = tile_valid_i && (!busy_q || time_end) && (!open_q || tile_end) && !open_full;

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) begin
            busy_q <= 1'b0;
            open_q <= 1'b0;
        end else begin
            if (tile_start_o) busy_q <= !zero_time;
            else if (time_end) busy_q <= 1'b0;
            if (tile_start_o) open_q <= 1'b1;
            else if (tile_end) open_q <= 1'b0;
        end
        if (tile_start_o || (busy_q && cycle_q == cfg_i.expert_cycles)) cycle_q <= 16'd1;
        else if (busy_q) cycle_q <= cycle_q + 16'd1;
        if (tile_start_o) slot_q <= 8'd1;
        else if (busy_q && cycle_q == cfg_i.expert_cycles) slot_q <= slot_q + 8'd1;
    end

    // Started tiles that are not done; those whose time is over; those whose results are taken at port 0 and 1.
    assign up        = {last_pop[1], last_pop[0], zero_time ? tile_start_o : time_end, tile_start_o};
    assign down      = done_valid_o && done_ready_i;
    assign open_full = count_q[0] == '1;
    assign done_valid_o = count_q[1] != '0 && count_q[2] != '0 && count_q[3] != '0;

    always_ff @(posedge clk_i) begin
        for (int unsigned i = 0; i < 4; i++) begin
            if (!rst_ni || go_i) count_q[i] <= '0;
            else if (up[i] != down) count_q[i] <= count_q[i] + (down ? '1 : OpenW'(1));
        end
    end

    assign idle_o      = !busy_q && !open_q;
    assign empty_o     = count_q[0] == '0;
    assign wait_o      = open_q && !fire;
endmodule

`default_nettype wire
