UNIT += fifo_sizes
UNIT_SRCS_fifo_sizes := rtl/common/fifo.sv rtl/common/fifo_ram.sv rtl/common/ram_sdp.sv tests/unit/fifo_sizes.sv
UNIT += rr_arb_sizes
UNIT_SRCS_rr_arb_sizes := rtl/common/rr_arb.sv tests/unit/rr_arb_sizes.sv
UNIT += fp32_bf16_add
UNIT_SRCS_fp32_bf16_add := rtl/common/fp_pkg.sv rtl/common/fp32_bf16_add.sv
