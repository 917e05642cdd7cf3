// SPDX-License-Identifier: Apache-2.0
//
// How the lanes of a part begin: each as a model of one does that has a random start of its own.
#pragma once

#include "lanes.h"
#include "start.h"

// A model of one settles as copy number `first` and those behind it, and gives each
// lane what it holds.
template <typename Model, typename Lanes, typename Number>
void begin(random_context &context, const char *name, Lanes &lanes, unsigned first, Number number)
{
    for (unsigned lane = 0; lane < lanes::L; lane++) {
        context.start_as(first + lane);
        Model model(&context, name);
        number(model, first + lane);
        model.eval();
        lanes.load(lane, *model.rootp);
        lanes.start(lane);
        model.final();
    }
}
