/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hot loops over pixels, as a table of functions: one table an instruction
 * set, all with equal results.  Knows no image, only rows.
 */
#ifndef FBY_PASSES_H
#define FBY_PASSES_H

#include "lib/base.h"

/*
 * Bytes that may be read and written behind the end of every row of pixels that is
 * handed to one of these loops.  What is read there never counts.
 */
#define FBY_ROW_SLACK 64

/*
 * The weights of two taps that stand side by side, each as high * 2^11 + low, so that
 * a product with a byte and the sum of two such fit every machine's 16-bit multiplies.
 */
struct fby_pair {
	int16_t low[2], high[2];
};

#define FBY_LOW_BITS 11

/*
 * A horizontal pass: n, a multiple of FBY_ACROSS_UNIT, output pixels; `first` is in
 * pixels from the start of the row.
 */
struct fby_across {
	uint32_t n, n_pairs;
	const uint32_t *first;
	const struct fby_pair *pair; /* [n][n_pairs] */
};

#define FBY_ACROSS_UNIT 4

/* A vertical pass for one output row: two input rows for each pair. */
struct fby_down {
	uint32_t n_pairs;
	const uint8_t *const *row;
	const struct fby_pair *pair;
};

struct fby_passes {
	const char *name; /* as FOREBAY_ISA has it */

	/* n_rows rows of 4-byte pixels at src, to rows of 3-byte pixels. */
	void (*across)(const struct fby_across *across, const uint8_t *src, size_t stride,
		       unsigned n_rows, uint8_t *const *dst);

	/* n_bytes bytes, whatever they mean. */
	void (*down)(const struct fby_down *down, uint8_t *dst, size_t n_bytes);

	/* n 3-byte pixels, to three planes; writes nothing behind them. */
	void (*planes)(const uint8_t *src, size_t n, uint8_t *const dst[3]);
};

/*
 * The best table for this machine, or the one that FOREBAY_ISA names.  -EINVAL where
 * that is not one of ours, -ENOTSUP where this machine cannot run it.
 */
int fby_passes_choose(const struct fby_passes **ret_passes);

/* The k-th of the tables this machine can run, NULL past the end. */
const struct fby_passes *fby_passes_get(unsigned k);

#endif
