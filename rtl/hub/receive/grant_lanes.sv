// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Queue of the rows that GRANT packets name, with a place for every row that may be granted. It
// outputs one lane at a time, to the token tracker (own tokens), to grant_lists (other GPUs'
// tokens), to unit load, or to push_sync.
//
// Function: A packet's lanes are those from the first one on. Lane i waits in queue i. The queue
// has room for as many packets as can hold Places lanes, where the oldest packet may have only its
// last lane left. Places (Cfg.GrantRows) is the number of rows whose lanes may be here at once. A
// row of another home stays open until this hub has sent its partial sum, so there are at most
// OpenRows of each. An own row may close earlier. Its result then waits at the switch, in this
// hub's queue of results, or behind that (sum_result), since only the own row takes it. In layers
// with merge_loads a row from load_first on is a granted tile of unit load, of which OpenSyncs may
// be here. In layers with tile_reductions that count reds (red_count) all other rows are granted
// tiles of pushes, which leave at once. Of these OpenSyncs may be here, too.
// Order: In order of arrival.
// Back-pressure: None for packets while at most Places lanes are inside. Otherwise a packet is not
// taken (room_o). A lane waits for those before it, and with them only for memory and the token
// tracker.
// Errors: One lane each: a home that does not exist (UNMAPPED), an index beyond 2^token_shift
// (BOUNDS).
`default_nettype none
`include "assert.svh"

module grant_lanes #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    // the deepest queue in LUT RAM: up to eight GPUs a row is shown in the next cycle
    parameter int unsigned LutDepth = 128
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire node_pkg::node_cfg_t cfg_i,

    // a packet; its first lane is valid
    input  wire logic                                      push_i,
    output logic                                           room_o,
    input  wire packet_pkg::lane_t [packet_pkg::Lanes-1:0] lanes_i,

    output logic                      own_valid_o,
    input  wire logic                 own_ready_i,
    output logic                      far_valid_o,
    input  wire logic                 far_ready_i,
    output logic                      load_valid_o, // a tile of rows that are loaded, of any home
    input  wire logic                 load_ready_i,
    output logic                      push_valid_o, // a tile of pushes; it is taken in this cycle
    output logic [Cfg.GpuW-1:0]       home_o,  // of each
    output logic [Cfg.TokensLog2-1:0] index_o,

    output bundle_pkg::error_t err_o,  // stays until
    input  wire logic          err_ready_i,
    output logic               idle_o
);
    import packet_pkg::Lanes;

    localparam int unsigned Places = Cfg.GrantRows;

    typedef struct packed {
        logic                      more;      // of the packet
        logic                      unmapped;
        logic                      beyond;
        logic [Cfg.GpuW-1:0]       home;
        logic [Cfg.TokensLog2-1:0] index;
    } row_t;

    row_t in[Lanes], out[Lanes], row;
    logic [Lanes-1:0] valid, some, room, take;  // some: rows are there, shown or not
    logic [1:0] at_q;
    logic pop, here, strange, own, loads, pushes;

    for (genvar l = 0; l < Lanes; l++) begin : gen_lane
        localparam int unsigned Depth = (Places + l) / (l + 1);
        packet_pkg::port_t home;
        logic [14:0] index;

        always_comb begin
            home = cfg_pkg::lane_home(Cfg, lanes_i[l]);
            index = cfg_pkg::lane_index(Cfg, lanes_i[l]);
            in[l].more = l + 1 < Lanes && lanes_i[(l+1<Lanes)?l+1 : l].valid;
            in[l].unmapped = 32'(home) >= Cfg.N;
            in[l].beyond = (index >> Cfg.TokensLog2) != '0;
            in[l].home = home[Cfg.GpuW-1:0];
            in[l].index = index[Cfg.TokensLog2-1:0];
        end

        logic [$clog2(Depth+1)-1:0] level;

        fifo_sized #(
            .Width($bits(row_t)),
            .Depth(Depth),
            .LutDepth(LutDepth)
        ) i_rows (
            .clk_i,
            .rst_ni,
            .valid_i(push_i && room_o && lanes_i[l].valid),
            .ready_o(room[l]),
            .data_i(in[l]),
            .valid_o(valid[l]),
            .ready_i(take[l]),
            .data_o(out[l]),
            .level_o(level)
        );
        assign some[l] = level != '0;  // it may show a row a cycle later

        assign take[l] = pop && at_q == 2'(l);
    end

    // the packet's lanes: all or none
    assign room_o = &(room | ~{lanes_i[2].valid, lanes_i[1].valid, 1'b1});

    always_comb begin
        unique case (at_q)
            2'd0:    {here, row} = {valid[0], out[0]};
            2'd1:    {here, row} = {valid[1], out[1]};
            default: {here, row} = {valid[2], out[2]};
        endcase
    end

    assign strange = row.unmapped || row.beyond || (row.index >> cfg_i.token_shift) != '0;
    assign own = packet_pkg::port_t'(row.home) == cfg_i.port;
    assign loads = Cfg.MergeLoads && cfg_i.merge_loads && 15'(row.index) >= cfg_i.load_first;
    assign pushes = Cfg.SumEntries != 0 && cfg_i.tile_reductions && cfg_i.red_count != '0 && !loads;
    assign own_valid_o = here && !strange && !loads && !pushes && own;
    assign far_valid_o = here && !strange && !loads && !pushes && !own;
    assign load_valid_o = here && !strange && loads;
    assign push_valid_o = here && !strange && pushes;
    assign home_o = row.home;
    assign index_o = row.index;
    assign pop         = here && (strange ? err_ready_i : loads ? load_ready_i : pushes ? 1'b1
                                  : own ? own_ready_i : far_ready_i);
    assign err_o.valid = here && strange;
    assign err_o.code = row.unmapped ? error_pkg::ERR_UNMAPPED : error_pkg::ERR_BOUNDS;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) at_q <= '0;
        else if (pop) at_q <= row.more ? at_q + 1'b1 : '0;
    end

    assign idle_o = some == '0;

    `MW_CONTRACT(push_i, lanes_i[0].valid, "a packet without a lane")
    `MW_STABLE(own_valid_o, own_ready_i, index_o, "a row of its own token goes before it is taken")
    `MW_STABLE(far_valid_o, far_ready_i, {home_o, index_o},
               "a row of another home goes before it is taken")
    `MW_STABLE(load_valid_o, load_ready_i, {home_o, index_o},
               "a tile of loaded rows goes before it is taken")
    `MW_STABLE(err_o.valid, err_ready_i, err_o.code, "an error goes before it is taken")
endmodule

`default_nettype wire
