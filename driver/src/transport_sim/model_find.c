// SPDX-License-Identifier: Apache-2.0
//
// Each configuration is a shared object <configuration>/libmwsim.so, in one of these folders:
//
//   MOESWITCH_MODEL             that and no other; it may be a model's file, too
//   build folder                model/ beside the program or the library, or above one of them
//   library's folder            moeswitch/model/ or lib/moeswitch/model/ there: what `make install` writes
//   user's cache                moeswitch/<version>/model/ in XDG_CACHE_HOME, or in .cache of HOME
//
// n2f16-published and n2f16-basic beside n2f16 lack primitives that only some systems need, and stand in for it where
// those are not asked for. What is installed serves every processor of its kind: n2f16 is in lanes, for those that have
// what its note says, and n2f16-plain stands in for it on others. One that is not there is built by `make model`: in
// the build folder, where the sources are above the program or the library, else in the cache from those of
// MOESWITCH_SOURCE.
#include "transport_sim/model_find.h"

#include "core/error.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LEVELS = 4, NAME = 64 };
static const char SOURCES[] = "rtl/top/fabric.sv";
static const char *const INSTALLED[] = {"moeswitch/model", "lib/moeswitch/model"};

static void configuration(const struct mw_open_options *o, char name[NAME])
{
    const bool plain = o->backend && strcmp(o->backend, "plain") == 0;
    snprintf(name, NAME, "n%uf%u%s%s", o->gpus, o->flit_bytes, o->small ? "-small" : "",
             o->fst  ? "-fst"
             : plain ? "-plain"
                     : "");
}

// ---- folders ---------------------------------------------------------------------------------------------------

static bool join(char path[MWI_PATH], const char *folder, const char *name)
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

/// Look for folder + `suffix` in those two and in the folders above each; `found` gets the path.
static bool find_upwards(const char *suffix, char found[MWI_PATH])
{
    char folder[MWI_PATH];
    for (unsigned i = 0; i < 2; i++) {
        if (!folder_of(i == 1, folder))
            continue;
        for (unsigned level = 0; level < LEVELS; level++) {
            if (join(found, folder, suffix) && access(found, R_OK) == 0)
                return true;
            char *slash = strrchr(folder, '/');
            if (!slash || slash == folder)
                break;
            *slash = 0;
        }
    }
    return false;
}

static bool library_folder(char folder[MWI_PATH])
{
    for (size_t i = 0; i < sizeof INSTALLED / sizeof *INSTALLED; i++)
        if (find_upwards(INSTALLED[i], folder))
            return true;
    return false;
}

/// The user's cache, which need not be there; false: the user has none.
static bool cache_folder(char folder[MWI_PATH])
{
    const char *cache = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");
    const char *name = "moeswitch/" MW_VERSION;
    if (cache && *cache == '/')
        return join(folder, cache, name);
    return home && *home == '/' && join(folder, home, ".cache/moeswitch/" MW_VERSION);
}

// ---- what is there ---------------------------------------------------------------------------------------------

/// Path of a configuration in a folder of models; whether it is there.
static bool model_in(const char *folder, const char *name, char path[MWI_PATH])
{
    return (size_t)snprintf(path, MWI_PATH, "%s/%s/libmwsim.so", folder, name) < MWI_PATH &&
           access(path, R_OK) == 0;
}

/// Take the model of a folder, or the plain one where that cannot run here and none was asked for by name. MW_ERR_NODEV
/// with an empty message: there is none.
static int take(const struct mw_open_options *o, const char *folder, char path[MWI_PATH],
                struct mw_simulation *made, char *message, size_t size)
{
    char name[NAME], plain[NAME + 8], other[MWI_PATH];
    configuration(o, name);
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
    if (!status || !cache_folder(cache) || !join(folder, cache, "model"))
        return status;
    int cached = take(o, folder, path, made, why, sizeof why);
    if (cached && *message)
        return status;
    snprintf(message, size, "%s", why);
    return cached;
}

