/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decoding a region of some bytes into memory, for tests of codecs.
 */
#ifndef FBY_DECODE_H
#define FBY_DECODE_H

#include "workers/codec.h"

/* The codecs' states: one a process is enough. */
struct decoders {
	void *state[FBY_N_CODECS];
};

void decoders_create(struct decoders *decoders);
void decoders_destroy(struct decoders *decoders);

/* Called with the size of the photograph, to choose a region. */
typedef void (*choose_region)(const struct fby_photo *photo, struct fby_region *ret);

/*
 * Chooses a codec, opens, decodes.  Returns what failed, or 0 and 4 bytes a pixel of
 * the region, which the caller frees.  choose NULL: the whole photograph.
 */
int decode_region(struct decoders *decoders, struct fby_bytes bytes, choose_region choose,
		  struct fby_region *ret_region, uint8_t **ret_pixels);

#endif
