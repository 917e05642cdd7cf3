// SPDX-License-Identifier: Apache-2.0
//
// Completion for bash, see pages.h: what there is to complete, from the tables, and one
// function that looks it up. It needs nothing but bash: COMP_WORDS is cut at "=" and ":", so the
// line is taken instead.
#include "program/pages/pages.h"

#include <string.h>

static const char function[] =
    "_moeswitch()\n"
    "{\n"
    "    local line=${COMP_LINE:0:COMP_POINT} words word current command= value= prefix i\n"
    "    read -ra words <<<\"$line\"\n"
    "    [[ $line == *[[:space:]] ]] && words+=('')\n"
    "    current=${words[-1]}\n"
    "    words=(\"${words[@]:1:${#words[@]}-2}\")\n"
    "    COMPREPLY=()\n"
    "    [[ ${words[0]} == help ]] && words=(\"${words[@]:1}\") && command=help\n"
    "    for ((i = ${#words[@]}; i > 0; i--)); do\n"
    "        word=\"${words[*]:0:i}\"\n"
    "        [[ -n ${_moeswitch_options[$word]+x} ]] && break\n"
    "    done\n"
    "    if ((i == 0)) || [[ $command == help ]]; then\n"
    "        ((${#words[@]})) || COMPREPLY=($(compgen -W \"$_moeswitch_commands\" -- "
    "\"$current\"))\n"
    "        return\n"
    "    fi\n"
    "    command=$word\n"
    "    prefix=\n"
    "    if [[ $current == --*=* ]]; then\n"
    "        value=${_moeswitch_values[$command ${current%%=*}]}\n"
    "        prefix=${current%%=*}=\n"
    "    elif [[ ${words[-1]} == --* && ${#words[@]} -gt i ]]; then\n"
    "        value=${_moeswitch_values[$command ${words[-1]}]}\n"
    "    fi\n"
    "    if [[ -z $value && $current == -* ]]; then\n"
    "        COMPREPLY=($(compgen -W \"${_moeswitch_options[$command]}\" -- \"$current\"))\n"
    "        return\n"
    "    fi\n"
    "    [[ -z $value ]] && value=${_moeswitch_words[$command]} && [[ $value == *:* ]] &&\n"
    "        if ((${#words[@]} > i)); then value=${value#*:}; else value=${value%%:*}; fi\n"
    "    word=${current#\"$prefix\"}\n"
    "    case $value in\n"
    "    FILE) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- \"$word\")) ;;\n"
    "    DIR) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -d -- \"$word\")) ;;\n"
    "    none | '') ;;\n"
    "    *)\n"
    "        [[ $value == *= ]] && compopt -o nospace 2>/dev/null\n"
    "        local list=\n"
    "        [[ $word == *,* ]] && list=${word%,*},\n"
    "        COMPREPLY=($(compgen -P \"$prefix$list\" -W \"$value\" -- \"${word##*,}\"))\n"
    "        # readline replaces what is behind the last of these alone\n"
    "        [[ $current == *[=:]* ]] && prefix=${current%\"${current##*[=:]}\"} &&\n"
    "            COMPREPLY=(\"${COMPREPLY[@]#\"$prefix\"}\")\n"
    "        ;;\n"
    "    esac\n"
    "}\n"
    "complete -F _moeswitch moeswitch\n";

static void list(FILE *out, mw_terms *terms, const char *behind)
{
    struct mw_term term;
    for (unsigned i = 0; terms(i, &term); i++)
        fprintf(out, "%s%s%s", i ? " " : "", term.name, behind);
}

/// What may be after an option: names, "FILE" or "DIR". No option lists "none".
static void value(FILE *out, const char *command, const struct mw_option *o)
{
    bool assigns = strcmp(o->value, "NAME=VALUE") == 0;
    fprintf(out, "    ['%s --%s']='", command, o->name);
    if (o->terms)
        list(out, o->terms, assigns ? "=" : "");
    else if (strcmp(o->value, "FILE") == 0 || strcmp(o->value, "DIR") == 0)
        fputs(o->value, out);
    else
        fputs("none", out);
    fputs("'\n", out);
}

void mw_completion(FILE *out)
{
    fputs("# bash completion of moeswitch, made of its tables of options\n_moeswitch_commands='",
          out);
    for (unsigned i = 0; i < mw_command_count; i++)
        if (!strchr(mw_commands[i].table->command, ' '))
            fprintf(out, "%s ", mw_commands[i].table->command);
    fputs("help --help --version'\ndeclare -gA _moeswitch_options=(\n", out);
    for (unsigned i = 0; i < mw_command_count; i++) {
        const struct mw_option_table *t = mw_commands[i].table;
        fprintf(out, "    ['%s']='", t->command);
        for (unsigned k = 0; k < t->count; k++)
            if (t->option[k].name)
                fprintf(out, "--%s ", t->option[k].name);
        fputs("--help'\n", out);
    }
    fputs(")\ndeclare -gA _moeswitch_values=(\n", out);
    for (unsigned i = 0; i < mw_command_count; i++)
        for (unsigned k = 0; k < mw_commands[i].table->count; k++)
            if (mw_commands[i].table->option[k].value)
                value(out, mw_commands[i].table->command, &mw_commands[i].table->option[k]);
    // words of the command; if a file follows them, it is after a colon
    fputs(")\ndeclare -gA _moeswitch_words=(\n", out);
    for (unsigned i = 0; i < mw_command_count; i++) {
        const struct mw_option_table *t = mw_commands[i].table;
        fprintf(out, "    ['%s']='", t->command);
        if (t->words)
            list(out, t->words, "");
        if (t->file)
            fprintf(out, "%s%s", t->words ? ":" : "", t->file);
        fputs("'\n", out);
    }
    fputs(")\n", out);
    fputs(function, out);
}
