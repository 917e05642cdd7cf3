// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The endpoint may do anything: flits, classes and pauses are free inputs. The signals that report
// who waits for the port are free, too.
`default_nettype none
`include "bundles.svh"

module prove_port_guard #(
    localparam cfg_pkg::cfg_t Cfg = cfg_pkg::Default
) (
    input wire logic         clk_i, late_i, drained_i, ready_i, enable_i,
    disable_i, step_i, report_take_i,
    input wire `MW_LINK(Cfg) up_i,
    input wire logic [2:0]   tick_i, starved_i,
    input wire logic [1:0]   one_i              // the followed limit: CTRL, STORE, PART, or the
                                                // open packet
);
    logic            rst_n, drop, down, flush, report;
    `MW_LINK(Cfg)    in;
    error_pkg::err_e report_code;

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    port_guard #(.Cfg(Cfg)) i_dut (
        .clk_i, .rst_ni(rst_n), .tick_i, .step_i, .enable_i, .disable_i, .up_i,
        .in_o(in), .drop_o(drop),
        .starved_i, .late_i, .written_i(1'b1), .drained_i, .ready_i, .down_o(down), .flush_o(flush),
        .report_o(report), .report_code_o(report_code), .report_take_i
    );

    // ---- only whole packets enter; a changed one is marked ----
    logic       inside_q;       // a packet has begun towards the input
    logic [1:0] inside_cls_q;
    logic       up_open_q;      // a packet of the endpoint has begun; a flush clears it
    logic       same;
    assign same = up_i.valid && in.last == up_i.last && in.err == up_i.err && in.data == up_i.data;

    // ---- time: ticks for which the followed limit has been running ----
    logic       waits, ticks, up, up_q, cause;
    logic [1:0] waited_q, one_q;
    assign up    = i_dut.state_q == 5'd0;   // Up
    assign waits = (one_i == 2'd3) ? up_open_q : starved_i[one_i];
    assign ticks = (one_i == 2'd3) ? tick_i[0] : tick_i[one_i];

    // ---- no port goes down without a cause: each cause has its own counter ----
    logic       shut_q;         // down in the cycle before: what comes does not enter
    logic [2:0] three;
    logic       three_open;
    logic [1:0] count_q [4];
    for (genvar i = 0; i < 3; i++) begin : gen_three
        assign three[i] = count_q[i] == 2'd3;
        always_ff @(posedge clk_i) begin
            if (!rst_n || !up || !starved_i[i]) count_q[i] <= '0;
            else if (tick_i[i] && count_q[i] != 2'd3) count_q[i] <= count_q[i] + 2'd1;
        end
    end
    assign three_open = count_q[3] == 2'd3;
    always_ff @(posedge clk_i) begin
        if (!rst_n || !up || !up_open_q) count_q[3] <= '0;
        else if (tick_i[0] && count_q[3] != 2'd3) count_q[3] <= count_q[3] + 2'd1;
    end
    assign cause = three != '0 || three_open || late_i || disable_i;

    logic cause_q, disabled_q;
    always_ff @(posedge clk_i) begin
        one_q        <= one_i;
        up_q         <= rst_n && up;
        shut_q       <= rst_n && !up;
        cause_q      <= cause;
        disabled_q   <= disable_i;
        inside_q     <= rst_n && (in.valid ? !in.last : inside_q);
        inside_cls_q <= in.cls;
        up_open_q    <= rst_n && !flush && (up_i.valid ? !up_i.last : up_open_q);
        if (!rst_n || !up || !waits) waited_q <= '0;
        else if (ticks && waited_q != 2'd3) waited_q <= waited_q + 2'd1;
        if (rst_n) begin
            // flits are consecutive, and of one class
            a_whole:  assert (!inside_q || (in.valid && in.cls == inside_cls_q));
            a_begins: assert (inside_q || !in.valid
                              || (!shut_q && !up_open_q && same && in.cls == up_i.cls));
            a_flits:  assert (!(inside_q && in.valid) || (!shut_q && same)
                              || (in.last && in.err && drop));
            a_drops:  assert (drop == ((inside_q && (shut_q || !up_i.valid))
                                       || (up_i.valid && !up_open_q && shut_q)));
            a_down:   assert (!down || (!in.valid && !inside_q));
            a_time:   assert (!(up && waited_q == 2'd3) || cause);
            a_marked: assert (!(up_q && cause_q) || !up);                           // at once
            // for no other cause
            a_cause:  assert (!(up_q && !up) || cause_q);
            a_report: assert (!(up_q && !up && !disabled_q) || report);
        end
    end
    always_comb if (rst_n) assume (one_i == one_q);

    // reachable under the assumptions
    logic was_down_q;
    always_ff @(posedge clk_i) begin
        was_down_q <= rst_n && (was_down_q || down);
        if (rst_n) begin
            c_cut:   cover (in.valid && in.last && in.err && drop);
            c_down:  cover (down && one_i == 2'd2);
            c_again: cover (was_down_q && !down && in.valid);
        end
    end
endmodule

`default_nettype wire
