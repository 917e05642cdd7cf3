# SPDX-License-Identifier: Apache-2.0
# The models of the whole device: Verilator, what sim/lanes.py and sim/schedule.py make of its code, and the shim.

# make model N=8 F=16: build/model/n8f16/libmwsim.so, the C interface of sim/mw_sim.h around the Verilated fabric
N ?= 8
F ?= 16
TRACE ?= 0
SMALL ?= 0
CONF = n$(N)f$(F)$(if $(filter 1,$(SMALL)),-small)$(if $(filter 1,$(TRACE)),-fst)$(if $(filter 2,$(TRACE)),-whole)
# what synth-check synthesizes: 16 KB per GPU, depths for layers that fit there, reductions of one kind
SMALL_PARAMS := MemBytesLog2=14 RowsLog2=6 TokensLog2=5 MaxExperts=32 MaxLocalExperts=4 CacheEntries=64 MaxLatency=8 StorePkts=16 Window=0 RxStorePkts=12 RedTypes=1 RedOps=1 Reds=0 Faults=0 Monitor=0
# What simulation has instead of a board's sizes: layers of real size fit. Memory is taken from the system as it is touched. Verilator takes arrays of 2^28
# elements, which bounds 8-byte flits; a model in one piece holds its memories as one object, which is smaller still. large: flit bytes, trace
large = MemBytesLog2=$(if $(filter 0,$(2)),$(if $(filter 8,$(1)),33,34),30) $(LARGE_TABLES)
# a whole device has the same, so that it takes the same cycles, but for its memories
LARGE_TABLES := RowsLog2=18 TokensLog2=13 MaxExperts=1024 MaxLocalExperts=64
MODEL_OPT ?= -O2
# of lanes: a cycle goes through half a megabyte of code once, and what waits for code gains by less of it
LANES_OPT ?= -Os
# for the machine that it is built on; MODEL_ARCH=x86-64-v3, say, for another. Of a processor that has AVX10 Clang 19 names a set of features that it then complains of: that warning is off.
MODEL_ARCH ?= native

# A model with waves, or one that is asked to, is the whole fabric. Else it is cut into Verilated parts that the shim joins: those that there are once, and those that each node or port has one of, of
# which Verilator's code only initialises: sim/lanes.py makes of it what runs, all copies at once. Its own large memories are of no use then, and are not
# written. Everything starts with random contents; of large memories the first 2^15 elements do, as many as a cut-down layer uses.
ONE_PARTS := fabric_csr switch_common
LANES_PARTS := node node_link switch_port
# what makes them
SCHEDULE_PY := sim/schedule.py $(wildcard sim/translate/*.py)
LANES_PY := sim/lanes.py $(wildcard sim/translate/*.py)
part_file = $(wildcard rtl/*/$(1).sv)

start_of_large = sed -i 's/\(for (int __Vi0 = 0; __Vi0 < \)[0-9]\{6$(comma)\};/\132768;/'

# Of a part that runs in lanes Verilator's code initialises one copy after another, and no more: what it does in a clock edge ends the program instead, so
# that it need not be compiled.
# only_start: folder, prefix
define only_start
$(Q)rm -rf $(1)/start && mkdir $(1)/start && cp $(1)/$(2)*.h $(1)/$(2).mk $(1)/$(2)_classes.mk $(1)/start && for f in $$(cd $(1) && ls $(2)*.cpp | grep -v _lanes); do \
    sed '/^void .*___nba_[a-z]*__.*{$$/,/^}$$/{//!d;/{$$/s/$$/ std::abort();/}' $(1)/$$f >$(1)/start/$$f; done
$(Q)$(MAKE) -s -C $(1)/start -f $(2).mk $(2)__ALL.a $(VMAKE_CLANG) VM_PARALLEL_BUILDS=0 OPT_FAST=-O0 CXXFLAGS="-w -fPIC" >$(1)/make.log 2>&1 || { cat $(1)/make.log; exit 1; }
$(Q)mv $(1)/start/$(2)__ALL.a $(1)
endef

# part_rules: configuration, N, F, small, trace, top module. What runs in a clock edge stays in functions of its own, which schedule.py and lanes.py put into their order.
define part_rules
$(B)/model/$(1)/$(6)/V$(6).mk: | $(RTL_PKGS) $(REG_SV) $(B)/.setup
	@mkdir -p $$(@D)
	$$(call say,VERILATE,$(6)$(comma) N=$(2)$(comma) $(3)-byte flits$(if $(filter 1,$(4)),$(comma) small memories)$(if $(filter 1,$(5)),$(comma) with waves))
	$$(Q)$(VERILATOR) --cc --prefix V$(6) --top-module $(6) $(call cfg,N=$(2) FlitBytes=$(3) $(if $(filter 1,$(4)),$(SMALL_PARAMS),$(call large,$(3),$(5)))) \
	    -O3 --inline-cfuncs 0 --inline-cfuncs-product 0 --x-assign fast --x-initial unique --noassert --output-split 15000 -Wno-lint -Wno-style $(VLT) $(addprefix -y ,$(RTL_DIRS)) \
	    $(if $(filter 1,$(5)),--trace-fst --trace-structs) $(RTL_PKGS) $(call part_file,$(6)) --Mdir $$(@D) >$$(@D)/verilate.log 2>&1 || { cat $$(@D)/verilate.log; exit 1; }
	$$(Q)$(if $(filter $(LANES_PARTS),$(6)),sed -i '/^ *for (int __Vi0 = 0; __Vi0 < [0-9]\{5$(comma)\}; ++__Vi0) {$$$$/$(comma)/^ *}$$$$/d' $$(@D)/V$(6)___024root__*__Slow.cpp,$(start_of_large) $$(@D)/V$(6)___024root__*__Slow.cpp)
	$$(call verilator_deps,$$@)
	@touch $$@

