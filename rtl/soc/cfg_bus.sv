// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The register bus: two masters, and the registers of fabric and SoC as slaves.
//
// Function: Master 0 is the host link, master 1 the soft CPU. The addresses are those of
// map_pkg. An address without slave goes to the fabric, which answers with an error.
// Ports: A master holds req, we, addr and wdata until ack, which lasts one cycle. rdata and err
// are valid with ack. A slave sees the same protocol.
// Order: One access at a time. The masters alternate when both wait.
// Back-pressure: A master waits for ack.
// Latency: An access ends when its slave answers, and every slave answers.
`default_nettype none
`include "assert.svh"

module cfg_bus (
    input  wire logic clk_i,
    input  wire logic rst_ni,

    input  wire bundle_pkg::bus_req_t m_i [2],
    output bundle_pkg::bus_rsp_t      m_o [2],

    // slaves: 0 fabric, 1 SoC
    output logic                      s_host_o,  // the access is master 0's
    output bundle_pkg::bus_req_t      s_o [2],
    input  wire bundle_pkg::bus_rsp_t s_i [2]
);
    typedef enum logic [1:0] {
        Idle,
        Access,
        Answer
    } state_e;
    state_e state_q;
    logic master_q, slave_q, pick;
    bundle_pkg::bus_req_t req_q;  // but for req
    bundle_pkg::bus_rsp_t rsp_q;  // but for ack

    assign s_host_o = !master_q;
    assign pick = m_i[0].req && m_i[1].req ? !master_q : m_i[1].req;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            state_q <= Idle;
            master_q <= 1'b0;
        end else begin
            unique case (state_q)
                Idle:
                if (m_i[0].req || m_i[1].req) begin
                    master_q <= pick;
                    state_q <= Access;
                end
                Access: if (s_i[slave_q].ack) state_q <= Answer;
                default: state_q <= Idle;
            endcase
        end
        if (state_q == Idle) begin
            slave_q <= m_i[pick].addr[31:16] == map_pkg::Soc[31:16]
                       || m_i[pick].addr[31:20] == map_pkg::SocRam[31:20];
            req_q <= m_i[pick];
        end
        if (state_q == Access) rsp_q <= s_i[slave_q];
    end

    for (genvar i = 0; i < 2; i++) begin : gen_side
        assign m_o[i] = '{
                ack: state_q == Answer && master_q == 1'(i),
                err: rsp_q.err,
                rdata: rsp_q.rdata
            };
        assign s_o[i] = '{
                req: state_q == Access && slave_q == 1'(i),
                we: req_q.we,
                addr: req_q.addr,
                wdata: req_q.wdata
            };
    end

    wire unused = &{1'b0, req_q.req, rsp_q.ack};

    `MW_CONTRACT(1'b1, !(s_o[0].req && s_o[1].req), "accesses to two slaves at once")
    `MW_CONTRACT(m_o[1].ack, m_i[1].req, "the CPU takes an access back before its answer")
endmodule

`default_nettype wire
