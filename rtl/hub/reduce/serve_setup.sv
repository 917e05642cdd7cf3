// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Sets up rows for row_sum: reads a request, looks up its targets and writes the addresses of its
// terms, one context after the other.
//
// Function: A target is an own expert (expert map, then allocator client 1, which never allocates),
// a position in the list of a received row (explicit), or a GPU whose slot it is (slots). Where
// rows return, it is a position whose slot it is, or that of the slot to which a finished row of
// any expert goes. The destination's address comes last if it goes with the row (st), or else
// first, into its own queue.
// Ports: pop_o is the end of a row. low_o, own_o, bad_o, addr_o and red_o describe it.
// Order: Rows of a context in the order of its requests. Contexts round robin.
// Back-pressure: A context is taken only if it has a row slot (room_i) and, for own ones, a place
// for the destination. The queues' pointers and writes wait for an arriving flit (wait_i).
// Latency: A row of t terms takes 8 + 8 t cycles, with a request's address row_shift more, and the
// allocator's misses. A static row takes at most 9 (6 from another GPU with 16-byte flits, less
// than its shortest packet). A context waits for one row of every other context.
// Errors: An unmapped or unallocated target, and a length or address out of bounds, make it bad: a
// row without terms.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module serve_setup #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type request_bus_t = `MW_REQUEST(Cfg),
    parameter type place_t = `MW_PLACE(Cfg),
    parameter type setup_t = `MW_SETUP(Cfg)
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire logic                go_i,
    input  wire node_pkg::node_cfg_t cfg_i,

    input  wire bundle_pkg::emap_write_t emap_i,
    input  wire logic [Cfg.AddrW-1:0]    static_delta_i,  // static: flits from the source to
                                                          // the destination

    input  wire logic [Cfg.N-1:0] some_i,       // contexts with a request
    input  wire logic [Cfg.N-1:0] room_i,       // contexts with a place for a row
    input  wire logic             dest_room_i,  // a place for a destination
    input  wire logic             wait_i,       // a flit arrives

    output place_t                    at_o,    // word of a request, here in the next cycle
    input  wire logic [Cfg.OpenW-1:0] rptr_i,  // the context's oldest request, without wait_i
    input  wire request_bus_t         word_i,

    output bundle_pkg::alloc_req_t      al_req_o,
    input  wire logic                   al_req_ready_i,
    input  wire bundle_pkg::alloc_rsp_t al_i,

    output setup_t                  row_o,
    // an address of the row is to be written: it, or the destination, its last term (again)
    output bundle_pkg::term_write_t term_o,
    output error_pkg::err_e         err_o,  // why it is bad
    output logic                    idle_o
);
    import error_pkg::*;

    localparam int unsigned TgtW = Cfg.ExpW + 1;
    // of the flits that a row may lie behind memory's end
    localparam int unsigned OverW = (Cfg.AddrW < 15 - Cfg.FlitLog2) ? Cfg.AddrW : 15 - Cfg.FlitLog2;

    typedef enum logic [3:0] {
        Idle,
        Head0,
        Head1,
        Start,
        Begin,
        Fetch,
        Target,
        Lookup,
        Ask,
        Answer,
        Shift1,
        Shift2,
        Store,
        Done
    } state_e;
    state_e state_q, state_d;

    logic [Cfg.GpuW-1:0] ctx_q;
    logic own, done, dest, bad_q;
    bundle_pkg::request_t low_q;
    red_pkg::red_t red;
    logic [Cfg.AddrW-1:0] addr;
    assign row_o = '{
            ctx: ctx_q,
            own: own,
            done: done,
            dest: dest,
            low: low_q,
            bad: bad_q,
            red: red,
            addr: addr
        };

    logic [Cfg.N-1:0] can_set, grant;
    logic [Cfg.GpuW-1:0] pick;
    logic [Cfg.OpenW-1:0] rptr_q;
    logic [TgtW-1:0] target_q;  // of the header's high half
    logic high_over_q;
    logic [Cfg.MaddrW-1:0] x_q;
    // here: a unit of this GPU made the row
    logic by_switch, to_slot, here, plain, over, last_term, stored;
    logic [Cfg.AddrW:0] behind;  // the flit behind a static row
    logic [4:0] t_q, t_next;
    logic [3:0] lane_t;
    logic [TgtW-1:0] tgt_q;
    logic mapped, emap_mine;
    logic [node_pkg::ExpertW-1:0] le, le_q;
    logic [3:0] down_q;  // places that the address in x_q is still to be
                         // shifted down to the token
    logic down;
    logic in_dest_q;  // addr is for the destination, not for a term

    always_comb begin
        for (int unsigned c = 0; c < Cfg.N; c++)
        can_set[c] = some_i[c] && room_i[c]
                     && (dest_room_i || packet_pkg::port_t'(c) != cfg_i.port);
    end

    rr_arb #(
        .N(Cfg.N)
    ) i_arb (
        .clk_i,
        .rst_ni,
        .clear_i(go_i),
        .req_i(can_set),
        .grant_o(grant),
        .idx_o(pick),
        .advance_i(state_q == Idle && can_set != '0)
    );

    // grant_lists names tokens, not addresses
    assign by_switch = Cfg.SwitchReductions && cfg_i.switch_reductions;
    assign to_slot = Cfg.RowSparse && cfg_i.row_returns && low_q.slots && low_q.is_explicit;
    assign own = packet_pkg::port_t'(ctx_q) == cfg_i.port;
    assign here = own || low_q.st;
    // experts of a token
    assign plain = !low_q.is_static && !low_q.is_explicit && !low_q.slots;
    assign behind = (Cfg.AddrW+1)'(x_q[Cfg.MemBytesLog2-1:Cfg.FlitLog2])
                    + (Cfg.AddrW+1)'({low_q.len_high, low_q.len_low} >> Cfg.FlitLog2);
    assign over = low_q.over || high_over_q
                  || (low_q.is_static && behind[Cfg.AddrW] && behind[OverW-1:0] != '0);
    assign lane_t = t_q[3:0] - 4'(!here);  // the wire puts target 0 into the header
    assign t_next = t_q + 1'b1;
    assign last_term = !in_dest_q && t_next == low_q.cnt;
    assign stored = state_q == Store && !wait_i;
    assign idle_o = state_q == Idle;

    always_comb begin
        state_d = state_q;
        at_o.valid = 1'b0;
        at_o.slot = rptr_q;
        at_o.beat = Cfg.BeatW'(Cfg.HeadFlits) + Cfg.BeatW'(lane_t >> Cfg.LaneW);
        unique case (state_q)
            Idle:  if (can_set != '0) state_d = Head0;
            Head0: begin
                at_o.slot = rptr_i;
                at_o.beat = '0;
                at_o.valid   = !wait_i;
                if (!wait_i) state_d = Head1;
            end
            Head1: begin
                at_o.beat  = Cfg.BeatW'(1);
                at_o.valid    = Cfg.HeadFlits != 1;
                state_d = (Cfg.HeadFlits == 1 && word_i.low.is_static) ? Begin : Start;
            end
            Start:  state_d = Begin;
            Begin:  state_d = low_q.st ? (low_q.cnt == '0 ? Shift1 : Fetch)
                              : own ? (to_slot ? Shift1 : Shift2) : (over || low_q.bad)
                              ? Done : low_q.is_static ? Store : Fetch;
            Fetch: begin
                at_o.valid    = 1'b1;
                state_d = Target;
            end
            Target: state_d = Lookup;
            Lookup: state_d = !plain ? Shift1 : mapped ? Ask : Done;
            Ask:    if (down_q == '0 && bad_q)                 state_d = Done;
                    else if (al_req_o.valid && al_req_ready_i) state_d = Answer;
            Answer: if (al_i.valid) state_d = al_i.err ? Done : Shift2;
            Shift1: state_d = Shift2;
            Shift2: state_d = Store;
            Store: if (!wait_i) begin
                if (low_q.st) state_d = in_dest_q ? Done : last_term ? Shift1 : Fetch;
                else          state_d = (bad_q || last_term || (in_dest_q && low_q.cnt == '0))
                                        ? Done : low_q.is_static ? Store : Fetch;
            end
            default: if (done) state_d = Idle;
        endcase
    end

    assign done = state_q == Done && !wait_i;
    assign term_o.we = state_q == Store && (!in_dest_q || low_q.again);
    assign term_o.idx = t_q[3:0];
    assign dest = stored && in_dest_q && !low_q.st;

    serve_address #(
        .Cfg(Cfg)
    ) i_address (
        .clk_i,
        .cfg_i,
        .low_i(low_q),
        .x_i(x_q),
        .dest_i(in_dest_q),
        .target_i((to_slot && in_dest_q) ? target_q : tgt_q),
        .le_i(node_pkg::list_of(Cfg.SourceLists, cfg_i, le, cfg_i.port)),
        .row_i(al_i.row),
        .static_delta_i,
        .load_i(state_q inside {Begin, Lookup}
                || (stored && ((low_q.st && last_term) || low_q.is_static))),
        .lookup_i(state_q == Lookup),
        .alloc_i(state_q == Answer && al_i.valid),
        .index_i(state_q == Shift1),
        .base_i(state_q == Shift2),
        .addr_o(addr)
    );

    assign down = down_q != '0 && state_q inside {Fetch, Target, Lookup, Ask};

    always_ff @(posedge clk_i) begin
        if (!rst_ni) state_q <= Idle;
        else state_q <= state_d;
        unique case (state_q)
            Idle:  ctx_q <= pick;
            Head0: rptr_q <= rptr_i;
            Head1: begin
                low_q <= word_i.low;
                if (Cfg.HeadFlits == 1)
                    {target_q, high_over_q, x_q} <= {word_i.target, word_i.over, word_i.x};
            end
            Start: if (Cfg.HeadFlits != 1)
                {target_q, high_over_q, x_q} <= {word_i.target, word_i.over, word_i.x};
            Begin: begin
                bad_q     <= over || low_q.bad;
                err_o     <= ERR_BOUNDS;
                in_dest_q <= low_q.st ? low_q.cnt == '0 : own;
                t_q       <= (own && !low_q.st) ? low_q.cnt : '0;
            end
            Target: tgt_q <= (!here && t_q == '0) ? target_q
                             : word_i.targets[lane_t[Cfg.LaneW-1:0]];
            Lookup: begin
                le_q <= le;
                if (plain && !mapped) begin
                    bad_q <= 1'b1;
                    err_o <= ERR_UNMAPPED;
                end
            end
            Answer: if (al_i.valid) begin
                if (al_i.err) begin
                    bad_q <= 1'b1;
                    err_o <= ERR_UNALLOCATED;
                end
            end
            Store: begin
                if (!wait_i) begin
                    in_dest_q <= low_q.st && last_term;
                    t_q       <= in_dest_q ? '0 : t_next;
                end
            end
            default: ;
        endcase
        // Beside the search for its first term; what falls out must be 0.
        if (state_q == Begin)
            down_q <= (here || low_q.is_static || by_switch) ? '0 : cfg_i.row_shift;
        else if (down) down_q <= down_q - 1'b1;
        if (down) begin
            x_q <= x_q >> 1;
            if (x_q[0]) bad_q <= 1'b1;
        end
    end

    if (red_pkg::plain(Cfg.RedTypes, Cfg.RedOps)) begin : gen_plain
        assign red = '0;
    end else begin : gen_red
        red_pkg::red_t red_q;
        always_ff @(posedge clk_i) if (state_q == Head1) red_q <= word_i.red;
        assign red = red_q;
    end

    // ---- expert map: own experts --------------------------------------------------
    lutram #(
        .Width(1 + node_pkg::ExpertW),
        .Depth(Cfg.MaxExperts)
    ) i_emap (
        .clk_i,
        .we_i(emap_i.we),
        .waddr_i(emap_i.addr[Cfg.ExpW-1:0]),
        .wdata_i({emap_i.data.valid && emap_i.data.gpu == cfg_i.port, emap_i.data.local_expert}),
        .raddr_i(tgt_q[Cfg.ExpW-1:0]),
        .rdata_o({emap_mine, le})
    );
    assign mapped = emap_mine && !tgt_q[TgtW-1];

    assign {al_req_o.alloc, al_req_o.start, al_req_o.retry} = '0;
    assign al_req_o.valid = state_q == Ask && down_q == '0 && !bad_q;
    assign al_req_o.le = le_q;
    assign al_req_o.token = node_pkg::TokenW'(x_q);

    wire unused = &{1'b0, grant};

    `MW_STABLE(al_req_o.valid, al_req_ready_i, al_req_o,
               "a request changes before the allocator takes it")
    `MW_CONTRACT(al_i.valid, state_q == Answer, "an answer that was not requested")
    `MW_CONTRACT(dest, dest_room_i, "a destination without a place")
endmodule

`default_nettype wire