$(B)/model/$(1)/$(6)/V$(6)_schedule.h: $(B)/model/$(1)/$(6)/V$(6).mk $(SCHEDULE_PY)
	$$(Q)$$(PY) sim/schedule.py $(6) $$(@D)

$(B)/model/$(1)/$(6)/V$(6)_lanes.a: $(B)/model/$(1)/$(6)/V$(6).mk $(LANES_PY) sim/lanes.h
	$$(call say,CXX,$(6)$(comma) N=$(2) F=$(3)$(comma) a lane each (half a minute or more))
	$$(Q)$$(PY) sim/lanes.py $(6) $$(@D) $(if $(filter switch_port,$(6)),--ring)
	$$(Q)$$(MAKE) -s -C $$(@D) -f V$(6)_lanes.mk CXX=$(MODEL_CXX) CXXFLAGS="-std=c++17 $(LANES_OPT) -march=$(MODEL_ARCH) -w -fPIC $(VINC) -I$(CURDIR)/sim -DMW_SIM_N=$(2)"

$(if $(filter $(LANES_PARTS),$(6)),$(B)/model/$(1)/$(6)/V$(6)__ALL.a: $(B)/model/$(1)/$(6)/V$(6).mk
	$$(call say,CXX,$(6)$(comma) N=$(2) F=$(3)$(comma) its start)
	$$(call only_start,$$(@D),V$(6))
,$(B)/model/$(1)/$(6)/V$(6)__ALL.a: $(B)/model/$(1)/$(6)/V$(6).mk
	$$(call say,CXX,$(6)$(comma) N=$(2) F=$(3) (half a minute or more))
	$$(Q)$$(MAKE) -s -C $$(@D) -f V$(6).mk V$(6)__ALL.a $(VMAKE_CLANG) OPT_FAST="$(if $(filter 0,$(5)),$(MODEL_OPT),-O1)" OPT_SLOW=-O0 CXXFLAGS="-w -fPIC" >$$(@D)/make.log 2>&1 || { cat $$(@D)/make.log; exit 1; }
	@touch $$@
)
endef

$(GEN)/bundles.h: sim/bundles.py rtl/common/bundle_pkg.sv $(RTL_TYPES) | $(B)/.setup
	@mkdir -p $(@D)
	$(Q)$(PY) sim/bundles.py >$@

# model_rules: configuration, N, F, small, trace (0: none, in parts; 1: with waves; 2: none, but whole)
model_parts = $(if $(filter 0,$(1)),$(ONE_PARTS) $(LANES_PARTS),fabric)
define model_rules
$(foreach p,$(call model_parts,$(5)),$(eval $(call part_rules,$(1),$(2),$(3),$(4),$(5),$(p))))
$(B)/model/$(1)/libmwsim.so: $(foreach p,$(call model_parts,$(5)),$(B)/model/$(1)/$(p)/V$(p)__ALL.a $(if $(filter $(ONE_PARTS),$(p)),$(B)/model/$(1)/$(p)/V$(p)_schedule.h) $(if $(filter $(LANES_PARTS),$(p)),$(B)/model/$(1)/$(p)/V$(p)_lanes.a)) sim/shim.cpp sim/start.h sim/mw_sim.h sim/exports.map $(GEN)/bundles.h $(B)/verilated/$(if $(filter 1,$(5)),fst,plain).a
	$$(call say,LINK,$$@)
	$$(Q)$(MODEL_CXX) $(CXXFLAGS) -march=$(MODEL_ARCH) -Wno-invalid-feature-combination -Wno-psabi -fvisibility=hidden $(VINC) -DMW_SIM_WHOLE=$(if $(filter 0,$(5)),0,1) -DMW_SIM_TRACE=$(if $(filter 1,$(5)),1,0) -DVM_TRACE=$(if $(filter 1,$(5)),1,0) -DMW_SIM_N=$(2) -DMW_SIM_F=$(3) \
	    $(foreach p,$(call model_parts,$(5)),-I$(B)/model/$(1)/$(p)) -Isim -I$(GEN) -shared -Wl,--version-script=sim/exports.map -o $$@ sim/shim.cpp $$(filter %.a,$$^) $(if $(filter 1,$(5)),-lz -llz4) -lpthread
endef

