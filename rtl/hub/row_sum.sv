// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Reduces rows of GPU memory packet by packet, with the type and operator of each row (here called sums): partial sums
// for the switch, own output rows, the two sums of unicast.
//
// Context c has the rows of requester c: terms are rows of own experts, the sum leaves as PARTIAL packets on part_* or,
// of rows marked st, as ST packets on sst_*. The own port's context has the rows of combine, which end in own memory
// (port OUT); their addresses come from dest_*. The last term of an own row may be R, the reduced row from the wire
// (res_*), or the row that the own row before it wrote (marked again). A context gives its rows in order.
//
// A packet's way: sum_choice says whose is next; sum_passes makes passes of its terms, of which the first adds two and
// each further one a term; sum_read queues them and reads their operands ahead of the adder; sum_add adds, R from
// sum_result too; sum_own takes what goes to memory, sum_uplink what leaves.
// Without memory conflicts one flit enters the adder every cycle, across passes and packets (packets of 8 flits or
// more; shorter ones wait for their own sums).
//
// Back-pressure: out_wr_ may stall; part_ and sst_ too, and then hold up the adder when their queue is full; see
// sum_own and sum_uplink. Flits of R follow its header without waiting for anything here. A packet on part_ or sst_
// comes without gaps: its last pass starts when its reads are granted (sum_add), and the memory makes a read wait for
// at most 5 cycles.
// Worst case for a context: one packet of every other context, and as many of the own one.
// A poisoned packet of a requester carries the mark; own rows with a poisoned packet keep what memory held there, and
// where a packet of R turns bad on its way (res_bad_i) from that flit on.
`default_nettype none
`include "bundles.svh"

