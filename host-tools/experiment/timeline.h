// SPDX-License-Identifier: Apache-2.0
//
// What each GPU of a simulated device did when: recorded of a layer, and written as Chrome trace
// events, which Perfetto and chrome://tracing show.
#ifndef MW_HOST_TIMELINE_H
#define MW_HOST_TIMELINE_H

#include "base/error.h"
#include "experiment/captions.h"

#include "moeswitch.h"

/// Of one layer.
struct mw_timeline {
    struct mw_watch_event *list; ///< in the order of their cycles
    size_t count, room;
    bool short_of_memory; ///< what came then is missing
};

/// A mw_watch_fn. `timeline` is a struct mw_timeline.
void mw_timeline_take(void *timeline, const struct mw_watch_event *event);
void mw_timeline_free(struct mw_timeline *t);
/// From now on `*t`, which it allocates, records what the GPUs do. Returns MW_EXIT_OK, or
/// another status and a line.
int mw_timeline_start(struct mw_timeline **t, struct mw_device *device, struct mw_error *err);
/// End the recording. Also fails if a part of it is missing.
int mw_timeline_stop(const struct mw_timeline *t, struct mw_device *device, struct mw_error *err);

struct mw_summary;
/// All systems and layers that were recorded, as JSON in memory; free() it. Systems lie side by
/// side, layers one after the other, a cycle as a microsecond. NULL, and `err`: no memory.
char *mw_timeline_json(const struct mw_captions *captions, const struct mw_summary *summaries,
                       unsigned count, size_t *size, struct mw_error *err);

#endif
