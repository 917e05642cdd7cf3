// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Checks the lanes of READY and LD packets of one input, and offers accepted lanes to the ports of
// their homes, one at a time.
//
// Function: With MergeLoads, an LD (load_i) names rows or parts of rows that this GPU loads. Its
// lanes are marked with load_o, and with merge_o if the switch may merge them.
// Order: Packets and their lanes keep their order.
// Back-pressure: None. A packet holds its CTRL credit until its last lane is taken (free_o), so
// each packet has a place. take_i reports one cycle late that a lane was taken. The lane is stable
// until then, and the taker must ignore it in that cycle.
// Latency: A lane waits for one lane of each other input. At the home's port it waits for entries
// (see report_scoreboard), or as lane of an LD for the queue of FETCHs (see merge_table).
// Errors: A packet must not be pushed if code_o is not NONE. LENGTH: it has no lane. UNMAPPED: a
// home does not exist. PARTITION: a home may not be reached (the port itself always may), or an LD
// names its own port. BOUNDS: an index has no entry, or an LD names a row that is not loaded.
// WINDOW: an LD names more rows than the window has room for.
`default_nettype none
`include "assert.svh"

module ready_lanes #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default
) (
    input  wire logic             clk_i,
    input  wire logic             rst_ni,
    input  wire logic [Cfg.PortW-1:0] port_i,       // constant: the number of this port
    input  wire logic [Cfg.N-1:0] partition_i,  // ports that this input may reach

    input  wire packet_pkg::header_t header_i,
    input  wire logic                load_i,  // header_i is an LD, not a READY
    output error_pkg::err_e          code_o,  // what is wrong with header_i, if it is one
                                              // of these; ERR_NONE: nothing
    input  wire logic                push_i,  // header_i is one of these that is accepted
    // indices are below 1 << token_shift_i, those of rows that are loaded from load_first_i on;
    // an LD names the part index << load_parts_i | part
    input  wire logic [3:0]               token_shift_i,
    input  wire logic [14:0]              load_first_i,
    input  wire logic [2:0]               load_parts_i,
    input  wire logic [Cfg.OpenLoadW-1:0] load_room_i,  // see load_window
    output logic [1:0]                    opened_o,     // with push_i: loads of the LD

    output logic [Cfg.N-1:0]          home_o,  // a lane for this port, one-hot
    output logic [Cfg.LoadIndexW-1:0] index_o,
    output logic                      load_o,  // it is of an LD
    output logic                      merge_o, // and may be merged
    input  wire logic                 take_i,
    output logic                      free_o,  // the credit of a packet goes back
    output logic                      idle_o
);
    import packet_pkg::*;
    import error_pkg::*;

    typedef struct packed {
        logic                      valid;
        logic [Cfg.GpuW-1:0]       home;
        logic [Cfg.LoadIndexW-1:0] index;
    } row_t;

    logic [63:0] upper;  // of the header: the lanes, and a bit above them
    logic [Cfg.N-1:0] reach;
    row_t [Lanes-1:0] rows, queued;
    logic some, nowhere, barred, beyond;
    logic [1:0] count;  // of valid lanes
    logic load;

    assign upper = {header_i.target0, header_i.addr};
    assign load = Cfg.MergeLoads && load_i;
    assign reach = load ? partition_i & ~(Cfg.N'(1) << port_i)
                   : partition_i | (Cfg.N'(1) << port_i);

    always_comb begin
        {some, nowhere, barred, beyond} = '0;
        count = '0;
        for (int unsigned i = 0; i < Lanes; i++) begin
            automatic lane_t lane = upper[LaneBits*i+:LaneBits];
            automatic port_t home = cfg_pkg::lane_home(Cfg, lane);
            automatic logic [14:0] index = cfg_pkg::lane_index(Cfg, lane);
            automatic logic [14:0] row = load ? index >> load_parts_i : index;
            automatic logic there = 32'(home) < Cfg.N;
            rows[i] = '{
                valid: lane.valid,
                home: home[Cfg.GpuW-1:0],
                index: index[Cfg.LoadIndexW-1:0]
            };
            some |= lane.valid;
            nowhere |= lane.valid && !there;
            barred |= lane.valid && there && !reach[home[Cfg.GpuW-1:0]];
            beyond |= lane.valid
                      && ((row >> Cfg.TokensLog2) != '0 || (row >> token_shift_i) != '0
                          || (load && row < load_first_i));
            count += 2'(lane.valid);
        end
        code_o = !some ? ERR_LENGTH : nowhere ? ERR_UNMAPPED : barred ? ERR_PARTITION
                 : beyond ? ERR_BOUNDS
                 : (load && Cfg.OpenLoadW'(count) > load_room_i) ? ERR_WINDOW : ERR_NONE;
    end
    assign opened_o = (load && push_i) ? count : '0;

    // ---- packets ----
    logic there, pop;

    fifo #(
        .Width(Lanes * $bits(row_t)),
        .Depth(Cfg.CtrlPkts)
    ) i_packets (
        .clk_i,
        .rst_ni,
        .valid_i(push_i),
        .ready_o(),
        .data_i(rows),
        .valid_o(there),
        .ready_i(pop),
        .data_o(queued),
        .level_o()
    );

    if (Cfg.MergeLoads) begin : gen_kind
        fifo #(
            .Width(2),
            .Depth(Cfg.CtrlPkts)
        ) i_kinds (
            .clk_i,
            .rst_ni,
            .valid_i(push_i),
            .ready_o(),
            .data_i({load_i, header_i.own}),
            .valid_o(),
            .ready_i(pop),
            .data_o({load_o, merge_o}),
            .level_o()
        );
    end else begin : gen_ready
        assign {load_o, merge_o} = '0;
    end

    // ---- lanes of the oldest ----
    logic [Lanes-1:0] done_q, left, now;  // that were taken; others that name a row; the one shown
    row_t row;

    always_comb begin
        row = '0;
        for (int unsigned i = 0; i < Lanes; i++) left[i] = queued[i].valid && !done_q[i];
        now = left & (~left + 1'b1);
        for (int unsigned i = 0; i < Lanes; i++) row |= now[i] ? queued[i] : '0;
    end

    assign home_o = there ? Cfg.N'(1) << row.home : '0;
    assign index_o = row.index;
    assign pop = take_i && left == now;
    assign free_o = pop;
    assign idle_o = !there;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) done_q <= '0;
        else if (take_i) done_q <= pop ? '0 : done_q | now;
    end

    `MW_CONTRACT(push_i, code_o == ERR_NONE, "a READY enters that must be rejected")
    `MW_CONTRACT(take_i, there, "a lane is taken that nobody offers")
    `MW_NEXT(there && !take_i, there && $stable(home_o) && $stable(index_o),
             "a lane changes before it is taken")
    `MW_NEXT(take_i, !take_i, "a lane is taken twice")
endmodule

`default_nettype wire
