// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Front of send: checks and sorts the list of one token after the other, ahead of the packets.
//
// Function: Takes the entries of route_walk, one per cycle, looks up each expert, and writes the
// target {expert, place in the list} to the remote or the own list (target_ram, four tokens deep).
// 0xffff entries are skipped. A new list number is used only after a token with targets. A user
// that holds at most three tokens besides the one being built is therefore safe.
// Ports: desc_* describes a token once all its entries are through, and is stable until taken.
// Order: Tokens in order.
// Back-pressure: The next token's entries wait until desc_* is taken.
// Latency: k cycles per token, and four to clear the experts seen, or the latency of memory for
// each flit of entries.
// Errors: An unmapped or repeated expert makes the whole token bad (one error pulse). It is passed
// on empty.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module send_list #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type listed_t = `MW_LISTED(Cfg),
    parameter type target_t = `MW_TARGET(Cfg),
    parameter type token_t = `MW_TOKEN(Cfg)
) (
    input  wire logic              clk_i,
    input  wire logic              rst_ni,
    input  wire packet_pkg::port_t port_i,

    input  wire bundle_pkg::emap_write_t emap_i,

    // the entry's row in its list, see list_rows
    output logic [Cfg.GpuW-1:0]                 look_gpu_o,
    output logic [node_pkg::ExpertW-1:0]        look_local_o,
    output logic                                look_take_o,
    input  wire logic [packet_pkg::RowBits-1:0] row_i,

    input  wire listed_t entry_i,
    output logic         take_o,

    output target_t remote_o,  // to the target RAMs
    output target_t own_o,

    output logic      desc_valid_o,
    input  wire logic desc_take_i,
    output token_t    desc_o,

    output bundle_pkg::error_t err_o
);
    localparam int unsigned WordW = 2;  // experts seen: four words of 2**BitW experts
    localparam int unsigned BitW = Cfg.ExpW - WordW;

    if (Cfg.MaxExperts < 16) begin : gen_check
        $error("send_list: MaxExperts must be at least 16");
    end

    logic map_valid, remote, own, none, unmapped, seen, bad, take, desc_valid_q;
    logic [Cfg.GpuW-1:0] map_gpu;
    logic [Cfg.ExpW+3:0] target;
    logic [2**BitW-1:0] seen_word;
    logic forget_q;
    logic [WordW-1:0] forget_word_q, word;

    lutram #(
        .Width(1 + Cfg.GpuW),
        .Depth(Cfg.MaxExperts)
    ) i_emap (
        .clk_i,
        .we_i(emap_i.we),
        .waddr_i(emap_i.addr[Cfg.ExpW-1:0]),
        .wdata_i({emap_i.data.valid, emap_i.data.gpu[Cfg.GpuW-1:0]}),
        .raddr_i(entry_i.id[Cfg.ExpW-1:0]),
        .rdata_o({map_valid, map_gpu})
    );

    if (Cfg.SourceLists) begin : gen_local
        logic [Cfg.LocalW-1:0] map_local;

        lutram #(
            .Width(Cfg.LocalW),
            .Depth(Cfg.MaxExperts)
        ) i_local (
            .clk_i,
            .we_i(emap_i.we),
            .waddr_i(emap_i.addr[Cfg.ExpW-1:0]),
            .wdata_i(emap_i.data.local_expert[Cfg.LocalW-1:0]),
            .raddr_i(entry_i.id[Cfg.ExpW-1:0]),
            .rdata_o(map_local)
        );
        assign look_local_o = node_pkg::ExpertW'(map_local);
    end else begin : gen_any
        assign look_local_o = '0;
    end
    assign look_gpu_o = map_gpu;
    assign look_take_o = take && !none && !unmapped;

    // Experts seen in this token; all words are cleared behind each token.
    assign word = entry_i.id[Cfg.ExpW-1:BitW];

    lutram #(
        .Width(2 ** BitW),
        .Depth(2 ** WordW)
    ) i_seen (
        .clk_i,
        .we_i(forget_q || take),
        .waddr_i(forget_q ? forget_word_q : word),
        .wdata_i(forget_q ? '0 : (seen_word | ((2 ** BitW)'(!none) << entry_i.id[BitW-1:0]))),
        .raddr_i(word),
        .rdata_o(seen_word)
    );

    assign none = entry_i.id == 16'hffff;
    assign unmapped = (entry_i.id >> Cfg.ExpW) != '0 || !map_valid;
    assign seen = seen_word[entry_i.id[BitW-1:0]];
    assign bad = !none && (unmapped || seen);
    assign take = entry_i.valid && !desc_valid_q && !forget_q;
    assign own = take && !none && map_gpu == port_i[Cfg.GpuW-1:0];
    assign remote = take && !none && map_gpu != port_i[Cfg.GpuW-1:0];

    assign target = {entry_i.id[Cfg.ExpW-1:0], entry_i.pos};
    assign remote_o = '{
            we: remote,
            list: desc_o.list,
            place: desc_o.remote[3:0],
            data: target,
            row: row_i
        };
    assign own_o = '{
            we: own,
            list: desc_o.list,
            place: desc_o.own[3:0],
            data: target,
            row: '0
        };
    assign take_o = take;
    assign desc_valid_o = desc_valid_q;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            desc_valid_q <= 1'b0;
            desc_o.list <= '0;
            desc_o.remote <= '0;
            desc_o.own <= '0;
            desc_o.gpus <= '0;
            desc_o.bad <= 1'b0;
        end else begin
            if (take && entry_i.last) desc_valid_q <= 1'b1;
            else if (desc_take_i) desc_valid_q <= 1'b0;
            if (desc_take_i) begin
                if (desc_o.gpus != '0 && !desc_o.bad) desc_o.list <= desc_o.list + 1'b1;
                desc_o.remote <= '0;
                desc_o.own <= '0;
                desc_o.gpus <= '0;
                desc_o.bad <= 1'b0;
            end
            if (remote) desc_o.remote <= desc_o.remote + 1'b1;
            if (own) desc_o.own <= desc_o.own + 1'b1;
            for (int unsigned g = 0; g < Cfg.N; g++) begin
                if (take && !none && map_gpu == Cfg.GpuW'(g)) desc_o.gpus[g] <= 1'b1;
            end
            if (take && bad) desc_o.bad <= 1'b1;
        end
        if (take && entry_i.last) begin
            desc_o.token <= entry_i.token;
            desc_o.row <= entry_i.row;
        end
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            forget_q <= 1'b1;
            forget_word_q <= '0;
        end else if (forget_q) begin
            forget_word_q <= forget_word_q + 1'b1;
            if (forget_word_q == '1) forget_q <= 1'b0;
        end else begin
            forget_q <= take && entry_i.last;
            forget_word_q <= '0;
        end
    end

    always_ff @(posedge clk_i) begin
        err_o.valid <= rst_ni && take && bad && !desc_o.bad;
        err_o.code <= unmapped ? error_pkg::ERR_UNMAPPED : error_pkg::ERR_DUPLICATE;
    end

    `MW_STABLE(desc_valid_o, desc_take_i, desc_o, "a token changes before it is taken")
    `MW_CONTRACT(desc_take_i, desc_valid_o, "a token is taken that is not there")
    `MW_CONTRACT(desc_valid_o && !desc_o.bad, desc_o.remote + desc_o.own <= 5'd16,
                 "more targets than a list has")
    `MW_CONTRACT(take_o, !desc_valid_o, "an entry of the next token before this one is taken")
endmodule

`default_nettype wire
