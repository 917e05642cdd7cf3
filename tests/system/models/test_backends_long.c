// SPDX-License-Identifier: Apache-2.0
//
// Lanes compared with plain models: whole runs on two to eight GPUs, and on nine, which are two
// blocks of nodes.
#include "system/backends.h"

static void same_in_lanes_and_plain(void **state)
{
    static const struct configuration_model models[] = {{2, 8, false, 4, 16, 48, 8, false},
                                                        {4, 8, false, 6, 12, 48, 8, false},
                                                        {8, 16, false, 4, 8, 24, 8, false},
                                                        {9, 8, true, 2, 2, 8, 2, false}};
    (void)state;
    backends_compare(models, 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_in_lanes_and_plain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
