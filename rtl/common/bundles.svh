// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Types of signals between modules whose widths depend on the configuration. bundle_pkg has those
// of fixed widths.
//
// Data lies at the low bits. A request is taken in a cycle with valid and ready. ready goes in the
// other direction, as a signal of its own.
`ifndef MW_BUNDLES_SVH
`define MW_BUNDLES_SVH

// A flit on a link, in every cycle with valid. last: of its packet. err: damaged. cls: the class
// whose credits it uses.
`define MW_LINK(Cfg) struct packed { \
    logic valid; logic last; logic err; logic [1:0] cls; logic [Cfg.FlitW-1:0] data;}

// A flit of a packet inside a node. err: damaged.
`define MW_STREAM(Cfg) struct packed {logic valid; logic last; logic [Cfg.FlitW-1:0] data;}
`define MW_MARKED(Cfg) struct packed { \
    logic valid; logic last; logic err; logic [Cfg.FlitW-1:0] data;}

// A write of a static multicast group. Bit g of data: GPU g is a member. It goes to every copy of
// the table.
`define MW_GROUP(Cfg) struct packed {logic we; logic [6:0] addr; logic [Cfg.MaskW-1:0] data;}

// Accesses to own memory: a read request, its answer (in order), and a write of the bytes that be
// selects.
`define MW_READ(Cfg) struct packed {logic valid; logic [Cfg.AddrW-1:0] addr;}
`define MW_ANSWER(Cfg) struct packed {logic rvalid; logic [Cfg.FlitW-1:0] rdata;}
`define MW_WRITE(Cfg) struct packed { \
    logic valid; logic [Cfg.AddrW-1:0] addr; logic [Cfg.FlitBytes-1:0] be; \
    logic [Cfg.FlitW-1:0] data;}

// The expert engine moves two flits of an aligned group of four: the address of a read, and of a
// write, where valid selects the flits.
`define MW_PAIR(Cfg) struct packed {logic valid; logic [Cfg.AddrW-2:0] addr;}
`define MW_PAIR_WRITE(Cfg) struct packed {logic [1:0] valid; logic [Cfg.AddrW-2:0] addr;}

// Rows that the expert engine starts together, by their places in an expert's list: the first one,
// and the one after the last.
// And one of these rows:
//   last        it is the last of its tile
//   x, y        where the row is, in groups of flits, and where its result goes
//   le, idx     local expert, and place in its list
//   factor      what multiplies the row; scales: what multiplies each 16 elements
//   f, factor_f with GateGradients: where the row of x is, and what multiplies it
//   token, pos  with GateGradients: whose gate weight the gradient is of
`define MW_TILE(Cfg) struct packed { \
    logic valid; logic [node_pkg::ExpertW-1:0] le; logic [Cfg.CountW-1:0] first; \
    logic [Cfg.CountW-1:0] behind;}
`define MW_WORK(Cfg) struct packed { \
    logic valid; logic last; logic [Cfg.AddrW-3:0] x; logic [Cfg.AddrW-3:0] y; \
    logic [node_pkg::ExpertW-1:0] le; \
    logic [Cfg.CountW-1:0] idx; fp_pkg::factor_t factor; logic [63:0] scales; \
    logic [Cfg.AddrW-3:0] f; fp_pkg::factor_t factor_f; \
    logic [node_pkg::TokenW-1:0] token; logic [3:0] pos;}

// A tile whose time is over and whose last flits are read: its rows' places in the expert's list,
// the first one and the last one.
`define MW_ENDED(Cfg) struct packed { \
    logic valid; logic [node_pkg::ExpertW-1:0] le; logic [Cfg.CountW-1:0] first; \
    logic [Cfg.CountW-1:0] last;}

