// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Fetches the payload of send's transfers, and shares send's memory port with route_walk.
//
// Function: A transfer enters slot b while its payload is being read. Slot a after it waits for
// send_build. One transfer is therefore being built, one waits, and the payload of a third is being
// read. With xfer_i.ids the entries of the token's row of the routing table follow the payload.
// Order: Transfers, and their flits, as they were taken. Payload is requested when the queue has a
// place for it. route_walk goes first, but a request that memory has not taken is not replaced.
// Back-pressure: rd_ready_i, pay_take_i and job_take_i. Answers are always taken.
// Latency: One flit per cycle while memory delivers one and route_walk requests nothing.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module send_read #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type read_t = `MW_READ(Cfg),
    parameter type answer_t = `MW_ANSWER(Cfg),
    parameter type flit_t = `MW_FLIT(Cfg),
    parameter int unsigned LenW = 15,  // of the bytes of a transfer
    parameter type job_t = logic,  // see send
    parameter type xfer_t = logic
) (
    input  wire logic       clk_i,
    input  wire logic       rst_ni,
    input  wire logic [3:0] k_last_i,  // entries of a row of the routing table, less 1

    input  wire xfer_t      xfer_i,
    output logic            xfer_take_o,
    input  wire logic [2:0] scatter_i,    // of a transfer with job.cut

    output logic      job_valid_o,  // slot a
    input  wire logic job_take_i,
    output job_t      job_o,
    // of an instruction, not a row that is loaded: slot b holds a transfer; no slot does
    output logic      waits_o,
    output logic      idle_o,
    output logic      all_idle_o,   // no slot does, of any

    input  wire read_t walk_i,
    output logic       walk_ready_o,
    output answer_t    walk_o,

    output read_t        rd_o,
    input  wire logic    rd_ready_i,
    input  wire answer_t rd_i,

    output flit_t     pay_o,
    input  wire logic pay_take_i
);
    localparam int unsigned SubW = $clog2(isa_pkg::RouteBytes / Cfg.FlitBytes);

    // ---- transfers ------------------------------------------------------------------------------
    job_t job_b_q;
    logic move_b, reading_q, ids_q, pay_last, pay_gnt;
    logic b_valid_q, row_q;  // row_q: the payload is that of a loaded row
    logic [Cfg.AddrW-1:0] from_q;
    logic [LenW-Cfg.FlitLog2-1:0] flit_q, last_q;  // flit to request, last one

    assign move_b = b_valid_q && (!job_valid_o || job_take_i);
    assign xfer_take_o = xfer_i.valid && (!reading_q || (pay_last && !ids_q))
                         && (!b_valid_q || move_b);
    assign pay_last = pay_gnt && flit_q == last_q;
    assign waits_o = b_valid_q && !job_b_q.answer;
    assign idle_o = !(reading_q && !row_q) && !(job_valid_o && !job_o.answer) && !waits_o;
    assign all_idle_o = !reading_q && !job_valid_o && !b_valid_q;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            job_valid_o <= 1'b0;
            b_valid_q <= 1'b0;
            reading_q <= 1'b0;
        end else begin
            if (xfer_take_o) b_valid_q <= 1'b1;
            else if (move_b) b_valid_q <= 1'b0;
            if (move_b) job_valid_o <= 1'b1;
            else if (job_take_i) job_valid_o <= 1'b0;
            if (xfer_take_o) reading_q <= 1'b1;
            else if (pay_last && !ids_q) reading_q <= 1'b0;
        end
        if (move_b) job_o <= job_b_q;
        if (xfer_take_o) begin
            job_b_q <= xfer_i.job;
            row_q <= xfer_i.job.answer;
            from_q <= xfer_i.from;
            last_q <= xfer_i.last;
            ids_q <= xfer_i.ids;
        end else if (pay_last) begin
            from_q <= {from_q[Cfg.AddrW-1:SubW], SubW'(0)};
            last_q <= (LenW - Cfg.FlitLog2)'(k_last_i[3:Cfg.FlitLog2-1]);
            ids_q <= 1'b0;
        end
        if (xfer_take_o || pay_last) flit_q <= '0;
        else if (pay_gnt) flit_q <= flit_q + 1'b1;
    end

    // ---- where a flit lies ----
    logic [Cfg.AddrW-1:0] flit;

    if (Cfg.RpmEntries != 0) begin : gen_scatter
        localparam int unsigned PktW = LenW - 5, PktFlits = 5 - Cfg.FlitLog2;
        logic cut_q;
        logic [PktW-1:0] pkt;

        scatter_order #(
            .Width(PktW)
        ) i_order (
            .scatter_i,
            .index_i(flit_q[LenW-Cfg.FlitLog2-1:PktFlits]),
            .last_i(last_q[LenW-Cfg.FlitLog2-1:PktFlits]),
            .place_o(pkt)
        );
        assign flit = Cfg.AddrW'(cut_q ? {pkt, flit_q[PktFlits-1:0]} : flit_q);
        always_ff @(posedge clk_i) begin
            if (xfer_take_o) cut_q <= xfer_i.job.cut;
        end
    end else begin : gen_in_order
        assign flit = Cfg.AddrW'(flit_q);
    end

    // ---- memory ---------------------------------------------------------------------------------
    // A bit for each request selects the receiver of the answer.
    localparam int unsigned Slots = 15;
    logic [3:0] slots_q, ask_q, answer_q;
    logic pay_req, pay_wait_q, for_pay, walk_sel, pay_rvalid, pay_room;
    logic [4:0] pay_level;

    assign pay_req = reading_q && slots_q != 4'(Slots);
    assign walk_sel = walk_i.valid && !pay_wait_q;
    assign rd_o.valid = pay_req || walk_i.valid;
    assign rd_o.addr = walk_sel ? walk_i.addr : from_q + flit;
    assign walk_ready_o = rd_ready_i && walk_sel;
    assign pay_gnt = pay_req && !walk_sel && rd_ready_i;
    assign walk_o = '{rvalid: rd_i.rvalid && !for_pay, rdata: rd_i.rdata};
    assign pay_rvalid = rd_i.rvalid && for_pay;

    lutram #(
        .Width(1),
        .Depth(16)
    ) i_whose (
        .clk_i,
        .we_i(rd_o.valid && rd_ready_i),
        .waddr_i(ask_q),
        .wdata_i(!walk_sel),
        .raddr_i(answer_q),
        .rdata_o(for_pay)
    );

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            slots_q <= '0;
            ask_q <= '0;
            answer_q <= '0;
            pay_wait_q <= 1'b0;
        end else begin
            if (pay_gnt != pay_take_i) slots_q <= slots_q + (pay_gnt ? 4'd1 : '1);
            if (rd_o.valid && rd_ready_i) ask_q <= ask_q + 1'b1;
            if (rd_i.rvalid) answer_q <= answer_q + 1'b1;
            pay_wait_q <= pay_req && !walk_sel && !rd_ready_i;
        end
    end

    fifo #(
        .Width(Cfg.FlitW),
        .Depth(Slots + 1)
    ) i_pay (
        .clk_i,
        .rst_ni,
        .valid_i(pay_rvalid),
        .ready_o(pay_room),
        .data_i(rd_i.rdata),
        .valid_o(pay_o.valid),
        .ready_i(pay_take_i),
        .data_o(pay_o.data),
        .level_o(pay_level)
    );

    wire unused = &{1'b0, pay_room, pay_level};  // pay_room: a place in the queue is
    // there by slots_q

    `MW_CONTRACT(pay_take_i, pay_o.valid, "a payload flit is taken that is not there")
    `MW_CONTRACT(job_take_i, job_valid_o, "a transfer is taken that is not there")
    `MW_STABLE(job_valid_o, job_take_i, job_o, "a transfer changes before it is taken")
endmodule

`default_nettype wire
