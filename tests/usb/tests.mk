# SPDX-License-Identifier: Apache-2.0
UMOCKDEV = $(shell pkg-config --cflags umockdev-1.0)
$(B)/obj/tests/usb/%.o: CPPFLAGS += $(UMOCKDEV)
$(patsubst tests/%.c,$(B)/tests/%,$(wildcard tests/usb/test_*.c)): TEST_LIBS = $(shell pkg-config --libs umockdev-1.0)

# `make test-system`: a virtual machine with Debian's kernel; its package is kept unpacked, and is 70 MB to fetch
$(B)/tests/usb/soak: $(call obj,tests/usb/soak.c tests/usb/soak_main.c) $(B)/libmoeswitch.a
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) -o $@ $^ $(LDLIBS)

$(B)/qemu/kernel/.done: | $(B)/.setup
	$(call say,FETCH,the kernel of Debian (70 MB))
	$(Q)set -o pipefail; rm -rf $(@D) && mkdir -p $(@D) && cd $(@D) && apt-get download -qq $$(apt-cache depends linux-image-amd64 | sed -n 's/ *Depends: //p' | head -1) \
	    2>/dev/null && dpkg --fsys-tarfile *.deb | tar x --wildcards "./boot/vmlinuz*" "./lib/modules/*/kernel/drivers/usb" && rm *.deb && touch .done || \
	    { echo "the package linux-image-amd64 cannot be fetched and unpacked: apt-get update?" >&2; exit 1; }

TEST_SYSTEM_NEEDS := $(TOOL) $(USBDEV) $(B)/tests/usb/soak $(B)/qemu/kernel/.done $(foreach m,2.8.0.0 4.8.0.0,$(call model_so,$(m))) $(firstword $(call device_sos,2.8.0.0))
.PHONY: test-system
test-system: $(TEST_SYSTEM_NEEDS)
	$(Q)PYTHONDONTWRITEBYTECODE=1 $(PY) tests/qemu/run.py $(B)
TEST_CMDS += --command 'system through USB: make test-system'

# the link's speed beside that of a bare libusb program, which is not part of this project: its folder is an argument
REFERENCE ?=
.PHONY: bench-link
bench-link: $(TOOL) $(USBDEV) $(B)/tests/usb/soak $(B)/qemu/kernel/.done
	$(if $(REFERENCE),,$(error make bench-link REFERENCE=folder of usbtest.c and redir_dev.c, the bare libusb program and its device to compare with))
	$(Q)PYTHONDONTWRITEBYTECODE=1 $(PY) tests/qemu/link.py $(B) $(REFERENCE)

# the whole soak, an hour: 1 000 disconnects and 10^6 frames against the stub, 10^5 frames against the Verilated device, and a while under valgrind,
# which cannot follow what umockdev writes in the kernel's place, but sees leaks and what is used after it was freed
VALGRIND := valgrind -q --undef-value-errors=no --leak-check=full --errors-for-leak-kinds=definite --show-leak-kinds=definite --error-exitcode=1
.PHONY: soak
soak: $(B)/tests/usb/test_soak $(call model_so,2.8.0.0)
	MW_SOAK_SECONDS=1500 $<
	MW_SOAK_SECONDS=1800 MW_SOAK_MODEL=$(call model_so,2.8.0.0) $<
	LD_PRELOAD=libumockdev-preload.so.0 MW_SOAK_SECONDS=120 $(VALGRIND) $<
