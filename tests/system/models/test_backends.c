// SPDX-License-Identifier: Apache-2.0
//
// Lanes compared with plain models: whole runs on two GPUs.
#include "system/backends.h"

static void same_in_lanes_and_plain(void **state)
{
    static const struct configuration_model models[] = {{2, 8, false, 16, 8, 24, 8, false}};
    (void)state;
    backends_compare(models, test_cases(6, 12));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_in_lanes_and_plain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
