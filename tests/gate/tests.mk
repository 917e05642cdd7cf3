# SPDX-License-Identifier: Apache-2.0
# Gate level, in test-all: the netlist of one board, a quarter of an hour; the RTL at other clocks, and
# that the other boards' devices fit.
LONG_CMDS += --command 'gate: make gate' --command 'gate-rtl: make gate-rtl' \
    --command 'gate-threads: make gate-threads' \
    $(foreach b,$(filter-out $(GATE_BOARD),$(BOARDS)),--command 'packed-$(b): make bitstream BOARD=$(b) UNTIL=packed')
