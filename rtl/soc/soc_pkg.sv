// SPDX-License-Identifier: CERN-OHL-P-2.0
// What host link and firmware hand to each other through the mailbox, payload aside.
`default_nettype none
package soc_pkg;
  typedef struct packed {
    logic [7:0]  kind;  // type of a command, status of a reply (host_pkg)
    logic [6:0]  words; // of 8 bytes, of the payload, 0 .. 64
    logic [31:0] count;
    logic [63:0] argument;
  } message_t;
endpackage
`default_nettype wire
