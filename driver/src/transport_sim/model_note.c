// SPDX-License-Identifier: Apache-2.0
//
// A model is compiled for a processor, and has constructors: dlopen of one that is for another
// may end the program. So its ELF note is read from the file first. The note is of type 1 and of
// "moeswitch", and its text is lines of a word, a blank and a value.
#include "transport_sim/model_note.h"

#include "transport_sim/cpu.h"
#include "definitions.h"
#include "mw_device.h"
#include "mw_sim.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NOTE_TYPE = 1, HEADERS_MOST = 256, NOTES_MOST = 1 << 16 };
static const char OWNER[] = "moeswitch";

static const struct {
    const char *name, *title, *make;
    unsigned interface;
} MODELS[] = {
    [MWI_FABRIC] = {"fabric", "the fabric", "model", MW_SIM_ABI},
    [MWI_DEVICE] = {"device", "the whole device", "device-model", MW_DEVICE_ABI},
};

#if defined(__x86_64__)
enum { MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { MACHINE = EM_AARCH64 };
#else
enum { MACHINE = EM_NONE }; // whatever dlopen takes
#endif

// ---- finding it ---------------------------------------------------------------------------------

static bool read_at(FILE *f, uint64_t at, void *to, size_t bytes)
{
    return at < INT64_MAX && fseek(f, (long)at, SEEK_SET) == 0 && fread(to, 1, bytes, f) == bytes;
}

/// The text of this project's note among those of a segment, or NULL. It ends after its last byte.
static char *find_note(char *notes, size_t bytes)
{
    for (size_t at = 0; at + sizeof(Elf64_Nhdr) <= bytes;) {
        Elf64_Nhdr h;
        memcpy(&h, notes + at, sizeof h);
        at += sizeof h;
        size_t name = ((size_t)h.n_namesz + 3) / 4 * 4, text = ((size_t)h.n_descsz + 3) / 4 * 4;
        if (name > bytes - at || text > bytes - at - name)
            return NULL;
        if (h.n_type == NOTE_TYPE && h.n_namesz == sizeof OWNER &&
            memcmp(notes + at, OWNER, sizeof OWNER) == 0) {
            notes[at + name + h.n_descsz] = 0;
            return notes + at + name;
        }
        at += name + text;
    }
    return NULL;
}

/// The text of this project's note, to be freed. NULL: there is none.
static char *read_text(FILE *f, const Elf64_Ehdr *e)
{
    for (unsigned i = 0; i < e->e_phnum && i < HEADERS_MOST; i++) {
        Elf64_Phdr p;
        if (!read_at(f, e->e_phoff + (uint64_t)i * sizeof p, &p, sizeof p))
            return NULL;
        if (p.p_type != PT_NOTE || p.p_filesz > NOTES_MOST)
            continue;
        char *notes = malloc(p.p_filesz + 1);
        char *text = notes && read_at(f, p.p_offset, notes, p.p_filesz)
                         ? find_note(notes, p.p_filesz)
                         : NULL;
        text = text ? strdup(text) : NULL;
        free(notes);
        if (text)
            return text;
    }
    return NULL;
}

static bool is_object(const Elf64_Ehdr *e)
{
    return memcmp(e->e_ident, ELFMAG, SELFMAG) == 0 && e->e_ident[EI_CLASS] == ELFCLASS64 &&
           e->e_ident[EI_DATA] == ELFDATA2LSB && e->e_phentsize == sizeof(Elf64_Phdr);
}

static uint64_t at_least(uint64_t most, uint64_t at, uint64_t bytes)
{
    const uint64_t end = bytes > UINT64_MAX - at ? UINT64_MAX : at + bytes;
    return end > most ? end : most;
}

/// Bytes that the file must have, as its headers say. dlopen does not look: a segment that is not
/// there ends the program.
static uint64_t whole_size(FILE *f, const Elf64_Ehdr *e)
{
    uint64_t size = at_least(sizeof *e, e->e_shoff, (uint64_t)e->e_shnum * e->e_shentsize);
    for (unsigned i = 0; i < e->e_phnum; i++) {
        Elf64_Phdr p;
        if (!read_at(f, e->e_phoff + (uint64_t)i * sizeof p, &p, sizeof p))
            return at_least(size, e->e_phoff, (uint64_t)e->e_phnum * sizeof p);
        size = at_least(size, p.p_offset, p.p_filesz);
    }
    return size;
}

static uint64_t size_of(FILE *f)
{
    return fseek(f, 0, SEEK_END) == 0 ? (uint64_t)ftell(f) : 0;
}

// ---- contents -----------------------------------------------------------------------------------

/// The value after a word at the beginning of a line. Empty if there is none. Whether it fits
/// `size` bytes. Else it is cut.
static bool take_value(const char *text, const char *word, char *value, size_t size)
{
    size_t length = strlen(word);
    *value = 0;
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, word, length) != 0 || line[length] != ' ')
            continue;
        const size_t bytes = strcspn(line + length + 1, "\n");
        snprintf(value, size, "%.*s", (int)bytes, line + length + 1);
        return bytes < size;
    }
    return true;
}

