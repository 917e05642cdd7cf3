# SPDX-License-Identifier: Apache-2.0
# The whole Verilated device, host link, firmware and USB core included.

# device_rules: configuration, N, F, small or LIKE, top module, `threads` if one node is to serve all
# (docs/design/threads.md): build/model/dev-n2f8/libmw<top>.so, rtl/top/device.sv at its endpoints, or device_usb.sv at
# its ULPI pins under the host of sim/ulpi, behind the C interface of sim/mw_device.h
DEVICE_VFLAGS := -O3 --x-assign fast --x-initial unique --noassert --output-split 15000 $(PIECES) -Wno-lint \
    -Wno-style
# clang takes as long for these models with it as with -O1
DEVICE_OPT := -O2
device_ulpi = $(if $(filter device_usb,$(1)),$(call obj,$(wildcard sim/ulpi/*.c)))
device_shim = sim/$(1).cpp sim/mw_device.h sim/endpoints.h sim/start.h sim/device.map \
    $(if $(filter device_usb,$(1)),$(wildcard sim/ulpi/*.[ch]))
# N, small or LIKE
device_threads = $(if $(filter 1,$(2)),$(B)/threads/n$(1)f8-small-threads,$(call board_node,$(2),$(1)))/node_threads.v
device_settings = $(if $(filter 0,$(3)),N=$(1) FlitBytes=$(2) $(LARGE_TABLES),$(call settings_of,$(1),$(2),$(3)))
define device_rules
$(call flags_rule,$(B)/model/dev-$(1)/$(5),$(5) $(if $(6),with one node for all )$(DEVICE_VFLAGS) \
    $(call device_settings,$(2),$(3),$(4)); $(DEVICE_OPT))
$(B)/model/dev-$(1)/$(5)/V$(5).mk: \
    $(if $(6),$(call device_threads,$(2),$(4)) experiments/node_threads/fabric_threads.sv) \
    $(B)/model/dev-$(1)/$(5)/flags $(TOOLS) | $(RTL_PKGS) $(REG_SV) $(DEV_PKGS) $(DEV_REG_SV) $(DEV_IP) \
    $(USB_CORE) $(B)/.setup
	@mkdir -p $$(@D) && rm -f $$(@D)/V$(5)*.cpp
	$$(call say,VERILATE,$(5)$$(comma) N=$(2)$$(comma) $(3)-byte \
	    flits$(if $(filter 1,$(4)),$$(comma) small memories))
	$$(Q)$(VERILATOR) --cc --prefix V$(5) --top-module $(5) \
	    $(call cfg,$(call device_settings,$(2),$(3),$(4))) -GClockKhz=0 \
	    $(if $(6),-GCycleClocks=$(2)) '-GFirmware="$(abspath $(FW)/firmware.hex)"' \
	    $(DEVICE_VFLAGS) $(VLT) $(addprefix -y ,$(RTL_DIRS) $(DEV_DIRS)) \
	    $(RTL_PKGS) $(DEV_PKGS) $(DEV_IP) rtl/top/$(5).sv \
	    $(if $(6),experiments/node_threads/fabric_threads.sv $(call device_threads,$(2),$(4))) --Mdir $$(@D) \
	    >$$(@D)/verilate.log 2>&1 || { cat $$(@D)/verilate.log; exit 1; }
	$$(Q)$(start_of_large) $$(@D)/V$(5)___024root__*__Slow.cpp
	$$(Q)$(call start_piece,V$(5))
	$$(call verilator_deps,$$@)
	@touch $$@

$(B)/model/dev-$(1)/$(5)/V$(5)__ALL.a: $(B)/model/dev-$(1)/$(5)/V$(5).mk
	$$(call say,CXX,$(5)$$(comma) N=$(2) F=$(3) (half a minute or more))
	$$(Q)$$(MAKE) -s -C $$(@D) -f V$(5).mk V$(5)__ALL.a VERILATOR_ROOT=$(VROOT) $$(VMAKE_PLAIN) OPT_FAST=$(DEVICE_OPT) \
	    OPT_SLOW=-O0 $(call VMAKE_PIECES,V$(5)) CXXFLAGS="-w -fPIC" >$$(@D)/make.log 2>&1 \
	    || { cat $$(@D)/make.log; exit 1; }
	@touch $$@

$(call note_rule,dev-$(1)/$(5),device,plain,$(B)/model/dev-$(1)/$(5)/V$(5)__ALL.a,$(call device_shim,$(5)),\
    device-model $(call model_words,$(2),$(3),$(4)))
$(B)/model/dev-$(1)/libmw$(5).so: $(B)/model/dev-$(1)/$(5)/V$(5)__ALL.a $(B)/model/dev-$(1)/$(5)/note.S \
    $(call device_shim,$(5)) $(call device_ulpi,$(5)) $(B)/verilated/plain.a | $(FW)/firmware.hex
	$$(call say,LINK,$$@)
	$$(Q)$(PLAIN_CXX) $(CXXFLAGS) -fvisibility=hidden $(VINC) -DMW_SIM_N=$(2) -DMW_SIM_F=$(3) \
	    $(if $(6),-DMW_SIM_CYCLE_CLOCKS=$(2)) -I$(B)/model/dev-$(1)/$(5) -Isim -shared \
	    -Wl,--version-script=sim/device.map -o $$@ sim/$(5).cpp $$(filter %.S %.o %.a,$$^) -lpthread
endef
