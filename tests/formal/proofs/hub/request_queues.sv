// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Each requester keeps its window: at most Slots of its requests have not been popped. A request
// has up to two flits, and no flit of another context comes between them.
`default_nettype none

module prove_request_queues #(
    parameter int unsigned N = 3,
    parameter int unsigned Slots = 2,
    localparam int unsigned CtxW = $clog2(N),
    localparam int unsigned SlotW = $clog2(Slots)
) (
    input  wire logic            clk_i, in_valid_i, last_i, pop_i, word_i, watch_i,
    // one_i: the followed context
    input  wire logic [CtxW-1:0] in_ctx_i, out_ctx_i,                      one_i
);
    function automatic cfg_pkg::cfg_t sizes();
        cfg_pkg::cfg_t c;
        c = cfg_pkg::usual();
        c.N = N;
        c.OpenRows = Slots;
        return cfg_pkg::derived(c);
    endfunction
    localparam cfg_pkg::cfg_t Cfg = sizes();

    logic             rst_n, full, push, pop;
    logic [SlotW-1:0] wptr, rptr;
    logic [N-1:0]     some;
    logic [N-1:0]     has;
    logic             open_q;                     // a request has begun
    logic [CtxW-1:0]  open_ctx_q, one_q;
    logic [$clog2(Slots+1)-1:0] level_q [N];

    always_comb for (int unsigned c = 0; c < N; c++) has[c] = level_q[c] != '0;

    f_reset i_reset (.clk_i, .rst_no(rst_n));

    assign push = in_valid_i && last_i;
    assign pop  = pop_i && !in_valid_i && some[out_ctx_i];

    request_queues #(.Cfg(Cfg)) i_dut (
        .clk_i, .rst_ni(rst_n), .in_valid_i, .in_ctx_i, .push_i(push), .full_o(full), .wptr_o(wptr),
        .out_ctx_i, .pop_i(pop), .rptr_o(rptr), .some_o(some)
    );

    always_comb begin
        assume (32'(in_ctx_i) < N && 32'(out_ctx_i) < N && 32'(one_i) < N);
        if (!rst_n) assume (!in_valid_i);
        if (open_q && in_valid_i) assume (in_ctx_i == open_ctx_q && last_i);
        // the window
        if (!open_q && in_valid_i) assume (level_q[in_ctx_i] != ($clog2(Slots+1))'(Slots));
    end

    always_ff @(posedge clk_i) begin
        if (!rst_n) begin
            open_q <= 1'b0;
            one_q  <= one_i;
            for (int unsigned c = 0; c < N; c++) level_q[c] <= '0;
        end else begin
            if (in_valid_i) begin
                open_q     <= !last_i;
                open_ctx_q <= in_ctx_i;
            end
            if (push) level_q[in_ctx_i] <= level_q[in_ctx_i] + 1'b1;
            if (pop)  level_q[out_ctx_i] <= level_q[out_ctx_i] - 1'b1;

            // a requester within its window is never refused
            a_sunk: assert (!(in_valid_i && full));
            a_some: assert (some == has);
        end
    end

    // Words written to slots of the followed context come out once and in order.
    logic             mem [Slots];
    logic             mine, gone;
    logic [$clog2(Slots+1)-1:0] count;

    assign mine = push && in_ctx_i == one_q;
    assign gone = pop && out_ctx_i == one_q;

    always_ff @(posedge clk_i) if (mine) mem[wptr] <= word_i;

    f_queue #(.Width(1), .Depth(Slots), .Latency(0)) i_queue (
        .clk_i, .rst_ni(rst_n), .watch_i, .push_i(mine), .in_i(word_i),
        .accept_i(1'b1), .pop_i(gone),
        .show_i(!in_valid_i && out_ctx_i == one_q && some[one_q]),
        .out_i(mem[rptr]), .count_o(count)
    );

    // reachable under the assumptions
    always_ff @(posedge clk_i) begin
        if (rst_n) begin
            c_window: cover (level_q[0] == ($clog2(Slots+1))'(Slots) && level_q[1] != '0);
            c_open:   cover (open_q && !in_valid_i);
            c_pop:    cover (pop && !in_valid_i && gone);
            c_long:   cover (in_valid_i && open_q);
        end
    end

    logic unused;
    assign unused = ^count;
endmodule

`default_nettype wire
