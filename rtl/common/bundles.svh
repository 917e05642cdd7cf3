// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Types of signals between modules whose widths depend on the configuration. bundle_pkg has those
// of fixed widths.
//
// Data lies at the low bits. A request is taken in a cycle with valid and ready. ready goes in the
// other direction, as a signal of its own.
`ifndef MW_BUNDLES_SVH
`define MW_BUNDLES_SVH

// A flit on a link, in every cycle with valid: the last of its packet;
// err, damaged; class of its credits.
`define MW_LINK(Cfg) struct packed { \
    logic valid; logic last; logic err; logic [1:0] cls; logic [Cfg.FlitW-1:0] data;}

// A flit of a packet inside a node; err, damaged.
`define MW_STREAM(Cfg) struct packed {logic valid; logic last; logic [Cfg.FlitW-1:0] data;}
`define MW_MARKED(Cfg) struct packed { \
    logic valid; logic last; logic err; logic [Cfg.FlitW-1:0] data;}

// A write of a static multicast group: bit g of the data, GPU g is a member. Every copy of
// the table takes each.
`define MW_GROUP(Cfg) struct packed {logic we; logic [6:0] addr; logic [Cfg.MaskW-1:0] data;}

// Of own memory: request, the answer, in order, and what is written where be has a byte.
`define MW_READ(Cfg) struct packed {logic valid; logic [Cfg.AddrW-1:0] addr;}
`define MW_ANSWER(Cfg) struct packed {logic rvalid; logic [Cfg.FlitW-1:0] rdata;}
`define MW_WRITE(Cfg) struct packed { \
    logic valid; logic [Cfg.AddrW-1:0] addr; logic [Cfg.FlitBytes-1:0] be; \
    logic [Cfg.FlitW-1:0] data;}

// The expert engine moves two flits of an aligned group of four: where it reads them, and
// where it writes which of them.
`define MW_PAIR(Cfg) struct packed {logic valid; logic [Cfg.AddrW-2:0] addr;}
`define MW_PAIR_WRITE(Cfg) struct packed {logic [1:0] valid; logic [Cfg.AddrW-2:0] addr;}

// Rows that it starts together, by their places in an expert's list: the first one, and the one
// behind the last. And each of them: the last of its tile; where it is, in groups, and where its
// result goes; place; what multiplies it, and what each 16 elements of it. With GateGradients:
// where the row of x is, and what multiplies that; whose gate weight it is.
`define MW_TILE(Cfg) struct packed { \
    logic valid; logic [node_pkg::ExpertW-1:0] le; logic [Cfg.CountW-1:0] first; \
    logic [Cfg.CountW-1:0] behind;}
`define MW_WORK(Cfg) struct packed { \
    logic valid; logic last; logic [Cfg.AddrW-3:0] x; logic [Cfg.AddrW-3:0] y; \
    logic [node_pkg::ExpertW-1:0] le; \
    logic [Cfg.CountW-1:0] idx; fp_pkg::factor_t factor; logic [63:0] scales; \
    logic [Cfg.AddrW-3:0] f; fp_pkg::factor_t factor_f; \
    logic [node_pkg::TokenW-1:0] token; logic [3:0] pos;}

// A row to be summed at a hub: what of it is last, less 1 (terms, R included; packets;
// flits of the last packet), what it is (minus: what is zero is -0), type and operator,
// and where a stored one goes.
`define MW_ROW(Cfg) struct packed { \
    logic [4:0] last; logic [node_pkg::PktW-1:0] last_pkt; logic [Cfg.PayW-1:0] last_len; \
    logic use_r; logic st; \
    logic zero; logic minus; logic poison; red_pkg::red_t red; logic [Cfg.AddrW-1:0] dest;}

