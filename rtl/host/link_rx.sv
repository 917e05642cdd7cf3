// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Receives frames: the receiving half of the host link.
//
// Function: It finds frames in the bytes and checks their CRCs
// (docs/reference/host-protocol.md). A SYNC counts only directly after Zeros zeros, or after
// nothing but zeros since clear_i. No payload can hold that, so no payload is taken for a frame.
// Each SYNC of a host with keys makes a new key (key_o), which the reply alone reports. The CRC
// of every later header includes it, and the CRC of a payload continues that of its header.
// Ports: header_o stays while header_valid_o is high. accept_i says that there is room for the
// payload. Then words follow, and done_o is a pulse with crc_ok_o, 1 without payload. next_i
// releases the next frame.
// Order: Frames leave in the order of arrival.
// Back-pressure: Words wait for word_ready_i, and bytes wait for ready_o.
// Latency: 3 cycles for a header, one to check it, and one for each word of payload and trailer.
// Errors: error_o is a pulse when the link loses synchronization. Then all is discarded up to a
// SYNC.
`default_nettype none
`include "assert.svh"

module link_rx #(
    // power of two, 8 or more; less than the protocol's is for simulations
    parameter int unsigned Zeros = host_pkg::SyncZeros
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,
    input  wire logic clear_i,  // forget everything, out of step

    input  wire bundle_pkg::out_bytes_t in_i,
    output logic                        ready_o,

    output logic                    header_valid_o,
    output host_pkg::frame_header_t header_o,
    input  wire logic               accept_i,
    output logic                    word_valid_o,
    input  wire logic               word_ready_i,
    output logic [63:0]             word_o,
    output logic                    done_o,
    output logic                    crc_ok_o,
    input  wire logic               next_i,
    output logic                    waiting_o,  // the first byte of another frame is here

    output logic                   in_step_o,
    output logic [31:0]            key_o,         // of this session, 0: none
    output logic                   foreign_o,     // session of another version:
                                                  // SYNC and INFO only
    output bundle_pkg::bad_frame_t error_o,
    output logic [15:0]            last_number_o  // of the last request accepted
);
    typedef enum logic [2:0] {
        Between,
        Header,
        Look,
        Offer,
        Payload,
        Done,
        Held
    } state_e;
    state_e state_q;
    logic have_word, have1, have2, take, drop, zero8, is_magic, is_sync, good, expected, same_major;
    logic knows_keys;
    logic [63:0] word;
    logic [2:0][63:0] header_q;
    logic [1:0] at_q;
    logic [31:0] crc_q;
    logic [13:0] left_q;  // words of payload and trailer
    logic [15:0] number_q;  // expected next
    host_pkg::frame_header_t h;
    logic error_q;
    logic [7:0] error_status_q;
    logic [15:0] error_seen_q;

    localparam logic [15:0] MostWords = 16'(host_pkg::MaxPayload / 8);
    localparam int unsigned ZerosW = $clog2(Zeros);

    if (Zeros < 8 || Zeros != 1 << ZerosW) begin : gen_check
        $error("link_rx: Zeros must be a power of two, 8 or more");
    end

    link_align i_align (
        .clk_i,
        .rst_ni,
        .clear_i,
        .valid_i(in_i.valid),
        .ready_o,
        .data_i(in_i.data),
        .bytes_i(in_i.bytes),
        .valid_o(have_word),
        .have1_o(have1),
        .have2_o(have2),
        .word_o(word),
        .take_i(take),
        .drop_i(drop)
    );

    logic [ZerosW:0] zeros_q;  // before a SYNC; the highest bit: enough
    logic gap_q;  // there were enough before this header

    assign h = header_q;
    assign header_o = h;
    assign zero8 = word == '0;
    assign is_magic = word[15:0] == 16'(host_pkg::Magic);
    assign is_sync = h.kind == host_pkg::FRAME_SYNC && h.words == '0 && gap_q;
    assign good = crc_q == crc_pkg::Good && h.words <= MostWords
                  && (h.kind & host_pkg::FrameReply) == '0
                  && (h.kind != host_pkg::FRAME_SYNC || is_sync);
    assign expected = in_step_o && h.number == number_q;

    // ---- zeros before a SYNC ----
    // Bytes of every kind count, as those that a broken frame swallows are among them.
    always_ff @(posedge clk_i) begin
        if (!rst_ni || clear_i) zeros_q <= (ZerosW + 1)'(Zeros);
        else if (take && have_word && !zero8) zeros_q <= '0;
        else if (drop && have1 && word[7:0] != '0) zeros_q <= '0;
        else if (!zeros_q[ZerosW] && ((take && have_word) || (drop && have1)))
            zeros_q <= zeros_q + (take ? (ZerosW + 1)'(8) : (ZerosW + 1)'(1));
    end

    // ---- keys ----
    // A register that every word and every cycle stirs: only the whole traffic determines the next
    // key.
    logic [31:0] stir_q, key_here;
    logic guarded_q;  // a host with keys was here: one without has to reset the link

    assign same_major = h.count[31:16] == 16'(host_pkg::ProtocolMajor);
    assign knows_keys = same_major && h.count[15:0] >= 16'(host_pkg::KeyMinor);
    assign key_here = at_q == 2'd2 && header_q[0][23:16] != host_pkg::FRAME_SYNC ? key_o : '0;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) stir_q <= '1;
        else
            stir_q <= {stir_q[30:0], stir_q[31] ^ stir_q[21] ^ stir_q[1] ^ stir_q[0]}
                       ^ (take && have_word ? word[63:32] ^ word[31:0] : '0);
    end

    // ---- taking bytes ----
    logic skip_word, skip_byte, begins, wrong;

    // zeros may stand between frames; out of step anything may
    assign skip_word = have_word && zero8;
    assign skip_byte = have1 && (word[7:0] == '0 || (!in_step_o && have2 && !is_magic));
    assign begins = have2 && is_magic;
    assign wrong = in_step_o && have2 && word[7:0] != '0 && !is_magic;

    always_comb begin
        take = 1'b0;
        drop = 1'b0;
        unique case (state_q)
            Between, Held: begin
                take = skip_word;
                drop = !skip_word && skip_byte && (state_q == Between || word[7:0] == '0);
            end
            Header: take = 1'b1;
            Payload: take = left_q == 14'd1 || word_ready_i;
            default: ;
        endcase
    end

    assign header_valid_o = state_q == Offer;
    assign word_valid_o = state_q == Payload && have_word && left_q != 14'd1;
    assign word_o = word;
    assign done_o = state_q == Done;
    assign crc_ok_o = h.words == '0 || crc_q == crc_pkg::Good;
    assign waiting_o = have1 && word[7:0] != '0;
    assign last_number_o = number_q - 16'd1;
    assign error_o = '{valid: error_q, status: error_status_q, seen: error_seen_q};

    always_ff @(posedge clk_i) begin
        error_q <= 1'b0;
        if (!rst_ni || clear_i) begin
            state_q <= Between;
            in_step_o <= 1'b0;
            guarded_q <= 1'b0;
            if (!rst_ni) number_q <= '0;
        end else begin
            unique case (state_q)
                Between: begin
                    at_q <= '0;
                    crc_q <= crc_pkg::Start;
                    gap_q <= zeros_q[ZerosW];
                    if (begins) begin
                        state_q <= Header;
                    end else if (wrong) begin
                        in_step_o <= 1'b0;
                        error_q <= 1'b1;
                        error_status_q <= host_pkg::STATUS_HEADER;
                        error_seen_q <= word[15:0];
                    end
                end
                Header:
                if (have_word) begin
                    header_q[at_q] <= word;
                    crc_q <= crc_pkg::crc_8(crc_q, word ^ {key_here, 32'd0});
                    at_q <= at_q + 2'd1;
                    if (at_q == 2'd2) state_q <= Look;
                end
                Look: begin
                    crc_q <= key_o[0] ? ~h.crc : crc_pkg::Start;
                    if (good && (is_sync || expected)) begin
                        state_q <= Offer;
                        in_step_o <= 1'b1;
                        number_q <= h.number + 16'd1;
                        if (is_sync) begin
                            key_o <= knows_keys ? {stir_q[31:1], 1'b1} : '0;
                            foreign_o <= !same_major || (!knows_keys && guarded_q);
                            guarded_q <= guarded_q || knows_keys;
                        end
                    end else begin
                        state_q <= Between;
                        in_step_o <= 1'b0;
                        error_q <= in_step_o;
                    end
                    error_status_q <= good ? host_pkg::STATUS_SEQUENCE : host_pkg::STATUS_HEADER;
                    error_seen_q <= good ? h.number : h.magic;
                    left_q <= 14'(h.words) + 14'd1;
                end
                Offer: if (accept_i) state_q <= h.words == '0 ? Done : Payload;
                Payload: if (have_word && take) begin
                    crc_q  <= crc_pkg::crc_8(crc_q, word);
                    left_q <= left_q - 14'd1;
                    if (left_q == 14'd1) state_q <= Done;
                end
                Done: begin
                    state_q <= Held;
                    if (!crc_ok_o) begin // where the frame ended is not known
                        in_step_o <= 1'b0;
                        error_q <= 1'b1;
                        error_status_q <= host_pkg::STATUS_PAYLOAD;
                        error_seen_q <= '0;
                    end
                end
                default: if (next_i) state_q <= Between;
            endcase
        end
    end

    `MW_CONTRACT(accept_i, header_valid_o, "a header is accepted that is not there")
    `MW_CONTRACT(error_q, !in_step_o, "an error, and still in step")
endmodule

`default_nettype wire
