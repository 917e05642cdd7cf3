// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Counts for each own token the experts that have not finished, and passes finished tokens to
// combine in that order.
//
// Function: arm_* sets a token's count before its first packet leaves. A token without experts is
// ready at once. sig_* (from the wire) and own_* (from this GPU's experts) count it down. Tokens
// are indices at home, except those of sig_*, own_* and arm_* (global, below N << TokensLog2).
// Counts of another epoch do not count. sweep_i clears those of the tokens that the configuration
// has, one per cycle. It comes before the first layer, and when the epoch wraps or the sizes
// change, because an aborted layer leaves counts. cfg_i must be set by then, and no request may
// come in that cycle. Nothing is taken while sweep_busy_o. go_i empties the ready queue: a layer
// that takes its tokens in order leaves it full.
// - With switch-initiated reductions (switch_reductions), counts are of own experts only, and sig_*
//   are GRANTs. A token with remote experts (arm_i.remote) is ready with its GRANT. When its own
//   experts, if any, have finished, lane_* reports that to the switch.
// - With tile reductions, which nothing arms, a token is ready with its first GRANT.
// - Where rows return (row_returns), sig_* are bytes in memory of the slots of a token. Each
//   row_bytes of them, whatever rows they belong to, count as a signal.
// Order: arm before own before sig in one cycle. Ready tokens in the order in which they became
// ready.
// Back-pressure: One operation in two cycles. The ready queue has a place for every token, so
// nothing ever waits for combine. own_ waits while lane_ does, others do not.
// Latency: A signal waits two cycles for each pending arm and own signal. The tokens in flight
// bound both.
// Errors: BOUNDS for another GPU's token. COUNT for one signal too many, and for a GRANT of a
// token that waits for something else, too. With tile reductions, COUNT for the second GRANT of a
// token.
`default_nettype none
`include "bundles.svh"

