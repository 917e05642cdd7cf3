# SPDX-License-Identifier: Apache-2.0
# sim/lanes/lanes.py on a module that holds every construct, and on one whose copies are wired to each other, with
# Verilator's flags of the models; five and six copies in eight lanes.
LANES := $(B)/tests/sim/lanes
RING := $(B)/tests/sim/ring
LANES_FLAGS := -std=c++17 -O1 -g -march=$(MODEL_ARCH) -fPIC $(VINC) -I$(CURDIR)/sim/lanes

# lanes_rules: folder, sample, test, copies, what sim/lanes/lanes.py and Verilator get besides, copies of a block
define lanes_rules
$(1)/V$(2).mk: tests/sim/$(2).sv $(TOOLS)
	@mkdir -p $$(@D)
	$$(call say,VERILATE,$(2))
	$$(Q)$(VERILATOR) --cc --prefix V$(2) --top-module $(2) -O3 --inline-cfuncs 0 --x-assign fast --x-initial fast \
	    --noassert $(VWARN) $(6) $$< --Mdir $$(@D)
	@touch $$@

$(1)/$(3): tests/sim/$(3).cpp $(1)/V$(2).mk $(LANES_PY) $(LANES_H) $(B)/verilated/plain.a
	$$(call say,CXX,$$<)
	$$(Q)$$(PY) sim/lanes/lanes.py $(2) $(1) $(5)
	$$(Q)$$(MAKE) -s -C $(1) -f V$(2).mk V$(2)__ALL.a $$(VMAKE_CLANG) OPT_FAST=-O1 OPT_SLOW=-O0 CXXFLAGS="-w -fPIC"
	$$(Q)$$(MAKE) -s -C $(1) -f V$(2)_lanes.mk CXX=$(MODEL_CXX) HEADERS="$(LANES_H:%=$(CURDIR)/%)" \
	    CXXFLAGS="$(LANES_FLAGS) -DMW_COPIES=$(or $(7),$(4)) -DMW_RING=$(4) -w"
	$$(Q)$(MODEL_CXX) $(LANES_FLAGS) -DMW_COPIES=$(or $(7),$(4)) -DMW_RING=$(4) -I$(1) $(WARN) -Wno-psabi -o $$@ \
	    $$< $(1)/V$(2)_lanes.a $(1)/V$(2)__ALL.a $(B)/verilated/plain.a -lcmocka -lpthread
endef
$(eval $(call lanes_rules,$(LANES),lanes_sample,test_lanes,5))
$(eval $(call lanes_rules,$(RING),ring_sample,test_ring,6,--ring))
# more copies than bits of half a machine word number, and of a whole one, in blocks; RINGS_LONG in test-all
RINGS_FAR := 33 72
RINGS_LONG := 40
$(foreach n,$(RINGS_FAR) $(RINGS_LONG),$(eval \
    $(call lanes_rules,$(RING)-$(n),ring_sample,test_ring,$(n),--ring,-GN=$(n),16)))

