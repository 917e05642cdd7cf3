// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Configuration bus of the device and registers of the whole fabric (spec/fabric.rdl): go and
// done, tables of the switch, its counters.
//
// Ports: Addresses from map_pkg::Nodes on are nodes, 0x1000 each, those below it the fabric. A
// layer runs from the pulse go_o to the first cycle in which all_idle_i is high again, at the
// earliest 4 cycles after go, so that what starts at go is visible.
// Order: One access at a time (see bundle_pkg). The next may start in the cycle after its ack.
// Latency: Every access ends. A node needs at most 34 cycles.
// Errors: An access to an address that does not exist, and a write while a layer runs to a register
// that may change only between layers (control, epoch, link).
`default_nettype none
`include "bundles.svh"

module fabric_csr #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type group_t = `MW_GROUP(Cfg)
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,

    input  wire bundle_pkg::bus_req_t cfg_i,
    output bundle_pkg::bus_rsp_t      cfg_o,

    // to the nodes: req of g is held until its ack; answers are 0 in other cycles
    output bundle_pkg::csr_req_t      node_o [Cfg.N],
    input  wire bundle_pkg::bus_rsp_t node_i [Cfg.N],

    output logic                    go_o,     // pulse
    output logic                    sweep_o,  // pulse
    output logic                    run_o,    // from the cycle behind go_o to the
                                              // last one of `cycles`
    output logic                    done_o,   // a layer has ended since the last go
    output logic [1:0]              epoch_o,
    output logic [10:0]             latency_o,
    output bundle_pkg::switch_ctl_t ctl_o,

    output bundle_pkg::emap_write_t     emap_o,
    output group_t                      groups_o,
    output logic [Cfg.N-1:0][Cfg.N-1:0] partition_o,  // row = source: ports it may reach

    input  wire logic [31:0] cnt_data_i,
    input  wire logic [31:0] mon_samples_i,
    input  wire logic [31:0] mon_data_i,

    input  wire logic               all_idle_i,
    input  wire logic [Cfg.N-1:0]   node_idle_i,
    input  wire logic               switch_idle_i,
    input  wire logic               links_idle_i,
    input  wire logic               sweep_busy_i,
    input  wire logic [Cfg.N-1:0]   node_error_i,
    input  wire logic [Cfg.N-1:0]   node_reset_i,  // its registers do not answer
    output logic [Cfg.N-1:0]        enable_o,      // pulses
    output logic [Cfg.N-1:0]        disable_o,
    input  wire logic [Cfg.N-1:0]   down_i,
    input  wire bundle_pkg::error_t sw_err_i,
    input  wire logic [Cfg.PortW-1:0] sw_err_port_i
);
    // ---- bus: the access is registered, sent to its register block, and its answer registered ---
    typedef enum logic [1:0] {
        Idle,
        Access,
        Answer
    } bus_e;
    bus_e bus_q;
    logic [31:0] addr_q, wdata_q, rdata;
    logic we_q, ack, err, locked;
    logic [Cfg.N-1:0] node_sel;

    for (genvar g = 0; g < Cfg.N; g++) begin : gen_sel
        assign node_sel[g] = addr_q[31:12] == map_pkg::Nodes[31:12] + 20'(g);
    end

    logic reg_req, reg_rd_ack, reg_wr_ack, reg_rd_err, reg_wr_err, stall_wr, stall_rd;
    logic [31:0] reg_rdata;

    // 0x20 control, 0x24 epoch, 0x28 link
    assign locked = run_o && we_q && addr_q[17:4] == 14'h002 && addr_q[3:2] != 2'd3;
    assign reg_req = bus_q == Access && addr_q[31:18] == '0 && !locked;
    for (genvar g = 0; g < Cfg.N; g++) begin : gen_node
        assign node_o[g] = '{
                req: bus_q == Access && node_sel[g],
                we: we_q,
                addr: addr_q[11:0],
                wdata: wdata_q
            };
    end

    always_comb begin
        rdata = reg_rd_ack ? reg_rdata : 32'd0;
        ack = reg_rd_ack || reg_wr_ack;
        err = (reg_rd_ack && reg_rd_err) || (reg_wr_ack && reg_wr_err);
        for (int unsigned g = 0; g < Cfg.N; g++) begin
            rdata = rdata | node_i[g].rdata;
            ack = ack || node_i[g].ack;
            err = err || node_i[g].err;
        end
        if (!reg_req && (node_sel & ~node_reset_i) == '0) begin
            ack = 1'b1;
            err = 1'b1;
        end
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            bus_q <= Idle;
            cfg_o.ack <= 1'b0;
        end else begin
            unique case (bus_q)
                Idle: if (cfg_i.req) bus_q <= Access;
                Access: begin
                    if (ack) bus_q <= Answer;
                    cfg_o.ack <= ack;
                end
                default: begin
                    bus_q <= Idle;
                    cfg_o.ack <= 1'b0;
                end
            endcase
        end
        if (bus_q == Idle && cfg_i.req) begin
            addr_q <= cfg_i.addr;
            wdata_q <= cfg_i.wdata;
            we_q <= cfg_i.we;
        end
        if (bus_q == Access) begin
            cfg_o.rdata <= rdata;
            cfg_o.err <= err;
        end
    end

    // ---- registers ----
    fabric_regs_pkg::mw_fabric__in_t hwif_in;
    fabric_regs_pkg::mw_fabric__out_t hwif_out;

    fabric_regs i_regs (
        .clk(clk_i),
        .rst_n(rst_ni),
        .s_cpuif_req(reg_req),
        .s_cpuif_req_is_wr(we_q),
        .s_cpuif_addr(addr_q[17:0]),
        .s_cpuif_wr_data(wdata_q),
        .s_cpuif_wr_biten('1),
        .s_cpuif_req_stall_wr(stall_wr),
        .s_cpuif_req_stall_rd(stall_rd),
        .s_cpuif_rd_ack(reg_rd_ack),
        .s_cpuif_rd_err(reg_rd_err),
        .s_cpuif_rd_data(reg_rdata),
        .s_cpuif_wr_ack(reg_wr_ack),
        .s_cpuif_wr_err(reg_wr_err),
        .hwif_in(hwif_in),
        .hwif_out(hwif_out)
    );

    assign go_o = hwif_out.control.go.value;
    assign sweep_o = hwif_out.control.sweep.value;
    assign epoch_o = hwif_out.epoch.epoch.value;
    assign latency_o = hwif_out.link.latency.value;
    assign ctl_o.store_credits = hwif_out.credits.store.value;
    assign ctl_o.part_credits = hwif_out.credits.part.value;
    assign ctl_o.throttle = hwif_out.credits.throttle.value;
    assign ctl_o.link_wait = Cfg.LinkRate ? hwif_out.credits.wait_cycles.value : '0;
    assign ctl_o.window = hwif_out.lookahead.packets.value;
    assign ctl_o.limit = hwif_out.limit.period.value;
    assign ctl_o.switch_reductions = Cfg.SwitchReductions && hwif_out.rows.enable.value;
    assign ctl_o.tile_reductions = Cfg.TileReductions && hwif_out.rows.tiles.value;
    assign ctl_o.merge_loads   = Cfg.MergeLoads && hwif_out.loads.enable.value
                                 && hwif_out.rows.tiles.value && hwif_out.rows.enable.value;
    assign ctl_o.load_first = Cfg.MergeLoads ? hwif_out.loads.first.value : '0;
    assign ctl_o.load_entries = Cfg.MergeLoads ? hwif_out.loads.entries.value : '0;
    assign ctl_o.load_parts = Cfg.MergeLoads ? hwif_out.loads.parts.value : '0;
    assign ctl_o.fetch_cycles = Cfg.MergeLoads ? hwif_out.fetches.cycles.value : '0;
    assign ctl_o.load_keep = Cfg.MergeKeep != 0 && hwif_out.loads.keep.value;
    assign ctl_o.sum_entries = Cfg.SumEntries != 0 ? hwif_out.sums.entries.value : '0;
    assign ctl_o.sum_cycles = Cfg.SumEntries != 0 ? hwif_out.sums.cycles.value : '0;
    assign ctl_o.push_sync = Cfg.SumEntries != 0 && hwif_out.sums.pushes.value
                             && hwif_out.rows.tiles.value && hwif_out.rows.enable.value;
    assign ctl_o.row_bytes = hwif_out.rows.row_bytes.value;
    assign ctl_o.row_shift = hwif_out.rows.row_shift.value;
    assign ctl_o.token_shift = hwif_out.rows.token_shift.value;

    for (genvar p = 0; p < Cfg.N; p++) begin : gen_port
        assign enable_o[p] = hwif_out.ports.up.value && hwif_out.ports.port.value == 7'(p);
        assign disable_o[p] = hwif_out.ports.down.value && hwif_out.ports.port.value == 7'(p);
    end

    // ---- layer: busy, done, cycles ----
    logic busy_q;
    logic [31:0] cycles_q;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            busy_q <= 1'b0;
            done_o <= 1'b0;
            cycles_q <= '0;
        end else if (go_o) begin
            busy_q <= 1'b1;
            done_o <= 1'b0;
            cycles_q <= '0;
        end else if (busy_q) begin
            cycles_q <= cycles_q + 32'd1;
            if (all_idle_i && cycles_q >= 32'd3) begin
                busy_q <= 1'b0;
                done_o <= 1'b1;
            end
        end
    end

    // ---- errors of the switch ----
    logic [7:0] first_q;
    logic [Cfg.PortW-1:0] first_port_q;
    logic [15:0] errors_q;

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_o) begin
            first_q <= '0;
            first_port_q <= '0;
            errors_q <= '0;
        end else if (sw_err_i.valid) begin
            if (errors_q != '1) errors_q <= errors_q + 16'd1;
            if (errors_q == '0) begin
                first_q <= sw_err_i.code;
                first_port_q <= sw_err_port_i;
            end
        end
    end

    // ---- tables ----
    // An expert is mapped if it has a number, a GPU and a number there that this fabric
    // has. Every table receives it so.
    logic [11:0] expert;
    node_pkg::emap_t place;
    logic is_place;
    assign expert = hwif_out.emap.addr[13:2];
    assign place = hwif_out.emap.wr_data[$bits(node_pkg::emap_t)-1:0];
    assign is_place = place.valid && 32'(place.gpu) < Cfg.N
                      && 32'(place.local_expert) < Cfg.MaxLocalExperts;
    assign emap_o = '{
            we: hwif_out.emap.req && (expert >> Cfg.ExpW) == '0,
            addr: expert,
            data: '{valid: is_place, gpu: place.gpu, local_expert: place.local_expert}
        };

    // A mask of ports has four words, of which a build has as many as its ports need. That of a
    // group takes effect with its lowest word, which is written last. The tables keep those groups
    // that there are: they see the lower bits of the number alone.
    localparam int unsigned MaskWords = (Cfg.MaskW + 31) / 32;
    logic group_ends;

    assign group_ends = hwif_out.groups.req && hwif_out.groups.addr[3:2] == '0;
    assign groups_o.we = group_ends && 32'(hwif_out.groups.addr[10:4]) < Cfg.Groups;
    assign groups_o.addr = hwif_out.groups.addr[10:4];
    assign groups_o.data[31:0] = hwif_out.groups.wr_data;

    if (MaskWords > 1) begin : gen_upper
        logic [Cfg.MaskW-1:32] upper_q;  // written since a group ended

        assign groups_o.data[Cfg.MaskW-1:32] = upper_q;
        always_ff @(posedge clk_i) begin
            if (!rst_ni || group_ends) begin
                upper_q <= '0;
            end else if (hwif_out.groups.req) begin
                for (int unsigned b = 32; b < Cfg.MaskW; b++) begin
                    if (hwif_out.groups.addr[3:2] == 2'(b / 32))
                        upper_q[b] <= hwif_out.groups.wr_data[b%32];
                end
            end
        end
    end

    always_ff @(posedge clk_i) begin
        for (int unsigned p = 0; p < Cfg.N; p++) begin
            for (int unsigned w = 0; w < MaskWords; w++) begin
                for (int unsigned b = 32 * w; b < 32 * (w + 1) && b < Cfg.N; b++) begin
                    if (!rst_ni) partition_o[p][b] <= 1'b1;
                    else if (hwif_out.partitions.req
                             && hwif_out.partitions.addr[10:2] == {7'(p), 2'(w)})
                        partition_o[p][b] <= hwif_out.partitions.wr_data[b%32];
                end
            end
        end
    end

    // ---- counters and monitors of the switch: its read paths have up to 4 cycles ----
    logic [2:0] wait_q;
    logic [10:0] cnt_q;
    logic loads_q;  // counters of loads are read
    logic [15:0] mon_q;  // {series, port, word}
    logic cnt_read, load_read, mon_read, reading_mon_q;

    assign {ctl_o.cnt_port, ctl_o.cnt_idx} = cnt_q;
    assign ctl_o.cnt_loads = loads_q;
    assign {ctl_o.mon_series, ctl_o.mon_port, ctl_o.mon_word} = mon_q;
    assign ctl_o.mon_read = wait_q != '0 && reading_mon_q;
    assign cnt_read = hwif_out.counters.req || load_read;
    assign load_read = Cfg.MergeLoads && hwif_out.load_counters.req;
    assign mon_read = hwif_out.histogram.req || hwif_out.series.req;
    assign run_o = busy_q;
    assign ctl_o.mon_interval = hwif_out.monitor.interval.value;
    assign ctl_o.mon_classes = hwif_out.monitor.classes.value;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            wait_q <= '0;
        end else if (cnt_read || mon_read) begin
            wait_q <= 3'd5;
        end else if (wait_q != '0) begin
            wait_q <= wait_q - 3'd1;
        end
        if (cnt_read) begin
            cnt_q <= load_read ? hwif_out.load_counters.addr[12:2] : hwif_out.counters.addr[12:2];
            loads_q <= load_read;
        end
        if (hwif_out.histogram.req)
            mon_q <= {1'b0, hwif_out.histogram.addr[14:8], 2'b00, hwif_out.histogram.addr[7:2]};
        else if (hwif_out.series.req) mon_q <= {1'b1, hwif_out.series.addr[16:2]};
        if (cnt_read || mon_read) reading_mon_q <= mon_read;
    end

    always_comb begin
        hwif_in.id.magic.next = 16'h4d57;
        hwif_in.id.major.next = 8'd2;
        hwif_in.id.minor.next = 8'd0;
        hwif_in.size.ports.next = 8'(Cfg.N);
        hwif_in.size.flit_bytes.next = 8'(Cfg.FlitBytes);
        hwif_in.size.mem_log2.next = 8'(Cfg.MemBytesLog2);
        hwif_in.size.banks.next = 8'(node_pkg::MemBanks);
        hwif_in.capacity.rows_log2.next = 8'(Cfg.RowsLog2);
        hwif_in.capacity.tokens_log2.next = 8'(Cfg.TokensLog2);
        hwif_in.capacity.cache_log2.next = 8'($clog2(Cfg.CacheEntries));
        hwif_in.capacity.local_experts.next = 8'(Cfg.MaxLocalExperts);
        hwif_in.windows.open_rows.next = 10'(Cfg.OpenRows);
        hwif_in.windows.part_pkts.next = 10'(Cfg.PartPkts);
        hwif_in.windows.max_latency.next = 11'(Cfg.MaxLatency);
        hwif_in.up_room.store_pkts.next = 16'(Cfg.StorePkts);
        hwif_in.up_room.ctrl_pkts.next = 16'(Cfg.CtrlPkts);
        hwif_in.down_room.store_pkts.next = 16'(Cfg.RxStorePkts);
        hwif_in.down_room.result_pkts.next = 16'(Cfg.RxResultPkts);
        hwif_in.tables.experts.next = 16'(Cfg.MaxExperts);
        hwif_in.tables.groups.next = 8'(Cfg.Groups);
        hwif_in.state.busy.next = busy_q;
        hwif_in.state.done.next = done_o;
        hwif_in.state.switch_idle.next = switch_idle_i;
        hwif_in.state.links_idle.next = links_idle_i;
        hwif_in.state.sweep_busy.next = sweep_busy_i;
        hwif_in.cycles.value.next = cycles_q;
        for (int unsigned w = 0; w < 4; w++) begin
            hwif_in.node_idle[w].mask.next = 32'(node_idle_i >> (32 * w));
            hwif_in.node_error[w].mask.next = 32'(node_error_i >> (32 * w));
            hwif_in.down[w].mask.next = 32'(down_i >> (32 * w));
        end
        hwif_in.error.first.next = first_q;
        hwif_in.error.port.next = 7'(first_port_q);
        hwif_in.error.count.next = errors_q;
        hwif_in.lookahead.most.next = 8'(Cfg.Window);
        hwif_in.groups.rd_ack = 1'b0;
        hwif_in.groups.rd_data = '0;
        hwif_in.groups.wr_ack = hwif_out.groups.req;
        hwif_in.partitions.rd_ack = 1'b0;
        hwif_in.partitions.rd_data = '0;
        hwif_in.partitions.wr_ack = hwif_out.partitions.req;
        hwif_in.emap.rd_ack = 1'b0;
        hwif_in.emap.rd_data = '0;
        hwif_in.emap.wr_ack = hwif_out.emap.req;
        hwif_in.counters.wr_ack = 1'b0;
        hwif_in.monitor.present.next = Cfg.Monitor;
        hwif_in.primitives.adder_bypass.next = Cfg.AdderBypass;
        hwif_in.primitives.target_list_cache.next = Cfg.TargetListCache;
        hwif_in.primitives.token_order.next = Cfg.TokenOrder;
        hwif_in.primitives.link_rate.next = Cfg.LinkRate;
        hwif_in.primitives.switch_reductions.next = Cfg.SwitchReductions;
        hwif_in.primitives.tile_reductions.next = Cfg.TileReductions;
        hwif_in.primitives.merge_loads.next = Cfg.MergeLoads;
        hwif_in.primitives.row_types.next = Cfg.RowTypes;
        hwif_in.primitives.gate_gradients.next = Cfg.GateGradients;
        hwif_in.primitives.cached_handle.next = Cfg.CachedHandle;
        hwif_in.primitives.balance_rows.next = Cfg.BalanceRows;
        hwif_in.tables.load_parts.next = Cfg.MergeLoads ? 4'(Cfg.LoadIndexW) : '0;
        hwif_in.tables.stream_instrs.next = 4'($clog2(Cfg.StreamInstrs));
        hwif_in.load_room.entries.next = Cfg.MergeLoads ? 9'(Cfg.MergeEntries) : '0;
        hwif_in.sum_room.entries.next = 9'(Cfg.SumEntries);
        hwif_in.load_room.keep.next = Cfg.MergeLoads ? 7'(Cfg.MergeKeep >> 10) : '0;
        hwif_in.load_room.open_loads.next = Cfg.MergeLoads ? 8'(Cfg.OpenLoads) : '0;
        hwif_in.load_room.open_syncs.next = Cfg.MergeLoads ? 8'(Cfg.OpenSyncs) : '0;
        hwif_in.primitives.merge_reds.next = Cfg.SumEntries != 0;
        hwif_in.primitives.delay.next = Cfg.Delay;
        hwif_in.primitives.row_ranges.next = Cfg.RowRanges;
        hwif_in.primitives.row_sparse.next = Cfg.RowSparse;
        hwif_in.primitives.source_lists.next = Cfg.SourceLists;
        hwif_in.primitives.more_events.next = Cfg.Events > 16;
        hwif_in.primitives.gathered.next = Cfg.Gathered;
        hwif_in.primitives.packet_manager.next = Cfg.RpmEntries != 0;
        hwif_in.primitives.cache_limit.next = Cfg.CacheLimit;
        hwif_in.primitives.multimem_red.next = Cfg.Reds;
        hwif_in.primitives.red_types.next = 10'(Cfg.RedTypes);
        hwif_in.samples.value.next = mon_samples_i;
        hwif_in.histogram.wr_ack = 1'b0;
        hwif_in.histogram.rd_ack = wait_q == 3'd1 && reading_mon_q && !ctl_o.mon_series;
        hwif_in.histogram.rd_data = mon_data_i;
        hwif_in.series.wr_ack = 1'b0;
        hwif_in.series.rd_ack = wait_q == 3'd1 && reading_mon_q && ctl_o.mon_series;
        hwif_in.series.rd_data = mon_data_i;
        hwif_in.counters.rd_ack = wait_q == 3'd1 && !reading_mon_q && !loads_q;
        hwif_in.counters.rd_data = cnt_data_i;
        hwif_in.load_counters.wr_ack = 1'b0;
        hwif_in.load_counters.rd_ack       = Cfg.MergeLoads ? wait_q == 3'd1 && loads_q
                                                              && !reading_mon_q
                                             : hwif_out.load_counters.req;
        hwif_in.load_counters.rd_data = Cfg.MergeLoads ? cnt_data_i : '0;
    end

    wire unused = &{1'b0, stall_wr, stall_rd};
endmodule

`default_nettype wire
