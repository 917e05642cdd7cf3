// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Assertions that must hold in every cycle out of reset, at the end of their module.
//
// Function: A simulation in which one fails ends, with the path of the module. Synthesis leaves
// them out. MW_ASSERT is in every simulation. The others are contracts, which state what a module's
// header promises or requires. Unit tests have them, and so have proofs with `contracts = true`,
// which prove them. Both define MW_CONTRACTS. Models leave the contracts out.
// MW_CONTRACT: while `when` holds, `must` holds.
// MW_NEXT: `must` holds in the cycle after one with `when`, unless a reset lies between.
// MW_STABLE: `valid` stays until `ready`, and `data` with it.
`ifndef MW_ASSERT_SVH
`define MW_ASSERT_SVH

`ifdef MW_CONTRACTS
`ifdef FORMAL
`define MW_CHECK_AT(clock, reset, condition, text) \
    always_ff @(posedge clock) if (reset) assert (condition);
`endif
// some sizes make a comparison constant
`define MW_CONTRACT(when, must, text) \
    /* verilator lint_off CMPCONST */ \
    `MW_CHECK_AT(clk_i, rst_ni, !(when) || (must), text) \
    /* verilator lint_on CMPCONST */
`define MW_NEXT(when, must, text) \
    `MW_CHECK_AT(clk_i, rst_ni && $past(rst_ni) && $past(when), must, text)
`else
`define MW_CONTRACT(when, must, text)
`define MW_NEXT(when, must, text)
`endif
`define MW_STABLE(valid, ready, data, text) \
    `MW_NEXT((valid) && !(ready), (valid) && $stable(data), text)

`ifndef MW_CHECK_AT
`ifdef SYNTHESIS
`define MW_CHECK_AT(clock, reset, condition, text)
`else
`define MW_CHECK_AT(clock, reset, condition, text) \
    always_ff @(posedge clock) if (reset && !(condition)) $fatal(1, text);
`endif
`endif

`define MW_ASSERT_AT(clock, reset, condition, text) `MW_CHECK_AT(clock, reset, condition, text)
`define MW_ASSERT(condition, text) `MW_CHECK_AT(clk_i, rst_ni, condition, text)

`endif
