// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Keeps answers of loads at the port of their home, for later loads of the same rows.
//
// Function: A row gets a slot with the first packet of its answer. Later loads of the row hit this
// slot and wait (wait_q). When the row is complete, all waiting loads get it, packet by packet, as
// its home would send it. A new row replaces the least recently used one. The new row is not kept
// if another row is still arriving, if a load waits for the replaced slot, or if that slot is being
// sent. go_i clears all slots, so no layer gets a row of an earlier layer. Slots lie 2^row_shift_i
// bytes apart in the RAM.
// Ports: enable_i: the layer keeps answers. look_i: merge_table has no open entry for that load.
// hit_o: the load waits here. twice_o: it is refused, because its reader already waits for this
// row. answer_i: an answer that is not that of a bypass. flit_i: payload of the packet announced
// last. packet_o: flits that are sent, with epoch_i, each until packet_take_i. use_o: a packet
// begins and uses a credit, which may_i allows. evict_o: a kept row loses its slot. idle_o: nothing
// waits to be sent.
// Order: One row is sent at a time. Flits of a packet follow without gaps.
// Back-pressure: A packet waits for may_i and for the parser of the input. A load waits until its
// row is complete. If the row is already being sent, the load waits until it is sent again.
// Errors: A row is not kept if one of its packets is poisoned or damaged, or if another answer
// begins before its end. Waiting loads then get poisoned packets. A later load fetches the row
// again.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module kept_answers #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type look_t = `MW_LOOK(Cfg),
    parameter type answering_t = `MW_ANSWERING(Cfg),
    parameter type marked_t = `MW_MARKED(Cfg),
    parameter type stream_t = `MW_STREAM(Cfg)
) (
    input  wire logic                      clk_i,
    input  wire logic                      rst_ni,
    input  wire logic                      go_i,
    input  wire logic                      enable_i,
    input  wire logic [1:0]                epoch_i,
    input  wire logic [14:0]               row_bytes_i,
    input  wire logic [3:0]                row_shift_i,

    input  wire look_t      look_i,
    output logic            hit_o,
    output logic            twice_o,

    input  wire answering_t answer_i,
    input  wire marked_t    flit_i,

    output stream_t               packet_o,
    output logic [Cfg.Others-1:0] packet_mask_o,  // who gets it
    output logic                  row_end_o,      // it is the last one of its row
    input  wire logic             packet_take_i,
    input  wire logic             may_i,
    output logic                  use_o,          // a packet begins

    output logic evict_o,  // a kept row loses its slot
    output logic idle_o
);
    localparam int unsigned Slots = Cfg.KeepRows;
    localparam int unsigned SlotW = cfg_pkg::index_w(Slots);
    localparam int unsigned Flits = Cfg.MergeKeep / Cfg.FlitBytes;
    localparam int unsigned FlitAW = $clog2(Flits);

    if (Slots == 0 || Flits != (1 << FlitAW) || Cfg.HeadFlits != 1
            || Cfg.PartSharedRam) begin : gen_check
        $error("kept_answers: MergeKeep is a power of two, flits have 16 bytes, no PartSharedRam");
    end

    typedef logic [SlotW-1:0] slot_t;

    // ---- slots ----
    logic [Slots-1:0] tagged_q;  // it has a row, or takes one
    logic [Slots-1:0] complete_q;
    logic [Slots-1:0] bad_q;  // the row is not kept: it is sent to those that wait, no more
    logic [Slots-1:0][Cfg.LoadIndexW-1:0] tag_q;
    logic [Slots-1:0][Cfg.Others-1:0] wait_q;
    logic [Slots-1:0][SlotW-1:0] order_q;  // slots, the one that was used last first
    logic [Slots-1:0] match, ready, in_use, joined;
    slot_t oldest, used;
    logic touch, begins, starts, known, kept;
    logic [SlotW:0] places;  // of rows in the RAM: slots from this number on are not used

    // ---- a row that comes ----
    logic taking_q, pay_q;  // pay_q: its packet's payload comes
    slot_t into_q;
    logic [FlitAW-1:0] fill_q, base;
    logic [14:0] bytes_q;  // that came
    logic follows, broken, spoilt, ended;

    // ---- a row that is sent ----
    logic sending_q, in_packet_q;
    slot_t out_q;
    logic [Cfg.Others-1:0] mask_q;
    logic [14:0] sent_q;  // bytes of the row before this packet
    logic [Cfg.PayW-1:0] flit_q;
    logic [14:0] left, len;
    logic [FlitAW-1:0] read_q, read;
    logic [Cfg.FlitW-1:0] word;
    packet_pkg::header_t head;
    slot_t ready_slot;

    assign places = ((Cfg.MergeKeep >> row_shift_i) >= Slots)
                    ? (SlotW + 1)'(Slots) : (SlotW + 1)'(Cfg.MergeKeep >> row_shift_i);
    always_comb begin
        oldest = '0;
        for (int unsigned s = 0; s < Slots; s++)
        if ((SlotW + 1)'(order_q[s]) < places) oldest = order_q[s];
    end

    always_comb begin
        known = 1'b0;
        ready_slot = '0;
        for (int unsigned s = 0; s < Slots; s++) begin
            match[s] = tagged_q[s] && !bad_q[s] && tag_q[s] == look_i.index;
            if (tagged_q[s] && !bad_q[s] && tag_q[s] == answer_i.row) known = 1'b1;
            in_use[s] = wait_q[s] != '0 || (taking_q && into_q == slot_t'(s))
                        || (sending_q && out_q == slot_t'(s));
            ready[s] = complete_q[s] && wait_q[s] != '0;
            if (ready[s]) ready_slot = slot_t'(s);
        end
    end
    // not into the slot that a load hits in this cycle
    assign starts = answer_i.first && enable_i && !known && places != '0 && !in_use[oldest]
                    && !taking_q && !(look_i.valid && match[oldest]);
    assign hit_o = look_i.valid && enable_i
                   && (match != '0 || (starts && answer_i.row == look_i.index));
    always_comb begin
        twice_o = sending_q && match[out_q] && (mask_q & look_i.reader) != '0;
        used = starts ? oldest : '0;
        for (int unsigned s = 0; s < Slots; s++) begin
            if (match[s] && (wait_q[s] & look_i.reader) != '0) twice_o = 1'b1;
            if (match[s] && !starts) used = slot_t'(s);
            joined[s] = match[s] || (match == '0 && oldest == slot_t'(s));
        end
        twice_o &= look_i.valid && enable_i;
    end
    assign kept = hit_o && !twice_o;
    assign evict_o = starts && complete_q[oldest] && !bad_q[oldest];
    assign touch = starts || kept;

    // ---- a row that comes: its flits go to the RAM in their order ----
    assign base = FlitAW'(FlitAW'(oldest) << (row_shift_i - 4'(Cfg.FlitLog2)));
    assign spoilt = (pay_q && flit_i.valid && flit_i.err) || (follows && answer_i.poison);
    assign ended = taking_q && pay_q && flit_i.valid && flit_i.last && bytes_q == row_bytes_i;
    assign follows = answer_i.next && taking_q && answer_i.row == tag_q[into_q];
    // another answer begins before the row is complete
    assign broken = taking_q && answer_i.first;

    // ---- a row that is sent ----
    assign begins = !sending_q && ready != '0;
    assign left = row_bytes_i - sent_q;
    assign len = (left > 15'd128) ? 15'd128 : left;

    always_comb begin
        head = '0;
        head.opcode = packet_pkg::OP_LD_RESP;
        head.cls = packet_pkg::CLS_STORE;
        head.epoch = epoch_i;
        head.len = len;
        head.poison = bad_q[out_q];
        head.addr = $bits(head.addr)'(64'(tag_q[out_q]) << row_shift_i) + $bits(head.addr)'(sent_q);
    end
    assign packet_o.valid = sending_q && (in_packet_q || may_i);
    assign packet_o.data = in_packet_q ? word : Cfg.FlitW'(head);
    assign packet_o.last = in_packet_q && 15'(flit_q) == ((len - 15'd1) >> Cfg.FlitLog2);
    assign packet_mask_o = mask_q;
    assign row_end_o = left <= 15'd128;
    assign use_o = packet_o.valid && packet_take_i && !in_packet_q;
    assign read = read_q + FlitAW'(in_packet_q && packet_take_i);

    ram_sdp #(
        .Width(Cfg.FlitW),
        .Depth(Flits)
    ) i_rows (
        .clk_i,
        .we_i(taking_q && pay_q && flit_i.valid),
        .waddr_i(fill_q),
        .wdata_i(flit_i.data),
        .wbe_i('1),
        .re_i(sending_q),
        .raddr_i(read),
        .rdata_o(word)
    );

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) begin
            {taking_q, pay_q, sending_q, in_packet_q} <= '0;
            {tagged_q, complete_q, bad_q} <= '0;
            wait_q <= '0;
            for (int unsigned s = 0; s < Slots; s++) order_q[s] <= slot_t'(s);
        end else begin
            // the slot used last moves to the front
            if (touch) begin
                order_q[0] <= used;
                for (int unsigned s = 1; s < Slots; s++) begin
                    logic behind;  // the slot was in front of this place
                    behind = 1'b0;
                    for (int unsigned f = 0; f < s; f++) if (order_q[f] == used) behind = 1'b1;
                    if (!behind) order_q[s] <= order_q[s-1];
                end
            end
            // a new transmission serves all waiting loads; a load of this cycle waits for the next
            // transmission
            for (int unsigned s = 0; s < Slots; s++)
            wait_q[s] <= ((begins && ready_slot == slot_t'(s)) ? '0 : wait_q[s])
                         | ((kept && joined[s]) ? look_i.reader : '0);

            if (starts) begin
                taking_q <= 1'b1;
                into_q <= oldest;
                tagged_q[oldest] <= 1'b1;
                complete_q[oldest] <= 1'b0;
                bad_q[oldest] <= answer_i.poison;
                tag_q[oldest] <= answer_i.row;
            end else if (broken || ended) begin
                taking_q <= 1'b0;
                complete_q[into_q] <= 1'b1;
            end
            if (taking_q && (broken || spoilt)) bad_q[into_q] <= 1'b1;
            if (answer_i.first || answer_i.next) pay_q <= starts || follows;
            else if (flit_i.valid && flit_i.last) pay_q <= 1'b0;

            if (begins) begin
                sending_q <= 1'b1;
                out_q <= ready_slot;
                mask_q <= wait_q[ready_slot];
            end else if (packet_o.valid && packet_take_i) begin
                in_packet_q <= !packet_o.last;
                if (packet_o.last && row_end_o) begin
                    sending_q <= 1'b0;
                    if (bad_q[out_q] && wait_q[out_q] == '0) tagged_q[out_q] <= 1'b0;
                end
            end
        end
        if (starts) {fill_q, bytes_q} <= {base, (row_bytes_i > 15'd128) ? 15'd128 : row_bytes_i};
        else begin
            if (pay_q && flit_i.valid) fill_q <= fill_q + 1'b1;
            if (follows)
                bytes_q <= (row_bytes_i - bytes_q > 15'd128) ? bytes_q + 15'd128 : row_bytes_i;
        end
        if (begins) begin
            sent_q <= '0;
            read_q <= FlitAW'(FlitAW'(ready_slot) << (row_shift_i - 4'(Cfg.FlitLog2)));
        end else if (packet_o.valid && packet_take_i) begin
            flit_q <= in_packet_q ? flit_q + 1'b1 : '0;
            read_q <= read;
            if (packet_o.last) sent_q <= sent_q + 15'd128;
        end
    end

    assign idle_o = !sending_q && ready == '0;

    `MW_CONTRACT(use_o, may_i, "a kept packet begins without a credit")
    `MW_CONTRACT(go_i, idle_o, "a layer begins while a kept row is sent")
    `MW_CONTRACT(1'b1, $onehot0(match), "two slots have one row")
endmodule

`default_nettype wire