module token_tracker #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type index_t = `MW_INDEX(Cfg)
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire logic                go_i,
    input  wire node_pkg::node_cfg_t cfg_i,
    input  wire logic                sweep_i,
    output logic                     sweep_busy_o,

    input  wire bundle_pkg::arm_t   arm_i,
    output logic                    arm_ready_o,
    input  wire bundle_pkg::token_t own_i,
    output logic                    own_ready_o,
    input  wire bundle_pkg::token_t sig_i,
    output logic                    sig_ready_o,
    input  wire logic [7:0]         sig_bytes_i,  // where rows return

    output index_t          rdy_o,
    input  wire logic       rdy_ready_i,
    output index_t          lane_o,  // all own experts of this token have finished
    input  wire logic       lane_ready_i,

    output bundle_pkg::error_t err_o,
    output logic               idle_o
);
    typedef struct packed {
        logic [1:0] epoch;
        logic [4:0] left;
    } entry_t;

    logic take, take_q, arm_q, mine_q, mine, own;
    logic [Cfg.TokW-1:0] token, home_first_q;
    logic [Cfg.TokensLog2-1:0] index, index_q, mask_q;
    logic [4:0] count_q, left;
    entry_t entry;
    logic live, current, ended, ready, sweep_q, open, own_room;
    logic grant_q, waits, held;  // a GRANT; its token waits for it, from now on
    logic first;  // a GRANT with tile reductions: its token has no other

    assign open = !take_q && !sweep_q;
    assign take = (arm_i.valid || own || sig_i.valid) && open;
    assign arm_ready_o = open;
    assign own = own_i.valid && own_room;
    assign own_ready_o = open && !arm_i.valid && own_room;
    assign sig_ready_o = open && !arm_i.valid && !own;
    assign token = arm_i.valid ? arm_i.token[Cfg.TokW-1:0] : own ? own_i.token[Cfg.TokW-1:0]
                   : sig_i.token[Cfg.TokW-1:0];
    assign index = token[Cfg.TokensLog2-1:0] & mask_q;
    assign mine = token == (home_first_q | Cfg.TokW'(index));

    always_ff @(posedge clk_i) begin
        if (go_i || sweep_i) begin
            home_first_q <= Cfg.TokW'(cfg_i.port) << cfg_i.token_shift;
            mask_q <= ~Cfg.TokensLog2'('1 << cfg_i.token_shift);
        end
    end

    // ---- bytes of rows that return ----
    logic part;  // of a row: it is not whole yet
    logic [15:0] bytes, bytes_in;

    if (Cfg.RowSparse) begin : gen_returns
        logic landed_q;
        logic [7:0] more_q;
        logic [15:0] sum;

        table_ram #(
            .Width(16),
            .Depth(2 ** Cfg.TokensLog2)
        ) i_bytes (
            .clk_i,
            .we_i(mine_q && (take_q || sweep_q)),
            .waddr_i(index_q),
            .wdata_i(bytes_in),
            .re_i(take),
            .raddr_i(index),
            .rdata_o(bytes)
        );
        assign sum = bytes + 16'(more_q);
        assign part = landed_q && sum < 16'(cfg_i.row_bytes);

        always_comb begin
            bytes_in = bytes;
            if (arm_q) bytes_in = '0;
            else if (landed_q) bytes_in = part ? sum : sum - 16'(cfg_i.row_bytes);
        end
        always_ff @(posedge clk_i) begin
            if (take) begin
                landed_q <= cfg_i.row_returns && !arm_i.valid && !own;
                more_q <= sig_bytes_i;
            end else begin
                landed_q <= 1'b0;
            end
        end
    end else begin : gen_signals
        assign {part, bytes, bytes_in} = '0;
    end

    if (Cfg.SwitchReductions) begin : gen_by_switch
        logic by_switch, remote_q, waited, lane_valid_q;

        assign by_switch = cfg_i.switch_reductions;

        table_ram #(
            .Width($bits(entry_t) + 1),
            .Depth(2 ** Cfg.TokensLog2)
        ) i_left (
            .clk_i,
            .we_i(mine_q && (take_q || sweep_q)),
            .waddr_i(index_q),
            .wdata_i({held, cfg_i.epoch, left}),
            .re_i(take),
            .raddr_i(index),
            .rdata_o({waited, entry})
        );

        always_ff @(posedge clk_i) begin
            remote_q <= take && arm_i.remote && by_switch;
            if (take) grant_q <= by_switch && !arm_i.valid && !own;
            if (!rst_ni) lane_valid_q <= 1'b0;
            else lane_valid_q <= (ended && held && !arm_q) || (lane_valid_q && !lane_ready_i);
            if (ended && held && !arm_q) lane_o.index <= index_q;
        end

        assign waits = current && waited;
        assign first = Cfg.TileReductions && cfg_i.tile_reductions && grant_q && !arm_q;
        assign held = arm_q ? remote_q : waits && !(grant_q && live);
        assign own_room = !lane_valid_q;
        assign lane_o.valid = lane_valid_q;
    end else begin : gen_alone
        table_ram #(
            .Width($bits(entry_t)),
            .Depth(2 ** Cfg.TokensLog2)
        ) i_left (
            .clk_i,
            .we_i(mine_q && (take_q || sweep_q)),
            .waddr_i(index_q),
            .wdata_i({cfg_i.epoch, left}),
            .re_i(take),
            .raddr_i(index),
            .rdata_o(entry)
        );

        assign {grant_q, first, waits, held, own_room, lane_o.valid} = 6'b000010;
        assign lane_o.index = '0;
    end

    assign current = entry.epoch == cfg_i.epoch;
    assign live = arm_q || (first ? !(current && entry.left != '0)
                            : grant_q ? waits && entry.left == '0 : current && entry.left != '0);
    assign left = arm_q ? count_q : first ? 5'd1 : !current ? '0
                  : (grant_q || !live || part) ? entry.left : entry.left - 1'b1;
    assign ended = take_q && mine_q && live && (left == '0 || first);
    assign ready = ended && !held;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            take_q <= 1'b0;
            sweep_q <= 1'b0;
        end else begin
            take_q <= take;
            sweep_q <= sweep_q ? index_q != mask_q : sweep_i;
        end
        if (take) begin
            arm_q <= arm_i.valid;
            mine_q <= mine;
            index_q <= index;
            count_q <= arm_i.count;
        end else begin  // a sweep arms each token with 0, without a report
            arm_q <= 1'b1;
            mine_q <= 1'b1;
            index_q <= sweep_q ? index_q + 1'b1 : '0;
            count_q <= '0;
        end
    end

    assign err_o.valid = take_q && !(mine_q && live);
    assign err_o.code = mine_q ? error_pkg::ERR_COUNT : error_pkg::ERR_BOUNDS;

    logic rdy_room;
    logic [$clog2(2**Cfg.TokensLog2+1)-1:0] rdy_level;

    fifo_sized #(
        .Width(Cfg.TokensLog2),
        .Depth(2 ** Cfg.TokensLog2)
    ) i_ready (
        .clk_i,
        .rst_ni(rst_ni && !go_i),
        .valid_i(ready),
        .ready_o(rdy_room),
        .data_i(index_q),
        .valid_o(rdy_o.valid),
        .ready_i(rdy_ready_i),
        .data_o(rdy_o.index),
        .level_o(rdy_level)
    );

    assign sweep_busy_o = sweep_q;
    assign idle_o = open && !lane_o.valid;  // what waits in the queue waits for combine

    wire unused = &{1'b0, rdy_room, rdy_level};
endmodule

`default_nettype wire
