# SPDX-License-Identifier: Apache-2.0
# libFuzzer targets, with the sanitizers: FUZZ_SECONDS of each in `make test`, ten million executions with `make fuzz`.
# corpus/TARGET.tar.xz has the inputs that a long run needed to reach everything. `make fuzz-corpus` adds what longer
# runs have found. `tests/fuzz/corpus.py add tests/fuzz/corpus/TARGET.tar.xz FILE` adds one input. The device in memory
# that the firmware runs on is no target: its branches would take half of the time.
FUZZ_SECONDS := $(if $(MW_LONG),10,2)
# make fuzz FUZZ=firmware: only that one
FUZZ := reply firmware device arrays plan
FUZZ_RUNS := 10000000
FUZZ_FLAGS = -rss_limit_mb=4096 -max_len=256 -seed=$(or $(MW_SEED),1) -print_final_stats=1
SANITIZERS := address,undefined -fno-sanitize-recover=undefined
FUZZERS := $(B)/fuzz/reply $(B)/fuzz/firmware $(B)/fuzz/device $(B)/fuzz/arrays $(B)/fuzz/plan

$(B)/fuzz/reply: tests/fuzz/reply.c \
    $(wildcard driver/src/transport_usb/usb_reply.[ch] driver/src/transport_usb/frame.[ch])
$(B)/fuzz/device: tests/fuzz/device.c $(filter-out sim/usb/fabric.c sim/usb/whole.c,$(USBDEV_SRC)) \
    driver/src/transport_usb/frame.c driver/src/transport_sim/queue.c $(wildcard sim/usb/*.h) \
    driver/src/transport_usb/frame.h
$(B)/fuzz/firmware: tests/fuzz/firmware.c $(B)/fuzz/fake.o $(B)/fuzz/registers.o \
    $(filter-out firmware/main.c firmware/hw.c firmware/mem.c,$(wildcard firmware/*.c)) $(wildcard firmware/*.h) \
    tests/firmware/fake.h
$(B)/fuzz/arrays: tests/fuzz/arrays.c $(addprefix host-tools/,$(addprefix base/,error.c host_memory.c input.c text.c) \
    $(addprefix formats/,json_read.c npy.c npy_elements.c npy_header.c npz.c) \
    $(addprefix trace/,counts.c trace.c trace_axes.c trace_counts.c trace_declared.c trace_load.c trace_make.c \
    meta.c)) $(LIBS)
$(B)/fuzz/plan: tests/fuzz/plan.c $(addprefix host-tools/,$(addprefix base/,error.c input.c text.c) \
    $(addprefix formats/,csv_read.c json_read.c protobuf.c) $(addprefix cost/,transformer.c transformer_file.c \
    compute.c collective.c operators.c) plan/chakra.c) $(LIBS)
$(B)/fuzz/arrays $(B)/fuzz/plan: FUZZ_LIBS := $(LIBS) $(LDLIBS)
$(B)/fuzz/firmware: CPPFLAGS += -Ifirmware
$(B)/fuzz/firmware: FUZZ_LIBS := -lcmocka
$(B)/fuzz/reply $(B)/fuzz/device: tests/fuzz/input.h
$(FUZZERS): | $(GEN_H) $(HOST_H) $(REG_H) $(MAP_H)
	@mkdir -p $(@D)
	$(call say,CC,$< with libFuzzer)
	$(Q)$(FUZZ_CC) -std=c17 -O1 -g -fsanitize=fuzzer,$(SANITIZERS) $(WARN) $(CPPFLAGS) -o $@ $(filter %.c %.o,$^) \
	    $(FUZZ_LIBS)

$(B)/fuzz/fake.o: tests/firmware/fake.c tests/firmware/fake.h firmware/hw.h sim/usb/registers.h
$(B)/fuzz/registers.o: sim/usb/registers.c sim/usb/registers.h
$(B)/fuzz/fake.o $(B)/fuzz/registers.o: | $(GEN_H) $(REG_H) $(MAP_H)
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(FUZZ_CC) -std=c17 -O2 -g -fsanitize=$(SANITIZERS) $(WARN) $(CPPFLAGS) -Ifirmware -c -o $@ $<

.PHONY: fuzz fuzz-short fuzz-corpus
CORPORA := $(FUZZERS:$(B)/fuzz/%=$(B)/fuzz/corpus/%)
$(CORPORA): $(B)/fuzz/corpus/%: tests/fuzz/corpus/%.tar.xz tests/fuzz/corpus.py
	$(Q)$(PY) tests/fuzz/corpus.py unpack $< $@

fuzz fuzz-short: $(FUZZERS) $(CORPORA)
	$(Q)for f in $(FUZZ:%=$(B)/fuzz/%); do new=$$f.new; mkdir -p $$new; log=$(B)/fuzz/$$(basename $$f).log; \
	    $(PY) tests/runner/watch.py $$f $(FUZZ_FLAGS) \
	    $(if $(filter fuzz,$@),-runs=$(FUZZ_RUNS),-max_total_time=$(FUZZ_SECONDS)) \
	        -timeout=0 -artifact_prefix=$$f- $$new $(B)/fuzz/corpus/$$(basename $$f) >$$log 2>&1 || \
	    { tail -40 $$log; exit 1; }; grep -h '^Done\|executed_units' $$log; done

fuzz-corpus: $(FUZZERS) $(CORPORA)
	$(Q)for f in $(FUZZERS); do mkdir -p $$f.new; name=$$(basename $$f); \
	    $$f -merge=1 -max_len=256 $(B)/fuzz/corpus/$$name $$f.new && \
	    $(PY) tests/fuzz/corpus.py replace tests/fuzz/corpus/$$name.tar.xz $(B)/fuzz/corpus/$$name; done

TEST_CMDS += --command 'fuzz: make fuzz-short' --command 'fuzz corpus: $(PY) tests/fuzz/test_corpus.py'
