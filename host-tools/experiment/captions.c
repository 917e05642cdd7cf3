// SPDX-License-Identifier: Apache-2.0
#include "experiment/captions.h"

#include <stdio.h>

const char *mw_caption_layer(const struct mw_captions *c, unsigned layer,
                             char text[MW_CAPTION_BYTES])
{
    const struct mw_workload *w = c->layers;
    if (w && w->shape.passes != MW_RUN_FORWARD)
        snprintf(text, MW_CAPTION_BYTES, "layer %zu, %s", w->layer[layer].number,
                 mw_pass_names[w->layer[layer].pass]);
    else if (w)
        snprintf(text, MW_CAPTION_BYTES, "layer %zu", w->layer[layer].number);
    else
        snprintf(text, MW_CAPTION_BYTES, "%s", c->workload);
    return text;
}

unsigned mw_captions_expert(const struct mw_captions *c, unsigned layer, unsigned gpu,
                            unsigned local)
{
    const unsigned place = gpu * c->experts_per_gpu + local;
    return c->layers ? mw_expert_at(c->layers, layer, place) : place;
}

const char *mw_caption_expert(const struct mw_captions *c, unsigned layer, unsigned gpu,
                              unsigned local, char text[MW_CAPTION_BYTES])
{
    if (c->parts)
        snprintf(text, MW_CAPTION_BYTES, "%s", c->parts[local]);
    else
        snprintf(text, MW_CAPTION_BYTES, "expert %u", mw_captions_expert(c, layer, gpu, local));
    return text;
}
