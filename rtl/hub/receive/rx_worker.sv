// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Write worker: takes jobs one after the other, reads the payload from the slot and writes it to
// memory.
//
// Function: With Counts = 1 the worker also processes COUNTS jobs. It outputs their words (cnt_*),
// one per cycle.
// Order: Flits of a job in order. done_* reports a job after the grant of its last flit. An empty
// job (null) is reported at once.
// Back-pressure: wr_ready_i. The next job's last flit waits until done_* of the previous job is
// taken.
// Latency: One flit per cycle while memory grants, without a gap between jobs. A job of n flits
// takes n cycles, plus the cycles in which memory does not grant.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module rx_worker #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type store_t = `MW_STORE(Cfg),
    parameter int unsigned SlotW = 5,
    parameter int unsigned Counts = 0,
    parameter bit Reds = 1'b0,
    parameter type job_t = logic
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,

    input  wire logic                     job_valid_i,
    output logic                          job_ready_o,
    input  wire job_t                     job_i,
    input  wire logic [Cfg.FlitBytes-1:0] job_first_i,  // byte enables of its first flit,
                                                        // and of its last
    input  wire logic [Cfg.FlitBytes-1:0] job_last_i,

    output logic                      pay_next_o,  // a job whose payload is being read
    output logic                      pay_here_o,  // pay_data_i is in use
    output logic                      pay_re_o,
    output logic [SlotW+Cfg.PayW-1:0] pay_addr_o,
    input  wire logic [Cfg.FlitW-1:0] pay_data_i,

    output store_t    wr_o,
    input  wire logic wr_ready_i,

    output logic      done_valid_o,
    input  wire logic done_ready_i,
    output job_t      done_o,

    output bundle_pkg::count_t cnt_o,

    output logic busy_o
);
    job_t job_q;
    logic job_valid_q, step, step_last, finish;
    logic [Cfg.PayW-1:0] idx_q;
    logic flit_q, last_q, take;  // a flit is at the output of the payload RAM
    logic info_q, granted_q;  // done_o is in use; its last flit was granted
    logic word_last;
    logic [Cfg.FlitBytes-1:0] first_mask_q, last_mask_q;

    assign step_last = idx_q == job_q.span[6:Cfg.FlitLog2];
    assign step = job_valid_q && !job_q.null_ && (!flit_q || take) && !(step_last && info_q);
    assign finish = (step && step_last) || (job_valid_q && job_q.null_ && !info_q);
    assign job_ready_o = !job_valid_q || finish;
    assign pay_next_o = job_valid_q && !job_q.null_;
    assign pay_here_o = flit_q;
    assign pay_re_o = step;
    assign pay_addr_o = {job_q.slot, idx_q};

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            job_valid_q <= 1'b0;
            flit_q <= 1'b0;
            info_q <= 1'b0;
            granted_q <= 1'b0;
            idx_q <= '0;
        end else begin
            if (job_ready_o) job_valid_q <= job_valid_i;
            if (step) idx_q <= step_last ? '0 : idx_q + 1'b1;
            if (step || take) flit_q <= step;
            if (finish) begin
                info_q <= 1'b1;
                granted_q <= job_q.null_;
            end else begin
                if (take && last_q) granted_q <= 1'b1;
                if (done_valid_o && done_ready_i) info_q <= 1'b0;
            end
        end
        if (job_ready_o && job_valid_i) begin
            job_q <= job_i;
            first_mask_q <= job_first_i;
            last_mask_q <= job_last_i;
        end
        if (finish) done_o <= job_q;
        if (step) begin
            wr_o.addr <= job_q.addr + Cfg.AddrW'(idx_q);
            wr_o.be <= (first_mask_q | {Cfg.FlitBytes{idx_q != '0}})
                       & (last_mask_q | {Cfg.FlitBytes{!step_last}});
            last_q <= step_last;
        end
    end

    if (Reds) begin : gen_reds
        localparam int unsigned RedW = red_pkg::red_bits(Cfg.RedTypes);

        always_ff @(posedge clk_i) begin
            if (step) begin
                wr_o.red <= job_q.red;
                wr_o.kind <= red_pkg::red_t'(job_q.token[RedW-1:0]);
                wr_o.adds <= step_last ? job_q.adds : '0;
                wr_o.row <= Cfg.TokensLog2'(job_q.row);
            end
        end
    end else begin : gen_no_reds
        assign {wr_o.red, wr_o.kind, wr_o.adds, wr_o.row} = '0;
    end

    assign done_valid_o = info_q && granted_q;
    assign busy_o = job_valid_q || info_q;

    if (Counts != 0) begin : gen_counts
        localparam int unsigned SubW = Cfg.FlitLog2 - 2;
        logic counts_q;
        logic [SubW-1:0] word_q, end_q;
        logic [Cfg.PayW-1:0] flit_idx_q;
        packet_pkg::counts_e kind_q;
        logic [1:0] part_q;

        assign word_last = word_q == (last_q ? end_q : '1);
        assign wr_o.valid = flit_q && !counts_q;
        assign take = flit_q && (counts_q ? word_last : wr_ready_i);
        assign cnt_o.valid = flit_q && counts_q;
        assign cnt_o.last = last_q && word_last;
        assign cnt_o.kind = kind_q == packet_pkg::COUNTS_COPIES;
        assign cnt_o.halves = {
            kind_q != packet_pkg::COUNTS_ROWS_LOW, kind_q != packet_pkg::COUNTS_ROWS_HIGH
        };
        assign cnt_o.part = part_q;
        assign cnt_o.val = pay_data_i[32*word_q+:32];

        always_ff @(posedge clk_i) begin
            if (!rst_ni) begin
                word_q <= '0;
            end else if (cnt_o.valid) begin
                word_q <= word_last ? '0 : word_q + 1'b1;
            end
            if (step) begin
                counts_q <= job_q.counts;
                kind_q <= packet_pkg::counts_e'(job_q.pos[1:0]);
                part_q <= (Cfg.CopyPkts > 1) ? job_q.pos[3:2] : '0;
                cnt_o.src <= packet_pkg::port_t'(job_q.addr[Cfg.PortW-1:0]);
                end_q <= job_q.span[Cfg.FlitLog2-1:2];
                flit_idx_q <= idx_q;
            end
        end
        assign cnt_o.idx = packet_pkg::port_t'({
            part_q | 2'(kind_q == packet_pkg::COUNTS_ROWS_HIGH), flit_idx_q, word_q
        });
    end else begin : gen_write
        assign wr_o.valid = flit_q;
        assign take = flit_q && wr_ready_i;
        assign word_last = 1'b0;
        assign cnt_o.valid = 1'b0;
        assign {cnt_o.kind, cnt_o.halves, cnt_o.part} = '0;
        assign {cnt_o.src, cnt_o.idx, cnt_o.val, cnt_o.last} = '0;
        wire unused = &{1'b0, word_last, pay_data_i};
    end

    `MW_STABLE(wr_o.valid, wr_ready_i, {wr_o.addr, wr_o.be},
               "a write changes before memory takes it")
    `MW_STABLE(done_valid_o, done_ready_i, done_o, "a finished job changes before it is taken")
    `MW_CONTRACT(cnt_o.valid, !wr_o.valid, "a word of COUNTS is written to memory")
endmodule

`default_nettype wire
