# SPDX-License-Identifier: Apache-2.0
UMOCKDEV = $(shell pkg-config --cflags umockdev-1.0)
$(B)/obj/tests/usb/%.o: CPPFLAGS += $(UMOCKDEV)
$(patsubst tests/%.c,$(B)/tests/%,$(wildcard tests/usb/test_*.c)): TEST_LIBS = $(shell pkg-config --libs umockdev-1.0)
