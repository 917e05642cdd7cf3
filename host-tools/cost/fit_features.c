// SPDX-License-Identifier: Apache-2.0
//
// See fit_features.h. Normal equations, by elimination. Only subsets of the features whose
// coefficients are all above 0 count, as no part of a layer takes negative time. The one with the
// least error is taken. There are few features, so all subsets are tried.
#include "cost/fit_features.h"

#include <math.h>
#include <string.h>

struct equations {
    double a[MW_FEATURES][MW_FEATURES + 1]; ///< the right side last
    unsigned count;
};

static bool solve(struct equations *e, double value[MW_FEATURES])
{
    for (unsigned i = 0; i < e->count; i++) {
        unsigned pivot = i;
        for (unsigned r = i + 1; r < e->count; r++)
            pivot = fabs(e->a[r][i]) > fabs(e->a[pivot][i]) ? r : pivot;
        if (fabs(e->a[pivot][i]) < 1e-12)
            return false;
        for (unsigned c = 0; c <= MW_FEATURES; c++) {
            const double keep = e->a[i][c];
            e->a[i][c] = e->a[pivot][c];
            e->a[pivot][c] = keep;
        }
        for (unsigned r = 0; r < e->count; r++) {
            const double factor = r == i ? 0 : e->a[r][i] / e->a[i][i];
            for (unsigned c = 0; c <= MW_FEATURES; c++)
                e->a[r][c] -= factor * e->a[i][c];
        }
    }
    for (unsigned i = 0; i < e->count; i++)
        value[i] = e->a[i][MW_FEATURES] / e->a[i][i];
    return true;
}

/// Columns are scaled by their largest value, so that pivots are comparable.
static bool fit_subset(const struct mw_fit_point *point, size_t count, unsigned subset,
                       const double scale[MW_FEATURES], double coefficient[MW_FEATURES])
{
    struct equations e = {0};
    unsigned of[MW_FEATURES] = {0};
    double value[MW_FEATURES];
    for (unsigned f = 0; f < MW_FEATURES; f++)
        if (subset >> f & 1)
            of[e.count++] = f;
    for (size_t p = 0; p < count; p++)
        for (unsigned i = 0; i < e.count; i++) {
            const double x = point[p].feature[of[i]] / scale[of[i]] / point[p].cycles;
            for (unsigned k = 0; k < e.count; k++)
                e.a[i][k] += x * point[p].feature[of[k]] / scale[of[k]] / point[p].cycles;
            e.a[i][MW_FEATURES] += x;
        }
    // relative to the largest element, whatever the unit of the cycles
    const double largest = e.a[0][0];
    for (unsigned i = 0; i < e.count && largest > 0; i++)
        for (unsigned k = 0; k <= MW_FEATURES; k++)
            e.a[i][k] /= largest;
    if (!e.count || !solve(&e, value))
        return false;
    memset(coefficient, 0, MW_FEATURES * sizeof *coefficient);
    for (unsigned i = 0; i < e.count; i++) {
        if (value[i] < 0)
            return false;
        coefficient[of[i]] = value[i] / scale[of[i]];
    }
    return true;
}

double mw_fit_value(const double coefficient[MW_FEATURES], const double feature[MW_FEATURES])
{
    double value = 0;
    for (unsigned i = 0; i < MW_FEATURES; i++)
        value += coefficient[i] * feature[i];
    return value;
}

static double squares(const struct mw_fit_point *point, size_t count,
                      const double coefficient[MW_FEATURES])
{
    double sum = 0;
    for (size_t p = 0; p < count; p++)
        sum += pow(mw_fit_value(coefficient, point[p].feature) / point[p].cycles - 1, 2);
    return sum;
}

bool mw_fit_features(const struct mw_fit_point *point, size_t count,
                     double coefficient[MW_FEATURES])
{
    double scale[MW_FEATURES] = {0}, best = INFINITY;
    for (size_t p = 0; p < count; p++)
        for (unsigned f = 0; f < MW_FEATURES; f++)
            scale[f] = fmax(scale[f], fabs(point[p].feature[f]));
    for (unsigned subset = 1; subset < 1u << MW_FEATURES; subset++) {
        double found[MW_FEATURES];
        bool empty = false;
        for (unsigned f = 0; f < MW_FEATURES; f++)
            empty |= (subset >> f & 1) && !(scale[f] > 0);
        if (empty || !fit_subset(point, count, subset, scale, found))
            continue;
        const double error = squares(point, count, found);
        if (error < best) {
            best = error;
            memcpy(coefficient, found, sizeof found);
        }
    }
    return isfinite(best);
}
