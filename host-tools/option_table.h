// SPDX-License-Identifier: Apache-2.0
//
// Options of a command as a table, and the one loop that reads a command line by it.
#ifndef MW_HOST_OPTION_TABLE_H
#define MW_HOST_OPTION_TABLE_H

#include "error.h"

#include <stddef.h>
#include <stdint.h>

enum mw_option_kind {
    MW_OPTION_FLAG,     ///< without a value: a bool that becomes true
    MW_OPTION_UNSIGNED, ///< a whole number in low .. high
    MW_OPTION_NUMBER,   ///< the same, of 64 bits
    MW_OPTION_REAL,     ///< a double in 0 .. high
    MW_OPTION_PATH,     ///< a const char *, not empty; it points into the command line
    MW_OPTION_OWN,      ///< what `set` makes of it
};

/// Read `text`, the value of --`name`, into its place in the parameters.
typedef int mw_option_set(void *place, const char *name, const char *text, struct mw_error *err);

/// An option --`name`, whose value goes to `offset` in the command's parameters. The macros below make
/// one; `place` is an offsetof.
struct mw_option {
    const char *name;
    enum mw_option_kind kind;
    size_t offset;
    uint64_t low, high;
    mw_option_set *set;
};

#define MW_OPTION(n, kind, place, from, to, function) \
    { \
        n, kind, place, from, to, function \
    }
#define MW_FLAG(n, place) MW_OPTION(n, MW_OPTION_FLAG, place, 0, 0, NULL)
#define MW_UNSIGNED(n, place, from, to) MW_OPTION(n, MW_OPTION_UNSIGNED, place, from, to, NULL)
#define MW_NUMBER(n, place, from, to) MW_OPTION(n, MW_OPTION_NUMBER, place, from, to, NULL)
#define MW_REAL(n, place, to) MW_OPTION(n, MW_OPTION_REAL, place, 0, to, NULL)
#define MW_PATH(n, place) MW_OPTION(n, MW_OPTION_PATH, place, 0, 0, NULL)
#define MW_OWN(n, place, function) MW_OPTION(n, MW_OPTION_OWN, place, 0, 0, function)

enum { MW_MAX_OPTIONS = 64 };

/// A command's options; --help and -h are those of every command.
struct mw_option_table {
    const char *command; ///< for messages: "run"
    const struct mw_option *option;
    unsigned count; ///< at most MW_MAX_OPTIONS
    /// A word that is no option and no value; NULL: there may be none.
    int (*word)(void *params, const char *text, struct mw_error *err);
};

/// What a command line said: bit i of `given` is option i. After `help` nothing else was looked at.
struct mw_options_said {
    bool help;
    uint64_t given;
};

/// Read the words behind argv[0] into `params`.
int mw_options_parse(const struct mw_option_table *table, int argc, char **argv, void *params,
                     struct mw_options_said *said, struct mw_error *err);
bool mw_option_given(const struct mw_option_table *table, const struct mw_options_said *said,
                     const char *name);

/// The one of `count` names that `text` was most likely meant to be, or NULL where none is near: case
/// does not count, and at most a third of the letters may be wrong, missing or too many.
const char *mw_closest(const char *text, const char *const *names, unsigned count);

#endif