// A row to be summed at a hub:
//   last, last_pkt  numbers, less 1, of its terms (R included) and of its packets
//   last_len        number, less 1, of the flits of its last packet
//   use_r, st       see reduce_serve
//   zero, minus     it has no terms, and is 0, or -0 with minus
//   poison          its packets are poisoned
//   red             type and operator
//   dest            where a row with st goes
`define MW_ROW(Cfg) struct packed { \
    logic [4:0] last; logic [node_pkg::PktW-1:0] last_pkt; logic [Cfg.PayW-1:0] last_len; \
    logic use_r; logic st; \
    logic zero; logic minus; logic poison; red_pkg::red_t red; logic [Cfg.AddrW-1:0] dest;}

// A word of a reduction request. Either a header: low and red from its low half, x and target from
// its high half (byte address, or the number of a token or row of this GPU). Or targets. The upper
// bit of a target says that this expert does not exist.
`define MW_REQUEST(Cfg) struct packed { \
    bundle_pkg::request_t low; red_pkg::red_t red; logic [Cfg.ExpW:0] target; logic over; \
    logic [Cfg.MaddrW-1:0] x; logic [Cfg.Lanes-1:0][Cfg.ExpW:0] targets;}

// An item of unit combine. x: own token, or byte address of a static row. slot: place of its
// routing entry. last: it is the last static row.
// And what its command says of all items:
//   own          rows of own experts, or of own memory, are among the terms
//   sum          it is `sum`; dense, fill and every are for gathered tokens
//   dense        sums go to the dense rows of these tokens
//   fill         no token counts as having own experts
//   every        every own token has a place in copy, even without own experts
//   last_flits   flits of the last static row
//   delta        flits from a static row to its destination
//   copy         the next row of the own copies
`define MW_ITEM(Cfg) struct packed { \
    logic valid; logic slot; logic last; logic [Cfg.ItemW-1:0] x;}
`define MW_ITEMS(Cfg) struct packed { \
    logic is_static; logic sum; logic own; logic dense; logic fill; logic every; \
    logic [Cfg.GroupW-1:0] group; red_pkg::red_t red; logic [14-Cfg.FlitLog2:0] last_flits; \
    logic [Cfg.AddrW-1:0] delta; logic [Cfg.LineW-1:0] copy;}

// Requests of entries at entry_reader: of the routing table, for a place there (slot), of an own
// token or (gathered) of one of the gathered table at gt_base; of the meta table, of a received
// row. And what comes of a meta entry: its token (first), and, behind that, all of it (got).
`define MW_ROUTE_ENTRY(Cfg) struct packed { \
    logic valid; logic gathered; logic slot; logic [Cfg.LineW-1:0] token;}
`define MW_META_ENTRY(Cfg) struct packed {logic valid; logic [Cfg.LineW-1:0] row;}
`define MW_META(Cfg) struct packed { \
    logic first; logic got; logic [Cfg.TokensLog2-1:0] token;}

// A received row that unit push sends: the home, the row here, the token's index at its home, and
// the slot (pos) to which the row returns.
`define MW_BACK(Cfg) struct packed { \
    logic valid; logic [Cfg.GpuW-1:0] home; logic [Cfg.LineW-1:0] row; \
    logic [Cfg.TokensLog2-1:0] token; logic [3:0] pos;}

// A report about an own token, by its index. And a row of any home, or a tile by its first row.
`define MW_INDEX(Cfg) struct packed {logic valid; logic [Cfg.TokensLog2-1:0] index;}
`define MW_HOME_ROW(Cfg) struct packed { \
    logic valid; logic [Cfg.GpuW-1:0] home; logic [Cfg.TokensLog2-1:0] index;}

// The place of a word in its context's queue: slot of the request, and word (beat). And the place
// of a word that arrives. keep: it is written.
`define MW_PLACE(Cfg) struct packed { \
    logic valid; logic [Cfg.OpenW-1:0] slot; logic [Cfg.BeatW-1:0] beat;}
`define MW_ARRIVAL(Cfg) struct packed { \
    logic valid; logic keep; logic [Cfg.GpuW-1:0] ctx; logic [Cfg.OpenW-1:0] slot; \
    logic [Cfg.BeatW-1:0] beat;}

