// SPDX-License-Identifier: Apache-2.0
//
// The device of a test: a fake that is open.
#ifndef MW_TEST_FAKE_DEVICE_H
#define MW_TEST_FAKE_DEVICE_H

#include "fake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "fabric_regs.h"
#include "node_regs.h"

#define FABRIC(reg) ((uint32_t)offsetof(mw_fabric_t, reg))
#define NODE(reg) ((uint32_t)offsetof(mw_node_t, reg))
#define BASE(address) ((uint32_t)((address) / MW_BASE_UNIT))
#define assert_code(call, code) assert_int_equal(call, code)
#define assert_message(text) assert_non_null(strstr(mw_message(), text))

extern struct fake fake;
extern struct mw_device *device;

/// Set-up and tear-down of a test: open and close a fake of 4 GPUs with 8-byte flits.
int fake_setup(void **state);
int fake_teardown(void **state);
/// Open the device again, to read the changed registers of its build.
void fake_reopen(void);
/// ... with all that a build may have.
void fake_open_with_all(void);

#endif
