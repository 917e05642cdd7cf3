// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Unit send: dymultimem.st, st, st.linear, multimem.st, multimem.red. Turns own memory into packets of the store class.
//
// Five parts in a row, each ahead of the next: route_walk reads the routing table, send_list checks and sorts a token's targets, the FSM below arms the
// token tracker and cuts tokens into transfers (row, gate weights), the reader fetches their payload, send_build makes the packets. So the
// next token's list and the next packets' payload come in while a packet goes out: F-byte flits leave in every cycle while memory and both streams
// keep up and rows are longer than a list takes to read.
//
// Order: tokens in order; a row's packets in order, gate weights (META in st) last unless flags.0; st: GPUs p + 1, p + 2, ... modulo N, p last. A token is
// armed (arm_*: global index, number of valid entries) before its first packet, and only while fewer than cfg.in_flight armed tokens wait for
// tok_done_i. Retires when the last flit was taken by the uplink and the local stream.
// Errors (one pulse each): a token with an unmapped or repeated expert is skipped as a whole and not armed; an instruction with
// addresses that are no multiples of the flit, or to a group without member or a GPU that does not exist, sends nothing.
// Control's packets of the store class (cst_*, clo_*) take turns with send's, packet by packet, on both streams.
// Back-pressure: st_ready_i and loc_ready_i, memory; worst case one stalled stream stops the other.
//
// Bases are inside memory: rt_base a multiple of 128 bytes, the others multiples of the flit. An explicit address or a row beyond
// memory leaves as some address beyond memory.
`default_nettype none

module send #(
    parameter int unsigned N          = 4,
    parameter int unsigned FlitBytes  = 8,
    parameter int unsigned AddrW      = 11,   // of a flit address in GPU memory
    parameter int unsigned MaxExperts = 64,
    parameter int unsigned Groups     = 16,
    parameter int unsigned TokensLog2 = 16,   // of own tokens, at most
    parameter bit            Reds     = 1'b1,   // multimem.red
    parameter red_pkg::set_t RedTypes = red_pkg::AllTypes,
    parameter red_pkg::set_t RedOps   = red_pkg::AllOps
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
    input  wire logic                        group_we_i,
    input  wire logic [3:0]                  group_addr_i,
    input  wire logic [31:0]                 group_data_i,

    output logic                             rd_valid_o,
    input  wire logic                        rd_ready_i,
    output logic [AddrW-1:0]                 rd_addr_o,
    input  wire logic                        rd_rvalid_i,
    input  wire logic [8*FlitBytes-1:0]      rd_rdata_i,

    output logic                             arm_valid_o,
    input  wire logic                        arm_ready_i,
    output logic [node_pkg::TokenW-1:0]      arm_token_o,
    output logic [4:0]                       arm_count_o,
    input  wire logic                        tok_done_i,

    output logic [$clog2(N)-1:0]             base_q_o,     // st: next row number at this GPU
    input  wire logic [node_pkg::RowW-1:0]   base_row_i,
    output logic                             base_take_o,  // and count it

    input  wire logic                        cst_valid_i,  // a packet of control for the uplink
    output logic                             cst_ready_o,
    input  wire logic                        clo_valid_i,  // or for this GPU
    output logic                             clo_ready_o,
    input  wire logic [8*FlitBytes-1:0]      ctl_data_i,   // flit of either
    input  wire logic                        ctl_last_i,

    output logic                             st_valid_o,
    input  wire logic                        st_ready_i,
    output logic [8*FlitBytes-1:0]           st_data_o,
    output logic                             st_last_o,
    output logic                             loc_valid_o,
    input  wire logic                        loc_ready_i,
    output logic [8*FlitBytes-1:0]           loc_data_o,
    output logic                             loc_last_o,

    output logic                             err_valid_o,
    output error_pkg::err_e                  err_code_o
);
    import isa_pkg::*;
    localparam int unsigned FW    = 8 * FlitBytes;
    localparam int unsigned FlitW = $clog2(FlitBytes);
    localparam int unsigned ByteW = AddrW + FlitW;                 // of a byte address in GPU memory
    localparam int unsigned LenW  = (ByteW > 15) ? ByteW : 15;     // of the bytes of a transfer
    localparam int unsigned PktsW = LenW - 7;
    localparam int unsigned SubW  = $clog2(RouteBytes / FlitBytes);
    localparam int unsigned RowAW = AddrW - SubW;                  // of a row of the routing table
    localparam int unsigned GpuW  = $clog2(N);
    localparam int unsigned ExpW  = $clog2(MaxExperts);
    localparam int unsigned TokB  = TokensLog2 + GpuW;             // of a global token index
    localparam int unsigned ShiftW = (TokB > AddrW + FlitW - 12) ? TokB + 15 : AddrW + FlitW + 3;  // of a token index << row_shift, or of an address

    // Addresses are added in the bits of a memory address and one more, which says beyond memory and never gets lost again.
    function automatic logic [ByteW:0] bits_of_memory(input logic [31:0] a);
        return {a[31:ByteW] != '0, a[ByteW-1:0]};
    endfunction

    // ---- instruction -------------------------------------------------------------------------------------------
    typedef enum logic [3:0] {
        IDLE, PORT, SHIFT, NEXT, ARM, GPU, SHIFT_ROW, ROW, DRAIN
    } state_e;
    state_e state_q;

    // The unit's opcodes differ in their low bits: 0 dymultimem.st, 1 st, 2 st.linear, 3 multimem.st and multimem.red.
    logic [1:0]       kind_q;
    logic             bare_q;        // rows alone
    logic             flat_q;        // they land at their multimem address
    logic [15:0]      imm_q;
    logic [ByteW-1:0] from_byte_q;
    logic [LenW-1:0]  bytes_q;
    logic [31:0]      to_q;
    logic             is_red, strange;
    red_pkg::red_t    kind;
    logic             accept, is_dyn, is_st, is_linear, is_multi, by_token, bad_cmd, no_gpu, start_walk;
    logic [TokensLog2:0] end_q;
    logic [N-1:0]        members;

    assign is_dyn      = kind_q == I_DYMULTIMEM_ST[1:0];
    assign is_st       = kind_q == I_ST[1:0];
    assign is_linear   = kind_q == I_ST_LINEAR[1:0];
    assign is_multi    = kind_q == I_MULTIMEM_ST[1:0];
    assign by_token    = is_dyn || is_st;

    if (Reds) begin : gen_reds
        logic red_q;
        always_ff @(posedge clk_i) if (accept) red_q <= cmd_i.op == I_MULTIMEM_RED;
        assign is_red  = red_q;
        assign kind    = red_q ? '{dtype: packet_pkg::dtype_e'(imm_q[10:8]), redop: packet_pkg::redop_e'(imm_q[14:12])} : '0;
        assign strange = red_q && !red_pkg::has(RedTypes, RedOps, kind);
    end else begin : gen_no_reds
        logic red_q;   // an error
        always_ff @(posedge clk_i) if (accept) red_q <= cmd_i.op == I_MULTIMEM_RED;
        assign is_red  = 1'b0;
        assign kind    = '0;
        assign strange = red_q;
    end
    assign cmd_ready_o = state_q == IDLE;
    assign accept      = cmd_valid_i && cmd_ready_o;
    assign start_walk  = accept && cmd_i.op[1:0] inside {I_DYMULTIMEM_ST[1:0], I_ST[1:0]};
    assign no_gpu      = is_multi ? members == '0 : imm_q >= 16'(N);
    assign bad_cmd     = !by_token && (no_gpu || strange || (from_byte_q[FlitW-1:0] | to_q[FlitW-1:0]) != '0);

    always_ff @(posedge clk_i) begin
        if (accept) begin
            kind_q      <= cmd_i.op[1:0];
            bare_q      <= cmd_i.flags[0];
            flat_q      <= cmd_i.flags[1];
            imm_q       <= cmd_i.imm;
            from_byte_q <= cmd_i.a[ByteW-1:0];
            bytes_q     <= cmd_i.b[LenW-1:0];
            to_q        <= cmd_i.c;
        end
        if (!rst_ni) end_q <= '0;
        else if (start_walk) end_q <= (TokensLog2 + 1)'(cmd_i.a) + (TokensLog2 + 1)'(cmd_i.b);
    end

    lutram #(
        .Width(N),
        .Depth(Groups)
    ) i_groups (
        .clk_i,
        .we_i    (group_we_i),
        .waddr_i ($clog2(Groups)'(group_addr_i)),
        .wdata_i (group_data_i[N-1:0]),
        .raddr_i (imm_q[$clog2(Groups)-1:0]),
        .rdata_o (members)
    );

    logic [N-1:0] own_bit;  // one-hot own port
    for (genvar g = 0; g < N; g++) begin : gen_own
        assign own_bit[g] = cfg_i.port == 5'(g);
    end

    // ---- lists -------------------------------------------------------------------------------------------------
    logic                  walk_done, entry_valid, entry_take, entry_last;
    logic                  walk_rd_valid, walk_rd_ready, walk_rvalid;
    logic [AddrW-1:0]      walk_rd_addr;
    logic [15:0]           entry;
    logic [3:0]            entry_pos;
    logic [TokensLog2-1:0] entry_token;
    logic [RowAW-1:0]      entry_row;
    logic [3:0]            k_last;
    assign k_last = 4'(cfg_i.k - 5'd1);

    route_walk #(
        .FlitBytes(FlitBytes), .AddrW(AddrW), .TokensLog2(TokensLog2)
    ) i_walk (
        .clk_i, .rst_ni,
        .start_i (start_walk), .first_i(cmd_i.a[TokensLog2-1:0]), .end_i(end_q),
        .k_last_i (k_last), .row_base_i(cfg_i.rt_base[ByteW-1:7]), .done_o(walk_done),
        .rd_valid_o (walk_rd_valid), .rd_ready_i(walk_rd_ready), .rd_addr_o(walk_rd_addr),
        .rd_rvalid_i (walk_rvalid), .rd_rdata_i,
        .valid_o (entry_valid), .take_i(entry_take), .entry_o(entry), .pos_o(entry_pos), .last_o(entry_last),
        .token_o (entry_token), .row_o(entry_row)
    );

    logic                  we_remote, we_own, desc_valid, desc_take, desc_bad, list_err;
    logic [1:0]            wlist, desc_list;
    logic [3:0]            wpos_remote, wpos_own;
    logic [ExpW+3:0]       wdata;
    logic [4:0]            desc_remote, desc_own;
    logic [N-1:0]          desc_gpus;
    logic [TokensLog2-1:0] desc_token;
    logic [RowAW-1:0]      desc_row;
    error_pkg::err_e       list_err_code;

    send_list #(
        .N(N), .AddrW(AddrW), .FlitBytes(FlitBytes), .MaxExperts(MaxExperts), .TokensLog2(TokensLog2)
    ) i_list (
        .clk_i, .rst_ni, .port_i(cfg_i.port), .emap_we_i, .emap_addr_i, .emap_data_i,
        .valid_i (entry_valid), .take_o(entry_take), .entry_i(entry), .pos_i(entry_pos), .last_i(entry_last),
        .token_i (entry_token), .row_i(entry_row),
        .we_remote_o (we_remote), .we_own_o(we_own), .wlist_o(wlist), .wpos_remote_o(wpos_remote), .wpos_own_o(wpos_own),
        .wdata_o (wdata),
        .desc_valid_o (desc_valid), .desc_take_i(desc_take), .desc_bad_o(desc_bad), .desc_remote_o(desc_remote),
        .desc_own_o (desc_own), .desc_gpus_o(desc_gpus), .desc_list_o(desc_list), .desc_token_o(desc_token), .desc_row_o(desc_row),
        .err_valid_o (list_err), .err_code_o(list_err_code)
    );

    logic [1:0]    build_list;
    logic [2:0]    build_word;
    logic [15:0]   remote0, own0;
    logic [FW-1:0] remote_flit, own_flit;

    target_ram #(.FlitBytes(FlitBytes), .ExpertW(ExpW)) i_remote (
        .clk_i, .we_i(we_remote), .wlist_i(wlist), .wpos_i(wpos_remote), .wdata_i(wdata),
        .rlist_i (build_list), .word_i(build_word), .target0_o(remote0), .flit_o(remote_flit)
    );
    target_ram #(.FlitBytes(FlitBytes), .ExpertW(ExpW)) i_own (
        .clk_i, .we_i(we_own), .wlist_i(wlist), .wpos_i(wpos_own), .wdata_i(wdata),
        .rlist_i (build_list), .word_i(build_word), .target0_o(own0), .flit_o(own_flit)
    );

    // ---- tokens into transfers ---------------------------------------------------------------------------------
    // x_q: bytes from the first own row to the token's. s_q: a shift register, one place per cycle: own port << (token_shift + row_shift) for the
    // multimem address, or a unicast row's number << row_shift. Both are ready long before the transfer that needs them.
    logic [ByteW-1:0]          x_q, stride_q;
    logic [ShiftW-1:0]         s_q;
    logic [TokB-1:0]           first_token_q;   // own port << token_shift
    logic [3:0]                shift_q, shift_to;
    logic                      shift_end, s_port, s_row, s_shift, x_shift;
    logic                      gate_q, gate_own_q;   // the gate weights of the row taken last are still to come
    logic [GpuW-1:0]           gate_gpu_q;
    logic [node_pkg::RowW-1:0] gate_row_q;
    logic [4:0]                remote_q, own_q;
    logic [N-1:0]              gpus_q;
    logic [1:0]                list_q;
    logic [TokensLog2-1:0]     token_q;
    logic [RowAW-1:0]          row_q;
    logic [GpuW-1:0]           gpu_q, port;
    logic                      at_own, token_end, row_take, xfer_valid, xfer_take, armed, may_arm, drained;

    logic                      job_a_valid_q, job_b_valid_q;

    assign port     = cfg_i.port[GpuW-1:0];
    assign at_own   = gpu_q == port;
    assign shift_to = (state_q == PORT) ? cfg_i.token_shift : cfg_i.row_shift;
    assign shift_end = shift_q == shift_to;
    assign s_port   = accept;
    assign s_row    = state_q == GPU;
    assign s_shift  = !shift_end && (state_q inside {PORT, SHIFT_ROW} || (state_q == SHIFT && is_dyn));
    assign x_shift  = !shift_end && state_q == SHIFT;
    assign desc_take = state_q == NEXT && desc_valid && !gate_q && !(bare_q && job_b_valid_q);  // lists in use: two jobs', this one, the next
    assign row_take  = state_q == ROW && xfer_take && !gate_q;
    assign base_q_o  = gpu_q;
    assign base_take_o = row_take && is_st;

    always_comb begin
        unique case (state_q)
            NEXT:    token_end = desc_take ? desc_bad || (is_st && desc_gpus == '0) : is_dyn && xfer_take;
            ARM:     token_end = armed && remote_q == '0 && own_q == '0;
            GPU:     token_end = !gpus_q[gpu_q] && at_own;
            ROW:     token_end = row_take && (is_st ? at_own : is_dyn && bare_q);
            default: token_end = 1'b0;
        endcase
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            state_q <= IDLE;
            gate_q  <= 1'b0;
        end else begin
            unique case (state_q)
                IDLE:      if (accept) state_q <= PORT;
                PORT:      if (!by_token) state_q <= (bad_cmd || bytes_q == '0) ? DRAIN : ROW;
                           else if (shift_end) state_q <= SHIFT;
                SHIFT:     if (shift_end) state_q <= NEXT;
                NEXT:      if (desc_take) state_q <= token_end ? NEXT : is_dyn ? ARM : GPU;
                           else if (walk_done && !desc_valid && !gate_q) state_q <= DRAIN;
                ARM:       if (armed) state_q <= token_end ? NEXT : ROW;
                GPU:       if (gpus_q[gpu_q]) state_q <= SHIFT_ROW;
                           else if (at_own) state_q <= NEXT;
                SHIFT_ROW: if (shift_end) state_q <= ROW;
                ROW:       if (row_take) state_q <= !by_token ? DRAIN : is_dyn || at_own ? NEXT : GPU;
                DRAIN:     if (drained) state_q <= IDLE;
                default:   state_q <= IDLE;
            endcase
            if (xfer_take) gate_q <= by_token && !bare_q && !gate_q;
        end
        if (s_shift || x_shift) shift_q <= shift_q + 1'b1;
        else shift_q <= '0;
    end

    // The registers that hold constants of the instruction are loaded on the way.
    always_ff @(posedge clk_i) begin
        if (s_port) s_q <= start_walk ? ShiftW'(cfg_i.port) : '0;
        else if (s_row) s_q <= ShiftW'(bits_of_memory(32'(base_row_i)));
        else if (s_shift) s_q <= is_st ? ShiftW'({s_q[ByteW] | s_q[ByteW-1], s_q[ByteW-2:0], 1'b0}) : s_q << 1;
        if (state_q == PORT) first_token_q <= s_q[TokB-1:0];
        if (accept) begin
            x_q      <= ByteW'(cmd_i.a[TokensLog2-1:0]);
            stride_q <= ByteW'(1);
        end else if (x_shift) begin
            x_q      <= x_q << 1;
            stride_q <= stride_q << 1;
        end else if (token_end) begin
            x_q <= x_q + stride_q;
        end
        if (desc_take) begin
            remote_q <= desc_remote;
            own_q    <= desc_own;
            gpus_q   <= desc_gpus;
            list_q   <= desc_list;
            token_q  <= desc_token;
            row_q    <= desc_row;
        end
        if (row_take) begin
            gate_gpu_q <= gpu_q;
            gate_own_q <= at_own;
            gate_row_q <= base_row_i;
        end
        if (desc_take || row_take || (state_q == GPU && !gpus_q[gpu_q])) begin
            gpu_q <= ((desc_take ? port : gpu_q) == GpuW'(N - 1)) ? '0 : (desc_take ? port : gpu_q) + 1'b1;
        end
    end

    // ---- arming ------------------------------------------------------------------------------------------------
    logic [TokensLog2:0] in_flight_q;
    assign may_arm     = cfg_i.in_flight == '0 || 17'(in_flight_q) != 17'(cfg_i.in_flight);
    assign arm_valid_o = state_q == ARM && may_arm;
    assign armed       = arm_valid_o && arm_ready_i;
    assign arm_token_o = node_pkg::TokenW'(first_token_q) | node_pkg::TokenW'(token_q);
    assign arm_count_o = remote_q + own_q;

    logic done;  // a token that was armed: other tokens are done too
    assign done = tok_done_i && in_flight_q != '0;

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) in_flight_q <= '0;
        else if (armed != done) in_flight_q <= in_flight_q + (armed ? (TokensLog2 + 1)'(1) : '1);
    end

    // ---- a transfer --------------------------------------------------------------------------------------------
    logic [ShiftW-1:0] xfer_addr;
    logic [ByteW:0]    xfer_base, xfer_row;
    logic [ByteW+1:0]  xfer_sum;
    logic [AddrW-1:0] xfer_from;
    logic [LenW-1:0]  xfer_len, xfer_end;
    logic             xfer_st, xfer_loc;

    assign xfer_valid = gate_q || state_q == ROW;

    logic             dst_own;
    logic [GpuW-1:0]  dst_gpu;
    assign dst_gpu = gate_q ? gate_gpu_q : gpu_q;
    assign dst_own = gate_q ? gate_own_q : at_own;

    always_comb begin
        xfer_base = is_dyn ? {1'b0, x_q} : !is_st ? bits_of_memory(to_q)
                  : {1'b0, gate_q ? cfg_i.gt_base[ByteW-1:0] : cfg_i.xd_base[ByteW-1:0]};
        xfer_row  = (gate_q && is_st) ? bits_of_memory(32'({gate_row_q, 7'd0})) : s_q[ByteW:0];
        xfer_sum  = {1'b0, xfer_base} + {1'b0, xfer_row};
        xfer_addr = {s_q[ShiftW-1:ByteW+2], s_q[ByteW+1] | xfer_sum[ByteW+1], xfer_sum[ByteW:0]};
        xfer_from = !by_token ? from_byte_q[ByteW-1:FlitW] : !gate_q ? cfg_i.xs_base[ByteW-1:FlitW] + x_q[ByteW-1:FlitW]
                  : {row_q, SubW'(32 / FlitBytes)};
        xfer_len  = !by_token ? bytes_q : !gate_q ? LenW'(cfg_i.row_bytes) : LenW'({cfg_i.k, 2'b00});
        xfer_end  = xfer_len - 1'b1;
        xfer_st   = is_dyn ? remote_q != '0 : is_st ? !dst_own : is_multi ? (members & ~own_bit) != '0 : imm_q[4:0] != cfg_i.port;
        xfer_loc  = is_dyn ? own_q != '0 : is_st ? dst_own : is_multi ? (members & own_bit) != '0 : imm_q[4:0] == cfg_i.port;
    end

    // The reader works on the transfer in slot b; slot a waits for send_build. Behind the weights for META it reads the entries too (ids_q).
    typedef struct packed {
        logic                        st;
        logic                        loc;
        logic [ShiftW-1:0]           addr;
        logic [PktsW-1:0]            pkts;
        logic [6:0]                  tail;
        logic                        gate;
        logic [4:0]                  dst;
        logic [1:0]                  list_no;
        logic [4:0]                  remote;
        logic [4:0]                  own;
        logic [TokB-1:0]             token;
    } job_t;
    job_t             job_a_q, job_b_q;
    logic             job_take, move_b, reading_q, ids_q, pay_last, build_idle;
    logic [AddrW-1:0] from_q;
    logic [LenW-FlitW-1:0] flit_q, last_q;   // flit to request, last one
    logic             pay_req, pay_gnt;

    assign move_b    = job_b_valid_q && (!job_a_valid_q || job_take);
    assign xfer_take = xfer_valid && (!reading_q || (pay_last && !ids_q)) && (!job_b_valid_q || move_b);
    assign pay_last  = pay_gnt && flit_q == last_q;
    assign drained   = !reading_q && !job_a_valid_q && !job_b_valid_q && build_idle;
    assign retire_o  = state_q == DRAIN && drained;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            job_a_valid_q <= 1'b0;
            job_b_valid_q <= 1'b0;
            reading_q     <= 1'b0;
        end else begin
            if (xfer_take) job_b_valid_q <= 1'b1;
            else if (move_b) job_b_valid_q <= 1'b0;
            if (move_b) job_a_valid_q <= 1'b1;
            else if (job_take) job_a_valid_q <= 1'b0;
            if (xfer_take) reading_q <= 1'b1;
            else if (pay_last && !ids_q) reading_q <= 1'b0;
        end
        if (move_b) job_a_q <= job_b_q;
        if (xfer_take) begin
            job_b_q <= '{
                st: xfer_st, loc: xfer_loc, addr: xfer_addr, pkts: xfer_end[LenW-1:7], tail: xfer_end[6:0], gate: gate_q,
                dst: is_st ? 5'(dst_gpu) : is_linear ? imm_q[4:0] : '0, list_no: list_q, remote: remote_q, own: own_q,
                token: first_token_q | TokB'(token_q)
            };
        end
        if (xfer_take) begin
            from_q <= xfer_from;
            last_q <= xfer_end[LenW-1:FlitW];
            ids_q  <= is_st && gate_q;
        end else if (pay_last) begin
            from_q <= {from_q[AddrW-1:SubW], SubW'(0)};
            last_q <= (LenW-FlitW)'(k_last[3:FlitW-1]);
            ids_q  <= 1'b0;
        end
        if (xfer_take || pay_last) flit_q <= '0;
        else if (pay_gnt) flit_q <= flit_q + 1'b1;
    end

    // ---- memory ------------------------------------------------------------------------------------------------
    // Payload is requested when the queue has a place for it. A bit for each request tells whose the answer is.
    localparam int unsigned Slots = 15;
    logic [3:0]    slots_q, ask_q, answer_q;
    logic          pay_wait_q, for_pay, walk_sel, pay_rvalid, pay_valid, pay_take, pay_room;
    logic [FW-1:0] pay_data;
    logic [4:0]    pay_level;

    assign pay_req       = reading_q && slots_q != 4'(Slots);
    assign walk_sel      = walk_rd_valid && !pay_wait_q;  // a request that waits is not replaced
    assign rd_valid_o    = pay_req || walk_rd_valid;
    assign rd_addr_o     = walk_sel ? walk_rd_addr : from_q + AddrW'(flit_q);
    assign walk_rd_ready = rd_ready_i && walk_sel;
    assign pay_gnt       = pay_req && !walk_sel && rd_ready_i;
    assign walk_rvalid   = rd_rvalid_i && !for_pay;
    assign pay_rvalid    = rd_rvalid_i && for_pay;

    lutram #(
        .Width(1),
        .Depth(16)
    ) i_whose (
        .clk_i, .we_i(rd_valid_o && rd_ready_i), .waddr_i(ask_q), .wdata_i(!walk_sel), .raddr_i(answer_q), .rdata_o(for_pay)
    );

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            slots_q    <= '0;
            ask_q      <= '0;
            answer_q   <= '0;
            pay_wait_q <= 1'b0;
        end else begin
            if (pay_gnt != pay_take) slots_q <= slots_q + (pay_gnt ? 4'd1 : '1);
            if (rd_valid_o && rd_ready_i) ask_q <= ask_q + 1'b1;
            if (rd_rvalid_i) answer_q <= answer_q + 1'b1;
            pay_wait_q <= pay_req && !walk_sel && !rd_ready_i;
        end
    end

    fifo #(
        .Width(FW),
        .Depth(Slots + 1)
    ) i_pay (
        .clk_i, .rst_ni, .valid_i(pay_rvalid), .ready_o(pay_room), .data_i(rd_rdata_i),
        .valid_o (pay_valid), .ready_i(pay_take), .data_o(pay_data), .level_o(pay_level)
    );

    // ---- packets -----------------------------------------------------------------------------------------------
    packet_pkg::opcode_e opcode;
    logic                own_valid [2], own_ready [2], own_last [2];  // 0 uplink, 1 local
    logic [FW-1:0]       own_data [2];
    assign opcode = is_dyn ? packet_pkg::OP_DYMULTIMEM_ST : is_red ? packet_pkg::OP_MULTIMEM_RED : is_multi ? packet_pkg::OP_MULTIMEM_ST : packet_pkg::OP_ST;

    send_build #(
        .FlitBytes(FlitBytes), .PktsW(PktsW), .SumW(ByteW + 1), .AddrW(ShiftW), .TokenW(TokB)
    ) i_build (
        .clk_i, .rst_ni, .port_i(cfg_i.port), .epoch_i(cfg_i.epoch), .k_i(cfg_i.k), .opcode_i(opcode), .group_i(is_red ? 16'(imm_q[7:0]) : imm_q), .kind_i(kind), .meta_i(is_st), .flat_i(flat_q && is_dyn),
        .job_valid_i (job_a_valid_q), .job_take_o(job_take), .job_st_i(job_a_q.st), .job_loc_i(job_a_q.loc), .job_addr_i(job_a_q.addr),
        .job_pkts_i (job_a_q.pkts), .job_tail_i(job_a_q.tail), .job_gate_i(job_a_q.gate), .job_dst_i(job_a_q.dst),
        .job_list_i (job_a_q.list_no), .job_remote_i(job_a_q.remote), .job_own_i(job_a_q.own), .job_token_i(job_a_q.token),
        .list_o (build_list), .word_o(build_word), .remote0_i(remote0), .remote_flit_i(remote_flit), .own0_i(own0), .own_flit_i(own_flit),
        .pay_valid_i (pay_valid), .pay_take_o(pay_take), .pay_data_i(pay_data),
        .st_valid_o (own_valid[0]), .st_ready_i(own_ready[0]), .st_data_o(own_data[0]), .st_last_o(own_last[0]),
        .loc_valid_o (own_valid[1]), .loc_ready_i(own_ready[1]), .loc_data_o(own_data[1]), .loc_last_o(own_last[1]),
        .idle_o (build_idle)
    );

    // control's packets join here, between send's
    loc_merge #(.FlitBytes(FlitBytes)) i_st (
        .clk_i, .rst_ni, .go_i,
        .loc_valid_i (own_valid[0]), .loc_ready_o(own_ready[0]), .loc_data_i(own_data[0]), .loc_last_i(own_last[0]),
        .clo_valid_i (cst_valid_i), .clo_ready_o(cst_ready_o), .clo_data_i(ctl_data_i), .clo_last_i(ctl_last_i),
        .loc_valid_o (st_valid_o), .loc_ready_i(st_ready_i), .loc_data_o(st_data_o), .loc_last_o(st_last_o)
    );
    loc_merge #(.FlitBytes(FlitBytes)) i_loc (
        .clk_i, .rst_ni, .go_i,
        .loc_valid_i (own_valid[1]), .loc_ready_o(own_ready[1]), .loc_data_i(own_data[1]), .loc_last_i(own_last[1]),
        .clo_valid_i (clo_valid_i), .clo_ready_o(clo_ready_o), .clo_data_i(ctl_data_i), .clo_last_i(ctl_last_i),
        .loc_valid_o, .loc_ready_i, .loc_data_o, .loc_last_o
    );

    // ---- errors ------------------------------------------------------------------------------------------------
    logic cmd_err;
    assign cmd_err = state_q == PORT && bad_cmd;
    assign err_valid_o = list_err || cmd_err;
    assign err_code_o  = list_err ? list_err_code : strange ? error_pkg::ERR_REDUCTION : error_pkg::ERR_INSTR;

    logic unused;  // among them pay_room: a place in the queue is there by slots_q
    assign unused = ^{cfg_i, cmd_i, group_data_i, pay_room, pay_level};
endmodule

`default_nettype wire
