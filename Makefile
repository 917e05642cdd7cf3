# SPDX-License-Identifier: Apache-2.0
# Builds and tests moeswitch. Everything made is below build/.
#
#   make              what a user runs: the tool, the library, and the model of 8 GPUs with 16-byte flits
#   make run          the main job: one MoE layer under every system, checked bit for bit
#   make models-fast  models that lack what only some systems need, which run the others faster: N=8 F=16
#                     (docs/developer/simulation.md)
#   make test         every test and lint; T=word runs only those whose name holds it
#   make test-all     the same, 32 to 72 GPUs, the long proofs, the planted faults, and the figures on the real trace
#   make unit         the unit tests of the RTL; make unit-NAME [WAVES=1] one of them, with waveforms, make
#                     system-test_NAME and the like one program in C
#   make library      libmoeswitch.so, for programs of your own (README.md)
#   make model        one Verilated device: N=4 F=8 [TRACE=1 with FST waveforms] [SMALL=1 memories as synth-check has
#                     them] [FAR=1 links of up to 2 047 cycles] [BACKEND=plain|lanes] [PRIMITIVES=published|basic]
#                     [LIKE=ecpix5-85f sizes and primitives of that board]
#   make test-system  the tool in a virtual machine, with Linux's USB stack and the Verilated device
#   make bench-link   the speed of the way to a device beside that of a bare libusb program: REFERENCE=its folder
#   make racks        random layers on 40 and 72 GPUs with links of up to 2 047 cycles, their models included, half an
#                     hour: CASES=their number, MW_SEED=n repeats a run
#   make soak         a million frames against the usb transport, with every fault, half an hour
#   make fuzz         ten million executions of each libFuzzer target, or of FUZZ=name
#   make threads-model one Verilated fabric whose nodes are one: N=4 F=8 (docs/design/threads.md); make threads-area
#                     counts the cells of that node
#   make device-model the whole Verilated device, host link, firmware and USB core included: N=2 F=8 [SMALL=1]
#   make model-aarch64-check  a plain model for aarch64 in QEMU's user mode: bits, cycles and counters as here
#                     (docs/developer/simulation.md)
#   make lint         Verilator -Wall, clang-format, verible, cppcheck
#   make synth-check  the fabric through Yosys for ECP5, with its area; make synth-part TOP=row_sum
#                     SET='AdderBypass=1' one module
#   make formal       the short proofs of tests/formal, make formal-long the others
#   make link-ram     RAM of a port and a hub with links of up to 64 and of up to 2 047 cycles: N=8 F=16
#   make pnr          switch and node placed and routed for the ECP5 85F: area and clock, to docs/reference/fpga.md;
#                     P=node-4 one part, SET='AdderBypass=1' with other settings, not to the page
#   make bitstream    a board's bitstream: BOARD=ecpix5-85f [N=2] [UNTIL=netlist|packed ends there]; make load and make
#                     flash BOARD= take it to the board
#   make board-page   the page of a board: BOARD=; make board-area counts the cells of each of its primitives for it
#   make gate         a layer of every system on the netlist of the ECPIX-5, half an hour
#   make firmware     the firmware; make firmware-bitstream BOARD= puts it into a bitstream
#   make mutants      plants faults in the RTL; the tests must find each
#   make mutate       random mutations of every unit-tested module's netlist, and which of them its
#                     tests find: M=module of one
#   make man          manual pages and completion for bash, from the tables of options: build/man, build/completion
#   make install      tool, library, headers, models and the udev rule: PREFIX=/usr/local DESTDIR= [PACKAGE_MODELS='2.16
#                     8.16'] (docs/user/install.md)
#   make uninstall    takes it away again
#   make python-wheel the Python package, in build/python (bindings/python)
#   make deb          the packages moeswitch and libmoeswitch-dev, in build/deb
#   make format       clang-format on every C and C++ file, verible on the RTL
#   make docs         writes the generated pages of docs/reference anew
#   make validation   simulates the machines of bench/measured.json, and writes docs/validation.md; half an hour
#   make calibration  runs the layers of bench/calibrate, and writes the coefficients of moeswitch plan; an hour
#   V=1 shows the commands. Parallel as the machine has cores unless -j is given.

ifeq ($(filter -j%,$(MAKEFLAGS)),)
MAKEFLAGS += -j$(shell nproc)
endif
MAKEFLAGS += --no-builtin-rules
$(if $(shell printf %s '$(subst ','\'',$(CURDIR))' | tr -d 'A-Za-z0-9_./+,=@%:~-'),$(error $(CURDIR): make cannot \
    build in a folder whose path has a space or one of the shell's characters: rename or move it))
# TIMES=file: processor time of each command there, for tests/runner/times.py
TIMES ?=
ifeq ($(TIMES),)
SHELL := /bin/bash
else
export TIMES := $(abspath $(TIMES))
SHELL := $(CURDIR)/tests/runner/timed_shell
.SHELLFLAGS = $@ -c
endif
.DELETE_ON_ERROR:
.SUFFIXES:
.DEFAULT_GOAL := all

V ?= 0
Q := $(if $(filter 0,$(V)),@,)
comma := ,
say = @$(say_now)
say_now = printf '  %-10s %s\n' '$(1)' '$(2)'

B := build
GEN := $(B)/gen
# another build folder shares it
VENV := $(if $(wildcard build/.setup),build,$(B))/venv
PY := $(VENV)/bin/python3

# ---- set-up -----------------------------------------------------------------
# goals that need nothing of what tests, synthesis and boards do
BUILD_GOALS := all run gen help clean library model models-fast install uninstall deb packaged-models
# FuseSoC finds no cores of others below build/
$(B)/.setup: .ci/setup requirements-build.txt $(if $(filter-out $(BUILD_GOALS),$(MAKECMDGOALS)),$(B)/.setup-all)
	@mkdir -p $(B)
	@.ci/setup $(VENV) build
	@touch $@ $(B)/FUSESOC_IGNORE
$(B)/.setup-all: .ci/setup requirements-build.txt requirements.txt
	@mkdir -p $(B)
	@.ci/setup $(VENV) all
	@touch $@

# ---- generated sources ------------------------------------------------------
# What a package writes depends on its version, and so on the list that names it.
GEN_SV := $(addprefix $(GEN)/,error_pkg.sv packet_pkg.sv isa_pkg.sv)
GEN_H := $(addprefix $(GEN)/,errors.h packet.h isa.h)
GEN_MD := $(addprefix $(GEN)/,errors.md packets.md isa.md)