// A row that is set up for context ctx (own: the own context). done: the row is complete, as it was
// requested, or poisoned and without terms (bad). addr: the address of a term, or of the row's
// destination (st; dest: that of an own row).
`define MW_SETUP(Cfg) struct packed { \
    logic [Cfg.GpuW-1:0] ctx; logic own; logic done; logic dest; bundle_pkg::request_t low; \
    logic bad; red_pkg::red_t red; logic [Cfg.AddrW-1:0] addr;}

// pend: contexts with a row. one: contexts whose row has at most one term, R counted. own_r: the
// own context's row ends with R. own_again: it reads what the previous own row wrote.
// And an address of a term; a flit of R, which poison marks as invalid; a flit.
`define MW_ROWS(Cfg) struct packed { \
    logic [Cfg.N-1:0] pend; logic [Cfg.N-1:0] one; logic own_r; logic own_again;}
`define MW_TERM(Cfg) struct packed {logic valid; logic [Cfg.AddrW-1:0] addr;}
`define MW_RESULT(Cfg) struct packed {logic valid; logic poison; logic [Cfg.FlitW-1:0] data;}
`define MW_FLIT(Cfg) struct packed {logic valid; logic [Cfg.FlitW-1:0] data;}

// What row_sum reads of the rows that are set up: the first row of context ctx, and one of its
// terms. pop: the last packet of that row is under way.
`define MW_ROW_READ(Cfg) struct packed { \
    logic [Cfg.GpuW-1:0] ctx; logic pop; bundle_pkg::term_req_t term;}

// A flit of a row from row_build. is_static: the row has one term, at byte address addr. It is the
// same for all flits of a packet.
`define MW_OWN_ROW(Cfg) struct packed { \
    logic valid; logic last; logic is_static; logic [Cfg.FlitW-1:0] data;}

// What a pass of row_sum reads, by the first flit at each of the two ports, and how it reduces it.
`define MW_OPERANDS(Cfg) struct packed { \
    logic [Cfg.AddrW-1:0] a; logic [Cfg.AddrW-1:0] b; red_pkg::red_t red;}

// A flit of row_sum's packets for the uplink, of which there is one at a time: valid[0] of a
// partial, valid[1] of a store.
`define MW_SUMMED(Cfg) struct packed { \
    logic [1:0] valid; logic last; logic [Cfg.FlitW-1:0] data;}

// The destination of an own row. more: another row of its token follows.
`define MW_DEST(Cfg) struct packed {logic valid; logic more; logic [Cfg.AddrW-1:0] addr;}

// An access of the host to a GPU's memory, by flit address. MW_ANSWER answers reads.
`define MW_ACCESS(Cfg) struct packed { \
    logic valid; logic we; logic [31:0] addr; logic [Cfg.FlitW-1:0] wdata;}

// A request of a user of stream_mux to a GPU's host port, and the answer. lost: the GPU was reset.
`define MW_USER(Cfg) struct packed { \
    logic claim; logic valid; logic we; logic [Cfg.PortW-1:0] gpu; logic [31:0] addr; \
    logic [Cfg.FlitW-1:0] wdata;}
`define MW_HEARD(Cfg) struct packed {logic rvalid; logic lost; logic [Cfg.FlitW-1:0] rdata;}

// A row of a port that may be opened, or that is opened: other ports with terms of it, by distance,
// and its index. And the members of every row, with tile reductions (valid).
`define MW_OPENED(Cfg) struct packed { \
    logic valid; logic [Cfg.Others-1:0] members; logic [Cfg.TokensLog2-1:0] index;}
`define MW_MEMBERS(Cfg) struct packed {logic valid; logic [Cfg.Others-1:0] members;}

// A row whose reduction the switch is to open. mine: it is a token of the port's own GPU and has an
// entry. mask: outputs with GPUs that have an expert of it. cnt: number of remote targets. own: the
// home has experts of it, too.
`define MW_ENTRY(Cfg) struct packed { \
    logic valid; logic mine; logic own; logic [4:0] cnt; logic [Cfg.N-1:0] mask; \
    logic [Cfg.TokensLog2-1:0] index;}

// A row that a join of the switch is to add up: its members by distance (mask), its bytes, less 1,
// type and operator, and when its request came.
// What a join reads of the members' queues, by distance: flit idx of the queue in re, which is the
// last one of its packet in done. And a packet of its results: bytes, less 1, and the stamp of the
// request.
`define MW_OPEN(Cfg) struct packed { \
    logic valid; logic [Cfg.Others-1:0] mask; logic [14:0] bytes; red_pkg::red_t red; \
    logic [Cfg.StampB-1:0] stamp;}
`define MW_TAKE(Cfg) struct packed { \
    logic [Cfg.Others-1:0] re; logic [Cfg.PayW-1:0] idx; logic [Cfg.Others-1:0] done;}
