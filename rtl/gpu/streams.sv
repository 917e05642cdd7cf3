// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Instruction streams of a GPU: fetches, decodes and issues the instructions of four streams, and counts events.
//
// Order: the instructions of a stream one after the other, the next when the one before has retired; streams are
// independent, a lower number is looked at first. One fetch is under way at a time, into one instruction register: an
// instruction costs about 6 cycles besides its run time. A stream that finds its unit busy drops the instruction and
// fetches it again when the unit is ready, so there is no queue of instructions. cmd_valid_o rises only while
// cmd_ready_i is high (a unit is ready when idle).
// A stream's base is a multiple of 128 bytes.
// Errors: an unknown instruction, a wait that no counter can end, or a 64th instruction that is not I_END: ERR_INSTR,
// the stream stops.
//
// Events: a pulse counts at once. EVENT packets may come in every cycle; FLAG and COUNTS packets, never two in one
// cycle, use the cycles between, and wait in a ring of 15. While that is full, and in the 16 cycles behind go in which
// these counters restart, EVENTs wait (ev_ready_o) and hold nothing but their credits. So one leaves a full ring in
// every cycle, and none is lost, whatever comes; in those 16 cycles the link brings at most eight of them. ACKs come
// last, one at most in a cycle without EVENT: fewer wait than fill their counter. A waiting stream is looked at every
// fourth cycle.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module streams #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    localparam int unsigned S = isa_pkg::Streams,
    localparam int unsigned Units = 5
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,
    input  wire logic go_i,
    /* verilator lint_off UNUSEDSIGNAL */  // a unit uses a part of the configuration
    input  wire node_pkg::node_cfg_t cfg_i,
    /* verilator lint_on UNUSEDSIGNAL */

    output `MW_READ(Cfg)        rd_o,
    input  wire logic           rd_ready_i,
    input  wire `MW_ANSWER(Cfg) rd_i,

    output logic            cmd_valid_o [Units], // 0 control, 1 send, 2 expert, 3 combine, 4 push
    input  wire logic       cmd_ready_i [Units],
    output isa_pkg::instr_t cmd_o,               // shared by all units
    input  wire logic       retire_i [Units],

    input  wire bundle_pkg::events_t ev_i,
    output logic                     ev_ready_o, // for an EVENT

    output logic               idle_o,      // every enabled stream has ended
    output logic [31:0]        state_o [S], // {state 18:16, opcode 15:8, next instruction 5:0}
    output bundle_pkg::error_t err_o
);
    import isa_pkg::*;

    localparam int unsigned HF   = InstrBytes / Cfg.FlitBytes;  // flits of an instruction
    localparam int unsigned IdxW = $clog2(StreamInstrs);
    localparam int unsigned Align  = 128;  // of a stream's base: 8 instructions
    localparam int unsigned BlockW = $clog2(Align / Cfg.FlitBytes);
    // counters of packets: more than all streams of all GPUs can send
    localparam int unsigned PktW = $clog2(Cfg.N * S * StreamInstrs) + 1;
    // of rows and tokens
    localparam int unsigned NumW = ((Cfg.RowsLog2 > Cfg.TokensLog2) ? Cfg.RowsLog2 : Cfg.TokensLog2) + 2;
    localparam int unsigned EvW  = (PktW > NumW) ? PktW : NumW;
    localparam logic [15:0] Counters = (16'd2 << EV_ACKS) - 16'd1;                     // those that there are

    typedef enum logic [2:0] {
        Off   = 3'd0,
        Fetch = 3'd1,  // wants its next instruction
        Unit  = 3'd2,  // as Fetch, once the unit is ready
        Run   = 3'd3,  // until the unit retires it
        Wait  = 3'd4   // for an event
    } state_e;

    // ---- streams ------------------------------------------------------------
    state_e          state_q [S];
    logic [2:0]      unit_q  [S];
    logic [7:0]      op_q    [S];
    logic [IdxW-1:0] idx_q   [S];
    logic [15:0]     delay_q;
    logic            started_q;

    // ---- the one fetch ------------------------------------------------------
    logic                    fetching_q, decode_q;
    logic [1:0]              cur_q;
    logic [$clog2(HF+1)-1:0] asked_q, got_q;

    logic       pick_valid;
    logic [1:0] pick;
    always_comb begin
        pick_valid = 1'b0;
        pick = '0;
        for (int s = S - 1; s >= 0; s--) begin
            if (state_q[s] == Fetch || (state_q[s] == Unit && cmd_ready_i[unit_q[s]])) begin
                pick_valid = 1'b1;
                pick = 2'(s);
            end
        end
    end

    logic [IdxW-1:0] cur_idx;
    assign cur_idx   = idx_q[cur_q];
    assign rd_o.addr[Cfg.AddrW-1:BlockW]   = cfg_i.stream_base[cur_q][Cfg.MemBytesLog2-1:$clog2(Align)]
                                             + (Cfg.AddrW-BlockW)'(cur_idx[IdxW-1:3]);
    assign rd_o.addr[BlockW-1:$clog2(HF)] = cur_idx[2:0];
    if (HF > 1) begin : gen_half
        assign rd_o.addr[$clog2(HF)-1:0] = asked_q[$clog2(HF)-1:0];
    end
    assign rd_o.valid = fetching_q && asked_q != ($clog2(HF+1))'(HF);

    // ---- decode -------------------------------------------------------------
    logic       is_end, is_wait, is_unit, bad, issue;
    logic [2:0] unit;
    always_comb begin
        is_end  = 1'b0;
        is_wait = 1'b0;
        is_unit = 1'b0;
        unit    = 3'd0;
        case (cmd_o.op)
            I_END:  is_end = 1'b1;
            // A threshold or a counter that does not exist would never be reached.
            I_WAIT: is_wait = cmd_o.a[31:EvW] == '0 && cmd_o.imm[15:4] == '0 && Counters[cmd_o.imm[3:0]];
            I_COUNT, I_PREFIX, I_SIGNAL, I_FLAG, I_FENCE: is_unit = 1'b1;
            I_ORDER: is_unit = Cfg.TokenOrder;
            I_DYMULTIMEM_ST, I_ST, I_ST_LINEAR, I_MULTIMEM_ST, I_MULTIMEM_RED: begin
                is_unit = 1'b1;
                unit    = 3'd1;
            end
            I_EXPERT, I_EXPERT_ROWS: begin
                is_unit = 1'b1;
                unit    = 3'd2;
            end
            I_DYMULTIMEM_LD_REDUCE, I_MULTIMEM_LD_REDUCE, I_SUM: begin
                is_unit = 1'b1;
                unit    = 3'd3;
            end
            I_SUM_ST: begin
                is_unit = 1'b1;
                unit    = 3'd4;
            end
            default: ;
        endcase
        bad   = !is_end && (!(is_wait || is_unit) || cur_idx == '1);
        issue = decode_q && is_unit && !bad;
        for (int unsigned u = 0; u < Units; u++) cmd_valid_o[u] = issue && unit == 3'(u) && cmd_ready_i[u];
    end

    logic [8*InstrBytes-1:0] cmd_bits_q;
    assign cmd_o = instr_t'(cmd_bits_q);
    always_ff @(posedge clk_i) begin
        for (int unsigned i = 0; i < HF; i++) begin
            if (rd_i.rvalid && got_q == ($clog2(HF+1))'(i)) cmd_bits_q[Cfg.FlitW*i +: Cfg.FlitW] <= rd_i.rdata;
        end
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) begin
            fetching_q <= 1'b0;
            decode_q   <= 1'b0;
        end else begin
            decode_q <= rd_i.rvalid && got_q == ($clog2(HF+1))'(HF - 1);
            if (!fetching_q) begin
                fetching_q <= pick_valid && started_q;
                cur_q      <= pick;
                asked_q    <= '0;
                got_q      <= '0;
            end else begin
                if (rd_o.valid && rd_ready_i) asked_q <= asked_q + 1'b1;
                if (rd_i.rvalid) got_q <= got_q + 1'b1;
                if (decode_q) fetching_q <= 1'b0;
            end
        end
        if (!rst_ni || go_i) begin
            delay_q   <= '0;
            started_q <= 1'b0;
        end else if (!started_q) begin
            delay_q   <= delay_q + 16'd1;
            started_q <= delay_q == cfg_i.start_delay;
        end
    end

    assign err_o.code = error_pkg::ERR_INSTR;
    always_ff @(posedge clk_i) err_o.valid <= rst_ni && decode_q && bad;

    logic       woken, look_q;
    logic [1:0] turn_q, looked_q;
    always_ff @(posedge clk_i) begin
        for (int unsigned s = 0; s < S; s++) begin
            if (!rst_ni) begin
                state_q[s] <= Off;
            end else if (go_i) begin
                state_q[s] <= cfg_i.stream_enable[s] ? Fetch : Off;
            end else if ((state_q[s] == Run && retire_i[unit_q[s]]) || (woken && looked_q == 2'(s))) begin
                state_q[s] <= Fetch;
            end else if (decode_q && cur_q == 2'(s)) begin
                state_q[s] <= (is_end || bad) ? Off : is_wait ? Wait : cmd_ready_i[unit] ? Run : Unit;
            end
            if (!rst_ni || go_i) begin
                idx_q[s] <= '0;
                op_q[s]  <= '0;
            end else if (decode_q && cur_q == 2'(s)) begin
                op_q[s]   <= cmd_o.op;
                unit_q[s] <= unit;
                if (is_wait || cmd_ready_i[unit]) idx_q[s] <= cur_idx + 1'b1;
            end
        end
    end

    always_comb begin
        idle_o = 1'b1;
        for (int unsigned s = 0; s < S; s++) begin
            if (state_q[s] != Off) idle_o = 1'b0;
            state_o[s] = {13'd0, state_q[s], op_q[s], 2'd0, idx_q[s]};
        end
    end

    // ---- counters of packets --------------------------------------------------
    // Software events, COUNTS and ACKS: one increment per cycle. Two copies: one for the increment, one for the waiting
    // streams.
    logic [4:0]      clear_q; // entries cleared since go; 16: done
    logic            ready, full, event_take, pkt_we;
    logic [3:0]      pkt_idx, in_idx, queue_idx, wait_idx;
    logic [PktW-1:0] pkt_old, pkt_new, pkt_value;
    logic [3:0]      wptr_q, rptr_q;
    logic            in_valid, queued;
    logic [5:0]      acks_q;

    assign in_valid = ev_i.flag_valid || ev_i.counts;
    assign in_idx   = ev_i.flag_valid ? 4'(ev_i.flag_idx) : EV_COUNTS;
    assign queued   = wptr_q != rptr_q;
    assign full     = wptr_q + 4'd1 == rptr_q;
    lutram #(.Width(4), .Depth(16)) i_queue (
        .clk_i, .we_i(in_valid), .waddr_i(wptr_q), .wdata_i(in_idx), .raddr_i(rptr_q), .rdata_o(queue_idx)
    );

    assign ready      = clear_q[4];
    assign ev_ready_o = ready && !full;
    assign event_take = ev_i.event_valid && ev_ready_o;
    assign pkt_we  = !ready || event_take || queued || acks_q != '0;
    assign pkt_idx = !ready ? clear_q[3:0] : event_take ? 4'(ev_i.event_idx) : queued ? queue_idx : EV_ACKS;
    assign pkt_new = (pkt_old + PktW'(1)) & {PktW{ready}};

    lutram #(.Width(PktW), .Depth(Events)) i_count (
        .clk_i, .we_i(pkt_we), .waddr_i(pkt_idx), .wdata_i(pkt_new), .raddr_i(pkt_idx), .rdata_o(pkt_old)
    );
    lutram #(.Width(PktW), .Depth(Events)) i_count_wait (
        .clk_i, .we_i(pkt_we), .waddr_i(pkt_idx), .wdata_i(pkt_new), .raddr_i(wait_idx), .rdata_o(pkt_value)
    );

    always_ff @(posedge clk_i) begin
        logic ack_out;
        ack_out = ready && !event_take && !queued && acks_q != '0;
        if (!rst_ni || go_i) begin
            clear_q <= '0;
            wptr_q  <= '0;
            rptr_q  <= '0;
            acks_q  <= '0;
        end else begin
            if (!ready) clear_q <= clear_q + 1'b1;
            if (in_valid) wptr_q <= wptr_q + 1'b1;
            if (ready && !event_take && queued) rptr_q <= rptr_q + 1'b1;
            if (ev_i.ack != ack_out) acks_q <= acks_q + (ack_out ? '1 : 6'd1);
        end
    end

    // ---- counters of rows and tokens --------------------------------------------
    logic [EvW-1:0] rows_q, tokens_q;
    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) begin
            rows_q   <= '0;
            tokens_q <= '0;
        end else begin
            if (ev_i.row)   rows_q   <= rows_q + 1'b1;
            if (ev_i.token) tokens_q <= tokens_q + 1'b1;
        end
    end

    // ---- waiting streams, one per cycle -------------------------------------
    // Two steps: read counter number and threshold, compare.
    logic [EvW-1:0] threshold, threshold_q, value;
    logic [3:0]     wait_idx_d;
    logic           sel_rows_q, sel_done_q, sel_token_q;

    lutram #(.Width(4 + EvW), .Depth(S)) i_wait (
        .clk_i, .we_i(decode_q && is_wait), .waddr_i(cur_q), .wdata_i({cmd_o.imm[3:0], cmd_o.a[EvW-1:0]}),
        .raddr_i(turn_q), .rdata_o({wait_idx_d, threshold})
    );

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) begin
            turn_q <= '0;
            look_q <= 1'b0;
        end else begin
            turn_q <= turn_q + 1'b1;
            look_q <= state_q[turn_q] == Wait && ready;
        end
        looked_q    <= turn_q;
        wait_idx    <= wait_idx_d;
        threshold_q <= threshold;
        sel_rows_q  <= wait_idx_d == EV_ROWS;
        sel_done_q  <= wait_idx_d == EV_ROWS_DONE;
        sel_token_q <= wait_idx_d == EV_TOKENS;
    end

    // Entries of the packet counters that are no counters of packets stay 0.
    assign value = EvW'(pkt_value) | (rows_q & {EvW{sel_rows_q}}) | (tokens_q & {EvW{sel_token_q}})
                   | EvW'(sel_done_q && ev_i.rows_done);
    assign woken = look_q && value >= threshold_q;

    // what rx_store promises, whatever comes in
    `MW_ASSERT(go_i || !in_valid || !full || ready, "FLAG and COUNTS packets in every cycle")
    `MW_ASSERT(go_i || !ev_i.flag_valid || !ev_i.counts, "FLAG and COUNTS in one cycle")
endmodule

`default_nettype wire
