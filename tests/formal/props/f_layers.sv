// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Any number of layers for a unit with tables: each has the next epoch; before the first, and when
// the epochs come round, the tables are swept. A layer ends at any time at which the unit is idle
// (end_i), also with work that has not finished, as one that was broken off does.
`default_nettype none

module f_layers (
    input  wire logic       clk_i,
    input  wire logic       rst_ni,
    input  wire logic       end_i,
    input  wire logic       idle_i,
    input  wire logic       sweep_busy_i,
    output logic            sweep_o,      // for sweep_i, go_i of the unit
    output logic            go_o,
    output logic            sweeping_o,
    output logic            run_o,
    output logic            ends_o,       // in this cycle
    output logic [1:0]      epoch_o
);
    typedef enum logic [1:0] {SWEEP, SWEEPS, GO, RUN} phase_e;
    phase_e phase_q;

    assign sweep_o    = rst_ni && phase_q == SWEEP;
    assign go_o       = rst_ni && phase_q == GO;
    assign sweeping_o = phase_q == SWEEPS;
    assign run_o      = phase_q == RUN;
    assign ends_o     = run_o && end_i && idle_i;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            phase_q <= SWEEP;
            epoch_o <= '0;
        end else begin
            unique case (phase_q)
                SWEEP:   phase_q <= SWEEPS;
                SWEEPS:  if (!sweep_busy_i) phase_q <= GO;
                GO:      phase_q <= RUN;
                default: if (ends_o) begin
                    phase_q <= (epoch_o == '1) ? SWEEP : GO;
                    epoch_o <= epoch_o + 1'b1;
                end
            endcase
        end
    end
endmodule

`default_nettype wire