# what it does not know it must refuse: a model that left something out would be wrong without a word
.PHONY: lanes-refuses ring-refuses
lanes-refuses: $(LANES)/test_lanes
	$(Q)rm -rf $(LANES)-strange && cp -r $(LANES) $(LANES)-strange && sed -i 's/VL_REDXOR_32(/VL_STRANGE(/' \
	    $(LANES)-strange/*.cpp
	$(Q)! out=$$($(PY) sim/lanes/lanes.py lanes_sample $(LANES)-strange 2>&1) && echo "$$out" \
	    | grep -q 'VL_STRANGE.*BACKEND=plain' || \
	    { echo "sim/lanes/lanes.py takes a call that it does not know"; exit 1; }

# a compiler that does not end where it may take AVX-512
.PHONY: lanes-endless
lanes-endless: $(LANES)/test_lanes
	$(Q)rm -rf $(LANES)-endless && cp -r $(LANES) $(LANES)-endless && rm $(LANES)-endless/Vlanes_sample_lanes_0.o
	$(Q)MODEL_CXX=$(MODEL_CXX) $(MAKE) -s -C $(LANES)-endless -f Vlanes_sample_lanes.mk COMPILE_SECONDS=1 \
	    CXX=$(CURDIR)/tests/sim/endless.sh HEADERS="$(LANES_H:%=$(CURDIR)/%)" \
	    CXXFLAGS="$(LANES_FLAGS) -DMW_COPIES=5 -w" Vlanes_sample_lanes_0.o 2>&1 | grep -q 'so without AVX-512' \
	    && test -s $(LANES)-endless/Vlanes_sample_lanes_0.o

.PHONY: lanes-refused
lanes-refused: | $(B)/.setup
	$(Q)VERILATOR_ROOT=$(VROOT) $(PY) tests/sim/refused.py $(VERILATOR_BIN) $(B)/tests/sim/refused

# copies whose last step feeds their first wait for each other for ever
ring-refuses: $(RING)/test_ring
	$(Q)rm -rf $(RING)-circle && mkdir $(RING)-circle \
	    && sed 's/assign bit_o  = state_q\[9\];/assign bit_o = state_q[9] ^ sum_i[0][0];/' tests/sim/ring_sample.sv \
	    >$(RING)-circle/ring_sample.sv
	$(Q)$(VERILATOR) --cc --prefix Vring_sample --top-module ring_sample -O3 --inline-cfuncs 0 $(VWARN) \
	    $(RING)-circle/ring_sample.sv --Mdir $(RING)-circle >/dev/null
	$(Q)! out=$$($(PY) sim/lanes/lanes.py ring_sample $(RING)-circle --ring 2>&1) && echo "$$out" \
	    | grep -q 'in a circle' || \
	    { echo "sim/lanes/lanes.py takes copies that wait for each other in a circle"; exit 1; }

LANES_TESTS := $(LANES)/test_lanes $(RING)/test_ring $(RINGS_FAR:%=$(RING)-%/test_ring)
TEST_CMDS += --command 'lanes: $(LANES)/test_lanes' --command 'lanes-refuses: make lanes-refuses' \
    --command 'lanes-endless: make lanes-endless' --command 'lanes-refused: make lanes-refused' \
    --command 'model-stamps: $(PY) tests/sim/stamps.py . $(B)/tests/sim/stamps' \
    --command 'goals: $(PY) tests/sim/goals.py . $(B)/tests/sim/goals' \
    --command 'lanes-fallback: $(PY) tests/sim/fallback.py . $(B)/tests/sim/fallback' \
    --command 'ring: $(RING)/test_ring' $(foreach n,$(RINGS_FAR),--command 'ring_$(n): $(RING)-$(n)/test_ring') \
    --command 'ring-refuses: make ring-refuses'
LONG_CMDS += $(foreach n,$(RINGS_LONG),--command \
    'ring_$(n): make $(RING)-$(n)/test_ring && $(RING)-$(n)/test_ring')

# the shim over a model made by hand, whose answers come late
LATE := $(B)/tests/sim/late/test_late
$(LATE): tests/sim/test_late.cpp sim/shim.cpp sim/fabric_plain.cpp $(wildcard tests/sim/fabric/*.h sim/*.h) \
    | $(GEN)/bundles.h
	@mkdir -p $(@D)
	$(call say,CXX,$<)
	$(Q)$(CXX) -std=c++17 -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=undefined $(WARN) \
	    -Wno-subobject-linkage -DMW_SIM_N=2 -DMW_SIM_F=8 -DMW_SIM_TRACE=0 \
	    -Itests/sim/fabric -Isim -I$(GEN) -o $@ $< -lcmocka
LANES_TESTS += $(LATE)
TEST_CMDS += --command 'late: $(LATE)'

# two threads that share their work
BESIDE := $(B)/tests/sim/beside/test_beside
$(BESIDE): tests/sim/test_beside.cpp sim/lanes/beside.h | $(B)/.setup
	@mkdir -p $(@D)
	$(call say,CXX,$<)
	$(Q)$(CXX) -std=c++17 -O1 -g -fsanitize=thread $(WARN) -Isim/lanes -o $@ $< -lcmocka -lpthread
LANES_TESTS += $(BESIDE)
TEST_CMDS += --command 'beside: $(BESIDE)'
