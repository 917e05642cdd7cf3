// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Makes the packets of units combine and push: requests for the switch, and the rows for
// reduce_serve.
//
// Function: It works on one item at a time, alternating if both units have one: an own token or
// static row of combine, or a received row of push. It first examines all experts of the item's
// entry, then makes its packets, for the switch and for reduce_serve in one format and on the same
// wires (see reduce_serve for the differences).
// - combine: a request if the token has remote members (not with switch-initiated reductions), then
//   its own row, which always exists, also without terms.
// - Tile reductions: an item of combine has no entry. Its row {addr = token of all GPUs, position
//   0} is its own term, and R always comes.
// - Gathered tokens (dense_i): a row {addr = token, positions of the own experts}, for those
//   without or those with own experts.
// - push: a row {dst = home, len = token there, addr = row, positions of the own experts}. In this
//   and the previous case an expert that is not mapped, or lives elsewhere, is skipped: the sender
//   has checked the list, or the home does.
// - Where rows return (row_returns): an item of push is one row: {dst = home, len = token there,
//   addr = row of all experts, its position}. A sum covers a token's slots and own experts, in rows
//   of its own that end in memory one after the other. The sum of each other GPU with several
//   experts is rounded into the slot of the first of them (or into the output row if no other GPU
//   has any). R, of the first slot of every GPU, goes into the output row. Own experts' rows are
//   added to that.
// Order: Items of each unit in order, so R's come in the order of the own rows.
// Back-pressure: At most open_rows own rows are outstanding, which bounds every later queue, and as
// many of push. Where rows return, each row of an item waits for that. A unit with a full window
// does not delay the other unit. Requests delay it while they wait for the uplink.
// Latency: An item takes about 3 k + row_shift cycles and the wait for the uplink.
`default_nettype none
`include "bundles.svh"

