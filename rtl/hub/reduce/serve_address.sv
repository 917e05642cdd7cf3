// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Computes the address of a term, or of a row's destination: {{number << amount | index} <<
// row_shift} + base, in flits.
//
// Function: Each input performs one step per cycle. low_i and dest_i select the address. The shifts
// are a multiplier by powers of two, which costs no LUTs.
//
//   load_i    the number: in Lookup of a term (lookup_i) the local expert or the received row;
//             else the index at home; a static row's byte address; a dense row's number
//   alloc_i   expert << cap_shift + row of the allocator
//   index_i   received row << k_shift + list position; token << n_shift + GPU; where rows return
//             token << k_shift + position, and a finished row as it is
//   base_i    << row_shift, + base (static: only the destination's distance from the source)
//
// Order: The caller's steps. addr_o holds the result of the last one.
// Back-pressure: None.
// Latency: At most three steps for an address.
`default_nettype none

module serve_address #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default
) (
    input  wire logic                clk_i,
    input  wire node_pkg::node_cfg_t cfg_i,

    input  wire bundle_pkg::request_t         low_i,
    input  wire logic [Cfg.MaddrW-1:0]        x_i,             // address of the request
    input  wire logic                         dest_i,          // of the destination
    input  wire logic [Cfg.ExpW:0]            target_i,
    input  wire logic [node_pkg::ExpertW-1:0] le_i,            // its local expert
    input  wire logic [node_pkg::RowW-1:0]    row_i,           // of the allocator
    input  wire logic [Cfg.AddrW-1:0]         static_delta_i,  // static: flits from the source to
                                                               // the destination

    input  wire logic            load_i,  // at most one of the four
    input  wire logic            lookup_i,
    input  wire logic            alloc_i,
    input  wire logic            index_i,
    input  wire logic            base_i,
    output logic [Cfg.AddrW-1:0] addr_o
);

    logic [Cfg.AddrW-1:0] number, power, addend;
    logic [4:0] amount;
    logic returns, to_slot, finished;  // to_slot: where rows return, a sum of
                                       // slots goes to one
    logic by_list, dense, slots;

    assign by_list = low_i.is_explicit || low_i.slots;
    assign returns = Cfg.RowSparse && cfg_i.row_returns;
    assign to_slot = returns && low_i.slots && low_i.is_explicit;
    assign finished = returns && low_i.is_explicit && !low_i.slots && !dest_i;
    assign dense = Cfg.Gathered && !returns && low_i.slots && low_i.is_explicit;
    assign slots = low_i.slots && !dense;
    assign number = low_i.is_static ? Cfg.AddrW'(x_i >> Cfg.FlitLog2)
                  : (dense || (lookup_i && by_list)) ? Cfg.AddrW'(x_i)
                  : lookup_i ? Cfg.AddrW'(le_i) : Cfg.AddrW'({low_i.len_high, low_i.len_low});

    always_comb begin
        if (base_i) amount = low_i.is_static ? '0 : 5'(cfg_i.row_shift) - 5'(Cfg.FlitLog2);
        else if (finished) amount = '0;
        else if (dest_i || slots) amount = returns ? 5'(cfg_i.k_shift) : 5'(cfg_i.n_shift);
        else if (low_i.is_explicit) amount = 5'(cfg_i.k_shift);
        else amount = cfg_i.cap_shift;
        power = Cfg.AddrW'(1) << amount;
        if (alloc_i) addend = Cfg.AddrW'(row_i);
        else if (index_i)
            addend = finished ? '0 : (dest_i && !returns)
                     ? Cfg.AddrW'(cfg_i.port) : Cfg.AddrW'(target_i);
        else if (dest_i ? low_i.st || to_slot || dense : slots)
            addend = Cfg.AddrW'(cfg_i.cb_base >> Cfg.FlitLog2);
        else if (!dest_i) addend = Cfg.AddrW'(cfg_i.yd_base >> Cfg.FlitLog2);
        else addend = low_i.is_static ? static_delta_i : Cfg.AddrW'(cfg_i.out_base >> Cfg.FlitLog2);
    end

    always_ff @(posedge clk_i) begin
        if (alloc_i || index_i || base_i) addr_o <= Cfg.AddrW'(addr_o * power) + addend;
        else if (load_i) addr_o <= number;
    end

endmodule

`default_nettype wire
