# SPDX-License-Identifier: Apache-2.0
# make deb: the packages moeswitch (tool, library, models, udev rule) and libmoeswitch-dev for this machine's Debian, in
# build/deb, by debhelper from packaging/debian. The same sources and tools make the same packages, bit for bit: their
# time is SOURCE_DATE_EPOCH, without it that of the last commit.
DEB := $(B)/deb
DEB_EPOCH = $(or $(SOURCE_DATE_EPOCH),$(shell git log -1 --format=%ct 2>/dev/null \
    || stat -c %Y driver/include/moeswitch.h))
DEB_MAINTAINER = $(shell sed -n 's/^Maintainer: //p' packaging/debian/control)

$(B)/.setup-deb: .ci/setup
	@mkdir -p $(B)
	@.ci/setup $(VENV) deb
	@touch $@

.PHONY: deb
deb: $(INSTALL_NEEDS) | $(B)/.setup-deb
	$(Q)rm -rf $(DEB) && mkdir -p $(DEB)/work && cp -r packaging/debian $(DEB)/work \
	    && cp -r driver/examples $(DEB)/work
	$(Q)$(fresh_make) install DESTDIR=$(abspath $(DEB))/work/stage PREFIX=/usr \
	    LIBDIR=/usr/lib/$$(dpkg-architecture -qDEB_HOST_MULTIARCH)
	$(Q)printf 'moeswitch ($(VERSION)) unstable; urgency=medium\n\n  * Version $(VERSION).\n\n -- %s  %s\n' \
	    '$(DEB_MAINTAINER)' "$$(LC_ALL=C date -uR -d @$(DEB_EPOCH))" >$(DEB)/work/debian/changelog
	$(call say,DEB,$(DEB))
	$(Q)cd $(DEB)/work && env -u MAKEFLAGS -u MAKELEVEL -u SOURCE_DATE_EPOCH DEB_BUILD_OPTIONS=noautodbgsym debian/rules \
	    binary >../deb.log 2>&1 || { cat ../deb.log; exit 1; }
	@ls $(DEB)/*.deb
