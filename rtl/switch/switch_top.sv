// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Switch with N ports: multicast trimmed per output, and reductions joined at the requester's
// output.
//
// Function: Input i writes into one queue (voq) per output. Output o reads its queues, and the
// partial sums for requester o from one queue (part_queue) per hub. There is no queue from a port
// to itself, as a hub keeps its own copies. A port whose endpoint breaks the rules is shut off
// (port_guard). Its partials are replaced (dummy_partial), so the others continue.
// Ports: idle_o is high while nothing is queued, no reduction is open, and every credit is
// returned. Tables and limits may change only then.
// Order: First in, first out between two ports and inside a class.
// Back-pressure: Credits only. The STORE credits of an input return while each of its queues has
// room. A blocked output therefore delays the others only when its own queue is full. Nothing waits
// for a packet of a later class.
// Latency: The first flit leaves at most 4 cycles after it came. A target list takes one cycle per
// target after the first.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module switch_top #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type group_t = `MW_GROUP(Cfg),
    parameter type link_t = `MW_LINK(Cfg),
    parameter type common_t = `MW_COMMON(Cfg),
    parameter type notified_t = `MW_NOTIFIED(Cfg),
    parameter type strobes_t = `MW_STROBES(Cfg),
    parameter type backs_t = `MW_BACKS(Cfg),
    parameter type copy_t = `MW_COPY(Cfg),
    parameter type desc_t = `MW_DESC(Cfg),
    parameter type window_t = `MW_WINDOW(Cfg),
    parameter type part_t = `MW_PART(Cfg)
) (
    input  wire logic       clk_i,
    input  wire logic       rst_ni,
    input  wire logic       go_i,
    input  wire logic [1:0] epoch_i,

    input  wire logic run_i,  // a layer runs

    input  wire link_t          up_i [Cfg.N],
    output bundle_pkg::credit_t up_crd_o [Cfg.N],

    output link_t           dn_o [Cfg.N],
    input  wire logic [3:0] dn_crd_i [Cfg.N],

    input  wire bundle_pkg::emap_write_t     emap_i,
    input  wire group_t                  groups_i,
    input  wire logic [Cfg.N-1:0][Cfg.N-1:0] partition_i,  // row = source: ports it may reach
    input  wire bundle_pkg::switch_ctl_t     ctl_i,

    // ports that misbehave
    input  wire logic [Cfg.N-1:0] enable_i,  // pulses: a port that is down is to be up;
                                             // one that is up is to be down
    input  wire logic [Cfg.N-1:0] disable_i,
    input  wire logic [Cfg.N-1:0] quiet_i,   // nothing on the links of the port
    output logic [Cfg.N-1:0]      down_o,
    output logic [Cfg.N-1:0]      flush_o,   // the port's endpoint is to be reset

    input  wire logic   sweep_i,  // the tables of rows are cleared, see report_scoreboard
    output logic        sweep_busy_o,
    output logic        idle_o,
    output logic [31:0] cnt_data_o,

    // monitors, see switch_monitor; without them all is 0
    output logic [31:0] mon_samples_o,
    output logic [31:0] mon_data_o,

    output bundle_pkg::error_t err_o,
    output logic [Cfg.PortW-1:0] err_port_o
);

    if (Cfg.N < 2 || Cfg.N > packet_pkg::PortsMax
        || (Cfg.FlitBytes != 8 && Cfg.FlitBytes != 16)) begin : gen_check
        $error("switch_top: N must be 2 to 72, FlitBytes 8 or 16");
    end
    if (Cfg.Window > 31 || Cfg.Window > Cfg.StorePkts) begin : gen_check_window
        $error("switch_top: Window must be at most 31 and StorePkts");
    end

    if (Cfg.SwitchReductions && (!Cfg.TargetListCache || !Cfg.Multicast || Cfg.TokensLog2 > 15))
    begin : gen_check_by_switch
        $error(
            {
                "switch_top: SwitchReductions needs TargetListCache, Multicast, ",
                "and TokensLog2 of at most 15"
            }
        );
    end

    if (Cfg.MergeLoads && !Cfg.TileReductions) begin : gen_check_loads
        $error("switch_top: MergeLoads needs TileReductions");
    end

    // ---- what the ports share ----
    common_t common;
    logic [Cfg.N-1:0] hold, cnt_read, err_take, idle, sweep_busy;
    bundle_pkg::counter_t counter[Cfg.N];
    bundle_pkg::error_t err[Cfg.N];
    logic [Cfg.N-1:0] mon_read;
    logic [31:0] mon_data[Cfg.N];

    switch_common #(
        .Cfg(Cfg)
    ) i_common (
        .clk_i,
        .rst_ni,
        .go_i,
        .run_i,
        .common_o(common),
        .ctl_i,
        .cnt_data_o,
        .err_o,
        .err_port_o,
        .mon_samples_o,
        .mon_data_o,
        .hold_o(hold),
        .cnt_read_o(cnt_read),
        .cnt_i(counter),
        .err_i(err),
        .err_take_o(err_take),
        .mon_read_o(mon_read),
        .mon_data_i(mon_data)
    );
    assign idle_o = &idle;

    // ---- between the ports, see switch_port ----
    // From_x is what it calls x_o, to_x what it calls x_i.
    logic [Cfg.N-1:0] from_scarce, from_arrive, from_issue, from_down, from_flush;
    logic [Cfg.Others-1:0] from_part_we[Cfg.N], from_here[Cfg.N], from_queued[Cfg.N];
    logic [Cfg.Others-1:0] from_part_done[Cfg.N], from_late[Cfg.N];
    logic [Cfg.Others-1:0] to_part_we[Cfg.N], to_here[Cfg.N], to_queued[Cfg.N], to_part_done[Cfg.N];
    logic [Cfg.Others-1:0] to_late[Cfg.N], to_scarce[Cfg.N], to_arrive[Cfg.N], to_issue[Cfg.N];
    logic [Cfg.Others-1:0] to_down[Cfg.N], to_flush[Cfg.N];
    notified_t from_notified[Cfg.N], to_notified[Cfg.N][Cfg.Others];
    strobes_t from_strobes[Cfg.N], to_strobes[Cfg.N];
    backs_t from_backs[Cfg.N], to_backs[Cfg.N];
    copy_t from_wr[Cfg.N], to_wr[Cfg.N][Cfg.Others];
    desc_t from_desc[Cfg.N], to_desc[Cfg.N][Cfg.Others];
    window_t from_win[Cfg.N], to_win[Cfg.N][Cfg.Others];
    part_t from_part[Cfg.N], to_part[Cfg.N][Cfg.Others];

    for (genvar p = 0; p < Cfg.N; p++) begin : gen_port
        for (genvar d = 0; d < Cfg.Others; d++) begin : gen_other
            localparam int unsigned Q = (p + d + 1) % Cfg.N;  // p is that port's number N-2-d

            assign to_strobes[p].wr[d] = from_strobes[Q].wr[Cfg.N-2-d];
            assign to_strobes[p].desc[d] = from_strobes[Q].desc[Cfg.N-2-d];
            assign to_strobes[p].push[d] = from_strobes[Q].push[Cfg.N-2-d];
            assign to_strobes[p].come[d] = from_strobes[Q].come[Cfg.N-2-d];
            assign to_part_we[p][d] = from_part_we[Q][Cfg.N-2-d];
            assign to_strobes[p].hold[d] = from_strobes[Q].hold[Cfg.N-2-d];
            assign to_strobes[p].ready[d] = from_strobes[Q].ready[Cfg.N-2-d];
            assign to_strobes[p].opened[d] = from_strobes[Q].opened[Cfg.N-2-d];
            assign to_backs[p].lane_take[d] = from_backs[Q].lane_take[Cfg.N-2-d];
            assign to_backs[p].lane_bad[d] = from_backs[Q].lane_bad[Cfg.N-2-d];
            assign to_backs[p].load_bad[d] = from_backs[Q].load_bad[Cfg.N-2-d];
            assign to_backs[p].sum_bad[d] = from_backs[Q].sum_bad[Cfg.N-2-d];
            assign to_strobes[p].answered[d] = from_strobes[Q].answered[Cfg.N-2-d];
            assign to_backs[p].room[d] = from_backs[Q].room[Cfg.N-2-d];
            assign to_here[p][d] = from_here[Q][Cfg.N-2-d];
            assign to_queued[p][d] = from_queued[Q][Cfg.N-2-d];
            assign to_backs[p].ctrl_free[d] = from_backs[Q].ctrl_free[Cfg.N-2-d];
            assign to_backs[p].part_full[d] = from_backs[Q].part_full[Cfg.N-2-d];
            assign to_part_done[p][d] = from_part_done[Q][Cfg.N-2-d];
            assign to_late[p][d] = from_late[Q][Cfg.N-2-d];
            assign to_scarce[p][d] = from_scarce[Q];
            assign to_arrive[p][d] = from_arrive[Q];
            assign to_issue[p][d] = from_issue[Q];
            assign to_down[p][d] = from_down[Q];
            assign to_flush[p][d] = from_flush[Q];
            assign to_notified[p][d] = from_notified[Q];
            assign to_wr[p][d] = from_wr[Q];
            assign to_desc[p][d] = from_desc[Q];
            assign to_win[p][d] = from_win[Q];
            assign to_part[p][d] = from_part[Q];
        end

        switch_port #(
            .Cfg(Cfg)
        ) i_port (
            .clk_i,
            .rst_ni,
            .port_i(Cfg.PortW'(p)),
            .go_i,
            .epoch_i,
            .sweep_i,
            .sweep_busy_o(sweep_busy[p]),
            .common_i(common),
            .up_i(up_i[p]),
            .up_crd_o(up_crd_o[p]),
            .dn_o(dn_o[p]),
            .dn_crd_i(dn_crd_i[p]),
            .emap_i,
            .groups_i,
            .partition_i(partition_i[p]),
            .hold_i(hold[p]),
            .cnt_read_i(cnt_read[p]),
            .cnt_o(counter[p]),
            .err_o(err[p]),
            .err_take_i(err_take[p]),
            .enable_i(enable_i[p]),
            .disable_i(disable_i[p]),
            .quiet_i(quiet_i[p]),
            .idle_o(idle[p]),
            .mon_read_i(mon_read[p]),
            .mon_data_o(mon_data[p]),
            .strobes_o(from_strobes[p]),
            .strobes_i(to_strobes[p]),
            .part_we_o(from_part_we[p]),
            .part_we_i(to_part_we[p]),
            .backs_o(from_backs[p]),
            .backs_i(to_backs[p]),
            .here_o(from_here[p]),
            .here_i(to_here[p]),
            .queued_o(from_queued[p]),
            .queued_i(to_queued[p]),
            .part_done_o(from_part_done[p]),
            .part_done_i(to_part_done[p]),
            .late_o(from_late[p]),
            .late_i(to_late[p]),
            .desc_o(from_desc[p]),
            .desc_i(to_desc[p]),
            .scarce_o(from_scarce[p]),
            .scarce_i(to_scarce[p]),
            .arrive_o(from_arrive[p]),
            .arrive_i(to_arrive[p]),
            .issue_o(from_issue[p]),
            .issue_i(to_issue[p]),
            .down_o(from_down[p]),
            .down_i(to_down[p]),
            .flush_o(from_flush[p]),
            .flush_i(to_flush[p]),
            .notified_o(from_notified[p]),
            .notified_i(to_notified[p]),
            .wr_o(from_wr[p]),
            .wr_i(to_wr[p]),
            .win_o(from_win[p]),
            .win_i(to_win[p]),
            .part_o(from_part[p]),
            .part_i(to_part[p])
        );
    end
    assign down_o = from_down;
    assign flush_o = from_flush;
    assign sweep_busy_o = sweep_busy != '0;

    `MW_CONTRACT(1'b1, (flush_o & ~down_o) == '0, "a port is flushed that is up")
endmodule

`default_nettype wire
