// SPDX-License-Identifier: Apache-2.0
//
// See grid.h: the points of a grid.
#include "base/random.h"
#include "sweep/grid.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/// Points between two values of an axis.
static size_t stride(const struct mw_grid *g, unsigned axis)
{
    size_t n = 1;
    for (unsigned i = axis + 1; i < g->axes; i++)
        n *= g->axis[i].count;
    return n;
}

unsigned mw_grid_choice(const struct mw_grid *g, size_t point, unsigned axis)
{
    return (unsigned)(point / stride(g, axis) % g->axis[axis].count);
}

size_t mw_grid_other(const struct mw_grid *g, size_t point, unsigned axis, unsigned choice)
{
    return point + stride(g, axis) * choice - stride(g, axis) * mw_grid_choice(g, point, axis);
}

const char *mw_grid_value(const struct mw_grid *g, size_t point, unsigned axis)
{
    return g->axis[axis].value[mw_grid_choice(g, point, axis)];
}

unsigned mw_grid_point(const struct mw_grid *g, size_t point, struct mw_point *p)
{
    unsigned n = 0;
    p->word[n++] = (char *)g->swept->name;
    for (unsigned i = 0; i < g->axes; i++) {
        const struct mw_axis *a = &g->axis[i];
        const char *value = mw_grid_value(g, point, i);
        if (a->setting) {
            snprintf(p->store[i], sizeof p->store[i], "%s=%s", a->setting, value);
            p->word[n++] = (char *)"--set";
            p->word[n++] = p->store[i];
            continue;
        }
        if (a->option->kind == MW_OPTION_FLAG && strcmp(value, "true") != 0)
            continue;
        snprintf(p->store[i], sizeof p->store[i], "--%s", a->name);
        p->word[n++] = p->store[i];
        if (a->option->kind != MW_OPTION_FLAG)
            p->word[n++] = (char *)value;
    }
    p->word[n] = NULL;
    return n;
}

void mw_grid_text(const struct mw_grid *g, size_t point, char *text, size_t size)
{
    size_t at = 0;
    *text = 0;
    for (unsigned i = 0; i < g->axes && at < size; i++)
        if (g->axis[i].count > 1)
            at += (size_t)snprintf(text + at, size - at, "%s%s %s", at ? ", " : "", g->axis[i].name,
                                   mw_grid_value(g, point, i));
}

static uint64_t hash_text(uint64_t h, const char *text)
{
    do
        h = mw_mix64(h ^ (unsigned char)*text);
    while (*text++);
    return h;
}

void mw_grid_id(const struct mw_grid *g, size_t point, char id[MW_POINT_ID])
{
    // of all options, in any order
    uint64_t sum = g->swept == &mw_swept_run ? 0 : hash_text(0, g->swept->name);
    for (unsigned i = 0; i < g->axes; i++)
        sum += hash_text(hash_text(0, g->axis[i].name), mw_grid_value(g, point, i));
    snprintf(id, MW_POINT_ID, "%016" PRIx64, mw_mix64(sum));
}

// ---- whether it is a run ------------------------------------------------------------------------

static int check_point(const struct mw_grid *g, size_t point, double *weight, struct mw_error *err)
{
    struct mw_point words;
    const unsigned count = mw_grid_point(g, point, &words);
    return g->swept->check((int)count, words.word, weight, err);
}

int mw_grid_check(const struct mw_grid *g, double *weight, struct mw_error *err)
{
    struct mw_error cause;
    char text[300];
    for (size_t i = 0; i < g->points; i++) {
        int status = check_point(g, i, &weight[i], &cause);
        if (!status)
            continue;
        mw_grid_text(g, i, text, sizeof text);
        return mw_fail(err, status, "%s: %s%s%s%s", g->path, cause.text, *text ? " (at " : "", text,
                       *text ? ")" : "");
    }
    return MW_EXIT_OK;
}
