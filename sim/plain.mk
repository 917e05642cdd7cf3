# SPDX-License-Identifier: Apache-2.0
# Plain models: Verilator's own code of rtl/fabric/fabric.sv, by any Verilator that takes the RTL and any compiler.

# around it, besides the shim
IN_PLAIN := sim/fabric_plain.cpp sim/large.h
plain_flags = -O3 --x-assign fast --x-initial unique --noassert --output-split 15000 \
    $(PIECES) -Wno-lint -Wno-style $(if $(filter 1,$(1)),--trace-fst --trace-structs)

# configuration, trace: what writes waveforms takes clang four times as long with optimization
plain_opt = $(call model_opt,$(1),$(if $(filter 1,$(2)),-O1,$(MODEL_OPT)),$(if $(filter 1,$(2)),-O0,-O1))

# plain_rules: configuration, N, F, small, trace
define plain_rules
$(call flags_rule,$(B)/model/$(1),$(call plain_flags,$(5)) $(call settings_of,$(2),$(3),$(4)); \
    $(call plain_opt,$(1),$(5)))
$(B)/model/$(1)/fabric/Vfabric.mk: $(B)/model/$(1)/flags $(TOOLS) | $(RTL_PKGS) $(REG_SV) $(B)/.setup
	@mkdir -p $$(@D) && rm -f $$(@D)/Vfabric*.cpp
	$$(call say,VERILATE,fabric$$(comma) N=$(2)$$(comma) $(3)-byte \
	    flits$(if $(filter 1,$(4)),$$(comma) small memories)$(if $(filter 1,$(5)),$$(comma) with waves))
	$$(Q)$(VERILATOR) --cc --prefix Vfabric --top-module fabric $(call cfg,$(call settings_of,$(2),$(3),$(4))) \
	    $(call plain_flags,$(5)) $(VLT) $(addprefix -y ,$(RTL_DIRS)) \
	    $(RTL_PKGS) rtl/fabric/fabric.sv --Mdir $$(@D) >$$(@D)/verilate.log 2>&1 \
	    || { cat $$(@D)/verilate.log; exit 1; }
	$$(Q)$(start_of_large) $$(@D)/Vfabric___024root__*__Slow.cpp
	$$(Q)$(call start_piece,Vfabric)
	$$(call verilator_deps,$$@)
	@touch $$@

$(B)/model/$(1)/fabric/Vfabric__ALL.a: $(B)/model/$(1)/fabric/Vfabric.mk
	$$(call say,CXX,fabric$$(comma) N=$(2) F=$(3)$$(comma) plain (a minute or more))
	$$(Q)$$(MAKE) -s -C $$(@D) -f Vfabric.mk Vfabric__ALL.a VERILATOR_ROOT=$(VROOT) $$(VMAKE_PLAIN) \
	    OPT_FAST="$(call plain_opt,$(1),$(5))" OPT_SLOW=-O0 $(call VMAKE_PIECES,Vfabric) CXXFLAGS="-w -fPIC" \
	    >$$(@D)/make.log 2>&1 || { cat $$(@D)/make.log; exit 1; }
	@touch $$@

$(call note_rule,$(1),fabric,plain,$(B)/model/$(1)/fabric/Vfabric__ALL.a,$(SHIM) $(IN_PLAIN),\
    model $(call model_words,$(2),$(3),$(4),$(5),plain))
$(B)/model/$(1)/libmwsim.so: $(B)/model/$(1)/fabric/Vfabric__ALL.a $(B)/model/$(1)/note.S $(SHIM) $(IN_PLAIN) \
    $(GEN)/bundles.h $(B)/verilated/$(if $(filter 1,$(5)),fst,plain).a
	$$(call say,LINK,$$@)
	$$(Q)$(PY) sim/watch.py plain $(2) $$(@D) >$$(@D)/watched.h
	$$(Q)$(PLAIN_CXX) $(CXXFLAGS) -fvisibility=hidden $(VINC) -DMW_SIM_WATCH=1 -I$$(@D) \
	    -DMW_SIM_TRACE=$(if $(filter 1,$(5)),1,0) -DVM_TRACE=$(if $(filter 1,$(5)),1,0) -DMW_SIM_N=$(2) \
	    -DMW_SIM_F=$(3) \
	    -I$(B)/model/$(1)/fabric -Isim -I$(GEN) -shared -Wl,--version-script=sim/exports.map -o $$@ sim/shim.cpp \
	    sim/fabric_plain.cpp $(B)/model/$(1)/note.S $$(filter %.a,$$^) $(if $(filter 1,$(5)),-lz -llz4) -lpthread
endef
