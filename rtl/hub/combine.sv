// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Unit combine of a GPU: asks for the reduced rows of its tokens.
//
//   dymultimem.ld_reduce   per token: request with the remote targets to the switch, row of the own targets (+ R) to reduce_serve
//   multimem.ld_reduce     per row of up to row_bytes: request for the static group, own memory's row (+ R)
//   (both with the type and operator that the instruction names)
//   sum                    per token: R = slots of the remote GPUs p+1, p+2, .. modulo N, to the output row; or (flags.0) rows of the own experts and that row
//
// An item (token, static row) is read one ahead: its routing entry. First all its experts are looked at (who
// has them), then its packets are made, for the switch and for reduce_serve in one format and on the same wires (see reduce_serve for what differs).
// A token without remote members has no request; its own row exists always, also without terms.
// Order: requests and own rows in the order of items, so R's come in the order of the own rows. At most open_rows own rows are
// outstanding, which bounds every queue behind: only requests wait, for the uplink.
// An expert that is not mapped: error, no request, and the token's row is not written. The token counts as finished.
// Worst case: an item takes about 3 k + row_shift cycles and the wait for uplink and window.
`default_nettype none

module combine #(
    parameter int unsigned N          = 4,
    parameter int unsigned FlitBytes  = 8,
    parameter int unsigned AddrW      = 11,  // of a flit
    parameter int unsigned OpenRows   = 8,
    parameter int unsigned TokensLog2 = 12,  // of own tokens, at most
    parameter int unsigned MaxExperts = 64,
    parameter int unsigned Groups     = 16,
    parameter red_pkg::set_t RedTypes = red_pkg::AllTypes,
    parameter red_pkg::set_t RedOps   = red_pkg::AllOps,
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
    input  wire logic [RowW-1:0]     own_base_i,     // unicast: first row of the own copies

    output logic                     rd_valid_o,
    input  wire logic                rd_ready_i,
    output logic [AddrW-1:0]         rd_addr_o,
    input  wire logic                rd_rvalid_i,
    input  wire logic [FW-1:0]       rd_rdata_i,

    output logic                     req_valid_o,
    input  wire logic                req_ready_i,
    output logic                     own_valid_o,    // rows for reduce_serve; last and data as for req
    input  wire logic                own_ready_i,
    output logic                     req_last_o,
    output logic [FW-1:0]            req_data_o,
    output logic                     own_static_o,
    output logic [AddrW-1:0]         static_delta_o,
    input  wire logic                row_done_i,
    input  wire logic                row_more_i,     // of its token another row follows

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
    localparam int unsigned GlobalW = TokensLog2 + GpuW;
    localparam int unsigned MaddrW  = (GlobalW + 15 > AddrW + LogF) ? GlobalW + 15 : AddrW + LogF;
    localparam int unsigned LineW   = AddrW - EntryFlitsW;                      // a row's number: memory holds no more entries
    localparam int unsigned ItemW   = (AddrW > TokensLog2) ? AddrW : TokensLog2;  // own token, or flit address
    localparam int unsigned TgtW    = ExpIdxW + 4;                              // of a target: what an expert that is mapped needs

    if (GlobalW > TokenW || TokensLog2 > 15 || ExpIdxW < 5) begin : gen_check
        $error("combine: TokensLog2 at most 15 and TokenW less log2 of N, MaxExperts at least 32");
    end

    typedef enum logic [1:0] {Dynamic, Static, Sum} mode_e;

    // ---- command ------------------------------------------------------------------
    logic             busy_q, take, known, outside, strange, finish, item_done;
    red_pkg::red_t    red_in, red;
    mode_e            mode_q, mode_in;
    logic             option_q;    // flags.0 of the command: tokens as they get ready; sum: the own rows
    logic [AddrW-1:0] delta_q;

    assign cmd_ready_o = !busy_q;
    assign take        = cmd_valid_i && cmd_ready_o;
    assign outside     = mode_in == Static && (((cmd_i.a | cmd_i.c) >> (AddrW + LogF)) != '0 || LogF'(cmd_i.a | cmd_i.b | cmd_i.c) != '0);

    always_comb begin
        known   = 1'b1;
        mode_in = Static;
        unique case (cmd_i.op)
            I_DYMULTIMEM_LD_REDUCE: mode_in = Dynamic;
            I_MULTIMEM_LD_REDUCE:   ;
            I_SUM:                  mode_in = Sum;
            default:                known   = 1'b0;
        endcase
    end

    // sum is of bf16; the others say it in imm.
    assign red_in  = (mode_in == Sum) ? '0 : '{dtype: dtype_e'(cmd_i.imm[10:8]), redop: redop_e'(cmd_i.imm[14:12])};
    assign strange = known && !red_pkg::has(RedTypes, RedOps, red_in);

    if (red_pkg::plain(RedTypes, RedOps)) begin : gen_plain
        assign red = '0;
    end else begin : gen_red
        red_pkg::red_t red_q;
        always_ff @(posedge clk_i) if (take) red_q <= red_in;
        assign red = red_q;
    end

    // ---- items read ahead ---------------------------------------------------------
    // cur_q: token, or flit address of a static row; left_q: as many still to be read, or flits.
    logic [ItemW-1:0]       cur_q, item;
    logic [ItemW:0]         left_q, step;
    logic [ItemW+1:0]       rest;
    logic                   last_in, last_item;
    logic [14-LogF:0]       last_len_q;   // of the last static row
    logic                   reading_q, asked_q, start_read, got_all, room, from_ready, is_static;
    logic [EntryW-1:0]      ask_q, got_q, last_flit;
    logic [1:0]             full_q;
    logic                   wpar_q, rpar_q;
    logic [HalfW-1:0]       half;
    logic [FW-1:0]          entry;
    logic [ItemW-1:0]       item_in, asking_q;

    assign is_static = mode_q == Static;
    assign step      = is_static ? (ItemW+1)'(cfg_i.row_bytes >> LogF) : (ItemW+1)'(1);
    assign rest      = {1'b0, left_q} - {1'b0, step};
    assign last_in   = rest[ItemW+1] || rest[ItemW:0] == '0;

    assign last_flit   = EntryW'((HalfW'(cfg_i.k) - 1'b1) >> LaneW);
    assign from_ready  = option_q && mode_q == Dynamic;
    assign room        = busy_q && !reading_q && left_q != '0 && !full_q[wpar_q];
    assign start_read  = room && (!from_ready || rdy_valid_i);
    assign rdy_ready_o = room && from_ready;
    assign item_in     = from_ready ? ItemW'(rdy_token_i) : cur_q;
    assign rd_valid_o  = reading_q && !asked_q && !is_static;
    assign rd_addr_o   = AddrW'(cfg_i.rt_base >> LogF) + AddrW'({asking_q, EntryFlitsW'(ask_q)});
    assign got_all     = reading_q && (is_static || (rd_rvalid_i && got_q == last_flit));

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

    lutram #(.Width(ItemW + 1), .Depth(2)) i_item (
        .clk_i, .we_i(start_read), .waddr_i(wpar_q), .wdata_i({last_in, item_in}), .raddr_i(rpar_q), .rdata_o({last_item, item})
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
            if (item_done) begin
                full_q[rpar_q] <= 1'b0;
                rpar_q         <= !rpar_q;
            end
        end
        if (take) begin
            cur_q  <= (mode_in == Static) ? ItemW'(cmd_i.a >> LogF) : ItemW'(cmd_i.a);
            left_q <= (!known || outside || strange) ? '0 : (mode_in == Static) ? (ItemW+1)'(cmd_i.b >> LogF) : (ItemW+1)'(cmd_i.b);
        end else if (start_read) begin
            cur_q  <= cur_q + ItemW'(step);
            left_q <= last_in ? '0 : rest[ItemW:0];
            last_len_q <= (15-LogF)'(left_q);
        end
        if (start_read) begin
            asking_q <= item_in;
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
    logic [N-1:0]    group_others, group_member;
    logic            group_remote, group_own;
    logic [3:0]      group_q;

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

    // Of a group: is this GPU a member, are others.
    lutram #(
        .Width(2),
        .Depth(Groups)
    ) i_group (
        .clk_i,
        .we_i    (group_we_i),
        .waddr_i (group_addr_i),
        .wdata_i ({group_others != '0, group_member != '0}),
        .raddr_i (group_q),
        .rdata_o ({group_remote, group_own})
    );

    always_comb begin
        for (int unsigned g = 0; g < N; g++) begin
            group_others[g] = group_data_i[g] && cfg_i.port != 5'(g);
            group_member[g] = group_data_i[g] && cfg_i.port == 5'(g);
        end
    end

    // ---- packets ------------------------------------------------------------------
    typedef enum logic [2:0] {Idle, Prepare, Wait, Scan, Shift, Head, Targets, Next} state_e;
    typedef enum logic [1:0] {Req, Slots, Row} kind_e;
    state_e state_q, state_d;
    kind_e  kind_q, kind_d;

    logic [4:0]        j_q;                    // list position
    logic [GpuW-1:0]   q_q;                    // GPU
    logic [4:0]        own_cnt_q, remote_cnt_q, send_q;
    logic [N-1:0]      member_q;               // GPUs with an expert of the token
    logic [TgtW-1:0]   first_q;                // first remote target
    logic              bad_q, remote;
    logic [GlobalW-1:0] home_q;                // own port << token_shift (dynamic)
    logic [MaddrW-1:0] addr_q;                 // token << row_shift, under way
    logic [4:0]        shifts_q;
    logic [TokensLog2-1:0] index_q;            // of the token at its home
    logic [LineW-1:0]  copy_q;                 // next row of the own copies
    logic              copies_q;               // copy_q counts
    logic [OutW-1:0]   open_q, open_limit;
    logic              beat_q;                 // second half of a header
    logic [LaneW-1:0]  lane_q;
    logic [PerFlit-1:0][TgtW-1:0] targets_q;
    logic [PerFlit-1:0][15:0] flit;
    logic              flush_q, begin_pkt, go_item, own_part, nothing;
    logic              beat_last, send_last, match, place, fire, head_done, pkt_done, pkt_last, row_sent, more;
    logic [TgtW-1:0]   target;
    header_t           header;

    assign half       = HalfW'(j_q);
    assign open_limit = (cfg_i.open_rows == '0 || cfg_i.open_rows > 8'(OpenRows)) ? OutW'(OpenRows) : OutW'(cfg_i.open_rows);
    assign remote     = is_static ? group_remote : remote_cnt_q != '0 && !bad_q;
    assign go_item    = full_q[rpar_q] && open_q < open_limit;
    assign finish     = state_q == Wait && left_q == '0 && !reading_q && full_q == '0 && open_q == '0;
    assign item_done  = state_q == Next;
    assign own_part   = mode_q != Sum || option_q;
    assign nothing    = own_part ? mode_q == Sum && own_cnt_q == '0 && remote : !remote;
    assign retire_o   = finish;

    // A packet's targets: each step looks at one candidate.
    always_comb begin
        unique case (kind_q)
            Req:     match = !none && !mine && j_q[3:0] != first_q[3:0];
            Slots:   match = member_q[q_q];
            default: match = !none && mine;
        endcase
        target = {(kind_q == Slots) ? ExpIdxW'(q_q) : (mode_q == Dynamic) ? id[ExpIdxW-1:0] : ExpIdxW'(j_q[3:0]), j_q[3:0]};
        for (int unsigned l = 0; l < PerFlit; l++) flit[l] = 16'(targets_q[l]);
    end

    assign place     = state_q == Targets && !flush_q && match;
    assign beat_last = beat_q || HF == 1;
    assign fire      = (kind_q == Req) ? req_valid_o && req_ready_i : own_valid_o && own_ready_i;
    assign head_done = state_q == Head && fire && beat_last;
    assign send_last = (state_q == Head) ? is_static || send_q == 5'(kind_q == Req) : send_q == '0;
    assign pkt_last  = (state_q == Targets || beat_last) && send_last;
    assign pkt_done  = fire && pkt_last;
    assign row_sent  = pkt_done && kind_q != Req;
    assign more      = kind_q == Slots && own_cnt_q != '0;

    always_comb begin
        state_d   = state_q;
        kind_d    = kind_q;
        begin_pkt = 1'b0;
        unique case (state_q)
            Idle:    if (take) state_d = Prepare;
            Prepare: if (shifts_q == '0) state_d = Wait;
            Wait:    if (finish)       state_d = Idle;
                     else if (go_item) state_d = is_static ? Shift : Scan;
            Scan:    if (j_q + 1'b1 == cfg_i.k) state_d = Shift;
            Shift:   if (shifts_q == '0) begin
                         state_d   = nothing ? Next : Head;
                         begin_pkt = 1'b1;
                         kind_d    = !own_part ? Slots : (remote && mode_q != Sum) ? Req : Row;
                     end
            Head:    if (head_done) state_d = Targets;
            Targets: ;
            default: state_d = Wait;
        endcase
        if (pkt_done) begin
            state_d   = row_sent ? Next : Head;
            begin_pkt = !row_sent;
            kind_d    = Row;
        end
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            state_q  <= Idle;
            busy_q   <= 1'b0;
            open_q   <= '0;
            beat_q   <= 1'b0;
            flush_q  <= 1'b0;
            copies_q <= 1'b0;
        end else begin
            state_q <= state_d;
            if (take)        busy_q <= 1'b1;
            else if (finish) busy_q <= 1'b0;
            if (row_sent != row_done_i) open_q <= open_q + (row_done_i ? '1 : OutW'(1));
            if (state_q == Head && fire) beat_q <= !beat_last;
            if (state_q == Targets && fire) flush_q <= 1'b0;
            else if (place)                 flush_q <= lane_q == '1 || send_q == 5'd1;
            if (go_i)                                copies_q <= 1'b0;
            else if (take && mode_in == Sum) copies_q <= 1'b1;
        end
        kind_q <= kind_d;

        if (take) begin
            mode_q     <= mode_in;
            option_q   <= cmd_i.flags[0];
            group_q    <= cmd_i.imm[3:0];
            delta_q    <= AddrW'(cmd_i.c >> LogF) - AddrW'(cmd_i.a >> LogF);
        end

        if (take && !copies_q)                                                copy_q <= LineW'(own_base_i);
        else if (item_done && mode_q == Sum && option_q && own_cnt_q != '0) copy_q <= copy_q + 1'b1;

        // Shifts by layer constants take a cycle per place.
        if (take) home_q <= (mode_in == Dynamic) ? GlobalW'(cfg_i.port) : '0;
        else if (state_q == Prepare && shifts_q != '0) home_q <= home_q << 1;
        if (take)                 shifts_q <= 5'(cfg_i.token_shift);
        else if (state_q == Wait) shifts_q <= (mode_q == Dynamic) ? 5'(cfg_i.row_shift) : '0;
        else if (shifts_q != '0)  shifts_q <= shifts_q - 1'b1;

        // What reduce_serve gets is not shifted.
        if (state_q == Wait || (begin_pkt && kind_d != Req)) begin
            addr_q <= is_static ? MaddrW'(item) << LogF : MaddrW'(home_q) | ((mode_q == Sum && kind_d == Row && begin_pkt) ? MaddrW'(copy_q) : MaddrW'(item));
        end else if (shifts_q != '0) begin
            addr_q <= addr_q << 1;
        end

        if (state_q == Wait) index_q <= item[TokensLog2-1:0];

        // Looking at all experts of the item.
        if (state_q == Wait) begin
            own_cnt_q    <= is_static ? 5'(group_own) : '0;
            remote_cnt_q <= '0;
            member_q     <= '0;
            bad_q        <= 1'b0;
            first_q      <= TgtW'(group_q);
        end else if (state_q == Scan && !none) begin
            bad_q <= bad_q || unmapped;
            if (mine) begin
                own_cnt_q <= own_cnt_q + 1'b1;
            end else begin
                member_q[gpu] <= 1'b1;
                if (mode_q == Dynamic || !member_q[gpu]) remote_cnt_q <= remote_cnt_q + 1'b1;
                if (remote_cnt_q == '0) first_q <= {id[ExpIdxW-1:0], j_q[3:0]};
            end
        end

        if (state_q == Scan || (state_q == Targets && !flush_q)) j_q <= j_q + 1'b1;
        else if (state_q != Targets)                             j_q <= '0;

        // GPUs after the own one, in the order of R.
        if (state_q == Head)                            q_q <= next_gpu(GpuW'(cfg_i.port));
        else if (state_q == Targets && !flush_q)        q_q <= next_gpu(q_q);

        // Targets not yet placed.
        if (begin_pkt) send_q <= (kind_d != Row) ? remote_cnt_q : bad_q ? '0 : own_cnt_q;
        else if (place || (head_done && kind_q == Req)) send_q <= send_q - 1'b1;

        if (state_q == Head || (state_q == Targets && fire)) lane_q <= '0;
        else if (place)                                      lane_q <= lane_q + 1'b1;
        if (place) targets_q[lane_q] <= target;
    end

    function automatic logic [GpuW-1:0] next_gpu(input logic [GpuW-1:0] g);
        return (g == GpuW'(N - 1)) ? '0 : g + 1'b1;
    endfunction

    // ---- outputs ------------------------------------------------------------------
    always_comb begin
        header         = '0;
        header.opcode  = is_static ? OP_MULTIMEM_LD_REDUCE : OP_DYMULTIMEM_LD_REDUCE;
        header.cls     = CLS_REQ;
        header.src     = cfg_i.port;
        header.len     = (!is_static && kind_q != Req) ? 15'(index_q) : (is_static && last_item) ? 15'(last_len_q) << LogF : cfg_i.row_bytes;
        header.cnt     = send_q;
        header.epoch   = cfg_i.epoch;
        header.stage   = STAGE_COMBINE;
        header.dtype   = red.dtype;
        header.redop   = red.redop;
        header.addr    = 48'(addr_q);
        header.target0 = 16'(first_q);
        if (kind_q != Req) begin
            header.dst    = cfg_i.port;
            header.tag[1] = more;
            header.tag[2] = mode_q != Sum && remote;
            header.tag[3] = mode_q == Sum && kind_q == Row;
            header.tag[4] = kind_q == Slots;
            header.tag[5] = bad_q;
            header.tag[6] = mode_q == Sum && kind_q == Row && remote;
        end
    end

    if (HF == 1) begin : gen_header1
        assign req_data_o = (state_q == Head) ? header : flit;
    end else begin : gen_header2
        assign req_data_o = (state_q != Head) ? flit : beat_q ? header[FW +: FW] : header[0 +: FW];
    end

    assign req_valid_o    = kind_q == Req && (state_q == Head || flush_q);
    assign own_valid_o    = kind_q != Req && ((state_q == Head && open_q < open_limit) || flush_q);
    assign req_last_o     = pkt_last;
    assign own_static_o   = is_static;
    assign static_delta_o = delta_q;
    assign tok_done_o     = row_done_i && !row_more_i && (mode_q == Dynamic || mode_q == Sum);

    logic looked_at;
    assign looked_at = state_q == Shift && state_d != Shift;

    always_ff @(posedge clk_i) begin
        err_valid_o <= rst_ni && ((looked_at && bad_q && own_part) || (take && (!known || outside || strange)));
        err_code_o  <= (!busy_q && !known) ? ERR_INSTR : (!busy_q && strange) ? ERR_REDUCTION : (busy_q && bad_q) ? ERR_UNMAPPED : ERR_BOUNDS;
    end

    assign idle_o = !busy_q;

    logic unused;
    assign unused = ^{cfg_i, cmd_i, emap_data_i, group_data_i, rdy_token_i, own_base_i};
endmodule

`default_nettype wire
