// SPDX-License-Identifier: Apache-2.0
#include "fake_device.h"

struct fake fake;
struct mw_device *device;

int fake_setup(void **state)
{
    (void)state;
    fake_init(&fake, 4, 8);
    return fake_open(&fake, &device);
}

int fake_teardown(void **state)
{
    (void)state;
    mw_close(device);
    fake_free(&fake);
    return 0;
}

void fake_reopen(void)
{
    mw_close(device);
    assert_code(fake_open(&fake, &device), 0);
}

void fake_open_with_all(void)
{
    *fake_fabric(&fake, FABRIC(primitives)) = UINT32_MAX;
    fake_reopen();
}
