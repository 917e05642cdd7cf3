# SPDX-License-Identifier: Apache-2.0
# The models of the whole device: Verilator, what sim/lanes makes of its code, and the shim.

# make model N=8 F=16: build/model/n8f16/libmwsim.so, the C interface of sim/mw_sim.h around the Verilated fabric
N ?= 8
F ?= 16
TRACE ?= 0
SMALL ?= 0
# all, or a kind that is without those that only some systems need
PRIMITIVES ?= all
# 1: links of up to 2 047 cycles, with the credits that their round trip needs
FAR ?= 0
KINDS := published basic
# a board of boards/: sizes and primitives of its device
LIKE ?=
$(if $(and $(filter 1,$(words $(F))),$(filter 8 16,$(F))),,$(error F=$(F): flits have 8 or 16 bytes))
# numbers of GPUs that are possible, read once: the rules of every model ask for them
SIZES := $(shell seq 2 72)
$(if $(and $(filter 1,$(words $(N))),$(filter $(SIZES),$(N))),,$(error N=$(N): 2 to 72 GPUs are possible))
$(if $(filter-out all $(KINDS),$(PRIMITIVES)),$(error PRIMITIVES=$(PRIMITIVES): all, published and basic are possible))
$(if $(filter-out 0 1,$(FAR)),$(error FAR=$(FAR): 0 and 1 are possible))
$(if $(filter 1,$(FAR)),$(if $(filter 1,$(SMALL))$(filter $(KINDS),$(PRIMITIVES)),$(error FAR=1: neither with SMALL=1 \
    nor PRIMITIVES=$(PRIMITIVES))))
$(if $(filter $(KINDS),$(PRIMITIVES)),$(if $(filter-out 0,$(SMALL) $(TRACE)),$(error PRIMITIVES=$(PRIMITIVES): neither \
    with SMALL=1 nor TRACE=1)))
