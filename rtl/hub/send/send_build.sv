// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Back of send: makes packets of transfers.
//
// Function: A transfer is a range of payload bytes for consecutive addresses, cut into packets of
// 128 bytes, or of 32 in the order of scatter_order. The last one is shorter. A packet goes to the
// uplink stream (st_*), to the local stream (loc_*), or to both with the same payload, each with
// its own header and target list. An output is two registers joined by an OR: the common part
// (payload, common header fields), which is kept once, and the stream's own part. Each is 0 where
// the other has the bits. The last packet of a unicast row (META) is packed here from three parts:
// token index, k weights, k expert IDs. Weights and IDs come as flits that start with their first
// element. The parts are joined in words of 32 bits.
// Order: Payload flits come in order from pay_*. job_* is taken with the last flit of the previous
// transfer.
// Back-pressure: A flit that waits in either stream stops both.
// Latency: A packet takes HF + max(target flits) + payload flits cycles while payload is available
// and both streams take it. Transfers follow each other without a gap.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module send_build #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type stream_t = `MW_STREAM(Cfg),
    parameter type flit_t = `MW_FLIT(Cfg),
    parameter type targets_t = `MW_TARGETS(Cfg),
    parameter int unsigned PktsW = 8,  // of a packet's number inside a transfer
    parameter int unsigned AddrW = 48,  // bits of an address that may be set
    parameter type job_t = logic  // see send
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire node_pkg::node_cfg_t cfg_i,
    input  wire bundle_pkg::sends_t  sends_i,  // constant during an instruction

    input  wire logic job_valid_i,
    output logic      job_take_o,
    input  wire job_t job_i,

    output bundle_pkg::target_at_t at_o,
    input  wire targets_t          remote_i,
    input  wire targets_t          own_i,

    input  wire flit_t pay_i,
    output logic       pay_take_o,

    output stream_t   st_o,
    input  wire logic st_ready_i,
    output stream_t   loc_o,
    input  wire logic loc_ready_i,
    output logic      idle_o,     // of an instruction's packets, not those of loaded rows
    output logic      all_idle_o  // of any
);
    import packet_pkg::*;
    localparam int unsigned WW = $clog2(Cfg.Words);
    localparam int unsigned SumW = Cfg.MemBytesLog2 + 1;  // address bits that a transfer's
                                                          // packets may carry into

    // ---- the transfer ---------------------------------------------------------------------------
    logic active_q, st_q, loc_q, gate_q, cut_q, meta, dyn, rowsp, follows;
    logic [AddrW-1:0] addr_q;
    logic [PktsW-1:0] pkts_q, pkt_q;
    logic [6:0] tail_q, len_last;
    port_t dst_q;
    logic [4:0] remote_q, own_q, remote, own;  // targets of the transfer; of the packet
    logic [Cfg.TokW-1:0] token_q;
    logic answer_q, poison_q;  // a row that is loaded
    logic [15:0] ref_q;
    bundle_pkg::sends_t sends;
    logic last_pkt, step, pay_step, head_step, pkt_end, job_end;
    logic out_answer_q;  // the flits that are offered are an answer's
    logic once;  // the first packet of a token carries its targets, for all of them
    logic by_switch;  // gate weights on the uplink make the switch open the reduction

    assign once = Cfg.TargetListCache && cfg_i.target_list_cache;
    assign by_switch = Cfg.SwitchReductions && cfg_i.switch_reductions;

    always_comb begin
        sends = sends_i;
        if (answer_q) begin
            sends = '0;
            sends.opcode = OP_LD_RESP;
            sends.group = ref_q;
        end
    end

    assign rowsp = Cfg.RowSparse && sends.rowsp;
    assign dyn = sends.opcode == OP_DYMULTIMEM_ST || rowsp;
    assign meta = sends.meta && gate_q;
    assign follows = once && dyn && !rowsp && !sends.flat && (pkt_q != '0 || gate_q);
    assign remote = rowsp ? 5'd1 : (dyn && !follows) ? remote_q : '0;
    assign own = (dyn && !follows) ? own_q : '0;
    assign last_pkt = pkt_q == pkts_q;
    assign len_last = !last_pkt ? (cut_q ? 7'd31 : 7'd127)
                      : meta ? 7'({cfg_i.k, 2'b00} + 7'({cfg_i.k, 1'b0}) + 7'd3) : tail_q;
    assign job_end = pkt_end && last_pkt;
    assign job_take_o = job_valid_i && (!active_q || job_end);
    assign idle_o = !(active_q && !answer_q) && !((st_o.valid || loc_o.valid) && !out_answer_q);
    assign all_idle_o = !active_q && !st_o.valid && !loc_o.valid;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) active_q <= 1'b0;
        else if (job_take_o) active_q <= 1'b1;
        else if (job_end) active_q <= 1'b0;
        if (!rst_ni || job_take_o) pkt_q <= '0;
        else if (pkt_end) pkt_q <= pkt_q + 1'b1;
        if (job_take_o) begin
            st_q <= job_i.st;
            loc_q <= job_i.loc;
            addr_q <= job_i.addr;
            pkts_q <= job_i.pkts;
            tail_q <= job_i.tail;
            gate_q <= job_i.gate;
            cut_q <= job_i.cut;
            dst_q <= job_i.dst;
            at_o.list <= job_i.list_no;
            at_o.nth <= job_i.nth;
            remote_q <= job_i.remote;
            own_q <= job_i.own;
            token_q <= job_i.token;
            answer_q <= job_i.answer;
            poison_q <= job_i.poison;
            ref_q <= job_i.ref_;
        end
    end

    // ---- place inside the packet ----------------------------------------------------------------
    // Header and target flits count up in head_q, both streams in step;
    // then payload flits in flit_q.
    logic room, in_pay_q, st_tgt, loc_tgt, head_last, flit_last, pay_ready;
    logic [2:0] head_q, word;
    logic [Cfg.PayW-1:0] flit_q;

    // Target flits of a list of c targets: ceil((c - 1) / (F / 2)), also right for 0.
    function automatic logic [2:0] target_flits(input logic [4:0] c);
        return 3'((6'(c) + 6'(Cfg.Lanes - 2)) >> (Cfg.FlitLog2 - 1));
    endfunction

    assign room = (!st_o.valid || st_ready_i) && (!loc_o.valid || loc_ready_i);
    assign word = head_q - 3'(Cfg.HeadFlits - 1);  // 0 beside target 0, then the number of
                                                   // the target flit + 1
    assign at_o.word = word;
    assign st_tgt = st_q && word < target_flits(remote);
    assign loc_tgt = loc_q && word < target_flits(own);
    assign head_last = word != '1 && !st_tgt && !loc_tgt;
    assign flit_last = flit_q == len_last[6:Cfg.FlitLog2];
    assign head_step = active_q && !in_pay_q && room;
    assign pay_step = active_q && in_pay_q && room && pay_ready;
    assign step = head_step || pay_step;
    assign pkt_end = pay_step && flit_last;

    always_ff @(posedge clk_i) begin
        if (!rst_ni || pkt_end) begin
            in_pay_q <= 1'b0;
            head_q <= '0;
            flit_q <= '0;
        end else begin
            if (head_step) begin
                in_pay_q <= head_last;
                head_q <= head_q + 1'b1;
            end
            if (pay_step) flit_q <= flit_q + 1'b1;
        end
    end

    // ---- payload --------------------------------------------------------------------------------
    // Words left from the flit before go out first: rot_q of them. Only META packets have any:
    // 1 (the token index) while weights come in, then (1 + k) mod Cfg.Words.
    logic [WW-1:0] rot_q;
    logic [31:0] turned[Cfg.Words];
    logic [Cfg.FlitW-1:0] pay_data;
    logic [3:0] in_q;  // flits taken for this packet
    logic weights_last, used_up, absorb, pay_use;

    // With k entries there are wl + 1 flits of weights, and as many of IDs as make `all` flits.
    logic [2:0] wl;
    logic [3:0] all;
    logic [WW-1:0] w_words;  // words of the last flit of weights, 0: all
    assign wl = 3'((cfg_i.k - 5'd1) >> WW);
    assign all = 4'(wl) + 4'd1 + 4'((cfg_i.k + 5'(2 * Cfg.Words - 1)) >> (WW + 1));
    assign w_words = cfg_i.k[WW-1:0];
    assign weights_last = meta && in_q == {1'b0, wl};
    assign used_up = meta && in_q == all;
    assign absorb = weights_last && w_words != '0 && {1'b0, w_words} < (WW + 1)'(Cfg.Words - 1);
    assign pay_use = active_q && in_pay_q && pay_i.valid && !used_up && room;
    assign pay_ready = used_up || (pay_i.valid && !absorb);
    assign pay_take_o = pay_use;

    for (genvar l = 0; l < Cfg.Words; l++) begin : gen_word
        logic [WW-1:0] from;
        assign from = WW'(l) - rot_q;
        assign turned[l] = pay_i.data[32*from+:32];
        if (l == Cfg.Words - 1) begin : gen_top
            assign pay_data[32*l+:32] = turned[l];
        end else begin : gen_low
            logic [31:0] carry_q, left;  // word left of this flit, where there is any
            logic keep;
            assign keep = (WW + 1)'(l) < {1'b0, rot_q};
            assign left = (Cfg.Words == 2) ? pay_i.data[Cfg.FlitW-1-:32] : turned[l];
            assign pay_data[32*l+:32] = keep ? carry_q : turned[l];

            always_ff @(posedge clk_i) begin
                if (l == 0 && head_step) carry_q <= 32'(token_q);
                else if (pay_use && !(absorb && keep)) carry_q <= left;
            end
        end
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni || pkt_end) rot_q <= '0;
        else if (head_step && meta) rot_q <= WW'(1);
        else if (pay_use && weights_last) rot_q <= cfg_i.k[WW-1:0] + 1'b1;
        if (!in_pay_q) in_q <= '0;
        else if (pay_use) in_q <= in_q + 1'b1;
    end

    // ---- the two streams ------------------------------------------------------------------------
    // Headers are made inside the clocked block, so that simulation makes
    // them only when they leave.
    function automatic header_t head_own(input opcode_e op, input port_t dst, input logic [4:0] cnt,
                                         input logic [15:0] target0, input logic reduce,
                                         input logic home, input logic [RowBits-1:0] row);
        header_t h;
        h = '0;
        h.addr = 48'(row) << RowBit;
        h.opcode = op;
        {h.dst_far, h.dst} = dst;
        h.cnt = cnt;
        h.target0 = target0;
        h.reduce = reduce;
        h.own = home;
        return h;
    endfunction

    function automatic header_t head_both(input logic [47:0] addr, input logic [7:0] len,
                                          input logic gate, input port_t src,
                                          input logic [1:0] epoch);
        header_t h;
        h = '0;
        h.cls = CLS_STORE;
        {h.src_far, h.src} = src;
        h.len = 15'(len);
        h.epoch = epoch;
        h.dtype = sends.kind.dtype;
        h.redop = sends.kind.redop;
        h.stage = gate ? STAGE_GATE : sends.flat ? STAGE_FLAT : STAGE_DISPATCH;
        h.poison = poison_q;
        h.addr = addr;
        return h;
    endfunction

    logic multi, red, opens;
    logic [15:0] group;  // static group; of multimem.red with flags 1, imm plus the home
    opcode_e op;
    logic [47:0] addr;
    logic [7:0] len;
    // packets lie 128 bytes apart, or 32
    localparam int unsigned StepW = (Cfg.RpmEntries != 0) ? 5 : 7;
    logic [SumW:StepW] addr_sum, addr_step;
    if (Cfg.RpmEntries != 0) begin : gen_scatter
        logic [PktsW-1:0] place;
        scatter_order #(
            .Width(PktsW)
        ) i_order (
            .scatter_i(cfg_i.scatter),
            .index_i(pkt_q),
            .last_i(pkts_q),
            .place_o(place)
        );
        assign addr_step = cut_q ? (SumW - StepW + 1)'(place) : (SumW - StepW + 1)'({pkt_q, 2'd0});
    end else begin : gen_in_order
        assign addr_step = (SumW - StepW + 1)'(pkt_q);
    end
    assign red = sends.opcode == OP_MULTIMEM_RED;
    // ... and of a row that is loaded: target0 is the group's number, or what its FETCH said
    assign multi = sends.opcode == OP_MULTIMEM_ST || red || answer_q;
    assign group = (Cfg.SumEntries != 0 && red) ? sends.group + 16'(dst_q) : sends.group;
    assign opens = by_switch && dyn && !rowsp && gate_q && !sends.flat;
    assign op = (rowsp && gate_q) ? OP_ST_ROWSP_NOP : sends.opcode;
    assign len = 8'(len_last) + 8'd1;
    assign addr_sum = {1'b0, addr_q[SumW-1:StepW]} + addr_step;
    assign addr = 48'({
        addr_q[AddrW-1:SumW+1],
        addr_q[SumW] | addr_sum[SumW],
        addr_sum[SumW-1:StepW],
        addr_q[StepW-1:0]
    });

    logic head_half;  // F = 8: which half of the header
    assign head_half = (Cfg.HeadFlits == 2) && head_q[0];

    logic [Cfg.FlitW-1:0] both_q, st_own_q, loc_own_q;
    assign st_o.data = both_q | st_own_q;
    assign loc_o.data = both_q | loc_own_q;

    logic to_both;  // a header's or payload flit

    assign to_both = in_pay_q || head_q < 3'(Cfg.HeadFlits);

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            st_o.valid <= 1'b0;
            loc_o.valid <= 1'b0;
        end else begin
            if (step && st_q) st_o.valid <= to_both || word <= target_flits(remote);
            else if (st_ready_i) st_o.valid <= 1'b0;
            if (step && loc_q) loc_o.valid <= to_both || word <= target_flits(own);
            else if (loc_ready_i) loc_o.valid <= 1'b0;
        end
        if (step) begin
            out_answer_q <= answer_q;
            st_o.last <= pkt_end;
            loc_o.last <= pkt_end;
            st_own_q <= '0;
            loc_own_q <= '0;
            if (in_pay_q) begin
                both_q <= pay_data;
            end else if (head_q >= 3'(Cfg.HeadFlits)) begin
                both_q <= '0;
                st_own_q <= remote_i.flit;
                loc_own_q <= own_i.flit;
            end else begin
                both_q <= Cfg.FlitW'(head_both(
                    addr, len, dyn && gate_q, cfg_i.port, cfg_i.epoch
                ) >> (head_half ? Cfg.FlitW : 0));
                st_own_q <= Cfg.FlitW'(head_own(
                    op,
                    dst_q,
                    remote,
                    follows ? '0 : dyn ? remote_i.target0 : multi ? group : '0,
                    opens,
                    (opens && own_q != '0) || sends.merge,
                    (Cfg.SourceLists && sends.lists) ? remote_i.row : '0
                ) >> (head_half ? Cfg.FlitW : 0));
                loc_own_q <= Cfg.FlitW'(head_own(
                    rowsp ? OP_DYMULTIMEM_ST : (dyn || red || answer_q) ? sends.opcode : OP_ST,
                    cfg_i.port,
                    own,
                    (dyn && !follows) ? own_i.target0 : '0,
                    1'b0,
                    sends.merge,
                    '0
                ) >> (head_half ? Cfg.FlitW : 0));
            end
        end
    end

    `MW_STABLE(st_o.valid, st_ready_i, {st_o.last, st_o.data},
               "a flit for the uplink changes before it is taken")
    `MW_STABLE(loc_o.valid, loc_ready_i, {loc_o.last, loc_o.data},
               "a flit for this GPU changes before it is taken")
    `MW_CONTRACT(pay_take_o, pay_i.valid, "a payload flit is taken that is not there")
endmodule

`default_nettype wire
