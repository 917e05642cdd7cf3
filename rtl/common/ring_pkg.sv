// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The order in which the 2**w places of a ring are used: the sequence of a shift register with
// feedback through all states.
//
// Function: The order does not matter if writer and reader agree. It costs a third of an adder's
// logic.
`default_nettype none

package ring_pkg;
    localparam int unsigned MaxW = 11;

    typedef logic [MaxW:0] ptr_t;  // {round, place}, w + 1 bits: the round
                                   // separates full from empty

    // Primitive polynomials x^w + x^(tap+1) + 1, with the state 0 put in
    // front of 1; none for w = 8.
    localparam int unsigned Taps[MaxW+1] = '{0, 0, 0, 1, 2, 2, 4, 5, 0, 4, 6, 8};

    function automatic logic fits(input int unsigned w);
        return w >= 1 && w <= MaxW && w != 8;
    endfunction

    // All bits of the place below its highest are 0: the state 0 comes in, or goes out, here.
    function automatic logic ends(input ptr_t p, input int unsigned w);
        return (p & (ptr_t'(1) << (w - 1)) - 1'b1) == '0;
    endfunction

    // What follows place p; bits of p above w count nothing.
    function automatic ptr_t next(input ptr_t p, input int unsigned w);
        return {p[MaxW-1:0], (w == 1) ? !p[0] : p[w-1] ^ p[Taps[w]] ^ ends(p, w)} &
            (ptr_t'(1) << w) - 1'b1;
    endfunction

    // What follows pointer p.
    function automatic ptr_t after(input ptr_t p, input int unsigned w);
        logic round;
        round = p[w] ^ (ends(p, w) && p[w-1]);
        return next(p, w) | ptr_t'(round) << w;
    endfunction
endpackage

`default_nettype wire
