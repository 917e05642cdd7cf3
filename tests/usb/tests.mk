# SPDX-License-Identifier: Apache-2.0
UMOCKDEV = $(shell pkg-config --cflags umockdev-1.0)
$(B)/obj/tests/usb/%.o: CPPFLAGS += $(UMOCKDEV)
$(patsubst tests/%.c,$(B)/tests/%,$(wildcard tests/usb/test_*.c)): TEST_LIBS = $(shell pkg-config --libs umockdev-1.0)
$(B)/tests/usb/test_redir: TEST_LIBS += -lusbredirparser

# `make test-system`: a virtual machine with Debian's kernel; its package is kept unpacked, and is 70 MB to fetch
$(B)/tests/usb/soak: $(call obj,tests/usb/soak.c tests/usb/soak_main.c) $(B)/libmoeswitch.a
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) -o $@ $^ $(LDLIBS)

$(B)/qemu/kernel/.done: | $(B)/.setup
	$(call say,FETCH,the kernel of Debian (70 MB))
	$(Q)set -o pipefail; rm -rf $(@D) && mkdir -p $(@D) && cd $(@D) && apt-get download -qq $$(apt-cache depends \
	    linux-image-amd64 | sed -n 's/ *Depends: //p' | head -1) \
	    2>/dev/null && dpkg --fsys-tarfile *.deb | tar x --wildcards "./boot/vmlinuz*" \
	    "./lib/modules/*/kernel/drivers/usb" && rm *.deb && touch .done || \
	    { echo "the package linux-image-amd64 cannot be fetched and unpacked: apt-get update?" >&2; exit 1; }

TEST_SYSTEM_NEEDS := $(TOOL) $(USBDEV) $(B)/tests/usb/soak $(B)/qemu/kernel/.done \
    $(foreach m,2.8.0.0 4.8.0.0,$(call model_so,$(m))) $(call device_so,2.8.0.0.device)
.PHONY: test-system test-system-board
test-system-board: $(B)/model/n4f8-$(GATE_BOARD)/libmwsim.so $(B)/model/dev-n4f8-$(GATE_BOARD)/libmwdevice.so
test-system: $(TEST_SYSTEM_NEEDS)
	$(Q)$(if $(MW_LONG),$(MAKE) -s test-system-board N=4 F=8 LIKE=$(GATE_BOARD))
	$(Q)PYTHONDONTWRITEBYTECODE=1 $(PY) tests/qemu/run.py $(B) $(if $(MW_LONG),$(GATE_BOARD))
TEST_CMDS += --command 'system through USB: make test-system'

# the link's speed beside that of a bare libusb program, which is not part of this project: its folder is an argument
REFERENCE ?=
.PHONY: bench-link
bench-link: $(TOOL) $(USBDEV) $(B)/tests/usb/soak $(B)/qemu/kernel/.done
	$(if $(REFERENCE),,$(error make bench-link REFERENCE=folder of usbtest.c and redir_dev.c, the bare libusb program and \
	    its device to compare with))
	$(Q)PYTHONDONTWRITEBYTECODE=1 $(PY) tests/qemu/link.py $(B) $(REFERENCE)

# The whole soak, under AddressSanitizer with its search for leaks, and UndefinedBehaviorSanitizer: all that runs in
# this process but the models. A while of it under ThreadSanitizer, and under valgrind, which also knows what was never
# written. The disconnects in a virtual machine are part of `make test-system`.
SOAK_FRAMES := 1000000
SOAK_DISCONNECTS := 1000
SOAK_DEVICE_FRAMES := 100000
SOAK_THREAD_FRAMES := 50000
SOAK_VALGRIND_FRAMES := 5000
SOAK_SRC := $(addprefix tests/usb/,test_soak.c soak.c bus.c bus_device.c usbfs.c) $(USBDEV_SRC) $(DRIVER_SRC)
SOAK_SANITIZED := $(addprefix $(B)/tests/usb/soak_,asan tsan)
# the tests of the transport under ThreadSanitizer, too
USB_TSAN := $(B)/tests/usb/usb_tsan
$(B)/tests/usb/soak_asan: SOAK_SANITIZERS = $(SANITIZERS)
$(B)/tests/usb/soak_tsan: SOAK_SANITIZERS = thread
$(USB_TSAN): SOAK_SANITIZERS = thread
$(USB_TSAN): SOAK_SRC := $(subst test_soak.c,test_usb.c,$(filter-out %/soak.c,$(SOAK_SRC)))
$(SOAK_SANITIZED) $(USB_TSAN): $(SOAK_SRC) tests/usb/test_usb.c $(wildcard tests/usb/*.h driver/src/*/*.h sim/usb/*.h) \
    | $(C_NEEDS)
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(FUZZ_CC) -std=c17 -O1 -g -fsanitize=$(SOAK_SANITIZERS) -fno-omit-frame-pointer $(WARN) $(CPPFLAGS) $(UMOCKDEV) \
	    -o $@ $(SOAK_SRC) -lcmocka $(shell pkg-config --libs umockdev-1.0) $(LDLIBS)
TEST_SYSTEM_NEEDS += $(USB_TSAN)
TEST_CMDS += --command 'usb-threads: TSAN_OPTIONS=suppressions=tests/usb/tsan.txt $(USB_TSAN)'

VALGRIND := valgrind -q --leak-check=full --errors-for-leak-kinds=definite --show-leak-kinds=definite --error-exitcode=1
.PHONY: soak
soak: $(SOAK_SANITIZED) $(B)/tests/usb/test_soak $(call model_so,2.8.0.0) $(call device_so,2.8.0.0.device)
	$< --frames $(SOAK_FRAMES) --disconnects $(SOAK_DISCONNECTS)
	$< --whole $(call device_so,2.8.0.0.device) --frames $(SOAK_DEVICE_FRAMES)
	$< --fabric $(call model_so,2.8.0.0) --frames $(SOAK_DEVICE_FRAMES)
	TSAN_OPTIONS=suppressions=tests/usb/tsan.txt $(B)/tests/usb/soak_tsan --frames $(SOAK_THREAD_FRAMES)
	LD_PRELOAD=libumockdev-preload.so.0 $(VALGRIND) $(B)/tests/usb/test_soak --frames $(SOAK_VALGRIND_FRAMES)
	$(MAKE) test-system