// A word of a reduction request: of its header the low half with type and operator, and the
// high half, the byte address, of a token or row of this GPU its number, and the first target;
// or targets, whose upper bit says that there is no such expert.
`define MW_REQUEST(Cfg) struct packed { \
    bundle_pkg::request_t low; red_pkg::red_t red; logic [Cfg.ExpW:0] target; logic over; \
    logic [Cfg.MaddrW-1:0] x; logic [Cfg.Lanes-1:0][Cfg.ExpW:0] targets;}

// An item of unit combine: own token, or byte address of a static row; the slot with its routing
// entry; static: the last row. And what its command says of all items: rows of own experts, or of
// own memory, are among the terms (own); sum: tokens are gathered ones, and sums go to their dense
// rows (dense), none of them counts as having own experts (fill), every own token has a place in
// copy, not those alone (every); flits of the last static row; flits from a static row to where it
// goes (delta); the next row of the own copies.
`define MW_ITEM(Cfg) struct packed { \
    logic valid; logic slot; logic last; logic [Cfg.ItemW-1:0] x;}
`define MW_ITEMS(Cfg) struct packed { \
    logic is_static; logic sum; logic own; logic dense; logic fill; logic every; \
    logic [Cfg.GroupW-1:0] group; red_pkg::red_t red; logic [14-Cfg.FlitLog2:0] last_flits; \
    logic [Cfg.AddrW-1:0] delta; logic [Cfg.LineW-1:0] copy;}

// A received row that unit push sends: to which GPU, where it lies, its token there; pos: to which
// slot of the token it returns.
`define MW_BACK(Cfg) struct packed { \
    logic valid; logic [Cfg.GpuW-1:0] home; logic [Cfg.LineW-1:0] row; \
    logic [Cfg.TokensLog2-1:0] token; logic [3:0] pos;}

// A word of a request in its context's queue: of which request, which word. And one that arrives:
// keep: it is written.
`define MW_PLACE(Cfg) struct packed { \
    logic valid; logic [Cfg.OpenW-1:0] slot; logic [Cfg.BeatW-1:0] beat;}
`define MW_ARRIVAL(Cfg) struct packed { \
    logic valid; logic keep; logic [Cfg.GpuW-1:0] ctx; logic [Cfg.OpenW-1:0] slot; \
    logic [Cfg.BeatW-1:0] beat;}

// A row that is set up: of this context, the own one (own); done, as it was requested, or poisoned
// and without terms (bad); type and operator; an address: of a term, where the row goes (st), or,
// with dest, where an own row goes.
`define MW_SETUP(Cfg) struct packed { \
    logic [Cfg.GpuW-1:0] ctx; logic own; logic done; logic dest; bundle_pkg::request_t low; \
    logic bad; red_pkg::red_t red; logic [Cfg.AddrW-1:0] addr;}

// Contexts with a row, and those whose row has one term at most, R counted; of the own context's
// row: it ends with R, and reads what the row before wrote. An address of a term of it. A flit
// of R; poison, it is not valid.
`define MW_ROWS(Cfg) struct packed { \
    logic [Cfg.N-1:0] pend; logic [Cfg.N-1:0] one; logic own_r; logic own_again;}
`define MW_TERM(Cfg) struct packed {logic valid; logic [Cfg.AddrW-1:0] addr;}
`define MW_RESULT(Cfg) struct packed {logic valid; logic poison; logic [Cfg.FlitW-1:0] data;}
`define MW_FLIT(Cfg) struct packed {logic valid; logic [Cfg.FlitW-1:0] data;}

// Where an own row goes; more: another row of its token follows.
`define MW_DEST(Cfg) struct packed {logic valid; logic more; logic [Cfg.AddrW-1:0] addr;}

// An access of the host to a GPU's memory, by flit address; answers to reads are MW_ANSWER.
`define MW_ACCESS(Cfg) struct packed { \
    logic valid; logic we; logic [31:0] addr; logic [Cfg.FlitW-1:0] wdata;}

// Requests of a user of stream_mux for the GPUs' host ports, and the answers: lost, of a reset GPU.
`define MW_USER(Cfg) struct packed { \
    logic claim; logic valid; logic we; logic [Cfg.PortW-1:0] gpu; logic [31:0] addr; \
    logic [Cfg.FlitW-1:0] wdata;}
`define MW_HEARD(Cfg) struct packed {logic rvalid; logic lost; logic [Cfg.FlitW-1:0] rdata;}

// A row whose reduction the switch is to open: a token of the port's own GPU that
// has an entry (mine), with experts behind the outputs of the mask, as many targets
// there, and some at home (own).
`define MW_ENTRY(Cfg) struct packed { \
    logic valid; logic mine; logic own; logic [4:0] cnt; logic [Cfg.N-1:0] mask; \
    logic [Cfg.TokensLog2-1:0] index;}

