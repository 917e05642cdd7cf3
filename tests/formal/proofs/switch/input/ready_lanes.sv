// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The proof has a copy of the stored lanes, of READY packets and LDs of one input. The table of a
// lane's home takes it at any time, and reports this one cycle later.
`default_nettype none

module prove_ready_lanes #(
    parameter int unsigned N = 3,
    parameter bit MergeLoads = 1'b0,
    localparam int unsigned TokensLog2 = 2,
    localparam int unsigned Pkts = 2
) (
    input wire logic         clk_i, push_i, now_i, load_i, merge_i,
    input wire logic [1:0]   shift_i, first_i, // token shift; first loaded row
    input wire logic [1:0]   parts_i,          // log2 of the parts of a loaded row
    input wire logic [2:0]   room_i,           // for loads
    input wire logic [63:0]  upper_i,
    input wire logic [N-1:0] partition_i
);
    import packet_pkg::*;
    import error_pkg::*;
    function automatic cfg_pkg::cfg_t sizes();
        cfg_pkg::cfg_t c;
        c = cfg_pkg::usual();
        c.N = N;
        c.TokensLog2 = TokensLog2;
        c.CtrlPkts = Pkts;
        c.SwitchReductions = 1'b1;
        c.TileReductions = MergeLoads;
        c.MergeLoads = MergeLoads;
        c.OpenLoads = 4;
        return cfg_pkg::derived(c);
    endfunction
    localparam cfg_pkg::cfg_t Cfg = sizes();

    typedef struct packed {
        logic                  load;
        logic                  merge;
        logic                  valid;
        logic [Cfg.GpuW-1:0]   home;
        logic [Cfg.LoadIndexW-1:0] index;
    } row_t;

    logic                  rst_n, push, free, idle, take_q, load, merge, is_load;
    logic [1:0]            opened;
    header_t               head;
    err_e                  code;
    logic [N-1:0]          home;
    logic [Cfg.LoadIndexW-1:0] index;

    always_comb begin
        head = '0;
        {head.target0, head.addr} = upper_i;
        head.own = merge_i;
    end
    assign is_load = MergeLoads && load_i;

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    ready_lanes #(.Cfg(Cfg)) i_dut (
        .clk_i, .rst_ni(rst_n), .port_i(5'd1), .partition_i, .header_i(head),
        .load_i, .code_o(code), .push_i(push),
        .load_first_i(15'(first_i)), .load_parts_i(3'(parts_i)), .token_shift_i(4'(shift_i)),
        .load_room_i(room_i),
        .opened_o(opened),
        .home_o(home), .index_o(index), .load_o(load), .merge_o(merge), .take_i(take_q),
        .free_o(free), .idle_o(idle)
    );

    // A table takes a lane that is shown and that it has not taken yet.
    always_ff @(posedge clk_i) take_q <= rst_n && now_i && home != '0 && !take_q;

    // ---- stored packets, oldest first, with the lanes that were not taken ----
    row_t [Lanes-1:0] coming, held_q [Pkts], held [Pkts];
    logic [1:0]       count_q, count;
    lane_t            lane;
    logic [14:0]      row;   // row of the lane, or of its part
    logic             sound; // the packet follows the rules
    logic [1:0]       loads; // of the packet

    always_comb begin
        sound = 1'b0;
        loads = '0;
        for (int unsigned i = 0; i < Lanes; i++) begin
            lane      = upper_i[LaneBits*i +: LaneBits];
            coming[i] = '{load: is_load, merge: is_load && merge_i, valid: lane.valid,
                          home: lane.home[Cfg.GpuW-1:0],
                          index: lane.index[Cfg.LoadIndexW-1:0]};
            sound    |= lane.valid;
            loads    += 2'(is_load && lane.valid);
        end
        for (int unsigned i = 0; i < Lanes; i++) begin
            lane = upper_i[LaneBits*i +: LaneBits];
            row  = is_load ? lane.index >> parts_i : lane.index;
            if (lane.valid) sound &= 32'(lane.home) < N && 32'(row) < 2**TokensLog2
                                     && 32'(row) < 32'd1 << shift_i
                                     && ((lane.home == 5'd1 && !is_load)
                                         || (lane.home != 5'd1
                                             && (partition_i >> lane.home & 1) != '0))
                                     && (!is_load || row >= 15'(first_i));
        end
        sound &= 3'(loads) <= room_i;
    end
    assign push = rst_n && push_i && code == ERR_NONE && 32'(count_q) < Pkts;

    row_t first;
    logic one; // it is the last of its packet
    always_comb begin
        first  = '0;
        one    = 1'b1;
        held = held_q;
        count  = count_q;
        for (int unsigned i = Lanes; i > 0; i--) begin
            if (held_q[0][i-1].valid) begin
                one   = !first.valid;
                first = held_q[0][i-1];
            end
        end
        if (take_q) begin
            for (int unsigned i = Lanes; i > 0; i--) begin
                if (held_q[0][i-1].valid) begin
                    held[0] = held_q[0];
                    held[0][i-1].valid = 1'b0;
                end
            end
            if (one) begin
                held[0] = held_q[1];
                count     = count_q - 2'd1;
            end
        end
        if (push) begin
            held[count[0]] = coming;
            count = count + 2'd1;
        end
    end
    always_ff @(posedge clk_i) begin
        count_q  <= rst_n ? count : '0;
        held_q <= held;
        if (rst_n) begin
            a_code:  assert ((code == ERR_NONE) == sound);
            a_idle:  assert (idle == (count_q == '0));
            // lanes one after another, each once
            a_home:  assert (home == ((count_q == '0) ? '0 : N'(1) << first.home));
            a_index: assert (count_q == '0 || index == first.index);
            a_kind:  assert (count_q == '0
                             || (load == first.load && (!load || merge == first.merge)));
            a_open:  assert (opened == (push ? loads : 2'd0));
            // the credit returns with the last lane
            a_free:  assert (free == (take_q && one));
            a_some:  assert (!take_q || count_q != '0);
            c_three: cover (take_q && !one && push);
            c_full:  cover (32'(count_q) == Pkts && free);
            c_bad:   cover (code == ERR_PARTITION && push_i);
        end
    end
endmodule

`default_nettype wire
