// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// mem_rd_mux and mem_wr_mux, with a memory that may stall. Addresses and data have two bits.
`default_nettype none
`include "bundles.svh"

module prove_mem_mux #(
    parameter bit Write = 1'b0,
    localparam int unsigned Clients = 3,
    localparam int unsigned Latency = 2
) (
    input  wire logic                    clk_i,  ready_i,
    input  wire logic [Clients-1:0]              valid_i,
    input  wire logic [Clients-1:0][1:0] addr_i, data_i,
    input  wire logic [Clients-1:0]              one_i // the client that is followed
);
    function automatic cfg_pkg::cfg_t sizes();
        cfg_pkg::cfg_t c;
        c = cfg_pkg::usual();
        c.FlitBytes = 1;
        c.MemBytesLog2 = 2;
        return cfg_pkg::derived(c);
    endfunction
    localparam cfg_pkg::cfg_t Cfg = sizes();

    logic               rst_n, valid, took;
    logic [1:0]         addr;
    logic [Clients-1:0] ready, rvalid, got, one_q;
    logic               cl_valid [Clients];
    logic               cl_ready [Clients];

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    for (genvar c = 0; c < Clients; c++) begin : gen_client
        assign cl_valid[c] = valid_i[c] && rst_n;
        assign ready[c]    = cl_ready[c];
        // A request stays until it is granted.
        f_stream #(.Width(4), .Assume(1'b1)) i_in (
            .clk_i, .rst_ni(rst_n), .valid_i(cl_valid[c]), .ready_i(ready[c]),
            .data_i({addr_i[c], data_i[c]}),
            .last_i(1'b1), .inside_o()
        );
    end
    assign took = valid && ready_i;
    assign got  = valid_i & ready & {Clients{rst_n}};

    if (Write) begin : gen_write
        `MW_WRITE(Cfg) cl [Clients], wr;
        for (genvar c = 0; c < Clients; c++) begin : gen_data
            assign cl[c] = '{valid: cl_valid[c], addr: addr_i[c], be: data_i[c][0],
                             data: {6'd0, data_i[c]}};
        end
        assign valid = wr.valid;
        assign addr  = wr.addr;
        mem_wr_mux #(.Cfg(Cfg), .Clients(Clients)) i_dut (
            .clk_i, .rst_ni(rst_n), .go_i(1'b0), .cl_i(cl), .cl_ready_o(cl_ready),
            .wr_o(wr), .wr_ready_i(ready_i)
        );
        logic [1:0] want;
        always_comb begin
            want = '0;
            for (int unsigned c = 0; c < Clients; c++) if (got[c]) want |= data_i[c];
        end
        always_ff @(posedge clk_i) if (rst_n)
            a_data: assert (!took || (wr.data == {6'd0, want} && wr.be == want[0]));
        f_stream #(.Width($bits(wr))) i_out (
            .clk_i, .rst_ni(rst_n), .valid_i(valid), .ready_i, .data_i(wr),
            .last_i(1'b1), .inside_o()
        );
        f_fair #(.Bound(8 * (Clients - 1))) i_fair (
            .clk_i, .rst_ni(rst_n), .wait_i((valid_i & one_i) != '0),
            .served_i((got & one_i) != '0), .other_i(took)
        );
        assign rvalid = '0;
    end else begin : gen_read
        `MW_READ(Cfg)       cl [Clients], rd;
        `MW_ANSWER(Cfg)     answer;
        logic               cl_rvalid [Clients];
        logic [Clients-1:0] back_q [Latency];     // the client granted in each cycle
        for (genvar c = 0; c < Clients; c++) begin : gen_addr
            assign cl[c] = '{valid: cl_valid[c], addr: addr_i[c]};
        end
        assign valid  = rd.valid;
        assign addr   = rd.addr;
        assign answer = '{rvalid: back_q[Latency-1] != '0, rdata: '0};
        mem_rd_mux #(.Cfg(Cfg), .Clients(Clients), .Latency(Latency)) i_dut (
            .clk_i, .rst_ni(rst_n), .go_i(1'b0),
            .cl_i(cl), .cl_ready_o(cl_ready), .cl_rvalid_o(cl_rvalid),
            .cl_rdata_o(), .rd_o(rd), .rd_ready_i(ready_i), .rd_i(answer)
        );
        for (genvar c = 0; c < Clients; c++) begin : gen_back
            assign rvalid[c] = cl_rvalid[c];
        end
        always_ff @(posedge clk_i) begin
            back_q[0] <= rst_n ? got : '0;
            for (int unsigned l = 1; l < Latency; l++) back_q[l] <= rst_n ? back_q[l-1] : '0;
            // an answer returns to the client that requested it
            if (rst_n) a_back: assert (rvalid == back_q[Latency-1]);
        end
        f_stream #(.Width($bits(rd))) i_out (
            .clk_i, .rst_ni(rst_n), .valid_i(valid), .ready_i, .data_i(rd),
            .last_i(1'b1), .inside_o()
        );
        f_fair #(.Bound(Clients - 1)) i_fair (
            .clk_i, .rst_ni(rst_n), .wait_i((valid_i & one_i) != '0),
            .served_i((got & one_i) != '0), .other_i(took)
        );
    end

    logic [1:0] from;
    logic       idle_q;
    always_comb begin
        from = '0;
        for (int unsigned c = 0; c < Clients; c++) if (got[c]) from |= addr_i[c];
        assume (one_i != '0 && (one_i & (one_i - 1'b1)) == '0);
        if (rst_n) assume (one_i == one_q);
    end
    always_ff @(posedge clk_i) begin
        one_q  <= one_i;
        idle_q <= rst_n && !valid && valid_i != '0;
        if (rst_n) begin
            // each access comes from one client
            a_one:  assert ((got & (got - 1'b1)) == '0 && (got != '0) == took);
            a_addr: assert (!took || addr == from);
            // the write port adds one cycle
            a_some: assert (Write ? (!valid || valid_i != '0) && (!idle_q || valid)
                            : valid == (valid_i != '0));
        end
    end

    // reachable under the assumptions
    always_ff @(posedge clk_i) begin
        if (rst_n) begin
            c_all:  cover (valid_i == '1);
            c_wait: cover (valid && !ready_i);
            c_one:  cover ((got & one_i) != '0);
        end
    end
endmodule

`default_nettype wire
