// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Queues of reduction requests, and the set-up of rows for row_sum.
//
// Function: Requests come from the wire (one queue of OpenRows per requester) and from row_build
// (own_, for combine the queue of the own port). serve_arrive parses their flits on their way into
// one RAM (serve_ram), which also holds the addresses of up to 16 terms of each row that is set up.
// request_queues has the places. One set-up machine (serve_setup, with serve_address) serves the
// contexts round robin. It reads a request, looks up the targets, and writes the term addresses.
// Every context has two row slots (serve_rows), so the next row is set up while one is summed.
//
// Rows of combine, and those of push in the context of their home, have the same format. Their addr
// is a token or row number, or a static row's byte address, and is not shifted. dst and len are
// home and index of the token (static: len is the row's). Target flits hold all targets, including
// the first. Rows of push are at most open_rows, and no other GPU requests rows meanwhile. Bits of
// their tag, and what makes a row without any:
//
//   1 more: another row of the token follows     2 use_r: R is the last term
//   3 explicit: targets are list positions of received row addr
//   4 slots: targets are GPUs, their slots       5 bad: write nothing
//   6 again: the destination is the last term    7 st: goes to the home's slot
//   3 and 4: dense: as explicit, goes to dense row addr; without terms it is -0
//
// With row_returns, explicit of push means that the target is the position of the home's slot, and
// addr is a row of all experts. slots means that targets are positions of the token addr. slots
// with explicit means that the sum goes to the slot whose position is the header's first target.
// Order: Rows of a context in the order of its requests.
// Back-pressure: req_ is always accepted, as the window of open rows bounds the requests. own_
// waits for req_. Rows wait for row_sum in their queues.
// Latency: A context waits until one row of every other context is set up, see serve_setup.
// Errors: One request too many is dropped. An unmapped or unallocated target, or a length or
// address out of bounds, makes the row a poisoned row without terms. Its packets are still sent.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module reduce_serve #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type marked_t = `MW_MARKED(Cfg),
    parameter type own_row_t = `MW_OWN_ROW(Cfg),
    parameter type rows_t = `MW_ROWS(Cfg),
    parameter type row_t = `MW_ROW(Cfg),
    parameter type row_read_t = `MW_ROW_READ(Cfg),
    parameter type term_t = `MW_TERM(Cfg),
    parameter type dest_t = `MW_DEST(Cfg),
    parameter type request_bus_t = `MW_REQUEST(Cfg),
    parameter type place_t = `MW_PLACE(Cfg),
    parameter type setup_t = `MW_SETUP(Cfg)
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire logic                go_i,
    // port is constant from reset on: the expert map is judged by it when written
    input  wire node_pkg::node_cfg_t cfg_i,

    input  wire bundle_pkg::emap_write_t emap_i,

    // from the wire: DYMULTIMEM_LD_REDUCE and MULTIMEM_LD_REDUCE
    input  wire marked_t req_i,

    // from row_build
    input  wire own_row_t             own_i,
    output logic                      own_ready_o,
    input  wire logic [Cfg.AddrW-1:0] static_delta_i,  // static: flits from the source to
                                                       // the destination

    output bundle_pkg::alloc_req_t      al_req_o,
    input  wire logic                   al_req_ready_i,
    input  wire bundle_pkg::alloc_rsp_t al_i,

    // to row_sum
    output rows_t          rows_o,
    input  wire row_read_t row_i,
    output row_t           row_o,
    output term_t          term_o,  // of the last cycle, if it was read then
    output dest_t          dest_o,
    input  wire logic      dest_ready_i,

    output bundle_pkg::error_t err_o,
    output logic               idle_o
);
    if (2**Cfg.OpenW != Cfg.OpenRows || Cfg.OpenW + Cfg.BeatW < 5 || Cfg.ExpW < 5
        || Cfg.MaxExperts > 4096
        || Cfg.GpuW + Cfg.TokensLog2 > node_pkg::TokenW || Cfg.TokensLog2 > 15
        || Cfg.MaddrW > 47) begin : gen_check
        $error(
            {
                "reduce_serve: OpenRows must be a power of two, at least 8 with FlitBytes 16, ",
                "MaxExperts 32 to 4096, TokensLog2 at most 15 and TokenW less log2 of N"
            }
        );
    end

    // ---- arriving requests ----------------------------------------------------------
    logic in_valid, in_full, in_keep, in_push;
    logic [Cfg.BeatW-1:0] in_beat;
    logic [Cfg.GpuW-1:0] in_ctx;
    request_bus_t in_word;
    bundle_pkg::error_t in_err;
    logic [Cfg.N-1:0] some;  // contexts with a request
    logic [Cfg.OpenW-1:0] wptr, rptr;
    setup_t set_up;  // the row that is being set up

    serve_arrive #(
        .Cfg(Cfg)
    ) i_arrive (
        .clk_i,
        .rst_ni,
        .cfg_i,
        .req_i,
        .own_i,
        .own_ready_o,
        .valid_o(in_valid),
        .ctx_o(in_ctx),
        .full_i(in_full),
        .keep_o(in_keep),
        .push_o(in_push),
        .beat_o(in_beat),
        .word_o(in_word),
        .err_o(in_err)
    );

    request_queues #(
        .Cfg(Cfg)
    ) i_queues (
        .clk_i,
        .rst_ni,
        .in_valid_i(in_valid),
        .in_ctx_i(in_ctx),
        .push_i(in_push),
        .full_o(in_full),
        .wptr_o(wptr),
        .out_ctx_i(set_up.ctx),
        .pop_i(set_up.done),
        .rptr_o(rptr),
        .some_o(some)
    );

    // ---- set-up -------------------------------------------------------------------
    logic dest_room, row_slot, sum_slot, idle_setup;
    logic [Cfg.N-1:0] row_room;
    place_t at;
    request_bus_t word;
    bundle_pkg::term_write_t term_write;
    error_pkg::err_e bad_code;

    serve_setup #(
        .Cfg(Cfg)
    ) i_setup (
        .clk_i,
        .rst_ni,
        .go_i,
        .cfg_i,
        .emap_i,
        .static_delta_i,
        .some_i(some),
        .room_i(row_room),
        .dest_room_i(dest_room),
        .wait_i(in_valid),
        .at_o(at),
        .rptr_i(rptr),
        .word_i(word),
        .al_req_o,
        .al_req_ready_i,
        .al_i,
        .row_o(set_up),
        .term_o(term_write),
        .err_o(bad_code),
        .idle_o(idle_setup)
    );

    serve_ram #(
        .Cfg(Cfg)
    ) i_ram (
        .clk_i,
        .in_i('{valid: in_valid, keep: in_keep, ctx: in_ctx, slot: wptr, beat: in_beat}),
        .in_word_i(in_word),
        .ctx_i(set_up.ctx),
        .at_i(at),
        .word_o(word),
        .term_i(term_write),
        .term_row_i(row_slot),
        .term_addr_i(set_up.addr),
        .sum_i(row_i.term),
        .sum_ctx_i(row_i.ctx),
        .sum_row_i(sum_slot),
        .sum_o(term_o)
    );

    // ---- rows ------------------------------------------------------------
    serve_rows #(
        .Cfg(Cfg)
    ) i_rows (
        .clk_i,
        .rst_ni,
        .cfg_i,
        .room_o(row_room),
        .dest_room_o(dest_room),
        .setup_i(set_up),
        .slot_o(row_slot),
        .rows_o,
        .row_ctx_i(row_i.ctx),
        .row_slot_o(sum_slot),
        .row_o,
        .row_pop_i(row_i.pop),
        .dest_o,
        .dest_ready_i
    );

    // ---- errors -------------------------------------------------------------------
    logic set_err;
    assign set_err = set_up.done && set_up.bad && !set_up.low.bad;

    always_ff @(posedge clk_i) begin
        err_o.valid <= rst_ni && (in_err.valid || set_err);
        err_o.code <= in_err.valid ? in_err.code : bad_code;
    end
    `MW_ASSERT(!(in_err.valid && set_err),
               "two errors in a cycle: a row is done with in one without an arriving flit")

    assign idle_o = idle_setup && some == '0 && rows_o.pend == '0 && !in_valid;

endmodule

`default_nettype wire
