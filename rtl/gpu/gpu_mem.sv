// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Memory of an emulated GPU: flit-interleaved banks behind two crossbars.
//
// A flit address names bank {low bits} and word {the rest}; each bank takes one read and one write per cycle.
// Order: the reads of a port are answered in the order of their grants, 3 cycles after the grant; a write is visible to
// every read granted in a later cycle. A read and a write of the same flit granted in the same cycle return undefined data.
// Back-pressure: *_ready_o is the grant of the bank's round robin and depends on the requests of all ports, also of that port
// itself: a client must not wait for ready before it raises valid. Responses cannot be held back.
// Worst case: a port waits for one access of each other port at the same bank, never for a write when it reads or the reverse.
//
// The last WrShared write ports share one way into the banks, one flit per cycle together: one of the two that store what comes from the
// links, results of combine, and the rare writes of the allocator and the host. As many ways as banks keep the multiplexers small.
// Streams that go through memory flit by flit spread over the banks and then do not meet any more; one that takes every second flit
// would meet others at every second access. So the two ports of the expert engine take the two halves of a row.
`default_nettype none

module gpu_mem #(
    parameter int unsigned FlitBytes    = 8,
    parameter int unsigned MemBytesLog2 = 14,
    parameter int unsigned Banks        = 4,   // power of two, at least 2
    parameter int unsigned NumRd        = 6,
    parameter int unsigned NumWr        = 6,
    parameter int unsigned WrShared     = 3,   // 1: none
    localparam int unsigned FW    = 8 * FlitBytes,
    localparam int unsigned AddrW = MemBytesLog2 - $clog2(FlitBytes)
) (
    input  wire logic                 clk_i,
    input  wire logic                 rst_ni,
    input  wire logic                 go_i,

    input  wire logic                 rd_valid_i  [NumRd],
    output logic                      rd_ready_o  [NumRd],
    input  wire logic [AddrW-1:0]     rd_addr_i   [NumRd],
    output logic                      rd_rvalid_o [NumRd],
    output logic [FW-1:0]             rd_rdata_o  [NumRd],

    input  wire logic                 wr_valid_i  [NumWr],
    output logic                      wr_ready_o  [NumWr],
    input  wire logic [AddrW-1:0]     wr_addr_i   [NumWr],
    input  wire logic [FW-1:0]        wr_data_i   [NumWr],
    input  wire logic [FlitBytes-1:0] wr_be_i     [NumWr],

    output logic                      conflict_o   // some port was refused in the last cycle
);
    localparam int unsigned BankW = $clog2(Banks);
    localparam int unsigned RowW  = AddrW - BankW;
    localparam int unsigned NumWay = NumWr - WrShared + 1;
    localparam int unsigned BankP = Banks / 2;

    if (Banks < 2 || 2**BankW != Banks || RowW < 1 || NumRd > 32 || NumWr > 32 || WrShared < 1) begin : gen_check
        $error("gpu_mem: Banks must be a power of two, at least 2, and smaller than the memory; at most 32 ports");
    end

    logic [NumRd-1:0] rd_req [Banks], rd_gnt [Banks], rd_bad;
    logic [NumWay-1:0] wr_req [Banks], wr_gnt [Banks];
    logic [NumWr-1:0] wr_bad;

    // The ways into the banks: one per write port, the last one shared.
    logic                 way_valid [NumWay], way_ready [NumWay];
    logic [AddrW-1:0]     way_addr  [NumWay];
    logic [FW-1:0]        way_data  [NumWay];
    logic [FlitBytes-1:0] way_be    [NumWay];

    for (genvar p = 0; p < NumWay - 1; p++) begin : gen_way
        assign way_valid[p]  = wr_valid_i[p];
        assign way_addr[p]   = wr_addr_i[p];
        assign way_data[p]   = wr_data_i[p];
        assign way_be[p]     = wr_be_i[p];
        assign wr_ready_o[p] = way_ready[p];
    end

    mem_wr_mux #(
        .FlitBytes(FlitBytes), .AddrW(AddrW), .Clients(WrShared)
    ) i_shared (
        .clk_i, .rst_ni, .go_i,
        .cl_valid_i(wr_valid_i[NumWay-1:NumWr-1]), .cl_ready_o(wr_ready_o[NumWay-1:NumWr-1]), .cl_addr_i(wr_addr_i[NumWay-1:NumWr-1]),
        .cl_data_i(wr_data_i[NumWay-1:NumWr-1]), .cl_be_i(wr_be_i[NumWay-1:NumWr-1]),
        .wr_valid_o(way_valid[NumWay-1]), .wr_ready_i(way_ready[NumWay-1]), .wr_addr_o(way_addr[NumWay-1]),
        .wr_data_o(way_data[NumWay-1]), .wr_be_o(way_be[NumWay-1])
    );

    // Requests by bank, grants by port.
    always_comb begin
        for (int unsigned b = 0; b < Banks; b++) begin
            for (int unsigned p = 0; p < NumRd; p++) begin
                rd_req[b][p] = rd_valid_i[p] && rd_addr_i[p][BankW-1:0] == BankW'(b);
            end
            for (int unsigned p = 0; p < NumWay; p++) begin
                wr_req[b][p] = way_valid[p] && way_addr[p][BankW-1:0] == BankW'(b);
            end
        end
    end

    always_comb begin
        for (int unsigned p = 0; p < NumRd; p++) begin
            rd_ready_o[p] = 1'b0;
            for (int unsigned b = 0; b < Banks; b++) rd_ready_o[p] |= rd_gnt[b][p];
            rd_bad[p] = rd_valid_i[p] && !rd_ready_o[p];
        end
        for (int unsigned p = 0; p < NumWay; p++) begin
            way_ready[p] = 1'b0;
            for (int unsigned b = 0; b < Banks; b++) way_ready[p] |= wr_gnt[b][p];
        end
        for (int unsigned p = 0; p < NumWr; p++) wr_bad[p] = wr_valid_i[p] && !wr_ready_o[p];
    end

    always_ff @(posedge clk_i) begin
        conflict_o <= rst_ni && (rd_bad != '0 || wr_bad != '0);
    end

    // Accesses wait one cycle beside the banks' grants. A multiplexer of n pairs of ports takes n LUT4 per bit: the value that runs
    // down its chain chooses inside the pair until it meets the chosen pair, and is data from there on. odd: which of the pair;
    // pair: one-hot. These are registers so that synthesis cannot see that they exclude each other and undo the chain.
    logic [RowW-1:0]      raddr_q [NumRd];
    logic [RowW-1:0]      waddr_q [NumWay];
    logic [FW-1:0]        wdata_q [NumWay];
    logic [FlitBytes-1:0] wbe_q   [NumWay];
    logic [FW-1:0]        bank_rdata [Banks];

    always_ff @(posedge clk_i) begin
        for (int unsigned p = 0; p < NumRd; p++) begin
            if (rd_valid_i[p]) raddr_q[p] <= rd_addr_i[p][AddrW-1:BankW];
        end
        for (int unsigned p = 0; p < NumWay; p++) begin
            if (way_valid[p]) begin
                waddr_q[p] <= way_addr[p][AddrW-1:BankW];
                wdata_q[p] <= way_data[p];
                wbe_q[p]   <= way_be[p];
            end
        end
    end

    localparam int unsigned RdP = (NumRd + 1) / 2;   // pairs; an odd number of ports repeats its last
    localparam int unsigned WrP = (NumWay + 1) / 2;

    for (genvar b = 0; b < Banks; b++) begin : gen_bank
        logic             we_q, re_q, rd_odd_q, wr_odd_q;
        logic [RdP-1:0]   rd_pair_q;
        logic [WrP-1:0]   wr_pair_q;
        logic [RowW-1:0]  raddr, waddr;
        logic [FW-1:0]    wdata;
        logic [FlitBytes-1:0] wbe;
        logic [((NumRd > 1) ? $clog2(NumRd) : 1)-1:0] unused_rd_idx;
        logic [((NumWay > 1) ? $clog2(NumWay) : 1)-1:0] unused_wr_idx;

        rr_arb #(.N(NumRd)) i_rd_arb (
            .clk_i, .rst_ni, .clear_i(go_i), .req_i(rd_req[b]), .grant_o(rd_gnt[b]),
            .idx_o(unused_rd_idx), .advance_i(rd_req[b] != '0)
        );
        rr_arb #(.N(NumWay)) i_wr_arb (
            .clk_i, .rst_ni, .clear_i(go_i), .req_i(wr_req[b]), .grant_o(wr_gnt[b]),
            .idx_o(unused_wr_idx), .advance_i(wr_req[b] != '0)
        );

        always_ff @(posedge clk_i) begin
            re_q <= rst_ni && rd_req[b] != '0;
            we_q <= rst_ni && wr_req[b] != '0;
            rd_odd_q <= 1'b0;
            wr_odd_q <= 1'b0;
            rd_pair_q <= '0;
            wr_pair_q <= '0;
            for (int unsigned i = 0; i < NumRd; i++) begin
                if (rd_gnt[b][i]) begin
                    rd_odd_q       <= i[0];
                    rd_pair_q[i/2] <= 1'b1;
                end
            end
            for (int unsigned i = 0; i < NumWay; i++) begin
                if (wr_gnt[b][i]) begin
                    wr_odd_q       <= i[0];
                    wr_pair_q[i/2] <= 1'b1;
                end
            end
        end

        always_comb begin
            raddr = {RowW{rd_odd_q}};
            for (int unsigned k = 0; k < RdP; k++) begin
                if (rd_pair_q[k]) begin
                    raddr = (raddr & raddr_q[(2*k+1 < NumRd) ? 2*k+1 : 2*k]) | (~raddr & raddr_q[2*k]);
                end
            end
        end

        always_comb begin
            waddr = {RowW{wr_odd_q}};
            wdata = {FW{wr_odd_q}};
            wbe   = {FlitBytes{wr_odd_q}};
            for (int unsigned k = 0; k < WrP; k++) begin
                if (wr_pair_q[k]) begin
                    waddr = (waddr & waddr_q[(2*k+1 < NumWay) ? 2*k+1 : 2*k]) | (~waddr & waddr_q[2*k]);
                    wdata = (wdata & wdata_q[(2*k+1 < NumWay) ? 2*k+1 : 2*k]) | (~wdata & wdata_q[2*k]);
                    wbe   = (wbe & wbe_q[(2*k+1 < NumWay) ? 2*k+1 : 2*k]) | (~wbe & wbe_q[2*k]);
                end
            end
        end

        ram_sdp #(
            .Width(FW), .Depth(2**RowW), .ByteEn(1)
        ) i_ram (
            .clk_i, .we_i(we_q), .waddr_i(waddr), .wdata_i(wdata), .wbe_i(wbe),
            .re_i(re_q), .raddr_i(raddr), .rdata_o(bank_rdata[b])
        );
    end

    // Responses: the bank travels beside the access for two cycles.
    for (genvar p = 0; p < NumRd; p++) begin : gen_port
        logic             v1_q, v2_q;
        logic [BankW-1:0] bank1_q;
        logic             odd2_q;
        logic [BankP-1:0] pair2_q;  // one register each: synthesis must not see that they exclude each other

        always_ff @(posedge clk_i) begin
            if (!rst_ni) begin
                v1_q <= 1'b0;
                v2_q <= 1'b0;
                rd_rvalid_o[p] <= 1'b0;
            end else begin
                v1_q <= rd_valid_i[p] && rd_ready_o[p];
                v2_q <= v1_q;
                rd_rvalid_o[p] <= v2_q;
            end
            bank1_q <= rd_addr_i[p][BankW-1:0];
            odd2_q  <= bank1_q[0];
            for (int unsigned k = 0; k < BankP; k++) pair2_q[k] <= (bank1_q >> 1) == BankW'(k);
            if (v2_q) begin
                logic [FW-1:0] d;
                d = {FW{odd2_q}};
                for (int unsigned k = 0; k < BankP; k++) begin
                    if (pair2_q[k]) d = (d & bank_rdata[2*k+1]) | (~d & bank_rdata[2*k]);
                end
                rd_rdata_o[p] <= d;
            end
        end
    end
endmodule

`default_nettype wire
