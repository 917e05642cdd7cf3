// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Arrival of store packets: parses the flits of the link and of the local stream, and writes
// packets to slots.
//
// Function: Slots 0 .. RxStorePkts-1 belong to the link, the next LocPkts to the local stream.
// Payload flits go to the RAM of their source at {slot of the source, flit} (pay_*, with the
// arriving flit). The header is checked, reduced to the required fields, and kept in LUT RAM with
// the targets. hd_* reads it by slot.
// Ports: A packet appears at pkt_o when it is complete, with its number of payload flits, and with
// bad if it ended at the wrong place.
// Order: Packets appear in the order in which they end, which keeps the order of each source.
// Back-pressure: None to the link, which has a slot for every credit. The local stream waits while
// the link uses the header RAM or ends a packet. It still runs in 8 of 9 cycles while the link is
// full, because a GPU's own copies must not delay its uplink.
// Latency: A local header waits for the link's header and targets.
// Errors: A packet of the link beyond its credits is dropped (CREDIT).
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module rx_arrive #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type marked_t = `MW_MARKED(Cfg),
    parameter type stream_t = `MW_STREAM(Cfg),
    parameter type arrived_t = `MW_ARRIVED(Cfg),
    parameter type whole_t = logic,  // see rx_store
    parameter int unsigned LocPkts = 2,
    parameter int unsigned MaxTargets = 4,  // of one packet: experts of this GPU
    localparam int unsigned SlotW = $clog2(Cfg.RxStorePkts + LocPkts),
    localparam int unsigned LinkW = cfg_pkg::index_w(Cfg.RxStorePkts),
    localparam int unsigned LocW = (LocPkts > 1) ? $clog2(LocPkts) : 1,
    localparam int unsigned TgtW = Cfg.ExpW + 5  // {no such expert, expert, position}
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire node_pkg::node_cfg_t cfg_i,

    input  wire marked_t st_i,

    input  wire stream_t loc_i,
    output logic         loc_ready_o,

    output logic                      pay_we_o [2],  // 0 link, 1 local
    output logic [LinkW+Cfg.PayW-1:0] pay_link_addr_o,
    output logic [LocW+Cfg.PayW-1:0]  pay_loc_addr_o,

    output whole_t    pkt_o,
    input  wire logic pkt_ready_i,

    // headers, read without a register
    input  wire logic [SlotW-1:0] hd_slot_i,
    input  wire logic [3:0]       hd_tgt_i,
    output arrived_t              hd_o,

    input  wire logic             free_valid_i,
    input  wire logic [SlotW-1:0] free_slot_i,
    output logic                  crd_o,  // a slot of the link is free again
    output logic                  err_o,  // packet without credit
    output logic                  idle_o
);
    import packet_pkg::*;
    import error_pkg::*;

    localparam int unsigned Slots = Cfg.RxStorePkts + LocPkts;
    // of targets behind the first
    localparam int unsigned TgtFlits = (MaxTargets + Cfg.Lanes - 2) / Cfg.Lanes;
    localparam int unsigned TfW = (TgtFlits > 1) ? $clog2(TgtFlits) : 0;
    localparam int unsigned TgtAw = SlotW + TfW;
    // kept of a flit
    localparam int unsigned TgtLanes = (TgtFlits == 1) ? MaxTargets - 1 : Cfg.Lanes;
    localparam int unsigned FlitsW = Cfg.PayW + 2;  // 0 .. PF + 1
    localparam int unsigned CountW = Cfg.GpuW + 1;
    // of an address
    localparam int unsigned KeptW = Cfg.SourceLists ? RowBit + RowBits : Cfg.MaddrW;

    if ((Cfg.FlitBytes != 8 && Cfg.FlitBytes != 16) || MaxTargets < 1 || MaxTargets > TargetsMax
        || Cfg.MaxExperts < 2 || Cfg.MaxExperts > 4096) begin : gen_check
        $error("rx_arrive: flits have 8 or 16 bytes, MaxTargets is 1 to 16, MaxExperts 2 to 4096");
    end
    if (Cfg.SourceLists
        && (Cfg.MaddrW > RowBit || Cfg.TokensLog2 >= RowBits)) begin : gen_check_rows
        $error("rx_arrive: an address has no room for the row of a list");
    end

    typedef struct packed {
        logic                 bad;
        logic [2:0]           op;     // of the opcode: those that store have the same upper bits
        logic [Cfg.PortW-1:0] src;
        logic [7:0]           len;
        logic [4:0]           cnt;
        logic [1:0]           stage;
        logic [CountW-1:0]    adds;   // contributions that it brings, of a red that is counted
    } low_t;

    typedef struct packed {
        logic             beyond;
        logic [KeptW-1:0] addr;
        logic [TgtW-1:0]  tgt;
    } high_t;

    function automatic logic [TgtW-1:0] target(logic [15:0] t);
        return {(t[15:4] >> Cfg.ExpW) != '0, (Cfg.ExpW + 4)'(t)};
    endfunction

    // ---- one parser per source: 0 link, 1 local ----
    typedef enum logic [1:0] {
        Low,
        High,
        Targets,
        Payload
    } phase_e;

    phase_e phase_q[2];
    logic [2:0] left_q[2];  // target flits to come
    logic [FlitsW-1:0] flits_q[2];  // payload flits so far, at most PF + 1; of targets
                                    // as long as those come
    logic [SlotW-1:0] slot[2];
    logic [LinkW-1:0] link_slot;
    logic [LocW-1:0] loc_slot;
    logic [1:0] fire, last, in_payload, legal_end, avail, all_free;
    logic [2:0] targets;  // target flits of the header that arrives
    logic drop_q, drop;

    assign drop = (phase_q[0] == Low) ? !avail[0] : drop_q;
    assign fire[0] = st_i.valid && !drop;
    assign last = {loc_i.last, st_i.last};
    assign err_o = st_i.valid && drop && phase_q[0] == Low;

    // The link has the first claim on the header RAMs, and on the queue of whole packets.
    assign loc_ready_o = avail[1] && !(st_i.valid && (st_i.last || in_payload == '0));
    assign fire[1] = loc_i.valid && loc_ready_o;

    always_ff @(posedge clk_i) begin
        if (st_i.valid) drop_q <= drop;
    end

    for (genvar s = 0; s < 2; s++) begin : gen_parse
        assign in_payload[s] = phase_q[s] == Payload;

        always_comb begin
            unique case (phase_q[s])
                Low:     legal_end[s] = Cfg.HeadFlits == 1 && targets == '0;
                High:    legal_end[s] = left_q[s] == '0;
                Targets: legal_end[s] = left_q[s] == 3'd1;
                default: legal_end[s] = 1'b1;
            endcase
        end

        always_ff @(posedge clk_i) begin
            if (!rst_ni) begin
                phase_q[s] <= Low;
            end else if ((s == 0) ? st_i.valid : fire[s]) begin
                unique case (phase_q[s])
                    Low:     phase_q[s] <= (Cfg.HeadFlits == 2) ? High : (targets != '0) ? Targets
                                           : Payload;
                    High:    phase_q[s] <= (left_q[s] != '0) ? Targets : Payload;
                    Targets: if (left_q[s] == 3'd1) phase_q[s] <= Payload;
                    default: ;
                endcase
                if (last[s]) phase_q[s] <= Low;
            end
            if (fire[s]) begin
                if (phase_q[s] == Low) left_q[s] <= targets;
                else if (phase_q[s] == Targets) left_q[s] <= left_q[s] - 1'b1;
                if (phase_q[s] == Low || (phase_q[s] == Targets && left_q[s] == 3'd1))
                    flits_q[s] <= '0;
                else if (phase_q[s] != High && flits_q[s] != FlitsW'(Cfg.PayFlits + 1))
                    flits_q[s] <= flits_q[s] + 1'b1;
            end
        end
    end

    // ---- headers ----
    logic head_sel, head_fire;  // whose the header RAMs are
    logic [Cfg.FlitW-1:0] head_data;
    header_t head;  // F = 8: one half at a time, in both places
    logic [SlotW-1:0] head_slot;
    phase_e head_phase;

    assign head_sel = !(st_i.valid && !in_payload[0]);
    assign head_fire = fire[head_sel] && !in_payload[head_sel];
    assign head_data = head_sel ? loc_i.data : st_i.data;
    assign head = {head_data[Cfg.FlitW-1-:64], head_data[63:0]};
    assign head_slot = slot[head_sel];
    assign head_phase = phase_q[head_sel];
    // the first is in the header
    assign targets = (head.cnt <= 5'd1) ? '0 : 3'((6'(head.cnt) + 6'(Cfg.Lanes - 2)) >> Cfg.LaneW);

    low_t low_in, low_out;
    high_t high_in, high_out;
    attributes_t op;
    logic [7:0] bad_code;
    logic known, dynamic, follows, rowsp, counted;
    logic rowsp_q;  // of the header whose high half comes: a low half came
                    // before it from the same source

    assign op = attributes_of(head.opcode, Cfg.MergeLoads);
    assign rowsp = Cfg.RowSparse && op.needs == NEEDS_ROW_SPARSE;

    if (Cfg.HeadFlits == 1) begin : gen_one
        assign rowsp_q = rowsp;
    end else begin : gen_halves
        logic [1:0] low_q;  // by source
        assign rowsp_q = low_q[head_sel];
        always_ff @(posedge clk_i) if (head_fire && head_phase == Low) low_q[head_sel] <= rowsp;
    end

    always_comb begin
        known = op.sender == UNIT_HUB && op.cls == CLS_STORE
                && (op.needs != NEEDS_ROW_SPARSE || Cfg.RowSparse)
                && (op.needs != NEEDS_REDUCTIONS || Cfg.Reds)
                && (op.needs != NEEDS_MERGED_LOADS || (Cfg.MergeLoads && cfg_i.merge_loads));
        dynamic = op.targets == TARGETS_EXPERTS;
        // a row that is open, see row_lists
        counted = Cfg.SumEntries != 0 && head.opcode == OP_MULTIMEM_RED && head.own;
        follows = Cfg.TargetListCache && head.stage != STAGE_FLAT;
        bad_code = ERR_NONE;
        if (head.epoch != cfg_i.epoch) bad_code = ERR_EPOCH;
        else if (head.poison) bad_code = ERR_POISON;
        else if (!known) bad_code = ERR_OPCODE;
        else if (head.len[14:8] != '0 || (head.len[7] && head.len[6:0] != '0)
                 || (head.len == '0) == op.payload ||
                 (head.opcode == OP_COUNTS && head.len[1:0] != '0))
            bad_code = ERR_LENGTH;
        else if (dynamic && ((head.cnt == '0 && !follows) || head.cnt > 5'(MaxTargets)
                             || (rowsp && head.cnt != 5'd1)))
            bad_code = ERR_TARGETS;
        else if (counted && 32'(head.tag) >= Cfg.N) bad_code = ERR_COUNT;
        low_in.bad = bad_code != ERR_NONE;
        low_in.op = rowsp ? 3'(OP_DYMULTIMEM_ST) : head.opcode[2:0];  // one with one target
        low_in.src = Cfg.PortW'(cfg_pkg::port_of(Cfg, head.src_far, head.src));
        low_in.len = low_in.bad ? bad_code : head.len[7:0];
        low_in.cnt = (dynamic && !low_in.bad) ? head.cnt : 5'd1;
        low_in.stage = head.stage;
        // source and stage of a red are not used: its type and operator take their place
        if (Cfg.Reds && head.opcode == OP_MULTIMEM_RED)
            {low_in.src, low_in.stage} = (Cfg.PortW + 2)'({head.dtype, head.redop});
        low_in.adds = counted ? CountW'(head.tag) + 1'b1 : '0;
        high_in.beyond = (head.addr >> Cfg.MaddrW) != '0;
        // addresses of ST_ROWSP have the row, too
        if (Cfg.SourceLists && cfg_i.source_lists && rowsp_q)
            high_in.beyond = (RowBit'(head.addr) >> Cfg.MaddrW) != '0;
        high_in.addr = head.addr[KeptW-1:0];
        high_in.tgt = target(head.target0);
    end

    lutram #(
        .Width($bits(low_t)),
        .Depth(Slots)
    ) i_low (
        .clk_i,
        .we_i(head_fire && head_phase == Low),
        .waddr_i(head_slot),
        .wdata_i(low_in),
        .raddr_i(hd_slot_i),
        .rdata_o(low_out)
    );
    lutram #(
        .Width($bits(high_t)),
        .Depth(Slots)
    ) i_high (
        .clk_i,
        .we_i(head_fire && head_phase == ((Cfg.HeadFlits == 1) ? Low : High)),
        .waddr_i(head_slot),
        .wdata_i(high_in),
        .raddr_i(hd_slot_i),
        .rdata_o(high_out)
    );

    assign hd_o.bad = low_out.bad;
    assign hd_o.op = opcode_e'({3'(OP_ST >> 3), low_out.op});
    assign hd_o.src = low_out.src;
    assign hd_o.len = low_out.len;
    assign hd_o.cnt = low_out.cnt;
    assign hd_o.stage = low_out.stage;
    assign hd_o.adds = low_out.adds;
    assign hd_o.beyond = high_out.beyond;
    assign hd_o.addr = high_out.addr[Cfg.MaddrW-1:0];
    if (Cfg.SourceLists) begin : gen_row
        assign hd_o.row = high_out.addr[RowBit+:RowBits];
    end else begin : gen_no_row
        assign hd_o.row = '0;
    end

    // ---- targets ----
    logic [FlitsW-1:0] tgt_flit;
    logic [3:0] tgt_behind;  // number among those behind the first
    logic [((TgtLanes == 0) ? 1 : TgtLanes)*TgtW-1:0] tgt_in, tgt_out;
    logic [TgtAw-1:0] tgt_waddr, tgt_raddr;

    assign tgt_flit = flits_q[head_sel];
    assign tgt_behind = hd_tgt_i - 4'd1;

    always_comb begin
        tgt_in = '0;
        for (int unsigned l = 0; l < TgtLanes; l++)
        tgt_in[l*TgtW+:TgtW] = target(head_data[16*l+:16]);
    end

    if (TgtFlits > 1) begin : gen_flits
        assign tgt_waddr = {head_slot, tgt_flit[TfW-1:0]};
        assign tgt_raddr = {hd_slot_i, TfW'(tgt_behind >> Cfg.LaneW)};
    end else begin : gen_flit
        assign tgt_waddr = head_slot;
        assign tgt_raddr = hd_slot_i;
    end

    // flits of a list that is too long are left out: its packet is bad
    lutram #(
        .Width($bits(tgt_in)),
        .Depth(2 ** TgtAw)
    ) i_targets (
        .clk_i,
        .we_i(head_fire && head_phase == Targets && tgt_flit < FlitsW'(TgtFlits)),
        .waddr_i(tgt_waddr),
        .wdata_i(tgt_in),
        .raddr_i(tgt_raddr),
        .rdata_o(tgt_out)
    );

    assign hd_o.tgt = (hd_tgt_i == '0) ? high_out.tgt
                      : tgt_out[int'(tgt_behind[Cfg.LaneW-1:0])*TgtW +: TgtW];

    // ---- payload ----
    assign pay_we_o = '{
            fire[0] && in_payload[0] && !flits_q[0][Cfg.PayW],
            fire[1] && in_payload[1] && !flits_q[1][Cfg.PayW]
        };
    assign pay_link_addr_o = {link_slot, flits_q[0][Cfg.PayW-1:0]};
    assign pay_loc_addr_o = {loc_slot, flits_q[1][Cfg.PayW-1:0]};

    // ---- whole packets ----
    logic whole_sel, whole, room;
    logic [FlitsW-1:0] whole_flits;
    logic [$clog2(Slots+1)-1:0] level;

    assign whole_sel = !(fire[0] && st_i.last);
    assign whole = fire[whole_sel] && last[whole_sel];
    assign whole_flits = in_payload[whole_sel] ? flits_q[whole_sel] + 1'b1 : '0;

    fifo #(
        .Width(SlotW + 1 + FlitsW),
        .Depth(Slots)
    ) i_whole (
        .clk_i,
        .rst_ni,
        .valid_i(whole),
        .ready_o(room),
        .data_i({slot[whole_sel], (!whole_sel && st_i.err) || !legal_end[whole_sel], whole_flits}),
        .valid_o(pkt_o.valid),
        .ready_i(pkt_ready_i),
        .data_o({pkt_o.slot, pkt_o.bad, pkt_o.flits}),
        .level_o(level)
    );

    // ---- slots ----
    logic free_link;

    assign free_link = free_slot_i < SlotW'(Cfg.RxStorePkts);
    assign slot[0] = SlotW'(link_slot);
    assign slot[1] = SlotW'(Cfg.RxStorePkts) + SlotW'(loc_slot);

    slot_list #(
        .Slots(Cfg.RxStorePkts)
    ) i_link (
        .clk_i,
        .rst_ni,
        .take_i(fire[0] && st_i.last),
        .avail_o(avail[0]),
        .slot_o(link_slot),
        .free_i(free_valid_i && free_link),
        .free_slot_i(LinkW'(free_slot_i)),
        .all_free_o(all_free[0])
    );
    slot_list #(
        .Slots(LocPkts)
    ) i_loc (
        .clk_i,
        .rst_ni,
        .take_i(fire[1] && loc_i.last),
        .avail_o(avail[1]),
        .slot_o(loc_slot),
        .free_i(free_valid_i && !free_link),
        .free_slot_i(LocW'(free_slot_i - SlotW'(Cfg.RxStorePkts))),
        .all_free_o(all_free[1])
    );

    assign crd_o = free_valid_i && free_link;
    assign idle_o = all_free == '1 && phase_q[0] == Low && phase_q[1] == Low;

    wire unused = &{1'b0, level};

    `MW_CONTRACT(whole, room, "a packet without a place")
    `MW_CONTRACT(free_valid_i, free_slot_i < SlotW'(Slots), "a slot that does not exist is freed")
    `MW_CONTRACT(fire == '1, in_payload != '0, "two headers in one cycle")
    `MW_STABLE(pkt_o.valid, pkt_ready_i, {pkt_o.slot, pkt_o.bad, pkt_o.flits},
               "a packet changes before it is taken")
endmodule

`default_nettype wire