// ---- building --------------------------------------------------------------------------------------------------

/// Run make in `root`, with build folder `build` unless it is NULL; its output goes to standard error. Returns whether
/// it succeeded.
static bool make_model(const struct mw_open_options *o, const char *root, const char *build)
{
    char n[16], f[16], small[16], trace[16], backend[32], b[MWI_PATH + 2];
    snprintf(n, sizeof n, "N=%u", o->gpus);
    snprintf(f, sizeof f, "F=%u", o->flit_bytes);
    snprintf(small, sizeof small, "SMALL=%d", o->small);
    snprintf(trace, sizeof trace, "TRACE=%d", o->fst != NULL);
    snprintf(backend, sizeof backend, "BACKEND=%s", o->backend ? o->backend : "");
    snprintf(b, sizeof b, "B=%s", build ? build : "");
    pid_t child = fork();
    if (child == 0) {
        dup2(STDERR_FILENO, STDOUT_FILENO);
        unsetenv("MAKEFLAGS"); // job slots of a make around this program
        unsetenv("MAKELEVEL");
        execlp("make", "make", "--no-print-directory", "-C", root, "model", n, f, small, trace,
               backend, build ? b : (char *)NULL, (char *)NULL);
        _exit(127);
    }
    int status;
    pid_t ended;
    do
        ended = child > 0 ? waitpid(child, &status, 0) : -1;
    while (ended < 0 && child > 0 && errno == EINTR);
    return ended == child && child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// Programs that lack the same model must not build it at once: the others wait, and then have nothing to make. Returns
/// what to close, or -1.
static int take_turn(const char *file)
{
    int lock = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    while (lock >= 0 && flock(lock, LOCK_EX) && errno == EINTR)
        ;
    return lock;
}

static void say_building(const struct mw_open_options *o, const char *where)
{
    char name[NAME], line[MWI_PATH + 160];
    configuration(o, name);
    snprintf(line, sizeof line, "building the model %s%s%s, which takes some minutes", name,
             where ? " in " : "", where ? where : "");
    if (o->log)
        o->log(o->log_context, line);
}

/// What to type where a model is missing.
static void say_make(const struct mw_open_options *o, char *message, size_t size)
{
    char name[NAME];
    configuration(o, name);
    snprintf(message, size, "no model %s%s: make model N=%u F=%u%s%s%s%s", name,
             o->build ? ", and it cannot be built" : "", o->gpus, o->flit_bytes,
             o->small ? " SMALL=1" : "", o->fst ? " TRACE=1" : "", o->backend ? " BACKEND=" : "",
             o->backend ? o->backend : "");
}

/// In the build folder. One that is there and cannot run here (of another version, for another processor) is built
/// anew.
static int find_in_build(const struct mw_open_options *o, bool there, char root[MWI_PATH],
                         char path[MWI_PATH], struct mw_simulation *made, char *message,
                         size_t size)
{
    char name[NAME], suffix[NAME + 24];
    configuration(o, name);
    snprintf(suffix, sizeof suffix, "model/%s/libmwsim.so", name);
    if (there) {
        int status = mwi_model_note(path, MWI_FABRIC, made, message, size);
        if (!status || !o->build || status == MW_ERR_NOMEM) // which another one has not, either
            return status;
        if (o->log)
            o->log(o->log_context, message);
    }
    if (o->build && *root) {
        root[strlen(root) - strlen(SOURCES) - 1] = 0;
        say_building(o, NULL);
        char file[MWI_PATH];
        int lock = join(file, root, "build/models.lock") ? take_turn(file) : -1;
        bool built = make_model(o, root, NULL); // without a lock, too: the folder may be another
        if (lock >= 0)
            close(lock);
        if (built && find_upwards(suffix, path))
            return mwi_model_note(path, MWI_FABRIC, made, message, size);
    }
    say_make(o, message, size);
    return MW_ERR_NODEV;
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

/// Build one in the cache, where only one program builds at a time: what another has built meanwhile is taken.
static int build_in_cache(const struct mw_open_options *o, const char *root, char path[MWI_PATH],
                          struct mw_simulation *made, char *message, size_t size)
{
    char cache[MWI_PATH], file[MWI_PATH], why[MWI_MESSAGE];
    if (!cache_folder(cache)) {
        snprintf(message, size, "no folder for the model: neither HOME nor XDG_CACHE_HOME is set");
        return MW_ERR_NODEV;
    }
    int lock = make_folders(cache) && join(file, cache, "lock") ? take_turn(file) : -1;
    if (lock < 0) {
        snprintf(message, size, "%s, where the model is to be built: %s", cache, strerror(errno));
        return MW_ERR_NODEV;
    }
    int status = take_installed(o, path, made, why, sizeof why);
    if (status) {
        say_building(o, cache);
        if (make_model(o, root, cache)) {
            status = take_installed(o, path, made, message, size);
        } else {
            char said[200];
            say_make(o, said, sizeof said);
            snprintf(message, size, "%s in %s", said, root);
            status = MW_ERR_NODEV;
        }
    }
    close(lock);
    return status;
}

// ---- none ------------------------------------------------------------------------------------------------------

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

/// Neither found nor built, and there are no sources.
static int no_model(const struct mw_open_options *o, char *message, size_t size)
{
    char name[NAME], list[200];
    configuration(o, name);
    installed(list, sizeof list);
    snprintf(message, size,
             "no model %s%s%s%s: set MOESWITCH_SOURCE to the folder of moeswitch's sources, which "
             "builds it, or MOESWITCH_MODEL to one",
             name, *list ? " (installed: " : "", list, *list ? ")" : "");
    return MW_ERR_NODEV;
}

/// MOESWITCH_MODEL: a model, or a folder of models.
static int named(const struct mw_open_options *o, const char *place, char path[MWI_PATH],
                 struct mw_simulation *made, char *message, size_t size)
{
    struct stat s;
    char name[NAME];
    configuration(o, name);
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

/// The model of a kind beside the whole one that was found, in its place, where there is one of the same sources and
/// backend: whoever made the whole one anew alone gets that one.
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

/// What was found, or the one with the fewest primitives beside it that has those asked for.
static void take_least(enum mw_primitives asked, char path[MWI_PATH], struct mw_simulation *made)
{
    // each has those of all behind it
    static const char *const kinds[] = {
        [MW_PRIMITIVES_PUBLISHED] = "published", [MW_PRIMITIVES_BASIC] = "basic"};
    for (unsigned i = asked; i > MW_PRIMITIVES_ALL; i--)
        if (take_kind(kinds[i], path, made))
            return;
}

static int find(const struct mw_open_options *o, char *path, struct mw_simulation *made,
                char *message, size_t size)
{
    char name[NAME], suffix[NAME + 24], root[MWI_PATH] = "";
    const char *place = secure_getenv("MOESWITCH_MODEL"),
               *source = secure_getenv("MOESWITCH_SOURCE");
    if (o->model) {
        snprintf(path, MWI_PATH, "%s", o->model);
        return mwi_model_note(path, MWI_FABRIC, made, message, size);
    }
    if (place && *place)
        return named(o, place, path, made, message, size);
    configuration(o, name);
    snprintf(suffix, sizeof suffix, "model/%s/libmwsim.so", name);
    const bool there = find_upwards(suffix, path);
    if (!find_upwards(SOURCES, root))
        *root = 0;
    if (there || *root)
        return find_in_build(o, there, root, path, made, message, size);
    int status = take_installed(o, path, made, message, size);
    if (!status || !o->build || !source || !*source)
        return status && !*message ? no_model(o, message, size) : status;
    if (!join(path, source, SOURCES) || access(path, R_OK)) {
        snprintf(message, size, "MOESWITCH_SOURCE=%s: no sources of moeswitch there", source);
        return MW_ERR_NODEV;
    }
    if (*message && o->log)
        o->log(o->log_context, message);
    return build_in_cache(o, source, path, made, message, size);
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
