// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Checks that [first_i, first_i + count_i) is in bounds. Combinational.
//
// Function: Token ranges must lie below 2^shift_i (token_shift for own tokens, as another GPU's
// tokens follow; more for tokens of all GPUs). Byte ranges must lie inside local memory. A range
// may end at the bound. All bits of both operands count. Units on the same command have the same
// cells, which synthesis merges.
`default_nettype none

module cmd_range #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter int unsigned TokensW = Cfg.TokensLog2  // of a token that there may be
) (
    input  wire node_pkg::byte_t first_i,
    input  wire logic [31:0]     count_i,
    input  wire logic [4:0]      shift_i,      // at most TokensW
    output logic [TokensW:0]     end_o,        // behind the last one
    output logic                 no_tokens_o,  // not all of them are tokens
    output logic                 no_bytes_o    // or bytes of own memory
);
    if (Cfg.MemBytesLog2 > $bits(first_i) || TokensW >= Cfg.MemBytesLog2) begin : gen_check
        $error("cmd_range: memory has at most 2^34 bytes, and more of them than tokens");
    end

    // High bits are looked at operand by operand, and once for both: so two ranges of one
    // length share what they need of it.
    logic [Cfg.MemBytesLog2+1:0] sum;
    logic far, far_token;

    assign sum = (Cfg.MemBytesLog2+2)'((Cfg.MemBytesLog2+1)'(first_i))
                 + (Cfg.MemBytesLog2+2)'((Cfg.MemBytesLog2+1)'(count_i));
    assign far = (first_i >> (Cfg.MemBytesLog2 + 1)) != '0
                 || (count_i >> (Cfg.MemBytesLog2 + 1)) != '0;
    assign far_token = ((Cfg.MemBytesLog2+1)'(first_i) >> (TokensW + 1)) != '0
                       || ((Cfg.MemBytesLog2+1)'(count_i) >> (TokensW + 1)) != '0;
    assign end_o = sum[TokensW:0];
    assign no_tokens_o = far || far_token || ((TokensW + 2)'(1) << shift_i) < sum[TokensW+1:0];
    assign no_bytes_o = far || sum[Cfg.MemBytesLog2+1]
                        || (sum[Cfg.MemBytesLog2] && sum[Cfg.MemBytesLog2-1:0] != '0);

endmodule

`default_nettype wire
