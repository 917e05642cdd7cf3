// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Registers of the control SoC (spec/soc.rdl), with time, watchdog, restart of the CPU, and
// record of failed accesses.
//
// Function: The CPU restarts (cpu_rst_no is low for 16 cycles, and until its access in flight has
// ended) when the watchdog expires, on a trap, or by `control`. `restart` keeps cause and number.
// RAM, time and everything outside the CPU keep their state. Only the host writes `hold`, which
// holds the CPU (held_o).
// Ports: The host reads all registers without side effects. It may write `control` and `hold`
// only.
// Order: One access at a time.
// Latency: No firmware can block the host. Each start of the CPU restores the period of the
// watchdog, and `hold` restores all that firmware writes. A command or RESET that firmware
// delays holds the host link. If the link was reset meanwhile, the CPU restarts after
// 2^PatienceLog2 cycles. A level starts that count, and firmware can neither see nor change it.
// Errors: Other writes of the host, and writes of `hold` by the CPU, answer with an error and
// change nothing.
`default_nettype none

module soc_csr #(
    parameter int unsigned RamLog2 = 14,
    parameter int unsigned ClockKhz = 60000,
    parameter int unsigned CycleClocks = 1,
    parameter int unsigned PatienceLog2 = 20
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,

    input  wire bundle_pkg::bus_req_t reg_i,
    input  wire logic                 host_i,  // of the host, else of the CPU
    output bundle_pkg::bus_rsp_t      reg_o,

    input  wire soc_pkg::cpu_t cpu_i,
    output logic               cpu_rst_no,
    output logic               restart_o,  // pulse
    output logic               held_o,

    output soc_pkg::uart_req_t      uart_o,
    input  wire soc_pkg::uart_rsp_t uart_i,

    input  wire soc_pkg::message_t command_i,
    input  wire logic              command_valid_i,
    output soc_pkg::words_t        mbox_o,
    input  wire logic [31:0]       mbox_rdata_i,
    output logic                   reply_send_o,
    output soc_pkg::message_t      reply_o,

    input  wire soc_pkg::link_t      link_i,
    output soc_pkg::reset_req_t      reset_o,
    input  wire soc_pkg::reset_rsp_t reset_i
);
    typedef enum logic [1:0] {
        Power,
        Watchdog,
        Trap,
        Asked
    } cause_e;

    soc_regs_pkg::mw_soc__in_t hwif_in;
    soc_regs_pkg::mw_soc__out_t hwif_out;
    logic rd_ack, wr_ack, rd_err, wr_err, stall_wr, stall_rd;
    logic [31:0] rdata;
    logic may_write, refused;

    // the host's registers to write
    localparam logic [13:0] Control = 14'h008 >> 2, Hold = 14'h05c >> 2;

    assign may_write = host_i ? reg_i.addr[15:2] inside {Control, Hold} : reg_i.addr[15:2] != Hold;
    assign refused = reg_i.addr[15:11] != '0 || (reg_i.we && !may_write);

    soc_regs i_regs (
        .clk(clk_i),
        .rst_n(rst_ni),
        .s_cpuif_req(reg_i.req && !refused),
        .s_cpuif_req_is_wr(reg_i.we),
        .s_cpuif_addr(reg_i.addr[10:0]),
        .s_cpuif_wr_data(reg_i.wdata),
        .s_cpuif_wr_biten('1),
        .s_cpuif_req_stall_wr(stall_wr),
        .s_cpuif_req_stall_rd(stall_rd),
        .s_cpuif_rd_ack(rd_ack),
        .s_cpuif_rd_err(rd_err),
        .s_cpuif_rd_data(rdata),
        .s_cpuif_wr_ack(wr_ack),
        .s_cpuif_wr_err(wr_err),
        .hwif_in(hwif_in),
        .hwif_out(hwif_out)
    );

    assign reg_o.ack = rd_ack || wr_ack || (reg_i.req && refused);
    assign reg_o.err = (rd_ack && rd_err) || (wr_ack && wr_err) || refused;
    assign reg_o.rdata = rdata;

    // ---- time ----
    logic [63:0] time_q;
    logic [31:0] time_hi_q;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) time_q <= '0;
        else time_q <= time_q + 64'd1;
        if (hwif_out.time_lo.value.swacc) time_hi_q <= time_q[63:32];
    end

    // ---- watchdog and restart ----
    logic [31:0] dog_q;
    logic dog_bites, dog_written_q, restart;
    logic kept;  // the firmware keeps a link that was reset
    logic [PatienceLog2:0] kept_cycles_q;  // so long; the highest bit stays until that ends
    cause_e cause_q;
    logic [7:0] count_q;
    logic [3:0] hold_q;

    assign dog_bites = dog_q == 32'd1 || kept_cycles_q[PatienceLog2];
    assign restart = cpu_rst_no && (dog_bites || cpu_i.trap || hwif_out.control.restart.value
                                    || held_o);
    assign held_o = hwif_out.hold.cpu.value;
    assign kept = link_i.unheard && (command_valid_i || (reset_i.asked && reset_o.hold));

    always_ff @(posedge clk_i) begin
        dog_written_q <= !rst_ni || hwif_out.watchdog.period.swmod;
        if (!cpu_rst_no || dog_written_q || hwif_out.control.feed.value)
            dog_q <= hwif_out.watchdog.period.value;
        else if (dog_q != '0) dog_q <= dog_q - 32'd1;

        if (!rst_ni || !kept) kept_cycles_q <= '0;
        else if (!kept_cycles_q[PatienceLog2]) kept_cycles_q <= kept_cycles_q + 1'b1;

        restart_o <= rst_ni && restart;
        if (!rst_ni) begin
            cpu_rst_no <= 1'b0;
            hold_q <= '1;
            cause_q <= Power;
            count_q <= '0;
        end else if (restart) begin
            cpu_rst_no <= 1'b0;
            hold_q <= '1;
            cause_q <= dog_bites ? Watchdog : cpu_i.trap ? Trap : Asked;
            if (count_q != '1) count_q <= count_q + 8'd1;
        end else begin
            hold_q <= hold_q - 4'(hold_q != '0);
            cpu_rst_no <= cpu_rst_no || (hold_q == '0 && !held_o && !cpu_i.access);
        end
    end

    // ---- UART, mailbox ----
    // A register's value follows its write by a cycle, its read takes at once.
    logic send_q, mbox_send_q, mbox_rd_q;

    always_ff @(posedge clk_i) begin
        send_q <= rst_ni && hwif_out.uart_tx.data.swmod;
        mbox_send_q <= rst_ni && hwif_out.mbox_send.words.swmod;
        mbox_rd_q <= rst_ni && mbox_o.re;
    end

    assign uart_o.divisor = hwif_out.uart.divisor.value;
    assign uart_o.send = send_q;
    assign uart_o.data = hwif_out.uart_tx.data.value;
    assign uart_o.take = hwif_out.uart_rx.data.swacc && !reg_i.we && !host_i;
    assign mbox_o.re = hwif_out.mbox_command.req;
    assign mbox_o.raddr = hwif_out.mbox_command.addr[8:2];
    assign mbox_o.we = hwif_out.mbox_reply.req;
    assign mbox_o.waddr = hwif_out.mbox_reply.addr[8:2];
    assign mbox_o.wdata = hwif_out.mbox_reply.wr_data;
    assign reset_o.fabric = hwif_out.control.reset_fabric.value;
    assign reply_send_o = mbox_send_q;
    assign reply_o = '{
            kind: hwif_out.mbox_send.status.value,
            words: hwif_out.mbox_send.words.value,
            count: hwif_out.mbox_reply_count.value.value,
            argument: {hwif_out.mbox_reply_hi.value.value, hwif_out.mbox_reply_lo.value.value}
        };

    // ---- resets of the fabric ----
    // one that has begun is counted before the firmware, which holds later ones, reads the count
    logic [7:0] resets_q;
    logic resetting_q;

    always_ff @(posedge clk_i) begin
        resetting_q <= rst_ni && reset_i.busy;
        if (!rst_ni) resets_q <= '0;
        else if (reset_i.busy && !resetting_q) resets_q <= resets_q + 8'd1;
    end

    assign reset_o.hold = hwif_out.fabric_reset.hold.value;

    // ---- errors of the host link ----
    logic [15:0] link_errors_q;
    logic [7:0] link_status_q;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            link_errors_q <= '0;
            link_status_q <= '0;
        end else if (link_i.error) begin
            link_errors_q <= link_errors_q + 16'd1;
            link_status_q <= link_i.status;
        end
    end

    always_comb begin
        hwif_in.id.minor.next = 8'd2;
        hwif_in.id.major.next = 8'd0;
        hwif_in.id.ram_log2.next = 8'(RamLog2);
        hwif_in.id.mhz.next = 8'((ClockKhz + 500) / 1000);
        hwif_in.clock.khz.next = 24'(ClockKhz);
        hwif_in.clock.per_cycle.next = 8'(CycleClocks);
        hwif_in.restart.cause.next = cause_q;
        hwif_in.restart.count.next = count_q;
        hwif_in.time_lo.value.next = time_q[31:0];
        hwif_in.time_hi.value.next = time_hi_q;
        hwif_in.start_n = rst_ni && cpu_rst_no && !held_o;
        hwif_in.hold_n = rst_ni && !held_o;
        hwif_in.fault.valid.hwset = cpu_i.fault;
        hwif_in.fault.addr.next = cpu_i.addr[31:2];
        hwif_in.fault.addr.we = cpu_i.fault;
        hwif_in.uart_rx.data.next = uart_i.data;
        hwif_in.uart_rx.valid.next = uart_i.valid;
        hwif_in.uart.room.next = uart_i.room;
        hwif_in.mbox.valid.next = command_valid_i;
        hwif_in.mbox.words.next = command_i.words;
        hwif_in.mbox.kind.next = command_i.kind;
        hwif_in.mbox_argument_lo.value.next = command_i.argument[31:0];
        hwif_in.mbox_argument_hi.value.next = command_i.argument[63:32];
        hwif_in.mbox_count.value.next = command_i.count;
        hwif_in.link.in_step.next = link_i.in_step;
        hwif_in.link.waiting.next = link_i.waiting;
        hwif_in.link.status.next = link_status_q;
        hwif_in.link.errors.next = link_errors_q;
        hwif_in.fabric_reset.count.next = resets_q;
        hwif_in.mbox_command.rd_ack = mbox_rd_q;
        hwif_in.mbox_command.rd_data = mbox_rdata_i;
        hwif_in.mbox_command.wr_ack = 1'b0;
        hwif_in.mbox_reply.rd_ack = 1'b0;
        hwif_in.mbox_reply.rd_data = '0;
        hwif_in.mbox_reply.wr_ack = hwif_out.mbox_reply.req;
    end

    wire unused = &{1'b0, stall_wr, stall_rd, cpu_i.addr[1:0], reg_i.addr[31:16]};
endmodule

`default_nettype wire
