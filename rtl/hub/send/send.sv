// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Unit send: turns own memory into packets of the store class (dymultimem.st, st.rowsp, st,
// st.linear, multimem.st, multimem.red).
//
// Function: Five parts in a row, each ahead of the next. route_walk reads the routing table.
// send_list checks and sorts a token's targets. send_transfers arms the token tracker and cuts
// tokens into transfers (row, gate weights). send_read fetches their payload. send_build makes the
// packets. The next token's list and the next packets' payload arrive while a packet leaves.
// Ports: Bases are inside memory: rt_base a multiple of 128 bytes, the others multiples of the
// flit. If the remote address (c), or a row, is beyond memory, it leaves as an address beyond
// memory, which the receiver rejects.
// Order: Tokens in order, for dymultimem.st with flags.2 in the order of token_order. The packets
// of a row are in order, and gate weights (META in st) are last, unless flags.0. st.rowsp does this
// for each remote target, then for all own ones. st sends to GPUs p + 1, p + 2, ... modulo N, and
// to p last. A token is armed before its first packet, and only while fewer than cfg.in_flight
// armed tokens wait for tok_done_i. arm_* has its global index and its number of valid entries.
// With switch-initiated reductions these are the own experts, and remote says whether there are
// others. An instruction retires when uplink and local stream have taken its last flit.
// Back-pressure: st_ready_i, loc_ready_i and memory. One stalled stream stops the other. Control's
// packets of the store class (cst_*, clo_*) alternate with send's, packet by packet, on both
// streams.
// Latency: Flits leave in every cycle while memory and both streams keep up, and rows take longer
// than a list takes to read.
// Errors: One pulse each. A token with an unmapped or repeated expert (UNMAPPED, DUPLICATE) is
// skipped as a whole and not armed. An instruction that send_transfers refuses (REDUCTION,
// UNMAPPED, BOUNDS) sends nothing.
`default_nettype none
`include "bundles.svh"

