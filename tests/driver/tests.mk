# SPDX-License-Identifier: Apache-2.0
ifneq ($(wildcard rtl/top/fabric.sv),)
TEST_CMDS += --command 'example: build/examples/layer'
endif
include tests/driver/sanitized.mk
