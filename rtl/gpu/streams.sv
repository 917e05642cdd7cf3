// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Instruction streams of a GPU: fetches, decodes and issues the instructions of four streams, which
// wait for events.
//
// Function: One fetch is under way at a time, into one instruction register. A stream that finds
// its unit busy drops the instruction and fetches it again when the unit is ready, so there is no
// queue of instructions. A stream's base is a multiple of 128 bytes. event_counters counts the
// events. With Delay a stream also waits until the number of cycles since go, modulo 2^32, reaches
// a value. A wait with a delay becomes a delay when its counter has reached its threshold, in a
// cycle in which no other delay starts.
// Order: The instructions of a stream follow each other, the next when the previous one has
// retired. Streams are independent, and a lower number is polled first.
// Back-pressure: cmd_valid_o rises only while cmd_ready_i is high (a unit is ready when idle). An
// EVENT waits (ev_ready_o), and holds only its credit.
// Latency: An instruction costs about 6 cycles besides its run time. A waiting stream is polled
// every fourth cycle.
// Errors: INSTR, and the stream stops, for:
// - an unknown instruction, and one in the last place (StreamInstrs) that is not I_END,
// - without source_lists: flag with flags.2; with it: st.rowsp with flags.0 or flags.1,
// - without row_returns: expert with flags.1; with it: sum.st, and sum of gathered tokens,
// - without tile_reductions: expert.rows that reports rows (flags 7),
// - without merge_reds: multimem.red of rows of every home (flags 1),
// - without merge_loads: sync without flags.0, ld.cais and expert.rows of loaded rows (flags 3),
// - in layers that count no reds, or without tile_reductions: sync with flags.0,
// - without GateGradients, or if dispatch_type is not bf16: gradients (flags.3 of expert and
//   expert.rows),
// - a wait that no counter can end,
// - a delay of 2^31 cycles or more, also after a wait; without Delay any delay.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module streams #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type read_t = `MW_READ(Cfg),
    parameter type answer_t = `MW_ANSWER(Cfg),
    localparam int unsigned S = isa_pkg::Streams,
    localparam int unsigned Units = 5 + 32'(Cfg.MergeLoads)
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,
    input  wire logic go_i,
    /* verilator lint_off UNUSEDSIGNAL */  // a unit uses a part of the configuration
    input  wire node_pkg::node_cfg_t cfg_i,
    /* verilator lint_on UNUSEDSIGNAL */

    output read_t        rd_o,
    input  wire logic    rd_ready_i,
    input  wire answer_t rd_i,

    // 0 control, 1 send, 2 expert, 3 combine, 4 push, 5 load
    output logic            cmd_valid_o [Units],
    input  wire logic       cmd_ready_i [Units],
    output isa_pkg::instr_t cmd_o,                // shared by all units
    input  wire logic       retire_i [Units],

    input  wire bundle_pkg::events_t ev_i,
    output logic                     ev_ready_o,  // for an EVENT

    output logic               idle_o,       // every enabled stream has ended
    output logic [31:0]        state_o [S],  // {state 18:16, opcode 15:8, next instruction 7:0}
    output bundle_pkg::error_t err_o
);
    import isa_pkg::*;

    localparam int unsigned HF = InstrBytes / Cfg.FlitBytes;  // flits of an instruction
    localparam int unsigned IdxW = $clog2(Cfg.StreamInstrs);
    localparam int unsigned Align = 128;  // of a stream's base: 8 instructions
    localparam int unsigned AlignLog2 = $clog2(Align);
    localparam int unsigned BlockW = $clog2(Align / Cfg.FlitBytes);
    // counters of packets: more than all streams of all GPUs can send
    localparam int unsigned PktW = $clog2(Cfg.N * S * Cfg.StreamInstrs) + 1;
    // of rows and tokens
    localparam int unsigned NumW = ((Cfg.RowsLog2 > Cfg.TokensLog2) ? Cfg.RowsLog2
                                    : Cfg.TokensLog2) + 2;
    localparam int unsigned EvW = (PktW > NumW) ? PktW : NumW;
    localparam int unsigned WaitW = Cfg.Delay ? 32 : EvW;  // of what a stream waits for
    // there are
    localparam logic [63:0] Syncs = (Cfg.SumEntries != 0) ? 64'd1 << EV_SYNCS : 64'd0;
    localparam logic [Cfg.Events-1:0] Counters = Cfg.Events'(((64'd2 << EV_ACKS) - 64'd1) | Syncs
                                                             | ~64'hffff);

    typedef enum logic [2:0] {
        Off   = 3'd0,
        Fetch = 3'd1,  // requests its next instruction
        Unit  = 3'd2,  // as Fetch, once the unit is ready
        Run   = 3'd3,  // until the unit retires it
        Wait  = 3'd4   // for an event
    } state_e;

    // ---- streams ------------------------------------------------------------
    state_e state_q[S];
    logic [2:0] unit_q[S];
    logic [7:0] op_q[S];
    logic [IdxW-1:0] idx_q[S];
    logic [15:0] delay_q;
    logic started_q;

    // ---- the one fetch ------------------------------------------------------
    logic fetching_q, decode_q;
    logic [1:0] cur_q;
    logic [$clog2(HF+1)-1:0] asked_q, got_q;

    logic pick_valid;
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
    assign cur_idx = idx_q[cur_q];
    assign rd_o.addr[Cfg.AddrW-1:BlockW] = cfg_i.stream_base[cur_q][Cfg.MemBytesLog2-1:AlignLog2]
                                           + (Cfg.AddrW-BlockW)'(cur_idx[IdxW-1:3]);
    assign rd_o.addr[BlockW-1:$clog2(HF)] = cur_idx[2:0];
    if (HF > 1) begin : gen_half
        assign rd_o.addr[$clog2(HF)-1:0] = asked_q[$clog2(HF)-1:0];
    end
    assign rd_o.valid = fetching_q && asked_q != ($clog2(HF + 1))'(HF);

    // ---- decode -------------------------------------------------------------
    logic is_end, is_wait, is_delay, is_unit, returns, lists, loads, pushes, gradients, bad, issue;
    logic [2:0] unit;
    assign returns = Cfg.RowSparse && cfg_i.row_returns;
    assign lists = Cfg.SourceLists && cfg_i.source_lists;
    assign loads = Cfg.MergeLoads && cfg_i.merge_loads;
    assign pushes = Cfg.SumEntries != 0 && cfg_i.tile_reductions && cfg_i.red_count != '0;
    assign gradients = Cfg.GateGradients && cfg_i.dispatch_type == packet_pkg::ROWTYPE_BF16;
    always_comb begin
        is_end = 1'b0;
        is_wait = 1'b0;
        is_delay = 1'b0;
        is_unit = 1'b0;
        unit = 3'd0;
        case (cmd_o.op)
            I_END:  is_end = 1'b1;
            // A threshold or a counter that does not exist would never be reached.
            I_WAIT: is_wait = cmd_o.a[31:EvW] == '0 && cmd_o.imm[15:Cfg.EventW] == '0
                              && Counters[cmd_o.imm[Cfg.EventW-1:0]]
                              && (Cfg.Delay ? !cmd_o.b[31] : cmd_o.b == '0);
            I_DELAY: is_delay = Cfg.Delay && !cmd_o.a[31];
            I_COUNT, I_PREFIX, I_SIGNAL, I_FENCE: is_unit = 1'b1;
            I_FLAG: is_unit = lists || !cmd_o.flags[2];
            I_ORDER: is_unit = Cfg.TokenOrder;
            I_SYNC: is_unit = cmd_o.flags[0] ? pushes : loads;
            I_LD_CAIS: begin
                is_unit = loads;
                unit    = Cfg.MergeLoads ? 3'd5 : 3'd0;
            end
            I_DYMULTIMEM_ST, I_ST_ROWSP, I_ST, I_ST_LINEAR, I_MULTIMEM_ST, I_MULTIMEM_RED: begin
                is_unit = (cmd_o.op != I_ST_ROWSP
                           || (Cfg.RowSparse && !(lists && cmd_o.flags[1:0] != '0)))
                          && (cmd_o.op != I_MULTIMEM_ST || cmd_o.flags[1:0] == 2'd0
                              || (Cfg.Gathered && cmd_o.flags[1:0] != 2'd3))
                          && (cmd_o.op != I_MULTIMEM_RED || !cmd_o.flags[0]
                              || Cfg.SumEntries != 0);
                unit    = 3'd1;
            end
            I_EXPERT, I_EXPERT_ROWS: begin
                is_unit = (cmd_o.op == I_EXPERT) ? returns || !cmd_o.flags[1]
                          : cmd_o.flags[1:0] == 2'd0 || (cmd_o.flags[1:0] == 2'd1 && Cfg.RowRanges)
                            || (cmd_o.flags[1:0] == 2'd2 && Cfg.Gathered)
                            || (cmd_o.flags[2:0] == 3'd7 && Cfg.TileReductions
                                && cfg_i.tile_reductions)
                            || (cmd_o.flags[2:0] == 3'd3 && loads);
                if (cmd_o.flags[3] && !gradients) is_unit = 1'b0;
                unit    = 3'd2;
            end
            I_DYMULTIMEM_LD_REDUCE, I_MULTIMEM_LD_REDUCE: begin
                is_unit = Cfg.Gathered || cmd_o.op != I_MULTIMEM_LD_REDUCE || !cmd_o.flags[0];
                unit    = 3'd3;
            end
            I_SUM: begin
                is_unit = cmd_o.flags[2:1] == 2'd0
                          || (Cfg.Gathered && !returns
                              && cmd_o.flags[2:0] inside {3'd2, 3'd3, 3'd5, 3'd6});
                unit    = 3'd3;
            end
            I_SUM_ST: begin
                is_unit = !returns; // finished rows are unit push's
                unit    = 3'd4;
            end
            default: ;
        endcase
        bad = !is_end && (!(is_wait || is_delay || is_unit) || cur_idx == '1);
        issue = decode_q && is_unit && !bad;
        for (int unsigned u = 0; u < Units; u++)
        cmd_valid_o[u] = issue && unit == 3'(u) && cmd_ready_i[u];
    end

    logic [8*InstrBytes-1:0] cmd_bits_q;
    assign cmd_o = instr_t'(cmd_bits_q);
    always_ff @(posedge clk_i) begin
        for (int unsigned i = 0; i < HF; i++) begin
            if (rd_i.rvalid && got_q == ($clog2(HF + 1))'(i))
                cmd_bits_q[Cfg.FlitW*i+:Cfg.FlitW] <= rd_i.rdata;
        end
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) begin
            fetching_q <= 1'b0;
            decode_q <= 1'b0;
        end else begin
            decode_q <= rd_i.rvalid && got_q == ($clog2(HF + 1))'(HF - 1);
            if (!fetching_q) begin
                fetching_q <= pick_valid && started_q;
                cur_q <= pick;
                asked_q <= '0;
                got_q <= '0;
            end else begin
                if (rd_o.valid && rd_ready_i) asked_q <= asked_q + 1'b1;
                if (rd_i.rvalid) got_q <= got_q + 1'b1;
                if (decode_q) fetching_q <= 1'b0;
            end
        end
        if (!rst_ni || go_i) begin
            delay_q <= '0;
            started_q <= 1'b0;
        end else if (!started_q) begin
            delay_q <= delay_q + 16'd1;
            started_q <= delay_q == cfg_i.start_delay;
        end
    end

    assign err_o.code = error_pkg::ERR_INSTR;
    always_ff @(posedge clk_i) err_o.valid <= rst_ni && decode_q && bad;

    logic woken, look_q, begins;  // begins: a wait or a delay
    logic [1:0] turn_q, looked_q;
    always_ff @(posedge clk_i) begin
        for (int unsigned s = 0; s < S; s++) begin
            if (!rst_ni) begin
                state_q[s] <= Off;
            end else if (go_i) begin
                state_q[s] <= cfg_i.stream_enable[s] ? Fetch : Off;
            end else if ((state_q[s] == Run && retire_i[unit_q[s]])
                         || (woken && looked_q == 2'(s))) begin
                state_q[s] <= Fetch;
            end else if (decode_q && cur_q == 2'(s)) begin
                state_q[s] <= (is_end || bad) ? Off : (is_wait || is_delay) ? Wait
                              : cmd_ready_i[unit] ? Run : Unit;
            end
            if (!rst_ni || go_i) begin
                idx_q[s] <= '0;
                op_q[s] <= '0;
            end else if (decode_q && cur_q == 2'(s)) begin
                op_q[s] <= cmd_o.op;
                unit_q[s] <= unit;
                if (is_wait || is_delay || cmd_ready_i[unit]) idx_q[s] <= cur_idx + 1'b1;
            end
        end
    end

    always_comb begin
        idle_o = 1'b1;
        for (int unsigned s = 0; s < S; s++) begin
            if (state_q[s] != Off) idle_o = 1'b0;
            state_o[s] = {13'd0, state_q[s], op_q[s], 8'(idx_q[s])};
        end
    end

    // ---- waiting streams, one per cycle -------------------------------------
    // Two steps: read counter number and threshold, compare.
    logic [WaitW-1:0] threshold, threshold_q, threshold_in;
    logic [EvW-1:0] value;
    logic [Cfg.EventW-1:0] wait_idx;
    logic ready, goes_on;  // a wait goes on as a delay

    event_counters #(
        .Cfg(Cfg),
        .Width(EvW),
        .PktW(PktW)
    ) i_counters (
        .clk_i,
        .rst_ni,
        .go_i,
        .ev_i,
        .ev_ready_o,
        .idx_i(wait_idx),
        .value_o(value),
        .ready_o(ready)
    );

    assign begins = decode_q && (is_wait || is_delay);
    lutram #(
        .Width(Cfg.EventW + WaitW),
        .Depth(S)
    ) i_wait (
        .clk_i,
        .we_i(begins || goes_on),
        .waddr_i(begins ? cur_q : looked_q),
        .wdata_i({cmd_o.imm[Cfg.EventW-1:0], threshold_in}),
        .raddr_i(turn_q),
        .rdata_o({wait_idx, threshold})
    );

    if (Cfg.Delay) begin : gen_delay
        logic [31:0] time_q;
        /* verilator lint_off UNUSEDSIGNAL */  // its sign decides
        logic [31:0] left;
        /* verilator lint_on UNUSEDSIGNAL */
        logic [S-1:0] delayed_q;
        logic sel_delay_q, met, more;
        logic [30:0] behind, behind_q;

        lutram #(
            .Width(31),
            .Depth(S)
        ) i_behind (
            .clk_i,
            .we_i(decode_q && is_wait),
            .waddr_i(cur_q),
            .wdata_i(cmd_o.b[30:0]),
            .raddr_i(turn_q),
            .rdata_o(behind)
        );

        assign threshold_in = (begins && is_wait) ? 32'(cmd_o.a[EvW-1:0])
                              : time_q + (begins ? cmd_o.a : {1'b0, behind_q});
        assign left = time_q - threshold_q;
        assign met = look_q && (sel_delay_q ? !left[31] : value >= threshold_q[EvW-1:0]);
        assign more = !sel_delay_q && behind_q != '0;
        assign woken = met && !more;
        assign goes_on = met && more && !begins;

        always_ff @(posedge clk_i) begin
            if (!rst_ni || go_i) time_q <= '0;
            else time_q <= time_q + 32'd1;
            if (decode_q) delayed_q[cur_q] <= is_delay;
            if (goes_on) delayed_q[looked_q] <= 1'b1;
            sel_delay_q <= delayed_q[turn_q];
            behind_q <= behind;
        end
    end else begin : gen_no_delay
        assign goes_on = 1'b0;
        assign threshold_in = cmd_o.a[EvW-1:0];
        assign woken = look_q && value >= threshold_q;
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) begin
            turn_q <= '0;
            look_q <= 1'b0;
        end else begin
            turn_q <= turn_q + 1'b1;
            look_q <= state_q[turn_q] == Wait && ready;
        end
        looked_q <= turn_q;
        threshold_q <= threshold;
    end

    if (Cfg.StreamInstrs > isa_pkg::StreamInstrs || Cfg.StreamInstrs != (1 << IdxW)
        || Cfg.StreamInstrs < 16) begin : gen_check
        $error("streams: StreamInstrs is 2^i, from 16 to isa_pkg::StreamInstrs");
    end

    `MW_NEXT(rd_o.valid && !go_i && !rd_ready_i, rd_o.valid && $stable(rd_o.addr),
             "a read changes before memory takes it")
    `MW_CONTRACT(rd_i.rvalid, fetching_q, "an answer that was not requested")
    `MW_CONTRACT(issue && cmd_ready_i[unit], cmd_valid_o[unit] && !is_end && !is_wait && !is_delay,
                 "a unit gets what is not for it")
    `MW_CONTRACT(decode_q && !bad, $onehot({is_end, is_wait, is_delay, is_unit}),
                 "an instruction of two kinds")
endmodule

`default_nettype wire