# configurations that the tests use, and the one asked for: several N, both flit widths, what synth-check measures, and the whole, with waves, beside its parts
MODELS := 8.16.0.0 4.8.0.0 4.8.1.0 2.8.0.0 3.16.0.0 3.16.0.1
LONG_MODELS := 16.16.0.0 32.16.0.0
asked := $(N).$(F).$(SMALL).$(TRACE)
dotted = $(word $(2),$(subst ., ,$(1)))
conf = n$(call dotted,$(1),1)f$(call dotted,$(1),2)$(if $(filter 1,$(call dotted,$(1),3)),-small)$(if $(filter 1,$(call dotted,$(1),4)),-fst)$(if $(filter 2,$(call dotted,$(1),4)),-whole)
model_so = $(B)/model/$(call conf,$(1))/libmwsim.so
$(foreach m,$(sort $(MODELS) $(LONG_MODELS) $(asked)),$(eval $(call model_rules,$(call conf,$(m)),$(call dotted,$(m),1),$(call dotted,$(m),2),$(call dotted,$(m),3),$(call dotted,$(m),4))))

# device_rules: configuration, N, F, small, top module: build/model/dev-n2f8/libmw<top>.so, rtl/top/device.sv at its endpoints, or device_usb.sv at its ULPI pins under
# the host of sim/ulpi, behind the C interface of sim/mw_device.h
device_ulpi = $(if $(filter device_usb,$(1)),$(call obj,$(wildcard sim/ulpi/*.c)))
define device_rules
$(B)/model/dev-$(1)/$(5)/V$(5).mk: | $(RTL_PKGS) $(REG_SV) $(DEV_PKGS) $(DEV_REG_SV) $(DEV_IP) $(USB_CORE) $(B)/.setup
	@mkdir -p $$(@D)
	$$(call say,VERILATE,$(5)$(comma) N=$(2)$(comma) $(3)-byte flits$(if $(filter 1,$(4)),$(comma) small memories))
	$$(Q)$(VERILATOR) --cc --prefix V$(5) --top-module $(5) $(call cfg,N=$(2) FlitBytes=$(3) $(if $(filter 1,$(4)),$(SMALL_PARAMS),$(LARGE_TABLES))) -GClockMhz=0 '-GFirmware="$(abspath $(FW)/firmware.hex)"' \
	    -O3 --x-assign fast --x-initial unique --noassert --output-split 15000 -Wno-lint -Wno-style $(VLT) $(addprefix -y ,$(RTL_DIRS) $(DEV_DIRS)) \
	    $(RTL_PKGS) $(DEV_PKGS) $(DEV_IP) rtl/top/$(5).sv --Mdir $$(@D) >$$(@D)/verilate.log 2>&1 || { cat $$(@D)/verilate.log; exit 1; }
	$$(Q)$(start_of_large) $$(@D)/V$(5)___024root__*__Slow.cpp
	$$(call verilator_deps,$$@)
	@touch $$@

$(B)/model/dev-$(1)/$(5)/V$(5)__ALL.a: $(B)/model/dev-$(1)/$(5)/V$(5).mk
	$$(call say,CXX,$(5)$(comma) N=$(2) F=$(3) (half a minute or more))
	$$(Q)$$(MAKE) -s -C $$(@D) -f V$(5).mk V$(5)__ALL.a $(VMAKE_CLANG) OPT_FAST=-O1 OPT_SLOW=-O0 CXXFLAGS="-w -fPIC" >$$(@D)/make.log 2>&1 || { cat $$(@D)/make.log; exit 1; }
	@touch $$@

$(B)/model/dev-$(1)/libmw$(5).so: $(B)/model/dev-$(1)/$(5)/V$(5)__ALL.a sim/$(5).cpp sim/mw_device.h sim/endpoints.h sim/start.h sim/device.map $(call device_ulpi,$(5)) $(B)/verilated/plain.a | $(FW)/firmware.hex
	$$(call say,LINK,$$@)
	$$(Q)$(MODEL_CXX) $(CXXFLAGS) -fvisibility=hidden $(VINC) -DMW_SIM_N=$(2) -DMW_SIM_F=$(3) -I$(B)/model/dev-$(1)/$(5) -Isim -shared \
	    -Wl,--version-script=sim/device.map -o $$@ sim/$(5).cpp $$(filter %.o %.a,$$^) -lpthread
endef
device_so = $(B)/model/dev-$(call conf,$(1))/libmw$(call dotted,$(1),5).so
# configuration as of a model, and top module
DEVICES := 2.8.0.0.device 2.8.0.0.device_usb 4.8.1.0.device
asked_devices := $(foreach t,device device_usb,$(N).$(F).$(SMALL).0.$(t))
$(foreach m,$(sort $(DEVICES) $(asked_devices)),$(eval $(call device_rules,$(call conf,$(m)),$(call dotted,$(m),1),$(call dotted,$(m),2),$(call dotted,$(m),3),$(call dotted,$(m),5))))

.PHONY: model models device-model
device-model: $(foreach m,$(asked_devices),$(call device_so,$(m)))
model: $(call model_so,$(asked))
models: $(foreach m,$(MODELS),$(call model_so,$(m))) $(foreach m,$(DEVICES),$(call device_so,$(m)))
