# SPDX-License-Identifier: Apache-2.0
# The tests of the library and of the host tools once more, with AddressSanitizer, its search for leaks, and
# UndefinedBehaviorSanitizer in all of their own sources; those with threads under ThreadSanitizer, too.
SAN := $(B)/sanitized
# compiled without optimization, in a third of the time: they run for seconds
SAN_CFLAGS := -std=c17 -O0 -g -fno-omit-frame-pointer -ffp-contract=off $(WARN)
# those with threads need nothing of the host tools
SAN_SRC_address := $(HOST_SRC) $(DRIVER_SRC) sim/usb/registers.c
SAN_SRC_thread := $(DRIVER_SRC) sim/usb/registers.c
# the same as in tests/fuzz/tests.mk, which is read later
SAN_KINDS_address := address,undefined -fno-sanitize-recover=undefined
SAN_KINDS_thread := thread

# sanitized_rules: name of the kind
define sanitized_rules
$(SAN)/$(1)/obj/%.o: %.c | $(C_NEEDS)
	@mkdir -p $$(@D)
	$$(call say,CC,$$< ($(1)))
	$$(Q)$(FUZZ_CC) $(SAN_CFLAGS) -fsanitize=$(SAN_KINDS_$(1)) $(CPPFLAGS) -MMD -MP -c -o $$@ $$<

$(SAN)/$(1)/lib.a: $(patsubst %.c,$(SAN)/$(1)/obj/%.o,$(SAN_SRC_$(1)))
	$$(call say,AR,$$@)
	$$(Q)rm -f $$@ && ar rcs $$@ $$^
-include $(shell find $(SAN)/$(1) -name '*.d' 2>/dev/null)
endef
$(foreach k,address thread,$(eval $(call sanitized_rules,$(k))))

# sanitized_test: kind, folder of tests/, program, its source. It lies as deep as the library looks for the
# sources from it.
define sanitized_test
$(SAN)/$(1)-$(2)/$(3): $(4:%.c=$(SAN)/$(1)/obj/%.o) \
    $(patsubst %.c,$(SAN)/$(1)/obj/%.o,$(filter-out $(wildcard tests/$(2)/test_*.c),$(wildcard tests/$(2)/*.c))) \
    $(SAN)/$(1)/lib.a
	@mkdir -p $$(@D)
	$$(call say,LINK,$$@)
	$$(Q)$(FUZZ_CC) -fsanitize=$(SAN_KINDS_$(1)) -o $$@ $$^ -lcmocka $(LDLIBS)
C_TESTS += $(SAN)/$(1)-$(2)/$(3)
endef
# sanitized_tests: kind, folder of tests/, sources
sanitized_tests = $(foreach f,$(3),$(eval $(call sanitized_test,$(1),$(2),$(basename $(notdir $(f))),$(f))))
$(call sanitized_tests,address,driver,$(wildcard tests/driver/test_*.c tests/driver/*/test_*.c))
$(call sanitized_tests,address,host,$(wildcard tests/host/*/test_*.c))
$(call sanitized_tests,thread,driver,$(addprefix tests/driver/,test_objects.c test_phases.c observe/test_state.c \
    test_wait.c test_cancel.c))

# make sanitized: only these
.PHONY: sanitized
sanitized: $(filter $(SAN)/%,$(C_TESTS))
	@$(PY) tests/runner/run.py $^
