// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// What run.py makes of a design to see that its assumptions leave something to prove: each cover
// becomes an assertion that it never happens, and beside each assumption stands one that its
// condition never does. Every one of them must have a counterexample.

(* techmap_celltype = "$cover" *)
module cover_never (input A, input EN);
    \$assert _TECHMAP_REPLACE_ (.A(~A), .EN(EN));
endmodule

(* techmap_celltype = "assumed" *)
module cover_assumption (input A, input EN);
    \$assume _TECHMAP_REPLACE_ (.A(A), .EN(EN));
    \$assert condition (.A(~EN), .EN(1'b1));
endmodule
