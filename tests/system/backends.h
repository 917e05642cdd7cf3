// SPDX-License-Identifier: Apache-2.0
//
// Whole runs of a model in lanes, compared with a plain one.
#ifndef MW_TEST_BACKENDS_H
#define MW_TEST_BACKENDS_H

#include "configuration.h"

/// `count` random configurations: both must give the same, bit for bit and counter for counter, and
/// cycle for cycle. Skips where the models are not in lanes.
void backends_compare(const struct configuration_model *models, unsigned count);

#endif
