// SPDX-License-Identifier: Apache-2.0
//
// Each configuration is a shared object <configuration>/libmwsim.so, in one of these folders:
//
//   MOESWITCH_MODEL   that and no other; it may be a model's file, too
//   build folder      model/ beside the program or the library, or above one of them
//   library's folder  moeswitch/model/ or lib/moeswitch/model/ there: what `make install` writes
//   user's cache      moeswitch/<version>/model/ in XDG_CACHE_HOME, or in .cache of HOME
//
// n2f16-published and n2f16-basic beside n2f16 lack primitives that only some systems need, and
// replace it if those are not requested. An installed model serves every processor of its kind:
// n2f16 uses lanes, for the processors that its note allows, and n2f16-plain replaces it on others.
// The library starts no compiler: if a model is missing, its message has the command that builds
// it.
#include "transport_sim/model_find.h"

#include "core/error.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const INSTALLED[] = {"moeswitch/model", "lib/moeswitch/model"};

// ---- folders ------------------------------------------------------------------------------------

static bool library_folder(char folder[MWI_PATH])
{
    for (size_t i = 0; i < sizeof INSTALLED / sizeof *INSTALLED; i++)
        if (mwi_path_upwards(INSTALLED[i], folder))
            return true;
    return false;
}

// ---- what is there ------------------------------------------------------------------------------

/// Path of a configuration in a folder of models; whether it is there.
static bool model_in(const char *folder, const char *name, char path[MWI_PATH])
{
    return (size_t)snprintf(path, MWI_PATH, "%s/%s/libmwsim.so", folder, name) < MWI_PATH &&
           access(path, R_OK) == 0;
}

/// Take the model of a folder, or the plain one if that cannot run here and neither a backend nor
/// waveforms were requested. MW_ERR_NODEV with an empty message: there is none.
static int take(const struct mw_open_options *o, const char *folder, char path[MWI_PATH],
                struct mw_simulation *made, char *message, size_t size)
{
    char name[MWI_MODEL_NAME], plain[MWI_MODEL_NAME + 8], other[MWI_PATH];
    mwi_model_name(o, name);
    snprintf(plain, sizeof plain, "%s-plain", name);
    const bool any = !o->backend && !o->fst;
    *message = 0;
    int status = MW_ERR_NODEV;
    if (model_in(folder, name, path))
        status = mwi_model_note(path, MWI_FABRIC, made, message, size);
    if (status && any && model_in(folder, plain, other)) {
        struct mw_simulation others;
        char why[MWI_MESSAGE];
        if (mwi_model_note(other, MWI_FABRIC, &others, why, sizeof why) == 0) {
            memcpy(path, other, sizeof other);
            *made = others;
            return 0;
        }
        if (!*message)
            snprintf(message, size, "%s", why);
    }
    return status;
}

/// The same in the library's folder and in the cache.
static int take_installed(const struct mw_open_options *o, char path[MWI_PATH],
                          struct mw_simulation *made, char *message, size_t size)
{
    char folder[MWI_PATH], cache[MWI_PATH], why[MWI_MESSAGE] = "";
    int status = library_folder(folder) ? take(o, folder, path, made, message, size) : MW_ERR_NODEV;
    if (!status || !mwi_model_cache(cache) || !mwi_path_join(folder, cache, "model"))
        return status;
    int cached = take(o, folder, path, made, why, sizeof why);
    if (cached && *message)
        return status;
    snprintf(message, size, "%s", why);
    return cached;
}

// ---- none ---------------------------------------------------------------------------------------

/// Names of the configurations in the library's folder, a comma between them.
static void installed(char *list, size_t size)
{
    char folder[MWI_PATH];
    struct dirent **entries;
    *list = 0;
    int count = library_folder(folder) ? scandir(folder, &entries, NULL, versionsort) : -1;
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        size_t at = strlen(list);
        if (*name == 'n' && !strchr(name, '-') && strlen(name) + 3 < size - at)
            sprintf(list + at, "%s%s", at ? ", " : "", name);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
}