$(if $(LIKE),$(if $(and $(filter 1,$(words $(LIKE))),$(filter $(wildcard boards/*/board.toml), \
    $(LIKE:%=boards/%/board.toml))),,$(error LIKE=$(LIKE): a folder of boards is possible)))
$(if $(LIKE),$(if $(filter-out 0 8,$(SMALL) $(FAR) $(F))$(filter $(KINDS),$(PRIMITIVES)),$(error LIKE=$(LIKE): with \
    F=8$(comma) and none of SMALL=1$(comma) FAR=1$(comma) PRIMITIVES=)))
# plain: Verilator's own code of the whole fabric, with g++ or clang, on any machine; what writes waveforms is always
# that. lanes: the fabric in parts, which sim/lanes/lanes.py translates. Without either: lanes, or where they do
# not work plain, with a line of warning.
BACKEND ?=
$(if $(filter-out plain lanes,$(BACKEND)),$(error BACKEND=$(BACKEND): plain and lanes are possible))
$(if $(filter lanes,$(BACKEND)),$(if $(filter-out 0,$(TRACE)),$(error BACKEND=lanes writes no waves: leave it out, or \
    take TRACE=0)))
# published: what published systems need, without what moeswitch alone and slower links do;
# in the same cycles, simulated faster
PUBLISHED_PARAMS := TargetListCache=0 TokenOrder=0 SwitchReductions=0 TileReductions=0 MergeLoads=0 MergeKeep=0 \
    SumEntries=0 RowTypes=0 GateGradients=0 CachedHandle=0 BalanceRows=0 LinkRate=0
# basic: without what else unicast, dysharp-basic and dysharp have no use for
BASIC_PARAMS := $(PUBLISHED_PARAMS) Events=16 Delay=0 RowRanges=0 Gathered=0 RowSparse=0 SourceLists=0 RpmEntries=0
# ... and with as many entries of the allocators' caches as a layer uses that says nothing of them
BASIC_CACHE := CacheEntries=512 CacheLimit=0
# what synth-check synthesizes: 16 KB per GPU, depths for layers that fit there, reductions of one kind
SMALL_PARAMS := MemBytesLog2=14 RowsLog2=6 TokensLog2=5 MaxExperts=32 MaxLocalExperts=4 CacheEntries=64 MaxLatency=8 \
    StorePkts=16 Window=0 RxStorePkts=12 RedTypes=1 RedOps=1 Reds=0 AdderBypass=0 $(BASIC_PARAMS) CacheLimit=0 \
    Faults=0 Monitor=0
# read before the first make has its own Python
LIKE_PARAMS := $(if $(LIKE),$(or $(shell $(or $(wildcard $(PY)),python3) flow/ecp5/board.py $(LIKE) \
    $(SMALL_PARAMS)),$(error LIKE=$(LIKE): no settings of boards/$(LIKE)/board.toml)))
# What simulation has instead of a board's sizes: layers of real size fit. Memory is taken from the system as it is
# touched. Verilator takes arrays of 2^28 elements, which bounds 8-byte flits. large: flit bytes
KEPT_PARAMS := MergeKeep=16384 KeepRows=32
large = MemBytesLog2=$(if $(filter 8,$(1)),33,34 $(KEPT_PARAMS)) $(LARGE_TABLES)
# above 32 GPUs: tokens of a GPU, as the tables of rows have 18 bits for {GPU, token}; from 16 on a group for each GPU
# besides others
large_far = $(if $(filter $(wordlist 32,71,$(SIZES)),$(1)),TokensLog2=11) \
    $(if $(filter $(wordlist 15,71,$(SIZES)),$(1)),Groups=128)
# a whole device has the same, so that it takes the same cycles, but for its memories; and the
# primitives that boards have no room for
LARGE_TABLES := CacheEntries=4096 RowsLog2=18 TokensLog2=13 MaxExperts=1024 MaxLocalExperts=64 TileReductions=1 \
    MergeLoads=1 MergeEntries=320 MergeWays=5 SumEntries=64 StreamInstrs=256 RowTypes=1 GateGradients=1 CachedHandle=1 \
    BalanceRows=1 RedTypes=1023
# Links of up to 2 047 cycles. A round trip of 4 096 cycles holds 455 packets of nine 16-byte flits:
# stores, partial sums and results have 512 places. Rows open at the switch for two round trips and a
# half: 64 rows of 115 flits fill them. So do 128 loaded rows of 36 flits, of which tiles have two.
kind_far := MaxLatency=2047 StorePkts=512 CtrlPkts=64 PartPkts=512 RxStorePkts=512 RxResultPkts=512 \
    RxCtrlPkts=64 OpenRows=64 OpenLoads=128 OpenSyncs=64
# reductions of 16 and 32 bits alone (red_pkg)
USUAL_TYPES := RedTypes=31
kind_published := $(PUBLISHED_PARAMS) $(USUAL_TYPES)
kind_basic := $(BASIC_PARAMS) $(BASIC_CACHE) $(USUAL_TYPES)
# settings of cfg_pkg.sv: N, F, small (1) or one of KINDS or LIKE or neither (0)
settings_of = N=$(1) FlitBytes=$(2) $(if $(filter 1,$(3)),$(SMALL_PARAMS),$(if $(filter $(LIKE),$(3)),$(LIKE_PARAMS), \
    $(call large,$(2)) $(call large_far,$(1)) $(kind_$(3))))
MODEL_OPT ?= -O2
# that only tests run, a few short layers each: what they gain by more optimization is less than it takes
BRIEF_MODELS := n2f8-plain n4f8-small-fst n3f16-fst n9f8-small n9f8-small-plain
# model_opt: configuration, optimization of others, of these
model_opt = $(if $(filter $(1),$(BRIEF_MODELS)),$(3),$(2))
# the compiler of plain models, and whose way of precompiled headers Verilator's makefile takes
ifeq ($(origin PLAIN_CXX),undefined)
PLAIN_CXX := $(if $(shell command -v $(MODEL_CXX)),$(MODEL_CXX),$(CXX))
endif
vmake_plain = $(if $(findstring clang,$(PLAIN_CXX)),$(VMAKE_CLANG),$(VMAKE_GCC))
VMAKE_PLAIN = $(subst CXX=$(MODEL_CXX),CXX=$(PLAIN_CXX),$(subst CXX=$(CXX),CXX=$(PLAIN_CXX),$(vmake_plain)))

# Everything starts with random contents; of large memories the first 2^15 elements do,
# as many as a cut-down layer uses.
start_of_large = sed -i 's/\(for (int __Vi0 = 0; __Vi0 < \)[0-9]\{6$(comma)\};/\132768;/'

# The whole fabric is compiled in few pieces, as each reads the model's header anew: that takes clang as long as the
# code of one of Verilator's files. Verilator itself makes pieces of what runs. What only starts a model is one piece.
PIECES := --output-groups 4
# prefix
start_piece = cd $$(@D) && ls $(1)*Slow.cpp | sed 's/.*/\#include "&"/' >$(1)_start.cpp
VMAKE_PIECES = VM_CLASSES_SLOW=$(1)_start VM_SUPPORT_SLOW=

# ---- what models are made with: a change makes them anew ---------------------
.PHONY: FORCE
FORCE:

# versions of the tools, what the compiler takes this processor for, and why lanes do not work here, if so
TOOLS := $(B)/model/tools
# behind a file of the shell's own, as makes of one folder may run side by side
if_changed = if cmp -s $@.$$$$ $@; then rm $@.$$$$; else mv $@.$$$$ $@; fi
$(TOOLS): FORCE | $(B)/.setup
	@mkdir -p $(@D)
	@$(PY) sim/made.py tools --verilator '$(VROOT)' --verilator-bin '$(VERILATOR_BIN)' --plain-cxx '$(PLAIN_CXX)' \
	    --model-cxx '$(MODEL_CXX)' --arch '$(MODEL_ARCH)' >$@.$$$$ && $(if_changed)
$(B)/verilated/plain.a $(B)/verilated/fst.a: $(TOOLS)

# flags_rule: folder, what is set there
define flags_rule
$(1)/flags: FORCE
	@mkdir -p $$(@D) && echo '$(strip $(2))' >$$@.$$$$$$$$ && $$(if_changed)
endef

# model_words: N, F, small or one of KINDS or LIKE, trace, backend: the words of make that build such a model
model_words = N=$(1) F=$(2)$(if $(filter-out 0,$(3)), $(if $(filter $(KINDS),$(3)),PRIMITIVES=$(3),$(if \
    $(filter far,$(3)),FAR=1,$(if $(filter 1,$(3)),SMALL=1,LIKE=$(3)))))$(if $(filter 1,$(4)), TRACE=1,$(if \
    $(filter plain,$(5)), BACKEND=plain))

# note_rule: folder of build/model, fabric or device, backend, Verilated archives, sources around them, words of make
# that build it: what is in the model for who loads it
SHIM := $(addprefix sim/,shim.cpp fabric.h fabric_of.h bundle_access.h watcher.h watch.py start.h mw_sim.h exports.map)
define note_rule
$(B)/model/$(1)/note.S: $(4) $(5) sim/made.py sim/mw_$(if $(filter device,$(2)),device,sim).h \
    $(B)/model/$(1)/flags $(TOOLS) $(DEFINITIONS_H)
	@$(PY) sim/made.py note --model $(2) --backend $(3) --make '$(strip $(6))' --definitions $(DEFINITIONS_H) \
	    --tools $(TOOLS) --flags $(B)/model/$(1)/flags --deps $(addsuffix deps.d,$(dir $(4))) -- $(5) >$$@
endef

$(GEN)/bundles.h: sim/bundles.py rtl/common/bundle_pkg.sv $(RTL_TYPES) | $(B)/.setup
	@mkdir -p $(@D)
	$(Q)$(PY) sim/bundles.py >$@

include sim/plain.mk sim/lanes/lanes.mk sim/device.mk

# configurations that the tests use, and the one asked for: several N, both flit widths, what synth-check measures,
# without some primitives, and plain ones, one with waveforms, beside others; as N.F.small.trace[.backend]
MODELS := 8.16.0.0 4.8.0.0 4.8.1.0 2.8.0.0 $(KINDS:%=2.8.%.0) 3.16.0.0 4.8.1.1 2.8.0.0.plain
LONG_MODELS := 3.16.0.1 9.8.1.0 9.8.1.0.plain 2.8.far.0 4.16.far.0 $(KINDS:%=8.16.%.0) 16.16.0.0 \
    $(KINDS:%=16.16.%.0) 32.16.0.0 $(KINDS:%=32.16.%.0) 40.8.0.0 40.8.far.0 72.16.far.0 4.8.0.0.plain \
    8.16.0.0.plain 5.16.0.0 6.16.0.0 7.16.0.0
asked_kind := $(or $(filter $(KINDS),$(PRIMITIVES)),$(if $(filter 1,$(FAR)),far),$(LIKE),$(SMALL))
asked := $(N).$(F).$(asked_kind).$(TRACE)$(if $(filter plain,$(BACKEND)),.plain)
dotted = $(word $(2),$(subst ., ,$(1)))
backend_of = $(if $(filter plain,$(call dotted,$(1),5))$(filter-out 0,$(call dotted,$(1),4)),plain,lanes)
conf_kind = $(patsubst -0,,$(patsubst -1,-small,-$(call dotted,$(1),3)))
conf_backend = $(if $(filter 0,$(call dotted,$(1),4)),$(if $(filter plain,$(call dotted,$(1),5)),-plain),-fst)
conf = n$(call dotted,$(1),1)f$(call dotted,$(1),2)$(call conf_kind,$(1))$(call conf_backend,$(1))
model_so = $(B)/model/$(call conf,$(1))/libmwsim.so
# backend, configuration, N, F
rules_for = $(call $(1)_rules,$(call conf,$(2)),$(3),$(4),$(call dotted,$(2),3),$(call dotted,$(2),4))
# one configuration by two names, with waveforms, is one
model_rules_of = $(if $(filter $(call conf,$(1)),$(MODELS_RULED)),,$(eval MODELS_RULED += $(call conf,$(1)))$(eval \
    $(call rules_for,$(call backend_of,$(1)),$(1),$(call dotted,$(1),1),$(call dotted,$(1),2))))
$(foreach m,$(MODELS) $(LONG_MODELS) $(asked) $(N).$(F).0.0 $(KINDS:%=$(N).$(F).%.0),$(call model_rules_of,$(m)))

device_so = $(B)/model/dev-$(call conf,$(1))/libmw$(call dotted,$(1),5).so
# configuration as of a model, and top module
DEVICES := 2.8.0.0.device 2.8.0.0.device_usb 4.8.1.0.device
asked_devices := $(foreach t,device device_usb,$(N).$(F).$(or $(LIKE),$(SMALL)).0.$(t))
# configuration, N, F
device_rules_of = $(call device_rules,$(call conf,$(1)),$(2),$(3),$(call dotted,$(1),3),$(call dotted,$(1),5))
$(foreach m,$(sort $(DEVICES) $(asked_devices)),$(eval \
    $(call device_rules_of,$(m),$(call dotted,$(m),1),$(call dotted,$(m),2))))
# with one node for all (docs/design/threads.md), at its ULPI pins
$(foreach n,$(sort 4 $(filter 4 5 6 7 8,$(N))),$(eval \
    $(call device_rules,n$(n)f8-small-threads,$(n),8,1,device_usb,threads)))

.PHONY: model models models-fast device-model
device-model: $(foreach m,$(asked_devices),$(call device_so,$(m)))
model: $(call model_so,$(asked))
# the whole one beside them, as one is taken only where both have the same sources
models-fast: $(foreach k,0 $(KINDS),$(call model_so,$(N).$(F).$(k).0))
models: $(foreach m,$(MODELS),$(call model_so,$(m))) $(foreach m,$(DEVICES),$(call device_so,$(m)))
