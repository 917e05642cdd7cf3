// SPDX-License-Identifier: Apache-2.0
//
// See model_file.h.
#include "model_file.h"

#include <elf.h>

struct model_file load_model(const char *path)
{
    struct model_file f = {NULL, 0};
    FILE *in = fopen(path, "rb");
    if (!in)
        fail_msg("%s is not there: make models", path);
    fseek(in, 0, SEEK_END);
    f.size = (size_t)ftell(in);
    rewind(in);
    f.bytes = malloc(f.size);
    assert_non_null(f.bytes);
    assert_int_equal(fread(f.bytes, 1, f.size, in), f.size);
    fclose(in);
    return f;
}

void store_model(const char *path, const struct model_file *f)
{
    write_file(path, f->bytes, f->size);
}

void spoil_code(struct model_file *f)
{
    Elf64_Ehdr e;
    memcpy(&e, f->bytes, sizeof e);
    unsigned spoiled = 0;
    for (unsigned i = 0; i < e.e_phnum; i++) {
        Elf64_Phdr p;
        memcpy(&p, f->bytes + e.e_phoff + i * sizeof p, sizeof p);
        if (p.p_type != PT_LOAD || !(p.p_flags & PF_X))
            continue;
        for (size_t at = 0; at + 1 < p.p_filesz; at += 2)
            memcpy(f->bytes + p.p_offset + at, "\x0f\x0b", 2); // ud2 of x86
        spoiled++;
    }
    assert_true(spoiled > 0);
}

char *model_note(struct model_file *f)
{
    char *at = memmem(f->bytes, f->size, "interface ", 10);
    assert_non_null(at);
    assert_null(memmem(at + 1, f->size - (size_t)(at + 1 - f->bytes), "\ninterface ", 11));
    return at;
}

bool has_lanes(const char *path)
{
    struct model_file f = load_model(path);
    char *from = model_note(&f);
    bool lanes = memmem(from, f.size - (size_t)(from - f.bytes), "\nbackend lanes\n", 15);
    free(f.bytes);
    return lanes;
}

void replace_note(struct model_file *f, const char *what, const char *with)
{
    char *from = model_note(f);
    char *at = memmem(from, f->size - (size_t)(from - f->bytes), what, strlen(what));
    assert_non_null(at);
    assert_int_equal(strlen(what), strlen(with));
    memcpy(at, with, strlen(with));
}

void other_features(struct model_file *f)
{
    replace_note(f, "avx2", "avx9");
}

void other_machine(struct model_file *f)
{
    Elf64_Ehdr e;
    memcpy(&e, f->bytes, sizeof e);
    e.e_machine = e.e_machine == EM_AARCH64 ? EM_X86_64 : EM_AARCH64;
    memcpy(f->bytes, &e, sizeof e);
}
