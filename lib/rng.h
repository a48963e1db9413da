/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random numbers without state: Philox 4x64-10 (Salmon et al., "Parallel random
 * numbers: as easy as 1, 2, 3", SC11), from Random123.  A draw is a pure function
 * of seed, epoch, position in the epoch, operation and draw number.
 *
 * key = (seed, 0), counter = (draw, op, position, epoch).  One call gives four
 * numbers.  numpy.random.Philox gives the same ones for counter - 1.
 */
#ifndef FBY_RNG_H
#define FBY_RNG_H

#include "lib/base.h"
#include <Random123/philox.h>

struct fby_random {
	uint64_t seed, epoch, position;
};

/* Operation numbers at and above this one are not operations of a pipeline. */
#define FBY_RANDOM_ORDER 0x100000000ull

static inline void fby_random_draw(const struct fby_random *r, uint64_t op, uint64_t draw,
				   uint64_t ret_number[4])
{
	philox4x64_ctr_t counter = { { draw, op, r->position, r->epoch } };
	philox4x64_key_t key = { { r->seed, 0 } };
	philox4x64_ctr_t out = philox4x64(counter, key);

	for (int i = 0; i < 4; i++)
		ret_number[i] = out.v[i];
}

/* Uniform in [0, 1): the upper 53 bits, as numpy's random(). */
static inline double fby_random_unit(uint64_t number)
{
	return (double)(number >> 11) * 0x1p-53;
}

/* Uniform in 0..n-1: the upper half of number * n. */
static inline uint64_t fby_random_below(uint64_t number, uint64_t n)
{
	return (uint64_t)(((unsigned __int128)number * n) >> 64);
}

#endif
