// SPDX-License-Identifier: Apache-2.0
//
// See option_table.h. getopt_long finds options and values; messages are made here, in one line.
#include "cli/option_table.h"

#include "cli/option_value.h"

#include <assert.h>
#include <ctype.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    WORD = 1,          ///< what getopt_long returns for a word that is no option
    FIRST = 256,       ///< and for option 0
    CLOSEST_BYTES = 64 ///< of names that are compared
};

// ---- names that are nearly right ----------------------------------------------------------------

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/// Letters that must be changed, taken out or put in to make one text of the other.
static unsigned distance(const char *a, const char *b)
{
    size_t n = strlen(b);
    unsigned row[CLOSEST_BYTES];
    for (unsigned j = 0; j <= n; j++)
        row[j] = j;
    for (unsigned i = 1; a[i - 1]; i++) {
        unsigned diagonal = row[0];
        row[0] = i;
        for (unsigned j = 1; j <= n; j++) {
            bool same = tolower((unsigned char)a[i - 1]) == tolower((unsigned char)b[j - 1]);
            unsigned change = diagonal + !same;
            diagonal = row[j];
            row[j] = least(change, least(row[j], row[j - 1]) + 1);
        }
    }
    return row[n];
}

const char *mw_closest(const char *text, const char *const *names, unsigned count)
{
    const char *found = NULL;
    size_t length = strlen(text);
    unsigned best = (unsigned)length / 3 + 1;
    for (unsigned i = 0; i < count && length < CLOSEST_BYTES; i++) {
        if (strlen(names[i]) >= CLOSEST_BYTES)
            continue;
        unsigned d = distance(text, names[i]);
        if (d < best) {
            best = d;
            found = names[i];
        }
    }
    return found;
}

const char *mw_option_end(const struct mw_option *o, uint64_t end, char text[MW_END_BYTES])
{
    if (o->kind == MW_OPTION_REAL)
        snprintf(text, MW_END_BYTES, "%.10g", (double)end / 1000);
    else
        snprintf(text, MW_END_BYTES, "%" PRIu64, end);
    return text;
}

// ---- the loop -----------------------------------------------------------------------------------

static int set(const struct mw_option *o, void *params, const char *text, struct mw_error *err)
{
    void *place = (char *)params + o->offset;
    switch (o->kind) {
    case MW_OPTION_GROUP:
        break;
    case MW_OPTION_FLAG:
        *(bool *)place = true;
        return MW_EXIT_OK;
    case MW_OPTION_UNSIGNED:
        return mw_set_unsigned(o->name, text, (unsigned)o->low, (unsigned)o->high, place, err);
    case MW_OPTION_NUMBER:
        return mw_set_number(o->name, text, o->low, o->high, place, err);
    case MW_OPTION_REAL:
        return mw_set_real(o->name, text, (double)o->low / 1000, (double)o->high / 1000, place,
                           err);
    case MW_OPTION_PATH:
        return mw_set_path(o->name, text, place, err);
    case MW_OPTION_OWN:
        return o->set(place, o->name, text, err);
    }
    assert(!"an option");
    return MW_EXIT_FAILED;
}

static int unknown(const struct mw_option_table *t, const char *word, struct mw_error *err)
{
    const char *names[MW_MAX_OPTIONS];
    char name[CLOSEST_BYTES];
    unsigned count = 0;
    for (unsigned i = 0; i < t->count; i++)
        if (t->option[i].name)
            names[count++] = t->option[i].name;
    size_t length = strcspn(word, "=");
    snprintf(name, sizeof name, "%.*s", (int)length, word);
    const char *near = strncmp(name, "--", 2) == 0 ? mw_closest(name + 2, names, count) : NULL;
    return mw_fail(err, MW_EXIT_INPUT, "%s: unknown option, see moeswitch %s --help%s%s%s", word,
                   t->command, near ? " (--" : "", near ? near : "", near ? "?)" : "");
}

static int take_word(const struct mw_option_table *t, const char *word, void *params,
                     struct mw_error *err)
{
    if (!*word)
        return mw_fail(err, MW_EXIT_INPUT, "a word is empty, see moeswitch %s --help", t->command);
    if (t->word)
        return t->word(params, word, err);
    return mw_fail(err, MW_EXIT_INPUT, "%s: unexpected word, see moeswitch %s --help", word,
                   t->command);
}

/// Handle the result of getopt_long, and the word that it read.
static int take(const struct mw_option_table *t, int id, const char *word, void *params,
                struct mw_options_said *said, struct mw_error *err)
{
    if (id == WORD)
        return take_word(t, optarg, params, err);
    if (id == ':')
        return mw_fail(err, MW_EXIT_INPUT, "%s: the value is missing", word);
    if (id == '?' && optopt >= FIRST)
        return mw_fail(err, MW_EXIT_INPUT, "%s: the option has no value", word);
    if (id == '?')
        return unknown(t, word, err);
    unsigned i = (unsigned)(id - FIRST);
    if (id == 'h' || i == t->count) {
        said->help = true;
        return MW_EXIT_OK;
    }
    const struct mw_option *o = &t->option[i];
    if (said->given[i] && o->kind != MW_OPTION_FLAG && !o->repeats)
        return mw_fail(err, MW_EXIT_INPUT, "--%s %s: --%s is there twice", o->name, optarg,
                       o->name);
    said->given[i] = true;
    return set(o, params, optarg ? optarg : "", err);
}

static void list_options(const struct mw_option_table *t, struct option *list)
{
    assert(t->count <= MW_MAX_OPTIONS);
    for (unsigned i = 0; i < t->count; i++)
        if (t->option[i].name)
            *list++ = (struct option){t->option[i].name, t->option[i].kind != MW_OPTION_FLAG, NULL,
                                      FIRST + (int)i};
    *list = (struct option){"help", no_argument, NULL, FIRST + (int)t->count};
}

int mw_options_parse(const struct mw_option_table *t, int argc, char **argv, void *params,
                     struct mw_options_said *said, struct mw_error *err)
{
    struct option list[MW_MAX_OPTIONS + 2] = {0};
    *said = (struct mw_options_said){0};
    list_options(t, list);
    int status = MW_EXIT_OK;
    optind = 0; // restarts, in glibc
    while (!status && !said->help) {
        int at = optind ? optind : 1;
        // The dash: words come in their place, as WORD; the colon: getopt_long prints nothing.
        int id = getopt_long(argc, argv, "-:h", list, NULL);
        if (id == -1)
            break;
        status = take(t, id, argv[at], params, said, err);
    }
    // after "--"
    while (!status && !said->help && optind < argc)
        status = take_word(t, argv[optind++], params, err);
    return status;
}

bool mw_option_given(const struct mw_option_table *t, const struct mw_options_said *said,
                     const char *name)
{
    for (unsigned i = 0; i < t->count; i++)
        if (t->option[i].name && strcmp(t->option[i].name, name) == 0)
            return said->given[i];
    assert(!"an option of the table");
    return false;
}
