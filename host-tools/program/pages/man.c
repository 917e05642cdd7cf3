// SPDX-License-Identifier: Apache-2.0
//
// Manual pages in man(7), see pages.h.
#include "cli/command_help.h"
#include "program/pages/pages.h"

#include "moeswitch.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/// Text as roff has it: no character of it is a request or an escape, and a hyphen is
/// one that can be copied.
static void text(FILE *out, const char *from)
{
    if (*from == '.' || *from == '\'')
        fputs("\\&", out);
    for (; *from; from++)
        if (*from == '\\')
            fputs("\\e", out);
        else if (*from == '-')
            fputs("\\-", out);
        else if (*from == '\n')
            fputc(' ', out);
        else
            fputc(*from, out);
    fputc('\n', out);
}

static void section(FILE *out, const char *title)
{
    fputs(".SH \"", out);
    for (; *title; title++)
        fputc(toupper((unsigned char)*title), out);
    fputs("\"\n", out);
}

static void entry(FILE *out, const char *head, const char *what)
{
    fputs(".TP\n.B ", out);
    text(out, head);
    text(out, what ? what : "");
}

void mw_page_name(const struct mw_option_table *t, char name[MW_PAGE_NAME_BYTES])
{
    snprintf(name, MW_PAGE_NAME_BYTES, "moeswitch-%s", t->command);
    for (char *c = name; *c; c++)
        if (*c == ' ')
            *c = '-';
}

static void head(FILE *out, const char *name, const char *summary)
{
    fputs(".TH ", out);
    for (const char *c = name; *c; c++)
        fputc(toupper((unsigned char)*c), out);
    fprintf(out, " 1 \"\" \"moeswitch %s\" \"User Commands\"\n", MW_VERSION);
    section(out, "name");
    fprintf(out, "%s \\- ", name);
    text(out, summary);
}

static void synopsis(FILE *out, const struct mw_option_table *t)
{
    section(out, "synopsis");
    for (const char *line = t->synopsis; *line;) {
        char words[256];
        size_t length = strcspn(line, "\n");
        snprintf(words, sizeof words, "%.*s", (int)length, line);
        fprintf(out, ".B moeswitch %s\n", t->command);
        text(out, words);
        line += length + (line[length] == '\n');
        if (*line)
            fputs(".br\n", out);
    }
}

static void options(FILE *out, const struct mw_option_table *t)
{
    char name[MW_OPTION_HEAD_BYTES], what[MW_OPTION_TEXT_BYTES];
    void *defaults = mw_option_defaults(t);
    section(out, "options");
    for (unsigned i = 0; defaults && i < t->count; i++) {
        const struct mw_option *o = &t->option[i];
        if (o->kind == MW_OPTION_GROUP) {
            fputs(".SS ", out);
            text(out, o->text);
            continue;
        }
        mw_option_head(o, name);
        mw_option_text(o, defaults, what);
        entry(out, name, what);
    }
    entry(out, MW_HELP_HEAD, MW_HELP_TEXT);
    free(defaults);
}

void mw_page_command(FILE *out, const struct mw_option_table *t)
{
    char name[MW_PAGE_NAME_BYTES];
    struct mw_term term;
    mw_page_name(t, name);
    head(out, name, t->summary);
    synopsis(out, t);
    section(out, "description");
    text(out, t->text);
    options(out, t);
    for (const struct mw_section *s = t->section; s && s->title; s++) {
        section(out, s->title);
        for (unsigned i = 0; s->terms(i, &term); i++)
            entry(out, term.name, term.text);
    }
    section(out, "see also");
    fputs(".BR moeswitch (1),\n.BR libmoeswitch (3)\n", out);
}

void mw_page_overview(FILE *out)
{
    char name[MW_PAGE_NAME_BYTES];
    head(out, "moeswitch", "in-switch computing for mixture-of-experts layers");
    section(out, "synopsis");
    fputs(".B moeswitch\n", out);
    text(out, "COMMAND [OPTION]...");
    fputs(".br\n.B moeswitch\n", out);
    text(out, "--help | --version");
    section(out, "description");
    text(
        out,
        "Runs mixture-of-experts layers through a switch that multicasts and reduces, simulated or "
        "on a board, checks every bit, and measures in cycles what each mechanism is worth.");
    section(out, "commands");
    for (unsigned i = 0; i < mw_command_count; i++)
        entry(out, mw_commands[i].table->command, mw_commands[i].table->summary);
    section(out, "environment");
    entry(out, "NO_COLOR", "if it is set and not empty, tables have no colour, even on a terminal");
    section(out, "see also");
    for (unsigned i = 0; i < mw_command_count; i++) {
        mw_page_name(mw_commands[i].table, name);
        fprintf(out, ".BR %s (1),\n", name);
    }
    fputs(".BR libmoeswitch (3)\n", out);
}
