// SPDX-License-Identifier: Apache-2.0
//
// See waves.h.
#include "run/waves.h"

#include "analysis/bounds.h"
#include "base/error.h"
#include "base/output.h"
#include "base/text.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

/// Read by the handler, which may come at any time.
static const char *volatile paths[MW_SYSTEMS];
static struct sigaction before;

static void say(const char *text)
{
    if (write(STDERR_FILENO, text, strlen(text)) < 0)
        return; // standard error has no reader
}

static void give_up(int number)
{
    static char shown[MW_WAVES_BYTES];
    bool some = false;
    (void)number;
    for (unsigned i = 0; i < MW_SYSTEMS; i++) {
        const char *path = paths[i];
        if (!path)
            continue;
        if (!mw_output_is_special(path))
            unlink(path);
        if (!some)
            say("moeswitch: ");
        say(some ? ", " : "");
        say(mw_text_clean(shown, sizeof shown, path));
        some = true;
    }
    if (!some)
        return; // not the waveforms: abort() continues
    say(": cannot write the waveforms: the disk is full, or the file cannot be written to its "
        "end\n");
    _exit(MW_EXIT_FAILED);
}

void mw_waves_begin(void)
{
    struct sigaction action = {.sa_handler = give_up};
    sigemptyset(&action.sa_mask);
    sigaction(SIGABRT, &action, &before);
}

void mw_waves_end(void)
{
    sigaction(SIGABRT, &before, NULL);
}

void mw_waves_written(unsigned slot, const char *path)
{
    paths[slot] = path;
}
