// SPDX-License-Identifier: Apache-2.0
//
// See round_trip.h. A credit is back when its packet has left the queue at the far end and the
// credit has come over the link. That takes the latency twice, the packet's own flits, and TURN
// cycles of an idle queue.
#include "experiment/round_trip.h"

#include "device/setting_table.h"

enum {
    PAYLOAD = 128, ///< bytes of a packet
    HEAD = 2,      ///< flits of its header and target list
    TURN = 5,      ///< fewest of any class, as measured
};

void mw_round_trip_make(struct mw_round_trip *trip, const struct mw_device_info *info,
                        const struct mw_settings *settings, unsigned link_latency, unsigned classes)
{
    const unsigned flits = PAYLOAD / info->flit_bytes + HEAD;
    const struct {
        const char *what, *setting;
        unsigned class, most, senders;
    } credits[] = {
        {"stores on an uplink", "store_credits", MW_CLS_STORE, info->store_pkts, 1},
        {"stores on a downlink", "down_store_credits", MW_CLS_STORE, info->rx_store_pkts, 1},
        {"partial sums for each GPU on an uplink", "part_credits", MW_CLS_PART, info->part_pkts,
         info->gpus - 1},
    };
    *trip = (struct mw_round_trip){.cycles = 2 * link_latency + flits + TURN, .rate = 1};
    for (unsigned i = 0; i < sizeof credits / sizeof *credits; i++) {
        const unsigned said = (unsigned)mw_setting_value(settings, credits[i].setting, 0);
        const unsigned own = said && said < credits[i].most ? said : credits[i].most;
        const unsigned covers = own * credits[i].senders * flits;
        const double rate = (double)covers / trip->cycles;
        if (!(classes >> credits[i].class & 1) || rate >= trip->rate)
            continue;
        trip->what = credits[i].what;
        trip->credits = own;
        trip->covers = covers;
        trip->rate = rate;
    }
}

void mw_round_trip_warn(FILE *out, const struct mw_round_trip *trip)
{
    if (trip->what)
        fprintf(
            out,
            "moeswitch: warning: %u credits of %s cover %u of the %u cycles of a round trip: at "
            "most %.1f %% of the link's rate\n",
            trip->credits, trip->what, trip->covers, trip->cycles, 100 * trip->rate);
}
