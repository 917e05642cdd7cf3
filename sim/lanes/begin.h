// SPDX-License-Identifier: Apache-2.0
//
// The initial state of a part's lanes: each lane starts like a model of one copy with its own
// random start.
#pragma once

#include "lanes.h"
#include "start.h"

// A model of one copy settles as copy number `first` and the following ones, and each lane gets its
// contents.
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