module row_sum #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire logic                go_i,
    input  wire node_pkg::node_cfg_t cfg_i,

    // rows that are set up
    input  wire logic [Cfg.N-1:0]     row_pend_i,      // the context has one
    input  wire logic                 row_own_r_i,     // of the own context's next row: ends with R
    input  wire logic                 row_own_again_i, // reads what the row before wrote
    output logic [Cfg.GpuW-1:0]       row_ctx_o,       // the row below is this context's first
    input  wire `MW_ROW(Cfg)          row_i,           // packets less 1
    output logic                      row_pop_o,       // its last packet is under way
    output logic                      term_re_o,
    output logic [3:0]                term_idx_o,
    // term_addr_i is the address of the term asked for in the last cycle
    input  wire logic                 term_valid_i,
    input  wire logic [Cfg.AddrW-1:0] term_addr_i,
    input  wire `MW_DEST(Cfg)         dest_i,          // where own rows go, in their order
    output logic                      dest_ready_o,
    output logic                      row_done_o,      // own row in memory
    output logic                      row_more_o,
    output logic                      st_done_o,       // last flit of an ST row sent

    output `MW_READ(Cfg)        suma_rd_o,
    input  wire logic           suma_rd_ready_i,
    input  wire `MW_ANSWER(Cfg) suma_rd_i,
    output `MW_READ(Cfg)        sumb_rd_o,
    input  wire logic           sumb_rd_ready_i,
    input  wire `MW_ANSWER(Cfg) sumb_rd_i,

    output `MW_WRITE(Cfg) out_wr_o,
    input  wire logic     out_wr_ready_i,

    input  wire `MW_STREAM(Cfg) res_i,
    output logic                res_ready_o,
    input  wire logic           res_bad_i, // the link's mark

    output `MW_STREAM(Cfg)  part_o,
    input  wire logic       part_ready_i,
    output logic            sst_valid_o, // or an ST packet; flits and last as of part
    input  wire logic       sst_ready_i,
    input  wire logic       part_crd_valid_i,
    input  wire logic [4:0] part_crd_port_i,

    output logic err_valid_o, // a result is poisoned
    output logic idle_o
);
    // What leaves the adder with a flit: its packet.
    typedef struct packed {
        logic                 own;      // to own memory, else to the uplink
        logic                 st;       // an ST packet there
        logic [Cfg.GpuW-1:0]  dst;
        logic                 poison;
        logic                 row_last; // last packet of its row
        logic [Cfg.PayW-1:0]  count;    // flits of the packet less 1
        logic [Cfg.AddrW-1:0] addr;     // of an ST packet
    } tag_t;

    // The same step for all flits of a packet. What it needs: a flit of the first port, of the second, of R.
    typedef struct packed {
        logic need_a;
        logic need_b;
        logic need_r;
        logic first; // of its packet
        logic pair;  // both operands are terms
        logic last;
        tag_t tag;
    } pass_t;

    // ---- which packet, and its passes ----------------------------------------------
    logic                 choice_valid, choice_ready, own, begin_pkt, claim, res_free, own_out, up_out, up_st;
    logic [Cfg.GpuW-1:0]  up_dst;
    logic                 pass_push, pass_room;
    pass_t                pass_in;
    logic [Cfg.AddrW-1:0] pass_a, pass_b;
    red_pkg::red_t        pass_red;

    sum_choice #(.Cfg(Cfg)) i_choice (
        .clk_i, .rst_ni, .go_i, .cfg_i, .row_pend_i, .row_own_r_i, .row_own_again_i, .res_free_i(res_free),
        .valid_o(choice_valid), .ready_i(choice_ready), .ctx_o(row_ctx_o), .own_o(own),
        .begin_i(begin_pkt), .own_out_i(own_out), .up_out_i(up_out), .up_st_i(up_st), .up_dst_i(up_dst),
        .part_crd_valid_i, .part_crd_port_i
    );

    sum_passes #(.Cfg(Cfg), .pass_t(pass_t), .tag_t(tag_t)) i_passes (
        .clk_i, .rst_ni, .go_i,
        .choice_valid_i(choice_valid), .choice_ready_o(choice_ready), .ctx_i(row_ctx_o), .own_i(own),
        .begin_o(begin_pkt), .claim_o(claim), .row_i, .row_pop_o, .term_re_o, .term_idx_o, .term_valid_i, .term_addr_i,
        .pass_push_o(pass_push), .pass_room_i(pass_room), .pass_o(pass_in), .pass_a_o(pass_a), .pass_b_o(pass_b),
        .pass_red_o(pass_red)
    );

    // ---- operands and adder -------------------------------------------------------
    logic                 pass_valid, pass_next, granted, fire, a_valid, b_valid, r_valid, r_ready, r_poison;
    pass_t                pass;
    red_pkg::red_t        red;
    logic [Cfg.FlitW-1:0] a_data, b_data, r_data, acc_data;
    logic                 own_promise, own_room, up_promise, up_room, acc_valid, acc_last, acc_busy, own_busy, up_busy;
    tag_t                 acc_tag;

    sum_read #(.Cfg(Cfg), .pass_t(pass_t)) i_read (
        .clk_i, .rst_ni, .push_i(pass_push), .room_o(pass_room), .pass_i(pass_in), .addr_a_i(pass_a), .addr_b_i(pass_b),
        .red_i(pass_red), .suma_rd_o, .suma_rd_ready_i, .suma_rd_i, .sumb_rd_o, .sumb_rd_ready_i, .sumb_rd_i,
        .valid_o(pass_valid), .pass_o(pass), .red_o(red), .granted_o(granted), .next_i(pass_next), .fire_i(fire),
        .a_valid_o(a_valid), .a_data_o(a_data), .b_valid_o(b_valid), .b_data_o(b_data)
    );

    sum_result #(.Cfg(Cfg)) i_result (
        .clk_i, .rst_ni, .res_i, .res_ready_o, .res_bad_i,
        .free_o(res_free), .claim_i(claim), .valid_o(r_valid), .ready_i(r_ready), .data_o(r_data), .poison_o(r_poison),
        .err_valid_o
    );

    sum_add #(.Cfg(Cfg), .pass_t(pass_t), .tag_t(tag_t)) i_add (
        .clk_i, .rst_ni,
        .valid_i(pass_valid), .pass_i(pass), .red_i(red), .granted_i(granted), .next_o(pass_next), .fire_o(fire),
        .a_valid_i(a_valid), .a_data_i(a_data), .b_valid_i(b_valid), .b_data_i(b_data),
        .res_valid_i(r_valid), .res_ready_o(r_ready), .res_data_i(r_data), .res_poison_i(r_poison),
        .own_promise_o(own_promise), .own_room_i(own_room), .up_promise_o(up_promise), .up_room_i(up_room),
        .valid_o(acc_valid), .data_o(acc_data), .tag_o(acc_tag), .last_o(acc_last), .busy_o(acc_busy)
    );

    // ---- where sums go --------------------------------------------------------------
    sum_own #(.Cfg(Cfg)) i_own (
        .clk_i, .rst_ni,
        .promise_i(own_promise), .room_o(own_room), .push_i(acc_valid && acc_tag.own), .data_i(acc_data),
        .last_i(acc_last), .row_last_i(acc_tag.row_last), .poison_i(acc_tag.poison), .dest_i, .dest_ready_o,
        .out_wr_o, .out_wr_ready_i, .pkt_done_o(own_out), .row_done_o, .row_more_o, .busy_o(own_busy)
    );

    sum_uplink #(.Cfg(Cfg), .tag_t(tag_t)) i_uplink (
        .clk_i, .rst_ni, .cfg_i,
        .promise_i(up_promise), .room_o(up_room), .push_i(acc_valid && !acc_tag.own), .data_i(acc_data),
        .tag_i(acc_tag), .last_i(acc_last), .part_o, .part_ready_i, .sst_valid_o, .sst_ready_i,
        .out_o(up_out), .out_st_o(up_st), .out_dst_o(up_dst), .st_done_o, .busy_o(up_busy)
    );

    assign idle_o = choice_ready && !pass_valid && !acc_busy && !own_busy && !up_busy && !r_valid && !res_i.valid
                    && row_pend_i == '0;
endmodule

`default_nettype wire
