// SPDX-License-Identifier: Apache-2.0
#include "transport_sim/model_place.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

enum { LEVELS = 4 };
static const char SOURCE[] = "rtl/fabric/fabric.sv";

// ---- names --------------------------------------------------------------------------------------

bool mwi_model_is_far(const struct mw_open_options *o)
{
    return !o->small && o->link_latency > MWI_NEAR_LATENCY;
}

void mwi_model_name(const struct mw_open_options *o, char name[MWI_MODEL_NAME])
{
    const bool plain = o->backend && strcmp(o->backend, "plain") == 0;
    snprintf(name, MWI_MODEL_NAME, "n%uf%u%s%s", o->gpus, o->flit_bytes,
             o->small              ? "-small"
             : mwi_model_is_far(o) ? "-far"
                                   : "",
             o->fst  ? "-fst"
             : plain ? "-plain"
                     : "");
}

void mwi_model_make(const struct mw_open_options *o, char command[MWI_MODEL_MAKE])
{
    snprintf(command, MWI_MODEL_MAKE, "make model N=%u F=%u%s%s%s%s", o->gpus, o->flit_bytes,
             o->small              ? " SMALL=1"
             : mwi_model_is_far(o) ? " FAR=1"
                                   : "",
             o->fst ? " TRACE=1" : "", o->backend ? " BACKEND=" : "", o->backend ? o->backend : "");
}

// ---- folders ------------------------------------------------------------------------------------

bool mwi_path_join(char path[MWI_PATH], const char *folder, const char *name)
{
    return (size_t)snprintf(path, MWI_PATH, "%s/%s", folder, name) < MWI_PATH;
}

/// The folder of the program, and that of the library where it is a file of its own.
static bool folder_of(bool library, char folder[MWI_PATH])
{
    static const char anchor;
    const char *file = "/proc/self/exe";
    Dl_info info;
    // A program that has the library in it may be named without its folder here.
    if (library && dladdr(&anchor, &info) && strchr(info.dli_fname, '/'))
        file = info.dli_fname;
    char *full = realpath(file, NULL);
    if (!full && !library) { // no /proc: as it was started
        file = (const char *)getauxval(AT_EXECFN);
        full = file && strchr(file, '/') ? realpath(file, NULL) : NULL;
    }
    char *slash = full ? strrchr(full, '/') : NULL;
    if (slash)
        *slash = 0;
    const bool fits = slash && (size_t)snprintf(folder, MWI_PATH, "%s", full) < MWI_PATH;
    free(full);
    return fits;
}

bool mwi_path_upwards(const char *suffix, char found[MWI_PATH])
{
    char folder[MWI_PATH];
    for (unsigned i = 0; i < 2; i++) {
        if (!folder_of(i == 1, folder))
            continue;
        for (unsigned level = 0; level < LEVELS; level++) {
            if (mwi_path_join(found, folder, suffix) && access(found, R_OK) == 0)
                return true;
            char *slash = strrchr(folder, '/');
            if (!slash || slash == folder)
                break;
            *slash = 0;
        }
    }
    return false;
}

bool mwi_model_is_source(const char *folder)
{
    char file[MWI_PATH];
    return mwi_path_join(file, folder, SOURCE) && access(file, R_OK) == 0;
}

bool mwi_model_source(char folder[MWI_PATH])
{
    if (!mwi_path_upwards(SOURCE, folder))
        return false;
    folder[strlen(folder) - strlen(SOURCE) - 1] = 0;
    return true;
}

bool mwi_model_cache(char folder[MWI_PATH])
{
    const char *cache = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");
    const char *name = "moeswitch/" MW_VERSION;
    if (cache && *cache == '/')
        return mwi_path_join(folder, cache, name);
    return home && *home == '/' && mwi_path_join(folder, home, ".cache/moeswitch/" MW_VERSION);
}
