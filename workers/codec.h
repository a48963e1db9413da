/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the bytes of a photograph to rows of pixels: a table of codecs, chosen by what
 * the bytes say and never by a file's name.  Pixels are what Pillow's convert("RGB")
 * gives.  Knows no file and no tensor.
 */
#ifndef FBY_CODEC_H
#define FBY_CODEC_H

#include "lib/base.h"

/* Pillow's own limit, beyond which it takes a picture for an attack. */
#define FBY_MAX_PIXELS 178956970u

struct fby_bytes {
	const uint8_t *at;
	size_t n;
};

struct fby_photo {
	uint32_t width, height;
};

/* A part of a photograph, in pixels; never empty. */
struct fby_region {
	uint32_t left, top, width, height;
};

/*
 * Takes the rows of a region, in order: n rows of width 4-byte pixels (R, G, B and one
 * that means nothing), with FBY_ROW_SLACK readable bytes behind each.
 */
struct fby_rows {
	void (*push)(void *user, const uint8_t *rows, size_t stride, unsigned n);
	void *user;
};

/*
 * One codec.  `state` is its own, private to the caller, used for one photograph after
 * the other.  Each function returns 0 or a negative errno with a sentence: -EBADMSG
 * for bytes that make no photograph, -ENOTSUP for a kind that is not read here,
 * -ENOMEM.  After a failure the next call must be open() or destroy().
 */
struct fby_codec {
	const char *name;
	bool (*claims)(struct fby_bytes bytes);
	int (*create)(void **ret_state);
	void (*destroy)(void *state);
	/* Reads the header.  The bytes must stay until decode() is done. */
	int (*open)(void *state, struct fby_bytes bytes, struct fby_photo *ret_photo);
	/* Once after each open(). */
	int (*decode)(void *state, const struct fby_region *region,
		      const struct fby_rows *rows);
};

extern const struct fby_codec fby_codec_jpeg, fby_codec_png;

#define FBY_N_CODECS 2

/* The k-th codec. */
const struct fby_codec *fby_codec_get(unsigned k);

/* Number of the codec for these bytes; -ENOTSUP, with what they look like instead. */
int fby_codec_find(struct fby_bytes bytes);

/* -EBADMSG for a size of 0 or more than FBY_MAX_PIXELS. */
int fby_codec_check_size(const char *name, uint64_t width, uint64_t height);

#endif
