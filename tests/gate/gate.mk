# SPDX-License-Identifier: Apache-2.0
# Gate level: netlists of ECP5 cells in Verilator. make gate runs a small layer of every system on that of BOARD=ecpix5-85f with N=2, as it goes to place and route.
GATE_CELLS := $(wildcard tests/gate/cells/*.sv)
GATE_BOARD := ecpix5-85f
GATE_DIR := $(B)/board/$(GATE_BOARD)-n2

$(B)/gate/parts/gate_parts_netlist.v: tests/gate/parts.py tests/gate/netlist.py tests/gate/gate_parts.sv rtl/common/ram_sdp.sv rtl/soc/cpu_ram.sv rtl/synth/ram_init.py | $(B)/.setup
	$(call say,SYNTH,tests/gate/gate_parts.sv)
	$(Q)$(PY) tests/gate/parts.py $(@D)
