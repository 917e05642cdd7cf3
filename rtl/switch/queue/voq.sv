// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Queue of one input and one output of the switch, with a ring of packet slots for each of the
// classes CTRL, STORE and REQ in one block RAM.
//
// Order: First in, first out inside a class. The output selects the class. Input and output move
// one flit per cycle each.
// Back-pressure: None at the input, as credits bound the packets. A STORE credit of the input
// reserves a slot in every queue of that input. room_o: this queue has a slot that neither holds a
// packet nor is reserved. A credit may return in each cycle in which every queue of the input has
// room. A packet in one queue takes nothing from the others. A blocked output therefore does not
// stop packets for other outputs until its own queue is full.
// Latency: A packet becomes visible with put_i.push, when its header and targets are in the RAM.
// Its payload may still follow, one flit per cycle (cut-through). Words written before the
// push lie in the free slot after the last packet, so the input may write before it is decided
// whether this output is a target.
//
// Look-ahead window (see window): the output sees the next STORE packet only while that is one of
// the limit_i packets from the input's oldest one on. The window does not affect other classes.
//
// Address in the RAM: {line, slot}. Line: {0, flit} in the payload of STORE, and {1, request, flit}
// elsewhere. Header and targets are flits 0 .. HF+TF-1, and the header of CTRL follows. Bit 8F of
// the word marks the last flit of a payload that is not valid.
//
// With PartSharedRam the RAM also holds another queue of the same input and output (part_queue), in
// the upper half of the slots of REQ. REQ then uses only the lower half. Packets and partials never
// write, and never read, in the same cycle (write_turns, read_turns). If Late, a word of packets or
// partials is written one cycle after its address, as both are read late enough.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module voq #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type copy_t = `MW_COPY(Cfg),
    parameter type desc_t = `MW_DESC(Cfg),
    parameter type window_t = `MW_WINDOW(Cfg),
    parameter type slot_read_t = `MW_SLOT_READ(Cfg),
    parameter type shared_t = `MW_SHARED(Cfg)
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,

    // from the input; put_i.push: of class wr_i.region; wr_i and desc_i are common to its queues,
    // of packets or partials; put_i.wr, wr_i.lane and wr_i.data a cycle behind all others if Late
    input  wire bundle_pkg::queue_write_t put_i,
    // region: class of a header or target flit, 3: payload of STORE; data:
    // {bad, flit}, or of the partials
    input  wire copy_t wr_i,
    // dyn: has a target list; more: targets behind this output, less 1; pay: has a
    // payload; len: its flits, less 1
    input  wire desc_t desc_i,

    // look-ahead window, see window
    input  wire logic                scarce_i,  // the sender has few STORE credits left
    input  wire logic [Cfg.SeqW-1:0] limit_i,   // packets, 0: no limit
    input  wire window_t             win_i,
    output logic                     here_o,    // a copy of that packet is here and
                                                // has not been sent
    input  wire logic                sent_i,    // the STORE packet that was taken is sent but
                                                // for one flit at most

    input  wire bundle_pkg::store_steps_t steps_i,
    output logic                          room_o,

    // to the output
    output bundle_pkg::queue_state_t    state_o,
    input  wire bundle_pkg::queue_pop_t pop_i,   // the slot stays until free_i (STORE)
    output logic [Cfg.DescW-1:0]        desc_o,  // {stamp, slot, dyn, more, pay, len} of that
    input  wire logic                   free_i,  // last flit of a STORE packet read
    input  wire slot_read_t             rd_i,
    output logic [Cfg.FlitW:0]          rdata_o,  // one cycle after rd_i.re, else 0

    // partials; 0 without PartSharedRam
    input  wire shared_t         shared_i,
    output logic [Cfg.WordW-1:0] shared_rdata_o  // one cycle after shared_i.re, else 0
);
    import packet_pkg::*;

    localparam int unsigned RoomW = (Cfg.StorePkts > 1) ? $clog2(Cfg.StorePkts + 1) : 2;

    localparam int unsigned ReqSlotW = Cfg.PartSharedRam ? Cfg.SlotW - 1 : Cfg.SlotW;

    if (Cfg.StorePkts > 2**Cfg.SlotW || Cfg.CtrlPkts > 2**Cfg.SlotW || Cfg.OpenRows > 2**ReqSlotW
        || Cfg.SlotW < 1 + 32'(Cfg.PartSharedRam)) begin : gen_check
        $error("voq: SlotW does not fit");
    end

    // pointers, see ring_pkg; the ring of REQ may be a smaller one
    typedef logic [Cfg.SlotW:0] ptr_t;
    typedef logic [ReqSlotW:0] req_ptr_t;

    function automatic ptr_t after(input ptr_t p);
        return ptr_t'(ring_pkg::after(ring_pkg::ptr_t'(p), Cfg.SlotW));
    endfunction

    function automatic req_ptr_t after_req(input req_ptr_t p);
        return req_ptr_t'(ring_pkg::after(ring_pkg::ptr_t'(p), ReqSlotW));
    endfunction

    ptr_t ctrl_w_q, ctrl_r_q, store_w_q, store_r_q;
    req_ptr_t req_w_q, req_r_q;
    logic [Cfg.SlotW-1:0] open_q;  // slot of the packet whose payload is being written
    logic [RoomW-1:0] room_q;
    logic [Cfg.SlotW-1:0] wr_slot;

    always_comb begin
        unique case (wr_i.region)
            CLS_CTRL:  wr_slot = ctrl_w_q[Cfg.SlotW-1:0];
            CLS_STORE: wr_slot = store_w_q[Cfg.SlotW-1:0];
            CLS_REQ:   wr_slot = Cfg.SlotW'(req_w_q[ReqSlotW-1:0]);
            default:   wr_slot = open_q;
        endcase
    end

    logic [Cfg.PayW+Cfg.SlotW:0] waddr, ram_waddr, raddr;  // {line, slot}
    logic [Cfg.WordW-1:0] word;

    if (Cfg.PartSharedRam) begin : gen_shared_ram
        // of whom the word is that was read; nothing waits for the RAM to be reported
        logic host_q, shared_q;

        always_ff @(posedge clk_i) {host_q, shared_q} <= {rd_i.re, shared_i.re};
        assign rdata_o = host_q ? word[Cfg.FlitW:0] : '0;
        assign shared_rdata_o = shared_q ? word : '0;
        assign waddr = shared_i.we
                       ? {2'b11, shared_i.waddr[Cfg.SharedRamW-1 -: Cfg.PayW-1], 1'b1,
                          shared_i.waddr[Cfg.SlotW-2:0]} : {wr_i.line, wr_slot};
        assign raddr = rd_i.re ? {rd_i.line, rd_i.slot}
                       : {2'b11, shared_i.raddr[Cfg.SharedRamW-1 -: Cfg.PayW-1], 1'b1,
                          shared_i.raddr[Cfg.SlotW-2:0]};
    end else begin : gen_own_ram
        assign waddr = {wr_i.line, wr_slot};
        assign raddr = {rd_i.line, rd_i.slot};
        assign rdata_o = word;
        assign shared_rdata_o = '0;
        wire unused_shared = &{1'b0, shared_i.we, shared_i.waddr, shared_i.raddr};
    end

    if (Cfg.Late) begin : gen_late
        always_ff @(posedge clk_i) ram_waddr <= waddr;
    end else begin : gen_now
        assign ram_waddr = waddr;
    end

    gated_ram #(
        .Width(Cfg.WordW),
        .Depth(1 << (1 + Cfg.PayW + Cfg.SlotW)),
        .LaneW(16)
    ) i_ram (
        .clk_i,
        .we_i(put_i.wr),
        .lane_i(wr_i.lane),
        .waddr_i(ram_waddr),
        .wdata_i(wr_i.data),
        .re_i(rd_i.re || Cfg.PartSharedRam),
        .raddr_i(raddr),
        .rdata_o(word)
    );

    // ---- what the output needs before it reads ----
    localparam int unsigned StoreDescW = 6 + Cfg.PayW + Cfg.StampW;
    localparam int unsigned ReqDescW = 5 + Cfg.StampW;

    logic [StoreDescW-1:0] store_desc;
    logic [ReqDescW-1:0] req_desc;
    logic [Cfg.StampB-1:0] store_stamp, req_stamp, ctrl_stamp;

    lutram #(
        .Width(StoreDescW),
        .Depth(1 << Cfg.SlotW)
    ) i_store_desc (
        .clk_i,
        .we_i(put_i.desc && wr_i.region == CLS_STORE),
        .waddr_i(store_w_q[Cfg.SlotW-1:0]),
        .wdata_i(StoreDescW'({desc_i.stamp, desc_i.dyn, desc_i.more, desc_i.pay, desc_i.len})),
        .raddr_i(store_r_q[Cfg.SlotW-1:0]),
        .rdata_o(store_desc)
    );

    lutram #(
        .Width(ReqDescW),
        .Depth(1 << ReqSlotW)
    ) i_req_desc (
        .clk_i,
        .we_i(put_i.desc && wr_i.region == CLS_REQ),
        .waddr_i(req_w_q[ReqSlotW-1:0]),
        .wdata_i(ReqDescW'({desc_i.stamp, desc_i.dyn, desc_i.more})),
        .raddr_i(req_r_q[ReqSlotW-1:0]),
        .rdata_o(req_desc)
    );

    if (Cfg.StampW != 0) begin : gen_stamp
        lutram #(
            .Width(Cfg.StampW),
            .Depth(1 << Cfg.SlotW)
        ) i_ctrl_stamp (
            .clk_i,
            .we_i(put_i.desc && wr_i.region == CLS_CTRL),
            .waddr_i(ctrl_w_q[Cfg.SlotW-1:0]),
            .wdata_i(desc_i.stamp),
            .raddr_i(ctrl_r_q[Cfg.SlotW-1:0]),
            .rdata_o(ctrl_stamp)
        );
        assign store_stamp = store_desc[StoreDescW-1-:Cfg.StampW];
        assign req_stamp = req_desc[ReqDescW-1-:Cfg.StampW];
    end else begin : gen_no_stamp
        assign {store_stamp, req_stamp, ctrl_stamp} = '0;
    end

    logic [2:0] has_q, single;  // a class has a packet (w_q != r_q); if so, it has one
    logic has_store, in_window;  // the next STORE packet is inside the window

    assign single = {
        after_req(req_r_q) == req_w_q, after(store_r_q) == store_w_q, after(ctrl_r_q) == ctrl_w_q
    };
    assign has_store = has_q[CLS_STORE];
    assign state_o.has = {has_q[CLS_REQ], has_store && in_window, has_q[CLS_CTRL]};

    always_comb begin
        unique case (pop_i.cls)
            CLS_CTRL: desc_o = Cfg.DescW'({ctrl_stamp, ctrl_r_q[Cfg.SlotW-1:0], (6+Cfg.PayW)'(0)});
            CLS_REQ:  desc_o = Cfg.DescW'({req_stamp, Cfg.SlotW'(req_r_q[ReqSlotW-1:0]),
                                           req_desc[4:0], 1'b0, Cfg.PayW'(0)});
            default:  desc_o = Cfg.DescW'({store_stamp, store_r_q[Cfg.SlotW-1:0],
                                           store_desc[5+Cfg.PayW:0]});
        endcase
        if (!Cfg.Multicast) desc_o[1+Cfg.PayW+:5] = '0;
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            ctrl_w_q <= '0;
            ctrl_r_q <= '0;
            store_w_q <= '0;
            store_r_q <= '0;
            req_w_q <= '0;
            req_r_q <= '0;
            has_q <= '0;
        end else begin
            if (put_i.push) begin
                unique case (wr_i.region)
                    CLS_CTRL:  ctrl_w_q  <= after(ctrl_w_q);
                    CLS_STORE: store_w_q <= after(store_w_q);
                    default:   req_w_q   <= after_req(req_w_q);
                endcase
            end
            if (pop_i.valid) begin
                unique case (pop_i.cls)
                    CLS_CTRL: ctrl_r_q  <= after(ctrl_r_q);
                    CLS_REQ:  req_r_q   <= after_req(req_r_q);
                    default:  store_r_q <= after(store_r_q);
                endcase
            end
            for (int unsigned c = 0; c < 3; c++) begin
                has_q[c] <= (put_i.push && wr_i.region == 2'(c))
                            || (has_q[c] && !(pop_i.valid && pop_i.cls == 2'(c) && single[c]));
            end
        end
    end

    always_ff @(posedge clk_i) begin
        if (wr_i.region == CLS_STORE) open_q <= store_w_q[Cfg.SlotW-1:0];
    end

    // ---- look-ahead window ----
    if (Cfg.Window != 0) begin : gen_window
        logic [Cfg.SeqW-1:0] seq, ahead, sending_seq_q;
        logic sending_q;  // a STORE packet was taken and is not sent
        logic first;  // the next STORE packet is the oldest of the input

        lutram #(
            .Width(Cfg.SeqW),
            .Depth(1 << Cfg.SlotW)
        ) i_seq (
            .clk_i,
            .we_i(put_i.desc && wr_i.region == CLS_STORE),
            .waddr_i(store_w_q[Cfg.SlotW-1:0]),
            .wdata_i(win_i.seq),
            .raddr_i(store_r_q[Cfg.SlotW-1:0]),
            .rdata_o(seq)
        );

        assign ahead = seq - win_i.oldest;
        assign in_window = limit_i == '0 || ahead < limit_i;
        assign first = has_store && ahead == '0;
        assign state_o.urgent = (limit_i == '0) ? scarce_i && !room_o : first;
        assign here_o = first || (sending_q && !sent_i && sending_seq_q == win_i.oldest);

        always_ff @(posedge clk_i) begin
            if (!rst_ni) sending_q <= 1'b0;
            else if (pop_i.valid && pop_i.cls == CLS_STORE) sending_q <= 1'b1;
            else if (sent_i) sending_q <= 1'b0;
            if (pop_i.valid && pop_i.cls == CLS_STORE) sending_seq_q <= seq;
        end
    end else begin : gen_no_window
        assign in_window = 1'b1;
        assign {here_o, state_o.urgent} = '0;
    end

    // ---- slots that are neither taken nor promised ----
    assign room_o = room_q != '0;

    logic missed_q;  // a packet of the input did not come here: its promise is void, a cycle later

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            room_q <= '0;
            missed_q <= 1'b0;
        end else begin
            missed_q <= steps_i.arrive && !put_i.push;
        end
        if (rst_ni && (missed_q || steps_i.issue || free_i)) begin
            // -1, 0 or 1 for the input's events
            automatic logic [1:0] change = 2'(missed_q) - 2'(steps_i.issue);
            room_q <= room_q + {{(RoomW - 1) {change[1]}}, change[0]} + RoomW'(free_i);
        end
    end

    `MW_CONTRACT(pop_i.valid, (state_o.has & (3'b001 << pop_i.cls)) != '0,
                 "a class without a packet")
    `MW_CONTRACT(put_i.push, wr_i.region != CLS_PART, "a packet enters as a payload")
    `MW_CONTRACT(steps_i.issue, room_o, "a credit that reserves no slot")
    `MW_CONTRACT(1'b1, room_q <= RoomW'(Cfg.StorePkts), "more free slots than there are")
    `MW_CONTRACT(Cfg.PartSharedRam && rd_i.re, !shared_i.re,
                 "packet and partial are read in one cycle")
endmodule

`default_nettype wire
