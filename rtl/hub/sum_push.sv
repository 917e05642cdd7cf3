// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Unit push: sum.st. Names the rows whose sums this GPU owes to other homes, for reduce_serve and row_sum to make and store there.
//
// Received rows lie source by source, each source's in the order of its tokens. An instruction takes the rows of tokens below a + b from where the one before
// it stopped (cleared by go_i), a row of each source in turn, p + 1 first: so a range of tokens ends at all homes at about the same time, and what leaves at
// any time is spread over all homes' links (whole ranges home by home, two GPUs that met at one would stay together to the end). Where a source's
// rows begin is known from the copy counts: src_rows_i of source src_o.
//
// Of a row's meta entry it reads the token and the flits with expert IDs, an entry ahead of the one it works on; all own experts are counted, then
// a packet goes out in the format of combine's rows (see reduce_serve): {dst = home, len = token there, addr = row, positions of the own experts}.
// An expert that is not mapped or lives elsewhere is passed over: the sender has checked the list. A row with one own expert needs no sum: unit send
// copies it (st.linear), and leaves the adder to the others.
// At most open_rows rows and one copy are outstanding. Retires when the last one has left for the uplink. Worst case: a row takes 3 k cycles, or k and
// 12 + row_shift, and the wait for its turn.
`default_nettype none

module sum_push #(
    parameter int unsigned N          = 4,
    parameter int unsigned FlitBytes  = 8,
    parameter int unsigned AddrW      = 11,  // of a flit
    parameter int unsigned OpenRows   = 8,
    parameter int unsigned TokensLog2 = 12,  // of a GPU's tokens, at most
    parameter int unsigned MaxExperts = 64,
    localparam int unsigned FW   = 8 * FlitBytes,
    localparam int unsigned GpuW = (N > 1) ? $clog2(N) : 1,
    localparam int unsigned RowW = node_pkg::RowW
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire logic                go_i,
    input  wire node_pkg::node_cfg_t cfg_i,         // port is constant from reset on: the expert map is judged by it when written

    input  wire logic                emap_we_i,
    input  wire logic [11:0]         emap_addr_i,
    input  wire node_pkg::emap_t     emap_data_i,

    input  wire logic                cmd_valid_i,
    output logic                     cmd_ready_o,
    input  wire isa_pkg::instr_t     cmd_i,
    output logic                     retire_o,

    output logic [GpuW-1:0]          src_o,
    input  wire logic [RowW-1:0]     src_rows_i,    // rows received from it
    input  wire logic [RowW-1:0]     own_base_i,    // first row of the own copies

    output logic                     rd_valid_o,
    input  wire logic                rd_ready_i,
    output logic [AddrW-1:0]         rd_addr_o,
    input  wire logic                rd_rvalid_i,
    input  wire logic [FW-1:0]       rd_rdata_i,

    output logic                     row_valid_o,
    input  wire logic                row_ready_i,
    output logic                     row_last_o,
    output logic [FW-1:0]            row_data_o,
    input  wire logic                row_done_i,    // the last flit of a row has left

    output logic                     copy_valid_o,  // an instruction for unit send
    input  wire logic                copy_ready_i,
    output isa_pkg::instr_t          copy_o,
    output logic                     copy_busy_o,   // it runs
    input  wire logic                copy_retire_i
);
    import packet_pkg::*;

    localparam int unsigned LogF    = $clog2(FlitBytes);
    localparam int unsigned HF      = 16 / FlitBytes;
    localparam int unsigned PerFlit = FlitBytes / 2;
    localparam int unsigned LaneW   = $clog2(PerFlit);
    localparam int unsigned EntryW  = 6 - LogF;             // flits kept of an entry
    localparam int unsigned HalfW   = EntryW + LaneW;       // halfwords kept of an entry
    localparam int unsigned EntryFlitsW = 7 - LogF;         // flits of a whole entry (128 bytes)
    localparam int unsigned ExpIdxW = $clog2(MaxExperts);
    localparam int unsigned OutW    = $clog2(OpenRows + 1);
    localparam int unsigned LineW   = AddrW - EntryFlitsW;  // a row's number: memory holds no more entries

    function automatic logic [GpuW-1:0] next_gpu(input logic [GpuW-1:0] g);
        return (g == GpuW'(N - 1)) ? '0 : g + 1'b1;
    endfunction

    // ---- entries, read ahead ------------------------------------------------------
    typedef enum logic [2:0] {Idle, Prepare, Bounds, Source, Row, Read, Drain} state_e;
    state_e state_q;

    logic                   take, stop, stop_q, asked_q, got_last, source_end, drained;
    logic [GpuW-1:0]        src_q, port;
    logic                   begun_q;                    // the tables of rows are filled
    logic [N-1:0]           over_q;                     // nothing of the source is left in the range
    logic [LineW-1:0]       base_q, base_end, row_q, end_q, next_row, end_row;
    logic [TokensLog2-1:0]  mask_q;                     // tokens of a GPU
    logic [TokensLog2:0]    limit_q;
    logic [4:0]             shifts_q;
    logic [EntryW-1:0]      ask_q, got_q, last_flit;
    logic [5:0]             id_half;                    // halfword of an entry in which the expert IDs begin
    logic [HalfW-1:0]       first_half, half;
    logic [EntryFlitsW-1:0] flit_off;
    logic [1:0]             full_q;
    logic                   wpar_q, rpar_q, entry_done;
    logic [FW-1:0]          entry;
    logic [GpuW-1:0]        item_src;
    logic [LineW-1:0]       item_row;
    logic [OutW-1:0]        open_q;                     // rows on their way

    assign port        = GpuW'(cfg_i.port);
    assign cmd_ready_o = state_q == Idle;
    assign take        = cmd_valid_i && cmd_ready_o;
    assign src_o       = src_q;
    assign base_end    = base_q + LineW'(src_rows_i);
    assign source_end  = (state_q == Row && row_q == end_q) || (got_last && stop);
    assign drained     = full_q == '0 && open_q == '0 && !copy_busy_o;
    assign retire_o    = state_q == Drain && drained;

    // Halfwords of an entry are numbered as kept: its first flit (the token) and those that hold IDs.
    assign id_half    = 6'd2 + {cfg_i.k, 1'b0};
    assign first_half = HalfW'(PerFlit) + HalfW'(id_half[LaneW-1:0]);
    assign last_flit  = EntryW'((first_half + HalfW'(cfg_i.k) - 1'b1) >> LaneW);
    assign flit_off   = (ask_q == '0) ? '0 : EntryFlitsW'(ask_q) - 1'b1 + EntryFlitsW'(id_half >> LaneW);
    assign rd_valid_o = state_q == Read && !asked_q;
    assign rd_addr_o  = AddrW'(cfg_i.gt_base >> LogF) + {row_q, flit_off};
    assign got_last   = state_q == Read && rd_rvalid_i && got_q == last_flit;
    assign stop       = (got_q == '0) ? {1'b0, rd_rdata_i[TokensLog2-1:0] & mask_q} >= limit_q : stop_q;

    lutram #(.Width(LineW), .Depth(N)) i_next (
        .clk_i, .we_i(state_q == Bounds || (got_last && !stop)), .waddr_i(src_q), .wdata_i((state_q == Bounds) ? base_q : row_q + 1'b1),
        .raddr_i(src_q), .rdata_o(next_row)
    );
    lutram #(.Width(LineW), .Depth(N)) i_end (
        .clk_i, .we_i(state_q == Bounds), .waddr_i(src_q), .wdata_i(base_end), .raddr_i(src_q), .rdata_o(end_row)
    );
    lutram #(.Width(FW), .Depth(2 * 2**EntryW)) i_entry (
        .clk_i, .we_i(rd_rvalid_i), .waddr_i({wpar_q, got_q}), .wdata_i(rd_rdata_i), .raddr_i({rpar_q, half[HalfW-1:LaneW]}), .rdata_o(entry)
    );
    lutram #(.Width(GpuW + LineW), .Depth(2)) i_item (
        .clk_i, .we_i(got_last), .waddr_i(wpar_q), .wdata_i({src_q, row_q}), .raddr_i(rpar_q), .rdata_o({item_src, item_row})
    );

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            state_q <= Idle;
            begun_q <= 1'b0;
            full_q  <= '0;
            wpar_q  <= 1'b0;
            rpar_q  <= 1'b0;
        end else begin
            unique case (state_q)
                Idle:    if (take) state_q <= Prepare;
                Prepare: if (shifts_q == '0) state_q <= begun_q ? Source : Bounds;
                Bounds:  if (next_gpu(src_q) == port) state_q <= Source;
                Source:  state_q <= (over_q == '1) ? Drain : over_q[src_q] ? Source : Row;
                Row:     if (source_end) state_q <= Source;
                         else if (!full_q[wpar_q]) state_q <= Read;
                Read:    if (got_last) state_q <= Source;
                default: if (drained) state_q <= Idle;
            endcase
            if (go_i)                   begun_q <= 1'b0;
            else if (state_q == Bounds) begun_q <= 1'b1;
            if (got_last && !stop) begin
                full_q[wpar_q] <= 1'b1;
                wpar_q         <= !wpar_q;
            end
            if (entry_done) begin
                full_q[rpar_q] <= 1'b0;
                rpar_q         <= !rpar_q;
            end
        end

        if (take) begin
            limit_q  <= cmd_i.a[TokensLog2:0] + cmd_i.b[TokensLog2:0];
            src_q    <= port;
            mask_q   <= '0;
            shifts_q <= 5'(cfg_i.token_shift);
        end else if (state_q == Prepare && shifts_q != '0) begin
            mask_q   <= {mask_q[TokensLog2-2:0], 1'b1};
            shifts_q <= shifts_q - 1'b1;
        end
        // Rows of the source behind begin where one's end, those of source 0 at 0. Prepare begins with the own ones.
        if (take) base_q <= LineW'(own_base_i);
        else if ((state_q == Prepare && shifts_q == '0) || state_q == Bounds) base_q <= (src_q == GpuW'(N - 1)) ? '0 : base_end;
        if ((state_q == Prepare && shifts_q == '0) || state_q == Bounds || (state_q == Source && over_q[src_q]) || source_end || got_last) src_q <= next_gpu(src_q);
        for (int unsigned s = 0; s < N; s++) begin
            if (take) over_q[s] <= cfg_i.port == 5'(s);
            else if (source_end && src_q == GpuW'(s)) over_q[s] <= 1'b1;
        end
        if (state_q == Source) begin
            row_q <= next_row;
            end_q <= end_row;
        end
        if (state_q != Read) begin
            ask_q   <= '0;
            got_q   <= '0;
            asked_q <= 1'b0;
        end else begin
            if (rd_valid_o && rd_ready_i) begin
                ask_q   <= ask_q + 1'b1;
                asked_q <= ask_q == last_flit;
            end
            if (rd_rvalid_i) begin
                got_q  <= got_q + 1'b1;
                stop_q <= stop;
            end
        end
    end

    // ---- own experts, and the packet ----------------------------------------------
    typedef enum logic [2:0] {Wait, Scan, Head, Targets, Number, Place, Copy} build_e;
    build_e build_q;

    logic [15:0]      id;
    logic             map_mine, mine, fire, beat_q, beat_last, place, flush_q, row_sent, copy_fire;
    logic [4:0]       j_q, count_q, left_q, count;
    logic [LaneW-1:0] lane_q;
    logic [3:0]       pos_q, shift_q;
    logic [OutW-1:0]  open_limit;
    logic [TokensLog2-1:0] index_q;
    logic [PerFlit-1:0][3:0] places_q;   // list positions
    logic [PerFlit-1:0][15:0] flit;
    header_t          header;

    assign half = (build_q == Wait) ? '0 : first_half + HalfW'(j_q);
    always_comb begin
        id = entry[16 * 32'(half[LaneW-1:0]) +: 16];
        for (int unsigned l = 0; l < PerFlit; l++) flit[l] = {8'd0, {2{places_q[l]}}};
    end

    lutram #(.Width(1), .Depth(MaxExperts)) i_emap (
        .clk_i, .we_i(emap_we_i && (emap_addr_i >> ExpIdxW) == '0), .waddr_i(emap_addr_i[ExpIdxW-1:0]),
        .wdata_i(emap_data_i.valid && emap_data_i.gpu == cfg_i.port), .raddr_i(id[ExpIdxW-1:0]), .rdata_o(map_mine)
    );

    assign mine       = map_mine && (id >> ExpIdxW) == '0;
    assign open_limit = (cfg_i.open_rows == '0 || cfg_i.open_rows > 8'(OpenRows)) ? OutW'(OpenRows) : OutW'(cfg_i.open_rows);
    assign count      = count_q + 5'(mine);
    assign beat_last  = beat_q || HF == 1;
    assign place      = build_q == Targets && !flush_q && mine;
    assign fire       = row_valid_o && row_ready_i;
    assign copy_fire  = copy_valid_o && copy_ready_i;
    assign row_sent   = fire && row_last_o;
    assign entry_done = row_sent || copy_fire;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            build_q <= Wait;
            beat_q  <= 1'b0;
            flush_q <= 1'b0;
            open_q  <= '0;
        end else begin
            unique case (build_q)
                Wait:    if (full_q[rpar_q] && open_q < open_limit) build_q <= Scan;
                Scan:    if (j_q + 1'b1 == cfg_i.k) build_q <= (count == 5'd1) ? Number : Head;
                Head:    if (fire && beat_last) build_q <= row_last_o ? Wait : Targets;
                Number:  if (shift_q == '0) build_q <= Place;
                Place:   if (shift_q == '0) build_q <= Copy;
                default: if (entry_done) build_q <= Wait;
            endcase
            if (build_q == Head && fire) beat_q <= !beat_last;
            if (build_q == Targets && fire) flush_q <= 1'b0;
            else if (place)                 flush_q <= lane_q == '1 || left_q == 5'd1;
            if (row_sent != row_done_i) open_q <= open_q + (row_done_i ? '1 : OutW'(1));
        end

        if (build_q == Wait) begin
            index_q <= entry[TokensLog2-1:0] & mask_q;
            count_q <= '0;
        end else if (build_q == Scan) begin
            count_q <= count;
        end
        if (build_q == Scan && mine) pos_q <= j_q[3:0];
        if ((build_q == Scan && j_q + 1'b1 != cfg_i.k) || (build_q == Targets && !flush_q)) j_q <= j_q + 1'b1;
        else if (build_q != Targets) j_q <= '0;

        if (build_q == Head) left_q <= count_q;
        else if (place)      left_q <= left_q - 1'b1;
        if (build_q == Head || (build_q == Targets && fire)) lane_q <= '0;
        else if (place)                                      lane_q <= lane_q + 1'b1;
        if (place) places_q[lane_q] <= j_q[3:0];
    end

    // ---- copies: both addresses are shifted a place per cycle -----------------------
    logic [AddrW-1:0] from_q, to_q, from, to;   // flits

    always_ff @(posedge clk_i) begin
        unique case (build_q)
            Scan: begin
                from_q  <= AddrW'(item_row);
                to_q    <= AddrW'(index_q);
                shift_q <= 4'd7;
            end
            Number: begin
                shift_q <= (shift_q == '0) ? cfg_i.row_shift - 4'(LogF) : shift_q - 1'b1;
                if (shift_q == '0) begin
                    from_q <= from_q | AddrW'(pos_q);
                    to_q   <= to_q | AddrW'(cfg_i.port);
                end else begin
                    if (shift_q <= 4'(cfg_i.k_shift)) from_q <= from_q << 1;
                    if (shift_q <= 4'(cfg_i.n_shift)) to_q   <= to_q << 1;
                end
            end
            Place: if (shift_q != '0) begin
                shift_q <= shift_q - 1'b1;
                from_q  <= from_q << 1;
                to_q    <= to_q << 1;
            end
            default: ;
        endcase
        if (!rst_ni)            copy_busy_o <= 1'b0;
        else if (copy_fire)     copy_busy_o <= 1'b1;
        else if (copy_retire_i) copy_busy_o <= 1'b0;
    end

    assign from         = AddrW'(cfg_i.yd_base >> LogF) + from_q;
    assign to           = AddrW'(cfg_i.cb_base >> LogF) + to_q;
    assign copy_valid_o = build_q == Copy && !copy_busy_o;

    always_comb begin
        copy_o     = '0;
        copy_o.op  = isa_pkg::I_ST_LINEAR;
        copy_o.imm = 16'(item_src);
        copy_o.a   = 32'(from) << LogF;
        copy_o.b   = 32'(cfg_i.row_bytes);
        copy_o.c   = 32'(to) << LogF;
    end

    always_comb begin
        header        = '0;
        header.cls    = CLS_REQ;
        header.src    = cfg_i.port;
        header.dst    = 5'(item_src);
        header.len    = 15'(index_q);
        header.cnt    = count_q;
        header.addr   = 48'(item_row);
        header.tag[3] = 1'b1;   // explicit
        header.tag[7] = 1'b1;   // st
    end

    if (HF == 1) begin : gen_header1
        assign row_data_o = (build_q == Head) ? header : flit;
    end else begin : gen_header2
        assign row_data_o = (build_q != Head) ? flit : beat_q ? header[FW +: FW] : header[0 +: FW];
    end

    assign row_valid_o = build_q == Head || flush_q;
    assign row_last_o  = (build_q == Head) ? beat_last && count_q == '0 : left_q == '0;

    logic unused;
    assign unused = ^{cfg_i, cmd_i, emap_data_i, src_rows_i, own_base_i, id_half, half};
endmodule

`default_nettype wire
