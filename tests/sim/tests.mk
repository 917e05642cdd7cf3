# SPDX-License-Identifier: Apache-2.0
# sim/lanes.py on a module that holds every construct, with Verilator's flags of the models; five copies in eight lanes.
LANES := $(B)/tests/sim/lanes
LANES_FLAGS := -std=c++17 -O1 -g -march=$(MODEL_ARCH) -fPIC $(VINC) -I$(CURDIR)/$(LANES) -I$(CURDIR)/sim -DMW_SIM_N=5

$(LANES)/Vlanes_sample.mk: tests/sim/lanes_sample.sv | $(B)/.setup
	@mkdir -p $(@D)
	$(call say,VERILATE,lanes_sample)
	$(Q)$(VERILATOR) --cc --prefix Vlanes_sample --top-module lanes_sample -O3 --x-assign fast --x-initial fast --noassert $(VWARN) $< --Mdir $(@D)
	@touch $@

$(LANES)/test_lanes: tests/sim/test_lanes.cpp $(LANES)/Vlanes_sample.mk sim/lanes.py sim/schedule.py sim/lanes.h $(B)/verilated/plain.a
	$(call say,CXX,$<)
	$(Q)$(PY) sim/lanes.py lanes_sample $(LANES)
	$(Q)$(MAKE) -s -C $(LANES) -f Vlanes_sample.mk Vlanes_sample__ALL.a $(VMAKE_CLANG) OPT_FAST=-O1 OPT_SLOW=-O0 CXXFLAGS="-w -fPIC"
	$(Q)$(MAKE) -s -C $(LANES) -f Vlanes_sample_lanes.mk CXX=$(MODEL_CXX) CXXFLAGS="$(LANES_FLAGS) -w"
	$(Q)$(MODEL_CXX) $(LANES_FLAGS) $(WARN) -Wno-psabi -o $@ $< $(LANES)/Vlanes_sample_lanes.a $(LANES)/Vlanes_sample__ALL.a $(B)/verilated/plain.a -lcmocka -lpthread

# what it does not know it must refuse: a model that left something out would be wrong without a word
.PHONY: lanes-refuses
lanes-refuses: $(LANES)/test_lanes
	$(Q)rm -rf $(LANES)-strange && cp -r $(LANES) $(LANES)-strange && sed -i 's/VL_REDXOR_32(/VL_STRANGE(/' $(LANES)-strange/*.cpp
	$(Q)! out=$$($(PY) sim/lanes.py lanes_sample $(LANES)-strange 2>&1) && echo "$$out" | grep -q 'calls VL_STRANGE' || \
	    { echo "sim/lanes.py takes a call that it does not know"; exit 1; }

LANES_TESTS := $(LANES)/test_lanes
TEST_CMDS += --command 'lanes: $(LANES)/test_lanes' --command 'lanes-refuses: make lanes-refuses'
