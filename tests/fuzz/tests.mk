# SPDX-License-Identifier: Apache-2.0
# libFuzzer targets, with the sanitizers: FUZZ_RUNS executions each in `make test`, ten million with `make fuzz`. The corpus that is kept is what a
# long run needed to reach everything; `make fuzz-corpus` adds to it.
FUZZ_RUNS := 300000
FUZZ_FLAGS = -max_len=256 -seed=$(MW_SEED) -print_final_stats=1
FUZZERS := $(B)/fuzz/reply

$(B)/fuzz/reply: tests/fuzz/reply.c driver/src/usb_reply.c driver/src/frame.c driver/src/usb_reply.h driver/src/frame.h | $(HOST_H)
	@mkdir -p $(@D)
	$(call say,CC,$< with libFuzzer)
	$(Q)$(FUZZ_CC) -std=c17 -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined $(WARN) $(CPPFLAGS) -o $@ $(filter %.c,$^)

.PHONY: fuzz fuzz-short fuzz-corpus
fuzz fuzz-short: $(FUZZERS)
	$(Q)for f in $(FUZZERS); do mkdir -p $(B)/fuzz/new; log=$(B)/fuzz/$$(basename $$f).log; \
	    $$f $(FUZZ_FLAGS) -runs=$(if $(filter fuzz,$@),10000000,$(FUZZ_RUNS)) -artifact_prefix=$(B)/fuzz/ $(B)/fuzz/new tests/fuzz/corpus/$$(basename $$f) >$$log 2>&1 || \
	    { tail -40 $$log; exit 1; }; grep -h '^Done\|executed_units' $$log; done

fuzz-corpus: $(FUZZERS)
	$(Q)for f in $(FUZZERS); do $$f -merge=1 -max_len=256 tests/fuzz/corpus/$$(basename $$f) $(B)/fuzz/new; done

TEST_CMDS += --command 'fuzz: make fuzz-short'
