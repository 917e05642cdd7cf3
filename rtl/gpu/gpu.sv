// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// An emulated GPU: memory, instruction streams, expert engine. Structure only.
//
// Function: Its hub reads and writes the memory, executes the instructions of the other units, and
// reports the events that streams wait for. The host's port holds one access.
`default_nettype none
`include "bundles.svh"

module gpu #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type access_t = `MW_ACCESS(Cfg),
    parameter type answer_t = `MW_ANSWER(Cfg),
    parameter type read_t = `MW_READ(Cfg),
    parameter type write_t = `MW_WRITE(Cfg),
    parameter type pair_t = `MW_PAIR(Cfg),
    parameter type pair_write_t = `MW_PAIR_WRITE(Cfg)
) (
    input  wire logic                    clk_i,
    input  wire logic                    rst_ni,
    input  wire logic                    go_i,
    input  wire node_pkg::node_cfg_t     cfg_i,
    input  wire bundle_pkg::emap_write_t emap_i,

    input  wire access_t host_i,
    output logic         host_ready_o,
    output answer_t      host_o,
    output logic         host_busy_o,

    // memory, for the hub: node_pkg says who reads and writes
    input  wire read_t  rd_i [node_pkg::HubReads],
    output logic        rd_ready_o [node_pkg::HubReads],
    output answer_t     rd_o [node_pkg::HubReads],
    input  wire write_t wr_i [node_pkg::HubWrites],
    output logic        wr_ready_o [node_pkg::HubWrites],

    // the hub's units
    output logic                     cmd_valid_o [node_pkg::HubUnits],
    input  wire logic                cmd_ready_i [node_pkg::HubUnits],
    output isa_pkg::instr_t          cmd_o,
    input  wire logic                retire_i [node_pkg::HubUnits],
    input  wire bundle_pkg::events_t ev_i,
    output logic                     ev_ready_o,  // for an EVENT

    // the hub's trackers, and rows that are finished here
    output logic [node_pkg::ExpertW-1:0]   stat_le_o,
    input  wire bundle_pkg::stat_t         stat_i,  // next cycle
    input  wire logic                      counts_all_i,
    output bundle_pkg::list_req_t          list_o,
    input  wire bundle_pkg::list_rsp_t     list_i,
    output bundle_pkg::push_t              push_o,
    input  wire logic                      push_ready_i,
    input  wire logic [15:0]               recv_rows_i,
    output logic [Cfg.GpuW-1:0]            row_src_o,
    input  wire bundle_pkg::src_rows_t     src_rows_i,
    input  wire logic [node_pkg::RowW-1:0] own_base_i,
    output bundle_pkg::finished_t          sig_o,
    input  wire logic                      sig_ready_i,
    output bundle_pkg::gradient_t          dw_o,
    input  wire logic                      dw_ready_i,

    output logic                    streams_idle_o,
    output logic                    expert_idle_o,  // ready for an instruction
    output logic [31:0]             state_o [isa_pkg::Streams],
    output bundle_pkg::gpu_counts_t count_o,
    output bundle_pkg::error_t      err_o
);
    import node_pkg::*;

    // ---- the host's access ----
    access_t host;
    logic host_done;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) host.valid <= 1'b0;
        else if (host_ready_o) host.valid <= host_i.valid;
        if (host_ready_o) begin
            host.we <= host_i.we;
            host.addr <= host_i.addr;
            host.wdata <= host_i.wdata;
        end
    end

    assign host_ready_o = !host.valid || host_done;
    assign host_busy_o = host.valid;

    // ---- memory ----
    // The read ports of the hub, and MISC; the write ports of the hub, and the host's.
    // of the hub's those that there are
    localparam int unsigned HubWr = Cfg.SwitchReductions ? HubWrites : WrList;
    localparam int unsigned NumRd = RdOwn + 1, NumWr = HubWr + 1;
    read_t rd[NumRd];
    answer_t rd_back[NumRd];
    logic rd_ready[NumRd];
    write_t wr[NumWr];
    logic wr_ready[NumWr];
    pair_t exp_rd;
    pair_write_t exp_wr;
    logic exp_rd_ready;
    logic [Cfg.FlitW-1:0] exp_rd_data[2], exp_wr_data[2];

    gpu_mem #(
        .Cfg(Cfg),
        .NumRd(NumRd),
        .NumWr(NumWr)
    ) i_mem (
        .clk_i,
        .rst_ni,
        .go_i,
        .rd_i(rd),
        .rd_ready_o(rd_ready),
        .rd_o(rd_back),
        .wr_i(wr),
        .wr_ready_o(wr_ready),
        .exp_rd_i(exp_rd),
        .exp_rd_ready_o(exp_rd_ready),
        .exp_rd_data_o(exp_rd_data),
        .exp_wr_i(exp_wr),
        .exp_wr_data_i(exp_wr_data),
        .conflict_o(count_o.conflict)
    );

    for (genvar p = 0; p < RdOwn; p++) begin : gen_rd
        assign rd[p] = rd_i[p];
        assign rd_ready_o[p] = rd_ready[p];
        assign rd_o[p] = rd_back[p];
    end
    for (genvar p = 0; p < HubWrites; p++) begin : gen_wr
        if (p < HubWr) begin : gen_port
            assign wr[p] = wr_i[p];
            assign wr_ready_o[p] = wr_ready[p];
        end else begin : gen_none
            assign wr_ready_o[p] = 1'b0;
        end
    end

    // clients of MISC
    localparam int unsigned Nobody = 16;
    localparam int unsigned CStreams = 0, CControl = 1, CAlloc = 2, CCombine = 3,
                            CExpert = 4, CHost = 5, Always = 6,
                            CRed = Cfg.Reds ? Always : Nobody,
                            CCopy = Cfg.AdderBypass ? Always + 32'(Cfg.Reds) : Nobody,
                            CList = Cfg.SwitchReductions
                                    ? Always + 32'(Cfg.Reds) + 32'(Cfg.AdderBypass) : Nobody,
                            MiscRd = Always + 32'(Cfg.Reds) + 32'(Cfg.AdderBypass)
                                     + 32'(Cfg.SwitchReductions);
    read_t misc[MiscRd];
    answer_t misc_back[MiscRd];
    logic misc_ready[MiscRd], misc_rvalid[MiscRd];
    logic [Cfg.FlitW-1:0] misc_rdata;

    mem_rd_mux #(
        .Cfg(Cfg),
        .Clients(MiscRd)
    ) i_rd_misc (
        .clk_i,
        .rst_ni,
        .go_i,
        .cl_i(misc),
        .cl_ready_o(misc_ready),
        .cl_rvalid_o(misc_rvalid),
        .cl_rdata_o(misc_rdata),
        .rd_o(rd[RdOwn]),
        .rd_ready_i(rd_ready[RdOwn]),
        .rd_i(rd_back[RdOwn])
    );
    for (genvar c = 0; c < MiscRd; c++) begin : gen_misc_back
        assign misc_back[c] = '{rvalid: misc_rvalid[c], rdata: misc_rdata};
    end

    // of the hub, by which it is at MISC
    localparam int unsigned HubClient[HubReads] = '{
        0,
        0,
        0,
        CControl,
        CAlloc,
        CCombine,
        CRed,
        CCopy,
        CList
    };
    for (genvar p = RdOwn; p < HubReads; p++) begin : gen_misc
        if (HubClient[p] < MiscRd) begin : gen_client
            assign misc[HubClient[p]] = rd_i[p];
            assign rd_ready_o[p] = misc_ready[HubClient[p]];
            assign rd_o[p] = misc_back[HubClient[p]];
        end else begin : gen_none
            assign rd_ready_o[p] = 1'b0;
            assign rd_o[p] = '0;
        end
    end

    assign misc[CHost] = '{valid: host.valid && !host.we, addr: host.addr[Cfg.AddrW-1:0]};
    assign wr[HubWr] = '{
            valid: host.valid && host.we,
            addr: host.addr[Cfg.AddrW-1:0],
            be: '1,
            data: host.wdata
        };
    assign host_done = host.we ? wr_ready[HubWr] : misc_ready[CHost];
    assign host_o = misc_back[CHost];

    // ---- instruction streams ----
    localparam int unsigned UControl = 0, USend = 1, UExpert = 2,
                            UCombine = 3, UPush = 4, ULoad = 5, Units = 5 + 32'(Cfg.MergeLoads);
    logic cmd_valid[Units], cmd_ready[Units], retire[Units];

    assign cmd_valid_o[HubControl] = cmd_valid[UControl];
    assign cmd_valid_o[HubSend] = cmd_valid[USend];
    assign cmd_valid_o[HubCombine] = cmd_valid[UCombine];
    assign cmd_valid_o[HubPush] = cmd_valid[UPush];
    assign {cmd_ready[UControl], retire[UControl]} = {
        cmd_ready_i[HubControl], retire_i[HubControl]
    };
    assign {cmd_ready[USend], retire[USend]} = {cmd_ready_i[HubSend], retire_i[HubSend]};
    assign {cmd_ready[UCombine], retire[UCombine]} = {
        cmd_ready_i[HubCombine], retire_i[HubCombine]
    };
    assign {cmd_ready[UPush], retire[UPush]} = {cmd_ready_i[HubPush], retire_i[HubPush]};

    if (Cfg.MergeLoads) begin : gen_load
        assign cmd_valid_o[HubLoad] = cmd_valid[ULoad];
        assign {cmd_ready[ULoad], retire[ULoad]} = {cmd_ready_i[HubLoad], retire_i[HubLoad]};
    end else begin : gen_no_load
        assign cmd_valid_o[HubLoad] = 1'b0;
    end

    bundle_pkg::error_t stream_err;
    logic expert_err;

    streams #(
        .Cfg(Cfg)
    ) i_streams (
        .clk_i,
        .rst_ni,
        .go_i,
        .cfg_i,
        .rd_o(misc[CStreams]),
        .rd_ready_i(misc_ready[CStreams]),
        .rd_i(misc_back[CStreams]),
        .cmd_valid_o(cmd_valid),
        .cmd_ready_i(cmd_ready),
        .cmd_o,
        .retire_i(retire),
        .ev_i,
        .ev_ready_o,
        .idle_o(streams_idle_o),
        .state_o,
        .err_o(stream_err)
    );

    // An instruction is refused by streams or by the unit that it is issued
    // to, so one error at a time.
    assign err_o.valid = stream_err.valid || expert_err;
    assign err_o.code = expert_err ? error_pkg::ERR_BOUNDS : stream_err.code;

    // ---- expert engine ----
    expert_engine #(
        .Cfg(Cfg)
    ) i_expert (
        .clk_i,
        .rst_ni,
        .go_i,
        .cfg_i,
        .cmd_valid_i(cmd_valid[UExpert]),
        .cmd_ready_o(cmd_ready[UExpert]),
        .cmd_i(cmd_o),
        .retire_o(retire[UExpert]),
        .stat_le_o,
        .stat_i,
        .counts_all_i,
        .list_o,
        .list_i,
        .push_o,
        .push_ready_i,
        .recv_rows_i,
        .row_src_o,
        .src_rows_i,
        .own_base_i,
        .err_valid_o(expert_err),
        .rd_o(misc[CExpert]),
        .rd_ready_i(misc_ready[CExpert]),
        .rd_i(misc_back[CExpert]),
        .exp_rd_o(exp_rd),
        .exp_rd_ready_i(exp_rd_ready),
        .exp_rd_data_i(exp_rd_data),
        .exp_wr_o(exp_wr),
        .exp_wr_data_o(exp_wr_data),
        .sig_o,
        .sig_ready_i,
        .dw_o,
        .dw_ready_i,
        .emap_i,
        .stat_idle_o(count_o.idle),
        .stat_wait_o(count_o.hold),
        .stat_tile_o(count_o.tile)
    );

    assign expert_idle_o = cmd_ready[UExpert];
    assign count_o.retire = retire[UExpert];
endmodule

`default_nettype wire
