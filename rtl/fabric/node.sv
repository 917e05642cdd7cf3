// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// A node: one emulated GPU and its hub, with their registers. Structure only.
//
// Latency: No output depends on an input of the same cycle.
`default_nettype none
`include "bundles.svh"

module node #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type group_t = `MW_GROUP(Cfg),
    parameter type link_t = `MW_LINK(Cfg),
    parameter type access_t = `MW_ACCESS(Cfg),
    parameter type answer_t = `MW_ANSWER(Cfg),
    parameter type read_t = `MW_READ(Cfg),
    parameter type write_t = `MW_WRITE(Cfg)
) (
    input  wire logic               clk_i,
    input  wire logic               rst_ni,
    input  wire bundle_pkg::layer_t layer_i,
    input  wire packet_pkg::port_t  port_i,  // constant

    input  wire bundle_pkg::csr_req_t csr_i,
    output bundle_pkg::bus_rsp_t      csr_o,

    input  wire bundle_pkg::emap_write_t  emap_i,
    input  wire group_t groups_i,

    output link_t                    up_o,
    input  wire bundle_pkg::credit_t up_crd_i,

    input  wire link_t dn_i,
    output logic [3:0] dn_crd_o,

    input  wire access_t host_i,
    output logic         host_ready_o,
    output answer_t      host_o,

    output logic idle_o,
    output logic error_o,
    output logic sweep_busy_o
);
    // ---- what comes in is registered here (the uplink's credits aside) ----
    node_pkg::node_cfg_t cfg;
    bundle_pkg::emap_write_t emap;
    group_t groups;
    bundle_pkg::csr_req_t csr;
    logic go, run, sweep;
    logic [1:0] epoch_q;
    packet_pkg::port_t port_q;
    link_t dn, up;
    logic [3:0] dn_crd;

    always_ff @(posedge clk_i) begin
        go <= rst_ni && layer_i.go;
        run <= rst_ni && layer_i.run;
        sweep <= rst_ni && layer_i.sweep;
        epoch_q <= layer_i.epoch;
        port_q <= port_i;
        emap.we <= rst_ni && emap_i.we;
        emap.addr <= emap_i.addr;
        emap.data <= emap_i.data;
        groups.we <= rst_ni && groups_i.we;
        groups.addr <= groups_i.addr;
        groups.data <= groups_i.data;
        // the request stays until the cycle behind its answer
        csr.req <= rst_ni && csr_i.req && !csr_o.ack;
        csr.we <= csr_i.we;
        csr.addr <= csr_i.addr;
        csr.wdata <= csr_i.wdata;
        dn.valid <= rst_ni && dn_i.valid;
        dn.last <= dn_i.last;
        dn.err <= dn_i.err;
        dn.cls <= dn_i.cls;
        if (dn_i.valid) dn.data <= dn_i.data;
    end

    // ---- GPU and hub ----
    read_t rd[node_pkg::HubReads];
    answer_t rd_back[node_pkg::HubReads];
    logic rd_ready[node_pkg::HubReads];
    write_t wr[node_pkg::HubWrites];
    logic wr_ready[node_pkg::HubWrites];
    logic cmd_valid[node_pkg::HubUnits], cmd_ready[node_pkg::HubUnits];
    logic retire[node_pkg::HubUnits];
    isa_pkg::instr_t cmd;
    bundle_pkg::events_t ev;
    bundle_pkg::list_req_t list;
    bundle_pkg::list_rsp_t list_back;
    bundle_pkg::push_t push;
    bundle_pkg::stat_t stat;
    bundle_pkg::finished_t sig;
    bundle_pkg::gradient_t dw;
    logic dw_ready;
    logic [node_pkg::ExpertW-1:0] stat_le;
    logic ev_ready, counts_all, push_ready, sig_ready, host_busy, streams_idle, expert_idle;
    logic [15:0] recv_rows;
    logic [Cfg.GpuW-1:0] row_src;
    bundle_pkg::src_rows_t src_rows;
    logic [node_pkg::RowW-1:0] own_base;
    bundle_pkg::gpu_counts_t gpu_count;
    bundle_pkg::hub_counts_t hub_count;
    logic [31:0] stream_state[isa_pkg::Streams];
    logic [6:0] part_idle;
    bundle_pkg::error_t err[2 + node_pkg::HubErrors];  // of the GPU, the hub, the handle
    node_pkg::node_cfg_t gpu_cfg;
    logic stale;  // the layer uses the handle of a layer that is gone: no stream starts

    always_comb begin
        gpu_cfg = cfg;
        if (stale) gpu_cfg.stream_enable = '0;
    end

    gpu #(
        .Cfg(Cfg)
    ) i_gpu (
        .clk_i,
        .rst_ni,
        .go_i(go),
        .cfg_i(gpu_cfg),
        .emap_i(emap),
        .host_i,
        .host_ready_o,
        .host_o,
        .host_busy_o(host_busy),
        .rd_i(rd),
        .rd_ready_o(rd_ready),
        .rd_o(rd_back),
        .wr_i(wr),
        .wr_ready_o(wr_ready),
        .cmd_valid_o(cmd_valid),
        .cmd_ready_i(cmd_ready),
        .cmd_o(cmd),
        .retire_i(retire),
        .ev_i(ev),
        .ev_ready_o(ev_ready),
        .stat_le_o(stat_le),
        .stat_i(stat),
        .counts_all_i(counts_all),
        .list_o(list),
        .list_i(list_back),
        .push_o(push),
        .push_ready_i(push_ready),
        .recv_rows_i(recv_rows),
        .row_src_o(row_src),
        .src_rows_i(src_rows),
        .own_base_i(own_base),
        .sig_o(sig),
        .sig_ready_i(sig_ready),
        .dw_o(dw),
        .dw_ready_i(dw_ready),
        .streams_idle_o(streams_idle),
        .expert_idle_o(expert_idle),
        .state_o(stream_state),
        .count_o(gpu_count),
        .err_o(err[0])
    );

    hub #(
        .Cfg(Cfg)
    ) i_hub (
        .clk_i,
        .rst_ni,
        .go_i(go),
        .sweep_i(sweep),
        .sweep_busy_o,
        .cfg_i(cfg),
        .emap_i(emap),
        .groups_i(groups),
        .up_o(up),
        .up_crd_i,
        .dn_i(dn),
        .dn_crd_o(dn_crd),
        .rd_o(rd),
        .rd_ready_i(rd_ready),
        .rd_i(rd_back),
        .wr_o(wr),
        .wr_ready_i(wr_ready),
        .cmd_valid_i(cmd_valid),
        .cmd_ready_o(cmd_ready),
        .cmd_i(cmd),
        .retire_o(retire),
        .ev_o(ev),
        .ev_ready_i(ev_ready),
        .stat_le_i(stat_le),
        .stat_o(stat),
        .counts_all_o(counts_all),
        .list_i(list),
        .list_o(list_back),
        .push_i(push),
        .push_ready_o(push_ready),
        .recv_rows_o(recv_rows),
        .row_src_i(row_src),
        .src_rows_o(src_rows),
        .own_base_o(own_base),
        .sig_i(sig),
        .sig_ready_o(sig_ready),
        .dw_i(dw),
        .dw_ready_o(dw_ready),
        .err_o(err[1+:node_pkg::HubErrors]),
        .idle_o(part_idle),
        .count_o(hub_count)
    );

    if (Cfg.CachedHandle) begin : gen_handle
        cached_handle i_handle (
            .clk_i,
            .rst_ni,
            .go_i(go),
            .sweep_i(sweep),
            .cfg_i(cfg),
            .stale_o(stale),
            .err_o(err[1+node_pkg::HubErrors])
        );
    end else begin : gen_no_handle
        assign stale = 1'b0;
        assign err[1+node_pkg::HubErrors] = '{valid: 1'b0, code: error_pkg::ERR_NONE};
    end

    // ---- the link, as faulty as its endpoint is to be ----
    node_pkg::fault_t fault;

    if (Cfg.Faults) begin : gen_faults
        link_fault #(
            .Cfg(Cfg)
        ) i_fault (
            .clk_i,
            .rst_ni,
            .go_i(go),
            .fault_i(fault),
            .up_i(up),
            .crd_i(dn_crd),
            .up_o,
            .crd_o(dn_crd_o)
        );
    end else begin : gen_no_faults
        assign {up_o, dn_crd_o} = {up, dn_crd};
    end

    // ---- registers ----
    logic [3:0] unit_idle;
    logic load_idle;
    logic [7:0] hub_idle;
    logic [3:0][31:0] stream_reg;

    assign unit_idle = {
        cmd_ready[node_pkg::HubPush] && cmd_ready[node_pkg::HubCombine],
        expert_idle,
        cmd_ready[node_pkg::HubSend],
        cmd_ready[node_pkg::HubControl]
    };
    assign load_idle = cmd_ready[node_pkg::HubLoad];
    assign hub_idle = {part_idle[6], !dn.valid && !host_busy, part_idle[5:0]};
    assign idle_o = streams_idle && (&unit_idle) && load_idle && (&hub_idle);

    // streams report {state, opcode, index}; the register says waiting and ended
    for (genvar s = 0; s < 4; s++) begin : gen_stream_reg
        assign stream_reg[s] = {
            8'd0,
            stream_state[s][15:8],
            stream_state[s][7:0],
            6'd0,
            stream_state[s][18:16] == 3'd0,
            stream_state[s][18:16] > 3'd1
        };
    end

    node_csr #(
        .Cfg(Cfg),
        .NumErr(2 + node_pkg::HubErrors)
    ) i_csr (
        .clk_i,
        .rst_ni,
        .go_i(go),
        .csr_i(csr),
        .csr_o,
        .port_i(port_q),
        .epoch_i(epoch_q),
        .cfg_o(cfg),
        .fault_o(fault),
        .state_i({
            8'd0,
            hub_idle,
            5'd0,
            !load_idle,
            sweep_busy_o,
            ev.rows_done,
            unit_idle,
            2'd0,
            streams_idle,
            idle_o
        }),
        .stream_i(stream_reg),
        .manager_i(hub_count.manager),
        // what counts nothing happening stops with the layer
        .count_i({
            gpu_count.tile,
            |{gpu_count.retire, retire[4], retire[3], retire[2], retire[1], retire[0]},
            ev.token,
            ev.row,
            hub_count.miss,
            hub_count.hit,
            gpu_count.hold,
            gpu_count.idle && run,
            gpu_count.conflict,
            hub_count.link_idle && run,
            hub_count.tx.stall_ctrl,
            hub_count.tx.part_empty && run,
            hub_count.tx.stall_store
        }),
        .err_i(err),
        .error_o
    );
endmodule

`default_nettype wire