`define MW_JOINED(Cfg) struct packed { \
    logic valid; logic [6:0] len; logic poison; logic [Cfg.StampB-1:0] stamp;}

// A load of a row by a reader, by distance. And a packet of an answer of a row that others load:
// the first one, or a later one.
`define MW_LOOK(Cfg) struct packed { \
    logic valid; logic [Cfg.LoadIndexW-1:0] index; logic [Cfg.Others-1:0] reader;}
`define MW_ANSWERING(Cfg) struct packed { \
    logic first; logic next; logic poison; logic [Cfg.LoadIndexW-1:0] row;}

// At an input of the switch: the outputs behind a target, and the number of that of an expert; the
// outputs of the open row, if there is one (valid); and where a target is: its lane in its flit,
// whether it is the last one there (last), and whether others follow it (more).
`define MW_FOUND(Cfg) struct packed {logic [Cfg.GpuW-1:0] out; logic [Cfg.N-1:0] sel;}
`define MW_ROW_OUTPUTS(Cfg) struct packed {logic valid; logic [Cfg.N-1:0] mask;}
`define MW_LANE(Cfg) struct packed {logic [Cfg.LaneW-1:0] lane; logic last; logic more;}

// From an input of the switch to its queues at the outputs: a word for the RAM of packets, the
// description of a packet with its time of arrival, and a word of a partial.
`define MW_COPY(Cfg) struct packed { \
    logic [1:0] region; logic [Cfg.PayW:0] line; logic [Cfg.Lanes-1:0] lane; \
    logic [Cfg.WordW-1:0] data;}
`define MW_DESC(Cfg) struct packed { \
    logic [Cfg.StampB-1:0] stamp; logic dyn; logic [3:0] more; logic pay; logic [Cfg.PayW-1:0] len;}
`define MW_PART(Cfg) struct packed {logic [Cfg.PayW-1:0] idx; logic [Cfg.FlitW+1:0] data;}

// A read of the RAM of such a queue. And the accesses of partials to this RAM, where they share it:
// their words come with those of packets.
`define MW_SLOT_READ(Cfg) struct packed { \
    logic re; logic [Cfg.PayW:0] line; logic [Cfg.SlotW-1:0] slot;}
`define MW_SHARED(Cfg) struct packed { \
    logic we; logic [Cfg.SharedRamW-1:0] waddr; logic re; logic [Cfg.SharedRamW-1:0] raddr;}

// Broadcast by switch_common to all ports:
//   link_wait                cycles that pass on a downlink after each flit
//   switch_reductions        the switch opens the reductions of rows
//   tile_reductions          all GPUs compute each row
//   merge_loads, load_first  rows from index load_first on are loaded
//   load_entries, load_keep  usable entries of each table of loads; ports keep answers
//   load_parts               log2 of the parts of a row that are loaded one by one
//   fetch_cycles             cycles that a FETCH waits for loads of other GPUs, at most
//   load_bytes, load_shift   bytes of a load, and log2 of its stride
//   sum_entries, sum_cycles  usable entries of each table of sums; cycles without a change after
//                            which a sum leaves
//   push_sync                READYs of rows that are not loaded report pushes
//   row_bytes, row_shift     the same of a row; token_shift: log2 of a GPU's tokens
//   turn                     the port that may open a row in this cycle
//   store_, part_limit       limits of credits; window_limit: of the look-ahead window; 0: none
//   tick, step               ends of one, two and four periods of the time limits; of 32 cycles
//   now                      the time
//   cnt_                     counters that are cleared, added to and read, see port_counters
//   mon_                     when monitors count and sample, and what is read, see switch_monitor
`define MW_COMMON(Cfg) struct packed { \
    logic [1:0] link_wait; logic switch_reductions; logic tile_reductions; \
    logic merge_loads; logic [14:0] load_first; logic [8:0] load_entries; logic load_keep; \
    logic [2:0] load_parts; logic [15:0] fetch_cycles; logic [14:0] load_bytes; \
    logic [3:0] load_shift; logic cnt_loads; \
    logic [8:0] sum_entries; logic [15:0] sum_cycles; logic push_sync; \
    logic [14:0] row_bytes; logic [3:0] row_shift; logic [3:0] token_shift; \
    logic [Cfg.PortW-1:0] turn; logic [Cfg.StoreW-1:0] store_limit; \
    logic [Cfg.PartW-1:0] part_limit; \
    logic [Cfg.SeqW-1:0] window_limit; logic [2:0] tick; logic step; logic [Cfg.StampB-1:0] now; \
    logic cnt_clearing; logic cnt_visit; logic [3:0] cnt_addr; logic [14:0] cnt_at; \
    logic mon_count; \
    logic mon_sample; logic [$clog2(map_pkg::MonitorSamples)-1:0] mon_idx; \
    logic [3:0] mon_classes; \
    logic mon_series; logic [7:0] mon_word;}

