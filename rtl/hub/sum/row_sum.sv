// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Reduces rows of GPU memory packet by packet, with the type and operator of each row: partial sums
// for the switch, own output rows, the two sums of unicast.
//
// Function: Context c has the rows of requester c. Its terms are rows of own experts. The sum
// leaves as PARTIAL packets on part_*, or as ST packets on sst_* for rows marked st. The own port's
// context has the rows of combine, which end in own memory (port OUT), at the addresses of dest_*.
// The last term of an own row may be R, the reduced row from the wire (res_*), or the row that the
// previous own row wrote (marked again).
//
// sum_choice selects the next packet. sum_passes turns its terms into passes, with two terms in
// the first pass and one in each further pass. sum_read queues passes and reads their operands
// ahead. sum_add adds the operands, and R from sum_result. With AdderBypass and cfg_i.adder_bypass,
// packets without an addition take the adder bypass, sum_copy. With cfg_i.own_by_adder own ones of
// these may take the adder, see sum_choice. lane_join restores the order of own rows for sum_own,
// which writes them to memory. sum_up_join keeps the order of each requester, for sum_uplink.
// Order: A context returns its rows in order.
// Back-pressure: out_wr_, part_ and sst_ may stall, and then delay the lanes when their queues are
// full (see sum_add and sum_copy). Flits of R follow its header without a wait here. A packet on
// part_ or sst_ comes without gaps: its last pass starts when its reads are granted (sum_add), and
// the memory delays a read by at most 5 cycles. There is no circular wait: the oldest packet gets
// its operands, its R and its place on the way out before all others, because these were chosen
// later.
// Latency: Without memory conflicts one flit enters the adder every cycle, across passes and
// packets of 8 flits or more. Shorter ones wait for their own sums. The bypass takes one more flit
// per cycle. A context waits for one packet of every other context, and as many of the own one.
// Errors: A poisoned packet of a requester carries the mark. Own rows with a poisoned packet keep
// the previous contents of memory there. If a packet of R turns bad on its way (res_bad_i), this
// holds from that flit on.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module row_sum #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type rows_t = `MW_ROWS(Cfg),
    parameter type row_t = `MW_ROW(Cfg),
    parameter type term_t = `MW_TERM(Cfg),
    parameter type dest_t = `MW_DEST(Cfg),
    parameter type read_t = `MW_READ(Cfg),
    parameter type answer_t = `MW_ANSWER(Cfg),
    parameter type write_t = `MW_WRITE(Cfg),
    parameter type stream_t = `MW_STREAM(Cfg),
    parameter type flit_t = `MW_FLIT(Cfg),
    parameter type result_t = `MW_RESULT(Cfg),
    parameter type operands_t = `MW_OPERANDS(Cfg)
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire logic                go_i,
    input  wire node_pkg::node_cfg_t cfg_i,

    // rows that are set up
    input  wire rows_t            rows_i,
    output logic [Cfg.GpuW-1:0]   row_ctx_o,   // the row below is this context's first
    input  wire row_t             row_i,       // packets less 1
    output logic                  row_pop_o,   // its last packet is under way
    output bundle_pkg::term_req_t term_o,
    input  wire term_t            term_i,      // requested in the last cycle
    input  wire dest_t            dest_i,      // where own rows go, in their order
    output logic                  dest_ready_o,
    output logic                  row_done_o,  // own row in memory
    output logic                  row_more_o,
    output logic                  st_done_o,   // last flit of an ST row sent
    output logic [Cfg.GpuW-1:0]   st_home_o,   // to this GPU

    output read_t        sum_rd_o [2],
    input  wire logic    sum_rd_ready_i [2],
    input  wire answer_t sum_rd_i [2],
    output read_t        copy_rd_o,  // of the adder bypass
    input  wire logic    copy_rd_ready_i,
    input  wire answer_t copy_rd_i,

    output write_t    out_wr_o,
    input  wire logic out_wr_ready_i,

    input  wire stream_t res_i,
    output logic         res_ready_o,
    input  wire logic    res_bad_i,  // the link's mark

    output stream_t                part_o,
    input  wire logic              part_ready_i,
    output logic                   sst_valid_o,  // or an ST packet; flits and last as of part
    input  wire logic              sst_ready_i,
    input  wire bundle_pkg::port_t part_crd_i,

    input  wire logic [Cfg.N-1:0] behind_i,     // GPUs that are served first
    output bundle_pkg::port_t     part_done_o,  // the last packet of a row for this GPU is chosen

    output logic err_valid_o,  // a result is poisoned
    output logic idle_o
);
    // sum_choice lets in fewer packets for the uplink than 2**4
    localparam int unsigned TurnW = Cfg.AdderBypass ? 4 : 1;

    // What leaves a lane with a flit: its packet.
    typedef struct packed {
        logic                 own;       // to own memory, else to the uplink
        logic                 st;        // an ST packet there
        logic [Cfg.GpuW-1:0]  dst;
        logic                 poison;
        logic                 row_last;  // last packet of its row
        logic [Cfg.PayW-1:0]  count;     // flits of the packet less 1
        logic [TurnW-1:0]     turn;      // see sum_up_join
        logic [Cfg.AddrW-1:0] addr;      // of an ST packet
    } tag_t;

    // The same step for all flits of a packet. What it needs: a flit of the first
    // port, of the second, of R.
    typedef struct packed {
        logic need_a;
        logic need_b;
        logic need_r;
        logic first;   // of its packet
        logic pair;    // both operands are terms
        logic last;
        logic copy;    // for the adder bypass: all that its packet needs
        logic minus;   // without any need: -0, not 0
        tag_t tag;
    } pass_t;

    // A flit on its way to memory, and to the uplink.
    typedef struct packed {
        logic                 valid;
        logic                 last;      // of its packet
        logic                 row_last;  // its packet is the last of the row
        logic                 poison;
        logic [Cfg.FlitW-1:0] data;
    } own_t;

    typedef struct packed {
        logic                 valid;
        tag_t                 tag;
        logic                 last;
        logic [Cfg.FlitW-1:0] data;
    } up_t;

    // ---- which packet, and its passes ----------------------------------------------
    logic choice_valid, choice_ready, own, begin_pkt, claim, lane, res_free, own_out, up_out, up_st;
    logic pass_push, pass_room, add_room, copy_room, copies;
    logic [Cfg.GpuW-1:0] up_dst;
    logic [TurnW-1:0] turn;
    pass_t pass_in;
    operands_t operands;

    assign copies = Cfg.AdderBypass && cfg_i.adder_bypass;

    sum_choice #(
        .Cfg(Cfg)
    ) i_choice (
        .clk_i,
        .rst_ni,
        .go_i,
        .cfg_i,
        .rows_i,
        .lanes_i(copies),
        .add_room_i(add_room),
        .copy_room_i(copy_room),
        .res_free_i(res_free),
        .valid_o(choice_valid),
        .ready_i(choice_ready),
        .ctx_o(row_ctx_o),
        .own_o(own),
        .copy_o(lane),
        .begin_i(begin_pkt),
        .own_out_i(own_out),
        .up_out_i(up_out),
        .up_st_i(up_st),
        .up_dst_i(up_dst),
        .part_crd_i,
        .behind_i
    );

    assign part_done_o = '{valid: row_pop_o && !own, port: packet_pkg::port_t'(row_ctx_o)};

    sum_passes #(
        .Cfg(Cfg),
        .pass_t(pass_t),
        .tag_t(tag_t),
        .TurnW(TurnW)
    ) i_passes (
        .clk_i,
        .rst_ni,
        .go_i,
        .choice_valid_i(choice_valid),
        .choice_ready_o(choice_ready),
        .ctx_i(row_ctx_o),
        .own_i(own),
        .copy_i(lane),
        .begin_o(begin_pkt),
        .claim_o(claim),
        .turn_i(turn),
        .row_i,
        .row_pop_o,
        .term_o,
        .term_i,
        .pass_push_o(pass_push),
        .pass_room_i(pass_room),
        .pass_o(pass_in),
        .operands_o(operands)
    );

    // ---- operands of the adder --------------------------------------------------------
    logic add_valid, add_next, fire, granted;
    pass_t add_pass;
    red_pkg::red_t add_red;
    flit_t a, b;

    sum_read #(
        .Cfg(Cfg),
        .pass_t(pass_t)
    ) i_read (
        .clk_i,
        .rst_ni,
        .push_i(pass_push && !pass_in.copy),
        .room_o(pass_room),
        .pkt_room_o(add_room),
        .pass_i(pass_in),
        .operands_i(operands),
        .sum_rd_o,
        .sum_rd_ready_i,
        .sum_rd_i,
        .valid_o(add_valid),
        .pass_o(add_pass),
        .red_o(add_red),
        .granted_o(granted),
        .next_i(add_next),
        .fire_i(fire),
        .a_o(a),
        .b_o(b)
    );

    logic add_r_ready, copy_r_ready;
    result_t r, add_r;

    sum_result #(
        .Cfg(Cfg)
    ) i_result (
        .clk_i,
        .rst_ni,
        .res_i,
        .res_ready_o,
        .res_bad_i,
        .free_o(res_free),
        .claim_i(claim),
        .r_o(r),
        .ready_i(add_r_ready || copy_r_ready),
        .err_valid_o
    );

    // ---- adder and adder bypass ----------------------------------------------------------
    logic add_own_ready, add_up_ready, add_busy, copy_own_ready, copy_up_ready, copy_busy;
    own_t add_own, copy_own;
    up_t add_up, copy_up;

    sum_add #(
        .Cfg(Cfg),
        .pass_t(pass_t),
        .tag_t(tag_t),
        .own_t(own_t),
        .up_t(up_t)
    ) i_add (
        .clk_i,
        .rst_ni,
        .valid_i(add_valid),
        .pass_i(add_pass),
        .red_i(add_red),
        .granted_i(granted),
        .next_o(add_next),
        .fire_o(fire),
        .a_i(a),
        .b_i(b),
        .res_i(add_r),
        .res_ready_o(add_r_ready),
        .own_o(add_own),
        .own_ready_i(add_own_ready),
        .up_o(add_up),
        .up_ready_i(add_up_ready),
        .busy_o(add_busy)
    );

    if (Cfg.AdderBypass) begin : gen_lanes
        logic claimed, r_copy, r_end;
        result_t copy_r;

        // whose the packet of R in front is
        lane_order i_claims (
            .clk_i,
            .rst_ni,
            .choose_i(claim),
            .copy_i(lane),
            .some_o(claimed),
            .copy_o(r_copy),
            .end_i((add_next && add_pass.need_r) || r_end)
        );
        assign add_r = '{valid: r.valid && claimed && !r_copy, poison: r.poison, data: r.data};
        assign copy_r = '{valid: r.valid && claimed && r_copy, poison: r.poison, data: r.data};

        sum_copy #(
            .Cfg(Cfg),
            .pass_t(pass_t),
            .tag_t(tag_t),
            .own_t(own_t),
            .up_t(up_t)
        ) i_copy (
            .clk_i,
            .rst_ni,
            .push_i(pass_push && pass_in.copy),
            .room_o(copy_room),
            .pass_i(pass_in),
            .addr_i(operands.a),
            .red_i(operands.red),
            .rd_o(copy_rd_o),
            .rd_ready_i(copy_rd_ready_i),
            .rd_i(copy_rd_i),
            .res_i(copy_r),
            .res_ready_o(copy_r_ready),
            .res_end_o(r_end),
            .own_o(copy_own),
            .own_ready_i(copy_own_ready),
            .up_o(copy_up),
            .up_ready_i(copy_up_ready),
            .busy_o(copy_busy)
        );
    end else begin : gen_adder
        assign add_r = r;
        assign {copy_r_ready, copy_room, copy_busy, copy_own, copy_up, copy_rd_o} = '0;
    end

    // ---- where sums and copies go -----------------------------------------------------
    logic own_ready, up_ready;
    own_t own_flit;
    up_t up_flit;

    lane_join #(
        .Cfg(Cfg),
        .word_t(own_t)
    ) i_own_join (
        .clk_i,
        .rst_ni,
        .choose_i(begin_pkt && own),
        .copy_i(lane),
        .add_i(add_own),
        .add_ready_o(add_own_ready),
        .copy_word_i(copy_own),
        .copy_ready_o(copy_own_ready),
        .word_o(own_flit),
        .ready_i(own_ready)
    );
    sum_own #(
        .Cfg(Cfg),
        .own_t(own_t)
    ) i_own (
        .clk_i,
        .rst_ni,
        .own_i(own_flit),
        .ready_o(own_ready),
        .dest_i,
        .dest_ready_o,
        .out_wr_o,
        .out_wr_ready_i,
        .pkt_done_o(own_out),
        .row_done_o,
        .row_more_o
    );

    sum_up_join #(
        .Cfg(Cfg),
        .up_t(up_t),
        .TurnW(TurnW)
    ) i_up_join (
        .clk_i,
        .rst_ni,
        .go_i,
        .choose_i(begin_pkt && !own),
        .ctx_i(row_ctx_o),
        .copy_i(lane),
        .turn_o(turn),
        .add_i(add_up),
        .add_ready_o(add_up_ready),
        .copy_word_i(copy_up),
        .copy_ready_o(copy_up_ready),
        .up_o(up_flit),
        .ready_i(up_ready)
    );
    sum_uplink #(
        .Cfg(Cfg),
        .up_t(up_t)
    ) i_uplink (
        .clk_i,
        .rst_ni,
        .cfg_i,
        .up_i(up_flit),
        .ready_o(up_ready),
        .part_o,
        .part_ready_i,
        .sst_valid_o,
        .sst_ready_i,
        .out_o(up_out),
        .out_st_o(up_st),
        .out_dst_o(up_dst),
        .st_done_o
    );

    assign st_home_o = up_dst;
    assign idle_o = choice_ready && !add_busy && !copy_busy && !r.valid && !res_i.valid
                    && rows_i.pend == '0;

    `MW_NEXT(part_o.valid && part_ready_i && !part_o.last, part_o.valid, "a gap inside a partial")
    `MW_NEXT(sst_valid_o && sst_ready_i && !part_o.last, sst_valid_o, "a gap inside a store")
    `MW_STABLE(out_wr_o.valid, out_wr_ready_i, out_wr_o, "a write changes before memory takes it")
    `MW_CONTRACT(1'b1, !(part_o.valid && sst_valid_o), "a partial and a store at once")
endmodule

`default_nettype wire
