// SPDX-License-Identifier: Apache-2.0
//
// Watcher of a model: gets the state of a GPU or port whenever it changes, see mw_sim.h. It reads
// registers of the RTL, if the model has them, by functions that sim/watch.py writes. A model
// without them reports nothing.
#pragma once

#include "mw_sim.h"

#if MW_SIM_WATCH
#include "watched.h" // MW_SIM_WATCHED
#endif

#include <cstring>

#if MW_SIM_WATCHED
#include "isa.h"

class watcher {
    // the last reported value
    struct shown {
        uint32_t value[4];
    };

    mw_sim_event_fn event = nullptr;
    void *context = nullptr;
    uint32_t cycle = 0;
    shown stream[MW_SIM_N][MW_STREAMS] = {}, tile[MW_SIM_N] = {}, rows[MW_SIM_N] = {};

    void show(mw_sim_kind kind, unsigned place, shown &before, const shown &now)
    {
        if (memcmp(&before, &now, sizeof now) == 0)
            return;
        before = now;
        mw_sim_event e = {cycle, static_cast<uint16_t>(kind), static_cast<uint16_t>(place), {}};
        memcpy(e.value, now.value, sizeof e.value);
        event(context, &e);
    }

  public:
    static constexpr bool can = true;

    bool wanted() const { return event; }

    void tell(mw_sim_event_fn whom, void *whose)
    {
        event = whom;
        context = whose;
    }

    // After a clock edge
    template <typename Device> void look(const Device &d)
    {
        cycle = watch_cycle(d, 0);
        for (unsigned g = 0; g < MW_SIM_N; g++) {
            for (unsigned s = 0; s < MW_STREAMS; s++) {
                const shown now = {s, watch_stream_state(d, g, s), watch_stream_op(d, g, s),
                                   watch_stream_index(d, g, s)};
                show(MW_SIM_STREAM, g, stream[g][s], now);
            }
            shown now = {};
            if (watch_tile_there(d, g))
                now = {1, watch_tile_expert(d, g), watch_tile_first(d, g), watch_tile_last(d, g)};
            show(MW_SIM_TILE, g, tile[g], now);
            show(MW_SIM_ROWS, g, rows[g], {watch_open_rows(d, g)});
        }
    }
};
#else
struct watcher {
    static constexpr bool can = false;

    static constexpr bool wanted() { return false; }
    void tell(mw_sim_event_fn, void *) {}
    template <typename Device> void look(const Device &) {}
};
#endif
