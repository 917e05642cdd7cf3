// SPDX-License-Identifier: Apache-2.0
#include "device/device_build.h"

#include "base/text.h"
#include "device/device.h"
#include "transport_sim/model_find.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/// Where a model is built.
struct build {
    char source[MWI_PATH];
    char folder[MWI_PATH]; ///< the build folder
    bool cache;            ///< it is the user's cache, not the sources' own
};

/// Whether the library looks for a model, and takes another one than a file that it was reported.
static bool looks_for_model(const struct mw_open_options *o)
{
    const char *place = secure_getenv("MOESWITCH_MODEL");
    return !o->custom && !o->model && o->transport && strcmp(o->transport, "sim") == 0 &&
           !(place && *place);
}

bool mw_device_lacks_model(const struct mw_open_options *o)
{
    char path[MWI_PATH], message[512];
    struct mw_simulation made;
    return !o->custom && o->transport && strcmp(o->transport, "sim") == 0 &&
           mwi_model_find(o, path, &made, message, sizeof message);
}

/// Where a model can be built. MW_EXIT_FAILED with an empty message: nowhere.
static int find_build(struct build *b, struct mw_error *err)
{
    const char *source = secure_getenv("MOESWITCH_SOURCE");
    b->cache = !mwi_model_source(b->source);
    if (!b->cache)
        return mwi_path_join(b->folder, b->source, "build") ? MW_EXIT_OK : MW_EXIT_FAILED;
    if (!source || !*source)
        return MW_EXIT_FAILED;
    if (!mwi_model_is_source(source))
        return mw_fail(err, MW_EXIT_FAILED, "MOESWITCH_SOURCE=%s: no sources of moeswitch there",
                       source);
    snprintf(b->source, sizeof b->source, "%s", source);
    if (!mwi_model_cache(b->folder))
        return mw_fail(err, MW_EXIT_FAILED,
                       "no folder for the model: neither HOME nor XDG_CACHE_HOME is set");
    return MW_EXIT_OK;
}

/// Make a folder and those above it.
static bool make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        bool made = mkdir(path, 0777) == 0 || errno == EEXIST;
        *slash = '/';
        if (!made)
            return false;
    }
    return mkdir(path, 0777) == 0 || errno == EEXIST;
}

/// Programs that lack the same model must not build it at once: the others wait, and then have
/// nothing to make. Returns what to close, or -1.
static int take_turn(struct build *b)
{
    char file[MWI_PATH];
    if (b->cache && !make_folders(b->folder))
        return -1;
    int lock = mwi_path_join(file, b->folder, b->cache ? "lock" : "models.lock")
                   ? open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0666)
                   : -1;
    while (lock >= 0 && flock(lock, LOCK_EX) && errno == EINTR)
        ;
    return lock;
}

/// Run make. Its output goes to standard error. Returns whether it succeeded.
static bool make_model(const struct mw_open_options *o, const struct build *b)
{
    char n[16], f[16], small[16], far[16], trace[16], backend[32], folder[MWI_PATH + 2];
    snprintf(n, sizeof n, "N=%u", o->gpus);
    snprintf(f, sizeof f, "F=%u", o->flit_bytes);
    snprintf(small, sizeof small, "SMALL=%d", o->small);
    snprintf(far, sizeof far, "FAR=%d", mwi_model_is_far(o));
    snprintf(trace, sizeof trace, "TRACE=%d", o->fst != NULL);
    snprintf(backend, sizeof backend, "BACKEND=%s", o->backend ? o->backend : "");
    snprintf(folder, sizeof folder, "B=%s", b->folder);
    pid_t parent = getpid(), child = fork();
    if (child == 0) {
        // compilers must not run on for minutes without a user
        if (prctl(PR_SET_PDEATHSIG, SIGTERM) || getppid() != parent)
            _exit(127);
        dup2(STDERR_FILENO, STDOUT_FILENO);
        unsetenv("MAKEFLAGS"); // job slots of a make around this program
        unsetenv("MAKELEVEL");
        execlp("make", "make", "--no-print-directory", "-C", b->source, "model", n, f, small, far,
               trace, backend, b->cache ? folder : (char *)NULL, (char *)NULL);
        _exit(127);
    }
    int status;
    pid_t ended;
    do
        ended = child > 0 ? waitpid(child, &status, 0) : -1;
    while (ended < 0 && child > 0 && errno == EINTR);
    return ended == child && child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// Build the model, and open the device. `code` is why it could not be opened before.
static int build_and_open(const struct mw_open_options *o, const struct build *b, int code,
                          struct mw_device **device, struct mw_error *err)
{
    char name[MWI_MODEL_NAME], make[MWI_MODEL_MAKE];
    mwi_model_name(o, name);
    mwi_model_make(o, make);
    if (code == MW_ERR_VERSION) // there is one, which cannot run here
        fprintf(stderr, "moeswitch: %s\n", MW_SHOWN(mw_message()));
    fprintf(stderr, "moeswitch: building the model %s%s%s, which takes some minutes\n", name,
            b->cache ? " in " : "", b->cache ? MW_SHOWN(b->folder) : "");
    if (!make_model(o, b))
        return mw_fail(err, MW_EXIT_FAILED, "no model %s, and it cannot be built: %s in %s", name,
                       make, b->source);
    code = mw_open(o, device);
    return code ? mw_device_failed(err, "device", code) : MW_EXIT_OK;
}

int mw_device_open_built(const struct mw_open_options *o, struct mw_device **device,
                         struct mw_error *err)
{
    struct build b;
    int code = mw_open(o, device);
    if ((code != MW_ERR_NODEV && code != MW_ERR_VERSION) || !looks_for_model(o))
        return code ? mw_device_failed(err, "device", code) : MW_EXIT_OK;
    err->text[0] = 0;
    int status = find_build(&b, err);
    if (status)
        return err->text[0] ? status : mw_device_failed(err, "device", code);
    int lock = take_turn(&b);
    if (lock < 0 && b.cache)
        return mw_fail(err, MW_EXIT_FAILED, "%s, where the model is to be built: %s", b.folder,
                       strerror(errno));
    code = mw_open(o, device); // another program may have built it
    if (!code)
        status = MW_EXIT_OK;
    else if (code == MW_ERR_NODEV || code == MW_ERR_VERSION)
        status = build_and_open(o, &b, code, device, err);
    else
        status = mw_device_failed(err, "device", code);
    if (lock >= 0)
        close(lock);
    return status;
}