module send #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type group_t = `MW_GROUP(Cfg),
    parameter type read_t = `MW_READ(Cfg),
    parameter type answer_t = `MW_ANSWER(Cfg),
    parameter type range_t = `MW_RANGE(Cfg),
    parameter type pick_t = `MW_PICK(Cfg),
    parameter type stream_t = `MW_STREAM(Cfg),
    parameter type listed_t = `MW_LISTED(Cfg),
    parameter type token_t = `MW_TOKEN(Cfg),
    parameter type target_t = `MW_TARGET(Cfg),
    parameter type targets_t = `MW_TARGETS(Cfg),
    parameter type flit_t = `MW_FLIT(Cfg)
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire logic                go_i,
    input  wire node_pkg::node_cfg_t cfg_i,

    input  wire logic            cmd_valid_i,
    output logic                 cmd_ready_o,
    input  wire isa_pkg::instr_t cmd_i,
    output logic                 retire_o,

    input  wire bundle_pkg::emap_write_t  emap_i,
    input  wire group_t groups_i,

    output read_t        rd_o,
    input  wire logic    rd_ready_i,
    input  wire answer_t rd_i,

    output bundle_pkg::arm_t arm_o,
    input  wire logic        arm_ready_i,
    input  wire logic        tok_done_i,

    output logic [Cfg.GpuW-1:0]            base_q_o,     // st: next row number at this GPU
    input  wire logic [node_pkg::RowW-1:0] base_row_i,
    output logic                           base_take_o,  // and count it

    // with source_lists: rows of a list, see list_rows
    input  wire logic [Cfg.GpuW-1:0]          notified_gpu_i,
    input  wire logic [node_pkg::ExpertW-1:0] notified_local_i,
    output logic [packet_pkg::RowBits-1:0]    notified_rows_o,

    output range_t     begin_o,  // of an instruction that takes tokens in the order made
    input  wire pick_t pick_i,
    output logic       pick_take_o,

    // rows that are loaded: of a FETCH, or own ones
    input  wire logic                      fetch_i,
    output logic                           fetch_room_o,
    input  wire logic [Cfg.LoadIndexW-1:0] fetch_index_i,
    input  wire logic [15:0]               fetch_ref_i,
    input  wire logic                      own_valid_i,
    output logic                           own_ready_o,
    input  wire logic [Cfg.LoadIndexW-1:0] own_index_i,
    output logic                           answered_o,  // none is on its way

    input  wire stream_t cst_i,  // packets of control for the uplink
    output logic         cst_ready_o,
    input  wire stream_t clo_i,  // or for this GPU
    output logic         clo_ready_o,

    output stream_t   st_o,
    input  wire logic st_ready_i,
    output stream_t   loc_o,
    input  wire logic loc_ready_i,

    output bundle_pkg::error_t err_o
);
    import isa_pkg::*;
    // of the bytes of a transfer
    localparam int unsigned LenW = (Cfg.MemBytesLog2 > 15) ? Cfg.MemBytesLog2 : 15;
    // packets of 32 bytes, or of 128
    localparam int unsigned PktsW = LenW - (Cfg.RpmEntries != 0 ? 5 : 7);
    // of a token index << row_shift, or of an address
    localparam int unsigned ShiftW = (Cfg.TokW > Cfg.MemBytesLog2 - 12) ? Cfg.TokW + 15
                                     : Cfg.MemBytesLog2 + 3;

    // A transfer as send_build takes it.
    typedef struct packed {
        logic                st;       // for the uplink
        logic                loc;      // for this GPU
        logic [ShiftW-1:0]   addr;
        logic [PktsW-1:0]    pkts;     // packets, less 1
        logic [6:0]          tail;     // bytes of the last one, less 1
        logic                gate;     // it is a token's gate weights
        logic                cut;      // packets of 32 bytes, scattered
        packet_pkg::port_t   dst;
        logic [1:0]          list_no;
        logic [3:0]          nth;      // rowsp: of the remote targets the one that it is for
        logic [4:0]          remote;   // targets
        logic [4:0]          own;
        logic [Cfg.TokW-1:0] token;
        logic                answer;   // a row that is loaded: LD_RESP, whatever the instruction
        logic                poison;
        logic [15:0]         ref_;     // of its FETCH
    } job_t;

    // What send_read fetches for it.
    typedef struct packed {
        logic                         valid;
        logic [Cfg.AddrW-1:0] from;           // its payload in own memory
        logic [LenW-Cfg.FlitLog2-1:0] last;   // flits of it, less 1
        logic                         ids;    // the expert IDs of the token follow the weights
        job_t                         job;
    } xfer_t;

    logic walk, picks, build_idle;
    logic [Cfg.TokensLog2:0] walk_end, range_end;

    assign begin_o = '{valid: walk && picks, first: cmd_i.a[Cfg.TokensLog2:0], stop: range_end};

    // ---- lists ----------------------------------------------------------------------------------
    listed_t entry;
    read_t walk_rd;
    answer_t walk_answer;
    logic walk_done, entry_take, walk_rd_ready;
    logic [3:0] k_last;
    assign k_last = 4'(cfg_i.k - 5'd1);

    route_walk #(
        .Cfg(Cfg),
        .Picks(Cfg.TokenOrder)
    ) i_walk (
        .clk_i,
        .rst_ni,
        .start_i(walk),
        .first_i(cmd_i.a[Cfg.TokensLog2:0]),
        .end_i(walk_end),
        .k_last_i(k_last),
        .row_base_i(cfg_i.rt_base[Cfg.MemBytesLog2-1:7]),
        .done_o(walk_done),
        .picks_i(picks),
        .pick_i,
        .pick_take_o,
        .rd_o(walk_rd),
        .rd_ready_i(walk_rd_ready),
        .rd_i(walk_answer),
        .entry_o(entry),
        .take_i(entry_take)
    );

    logic [Cfg.GpuW-1:0] look_gpu;
    logic [node_pkg::ExpertW-1:0] look_local;
    logic [packet_pkg::RowBits-1:0] look_row;
    logic look_take;

    list_rows #(
        .Cfg(Cfg)
    ) i_rows (
        .clk_i,
        .rst_ni,
        .cfg_i,
        .begin_i(walk),
        .look_gpu_i(look_gpu),
        .look_local_i(look_local),
        .take_i(look_take),
        .row_o(look_row),
        .notified_gpu_i,
        .notified_local_i,
        .notified_rows_o
    );

    token_t desc;
    target_t to_remote, to_own;
    logic desc_valid, desc_take;
    bundle_pkg::error_t list_err, cmd_err;

    send_list #(
        .Cfg(Cfg)
    ) i_list (
        .clk_i,
        .rst_ni,
        .port_i(cfg_i.port),
        .emap_i,
        .look_gpu_o(look_gpu),
        .look_local_o(look_local),
        .look_take_o(look_take),
        .row_i(look_row),
        .entry_i(entry),
        .take_o(entry_take),
        .remote_o(to_remote),
        .own_o(to_own),
        .desc_valid_o(desc_valid),
        .desc_take_i(desc_take),
        .desc_o(desc),
        .err_o(list_err)
    );

    bundle_pkg::target_at_t build_at, own_at;
    targets_t remote, own;

    always_comb begin
        own_at = build_at;
        own_at.nth = '0;
    end

    target_ram #(
        .Cfg(Cfg)
    ) i_remote (
        .clk_i,
        .wr_i(to_remote),
        .at_i(build_at),
        .targets_o(remote)
    );
    target_ram #(
        .Cfg(Cfg)
    ) i_own (
        .clk_i,
        .wr_i(to_own),
        .at_i(own_at),
        .targets_o(own)
    );

    // ---- transfers ------------------------------------------------------------------------------
    bundle_pkg::sends_t sends;
    logic drained, xfer_take, cmd_xfer_take, job_valid, job_take, job_waits, read_idle, pay_take;
    logic read_all_idle, build_all_idle, all_idle;  // of loaded rows, too
    xfer_t xfer, cmd_xfer;  // cmd_xfer: of an instruction
    job_t job;
    flit_t pay;

    assign drained = read_idle && build_idle;

    send_transfers #(
        .Cfg(Cfg),
        .ShiftW(ShiftW),
        .PktsW(PktsW),
        .xfer_t(xfer_t)
    ) i_transfers (
        .clk_i,
        .rst_ni,
        .go_i,
        .cfg_i,
        .cmd_valid_i,
        .cmd_ready_o,
        .cmd_i,
        .walk_o(walk),
        .picks_o(picks),
        .range_end_o(range_end),
        .end_o(walk_end),
        .drained_i(drained),
        .retire_o,
        .groups_i,
        .walk_done_i(walk_done),
        .desc_valid_i(desc_valid),
        .desc_take_o(desc_take),
        .lists_used_i(job_waits),
        .desc_i(desc),
        .arm_o,
        .arm_ready_i,
        .tok_done_i,
        .base_q_o,
        .base_row_i,
        .base_take_o,
        .xfer_o(cmd_xfer),
        .xfer_take_i(cmd_xfer_take),
        .sends_o(sends),
        .err_o(cmd_err)
    );

    // ---- rows that are loaded, beside the instruction's transfers -------------------------------
    if (Cfg.MergeLoads) begin : gen_loads
        logic row_valid, row_take, row_own, row_poison, row_idle, row, row_next_q;
        logic [15:0] row_ref;
        logic [ShiftW-1:0] row_addr;
        logic [LenW-1:0] row_end;
        logic [Cfg.AddrW-1:0] row_from;

        load_serve #(
            .Cfg(Cfg),
            .ShiftW(ShiftW)
        ) i_serve (
            .clk_i,
            .rst_ni(rst_ni && !go_i),
            .cfg_i,
            .push_i(fetch_i),
            .room_o(fetch_room_o),
            .index_i(fetch_index_i),
            .ref_i(fetch_ref_i),
            .own_valid_i,
            .own_ready_o,
            .own_index_i,
            .xfer_valid_o(row_valid),
            .xfer_take_i(row_take),
            .xfer_own_o(row_own),
            .xfer_ref_o(row_ref),
            .xfer_poison_o(row_poison),
            .xfer_addr_o(row_addr),
            .xfer_from_o(row_from),
            .xfer_end_o(row_end),
            .idle_o(row_idle)
        );

        assign row = row_valid && (row_next_q || !cmd_xfer.valid);
        assign row_take = xfer_take && row;
        assign cmd_xfer_take = xfer_take && !row;
        assign answered_o = row_idle && all_idle;

        always_comb begin
            xfer = cmd_xfer;
            xfer.valid = row_valid || cmd_xfer.valid;
            xfer.ids = !row && cmd_xfer.ids;
            if (row) begin
                xfer.from = row_from;
                xfer.last = row_end[LenW-1:Cfg.FlitLog2];
                xfer.job = '0;
                xfer.job.answer = 1'b1;
                xfer.job.poison = row_poison;
                xfer.job.ref_ = row_ref;
                xfer.job.st = !row_own;
                xfer.job.loc = row_own;
                xfer.job.addr = row_addr;
                xfer.job.pkts = PktsW'(row_end >> 7);
                xfer.job.tail = row_end[6:0];
            end
        end
        always_ff @(posedge clk_i) begin
            if (!rst_ni) row_next_q <= 1'b1;
            else if (xfer_take) row_next_q <= !row;
        end
    end else begin : gen_no_loads
        assign xfer = cmd_xfer;
        assign cmd_xfer_take = xfer_take;
        assign {fetch_room_o, own_ready_o, answered_o} = 3'b001;
    end

    send_read #(
        .Cfg(Cfg),
        .LenW(LenW),
        .job_t(job_t),
        .xfer_t(xfer_t)
    ) i_read (
        .clk_i,
        .rst_ni,
        .k_last_i(k_last),
        .xfer_i(xfer),
        .xfer_take_o(xfer_take),
        .scatter_i(cfg_i.scatter),
        .job_valid_o(job_valid),
        .job_take_i(job_take),
        .job_o(job),
        .waits_o(job_waits),
        .idle_o(read_idle),
        .all_idle_o(read_all_idle),
        .walk_i(walk_rd),
        .walk_ready_o(walk_rd_ready),
        .walk_o(walk_answer),
        .rd_o,
        .rd_ready_i,
        .rd_i,
        .pay_o(pay),
        .pay_take_i(pay_take)
    );

    // ---- packets --------------------------------------------------------------------------------
    stream_t own_pkt[2];
    logic own_ready[2];  // 0 uplink, 1 local

    send_build #(
        .Cfg(Cfg),
        .PktsW(PktsW),
        .AddrW(ShiftW),
        .job_t(job_t)
    ) i_build (
        .clk_i,
        .rst_ni,
        .cfg_i,
        .sends_i(sends),
        .job_valid_i(job_valid),
        .job_take_o(job_take),
        .job_i(job),
        .at_o(build_at),
        .remote_i(remote),
        .own_i(own),
        .pay_i(pay),
        .pay_take_o(pay_take),
        .st_o(own_pkt[0]),
        .st_ready_i(own_ready[0]),
        .loc_o(own_pkt[1]),
        .loc_ready_i(own_ready[1]),
        .idle_o(build_idle),
        .all_idle_o(build_all_idle)
    );
    assign all_idle = read_all_idle && build_all_idle;

    // control's packets join here, between send's
    loc_merge #(
        .Cfg(Cfg)
    ) i_st (
        .clk_i,
        .rst_ni,
        .go_i,
        .loc_i(own_pkt[0]),
        .loc_ready_o(own_ready[0]),
        .clo_i(cst_i),
        .clo_ready_o(cst_ready_o),
        .loc_o(st_o),
        .loc_ready_i(st_ready_i)
    );
    loc_merge #(
        .Cfg(Cfg)
    ) i_loc (
        .clk_i,
        .rst_ni,
        .go_i,
        .loc_i(own_pkt[1]),
        .loc_ready_o(own_ready[1]),
        .clo_i,
        .clo_ready_o,
        .loc_o,
        .loc_ready_i
    );

    // ---- errors ---------------------------------------------------------------------------------
    assign err_o.valid = list_err.valid || cmd_err.valid;
    assign err_o.code = list_err.valid ? list_err.code : cmd_err.code;
endmodule

`default_nettype wire