$(GEN_SV) $(GEN_H) $(GEN_MD) &: spec/gen.py $(addprefix spec/,errors.toml packet.toml isa.toml) | $(B)/.setup
	$(call say,GEN,$(GEN) from spec/*.toml)
	$(Q)$(PY) spec/gen.py $(GEN)

# apart from those, which the fabric is made of: a change here verilates no model anew
HOST_SV := $(GEN)/host_pkg.sv
HOST_H := $(GEN)/host.h
$(HOST_SV) $(HOST_H) $(GEN)/host-protocol.md &: spec/gen_host.py spec/host.toml | $(B)/.setup
	$(call say,GEN,host protocol from spec/host.toml)
	$(Q)$(PY) spec/gen_host.py $(GEN)

MAP_SV := $(GEN)/map_pkg.sv
MAP_H := $(GEN)/map.h
$(MAP_SV) $(MAP_H) $(GEN)/map.md &: spec/gen_map.py spec/map.toml | $(B)/.setup
	$(call say,GEN,address map from spec/map.toml)
	$(Q)$(PY) spec/gen_map.py $(GEN)

# the pages of `run --html` and `plan --html`, their styles and scripts in place of their names: as string
# literals, up to the JSON and after it
PAGE_DIRS := host-tools/report/html host-tools/plan/html
PAGE_H := $(GEN)/page_template.h $(GEN)/plan_template.h
page_path = $(firstword $(wildcard $(addsuffix /$(1),$(PAGE_DIRS))))
$(PAGE_H): $(GEN)/%_template.h: $(wildcard $(addsuffix /*,$(PAGE_DIRS)))
	$(Q)mkdir -p $(@D)
	$(Q)sed 's,^@\(.*\.\(css\|js\)\)@$$,cat $(addsuffix /\1,$(PAGE_DIRS)) 2>/dev/null || true,e' \
	    $(call page_path,$*.html) | sed 's/[\\"?]/\\&/g; s/.*/"&\\n"/; s/^"@data@\\n"$$/,/' >$@

# what FAR=1 sets (kind_far of sim/model.mk), for the tool: MaxLatency=2047 is MW_FAR_MAX_LATENCY; and answers
# that ports keep (KEPT_PARAMS): MergeKeep is MW_BUILT_MERGE_KEEP
c_names = printf '%s\n' $(2) | sed 's/\([a-z]\)\([A-Z]\)/\1_\2/g; s/=/ = /; s/.*/    $(1)_\U&,/'
FAR_H := $(GEN)/far_links.h
$(FAR_H): sim/model.mk
	$(Q)mkdir -p $(@D)
	$(Q){ echo '// Generated from kind_far and KEPT_PARAMS of sim/model.mk: change it there.'; \
	    echo '#ifndef MW_FAR_LINKS_H'; echo '#define MW_FAR_LINKS_H'; echo 'enum {'; \
	    $(call c_names,MW_FAR,$(kind_far)); $(call c_names,MW_BUILT,$(KEPT_PARAMS)); echo '};'; echo '#endif'; } \
	    >$@.$$$$ && $(if_changed)

# the USB device core, by LUNA; Amaranth's back end calls Yosys
# iSerialNumber's text, at most 31 characters; a device of its own has a build folder of its own
SERIAL ?= sim
USB_CORE := $(GEN)/usb_core.v
USB_PINS := $(GEN)/usb_core_pins.v
$(USB_CORE) $(USB_PINS): flow/usb_core/usb_core.py spec/host.toml flow/yosys/yosys.py requirements.txt | $(B)/.setup
	$(call say,GEN,$@ by flow/usb_core/usb_core.py)
	@mkdir -p $(@D)
	$(Q)printf '#!/bin/sh\nexec $(abspath $(PY)) $(abspath flow/yosys/yosys.py) "$$@"\n' >$@.yosys \
	    && chmod +x $@.yosys
	$(Q)YOSYS=$(abspath $@.yosys) $(PY) $< $@ $(if $(findstring pins,$@),--pins) --serial '$(SERIAL)'

RDL := spec/fabric.rdl spec/node.rdl
DEV_RDL := spec/soc.rdl
reg_sv = $(foreach r,$(notdir $(1:.rdl=)),$(GEN)/$(r)_regs_pkg.sv $(GEN)/$(r)_regs.sv)
REG_SV := $(call reg_sv,$(RDL))
DEV_REG_SV := $(call reg_sv,$(DEV_RDL))
REG_H := $(patsubst spec/%.rdl,$(GEN)/%_regs.h,$(RDL) $(DEV_RDL)) \
    $(patsubst spec/%.rdl,$(GEN)/mw_%_access.h,$(RDL) $(DEV_RDL))

# What a model and the library that opens it must have in common: SHA-256 of the definitions, of which texts say what
# a number means. The RTL is no part of it: the library runs any hardware of these definitions.
DEFINITIONS := $(addprefix spec/,errors.toml packet.toml isa.toml map.toml) $(RDL)
DEFINITIONS_H := $(GEN)/definitions.h
$(DEFINITIONS_H): $(DEFINITIONS)
	$(Q)mkdir -p $(@D)
	$(Q){ echo '// Generated from $(DEFINITIONS): change them there.'; echo '#ifndef MW_DEFINITIONS_H'; \
	    echo '#define MW_DEFINITIONS_H'; echo '#define MW_DEFINITIONS \'; \
	    cat $^ | sha256sum | sed 's/\([0-9a-f]*\).*/    "\1"/'; echo '#endif'; } >$@.$$$$ && $(if_changed)

# what the compilation of C waits for
C_NEEDS := $(GEN_H) $(REG_H) $(HOST_H) $(MAP_H) $(PAGE_H) $(FAR_H) $(DEFINITIONS_H)

$(GEN)/%_regs_pkg.sv $(GEN)/%_regs.sv $(GEN)/%_regs.h $(GEN)/%_regs.md &: spec/%.rdl spec/regs.py \
    requirements-build.txt | $(B)/.setup
	$(call say,GEN,$* registers from $<)
	$(Q)$(PY) spec/regs.py $< $(GEN)

$(GEN)/mw_%_access.h: spec/%.rdl spec/access.py requirements-build.txt | $(B)/.setup
	$(call say,GEN,accesses to $* registers from $<)
	@mkdir -p $(@D)
	$(Q)$(PY) spec/access.py $< $@

.PHONY: gen
gen: $(GEN_SV) $(GEN_H) $(GEN_MD) $(REG_SV) $(DEV_REG_SV) $(REG_H) $(HOST_SV) $(HOST_H) $(MAP_SV) $(MAP_H) \
    $(DEFINITIONS_H)

# ---- RTL --------------------------------------------------------------------
# packages first, in the order of use; a module is found by its file name
RTL_PKGS := $(GEN_SV) $(MAP_SV) rtl/common/numbers/fp_pkg.sv rtl/common/numbers/red_pkg.sv rtl/common/node_pkg.sv \
    rtl/common/bundle_pkg.sv rtl/common/cfg_pkg.sv rtl/common/ring_pkg.sv $(filter %_pkg.sv,$(REG_SV))
RTL_FILES := $(sort $(wildcard rtl/*/*.sv rtl/*/*/*.sv))
EXPERIMENTS := $(wildcard experiments/*/*.sv)
RTL_FABRIC := $(filter $(addprefix rtl/,common/% link/% switch/% hub/% gpu/% fabric/%),$(RTL_FILES))
RTL_DIRS := $(patsubst %/,%,$(sort $(dir $(RTL_FABRIC)))) $(GEN)
RTL_MODS := $(filter-out $(RTL_PKGS),$(RTL_FABRIC)) $(filter-out %_pkg.sv,$(REG_SV))
RTL := $(RTL_PKGS) $(RTL_MODS)
# types of ports and assertions, which RTL includes
RTL_TYPES := rtl/common/bundles.svh rtl/common/assert.svh
# what a device has around the fabric: control SoC and host link. The soft CPU is that of its package,
# copied to where every tool opens it.
IP := $(B)/ip
DEV_IP := $(IP)/picorv32.v
DEV_PKGS := $(HOST_SV) rtl/soc/soc_pkg.sv rtl/host/crc_pkg.sv $(filter %_pkg.sv,$(DEV_REG_SV))
DEV_DIRS := rtl/cdc rtl/soc rtl/host rtl/top $(IP)
DEV_MODS := $(filter-out $(DEV_PKGS),$(wildcard rtl/cdc/*.sv rtl/soc/*.sv rtl/host/*.sv rtl/top/*.sv)) \
    $(filter-out %_pkg.sv,$(DEV_REG_SV))
$(DEV_IP): requirements.txt | $(B)/.setup
	@mkdir -p $(@D)
	$(Q)sed '/^`timescale/d' $(VENV)/lib/python3*/site-packages/pythondata_cpu_picorv32/verilog/picorv32.v >$@
VLT := $(wildcard spec/*.vlt)
# Verilator's options for a top of its own: settings of cfg_pkg.sv, and parameters of the top, as N=4 FlitBytes=8
SETTINGS := $(shell sed \
    -n '/---- settings/,/---- what follows/s/^ *[a-z_:]*\( unsigned\)\? *\([A-Za-z0-9]*\);.*/\2=%/p' \
    rtl/common/cfg_pkg.sv)
cfg = $(if $(filter $(SETTINGS),$(1)),'-DMW_CFG=$(foreach s,$(filter $(SETTINGS),$(1)),c.$(s);)') \
    $(addprefix -G,$(filter-out $(SETTINGS),$(1)))

VROOT := $(abspath $(VENV))/verilator
VERILATOR_BIN ?= $(VROOT)/bin/verilator_bin
VERILATOR := VERILATOR_ROOT=$(VROOT) $(VERILATOR_BIN)
# what the package's own makefile leaves to its configuration
VMAKE_GCC = CXX=$(CXX) PYTHON3=python3 CFG_CXXFLAGS_PCH_I=-include CFG_GCH_IF_CLANG=
VMAKE_CLANG = CXX=$(MODEL_CXX) PYTHON3=python3 CFG_CXXFLAGS_PCH_I=-include-pch CFG_GCH_IF_CLANG=.gch
VINC := -isystem $(VROOT)/include -isystem $(VROOT)/include/vltstd
# an output that nobody needs is left open by its name; what no configuration reads is found by lint-unread
VWARN := -Wall -Wno-PINCONNECTEMPTY -Wno-UNUSEDSIGNAL $(VLT) $(addprefix -y ,$(RTL_DIRS) $(DEV_DIRS))

# Nothing orders structures. Their comparisons, tuples of hundreds of references, took compilers half of the time that
# they had for a model's headers.
no_order = for h in $(1:.mk=)*.h; do \
    [ ! -e $$h ] || sed -i '/^    bool operator<(const .*) const {$$/,/^    }$$/d' $$h; done
# What a Verilated model was made of, from Verilator's own list: a change of another module makes nothing anew.
# Behind that, no_order.
verilator_deps = $(Q)sed -n 's/^.* : //p' $(1:.mk=__ver.d) 2>/dev/null | tr ' ' '\n' \
    | grep '^[^/]\|^$(abspath $(GEN))/' | sort -u | sed 's,.*,$(1): &\n&:,' >$(@D)/deps.d; $(no_order)
-include $(wildcard $(B)/unit/*/deps.d $(B)/unit-waves/*/deps.d $(B)/model/*/*/deps.d)

# ---- C and C++ --------------------------------------------------------------
CC := gcc
CXX := g++
MODEL_CXX := clang++-19
FUZZ_CC := clang-19
CPPFLAGS := -I$(GEN) -Idriver/include -Idriver/src -iquote firmware/include -Isim -Ihost-tools -Itests -D_GNU_SOURCE
WARN := -Wall -Wextra -Wshadow
CFLAGS := -std=c17 -O2 -g -fPIC -ffp-contract=off $(WARN) -Wstrict-prototypes -Wmissing-prototypes
CXXFLAGS := -std=c++17 -O2 -g -fPIC -ffp-contract=off $(WARN)
LDLIBS := -lcjson -lminizip -lz -lusb-1.0 -lm -ldl -lpthread

DRIVER_SRC := $(wildcard driver/src/*/*.c)
# the device's end of the host protocol, for tests that connect to it by USB transfers
USBDEV_SRC := $(filter-out sim/usb/main.c,$(wildcard sim/usb/*.c))
HOST_SRC := $(filter-out host-tools/program/main.c,$(wildcard host-tools/*/*.c))
obj = $(patsubst %.c,$(B)/obj/%.o,$(1))

$(B)/obj/%.o: %.c | $(C_NEEDS)
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(CFLAGS) $(CPPFLAGS) -MMD -MP -c -o $@ $<

# the library shows only what its header declares
$(B)/obj/driver/src/%.o: CFLAGS += -fvisibility=hidden
-include $(shell find $(B)/obj -name '*.d' 2>/dev/null)

$(B)/libmoeswitch.a: $(call obj,$(DRIVER_SRC))
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $^

SONAME := libmoeswitch.so.0
VERSION := $(shell sed -n 's/^\#define MW_VERSION "\(.*\)"/\1/p' driver/include/moeswitch.h)
$(B)/libmoeswitch.so: $(call obj,$(DRIVER_SRC)) driver/libmoeswitch.map
	$(call say,LINK,$@)
	$(Q)$(CC) -shared -Wl,-soname,$(SONAME) -Wl,--version-script=driver/libmoeswitch.map -o $@ $(filter %.o,$^) -lusb-1.0 \
	    -ldl -lpthread

# by the name that a program which is linked with it looks for
$(B)/$(SONAME): $(B)/libmoeswitch.so
	$(Q)ln -sf $(<F) $@

.PHONY: library
library: $(B)/libmoeswitch.so $(B)/$(SONAME)

# the golden model, which the unit tests link too, is a library of its own, with the types of rows that it needs
GOLDEN_SRC := $(wildcard host-tools/golden/*.c) host-tools/trace/row_type.c
$(B)/libmwgolden.a: $(call obj,$(GOLDEN_SRC))
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $^

$(B)/libmwhost.a: $(call obj,$(filter-out $(GOLDEN_SRC),$(HOST_SRC)))
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $^

LIBS := $(if $(HOST_SRC),$(B)/libmwhost.a $(B)/libmwgolden.a) $(if $(DRIVER_SRC),$(B)/libmoeswitch.a)

include host-tools/program/pages/pages.mk

# a USB device for virtual machines: QEMU's usb-redir connects to it
USBDEV := $(B)/mw-usb-device
$(USBDEV): $(call obj,sim/usb/main.c $(USBDEV_SRC)) $(B)/libmoeswitch.a
	$(call say,LINK,$@)
	$(Q)$(CC) -o $@ $^ -lusbredirparser -ldl

$(B)/moeswitch: $(call obj,host-tools/program/main.c) $(LIBS)
	$(call say,LINK,$@)
	$(Q)$(CC) -o $@ $^ $(LDLIBS)

TOOL := $(if $(wildcard host-tools/systems/*.c),$(B)/moeswitch)

# ---- Verilated run time, compiled once for all models -----------------------
$(B)/verilated/%.a: | $(B)/.setup
	@mkdir -p $(@D)/$*
	$(call say,CXX,Verilator run time ($*))
	$(Q)set -e; cd $(@D)/$*; fst=$(if $(filter fst,$*),1,0); \
	for f in verilated verilated_threads $(if $(filter fst,$*),verilated_fst_c); do \
	    $(CXX) -std=c++17 -O2 -fPIC -w -DVM_TRACE=$$fst -DVM_TRACE_FST=$$fst -DVM_TRACE_VCD=0 -DVM_COVERAGE=0 -DVM_SC=0 \
	    -fmacro-prefix-map=$(VROOT)/= $(VINC) \
	        -c -o $$f.o $(VROOT)/include/$$f.cpp; done; \
	rm -f ../$*.a; ar rcs ../$*.a *.o

# ---- firmware of the soft CPU -----------------------------------------------
include firmware/firmware.mk

# ---- models of the whole device ---------------------------------------------
include sim/model.mk

# ---- make install, make deb ------------------------------------------------
include packaging/install.mk packaging/deb.mk

include experiments/node_threads/threads.mk

include sim/aarch64.mk

# ---- unit tests of the RTL --------------------------------------------------
include tests/unit/unit.mk
include tests/mutate/mutate.mk

# ---- boards -----------------------------------------------------------------
include boards/board.mk

# ---- tests in C -------------------------------------------------------------
C_TESTS :=
# sources that the tests of a folder share
shared_of = $(filter-out $(wildcard tests/$(1)/test_*.c) tests/usb/soak_main.c,$(wildcard tests/$(1)/*.c))
# c_test_rule: folder of tests/, source of a test, what it is linked with besides
define c_test_rule
C_TESTS += $(B)/tests/$(1)/$(basename $(notdir $(2)))
$(B)/tests/$(1)/$(basename $(notdir $(2))): $(call obj,$(2) $(call shared_of,$(1))) $(3) $(LIBS)
	@mkdir -p $$(@D)
	$$(call say,LINK,$$@)
	$$(Q)$(CC) -o $$@ $$^ -lcmocka $$(TEST_LIBS) $(LDLIBS)
endef
# c_test_rules: folder of tests/, what its tests are linked with besides
c_test_rules = $(foreach f,$(wildcard tests/$(1)/test_*.c tests/$(1)/*/test_*.c),$(eval \
    $(call c_test_rule,$(1),$(f),$(2))))
$(foreach d,host system,$(call c_test_rules,$(d)))
$(foreach d,driver firmware,$(call c_test_rules,$(d),$(call obj,sim/usb/registers.c)))
$(call c_test_rules,device,$(call obj,tests/system/layers.c tests/system/workloads.c tests/host/support.c))
$(call c_test_rules,usb,$(call obj,$(USBDEV_SRC) tests/system/workloads.c tests/host/support.c))

EXAMPLES := $(patsubst driver/examples/%.c,$(B)/examples/%,$(wildcard driver/examples/*.c))
$(EXAMPLES): $(B)/examples/%: $(B)/obj/driver/examples/%.o $(B)/libmoeswitch.a
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) -o $@ $^ -lusb-1.0 -lm -ldl -lpthread

# folders may add commands that are tests too: TEST_CMDS += --command 'name: command', and to
# LONG_CMDS what only `make test-all` runs
TEST_CMDS :=
LONG_CMDS :=
TEST_CMDS += $(UNIT_CMDS) --command 'man: make man-check'
-include $(patsubst %,tests/%/tests.mk,system synth gate driver firmware usb sim fuzz outputs packaging) \
    experiments/node_threads/tests/tests.mk bindings/python/python.mk

TEST_NEEDS = $(TEST_SYSTEM_NEEDS) $(MAN_PAGES) $(B)/libmoeswitch.so $(PYTHON_WHEEL) $(LANES_TESTS) $(FUZZERS) \
    $(UNIT_BINS) $(filter-out $(LONG_C_TESTS),$(C_TESTS)) $(EXAMPLES) $(TOOL) $(B)/legalize models

# One program of a folder by itself, as system-test_layers. What it opens when it runs:
# all models, if nothing is said here.
NEEDS_system-test_layers := $(call model_so,4.8.0.0)
NEEDS_system-test_phases := $(call model_so,4.8.0.0)
NEEDS_system-test_tp := $(foreach m,2.8.0.0 2.8.published.0 3.16.0.0 4.8.0.0 8.16.0.0,$(call model_so,$(m))) $(TOOL)
NEEDS_system-test_tp_long := $(foreach m,2.8.0.0 3.16.0.0 4.8.0.0 8.16.0.0 16.16.0.0 32.16.0.0,$(call model_so,$(m)))
NEEDS_system-test_reds := $(call model_so,3.16.0.0)
NEEDS_system-test_machine := $(call model_so,2.8.0.0)
NEEDS_system-test_barriers := $(call model_so,4.8.0.0)
NEEDS_system-test_placement := $(foreach m,2.8.0.0 3.16.0.0 4.8.0.0 8.16.0.0,$(call model_so,$(m)))
NEEDS_system-test_rogue := $(foreach m,2.8.0.0 3.16.0.0 4.8.0.0 8.16.0.0,$(call model_so,$(m)))
NEEDS_system-test_balance := $(call model_so,8.16.0.0)
NEEDS_system-test_row_sparse := $(call model_so,4.8.0.0) $(TOOL)
NEEDS_system-test_backends_long := $(foreach m,2.8.0.0 4.8.0.0 8.16.0.0 9.8.1.0,$(call model_so,$(m)) \
    $(call model_so,$(m).plain))
NEEDS_system-test_backends := $(foreach m,2.8.0.0,$(call model_so,$(m)) $(call model_so,$(m).plain))
NEEDS_system-test_models := $(foreach m,2.8.0.0 $(KINDS:%=2.8.%.0) 2.8.0.0.plain,$(call model_so,$(m))) \
    $(call device_so,2.8.0.0.device) $(TOOL) $(USBDEV)
NEEDS_system-test_find_model := $(foreach m,2.8.0.0 2.8.0.0.plain,$(call model_so,$(m))) $(TOOL)
NEEDS_usb-test_redir := $(USBDEV)
NEEDS_usb-test_workloads := $(call model_so,2.8.0.0) $(call device_so,2.8.0.0.device)
NEEDS_device-test_device := $(call model_so,2.8.0.0) $(call device_so,2.8.0.0.device) \
    $(call device_so,2.8.0.0.device_usb)
NEEDS_device-test_tp := $(NEEDS_device-test_device)
NEEDS_host-test_tp := $(TOOL)
NEEDS_device-test_small := $(call model_so,4.8.1.0) $(call device_so,4.8.1.0.device)
# c_test_alone: program
define c_test_alone
.PHONY: $(subst /,-,$(1:$(B)/tests/%=%))
$(subst /,-,$(1:$(B)/tests/%=%)): $(1) $$(or $$(NEEDS_$(subst /,-,$(1:$(B)/tests/%=%))),models $$(TOOL))
	@$$(PY) tests/runner/run.py $$<
endef
$(foreach t,$(C_TESTS),$(eval $(call c_test_alone,$(t))))

# tests run with seed 1; in test-all random ones once more with a fresh one, which is printed;
# MW_SEED=n make test-all repeats that
TESTS_AGAIN := $(UNIT_BINS) $(filter-out %/test_switch_rate_16,$(LONG_UNIT_BINS)) \
    $(addprefix $(B)/tests/system/,test_random) $(NODE_TESTS)
AGAIN = $(addprefix --again ,$(TESTS_AGAIN))

# one layer under every system, as a user would call it: right bits, and every flit counter as docs/design/systems.md
# lists it; the last one on the exact configuration of synth-check
SYSTEM_RUNS := --gpus 4 --flit-bytes 8 --hidden 64 --experts 8 --k 2 --tokens-per-gpu 8 --tile 1
SYSTEM_RUNS2 := --gpus 4 --flit-bytes 8 --hidden 128 --experts 16 --k 4 --tokens-per-gpu 16 --tile 4 --partial-tiles
SYSTEM_RUNS3 := --set small=1 --gpus 4 --flit-bytes 8 --hidden 32 --experts 16 --k 3 --tokens-per-gpu 7 --tile 2 \
    --partial-tiles --link-latency 8
TEST_CMDS += --command 'make-refuses: $(PY) tests/checks/make_refuses.py' \
    --command 'make-anew: $(PY) tests/checks/make_anew.py $(B)/tests/anew' \
    --command 'columns: $(PY) tests/checks/columns.py --self-test' \
    --command 'unread: $(PY) tests/checks/unread.py --self-test' --command 'watch: $(PY) tests/runner/test_watch.py' \
    --command 'mutate-sample: $(PY) tests/mutate/run.py --self-test' \
    --command 'mutants-texts: $(PY) tests/mutants/run.py --texts'
TEST_CMDS += --command 'run tile 1: $(B)/moeswitch run $(SYSTEM_RUNS)' \
    --command 'run tile 4: $(B)/moeswitch run $(SYSTEM_RUNS2)' \
    --command 'run small: $(B)/moeswitch run $(SYSTEM_RUNS3)' \
    --command 'lint: make lint' --command 'formal: make formal' --command 'synth-check: make synth-check' \
    --command 'docs: make docs-check' --command 'core: make core-check' --command 'exports: make exports-check'

# What `make test` leaves to `make test-all`: the model of 32 GPUs takes minutes to build and to run, the figures need
# the real trace; tests of the library and the host tools run with sanitizers there (tests/driver/sanitized.mk), and
# without them here. The fabric with one node for all runs in one model with the other one.
LONG_C_TESTS := $(addprefix $(B)/tests/system/,test_large test_figures test_backends_long test_node_threads \
    test_node_outputs test_long_links test_racks test_tp_long) \
    $(filter $(B)/tests/host/% $(B)/tests/driver/%,$(C_TESTS))
LONG_CMDS += --command 'lanes-fallback-whole: $(PY) tests/sim/fallback.py . $(B)/tests/sim/fallback-whole --whole' \
    --command 'lint-long: make lint-long' \
    --command 'reduce_lane-long: MW_PAIRS=10000000 $(B)/unit/reduce_lane/test_reduce_lane' \
    --command 'formal-long: make formal-long' --command 'mutants: make mutants'

T ?=
# Programs that run long go first, so that the end is not one of them alone.
FIRST := $(addprefix $(B)/tests/device/,test_device test_bus test_interrupted test_small test_feed) \
    $(addprefix $(B)/tests/system/,test_bench test_systems test_random test_wiring test_command test_stuck) \
    $(foreach u,soc switch_loads_5_16 usb_core,$(call unit_bin,$(u)))
TESTS := $(FIRST) $(filter-out $(FIRST) $(LONG_C_TESTS),$(C_TESTS)) $(filter-out $(FIRST),$(UNIT_BINS))
# before hours of building; what only a command of a test holds passes here
$(if $(and $(T),$(filter test test-all,$(MAKECMDGOALS))),$(if $(findstring $(T),$(TEST_CMDS) $(LONG_CMDS) $(TESTS) \
    $(LONG_C_TESTS) $(LONG_UNIT_BINS)),,$(error T=$(T): no test has that in its name)))

# Minutes of checks that need nothing of what is built: they run beside the build, one process each, so that
# neither waits for one core of the other. What passes is remembered. What fails ends nothing here: it runs
# again among the tests, which show it.
EARLY := $(if $(T),,$(addprefix early-,synth-check formal lint))
.PHONY: early-synth-check early-formal early-lint
early-synth-check early-formal early-lint: early-%: | gen $(DEV_REG_SV) $(DEV_IP) $(USB_CORE) $(USB_PINS) \
    $(FW)/firmware.hex
	$(call say,EARLY,$*)
	@mkdir -p $(B)/test-logs
	@$(MAKE) -s $* FORMAL='--jobs 1' >$(B)/test-logs/early-$*.log 2>&1 \
	    || echo "  $* fails: it runs again among the tests"

.PHONY: all test test-all run lint format formal formal-long synth-check synth-part link-ram pnr mutants docs \
    docs-check core-check exports-check clean help
# the model that runs every system; others are built when a command first needs them
MAIN_MODEL := $(call model_so,8.16.0.0)
all: $(TOOL) $(if $(DRIVER_SRC),library) $(MAIN_MODEL)

test: $(EARLY) $(TEST_NEEDS)
	@$(PY) tests/runner/run.py --filter '$(T)' $(TEST_CMDS) $(TESTS)

test-all: $(EARLY) $(TEST_NEEDS) $(LONG_C_TESTS) $(LONG_UNIT_BINS) $(foreach m,$(LONG_MODELS),$(call model_so,$(m)))
	@MW_LONG=1 $(PY) tests/runner/run.py --filter '$(T)' $(TEST_CMDS) $(LONG_CMDS) $(AGAIN) $(LONG_C_TESTS) \
	    $(LONG_UNIT_BINS) $(TESTS)

CASES ?= 24
RACKS := $(B)/tests/system/test_racks
.PHONY: racks
racks: $(RACKS) $(foreach m,40.8.far.0 72.16.far.0,$(call model_so,$(m)))
	MW_CASES=$(CASES) MW_SEED=$${MW_SEED:-$$(date +%s)} $(RACKS)

run: $(TOOL) $(MAIN_MODEL)
	@if [ -d ../shared/traces/deepseek-v2-lite-intent ]; then trace="--trace ../shared/traces/deepseek-v2-lite-intent"; \
	    else trace=; fi; \
	set -x; $(B)/moeswitch run $$trace --layer 7 --gpus 8 --tokens-per-gpu 64 --hidden 512 --tile 16 \
	    --system all && \
	$(B)/moeswitch run --tile 1 --plot $(B)/run.svg >/dev/null

# ---- lint, synthesis, mutants, docs -----------------------------------------
# what has passed is not run again until something that it reads changes (FORGET=1: it is)
REMEMBER := $(PY) tests/runner/remember.py
C_ALL := $(wildcard experiments/*/*.cpp flow/*/*/*.[ch] firmware/*.[ch] firmware/include/*.h sim/*.[ch] sim/*/*.[ch] \
    sim/*.cpp sim/*/*.cpp driver/*/*.[ch] driver/src/*/*.[ch] host-tools/*/*.[ch] host-tools/*/*/*.[ch] tests/*.[ch] \
    tests/*/*.[ch] tests/*/*.cpp tests/*/*/*.[ch] tests/*/*/*/*.[ch] tests/unit/*/*.cpp tests/unit/*/*/*.cpp)
# The hand-written sources that a parser without a preprocessor reads: not generated ones (build/gen), nor what
# tests add, whose ports have macros as types. Its author aligns what reads as a table: the ports of a group, the
# items of a case. So does the author of a statement of several lines: verible breaks no line that fits.
SV_FORMATTED := $(RTL_FILES) $(RTL_TYPES) $(EXPERIMENTS)
sv_indented = $(foreach k,port_declarations formal_parameters named_port named_parameter,--$(k)_indentation=indent)
sv_aligned = $(foreach k,$(2),--$(k)_alignment=$(1))
SV_FORMAT := $(VENV)/bin/verible-verilog-format --column_limit=100 --indentation_spaces=4 --wrap_spaces=4 \
    $(sv_indented) $(call sv_aligned,preserve,port_declarations case_items) \
    $(call sv_aligned,align,struct_union_members enum_assignment_statement) \
    $(call sv_aligned,flush-left,assignment_statement module_net_variable formal_parameters named_parameter named_port)
LINT_CONFS := 4.8.1 2.16.0  # N, F, small: beside those of the devices below, which hold the fabric too
LINT_LONG_CONFS := 2.8.0 32.16.0
# top, N, F, small and without multicast
LINT_DEVICES := device_usb.2.8 device_pins.4.8.1
LINT_LONG_DEVICES := device_usb.4.8 device_usb.8.16 device_pins.4.8
.PHONY: lint-rtl lint-far lint-device lint-unread lint-slang lint-format lint-c \
    $(addprefix lint-rtl-,$(LINT_CONFS) $(LINT_LONG_CONFS))
# sizes and tops that differ from others of `lint` in nothing but a size, or need a netlist first
.PHONY: lint-long
lint-long: $(addprefix lint-rtl-,$(LINT_LONG_CONFS)) $(addprefix lint-device-,$(LINT_LONG_DEVICES))
lint: lint-rtl lint-far lint-device lint-unread lint-slang lint-verible lint-lanes lint-plumbing lint-contracts \
    lint-layers lint-columns lint-english lint-format lint-c

# messages of Verilator, and the list of files that it read, for unread.py
LINT_DIR = $(B)/lint/$@
LINT_VFLAGS := -Wwarn-UNUSEDSIGNAL -Wno-fatal --MMD --Mdir
lint_log = >$(LINT_DIR)/log 2>&1 || { cat $(LINT_DIR)/log; exit 1; }
LINT_UNREAD := $(addprefix lint-rtl-,$(LINT_CONFS)) $(addprefix lint-device-,$(LINT_DEVICES))
lint-unread: $(LINT_UNREAD)
	$(Q)$(PY) tests/checks/unread.py $(addprefix $(B)/lint/,$(LINT_UNREAD))

lint-rtl: $(addprefix lint-rtl-,$(LINT_CONFS))
$(addprefix lint-rtl-,$(LINT_CONFS) $(LINT_LONG_CONFS)): lint-rtl-%: $(RTL_PKGS) $(REG_SV)
	$(call say,LINT,rtl N=$(call dotted,$*,1) F=$(call dotted,$*,2)$(if $(filter 1,$(call dotted,$*,3)), small))
	$(Q)mkdir -p $(LINT_DIR)
	$(Q)$(REMEMBER) $@ $(RTL) $(RTL_TYPES) $(VLT) -- env $(VERILATOR) --lint-only --quiet --top-module fabric \
	    $(call cfg,N=$(call dotted,$*,1) FlitBytes=$(call dotted,$*,2) \
	    $(if $(filter 1,$(call dotted,$*,3)),$(SMALL_PARAMS), \
	    TileReductions=1 MergeLoads=1 SumEntries=16 $(if $(filter 16,$(call dotted,$*,2)),MergeKeep=16384) RowTypes=1 \
	    CachedHandle=1 BalanceRows=1 GateGradients=1 RedTypes=1023)) --assert \
	    -DMW_CONTRACTS $(VWARN) $(LINT_VFLAGS) $(LINT_DIR) $(RTL_PKGS) rtl/fabric/fabric.sv $(lint_log)

# The most ports, each part by itself: the whole of them takes an hour.
lint-far: $(addprefix lint-far-,$(ONE_PARTS) $(LANES_PARTS))
$(addprefix lint-far-,$(ONE_PARTS) $(LANES_PARTS)): lint-far-%: $(RTL_PKGS) $(REG_SV)
	$(call say,LINT,rtl of $* with 72 ports)
	$(Q)mkdir -p $(LINT_DIR)
	$(Q)$(REMEMBER) $@ $(RTL) $(RTL_TYPES) $(VLT) -- env $(VERILATOR) --lint-only --quiet --top-module $* \
	    $(call cfg,$(call settings_of,72,16,0)) --assert -DMW_CONTRACTS $(VWARN) --Mdir $(LINT_DIR) $(RTL_PKGS) \
	    $(call part_file,$*) $(lint_log)

# Verilator ends where a parameter that is set is not there; the front end of synthesis says nothing
lint-device: $(addprefix lint-device-,$(LINT_DEVICES))
$(addprefix lint-device-,$(LINT_DEVICES) $(LINT_LONG_DEVICES)): lint-device-%: $(RTL_PKGS) $(REG_SV) \
    $(DEV_PKGS) $(DEV_MODS) $(DEV_IP) $(USB_CORE) $(USB_PINS)
	$(call say,LINT,rtl of $(call dotted,$*,1) N=$(call dotted,$*,2) \
	    F=$(call dotted,$*,3)$(if $(call dotted,$*,4), small))
	$(Q)mkdir -p $(LINT_DIR)
	$(Q)$(REMEMBER) $@ $(RTL) $(RTL_TYPES) $(DEV_PKGS) $(DEV_MODS) $(DEV_IP) $(USB_CORE) $(USB_PINS) $(VLT) -- env \
	    $(VERILATOR) --lint-only --quiet --top-module $(call dotted,$*,1) \
	    $(call cfg,N=$(call dotted,$*,2) FlitBytes=$(call dotted,$*,3) \
	    $(if $(call dotted,$*,4),$(SMALL_PARAMS) PartSharedRam=1 Multicast=0)) $(VWARN) $(RTL_PKGS) \
	    $(LINT_VFLAGS) $(LINT_DIR) $(DEV_PKGS) $(DEV_IP) rtl/top/$(call dotted,$*,1).sv $(lint_log)

# the front end that synthesis uses is stricter in places: on the sizes of boards without primitives, and
# with all of them
LINT_PRIMITIVES := AdderBypass=1 TargetListCache=1 TokenOrder=1 SwitchReductions=1 TileReductions=1 MergeLoads=1 \
    LinkRate=1 Events=32 Delay=1 RowRanges=1 Gathered=1 RowSparse=1 SourceLists=1 RpmEntries=8 CacheLimit=1 \
    RowTypes=1 CachedHandle=1 BalanceRows=1 GateGradients=1 RowsLog2=7
.PHONY: lint-slang-boards lint-slang-primitives
lint-slang: lint-slang-boards lint-slang-primitives
lint-slang-primitives: LINT_SETTINGS := $(LINT_PRIMITIVES)
lint-slang-boards lint-slang-primitives: lint-slang-%: $(RTL) $(DEV_PKGS) $(DEV_IP) $(DEV_MODS) $(FW)/firmware.hex
	$(call say,LINT,rtl with the front end of synthesis ($*))
	$(Q)mkdir -p $(B)/synth/lint-$*
	$(Q)$(REMEMBER) "$@ $(SMALL_PARAMS) $(LINT_SETTINGS)" $^ $(RTL_TYPES) -- $(PY) flow/yosys/yosys.py \
	    -q -l $(B)/synth/lint-$*/lint.log \
	    -p "read_slang --threads 1 --keep-hierarchy $$($(PY) flow/ecp5/settings.py $(B)/synth/lint-$* N=4 FlitBytes=8 \
	    $(SMALL_PARAMS) $(LINT_SETTINGS)) --top device $(RTL) $(DEV_PKGS) $(DEV_IP) \
	    $(filter-out %/device_usb.sv %/device_pins.sv,$(DEV_MODS))" >/dev/null 2>&1 || \
	    { grep -a 'ERROR\|error:' $(B)/synth/lint-$*/lint.log; exit 1; }

# a parser that knows no macros, as editors and formatters have it: no type of a port is one
.PHONY: lint-verible
lint-verible: | $(B)/.setup
	$(call say,LINT,rtl with verible)
	$(Q)$(REMEMBER) $@ $(SV_FORMATTED) -- $(VENV)/bin/verible-verilog-syntax $(SV_FORMATTED)

# what models in lanes take of SystemVerilog (docs/developer/simulation.md)
.PHONY: lint-lanes $(addprefix lint-lanes-,$(ONE_PARTS) $(LANES_PARTS))
lint-lanes: $(addprefix lint-lanes-,$(ONE_PARTS) $(LANES_PARTS))
$(addprefix lint-lanes-,$(ONE_PARTS) $(LANES_PARTS)): lint-lanes-%: $(RTL_PKGS) $(REG_SV)
	$(call say,LINT,$* for lanes)
	@mkdir -p $(B)/lint/$*
	$(Q)$(REMEMBER) $@ $(RTL) $(RTL_TYPES) $(VLT) $(sort $(LANES_PY) $(SCHEDULE_PY)) -- bash \
	    -ec "$(call verilate_part,4,8,0,$*) --decorations node --Mdir $(B)/lint/$* >$(B)/lint/$*.log 2>&1 \
	    || { cat $(B)/lint/$*.log; exit 1; }; $(call translate_part,$*,$(B)/lint/$*)"

# ... of the part whose wires have a bit for each other port: a part select of 71 bits is none of 31
lint-lanes: lint-lanes-far
.PHONY: lint-lanes-far
lint-lanes-far: $(RTL_PKGS) $(REG_SV)
	$(call say,LINT,switch_port for lanes with 72 ports)
	@mkdir -p $(B)/lint/far
	$(Q)$(REMEMBER) $@ $(RTL) $(RTL_TYPES) $(VLT) $(LANES_PY) -- bash \
	    -ec "$(call verilate_part,72,16,far,switch_port) --decorations node --Mdir $(B)/lint/far >$(B)/lint/far.log 2>&1 \
	    || { cat $(B)/lint/far.log; exit 1; }; $(call translate_part,switch_port,$(B)/lint/far)"

# how much of the RTL only passes things on
.PHONY: lint-plumbing
lint-plumbing: | $(B)/.setup
	$(Q)$(PY) tests/checks/plumbing.py

# which folder of C sources may use which
.PHONY: lint-layers
lint-layers: | $(B)/.setup
	$(Q)$(PY) tests/checks/layers.py
	$(Q)$(PY) tests/checks/rtl_layers.py

# how many assertions its modules have
.PHONY: lint-contracts
lint-contracts: | $(B)/.setup
	$(Q)$(PY) tests/checks/contracts.py

# how long lines are
.PHONY: lint-columns
lint-columns: | $(B)/.setup
	$(Q)$(PY) tests/checks/columns.py

# words per sentence of pages and comments
.PHONY: lint-english
lint-english: | $(B)/.setup
	$(Q)$(PY) tests/checks/english.py

.PHONY: lint-format-c lint-format-sv
lint-format: lint-format-c lint-format-sv
lint-format-c: | $(B)/.setup
	$(call say,LINT,clang-format)
	$(Q)$(REMEMBER) $@ .clang-format $(C_ALL) -- clang-format --dry-run -Werror $(C_ALL)

# the program writes to standard output what it would change, unless it may change it
lint-format-sv: | $(B)/.setup
	$(call say,LINT,verible-verilog-format)
	$(Q)$(REMEMBER) $@ $(SV_FORMATTED) -- $(SV_FORMAT) --verify --inplace $(SV_FORMATTED) 2>&1

format: | $(B)/.setup
	clang-format -i $(C_ALL)
	$(SV_FORMAT) --inplace $(SV_FORMATTED)

# gcc's and cppcheck's, a file at a time: what one reads is it and the headers
LINT_C := $(DRIVER_SRC) $(HOST_SRC) $(wildcard sim/usb/*.c sim/ulpi/*.c sim/pins/*.c host-tools/program/main.c \
    host-tools/program/pages/*.c driver/examples/*.c firmware/*.c flow/*/*/*.c tests/*/*.c \
    tests/*/*/*.c)
LINT_H := $(filter %.h,$(C_ALL)) $(wildcard driver/include/*.h)
.PHONY: lint-c-gcc lint-c-cppcheck
lint-c: lint-c-gcc lint-c-cppcheck
lint-c-gcc: $(C_NEEDS)
	$(call say,LINT,gcc -Werror)
	$(Q)$(REMEMBER) $@ $(LINT_C) $(LINT_H) $^ -- bash \
	    -ec 'for f in "$$@"; do $(CC) $(CFLAGS) $(CPPFLAGS) -Ifirmware $(UMOCKDEV) -Werror -fsyntax-only $$f; done' \
	    gcc $(LINT_C)

# a test that stands in for the library is not called by the program of another test, which passes it NULL
lint-c-cppcheck: $(C_NEEDS)
	$(call say,LINT,cppcheck)
	$(Q)$(REMEMBER) $@ $(filter %.c,$(C_ALL)) $(LINT_H) $^ -- cppcheck --quiet --std=c11 \
	    --enable=warning,performance,portability --inline-suppr --error-exitcode=1 \
	    --suppress=missingIncludeSystem '--suppress=ctunullpointer:tests/*' -Ifirmware -I$(GEN) -Idriver/include \
	    -Idriver/src -Isim -Ihost-tools $(filter %.c,$(C_ALL))

# What is reached, so that nothing grows unseen; asked are 45 000 and 110 (docs/design/area.md).
SYNTH_COMB := 68000
SYNTH_BRAM := 108
# LEVELS=9: every module on its own line, which costs what flattening saves: the limits do not hold then
LEVELS ?= 2
# the part that --top names, as small as boards have it
SYNTH_SMALL = $(PY) flow/ecp5/check.py --param N=4 --param FlitBytes=8 $(addprefix --param ,$(SMALL_PARAMS))
synth-check: $(RTL)
	$(call say,SYNTH,fabric with N=4 and 8-byte flits for ECP5 (some minutes))
	$(Q)$(REMEMBER) $@ $(RTL) $(RTL_TYPES) $(wildcard flow/ecp5/*.py) -- $(SYNTH_SMALL) --top fabric --out $(B)/synth \
	    --levels $(LEVELS) \
	    $(if $(filter 2,$(LEVELS)),--max-comb $(SYNTH_COMB) --max-bram $(SYNTH_BRAM)) $(RTL)

# One module of the same configuration, with its parts on a line each: TOP=row_sum [SET='AdderBypass=1
# ...', settings of cfg_pkg.sv]
synth-part: $(RTL)
	$(if $(TOP),,$(error synth-part: which module? TOP=row_sum, for example))
	$(Q)$(SYNTH_SMALL) $(addprefix --param ,$(SET)) --top $(TOP) --out $(B)/synth-part --levels 2 $(RTL)

# KiB of a port and of a hub, with links of up to 64 cycles and of up to 2 047 (docs/design/area.md)
link-ram: $(RTL)
	$(Q)for top in switch_port hub; do $(PY) flow/ecp5/link_ram.py --out $(B)/link-ram --top $$top \
	    $(addprefix --param ,$(call settings_of,$(N),$(F),0)) $(addprefix --other ,$(kind_far)) $(RTL) || exit; done

# proofs, each with a fault that it must find; FORMAL='--only NAME' runs one
FORMAL ?=
formal formal-long: $(GEN_SV) | $(B)/.setup
	$(Q)$(PY) tests/formal/run.py $(if $(filter %-long,$@),--long) $(FORMAL)

# 16 KB per GPU here too; see flow/ecp5/pnr.py for the parts. P=name: only that part, and no page. ROUTE=0:
# the page of what was routed before
P ?=
PNR_PARTS = $(shell sed -n '/^PARTS = {/,/^}/s/^ *"\([^"]*\)":.*/\1/p' flow/ecp5/pnr.py)
$(if $(filter pnr,$(MAKECMDGOALS)),$(if $(P),$(if $(filter $(PNR_PARTS),$(P)),,$(error P=$(P): the parts are \
    $(PNR_PARTS)))))
ROUTE ?= 1
pnr: $(RTL)
	$(call say,PNR,parts of the fabric on the ECP5 85F (an hour))
	$(Q)$(PY) flow/ecp5/pnr.py --out $(B)/pnr$(if $(SET),-set) $(if $(P),--only $(P)) \
	    $(if $(P)$(SET),,--doc docs/reference/fpga.md) $(if $(filter 0,$(ROUTE)),--no-route) \
	    $(addprefix --param ,$(SMALL_PARAMS) $(SET)) $(RTL)

mutants: $(TEST_NEEDS)
	@$(PY) tests/mutants/run.py

DOC_PAGES := packets isa errors host-protocol registers verification
$(GEN)/registers.md: $(GEN)/map.md $(patsubst spec/%.rdl,$(GEN)/%_regs.md,$(RDL) $(DEV_RDL))
	$(Q)(printf '# Registers\n\nGenerated from `spec/*.rdl`. One 32-bit bus, byte addresses.\n\n'; cat $^) >$@

$(GEN)/verification.md: tests/formal/table.py tests/formal/run.py tests/formal/proofs.toml docs/developer/testing.md \
    docs/design/architecture.md $(RTL_MODS)
	$(Q)$(PY) $< >$@

# moeswitch.core, the file list for others' flows, against this one
core-check: $(RTL) $(DEV_PKGS) $(DEV_IP) $(USB_CORE) $(USB_PINS) $(DEV_MODS)
	$(call say,CHECK,moeswitch.core)
	$(Q)VERILATOR_ROOT=$(VROOT) $(PY) tests/checks/core.py $(VROOT)/bin/verilator_bin $(VENV)/bin/fusesoc $(RTL) \
	    -- $(DEV_PKGS) $(DEV_IP) $(USB_CORE) $(USB_PINS) $(DEV_MODS)

# several models side by side in one program must not see each other's symbols
exports-check: models
	$(Q)for f in $(foreach m,$(MODELS),$(call model_so,$(m))); do nm -D --defined-only $$f | awk '{print $$3}' \
	    | cmp -s - <(echo mw_sim_get_ops) || \
	    { echo "$$f: exports more than mw_sim_get_ops" >&2; exit 1; }; done
	$(Q)for f in $(foreach m,$(DEVICES),$(call device_so,$(m))); do nm -D --defined-only $$f | awk '{print $$3}' \
	    | cmp -s - <(echo mw_device_get_ops) || \
	    { echo "$$f: exports more than mw_device_get_ops" >&2; exit 1; }; done

docs: $(DOC_PAGES:%=$(GEN)/%.md)
	$(Q)cp $^ docs/reference/

# the tool builds the models with long links that it needs
.PHONY: validation calibration
validation: $(TOOL)
	$(Q)bench/validation.py
	$(Q)bench/validation_models.py

calibration: $(TOOL)
	$(Q)$(TOOL) calibrate bench/calibrate --again --out $(B)/calibrate --write host-tools/cost/calibration.inc

docs-check: $(DOC_PAGES:%=$(GEN)/%.md)
	$(Q)for f in $(DOC_PAGES); do cmp $(GEN)/$$f.md docs/reference/$$f.md || \
	    { echo "docs/reference/$$f.md is not current: run make docs" >&2; exit 1; }; done
	$(Q)tr '\n' ' ' <docs/reference/fpga.md | grep -qF ': $(subst $() ,$(comma) ,$(strip $(SMALL_PARAMS))).' || \
	    { echo "docs/reference/fpga.md: the list of settings is not that of SMALL_PARAMS (sim/model.mk): run make pnr," \
	    "or add those that change no part to it" >&2; exit 1; }
	$(Q)$(PY) tests/checks/prose.py README.md $(shell find docs -name '*.md')
	$(Q)$(PY) tests/checks/links.py
	$(Q)for f in $(basename $(notdir $(RTL_FILES) $(EXPERIMENTS))); do grep -q "\`$$f\`" docs/developer/testing.md \
	    || { echo "docs/developer/testing.md names no test of $$f" >&2; exit 1; }; done

help:
	@sed -n '4,/^ifeq/s/^# \{0,1\}//p' Makefile

clean:
	rm -rf $(filter-out $(VENV),$(wildcard $(B)/*))