module row_build #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type group_t = `MW_GROUP(Cfg),
    parameter type stream_t = `MW_STREAM(Cfg),
    parameter type item_t = `MW_ITEM(Cfg),
    parameter type items_t = `MW_ITEMS(Cfg),
    parameter type back_t = `MW_BACK(Cfg)
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire logic                go_i,
    input  wire node_pkg::node_cfg_t cfg_i,

    input  wire bundle_pkg::emap_write_t  emap_i,
    input  wire group_t groups_i,

    input  wire item_t              item_i,
    input  wire items_t             items_i,
    output bundle_pkg::built_t      built_o,
    input  wire logic               row_done_i,

    // item of push
    input  wire back_t          push_i,
    output bundle_pkg::pushed_t pushed_o,
    input  wire logic           st_done_i,  // the last flit of a row has left

    // expert IDs of the item's entry
    output bundle_pkg::id_req_t id_o,
    input  wire logic [15:0]    id_i,

    output stream_t   req_o,
    input  wire logic req_ready_i,
    output logic      own_valid_o,  // rows for reduce_serve; last and data as for req
    input  wire logic own_ready_i,
    output logic      own_static_o
);
    import packet_pkg::*;

    localparam int unsigned OutW = $clog2(Cfg.OpenRows + 2);
    localparam int unsigned TgtW = Cfg.ExpW + 4;  // of a target: what an expert that
                                                  // is mapped needs

    if (Cfg.MaddrW > 48 || Cfg.ExpW < 5) begin : gen_check
        $error("row_build: AddrW too large, or MaxExperts below 32");
    end

    typedef enum logic [2:0] {
        Wait,
        Scan,
        Shift,
        Head,
        Targets,
        Next
    } state_e;
    typedef enum logic [1:0] {
        Req,
        Slots,
        Row,
        Group
    } kind_e;  // Group: of the slots of one GPU
    state_e state_q, state_d;
    kind_e kind_q, kind_d;

    // ---- one expert of the entry per cycle ----------------------------------------
    logic map_valid, mapped, none, mine;
    logic [Cfg.GpuW-1:0] gpu;
    logic [Cfg.N-1:0] group_others, group_member;
    logic group_remote, group_own;

    lutram #(
        .Width(1 + Cfg.GpuW),
        .Depth(Cfg.MaxExperts)
    ) i_emap (
        .clk_i,
        .we_i(emap_i.we),
        .waddr_i(emap_i.addr[Cfg.ExpW-1:0]),
        .wdata_i({emap_i.data.valid, emap_i.data.gpu[Cfg.GpuW-1:0]}),
        .raddr_i(id_i[Cfg.ExpW-1:0]),
        .rdata_o({map_valid, gpu})
    );

    assign none = id_i == '1;
    assign mapped = map_valid && (id_i >> Cfg.ExpW) == '0;
    assign mine = mapped && port_t'(gpu) == cfg_i.port;

    // Of a group: is this GPU a member, are others.
    lutram #(
        .Width(2),
        .Depth(Cfg.Groups)
    ) i_group (
        .clk_i,
        .we_i(groups_i.we),
        .waddr_i(groups_i.addr[Cfg.GroupW-1:0]),
        .wdata_i({group_others != '0, group_member != '0}),
        .raddr_i(items_i.group),
        .rdata_o({group_remote, group_own})
    );

    always_comb begin
        for (int unsigned g = 0; g < Cfg.N; g++) begin
            group_others[g] = groups_i.data[g] && cfg_i.port != port_t'(g);
            group_member[g] = groups_i.data[g] && cfg_i.port == port_t'(g);
        end
    end

    // ---- the item -----------------------------------------------------------------
    logic push_q, push, static_row, dynamic;  // push: the item is a received row
    logic dense;
    // by_rows: a sum where rows return; tiles: an item without an entry
    logic can, push_can, by_switch, returns, by_rows, tiles;
    logic [OutW-1:0] open_q, push_open_q, limit;
    logic [4:0] j_q, own_cnt_q, remote_cnt_q, send_q;
    logic [Cfg.N-1:0] member_q;  // GPUs with an expert of the token
    logic [TgtW-1:0] first_q;  // first remote target
    logic bad_q, remote;
    logic [Cfg.TokW-1:0] home;  // first own token
    logic [Cfg.MaddrW-1:0] addr, addr_q;  // token << row_shift, under way
    logic [3:0] shifts_q;
    logic [Cfg.GpuW-1:0] q_q;
    logic nothing, begin_pkt;

    assign by_switch = Cfg.SwitchReductions && cfg_i.switch_reductions;
    assign tiles = Cfg.TileReductions && cfg_i.tile_reductions && dynamic;
    assign limit = (cfg_i.open_rows == '0 || 32'(cfg_i.open_rows) > Cfg.OpenRows)
                   ? OutW'(Cfg.OpenRows) : OutW'(cfg_i.open_rows);
    assign returns = Cfg.RowSparse && cfg_i.row_returns;
    assign by_rows = returns && !push && items_i.sum;
    assign can = item_i.valid && open_q < limit;
    assign push_can = push_i.valid && push_open_q < limit;

    assign push = (state_q == Wait) ? push_can && (!can || !push_q) : push_q;
    assign static_row = !push && items_i.is_static;
    assign dynamic = !push && !items_i.is_static && !items_i.sum;
    assign dense = Cfg.Gathered && !push && items_i.dense;
    assign remote = tiles || (static_row ? group_remote : remote_cnt_q != '0 && !bad_q);
    assign nothing = !push_q && !by_rows && (dense ? items_i.own != (own_cnt_q != '0)
                                 : items_i.own ? items_i.sum && own_cnt_q == '0 && remote
                                 : !remote);

    assign id_o.meta = push;
    assign id_o.idx = j_q[3:0];
    assign built_o.done = state_q == Next && !push_q;
    assign pushed_o.done = state_q == Next && push_q;
    assign built_o.copied = built_o.done && items_i.sum && items_i.own
                         && (own_cnt_q != '0 || (Cfg.Gathered && items_i.every));
    assign built_o.quiet = open_q == '0;
    assign pushed_o.quiet = push_open_q == '0;
    assign built_o.unmapped = state_q == Shift && state_d != Shift && bad_q && items_i.own;

    assign home = Cfg.TokW'(Cfg.GpuW'(cfg_i.port)) << cfg_i.token_shift;

    // Of the own row: the row of the own copies, or what the item names.
    always_comb begin
        if (push) addr = Cfg.MaddrW'(push_i.row);
        else if (by_rows) addr = ((kind_d == Row) ? Cfg.MaddrW'(home) : '0) | Cfg.MaddrW'(item_i.x);
        else if (items_i.is_static) addr = Cfg.MaddrW'(item_i.x);
        else if (!items_i.sum) addr = Cfg.MaddrW'(home) | Cfg.MaddrW'(item_i.x);
        else addr = (items_i.own && !dense) ? Cfg.MaddrW'(items_i.copy) : Cfg.MaddrW'(item_i.x);
    end

    // ---- sums where rows return: which rows a token has ---------------------------
    typedef struct packed {
        logic [4:0] count;  // experts of the token
        logic [3:0] first;  // the first one's position
    } of_gpu_t;
    of_gpu_t of_gpu;
    logic [Cfg.GpuW-1:0] group_gpu;  // of Group
    logic sole;  // no other remote GPU has any
    logic more;  // rows follow this one
    kind_e kind_rows;  // the next row
    logic row_sent;  // this one, to its end

    if (Cfg.RowSparse) begin : gen_rows
        logic [Cfg.N-1:0] groups_q, rest;  // GPUs with several experts that have no row
                                           // yet; but for this one
        logic slots_q;  // R has none yet
        logic [Cfg.GpuW-1:0] at;

        assign at = (state_q == Scan) ? gpu : (state_q == Targets) ? q_q : group_gpu;

        lutram #(
            .Width($bits(of_gpu_t)),
            .Depth(Cfg.N)
        ) i_of_gpu (
            .clk_i,
            .we_i(state_q == Scan && mapped && !mine),
            .waddr_i(at),
            .wdata_i(member_q[gpu] ? {of_gpu.count + 5'd1, of_gpu.first} : {5'd1, j_q[3:0]}),
            .raddr_i(at),
            .rdata_o(of_gpu)
        );

        always_comb begin
            group_gpu = '0;
            for (int g = int'(Cfg.N) - 1; g >= 0; g--) if (groups_q[g]) group_gpu = Cfg.GpuW'(g);
            rest = groups_q;
            if (kind_q == Group) rest[group_gpu] = 1'b0;
        end

        assign sole = remote_cnt_q == 5'd1;
        assign more = kind_q != Row
                      && (rest != '0 || (slots_q && kind_q != Slots) || own_cnt_q != '0);
        assign kind_rows = bad_q ? Row : (groups_q != '0) ? Group : slots_q ? Slots : Row;

        // Of one GPU's experts alone R is their sum.
        always_ff @(posedge clk_i) begin
            if (state_q == Wait) groups_q <= '0;
            else if (state_q == Scan && mapped && !mine && member_q[gpu]) groups_q[gpu] <= 1'b1;
            else if (row_sent && kind_q == Group) groups_q <= rest;
            if (state_q == Wait) slots_q <= 1'b0;
            else if (state_q == Scan && mapped && !mine)
                slots_q <= !member_q[gpu] || remote_cnt_q != 5'd1;
            else if (row_sent && kind_q == Slots) slots_q <= 1'b0;
        end
    end else begin : gen_no_rows
        assign {of_gpu, group_gpu, sole, more} = '0;
        assign kind_rows = Row;
    end

    // ---- packets ------------------------------------------------------------------
    logic beat_q;  // second half of a header
    logic [Cfg.LaneW-1:0] lane_q;
    logic [Cfg.Lanes-1:0][TgtW-1:0] targets_q;
    logic [Cfg.Lanes-1:0][15:0] targets;
    logic flush_q, beat_last, send_last, match, place, fire, head_done, pkt_done, pkt_last;
    logic [TgtW-1:0] target;
    header_t header;

    // A packet's targets: each step looks at one candidate.
    always_comb begin
        unique case (kind_q)
            Req:     match = mapped && !mine && j_q[3:0] != first_q[3:0];
            Slots:   match = member_q[q_q];
            Group:   match = mapped && gpu == group_gpu;
            default: match = mine || (push && returns) || tiles;
        endcase
        target = {
            (kind_q == Slots) ? (by_rows ? Cfg.ExpW'(of_gpu.first) : Cfg.ExpW'(q_q))
                  : tiles ? '0 : (dynamic || (by_rows && kind_q == Row)) ? id_i[Cfg.ExpW-1:0]
                  : (push && returns) ? Cfg.ExpW'(push_i.pos) : Cfg.ExpW'(j_q[3:0]),
            j_q[3:0]
        };
        for (int unsigned l = 0; l < Cfg.Lanes; l++) targets[l] = 16'(targets_q[l]);
    end

    assign place = state_q == Targets && !flush_q && match;
    assign beat_last = beat_q || Cfg.HeadFlits == 1;
    assign fire = (kind_q == Req) ? req_o.valid && req_ready_i : own_valid_o && own_ready_i;
    assign head_done = state_q == Head && fire && beat_last;
    assign send_last = (state_q == Head) ? static_row || send_q == 5'(kind_q == Req) : send_q == '0;
    assign pkt_last = (state_q == Targets || beat_last) && send_last;
    assign pkt_done = fire && pkt_last;
    assign row_sent = pkt_done && kind_q != Req;

    always_comb begin
        state_d = state_q;
        kind_d = kind_q;
        begin_pkt = 1'b0;
        unique case (state_q)
            Wait:    if (can || push_can)
                state_d = (static_row || tiles || (push && returns)) ? Shift : Scan;
            Scan:    if (j_q + 1'b1 == cfg_i.k) state_d = Shift;
            Shift:   if (shifts_q == '0 && (!by_rows || open_q < limit)) begin
                         state_d   = nothing ? Next : Head;
                         begin_pkt = 1'b1;
                         kind_d = by_rows ? kind_rows : (push_q || dense) ? Row
                                  : !items_i.own ? Slots
                                  : (remote && !items_i.sum && !by_switch) ? Req : Row;
                     end
            Head:    if (head_done) state_d = Targets;
            Targets: ;
            default: state_d = Wait;
        endcase
        if (pkt_done) begin
            state_d = !row_sent ? Head : (by_rows && more) ? Shift : Next;
            begin_pkt = !row_sent;
            kind_d = Row;
        end
    end

    function automatic logic [Cfg.GpuW-1:0] next_gpu(input logic [Cfg.GpuW-1:0] g);
        return (g == Cfg.GpuW'(Cfg.N - 1)) ? '0 : g + 1'b1;
    endfunction

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            state_q <= Wait;
            push_q <= 1'b0;
            open_q <= '0;
            push_open_q <= '0;
            beat_q <= 1'b0;
            flush_q <= 1'b0;
        end else begin
            state_q <= state_d;
            if (go_i) push_q <= 1'b0;
            else if (state_q == Wait && (can || push_can)) push_q <= push;
            if ((row_sent && !push_q) != row_done_i)
                open_q <= open_q + (row_done_i ? '1 : OutW'(1));
            if ((row_sent && push_q) != st_done_i)
                push_open_q <= push_open_q + (st_done_i ? '1 : OutW'(1));
            if (state_q == Head && fire) beat_q <= !beat_last;
            if (state_q == Targets && fire) flush_q <= 1'b0;
            else if (place) flush_q <= lane_q == '1 || send_q == 5'd1;
        end
        kind_q <= kind_d;

        // Shifts by a layer constant take a cycle per place. What reduce_serve gets is not shifted.
        if (state_q == Wait) shifts_q <= (dynamic && !tiles) ? cfg_i.row_shift : '0;
        else if (shifts_q != '0) shifts_q <= shifts_q - 1'b1;
        if (state_q == Wait || (begin_pkt && kind_d != Req)) addr_q <= addr;
        else if (shifts_q != '0) addr_q <= addr_q << 1;

        // Looking at all experts of the item.
        if (state_q == Wait) begin
            own_cnt_q <= static_row ? 5'(group_own) : 5'(tiles || (push && returns));
            remote_cnt_q <= '0;
            member_q <= '0;
            bad_q <= static_row && !group_remote && !group_own;
            first_q <= TgtW'(items_i.group);
        end else if (state_q == Scan) begin
            if (mine) begin
                own_cnt_q <= own_cnt_q + 5'(!(dense && items_i.fill));
            end else if (mapped) begin
                member_q[gpu] <= 1'b1;
                if (dynamic || !member_q[gpu]) remote_cnt_q <= remote_cnt_q + 1'b1;
                if (remote_cnt_q == '0) first_q <= {id_i[Cfg.ExpW-1:0], j_q[3:0]};
            end else if (!none && !push_q && !dense) begin
                bad_q <= 1'b1;
            end
        end

        if (state_q == Scan || (state_q == Targets && !flush_q)) j_q <= j_q + 1'b1;
        else if (state_q != Targets) j_q <= '0;

        // GPUs after the own one, in the order of R.
        if (state_q == Head) q_q <= next_gpu(Cfg.GpuW'(cfg_i.port));
        else if (state_q == Targets && !flush_q) q_q <= next_gpu(q_q);

        // Targets not yet placed.
        if (begin_pkt)
            send_q <= (kind_d == Group) ? of_gpu.count : (kind_d != Row) ? remote_cnt_q : bad_q ? '0
                                 : own_cnt_q;
        else if (place || (head_done && kind_q == Req)) send_q <= send_q - 1'b1;

        if (state_q == Head || (state_q == Targets && fire)) lane_q <= '0;
        else if (place) lane_q <= lane_q + 1'b1;
        if (place) targets_q[lane_q] <= target;
    end

    // ---- outputs ------------------------------------------------------------------
    always_comb begin
        header = '0;
        header.opcode = static_row ? OP_MULTIMEM_LD_REDUCE : OP_DYMULTIMEM_LD_REDUCE;
        header.cls = CLS_REQ;
        {header.src_far, header.src} = cfg_i.port;
        if (push_q) header.len = 15'(push_i.token);
        else if (!items_i.is_static && kind_q != Req)
            header.len = 15'(item_i.x[Cfg.TokensLog2-1:0]);
        else if (items_i.is_static && item_i.last)
            header.len = 15'(items_i.last_flits) << Cfg.FlitLog2;
        else header.len = cfg_i.row_bytes;
        header.cnt = send_q;
        header.epoch = cfg_i.epoch;
        header.stage = STAGE_COMBINE;
        header.dtype = push_q ? DTYPE_BF16 : items_i.red.dtype;
        header.redop = push_q ? REDOP_ADD : items_i.red.redop;
        header.addr = 48'(addr_q);
        header.target0 = (kind_q == Group) ? {12'(of_gpu.first), 4'd0} : 16'(first_q);
        if (kind_q != Req) begin
            {header.dst_far, header.dst} = push_q ? port_t'(push_i.home) : cfg_i.port;
            header.tag[1] = by_rows ? more : dense || (kind_q == Slots && own_cnt_q != '0);
            header.tag[2] = !push_q && !items_i.sum && remote;
            header.tag[3] = push_q || tiles || (items_i.sum && kind_q == Row && !returns)
                            || (kind_q == Group && !sole);
            header.tag[4] = dense || kind_q inside {Slots, Group};
            header.tag[5] = bad_q;
            header.tag[6] = !push_q && items_i.sum && kind_q == Row && remote && !dense;
            header.tag[7] = push_q;
        end
    end

    if (Cfg.HeadFlits == 1) begin : gen_header1
        assign req_o.data = (state_q == Head) ? header : targets;
    end else begin : gen_header2
        assign req_o.data = (state_q != Head) ? targets : beat_q ? header[Cfg.FlitW +: Cfg.FlitW]
                            : header[0 +: Cfg.FlitW];
    end

    assign req_o.valid = kind_q == Req && (state_q == Head || flush_q);
    assign own_valid_o = kind_q != Req && (state_q == Head || flush_q);
    assign own_static_o = static_row;
    assign req_o.last = pkt_last;

endmodule

`default_nettype wire
