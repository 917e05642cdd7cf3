# SPDX-License-Identifier: Apache-2.0
# Manual pages and completion, from the tables of options and the library's header: build/man, build/completion.
MAN := $(B)/man
COMPLETION := $(B)/completion
PAGES_SRC := $(wildcard host-tools/program/pages/*.c)

$(B)/mw-pages: $(call obj,$(PAGES_SRC)) $(LIBS)
	$(call say,LINK,$@)
	$(Q)$(CC) -o $@ $^ $(LDLIBS)

# a page of a command that is no more must not stay
$(COMPLETION)/moeswitch: $(B)/mw-pages
	$(call say,GEN,$(MAN)/*.1 and $@)
	@mkdir -p $(MAN) $(COMPLETION)
	$(Q)rm -f $(MAN)/*.1 $@
	$(Q)$< $(MAN) $(COMPLETION)

$(MAN)/libmoeswitch.3: driver/man.py driver/include/moeswitch.h | $(B)/.setup
	$(call say,GEN,$@)
	@mkdir -p $(MAN)
	$(Q)$(PY) $^ >$@

MAN_PAGES := $(COMPLETION)/moeswitch $(MAN)/libmoeswitch.3
.PHONY: man man-check
man: $(MAN_PAGES)

man-check: man $(B)/moeswitch
	$(Q)$(PY) tests/checks/pages.py $(B)/moeswitch $(MAN) $(COMPLETION)/moeswitch driver/include/moeswitch.h
