// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Registers of one node: the block generated from spec/node.rdl, its fields as the layer
// configuration, the status window, and the counters behind it.
//
// Ports: csr_i is held until ack, which ends the access in that cycle. rdata and err are valid with
// ack and 0 in other cycles.
// Latency: A write takes two cycles, a read at most 17, and a read right after go 30.
`default_nettype none

module node_csr #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter int unsigned NumErr = 1  // error sources
    // Sizes of the node. Fields that they bound keep only the bits that a fitting layer can set,
    // so that shifters and comparators after them are no wider.
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,
    input  wire logic go_i,

    input  wire bundle_pkg::csr_req_t csr_i,
    output bundle_pkg::bus_rsp_t      csr_o,

    input  wire packet_pkg::port_t port_i,  // constant: this node's port
    input  wire logic [1:0]     epoch_i,
    output node_pkg::node_cfg_t cfg_o,
    output node_pkg::fault_t    fault_o,

    input  wire logic [31:0]                 state_i,  // laid out as register status.state
    input  wire logic [3:0][31:0]            stream_i,  // laid out as registers status.stream0 ..
    input  wire bundle_pkg::manager_counts_t manager_i,  // pulses, in the order of those from
                                                         // status.rpm_in on
    input  wire logic [12:0]                 count_i,  // pulses, in the order of the registers from
                                                       // status.stall_store on
    input  wire bundle_pkg::error_t          err_i [NumErr],
    output logic                             error_o  // an error was recorded since go
);
    node_regs_pkg::mw_node__in_t hwif_in;
    node_regs_pkg::mw_node__out_t hwif_out;
    logic rd_ack, rd_err, wr_ack, wr_err, stall_wr, stall_rd;
    logic [31:0] rd_data, status;

    node_regs i_regs (
        .clk(clk_i),
        .rst_n(rst_ni),
        .s_cpuif_req(csr_i.req && !csr_o.ack),
        .s_cpuif_req_is_wr(csr_i.we),
        .s_cpuif_addr(csr_i.addr),
        .s_cpuif_wr_data(csr_i.wdata),
        .s_cpuif_wr_biten('1),
        .s_cpuif_req_stall_wr(stall_wr),
        .s_cpuif_req_stall_rd(stall_rd),
        .s_cpuif_rd_ack(rd_ack),
        .s_cpuif_rd_err(rd_err),
        .s_cpuif_rd_data(rd_data),
        .s_cpuif_wr_ack(wr_ack),
        .s_cpuif_wr_err(wr_err),
        .hwif_in(hwif_in),
        .hwif_out(hwif_out)
    );

    // Only the status window can be read, so its word goes out directly, by a register that
    // is cleared in all other cycles.
    always_ff @(posedge clk_i) begin
        csr_o.ack <= rst_ni && (rd_ack || wr_ack);
        csr_o.err <= (rd_ack && rd_err) || (wr_ack && wr_err);
        if (hwif_in.status.rd_ack) csr_o.rdata <= status;
        else csr_o.rdata <= '0;
    end

    localparam int unsigned TokenShiftW = $clog2(Cfg.TokensLog2 + 1);
    localparam int unsigned NShiftW = $clog2(Cfg.GpuW + 1);
    localparam int unsigned CapShiftW = $clog2(Cfg.RowsLog2 + 1);
    localparam logic [$clog2(isa_pkg::BaseUnit)-1:0] Unit = '0;  // address in units, in bytes
    localparam int unsigned LocalW = $clog2(Cfg.MaxLocalExperts + 1);

    if (TokenShiftW > 4 || NShiftW > 3 || CapShiftW > 5 || LocalW > 7) begin : gen_check
        $error("node_csr: a field is too small for the node");
    end

    always_comb begin
        cfg_o = '0;
        cfg_o.port = port_i;
        cfg_o.epoch = epoch_i;
        cfg_o.cached = Cfg.CachedHandle && hwif_out.handle.cached.value;
        cfg_o.handle_epoch = Cfg.CachedHandle ? hwif_out.handle.epoch.value : '0;
        cfg_o.k = hwif_out.shape.k.value;
        cfg_o.tokens = hwif_out.shape.tokens.value;
        cfg_o.token_shift = 4'(hwif_out.shifts.token_shift.value[TokenShiftW-1:0]);
        cfg_o.n_shift = 3'(hwif_out.shifts.n_shift.value[NShiftW-1:0]);
        cfg_o.k_shift = hwif_out.shifts.k_shift.value;
        cfg_o.row_shift = hwif_out.shifts.row_shift.value;
        cfg_o.gate_shift = hwif_out.shifts.gate_shift.value;
        cfg_o.cap_shift = 5'(hwif_out.shifts.cap_shift.value[CapShiftW-1:0]);
        cfg_o.cache_log2 = Cfg.CacheLimit ? hwif_out.shifts.cache_log2.value : '0;
        cfg_o.row_bytes = hwif_out.row.row_bytes.value;
        cfg_o.dispatch_bytes = Cfg.RowTypes ? hwif_out.dispatch_row.bytes.value : '0;
        cfg_o.dispatch_type = Cfg.RowTypes ? hwif_out.dispatch_row.kind.value : '0;
        cfg_o.local_experts = 7'(hwif_out.row.local_experts.value[LocalW-1:0]);
        cfg_o.xs_base = {hwif_out.xs_base.addr.value, Unit};
        cfg_o.rt_base = {hwif_out.rt_base.addr.value, Unit};
        cfg_o.xd_base = {hwif_out.xd_base.addr.value, Unit};
        cfg_o.yd_base = {hwif_out.yd_base.addr.value, Unit};
        cfg_o.gt_base = {hwif_out.gt_base.addr.value, Unit};
        cfg_o.al_base = {hwif_out.al_base.addr.value, Unit};
        cfg_o.out_base = {hwif_out.out_base.addr.value, Unit};
        cfg_o.cb_base = {hwif_out.cb_base.addr.value, Unit};
        cfg_o.ce_base = {hwif_out.ce_base.addr.value, Unit};
        cfg_o.xf_base = Cfg.GateGradients ? {hwif_out.xf_base.addr.value, Unit} : '0;
        cfg_o.dw_base = Cfg.GateGradients ? {hwif_out.dw_base.addr.value, Unit} : '0;
        cfg_o.rl_base = {hwif_out.rl_base.addr.value, Unit};
        cfg_o.st_lo = {hwif_out.st_lo.addr.value, Unit};
        cfg_o.st_hi = {hwif_out.st_hi.addr.value, Unit};
        cfg_o.stream_base = {
            hwif_out.stream_base3.addr.value,
            Unit,
            hwif_out.stream_base2.addr.value,
            Unit,
            hwif_out.stream_base1.addr.value,
            Unit,
            hwif_out.stream_base0.addr.value,
            Unit
        };
        cfg_o.stream_enable = hwif_out.streams.enable.value;
        cfg_o.start_delay = hwif_out.streams.start_delay.value;
        cfg_o.tile = hwif_out.expert.tile.value;
        cfg_o.expert_cycles = hwif_out.expert.expert_cycles.value;
        cfg_o.partial_tiles = hwif_out.partial.enable.value;
        cfg_o.partial_wait = hwif_out.partial.wait_cycles.value;
        cfg_o.in_flight = hwif_out.window.in_flight.value;
        cfg_o.open_rows = hwif_out.window.open_rows.value;
        cfg_o.store_credits = hwif_out.credits.store.value;
        cfg_o.part_credits = hwif_out.credits.part.value;
        cfg_o.ctrl_credits = hwif_out.credits.ctrl.value;
        cfg_o.throttle = hwif_out.credits.throttle.value;
        cfg_o.link_wait = hwif_out.link.wait_cycles.value;
        cfg_o.adder_bypass = hwif_out.uses.adder_bypass.value;
        cfg_o.own_by_adder = Cfg.AdderBypass && hwif_out.uses.own_by_adder.value;
        cfg_o.balance_rows = Cfg.BalanceRows && hwif_out.uses.balance_rows.value;
        cfg_o.target_list_cache = hwif_out.uses.target_list_cache.value;
        cfg_o.dispatch_throttle = hwif_out.uses.dispatch_throttle.value;
        cfg_o.throttle_ahead = hwif_out.dispatch_throttle.ahead.value;
        cfg_o.throttle_lead = hwif_out.lead.rows.value;
        cfg_o.throttle_idle = hwif_out.dispatch_throttle.idle.value;
        cfg_o.packet_manager = Cfg.RpmEntries != 0 && hwif_out.uses.packet_manager.value;
        cfg_o.rpm_timer = hwif_out.merge.timer.value;
        cfg_o.scatter = (Cfg.RpmEntries != 0) ? hwif_out.merge.scatter.value : '0;
        cfg_o.switch_reductions = Cfg.SwitchReductions && hwif_out.uses.switch_reductions.value;
        cfg_o.tile_reductions = Cfg.TileReductions && hwif_out.uses.tile_reductions.value
                                && cfg_o.switch_reductions;
        cfg_o.merge_loads = Cfg.MergeLoads && hwif_out.uses.merge_loads.value
                            && cfg_o.tile_reductions;
        cfg_o.load_first = Cfg.MergeLoads ? hwif_out.loads.first.value : '0;
        cfg_o.load_parts = Cfg.MergeLoads ? hwif_out.loads.parts.value : '0;
        cfg_o.load_expert = Cfg.MergeLoads ? hwif_out.loads.expert.value : '0;
        cfg_o.load_base = Cfg.MergeLoads ? {hwif_out.load_base.addr.value, Unit} : '0;
        cfg_o.red_first = (Cfg.SumEntries != 0) ? hwif_out.red_rows.first.value : '0;
        cfg_o.red_count = (Cfg.SumEntries != 0) ? hwif_out.red_rows.count.value : '0;
        cfg_o.row_returns = Cfg.RowSparse && hwif_out.uses.row_returns.value
                            && !cfg_o.switch_reductions;
        cfg_o.source_lists = Cfg.SourceLists && hwif_out.uses.source_lists.value
                             && cfg_o.row_returns;
    end

    assign fault_o = '{
            after: hwif_out.fault.after.value,
            epoch: hwif_out.fault.epoch.value,
            opcode: hwif_out.fault.opcode.value,
            answer: hwif_out.fault.answer.value,
            send: hwif_out.fault.send.value,
            accept: hwif_out.fault.accept.value
        };

    // ---- errors: the first one's code and how many ----
    logic [7:0] first_q, first;
    logic [15:0] errors_q, errors;  // stops close to 65 535
    logic some;

    always_comb begin
        first = '0;
        errors = errors_q;
        some = 1'b0;
        for (int i = int'(NumErr) - 1; i >= 0; i--) begin
            if (err_i[i].valid) first = err_i[i].code;
            errors = errors + 16'(err_i[i].valid);
            some = some || err_i[i].valid;
        end
    end

    assign error_o = errors_q != '0;

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) begin
            first_q <= '0;
            errors_q <= '0;
        end else if (some) begin
            if (errors_q[15:4] != '1) errors_q <= errors;
            if (!error_o) first_q <= first;
        end
    end

    // ---- status window ----
    // One access at a time; the block repeats nothing, so the address is kept here.
    logic busy_q, counts_ack, node_ack, is_manager;
    logic [4:0] word_q;  // word in the window: 0, 1 state and errors, 4-7 streams,
                         // 8-20 counters, 21-25 more
    logic [31:0] counts_data, node_data, word;
    logic is_count;

    assign is_count = word_q[4:3] != 2'd0;

    stat_counters #(
        .Count(13)
    ) i_counts (
        .clk_i,
        .rst_ni,
        .clear_i(go_i),
        .event_i(count_i),
        .rd_valid_i(busy_q && is_count && !is_manager),
        .rd_idx_i(4'(word_q - 5'd8)),
        .rd_ack_o(node_ack),
        .rd_data_o(node_data)
    );

    assign is_manager = word_q >= 5'd21;
    if (Cfg.RpmEntries != 0) begin : gen_manager
        logic ack;
        logic [31:0] data;
        stat_counters #(
            .Count($bits(manager_i))
        ) i_counts (
            .clk_i,
            .rst_ni,
            .clear_i(go_i),
            .event_i(manager_i),
            .rd_valid_i(busy_q && is_manager),
            .rd_idx_i(4'(word_q - 5'd21)),
            .rd_ack_o(ack),
            .rd_data_o(data)
        );
        assign counts_ack = is_manager ? ack : node_ack;
        assign counts_data = is_manager ? data : node_data;
    end else begin : gen_no_manager
        assign counts_ack = is_manager ? busy_q : node_ack;
        assign counts_data = is_manager ? '0 : node_data;
    end

    always_comb begin
        if (word_q[2]) word = stream_i[word_q[1:0]];
        else word = word_q[0] ? {errors_q, 8'd0, first_q} : state_i;
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            busy_q <= 1'b0;
        end else if (!busy_q) begin
            busy_q <= hwif_out.status.req && !hwif_out.status.req_is_wr;
            word_q <= hwif_out.status.addr[6:2];
        end else if (hwif_in.status.rd_ack) begin
            busy_q <= 1'b0;
        end
    end

    assign hwif_in.status.rd_ack = busy_q && (!is_count || counts_ack);
    assign hwif_in.status.rd_data = '0;
    assign status = is_count ? counts_data : word;
    assign hwif_in.status.wr_ack = hwif_out.status.req && hwif_out.status.req_is_wr;

    wire unused = &{1'b0, stall_wr, stall_rd, rd_data};
endmodule

`default_nettype wire
