// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The device's end of the host protocol (docs/reference/host-protocol.md).
//
// Function: It decodes the bytes of the OUT endpoint, executes requests and answers them on the
// IN endpoint. link_dma moves memory, link_regs accesses registers, and the firmware executes
// the rest by the mailbox. A request is executed after its whole payload has arrived without an
// error. Only MEM_WRITE writes while its payload arrives.
// Ports: link_reset_i (USB reset, SET_CONFIGURATION) discards what is being received or sent. A
// request under way ends, and its answer is discarded.
// Order: One request at a time, in the order of arrival. Answers leave in the same order.
// Back-pressure: Later bytes wait (out_ready_o) while a request is executed. The NAK of the
// endpoint holds the host, so no window is stored here. Answers wait for in_ready_i for any
// time.
// Latency: A WAIT ends after its timeout. Every other request ends when its bus, ports or
// firmware have answered.
// Errors: A refused request gets a reply with its status. A frame that is not valid raises
// error_o.
`default_nettype none
`include "bundles.svh"

module host_link
    import host_pkg::*;
#(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type user_t = `MW_USER(Cfg),
    parameter type heard_t = `MW_HEARD(Cfg),
    parameter int unsigned Zeros = host_pkg::SyncZeros  // see link_rx
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,
    input  wire logic link_reset_i,  // pulse

    // endpoints
    input  wire logic        out_valid_i,
    output logic             out_ready_o,
    input  wire logic [63:0] out_data_i,   // low byte first
    input  wire logic [3:0]  out_bytes_i,  // 1 .. 8
    output logic             in_valid_o,
    input  wire logic        in_ready_i,
    output logic [63:0]      in_data_o,
    output logic             in_last_o,    // ends a transfer

    // master of the bus
    output bundle_pkg::bus_req_t      bus_o,
    input  wire bundle_pkg::bus_rsp_t bus_i,

    // GPU memories, through stream_mux
    output user_t       mem_o,
    input  wire logic   mem_ready_i,
    input  wire heard_t mem_i,
    input  wire logic   mem_idle_i,  // nothing under way at any port

    // mailbox
    output bundle_pkg::mail_t      cmd_o,
    input  wire logic [63:0]       cmd_rdata_i,
    output logic                   give_o,
    output soc_pkg::message_t      command_o,
    output bundle_pkg::mail_t      rep_o,
    input  wire logic [63:0]       rep_rdata_i,
    input  wire logic              reply_valid_i,
    input  wire soc_pkg::message_t reply_i,
    output logic                   taken_o,

    // fabric
    input  wire logic done_i,          // a layer has ended since the last go
    output logic      reset_fabric_o,  // held until reset_done_i
    input  wire logic reset_done_i,    // pulse

    output logic       in_step_o,
    output logic       unheard_o,  // a request is being carried out whose host has
                                   // reset the link since
    output logic       waiting_o,  // another frame is here
    output logic       error_o,    // pulse: LINK_ERROR
    output logic [7:0] error_status_o
);
    localparam logic [31:0] Version = {16'(ProtocolMajor), 16'(ProtocolMinor)};
    localparam int unsigned Align = $clog2(MemBytesAlign);
    localparam logic [15:0] CommandWords = 16'(MaxCommand / 8);

    // ---- receiving ----
    frame_header_t h;
    logic header_valid, accept, word_valid, word_ready, rx_done, crc_ok, next;
    logic [63:0] word;
    logic [31:0] key;
    logic foreign;
    bundle_pkg::bad_frame_t bad;
    logic [15:0] last_number;

    link_rx #(
        .Zeros(Zeros)
    ) i_rx (
        .clk_i,
        .rst_ni,
        .clear_i(link_reset_i),
        .in_i('{valid: out_valid_i, data: out_data_i, bytes: out_bytes_i}),
        .ready_o(out_ready_o),
        .header_valid_o(header_valid),
        .header_o(h),
        .accept_i(accept),
        .word_valid_o(word_valid),
        .word_ready_i(word_ready),
        .word_o(word),
        .done_o(rx_done),
        .crc_ok_o(crc_ok),
        .next_i(next),
        .waiting_o,
        .in_step_o,
        .key_o(key),
        .foreign_o(foreign),
        .error_o(bad),
        .last_number_o(last_number)
    );

    // ---- the request in a header, and what is wrong with it ----
    logic is_bulk, known, odd, outside, too_long;
    logic [31:0] bytes;
    logic [15:0] gpu;
    logic [47:0] offset;
    status_e verdict;

    assign {gpu, offset} = h.argument;
    assign is_bulk = h.kind inside {FRAME_MEM_READ, FRAME_MEM_WRITE};
    assign known    = h.kind inside {FRAME_SYNC, FRAME_INFO, FRAME_REG_READ, FRAME_REG_WRITE,
                                     FRAME_MEM_READ, FRAME_MEM_WRITE, FRAME_WAIT, FRAME_RESET,
                                     FRAME_SELFTEST, FRAME_LOG_READ,
                                     FRAME_LOG_CLEAR, FRAME_FEED, FRAME_FED};
    assign bytes = h.kind == FRAME_MEM_READ ? h.count : {13'd0, h.words, 3'd0};
    assign odd = bytes[Align-1:0] != '0;
    assign outside = 32'(gpu) >= Cfg.N || offset[Align-1:0] != '0
                     || 49'(offset) + 49'(bytes) > 49'(1) << Cfg.MemBytesLog2;
    assign too_long = h.kind == FRAME_MEM_READ ? h.words != '0 || bytes > MaxPayload :
                      h.kind inside {FRAME_WAIT, FRAME_RESET} ? h.words != '0
                          : h.words > CommandWords;

    always_comb begin
        if (!known || (foreign && !(h.kind inside {FRAME_SYNC, FRAME_INFO}))) verdict = STATUS_TYPE;
        else if (is_bulk && odd) verdict = STATUS_LENGTH;
        else if (h.kind != FRAME_MEM_WRITE && too_long) verdict = STATUS_LENGTH;
        else if (is_bulk && outside) verdict = STATUS_RANGE;
        else verdict = STATUS_OK;
    end

    // ---- carrying out ----
    typedef enum logic [3:0] {
        Take,
        Start,
        Receive,
        Check,
        Written,
        Regs,
        Firmware,
        Wait,
        Reset,
        Reply,
        Sending,
        Error
    } state_e;
    state_e state_q;
    status_e verdict_q;
    frame_header_t req_q, reply_q;
    logic mute_q, error_q, lost_q, tx_ready, tx_start, regs_start, regs_done, regs_failed;
    logic dma_start, dma_busy, dma_in_ready, dma_out_valid;
    logic payload_ready, payload_valid, from_buffer_q;
    logic [63:0] dma_word, payload, time_q;
    logic [63:0] waited_q;
    logic [6:0] regs_count, index_q;
    logic wait_over, listening, crc_ok_q;
    logic [31:0] bytes_q;

    // the request is kept: after a link_reset_i the next header may come while this request
    // is still being carried out
    assign accept = state_q == Start;
    assign word_ready = verdict_q != STATUS_OK || req_q.kind != FRAME_MEM_WRITE || dma_in_ready;
    assign next = state_q == Sending && tx_ready;

    // payloads: a write's to the memory, a command's to the mailbox, others nowhere
    assign cmd_o.we = word_valid && state_q == Receive && verdict_q == STATUS_OK
                      && req_q.kind != FRAME_MEM_WRITE;
    assign cmd_o.waddr = index_q[5:0];
    assign cmd_o.wdata = word;

    assign dma_start = (state_q == Start && req_q.kind == FRAME_MEM_WRITE)
                       || (state_q == Check && verdict_q == STATUS_OK && crc_ok_q
                           && req_q.kind == FRAME_MEM_READ);

    link_dma #(
        .Cfg(Cfg)
    ) i_dma (
        .clk_i,
        .rst_ni,
        .start_i(dma_start),
        .write_i(req_q.kind == FRAME_MEM_WRITE),
        .gpu_i(req_q.argument[52:48]),
        .addr_i(32'(req_q.argument[47:0] >> Cfg.FlitLog2)),
        .words_i(bytes_q[16:3]),
        .busy_o(dma_busy),
        .in_valid_i(word_valid && state_q == Receive && verdict_q == STATUS_OK
                    && req_q.kind == FRAME_MEM_WRITE),
        .in_ready_o(dma_in_ready),
        .in_data_i(word),
        .out_valid_o(dma_out_valid),
        .out_ready_i(payload_ready && !from_buffer_q),
        .out_data_o(dma_word),
        .mem_o,
        .mem_ready_i,
        .mem_i
    );

    assign regs_start = state_q == Check && verdict_q == STATUS_OK && crc_ok_q
                        && req_q.kind inside {FRAME_REG_READ, FRAME_REG_WRITE};

    link_regs i_regs (
        .clk_i,
        .rst_ni,
        .start_i(regs_start),
        .write_i(req_q.kind == FRAME_REG_WRITE),
        .words_i(req_q.words[6:0]),
        .done_o(regs_done),
        .count_o(regs_count),
        .failed_o(regs_failed),
        .cmd_re_o(cmd_o.re),
        .cmd_raddr_o(cmd_o.raddr),
        .cmd_rdata_i,
        .rep_we_o(rep_o.we),
        .rep_waddr_o(rep_o.waddr),
        .rep_wdata_o(rep_o.wdata),
        .bus_o,
        .bus_i
    );

    assign give_o = state_q == Check && verdict_q == STATUS_OK && crc_ok_q &&
                    req_q.kind inside {FRAME_INFO, FRAME_SELFTEST, FRAME_LOG_READ,
                                       FRAME_LOG_CLEAR, FRAME_FEED, FRAME_FED};
    assign command_o = '{
            kind: req_q.kind,
            words: req_q.words[6:0],
            count: req_q.count,
            argument: req_q.argument
        };
    assign reset_fabric_o = state_q == Reset;
    assign wait_over = done_i || waiting_o || waited_q >= req_q.argument;
    assign unheard_o = mute_q;
    assign listening = state_q inside {Take, Start, Receive};
    assign error_o = state_q == Error && tx_ready;
    assign error_status_o = bad.status;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            state_q <= Take;
            mute_q <= 1'b0;
            error_q <= 1'b0;
        end else begin
            unique case (state_q)
                Take: begin
                    if (error_q) state_q <= Error;
                    else if (header_valid) state_q <= Start;
                end
                Start: state_q <= Receive;
                Receive: if (rx_done) state_q <= Check;
                Check: begin
                    unique case (req_q.kind)
                        FRAME_MEM_WRITE: state_q <= Written;
                        FRAME_REG_READ, FRAME_REG_WRITE: state_q <= Regs;
                        FRAME_INFO, FRAME_SELFTEST, FRAME_LOG_READ,
                            FRAME_LOG_CLEAR, FRAME_FEED, FRAME_FED:
                            state_q <= Firmware;
                        FRAME_WAIT: state_q <= Wait;
                        FRAME_RESET: state_q <= Reset;
                        default: state_q <= Reply;
                    endcase
                    if (verdict_q != STATUS_OK || !crc_ok_q) state_q <= Reply;
                end
                Written: if (!dma_busy && mem_idle_i) state_q <= Reply;
                Regs: if (regs_done) state_q <= Reply;
                Firmware: if (reply_valid_i) state_q <= Reply;
                Wait: if (wait_over || mute_q) state_q <= Reply;
                Reset: if (reset_done_i) state_q <= Reply;
                Reply: if (tx_ready) state_q <= Sending;
                Sending: if (tx_ready) state_q <= Take;
                default: if (tx_ready) state_q <= Take;
            endcase
            // what comes in is forgotten; what is being carried out or sent ends unheard
            if (link_reset_i && listening) state_q <= Take;
            mute_q <= (mute_q || link_reset_i) && !(tx_ready && (listening || state_q == Sending));
            error_q <= !link_reset_i && (bad.valid || (error_q && state_q != Error));
        end

        if (state_q == Take) begin
            req_q <= h;
            bytes_q <= bytes;
            verdict_q <= verdict;
            index_q <= '0;
        end else if (word_valid && word_ready && index_q[6] == 1'b0) begin
            index_q <= index_q + 7'd1;
        end
        if (rx_done) crc_ok_q <= crc_ok;
        lost_q <= state_q != Take && (lost_q || mem_i.lost);
        waited_q <= state_q == Wait ? waited_q + 64'd1 : '0;
        time_q <= !rst_ni || reset_fabric_o ? '0 : time_q + 64'd1;

        // the reply takes shape
        unique case (state_q)
            Check: begin
                reply_q <= '{
                    kind: req_q.kind | FrameReply,
                    number: req_q.number,
                    status: crc_ok_q ? verdict_q : STATUS_PAYLOAD,
                    default: '0
                };
                from_buffer_q <= req_q.kind != FRAME_MEM_READ;
                if (verdict_q == STATUS_OK && crc_ok_q) begin
                    if (req_q.kind == FRAME_MEM_READ) reply_q.words <= bytes_q[18:3];
                    if (req_q.kind == FRAME_SYNC) begin
                        reply_q.argument <= {
                            key[0] ? key : req_q.argument[63:32], req_q.argument[31:0]
                        };
                        reply_q.count <= Version;
                        if (foreign) reply_q.status <= STATUS_VERSION;
                    end
                end
            end
            Written: if ((lost_q || mem_i.lost) && reply_q.status == STATUS_OK)
                reply_q.status <= STATUS_STATE;
            Regs: begin
                reply_q.count <= req_q.kind == FRAME_REG_WRITE
                                 || regs_failed ? 32'(regs_count) : '0;
                reply_q.status <= regs_failed ? STATUS_ACCESS : STATUS_OK;
                reply_q.words <= req_q.kind == FRAME_REG_READ && !regs_failed
                                 ? 16'(regs_count) : '0;
            end
            Firmware: begin
                reply_q.status   <= reply_i.kind;
                reply_q.words    <= reply_i.kind == STATUS_OK ? 16'(reply_i.words) : '0;
                reply_q.count    <= reply_i.count;
                reply_q.argument <= reply_i.argument;
            end
            Wait: begin
                reply_q.argument <= time_q;
                reply_q.count    <= 32'(done_i);
            end
            Take: if (error_q) begin
                reply_q <= '{kind: FRAME_LINK_ERROR, number: last_number, status: bad.status,
                             count: 32'(bad.seen), default: '0};
            end
            default: ;
        endcase
    end

    // ---- sending ----
    logic [5:0] raddr_q;
    logic rep_have_q;

    assign tx_start = state_q == Reply || state_q == Error;
    assign taken_o = state_q == Sending && tx_ready;

    // the buffer's words are read ahead by one
    assign rep_o.re = from_buffer_q && (!rep_have_q || payload_ready) && state_q == Sending;
    assign rep_o.raddr = raddr_q;
    assign payload_valid = from_buffer_q ? rep_have_q : dma_out_valid;
    assign payload = from_buffer_q ? rep_rdata_i : dma_word;

    always_ff @(posedge clk_i) begin
        if (state_q != Sending) begin
            raddr_q <= '0;
            rep_have_q <= 1'b0;
        end else if (rep_o.re) begin
            raddr_q <= raddr_q + 6'd1;
            rep_have_q <= 1'b1;
        end
    end

    link_tx i_tx (
        .clk_i,
        .rst_ni,
        .mute_i(mute_q || link_reset_i),
        .start_i(tx_start && tx_ready),
        .ready_o(tx_ready),
        .header_i(reply_q),
        .word_valid_i(payload_valid),
        .word_ready_o(payload_ready),
        .word_i(payload),
        .trailer_i(lost_q ? STATUS_STATE : STATUS_OK),
        .valid_o(in_valid_o),
        .ready_i(in_ready_i),
        .data_o(in_data_o),
        .last_o(in_last_o)
    );

    wire unused = &{1'b0, req_q, bytes_q};
endmodule

`default_nettype wire