// From an input of the switch to its queues at the outputs: a word for the RAM of packets, the
// description of a packet and when it came, a word of a partial.
`define MW_COPY(Cfg) struct packed { \
    logic [1:0] region; logic [Cfg.PayW:0] line; logic [Cfg.Lanes-1:0] lane; \
    logic [Cfg.WordW-1:0] data;}
`define MW_DESC(Cfg) struct packed { \
    logic [Cfg.StampB-1:0] stamp; logic dyn; logic [3:0] more; logic pay; logic [Cfg.PayW-1:0] len;}
`define MW_PART(Cfg) struct packed {logic [Cfg.PayW-1:0] idx; logic [Cfg.FlitW+1:0] data;}

// Broadcast by switch_common to all ports: cycles that pass on a downlink behind each flit; whether
// the switch opens the reductions of rows, whether all GPUs compute each, whether rows are loaded,
// from which index on, and how many may wait in a table, whether answers stay there, log2 of the
// parts of a row that are loaded one by one and how large what is loaded and its stride are, how
// large rows and their strides and a GPU's tokens are, and the port that may open one; limits of
// credits and of the look-ahead window (0: none); ends of periods, of one, two and four, and of 32
// cycles; the time; which counters are cleared, added to and read, see port_counters; when monitors
// count, sample, and where, and what is read of them, see switch_monitor.
`define MW_COMMON(Cfg) struct packed { \
    logic [1:0] link_wait; logic switch_reductions; logic tile_reductions; \
    logic merge_loads; logic [14:0] load_first; logic [8:0] load_entries; logic load_keep; \
    logic [2:0] load_parts; logic [14:0] load_bytes; logic [3:0] load_shift; logic cnt_loads; \
    logic [14:0] row_bytes; logic [3:0] row_shift; logic [3:0] token_shift; \
    logic [Cfg.PortW-1:0] turn; logic [Cfg.StoreW-1:0] store_limit; \
    logic [Cfg.PartW-1:0] part_limit; \
    logic [Cfg.SeqW-1:0] window_limit; logic [2:0] tick; logic step; logic [Cfg.StampB-1:0] now; \
    logic cnt_clearing; logic cnt_visit; logic [3:0] cnt_addr; logic [14:0] cnt_at; \
    logic mon_count; \
    logic mon_sample; logic [$clog2(map_pkg::MonitorSamples)-1:0] mon_idx; \
    logic [3:0] mon_classes; \
    logic mon_series; logic [7:0] mon_word;}

// Of the look-ahead window of an input: the number of the STORE packet that will be pushed
// next, and the first one inside.
`define MW_WINDOW(Cfg) struct packed {logic [Cfg.SeqW-1:0] seq; logic [Cfg.SeqW-1:0] oldest;}

// Of a packet that has arrived at a hub: its header, as far as its stores need it, and one of its
// targets. bad: an error, do nothing, len is its code; cnt: targets, 1 for what has none; beyond:
// bits above the address are set; row: that its source has chosen in the list, with source_lists.
// Of a red, src and the upper bit of stage are its red_t.
`define MW_ARRIVED(Cfg) struct packed { \
    logic bad; packet_pkg::opcode_e op; logic [Cfg.PortW-1:0] src; logic [7:0] len; \
    logic [4:0] cnt; \
    logic [1:0] stage; \
    logic beyond; logic [Cfg.ExpW+4:0] tgt; logic [packet_pkg::RowBits-1:0] row; \
    logic [Cfg.MaddrW-1:0] addr;}

// An entry of a token's list of experts, in the routing table: position, last of its list;
// the token, and its row there.
`define MW_LISTED(Cfg) struct packed { \
    logic valid; logic last; logic [15:0] id; logic [3:0] pos; logic [Cfg.TokensLog2-1:0] token; \
    logic [Cfg.AddrW-$clog2(isa_pkg::RouteBytes / Cfg.FlitBytes)-1:0] row;}

// A target {expert, position} that is kept for packets: place in one of four lists;
// its row, with source_lists.
`define MW_TARGET(Cfg) struct packed { \
    logic we; logic [1:0] list; logic [3:0] place; logic [Cfg.ExpW+3:0] data; \
    logic [packet_pkg::RowBits-1:0] row;}

