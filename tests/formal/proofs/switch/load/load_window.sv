// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// LDs open any number of loads within the window. Homes answer or reject them in any order. The
// proof counts the open loads of each home.
`default_nettype none

module prove_load_window #(
    localparam int unsigned N = 3,
    localparam int unsigned Others = N - 1,
    localparam int unsigned Open = 4
) (
    input wire logic              clk_i, go_i,
    input wire logic [1:0]        first_i, second_i, // loads of an LD, of each home
    input wire logic [Others-1:0] answered_i, bad_i
);
    function automatic cfg_pkg::cfg_t sizes();
        cfg_pkg::cfg_t c;
        c = cfg_pkg::usual();
        c.N = N;
        c.OpenLoads = Open;
        return cfg_pkg::derived(c);
    endfunction
    localparam cfg_pkg::cfg_t Cfg = sizes();

    logic                     rst_n;
    logic [Cfg.OpenLoadW-1:0] room;
    logic [1:0]               opens;
    logic [3:0]               open_q [Others];

    assign opens = first_i + second_i;
    f_reset i_reset (.clk_i, .rst_no(rst_n));
    load_window #(.Cfg(Cfg)) i_dut (
        .clk_i, .rst_ni(rst_n), .go_i, .open_i(opens), .answered_i, .bad_i, .room_o(room)
    );

    always_comb begin
        assume (3'(first_i) + 3'(second_i) <= 3'd3 && 3'(opens) <= room);
        if (!rst_n || go_i) assume (opens == '0 && answered_i == '0 && bad_i == '0);
        for (int unsigned d = 0; d < Others; d++)
            assume (4'(answered_i[d]) + 4'(bad_i[d]) <= open_q[d]);
    end

    always_ff @(posedge clk_i) begin
        for (int unsigned d = 0; d < Others; d++) begin
            open_q[d] <= (!rst_n || go_i) ? '0
                         : open_q[d] + 4'(d == 0 ? first_i : second_i) - 4'(answered_i[d])
                           - 4'(bad_i[d]);
        end
        if (rst_n && !go_i) begin
            // FETCHs of this reader need no more places than its window
            a_open: assert (32'(open_q[0]) + 32'(open_q[1]) <= Open);
            a_room: assert (32'(open_q[0]) + 32'(open_q[1]) + 32'(room) == Open);
            c_full: cover (room == '0 && open_q[0] != '0 && open_q[1] != '0);
            c_both: cover (answered_i == '1 && bad_i != '0);
        end
    end
endmodule

`default_nettype wire