// Look-ahead window of an input: the number of the STORE packet that will be pushed next, and the
// number of the oldest one inside.
`define MW_WINDOW(Cfg) struct packed {logic [Cfg.SeqW-1:0] seq; logic [Cfg.SeqW-1:0] oldest;}

// A packet that has arrived at a hub: the fields of its header that a store needs, and one target.
//   bad     an error: the packet stores nothing, and len is the code
//   src, stage  of a red, src and the upper bit of stage are its red_t
//   cnt     targets, 1 for a packet without any
//   adds    of a merged red or a sum, its number of contributions; else 0
//   beyond  bits above the address are set
//   row     with source_lists: the row that its source has chosen in its list
`define MW_ARRIVED(Cfg) struct packed { \
    logic bad; packet_pkg::opcode_e op; logic [Cfg.PortW-1:0] src; logic [7:0] len; \
    logic [4:0] cnt; \
    logic [1:0] stage; logic [Cfg.GpuW:0] adds; \
    logic beyond; logic [Cfg.ExpW+4:0] tgt; logic [packet_pkg::RowBits-1:0] row; \
    logic [Cfg.MaddrW-1:0] addr;}

// Whose rows are counted: of all GPUs, or lists; and which lists.
`define MW_COUNTED(Cfg) struct packed {logic all; logic [2**Cfg.LocalW-1:0] lists;}

// An entry of a token's list of experts, in the routing table. pos: its position. last: it is the
// last of its list. token, row: the token, and its row in the table.
`define MW_LISTED(Cfg) struct packed { \
    logic valid; logic last; logic [15:0] id; logic [3:0] pos; logic [Cfg.TokensLog2-1:0] token; \
    logic [Cfg.AddrW-$clog2(isa_pkg::RouteBytes / Cfg.FlitBytes)-1:0] row;}

// A write of a target {expert, position} to one of four lists, at place. row: its row, with
// source_lists.
`define MW_TARGET(Cfg) struct packed { \
    logic we; logic [1:0] list; logic [3:0] place; logic [Cfg.ExpW+3:0] data; \
    logic [packet_pkg::RowBits-1:0] row;}

// Targets that are read: the one in the header, its row in its list (with source_lists), and a flit
// of others.
`define MW_TARGETS(Cfg) struct packed { \
    logic [15:0] target0; logic [packet_pkg::RowBits-1:0] row; logic [Cfg.FlitW-1:0] flit;}

// A write of a flit by a worker of rx_store. red: it is combined with the memory's contents, with
// this type and operator. adds: with the last flit of a packet, its contributions to own row `row`.
`define MW_STORE(Cfg) struct packed { \
    logic valid; logic red; red_pkg::red_t kind; logic [Cfg.AddrW-1:0] addr; \
    logic [Cfg.FlitBytes-1:0] be; logic [Cfg.GpuW:0] adds; logic [Cfg.TokensLog2-1:0] row;}

// A token that is sent. bad: its list of targets is wrong. remote, own: numbers of its targets.
// gpus: GPUs that have one. list, row: where its targets and its routing entry are.
`define MW_TOKEN(Cfg) struct packed { \
    logic bad; logic [4:0] remote; logic [4:0] own; logic [Cfg.N-1:0] gpus; logic [1:0] list; \
    logic [Cfg.TokensLog2-1:0] token; \
    logic [Cfg.AddrW-$clog2(isa_pkg::RouteBytes / Cfg.FlitBytes)-1:0] row;}

