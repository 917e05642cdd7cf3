# SPDX-License-Identifier: Apache-2.0
# Gate level: netlists of ECP5 cells in Verilator. make gate runs a small layer of every system that the board has the
# primitives of on the netlist of BOARD=ecpix5-85f with N=4, as it goes to place and route. It holds LUT4 already
GATE_CELLS := $(filter-out %/LUT4.sv,$(wildcard tests/gate/cells/*.sv))
GATE_BOARD := ecpix5-85f
GATE_N := 4
GATE_DIR := $(B)/board/$(GATE_BOARD)-n$(GATE_N)
# what these goals would ignore
gate_given = $(foreach v,BOARD N WITHOUT PADS,$(if $(filter command line environment,$(origin $(v))),$(if $($(v)), \
    $(v)=$($(v)))))
$(if $(filter gate gate-rtl gate-threads,$(MAKECMDGOALS)),$(if $(strip $(gate_given)),$(error $(strip $(gate_given)): \
    make gate runs BOARD=$(GATE_BOARD) with all its primitives: leave it out)))

$(B)/gate/parts/gate_parts_netlist.v: tests/gate/parts.py tests/gate/netlist.py tests/gate/gate_parts.sv \
    tests/gate/cells/LUT4.sv rtl/common/ram_sdp.sv rtl/soc/cpu_ram.sv flow/ecp5/ram_init.py requirements.txt \
    | $(B)/.setup
	$(call say,SYNTH,tests/gate/gate_parts.sv)
	$(Q)$(PY) tests/gate/parts.py $(@D)

# the netlist that a board's bitstream is placed and routed from, in the place of the device at its pins
GATE_CONF := n$(GATE_N)f8-$(GATE_BOARD)
GATE := $(B)/model/gate-$(GATE_CONF)
GATE_OPT ?= -O1
$(GATE)/netlist/netlist.v: $(GATE_DIR)/netlist.json tests/gate/netlist.py tests/gate/cells/LUT4.sv \
    flow/ecp5/ram_init.py $(FW)/firmware.hex
	@mkdir -p $(@D)
	$(call say,NETLIST,$(GATE_BOARD) N=$(GATE_N) for Verilator (a minute))
	$(Q)$(PY) tests/gate/netlist.py $(GATE_DIR)/netlist.json $$(sed -n 's/^top = "\(.*\)"/\1/p' \
	    boards/$(GATE_BOARD)/board.toml) $(GATE_DIR)/random.hex $(FW)/firmware.hex $@

$(GATE)/netlist/Vdevice_usb__ALL.a: $(GATE)/netlist/netlist.v tests/gate/device_usb.sv $(GATE_CELLS) \
    $(GATE)/flags $(TOOLS)
	$(call say,VERILATE,netlist of $(GATE_BOARD) (minutes))
	$(Q)$(VERILATOR) --cc --prefix Vdevice_usb --top-module device_usb -O3 --x-assign fast --x-initial unique \
	    --noassert --output-split 15000 -Wno-lint -Wno-style \
	    tests/gate/device_usb.sv $< $(GATE_CELLS) --Mdir $(@D) >$(@D)/verilate.log 2>&1 \
	    || { cat $(@D)/verilate.log; exit 1; }
	$(Q)$(MAKE) -s -C $(@D) -f Vdevice_usb.mk Vdevice_usb__ALL.a $(VMAKE_CLANG) OPT_FAST=$(GATE_OPT) OPT_SLOW=-O0 \
	    CXXFLAGS="-w -fPIC" >$(@D)/make.log 2>&1 || { cat $(@D)/make.log; exit 1; }

$(eval $(call flags_rule,$(GATE),netlist of $(GATE_BOARD) -O3 --x-assign fast --x-initial unique --noassert \
    N=$(GATE_N) FlitBytes=8; $(GATE_OPT)))
GATE_SOURCES := $(call device_shim,device_usb) $(GATE)/netlist/netlist.v tests/gate/device_usb.sv $(GATE_CELLS)
$(eval $(call note_rule,gate-$(GATE_CONF),device,plain,$(GATE)/netlist/Vdevice_usb__ALL.a,$(GATE_SOURCES)))
$(GATE)/libmwdevice_usb.so: $(GATE)/netlist/Vdevice_usb__ALL.a $(GATE)/note.S $(call device_shim,device_usb) \
    $(call obj,$(wildcard sim/ulpi/*.c)) $(B)/verilated/plain.a
	$(call say,LINK,$@)
	$(Q)$(MODEL_CXX) $(CXXFLAGS) -fvisibility=hidden $(VINC) -DMW_SIM_N=$(GATE_N) -DMW_SIM_F=8 \
	    -DMW_SIM_CYCLE_CLOCKS=$(GATE_N) -DMW_SIM_START_MS=8 -I$(GATE)/netlist -Isim -shared \
	    -Wl,--version-script=sim/device.map -o $@ sim/device_usb.cpp $(filter %.S %.o %.a,$^) -lpthread

$(B)/tests/gate/on_netlist: $(call obj,tests/gate/on_netlist.c tests/device/frames.c) $(LIBS)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) -o $@ -Wl,--wrap=mw_open $^ -lcmocka $(LDLIBS)

# a layer of every system on the netlist; gate-rtl: on the RTL, with the same pads left out; gate-threads: with one node
# for all, at the rate that a board has
GATE_NEEDS := $(B)/tests/gate/on_netlist $(B)/moeswitch
.PHONY: gate gate-run gate-rtl gate-rtl-run gate-threads gate-threads-run
gate:
	$(Q)$(MAKE) -s bitstream BOARD=$(GATE_BOARD) N=$(GATE_N) UNTIL=netlist
	$(Q)$(MAKE) -s gate-run N=$(GATE_N) F=8 LIKE=$(GATE_BOARD)
gate-run: $(GATE)/libmwdevice_usb.so $(GATE_NEEDS) $(B)/model/$(GATE_CONF)/libmwsim.so
	$(Q)$(PY) tests/gate/run.py $(B) gate-$(GATE_CONF) $(GATE_CONF) 9000
gate-rtl:
	$(Q)$(MAKE) -s gate-rtl-run N=2 F=8 LIKE=$(GATE_BOARD)
gate-rtl-run: $(B)/model/dev-n2f8-$(GATE_BOARD)/libmwdevice_usb.so $(GATE_NEEDS) \
    $(B)/model/n2f8-$(GATE_BOARD)/libmwsim.so
	$(Q)$(PY) tests/gate/run.py $(B) dev-n2f8-$(GATE_BOARD) n2f8-$(GATE_BOARD) 25000 60000 99000
gate-threads:
	$(Q)$(MAKE) -s gate-threads-run N=$(GATE_N) F=8 LIKE=$(GATE_BOARD)
gate-threads-run: $(B)/model/dev-$(GATE_CONF)-threads/libmwdevice_usb.so $(GATE_NEEDS) \
    $(B)/model/$(GATE_CONF)/libmwsim.so
	$(Q)$(PY) tests/gate/run.py $(B) dev-$(GATE_CONF)-threads $(GATE_CONF) 9000