/// What to do where the program or the library is among the sources, and where it is not.
static int no_model(const struct mw_open_options *o, char *message, size_t size)
{
    char name[MWI_MODEL_NAME], make[MWI_MODEL_MAKE], list[160], source[MWI_PATH];
    mwi_model_name(o, name);
    mwi_model_make(o, make);
    if (mwi_model_source(source)) {
        snprintf(message, size, "no model %s: %s in %s", name, make, source);
        return MW_ERR_NODEV;
    }
    installed(list, sizeof list);
    snprintf(
        message, size,
        "no model %s%s%s%s: set MOESWITCH_SOURCE to the folder of moeswitch's sources, from which "
        "the command moeswitch builds it; or type %s there, and set MOESWITCH_MODEL to its "
        "build/model",
        name, *list ? " (installed: " : "", list, *list ? ")" : "", make);
    return MW_ERR_NODEV;
}

/// MOESWITCH_MODEL: a model, or a folder of models.
static int named(const struct mw_open_options *o, const char *place, char path[MWI_PATH],
                 struct mw_simulation *made, char *message, size_t size)
{
    struct stat s;
    char name[MWI_MODEL_NAME];
    mwi_model_name(o, name);
    if (stat(place, &s)) {
        snprintf(message, size, "MOESWITCH_MODEL=%s: %s", place, strerror(errno));
        return MW_ERR_NODEV;
    }
    if (!S_ISDIR(s.st_mode)) {
        snprintf(path, MWI_PATH, "%s", place);
        return mwi_model_note(path, MWI_FABRIC, made, message, size);
    }
    int status = take(o, place, path, made, message, size);
    if (status && !*message)
        snprintf(message, size, "MOESWITCH_MODEL=%s: no model %s there", place, name);
    return status;
}

/// Replace the complete model that was found by the model of a kind beside it, if both have the
/// same sources and backend. So after a rebuild of the complete model alone, that one is used.
static bool take_kind(const char *kind, char path[MWI_PATH], struct mw_simulation *made)
{
    struct mw_simulation others;
    char other[MWI_PATH], why[MWI_MESSAGE];
    const char *slash = strrchr(path, '/');
    const int folder = slash ? (int)(slash - path) : 0;
    if ((size_t)snprintf(other, MWI_PATH, "%.*s-%s%s", folder, path, kind, path + folder) >=
            MWI_PATH ||
        access(other, R_OK) || mwi_model_note(other, MWI_FABRIC, &others, why, sizeof why) ||
        strcmp(others.backend, made->backend) != 0 || strcmp(others.sources, made->sources) != 0)
        return false;
    memcpy(path, other, sizeof other);
    *made = others;
    return true;
}

/// The model that was found, or the one beside it with the fewest primitives that has the requested
/// ones.
static void take_least(enum mw_primitives asked, char path[MWI_PATH], struct mw_simulation *made)
{
    // each has those of all after it
    static const char *const kinds[] = {
        [MW_PRIMITIVES_PUBLISHED] = "published", [MW_PRIMITIVES_BASIC] = "basic"};
    for (unsigned i = asked; i > MW_PRIMITIVES_ALL; i--)
        if (take_kind(kinds[i], path, made))
            return;
}

static int find(const struct mw_open_options *o, char *path, struct mw_simulation *made,
                char *message, size_t size)
{
    char name[MWI_MODEL_NAME], suffix[MWI_MODEL_NAME + 24], source[MWI_PATH];
    const char *place = secure_getenv("MOESWITCH_MODEL");
    if (o->model) {
        snprintf(path, MWI_PATH, "%s", o->model);
        return mwi_model_note(path, MWI_FABRIC, made, message, size);
    }
    if (place && *place)
        return named(o, place, path, made, message, size);
    mwi_model_name(o, name);
    snprintf(suffix, sizeof suffix, "model/%s/libmwsim.so", name);
    if (mwi_path_upwards(suffix, path))
        return mwi_model_note(path, MWI_FABRIC, made, message, size);
    if (mwi_model_source(source))
        return no_model(o, message, size);
    int status = take_installed(o, path, made, message, size);
    return status && !*message ? no_model(o, message, size) : status;
}

/// Whether the model's file is given by its name.
static bool by_name(const struct mw_open_options *o)
{
    const char *place = secure_getenv("MOESWITCH_MODEL");
    struct stat s;
    return o->model || (place && *place && !(stat(place, &s) == 0 && S_ISDIR(s.st_mode)));
}

int mwi_model_find(const struct mw_open_options *o, char *path, struct mw_simulation *made,
                   char *message, size_t size)
{
    int status = find(o, path, made, message, size);
    if (!status && !o->small && !o->fst && !by_name(o))
        take_least(o->primitives, path, made);
    return status;
}
