// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The configuration of a fabric: sizes and features that its parts must agree on, and the widths
// derived from them.
//
// Function: Every module that depends on the configuration has it as its parameter Cfg. To build a
// fabric, start from usual(), change settings, and call derived(). A tool that builds one part sets
// them by the macro MW_CFG, statements about c, as in -DMW_CFG="c.N = 8; c.FlitBytes = 16;".
// Default is the value of a Cfg that no parent passes.
`default_nettype none

package cfg_pkg;
    typedef struct packed {
        // ---- settings ----
        int unsigned   N;                 // ports of the switch, each with a hub and a GPU: 2 to 72
        int unsigned   FlitBytes;         // 8 or 16
        int unsigned   MemBytesLog2;      // bytes of a GPU's memory
        int unsigned   RowsLog2;          // rows of all experts of a GPU
        int unsigned   TokensLog2;        // own tokens of a GPU
        int unsigned   MaxExperts;        // entries of the expert map
        int unsigned   MaxLocalExperts;   // experts of a GPU, at most 64
        int unsigned   Groups;            // static multicast groups
        int unsigned   CacheEntries;      // of the allocator
        bit            CacheLimit;        // a layer may use fewer of them
        int unsigned   MaxLatency;        // of a link, cycles
        int unsigned   OpenRows;          // reduction requests outstanding per requester
        // packets of class STORE that an input of the switch has room for, in each of its queues
        int unsigned   StorePkts;
        int unsigned   CtrlPkts;          // the same of class CTRL
        int unsigned   Window;            // largest look-ahead window of an input of the switch, 0:
                                          // it has none
        int unsigned   PartPkts;          // partials queued per {hub, requester}
        bit            PartSharedRam;     // they lie in the RAMs of packets, see switch_top
        int unsigned   RxStorePkts;       // packets that a hub has room for, by class
        int unsigned   RxResultPkts;
        int unsigned   RxCtrlPkts;
        bit            Reds;              // hubs do multimem.red
        bit            AdderBypass;       // rows without an addition pass the hub's adder by
        bit            TargetListCache;   // switch and hubs remember the list of targets of each
                                          // source's open row
        bit            TokenOrder;        // hubs order the tokens of a dispatch, and throttle it by
                                          // partial sums
        int unsigned   StreamInstrs;      // instructions of a stream: 2^i, at most
                                          // isa_pkg::StreamInstrs
        int unsigned   Events;            // numbers of event counters, 16 or 32: with SW8 and those
                                          // behind it
        bit            Delay;             // streams have delay
        bit            RowRanges;         // flags report rows, and expert.rows takes ranges of
                                          // tokens
        bit            Gathered;          // expert.rows, sum and multimem take the rows of a
                                          // gathered routing table
        bit            RowSparse;         // st.rowsp, and finished rows that return singly
        bit            SourceLists;       // and layers in which senders say where rows land, in
                                          // lists of their own
        int unsigned   RpmEntries;        // lines that a hub's packet manager keeps for each GPU:
                                          // 2^i, 0: it has none
        bit            SwitchReductions;  // the switch opens the reduction of a row that all
                                          // members have reported
        bit            TileReductions;    // also of rows that all GPUs compute, without a dispatch
        bit            MergeLoads;        // GPUs load rows, and the switch merges loads of one
        int unsigned   MergeEntries;      // rows that wait for an answer at a port: MergeWays times
                                          // a power of two, at most 511
        int unsigned   MergeWays;         // of them in a set
        int unsigned   MergeKeep;         // bytes of answers that a port keeps: 2^i, or 0: none
        int unsigned   KeepRows;          // rows that these are, at most; only with 16-byte flits
        int unsigned   SumEntries;        // addresses whose reds a port adds up: SumWays times a
                                          // power of two, at most 511, or 0: none. Hubs need Reds
                                          // and Gathered. The switch needs SwitchReductions for
                                          // errors, and MergeLoads for counters
        int unsigned   SumWays;           // of them in a set
        int unsigned   OpenLoads;         // rows that a GPU may load at a time
        int unsigned   OpenSyncs;         // tiles that it may have reported and not been granted
        bit            RowTypes;          // rows of dispatch may have a size and type of their own
        bit            GateGradients;     // experts return dot products for gate weights; with
                                          // RowTypes
        bit            CachedHandle;      // layers may use what an earlier one counted and
                                          // allocated
        bit            BalanceRows;       // hubs can serve GPUs first that have received less
        bit            LinkRate;          // links may be slower than a flit per cycle
        bit            Guard;             // the switch bears endpoints that misbehave
        bit            Monitor;           // latency histogram and time series of each port of the
                                          // switch
        bit            Faults;            // emulated endpoints can be made to
        bit            Multicast;         // the switch has the multimem opcodes
        red_pkg::set_t RedTypes;          // types and operators of reductions
        red_pkg::ops_t RedOps;

        // ---- what follows: widths are in bits ----
        int unsigned FlitW;        // a flit
        int unsigned FlitLog2;     // bytes of a flit
        int unsigned HeadFlits;    // flits of a header
        int unsigned ListFlits;    // most flits of a list of targets behind it
        int unsigned PayFlits;     // most flits of a payload
        int unsigned PayW;         // index of one of these
        int unsigned Lanes;        // expert IDs, or values of 16 bits, in a flit
        int unsigned LaneW;        // index of one of these
        int unsigned Words;        // of 32 bits in a flit
        int unsigned GpuW;         // a GPU's number
        int unsigned PortW;        // bits of a port's number that count, in packets and registers
        int unsigned Others;       // ports besides one
        int unsigned GroupW;       // number of a static group
        int unsigned MaskW;        // a mask of ports in a write of a group, at least a register
        int unsigned CopyPkts;     // packets of COPIES to a GPU
        int unsigned ExpW;         // an expert's number
        int unsigned LocalW;       // an expert's number on its GPU
        int unsigned AddrW;        // address of a flit in own memory
        int unsigned LineW;        // address of 128 bytes there
        int unsigned TokW;         // number of a token of any GPU
        int unsigned MaddrW;       // multimem address: of a byte of a row of any token, or
                                   // in own memory
        int unsigned ItemW;        // item of unit combine: own token, or byte address
        int unsigned CountW;       // rows of one expert
        int unsigned EventW;       // number of an event counter
        int unsigned RpmW;         // index of an entry of the packet manager
        int unsigned MergeRankW;   // order in which its entries leave
        int unsigned MergeRowW;    // a row of those in a line
        int unsigned MergeKeyW;    // and what they have in common besides
        int unsigned OpenW;        // index of a reduction request of a requester
        int unsigned BeatW;        // and of a word of it in its hub
        int unsigned SlotW;        // place of a packet in a queue of the switch
        int unsigned SeqW;         // number of a packet in a look-ahead window
        int unsigned StoreW;       // credits of a hub: packets of class STORE
        int unsigned PartW;        // and results
        int unsigned ResultSlots;  // packets of results that wait at an output of the switch
        int unsigned SumFlits;     // flits of results that wait for a hub's own sums, behind
                                   // its queue of packets
        int unsigned GrantRows;    // rows that may be granted and not begun at a hub, see
                                   // grant_lanes
        int unsigned LoadPlaces;   // rows that other GPUs may load from one at a time
        int unsigned OpenLoadW;    // number of rows, or parts of rows, that a GPU loads
        int unsigned LoadIndexW;   // number of one at its home: there are four times as many parts
                                   // as rows, or as many as a lane can number
        int unsigned MergeW;       // index of an entry of the table of loads
        int unsigned StampW;       // when a packet came, 0 without monitors
        int unsigned StampB;       // of a signal that holds it
        int unsigned DescW;        // description of a packet in a queue of the switch
        int unsigned WordW;        // a word of the RAM of packets
        int unsigned SharedRamW;   // address of a word of partials there
        bit          Late;         // words are written a cycle behind their addresses
    } cfg_t;

    function automatic cfg_t usual();
        cfg_t c;
        c = '0;
        c.N = 4;
        c.FlitBytes = 8;
        c.MemBytesLog2 = 25;
        c.RowsLog2 = 15;
        c.TokensLog2 = 12;
        c.MaxExperts = 512;
        c.MaxLocalExperts = 32;
        c.Groups = 16;
        c.CacheEntries = 512;
        c.CacheLimit = 1'b1;
        c.MaxLatency = 64;
        c.OpenRows = 8;
        c.StorePkts = 32;
        c.CtrlPkts = 16;
        c.Window = 16;
        c.PartPkts = 4;
        c.RxStorePkts = 32;
        c.RxResultPkts = 4;
        c.RxCtrlPkts = 16;
        c.Reds = 1'b1;
        c.AdderBypass = 1'b1;
        c.TargetListCache = 1'b1;
        c.TokenOrder = 1'b1;
        c.StreamInstrs = 64;
        c.Events = 32;
        c.Delay = 1'b1;
        c.RowRanges = 1'b1;
        c.Gathered = 1'b1;
        c.RowSparse = 1'b1;
        c.SourceLists = 1'b1;
        c.RpmEntries = 8;
        c.SwitchReductions = 1'b1;
        c.TileReductions = 1'b0;
        c.MergeLoads = 1'b0;
        c.MergeEntries = 32;
        c.MergeWays = 4;
        c.MergeKeep = 0;
        c.KeepRows = 16;
        c.SumEntries = 0;
        c.SumWays = 4;
        c.OpenLoads = 32;
        c.OpenSyncs = 8;
        c.RowTypes = 1'b0;
        c.GateGradients = 1'b0;
        c.CachedHandle = 1'b0;
        c.BalanceRows = 1'b0;
        c.LinkRate = 1'b1;
        c.Guard = 1'b1;
        c.Monitor = 1'b1;
        c.Faults = 1'b1;
        c.Multicast = 1'b1;
        c.RedTypes = red_pkg::UsualTypes;
        c.RedOps = red_pkg::AllOps;
        return c;
    endfunction

    function automatic int unsigned most(input int unsigned a, input int unsigned b);
        return (a > b) ? a : b;
    endfunction

    function automatic int unsigned least(input int unsigned a, input int unsigned b);
        return (a < b) ? a : b;
    endfunction

    // Bits of a number below `count`, at least one.
    function automatic int unsigned index_w(input int unsigned count);
        return most($clog2(count), 1);
    endfunction

    function automatic cfg_t derived(input cfg_t settings);
        cfg_t c;
        c = settings;
        c.FlitW = 8 * c.FlitBytes;
        c.FlitLog2 = $clog2(c.FlitBytes);
        c.HeadFlits = packet_pkg::HeaderBytes / c.FlitBytes;
        c.ListFlits = (packet_pkg::TargetBytes * (packet_pkg::TargetsMax - 1) + c.FlitBytes - 1)
                      / c.FlitBytes;
        c.PayFlits = packet_pkg::PayloadMaxBytes / c.FlitBytes;
        c.PayW = $clog2(c.PayFlits);
        c.Lanes = c.FlitBytes / packet_pkg::TargetBytes;
        c.LaneW = $clog2(c.Lanes);
        c.Words = c.FlitBytes / 4;
        c.GpuW = index_w(c.N);
        c.PortW = (c.N > packet_pkg::PortsNear) ? packet_pkg::PortBits : packet_pkg::NearBits;
        c.Others = c.N - 1;
        c.GroupW = index_w(c.Groups);
        c.MaskW = most(c.N, 32);
        c.CopyPkts = (4 * c.N + packet_pkg::PayloadMaxBytes - 1) / packet_pkg::PayloadMaxBytes;
        c.ExpW = index_w(c.MaxExperts);
        c.LocalW = index_w(c.MaxLocalExperts);
        c.AddrW = c.MemBytesLog2 - c.FlitLog2;
        c.LineW = c.AddrW - c.PayW;
        c.TokW = c.TokensLog2 + c.GpuW;
        c.MaddrW = most(c.TokW + 15, c.MemBytesLog2);
        c.ItemW = most(c.MemBytesLog2, c.TokensLog2);
        c.CountW = (c.RowsLog2 < node_pkg::RowW) ? c.RowsLog2 + 1 : node_pkg::RowW;
        c.EventW = $clog2(c.Events);
        c.RpmW = index_w(c.RpmEntries);
        c.MergeRankW = 1 + c.MaddrW - $clog2(packet_pkg::PayloadMaxBytes);
        c.MergeRowW = $clog2(packet_pkg::PayloadMaxBytes) - 5;
        c.MergeKeyW = c.MergeRankW + c.MergeRowW + 4 + c.ExpW + 4;
        c.OpenW = $clog2(c.OpenRows);
        c.BeatW = (c.HeadFlits == 1) ? 2 : 3;
        c.SlotW = index_w(most(c.StorePkts, most(c.CtrlPkts, c.OpenRows)));
        c.SeqW = $clog2(c.StorePkts) + 1;
        c.StoreW = $clog2(c.RxStorePkts + 1);
        c.PartW = $clog2(c.RxResultPkts + 1);
        c.ResultSlots = (c.PayFlits >= 16) ? 1 : 16 / c.PayFlits;  // LUT RAM comes in 16 words
        c.SumFlits = (c.FlitBytes < 16) ? 0 : 15;
        // open ones of all homes, and own ones that have closed while their results, of a packet
        // and a flit at least, wait: at the switch, in the hub's queue, behind that
        c.GrantRows = c.N * c.OpenRows + c.ResultSlots + c.RxResultPkts + c.SumFlits;
        // and tiles of rows that are loaded, or pushed
        if (c.MergeLoads) c.GrantRows = c.GrantRows + c.OpenSyncs;
        if (c.SumEntries != 0) c.GrantRows = c.GrantRows + c.OpenSyncs;
        c.LoadPlaces = c.Others * c.OpenLoads;
        c.OpenLoadW = $clog2(c.OpenLoads + 1);
        c.LoadIndexW = !c.MergeLoads ? c.TokensLog2 :
            least(c.TokensLog2 + 2, (c.N <= packet_pkg::PortsNear) ? 15 : packet_pkg::LaneFarBits);
        c.MergeW = index_w(c.MergeEntries);
        c.StampW = c.Monitor ? map_pkg::MonitorStampBits : 0;
        c.StampB = most(c.StampW, 1);
        c.DescW = c.SlotW + 6 + c.PayW + c.StampW;
        c.WordW = c.FlitW + 1 + 32'(c.PartSharedRam);
        c.SharedRamW = c.PayW + c.SlotW - 2;
        c.Late = c.PartSharedRam && c.HeadFlits == 2;
        return c;
    endfunction

    // Whether EVENT and FLAG packets count the event counter of this number, where there are so
    // many numbers: the first ones, and all of the upper half.
    function automatic bit counted(input int unsigned events, input logic [47:0] number);
        return (number >> $clog2(isa_pkg::SwEvents)) == '0 ||
            (events == isa_pkg::Events && (number >> $clog2(isa_pkg::EV_SW8)) == 48'd1);
    endfunction

    // Number of a port as a header has it.
    function automatic packet_pkg::port_t port_of(
        input cfg_t c, input logic [packet_pkg::PortBits-packet_pkg::NearBits-1:0] far,
        input logic [packet_pkg::NearBits-1:0] near);
        return (c.N > packet_pkg::PortsNear) ? {far, near} : packet_pkg::port_t'(near);
    endfunction

    // Home and index of the row that a lane names, and a lane that names one. With more ports than
    // 5 bits can number, two bits of the index belong to the home.
    function automatic packet_pkg::port_t lane_home(input cfg_t c, input packet_pkg::lane_t lane);
        if (c.N <= packet_pkg::PortsNear) return packet_pkg::port_t'(lane.home);
        return {lane.home, lane.index[14:packet_pkg::LaneFarBits]};
    endfunction

    function automatic logic [14:0] lane_index(input cfg_t c, input packet_pkg::lane_t lane);
        if (c.N <= packet_pkg::PortsNear) return lane.index;
        return 15'(lane.index[packet_pkg::LaneFarBits-1:0]);
    endfunction

    function automatic packet_pkg::lane_t lane_of(input cfg_t c, input packet_pkg::port_t home,
                                                  input logic [14:0] index);
        packet_pkg::lane_t lane;
        lane = '{valid: 1'b1, home: home[packet_pkg::NearBits-1:0], index: index};
        if (c.N > packet_pkg::PortsNear)
            {lane.home, lane.index} = {home, index[packet_pkg::LaneFarBits-1:0]};
        return lane;
    endfunction

    // Whether a packet stores what belongs to a row, at experts that its list names.
    function automatic bit stores_row(input bit row_sparse, input packet_pkg::opcode_e opcode);
        packet_pkg::attributes_t op;
        op = packet_pkg::attributes_of(opcode, 1'b0);
        return op.targets == packet_pkg::TARGETS_EXPERTS && op.payload
               && (row_sparse || op.needs != packet_pkg::NEEDS_ROW_SPARSE);
    endfunction

    function automatic cfg_t chosen();
        cfg_t c;
        c = usual();
`ifdef MW_CFG
        `MW_CFG
`endif
        return derived(c);
    endfunction

    /* verilator lint_off UNUSEDPARAM */  // where a part has no configuration
    localparam cfg_t Default = chosen();
    /* verilator lint_on UNUSEDPARAM */
endpackage

`default_nettype wire
