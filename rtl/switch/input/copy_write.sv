// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Writes the flits of a packet into the queues of its outputs.
//
// Function: The header goes into every queue, because its outputs are not known yet. Each target
// goes only into the queue of its own output, into the next free lane of the copy there (the trim).
// The payload goes into the queues of all outputs. The first target of each copy comes with the
// description that egress needs.
// Order: A flit is written in its cycle. A target flit takes one cycle per target.
// Back-pressure: None. Credits guarantee the room.
// Errors: end_o marks the last flit of the payload as the header defines it, or a flit that ends
// the packet early. A payload of another length is marked bad.
`default_nettype none

module copy_write #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default
) (
    input  wire logic       clk_i,
    input  wire logic [Cfg.PortW-1:0] port_i,  // constant: the number of this port

    // the flit
    input  wire logic                 valid_i,
    input  wire logic                 last_i,
    input  wire logic                 err_i,
    input  wire logic [Cfg.FlitW-1:0] data_i,
    input  wire packet_pkg::cls_e     cls_i,
    // what it is: one of these, or it is dropped; both of the first two where a header is one flit
    input  wire logic                 begin_i,      // first of a header
    input  wire logic                 head_i,       // last of a header
    input  wire logic                 list_i,       // targets
    input  wire logic                 pay_i,        // payload
    input  wire logic                 refuse_i,     // with a header: nothing is written
    input  wire logic [Cfg.PayW-1:0]  flits_i,      // with head_i: of the payload, less 1
    input  wire logic                 described_i,  // with head_i: its target has been looked up

    // its target
    input  wire logic [15:0]      target_i,
    input  wire logic [Cfg.N-1:0] sel_i,       // output, by header or list
    input  wire logic [Cfg.N-1:0] list_sel_i,  // by list
    input  wire logic [Cfg.N-1:0] all_i,       // with pay_i: the outputs of the packet
    input  wire logic             again_i,     // see target_walk
    input  wire logic [3:0]       earlier_i,

    // to the queues
    output logic [Cfg.N-1:0]     wr_valid_o,
    output logic [1:0]           wr_region_o,
    output logic [Cfg.PayW:0]    wr_line_o,  // see voq
    output logic [Cfg.Lanes-1:0] wr_lane_o,
    output logic [Cfg.FlitW:0]   wr_data_o,  // {bad, flit}
    output logic [Cfg.N-1:0]     desc_we_o,
    output logic [Cfg.PayW-1:0]  desc_len_o,

    output logic end_o,   // the payload ends here
    output logic wrong_o  // and not as the header says; with end_o
);
    import packet_pkg::*;

    localparam int unsigned HeadW = Cfg.PayW - 1;  // a flit of header and targets

    logic [Cfg.PayW-1:0] flits_q, count_q;
    logic new_flit;  // the target begins a target flit of its copy
    logic [HeadW-1:0] flit_no;
    logic [Cfg.FlitW-1:0] flit;

    // ---- header and targets ----
    assign new_flit = earlier_i[Cfg.LaneW-1:0] == '0;

    always_comb begin
        wr_region_o = pay_i ? 2'd3 : cls_i;
        flit_no = head_i ? HeadW'(Cfg.HeadFlits - 1) : '0;
        if (cls_i == CLS_CTRL)
            flit_no = HeadW'(Cfg.HeadFlits + Cfg.ListFlits)
                      | (head_i ? HeadW'(Cfg.HeadFlits - 1) : '0);
        wr_lane_o = '1;
        wr_valid_o = '0;
        desc_we_o = '0;
        if (begin_i || head_i) begin
            if (valid_i && !refuse_i) wr_valid_o = '1;
            if (described_i && head_i) desc_we_o = sel_i;
        end else if (list_i) begin
            if (valid_i) begin
                wr_valid_o = list_sel_i;
                desc_we_o = list_sel_i;
            end
            if (!again_i) begin
                flit_no = HeadW'(Cfg.HeadFlits - 1);
                wr_lane_o = Cfg.Lanes'(1) << (Cfg.Lanes - 1);
            end else begin
                flit_no = HeadW'(Cfg.HeadFlits) + HeadW'(earlier_i >> Cfg.LaneW);
                wr_lane_o = new_flit ? '1 : Cfg.Lanes'(1) << earlier_i[Cfg.LaneW-1:0];
            end
        end else if (pay_i) begin
            if (valid_i) wr_valid_o = all_i;
        end
    end

    header_low_t head;
    attributes_t op;

    always_comb begin
        flit = data_i;
        head = data_i[63:0];
        op = attributes_of(head.opcode, Cfg.MergeLoads);
        if (list_i) begin
            // zeros behind the first target of a target flit
            for (int unsigned l = 0; l < Cfg.Lanes; l++)
            flit[16*l+:16] = (l != 0 && again_i && new_flit) ? '0 : target_i;
        end else if (begin_i) begin
            head.src = port_i[NearBits-1:0];
            if (Cfg.N > PortsNear) head.src_far = (PortBits - NearBits)'(port_i >> NearBits);
            // the output fills it in
            if (op.targets == TARGETS_EXPERTS) head.cnt = '0;
            flit[63:0] = head;
        end
    end

    // ---- payload ----
    assign end_o = valid_i && pay_i && (last_i || count_q == flits_q);
    assign wrong_o = !last_i || count_q != flits_q;

    // One that ends early gets its mark where the output expects the last flit.
    assign wr_line_o = pay_i ? {1'b0, last_i ? flits_q : count_q}
                       : {1'b1, cls_i == CLS_REQ, flit_no};
    assign wr_data_o = {pay_i && (err_i || wrong_o), flit};
    assign desc_len_o = head_i ? flits_i : flits_q;

    always_ff @(posedge clk_i) begin
        if (valid_i && head_i) begin
            flits_q <= flits_i;
            count_q <= '0;
        end else if (valid_i && pay_i) begin
            count_q <= count_q + 1'b1;
        end
    end
endmodule

`default_nettype wire
