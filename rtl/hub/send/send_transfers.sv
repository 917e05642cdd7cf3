// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Middle of send: cuts an instruction into transfers.
//
// Function: A transfer is a range of own memory: a token's row, its gate weights, or all of an
// instruction without tokens. It goes to consecutive addresses at one receiver (st, st.linear), at
// many (dymultimem.st, multimem.st, multimem.red), or at one of many (st.rowsp). A token is armed
// at the token tracker before its first transfer, and only while fewer than cfg.in_flight armed
// tokens wait for tok_done_i. multimem.st with flags 1 copies rows that lie 2^row_shift bytes
// apart, a transfer for each, with 2 routing entries. Its own address counts from xs_base or
// rt_base. multimem.red with flags 1 (with SumEntries) sends such rows to each other home in turn.
// Row i of home q lies at own address + (i << row_shift) + (q << (token_shift + row_shift)), and
// goes to static group imm + q.
// Order: Tokens in the order of send_list. Of a token first its row, then its gate weights unless
// flags.0. st.rowsp sends both for each remote target in the order of its list, then for its own
// targets together. st sends to GPUs p + 1, p + 2, ... modulo N, and to p last. multimem.red with
// flags 1 sends row i to p + 1, p + 2, ... modulo N without p, then row i + 1.
// Back-pressure: xfer_take_i and arm_ready_i. With xfer_o.valid all fields are stable until
// xfer_take_i.
// Errors: The first error of an instruction is one pulse, and it makes no transfer:
// - REDUCTION: the device does not support this reduction.
// - UNMAPPED: a group without a member, a GPU that does not exist, or with multimem.red of flags 1,
//   fewer than N groups from imm on.
// - BOUNDS: addresses that are not multiples of the flit; for rows that lie apart, a length that is
//   not a multiple of 2^row_shift; bytes beyond own memory; tokens of 2^token_shift or more, or
//   with gate weights, tokens that the layer does not have.
// A token with a bad list is skipped.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module send_transfers #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type group_t = `MW_GROUP(Cfg),
    parameter type token_t = `MW_TOKEN(Cfg),
    parameter int unsigned ShiftW = 40,  // of a transfer's address
    parameter int unsigned PktsW = 8,  // of a packet's number inside a transfer
    parameter type xfer_t = logic,  // see send
    localparam int unsigned LenW = (Cfg.MemBytesLog2 > 15) ? Cfg.MemBytesLog2 : 15,
    localparam int unsigned RowAW = Cfg.AddrW - $clog2(isa_pkg::RouteBytes / Cfg.FlitBytes)
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire logic                go_i,
    input  wire node_pkg::node_cfg_t cfg_i,

    input  wire logic               cmd_valid_i,
    output logic                    cmd_ready_o,
    input  wire isa_pkg::instr_t    cmd_i,
    output logic                    walk_o,  // it begins, and has tokens
    output logic                    picks_o,  // with walk_o: tokens in the order made
    output logic [Cfg.TokensLog2:0] range_end_o,
    output logic [Cfg.TokensLog2:0] end_o,  // behind the last one, of the instruction begun last
    input  wire logic               drained_i,  // nothing that was taken is on its way
    output logic                    retire_o,

    input  wire group_t groups_i,

    // the next token's targets, see send_list
    input  wire logic   walk_done_i,
    input  wire logic   desc_valid_i,
    output logic        desc_take_o,
    // rows alone follow each other too fast for the lists: two wait, besides this one and the next
    input  wire logic   lists_used_i,
    input  wire token_t desc_i,

    output bundle_pkg::arm_t arm_o,
    input  wire logic        arm_ready_i,
    input  wire logic        tok_done_i,

    output logic [Cfg.GpuW-1:0]            base_q_o,     // st: next row number at this GPU
    input  wire logic [node_pkg::RowW-1:0] base_row_i,
    output logic                           base_take_o,  // and count it

    output xfer_t     xfer_o,
    input  wire logic xfer_take_i,

    // constant until the next instruction
    output bundle_pkg::sends_t sends_o,
    output bundle_pkg::error_t err_o
);
    import isa_pkg::*;
    localparam int unsigned SubW = Cfg.AddrW - RowAW;

    if (Cfg.SumEntries != 0 && !Cfg.Gathered) begin : gen_check
        $error("send_transfers: SumEntries needs Gathered");
    end

    // Addresses are added in the bits of a memory address and one more, which says beyond
    // memory and never gets lost again.
    function automatic logic [Cfg.MemBytesLog2:0] bits_of_memory(input node_pkg::byte_t a);
        return {(a >> Cfg.MemBytesLog2) != '0, Cfg.MemBytesLog2'(a)};
    endfunction

    // Own memory of an instruction without tokens: where its address counts from.
    node_pkg::byte_t own_from;
    logic copies_rows, copies_entries;
    assign copies_rows = Cfg.Gathered && cmd_i.op == I_MULTIMEM_ST && cmd_i.flags[0];
    assign copies_entries = Cfg.Gathered && cmd_i.op == I_MULTIMEM_ST && cmd_i.flags[1];

    based_address #(
        .Cfg(Cfg)
    ) i_from (
        .base_i(copies_rows ? cfg_i.xs_base : copies_entries ? cfg_i.rt_base : '0),
        .address_i({cmd_i.a_high, cmd_i.a}),
        .address_o(own_from)
    );

    // ---- instruction ----------------------------------------------------------------------------
    typedef enum logic [3:0] {
        IDLE,
        PORT,
        SHIFT,
        NEXT,
        ARM,
        GPU,
        SHIFT_ROW,
        ROW,
        DRAIN
    } state_e;
    state_e state_q;

    // The unit's opcodes differ in their low bits: 0 dymultimem.st and st.rowsp, 1 st, 2 st.linear,
    // 3 multimem.st and multimem.red.
    logic [1:0] kind_q;
    logic bare_q;  // rows alone
    logic rowsp;
    logic any_order;  // tokens come in any order
    logic placed;  // where the next one's row is
    logic [Cfg.MemBytesLog2-1:0] place_q;
    logic [15:0] imm_q;
    logic [Cfg.MemBytesLog2-1:0] from_byte_q;
    logic [LenW-1:0] bytes_q;
    node_pkg::byte_t to_q;
    logic flat_q, is_red, strange;
    logic homes, homes_beyond;  // a row of each home in turn; the last one ends beyond own memory
    logic last_home;  // gpu_q is the last home for the current row index
    logic [LenW-1:0] home_from;  // bytes from home 0's rows to those of gpu_q
    logic apart, uneven, rows_left;  // rows that lie apart: the length is none of
                                     // whole ones; others follow
    logic accept, is_dyn, is_st, is_linear, is_multi, by_token, bad_cmd, no_gpu, tokens_in;
    logic no_tokens, no_bytes, uncounted;
    logic outside_q;  // the range of tokens, or of own bytes
    logic empty_q;  // no byte: all of memory has 0 in bytes_q, too
    logic [15:0] group;
    logic [Cfg.TokensLog2:0] range_end;
    logic [Cfg.N-1:0] members;

    assign is_dyn = kind_q == I_DYMULTIMEM_ST[1:0];
    assign is_st = kind_q == I_ST[1:0];
    assign is_linear = kind_q == I_ST_LINEAR[1:0];
    assign is_multi = kind_q == I_MULTIMEM_ST[1:0];
    assign by_token = is_dyn || is_st;

    if (Cfg.Reds) begin : gen_reds
        logic red_q;
        red_pkg::red_t kind;
        always_ff @(posedge clk_i) if (accept) red_q <= cmd_i.op == I_MULTIMEM_RED;
        assign is_red = red_q;
        assign kind = '{
                dtype: packet_pkg::dtype_e'(imm_q[11:8]),
                redop: packet_pkg::redop_e'(imm_q[14:12])
            };
        assign sends_o.kind = red_q ? red_pkg::kept(Cfg.RedTypes, kind) : '0;
        assign sends_o.merge = Cfg.SumEntries != 0 && red_q && imm_q[15];
        assign strange = red_q && ((Cfg.SumEntries == 0 && imm_q[15]) || !red_pkg::has(
            Cfg.RedTypes, Cfg.RedOps, kind
        ));
    end else begin : gen_no_reds
        logic red_q;  // an error
        always_ff @(posedge clk_i) if (accept) red_q <= cmd_i.op == I_MULTIMEM_RED;
        assign is_red = 1'b0;
        assign sends_o.kind = '0;
        assign sends_o.merge = 1'b0;
        assign strange = red_q;
    end
    if (Cfg.TokenOrder) begin : gen_any_order
        // The next token's number is shifted to its place while it waits.
        logic any_order_q, begun_q;
        logic [3:0] steps_q;

        assign any_order = any_order_q;
        assign picks_o = cmd_i.op == I_DYMULTIMEM_ST && cmd_i.flags[2];
        assign placed = !any_order_q || (begun_q && steps_q == cfg_i.row_shift);
        always_ff @(posedge clk_i) begin
            if (accept) any_order_q <= picks_o;
            begun_q <= any_order_q && desc_valid_i && !desc_take_o;
            if (!begun_q) begin
                place_q <= Cfg.MemBytesLog2'(desc_i.token);
                steps_q <= '0;
            end else if (!placed) begin
                place_q <= place_q << 1;
                steps_q <= steps_q + 1'b1;
            end
        end
    end else begin : gen_in_order
        assign any_order = 1'b0;
        assign picks_o = 1'b0;
        assign placed = 1'b1;
        assign place_q = '0;
    end
    if (Cfg.RowSparse) begin : gen_rowsp
        logic rowsp_q;
        always_ff @(posedge clk_i) if (accept) rowsp_q <= cmd_i.op == I_ST_ROWSP;
        assign rowsp = rowsp_q;
    end else begin : gen_no_rowsp
        assign rowsp = 1'b0;
    end
    assign cmd_ready_o = state_q == IDLE;
    assign accept = cmd_valid_i && cmd_ready_o;
    assign tokens_in = cmd_i.op[1:0] inside {I_DYMULTIMEM_ST[1:0], I_ST[1:0]};
    assign walk_o = accept && tokens_in && !no_tokens && !uncounted;
    // rows that complete at their receivers, in place of others that were counted
    assign uncounted = cmd_i.op[1:0] == I_DYMULTIMEM_ST[1:0] && !cmd_i.flags[0]
                       && range_end > (Cfg.TokensLog2+1)'(cfg_i.tokens);
    assign group = is_red ? 16'(imm_q[7:0]) : imm_q;
    assign no_gpu = !by_token && (homes ? group > 16'(Cfg.Groups - Cfg.N)
                                  : is_multi ? group >= 16'(Cfg.Groups) || members == '0
                                  : imm_q >= 16'(Cfg.N));
    assign bad_cmd = outside_q || uneven || homes_beyond
                     || (!by_token && (no_gpu || strange
                                       || (from_byte_q[Cfg.FlitLog2-1:0]
                                           | to_q[Cfg.FlitLog2-1:0]) != '0));

    assign range_end_o = range_end;

    cmd_range #(
        .Cfg(Cfg)
    ) i_range (
        .first_i(own_from),
        .count_i(cmd_i.b),
        .shift_i({1'b0, cfg_i.token_shift}),
        .end_o(range_end),
        .no_tokens_o(no_tokens),
        .no_bytes_o(no_bytes)
    );

    always_ff @(posedge clk_i) begin
        if (accept) begin
            kind_q <= cmd_i.op[1:0];
            bare_q <= cmd_i.flags[0];
            flat_q <= cmd_i.flags[1];
            imm_q <= cmd_i.imm;
            from_byte_q <= Cfg.MemBytesLog2'(own_from);
            bytes_q <= LenW'(cmd_i.b);
            to_q <= {cmd_i.c_high, cmd_i.c};
            empty_q <= cmd_i.b == '0;
            outside_q <= tokens_in ? no_tokens || uncounted : no_bytes;
        end
        if (!rst_ni) end_o <= '0;
        else if (walk_o) end_o <= range_end;
    end

    lutram #(
        .Width(Cfg.N),
        .Depth(Cfg.Groups)
    ) i_groups (
        .clk_i,
        .we_i(groups_i.we),
        .waddr_i(groups_i.addr[Cfg.GroupW-1:0]),
        .wdata_i(groups_i.data[Cfg.N-1:0]),
        .raddr_i(imm_q[Cfg.GroupW-1:0]),
        .rdata_o(members)
    );

    logic [Cfg.N-1:0] own_bit;  // one-hot own port
    for (genvar g = 0; g < Cfg.N; g++) begin : gen_own
        assign own_bit[g] = cfg_i.port == packet_pkg::port_t'(g);
    end

    assign sends_o.opcode = rowsp ? packet_pkg::OP_ST_ROWSP
                            : is_dyn ? packet_pkg::OP_DYMULTIMEM_ST
                      : is_red ? packet_pkg::OP_MULTIMEM_RED : is_multi
                      ? packet_pkg::OP_MULTIMEM_ST : packet_pkg::OP_ST;
    assign sends_o.group = group;
    assign sends_o.meta = is_st;
    assign sends_o.flat = flat_q && is_dyn;
    assign sends_o.rowsp = rowsp;
    assign sends_o.lists = Cfg.SourceLists && rowsp && cfg_i.source_lists;
    assign retire_o = state_q == DRAIN && drained_i;
    assign err_o.valid = state_q == PORT && bad_cmd;
    assign err_o.code = strange ? error_pkg::ERR_REDUCTION : no_gpu ? error_pkg::ERR_UNMAPPED
                        : error_pkg::ERR_BOUNDS;

    // ---- tokens into transfers ------------------------------------------------------------------
    // x_q: bytes from the first own row to the token's; in any order a token's number is shifted to
    // its place. s_q is a shift register, one place per cycle. It makes own port << (token_shift +
    // row_shift) for the multimem address, or a unicast row's number << row_shift. For rows that
    // lie apart it makes the bytes before the next one. Both are ready long before the transfer
    // that needs them.
    logic [Cfg.MemBytesLog2-1:0] x_q, stride_q;
    logic [ShiftW-1:0] s_q;
    logic [Cfg.TokW-1:0] first_token_q;  // own port << token_shift
    logic [3:0] shift_q, shift_to;
    logic shift_end, s_port, s_row, s_shift, x_shift;
    logic gate_q, gate_own_q;  // the gate weights of the row taken last
                               // are still to come
    logic [Cfg.GpuW-1:0] gate_gpu_q;
    logic [node_pkg::RowW-1:0] gate_row_q;
    logic [4:0] remote_q, own_q;
    logic [Cfg.N-1:0] gpus_q;
    logic [1:0] list_q;
    logic [Cfg.TokensLog2-1:0] token_q;
    logic [RowAW-1:0] row_q;
    logic [Cfg.GpuW-1:0] gpu_q, port;
    logic first_gpu;  // the next one is the first
    logic at_own, token_end, row_take, armed, may_arm;
    logic [3:0] nth;  // st.rowsp: remote targets that have theirs
    logic far, near;  // dymultimem.st and st.rowsp: for targets
                      // elsewhere, for own ones
    logic more;  // others follow the one that is served

    if (Cfg.Gathered) begin : gen_apart
        logic apart_q;
        always_ff @(posedge clk_i) if (accept) apart_q <= copies_rows;
        assign apart = apart_q || homes;
        assign uneven = apart && (bytes_q[14:0] & ~(15'h7fff << cfg_i.row_shift)) != '0;
        assign rows_left = apart && LenW'(s_q) + LenW'(stride_q) != bytes_q;
    end else begin : gen_whole
        assign {apart, uneven, rows_left} = '0;
    end
    if (Cfg.SumEntries != 0) begin : gen_homes
        localparam int unsigned EndW = 40;  // more than any sum of these
        logic homes_q;
        logic [4:0] home_shift;
        logic [EndW-1:0] homes_end;  // byte behind the last row of the last home

        always_ff @(posedge clk_i) begin
            if (accept) homes_q <= cmd_i.op == I_MULTIMEM_RED && cmd_i.flags[0];
        end
        assign homes = homes_q;
        assign last_home = ((gpu_q == Cfg.GpuW'(Cfg.N - 1)) ? '0 : gpu_q + 1'b1) == port;
        assign home_shift = 5'(cfg_i.token_shift) + 5'(cfg_i.row_shift);
        assign home_from = LenW'(gpu_q) << home_shift;
        assign homes_end = (EndW'(Cfg.N - 1) << home_shift) + EndW'(from_byte_q) + EndW'(bytes_q);
        assign homes_beyond = homes && !empty_q && homes_end > (EndW'(1) << Cfg.MemBytesLog2);
    end else begin : gen_no_homes
        assign {homes, last_home, home_from, homes_beyond} = '0;
    end

    assign port = cfg_i.port[Cfg.GpuW-1:0];
    assign at_own = gpu_q == port;
    assign first_gpu = desc_take_o || (homes && (state_q == SHIFT || (row_take && last_home)));
    assign shift_to = (state_q == PORT) ? cfg_i.token_shift : cfg_i.row_shift;
    assign shift_end = shift_q == shift_to;
    assign s_port = accept;
    assign s_row = state_q == GPU;
    assign s_shift = !shift_end && !apart
                     && (state_q inside {PORT, SHIFT_ROW} || (state_q == SHIFT && is_dyn));
    assign x_shift = !shift_end && state_q == SHIFT;
    assign desc_take_o = state_q == NEXT && desc_valid_i && !gate_q && !(bare_q && lists_used_i)
                         && placed;
    assign row_take = state_q == ROW && xfer_take_i && !gate_q;
    assign base_q_o = gpu_q;
    assign base_take_o = row_take && is_st;

    always_comb begin
        unique case (state_q)
            NEXT:    token_end = desc_take_o ? desc_i.bad || (is_st && desc_i.gpus == '0)
                                 : is_dyn && xfer_take_i;
            ARM:     token_end = armed && remote_q == '0 && own_q == '0;
            GPU:     token_end = !gpus_q[gpu_q] && at_own;
            ROW:     token_end = row_take && (is_st ? at_own : is_dyn && bare_q && !more);
            default: token_end = 1'b0;
        endcase
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            state_q <= IDLE;
            gate_q <= 1'b0;
        end else begin
            unique case (state_q)
                IDLE:      if (accept) state_q <= PORT;
                PORT:      if (bad_cmd) state_q <= DRAIN;
                           else if (!by_token) state_q <= empty_q ? DRAIN : apart ? SHIFT : ROW;
                           else if (shift_end) state_q <= SHIFT;
                SHIFT:     if (shift_end) state_q <= apart ? ROW : NEXT;
                NEXT:      if (desc_take_o) state_q <= token_end ? NEXT : is_dyn ? ARM : GPU;
                           else if (walk_done_i && !desc_valid_i && !gate_q) state_q <= DRAIN;
                ARM:       if (armed) state_q <= token_end ? NEXT : ROW;
                GPU:       if (gpus_q[gpu_q]) state_q <= SHIFT_ROW;
                           else if (at_own) state_q <= NEXT;
                SHIFT_ROW: if (shift_end) state_q <= ROW;
                ROW:       if (row_take) state_q <= rows_left || (homes && !last_home) ? ROW
                                                    : !by_token ? DRAIN : more ? ROW
                                                    : is_dyn || at_own ? NEXT : GPU;
                DRAIN:     if (drained_i) state_q <= IDLE;
                default:   state_q <= IDLE;
            endcase
            if (xfer_take_i) gate_q <= by_token && !bare_q && !gate_q;
        end
        if (s_shift || x_shift) shift_q <= shift_q + 1'b1;
        else shift_q <= '0;
    end

    // The registers that hold constants of the instruction are loaded on the way.
    always_ff @(posedge clk_i) begin
        if (s_port) s_q <= walk_o ? ShiftW'(cfg_i.port) : '0;
        else if (s_row) s_q <= ShiftW'(bits_of_memory(node_pkg::byte_t'(base_row_i)));
        else if (s_shift)
            s_q <= is_st ? ShiftW'({s_q[Cfg.MemBytesLog2] | s_q[Cfg.MemBytesLog2-1],
                                    s_q[Cfg.MemBytesLog2-2:0], 1'b0}) : s_q << 1;
        else if (apart && row_take && (!homes || last_home)) s_q <= s_q + ShiftW'(stride_q);
        if (state_q == PORT) first_token_q <= s_q[Cfg.TokW-1:0];
        if (accept) begin
            x_q <= Cfg.MemBytesLog2'(cmd_i.a[Cfg.TokensLog2-1:0]);
            stride_q <= Cfg.MemBytesLog2'(1);
        end else if (x_shift) begin
            x_q <= x_q << 1;
            stride_q <= stride_q << 1;
        end else if (any_order && desc_take_o) begin
            x_q <= place_q;
        end else if (token_end) begin
            x_q <= x_q + stride_q;
        end
        if (desc_take_o) begin
            remote_q <= desc_i.remote;
            own_q <= desc_i.own;
            gpus_q <= desc_i.gpus;
            list_q <= desc_i.list;
            token_q <= desc_i.token;
            row_q <= desc_i.row;
        end
        if (row_take) begin
            gate_gpu_q <= gpu_q;
            gate_own_q <= at_own;
            gate_row_q <= base_row_i;
        end
        if (first_gpu || row_take || (state_q == GPU && !gpus_q[gpu_q])) begin
            gpu_q <= ((first_gpu ? port : gpu_q) == Cfg.GpuW'(Cfg.N - 1)) ? '0
                     : (first_gpu ? port : gpu_q) + 1'b1;
        end
    end

    if (Cfg.RowSparse) begin : gen_each
        logic [4:0] nth_q;

        assign nth = nth_q[3:0];
        assign more = rowsp && nth_q + 5'd1 < remote_q + 5'(own_q != '0);
        always_ff @(posedge clk_i) begin
            if (desc_take_o) nth_q <= '0;
            else if (state_q == ROW && xfer_take_i && more && (gate_q || bare_q))
                nth_q <= nth_q + 5'd1;
        end
        assign far = rowsp ? nth_q < remote_q : remote_q != '0;
        assign near = own_q != '0 && !(rowsp && far);
    end else begin : gen_all
        assign {nth, more} = '0;
        assign far = remote_q != '0;
        assign near = own_q != '0;
    end

    // ---- arming ---------------------------------------------------------------------------------
    logic [Cfg.TokensLog2:0] in_flight_q;
    logic by_switch;
    assign by_switch = Cfg.SwitchReductions && cfg_i.switch_reductions;
    assign may_arm = cfg_i.in_flight == '0 || 17'(in_flight_q) != 17'(cfg_i.in_flight);
    assign arm_o.valid = state_q == ARM && may_arm;
    assign armed = arm_o.valid && arm_ready_i;
    assign arm_o.token = node_pkg::TokenW'(first_token_q) | node_pkg::TokenW'(token_q);
    assign arm_o.count = by_switch ? own_q : remote_q + own_q;
    assign arm_o.remote = by_switch && remote_q != '0;

    logic done;  // a token that was armed: other tokens are done too
    assign done = tok_done_i && in_flight_q != '0;

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) in_flight_q <= '0;
        else if (armed != done)
            in_flight_q <= in_flight_q + (armed ? (Cfg.TokensLog2 + 1)'(1) : '1);
    end

    // ---- a transfer -----------------------------------------------------------------------------
    logic [ShiftW-1:0] xfer_addr;
    logic [Cfg.MemBytesLog2:0] xfer_base, xfer_row;
    logic [Cfg.MemBytesLog2+1:0] xfer_sum;
    logic [LenW-1:0] xfer_len, xfer_end;
    logic [14:0] row_bytes;
    logic xfer_valid, xfer_st, xfer_loc, cut;
    logic [Cfg.AddrW-1:0] xfer_from;

    assign xfer_valid = gate_q || state_q == ROW;

    logic dst_own;
    packet_pkg::port_t to_port;
    logic [Cfg.GpuW-1:0] dst_gpu;
    assign dst_gpu = gate_q ? gate_gpu_q : gpu_q;
    assign dst_own = gate_q ? gate_own_q : at_own;

    assign row_bytes = node_pkg::dispatch_row(Cfg.RowTypes, cfg_i);
    assign to_port = packet_pkg::port_t'(imm_q[Cfg.PortW-1:0]);

    always_comb begin
        xfer_base = is_dyn ? {1'b0, x_q} :
            !is_st ? bits_of_memory(to_q) : {1'b0, gate_q ? cfg_i.gt_base[Cfg.MemBytesLog2-1:0] :
                                             cfg_i.xd_base[Cfg.MemBytesLog2-1:0]};
        xfer_row = (gate_q && is_st) ? bits_of_memory(node_pkg::byte_t'({gate_row_q, 7'd0})) :
            s_q[Cfg.MemBytesLog2:0];
        xfer_sum = {1'b0, xfer_base} + {1'b0, xfer_row};
        xfer_addr = {
            s_q[ShiftW-1:Cfg.MemBytesLog2+2],
            s_q[Cfg.MemBytesLog2+1] | xfer_sum[Cfg.MemBytesLog2+1],
            xfer_sum[Cfg.MemBytesLog2:0]
        };
        xfer_from = !by_token ? from_byte_q[Cfg.MemBytesLog2-1:Cfg.FlitLog2]
                                  + (apart ? Cfg.AddrW'(s_q >> Cfg.FlitLog2) : '0)
                                  + Cfg.AddrW'(homes ? home_from >> Cfg.FlitLog2 : '0)
                    : !gate_q
                      ? cfg_i.xs_base[Cfg.MemBytesLog2-1:Cfg.FlitLog2]
                      + x_q[Cfg.MemBytesLog2-1:Cfg.FlitLog2] : {row_q, SubW'(32 / Cfg.FlitBytes)};
        xfer_len = (!by_token && !apart) ? bytes_q : homes ? LenW'(cfg_i.row_bytes)
                   : !gate_q ? LenW'(row_bytes)
                   : LenW'({cfg_i.k, 2'b00});
        xfer_end = xfer_len - 1'b1;
        xfer_st = is_dyn ? far : is_st ? !dst_own
                  : is_multi ? homes || (members & ~own_bit) != '0
                  : to_port != cfg_i.port;
        xfer_loc = is_dyn ? near : is_st ? dst_own
                   : is_multi ? !homes && (members & own_bit) != '0
                   : to_port == cfg_i.port;
    end

    assign cut = Cfg.RpmEntries != 0 && cfg_i.scatter != '0
                 && (is_st || is_linear || rowsp) && !gate_q && xfer_st;
    assign xfer_o.valid = xfer_valid;
    assign xfer_o.from = xfer_from;
    assign xfer_o.last = xfer_end[LenW-1:Cfg.FlitLog2];
    assign xfer_o.ids = is_st && gate_q;
    assign xfer_o.job = '{
            st: xfer_st,
            loc: xfer_loc,
            addr: xfer_addr,
            pkts: PktsW'(xfer_end >> (cut ? 5 : 7)),
            tail: {cut ? 2'd0 : xfer_end[6:5], xfer_end[4:0]},
            gate: gate_q,
            cut: cut,
            dst: (is_st || homes) ? packet_pkg::port_t'(dst_gpu) : is_linear ? to_port : '0,
            list_no: list_q,
            nth: nth,
            remote: remote_q,
            own: own_q,
            token: first_token_q | Cfg.TokW'(token_q),
            answer: 1'b0,
            poison: 1'b0,
            ref_: '0
        };

    `MW_STABLE(xfer_valid, xfer_take_i, {xfer_o.from, xfer_o.last},
               "a transfer changes before it is taken")
    `MW_STABLE(arm_o.valid, arm_ready_i, arm_o, "a token changes before it is armed")
    `MW_CONTRACT(arm_o.valid && cfg_i.in_flight != '0, 17'(in_flight_q) < 17'(cfg_i.in_flight),
                 "more tokens in flight than the layer allows")
    `MW_CONTRACT(retire_o, drained_i && !xfer_valid,
                 "an instruction retires with a transfer on its way")
endmodule

`default_nettype wire
