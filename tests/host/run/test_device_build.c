// SPDX-License-Identifier: Apache-2.0
//
// Building a model that is missing, with a `make` of the test's own: by the tool alone, and
// while signals arrive.
#include "host/support.h"

#include "device/device_build.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

static char folder[] = "/tmp/mw-make-XXXXXX", make[64], done[64], *path;

/// A slow `make` that fails.
static int put_make(void **state)
{
    (void)state;
    static const char script[] = "#!/bin/sh\n/bin/sleep 0.3\n: >\"${0%/*}/done\"\nexit 1\n";
    path = strdup(getenv("PATH"));
    if (!mkdtemp(folder))
        return -1;
    snprintf(make, sizeof make, "%s/make", folder);
    snprintf(done, sizeof done, "%s/done", folder);
    FILE *f = fopen(make, "w");
    if (!f)
        return -1;
    fputs(script, f);
    return fclose(f) || chmod(make, 0700) || setenv("PATH", folder, 1);
}

static int remove_make(void **state)
{
    (void)state;
    setenv("PATH", path, 1);
    free(path);
    unlink(done);
    unlink(make);
    return rmdir(folder);
}

/// Options of a model that no build has.
static struct mw_open_options missing(void)
{
    struct mw_open_options o;
    mw_open_defaults(&o);
    o.gpus = 31;
    return o;
}

static void library_builds_nothing(void **state)
{
    (void)state;
    const struct mw_open_options o = missing();
    struct mw_device *d;
    assert_int_equal(mw_open(&o, &d), MW_ERR_NODEV);
    assert_non_null(strstr(mw_message(), "no model n31f16: make model N=31 F=16 in /"));
    assert_int_not_equal(access(done, F_OK), 0);
}

static void nothing(int signal)
{
    (void)signal;
}

/// Signals interrupt the wait for `make`, but do not end it.
static void signals_while_a_model_is_built(void **state)
{
    (void)state;
    const struct sigaction action = {.sa_handler = nothing}; // calls are not restarted
    const struct itimerval often = {{0, 20000}, {0, 20000}}, never = {{0, 0}, {0, 0}};
    const struct mw_open_options o = missing();
    struct mw_device *d;
    struct mw_error err;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    int status = mw_device_open_built(&o, &d, &err);
    setitimer(ITIMER_REAL, &never, NULL);
    assert_int_equal(status, MW_EXIT_FAILED);
    assert_non_null(
        strstr(err.text, "no model n31f16, and it cannot be built: make model N=31 F=16"));
    assert_int_equal(access(done, F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(library_builds_nothing),
        cmocka_unit_test(signals_while_a_model_is_built),
    };
    return cmocka_run_group_tests(tests, put_make, remove_make);
}
