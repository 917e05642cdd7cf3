// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Unit control: count, prefix, signal, flag, fence; and everything small that the hub tells other GPUs.
//
// count: one entry of the routing table per cycle is added to a counter per {GPU, local expert} (or once per token and GPU, at local expert 0), then a
// COUNTS packet goes to each GPU p, p + 1, ... modulo N, its own by the local stream. Entries that are 0xffff or not mapped are not counted.
// signal, flag, fence: a packet to each GPU p + 1, ... (fence: p first, by the local stream; flag with flags.0: p alone). fence retires when N GPUs have answered.
// The units' words of other GPUs' copy counts (cnt_* of kind 1) are added up as they come: base[g] = copies of GPUs 0 .. p - 1 for GPU g, the number of the
// first row of p at g; recv_rows_o = copies for p, src_rows_o those of src_i. prefix has only to keep base[p] (own_base_o): send counts base[] up. Cleared by go_i, so
// copy counts work once per layer; prefix belongs behind the arrival of all of them.
//
// Control packets: ACKs that rx_store asks for, signals of the expert engine, and events take turns. An ACK for the GPU itself counts at once; the
// signal of an own token goes to the token tracker (own_*, global index).
// Order: COUNTS, FLAG and FENCE are in the store class, behind everything that tx took before. Back-pressure: all by ready; ready does not
// depend on the port's own valid. Worst case: a waiting control packet is passed by two others; a signal for its own token waits for none.
`default_nettype none

module control #(
    parameter int unsigned N          = 4,
    parameter int unsigned FlitBytes  = 8,
    parameter int unsigned AddrW      = 11,   // of a flit address in GPU memory
    parameter int unsigned MaxExperts = 64,
    parameter int unsigned MaxLocalExperts = 32,  // experts of a GPU, at most 32
    parameter int unsigned TokensLog2 = 16    // of own tokens, at most
) (
    input  wire logic                        clk_i,
    input  wire logic                        rst_ni,
    input  wire logic                        go_i,
    input  wire node_pkg::node_cfg_t         cfg_i,

    input  wire logic                        cmd_valid_i,
    output logic                             cmd_ready_o,
    input  wire isa_pkg::instr_t             cmd_i,
    output logic                             retire_o,

    input  wire logic                        emap_we_i,
    input  wire logic [11:0]                 emap_addr_i,
    input  wire node_pkg::emap_t             emap_data_i,

    output logic                             rd_valid_o,
    input  wire logic                        rd_ready_i,
    output logic [AddrW-1:0]                 rd_addr_o,
    input  wire logic                        rd_rvalid_i,
    input  wire logic [8*FlitBytes-1:0]      rd_rdata_i,

    input  wire logic                        sig_valid_i,   // a row of this token is finished here
    output logic                             sig_ready_o,
    input  wire logic [node_pkg::TokenW-1:0] sig_token_i,
    output logic                             own_valid_o,   // it is an own token
    input  wire logic                        own_ready_i,
    output logic [node_pkg::TokenW-1:0]      own_token_o,

    input  wire logic                        ack_valid_i,   // rx_store: answer this GPU's fence
    output logic                             ack_ready_o,
    input  wire logic [4:0]                  ack_dst_i,
    input  wire logic                        ack_rx_i,      // rx: an own fence was answered

    input  wire logic                        cnt_valid_i,
    input  wire logic                        cnt_kind_i,
    input  wire logic [4:0]                  cnt_src_i,
    input  wire logic [4:0]                  cnt_idx_i,
    input  wire logic [31:0]                 cnt_val_i,
    input  wire logic                        cnt_last_i,

    input  wire logic [$clog2(N)-1:0]        base_q_i,      // send: the next row at this GPU
    output logic [node_pkg::RowW-1:0]        base_row_o,
    input  wire logic                        base_take_i,
    output logic [node_pkg::RowW-1:0]        recv_rows_o,
    input  wire logic [$clog2(N)-1:0]        src_i,
    output logic [node_pkg::RowW-1:0]        src_rows_o,
    output logic [node_pkg::RowW-1:0]        own_base_o,

    output logic                             ctl_valid_o,
    input  wire logic                        ctl_ready_i,
    output packet_pkg::header_t              ctl_header_o,
    output logic                             cst_valid_o,
    input  wire logic                        cst_ready_i,
    output logic                             clo_valid_o,
    input  wire logic                        clo_ready_i,
    output logic [8*FlitBytes-1:0]           st_data_o,     // of either
    output logic                             st_last_o,
    output logic                             err_valid_o,   // not an instruction of this unit
    output error_pkg::err_e                  err_code_o,
    output logic                             idle_o
);
    import isa_pkg::*;
    import packet_pkg::*;
    localparam int unsigned FW     = 8 * FlitBytes;
    localparam int unsigned FlitW  = $clog2(FlitBytes);
    localparam int unsigned ByteW  = AddrW + FlitW;
    localparam int unsigned RowAW  = ByteW - 7;
    localparam int unsigned GpuW   = $clog2(N);
    localparam int unsigned LocalW = (MaxLocalExperts > 1) ? $clog2(MaxLocalExperts) : 1;
    localparam int unsigned ExpW   = $clog2(MaxExperts);
    localparam int unsigned CountW = TokensLog2 + 1;
    localparam int unsigned HF     = HeaderBytes / FlitBytes;
    localparam int unsigned W      = FlitBytes / 4;  // words of a flit
    localparam int unsigned WW     = $clog2(W);
    localparam int unsigned RowW   = node_pkg::RowW;
    localparam int unsigned BaseW  = (GpuW + TokensLog2 + 1 < RowW) ? GpuW + TokensLog2 + 1 : RowW;  // every token of every GPU
    localparam int unsigned TokB   = TokensLog2 + GpuW;  // of a global token index

    if (MaxLocalExperts > 32) begin : gen_check
        $error("control: a COUNTS packet has 32 words");
    end

    // ---- instruction -------------------------------------------------------------------------------------------
    typedef enum logic [2:0] {CLEAR, IDLE, COUNT, PREFIX, EVENTS, HEAD, WORDS, DRAIN} state_e;
    state_e          state_q;
    logic            accept, copies_q, to_last, to_next, start_walk, fenced, event_ready;
    iop_e            op_q;
    logic [3:0]      imm_q;
    logic [GpuW-1:0] port, to_q;
    logic [TokensLog2:0] end_q;

    assign port        = cfg_i.port[GpuW-1:0];
    assign cmd_ready_o = state_q == IDLE;
    assign accept      = cmd_valid_i && cmd_ready_o;
    assign start_walk  = accept && cmd_i.op == I_COUNT;
    assign to_last     = ((to_q == GpuW'(N - 1)) ? '0 : to_q + 1'b1) == port || (op_q == I_FLAG && copies_q);

    always_ff @(posedge clk_i) begin
        if (!rst_ni) end_q <= '0;
        else if (start_walk) end_q <= (TokensLog2 + 1)'(cmd_i.a) + (TokensLog2 + 1)'(cmd_i.b);
        if (accept) begin
            op_q     <= cmd_i.op;
            imm_q    <= cmd_i.imm[3:0];
            copies_q <= cmd_i.flags[0];
        end
        if (accept) to_q <= (cmd_i.op inside {I_COUNT, I_FENCE} || (cmd_i.op == I_FLAG && cmd_i.flags[0])) ? port : (port == GpuW'(N - 1)) ? '0 : port + 1'b1;
        else if (to_next) to_q <= (to_q == GpuW'(N - 1)) ? '0 : to_q + 1'b1;
    end

    // ---- counting ----------------------------------------------------------------------------------------------
    logic            entry_valid, entry_last, walk_done, map_valid, hit_q, hit_last_q;
    logic [15:0]     entry;
    logic [GpuW-1:0]   map_gpu;
    logic [LocalW-1:0] map_local;
    logic [GpuW-1:0] hit_gpu_q;
    logic [LocalW-1:0] hit_local_q;
    logic [N-1:0]    seen_q;
    logic [3:0]            unused_pos, k_last;
    logic [TokensLog2-1:0] unused_token;
    logic [RowAW-1:0]      unused_row;

    assign k_last = 4'(cfg_i.k - 5'd1);

    route_walk #(
        .FlitBytes(FlitBytes), .AddrW(AddrW), .TokensLog2(TokensLog2)
    ) i_walk (
        .clk_i, .rst_ni,
        .start_i (start_walk), .first_i(cmd_i.a[TokensLog2-1:0]), .end_i(end_q),
        .k_last_i (k_last), .row_base_i(cfg_i.rt_base[ByteW-1:7]), .done_o(walk_done),
        .rd_valid_o, .rd_ready_i, .rd_addr_o, .rd_rvalid_i, .rd_rdata_i,
        .valid_o (entry_valid), .take_i(entry_valid), .entry_o(entry), .pos_o(unused_pos), .last_o(entry_last),
        .token_o (unused_token), .row_o(unused_row)
    );

    lutram #(
        .Width(1 + GpuW + LocalW),
        .Depth(MaxExperts)
    ) i_emap (
        .clk_i, .we_i(emap_we_i && emap_addr_i < 12'(MaxExperts)), .waddr_i(emap_addr_i[ExpW-1:0]),
        .wdata_i ({emap_data_i.valid && 32'(emap_data_i.gpu) < N && emap_data_i.local_expert < 6'(MaxLocalExperts),
                   emap_data_i.gpu[GpuW-1:0], emap_data_i.local_expert[LocalW-1:0]}),
        .raddr_i (entry[ExpW-1:0]), .rdata_o({map_valid, map_gpu, map_local})
    );

    always_ff @(posedge clk_i) begin
        hit_q <= rst_ni && entry_valid && entry < 16'(MaxExperts) && map_valid && 7'(map_local) < cfg_i.local_experts;
        hit_last_q  <= !rst_ni || (entry_valid && entry_last);
        hit_gpu_q   <= map_gpu;
        hit_local_q <= map_local;
        for (int unsigned g = 0; g < N; g++) begin
            if (hit_last_q) seen_q[g] <= 1'b0;
            else if (hit_q && hit_gpu_q == GpuW'(g)) seen_q[g] <= 1'b1;
        end
    end

    // Counters: counted up here, read and cleared when their word leaves for the last time.
    localparam int unsigned SlotW = GpuW + LocalW;
    logic [SlotW-1:0]  slot;
    logic [SlotW:0]    clear_q;       // after reset
    logic [CountW-1:0] count;
    logic [4:0]        word_q, word_last;
    logic              word_take, wipe;

    assign word_last = copies_q ? 5'(N - 1) : 5'(cfg_i.local_experts - 7'd1);
    assign wipe      = state_q == CLEAR || (word_take && (!copies_q || to_last));

    always_comb begin
        unique case (state_q)
            CLEAR:   slot = clear_q[SlotW-1:0];
            COUNT:   slot = {hit_gpu_q, copies_q ? LocalW'(0) : hit_local_q};
            default: slot = copies_q ? {word_q[GpuW-1:0], LocalW'(0)} : {to_q, word_q[LocalW-1:0]};
        endcase
    end

    lutram #(
        .Width(CountW),
        .Depth(2**SlotW)
    ) i_count (
        .clk_i, .we_i(wipe || (state_q == COUNT && hit_q && !(copies_q && seen_q[hit_gpu_q]))), .waddr_i(slot),
        .wdata_i (wipe ? '0 : count + 1'b1), .raddr_i(slot), .rdata_o(count)
    );

    // ---- packets of the store class ----------------------------------------------------------------------------
    logic          out_valid_q, out_free, out_last_q, out_own_q, head_half_q, head_end, no_words;
    logic [FW-1:0] out_data_q;

    assign out_free  = !out_valid_q || (out_own_q ? clo_ready_i : cst_ready_i);
    assign head_end  = state_q == HEAD && out_free && (HF == 1 || head_half_q);
    assign no_words  = op_q != I_COUNT || (!copies_q && cfg_i.local_experts == '0);
    assign word_take = state_q == WORDS && out_free;
    assign to_next   = (head_end && no_words) || (word_take && word_q == word_last) || (state_q == EVENTS && event_ready);

    // Of the packet under way; called where it leaves, so that simulation makes it only then.
    function automatic header_t head();
        header_t h;
        h = '0;
        h.opcode = (op_q == I_COUNT) ? OP_COUNTS : (op_q == I_FLAG) ? OP_FLAG : OP_FENCE;
        h.cls    = CLS_STORE;
        h.src    = cfg_i.port;
        h.dst    = 5'(to_q);
        h.len    = (op_q != I_COUNT) ? '0 : copies_q ? 15'(4 * N) : 15'({cfg_i.local_experts, 2'b00});
        h.epoch  = cfg_i.epoch;
        h.stage  = stage_e'({1'b0, op_q == I_COUNT && copies_q});
        h.addr   = (op_q == I_FLAG) ? 48'(imm_q) : '0;
        return h;
    endfunction

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            out_valid_q <= 1'b0;
            head_half_q <= 1'b0;
            word_q      <= '0;
        end else begin
            if (out_free) out_valid_q <= state_q == HEAD || (word_take && (word_q[WW-1:0] == '1 || word_q == word_last));
            if (state_q == HEAD && out_free) head_half_q <= !head_end;
            if (word_take) word_q <= (word_q == word_last) ? '0 : word_q + 1'b1;
        end
        if (out_free) begin
            out_last_q <= state_q == HEAD ? no_words && head_end : word_q == word_last;
            out_own_q  <= to_q == port;
            if (state_q == HEAD) begin
                out_data_q <= FW'(head() >> ((HF == 2 && head_half_q) ? FW : 0));
            end else begin
                for (int unsigned w = 0; w < W; w++) begin
                    if (word_q[WW-1:0] == WW'(w)) out_data_q[32*w +: 32] <= 32'(count);
                end
            end
        end
    end
    assign cst_valid_o = out_valid_q && !out_own_q;
    assign clo_valid_o = out_valid_q && out_own_q;
    assign st_data_o   = out_data_q;
    assign st_last_o   = out_last_q;

    // ---- sequence ----------------------------------------------------------------------------------------------
    assign retire_o = (state_q == DRAIN && !out_valid_q && (op_q != I_SIGNAL || !ctl_valid_o) && fenced) || state_q == PREFIX;
    assign idle_o   = state_q == IDLE && !ctl_valid_o && !sig_valid_i && !ack_valid_i;

    assign err_valid_o = accept && !(cmd_i.op inside {I_COUNT, I_PREFIX, I_SIGNAL, I_FLAG, I_FENCE});
    assign err_code_o  = error_pkg::ERR_INSTR;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            state_q <= CLEAR;
            clear_q <= '0;
        end else begin
            clear_q <= clear_q + 1'b1;
            unique case (state_q)
                CLEAR:   if (clear_q[SlotW]) state_q <= IDLE;
                IDLE:    if (accept) begin
                             unique case (cmd_i.op)
                                 I_COUNT:  state_q <= COUNT;
                                 I_PREFIX: state_q <= PREFIX;
                                 I_SIGNAL: state_q <= EVENTS;
                                 I_FLAG, I_FENCE: state_q <= HEAD;
                                 default:  state_q <= DRAIN;
                             endcase
                         end
                COUNT:   if (walk_done) state_q <= HEAD;  // the last entry is added in this cycle
                PREFIX:  state_q <= IDLE;
                EVENTS:  if (to_next && to_last) state_q <= DRAIN;
                HEAD:    if (head_end) state_q <= !no_words ? WORDS : to_last ? DRAIN : HEAD;
                WORDS:   if (to_next) state_q <= to_last ? DRAIN : HEAD;
                DRAIN:   if (retire_o) state_q <= IDLE;
                default: state_q <= IDLE;
            endcase
        end
    end

    // ---- fence -------------------------------------------------------------------------------------------------
    logic [GpuW:0] acks_q;
    logic          own_ack;
    assign fenced = op_q != I_FENCE || acks_q == (GpuW + 1)'(N);

    always_ff @(posedge clk_i) begin
        if (accept) acks_q <= '0;
        else if (ack_rx_i || own_ack) acks_q <= acks_q + 1'b1;
    end

    // ---- rows of unicast ---------------------------------------------------------------------------------------
    logic            copies_in, base_we, known;
    logic [GpuW-1:0] base_at;
    logic [BaseW-1:0] base_word, base_row, recv_q, own_base_q, src_rows;
    logic [N-1:0]    known_q;

    assign copies_in = cnt_valid_i && cnt_kind_i;
    assign base_at   = copies_in ? cnt_idx_i[GpuW-1:0] : (state_q == PREFIX) ? port : base_q_i;
    assign base_we   = (copies_in && cnt_src_i < cfg_i.port) || base_take_i;
    assign known     = known_q[base_at];
    assign base_row  = known ? base_word : '0;
    assign base_row_o  = RowW'(base_row);
    assign recv_rows_o = RowW'(recv_q);
    assign own_base_o  = RowW'(own_base_q);
    assign src_rows_o  = RowW'(src_rows);

    lutram #(
        .Width(BaseW),
        .Depth(N)
    ) i_base (
        .clk_i, .we_i(base_we), .waddr_i(base_at), .wdata_i(base_row + (copies_in ? cnt_val_i[BaseW-1:0] : BaseW'(1))),
        .raddr_i (base_at), .rdata_o(base_word)
    );

    // Every source's count is here before prefix.
    lutram #(
        .Width(BaseW),
        .Depth(N)
    ) i_src (
        .clk_i, .we_i(copies_in && cnt_idx_i == cfg_i.port), .waddr_i(cnt_src_i[GpuW-1:0]), .wdata_i(cnt_val_i[BaseW-1:0]), .raddr_i(src_i), .rdata_o(src_rows)
    );

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) known_q <= '0;
        else if (base_we) known_q[base_at] <= 1'b1;
        if (!rst_ni || go_i) recv_q <= '0;
        else if (copies_in && cnt_idx_i == cfg_i.port) recv_q <= recv_q + cnt_val_i[BaseW-1:0];
        if (state_q == PREFIX) own_base_q <= base_row;
    end

    // ---- control packets: ACK, SIGNAL, EVENT take turns ----------------------------------------------------------
    logic [2:0]  want, ready;   // 0 ACK, 1 SIGNAL, 2 EVENT; ready: nobody else comes first
    logic [1:0]  first_q;
    logic        ctl_free, sig_own, ack_own;
    logic [GpuW-1:0] sig_home;
    localparam int unsigned AddrB = (TokB > 4) ? TokB : 4;
    opcode_e     ctl_op_q;
    logic [4:0]  ctl_dst_q;
    logic [AddrB-1:0]  ctl_addr_q;   // token or event counter

    assign sig_home = GpuW'(sig_token_i[TokB-1:0] >> cfg_i.token_shift);
    assign sig_own  = sig_home == port;
    assign ack_own  = ack_dst_i == cfg_i.port;
    assign want     = {state_q == EVENTS, sig_valid_i && !sig_own, ack_valid_i && !ack_own};
    assign ctl_free = !ctl_valid_o || ctl_ready_i;

    always_comb begin
        unique case (first_q)
            2'd0:    ready = {!want[0] && !want[1], !want[0], 1'b1};
            2'd1:    ready = {!want[1], 1'b1, !want[1] && !want[2]};
            default: ready = {1'b1, !want[2] && !want[0], !want[2]};
        endcase
        if (!ctl_free) ready = '0;
    end

    assign event_ready = ready[2];
    assign sig_ready_o = sig_own ? own_ready_i : ready[1];
    assign own_valid_o = sig_valid_i && sig_own;
    assign own_token_o = sig_token_i;
    assign ack_ready_o = ack_own ? !ack_rx_i : ready[0];
    assign own_ack     = ack_valid_i && ack_own;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            ctl_valid_o <= 1'b0;
            first_q     <= '0;
        end else begin
            if (ctl_free) ctl_valid_o <= want != '0;
            if (go_i) first_q <= '0;
            else if (ctl_free && want != '0) first_q <= (want[0] && ready[0]) ? 2'd1 : (want[1] && ready[1]) ? 2'd2 : 2'd0;
        end
        if (ctl_free) begin
            ctl_op_q   <= (want[0] && ready[0]) ? OP_ACK : (want[1] && ready[1]) ? OP_SIGNAL : OP_EVENT;
            ctl_dst_q  <= (want[0] && ready[0]) ? ack_dst_i : (want[1] && ready[1]) ? 5'(sig_home) : 5'(to_q);
            ctl_addr_q <= (want[1] && ready[1]) ? AddrB'(sig_token_i[TokB-1:0]) : (want[0] && ready[0]) ? '0 : AddrB'(imm_q);
        end
    end

    always_comb begin
        ctl_header_o        = '0;
        ctl_header_o.opcode = ctl_op_q;
        ctl_header_o.cls    = CLS_CTRL;
        ctl_header_o.src    = cfg_i.port;
        ctl_header_o.dst    = ctl_dst_q;
        ctl_header_o.epoch  = cfg_i.epoch;
        ctl_header_o.addr   = 48'(ctl_addr_q);
    end

    logic unused;
    assign unused = ^{cfg_i, sig_token_i, cmd_i, cnt_val_i, cnt_idx_i, cnt_last_i, emap_data_i, unused_pos, unused_token, unused_row};
endmodule

`default_nettype wire
