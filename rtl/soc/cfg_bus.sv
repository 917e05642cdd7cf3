// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The bus of the registers: two masters (0 host link, 1 soft CPU), and behind map_pkg's addresses the registers of the fabric and of the SoC.
//
// One access at a time. A master holds req, we, addr and wdata until ack, which lasts one cycle; rdata and err are valid with it. The access begins again
// at its slave in the same manner. Masters take turns when both wait. Every access ends, as every slave's does; addresses of no slave are the fabric's,
// which answers with an error.
`default_nettype none

module cfg_bus (
    input  wire logic        clk_i,
    input  wire logic        rst_ni,

    input  wire logic        m_req_i   [2],
    input  wire logic        m_we_i    [2],
    input  wire logic [31:0] m_addr_i  [2],
    input  wire logic [31:0] m_wdata_i [2],
    output logic             m_ack_o   [2],
    output logic [31:0]      m_rdata_o,
    output logic             m_err_o,

    // slaves: 0 fabric, 1 SoC
    output logic             s_req_o   [2],
    output logic             s_host_o,     // the access is master 0's
    output logic             s_we_o,
    output logic [31:0]      s_addr_o,
    output logic [31:0]      s_wdata_o,
    input  wire logic        s_ack_i   [2],
    input  wire logic [31:0] s_rdata_i [2],
    input  wire logic        s_err_i   [2]
);
    typedef enum logic [1:0] {IDLE, ACCESS, ANSWER} state_e;
    state_e     state_q;
    logic       master_q, slave_q, pick;

    assign s_host_o = !master_q;
    assign pick     = m_req_i[0] && m_req_i[1] ? !master_q : m_req_i[1];

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            state_q  <= IDLE;
            master_q <= 1'b0;
        end else begin
            unique case (state_q)
                IDLE: if (m_req_i[0] || m_req_i[1]) begin
                    master_q <= pick;
                    state_q  <= ACCESS;
                end
                ACCESS: if (s_ack_i[slave_q]) state_q <= ANSWER;
                default: state_q <= IDLE;
            endcase
        end
        if (state_q == IDLE) begin
            slave_q   <= m_addr_i[pick][31:16] == map_pkg::Soc[31:16];
            s_we_o    <= m_we_i[pick];
            s_addr_o  <= m_addr_i[pick];
            s_wdata_o <= m_wdata_i[pick];
        end
        if (state_q == ACCESS) begin
            m_rdata_o <= s_rdata_i[slave_q];
            m_err_o   <= s_err_i[slave_q];
        end
    end

    for (genvar m = 0; m < 2; m++) begin : gen_ack
        assign m_ack_o[m] = state_q == ANSWER && master_q == 1'(m);
    end

    for (genvar s = 0; s < 2; s++) begin : gen_req
        assign s_req_o[s] = state_q == ACCESS && slave_q == 1'(s);
    end
endmodule

`default_nettype wire
