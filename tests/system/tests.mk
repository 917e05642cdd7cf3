# SPDX-License-Identifier: Apache-2.0
# System tests share the scratch folder and the traces made by hand with the tests of the host tools.
SYSTEM_TESTS := $(addprefix $(B)/tests/system/,$(basename $(notdir $(wildcard tests/system/*/test_*.c))))
$(SYSTEM_TESTS): $(B)/obj/tests/host/support.o
