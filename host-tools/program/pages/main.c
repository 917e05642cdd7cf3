// SPDX-License-Identifier: Apache-2.0
//
// mw-pages MAN COMPLETION: writes the manual pages of `moeswitch` and its commands into the
// folder MAN, and completion for bash into the folder COMPLETION. Part of the build, not
// of what is installed.
#include "program/pages/pages.h"

#include <stdbool.h>
#include <stdlib.h>

static FILE *open_page(const char *folder, const char *name, const char *suffix)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s%s", folder, name, suffix);
    FILE *f = fopen(path, "w");
    if (!f) {
        perror(path);
        exit(EXIT_FAILURE);
    }
    return f;
}

static void close_page(FILE *f)
{
    bool failed = ferror(f) != 0;
    failed |= fclose(f) != 0;
    if (!failed)
        return;
    perror("mw-pages");
    exit(EXIT_FAILURE);
}

int main(int argc, char **argv)
{
    char name[MW_PAGE_NAME_BYTES];
    if (argc != 3) {
        fputs("usage: mw-pages MAN COMPLETION\n", stderr);
        return EXIT_FAILURE;
    }
    FILE *f = open_page(argv[1], "moeswitch", ".1");
    mw_page_overview(f);
    close_page(f);
    for (unsigned i = 0; i < mw_command_count; i++) {
        mw_page_name(mw_commands[i].table, name);
        f = open_page(argv[1], name, ".1");
        mw_page_command(f, mw_commands[i].table);
        close_page(f);
    }
    f = open_page(argv[2], "moeswitch", "");
    mw_completion(f);
    close_page(f);
    return EXIT_SUCCESS;
}
