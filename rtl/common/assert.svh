// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// What must hold in every cycle out of reset: a simulation in which it does not ends, with the module's path. Synthesis
// and proofs leave it out; proofs say the same, and more, of a module by themselves.
`ifndef MW_ASSERT_SVH
`define MW_ASSERT_SVH

`ifdef SYNTHESIS
`define MW_ASSERT_AT(clock, reset, condition, text)
`else
`define MW_ASSERT_AT(clock, reset, condition, text) \
    always_ff @(posedge clock) if (reset && !(condition)) $fatal(1, text);
`endif

`define MW_ASSERT(condition, text) `MW_ASSERT_AT(clk_i, rst_ni, condition, text)

`endif
