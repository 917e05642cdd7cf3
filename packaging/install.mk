# SPDX-License-Identifier: Apache-2.0
# make install [PREFIX=/usr/local] [DESTDIR=]: tool, library, headers, pkg-config, models, and the udev rule that lets
# users open a device (docs/user/install.md).
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
# where the library and the tool look for models: lib/moeswitch above them (driver/src/transport_sim/model_find.c)
MODELDIR := $(PREFIX)/lib/moeswitch/model
INCLUDEDIR := $(PREFIX)/include/moeswitch
UDEVDIR ?= $(if $(filter /usr/local%,$(PREFIX)),/etc,$(PREFIX)/lib)/udev/rules.d
MANDIR := $(PREFIX)/share/man
COMPLETIONDIR := $(PREFIX)/share/bash-completion/completions

# ---- models for every processor of a kind ------------------------------------
# N.F of those that are installed. Each is there whole and of the other kinds in lanes, for processors of PACKAGE_ARCH,
# and whole and plain for all others.
PACKAGE_MODELS ?= 2.8 4.8 2.16 4.16 8.16 16.16
PACKAGE_ARCH ?= x86-64-v3
PACKAGE_KINDS ?= 0 $(KINDS)
# The first are built in a folder of their own, as those of the build folder are for the machine that builds.
PORTABLE := $(B)/portable
# another make with the words of this one; of flags that its own makefile has set, make warns
fresh_make = env -u MAKEFLAGS $(MAKE) $(filter -j%,$(MAKEFLAGS)) --no-print-directory $(MAKEOVERRIDES)
PACKAGE_LANES := $(foreach k,$(PACKAGE_KINDS),$(PACKAGE_MODELS:%=%.$(k).0))
PACKAGE_PLAIN := $(PACKAGE_MODELS:%=%.0.0.plain)
$(foreach m,$(PACKAGE_LANES) $(PACKAGE_PLAIN),$(call model_rules_of,$(m)))

.PHONY: packaged-models portable-models
packaged-models: $(foreach m,$(PACKAGE_LANES),$(call model_so,$(m)))
portable-models: | $(B)/.setup
	$(Q)$(fresh_make) B=$(PORTABLE) VENV=$(VENV) MODEL_ARCH=$(PACKAGE_ARCH) PACKAGE_MODELS='$(PACKAGE_MODELS)' \
	    packaged-models

# ---- what is installed, as FILE:PLACE:MODE ----------------------------------
INSTALLED_TOOL := $(B)/moeswitch:$(PREFIX)/bin/moeswitch:755
INSTALLED_LIB := $(B)/libmoeswitch.so:$(LIBDIR)/libmoeswitch.so.$(VERSION):644
INSTALLED_DEV := $(foreach h,driver/include/moeswitch.h $(GEN)/errors.h $(GEN)/isa.h \
    $(GEN)/packet.h,$(h):$(INCLUDEDIR)/$(notdir $(h)):644) \
    $(B)/moeswitch.pc:$(LIBDIR)/pkgconfig/moeswitch.pc:644
installed_model = $(2):$(MODELDIR)/$(call conf,$(1))/libmwsim.so:644
INSTALLED_MODELS := \
    $(foreach m,$(PACKAGE_LANES),$(call installed_model,$(m),$(patsubst $(B)/%,$(PORTABLE)/%,$(call model_so,$(m))))) \
    $(foreach m,$(PACKAGE_PLAIN),$(call installed_model,$(m),$(call model_so,$(m))))
INSTALLED := $(INSTALLED_TOOL) $(INSTALLED_LIB) $(INSTALLED_DEV) $(INSTALLED_MODELS) \
    driver/70-moeswitch.rules:$(UDEVDIR)/70-moeswitch.rules:644
INSTALLED_LINKS := $(LIBDIR)/$(SONAME) $(LIBDIR)/libmoeswitch.so
# What must be made first; of `man`, what is in build/man and build/completion.
INSTALL_NEEDS := man $(B)/moeswitch $(B)/libmoeswitch.so $(B)/moeswitch.pc $(GEN_H) \
    $(foreach m,$(PACKAGE_PLAIN),$(call model_so,$(m))) portable-models

$(B)/moeswitch.pc: driver/moeswitch.pc.in FORCE
	$(Q)sed 's,@PREFIX@,$(PREFIX),; s,@LIBDIR@,$(LIBDIR:$(PREFIX)/%=$${prefix}/%),; s,@VERSION@,$(VERSION),' $< >$@.$$$$ \
	    && $(if_changed)

install_one = install -D -m $(word 3,$(1)) $(word 1,$(1)) '$(DESTDIR)$(word 2,$(1))'
place = $(word 2,$(subst :, ,$(1)))
.PHONY: install uninstall
install: $(INSTALL_NEEDS)
	$(call say,INSTALL,$(DESTDIR)$(PREFIX))
	$(Q)set -e; $(foreach f,$(INSTALLED),$(call install_one,$(subst :, ,$(f)));)
	$(Q)cd '$(DESTDIR)$(LIBDIR)' && ln -sf libmoeswitch.so.$(VERSION) $(SONAME) && ln -sf $(SONAME) libmoeswitch.so
	$(Q)shopt -s nullglob; set -e; for f in $(B)/man/*.[13]; \
	    do install -D -m 644 $$f "$(DESTDIR)$(MANDIR)/man$${f##*.}/$${f##*/}"; done; \
	    for f in $(B)/completion/*; do install -D -m 644 $$f "$(DESTDIR)$(COMPLETIONDIR)/$${f##*/}"; done
	$(Q)[ -n '$(DESTDIR)' ] || [ $$(id -u) != 0 ] || ldconfig

# Of folders, those of its own.
uninstall:
	$(call say,REMOVE,$(DESTDIR)$(PREFIX))
	$(Q)rm -f $(foreach p,$(foreach f,$(INSTALLED),$(call place,$(f))) $(INSTALLED_LINKS) \
	    $(COMPLETIONDIR)/moeswitch,'$(DESTDIR)$(p)') \
	    '$(DESTDIR)$(MANDIR)'/man1/moeswitch.1 '$(DESTDIR)$(MANDIR)'/man1/moeswitch-*.1 \
	    '$(DESTDIR)$(MANDIR)'/man3/libmoeswitch.3
	$(Q)rm -rf '$(DESTDIR)$(PREFIX)/lib/moeswitch' '$(DESTDIR)$(INCLUDEDIR)'
	$(Q)[ -n '$(DESTDIR)' ] || [ $$(id -u) != 0 ] || ldconfig
