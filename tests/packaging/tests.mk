# SPDX-License-Identifier: Apache-2.0
# What `make install` and `make deb` write. One size and kind is enough here: the model that other tests have, in
# test-all one for processors of PACKAGE_ARCH.
PACKAGED := PACKAGE_MODELS=2.8 PACKAGE_KINDS=0 \
    $(if $(MW_LONG),LANES_OPT=-O0,PORTABLE=$(B) PACKAGE_ARCH=$(MODEL_ARCH))
INSTALL_CHECK := $(B)/install-check
DEB_CHECK := $(B)/deb-check
TEST_CMDS += --command 'example-lines: $(PY) tests/packaging/example.py README.md'
TEST_CMDS += --command 'install: make packages-check'
LONG_CMDS += --command 'install-bare: make packages-again && $(PY) tests/packaging/bare.py $(DEB_CHECK) $(B)/bare'
INSTALL_MAKE = $(fresh_make) -s DESTDIR=$(abspath $(INSTALL_CHECK)) PREFIX=/usr $(PACKAGED)

# The shared library has exactly the functions of its header; what is installed builds the
# example; uninstall leaves no file.
.PHONY: install-check
install-check: $(B)/libmoeswitch.so $(B)/moeswitch $(call model_so,2.8.0.0)
	$(Q)nm -D --defined-only $< | awk '$$2 == "T" {print $$3}' | sed 's/@.*//' | sort \
	    | diff - <(tr '\n' ' ' <driver/include/moeswitch.h | \
	    grep -o 'MW_API [^(]*' | grep -o 'mw_[a-z_0-9]*$$' | sort) \
	    || { echo "libmoeswitch.so and moeswitch.h: not the same functions" >&2; exit 1; }
	$(Q)$(PY) tests/checks/rule.py driver/70-moeswitch.rules
	$(Q)rm -rf $(INSTALL_CHECK) && $(INSTALL_MAKE) install
	$(Q)export PKG_CONFIG_PATH=$(INSTALL_CHECK)/usr/lib/pkgconfig \
	    PKG_CONFIG_SYSROOT_DIR=$(abspath $(INSTALL_CHECK)); \
	    $(CC) -std=c17 $$(pkg-config --cflags moeswitch) -o $(B)/install-check-layer driver/examples/layer.c \
	    $$(pkg-config --libs moeswitch) -lm && \
	    $(PY) tests/packaging/example.py docs/user/install.md \
	        --prefix /usr/local=$(abspath $(INSTALL_CHECK))/usr --away && \
	    $(CC) -std=c17 $$(pkg-config --cflags moeswitch) -fsyntax-only -x c - <<<'#include <moeswitch/moeswitch.h>'
	$(Q)LD_LIBRARY_PATH=$(INSTALL_CHECK)/usr/lib ldd $(B)/install-check-layer \
	    | grep -q '$(SONAME) => $(INSTALL_CHECK)'
	$(Q)cd / && env -i LD_LIBRARY_PATH=$(abspath $(INSTALL_CHECK))/usr/lib $(abspath $(B))/install-check-layer
	$(Q)touch $(INSTALL_CHECK)/usr/bin/another $(INSTALL_CHECK)/usr/lib/another && $(INSTALL_MAKE) uninstall \
	    && rm $(INSTALL_CHECK)/usr/{bin,lib}/another
	$(Q)[ -z "$$(find $(INSTALL_CHECK) ! -type d)" ] || { find $(INSTALL_CHECK) ! -type d; \
	    echo "make uninstall leaves these" >&2; exit 1; }

# Of the packages lintian has nothing to say. Made twice in other circumstances, they are the same, bit for bit. They
# work in a bare Debian, where this machine can have one.
deb_make = $(fresh_make) -s $(PACKAGED) deb
LINTIAN := lintian --allow-root --fail-on error,warning
.PHONY: packages-check packages-again
packages-check: install-check
	$(Q)$(deb_make) DEB=$(DEB_CHECK)
	$(Q)$(LINTIAN) $(DEB_CHECK)/*.deb
packages-again: packages-check
	$(Q)umask 077; TZ=Pacific/Auckland LC_ALL=C.UTF-8 $(deb_make) DEB=$(DEB_CHECK)/again
	$(Q)for f in $(DEB_CHECK)/*.deb; do cmp $$f $(DEB_CHECK)/again/$${f##*/} || exit 1; done
