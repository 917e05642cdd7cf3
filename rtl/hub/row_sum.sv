// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Sums rows of GPU memory packet by packet: partial sums for the switch, own output rows, the two sums of unicast.
//
// Contexts 0 .. N-1 are the requesters (the own port's: rows that end in own memory); context N (AUX) has the rows that unicast sums without an
// answer from the wire. A context gives its rows in order; contexts are served in turn, one packet each.
//
//   context          terms of a packet                  goes to
//   requester        rows of own experts                PARTIAL packet on part_*
//   own port         rows of own experts, then R        port OUT, row address from dest_*
//   AUX, aux_st_i    rows of own experts                ST packet on sst_*, address from dest_*
//   AUX              slots of the other GPUs            R, in the place of packets from the wire
//
// R is the reduced row from the wire (res_*) or from AUX. The first pass adds two terms, each further pass one; a
// single term passes through; no term at all gives zeros. A packet begins only when everything that could make it wait is there: the credit of the
// requester, places in the output queue for all of it, the whole packet of R. So nothing in the pipeline ever waits but for memory reads, and no context
// for another. Passes are put into queues ahead of the data: without memory conflicts one flit enters the adder every cycle,
// across passes and packets (packets of 6 flits or more; shorter ones wait for their own sums).
//
// Back-pressure: part_, sst_, out_wr_ may stall for any time; only contexts that need them wait. Worst case for a context: one packet of every
// other context. A poisoned packet of a requester carries the mark, own rows with a poisoned packet keep what memory held there.
`default_nettype none

module row_sum #(
    parameter int unsigned N         = 4,
    parameter int unsigned FlitBytes = 8,
    parameter int unsigned AddrW     = 11,   // of a flit
    parameter int unsigned PartPkts  = 4,    // credits of one requester
    localparam int unsigned FW     = 8 * FlitBytes,
    localparam int unsigned Ctx    = N + 1,
    localparam int unsigned CtxW   = $clog2(Ctx),
    localparam int unsigned FlitsW = 16 - $clog2(FlitBytes)  // flits of a row
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire logic                go_i,
    input  wire node_pkg::node_cfg_t cfg_i,
    input  wire logic                aux_st_i,       // what the rows of AUX are for; constant while there are any

    // rows that are set up
    input  wire logic [Ctx-1:0]      row_pend_i,     // the context has one
    input  wire logic                row_own_r_i,    // the own context's next row ends with R
    output logic [CtxW-1:0]          row_ctx_o,      // the row below is this context's first
    input  wire logic [4:0]          row_terms_i,
    input  wire logic                row_use_r_i,
    input  wire logic                row_poison_i,
    input  wire logic [4:0]          row_dst_i,      // AUX: home of an ST row
    input  wire logic [FlitsW-1:0]   row_flits_i,
    output logic                     row_pop_o,      // its last packet is under way
    output logic                     term_re_o,
    output logic [3:0]               term_idx_o,
    input  wire logic                term_valid_i,   // term_addr_i is the address of the term asked for in the last cycle
    input  wire logic [AddrW-1:0]    term_addr_i,
    input  wire logic                dest_valid_i,   // where own and ST rows go, in their order
    output logic                     dest_ready_o,
    input  wire logic [AddrW-1:0]    dest_addr_i,
    output logic                     row_done_o,     // own row in memory, or last flit of an ST row sent

    output logic                     suma_rd_valid_o,
    input  wire logic                suma_rd_ready_i,
    output logic [AddrW-1:0]         suma_rd_addr_o,
    input  wire logic                suma_rd_rvalid_i,
    input  wire logic [FW-1:0]       suma_rd_rdata_i,
    output logic                     sumb_rd_valid_o,
    input  wire logic                sumb_rd_ready_i,
    output logic [AddrW-1:0]         sumb_rd_addr_o,
    input  wire logic                sumb_rd_rvalid_i,
    input  wire logic [FW-1:0]       sumb_rd_rdata_i,

    output logic                     out_wr_valid_o,
    input  wire logic                out_wr_ready_i,
    output logic [AddrW-1:0]         out_wr_addr_o,
    output logic [FW-1:0]            out_wr_data_o,
    output logic [FlitBytes-1:0]     out_wr_be_o,

    input  wire logic                res_valid_i,
    output logic                     res_ready_o,
    input  wire logic [FW-1:0]       res_data_i,
    input  wire logic                res_last_i,

    output logic                     part_valid_o,
    input  wire logic                part_ready_i,
    output logic [FW-1:0]            part_data_o,
    output logic                     part_last_o,
    output logic                     sst_valid_o,
    input  wire logic                sst_ready_i,
    output logic [FW-1:0]            sst_data_o,
    output logic                     sst_last_o,
    input  wire logic                part_crd_valid_i,
    input  wire logic [4:0]          part_crd_port_i,

    output logic                     err_valid_o,    // a poisoned result came
    output logic                     idle_o
);
    import packet_pkg::*;

    localparam int unsigned PF    = 128 / FlitBytes;
    localparam int unsigned IdxW  = $clog2(PF);
    localparam int unsigned LogF  = $clog2(FlitBytes);
    localparam int unsigned HF    = 16 / FlitBytes;
    localparam int unsigned OutDepth = 32;
    localparam int unsigned RoomW = $clog2(OutDepth + 1);
    localparam int unsigned ResPkts  = 2;               // packets of R that AUX may make ahead
    localparam int unsigned ResDepth = ResPkts * PF;
    localparam int unsigned WholeW = $clog2(ResDepth + 1);
    localparam int unsigned CrdW  = $clog2(PartPkts + 1);
    localparam int unsigned DstW  = (N > 1) ? $clog2(N) : 1;

    typedef enum logic [1:0] {Part, St, Own, Res} kind_e;

    // What leaves the adder with a flit.
    typedef struct packed {
        kind_e           kind;
        logic [DstW-1:0] dst;
        logic            poison;
        logic            row_last;  // last packet of its row
        logic [IdxW-1:0] count;     // flits of the packet less 1
    } tag_t;

    typedef struct packed {
        logic need_a;
        logic need_r;
        logic first;
        logic pair;
        logic last;
        tag_t tag;
    } pass_t;

    // ---- choice of the next packet ------------------------------------------------
    typedef enum logic [1:0] {Pick, Load, Terms} state_e;
    state_e state_q;

    logic [Ctx-1:0]  ready_ctx, grant;
    logic [CtxW-1:0] pick, ctx_q;
    logic [N-1:0][CrdW-1:0] used_q;   // PART credits in use
    logic [CrdW-1:0] limit;
    logic [RoomW-1:0] part_room_q, own_room_q;
    logic [WholeW-1:0] whole_q;       // packets of R that no packet has claimed
    logic [1:0] ahead_q;              // packets of R under way from AUX or waiting
    logic part_room, own_room;

    assign limit     = (cfg_i.part_credits == '0 || cfg_i.part_credits > 8'(PartPkts)) ? CrdW'(PartPkts) : CrdW'(cfg_i.part_credits);
    assign part_room = part_room_q >= RoomW'(PF);
    assign own_room  = own_room_q >= RoomW'(PF);

    always_comb begin
        for (int unsigned c = 0; c < N; c++) begin
            ready_ctx[c] = row_pend_i[c] && ((5'(c) == cfg_i.port) ? own_room && (!row_own_r_i || whole_q != '0)
                                                                   : part_room && used_q[c] < limit);
        end
        ready_ctx[N] = row_pend_i[N] && (aux_st_i ? part_room : ahead_q < 2'(ResPkts));
    end

    rr_arb #(.N(Ctx)) i_arb (
        .clk_i, .rst_ni, .clear_i(go_i), .req_i(ready_ctx), .grant_o(grant), .idx_o(pick), .advance_i(state_q == Pick && ready_ctx != '0)
    );

    // ---- passes of a packet -------------------------------------------------------
    logic [Ctx-1:0]    started_q;     // the offset of the context's row is in the memory
    logic [FlitsW-1:0] offset, offset_mem, left, offset_q;
    logic              own, aux, load, row_last;
    logic [IdxW-1:0]   count;
    tag_t              tag_q;
    logic [4:0]        terms_q, step_q, last_step;
    logic              use_r_q, single, is_term, to_b, final_step, advance, pass_done;
    logic              a_ready, b_ready, d_ready;
    logic [AddrW-1:0]  addr;
    pass_t             pass_in;

    assign row_ctx_o = ctx_q;
    assign own       = 5'(ctx_q) == cfg_i.port && !aux;
    assign aux       = ctx_q == CtxW'(N);
    assign load      = state_q == Load;
    assign offset    = started_q[ctx_q] ? offset_mem : '0;
    assign left      = row_flits_i - offset;
    assign row_last  = left <= FlitsW'(PF);
    assign count     = row_last ? IdxW'(left - 1'b1) : '1;

    lutram #(
        .Width(FlitsW),
        .Depth(Ctx)
    ) i_offset (
        .clk_i,
        .we_i    (load),
        .waddr_i (ctx_q),
        .wdata_i (offset + FlitsW'(PF)),
        .raddr_i (ctx_q),
        .rdata_o (offset_mem)
    );

    // A single term with R is read by port B, because R takes A's way into the adder.
    assign single     = terms_q == 5'd1;
    assign is_term    = step_q != terms_q;
    assign last_step  = (single || !use_r_q) ? ((terms_q == '0) ? '0 : terms_q - 1'b1) : terms_q;
    assign final_step = step_q == last_step;
    assign to_b       = single ? use_r_q : step_q == 5'd1;
    assign pass_done  = terms_q < 5'd2 || step_q != '0;
    assign advance    = state_q == Terms && (term_valid_i || !is_term) && a_ready && b_ready && d_ready;
    assign addr       = term_addr_i + AddrW'(offset_q);

    assign term_re_o  = load || state_q == Terms;
    assign term_idx_o = load ? '0 : step_q[3:0] + 4'(advance);
    assign row_pop_o  = advance && final_step && tag_q.row_last;

    always_comb begin
        pass_in.need_a = is_term && !(single && use_r_q);
        pass_in.need_r = use_r_q && final_step;
        pass_in.first  = terms_q < 5'd2 || step_q == 5'd1;
        pass_in.pair   = is_term && to_b;
        pass_in.last   = final_step;
        pass_in.tag    = tag_q;
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            state_q   <= Pick;
            started_q <= '0;
        end else begin
            unique case (state_q)
                Pick:    if (ready_ctx != '0) state_q <= Load;
                Load:    state_q <= Terms;
                default: if (advance && final_step) state_q <= Pick;
            endcase
            if (load) started_q[ctx_q] <= !row_last;
        end
        if (state_q == Pick) ctx_q <= pick;
        if (load) begin
            tag_q.kind     <= aux ? (aux_st_i ? St : Res) : own ? Own : Part;
            tag_q.dst      <= aux ? DstW'(row_dst_i) : DstW'(ctx_q);
            tag_q.poison   <= row_poison_i;
            tag_q.row_last <= row_last;
            tag_q.count    <= count;
            terms_q        <= row_terms_i;
            use_r_q        <= row_use_r_i;
            offset_q       <= offset;
            step_q         <= '0;
        end else if (advance) begin
            step_q <= step_q + 1'b1;
        end
    end

    // ---- credits and places, taken when a packet begins ---------------------------
    logic part_pop, own_pop, res_in_last, claim;

    assign claim = load && own && row_use_r_i;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            used_q      <= '0;
            part_room_q <= RoomW'(OutDepth);
            own_room_q  <= RoomW'(OutDepth);
            whole_q     <= '0;
            ahead_q     <= '0;
        end else begin
            for (int unsigned c = 0; c < N; c++) begin
                if ((load && !aux && !own && ctx_q == CtxW'(c)) != (part_crd_valid_i && part_crd_port_i == 5'(c))) begin
                    used_q[c] <= used_q[c] + ((part_crd_valid_i && part_crd_port_i == 5'(c)) ? '1 : CrdW'(1));
                end
            end
            part_room_q <= part_room_q + RoomW'(part_pop) - ((load && (aux ? aux_st_i : !own)) ? RoomW'(count) + 1'b1 : '0);
            own_room_q  <= own_room_q + RoomW'(own_pop) - ((load && own) ? RoomW'(count) + 1'b1 : '0);
            if (res_in_last != claim) whole_q <= whole_q + (claim ? '1 : WholeW'(1));
            if ((load && aux && !aux_st_i) != (claim && ahead_q != '0)) ahead_q <= ahead_q + (load && aux && !aux_st_i ? 2'd1 : '1);
        end
    end

    // ---- operands and adder -------------------------------------------------------
    logic            a_valid, a_pop, b_valid, r_valid, d_valid, fire, acc_ready, acc_valid, acc_busy, r_poison;
    logic [FW-1:0]   a_data, b_data, r_data, acc_data;
    pass_t           pass;
    logic [IdxW-1:0] idx_q;
    logic            idx_last;
    logic            acc_end;
    tag_t            tag_in, acc_tag;

    sum_operand #(.FlitBytes(FlitBytes), .AddrW(AddrW)) i_a (
        .clk_i, .rst_ni,
        .cmd_valid_i (advance && is_term && (!to_b)), .cmd_ready_o(a_ready), .cmd_addr_i(addr), .cmd_last_i(tag_q.count),
        .rd_valid_o  (suma_rd_valid_o), .rd_ready_i(suma_rd_ready_i), .rd_addr_o(suma_rd_addr_o),
        .rd_rvalid_i (suma_rd_rvalid_i), .rd_rdata_i(suma_rd_rdata_i),
        .valid_o     (a_valid), .ready_i(a_pop), .data_o(a_data)
    );

    sum_operand #(.FlitBytes(FlitBytes), .AddrW(AddrW)) i_b (
        .clk_i, .rst_ni,
        .cmd_valid_i (advance && is_term && to_b), .cmd_ready_o(b_ready), .cmd_addr_i(addr), .cmd_last_i(tag_q.count),
        .rd_valid_o  (sumb_rd_valid_o), .rd_ready_i(sumb_rd_ready_i), .rd_addr_o(sumb_rd_addr_o),
        .rd_rvalid_i (sumb_rd_rvalid_i), .rd_rdata_i(sumb_rd_rdata_i),
        .valid_o     (b_valid), .ready_i(fire && pass.pair), .data_o(b_data)
    );

    logic [4:0] unused_pass_level;
    fifo #(
        .Width($bits(pass_t)),
        .Depth(16)
    ) i_pass (
        .clk_i, .rst_ni,
        .valid_i (advance && pass_done), .ready_o(d_ready), .data_i(pass_in),
        .valid_o (d_valid), .ready_i(fire && idx_last), .data_o(pass),
        .level_o (unused_pass_level)
    );

    assign idx_last = idx_q == pass.tag.count;
    assign fire     = d_valid && acc_ready && (!pass.need_a || a_valid) && (!pass.pair || b_valid) && (!pass.need_r || r_valid);
    assign a_pop    = fire && pass.need_a;

    always_comb begin
        tag_in = pass.tag;
        tag_in.poison |= pass.need_r && r_poison;
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni)   idx_q <= '0;
        else if (fire) idx_q <= idx_last ? '0 : idx_q + 1'b1;
    end

    packet_acc #(
        .FlitBytes(FlitBytes),
        .MetaWidth($bits(tag_t) + 1)
    ) i_acc (
        .clk_i, .rst_ni,
        .valid_i (fire), .ready_o(acc_ready), .idx_i(idx_q), .first_i(pass.first), .pair_i(pass.pair),
        .a_i     (b_data),
        .b_i     (pass.need_a ? a_data : pass.need_r ? r_data : '0),
        .last_i  (pass.last), .meta_i({idx_last, tag_in}),
        .valid_o (acc_valid), .data_o(acc_data), .meta_o({acc_end, acc_tag}),
        .busy_o  (acc_busy)
    );

    // ---- R: from the wire without headers, or from AUX ----------------------------
    localparam int unsigned HBeatW = (HF > 1) ? $clog2(HF + 1) : 1;
    logic [HBeatW-1:0] res_beat_q;
    logic res_payload, res_poison_q, res_fire, r_ready, aux_in;

    // poison is bit 56 of the header
    localparam int unsigned PoisonBit = 56;

    assign aux_in      = acc_valid && acc_tag.kind == Res;
    assign res_payload = res_beat_q == HBeatW'(HF);
    assign res_ready_o = !res_payload || (r_ready && !aux_in);
    assign res_fire    = res_valid_i && res_ready_o;
    assign res_in_last = (aux_in && acc_end) || (res_fire && res_payload && res_last_i);

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            res_beat_q <= '0;
        end else if (res_fire) begin
            if (res_last_i)        res_beat_q <= '0;
            else if (!res_payload) res_beat_q <= res_beat_q + 1'b1;
        end
        if (res_fire && res_beat_q == '0) res_poison_q <= res_data_i[PoisonBit];
        err_valid_o <= rst_ni && res_fire && res_beat_q == '0 && res_data_i[PoisonBit];
    end

    logic [WholeW-1:0] unused_res_level;
    fifo #(
        .Width(FW + 1),
        .Depth(ResDepth)
    ) i_res (
        .clk_i, .rst_ni,
        .valid_i (aux_in || (res_valid_i && res_payload)), .ready_o(r_ready),
        .data_i  (aux_in ? {acc_tag.poison, acc_data} : {res_poison_q, res_data_i}),
        .valid_o (r_valid), .ready_i(fire && pass.need_r), .data_o({r_poison, r_data}),
        .level_o (unused_res_level)
    );

    // ---- own rows -----------------------------------------------------------------
    logic             own_valid, own_end, own_poison;
    logic             dest_q;           // dest_addr_q is the address of the next flit
    logic [AddrW-1:0] dest_addr_q;
    logic             st_pop, st_row_last, flit_out, row_end;

    logic [RoomW-1:0] unused_own_level;
    logic unused_own_ready;
    fifo #(
        .Width(FW + 2),
        .Depth(OutDepth)
    ) i_own (
        .clk_i, .rst_ni,
        .valid_i (acc_valid && acc_tag.kind == Own), .ready_o(unused_own_ready),
        .data_i  ({acc_end && acc_tag.row_last, acc_tag.poison, acc_data}),
        .valid_o (own_valid), .ready_i(own_pop), .data_o({own_end, own_poison, out_wr_data_o}),
        .level_o (unused_own_level)
    );

    assign out_wr_valid_o = own_valid && dest_q && !own_poison;
    assign out_wr_addr_o  = dest_addr_q;
    assign out_wr_be_o    = '1;
    assign own_pop        = own_valid && dest_q && (own_poison || out_wr_ready_i);

    assign flit_out     = own_pop || st_pop;
    assign row_end      = (own_pop && own_end) || (st_pop && st_row_last);
    assign dest_ready_o = !dest_q || row_end;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            dest_q     <= 1'b0;
            row_done_o <= 1'b0;
        end else begin
            if (dest_ready_o) dest_q <= dest_valid_i;
            row_done_o <= row_end;
        end
        if (dest_ready_o)  dest_addr_q <= dest_addr_i;
        else if (flit_out) dest_addr_q <= dest_addr_q + 1'b1;
    end

    // ---- packets to the uplink ----------------------------------------------------
    logic          pkt_valid, pkt_end, pkt_go, pkt_fire, pkt_payload, pkt_st;
    logic [HBeatW-1:0] pkt_beat_q;
    logic [FW-1:0] pkt_flit, pkt_data;
    tag_t          pkt_tag;
    header_t       pkt_header;

    logic [RoomW-1:0] unused_pkt_level;
    logic unused_pkt_ready;
    fifo #(
        .Width(FW + $bits(tag_t) + 1),
        .Depth(OutDepth)
    ) i_pkt (
        .clk_i, .rst_ni,
        .valid_i (acc_valid && (acc_tag.kind == Part || acc_tag.kind == St)), .ready_o(unused_pkt_ready),
        .data_i  ({acc_end, acc_tag, acc_data}),
        .valid_o (pkt_valid), .ready_i(part_pop), .data_o({pkt_end, pkt_tag, pkt_flit}),
        .level_o (unused_pkt_level)
    );

    assign pkt_st      = pkt_tag.kind == St;
    assign pkt_go      = pkt_valid && (!pkt_st || dest_q);
    assign pkt_payload = pkt_beat_q == HBeatW'(HF);
    assign pkt_fire    = pkt_go && (pkt_st ? sst_ready_i : part_ready_i);
    assign part_pop    = pkt_fire && pkt_payload;
    assign st_pop      = part_pop && pkt_st;
    assign st_row_last = pkt_end && pkt_tag.row_last;

    always_comb begin
        pkt_header        = '0;
        pkt_header.opcode = pkt_st ? OP_ST : OP_PARTIAL;
        pkt_header.cls    = pkt_st ? CLS_STORE : CLS_PART;
        pkt_header.src    = cfg_i.port;
        pkt_header.dst    = 5'(pkt_tag.dst);
        pkt_header.len    = 15'((15'(pkt_tag.count) + 15'd1) << LogF);
        pkt_header.epoch  = cfg_i.epoch;
        pkt_header.stage  = STAGE_COMBINE;
        pkt_header.poison = pkt_tag.poison;
        pkt_header.addr   = pkt_st ? 48'(dest_addr_q) << LogF : '0;
    end

    if (HF == 1) begin : gen_header1
        assign pkt_data = pkt_payload ? pkt_flit : pkt_header;
    end else begin : gen_header2
        assign pkt_data = pkt_payload ? pkt_flit : pkt_beat_q[0] ? pkt_header[FW +: FW] : pkt_header[0 +: FW];
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            pkt_beat_q <= '0;
        end else if (pkt_fire) begin
            pkt_beat_q <= !pkt_payload ? pkt_beat_q + 1'b1 : pkt_end ? '0 : pkt_beat_q;
        end
    end

    assign part_valid_o = pkt_go && !pkt_st;
    assign part_data_o  = pkt_data;
    assign part_last_o  = pkt_payload && pkt_end;
    assign sst_valid_o  = pkt_go && pkt_st;
    assign sst_data_o   = pkt_data;
    assign sst_last_o   = pkt_payload && pkt_end;

    assign idle_o = state_q == Pick && !d_valid && !acc_busy && !own_valid && !pkt_valid && !r_valid && !res_valid_i && row_pend_i == '0;

    logic unused;
    assign unused = ^{grant, row_dst_i, offset_q, cfg_i};
endmodule

`default_nettype wire
