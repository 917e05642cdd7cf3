# SPDX-License-Identifier: Apache-2.0
#
# Sources, tests and libraries of the host tools, paths from the repository's root.
# `moeswitch` is HOST_TOOLS_SRCS; a test is tests/host/NAME.c and HOST_TEST_SUPPORT, linked with the
# objects of HOST_TOOLS_LIB_SRCS as an archive (tests bring a mw_system_run of their own).
# Tests run in the repository's root: traces are looked for in $MW_TRACES or ../shared/traces.

HOST_TOOLS_LIB_SRCS := \
	host-tools/error.c \
	host-tools/npy.c \
	host-tools/json.c \
	host-tools/trace.c \
	host-tools/workload.c \
	host-tools/golden.c \
	host-tools/bounds.c

HOST_TOOLS_SRCS := $(HOST_TOOLS_LIB_SRCS)

# The golden model needs every rounding where C puts it.
HOST_TOOLS_CFLAGS := -std=c17 -O2 -ffp-contract=off -Wall -Wextra -Wshadow -Ihost-tools
HOST_TOOLS_LIBS := -lcjson -lm

HOST_TEST_SUPPORT := tests/host/support.c
HOST_TESTS := test_npy test_json test_trace test_workload test_golden test_bounds
HOST_TEST_LIBS := -lcmocka
