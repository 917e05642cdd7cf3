// SPDX-License-Identifier: Apache-2.0
//
// Options of a command as a table, and the one loop that reads a command line by it.
#ifndef MW_HOST_OPTION_TABLE_H
#define MW_HOST_OPTION_TABLE_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/// A name, and what it is: a value of an option, a word of a command, a column, an exit status.
struct mw_term {
    const char *name, *text; ///< text: one line, or NULL if the name is enough
};
/// The i-th of a list of them; false after the last.
typedef bool mw_terms(unsigned i, struct mw_term *term);
/// Define such a list as `function`, of the structs that follow.
#define MW_TERMS(function, ...) \
    bool function(unsigned i, struct mw_term *term) \
    { \
        static const struct mw_term list[] = {__VA_ARGS__}; \
        if (i >= sizeof list / sizeof *list) \
            return false; \
        *term = list[i]; \
        return true; \
    } \
    _Static_assert(1, "the semicolon behind it")

enum mw_option_kind {
    MW_OPTION_GROUP,    ///< none, but the title, in `text`, of those that follow
    MW_OPTION_FLAG,     ///< without a value: a bool that becomes true
    MW_OPTION_UNSIGNED, ///< a whole number in low .. high
    MW_OPTION_NUMBER,   ///< the same, of 64 bits
    MW_OPTION_REAL,     ///< a double in low .. high, in thousandths
    MW_OPTION_PATH,     ///< a const char *, not empty; it points into the command line
    MW_OPTION_OWN,      ///< what `set` makes of it
};

/// Read `text`, the value of --`name`, into its place in the parameters.
typedef int mw_option_set(void *place, const char *name, const char *text, struct mw_error *err);

/// An option --`name`, whose value goes to `offset` in the command's parameters. The macros below
/// make one. `place` is an offsetof. Parsing, help, manual page and completion are all made of it.
struct mw_option {
    const char *name;
    enum mw_option_kind kind;
    size_t offset;
    uint64_t low, high;
    mw_option_set *set;
    /// Of the value, for people: "N". Completion gives the names of files for "FILE",
    /// of folders for "DIR".
    const char *value;
    /// What it does. In it, `{}` is replaced by the range of a number, or by the list of values,
    /// and `{default}` by a number's default.
    const char *text;
    mw_terms *terms; ///< the values that there are, or NULL
    bool repeats;    ///< may be there several times, as each adds something
};

#define MW_OPTION(n, kind, place, from, to, function, value, text, terms) \
    { \
        n, kind, place, from, to, function, value, text, terms, false \
    }
#define MW_GROUP(title) MW_OPTION(NULL, MW_OPTION_GROUP, 0, 0, 0, NULL, NULL, title, NULL)
#define MW_FLAG(n, place, text) MW_OPTION(n, MW_OPTION_FLAG, place, 0, 0, NULL, NULL, text, NULL)
#define MW_UNSIGNED(n, place, from, to, value, text) \
    MW_OPTION(n, MW_OPTION_UNSIGNED, place, from, to, NULL, value, text, NULL)
#define MW_NUMBER(n, place, from, to, value, text) \
    MW_OPTION(n, MW_OPTION_NUMBER, place, from, to, NULL, value, text, NULL)
#define MW_REAL(n, place, from, to, value, text) \
    MW_OPTION(n, MW_OPTION_REAL, place, (uint64_t)(1000 * (from) + 0.5), \
              (uint64_t)(1000 * (to) + 0.5), NULL, value, text, NULL)
#define MW_PATH(n, place, value, text) \
    MW_OPTION(n, MW_OPTION_PATH, place, 0, 0, NULL, value, text, NULL)
#define MW_OWN(n, place, function, value, text) \
    MW_OPTION(n, MW_OPTION_OWN, place, 0, 0, function, value, text, NULL)
/// Numbers in from .. to, in a form that `function` reads.
#define MW_NUMBERS(n, place, from, to, function, value, text) \
    MW_OPTION(n, MW_OPTION_OWN, place, from, to, function, value, text, NULL)
/// Each adds something to what is there.
#define MW_ADDS(n, place, function, terms, value, text) \
    { \
        n, MW_OPTION_OWN, place, 0, 0, function, value, text, terms, true \
    }
#define MW_CHOICE(n, place, function, terms, value, text) \
    MW_OPTION(n, MW_OPTION_OWN, place, 0, 0, function, value, text, terms)

enum { MW_MAX_OPTIONS = 96 };

/// A section of help and manual page after the options: columns, exit statuses.
struct mw_section {
    const char *title;
    mw_terms *terms;
};

/// A command and its options; --help and -h are those of every command.
struct mw_option_table {
    const char *command; ///< after "moeswitch": "run", "bench link"
    const struct mw_option *option;
    unsigned count; ///< at most MW_MAX_OPTIONS
    /// A word that is no option and no value. NULL: there may be none.
    int (*word)(void *params, const char *text, struct mw_error *err);
    mw_terms *words;                  ///< what such a word may be, or NULL
    const char *file;                 ///< or it is a file ("FILE") or a folder ("DIR"); or NULL
    const char *summary;              ///< half a line
    const char *synopsis;             ///< the words after the command, a line for each form
    const char *text;                 ///< what it does, and what users need for it
    const struct mw_section *section; ///< up to one without a title; or NULL
    /// Set all parameters to their defaults. NULL: all zero.
    void (*defaults)(void *params);
    size_t params_bytes; ///< of them
};

/// Which options of the table a command line has. After `help`, no other word was read.
struct mw_options_said {
    bool help;
    bool given[MW_MAX_OPTIONS];
};

/// The ends of a number's range, as text.
enum { MW_END_BYTES = 24 };
const char *mw_option_end(const struct mw_option *option, uint64_t end, char text[MW_END_BYTES]);
/// Read the words after argv[0] into `params`. A word that would override an earlier one, as a
/// second --gpus, is refused.
int mw_options_parse(const struct mw_option_table *table, int argc, char **argv, void *params,
                     struct mw_options_said *said, struct mw_error *err);
bool mw_option_given(const struct mw_option_table *table, const struct mw_options_said *said,
                     const char *name);

/// The one of `count` names that `text` most likely means, or NULL if none is similar. Case does
/// not count, and at most a third of the letters may be wrong, missing or too many.
const char *mw_closest(const char *text, const char *const *names, unsigned count);

#endif
