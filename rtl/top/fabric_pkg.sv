// SPDX-License-Identifier: CERN-OHL-P-2.0
// Sizes of the device that its parts must agree on: defaults of the parameters of fabric, node and fabric_core.
`default_nettype none
/* verilator lint_off UNUSEDPARAM */
package fabric_pkg;
  localparam int unsigned MemBytesLog2 = 25;    // bytes of a GPU's memory
  localparam int unsigned RowsLog2 = 15;        // rows of all experts of a GPU
  localparam int unsigned TokensLog2 = 12;      // own tokens of a GPU
  localparam int unsigned MaxExperts = 512;     // entries of the expert map
  localparam int unsigned MaxLocalExperts = 32; // experts of a GPU, at most 32
  localparam int unsigned CacheEntries = 512;   // of the allocator
  localparam int unsigned MaxLatency = 64;      // of a link, cycles
  localparam int unsigned OpenRows = 8;         // reduction requests outstanding per requester
  localparam int unsigned StorePkts = 32;       // packets of class STORE that an input of the switch has room for, in each of its queues
  localparam int unsigned Window = 16;          // largest look-ahead window of an input of the switch, 0: it has none
  localparam int unsigned CtrlPkts = 16;        // the same of class CTRL
  localparam int unsigned PartPkts = 4;         // partials queued per {hub, requester}
  localparam bit PartGuest = 1'b0;              // they lie in the RAMs of packets, see switch_top
  localparam int unsigned RxStorePkts = 16;     // packets that a hub has room for, by class
  localparam int unsigned RxResultPkts = 4;
  localparam int unsigned RxCtrlPkts = 16;
  localparam bit Reds = 1'b1;                   // hubs do multimem.red
  localparam bit Guard = 1'b1;                  // the switch bears endpoints that misbehave
  localparam bit Monitor = 1'b1;                // latency histogram and time series of each port of the switch
  localparam bit Faults = 1'b1;                 // emulated endpoints can be made to
  localparam bit Multicast = 1'b1;              // the switch has the multimem opcodes
  localparam red_pkg::set_t RedTypes = red_pkg::AllTypes; // types and operators of reductions
  localparam red_pkg::set_t RedOps = red_pkg::AllOps;
  localparam int unsigned Groups = 16;          // static multicast groups
endpackage
`default_nettype wire
