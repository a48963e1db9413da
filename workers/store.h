/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of bytes to the numbers and the layout of the tensor.  Every number is looked up
 * by its byte and channel, so that the arithmetic happens 768 times a run:
 *
 *	x / 255                  as torchvision's to_tensor, in float32
 *	(x / 255 - mean) / std   as torchvision's normalize, in float32, in this order
 *
 * float16 and bfloat16 are those numbers rounded to nearest, halves to even.
 */
#ifndef FBY_STORE_H
#define FBY_STORE_H

#include "lib/layout.h"
#include "workers/passes.h"

struct fby_store {
	const struct fby_passes *passes;
	uint32_t height, width, dtype, memory_format;
	union {
		float f32[3][256];
		uint16_t f16[3][256];
	} table;
};

/* From a checked pipeline. */
void fby_store_init(struct fby_store *store, const struct fby_cfg *cfg,
		    const struct fby_passes *passes);

/* n rows of 3-byte pixels to the rows from `first` on of the image at `image`. */
void fby_store_rows(const struct fby_store *store, void *image, uint32_t first,
		    unsigned n, const uint8_t *rgb, size_t stride);

#endif
