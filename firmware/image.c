// SPDX-License-Identifier: Apache-2.0
//
// The header of the image, where the link script puts it. image.py writes the fields that are known
// only after linking.
#include "board.h"

extern const struct mw_frame_image image_header;

const struct mw_frame_image image_header __attribute__((section(".image"))) = {
    .magic = MW_HOST_IMAGE_MAGIC,
    .soc = FW_SOC_MAJOR << 16 | FW_SOC_MINOR,
    .version = FW_MAJOR << 24 | FW_MINOR << 16 | FW_PATCH,
};
