# SPDX-License-Identifier: Apache-2.0
# Unit tests of RTL modules. tests/unit/modules.mk lists them; for a test NAME:
#   UNIT += NAME
#   UNIT_SRCS_NAME   := SystemVerilog files, packages first (modules below rtl/ are found by their name when left out)
#   UNIT_TOP_NAME    := top module, default NAME (the test includes "V<top>.h")
#   UNIT_PARAMS_NAME := settings of cfg_pkg.sv and parameters of the top, as N=4 FlitBytes=8
#   UNIT_TEST_NAME   := the test, default test_NAME.cpp of one of the folders
#   UNIT_C_NAME      := further sources to link: C++ and C files; libmwgolden.a is linked in any case
#   UNIT_GIVEN_NAME  := parameters of the top that have names of settings, as numbers of 32 bits
#   UNIT_FLAGS_NAME  := further flags of Verilator
#   UNIT_NEEDS_NAME  := what must be there when it runs
#   UNIT_ANY_NAME    := 1: it gives its modules what their headers exclude, so their contracts are left out
# Registers and memories start with random contents, and x values are random, so that a missing reset shows. The test
# sees each parameter as PARAM_name. The folders are those of rtl. What all tests share is in tests/unit/bench;
# its README.md says how a test is written. A test that is that of OTHER with other parameters needs only $(eval
# $(call variant,NAME,OTHER,parameters)).
UNIT :=

UNIT_FOLDERS := $(filter-out tests/unit/bench/,$(wildcard tests/unit/*/ tests/unit/*/*/))
unit_test = $(or $(UNIT_TEST_$(1)),$(wildcard $(UNIT_FOLDERS:%=%test_$(1).cpp)))

# variant: name, unit, parameters
define variant
UNIT += $(1)
UNIT_TOP_$(1) := $(or $(UNIT_TOP_$(2)),$(2))
UNIT_TEST_$(1) := $(call unit_test,$(2))
UNIT_SRCS_$(1) := $(UNIT_SRCS_$(2))
UNIT_C_$(1) := $(UNIT_C_$(2))
UNIT_FLAGS_$(1) := $(UNIT_FLAGS_$(2))
UNIT_NEEDS_$(1) := $(UNIT_NEEDS_$(2))
UNIT_PARAMS_$(1) := $(3)
endef

include tests/gate/gate.mk
include tests/unit/modules.mk

# make unit-NAME WAVES=1: with waveforms, in a folder of its own
WAVES ?= 0
UNIT_WAVES := $(if $(filter-out 0,$(WAVES)),1,0)
UNIT_DIR := $(B)/unit$(if $(filter 1,$(UNIT_WAVES)),-waves)
UNIT_RUNTIME := $(B)/verilated/$(if $(filter 1,$(UNIT_WAVES)),fst,plain).a

# a minute or more to build or to run, and others have their modules with other parameters:
# only `make test-all` has them
LONG_UNITS := switch_2_8 switch_4_8 switch_5_16 switch_reductions_2_8 switch_reductions_5_16 switch_reductions_8_8 \
    switch_tiles_2_8 switch_tiles_5_16 switch_rate_8 switch_rate_16 switch_rate_shared_ram switch_8_16 \
    switch_shared_ram_16 switch_reductions_shared_ram reduction_n8 link_fuzz_16
unit_bin = $(UNIT_DIR)/$(1)/test_$(1)
UNIT_BINS := $(foreach u,$(filter-out $(LONG_UNITS),$(UNIT)),$(call unit_bin,$(u)))
LONG_UNIT_BINS := $(foreach u,$(LONG_UNITS),$(call unit_bin,$(u)))

# of what runs long; UNIT_OPT='-O0 -g' to look at one in a debugger, which all get then
UNIT_OPT ?= -O1
# Tests that run for some seconds. Others take longer to compile than to run: clang compiles them without optimization.
UNIT_BUSY := soc usb_core usb_core_pins switch_loads_5_16 switch_rate_4 packet_manager_16 reduce_lane host_link \
    host_link_16 $(LONG_UNITS)
# ... and those of which only the model is worth it
UNIT_BUSY_MODEL := reduce_lane_plain fp64_add reduce_flit expert_lane gpu_mem% send send_% ingress% egress% \
    switch_parts expert_engine% reduction% switch_shared_ram_8 switch_min rx_store packet_manager% link_%
