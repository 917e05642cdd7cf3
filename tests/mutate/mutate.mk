# SPDX-License-Identifier: Apache-2.0
# Programs of tests/mutate: a unit test around the netlist of its bench, with all mutations inside
# (program.py writes top.sv and netlist.v).

# the tool's own test: a module with one place where a mutation must be found, and one where nothing can find it
MUTATE_SAMPLE := mutate_sample
UNIT_SRCS_mutate_sample := tests/mutate/sample/mutate_sample.sv
UNIT_TEST_mutate_sample := tests/mutate/sample/test_mutate_sample.cpp

# A netlist has no style, and error codes are plain bits in it. Of the selects of a case that it takes to be parallel
# two may be high for the moment in which Verilator settles what is in a loop of words, though not of bits.
MUTATE_FLAGS := -Irtl/common -Wno-lint -Wno-style -Wno-fatal -Wno-ENUMVALUE --no-assert-case
mutate_srcs = $(filter %_pkg.sv,$(UNIT_SRCS_$(1))) $(B)/mutate/$(1)/top.sv $(B)/mutate/$(1)/netlist.v
mutate_program = $(call unit_program,$(1),$(call unit_top,$(1)),$(call unit_test,$(1)),$(B)/mutate/$(1),$(2),$(3),$(4))
$(foreach u,$(UNIT) $(MUTATE_SAMPLE),$(eval \
    $(call mutate_program,$(u),$(call mutate_srcs,$(u)),$(MUTATE_FLAGS),tests/mutate/select.c)))

# gate_cells has a netlist beside the RTL, which the front end that keeps a hierarchy cannot read: its cells are called
# as memories were, with dots and spaces.
MUTATE_UNIT := $(filter-out gate_cells,$(UNIT))
# one line per test, fields by |: name, top, SystemVerilog sources, parameters, what must be there when it runs,
# parameters of the top that have names of settings.
# What several tests are made of is made here: run.py has several makes at a time, which would write the same files.
MUTATE_SHARED := $(sort $(UNIT_PCHS) $(B)/unit/bench.a $(B)/verilated/plain.a $(RTL_PKGS) \
    $(REG_SV) $(DEV_REG_SV) $(DEV_PKGS) $(DEV_IP) $(GEN_H) \
    $(foreach u,$(MUTATE_UNIT),$(filter $(B)/%,$(UNIT_SRCS_$(u)))) \
    $(call obj,tests/mutate/select.c $(foreach u,$(MUTATE_UNIT),$(filter %.c,$(UNIT_C_$(u))))))
.PHONY: mutate mutate-list
mutate-list: $(MUTATE_SHARED)
	@echo 'packages|$(RTL_PKGS)|$(RTL_DIRS) $(DEV_DIRS)'
	@$(foreach u,$(MUTATE_UNIT) $(MUTATE_SAMPLE),echo \
	    '$(u)|$(call unit_top,$(u))|$(UNIT_SRCS_$(u))|$(UNIT_PARAMS_$(u))|$(UNIT_NEEDS_$(u))|$(UNIT_GIVEN_$(u))';)

# M=module: that one alone (or several, with commas); MUTATIONS: how many in all
M ?=
$(if $(filter mutate,$(MAKECMDGOALS)),$(foreach m,$(subst $(comma), ,$(M)),$(if $(filter $(basename $(notdir $(RTL) \
    $(DEV_MODS) $(BOARD_MODS))),$(m)),,$(error M=$(M): no module is named $(m)))))
MUTATIONS ?=
mutate: $(GEN_H) | $(B)/.setup
	@$(PY) tests/mutate/run.py $(if $(M),--modules $(M)) $(if $(MUTATIONS),--mutations $(MUTATIONS))

