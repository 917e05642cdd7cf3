# SPDX-License-Identifier: Apache-2.0
ifneq ($(wildcard rtl/fabric/fabric.sv),)
TEST_CMDS += --command 'example: build/examples/layer' --command 'overlap: build/examples/overlap' \
    --command 'allreduce: build/examples/allreduce'
endif
include tests/driver/sanitized.mk
