// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Remembers which layer counted and allocated what the hub's tables hold, and stops a layer that
// names another one.
//
// Function: A layer that is not cached counts, and the tables are its own from its go on. A second
// go in its epoch that is not cached clears its counts, so no handle remains. sweep_i clears the
// tables. stale_o: the layer is cached, and handle_epoch is not the epoch of the tables; then no
// stream may start.
// Ports: cfg_i is constant from go_i to the next layer's registers.
// Order: sweep_i and go_i never in one cycle.
// Back-pressure: None.
// Latency: stale_o is valid with go_i, and constant until the layer is done.
// Errors: HANDLE, in the cycle behind go_i, for a stale layer.
`default_nettype none
`include "assert.svh"

module cached_handle (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire logic                go_i,
    input  wire logic                sweep_i,
    input  wire node_pkg::node_cfg_t cfg_i,
    output logic                     stale_o,
    output bundle_pkg::error_t       err_o
);
    typedef struct packed {
        logic       valid;
        logic [1:0] epoch;
    } layer_t;

    layer_t kept_q, last_q;  // whose tables they are; that has begun last

    assign stale_o = cfg_i.cached && !(kept_q.valid && kept_q.epoch == cfg_i.handle_epoch);

    always_ff @(posedge clk_i) begin
        if (!rst_ni || sweep_i) begin
            kept_q <= '0;
            last_q <= '0;
        end else if (go_i) begin
            last_q <= '{valid: 1'b1, epoch: cfg_i.epoch};
            if (!cfg_i.cached)
                kept_q <= '{
                    valid: !(last_q.valid && last_q.epoch == cfg_i.epoch),
                    epoch: cfg_i.epoch
                };
        end
        err_o.valid <= rst_ni && go_i && stale_o;
    end

    assign err_o.code = error_pkg::ERR_HANDLE;

    `MW_CONTRACT(1'b1, !(sweep_i && go_i), "a layer begins with a sweep")
endmodule

`default_nettype wire
