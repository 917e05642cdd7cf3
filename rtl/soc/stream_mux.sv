// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Shares the host stream ports of all GPUs between two users (0 DMA of the host link, 1
// gpu_window).
//
// Function: A user holds its claim over accesses that belong together. A claim may fall when its
// last access was accepted, and later answers still reach that user. An access to a GPU that
// does not exist is accepted and lost.
// Ports: hold_i withholds the ports from both users, after the current one has released them.
// idle_o: no user has them, no access is under way, and all writes are in the memories.
// Order: Reads are answered in the order of access (user_o). Users alternate. An access to
// another GPU waits until all reads of the previous one are answered.
// Back-pressure: user_ready_o: one access per cycle from the first cycle in which the user has
// the ports. Answers have no back-pressure.
// Latency: A user waits until the other one has released its claim and has its answers.
// Errors: A read of a GPU that does not exist returns 0. While a node is in reset (host_down_i),
// every access to it is lost, also one under way. Its reads are still answered, and `lost`
// reports each loss for one cycle.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module stream_mux #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type user_t = `MW_USER(Cfg),
    parameter type heard_t = `MW_HEARD(Cfg),
    parameter type access_bus_t = `MW_ACCESS(Cfg),
    parameter type answer_t = `MW_ANSWER(Cfg)
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,

    input  wire logic hold_i,
    output logic      idle_o,

    input  wire user_t user_i [2],
    output logic       user_ready_o [2],
    output heard_t     user_o [2],  // lost: with rvalid for a read

    output access_bus_t  host_o [Cfg.N],
    input  wire logic    host_ready_i [Cfg.N],
    input  wire answer_t host_i [Cfg.N],
    input  wire logic    host_down_i [Cfg.N]  // takes accesses and forgets them
);
    localparam int unsigned OpenW = 5;

    typedef struct packed {
        logic                 we;
        logic [Cfg.PortW-1:0] gpu;
        logic [31:0]          addr;
        logic [Cfg.FlitW-1:0] wdata;
    } access_t;

    // ---- who has the ports ----
    logic owner_q, owned_q, drained;

    // ---- accesses ----
    // They pass a queue of two, so that readiness of a port reaches the users from a register.
    access_t in, head;
    logic in_valid, in_ready, head_valid, head_ready, same, here, lost;
    logic busy, cut;  // an access has not ended at its port; the reset of a node ends it
    logic down_last;  // the node of the last access is being reset
    // reads are open that it has forgotten; one of them is answered in its place
    logic gone_q, fake;
    logic [Cfg.PortW-1:0] gpu_q;
    logic [OpenW-1:0] open_q;  // reads at the port, not answered
    logic rvalid_any, read_out;
    logic [Cfg.FlitW-1:0] rdata_any, rdata_q;
    logic [1:0] rvalid_q, lost_q;

    assign in_valid = owned_q && user_i[owner_q].valid;
    assign in = '{
            we: user_i[owner_q].we,
            gpu: user_i[owner_q].gpu,
            addr: user_i[owner_q].addr,
            wdata: user_i[owner_q].wdata
        };

    for (genvar u = 0; u < 2; u++) begin : gen_user
        assign user_ready_o[u] = owned_q && owner_q == 1'(u) && in_ready;
    end

    fifo #(
        .Width($bits(access_t)),
        .Depth(2)
    ) i_queue (
        .clk_i,
        .rst_ni,
        .valid_i(in_valid),
        .ready_o(in_ready),
        .data_i(in),
        .valid_o(head_valid),
        .ready_i(head_ready),
        .data_o(head),
        .level_o()
    );

    assign fake = gone_q && open_q != '0;
    assign same = head.gpu == gpu_q || open_q == '0;
    assign lost = head_valid && !here && open_q == '0;
    assign read_out = head_valid && head_ready && !head.we && here;
    assign drained = !head_valid && open_q == '0 && !busy;
    assign idle_o = !owned_q;
    for (genvar u = 0; u < 2; u++) begin : gen_heard
        assign user_o[u] = '{rvalid: rvalid_q[u], lost: lost_q[u], rdata: rdata_q};
    end

    always_comb begin
        here = 1'b0;
        busy = 1'b0;
        cut = 1'b0;
        down_last = 1'b0;
        for (int unsigned g = 0; g < Cfg.N; g++) begin
            if (head.gpu == Cfg.PortW'(g) && !host_down_i[g]) here = 1'b1;
            if (gpu_q == Cfg.PortW'(g) && host_down_i[g]) down_last = 1'b1;
            if (!host_ready_i[g]) begin
                busy = 1'b1;
                cut = cut || host_down_i[g];
            end
        end
    end

    always_comb begin
        head_ready = lost;
        rvalid_any = 1'b0;
        rdata_any = '0;
        for (int unsigned g = 0; g < Cfg.N; g++) begin
            host_o[g].valid = head_valid && here && same && !gone_q && open_q != '1
                              && head.gpu == Cfg.PortW'(g);
            host_o[g].we = head.we;
            host_o[g].addr = head.addr;
            host_o[g].wdata = head.wdata;
            if (host_o[g].valid && host_ready_i[g]) head_ready = 1'b1;
            if (host_i[g].rvalid) begin
                rvalid_any = 1'b1;
                rdata_any = rdata_any | host_i[g].rdata;
            end
        end
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            owned_q <= 1'b0;
            owner_q <= 1'b0;
            open_q <= '0;
            gone_q <= 1'b0;
            rvalid_q <= '0;
            lost_q <= '0;
        end else begin
            if (!owned_q) begin
                owned_q <= !hold_i && (user_i[0].claim || user_i[1].claim);
                owner_q <= user_i[0].claim && user_i[1].claim ? !owner_q : user_i[1].claim;
            end else if (!user_i[owner_q].claim && drained && !rvalid_q[owner_q]) begin
                owned_q <= 1'b0;
            end
            if (read_out != (rvalid_any || fake)) open_q <= open_q + (read_out ? OpenW'(1) : '1);
            gone_q <= open_q != '0 && (gone_q || down_last);
            for (int unsigned u = 0; u < 2; u++) begin
                rvalid_q[u] <= owner_q == 1'(u) && (rvalid_any || fake || (lost && !head.we));
                lost_q[u] <= owner_q == 1'(u) && (fake || lost || (owned_q && cut));
            end
        end
        if (head_valid && head_ready) gpu_q <= head.gpu;
        rdata_q <= rdata_any;
    end

    `MW_CONTRACT(rvalid_any, open_q != '0, "an answer that was not requested")
    `MW_CONTRACT(user_i[0].valid || user_i[1].valid,
                 (user_i[0].claim || !user_i[0].valid) && (user_i[1].claim || !user_i[1].valid),
                 "an access without a claim")
endmodule

`default_nettype wire
