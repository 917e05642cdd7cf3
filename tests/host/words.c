// SPDX-License-Identifier: Apache-2.0
//
// See words.h.
#include "words.h"
#include "support.h"

#include "base/error.h"

char *out_text, *err_text;

int run_words(int (*command)(int argc, char **argv, FILE *out, FILE *err), const char *name,
              const char *const *words)
{
    size_t out_size, err_size;
    char *argv[64] = {(char *)name};
    int argc = 1;
    for (; words[argc - 1]; argc++) {
        assert_true(argc < 63);
        argv[argc] = (char *)words[argc - 1];
    }
    free(out_text);
    free(err_text);
    FILE *out = open_memstream(&out_text, &out_size), *err = open_memstream(&err_text, &err_size);
    assert_true(out && err);
    int status = command(argc, argv, out, err);
    fclose(out);
    fclose(err);
    return status;
}

void refuse_words(int (*command)(int argc, char **argv, FILE *out, FILE *err), const char *name,
                  const char *const *words, const char *part)
{
    assert_int_equal(run_words(command, name, words), MW_EXIT_INPUT);
    assert_string_equal(out_text, "");
    size_t n = strlen(err_text);
    assert_true(n > 0 && err_text[n - 1] == '\n');
    err_text[n - 1] = 0;
    assert_line(err_text, "moeswitch: ", part);
}

int finish_words(void **state)
{
    free(out_text);
    free(err_text);
    return scratch_remove(state);
}
