// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Unit combine of a GPU: asks for the reduced rows of its tokens.
//
//   dymultimem.ld_reduce   per token: request with the remote targets to the switch, row of the own targets (+ R) to reduce_serve
//   multimem.ld_reduce     per row of up to row_bytes: request for the static group, own memory's row (+ R)
//   sum                    per token: slots of the remote GPUs p+1, p+2, .. modulo N (AUX), rows of the own experts (+ R)
//   sum.st                 per received row of another home: rows of the own experts (AUX)
//
// A token's routing entry, or a received row's meta entry, is read one item ahead. Of an item first all experts are looked at (who
// has them), then packets are made. A token without remote members has no request; its own row exists always, also without terms.
// Order: requests, own rows and AUX rows in the order of items, so R's come in the order of the own rows. At most open_rows own (or ST) rows are
// outstanding, which bounds every queue behind: own_ and req_ only wait for the uplink.
// An expert that is not mapped: error, no request, and the token's row is not written. The token counts as finished.
// Worst case: an item takes about 3 k cycles and the wait for uplink and window.
`default_nettype none

module combine #(
    parameter int unsigned N          = 4,
    parameter int unsigned FlitBytes  = 8,
    parameter int unsigned AddrW      = 11,  // of a flit
    parameter int unsigned OpenRows   = 8,
    parameter int unsigned MaxExperts = 64,
    parameter int unsigned Groups     = 16,
    localparam int unsigned FW     = 8 * FlitBytes,
    localparam int unsigned TokenW = node_pkg::TokenW,
    localparam int unsigned RowW   = node_pkg::RowW
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire logic                go_i,
    input  wire node_pkg::node_cfg_t cfg_i,

    input  wire logic                emap_we_i,
    input  wire logic [11:0]         emap_addr_i,
    input  wire node_pkg::emap_t     emap_data_i,
    input  wire logic                group_we_i,
    input  wire logic [3:0]          group_addr_i,
    input  wire logic [31:0]         group_data_i,   // member mask

    input  wire logic                cmd_valid_i,
    output logic                     cmd_ready_o,
    input  wire isa_pkg::instr_t     cmd_i,
    output logic                     retire_o,

    input  wire logic                rdy_valid_i,    // own tokens whose experts have finished
    output logic                     rdy_ready_o,
    input  wire logic [TokenW-1:0]   rdy_token_i,    // index at home
    output logic                     tok_done_o,
    input  wire logic [RowW-1:0]     recv_rows_i,    // unicast: rows received
    input  wire logic [RowW-1:0]     own_base_i,     // unicast: first row of the own copies

    output logic                     rd_valid_o,
    input  wire logic                rd_ready_i,
    output logic [AddrW-1:0]         rd_addr_o,
    input  wire logic                rd_rvalid_i,
    input  wire logic [FW-1:0]       rd_rdata_i,

    output logic                     req_valid_o,
    input  wire logic                req_ready_i,
    output logic [FW-1:0]            req_data_o,
    output logic                     req_last_o,

    // rows for reduce_serve
    output logic                     own_valid_o,
    input  wire logic                own_ready_i,
    output logic                     own_last_o,
    output logic [FW-1:0]            own_flit_o,
    output logic                     own_aux_o,
    output logic                     own_static_o,
    output logic                     own_explicit_o,
    output logic                     own_slots_o,
    output logic                     own_use_r_o,
    output logic                     own_bad_o,
    output logic [4:0]               own_cnt_o,
    output logic [19:0]              own_dest_o,
    output logic [RowW-1:0]          own_row_o,
    output logic [31:0]              own_addr_o,
    output logic [AddrW-1:0]         static_delta_o,
    output logic                     aux_st_o,
    input  wire logic                row_done_i,

    output logic                     err_valid_o,
    output error_pkg::err_e          err_code_o,
    output logic                     idle_o
);
    import packet_pkg::*;
    import isa_pkg::*;
    import error_pkg::*;

    localparam int unsigned LogF    = $clog2(FlitBytes);
    localparam int unsigned HF      = 16 / FlitBytes;
    localparam int unsigned PerFlit = FlitBytes / 2;
    localparam int unsigned LaneW   = $clog2(PerFlit);
    localparam int unsigned EntryW  = 6 - LogF;             // flits kept of an entry: at most 8 of 8 bytes or 4 of 16
    localparam int unsigned HalfW   = EntryW + LaneW;       // halfwords kept of an entry
    localparam int unsigned EntryFlitsW = 7 - LogF;         // flits of a whole entry (128 bytes)
    localparam int unsigned ExpIdxW = $clog2(MaxExperts);
    localparam int unsigned GpuW    = (N > 1) ? $clog2(N) : 1;
    localparam int unsigned OutW    = $clog2(OpenRows + 1);
    localparam int unsigned ItemW   = 20;

    typedef enum logic [1:0] {Dynamic, Static, Sum, SumSt} mode_e;

    // ---- command ------------------------------------------------------------------
    logic        busy_q, take, go_item, item_done, finish;
    mode_e       mode_q;
    logic        by_ready_q;
    logic [3:0]  group_q;
    logic [31:0] addr_q;           // static: source of the next row
    logic [31:0] left_q;           // items not started; static: bytes
    logic [AddrW-1:0] delta_q;
    logic        known;
    mode_e       mode_in;

    assign cmd_ready_o = !busy_q;
    assign take        = cmd_valid_i && cmd_ready_o;

    always_comb begin
        known   = 1'b1;
        mode_in = Static;
        unique case (cmd_i.op)
            I_DYMULTIMEM_LD_REDUCE: mode_in = Dynamic;
            I_MULTIMEM_LD_REDUCE:   ;
            I_SUM:                  mode_in = Sum;
            I_SUM_ST:               mode_in = SumSt;
            default:                known   = 1'b0;
        endcase
    end

    // ---- entries read ahead -------------------------------------------------------
    logic [ItemW-1:0]   next_q;      // next item to read
    logic [31:0]        unread_q;    // items not read
    logic               reading_q;
    logic [ItemW-1:0]   item_q [2];
    logic [EntryW-1:0]  ask_q, got_q, last_flit;
    logic [1:0]         full_q;
    logic               wpar_q, rpar_q, start_read, asked_q, from_ready, meta, got_all;
    logic [HalfW-1:0]   first_half;
    logic [5:0]         id_half;     // halfword of a meta entry in which the expert IDs begin
    logic [EntryFlitsW-1:0] flit_off;
    logic [FW-1:0]      entry;
    logic [HalfW-1:0]   half;

    // Halfwords of an entry are numbered as kept: a meta entry keeps its first flit (the token) and those that hold IDs.
    assign meta       = mode_q == SumSt;
    assign id_half    = 6'd2 + {cfg_i.k, 1'b0};
    assign first_half = meta ? HalfW'(PerFlit) + HalfW'(id_half[LaneW-1:0]) : '0;
    assign last_flit  = EntryW'((first_half + HalfW'(cfg_i.k) - 1'b1) >> LaneW);
    assign flit_off   = (!meta || ask_q == '0) ? EntryFlitsW'(ask_q) : EntryFlitsW'(ask_q) - 1'b1 + EntryFlitsW'(id_half >> LaneW);

    assign from_ready  = by_ready_q && mode_q == Dynamic;
    assign start_read  = busy_q && mode_q != Static && !reading_q && unread_q != '0 && !full_q[wpar_q] && (!from_ready || rdy_valid_i);
    assign rdy_ready_o = busy_q && from_ready && !reading_q && unread_q != '0 && !full_q[wpar_q];
    assign rd_valid_o  = reading_q && !asked_q;
    assign rd_addr_o   = AddrW'((meta ? cfg_i.gt_base : cfg_i.rt_base) >> LogF) + AddrW'({item_q[wpar_q], flit_off});
    assign got_all     = rd_rvalid_i && got_q == last_flit;

    lutram #(
        .Width(FW),
        .Depth(2 * 2**EntryW)
    ) i_entry (
        .clk_i,
        .we_i    (rd_rvalid_i),
        .waddr_i ({wpar_q, got_q}),
        .wdata_i (rd_rdata_i),
        .raddr_i ({rpar_q, half[HalfW-1:LaneW]}),
        .rdata_o (entry)
    );

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            reading_q <= 1'b0;
            full_q    <= '0;
            wpar_q    <= 1'b0;
            rpar_q    <= 1'b0;
        end else begin
            if (start_read)   reading_q <= 1'b1;
            else if (got_all) reading_q <= 1'b0;
            if (got_all) begin
                full_q[wpar_q] <= 1'b1;
                wpar_q         <= !wpar_q;
            end
            if (item_done && mode_q != Static) begin
                full_q[rpar_q] <= 1'b0;
                rpar_q         <= !rpar_q;
            end
        end
        if (take) begin
            next_q   <= (mode_in == SumSt) ? '0 : ItemW'(cmd_i.a);
            unread_q <= !known ? '0 : (mode_in == SumSt) ? 32'(recv_rows_i) : cmd_i.b;
        end else if (start_read) begin
            next_q   <= next_q + 1'b1;
            unread_q <= unread_q - 1'b1;
        end
        if (start_read) begin
            item_q[wpar_q] <= from_ready ? ItemW'(rdy_token_i) : next_q;
            ask_q   <= '0;
            got_q   <= '0;
            asked_q <= 1'b0;
        end else begin
            if (rd_valid_o && rd_ready_i) begin
                ask_q   <= ask_q + 1'b1;
                asked_q <= ask_q == last_flit;
            end
            if (rd_rvalid_i) got_q <= got_q + 1'b1;
        end
    end

    // ---- one expert of the entry per cycle ----------------------------------------
    logic [15:0]     id;
    logic            map_valid, none, unmapped, mine;
    logic [GpuW-1:0] gpu;

    always_comb id = entry[16 * 32'(half[LaneW-1:0]) +: 16];

    lutram #(
        .Width(1 + GpuW),
        .Depth(MaxExperts)
    ) i_emap (
        .clk_i,
        .we_i    (emap_we_i && (emap_addr_i >> ExpIdxW) == '0),
        .waddr_i (emap_addr_i[ExpIdxW-1:0]),
        .wdata_i ({emap_data_i.valid, emap_data_i.gpu[GpuW-1:0]}),
        .raddr_i (id[ExpIdxW-1:0]),
        .rdata_o ({map_valid, gpu})
    );

    assign none     = id == '1;
    assign unmapped = !none && ((id >> ExpIdxW) != '0 || !map_valid);
    assign mine     = 5'(gpu) == cfg_i.port;

    logic [N-1:0] group_mask;
    logic         group_remote, group_own;

    lutram #(
        .Width(N),
        .Depth(Groups)
    ) i_group (
        .clk_i,
        .we_i    (group_we_i),
        .waddr_i (group_addr_i),
        .wdata_i (group_data_i[N-1:0]),
        .raddr_i (group_q),
        .rdata_o (group_mask)
    );
    assign group_own    = group_mask[GpuW'(cfg_i.port)];
    assign group_remote = (group_mask & ~(N'(1) << cfg_i.port)) != '0;

    // ---- packets ------------------------------------------------------------------
    typedef enum logic [3:0] {Idle, Prepare, Wait, Scan, Shift, Req, ReqTargets, Aux, AuxTargets, Row, RowTargets, Next} state_e;
    state_e state_q, state_d;

    logic [4:0]        j_q;                    // list position, or GPUs looked at
    logic [GpuW-1:0]   q_q;                    // GPU
    logic [4:0]        own_cnt_q, remote_cnt_q, aux_cnt, send_left_q;
    logic [N-1:0]      member_q;               // GPUs with an expert of the token
    logic [15:0]       first_q;                // first remote target
    logic              bad_q, skip, stray;
    logic [TokenW-1:0] home_bits_q;            // own port << token_shift
    logic [34:0]       maddr_q;                // token << row_shift, under way
    logic [3:0]        shifts_q;
    logic [ItemW-1:0]  item;
    logic [19:0]       st_home_q, st_index_q;  // home and index of a received token
    logic [4:0]        st_shifts_q;
    logic [RowW-1:0]   copy_q;                 // own copies counted so far
    logic [OutW-1:0]   open_q, open_limit;
    logic              beat_q;                 // second half of a header
    logic [LaneW-1:0]  lane_q;
    logic [PerFlit-1:0][15:0] flit_q;
    logic              flush_q, flush_last;
    logic              j_last, scan_last, match, place, head_fire, flit_fire, sink_ready, targets, remote, row_sent;
    logic [15:0]       target;
    logic [14:0]       static_len;
    header_t           header;

    assign item       = item_q[rpar_q];
    assign half       = (state_q == Wait) ? '0 : first_half + HalfW'(j_q);
    assign scan_last  = j_q + 1'b1 == cfg_i.k;
    assign open_limit = (cfg_i.open_rows == '0 || cfg_i.open_rows > 8'(OpenRows)) ? OutW'(OpenRows) : OutW'(cfg_i.open_rows);
    assign remote     = remote_cnt_q != '0;
    assign static_len = (left_q > 32'(cfg_i.row_bytes)) ? cfg_i.row_bytes : 15'(left_q);
    assign go_item    = left_q != '0 && (mode_q == Static || full_q[rpar_q]) && open_q < open_limit;
    assign finish     = state_q == Wait && left_q == '0 && open_q == '0;
    assign item_done  = state_q == Next;
    assign skip       = st_home_q == 20'(cfg_i.port);
    assign stray      = st_home_q >= 20'(N);
    assign retire_o   = finish;
    assign targets    = state_q inside {ReqTargets, AuxTargets, RowTargets};
    assign sink_ready = (state_q inside {Req, ReqTargets}) ? req_ready_i : own_ready_i;
    assign head_fire  = (state_q inside {Req, Aux, Row}) && sink_ready;
    assign flit_fire  = flush_q && sink_ready;
    assign flush_last = send_left_q == '0;
    assign aux_cnt    = remote_cnt_q;

    // A packet's targets: each step looks at one candidate.
    always_comb begin
        unique case (state_q)
            ReqTargets: match = !none && !mine && {id[11:0], j_q[3:0]} != first_q;
            AuxTargets: match = meta ? !none && mine : member_q[q_q];
            default:    match = !none && mine;
        endcase
        unique case (state_q)
            ReqTargets: target = {id[11:0], j_q[3:0]};
            AuxTargets: target = {meta ? 12'(j_q[3:0]) : 12'(q_q), 4'd0};
            default:    target = {(mode_q == Sum) ? 12'(j_q[3:0]) : id[11:0], j_q[3:0]};
        endcase
    end

    assign place  = targets && !flush_q && match;
    assign j_last = beat_q || HF == 1;

    always_comb begin
        state_d = state_q;
        unique case (state_q)
            Idle:    if (take) state_d = Prepare;
            Prepare: if (shifts_q == '0) state_d = Wait;
            Wait:    if (finish) state_d = Idle;
                     else if (go_item) state_d = (mode_q == Static) ? (group_remote ? Req : Row) : Scan;
            Scan:    if (scan_last) state_d = Shift;
            Shift:   if (mode_q == SumSt) begin
                         if (st_shifts_q == '0) state_d = (skip || stray) ? Next : Aux;
                     end else if (mode_q == Sum) begin
                         state_d = (remote && !bad_q) ? Aux : Row;
                     end else if (shifts_q == '0) begin
                         state_d = (remote && !bad_q) ? Req : Row;
                     end
            Req:     if (head_fire && j_last) state_d = (mode_q == Static || remote_cnt_q == 5'd1) ? Row : ReqTargets;
            Aux:     if (head_fire && j_last) state_d = (send_left_q == '0) ? (meta ? Next : Row) : AuxTargets;
            Row:     if (head_fire && j_last) state_d = (send_left_q == '0) ? Next : RowTargets;
            ReqTargets: if (flit_fire && flush_last) state_d = Row;
            AuxTargets: if (flit_fire && flush_last) state_d = meta ? Next : Row;
            RowTargets: if (flit_fire && flush_last) state_d = Next;
            default: state_d = Wait;
        endcase
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            state_q <= Idle;
            busy_q  <= 1'b0;
            open_q  <= '0;
            beat_q  <= 1'b0;
            flush_q <= 1'b0;
            copy_q  <= '0;
        end else begin
            state_q <= state_d;
            if (take)        busy_q <= 1'b1;
            else if (finish) busy_q <= 1'b0;
            if (row_sent != row_done_i) open_q <= open_q + (row_done_i ? '1 : OutW'(1));
            if (head_fire) beat_q <= !j_last;
            if (flit_fire)  flush_q <= 1'b0;
            else if (place) flush_q <= lane_q == '1 || send_left_q == 5'd1;
            if (go_i) copy_q <= '0;
            else if (state_q == Next && mode_q == Sum && own_cnt_q != '0) copy_q <= copy_q + 1'b1;
        end

        if (take) begin
            mode_q     <= mode_in;
            by_ready_q <= cmd_i.flags[0];
            group_q    <= cmd_i.imm[3:0];
            addr_q     <= cmd_i.a;
            delta_q    <= AddrW'(cmd_i.c >> LogF) - AddrW'(cmd_i.a >> LogF);
            left_q     <= !known ? '0 : (mode_in == SumSt) ? 32'(recv_rows_i) : cmd_i.b;
        end else if (item_done) begin
            left_q <= left_q - ((mode_q == Static) ? 32'(static_len) : 32'd1);
            addr_q <= addr_q + 32'(cfg_i.row_bytes);
        end

        // Shifts by layer constants take a cycle per place.
        if (take) begin
            home_bits_q <= TokenW'(cfg_i.port);
            shifts_q    <= cfg_i.token_shift;
        end else if (state_q == Prepare && shifts_q != '0) begin
            home_bits_q <= home_bits_q << 1;
            shifts_q    <= shifts_q - 1'b1;
        end else if (state_q == Wait) begin
            maddr_q  <= {15'd0, home_bits_q | TokenW'(item)};
            shifts_q <= cfg_i.row_shift;
        end else if (shifts_q != '0) begin
            maddr_q  <= maddr_q << 1;
            shifts_q <= shifts_q - 1'b1;
        end

        // A received token splits into home and index: both move right, then the index alone.
        if (state_q == Wait) begin
            st_home_q   <= entry[19:0];
            st_shifts_q <= 5'd20;
        end else if (st_shifts_q != '0) begin
            st_index_q  <= {st_home_q[0] && st_shifts_q > 5'd20 - 5'(cfg_i.token_shift), st_index_q[19:1]};
            if (st_shifts_q > 5'd20 - 5'(cfg_i.token_shift)) st_home_q <= st_home_q >> 1;
            st_shifts_q <= st_shifts_q - 1'b1;
        end

        // Looking at all experts of the item.
        if (state_q == Wait) begin
            own_cnt_q    <= '0;
            remote_cnt_q <= '0;
            member_q     <= '0;
            bad_q        <= 1'b0;
        end else if (state_q == Scan && !none) begin
            bad_q <= bad_q || unmapped;
            if (mine) begin
                own_cnt_q <= own_cnt_q + 1'b1;
            end else begin
                member_q[gpu] <= 1'b1;
                if (mode_q == Dynamic || !member_q[gpu]) remote_cnt_q <= remote_cnt_q + 1'b1;
                if (remote_cnt_q == '0) first_q <= {id[11:0], j_q[3:0]};
            end
        end

        if (state_q == Scan || (targets && !flush_q)) j_q <= j_q + 1'b1;
        else if (!targets)                            j_q <= '0;

        // GPUs after the own one, in the order of R.
        if (state_q == Aux)                                   q_q <= next_gpu(GpuW'(cfg_i.port));
        else if (state_q == AuxTargets && !flush_q && !meta)  q_q <= next_gpu(q_q);

        // Targets not yet placed.
        unique case (state_q)
            Req:     send_left_q <= remote_cnt_q - 1'b1;
            default: if (place) send_left_q <= send_left_q - 1'b1;
        endcase
        if (state_d inside {Aux, Row} && state_q != state_d) begin
            send_left_q <= (bad_q || mode_q == Static) ? '0 : (state_d == Aux && !meta) ? aux_cnt : own_cnt_q;
        end

        if (!targets || flit_fire) lane_q <= '0;
        else if (place)            lane_q <= lane_q + 1'b1;
        if (place) flit_q[lane_q] <= target;
    end

    function automatic logic [GpuW-1:0] next_gpu(input logic [GpuW-1:0] g);
        return (g == GpuW'(N - 1)) ? '0 : g + 1'b1;
    endfunction

    assign row_sent = head_fire && j_last && ((state_q == Row) || (state_q == Aux && meta));

    // ---- outputs ------------------------------------------------------------------
    always_comb begin
        header        = '0;
        header.opcode = (mode_q == Static) ? OP_MULTIMEM_LD_REDUCE : OP_DYMULTIMEM_LD_REDUCE;
        header.cls    = CLS_REQ;
        header.src    = cfg_i.port;
        header.len    = (mode_q == Static) ? static_len : cfg_i.row_bytes;
        header.cnt    = (mode_q == Static) ? '0 : remote_cnt_q;
        header.epoch  = cfg_i.epoch;
        header.stage  = STAGE_COMBINE;
        header.addr   = (mode_q == Static) ? 48'(addr_q) : 48'(maddr_q);
        header.target0 = (mode_q == Static) ? 16'(group_q) : first_q;
    end

    if (HF == 1) begin : gen_header1
        assign req_data_o = (state_q == Req) ? header : flit_q;
    end else begin : gen_header2
        assign req_data_o = (state_q != Req) ? flit_q : beat_q ? header[FW +: FW] : header[0 +: FW];
    end

    assign req_valid_o = state_q == Req || (state_q == ReqTargets && flush_q);
    assign req_last_o  = (state_q == Req) ? j_last && (mode_q == Static || remote_cnt_q == 5'd1) : flush_last;

    assign own_valid_o    = (state_q inside {Aux, Row}) || ((state_q inside {AuxTargets, RowTargets}) && flush_q);
    assign own_last_o     = (state_q inside {Aux, Row}) ? j_last && send_left_q == '0 : flush_last;
    assign own_flit_o     = flit_q;
    assign own_aux_o      = state_q inside {Aux, AuxTargets};
    assign own_static_o   = mode_q == Static;
    assign own_explicit_o = mode_q == SumSt || (mode_q == Sum && !own_aux_o);
    assign own_slots_o    = mode_q == Sum && own_aux_o;
    assign own_use_r_o    = !own_aux_o && ((mode_q == Static) ? group_remote : remote && !bad_q);
    assign own_bad_o      = bad_q && mode_q != Static;
    assign own_cnt_o      = bad_q && mode_q != Static ? '0
                          : (mode_q == Static) ? 5'(group_own) : (own_aux_o && !meta) ? aux_cnt : own_cnt_q;
    assign own_dest_o     = (mode_q == Static) ? 20'(static_len) : meta ? {st_home_q[4:0], st_index_q[14:0]} : item;
    assign own_row_o      = (mode_q == Dynamic) ? home_bits_q | TokenW'(item)
                          : (mode_q == Sum && !own_aux_o) ? own_base_i + copy_q : item;
    assign own_addr_o     = addr_q;
    assign static_delta_o = delta_q;
    assign aux_st_o       = meta;
    assign tok_done_o     = row_done_i && (mode_q == Dynamic || mode_q == Sum);

    logic looked_at;
    assign looked_at = state_q == Shift && state_d != Shift;

    always_ff @(posedge clk_i) begin
        err_valid_o <= rst_ni && ((looked_at && (bad_q || (meta && stray))) || (take && !known));
        err_code_o  <= !busy_q ? ERR_INSTR : bad_q ? ERR_UNMAPPED : ERR_BOUNDS;
    end

    assign idle_o = !busy_q;

    logic unused;
    assign unused = ^{cfg_i, cmd_i, emap_data_i, group_data_i, id_half};
endmodule

`default_nettype wire
