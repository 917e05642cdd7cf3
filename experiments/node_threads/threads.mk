# SPDX-License-Identifier: Apache-2.0
# Models with one node for all: make threads-model N=4 F=8. fabric_threads.sv around what rewrite/ makes of node, in
# the sizes of synth-check: build/model/n4f8-small-threads/libmwsim.so. -beside is both fabrics, compared in every cycle
# (tests/beside.sv); their nodes can be made to misbehave.
THREADS_PY := $(wildcard experiments/node_threads/rewrite/*.py)
threads_conf = n$(call dotted,$(1),1)f$(call dotted,$(1),2)-small
threads_so = $(B)/model/$(threads_conf)-$(2)/libmwsim.so

# threads_rules: N.F, name
threads_params = N=$(call dotted,$(1),1) FlitBytes=$(call dotted,$(1),2) $(SMALL_PARAMS) \
    $(if $(filter beside,$(2)),Faults=1)
# node_rules: folder, threads, command that prints the settings: others make the netlist anew
define node_rules
$(1)/node_threads.v $(1)/node_threads.il &: $(RTL) $(RTL_TYPES) $(THREADS_PY) flow/ecp5/settings.py $(1)/settings \
    requirements.txt | $(B)/.setup
	$$(call say,THREADS,$(1) (half a minute))
	$$(Q)$$(PY) experiments/node_threads/rewrite/rewrite.py --top node --threads $(2) --out $(1) \
	    $$(addprefix --param ,$$(file <$(1)/settings)) $(RTL)
$(1)/settings: FORCE | $(B)/.setup
	@mkdir -p $$(@D) && $(3) >$$@.$$$$$$$$ && $$(if_changed)
endef
threads_rules = $(call node_rules,$(B)/threads/$(threads_conf)-$(2),$(call dotted,$(1),1),echo '$(strip \
    $(threads_params))')

# threads_model_rules: N.F, name, files of the top. What both fabrics begin with must be the same
# where they are compared: 0. In the netlist of a node that may misbehave, some bits of its uplink
# are made of others, which no loop is.
threads_dir = $(B)/model/$(threads_conf)-$(2)/fabric_threads
threads_vflags = -O3 --x-assign fast --x-initial $(if $(filter beside,$(1)),0,unique) --noassert --output-split 15000 \
    -Wno-lint -Wno-style $(if $(filter beside,$(1)),-Wno-UNOPTFLAT)
define threads_model_rules
$(call flags_rule,$(threads_conf)-$(2),one node for all; $(call threads_vflags,$(2)) $(threads_params); -O1)
$(B)/model/$(threads_conf)-$(2)/fabric_threads/Vfabric_threads.mk: $(B)/threads/$(threads_conf)-$(2)/node_threads.v \
    $(3) $(B)/model/$(threads_conf)-$(2)/flags $(TOOLS)
	@mkdir -p $$(@D)
	$$(call say,VERILATE,$(2)$$(comma) N=$(call dotted,$(1),1)$$(comma) $(call dotted,$(1),2)-byte flits$$(comma) \
	    small memories)
	$$(Q)$(VERILATOR) --cc --prefix Vfabric_threads --top-module $(basename $(notdir $(firstword $(3)))) \
	    $(call cfg,$(threads_params)) $(call threads_vflags,$(2)) $(VLT) $(addprefix -y ,$(RTL_DIRS)) \
	    $(RTL_PKGS) $(3) $$< --Mdir $$(@D) >$$(@D)/verilate.log 2>&1 || { cat $$(@D)/verilate.log; exit 1; }
	$$(call verilator_deps,$$@)
	@touch $$@

$(B)/model/$(threads_conf)-$(2)/fabric_threads/Vfabric_threads__ALL.a: \
    $(B)/model/$(threads_conf)-$(2)/fabric_threads/Vfabric_threads.mk
	$$(call say,CXX,$(2)$$(comma) N=$(call dotted,$(1),1) F=$(call dotted,$(1),2) (half a minute or more))
	$$(Q)$$(MAKE) -s -C $$(@D) -f Vfabric_threads.mk Vfabric_threads__ALL.a VERILATOR_ROOT=$(VROOT) $$(VMAKE_PLAIN) \
	    OPT_FAST=-O1 OPT_SLOW=-O0 CXXFLAGS="-w -fPIC" >$$(@D)/make.log 2>&1 || { cat $$(@D)/make.log; exit 1; }
	@touch $$@

$(call note_rule,$(threads_conf)-$(2),fabric,plain,$(threads_dir)/Vfabric_threads__ALL.a,$(SHIM) \
    experiments/node_threads/fabric_threads.cpp sim/large.h)
$(call threads_so,$(1),$(2)): $(B)/model/$(threads_conf)-$(2)/fabric_threads/Vfabric_threads__ALL.a \
    $(B)/model/$(threads_conf)-$(2)/note.S $(SHIM) experiments/node_threads/fabric_threads.cpp $(GEN)/bundles.h \
    $(B)/verilated/plain.a
	$$(call say,LINK,$$@)
	$$(Q)$(PLAIN_CXX) $(CXXFLAGS) -fvisibility=hidden $(VINC) -DVM_TRACE=0 -DMW_SIM_N=$(call dotted,$(1),1) \
	    -DMW_SIM_F=$(call dotted,$(1),2) \
	    -I$(B)/model/$(threads_conf)-$(2)/fabric_threads -Isim -I$(GEN) -shared -Wl,--version-script=sim/exports.map \
	    -o $$@ sim/shim.cpp experiments/node_threads/fabric_threads.cpp $(B)/model/$(threads_conf)-$(2)/note.S \
	    $$(filter %.a,$$^) -lpthread
endef

# those of the tests, and the one that is asked for
THREADS_CONFS := $(sort 4.8 $(N).$(F) $(N).8)
$(foreach c,$(THREADS_CONFS),$(foreach k,threads beside,$(eval $(call threads_rules,$(c),$(k)))))
$(foreach c,$(THREADS_CONFS),$(eval \
    $(call threads_model_rules,$(c),threads,experiments/node_threads/fabric_threads.sv)))
$(foreach c,$(THREADS_CONFS),$(eval $(call threads_model_rules,$(c),beside,experiments/node_threads/tests/beside.sv \
    experiments/node_threads/fabric_threads.sv)))

.PHONY: threads-model
threads-model: $(call threads_so,$(N).$(F),threads)

test-all system-test_node_threads: $(foreach k,threads beside,$(call threads_so,4.8,$(k)))

# The node with threads in cells of the ECP5, mapped as `make pnr` maps a part, and what it may take;
# as many multipliers as the node has alone.
THREADS_COMB := 23500
THREADS_BRAM := 84
.PHONY: threads-area
threads-area: $(B)/threads/n4f8-small-threads/node_threads.il
	$(call say,SYNTH,node with 4 threads for ECP5 (some minutes))
	$(Q)$(REMEMBER) $@ $< $(wildcard flow/ecp5/*.py) -- $(PY) flow/ecp5/check.py --netlist $< --top node_threads \
	    --fast --out $(B)/threads/area \
	    --max-comb $(THREADS_COMB) --max-bram $(THREADS_BRAM) --dsp 34

# the assembly, around the netlist itself
.PHONY: lint-threads
lint-long: lint-threads
lint-threads: $(B)/threads/n4f8-small-threads/node_threads.v
	$(call say,LINT,rtl of fabric_threads N=4 F=8)
	$(Q)$(REMEMBER) $@ $(RTL) $(RTL_TYPES) $(VLT) \
	    $(wildcard experiments/node_threads/*.sv experiments/node_threads/*.vlt) $< -- env $(VERILATOR) \
	    --lint-only --quiet --top-module fabric_threads \
	    $(call cfg,$(call threads_params,4.8,threads)) $(VWARN) experiments/node_threads/node_threads.vlt $(RTL_PKGS) \
	    experiments/node_threads/fabric_threads.sv $<
