// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Decodes the header of a packet that enters the switch, and finds its first error.
//
// Function: It checks opcode, room for a request, reduction, epoch, length and number of targets,
// in this order. target_lookup finds where its targets are.
// Latency: Combinational.
`default_nettype none

module header_check #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default
) (
    input  wire logic                valid_i,  // the header is complete; else code_o is ERR_NONE
    input  wire packet_pkg::header_t head_i,
    input  wire packet_pkg::cls_e    cls_i,  // by the link
    input  wire logic [1:0]          epoch_i,
    input  wire logic                no_room_i,  // for one more open reduction, or
                                                 // requests are not taken
    input  wire logic                by_switch_i,  // the switch opens reductions
    input  wire logic                loads_i,      // rows are loaded

    output logic                dynamic_o,  // its targets are experts
    output logic                follow_o,  // its targets are those of the open row, see row_outputs
    output logic                group_o,  // its target is a static group
    output logic                ready_o,  // it ends here, see ready_lanes
    output logic                answer_o,  // its targets are those of a load, see merge_table
    output logic                pay_o,  // a payload follows
    output logic [Cfg.PayW-1:0] flits_o,  // of the payload, less 1
    output error_pkg::err_e     code_o
);
    import packet_pkg::*;
    import error_pkg::*;

    attributes_t op;
    logic built, known, fits, rowsp;  // rowsp: it has exactly one target
    logic [8:0] span;  // bytes from the start of the first payload flit, less 1
    logic [Cfg.FlitLog2-1:0] skip;

    assign op = attributes_of(head_i.opcode, Cfg.MergeLoads);
    always_comb begin
        unique case (op.needs)
            NEEDS_NOTHING:           built = 1'b1;
            NEEDS_ROW_SPARSE:        built = Cfg.Multicast && Cfg.RowSparse;
            NEEDS_SWITCH_REDUCTIONS: built = Cfg.SwitchReductions && by_switch_i;
            NEEDS_MERGED_LOADS:      built = Cfg.MergeLoads && loads_i;
            default:                 built = Cfg.Multicast;
        endcase
    end
    assign rowsp = built && op.needs == NEEDS_ROW_SPARSE;
    assign dynamic_o = built && op.targets == TARGETS_EXPERTS && !follow_o;
    assign follow_o = Cfg.Multicast && Cfg.TargetListCache && head_i.opcode == OP_DYMULTIMEM_ST
                      && head_i.cnt == '0 && head_i.stage != STAGE_FLAT;
    assign group_o = built && op.targets == TARGETS_GROUP;
    // partial sums, which have a target, go on to its join
    assign ready_o = built && op.receiver == UNIT_SWITCH && op.targets == TARGETS_NONE;
    assign answer_o = Cfg.MergeLoads && built && op.targets == TARGETS_LOADS;
    assign pay_o = op.payload && head_i.len != '0;
    // partial sums have a queue of their own, in front of ingress
    assign known = built && op.sender == UNIT_HUB && op.cls != CLS_PART
                   && head_i.opcode[5:4] == cls_i && head_i.cls == cls_i;
    assign skip = head_i.addr[Cfg.FlitLog2-1:0];
    assign span = {1'b0, head_i.len[7:0]} + {{(9 - Cfg.FlitLog2) {skip == '0}}, skip - 1'b1};
    assign flits_o = span[Cfg.FlitLog2+:Cfg.PayW];

    always_comb begin
        if (cls_i == CLS_REQ) fits = head_i.len != '0;
        else if (pay_o) fits = head_i.len[14:8] == '0 && span[8:7] == '0;
        else fits = head_i.len == '0;
    end

    red_pkg::red_t red;
    logic offered;  // the switch computes it

    assign red = '{dtype: head_i.dtype, redop: head_i.redop};
    assign offered = red_pkg::has(Cfg.RedTypes, Cfg.RedOps, red);

    always_comb begin
        code_o = ERR_NONE;
        if (valid_i) begin
            if (!known) code_o = ERR_OPCODE;
            else if (cls_i == CLS_REQ && no_room_i) code_o = ERR_WINDOW;
            else if (cls_i == CLS_REQ && !offered) code_o = ERR_REDUCTION;
            else if (head_i.epoch != epoch_i) code_o = ERR_EPOCH;
            else if (!fits) code_o = ERR_LENGTH;
            else if (dynamic_o
                     && (head_i.cnt == '0 || head_i.cnt > 5'd16 || (rowsp && head_i.cnt != 5'd1)))
                code_o = ERR_TARGETS;
        end
    end

endmodule

`default_nettype wire
