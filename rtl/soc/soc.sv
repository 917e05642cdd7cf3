// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Control SoC: PicoRV32 with its RAM, its ways to the bus of the registers and to the GPUs' memories, and its own registers (soc_csr) with timer,
// watchdog, UART and mailbox. It configures, starts, watches and reports; no data of a layer passes through it.
//
// The CPU's address space is that of map_pkg. An access that finds nothing there, is not of 32 bits where that is asked, is refused by the bus, or meets a
// GPU that is being reset, reads 0, writes nothing, and is kept in the register `fault`. Registers of the SoC are reached over the bus only, by the host as by the CPU.
`default_nettype none

module soc #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter int unsigned RamLog2 = 14,
    parameter int unsigned ClockMhz = 60,
    parameter Firmware = "build/firmware/firmware.hex"
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,

    // master of the bus
    output logic             bus_req_o,
    output logic             bus_we_o,
    output logic [31:0]      bus_addr_o,
    output logic [31:0]      bus_wdata_o,
    input  wire logic        bus_ack_i,
    input  wire logic [31:0] bus_rdata_i,
    input  wire logic        bus_err_i,

    // its registers on the bus
    input  wire logic        reg_req_i,
    input  wire logic        reg_host_i, // the host's access
    input  wire logic        reg_we_i,
    input  wire logic [31:0] reg_addr_i,
    input  wire logic [31:0] reg_wdata_i,
    output logic             reg_ack_o,
    output logic [31:0]      reg_rdata_o,
    output logic             reg_err_o,

    // GPU memories, through stream_mux
    output logic                      mem_claim_o,
    output logic                      mem_valid_o,
    input  wire logic                 mem_ready_i,
    output logic                      mem_we_o,
    output logic [4:0]                mem_gpu_o,
    output logic [31:0]               mem_addr_o,
    output logic [Cfg.FlitW-1:0]      mem_wdata_o,
    input  wire logic                 mem_rvalid_i,
    input  wire logic                 mem_lost_i,
    input  wire logic [Cfg.FlitW-1:0] mem_rdata_i,

    // mailbox, the host link's side (mailbox.sv)
    input  wire logic              cmd_we_i,
    input  wire logic [5:0]        cmd_waddr_i,
    input  wire logic [63:0]       cmd_wdata_i,
    input  wire logic              cmd_re_i,
    input  wire logic [5:0]        cmd_raddr_i,
    output logic [63:0]            cmd_rdata_o,
    input  wire logic              give_i,
    input  wire soc_pkg::message_t command_i,
    input  wire logic              rep_we_i,
    input  wire logic [5:0]        rep_waddr_i,
    input  wire logic [63:0]       rep_wdata_i,
    input  wire logic              rep_re_i,
    input  wire logic [5:0]        rep_raddr_i,
    output logic [63:0]            rep_rdata_o,
    output logic                   reply_valid_o,
    output soc_pkg::message_t      reply_o,
    input  wire logic              taken_i,

    input  wire logic       link_in_step_i,
    input  wire logic       link_waiting_i, // another frame is here
    input  wire logic       link_error_i,
    input  wire logic [7:0] link_status_i,
    output logic            reset_fabric_o, // pulse: the firmware asks for it
    output logic            reset_hold_o,   // the host's RESET waits
    input  wire logic       resetting_i,    // the fabric is being reset

    output logic      uart_tx_o,
    input  wire logic uart_rx_i
);
    if (RamLog2 < 12 || RamLog2 > 20 || Cfg.MemBytesLog2 > 25) begin : gen_check
        $error("soc: RAM of 4 KB to 1 MB, GPU memories of at most 32 MB");
    end

    // ---- CPU ----
    logic        cpu_rst_n, trap, mem_valid, mem_instr, mem_ready;
    logic [31:0] mem_addr, mem_wdata, mem_rdata;
    logic [3:0]  mem_wstrb;
    logic        la_read, la_write, pcpi_valid, trace_valid;
    logic [31:0] la_addr, la_wdata, pcpi_insn, pcpi_rs1, pcpi_rs2, eoi;
    logic [3:0]  la_wstrb;
    logic [35:0] trace_data;

    picorv32 #(
        .ENABLE_COUNTERS(0), .ENABLE_COUNTERS64(0), .BARREL_SHIFTER(1), .CATCH_MISALIGN(1), .CATCH_ILLINSN(1), .PROGADDR_RESET(map_pkg::CpuRam),
        .STACKADDR(32'hffff_ffff)
    ) i_cpu (
        .clk(clk_i), .resetn(cpu_rst_n), .trap,
        .mem_valid, .mem_instr, .mem_ready, .mem_addr, .mem_wdata, .mem_wstrb, .mem_rdata,
        .mem_la_read(la_read), .mem_la_write(la_write), .mem_la_addr(la_addr), .mem_la_wdata(la_wdata), .mem_la_wstrb(la_wstrb),
        .pcpi_valid, .pcpi_insn, .pcpi_rs1, .pcpi_rs2, .pcpi_wr(1'b0), .pcpi_rd('0), .pcpi_wait(1'b0), .pcpi_ready(1'b0),
        .irq('0), .eoi, .trace_valid, .trace_data
    );

    // ---- where an access goes; it is answered in the cycle of ANSWER, and the CPU takes its request back in the next ----
    typedef enum logic [2:0] {IDLE, RAM, BUS, GPU, FAULT, ANSWER} state_e;
    state_e      state_q;
    logic        ram_here, gpu_here, bus_here, window_ack, start;
    logic [31:0] ram_rdata, window_rdata, rdata_q;
    logic        fault_q, stale_q;  // stale: the access is of a CPU that started anew since

    assign start    = state_q == IDLE && mem_valid && cpu_rst_n;
    assign ram_here = mem_addr[31:30] == 2'b00 && mem_addr[29:RamLog2] == '0;
    assign gpu_here = mem_addr[31:30] == 2'b01 && 32'(mem_addr[29:25]) < Cfg.N && 25'(mem_addr[24:0] >> Cfg.MemBytesLog2) == '0;
    assign bus_here = mem_addr[31] && (mem_wstrb == '0 || mem_wstrb == '1);

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            state_q <= IDLE;
            fault_q <= 1'b0;
            stale_q <= 1'b0;
        end else begin
            stale_q <= state_q != IDLE && (stale_q || !cpu_rst_n);
            fault_q <= state_q == FAULT || (state_q == BUS && bus_ack_i && bus_err_i) || mem_lost_i;
            unique case (state_q)
                IDLE: if (start) state_q <= ram_here ? RAM : gpu_here ? GPU : bus_here ? BUS : FAULT;
                RAM: state_q <= IDLE;
                BUS: if (bus_ack_i) state_q <= ANSWER;
                GPU: if (window_ack) state_q <= ANSWER;
                FAULT: state_q <= ANSWER;
                ANSWER: state_q <= IDLE;
                default: state_q <= IDLE;
            endcase
        end
        if (state_q == BUS) rdata_q <= bus_err_i ? '0 : bus_rdata_i;
        else if (state_q == GPU) rdata_q <= window_rdata;
        else rdata_q <= '0;
    end

    // RAM answers in the cycle after the request
    assign mem_ready = (state_q == RAM || state_q == ANSWER) && !stale_q;
    assign mem_rdata = state_q == RAM ? ram_rdata : rdata_q;

    cpu_ram #(.BytesLog2(RamLog2), .InitFile(Firmware)) i_ram (
        .clk_i, .req_i(start && ram_here), .we_i(mem_wstrb), .addr_i(mem_addr[RamLog2-1:2]), .wdata_i(mem_wdata), .rdata_o(ram_rdata)
    );

    // ---- an access outlives a restart of the CPU until its answer: what it asks for is kept here ----
    logic [31:0] addr_q, wdata_q;
    logic [3:0]  wstrb_q;

    always_ff @(posedge clk_i) begin
        if (start) begin
            addr_q  <= mem_addr;
            wdata_q <= mem_wdata;
            wstrb_q <= mem_wstrb;
        end
    end

    assign bus_req_o   = state_q == BUS;
    assign bus_we_o    = wstrb_q != '0;
    assign bus_addr_o  = {1'b0, addr_q[30:0]};
    assign bus_wdata_o = wdata_q;

    gpu_window #(.Cfg(Cfg)) i_window (
        .clk_i, .rst_ni, .req_i(state_q == GPU), .we_i(wstrb_q), .gpu_i(addr_q[29:25]), .addr_i({7'd0, addr_q[24:0]}), .wdata_i(wdata_q), .ack_o(window_ack),
        .rdata_o(window_rdata), .claim_o(mem_claim_o), .valid_o(mem_valid_o), .ready_i(mem_ready_i), .we_o(mem_we_o), .gpu_o(mem_gpu_o), .addr_o(mem_addr_o),
        .wdata_o(mem_wdata_o), .rvalid_i(mem_rvalid_i), .lost_i(mem_lost_i), .rdata_i(mem_rdata_i)
    );

    // ---- registers, UART, mailbox ----
    logic        restart, uart_send, uart_valid, uart_take, mbox_re, mbox_we, command_valid, reply_send;
    soc_pkg::message_t command, reply;
    logic [15:0] uart_divisor;
    logic [7:0]  uart_char, uart_room, uart_data;
    logic [6:0]  mbox_raddr, mbox_waddr;
    logic [31:0] mbox_rdata, mbox_wdata;

    soc_csr #(.RamLog2(RamLog2), .ClockMhz(ClockMhz)) i_csr (
        .clk_i, .rst_ni, .req_i(reg_req_i), .host_i(reg_host_i), .we_i(reg_we_i), .addr_i(reg_addr_i), .wdata_i(reg_wdata_i), .ack_o(reg_ack_o), .rdata_o(reg_rdata_o),
        .err_o(reg_err_o), .trap_i(trap), .cpu_rst_no(cpu_rst_n), .restart_o(restart), .fault_i(fault_q), .fault_addr_i(addr_q),
        .uart_divisor_o(uart_divisor), .uart_send_o(uart_send), .uart_data_o(uart_char), .uart_room_i(uart_room), .uart_valid_i(uart_valid),
        .uart_data_i(uart_data), .uart_take_o(uart_take), .command_i(command), .command_valid_i(command_valid), .mbox_re_o(mbox_re),
        .mbox_raddr_o(mbox_raddr), .mbox_rdata_i(mbox_rdata), .mbox_we_o(mbox_we), .mbox_waddr_o(mbox_waddr), .mbox_wdata_o(mbox_wdata),
        .reply_send_o(reply_send), .reply_o(reply), .link_in_step_i, .link_waiting_i, .link_error_i, .link_status_i, .reset_fabric_o, .reset_hold_o,
        .resetting_i
    );

    uart i_uart (
        .clk_i, .rst_ni, .divisor_i(uart_divisor), .send_i(uart_send), .send_data_i(uart_char), .room_o(uart_room), .valid_o(uart_valid), .data_o(uart_data),
        .take_i(uart_take), .tx_o(uart_tx_o), .rx_i(uart_rx_i)
    );

    mailbox i_mailbox (
        .clk_i, .rst_ni, .cmd_we_i, .cmd_waddr_i, .cmd_wdata_i, .cmd_re_i, .cmd_raddr_i, .cmd_rdata_o, .give_i, .command_i, .rep_we_i, .rep_waddr_i,
        .rep_wdata_i, .rep_re_i, .rep_raddr_i, .rep_rdata_o, .reply_valid_o, .reply_o, .taken_i, .valid_o(command_valid), .command_o(command), .re_i(mbox_re),
        .raddr_i(mbox_raddr), .rdata_o(mbox_rdata), .we_i(mbox_we), .waddr_i(mbox_waddr), .wdata_i(mbox_wdata), .send_i(reply_send), .reply_i(reply),
        .restart_i(restart)
    );

    wire unused = &{1'b0, mem_instr, la_read, la_write, la_addr, la_wdata, la_wstrb, pcpi_valid, pcpi_insn, pcpi_rs1, pcpi_rs2, eoi, trace_valid, trace_data};
endmodule

`default_nettype wire
