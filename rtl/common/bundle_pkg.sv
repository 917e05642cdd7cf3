// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Types of signals between modules whose widths no configuration changes.
`default_nettype none

package bundle_pkg;
    // A write of the expert map, whose entries name the GPU of each expert and its number there.
    // It goes to every copy of the table. The expert is inside the table, and the GPU and number of
    // a valid entry exist.
    typedef struct packed {
        logic            we;
        logic [11:0]     addr;
        node_pkg::emap_t data;
    } emap_write_t;

    // What packet_manager does with a store. It keeps and merges it, or lets it pass after the
    // kept stores of the same line, of the same GPU, or of all GPUs.
    typedef enum logic [1:0] {
        Keep,
        BehindLine,
        BehindGpu,
        BehindAll
    } merge_e;

    // Events that packet_manager counts: packets received, sent, and merged into others; entries
    // sent because they were full, or because of the timer.
    typedef struct packed {
        logic timer;
        logic full;
        logic merged;
        logic out;
        logic in;
    } manager_counts_t;

    // An error report. Its receiver counts errors and stores the first one since go.
    typedef struct packed {
        logic            valid;
        error_pkg::err_e code;
    } error_t;

    // Register bus: req and the fields with it are stable until the cycle of ack. rdata and err
    // are valid in that cycle.
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

    // The same for the registers of one node.
    typedef struct packed {
        logic        req;
        logic        we;
        logic [11:0] addr;
        logic [31:0] wdata;
    } csr_req_t;

    // Bytes of the OUT endpoint, 1 to 8 of them, and a word of the IN endpoint. The first byte is
    // the low one. last ends a transfer.
    typedef struct packed {
        logic        valid;
        logic [63:0] data;
        logic [3:0]  bytes;
    } out_bytes_t;

    typedef struct packed {
        logic        valid;
        logic        last;
        logic [63:0] data;
    } in_word_t;

    // A frame from the host that is not valid: its status in LINK_ERROR, and the first two bytes
    // or the number that were received.
    typedef struct packed {
        logic        valid;
        logic [7:0]  status;
        logic [15:0] seen;
    } bad_frame_t;

    // Access to the buffers of the mailbox, which hold words of a command or a reply. Read data
    // come in the next cycle.
    typedef struct packed {
        logic        we;
        logic [5:0]  waddr;
        logic [63:0] wdata;
        logic        re;
        logic [5:0]  raddr;
    } mail_t;

    // What all nodes get of a layer. go and sweep are pulses: it starts; old entries are swept.
    // run: it is not done, from the cycle behind go on.
    typedef struct packed {
        logic       go;
        logic       run;
        logic       sweep;
        logic [1:0] epoch;
    } layer_t;

    // Settings of the switch, from the registers.
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
        logic [15:0] fetch_cycles;  // that a FETCH waits for loads of other GPUs, at most
        logic [8:0] sum_entries;  // usable entries of each table of sums, 0: no sum is made
        logic [15:0] sum_cycles;  // cycles without a change after which a sum leaves
        logic push_sync;  // READYs of rows that are not loaded report pushes
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

    // Stride of a part of a loaded row, as log2 of bytes, and bytes of a part. Parts fill their
    // stride. If rows are loaded whole (parts is 0), these are stride and bytes of a row.
    function automatic logic [3:0] load_shift(input logic [3:0] row_shift, input logic [2:0] parts);
        return row_shift - 4'(parts);
    endfunction

    function automatic logic [14:0] load_bytes(
        input logic [14:0] row_bytes, input logic [3:0] row_shift, input logic [2:0] parts);
        return (parts == '0) ? row_bytes : 15'd1 << load_shift(row_shift, parts);
    endfunction

    // A packet of class CTRL, which is a header alone.
    typedef struct packed {
        logic                valid;
        packet_pkg::header_t header;
    } ctl_t;

    // An EVENT for another GPU: it, and the event counter there.
    typedef struct packed {
        logic              valid;
        packet_pkg::port_t dst;
        logic [4:0]        idx;
    } tell_t;

    // Credits that return to a sender, one packet per bit and class. Class PART also has the
    // requester.
    typedef struct packed {
        logic [3:0]        cls;
        packet_pkg::port_t part;
    } credit_t;

    // An event that adds to a counter of the streams, from a FLAG of src. notified: src also
    // reports that its rows of st before this number have arrived (0 without RowRanges).
    typedef struct packed {
        logic                      valid;
        logic [4:0]                idx;
        packet_pkg::port_t         src;
        logic                      notified;
        logic [node_pkg::RowW-1:0] row;
    } event_t;

    // A FLAG's report of rows of its source that are in memory: the number of rows of a list at
    // this GPU, or (tile) of a tile that has returned.
    typedef struct packed {
        logic                         valid;
        logic                         tile;
        packet_pkg::port_t            src;
        logic [node_pkg::ExpertW-1:0] list;
        logic [15:0]                  rows;
    } source_flag_t;

    // Rows of st of one GPU: their total number, and the number before which all have arrived, if
    // the GPU has reported it.
    typedef struct packed {
        logic [node_pkg::RowW-1:0] rows;
        logic                      notified;
        logic [node_pkg::RowW-1:0] row;
    } src_rows_t;

    // The source or the destination of an event, as a port.
    typedef struct packed {
        logic              valid;
        packet_pkg::port_t port;
    } port_t;

    // A report about a token.
    typedef struct packed {
        logic                        valid;
        logic [node_pkg::TokenW-1:0] token;
    } token_t;

    // Bytes in memory of one of the token's slots, to which rows return.
    typedef struct packed {
        logic                        valid;
        logic [node_pkg::TokenW-1:0] token;
        logic [7:0]                  bytes;
        packet_pkg::port_t           src;    // who stored them, with SourceLists
    } slot_bytes_t;

    // A merged red, or a sum, that is in memory: it adds contributions to an own row.
    typedef struct packed {
        logic                        valid;
        logic [node_pkg::TokenW-1:0] row;    // its index
        logic [7:0]                  adds;   // their number
    } added_t;

    // A finished row of a token of any GPU. back: it returns from this row of local expert le to
    // slot pos of the token at its home. last: it is the last of its tile, with the tile's number
    // of rows.
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

    // The gradient of a gate weight, for a token of any GPU and the expert at this position of its
    // list. dense: the token is a gathered one, home * tokens + index.
    typedef struct packed {
        logic                        valid;
        logic                        dense;
        logic [node_pkg::TokenW-1:0] token;
        logic [3:0]                  pos;
        logic [31:0]                 value;
    } gradient_t;

    // A tile of rows that have returned to their home: the home, and the number of rows.
    typedef struct packed {
        logic              valid;
        packet_pkg::port_t home;
        logic [7:0]        rows;
    } tile_back_t;

    // A token, and the number of rows for which it waits. remote, with switch-initiated
    // reductions: other GPUs have further rows, which are not counted.
    typedef struct packed {
        logic                        valid;
        logic [node_pkg::TokenW-1:0] token;
        logic [4:0]                  count;
        logic                        remote;
    } arm_t;

    // How unit send executes an instruction. The opcode is that of uplink packets; local packets
    // are ST unless it is DYMULTIMEM_ST or rowsp. target0 is for MULTIMEM_ST and MULTIMEM_RED, type
    // and operator for MULTIMEM_RED. The flags say whether gate transfers are META packets, rows
    // land at their address without an allocator, each transfer has one target on the uplink,
    // (lists) the packet also names its row, see list_rows, and (merge) the switch may add reds up.
    typedef struct packed {
        packet_pkg::opcode_e opcode;
        logic [15:0]         group;
        red_pkg::red_t       kind;
        logic                meta;
        logic                flat;
        logic                rowsp;
        logic                lists;
        logic                merge;
    } sends_t;

    // What send_build reads in target_ram: a list, of its remote targets the one in the header, and
    // which flit of its targets.
    typedef struct packed {
        logic [1:0] list;
        logic [3:0] nth;
        logic [2:0] word;
    } target_at_t;

    // A reduction request at its hub: fields of the low half of its header. Where possible, a
    // field has the same bits as in a word of targets, which saves multiplexers.
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

    // Status of row_build for the item of unit combine: it is done, its row of the own copies was
    // used, an expert is not mapped or the group has no member, no own row is outstanding.
    typedef struct packed {
        logic done;
        logic copied;
        logic unmapped;
        logic quiet;
    } built_t;

    // And for the item of unit push: it is done, no row of push is outstanding.
    typedef struct packed {
        logic done;
        logic quiet;
    } pushed_t;

    // Which expert's ID row_build requests: of the meta entry, else of the routing entry, and its
    // list position.
    typedef struct packed {
        logic       meta;
        logic [3:0] idx;
    } id_req_t;

    // row_sum is done with a row. more: another row of its token follows.
    typedef struct packed {
        logic done;
        logic more;
    } summed_row_t;

    // A write of a term's address, in a cycle in which no flit arrives.
    typedef struct packed {
        logic       we;
        logic [3:0] idx;
    } term_write_t;

    // Which term of a row row_sum requests.
    typedef struct packed {
        logic       re;
        logic [3:0] idx;
    } term_req_t;

    // What the flit is at which the parser of a switch input is: the first one or the last one of a
    // header (both where a header is one flit), targets, or payload. Else it is dropped.
    typedef struct packed {
        logic first;
        logic head;
        logic list;
        logic pay;
    } parsed_t;

    // Targets that a switch input looks up. held: the flit is in the register, else link is the
    // target of a header that comes straight from the link. With next_we, next is the target of the
    // flit in the register from the next cycle on.
    typedef struct packed {
        logic        next_we;
        logic [15:0] next;
        logic        held;
        logic [15:0] link;
    } lookup_t;

    // Targets of a list before one of them that lie behind the same output: there are some (again),
    // so many, less 1.
    typedef struct packed {
        logic       again;
        logic [3:0] earlier;
    } before_t;

    // The classes whose packets take a credit of an endpoint, a bit of each.
    typedef struct packed {
        logic ctrl;
        logic store;
        logic part;
    } credit_classes_t;

    // An input of the switch writes into one of its queues: a word, the description of the packet
    // that it will push next, the packet.
    typedef struct packed {
        logic wr;
        logic desc;
        logic push;
    } queue_write_t;

    // Of an input of the switch, to all of its queues: a STORE packet was accepted or rejected, and
    // a STORE credit goes back to the sender.
    typedef struct packed {
        logic arrive;
        logic issue;
    } store_steps_t;

    // What an output of the switch sees of a queue: the classes of which it has a packet, of STORE
    // one inside the window. urgent: its next STORE packet keeps others of the input from moving
    // up. And it takes a packet of a class from the queue.
    typedef struct packed {
        logic       urgent;
        logic [2:0] has;
    } queue_state_t;

    typedef struct packed {
        logic       valid;
        logic [1:0] cls;
    } queue_pop_t;

    // An output of the switch takes a flit of a result from the join: the first one, or the last
    // one, of its packet.
    typedef struct packed {
        logic read;
        logic first;
        logic last;
    } result_read_t;

    // The counter of a switch port that is read, as upper and lower part, see port_counters.
    typedef struct packed {
        logic [26:0] high;
        logic [9:0]  low;
    } counter_t;

    // A look-up at the allocator. alloc: assign a row if there is none. start: the look-up may
    // read the table. retry: it was looked up before.
    typedef struct packed {
        logic                         valid;
        logic                         alloc;
        logic                         start;
        logic                         retry;
        logic [node_pkg::ExpertW-1:0] le;
        logic [node_pkg::TokenW-1:0]  token;
    } alloc_req_t;

    // miss: repeat the request after the miss in flight has ended.
    typedef struct packed {
        logic                      valid;
        logic                      miss;
        logic                      err;
        logic [node_pkg::RowW-1:0] row;
    } alloc_rsp_t;

    // Bytes of a row that have landed in memory. The row is of local expert le, at position pos of
    // the token's list.
    typedef struct packed {
        logic                         valid;
        logic [node_pkg::ExpertW-1:0] le;
        logic [node_pkg::RowW-1:0]    row;
        logic [node_pkg::TokenW-1:0]  token;
        logic [3:0]                   pos;
        logic [7:0]                   bytes;
    } landed_t;

    // A word of a COUNTS packet. kind 0: rows for own expert idx. kind 1: copies from GPU src to
    // GPU idx.
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

    // Events for which streams wait: a FLAG and an EVENT with the numbers of their counters,
    // COUNTS, a complete row, a token, an acknowledgement, a granted tile of pushes. level: all
    // rows are done.
    typedef struct packed {
        logic                               flag_valid;
        logic [$clog2(isa_pkg::Events)-1:0] flag_idx;
        logic                               event_valid;
        logic [$clog2(isa_pkg::Events)-1:0] event_idx;
        logic                               counts;
        logic                               row;
        logic                               token;
        logic                               ack;
        logic                               sync;
        logic                               rows_done;
    } events_t;

    // Rows of an expert: the number of complete and of expected rows.
    typedef struct packed {
        logic [node_pkg::RowW-1:0] complete;
        logic [node_pkg::RowW-1:0] expected;
        logic                      counted;   // no more rows come than expected are,
                                              // with source_lists
    } stat_t;

    // The rows of a layer at this GPU. row: one more is complete. counted: it is known how many
    // come. done: all are complete.
    typedef struct packed {
        logic row;
        logic counted;
        logic done;
    } layer_rows_t;

    // A row that the engine itself puts on the list of an expert. last, without valid: the list is
    // complete. more: the engine begins to add further rows.
    typedef struct packed {
        logic                         valid;
        logic                         last;
        logic                         more;
        logic [node_pkg::ExpertW-1:0] le;
        logic [node_pkg::RowW-1:0]    row;
    } push_t;

    // A complete row of an expert; and the answer of the list of such rows, in order.
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

    // An instruction that comes to expert_rows. landed: it names no rows, as these are loaded.
    typedef struct packed {
        logic            valid;
        logic            landed;
        isa_pkg::instr_t instr;
    } rows_instr_t;

    // Status of expert_path: a tile starts; no tile is in it, but some may not be written; all are
    // written; it waits in a tile for a row.
    typedef struct packed {
        logic start;
        logic idle;
        logic empty;
        logic waits;
    } path_status_t;

    // Events that a node counts in each cycle, see expert_engine, gpu_mem, allocator, tx.
    typedef struct packed {
        logic tile;
        logic retire;    // an instruction of the expert engine
        logic hold;
        logic idle;
        logic conflict;
    } gpu_counts_t;

    // stall_ctrl, stall_store: a packet of that kind waits for credit. part_empty: there is no
    // partial to send.
    typedef struct packed {
        logic stall_ctrl;
        logic part_empty;
        logic stall_store;
    } tx_counts_t;

    typedef struct packed {
        manager_counts_t manager;
        logic            miss;
        logic            hit;
        logic            link_idle;
        tx_counts_t      tx;
    } hub_counts_t;
endpackage

`default_nettype wire
