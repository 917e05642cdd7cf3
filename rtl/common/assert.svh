// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Assertions that must hold in every cycle out of reset.
//
// Function: A simulation in which one fails ends, with the path of the module. Synthesis and proofs
// leave them out. Proofs state the same properties of a module, and more.
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
