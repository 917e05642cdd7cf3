// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Types of signals between modules whose widths no configuration changes.
`default_nettype none

package bundle_pkg;
    // A write of the expert map, whose entry says where an expert lives. Every copy of the table
    // takes each: the expert is one that the fabric has room for, and a valid entry names a GPU
    // and a number there that exist.
    typedef struct packed {
        logic            we;
        logic [11:0]     addr;
        node_pkg::emap_t data;
    } emap_write_t;

    // What packet_manager does with a store: it is kept and merged, or passes, behind what is kept
    // of its line, for its GPU, or at all.
    typedef enum logic [1:0] {
        Keep,
        BehindLine,
        BehindGpu,
        BehindAll
    } merge_e;

    // What it counts: packets that came, that left, that were merged into others; entries that
    // left full, or because of the timer.
    typedef struct packed {
        logic timer;
        logic full;
        logic merged;
        logic out;
        logic in;
    } manager_counts_t;

    // A report. What takes it counts them and keeps the first since go.
    typedef struct packed {
        logic            valid;
        error_pkg::err_e code;
    } error_t;

    // Register bus: req stays, with the rest, until the cycle of ack; rdata and err count in that.
    typedef struct packed {
        logic        req;
        logic        we;
        logic [31:0] addr;
        logic [31:0] wdata;
    } bus_req_t;

    typedef struct packed {
        logic        ack;
        logic        err;
        logic [31:0] rdata;
    } bus_rsp_t;

    // The same to the registers of one node.
    typedef struct packed {
        logic        req;
        logic        we;
        logic [11:0] addr;
        logic [31:0] wdata;
    } csr_req_t;

    // The buffers of the mailbox, words of a command or a reply: what is written, and
    // what is read, in the next cycle.
    typedef struct packed {
        logic        we;
        logic [5:0]  waddr;
        logic [63:0] wdata;
        logic        re;
        logic [5:0]  raddr;
    } mail_t;

    // What the registers say to the switch.
    typedef struct packed {
        logic [7:0] throttle;  // of 256 chances, how many a start of a packet on a
                               // downlink is put off by a cycle
        logic [1:0] link_wait;  // cycles that pass on a downlink behind each flit
        logic [7:0] store_credits;  // upper limits of downlink credits used, 0: all
        logic [7:0] part_credits;
        logic [4:0] window;  // look-ahead window of every input in STORE packets, 0:
                             // all that credits let in
        logic [4:0] limit;  // log2 of the period of the time limits in cycles, at most
                            // 22, 0: no time limits
        // the switch opens the reductions of rows: their bytes, log2 of the bytes between
        logic switch_reductions;
        logic tile_reductions;  // all members of a partition have a term of each row
        logic merge_loads;  // rows are loaded, from this index at their homes on
        logic [14:0] load_first;
        logic [8:0] load_entries;  // of the tables of loads, as many may be in use
        logic load_keep;  // answers are kept
        logic [2:0] load_parts;  // log2 of the parts of a row that are loaded one by one
        logic [14:0] row_bytes;  // them, and of the tokens of a GPU
        logic [3:0] row_shift;
        logic [3:0] token_shift;
        packet_pkg::port_t cnt_port;  // the counter that is read: it follows after at most 3
                                      // cycles
        logic [3:0] cnt_idx;
        logic cnt_loads;  // ... of loads
        logic [15:0] mon_interval;  // monitors, see switch_monitor
        logic [3:0] mon_classes;
        logic mon_read;  // of what, in port, series and word: it follows after at
                         // most 3 cycles
        packet_pkg::port_t mon_port;
        logic mon_series;
        logic [7:0] mon_word;
    } switch_ctl_t;

    // log2 of the bytes between two parts of a row that are loaded one by one, and bytes of each;
    // those of rows if they are loaded whole (parts is 0). Parts fill their stride.
    function automatic logic [3:0] load_shift(input logic [3:0] row_shift, input logic [2:0] parts);
        return row_shift - 4'(parts);
    endfunction

    function automatic logic [14:0] load_bytes(
        input logic [14:0] row_bytes, input logic [3:0] row_shift, input logic [2:0] parts);
        return (parts == '0) ? row_bytes : 15'd1 << load_shift(row_shift, parts);
    endfunction

    // Credits that go back to a sender, one packet per bit and class;
    // of class PART, whose they are.
    typedef struct packed {
        logic [3:0]        cls;
        packet_pkg::port_t part;
    } credit_t;

    // A counter of a stream is added to, by a FLAG of src; notified: with it src says that its rows
    // of st before this one are here (0 without RowRanges).
    typedef struct packed {
        logic                      valid;
        logic [4:0]                idx;
        packet_pkg::port_t         src;
        logic                      notified;
        logic [node_pkg::RowW-1:0] row;
    } event_t;

    // What a FLAG says of rows of its source that are in memory: so many are all of a list here, or
    // (tile) a tile's that have returned.
    typedef struct packed {
        logic                         valid;
        logic                         tile;
        packet_pkg::port_t            src;
        logic [node_pkg::ExpertW-1:0] list;
        logic [15:0]                  rows;
    } source_flag_t;

    // Of the rows of st of one GPU: how many come in all, and before which they
    // are here, if it has reported.
    typedef struct packed {
        logic [node_pkg::RowW-1:0] rows;
        logic                      notified;
        logic [node_pkg::RowW-1:0] row;
    } src_rows_t;

    // What comes from a port, or is for it.
    typedef struct packed {
        logic              valid;
        packet_pkg::port_t port;
    } port_t;

    // A token of which something is reported.
    typedef struct packed {
        logic                        valid;
        logic [node_pkg::TokenW-1:0] token;
    } token_t;

    // And bytes in memory of a slot of its own, where rows return.
    typedef struct packed {
        logic                        valid;
        logic [node_pkg::TokenW-1:0] token;
        logic [7:0]                  bytes;
        packet_pkg::port_t           src;    // who stored them, with SourceLists
    } slot_bytes_t;

    // A finished row of a token of any GPU; back: it returns to its home, to slot pos of the token,
    // from row of local expert le; last of its tile, which has so many.
    typedef struct packed {
        logic                         valid;
        logic                         back;
        logic [node_pkg::TokenW-1:0]  token;
        logic [node_pkg::ExpertW-1:0] le;
        logic [node_pkg::RowW-1:0]    row;
        logic [3:0]                   pos;
        logic                         last;
        logic [7:0]                   rows;
    } finished_t;

    // The gradient of a gate weight: of a token of any GPU, and of the expert at this position of
    // its list. dense: the token is a gathered one, home * tokens + index.
    typedef struct packed {
        logic                        valid;
        logic                        dense;
        logic [node_pkg::TokenW-1:0] token;
        logic [3:0]                  pos;
        logic [31:0]                 value;
    } gradient_t;

    // A tile of rows of one GPU, its home, that have returned.
    typedef struct packed {
        logic              valid;
        packet_pkg::port_t home;
        logic [7:0]        rows;
    } tile_back_t;

    // And how many rows it waits for; remote, with switch-initiated reductions: and others
    // elsewhere, which are not counted.
    typedef struct packed {
        logic                        valid;
        logic [node_pkg::TokenW-1:0] token;
        logic [4:0]                  count;
        logic                        remote;
    } arm_t;

    // What unit send makes of an instruction: opcode of uplink packets (local ones are ST unless
    // DYMULTIMEM_ST or rowsp); of MULTIMEM_ST and MULTIMEM_RED target0, of the latter its type and
    // operator; gate transfers are META packets; rows land at their address, without an allocator;
    // each transfer has one target on the uplink; lists: and says its row, see list_rows.
    typedef struct packed {
        packet_pkg::opcode_e opcode;
        logic [15:0]         group;
        red_pkg::red_t       kind;
        logic                meta;
        logic                flat;
        logic                rowsp;
        logic                lists;
    } sends_t;

    // A reduction request at its hub: what the low half of its header says. Fields sit where the
    // same bits of a word of targets come from, as far as they can: that saves multiplexers.
    typedef struct packed {
        logic       over;         // against the rules: an error
        logic [9:0] len_low;
        logic       is_static;
        logic       more;
        logic [4:0] len_high;
        logic [4:0] cnt;
        logic       st;
        logic       again;
        logic       bad;          // an error of it has been reported
        logic       slots;
        logic       is_explicit;
        logic       use_r;
    } request_t;

    // What row_build says of the item of unit combine: it is done, its row of the own copies was
    // used, an expert is not mapped or the group has no member; no own row is outstanding.
    typedef struct packed {
        logic done;
        logic copied;
        logic unmapped;
        logic quiet;
    } built_t;

    // A term's address is written, in a cycle in which no flit arrives.
    typedef struct packed {
        logic       we;
        logic [3:0] idx;
    } term_write_t;

    // Which term of a row row_sum requests.
    typedef struct packed {
        logic       re;
        logic [3:0] idx;
    } term_req_t;

    // A counter of a port of the switch that is read: its upper part and its
    // lower one, see port_counters.
    typedef struct packed {
        logic [26:0] high;
        logic [9:0]  low;
    } counter_t;

    // A look-up at the allocator: with alloc a row is given where there is none; start: the table
    // may be read for it; retry: it was looked up before.
    typedef struct packed {
        logic                         valid;
        logic                         alloc;
        logic                         start;
        logic                         retry;
        logic [node_pkg::ExpertW-1:0] le;
        logic [node_pkg::TokenW-1:0]  token;
    } alloc_req_t;

    // miss: repeat the request when the miss under way has ended.
    typedef struct packed {
        logic                      valid;
        logic                      miss;
        logic                      err;
        logic [node_pkg::RowW-1:0] row;
    } alloc_rsp_t;

    // Bytes of a row have landed in memory: of expert le, for a token of position pos in its list.
    typedef struct packed {
        logic                         valid;
        logic [node_pkg::ExpertW-1:0] le;
        logic [node_pkg::RowW-1:0]    row;
        logic [node_pkg::TokenW-1:0]  token;
        logic [3:0]                   pos;
        logic [7:0]                   bytes;
    } landed_t;

    // A word of a COUNTS packet: kind 0, rows for an own expert idx; 1, copies
    // from GPU src to GPU idx.
    typedef struct packed {
        logic valid;
        logic kind;
        logic [1:0] halves;  // of kind 0: its packet is of the first 32 experts, of the others
        logic [1:0] part;  // of kind 1: its packet is of GPUs from 32 times this on
        packet_pkg::port_t src;
        packet_pkg::port_t idx;
        logic [31:0] val;
        logic last;  // of its packet; behind count_once, of what src reports
    } count_t;

    // What streams wait for: a FLAG and an EVENT by the numbers of their counters, COUNTS, a
    // complete row, a token, an acknowledgement; level: all rows are done.
    typedef struct packed {
        logic                               flag_valid;
        logic [$clog2(isa_pkg::Events)-1:0] flag_idx;
        logic                               event_valid;
        logic [$clog2(isa_pkg::Events)-1:0] event_idx;
        logic                               counts;
        logic                               row;
        logic                               token;
        logic                               ack;
        logic                               rows_done;
    } events_t;

    // Of the rows of an expert: complete, and expected.
    typedef struct packed {
        logic [node_pkg::RowW-1:0] complete;
        logic [node_pkg::RowW-1:0] expected;
        logic                      counted;   // no more rows come than expected are,
                                              // with source_lists
    } stat_t;

    // A row that the engine puts on the list of an expert itself; last, without valid: it has named
    // all; more: it begins to name others.
    typedef struct packed {
        logic                         valid;
        logic                         last;
        logic                         more;
        logic [node_pkg::ExpertW-1:0] le;
        logic [node_pkg::RowW-1:0]    row;
    } push_t;

    // A row of an expert that is complete, and what the list of such rows answers, in order.
    typedef struct packed {
        logic                         valid;
        logic [node_pkg::ExpertW-1:0] le;
        logic [node_pkg::RowW-1:0]    idx;
    } list_req_t;

    typedef struct packed {
        logic                        rvalid;
        logic [node_pkg::RowW-1:0]   row;
        logic [node_pkg::TokenW-1:0] token;
        logic [3:0]                  pos;
    } list_rsp_t;

    // What a node counts cycle by cycle, see expert_engine, gpu_mem, allocator, tx.
    typedef struct packed {
        logic tile;
        logic retire;    // an instruction of the expert engine
        logic hold;
        logic idle;
        logic conflict;
    } gpu_counts_t;

    typedef struct packed {
        manager_counts_t manager;
        logic            miss;
        logic            hit;
        logic            link_idle;
        logic            stall_ctrl;
        logic            part_empty;
        logic            stall_store;
    } hub_counts_t;
endpackage

`default_nettype wire
