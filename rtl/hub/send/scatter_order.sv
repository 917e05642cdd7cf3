// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The order in which a transfer's packets of 32 bytes leave, as if each thread stored its own line
// of 128 bytes. Combinational.
//
// Order: Of a window of 2^(scatter_i - 1) lines, the first packet of each line, then the second
// ones, and so on. The rest after the last whole window goes in order, so the last packet is always
// the last one.
`default_nettype none

module scatter_order #(
    parameter int unsigned Width = 8
) (
    input  wire logic [2:0]       scatter_i,  // from 1, more than 5 as 5
    input  wire logic [Width-1:0] index_i,    // that leave before it
    input  wire logic [Width-1:0] last_i,     // packets of the transfer, less 1
    output logic [Width-1:0]      place_o     // which one it is
);
    logic [Width-1:0] size, lines, window;  // bits of a place in the window, of a line in
                                            // it; the index there

    always_comb begin
        lines = '0;
        for (int unsigned b = 0; b < 4; b++)
        if (b < Width && 32'(scatter_i) > b + 1) lines[b] = 1'b1;
        size = Width'({lines, 2'b11});
        window = index_i & size;
        place_o = index_i;
        if ((index_i | size) <= last_i) begin
            place_o = (index_i & ~size) | Width'({window & lines, 2'b00});
            for (int unsigned l = 0; l < 5; l++) begin
                if (32'(scatter_i) == l + 1 || (l == 4 && scatter_i > 3'd5))
                    place_o |= Width'(window >> l);
            end
        end
    end
endmodule

`default_nettype wire
