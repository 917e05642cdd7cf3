// SPDX-License-Identifier: Apache-2.0
//
// usage: soak --serial S [--disconnects N | --seconds S] [--seed N]
// SIGTERM ends it after the current call.
#include "soak.h"

#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct asked {
    struct soak soak;
    unsigned long disconnects;
    time_t end;
};

static volatile sig_atomic_t ended;

static void on_term(int number)
{
    (void)number;
    ended = 1;
}

static bool enough(void *context)
{
    const struct asked *a = context;
    if (ended)
        return true;
    return a->disconnects ? a->soak.disconnects >= a->disconnects : time(NULL) >= a->end;
}

int main(int argc, char **argv)
{
    struct asked a = {.soak = {.keeps = true, .large = 4, .enough = enough}};
    struct soak *s = &a.soak;
    s->context = &a;
    signal(SIGTERM, on_term);
    static const struct option options[] = {{"serial", required_argument, NULL, 's'},
                                            {"disconnects", required_argument, NULL, 'd'},
                                            {"seconds", required_argument, NULL, 't'},
                                            {"seed", required_argument, NULL, 'r'},
                                            {NULL, 0, NULL, 0}};
    for (int id; (id = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        unsigned long value = optarg ? strtoul(optarg, NULL, 0) : 0;
        if (id == 's')
            s->serial = optarg;
        else if (id == 'd')
            a.disconnects = value;
        else if (id == 't')
            a.end = time(NULL) + (time_t)value;
        else if (id == 'r')
            s->random.state = value;
        else
            return 2;
    }
    int code = soak_run(s);
    unsigned long failures = s->timeouts + s->errors; // nothing damages frames here
    printf("%lu calls, %llu bytes, %lu failures, %lu disconnects, %llu lost\n", s->calls, s->bytes,
           failures, s->disconnects, s->lost);
    return code || s->lost || s->wrong || failures || s->disconnects < a.disconnects;
}
