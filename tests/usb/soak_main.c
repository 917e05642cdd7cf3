// SPDX-License-Identifier: Apache-2.0
//
// usage: soak --serial S [--disconnects N | --seconds S] [--seed N]
#include "soak.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    struct soak s = {.keeps = true};
    static const struct option options[] = {{"serial", required_argument, NULL, 's'},
                                            {"disconnects", required_argument, NULL, 'd'},
                                            {"seconds", required_argument, NULL, 't'},
                                            {"seed", required_argument, NULL, 'r'},
                                            {NULL, 0, NULL, 0}};
    for (int id; (id = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        unsigned long value = optarg ? strtoul(optarg, NULL, 0) : 0;
        if (id == 's')
            s.serial = optarg;
        else if (id == 'd')
            s.disconnects = value;
        else if (id == 't')
            s.seconds = value;
        else if (id == 'r')
            s.random.state = value;
        else
            return 2;
    }
    int code = soak_run(&s);
    printf("%lu calls, %llu bytes, %lu failures, %lu disconnects, %llu lost\n", s.calls, s.bytes,
           s.failures, s.seen_disconnects, s.lost);
    // nothing damages frames here
    return code || s.lost || s.failures != s.seen_disconnects ? 1 : 0;
}
