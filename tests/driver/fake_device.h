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

/// Open a fake of 4 GPUs with 8-byte flits; close it: set-up and tear-down of a test.
int fake_setup(void **state);
int fake_teardown(void **state);
/// The device opened anew: what its registers have said of the build since then is read.
void fake_reopen(void);
/// ... with all that a build may have.
void fake_open_with_all(void);

#endif
