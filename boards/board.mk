# SPDX-License-Identifier: Apache-2.0
# Boards: each is a folder of boards. docs/developer/porting.md describes its files, docs/user/boards.md the commands.
#   make bitstream BOARD=ecpix5-85f [N=4] [FABRIC_MHZ=48, the nodes' clock] [SEEDS='1 2 3'] [BEST=1]
#       [UNTIL=netlist|packed] [WITHOUT=PRIMITIVE]
#       PADS=1: without fabric, SoC and host link, for a quick check of pins and clocks
#   make load BOARD=...    into the FPGA; make flash BOARD=... for power-up; LOADER='-c ft4232' instead of the
#                          board's own options
#   make board-page BOARD=...    its page, docs/reference/boards/BOARD.md: clocks, cells, floorplan
#   make board-area BOARD=...    a netlist without each of its primitives, for that page: over an hour
#   make board-pages    three seeds and the page of every board, and the area of the first one with primitives: hours
#   make firmware-bitstream BOARD=... [FIRMWARE=FILE]    the current firmware into the bitstream, without place and
#                          route
BOARDS := $(sort $(notdir $(patsubst %/,%,$(dir $(wildcard boards/*/board.toml)))))
BOARD ?=
WITHOUT ?=
$(if $(filter-out 0 1,$(words $(WITHOUT))),$(error WITHOUT=$(WITHOUT): one primitive is possible))
# folder of a build (board, pads or N)
board_dir = $(B)/board/$(1)-$(2)$(addprefix -without-,$(WITHOUT))
BOARD_DIR = $(call board_dir,$(BOARD),$(if $(filter 1,$(PADS)),pads,n$(BOARD_N)))
BOARD_MODS := $(filter-out rtl/board/ecp5_cells.sv,$(wildcard rtl/board/*.sv))
BOARD_N := $(if $(filter command line environment,$(origin N)),$(N),4)
# settings of a board without the primitives that board.toml names (board, N)
board_sizes = N=$(2) FlitBytes=8 $(SMALL_PARAMS)
board_primitives = $(shell sed -n '/^primitives *= *\[/{:a;s/\#.*//;/\]/!{N;ba};s/\].*//;p}' \
    boards/$(1)/board.toml 2>/dev/null | grep -o "[\"'][a-z_]*[\"']" | tr -d "\"'")
# From four GPUs on, one node serves all (docs/design/threads.md), because four nodes do not fit an 85F. A board without
# primitives has the node of the models (board, N)
board_node = $(if $(call board_primitives,$(1)),$(call board_dir,$(1),n$(2))/node,$(B)/threads/n$(2)f8-small-threads)
BOARD_NODE = $(if $(filter 1,$(PADS)),,$(if $(filter 2 3,$(BOARD_N)),,$(call \
    board_node,$(BOARD),$(BOARD_N))/node_threads.il))
$(foreach b,$(BOARDS),$(foreach n,$(sort 4 $(filter 4 5 6 7 8,$(BOARD_N))),$(if $(call board_primitives,$(b)),$(eval \
    $(call node_rules,$(call board_node,$(b),$(n)),$(n),$$(PY) flow/ecp5/board.py $(b) \
    $(addprefix --without ,$(WITHOUT)) $(call board_sizes,$(b),$(n)))))))
# a model of the device of LIKE, with one node for all GPUs, at its ULPI pins
$(if $(LIKE),$(foreach n,$(filter 4 5 6 7 8,$(N)),$(eval \
    $(call device_rules,n$(n)f8-$(LIKE)-threads,$(n),8,$(LIKE),device_usb,threads))))
BOARD_USB = $(if $(filter pins,$(shell sed -n "s/^usb *= *[\"']\([a-z]*\)[\"'].*/\1/p" boards/$(BOARD)/board.toml \
    2>/dev/null)),pins,usb)
BOARD_RTL = $(if $(BOARD_NODE),experiments/node_threads/fabric_threads.sv) \
    $(filter-out rtl/top/device_$(if $(filter pins,$(BOARD_USB)),usb,pins).sv,$(RTL) $(DEV_PKGS) $(DEV_IP) \
    $(DEV_MODS)) $(if $(filter pins,$(BOARD_USB)),$(USB_PINS),$(USB_CORE)) \
    $(filter-out rtl/board/board_$(if $(filter pins,$(BOARD_USB)),ulpi,pins).sv,$(BOARD_MODS))
# PADS=1: a stub replaces fabric, SoC and host link, and the build has only what a board has around them
PADS ?= 0
FABRIC_MHZ ?=
SEEDS ?=
BEST ?=
UNTIL ?=
FIRMWARE ?= $(FW)/firmware.hex
LOADER ?=

# nothing, or one of these values: variable, values
may_be = $(if $(filter-out 0 1,$(words $($(1))))$(filter-out $(2),$($(1))),$(error $(1)=$($(1)): possible is one of \
    $(2)))
# what is left of words without their digits
no_number = $(strip $(subst 0,,$(subst 1,,$(subst 2,,$(subst 3,,$(subst 4,,$(subst 5,,$(subst 6,,$(subst 7,,$(subst \
    8,,$(subst 9,,$(1))))))))))))

.PHONY: bitstream load flash firmware-bitstream board-area board-page board-pages
ifneq ($(filter bitstream load flash firmware-bitstream board-area board-page,$(MAKECMDGOALS)),)
$(if $(and $(filter 1,$(words $(BOARD))),$(filter $(BOARDS),$(BOARD))),,$(error BOARD=$(BOARD): the boards \
    are $(BOARDS)))
$(if $(and $(filter 1,$(words $(BOARD_N))),$(filter 2 3 4 5 6 7 8,$(BOARD_N))),,$(error N=$(BOARD_N): a board has \
    2 to 8 GPUs))
$(call may_be,PADS,0 1)
$(call may_be,BEST,0 1)
$(call may_be,UNTIL,netlist packed)
$(if $(WITHOUT),$(call may_be,WITHOUT,$(call board_primitives,$(BOARD))))
$(if $(call no_number,$(SEEDS))$(filter 0%,$(SEEDS)),$(error SEEDS=$(SEEDS): numbers from 1 on are possible))
$(if $(call no_number,$(subst .,,$(FABRIC_MHZ)))$(filter-out 0 1,$(words $(FABRIC_MHZ))),$(error \
    FABRIC_MHZ=$(FABRIC_MHZ): a number of MHz is possible))
endif
ifneq ($(filter board-page board-pages,$(MAKECMDGOALS)),)
board_part = $(strip $(WITHOUT:%=WITHOUT=%) $(if $(filter 1,$(PADS)),PADS=1))
$(if $(board_part),$(error $(board_part): the page in docs/reference/boards is of the whole board: leave it out))
endif
$(B)/legalize: $(wildcard flow/ecp5/legalize/*.[ch]) | $(B)/.setup
	$(call say,CC,$@)
	$(Q)$(CC) $(CFLAGS) -o $@ $(filter %.c,$^) -lm
bitstream: $(BOARD_NODE) $(B)/legalize gen $(DEV_REG_SV) $(DEV_IP) $(USB_CORE) $(USB_PINS) $(FW)/firmware.hex
	$(call say,BITSTREAM,$(BOARD) N=$(BOARD_N)$(if $(UNTIL),$(comma) until $(UNTIL)))
	$(Q)$(PY) flow/ecp5/bitstream.py --board '$(BOARD)' --out $(BOARD_DIR) --firmware $(FIRMWARE) \
	    $(addprefix --seed ,$(SEEDS)) $(if $(filter 1,$(BEST)),--best) $(addprefix --fabric-mhz ,$(FABRIC_MHZ)) \
	    $(addprefix --until ,$(UNTIL)) $(addprefix --without ,$(WITHOUT)) $(addprefix --node ,$(BOARD_NODE)) \
	    --legalize $(B)/legalize \
	    $(addprefix --param ,$(call board_sizes,$(BOARD),$(BOARD_N))) \
	    $(if $(filter 1,$(PADS)),$(patsubst rtl/top/device.sv,tests/synth/device_stub.sv,$(BOARD_RTL)),$(BOARD_RTL))

flash load: | $(B)/.setup
	$(call say,$(if $(filter load,$@),LOAD,FLASH),$(BOARD))
	$(Q)$(PY) flow/ecp5/loader.py $@ --board '$(BOARD)' --out $(BOARD_DIR) $(if $(LOADER),--options '$(LOADER)')

board-area:
	$(Q)$(MAKE) -s bitstream UNTIL=netlist WITHOUT=
	$(Q)for p in $(call board_primitives,$(BOARD)); do $(MAKE) -s bitstream UNTIL=netlist WITHOUT=$$p || exit 1; done

board-page: | $(B)/.setup
	$(Q)$(PY) flow/ecp5/board_report.py '$(BOARD)' $(BOARD_DIR) docs/reference/boards

board-pages:
	$(Q)for b in $(BOARDS); do $(MAKE) -s bitstream BOARD=$$b SEEDS='1 2 3' BEST=1 || exit 1; done
	$(Q)$(addprefix $(MAKE) -s board-area BOARD=,$(firstword $(foreach b,$(BOARDS),$(if $(call \
	    board_primitives,$(b)),$(b)))))
	$(Q)for b in $(BOARDS); do $(MAKE) -s board-page BOARD=$$b || exit 1; done

firmware-bitstream: $(FIRMWARE)
	$(call say,FIRMWARE,$(FIRMWARE) for $(BOARD))
	$(Q)$(PY) flow/ecp5/bitstream.py --board '$(BOARD)' --out $(BOARD_DIR) --firmware $(FIRMWARE) --only-firmware

# Tops of boards, which no model contains. Each has the clocks that its PLL makes, and two nodes. In test-all one of
# them has one node for all GPUs
LINT_BOARDS := $(addsuffix .2,$(BOARDS))
LINT_LONG_BOARDS := ecpix5-85f.4
.PHONY: lint-boards $(addprefix lint-board-,$(BOARDS) $(LINT_BOARDS) $(LINT_LONG_BOARDS))
lint: lint-boards
lint-boards: $(addprefix lint-board-,$(LINT_BOARDS))
lint-long: $(addprefix lint-board-,$(LINT_LONG_BOARDS))
$(addprefix lint-board-,$(BOARDS)): lint-board-%: lint-board-%.2
# files of the one node for all GPUs: its netlist, and the RTL around it
lint_threads = $(if $(filter 4,$(call dotted,$(1),2)),experiments/node_threads/node_threads.vlt \
    experiments/node_threads/fabric_threads.sv $(call board_node,$(call dotted,$(1),1),4)/node_threads.v)
lint_settings = $(shell $(PY) flow/ecp5/board.py $(1) $(call board_sizes,$(1),$(2)))
lint_clocks = $(B)/board/lint-$(1)
$(addprefix lint-board-,$(LINT_LONG_BOARDS)): $(foreach b,$(LINT_LONG_BOARDS),$(filter %.v,$(call lint_threads,$(b))))
$(addprefix lint-board-,$(LINT_BOARDS) $(LINT_LONG_BOARDS)): lint-board-%: $(RTL_PKGS) $(REG_SV) $(DEV_PKGS) \
    $(DEV_REG_SV) $(DEV_IP) $(USB_CORE) $(USB_PINS)
	$(call say,LINT,board $(call dotted,$*,1) N=$(call dotted,$*,2))
	$(Q)$(PY) flow/ecp5/clocks.py $(call dotted,$*,1) $(call lint_clocks,$*) $(filter 4,$(call dotted,$*,2))
	$(Q)$(REMEMBER) $@ $(RTL) $(RTL_TYPES) $(DEV_PKGS) $(DEV_MODS) $(BOARD_MODS) rtl/board/ecp5_cells.sv $(DEV_IP) \
	    $(USB_CORE) $(USB_PINS) $(VLT) $(call lint_threads,$*) $(call lint_clocks,$*)/board_clocks.sv \
	    boards/$(call dotted,$*,1)/top.sv -- env $(VERILATOR) \
	    --lint-only --quiet --top-module $(shell sed -n 's/^top = "\(.*\)"/\1/p' \
	    boards/$(call dotted,$*,1)/board.toml) \
	    $(call cfg,$(call lint_settings,$(call dotted,$*,1),$(call dotted,$*,2))) $(VWARN) -Wno-DECLFILENAME \
	    -y rtl/board \
	    -y $(call lint_clocks,$*) \
	    $(filter %.vlt,$(call lint_threads,$*)) $(RTL_PKGS) $(DEV_PKGS) $(DEV_IP) $(call lint_clocks,$*)/clocks_pkg.sv \
	    rtl/board/ecp5_cells.sv $(filter-out %.vlt,$(call lint_threads,$*)) boards/$(call dotted,$*,1)/top.sv
