// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Finds the outputs of one target of a packet, and whether the input may reach them.
//
// Function: A target is an expert (map), a static group (table), a port, or all outputs of an open
// row. Both tables are LUT RAM. Software writes them while no packet is in flight.
// Latency: An answer follows in the same cycle. If an expert is known one cycle earlier
// (lookup_i.next), the map is read then. The look-up arrives late, so each check uses the shortest
// path from it. A user that needs a check only for lists, or only for groups, uses that one.
`default_nettype none
`include "bundles.svh"

module target_lookup #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type group_t = `MW_GROUP(Cfg),
    parameter type row_outputs_t = `MW_ROW_OUTPUTS(Cfg),
    parameter type found_t = `MW_FOUND(Cfg)
) (
    input  wire logic                     clk_i,
    input  wire logic [Cfg.PortW-1:0] port_i,       // constant: the number of this port
    input  wire logic [Cfg.N-1:0]         partition_i,  // outputs that this input may reach
    input  wire bundle_pkg::emap_write_t  emap_i,
    input  wire group_t groups_i,

    // the target is an expert (listing_i), a group (grouped_i), the open row
    // (follow_i), or else a port
    input  wire logic             listing_i,
    input  wire logic             grouped_i,
    input  wire logic             follow_i,
    input  wire bundle_pkg::lookup_t lookup_i,  // experts in bits 15:4, see queue_head
    input  wire packet_pkg::header_t header_i,  // with a group or a port
    input  wire row_outputs_t        row_i,     // see row_outputs

    output found_t           found_o,       // the outputs behind it
    output logic             somewhere_o,   // there is one
    output logic             allowed_o,     // all of them may be reached; only with somewhere_o
    output logic             port_good_o,   // if it is a port: it is one that may be reached
    output logic             other_good_o,  // it is a group or a row that may be reached, or a port

    // if it is an expert
    output logic in_range_o,  // there is such an expert in the map
    output logic reached_o,   // only with in_range_o: it is mapped, and its output may be reached

    // if it is one of a list behind the header: lookup_i.held is high then
    output found_t listed_o
);
    if (Cfg.MaxExperts < 16 || Cfg.MaxExperts > 4096
        || (1 << Cfg.ExpW) != Cfg.MaxExperts) begin : gen_check
        $error("target_lookup: MaxExperts must be a power of two, 16 to 4096");
    end

    typedef struct packed {
        logic                in_range;
        logic                mapped;
        logic [Cfg.GpuW-1:0] port;
    } entry_t;

    function automatic logic is_in_range(input logic [11:0] expert);
        return (expert >> Cfg.ExpW) == '0;
    endfunction

    entry_t entry, held_q;
    logic [Cfg.GpuW:0] next_entry, link_entry;  // {mapped, port}
    packet_pkg::port_t dst;
    logic mapped, group_some, group_allowed, plain_some, plain_allowed, row_allowed;
    logic [Cfg.N-1:0] group_mask, self, reach, expert_at, group_sel, plain_sel;

    // the map, twice: two experts are looked up at a time
    logic [Cfg.GpuW:0] map_data;

    assign map_data = {emap_i.data.valid, emap_i.data.gpu[Cfg.GpuW-1:0]};

    lutram #(
        .Width(Cfg.GpuW + 1),
        .Depth(Cfg.MaxExperts)
    ) i_next_map (
        .clk_i,
        .we_i(emap_i.we),
        .waddr_i(emap_i.addr[Cfg.ExpW-1:0]),
        .wdata_i(map_data),
        .raddr_i(lookup_i.next[Cfg.ExpW+3:4]),
        .rdata_o(next_entry)
    );
    lutram #(
        .Width(Cfg.GpuW + 1),
        .Depth(Cfg.MaxExperts)
    ) i_link_map (
        .clk_i,
        .we_i(emap_i.we),
        .waddr_i(emap_i.addr[Cfg.ExpW-1:0]),
        .wdata_i(map_data),
        .raddr_i(lookup_i.link[Cfg.ExpW+3:4]),
        .rdata_o(link_entry)
    );

    always_ff @(posedge clk_i)
        if (lookup_i.next_we)
            held_q <= {is_in_range(lookup_i.next[15:4]), next_entry};
    assign entry = lookup_i.held ? held_q : {is_in_range(lookup_i.link[15:4]), link_entry};

    lutram #(
        .Width(Cfg.N),
        .Depth(Cfg.Groups)
    ) i_groups (
        .clk_i,
        .we_i(groups_i.we),
        .waddr_i(groups_i.addr[Cfg.GroupW-1:0]),
        .wdata_i(groups_i.data[Cfg.N-1:0]),
        .raddr_i(header_i.target0[Cfg.GroupW-1:0]),
        .rdata_o(group_mask)
    );

    assign dst = cfg_pkg::port_of(Cfg, header_i.dst_far, header_i.dst);
    assign self = Cfg.N'(1) << port_i;
    assign reach = partition_i & ~self;
    assign in_range_o = entry.in_range;
    assign mapped = entry.mapped && in_range_o;
    assign found_o.out = entry.port;
    assign listed_o.out = held_q.port;

    always_comb begin
        expert_at = '0;
        listed_o.sel = '0;
        plain_sel = '0;
        plain_allowed = 1'b0;
        for (int unsigned i = 0; i < Cfg.N; i++) begin
            expert_at[i] = entry.mapped && entry.port == Cfg.GpuW'(i);
            listed_o.sel[i] = held_q.in_range && held_q.mapped && held_q.port == Cfg.GpuW'(i);
            if (dst == packet_pkg::port_t'(i)) begin
                plain_sel[i] = 1'b1;
                plain_allowed = reach[i];
            end
        end
        plain_some = 32'(dst) < Cfg.N;
        group_sel = ((header_i.target0 >> Cfg.GroupW) == '0) ? group_mask & ~self : '0;
        group_some = group_sel != '0;
        group_allowed = (group_sel & ~reach) == '0;
        row_allowed = (row_i.mask & ~reach) == '0;  // a partition may have changed
        reached_o = (expert_at & reach) != '0;
    end

    always_comb begin
        if (listing_i)
            {found_o.sel, somewhere_o, allowed_o} = {
                in_range_o ? expert_at : Cfg.N'(0), mapped, reached_o
            };
        else if (grouped_i)
            {found_o.sel, somewhere_o, allowed_o} = {group_sel, group_some, group_allowed};
        else if (follow_i)
            {found_o.sel, somewhere_o, allowed_o} = {row_i.mask, row_i.valid, row_allowed};
        else {found_o.sel, somewhere_o, allowed_o} = {plain_sel, plain_some, plain_allowed};
    end

    assign port_good_o = plain_some && plain_allowed;
    assign other_good_o = !listing_i && (!grouped_i || (group_some && group_allowed))
                          && (!follow_i || (row_i.valid && row_allowed));

endmodule

`default_nettype wire
