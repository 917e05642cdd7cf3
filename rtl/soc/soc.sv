// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Control SoC: PicoRV32 with RAM, register bus, memory window, timer, watchdog, UART and
// mailbox.
//
// Function: It configures, starts, watches and reports. No data of a layer passes through it.
// The address space of the CPU is that of map_pkg. Registers of the SoC are on the bus, for host
// and CPU.
// Ports: While the register `hold` holds the CPU, the host accesses its RAM at SocRam of the
// bus. Thus a firmware is loaded that needs no other one.
// Order: One access of the CPU at a time.
// Back-pressure: The CPU waits for each access.
// Latency: Every access ends: see cfg_bus and gpu_window.
// Errors: An access reads 0, writes nothing and is recorded in `fault` if its address does not
// exist, its width is wrong, the bus refuses it, or its GPU is in reset. A restart of the CPU
// waits for its access in flight, and discards the record. At SocRam the host gets an error
// unless the CPU is held.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module soc #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type user_t = `MW_USER(Cfg),
    parameter type heard_t = `MW_HEARD(Cfg),
    parameter int unsigned RamLog2 = 14,
    parameter int unsigned ClockKhz = 60000,
    parameter int unsigned CycleClocks = 1,
    parameter int unsigned PatienceLog2 = 20,  // see soc_csr; the registers' page has it, too
    parameter Firmware = "build/firmware/firmware.hex"
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,

    // master of the bus
    output bundle_pkg::bus_req_t      bus_o,
    input  wire bundle_pkg::bus_rsp_t bus_i,

    // its registers on the bus
    input  wire bundle_pkg::bus_req_t reg_i,
    input  wire logic                 reg_host_i,  // the host's access
    output bundle_pkg::bus_rsp_t      reg_o,

    // GPU memories, through stream_mux
    output user_t       mem_o,
    input  wire logic   mem_ready_i,
    input  wire heard_t mem_i,

    // mailbox, the host link's side (mailbox.sv)
    input  wire bundle_pkg::mail_t cmd_i,
    output logic [63:0]            cmd_rdata_o,
    input  wire logic              give_i,
    input  wire soc_pkg::message_t command_i,
    input  wire bundle_pkg::mail_t rep_i,
    output logic [63:0]            rep_rdata_o,
    output logic                   reply_valid_o,
    output soc_pkg::message_t      reply_o,
    input  wire logic              taken_i,

    input  wire soc_pkg::link_t link_i,
    output logic                reset_fabric_o,  // pulse: request of the firmware
    output logic                reset_hold_o,    // the host's RESET waits
    input  wire logic           reset_asked_i,   // it is there
    input  wire logic           resetting_i,     // the fabric is being reset

    output logic      uart_tx_o,
    input  wire logic uart_rx_i
);
    if (RamLog2 < 12 || RamLog2 > 20 || Cfg.MemBytesLog2 > 25) begin : gen_check
        $error("soc: RAM of 4 KB to 1 MB, GPU memories of at most 32 MB");
    end

    // ---- CPU ----
    logic cpu_rst_n, trap, mem_valid, mem_instr, mem_ready;
    logic [31:0] mem_addr, mem_wdata, mem_rdata;
    logic [3:0] mem_wstrb;
    logic la_read, la_write, pcpi_valid, trace_valid;
    logic [31:0] la_addr, la_wdata, pcpi_insn, pcpi_rs1, pcpi_rs2, eoi;
    logic [3:0] la_wstrb;
    logic [35:0] trace_data;

    picorv32 #(
        .ENABLE_COUNTERS(0),
        .ENABLE_COUNTERS64(0),
        .BARREL_SHIFTER(1),
        .CATCH_MISALIGN(1),
        .CATCH_ILLINSN(1),
        .PROGADDR_RESET(map_pkg::CpuRam),
        .STACKADDR(32'hffff_ffff)
    ) i_cpu (
        .clk(clk_i),
        .resetn(cpu_rst_n),
        .trap,
        .mem_valid,
        .mem_instr,
        .mem_ready,
        .mem_addr,
        .mem_wdata,
        .mem_wstrb,
        .mem_rdata,
        .mem_la_read(la_read),
        .mem_la_write(la_write),
        .mem_la_addr(la_addr),
        .mem_la_wdata(la_wdata),
        .mem_la_wstrb(la_wstrb),
        .pcpi_valid,
        .pcpi_insn,
        .pcpi_rs1,
        .pcpi_rs2,
        .pcpi_wr(1'b0),
        .pcpi_rd('0),
        .pcpi_wait(1'b0),
        .pcpi_ready(1'b0),
        .irq('0),
        .eoi,
        .trace_valid,
        .trace_data
    );

    // ---- where an access goes ----
    // Answered in the cycle of Answer, and the CPU takes its request back in the next.
    typedef enum logic [2:0] {
        Idle,
        Ram,
        Bus,
        Gpu,
        Fault,
        Answer
    } state_e;
    state_e state_q;
    logic ram_here, gpu_here, bus_here, window_ack, start;
    logic [31:0] ram_rdata, window_rdata, rdata_q;
    logic fault_q;

    assign start = state_q == Idle && mem_valid && cpu_rst_n;
    assign ram_here = mem_addr[31:30] == 2'b00 && mem_addr[29:RamLog2] == '0;
    assign gpu_here = mem_addr[31:30] == 2'b01 && 32'(mem_addr[29:25]) < Cfg.N
                      && 25'(mem_addr[24:0] >> Cfg.MemBytesLog2) == '0;
    assign bus_here = mem_addr[31] && (mem_wstrb == '0 || mem_wstrb == '1);

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            state_q <= Idle;
            fault_q <= 1'b0;
        end else begin
            fault_q <= cpu_rst_n
                       && (state_q == Fault || (state_q == Bus && bus_i.ack && bus_i.err)
                           || mem_i.lost);
            unique case (state_q)
                Idle: if (start)
                    state_q <= ram_here ? Ram : gpu_here ? Gpu : bus_here ? Bus : Fault;
                Ram: state_q <= Idle;
                Bus: if (bus_i.ack) state_q <= Answer;
                Gpu: if (window_ack) state_q <= Answer;
                Fault: state_q <= Answer;
                Answer: state_q <= Idle;
                default: state_q <= Idle;
            endcase
        end
        if (state_q == Bus) rdata_q <= bus_i.err ? '0 : bus_i.rdata;
        else if (state_q == Gpu) rdata_q <= window_rdata;
        else rdata_q <= '0;
    end

    // RAM answers in the cycle after the request
    assign mem_ready = state_q == Ram || state_q == Answer;
    assign mem_rdata = state_q == Ram ? ram_rdata : rdata_q;

    // the port is the host's while the CPU is held, and answers it in the next cycle, too
    logic held, host_here, host_may, host_start, host_answer_q;
    bundle_pkg::bus_rsp_t csr;

    assign host_here = reg_i.addr[31:20] == map_pkg::SocRam[31:20];
    assign host_may = reg_host_i && held && !cpu_rst_n && 20'(reg_i.addr[19:0] >> RamLog2) == '0;
    assign host_start = reg_i.req && host_here && host_may && !host_answer_q;
    assign reg_o = host_here ? '{ack: host_answer_q, err: !host_may, rdata: ram_rdata} : csr;

    always_ff @(posedge clk_i) host_answer_q <= rst_ni && reg_i.req && host_here && !host_answer_q;

    cpu_ram #(
        .BytesLog2(RamLog2),
        .InitFile(Firmware)
    ) i_ram (
        .clk_i,
        .req_i(cpu_rst_n ? start && ram_here : host_start),
        .we_i(cpu_rst_n ? mem_wstrb : {4{reg_i.we}}),
        .addr_i(cpu_rst_n ? mem_addr[RamLog2-1:2] : reg_i.addr[RamLog2-1:2]),
        .wdata_i(cpu_rst_n ? mem_wdata : reg_i.wdata),
        .rdata_o(ram_rdata)
    );

    // ---- a CPU in reset takes its request back, and a restart waits for the answer ----
    // The request is kept here.
    logic [31:0] addr_q, wdata_q;
    logic [3:0] wstrb_q;

    always_ff @(posedge clk_i) begin
        if (start) begin
            addr_q <= mem_addr;
            wdata_q <= mem_wdata;
            wstrb_q <= mem_wstrb;
        end
    end

    assign bus_o.req = state_q == Bus;
    assign bus_o.we = wstrb_q != '0;
    assign bus_o.addr = {1'b0, addr_q[30:0]};
    assign bus_o.wdata = wdata_q;

    gpu_window #(
        .Cfg(Cfg)
    ) i_window (
        .clk_i,
        .rst_ni,
        .req_i(state_q == Gpu),
        .we_i(wstrb_q),
        .gpu_i(addr_q[29:25]),
        .addr_i({7'd0, addr_q[24:0]}),
        .wdata_i(wdata_q),
        .ack_o(window_ack),
        .rdata_o(window_rdata),
        .mem_o,
        .mem_ready_i,
        .mem_i
    );

    // ---- registers, UART, mailbox ----
    logic restart, command_valid, reply_send;
    soc_pkg::message_t command, reply;
    soc_pkg::words_t mbox;
    logic [31:0] mbox_rdata;
    soc_pkg::uart_req_t to_uart;
    soc_pkg::uart_rsp_t from_uart;
    soc_pkg::reset_req_t reset_req;
    bundle_pkg::bus_req_t csr_reg;

    assign csr_reg = '{
            req: reg_i.req && !host_here,
            we: reg_i.we,
            addr: reg_i.addr,
            wdata: reg_i.wdata
        };

    soc_csr #(
        .RamLog2(RamLog2),
        .ClockKhz(ClockKhz),
        .CycleClocks(CycleClocks),
        .PatienceLog2(PatienceLog2)
    ) i_csr (
        .clk_i,
        .rst_ni,
        .reg_i(csr_reg),
        .host_i(reg_host_i),
        .reg_o(csr),
        .cpu_i('{trap: trap, access : state_q != Idle, fault: fault_q, addr: addr_q}),
        .cpu_rst_no(cpu_rst_n),
        .restart_o(restart),
        .held_o(held),
        .uart_o(to_uart),
        .uart_i(from_uart),
        .command_i(command),
        .command_valid_i(command_valid),
        .mbox_o(mbox),
        .mbox_rdata_i(mbox_rdata),
        .reply_send_o(reply_send),
        .reply_o(reply),
        .link_i,
        .reset_o(reset_req),
        .reset_i('{asked: reset_asked_i, busy: resetting_i})
    );

    assign reset_fabric_o = reset_req.fabric;
    assign reset_hold_o = reset_req.hold;

    uart i_uart (
        .clk_i,
        .rst_ni,
        .cpu_i(to_uart),
        .cpu_o(from_uart),
        .tx_o(uart_tx_o),
        .rx_i(uart_rx_i)
    );

    mailbox i_mailbox (
        .clk_i,
        .rst_ni,
        .cmd_i,
        .cmd_rdata_o,
        .give_i,
        .command_i,
        .rep_i,
        .rep_rdata_o,
        .reply_valid_o,
        .reply_o,
        .taken_i,
        .valid_o(command_valid),
        .command_o(command),
        .words_i(mbox),
        .rdata_o(mbox_rdata),
        .send_i(reply_send),
        .reply_i(reply),
        .restart_i(restart || held),
        .held_i(held)
    );

    wire unused = &{1'b0, mem_instr, la_read, la_write, la_addr, la_wdata, la_wstrb, pcpi_valid,
                    pcpi_insn, pcpi_rs1, pcpi_rs2, eoi, trace_valid, trace_data};

    `MW_STABLE(bus_o.req, bus_i.ack, {bus_o.we, bus_o.addr, bus_o.wdata},
               "an access changes before its answer")
    `MW_CONTRACT(reg_o.ack, reg_i.req, "an answer that was not requested")
endmodule

`default_nettype wire