// What a worker of rx_store writes, with a flit of its payload: with red it is combined with what
// lies there, of this type and operator.
`define MW_STORE(Cfg) struct packed { \
    logic valid; logic red; red_pkg::red_t kind; logic [Cfg.AddrW-1:0] addr; \
    logic [Cfg.FlitBytes-1:0] be;}

// A token that is sent: its list of targets is good; targets elsewhere and here, GPUs that have
// one, and where its list and its routing entry lie.
`define MW_TOKEN(Cfg) struct packed { \
    logic bad; logic [4:0] remote; logic [4:0] own; logic [Cfg.N-1:0] gpus; logic [1:0] list; \
    logic [Cfg.TokensLog2-1:0] token; \
    logic [Cfg.AddrW-$clog2(isa_pkg::RouteBytes / Cfg.FlitBytes)-1:0] row;}

// The range of tokens of an instruction: the first one, and behind the last.
`define MW_RANGE(Cfg) struct packed { \
    logic valid; logic [Cfg.TokensLog2:0] first; logic [Cfg.TokensLog2:0] stop;}

// A store as packet_manager sees it: of which partition, sectors of its line that it writes, and
// what must be the same where two are merged. An entry that leaves: sectors that it has.
`define MW_MERGE(Cfg) struct packed { \
    logic valid; bundle_pkg::merge_e kind; logic [Cfg.GpuW-1:0] part; logic [3:0] mask; \
    logic [Cfg.MergeKeyW-1:0] key;}
`define MW_CLAIM(Cfg) struct packed { \
    logic valid; logic [Cfg.GpuW-1:0] part; logic [Cfg.RpmW-1:0] idx; logic [3:0] mask;}

// A token that the routing table has: the GPUs that hold one of its experts.
// The own token that is sent next.
`define MW_PLACES(Cfg) struct packed {logic valid; logic [Cfg.N-1:0] gpus;}
`define MW_PICK(Cfg) struct packed {logic valid; logic [Cfg.TokensLog2-1:0] token;}

// What a layer's copy counts say of the own GPU, once all are here: own tokens with remote targets,
// and rows of partial sums that it will send.
`define MW_SHARE(Cfg) struct packed { \
    logic valid; logic [Cfg.TokensLog2:0] tokens; logic [Cfg.TokW:0] rows;}

// What a port of the switch says to all others: its output goes down (mark); rows are open in its
// join that were begun before a port went down last (old); it was down since the last go (fell),
// see report_scoreboard; no row is to be opened that concerns it (crowded), see grant_queue; of its
// strobes ready and opened, which token of its GPU they are about; the lane is of an LD, and may be
// merged; of its backs load_bad, the error.
`define MW_NOTIFIED(Cfg) struct packed { \
    logic mark; logic old; logic fell; logic crowded; logic [Cfg.LoadIndexW-1:0] lane_index; \
    logic lane_load; logic lane_merge; error_pkg::err_e load_code; \
    logic [Cfg.TokensLog2-1:0] opened_index;}

// Between ports of the switch, a bit for each other port, by distance. From an input to the queues:
// there is a word, a description, a push, a partial; the credit of the partial before still waits;
// a lane of a READY of a row of that port; a row was opened that it is a member of; its load is
// answered. And back: there is room, a CTRL packet has left, a queue of partials is full; the lane
// was taken, one was wrong, one of an LD was.
`define MW_STROBES(Cfg) struct packed { \
    logic [Cfg.Others-1:0] wr; logic [Cfg.Others-1:0] desc; logic [Cfg.Others-1:0] push; \
    logic [Cfg.Others-1:0] come; \
    logic [Cfg.Others-1:0] hold; logic [Cfg.Others-1:0] ready; logic [Cfg.Others-1:0] opened; \
    logic [Cfg.Others-1:0] answered;}
`define MW_BACKS(Cfg) struct packed { \
    logic [Cfg.Others-1:0] room; logic [Cfg.Others-1:0] ctrl_free; \
    logic [Cfg.Others-1:0] part_full; \
    logic [Cfg.Others-1:0] lane_take; logic [Cfg.Others-1:0] lane_bad; \
    logic [Cfg.Others-1:0] load_bad;}

`endif
