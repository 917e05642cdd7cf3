# SPDX-License-Identifier: Apache-2.0
# The firmware of the soft CPU: build/firmware/firmware.hex, which the RAM begins with.
FW := $(B)/firmware
FW_RAM_LOG2 := 14
FW_RAM := $(shell echo $$((1 << $(FW_RAM_LOG2))))
FW_STACK := 1536
RISCV := riscv64-unknown-elf-
FW_SRC := $(wildcard firmware/*.c) firmware/start.S
FW_OBJ := $(patsubst firmware/%,$(FW)/%.o,$(basename $(FW_SRC)))
FW_FLAGS := -march=rv32i -mabi=ilp32 -Os -g -std=c17 -ffreestanding -fno-builtin -fno-tree-loop-distribute-patterns \
    -fno-pic -msmall-data-limit=0 \
    -fno-jump-tables -ffunction-sections -fstack-usage -Wframe-larger-than=1024 \
    -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Werror '-DFW_SERIAL="$(SERIAL)"' \
    -Ifirmware/include -I$(GEN)

$(FW)/%.o: firmware/%.c | $(GEN_H) $(REG_H) $(HOST_H) $(MAP_H)
	@mkdir -p $(@D)
	$(call say,CC,$< for rv32)
	$(Q)$(RISCV)gcc $(FW_FLAGS) -MMD -MP -c -o $@ $<

$(FW)/start.o: firmware/start.S | $(B)/.setup
	@mkdir -p $(@D)
	$(Q)$(RISCV)gcc -march=rv32i -mabi=ilp32 -c -o $@ $<
-include $(wildcard $(FW)/*.d)

$(FW)/firmware.elf: $(FW_OBJ) firmware/link.ld firmware/report.py firmware/image.py spec/host.toml
	$(call say,LINK,$@)
	$(Q)$(RISCV)gcc -march=rv32i -mabi=ilp32 -nostdlib -static -Wl,--gc-sections,--no-warn-rwx-segments \
	    -Wl,--defsym=RAM_BYTES=$(FW_RAM),--defsym=STACK_BYTES=$(FW_STACK),--defsym=MW_IMAGE_AT=$$($(PY) \
	    firmware/image.py --at) \
	    -T firmware/link.ld -o $@ $(FW_OBJ) -lgcc
	$(Q)$(PY) firmware/report.py $(RISCV)objdump $(RISCV)size $@ $(FW_RAM) $(FW_STACK)

$(FW)/firmware.hex: $(FW)/firmware.elf firmware/image.py
	$(Q)$(PY) firmware/image.py $(RISCV)objcopy $< $(FW_RAM) $@

.PHONY: firmware
firmware: $(FW)/firmware.hex
