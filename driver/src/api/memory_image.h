// SPDX-License-Identifier: Apache-2.0
//
// What a layer needs in the GPU memories, as it lies there: instruction streams, routing
// tables, rows, coefficients. An image keeps it, so that it can be written again when the
// memories hold another's.
#ifndef MW_MEMORY_IMAGE_H
#define MW_MEMORY_IMAGE_H

#include "moeswitch.h"

struct mwi_image {
    struct mw_transfer *list; ///< the data belong to the image
    size_t count, room;
    uint64_t delays; ///< cycles that a stream of it waits for nothing but time, at most
};

void mwi_image_free(struct mwi_image *image);
/// Each adds pieces, or fails with a message: MW_ERR_NOMEM, and of streams as mw_stream_load.
int mwi_image_streams(struct mwi_image *image, const struct mw_layout *layout,
                      const struct mw_stream *s, const struct mw_device_info *info,
                      unsigned streams);
/// ... which `make` builds.
int mwi_image_made_streams(struct mwi_image *image, const struct mw_layout *layout,
                           const struct mw_device_info *info, unsigned streams,
                           mw_stream_make_fn make, void *context);
/// Routing tables at `address` of every GPU: k experts and weights of each token.
int mwi_image_routing(struct mwi_image *image, uint64_t address, unsigned gpus, unsigned k,
                      const struct mw_tokens *part);
/// Hidden values, row_bytes each, 1 << row_shift bytes apart.
int mwi_image_rows(struct mwi_image *image, uint64_t address, unsigned gpus, unsigned row_bytes,
                   unsigned row_shift, const struct mw_tokens *part);
/// Coefficients of experts_per_gpu experts of each GPU, one GPU's after the other's.
int mwi_image_coefficients(struct mwi_image *image, uint64_t address, unsigned gpus,
                           unsigned experts_per_gpu, const uint16_t *coefficient);
/// Copies of the pieces of another image.
int mwi_image_copy(struct mwi_image *image, const struct mwi_image *from);
/// Zeros of that many bytes, to be filled, or read.
int mwi_image_area(struct mwi_image *image, unsigned gpu, uint64_t address, size_t bytes,
                   uint8_t **data);

/// Rows of an image that was read, of mwi_image_area for each GPU, without their gaps.
void mwi_image_take_rows(const struct mwi_image *image, unsigned gpus, unsigned row_bytes,
                         unsigned row_shift, const unsigned *tokens, uint16_t *const *out);

#endif