// The range of tokens of an instruction: the first one, and the one after the last.
`define MW_RANGE(Cfg) struct packed { \
    logic valid; logic [Cfg.TokensLog2:0] first; logic [Cfg.TokensLog2:0] stop;}

// A store for packet_manager: its partition, the sectors of its line that it writes (mask), and the
// key that is equal for stores that may merge. And an entry that leaves, with its sectors.
`define MW_MERGE(Cfg) struct packed { \
    logic valid; bundle_pkg::merge_e kind; logic [Cfg.GpuW-1:0] part; logic [3:0] mask; \
    logic [Cfg.MergeKeyW-1:0] key;}
`define MW_CLAIM(Cfg) struct packed { \
    logic valid; logic [Cfg.GpuW-1:0] part; logic [Cfg.RpmW-1:0] idx; logic [3:0] mask;}

// A token of the routing table: the GPUs that hold one of its experts. And the own token that is
// sent next.
`define MW_PLACES(Cfg) struct packed {logic valid; logic [Cfg.N-1:0] gpus;}
`define MW_PICK(Cfg) struct packed {logic valid; logic [Cfg.TokensLog2-1:0] token;}

// The own GPU's share of a layer by the copy counts, once all have arrived: own tokens with remote
// targets, and rows of partial sums that it will send.
`define MW_SHARE(Cfg) struct packed { \
    logic valid; logic [Cfg.TokensLog2:0] tokens; logic [Cfg.TokW:0] rows;}

// From a port of the switch to all others:
//   mark           its output goes down
//   old            its join has open rows from before a port went down
//   fell           it has been down since the last go, see report_scoreboard
//   crowded        no row that concerns it may be opened, see grant_queue
//   lane_index     index that its ready strobe names
//   lane_load, lane_merge  that lane is of an LD, and may be merged
//   load_code, sum_code  the error of its load_bad strobe, of its sum_bad strobe
//   opened_index   index that its opened strobe names
`define MW_NOTIFIED(Cfg) struct packed { \
    logic mark; logic old; logic fell; logic crowded; logic [Cfg.LoadIndexW-1:0] lane_index; \
    logic lane_load; logic lane_merge; error_pkg::err_e load_code; error_pkg::err_e sum_code; \
    logic [Cfg.TokensLog2-1:0] opened_index;}

// Between ports of the switch, a bit for each other port, by distance. From an input to the queues:
//   wr, desc, push, come  a word, a description, a push, a partial
//   hold                  the credit of the previous partial still waits
//   ready                 a lane of a READY or LD for a row of that port
//   opened                a row was opened that it is a member of
//   answered              its load is answered
// And back:
//   room                  there is room
//   ctrl_free             a CTRL packet has left
//   part_full             a queue of partials is full
//   lane_take             the lane was taken
//   lane_bad, load_bad    a lane of a READY, or of an LD, was wrong
//   sum_bad               its merged red does not fit the sum of its address
`define MW_STROBES(Cfg) struct packed { \
    logic [Cfg.Others-1:0] wr; logic [Cfg.Others-1:0] desc; logic [Cfg.Others-1:0] push; \
    logic [Cfg.Others-1:0] come; \
    logic [Cfg.Others-1:0] hold; logic [Cfg.Others-1:0] ready; logic [Cfg.Others-1:0] opened; \
    logic [Cfg.Others-1:0] answered;}
`define MW_BACKS(Cfg) struct packed { \
    logic [Cfg.Others-1:0] room; logic [Cfg.Others-1:0] ctrl_free; \
    logic [Cfg.Others-1:0] part_full; \
    logic [Cfg.Others-1:0] lane_take; logic [Cfg.Others-1:0] lane_bad; \
    logic [Cfg.Others-1:0] load_bad; logic [Cfg.Others-1:0] sum_bad;}

`endif
