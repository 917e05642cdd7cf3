// SPDX-License-Identifier: Apache-2.0
#include "experiment/captions.h"

#include <stdio.h>

const char *mw_caption_layer(const struct mw_captions *c, unsigned layer,
                             char text[MW_CAPTION_BYTES])
{
    if (c->layers)
        snprintf(text, MW_CAPTION_BYTES, "layer %zu", c->layers->layer[layer].number);
    else
        snprintf(text, MW_CAPTION_BYTES, "%s", c->workload);
    return text;
}

const char *mw_caption_expert(const struct mw_captions *c, unsigned gpu, unsigned local,
                              char text[MW_CAPTION_BYTES])
{
    if (c->parts)
        snprintf(text, MW_CAPTION_BYTES, "%s", c->parts[local]);
    else
        snprintf(text, MW_CAPTION_BYTES, "expert %u", gpu * c->experts_per_gpu + local);
    return text;
}
