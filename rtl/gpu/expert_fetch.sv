// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Turns tiles into rows: requests each row of a tile from the tracker, computes its addresses,
// reads coefficient and gate weight.
//
// Function: If rows have scales (RowTypes), a row leaves as blocks of ScaleBlock elements, which
// expert_blocks completes. Each has addresses of its own. A flit of scales is read once for all
// blocks that have scales in it. With gradients_i a row also has the address of a row of x (f), the
// factor of the coefficient alone, and its token. The token comes from the tracker's list, is the
// number of a gathered row, or is the first word of the row's entry in the meta table.
// Ports: The row stride must be four flits or more, and region bases aligned to four flits, so that
// every row starts with a group of four. row_o is stable for 4 cycles after row_take_i, and
// row_o.factor is complete 3 cycles after it. Memory answers 3 cycles after the grant. A
// multiplication by a power of two replaces each shifter, because it costs less.
// Order: Tiles and rows in the order of arrival.
// Latency: A row costs 6 cycles if memory answers at once. It is read when the previous row was
// taken. One complete row waits for the engine. For the next row the address of the coefficient is
// ready, and for the one after it the list's answer. With gradients_i a row costs a cycle more, and
// two if its token is read. A block costs 8 cycles. It is read while another one waits for the
// engine, and coefficient and weight of the next row as soon as a row's first block is complete.
// Three cycles more of memory per flit of scales therefore cost nothing.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module expert_fetch #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type tile_t = `MW_TILE(Cfg),
    parameter type read_t = `MW_READ(Cfg),
    parameter type answer_t = `MW_ANSWER(Cfg),
    parameter type work_t = `MW_WORK(Cfg)
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,
    input  wire logic go_i,
    /* verilator lint_off UNUSEDSIGNAL */  // a unit uses a part of the configuration
    input  wire node_pkg::node_cfg_t cfg_i,
    /* verilator lint_on UNUSEDSIGNAL */
    input  wire logic unicast_i,   // list entries are received row << k_shift | list position
    input  wire logic gathered_i,  // of those: rows have entries of the routing table,
                                   // not of the meta table
    input  wire logic gradients_i,

    input  wire tile_t tile_i,
    output logic       tile_ready_o,  // its last row is requested; depends on tile_i

    output bundle_pkg::list_req_t list_o,
    input  wire logic             list_ready_i,
    // memory may hold fewer rows, and the token is the engine's
    /* verilator lint_off UNUSEDSIGNAL */
    input  wire bundle_pkg::list_rsp_t list_i,
    /* verilator lint_on UNUSEDSIGNAL */
    input  wire logic list_mine_i,  // the answer is for a row of this module

    output read_t        rd_o,
    input  wire logic    rd_ready_i,
    input  wire answer_t rd_i,

    output work_t     row_o,
    input  wire logic row_take_i,

    output logic busy_o  // rows are on their way
);
    localparam int unsigned W = Cfg.MemBytesLog2, Latency = 3;
    // memory holds no more rows
    localparam int unsigned LineW = (node_pkg::RowW < W) ? node_pkg::RowW : W;
    localparam int unsigned LowW = Cfg.RowTypes ? 15 : 7;  // offset in what a shifted number names

    // ---- the list -----------------------------------------------------------------
    logic going_q, asked_q, info_valid_q, info_last_q, info_pop, ask, last, listed;
    logic [Cfg.CountW-1:0] idx_q, info_idx_q, at, behind;
    logic [node_pkg::ExpertW-1:0] info_le_q;
    logic [LineW-1:0] info_row_q;
    logic [3:0] info_pos_q;
    logic [node_pkg::TokenW-1:0] info_token_q;

    assign list_o.valid = tile_i.valid && !asked_q && !info_valid_q;
    assign list_o.le = tile_i.le;
    assign list_o.idx = node_pkg::RowW'(at);
    assign at = going_q ? idx_q : tile_i.first;
    assign behind = at + 1'b1;
    assign last = behind == tile_i.behind;
    assign ask = list_o.valid && list_ready_i;
    assign listed = list_i.rvalid && list_mine_i;
    assign tile_ready_o = ask && last;

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) begin
            going_q <= 1'b0;
            asked_q <= 1'b0;
            info_valid_q <= 1'b0;
        end else begin
            if (ask) going_q <= !last;
            if (ask) asked_q <= 1'b1;
            else if (listed) asked_q <= 1'b0;
            if (listed) info_valid_q <= 1'b1;
            else if (info_pop) info_valid_q <= 1'b0;
        end
        if (ask) begin
            idx_q <= behind;
            info_idx_q <= at;
            info_le_q <= tile_i.le;
            info_last_q <= last;
        end
        if (listed) begin
            info_row_q <= list_i.row[LineW-1:0];
            info_pos_q <= list_i.pos;
            info_token_q <= list_i.token;
        end
    end

    // ---- addresses, one step of a row per cycle -----------------------------------
    typedef enum logic [2:0] {
        Line,   // line = number of the row among the rows of all experts
        Coef,   // sum = address of the coefficient
        ReadC,  // read it; sum = address of the gate weight
        ReadW,  // read it; sum = address of the hidden values, of a scale, or of the token
        Extra,  // read the row's scale; sum = address of the first block's. Of gradients: give
                // the row of x; sum = address of the result
        ReadS,  // read it, a scale or the token; sum = address of the block, or of hidden values
        GiveX,  // give it; sum = address of the result, or of the row of x
        GiveY   // give it; sum = address of the next block's scale
    } step_e;

    step_e step_q;
    logic [W-1:0] line_q, operand, shifted, base;
    logic [W-1:1] sum_q, sum;
    logic unused_sum;  // no address is odd
    logic [3:0] pos_q, keep;
    logic [4:0] shift;
    logic [LowW-1:0] low;
    logic [Cfg.FlitLog2-3:0] word_c_q, word_w_q;
    logic half_c_q, is_c, last_q, next_busy_q;
    logic [node_pkg::ExpertW-1:0] le_q;
    logic [Cfg.CountW-1:0] place_q;

    // Of rows that have scales: elements of half a byte; another block comes; the row's scale is
    // read; the block's scales are in the flit of the block before; offsets of a block's result
    // and of a scale, which lies behind the elements.
    logic scaled, fp4, more, row_scale, same_flit;
    logic [LowW-1:0] block_at, scale_at;
    // Steps that wait: ReadC, ReadS, GiveX.
    logic hold_c, hold_s, hold_x;
    work_t given;  // by the steps
    logic blocks_busy;
    fp_pkg::factor_t factor, factor_f;
    assign {given.valid, given.factor, given.factor_f, given.scales} = '0;

    logic gradients, tokened;  // rows of x count; and the token is read
    assign gradients = Cfg.GateGradients && gradients_i;
    assign tokened = gradients && unicast_i && !gathered_i;

    // List position in the low bits of a unicast entry.
    assign keep = unicast_i ? 4'hf << cfg_i.k_shift : 4'hf;

    always_comb begin
        operand = line_q;
        base = '0;
        shift = 5'(cfg_i.row_shift);
        low = '0;
        case (step_q)
            Line: begin
                operand = W'(info_le_q);
                shift = cfg_i.cap_shift;
            end
            Coef: begin
                operand = (Cfg.SourceLists && cfg_i.source_lists) ? W'(info_le_q) >> cfg_i.n_shift
                          : W'(info_le_q);
                shift = 5'd1;
                base = cfg_i.ce_base[W-1:0];
            end
            ReadC: begin
                shift = unicast_i ? 5'd7 - 5'(cfg_i.k_shift) : 5'(cfg_i.gate_shift);
                // behind the token in an entry of the meta table, behind all expert IDs
                // in one of the routing table
                low = LowW'({
                    5'(pos_q) + ((Cfg.Gathered
                                     && gathered_i) ? 5'(isa_pkg::ListBytes / 4) : 5'(unicast_i)),
                    2'b00
                });
                base = cfg_i.gt_base[W-1:0];
            end
            ReadW: begin
                if (unicast_i) shift = 5'(cfg_i.row_shift) - 5'(cfg_i.k_shift);
                base = cfg_i.xd_base[W-1:0];
                low = scale_at;
            end
            default: base = cfg_i.yd_base[W-1:0];
        endcase
        if (Cfg.GateGradients) begin
            if (step_q == ReadW && tokened) begin
                shift = 5'd7 - 5'(cfg_i.k_shift);
                base = cfg_i.gt_base[W-1:0];
            end
            if (step_q == GiveX && gradients) begin
                if (unicast_i) shift = 5'(cfg_i.row_shift) - 5'(cfg_i.k_shift);
                base = cfg_i.xf_base[W-1:0];
            end
        end
        if (Cfg.RowTypes) begin
            if ((step_q == Extra && row_scale) || step_q == ReadS
                || (step_q == GiveY && scaled)) begin
                if (unicast_i) shift = 5'(cfg_i.row_shift) - 5'(cfg_i.k_shift);
                base = cfg_i.xd_base[W-1:0];
                low = (step_q != ReadS) ? scale_at : fp4 ? block_at >> 2 : block_at >> 1;
            end
            if (step_q == GiveX) low = block_at;
        end
        if (step_q == ReadC || step_q == ReadW
            || (Cfg.RowTypes
                && ((step_q == Extra && row_scale) || step_q == ReadS || step_q == GiveY))
            || (Cfg.GateGradients && step_q == GiveX && gradients))
            operand[3:0] &= keep;
        shifted = (operand * (W'(1) << shift)) | W'(low);
        {sum, unused_sum} = shifted + base;
    end

    assign rd_o.valid = (step_q == ReadC && !hold_c) || step_q == ReadW
                        || (Cfg.RowTypes && step_q == Extra && row_scale)
                        || (Cfg.RowTypes && step_q == ReadS && !hold_s && !same_flit);
    assign rd_o.addr = sum_q[W-1:Cfg.FlitLog2];
    assign info_pop = step_q == Coef;
    assign busy_o = asked_q || info_valid_q || step_q != Line || next_busy_q || blocks_busy;

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) begin
            step_q <= Line;
            next_busy_q <= 1'b0;
        end else begin
            if (row_take_i) next_busy_q <= 1'b0;
            case (step_q)
                Line:
                if (info_valid_q) begin
                    line_q <= unicast_i ? W'(info_row_q) : shifted | W'(info_row_q);
                    pos_q <= unicast_i ? info_row_q[3:0] & ~keep : info_pos_q;
                    le_q <= info_le_q;
                    place_q <= info_idx_q;
                    last_q <= info_last_q;
                    step_q <= Coef;
                end
                Coef: begin
                    sum_q <= sum;
                    step_q <= ReadC;
                end
                ReadC:
                if (rd_ready_i && !hold_c) begin
                    sum_q <= sum;
                    word_c_q <= sum_q[Cfg.FlitLog2-1:2];
                    half_c_q <= sum_q[1];
                    next_busy_q <= !scaled;
                    step_q <= ReadW;
                end
                ReadW:
                if (rd_ready_i) begin
                    sum_q <= sum;
                    word_w_q <= sum_q[Cfg.FlitLog2-1:2];
                    if (Cfg.RowTypes && row_scale) step_q <= Extra;
                    else step_q <= (Cfg.RowTypes && (scaled || tokened)) ? ReadS : GiveX;
                end
                Extra:
                if (Cfg.RowTypes && (rd_ready_i || !row_scale)) begin
                    sum_q <= sum;
                    step_q <= row_scale ? ReadS : GiveY;
                end
                ReadS:
                if (Cfg.RowTypes && (rd_ready_i || same_flit) && !hold_s) begin
                    sum_q <= sum;
                    step_q <= GiveX;
                end
                GiveX:
                if (!hold_x) begin
                    given.x <= sum_q[W-1:Cfg.FlitLog2+2];
                    sum_q <= sum;
                    step_q <= (Cfg.GateGradients && gradients) ? Extra : GiveY;
                end
                default: begin
                    given.y <= sum_q[W-1:Cfg.FlitLog2+2];
                    given.last <= last_q && !(Cfg.RowTypes && more);
                    given.le <= le_q;
                    given.idx <= place_q;
                    if (Cfg.RowTypes) sum_q <= sum;
                    step_q <= (Cfg.RowTypes && more) ? ReadS : Line;
                end
            endcase
        end
    end

    // ---- coefficient, weight and scales ---------------------------------------------------
    // word_at: of an answer, where its word is
    logic [31:0] word, w_q, weight;
    logic [15:0] c_q, c;
    logic [Cfg.FlitLog2-3:0] word_at;
    logic is_w, is_token, start_q, start, done;  // done: the last of a row is here
    logic valid_q;  // a row without scales
    work_t made;  // a block

    always_comb begin
        word = rd_i.rdata[31:0];
        for (int unsigned i = 1; i < Cfg.FlitBytes / 4; i++) begin
            if (word_at == (Cfg.FlitLog2 - 2)'(i)) word = rd_i.rdata[32*i+:32];
        end
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) begin
            start_q <= 1'b0;
            valid_q <= 1'b0;
        end else begin
            start_q <= done;
            if (done) valid_q <= 1'b1;
            else if (row_take_i) valid_q <= 1'b0;
        end
        if (rd_i.rvalid && is_c) c_q <= half_c_q ? word[31:16] : word[15:0];
        if (rd_i.rvalid && is_w) w_q <= word;
    end

    always_comb begin
        row_o = scaled ? made : given;
        if (!scaled) row_o.valid = valid_q;
        row_o.factor = factor;
        row_o.factor_f = factor_f;
    end

    if (Cfg.RowTypes) begin : gen_scales
        typedef enum logic [1:0] {
            Coefficient,
            Weight,
            RowScale,
            Scales        // of a block, or the token
        } answer_e;

        localparam int unsigned BlockLog2 = $clog2(packet_pkg::ScaleBlock);
        localparam int unsigned BlockW = 14 - BlockLog2, SlotW = Cfg.FlitLog2 - 2;

        answer_e kind, kind_q[Latency];
        logic [BlockW-1:0] block_q, blocks;  // that is next; of a row
        logic is_s, later, take, start_made, made_busy;
        logic [15:0] c_made;
        logic [31:0] row_scale_q, product;
        logic [SlotW-1:0] word_t_q, slot;  // of a token; of the block that is next
        logic [Cfg.FlitW-1:0] flit_q;
        // read, or here, and still needed: coefficient and weight; the flit; given: the addresses
        logic factors_read_q, factors_here_q, flit_read_q, flit_here_q, given_q;
        // of what is given: a row's first block; the last one whose scales the flit has
        logic first_q, flit_last_q;
        logic [SlotW-1:0] slot_q;

        assign fp4 = cfg_i.dispatch_type == packet_pkg::ROWTYPE_NVFP4;
        assign scaled = fp4 || cfg_i.dispatch_type == packet_pkg::ROWTYPE_E4M3_BLOCKS;
        assign blocks = cfg_i.row_bytes[14:BlockLog2+1];
        assign later = block_q != '0;
        assign more = scaled && block_q != blocks;
        assign block_at = LowW'({block_q, (BlockLog2 + 1)'(0)});
        // Four bytes for each block, or eight for the row and eight for each block. A flit of 16
        // bytes has those of the row and of the first block.
        assign row_scale = fp4 && Cfg.FlitBytes == 8;
        assign slot = fp4 ? SlotW'({block_q + 1'b1, 1'b0}) : SlotW'(block_q);
        assign same_flit = scaled && later && slot != '0;
        always_comb begin
            scale_at = '0;
            if (fp4) begin
                scale_at = LowW'(cfg_i.row_bytes[14:2])
                           + LowW'({block_q + BlockW'(!(row_scale && step_q == ReadW)), 3'b000});
            end else if (scaled) begin
                scale_at = LowW'(cfg_i.row_bytes[14:1]) + LowW'({block_q, 2'b00});
            end
        end

        assign hold_c = scaled ? factors_read_q : next_busy_q;
        assign hold_s = scaled && !same_flit && flit_read_q;
        assign hold_x = given_q;

        always_ff @(posedge clk_i) begin
            if (step_q == Line) block_q <= '0;
            else if (step_q == GiveX && !hold_x && scaled) block_q <= block_q + 1'b1;
            if (step_q == GiveX && !hold_x) begin
                first_q <= !later;
                slot_q <= slot;
                flit_last_q <= block_q + 1'b1 == blocks || (slot | SlotW'(fp4)) == '1;
            end
        end

        // An answer is that of the read granted Latency cycles before.
        always_comb begin
            case (step_q)
                ReadC: kind = Coefficient;
                ReadW: kind = Weight;
                Extra: kind = RowScale;
                default: kind = Scales;
            endcase
        end
        always_ff @(posedge clk_i) begin
            kind_q[0] <= kind;
            for (int unsigned l = 1; l < Latency; l++) kind_q[l] <= kind_q[l-1];
        end

        assign is_c = kind_q[Latency-1] == Coefficient;
        assign is_w = kind_q[Latency-1] == Weight;
        assign is_s = kind_q[Latency-1] == Scales;
        assign is_token = is_s && tokened;
        assign done = !scaled && rd_i.rvalid && (tokened ? is_s : is_w);
        assign word_at = is_c ? word_c_q : is_w ? word_w_q : is_s ? word_t_q : '0;

        always_ff @(posedge clk_i) begin
            if (!rst_ni || go_i) begin
                {factors_read_q, factors_here_q, flit_read_q, flit_here_q, given_q} <= '0;
            end else if (scaled) begin
                if (rd_o.valid && rd_ready_i && step_q == ReadC) factors_read_q <= 1'b1;
                else if (take && first_q) factors_read_q <= 1'b0;
                if (rd_i.rvalid && is_w) factors_here_q <= 1'b1;
                else if (take && first_q) factors_here_q <= 1'b0;
                if (rd_o.valid && rd_ready_i && step_q == ReadS) flit_read_q <= 1'b1;
                else if (take && flit_last_q) flit_read_q <= 1'b0;
                if (rd_i.rvalid && is_s) flit_here_q <= 1'b1;
                else if (take && flit_last_q) flit_here_q <= 1'b0;
                if (step_q == GiveY) given_q <= 1'b1;
                else if (take) given_q <= 1'b0;
            end
            if (rd_i.rvalid && is_s) flit_q <= rd_i.rdata;
            if (rd_i.rvalid && !is_c && !is_w && !is_s) row_scale_q <= word;
            if (step_q == ReadS && rd_ready_i) word_t_q <= sum_q[Cfg.FlitLog2-1:2];
        end

        expert_blocks #(
            .Cfg(Cfg)
        ) i_blocks (
            .clk_i,
            .rst_ni(rst_ni && !go_i),
            .fp4_i(fp4),
            .ready_i(given_q && flit_here_q && (factors_here_q || !first_q)),
            .first_i(first_q),
            .given_i(given),
            .c_i(c_q),
            .w_i(w_q),
            .row_scale_i(row_scale_q),
            .flit_i(flit_q),
            .slot_i(slot_q),
            .take_o(take),
            .row_o(made),
            .row_take_i(row_take_i && scaled),
            .start_o(start_made),
            .c_o(c_made),
            .weight_o(product),
            .busy_o(made_busy)
        );
        assign blocks_busy = given_q || factors_read_q || made_busy;
        assign {start, c, weight} = scaled ? {start_made, c_made, product} : {start_q, c_q, w_q};
    end else begin : gen_no_scales
        logic is_w_q;

        assign {scaled, fp4, more, row_scale, same_flit} = '0;
        assign {hold_s, hold_x, blocks_busy} = '0;
        assign hold_c = next_busy_q;
        assign {block_at, scale_at} = '0;
        assign made = '0;
        assign is_c = !is_w_q;
        assign is_w = is_w_q;
        assign is_token = 1'b0;
        assign done = rd_i.rvalid && is_w_q;
        assign word_at = is_w_q ? word_w_q : word_c_q;
        assign {start, c, weight} = {start_q, c_q, w_q};

        always_ff @(posedge clk_i) begin
            if (!rst_ni || go_i) is_w_q <= 1'b0;
            else if (rd_i.rvalid) is_w_q <= !is_w_q;
        end

        logic unused;
        assign unused = &{1'b0, fp4, more, row_scale, same_flit, hold_s, block_at, made};
    end

    expert_factor i_factor (
        .clk_i,
        .start_i(start),
        .c_i(c),
        .w_i(weight),
        .factor_o(factor)
    );

    // ---- gradients ------------------------------------------------------------------------
    if (Cfg.GateGradients) begin : gen_gradients
        logic [node_pkg::TokenW-1:0] token_q;

        if (!Cfg.RowTypes) begin : gen_check
            $error("expert_fetch: GateGradients needs RowTypes, whose reads a token follows");
        end

        expert_factor i_factor_f (
            .clk_i,
            .start_i(start),
            .c_i(c),
            .w_i(fp_pkg::One32),
            .factor_o(factor_f)
        );

        always_ff @(posedge clk_i) begin
            if (step_q == Line)
                token_q <= unicast_i ? node_pkg::TokenW'(info_row_q >> cfg_i.k_shift)
                           : info_token_q;
            if (step_q == Extra) begin
                given.f <= sum_q[W-1:Cfg.FlitLog2+2];
                given.pos <= pos_q;
            end
            if (step_q == Extra && !tokened) given.token <= token_q;
            else if (rd_i.rvalid && is_token) given.token <= word[node_pkg::TokenW-1:0];
        end
    end else begin : gen_no_gradients
        assign {given.f, given.token, given.pos} = '0;
        assign factor_f = '0;
    end

    `MW_CONTRACT(scaled && step_q == ReadS, !tokened,
                 "a row with scales, whose token is to be read")
endmodule

`default_nettype wire
