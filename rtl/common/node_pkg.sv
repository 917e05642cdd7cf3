// SPDX-License-Identifier: CERN-OHL-P-2.0
// Widths and the layer configuration that every unit of a node (emulated GPU and hub) shares.
// The registers of spec/node.rdl drive it; it is constant from go to done.
`default_nettype none
/* verilator lint_off UNUSEDPARAM */
package node_pkg;
    localparam int unsigned TokenW = 22;  // token index, global: home GPU <<
                                          // token_shift | index at home
    // row number inside an expert's area, or received row << k_shift | list position
    localparam int unsigned RowW = 22;
    localparam int unsigned ExpertW = 6;  // expert index inside a GPU; with source_lists, of a
                                          // list: {expert, source}
    localparam int unsigned PktW = 8;  // packet number inside a row
    localparam int unsigned MemBanks = 4;  // of a GPU's memory; the expert engine moves the
                                           // flits of every other one

    // Between a GPU and its hub. Reads: with a port of their own to memory, the others
    // one together. Writes: the first has a way of its own into the banks. Units of which
    // a GPU runs the instructions.
    localparam int unsigned RdSend = 0, RdSum = 1, RdOwn = 3;  // RdSum: two
    localparam int unsigned RdControl = 3, RdAlloc = 4, RdCombine = 5, RdRed = 6, RdCopy = 7,
                          RdList = 8, HubReads = 9;
    localparam int unsigned WrSt = 0, WrOut = 2, WrAlloc = 3, WrList = 4;  // WrSt: two
    localparam int unsigned HubWrites = 5;
    localparam int unsigned HubControl = 0, HubSend = 1, HubCombine = 2, HubPush = 3;
    localparam int unsigned HubLoad = 4, HubUnits = 5;
    localparam int unsigned HubErrors = 10;  // sources of errors in a hub

    // A byte address in a memory of any size, as instructions name it.
    typedef logic [33:0] byte_t;

    // One entry of the expert map: where an expert lives. Written by software, broadcast
    // to every copy of the table.
    typedef struct packed {
        logic               valid;
        packet_pkg::port_t  gpu;
        logic [ExpertW-1:0] local_expert;
    } emap_t;

    typedef struct packed {
        logic [6:0]       port;               // own port, packet_pkg::port_t
        logic [1:0]       epoch;              // of this layer
        logic             cached;             // it uses what the layer of handle_epoch counted and
        logic [1:0]       handle_epoch;       // allocated
        logic [4:0]       k;                  // experts per token, 1 .. 16
        logic [15:0]      tokens;             // own tokens
        logic [3:0]       token_shift;        // log2 of the tokens per GPU, rounded up
        logic [2:0]       n_shift;            // log2 of N, rounded up
        logic [2:0]       k_shift;            // log2 of k, rounded up
        logic [6:0]       local_experts;      // experts on this GPU
        logic [14:0]      row_bytes;          // bytes of a row, a multiple of the flit
        logic [3:0]       row_shift;          // log2 of the row stride
        logic [14:0]      dispatch_bytes;     // the same of a row of dispatch, 0: row_bytes
        logic [1:0]       dispatch_type;      // packet_pkg::rowtype_e of its elements
        logic [3:0]       gate_shift;         // log2 of the gate stride
        logic [4:0]       cap_shift;          // log2 of the rows per expert
        logic [3:0]       cache_log2;         // log2 of the entries of the allocator's cache in
                                              // use, see there
        // byte addresses in own memory; registers hold them in units of 16 bytes
        logic [35:0]      xs_base;            // hidden values of own tokens
        logic [35:0]      rt_base;            // routing table
        logic [35:0]      xd_base;            // dispatch region
        logic [35:0]      yd_base;            // combine region
        logic [35:0]      gt_base;            // gate weights, or unicast's meta table
        logic [35:0]      al_base;            // allocation table
        logic [35:0]      out_base;           // output rows of own tokens
        logic [35:0]      cb_base;            // slots: {token, GPU} for partial sums (unicast),
                                              // {token, position} for rows
        logic [35:0]      ce_base;            // coefficients of the own experts, bf16
        logic [35:0]      xf_base;            // rows of x, as xd_base has those of dY, and
        logic [35:0]      dw_base;            // gradients of the own tokens' gate weights: for
                                              // experts that make these
        logic [35:0]      rl_base;            // lists of the rows that came
        logic [35:0]      st_lo;              // explicit stores from the link are allowed in st_lo
                                              // <= address < st_hi
        logic [35:0]      st_hi;
        logic [3:0][35:0] stream_base;
        logic [3:0]       stream_enable;
        logic [7:0]       tile;               // rows that an engine starts together
        logic [15:0]      expert_cycles;      // engine time per row
        logic             partial_tiles;      // an idle engine starts its fullest open tile
        logic [15:0]      partial_wait;       // cycles without work before it does
        logic [15:0]      in_flight;          // tokens dispatched and not finished, 0: no limit
        logic [7:0]       open_rows;          // reduction requests outstanding, 1 .. hardware
                                              // window
        logic             adder_bypass;       // rows that need no addition pass the adder by
        logic             own_by_adder;       // own ones of these may go by an idle adder
        logic             balance_rows;       // GPUs that are behind come first, see row_balance
        logic             target_list_cache;  // the first packet of a row carries its targets
        logic             dispatch_throttle;  // dispatch and partial sums leave in step
        logic [15:0]      throttle_ahead;     // rows that dispatch may be ahead, 0: no limit
        logic [15:0]      throttle_lead;      // rows that it is kept ahead
        logic [15:0]      throttle_idle;      // cycles without a flit on the uplink behind which a
                                              // row may go all the same
        logic             packet_manager;     // small stores for the uplink are merged
        logic [15:0]      rpm_timer;          // cycles between two sweeps of what is kept for that,
                                              // 0: nothing waits
        logic [2:0]       scatter;            // 0, or stores of one target have 32 bytes, see
                                              // scatter_order
        logic             switch_reductions;  // finished rows are reported to the switch, which
                                              // opens reductions
        logic             tile_reductions;    // rows that all GPUs compute are; with
                                              // switch_reductions
        logic             merge_loads;        // rows are loaded through the switch; with
                                              // tile_reductions
        logic [14:0]      load_first;         // index at their homes from which on
        logic [2:0]       load_parts;         // log2 of the parts of a row that are loaded one by
                                              // one, 0: rows are loaded whole
        logic [5:0]       load_expert;        // own expert that computes them
        logic [35:0]      load_base;          // own ones, by index
        logic [14:0]      red_first;          // index of the first own row whose reds are counted
        logic [15:0]      red_count;          // contributions that complete such a row, 0: no
                                              // row is counted
        logic             row_returns;        // they return singly to slots at home, where their
                                              // bytes are counted
        logic             source_lists;       // of st.rowsp a list per {expert, source}, in which
                                              // the source says the row
        logic [1:0]       link_wait;          // cycles that pass on the uplink behind each flit
        logic [7:0]       store_credits;      // upper limits of the credits used, 0: as many as the
                                              // hardware has
        logic [7:0]       part_credits;
        logic [7:0]       ctrl_credits;
        // of 256 chances, how many a start of a packet on the uplink is put off by a cycle, for
        // tests
        logic [7:0]       throttle;
        logic [15:0]      start_delay;        // cycles from go to the first instruction (for tests)
    } node_cfg_t;

    /* verilator lint_off UNUSEDSIGNAL */  // a function uses a part of the configuration
    // Bytes of a row of dispatch.
    function automatic logic [14:0] dispatch_row(input bit built, input node_cfg_t c);
        return (built && c.dispatch_bytes != '0) ? c.dispatch_bytes : c.row_bytes;
    endfunction

    // The epoch of the layer that counted and allocated what a layer uses.
    function automatic logic [1:0] counts_epoch(input bit built, input node_cfg_t c);
        return (built && c.cached) ? c.handle_epoch : c.epoch;
    endfunction

    // Lists of rows that experts run on: one of each own expert or, with source_lists,
    // of each {expert, source}.
    function automatic logic [6:0] lists(input bit built, input node_cfg_t c);
        return (built && c.source_lists) ? c.local_experts << c.n_shift : c.local_experts;
    endfunction

    // The list of an own expert's rows from this GPU.
    function automatic logic [ExpertW-1:0] list_of(input bit built, input node_cfg_t c,
                                                   input logic [ExpertW-1:0] le,
                                                   input packet_pkg::port_t src);
        return (built && c.source_lists) ? le << c.n_shift | ExpertW'(src) : le;
    endfunction
    /* verilator lint_on UNUSEDSIGNAL */

    // How an emulated endpoint misbehaves, see link_fault.
    typedef struct packed {
        logic [15:0] after;   // begins so many times 64 cycles behind go
        logic        epoch;
        logic        opcode;
        logic        answer;
        logic        send;
        logic        accept;
    } fault_t;
endpackage
/* verilator lint_on UNUSEDPARAM */
`default_nettype wire
