# SPDX-License-Identifier: Apache-2.0
# Models in lanes: the fabric is cut into Verilated parts that the shim joins: those that there are once, and those that
# each node or port has one of, of which Verilator's code only initialises: sim/lanes/lanes.py makes of it what runs,
# all copies at once. Its own large memories are of no use then, and are not written.
#
# Where that does not work (no such compiler or processor, RTL that sim/lanes/lanes.py refuses), the model is a copy
# of the plain one, with a line of warning.
ONE_PARTS := fabric_csr switch_common
LANES_PARTS := node node_link switch_port
# what makes them
SCHEDULE_PY := sim/lanes/schedule.py $(wildcard sim/lanes/translate/*.py)
LANES_PY := sim/lanes/lanes.py $(wildcard sim/lanes/translate/*.py)
# around them, besides the shim
LANES_H := sim/lanes/lanes.h sim/lanes/ring.h
IN_LANES := $(LANES_H) $(addprefix sim/lanes/,fabric_lanes.cpp wires.h begin.h beside.h block.h gpu_set.h nodes.h \
    nodes.cpp ports.h ports.cpp)
part_file = $(filter %/$(1).sv,$(RTL_FILES))

# of lanes
LANES_OPT ?= -O2
# for the machine that it is built on; MODEL_ARCH=x86-64-v3, say, for another. Of a processor that has AVX10 Clang 19
# names a set of features that it then complains of: that warning is off.
MODEL_ARCH ?= native

# Of a part that runs in lanes Verilator's code initialises one copy after another, and no more: what it does in a clock
# edge ends the program instead, so that it need not be compiled.
# only_start: configuration, folder, prefix
define only_start
$(Q)$(unless_lanes) || { rm -rf $(2)/start && mkdir $(2)/start && cp $(2)/$(3)*.h $(2)/$(3).mk $(2)/$(3)_classes.mk \
    $(2)/start && for f in $$(cd $(2) && ls $(3)*.cpp | grep -v _lanes); do \
    sed '/^void .*___nba_[a-z]*__.*{$$/,/^}$$/{//!d;/{$$/s/$$/ std::abort();/}' $(2)/$$f >$(2)/start/$$f; done; }
$(Q)$(unless_lanes) || $(MAKE) -s -C $(2)/start -f $(3).mk $(3)__ALL.a VERILATOR_ROOT=$(VROOT) $(VMAKE_CLANG) \
    VM_PARALLEL_BUILDS=0 OPT_FAST=-O0 CXXFLAGS="-w -fPIC" >$(2)/make.log 2>&1 || { cat $(2)/make.log; exit 1; }
$(Q)$(unless_lanes) || mv $(2)/start/$(3)__ALL.a $(2)
endef

# What runs in a clock edge stays in functions of its own, which schedule.py and lanes.py put into their order.
LANES_VFLAGS := -O3 --inline-cfuncs 0 --inline-cfuncs-product 0 --x-assign fast --x-initial unique \
    --noassert --output-split 15000 -Wno-lint -Wno-style
# by default Verilator unrolls loops of up to 64 steps; of a longer one it writes what lanes do not take
unrolled = $(if $(filter $(wordlist 64,71,$(SIZES)),$(1)),--unroll-count 128)
# verilate_part: N, F, small, part
verilate_part = $(VERILATOR) --cc --prefix V$(4) --top-module $(4) $(call cfg,$(call settings_of,$(1),$(2),$(3))) \
    $(LANES_VFLAGS) $(call unrolled,$(1)) $(VLT) $(addprefix -y ,$(RTL_DIRS)) $(RTL_PKGS) $(call part_file,$(4))
translate_part = $(PY) $(if $(filter $(ONE_PARTS),$(1)),sim/lanes/schedule.py,sim/lanes/lanes.py) $(1) $(2) \
    $(if $(filter switch_port,$(1)),--ring)

# In a recipe, before what is done where lanes work: with these tools, and with this model. (Each with a line of its
# own: make -n carries out lines that call make.)
if_tools = ! grep -q '^why ' $(TOOLS)
unless_lanes = ! grep -qx lanes $(B)/model/$(1)/backend

# how many copies of a part are in a block: part, N
copies = $(call $(1)_of,$(2))
# as node_block::MOST of sim/lanes/nodes.h, and as switch_ports::MOST of sim/lanes/ports.h
node_of = $(if $(filter 1 2 3 4 5 6 7,$(1)),$(1),8)
switch_port_of = $(if $(filter $(wordlist 1,15,$(SIZES)),$(1)),$(1),16)
node_link_of = $(1)

# lanes_part_rules: configuration, N, F, small, part. What a part is refused for is in its folder's file `refused`.
define lanes_part_rules
$(B)/model/$(1)/$(5)/V$(5).mk: $(B)/model/$(1)/flags $(TOOLS) | $(RTL_PKGS) $(REG_SV) $(B)/.setup
	@mkdir -p $$(@D) && rm -f $$(@D)/refused
	$$(Q)if $(if_tools); then $(call say_now,VERILATE,$(5)$(comma) N=$(2)$(comma) $(3)-byte \
	    flits$(if $(filter 1,$(4)),$(comma) small memories)); \
	    $(call verilate_part,$(2),$(3),$(4),$(5)) --Mdir $$(@D) >$$(@D)/verilate.log 2>&1 && touch $$@ || \
	    { rm -f $$@; echo "Verilator: $$$$(grep -m 1 '^%Error' $$(@D)/verilate.log)" >$$(@D)/refused; exit 0; }; \
	$(if $(filter $(LANES_PARTS),$(5)),sed \
	    -i '/^ *for (int __Vi0 = 0; __Vi0 < [0-9]\{5$(comma)\}; ++__Vi0) {$$$$/$(comma)/^ *}$$$$/d' \
	    $$(@D)/V$(5)___024root__*__Slow.cpp,$(start_of_large) $$(@D)/V$(5)___024root__*__Slow.cpp); fi
	$$(call verilator_deps,$$@)
	@[ ! -e $$@ ] || touch $$@

# refused: said once more with the place in the source, which Verilator's code has for the asking
$(B)/model/$(1)/$(5)/translated: $(B)/model/$(1)/$(5)/V$(5).mk \
    $(if $(filter $(ONE_PARTS),$(5)),$(SCHEDULE_PY),$(LANES_PY))
	$$(Q)rm -f $$@; [ -e $$< ] || exit 0; rm -f $$(@D)/refused; \
	    $(call translate_part,$(5),$$(@D)) 2>$$(@D)/translate.log || \
	    { rm -rf $$(@D)/places; $(call verilate_part,$(2),$(3),$(4),$(5)) --decorations node --Mdir $$(@D)/places \
	    >/dev/null 2>&1; \
	    $(call translate_part,$(5),$$(@D)/places) 2>$$(@D)/refused; [ -s $$(@D)/refused ] \
	    || { echo "$(5) cannot be translated:"; tail -n 1 $$(@D)/translate.log; } | paste -s >$$(@D)/refused; \
	    }; touch $$@

$(if $(filter $(LANES_PARTS),$(5)),$(B)/model/$(1)/$(5)/V$(5)_lanes.a: $(B)/model/$(1)/$(5)/translated \
    $(LANES_H) | $(B)/model/$(1)/backend
	@rm -f $$@
	@$(unless_lanes) || $(call say_now,CXX,$(5)$(comma) N=$(2) F=$(3)$(comma) a lane each (half a minute or more))
	$$(Q)$(unless_lanes) || $$(MAKE) -s -C $$(@D) -f V$(5)_lanes.mk CXX=$(MODEL_CXX) HEADERS="$(LANES_H:%=$(CURDIR)/%)" \
	    CXXFLAGS="-std=c++17 $(call model_opt,$(1),$(LANES_OPT),-O1) -march=$(MODEL_ARCH) -w -fPIC $(VINC) \
	    -I$(CURDIR)/sim/lanes -DMW_COPIES=$(call copies,$(5),$(2)) -DMW_RING=$(2)"

$(B)/model/$(1)/$(5)/V$(5)__ALL.a: $(B)/model/$(1)/$(5)/V$(5).mk | $(B)/model/$(1)/backend
	@rm -f $$@
	@$(unless_lanes) || $(call say_now,CXX,$(5)$(comma) N=$(2) F=$(3)$(comma) its start)
	$$(call only_start,$(1),$$(@D),V$(5))
,$(B)/model/$(1)/$(5)/V$(5)__ALL.a: $(B)/model/$(1)/$(5)/V$(5).mk | $(B)/model/$(1)/backend
	@rm -f $$@
	@$(unless_lanes) || $(call say_now,CXX,$(5)$(comma) N=$(2) F=$(3) (half a minute or more))
	$$(Q)$(unless_lanes) || $$(MAKE) -s -C $$(@D) -f V$(5).mk V$(5)__ALL.a VERILATOR_ROOT=$(VROOT) $$(VMAKE_CLANG) \
	    OPT_FAST="$(call model_opt,$(1),$(MODEL_OPT),-O1)" OPT_SLOW=-O0 CXXFLAGS="-w -fPIC" >$$(@D)/make.log 2>&1 \
	    || { cat $$(@D)/make.log; exit 1; }
)
endef

# what is around the parts: configuration, N, F, folder
shim_cxx = $(MODEL_CXX) $(CXXFLAGS) -march=$(MODEL_ARCH) -Wno-invalid-feature-combination -Wno-psabi \
    -fvisibility=hidden $(VINC) -DMW_SIM_WATCH=1 -DMW_SIM_TRACE=0 \
    -DVM_TRACE=0 -DMW_SIM_N=$(2) -DMW_SIM_F=$(3) -I$(4) \
    $(foreach p,$(ONE_PARTS) $(LANES_PARTS),-I$(B)/model/$(1)/$(p)) -Isim -Isim/lanes -I$(GEN)
# the blocks of a part: ..., file, part
block_cxx = $(call shim_cxx,$(1),$(2),$(3),$(4)) -DMW_COPIES=$(call copies,$(6),$(2)) -DMW_RING=$(2) -c -o $(4)/$(5).o \
    sim/lanes/$(5).cpp
# lanes_rules: configuration, N, F, small
define lanes_rules
$(call flags_rule,$(B)/model/$(1),$(LANES_VFLAGS) $(call settings_of,$(2),$(3),$(4)); \
    $(call model_opt,$(1),$(LANES_OPT) $(MODEL_OPT),-O1) -march=$(MODEL_ARCH))
$(foreach p,$(ONE_PARTS) $(LANES_PARTS),$(eval $(call lanes_part_rules,$(1),$(2),$(3),$(4),$(p))))
# lanes, or plain and behind it why
$(B)/model/$(1)/backend: $(foreach p,$(ONE_PARTS) $(LANES_PARTS),$(B)/model/$(1)/$(p)/translated) $(TOOLS)
	@{ sed -n 's/^why //p' $(TOOLS); cat $(patsubst %,$(B)/model/$(1)/%/refused,$(ONE_PARTS) $(LANES_PARTS)) 2>/dev/null; \
	    } >$$@.why; \
	if [ -s $$@.why ]; then { echo plain; cat $$@.why; }; else echo lanes; fi >$$@

$(call note_rule,$(1),fabric,lanes,$(foreach p,$(ONE_PARTS) $(LANES_PARTS),$(B)/model/$(1)/$(p)/V$(p)__ALL.a),$(SHIM) \
    $(sort $(LANES_PY) $(SCHEDULE_PY)) $(IN_LANES),model $(call model_words,$(2),$(3),$(4)))
$(B)/model/$(1)/libmwsim.so: \
    $(foreach p,$(ONE_PARTS),$(B)/model/$(1)/$(p)/V$(p)__ALL.a $(B)/model/$(1)/$(p)/translated) \
    $(foreach p,$(LANES_PARTS),$(B)/model/$(1)/$(p)/V$(p)__ALL.a $(B)/model/$(1)/$(p)/V$(p)_lanes.a) \
    $(B)/model/$(1)/note.S $(SHIM) $(IN_LANES) $(GEN)/bundles.h $(B)/verilated/plain.a | $(B)/model/$(1)/backend
	$$(Q)! $(unless_lanes) \
	    || { $(if $(filter lanes,$(BACKEND)),echo \
	    "BACKEND=lanes does not work: $$$$(sed -n 2p $(B)/model/$(1)/backend); BACKEND=plain does" >&2; \
	    exit 1,echo "  WARNING    $(1) is plain$(comma) not lanes: $$$$(sed -n 2p $(B)/model/$(1)/backend)" >&2); }
	$$(Q)! $(unless_lanes) || $$(MAKE) --no-print-directory model N=$(2) F=$(3) \
	    $(if $(filter $(KINDS),$(4)),PRIMITIVES=$(4),$(if $(filter far,$(4)),FAR=1,$(if \
	    $(filter 0 1,$(4)),SMALL,LIKE)=$(4))) \
	    TRACE=0 BACKEND=plain
	$$(Q)! $(unless_lanes) || cmp -s $(B)/model/$(1)-plain/libmwsim.so $$@ \
	    || cp $(B)/model/$(1)-plain/libmwsim.so $$@
	@$(unless_lanes) || $(call say_now,LINK,$$@)
	$$(Q)$(unless_lanes) || { $(PY) sim/watch.py lanes $(2) $$(@D) >$$(@D)/watched.h && for k in nodes ports; do \
	    $(PY) sim/watch.py $$$$k $$(@D) >$$(@D)/watched_$$$$k.h || exit 1; done; }
	$$(Q)$(unless_lanes) || $(call block_cxx,$(1),$(2),$(3),$$(@D),nodes,node)
	$$(Q)$(unless_lanes) || $(call block_cxx,$(1),$(2),$(3),$$(@D),ports,switch_port)
	$$(Q)$(unless_lanes) || $(call shim_cxx,$(1),$(2),$(3),$$(@D)) -DMW_COPIES=$(2) \
	    -shared -Wl,--version-script=sim/exports.map -o $$@ sim/shim.cpp sim/lanes/fabric_lanes.cpp $$(@D)/nodes.o \
	    $$(@D)/ports.o \
	    $(B)/model/$(1)/note.S $$(filter %.a,$$^) -lpthread
endef
