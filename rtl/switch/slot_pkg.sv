// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Pointers {round, slot} into rings of 2**w packet slots; the round tells full from empty.
//
// The slots are used in the order of a shift register with feedback that runs through all 2**w states: the order does
// not matter as long as writer and reader have the same, and this costs a third of an adder's logic.
`default_nettype none

package slot_pkg;
    localparam int unsigned MaxW = 11;

    // Primitive polynomials x^w + x^(tap+1) + 1, with the state 0 put in front of 1; none for w = 8.
    localparam int unsigned Taps [MaxW+1] = '{0, 0, 0, 1, 2, 2, 4, 5, 0, 4, 6, 8};

    function automatic logic fits(input int unsigned w);
        return w >= 1 && w <= MaxW && w != 8;
    endfunction

    // What follows p, whose bits above w are 0.
    function automatic logic [MaxW:0] after(input logic [MaxW:0] p, input int unsigned w);
        logic zeros, feedback, round;
        zeros    = (p & ((MaxW+1)'(1) << (w - 1)) - 1'b1) == '0;
        feedback = (w == 1) ? !p[0] : p[w-1] ^ p[Taps[w]] ^ zeros;
        round    = p[w] ^ (zeros && p[w-1]);
        return (MaxW+1)'(round) << w | ({p[MaxW-1:0], feedback} & ((MaxW+1)'(1) << w) - 1'b1);
    endfunction
endpackage

`default_nettype wire
