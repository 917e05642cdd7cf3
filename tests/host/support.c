// SPDX-License-Identifier: Apache-2.0
//
// See support.h.
#define _XOPEN_SOURCE 700

#include "support.h"

#include <ftw.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

const char *scratch(const char *name)
{
    static char paths[8][256];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

int scratch_make(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/mw_test_XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_entry(const char *path, const struct stat *st, int flag, struct FTW *at)
{
    (void)st, (void)flag, (void)at;
    return remove(path);
}

int scratch_remove(void **state)
{
    (void)state;
    return nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

void write_file(const char *path, const void *bytes, size_t size)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

const char *scratch_text(const char *name, const char *text)
{
    const char *path = scratch(name);
    write_file(path, text, strlen(text));
    return path;
}

void write_npy(const char *path, const char *header, const void *elements, size_t size)
{
    size_t length = (10 + strlen(header) + 1 + 63) / 64 * 64 - 10;
    unsigned char *bytes = calloc(1, 10 + length + size);
    assert_non_null(bytes);
    memcpy(bytes, "\x93NUMPY\x01\x00", 8);
    bytes[8] = (unsigned char)(length & 0xff);
    bytes[9] = (unsigned char)(length >> 8);
    memset(bytes + 10, ' ', length);
    memcpy(bytes + 10, header, strlen(header));
    bytes[10 + length - 1] = '\n';
    if (size)
        memcpy(bytes + 10 + length, elements, size);
    write_file(path, bytes, 10 + length + size);
    free(bytes);
}

static void write_array(const char *where, const char *file, const char *descr, const size_t dim[3],
                        const void *elements, size_t element)
{
    char path[512], header[160];
    snprintf(path, sizeof path, "%s/%s", where, file);
    snprintf(header, sizeof header,
             "{'descr': '%s', 'fortran_order': False, 'shape': (%zu, %zu, %zu), }", descr, dim[0],
             dim[1], dim[2]);
    write_npy(path, header, elements, dim[0] * dim[1] * dim[2] * element);
}

const char *write_trace(const char *name, size_t layers, size_t tokens, size_t k, unsigned experts,
                        const uint16_t *ids, const float *weights)
{
    const char *where = scratch(name);
    mkdir(where, 0777);
    const size_t dim[3] = {layers, tokens, k};
    write_array(where, "topk_ids.npy", "<u2", dim, ids, 2);
    write_array(where, "topk_weights.npy", "<f4", dim, weights, 4);
    char path[512], meta[200];
    snprintf(path, sizeof path, "%s/meta.json", where);
    snprintf(
        meta, sizeof meta,
        "{\"model\": \"by hand\", \"experts\": %u, \"hidden\": 64, \"layers\": %zu, \"tokens\": "
        "%zu, \"top_k\": %zu, \"axes\": \"layers,tokens,k\"}",
        experts, layers, tokens, k);
    write_file(path, meta, strlen(meta));
    return where;
}

const char *real_trace(const char *name)
{
    static char path[512];
    const char *root = getenv("MW_TRACES");
    if (!root || !*root)
        root = "../shared/traces";
    snprintf(path, sizeof path, "%s/%s", root, name);
    if (access(path, R_OK) == 0)
        return path;
    print_message("SKIPPED: no trace %s\n", path);
    return NULL;
}

uint64_t test_seed(void)
{
    const char *text = getenv("MW_SEED");
    uint64_t seed = text && *text ? strtoull(text, NULL, 0) : 20240607;
    print_message("MW_SEED=%llu\n", (unsigned long long)seed);
    return seed;
}

unsigned test_cases(unsigned few, unsigned many)
{
    return getenv("MW_LONG") ? many : few;
}

bool is_near(double a, double b, double share)
{
    return fabs(a - b) <= share * fabs(b);
}

char *read_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    char *text = NULL;
    size_t size = 0;
    if (!f)
        return NULL;
    if (getdelim(&text, &size, EOF, f) < 0) {
        free(text);
        text = strdup("");
    }
    fclose(f);
    return text;
}

const char *cell_in(const char *table, unsigned row, const char *name)
{
    static char cell[200];
    const char *head = table, *at = table;
    for (unsigned i = 0; i <= row; i++)
        at = strchr(at, '\n') + 1;
    while (strncmp(head, name, strlen(name)) != 0 || !strchr(",\n", head[strlen(name)])) {
        head += strcspn(head, ",") + 1;
        for (bool quoted = false; *at != ',' || quoted; at++)
            quoted ^= *at == '"';
        at++;
    }
    snprintf(cell, sizeof cell, "%.*s", (int)strcspn(at, ",\n"), at);
    return cell;
}

unsigned count_of(const char *part, const char *text)
{
    unsigned n = 0;
    for (; (text = strstr(text, part)); text++)
        n++;
    return n;
}

void assert_line_has(const char *text, const char *const *parts)
{
    for (; *parts; parts++)
        if (!strstr(text, *parts))
            fail_msg("\"%s\" does not say \"%s\"", text, *parts);
    assert_true(*text);
    assert_null(strchr(text, '\n'));
}