/// The word of the first line that does not fit `model`, NULL: all do.
static const char *take_all(const char *text, struct mw_simulation *m)
{
    const struct {
        const char *word;
        char *value;
        size_t size;
    } lines[] = {
        {"backend", m->backend, sizeof m->backend},
        {"cpu", m->cpu, sizeof m->cpu},
        {"verilator", m->verilator, sizeof m->verilator},
        {"compiler", m->compiler, sizeof m->compiler},
        {"flags", m->flags, sizeof m->flags},
        {"sources", m->sources, sizeof m->sources},
    };
    const char *cut = NULL;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (!take_value(text, lines[i].word, lines[i].value, lines[i].size) && !cut)
            cut = lines[i].word;
    return cut;
}

/// The first feature that the model needs and this processor lacks. False: it has all.
static bool lacks(const char *needs, char *missing, size_t size)
{
    for (const char *at = needs + strspn(needs, " "); *at; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        snprintf(missing, size, "%.*s", (int)length, at);
        if (!mwi_cpu_has(missing))
            return true;
        at += length;
    }
    return false;
}

static int check(const char *path, const char *text, enum mwi_model of, struct mw_simulation *m,
                 char *message, size_t size)
{
    char interface[16], model[16], definitions[72], make[160], missing[40];
    take_value(text, "interface", interface, sizeof interface);
    take_value(text, "model", model, sizeof model);
    take_value(text, "definitions", definitions, sizeof definitions);
    take_value(text, "make", make, sizeof make);
    const char *cut = take_all(text, m);
    if (*model && strcmp(model, MODELS[of].name) != 0) {
        snprintf(message, size, "%s is a model of the %s, not of %s", path, model,
                 MODELS[of].title);
        return MW_ERR_NODEV;
    }
    if (!*model || strtoul(interface, NULL, 10) != MODELS[of].interface) {
        snprintf(message, size, "%s has interface %s, the library %u: `make model` builds it anew",
                 path, *interface ? interface : "(none)", MODELS[of].interface);
        return MW_ERR_VERSION;
    }
    if (strcmp(definitions, MW_DEFINITIONS) != 0) {
        snprintf(message, size,
                 "%s and this library were built from different definitions (spec/): `make %s` "
                 "builds the model anew, `make` the tool and the library",
                 path, *make ? make : MODELS[of].make);
        return MW_ERR_VERSION;
    }
    if (cut) {
        snprintf(message, size, "%s: the line %s of its note is longer than the library takes",
                 path, cut);
        return MW_ERR_VERSION;
    }
    if (lacks(m->cpu, missing, sizeof missing)) {
        snprintf(message, size,
                 "%s was built for another processor: it needs %s, which this one lacks: `make "
                 "model` builds it for this one",
                 path, missing);
        return MW_ERR_VERSION;
    }
    return 0;
}

int mwi_model_note(const char *path, enum mwi_model of, struct mw_simulation *model, char *message,
                   size_t size)
{
    Elf64_Ehdr e;
    *model = (struct mw_simulation){0};
    FILE *f = fopen(path, "rb");
    if (!f) {
        const int cause = errno;
        snprintf(message, size, "%s: %s", path, strerror(cause));
        return cause == EMFILE || cause == ENFILE || cause == ENOMEM ? MW_ERR_NOMEM : MW_ERR_NODEV;
    }
    int status = MW_ERR_NODEV;
    char *text = NULL;
    if (!read_at(f, 0, &e, sizeof e) || !is_object(&e)) {
        snprintf(message, size, "%s is not a model", path);
    } else if (MACHINE != EM_NONE && e.e_machine != MACHINE) {
        snprintf(message, size,
                 "%s was built for another kind of processor (ELF machine %u, this one is %d): "
                 "`make model` builds it for this one",
                 path, e.e_machine, MACHINE);
        status = MW_ERR_VERSION;
    } else if (!(text = read_text(f, &e))) {
        snprintf(message, size,
                 "%s is not a model, or of a version that does not say what it was made of: `make "
                 "model` builds one",
                 path);
    } else if (size_of(f) < whole_size(f, &e)) {
        snprintf(message, size,
                 "%s is cut short, it has %llu of %llu bytes: `make model` builds it anew", path,
                 (unsigned long long)size_of(f), (unsigned long long)whole_size(f, &e));
    } else {
        status = check(path, text, of, model, message, size);
    }
    free(text);
    fclose(f);
    return status;
}