# name, names or patterns of them, the file that tests/mutate links
unit_busy = $(or $(3),$(filter $(2),$(1)),$(filter-out file,$(origin UNIT_OPT)))
unit_opt = $(if $(call unit_busy,$(1),$(UNIT_BUSY),$(2)),$(UNIT_OPT),-O0)
unit_model_opt = $(if $(call unit_busy,$(1),$(UNIT_BUSY) $(UNIT_BUSY_MODEL),$(2)),$(UNIT_OPT),-O0)
unit_pieces = $(filter-out -O0,$(unit_model_opt))

UNIT_BENCH := $(wildcard tests/unit/bench/*.h)

# the library's main, for tests that have none of their own
$(UNIT_DIR)/bench.a: tests/unit/bench/main.cpp $(UNIT_BENCH) | $(B)/.setup
	@mkdir -p $(@D)
	$(call say,CXX,$@)
	$(Q)$(CXX) $(CXXFLAGS) -Itests/unit -c -o $(@:.a=.o) $< && rm -f $@ && ar rcs $@ $(@:.a=.o)

# tops with bundles as ports: a test sees their fields, by a module around the top (bench/flat.py)
BUNDLED := $(basename $(notdir $(shell grep \
    -lE '^    (input|output) .*(bundle_pkg::|`MW_)|^    parameter type .*`MW_' $(RTL_FILES) \
    $(wildcard $(UNIT_FOLDERS:%=%*.sv)))))
unit_file = $(firstword $(wildcard $(UNIT_FOLDERS:%=%$(1).sv)) $(filter %/$(1).sv,$(RTL_FILES)))
flat = $(if $(filter $(1),$(BUNDLED)),flat_$(1),$(1))
flat_file = $(if $(filter $(1),$(BUNDLED)),$(2)/flat_$(1).sv)

# What every one of these programs begins with, compiled once: Verilator's run time and the standard library,
# which are most of what a small test and its model read. Both are compiled with the same options, which a
# precompiled header demands. A model that is optimized is compiled in two pieces, what runs and what only starts it,
# the latter without optimization: in more, each would read the headers anew. Others are one piece. Clang marks what its
# standard library calls itself as deprecated.
unit_cxx = $(MODEL_CXX) $(filter-out -g,$(CXXFLAGS)) $(1) \
    $(addprefix -DVM_,COVERAGE=0 SC=0 TIMING=0 TRACE=$(UNIT_WAVES) TRACE_FST=$(UNIT_WAVES) TRACE_VCD=0 TRACE_SAIF=0) \
    $(VINC) -Wno-deprecated-declarations
unit_pch = $(UNIT_DIR)/pch$(subst $() ,,$(1))/pch.h.pch
define unit_pch_rule
UNIT_PCHS += $(call unit_pch,$(1))
$(call unit_pch,$(1)): tests/unit/bench/pch.h $(TOOLS)
	@mkdir -p $$(@D)
	$$(call say,CXX,$$< ($(1)))
	$$(Q)$$(call unit_cxx,$(1)) -x c++-header -o $$@ $$<
endef
$(eval $(call unit_pch_rule,-O0))
$(if $(filter-out $(call unit_pch,-O0),$(call unit_pch,$(UNIT_OPT))),$(eval $(call unit_pch_rule,$(UNIT_OPT))))
unit_clang = $(call unit_cxx,$(1)) -include-pch $(call unit_pch,$(1))

# unit_program: name, top, test, folder, SystemVerilog sources (packages first), their warnings, further sources to link
define unit_program
$(if $(filter $(2),$(BUNDLED)),$(4)/flat_$(2).sv: $(call unit_file,$(2)) rtl/common/bundle_pkg.sv $(RTL_TYPES) \
    tests/unit/bench/flat.py sim/bundles.py | $(B)/.setup
	@mkdir -p $$(@D)
	$$(Q)$$(PY) tests/unit/bench/flat.py $$< >$$@
)

# what its model and its test are made with: a change makes them anew
$(call flags_rule,$(4),$$(UNIT_PARAMS_$(1)); $$(UNIT_GIVEN_$(1)); $(6) $$(UNIT_FLAGS_$(1)); $$(UNIT_ANY_$(1)); \
    $(5))
$(4)/V$(2).mk: $(4)/flags $(TOOLS) $(5) $(call flat_file,$(2),$(4)) | $$(RTL_PKGS) $$(REG_SV) $$(DEV_REG_SV) \
    $(B)/.setup
	@mkdir -p $$(@D) && rm -f $$(@D)/V$(2)*.cpp
	$$(call say,VERILATE,$(4:$(B)/%=%))
	$$(Q)$$(VERILATOR) --cc --quiet --prefix V$(2) --top-module $(call flat,$(2)) \
	    $$(call cfg,$$(UNIT_PARAMS_$(1))) $$(addprefix -G,$$(UNIT_GIVEN_$(1))) \
	    -O3 --x-assign unique --x-initial unique --assert $(6) $$(UNIT_FLAGS_$(1)) \
	    $(if $(7),,$$(if $$(UNIT_ANY_$(1)),,-DMW_CONTRACTS)) \
	    $(if $(filter 1,$(UNIT_WAVES)),--trace-fst --trace-structs) \
	    $$(filter-out $(5),$$(RTL_PKGS)) $(5) $(call flat_file,$(2),$(4)) --Mdir $$(@D) -CFLAGS -fPIC
	$$(call verilator_deps,$$@)
	@touch $$@

$(4)/unit_inputs.h: $(4)/V$(2).mk tests/unit/bench/inputs.py
	$$(Q)$$(PY) tests/unit/bench/inputs.py $$(@D)/V$(2).h >$$@

$(4)/test_$(1): $(4)/V$(2).mk $(4)/unit_inputs.h $(3) $$(filter-out %.c,$$(UNIT_C_$(1))) \
    $$(call obj,$$(filter %.c,$$(UNIT_C_$(1)) $(7))) \
    $$(wildcard $(UNIT_FOLDERS:%=%*.h)) $(UNIT_BENCH) $(UNIT_PCHS) $(UNIT_DIR)/bench.a \
    $(UNIT_RUNTIME) $(B)/libmwgolden.a | $(GEN_H) $(GEN)/bundles.h $$(UNIT_NEEDS_$(1))
	$$(call say,CXX,$(4:$(B)/%=%))
	$$(Q)cd $$(@D) && ls V$(2)*.cpp | sed '/__ALL/d; s/.*/#include "&"/' >all \
	    $(if $(call unit_pieces,$(1),$(7)),&& grep -v Slow all >fast.cpp && grep Slow all >slow.cpp,&& mv all fast.cpp)
	$$(Q)$$(call unit_clang,$(call unit_model_opt,$(1),$(7))) -w -c -o $$(@D)/fast.o $$(@D)/fast.cpp
	$(if $(call unit_pieces,$(1),$(7)),$$(Q)$$(call unit_clang,-O0) -w -c -o $$(@D)/slow.o $$(@D)/slow.cpp)
	$$(Q)$$(call unit_clang,$(call unit_opt,$(1),$(7))) \
	    $$(CPPFLAGS) -Itests/unit $(UNIT_FOLDERS:%/=-I%) -I$$(@D) \
	    $$(addprefix -DPARAM_,$$(UNIT_PARAMS_$(1))) \
	    $(if $(7),-DUNIT_NETLIST) -o $$@ $$(filter %.cpp %.o,$$^) \
	    $$(@D)/fast.o $(if $(call unit_pieces,$(1),$(7)),$$(@D)/slow.o) $(UNIT_RUNTIME) $(UNIT_DIR)/bench.a \
	    $(B)/libmwgolden.a -lcmocka $$(LDLIBS) \
	    $(if $(filter 1,$(UNIT_WAVES)),-lz -llz4)
endef

# unit_rules: name, top, test
define unit_rules
$(call unit_program,$(1),$(2),$(3),$(UNIT_DIR)/$(1),$$(UNIT_SRCS_$(1)),$$(VWARN))

.PHONY: unit-$(1)
unit-$(1): $(UNIT_DIR)/$(1)/test_$(1)
	@$(if $(filter 1,$(UNIT_WAVES)),rm -rf $$(<D)/waves && mkdir $$(<D)/waves \
	    && echo "  WAVES      $$(<D)/waves/TEST-K.fst$(comma) a file for each model of a test" && MW_WAVES=$$(<D)/waves \
	    )$$(PY) tests/runner/run.py $$<
endef
unit_top = $(or $(UNIT_TOP_$(1)),$(1))
$(foreach u,$(UNIT),$(eval $(call unit_rules,$(u),$(call unit_top,$(u)),$(call unit_test,$(u)))))

.PHONY: unit
unit: $(UNIT_BINS)
	@$(PY) tests/runner/run.py $^

WAVES_TESTS := keeps_the_rate_and_loses_none_of_it a_pause_is_over_without_packets \
    a_packet_behind_its_pause_waits_for_nothing
UNIT_CMDS := --command \
    'waveforms: make unit-link_rate WAVES=1 && $(PY) tests/unit/waves.py $(B)/unit-waves/link_rate/waves $(WAVES_TESTS)'
