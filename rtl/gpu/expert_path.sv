// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Data path and clock of the expert engine: reads rows two flits per cycle, multiplies, writes.
//
// Function: With RowTypes, elements of a byte or half a byte (cfg_i.dispatch_type) become bf16 in
// expert_unpack. If these have scales, a row comes in blocks. Each is a row to this module, and
// row_i.last is that of the last block of a tile. With gradients_i a group takes four cycles: the
// last two read the same flits of the row of x. Of these the expert's values go to expert_dot, with
// the flits that were read before, and nothing is written.
// Order: Rows in the order of arrival. A row passes in groups of four flits, two cycles each: flits
// 0 and 2, then 1 and 3 (see gpu_mem). A group of one-byte elements becomes two groups, one of half
// bytes four. The first two of their cycles read it. Each step waits for the next one of its row,
// which may read its other half, and the last one a cycle.
// Back-pressure: Memory refuses neither reads nor writes, and answers after a fixed time. Nothing
// is queued. With gradients_i a row waits for a place in expert_dot, whose results wait for
// dw_ready_i.
// Latency: A step of a row is written 7 cycles after it fires, or has waited. Two flits per cycle
// are sustained across rows while row_i.valid is high when a row ends, and across tiles unless
// elements are converted, which costs a cycle. A tile starts when its first row
// is present, the time of the previous tile is over, and that tile's last flits are read. It takes
// tile * row_cycles_i cycles. Nothing of it is read earlier. done_o: its time is over and its last
// flits are read. The next tile starts when that was taken. Results are in memory WriteLatency
// cycles later.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module expert_path #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type work_t = `MW_WORK(Cfg),
    parameter type pair_t = `MW_PAIR(Cfg),
    parameter type pair_write_t = `MW_PAIR_WRITE(Cfg),
    parameter type ended_t = `MW_ENDED(Cfg),
    localparam int unsigned StepW = Cfg.AddrW - 1,
    localparam int unsigned GroupW = Cfg.AddrW - 2
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,
    input  wire logic go_i,
    /* verilator lint_off UNUSEDSIGNAL */  // a unit uses a part of the configuration
    input  wire node_pkg::node_cfg_t cfg_i,
    /* verilator lint_on UNUSEDSIGNAL */
    input  wire logic gradients_i,  // as row_cycles_i
    input  wire logic [15:0] row_cycles_i,  // time per row, constant while a tile is in the engine

    input  wire work_t row_i,
    output logic       row_take_o,  // row_i stays for 4 cycles more

    output pair_t                     rd_o,
    input  wire logic                 rd_ready_i,
    input  wire logic [Cfg.FlitW-1:0] rd_data_i [2],  // 3 cycles later
    output pair_write_t               wr_o,
    output logic [Cfg.FlitW-1:0]      wr_data_o [2],  // a cycle later

    output ended_t    done_o,
    input  wire logic done_ready_i,

    output bundle_pkg::gradient_t dw_o,
    input  wire logic             dw_ready_i,

    output bundle_pkg::path_status_t status_o
);
    // from the address to the lanes
    localparam int unsigned RdLat = 3;
    localparam int unsigned Delay = RdLat + fp_pkg::ExpertLatency - 1;
    localparam int unsigned OffW = 13 - Cfg.FlitLog2;  // groups of a row

    // ---- shape of a row: its last group, and how much of it there is -----------------
    logic [OffW-1:0] last_q;
    logic [1:0] rest_q;  // flits of the last group, 0: all
    logic [OffW:0] step;  // that fires: {group, odd} of what is written
    logic reads, ends, next_group;  // it does; it is the row's last, its group's
    logic codes;  // elements are converted
    logic [14:0] bytes;  // of its result

    always_ff @(posedge clk_i) begin
        last_q <= OffW'((bytes - 15'(Cfg.FlitBytes)) >> (Cfg.FlitLog2 + 2));
        rest_q <= bytes[Cfg.FlitLog2+:2];
    end

    // ---- tile and row ------------------------------------------------------------------
    // have_q: a tile is in the engine. open_q: it has flits to read. busy_q: its time runs.
    logic have_q, open_q, busy_q, row_q, fire, odd_q, last_row_q, at_last, row_end, tile_end;
    logic start, time_end, over, out, zero_time;
    logic [node_pkg::ExpertW-1:0] done_le_q;
    logic [Cfg.CountW-1:0] done_first_q, done_last_q;
    logic [OffW-1:0] at_q;
    logic second, whole, place;  // half of a group with rows of x; the group's last half; there is
                                 // room for a row's gradient
    logic [GroupW-1:0] x_q, f_q, y_q;
    logic [RdLat:0] take_q;
    fp_pkg::factor_t factor_q;
    logic factor_due;

    assign at_last = step[OffW:1] == last_q;
    assign ends = odd_q && at_last && whole;
    assign row_end = fire && ends;
    assign tile_end = row_end && last_row_q;
    assign over = have_q && (!open_q || (tile_end && !codes)) && (!busy_q || time_end);
    assign out = over && done_ready_i;
    assign start = row_i.valid && place && (!have_q || out);
    assign row_take_o = (open_q && !tile_end) ? row_i.valid && place && (!row_q || row_end) : start;
    assign zero_time = row_cycles_i == '0;

    assign done_o = '{valid: over, le: done_le_q, first: done_first_q, last: done_last_q};

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) begin
            have_q <= 1'b0;
            open_q <= 1'b0;
            busy_q <= 1'b0;
            row_q <= 1'b0;
            take_q <= '0;
        end else begin
            if (start) have_q <= 1'b1;
            else if (out) have_q <= 1'b0;
            if (start) open_q <= 1'b1;
            else if (tile_end) open_q <= 1'b0;
            if (start) busy_q <= !zero_time;
            else if (time_end) busy_q <= 1'b0;
            if (row_take_o) row_q <= 1'b1;
            else if (row_end) row_q <= 1'b0;
            take_q <= {take_q[RdLat-1:0], row_take_o};
        end
        if (row_take_o) begin
            x_q <= row_i.x;
            y_q <= row_i.y;
            last_row_q <= row_i.last;
            done_last_q <= row_i.idx;
            at_q <= '0;
            odd_q <= 1'b0;
        end else if (fire) begin
            odd_q <= !odd_q;
            if (next_group) at_q <= at_q + 1'b1;
        end
        if (start) begin
            done_le_q <= row_i.le;
            done_first_q <= row_i.idx;
        end
        if (factor_due) factor_q <= row_i.factor;  // before the row's first flits
    end

    // ---- reads, and what is written later ---------------------------------------------------
    logic [1:0] here, valid_q[Delay];
    logic [StepW-1:0] addr_q[Delay];
    logic moving, dotted, dot_idle;  // dotted: what leaves the lanes next is of a row of x
    fp_pkg::factor_t factor;

    // What is written of the step that fires, or of the one that has waited.
    logic [1:0] valid;
    logic [StepW-1:0] addr, own_addr;
    logic waits;  // one does
    assign own_addr = {y_q + GroupW'(step[OffW:1]), step[0]};

    assign rd_o.valid = row_q && reads;
    assign fire = row_q && (rd_ready_i || !reads);
    assign rd_o.addr = {(second ? f_q : x_q) + GroupW'(at_q), odd_q};
    assign here[0] = fire && !(at_last && step[0] && rest_q == 2'd1);
    assign here[1] = fire && !(at_last && (step[0] ? rest_q != '0 : ^rest_q));

    always_comb begin
        moving = waits;
        for (int unsigned d = 0; d < Delay; d++) moving |= valid_q[d][0];
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            for (int unsigned d = 0; d < Delay; d++) valid_q[d] <= '0;
        end else if (fire || moving) begin
            valid_q[0] <= valid;
            addr_q[0] <= addr;
            for (int unsigned d = 1; d < Delay; d++) begin
                valid_q[d] <= valid_q[d-1];
                addr_q[d] <= addr_q[d-1];
            end
        end
    end

    assign wr_o.valid = dotted ? '0 : valid_q[Delay-1];
    assign wr_o.addr = addr_q[Delay-1];

    // ---- codes: a step waits for the read of the one behind it ---------------------------------
    logic [Cfg.FlitW-1:0] x[2];

    if (Cfg.RowTypes) begin : gen_types
        logic fp4, ready;
        logic [1:0] part_q, last_part;  // of what becomes of the group
        logic [63:0] scales_q;
        // the step that waits; and what of it is written, whether it is its row's last
        logic wait_q, wait_last_q;
        logic [1:0] wait_here_q;
        logic [StepW-1:0] wait_addr_q;
        logic [3:0] wait_step_q;

        assign codes = cfg_i.dispatch_type != packet_pkg::ROWTYPE_BF16;
        assign fp4 = cfg_i.dispatch_type == packet_pkg::ROWTYPE_NVFP4;
        assign bytes = (cfg_i.dispatch_type inside {packet_pkg::ROWTYPE_E4M3_BLOCKS,
                                                    packet_pkg::ROWTYPE_NVFP4})
                       ? 15'(2 * packet_pkg::ScaleBlock) : cfg_i.row_bytes;
        assign last_part = fp4 ? 2'd3 : 2'd1;
        assign reads = !codes || part_q == '0;
        assign next_group = odd_q && whole && (!codes || part_q == last_part);
        assign ready = wait_q && (fire || wait_last_q);
        assign waits = wait_q;
        assign valid = !codes ? here : ready ? wait_here_q : '0;
        assign addr = codes ? wait_addr_q : own_addr;
        // a cycle later, as the last step of the row before may wait for one
        assign factor_due = codes ? take_q[RdLat] : take_q[RdLat-1];

        always_comb begin
            step = {at_q, odd_q};
            if (fp4) step = {at_q[OffW-3:0], part_q, odd_q};
            else if (codes) step = {at_q[OffW-2:0], part_q[0], odd_q};
        end

        always_ff @(posedge clk_i) begin
            if (row_take_o) part_q <= '0;
            else if (fire && odd_q) part_q <= (!codes || next_group) ? '0 : part_q + 1'b1;
            if (factor_due) scales_q <= row_i.scales;
            if (fire) begin
                wait_last_q <= ends;
                wait_here_q <= here;
                wait_addr_q <= own_addr;
                wait_step_q <= step[3:0];
            end
        end

        always_ff @(posedge clk_i) begin
            if (!rst_ni || go_i) wait_q <= 1'b0;
            else if (fire) wait_q <= codes;
            else if (ready) wait_q <= 1'b0;
        end

        expert_unpack #(
            .Cfg(Cfg),
            .RdLat(RdLat)
        ) i_unpack (
            .clk_i,
            .codes_i(codes),
            .fp4_i(fp4),
            .read_i(fire && reads),
            .odd_i(odd_q),
            .step_i(wait_step_q),
            .scales_i(scales_q),
            .data_i(rd_data_i),
            .x_o(x)
        );
    end else begin : gen_bf16
        logic unused;
        assign unused = &{1'b0, take_q[RdLat]};

        assign codes = 1'b0;
        assign waits = 1'b0;
        assign valid = here;
        assign addr = own_addr;
        assign factor_due = take_q[RdLat-1];
        assign bytes = cfg_i.row_bytes;
        assign step = {at_q, odd_q};
        assign reads = 1'b1;
        assign next_group = odd_q && whole;
        assign x = rd_data_i;
    end

    for (genvar h = 0; h < 2; h++) begin : gen_half
        expert_lanes #(
            .Lanes(Cfg.Lanes)
        ) i_lanes (
            .clk_i,
            .valid_i(valid_q[RdLat-1][h]),
            .factor_i(factor),
            .x_i(x[h]),
            .y_o(wr_data_o[h])
        );
    end

    // ---- gradients ------------------------------------------------------------------------------
    if (Cfg.GateGradients) begin : gen_gradients
        typedef struct packed {
            logic       valid;
            logic       second;
            logic       odd;
            logic       last;
            logic [1:0] keep;
        } part_t;
        typedef struct packed {
            logic [node_pkg::TokenW-1:0] token;
            logic [3:0]                  pos;
        } name_t;

        part_t part_q[Delay+1];
        name_t name_q[2];  // of rows whose gradients have not left, the older one first
        logic [1:0] names_q;
        logic second_q, dot_ready, dot_start, dot_taken;
        logic [1:0][Cfg.FlitW-1:0] read_q[2], dy_q[fp_pkg::ExpertLatency];  // dY of a group; and
                                                                            // beside its values
        logic [Cfg.FlitW-1:0] dy[2];
        fp_pkg::factor_t factor_f_q;

        assign second = gradients_i && second_q;
        assign whole = !gradients_i || second_q;
        assign place = !gradients_i || dot_ready;
        assign dotted = part_q[Delay-1].second;
        assign factor = part_q[RdLat-1].second ? factor_f_q : factor_q;

        always_ff @(posedge clk_i) begin
            if (row_take_o) f_q <= row_i.f;
            if (take_q[RdLat-1]) factor_f_q <= row_i.factor_f;
            if (row_take_o) second_q <= 1'b0;
            else if (fire && odd_q) second_q <= !second_q;
            if (!rst_ni) for (int unsigned d = 0; d <= Delay; d++) part_q[d] <= '0;
            else begin
                part_q[0] <= '{
                    valid: fire && gradients_i,
                    second: second,
                    odd: odd_q,
                    last: ends,
                    keep: here
                };
                for (int unsigned d = 1; d <= Delay; d++) part_q[d] <= part_q[d-1];
            end
            if (part_q[RdLat-1].valid && !part_q[RdLat-1].second)
                read_q[part_q[RdLat-1].odd] <= {x[1], x[0]};
            dy_q[0] <= read_q[part_q[RdLat-1].odd];
            for (int unsigned i = 1; i < fp_pkg::ExpertLatency; i++) dy_q[i] <= dy_q[i-1];
        end
        for (genvar h = 0; h < 2; h++) begin : gen_dy
            assign dy[h] = dy_q[fp_pkg::ExpertLatency-1][h];
        end

        expert_dot #(
            .Cfg(Cfg)
        ) i_dot (
            .clk_i,
            .rst_ni(rst_ni && !go_i),
            .start_i(dot_start),
            .ready_o(dot_ready),
            .valid_i(part_q[Delay].valid && part_q[Delay].second),
            .last_i(part_q[Delay].last),
            .keep_i(part_q[Delay].keep),
            .a_i(dy),
            .b_i(wr_data_o),
            .dot_valid_o(dw_o.valid),
            .dot_ready_i(dw_ready_i),
            .dot_o(dw_o.value),
            .idle_o(dot_idle)
        );
        assign dot_start = row_take_o && gradients_i;
        assign dot_taken = dw_o.valid && dw_ready_i;
        assign {dw_o.dense, dw_o.token, dw_o.pos} = {1'b0, name_q[0]};  // see expert_engine

        always_ff @(posedge clk_i) begin
            if (!rst_ni || go_i) names_q <= '0;
            else names_q <= names_q + 2'(dot_start) - 2'(dot_taken);
            if (dot_taken) name_q[0] <= name_q[1];
            if (dot_start && (names_q == '0 || (names_q == 2'd1 && dot_taken)))
                name_q[0] <= '{token: row_i.token, pos: row_i.pos};
            if (dot_start) name_q[1] <= '{token: row_i.token, pos: row_i.pos};
        end
    end else begin : gen_no_gradients
        assign {second, dotted, dw_o} = '0;
        assign {whole, place, dot_idle} = '1;
        assign factor = factor_q;
        assign f_q = '0;
    end

    // ---- time ----------------------------------------------------------------------------------
    logic [15:0] cycle_q;
    logic [7:0] slot_q;
    logic slot_end;

    assign slot_end = busy_q && cycle_q == row_cycles_i;
    assign time_end = slot_end && slot_q == cfg_i.tile;

    always_ff @(posedge clk_i) begin
        if (start || slot_end) cycle_q <= 16'd1;
        else if (busy_q) cycle_q <= cycle_q + 16'd1;
        if (start) slot_q <= 8'd1;
        else if (slot_end) slot_q <= slot_q + 8'd1;
    end

    assign status_o.start = start;
    assign status_o.idle = !busy_q && !open_q;
    assign status_o.empty = !have_q && !moving && dot_idle;
    assign status_o.waits = open_q && !fire;

    `MW_CONTRACT(row_take_o, row_i.valid, "a row is taken that is not there")
    `MW_NEXT(over && !done_ready_i && !go_i, over, "a tile's end goes before it is taken")
    `MW_CONTRACT(status_o.empty, status_o.idle, "empty, and a tile is in the engine")
endmodule

`default_nettype wire
