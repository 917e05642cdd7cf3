// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Memory of an emulated GPU: flit-interleaved banks, with ports for single flits and one for the
// expert engine.
//
// Function: A flit address names bank {low bits} and word {the rest}. Each bank takes one read and
// one write per cycle. The expert engine moves flits i and i + 2 of an aligned group of four: banks
// 0 and 2 in one cycle, 1 and 3 in the next. It never takes the same banks in two consecutive
// cycles. Every bank is therefore free every other cycle, and streams of single flits meet the
// banks in step: after the first conflict with the engine they have no further one. Multiplexers
// are a register that is cleared unless its port is selected, and an OR. Clearing costs no LUT, and
// an OR of four costs one per bit.
// Ports: All write ports but the first share one path into the banks, one flit per cycle together.
// Order: The reads of a port are answered in the order of their grants. A write is visible to every
// read granted in a later cycle. A read granted in the same cycle as a write to its flit returns
// undefined data in the written bytes.
// Back-pressure: *_ready_o is the grant of the bank's round robin. It depends on the requests of
// all ports, including its own, so a client must not wait for ready before it raises valid.
// Responses cannot be held back. The engine's writes are never refused, so it needs no queue for
// results. Its reads yield to other read ports, except the last one, at most 3 times in a row.
// Latency: 3 cycles after the grant. A port waits for one access of each other port at the same
// bank, twice as long while the engine runs. A read never waits for a write, nor a write for a
// read.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module gpu_mem #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type read_t = `MW_READ(Cfg),
    parameter type answer_t = `MW_ANSWER(Cfg),
    parameter type write_t = `MW_WRITE(Cfg),
    parameter type pair_t = `MW_PAIR(Cfg),
    parameter type pair_write_t = `MW_PAIR_WRITE(Cfg),
    parameter int unsigned NumRd = 4,
    parameter int unsigned NumWr = 5,
    localparam int unsigned StepW = Cfg.AddrW - 1  // {group of four flits, which two of them}
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,
    input  wire logic go_i,

    input  wire read_t rd_i [NumRd],
    output logic       rd_ready_o [NumRd],
    output answer_t    rd_o [NumRd],

    input  wire write_t wr_i [NumWr],
    output logic        wr_ready_o [NumWr],

    input  wire pair_t                exp_rd_i,
    output logic                      exp_rd_ready_o,
    output logic [Cfg.FlitW-1:0]      exp_rd_data_o [2],  // 3 cycles after the grant
    input  wire pair_write_t          exp_wr_i,
    input  wire logic [Cfg.FlitW-1:0] exp_wr_data_i [2],  // a cycle later

    output logic conflict_o  // some port was refused in the last cycle, the engine's aside
);
    localparam int unsigned Banks = node_pkg::MemBanks, BankW = $clog2(Banks);
    localparam int unsigned RowW = Cfg.AddrW - BankW;

    if (RowW < 1 || NumRd < 1 || NumRd > 32 || NumWr < 2 || NumWr > 32) begin : gen_check
        $error("gpu_mem: at least 8 flits, 1 read port and 2 write ports, at most 32 ports");
    end

    // ---- ways for writes: port 0 alone, the others together -------------------------
    logic [1:0] way_ready;
    write_t way[2];

    assign way[0] = wr_i[0];
    assign wr_ready_o[0] = way_ready[0];

    mem_wr_mux #(
        .Cfg(Cfg),
        .Clients(NumWr - 1)
    ) i_shared (
        .clk_i,
        .rst_ni,
        .go_i,
        .cl_i(wr_i[1:NumWr-1]),
        .cl_ready_o(wr_ready_o[1:NumWr-1]),
        .wr_o(way[1]),
        .wr_ready_i(way_ready[1])
    );

    // ---- the engine reads, or stands back -------------------------------------------------
    localparam int unsigned MostBack = 3;
    logic exp_read, exp_meets;
    logic [1:0] back_q;

    always_comb begin
        exp_meets = 1'b0;
        for (int unsigned p = 0; p < NumRd - 1; p++)
        exp_meets |= rd_i[p].valid && rd_i[p].addr[0] == exp_rd_i.addr[0];
    end
    assign exp_rd_ready_o = !exp_meets || back_q == 2'(MostBack);
    assign exp_read = exp_rd_i.valid && exp_rd_ready_o;

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i || exp_read) back_q <= '0;
        else if (exp_rd_i.valid) back_q <= back_q + 1'b1;
    end

    // ---- requests by bank, grants by port -----------------------------------------------
    logic [NumRd-1:0] rd_req[Banks], rd_gnt[Banks], rd_bad;
    logic [1:0] wr_req[Banks], wr_gnt[Banks];
    logic [NumWr-1:0] wr_bad;

    always_comb begin
        for (int unsigned b = 0; b < Banks; b++) begin
            for (int unsigned p = 0; p < NumRd; p++) begin
                rd_req[b][p] = rd_i[p].valid && rd_i[p].addr[BankW-1:0] == BankW'(b)
                               && !(exp_read && exp_rd_i.addr[0] == b[0]);
            end
            for (int unsigned w = 0; w < 2; w++) begin
                wr_req[b][w] = way[w].valid && way[w].addr[BankW-1:0] == BankW'(b)
                               && !(exp_wr_i.valid[b/2] && exp_wr_i.addr[0] == b[0]);
            end
        end
    end

    always_comb begin
        for (int unsigned p = 0; p < NumRd; p++) begin
            rd_ready_o[p] = 1'b0;
            for (int unsigned b = 0; b < Banks; b++) rd_ready_o[p] |= rd_gnt[b][p];
            rd_bad[p] = rd_i[p].valid && !rd_ready_o[p];
        end
        for (int unsigned w = 0; w < 2; w++) begin
            way_ready[w] = 1'b0;
            for (int unsigned b = 0; b < Banks; b++) way_ready[w] |= wr_gnt[b][w];
        end
        for (int unsigned p = 0; p < NumWr; p++) wr_bad[p] = wr_i[p].valid && !wr_ready_o[p];
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni) conflict_o <= 1'b0;
        else conflict_o <= rd_bad != '0 || wr_bad != '0;
    end

    // ---- the engine's accesses ------------------------------------------------------------
    // On their way beside the grants' registers.
    logic [RowW-1:0] exp_raddr_q, exp_waddr_q;
    logic exp_odd_q, exp_odd2_q, exp_v_q, exp_v2_q;

    always_ff @(posedge clk_i) begin
        exp_v_q <= exp_read;
        exp_v2_q <= exp_v_q;
        exp_odd2_q <= exp_odd_q;
        if (exp_read) begin
            exp_odd_q <= exp_rd_i.addr[0];
            exp_raddr_q <= exp_rd_i.addr[StepW-1:1];
        end
        if (exp_wr_i.valid != '0) exp_waddr_q <= exp_wr_i.addr[StepW-1:1];
    end

    // ---- banks ----------------------------------------------------------------------------------
    logic [Cfg.FlitW-1:0] bank_rdata[Banks];

    for (genvar b = 0; b < Banks; b++) begin : gen_bank
        logic we, re_q, exp_re, exp_we, exp_re_q, exp_we_q;
        logic [RowW-1:0] raddr_q[NumRd], raddr, waddr_q[2], waddr;
        logic [Cfg.FlitW-1:0] wdata_q[2], wdata;
        logic [Cfg.FlitBytes-1:0] wbe_q[2], wbe;

        assign exp_re = exp_read && exp_rd_i.addr[0] == b[0];
        assign exp_we = exp_wr_i.valid[b/2] && exp_wr_i.addr[0] == b[0];
        assign we = wr_req[b] != '0 || exp_we;

        rr_arb #(
            .N(NumRd)
        ) i_rd_arb (
            .clk_i,
            .rst_ni,
            .clear_i(go_i),
            .req_i(rd_req[b]),
            .grant_o(rd_gnt[b]),
            .idx_o(),
            .advance_i(rd_req[b] != '0)
        );
        rr_arb #(
            .N(2)
        ) i_wr_arb (
            .clk_i,
            .rst_ni,
            .clear_i(go_i),
            .req_i(wr_req[b]),
            .grant_o(wr_gnt[b]),
            .idx_o(),
            .advance_i(wr_req[b] != '0)
        );

        always_ff @(posedge clk_i) begin
            exp_re_q <= exp_re;
            if (!rst_ni) begin
                exp_we_q <= 1'b0;
                re_q <= 1'b0;
            end else begin
                exp_we_q <= exp_we;
                re_q <= rd_req[b] != '0 || exp_re;
            end
            for (int unsigned p = 0; p < NumRd; p++)
            raddr_q[p] <= rd_gnt[b][p] ? rd_i[p].addr[Cfg.AddrW-1:BankW] : '0;
            if (we) begin
                for (int unsigned w = 0; w < 2; w++) begin
                    waddr_q[w] <= wr_gnt[b][w] ? way[w].addr[Cfg.AddrW-1:BankW] : '0;
                    wdata_q[w] <= wr_gnt[b][w] ? way[w].data : '0;
                end
            end
            for (int unsigned w = 0; w < 2; w++) wbe_q[w] <= wr_gnt[b][w] ? way[w].be : '0;
        end

        always_comb begin
            raddr = exp_re_q ? exp_raddr_q : '0;
            for (int unsigned p = 0; p < NumRd; p++) raddr |= raddr_q[p];
            waddr = (exp_we_q ? exp_waddr_q : '0) | waddr_q[0] | waddr_q[1];
            wdata = (exp_we_q ? exp_wr_data_i[b/2] : '0) | wdata_q[0] | wdata_q[1];
            wbe = {Cfg.FlitBytes{exp_we_q}} | wbe_q[0] | wbe_q[1];
        end

        ram_sdp #(
            .Width(Cfg.FlitW),
            .Depth(2 ** RowW),
            .ByteEn(1)
        ) i_ram (
            .clk_i,
            .we_i(1'b1),
            .waddr_i(waddr),
            .wdata_i(wdata),
            .wbe_i(wbe),
            .re_i(re_q),
            .raddr_i(raddr),
            .rdata_o(bank_rdata[b])
        );
    end

    always_ff @(posedge clk_i) begin
        if (exp_v2_q) begin
            for (int unsigned h = 0; h < 2; h++)
            exp_rd_data_o[h] <= exp_odd2_q ? bank_rdata[2*h+1] : bank_rdata[2*h];
        end
    end

    // ---- responses: the bank travels beside the access for two cycles ---------------------------
    for (genvar p = 0; p < NumRd; p++) begin : gen_port
        logic [Banks-1:0] from1_q, from2_q;
        logic [Cfg.FlitW-1:0] data_q[Banks];

        always_ff @(posedge clk_i) begin
            if (!rst_ni) begin
                from1_q <= '0;
                from2_q <= '0;
                rd_o[p].rvalid <= 1'b0;
            end else begin
                for (int unsigned b = 0; b < Banks; b++) from1_q[b] <= rd_gnt[b][p];
                from2_q <= from1_q;
                rd_o[p].rvalid <= from2_q != '0;
            end
            if (from2_q != '0) begin
                for (int unsigned b = 0; b < Banks; b++)
                data_q[b] <= from2_q[b] ? bank_rdata[b] : '0;
            end
        end
        always_comb begin
            rd_o[p].rdata = '0;
            for (int unsigned b = 0; b < Banks; b++) rd_o[p].rdata |= data_q[b];
        end
    end

    `MW_CONTRACT(exp_read, back_q <= 2'(MostBack), "the engine stands back too often")
    `MW_NEXT(exp_rd_i.valid && !exp_rd_ready_o && !go_i, exp_rd_i.valid && $stable(exp_rd_i.addr),
             "a read of the engine changes before it is granted")
    `MW_CONTRACT(exp_wr_i.valid != '0, $stable(exp_wr_i.addr[0]) == 1'b0 || $past(exp_wr_i.valid)
                 == '0, "the engine writes the same banks twice in a row")
endmodule

`default_nettype wire
