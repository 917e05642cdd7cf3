# SPDX-License-Identifier: Apache-2.0
# The firmware's parts on this machine: all but what only the soft CPU has.
FW_HOST_OBJ := $(call obj,$(filter-out firmware/main.c firmware/hw.c firmware/mem.c,$(wildcard firmware/*.c)))
$(FW_HOST_OBJ) $(patsubst %.c,$(B)/obj/%.o,$(wildcard tests/firmware/*.c)): CPPFLAGS += -Ifirmware
$(patsubst tests/%.c,$(B)/tests/%,$(wildcard tests/firmware/test_*.c)): $(FW_HOST_OBJ)
