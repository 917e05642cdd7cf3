// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Messages between host link and firmware through the mailbox, without their payload.
`default_nettype none
package soc_pkg;
    typedef struct packed {
        logic [7:0]  kind;      // type of a command, status of a reply (host_pkg)
        logic [6:0]  words;     // of 8 bytes, of the payload, 0 .. 64
        logic [31:0] count;
        logic [63:0] argument;
    } message_t;

    // The firmware's way to the mailbox's payloads: words of a command that are read, in the next
    // cycle, of a reply that are written.
    typedef struct packed {
        logic        re;
        logic [6:0]  raddr;
        logic        we;
        logic [6:0]  waddr;
        logic [31:0] wdata;
    } words_t;

    // State of the host link for the SoC. unheard: the link was reset while it executed a request,
    // and it still executes that request. error is a pulse, with status. waiting: another frame has
    // arrived.
    typedef struct packed {
        logic       unheard;
        logic       in_step;
        logic       waiting;
        logic       error;
        logic [7:0] status;
    } link_t;

    // What the CPU does: it trapped; its access is in flight, to addr; fault: that has failed.
    typedef struct packed {
        logic         trap;
        logic access;
        logic         fault;
        logic [31:0]  addr;
    } cpu_t;

    // Resets of the fabric, from the firmware: fabric is a pulse that requests one, hold lets the
    // host's RESET wait. And how they are: the host's RESET is there; the fabric is being reset.
    typedef struct packed {
        logic fabric;
        logic hold;
    } reset_req_t;

    typedef struct packed {
        logic asked;
        logic busy;
    } reset_rsp_t;

    // To the UART: clocks of a bit, less 1; a character to send; take: the received character is
    // taken. From the UART: free places in the sending queue, at most 255, and the received
    // character.
    typedef struct packed {
        logic [15:0] divisor;
        logic        send;
        logic [7:0]  data;
        logic        take;
    } uart_req_t;

    typedef struct packed {
        logic [7:0] room;
        logic       valid;
        logic [7:0] data;
    } uart_rsp_t;
endpackage
`default_nettype wire
