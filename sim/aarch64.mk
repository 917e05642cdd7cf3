# SPDX-License-Identifier: Apache-2.0
# Another kind of processor: make model-aarch64-check builds a plain model of two GPUs and the tool for aarch64, runs
# a layer of every system in QEMU's user mode, and compares its report with that of the same model on this machine.
# Debian's compiler and QEMU are installed by hand (docs/developer/simulation.md); the libraries of the tool are fetched
# and unpacked below build/aarch64, as their packages beside those of this machine would change the system.
AARCH64 := $(B)/aarch64
AARCH64_CC := aarch64-linux-gnu-gcc
AARCH64_CXX := aarch64-linux-gnu-g++
AARCH64_ROOT := $(abspath $(AARCH64))/root
AARCH64_LIB := $(AARCH64_ROOT)/usr/lib/aarch64-linux-gnu
AARCH64_DEBS := libcjson1 libcjson-dev libminizip1 libminizip-dev zlib1g zlib1g-dev libusb-1.0-0 \
    libusb-1.0-0-dev libudev1
AARCH64_RUN := qemu-aarch64 -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH=$(AARCH64_LIB)
AARCH64_MAKE = $(MAKE) --no-print-directory B=$(AARCH64) VENV=$(VENV) CC=$(AARCH64_CC) CXX=$(AARCH64_CXX) \
    PLAIN_CXX=$(AARCH64_CXX) \
    WARN='$(WARN) -isystem $(AARCH64_ROOT)/usr/include' \
    LDLIBS='-L$(AARCH64_LIB) -Wl,-rpath-link,$(AARCH64_LIB) $(LDLIBS)'

# lists of packages of its own, so that this machine's stay as they are
$(AARCH64)/root/.done: | $(B)/.setup
	$(call say,FETCH,libraries for aarch64 (15 MB))
	$(Q)rm -rf $(AARCH64)/apt $(@D) && mkdir -p $(AARCH64)/apt/lists/partial $(AARCH64)/apt/archives/partial $(@D) \
	    && cd $(AARCH64)/apt && touch status && \
	    apt="apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User= \
	    -o Dir::State=$$PWD -o Dir::State::status=$$PWD/status -o Dir::Cache=$$PWD" && \
	    $$apt update && $$apt download $(AARCH64_DEBS) && for d in *.deb; do dpkg -x $$d $(AARCH64_ROOT) || exit 1; \
	    done && touch $(AARCH64_ROOT)/.done || \
	    { echo "the packages $(AARCH64_DEBS) of arm64 cannot be fetched and unpacked" >&2; exit 1; }

.PHONY: model-aarch64-check
model-aarch64-check: $(TOOL) $(call model_so,2.8.0.0.plain)
	$(Q)for p in $(AARCH64_CXX) qemu-aarch64; do command -v $$p >/dev/null \
	    || { echo "$$p is not there: apt-get install g++-aarch64-linux-gnu qemu-user" >&2; exit 1; }; done
	$(Q)mkdir -p $(AARCH64) && touch $(AARCH64)/.setup && $(MAKE) --no-print-directory $(AARCH64)/root/.done
	$(Q)$(AARCH64_MAKE) N=2 F=8 BACKEND=plain model $(AARCH64)/moeswitch
	$(Q)$(PY) tests/sim/aarch64.py $(B) $(AARCH64) $(AARCH64_RUN)
