/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of operations a batch is made by: is it one we can do, and what size
 * comes out.  Knows numbers only; the pixels are the workers' business.
 */
#ifndef FBY_PIPELINE_H
#define FBY_PIPELINE_H

#include "lib/forebay.h"
#include "lib/layout.h"

/*
 * Checks the settings' operations, type and format and fills the pipeline's part of
 * *cfg (all but magic, layout and index_path).  -EINVAL with a sentence.
 */
int fby_pipeline_check(const struct fby_settings *settings, struct fby_cfg *ret_cfg);

/* Bytes of one image in the slot. */
uint64_t fby_pipeline_image_bytes(const struct fby_cfg *cfg);

/* Bytes of one number of an image: 1, 2 or 4. */
unsigned fby_dtype_bytes(uint32_t dtype);

#endif
