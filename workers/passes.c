/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hot loops for any machine: C that compilers turn into vectors where they can.
 *
 * A sum is at most 255 * (2^22 + taps / 2) + 2^21, which fits 32 bits.
 */
#include "workers/passes.h"
#include "workers/axis.h"
#include "workers/planes.h"
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
#define ROUND  (1 << (FBY_WEIGHT_BITS - 1))

INLINE int32_t weight_of(const struct fby_pair *pair, unsigned k)
{
	return pair->high[k] * (1 << FBY_LOW_BITS) + pair->low[k];
}

/* Above 255 only with thousands of taps. */
INLINE uint8_t finish(int32_t sum)
{
	int32_t whole = sum >> FBY_WEIGHT_BITS;

	return (uint8_t)(whole > 255 ? 255 : whole);
}

static void across_row(const struct fby_across *a, const uint8_t *src, uint8_t *dst)
{
	const struct fby_pair *pair = a->pair;

	for (uint32_t x = 0; x < a->n; x++) {
		const uint8_t *pixel = src + 4 * (size_t)a->first[x];
		int32_t sum[3] = { ROUND, ROUND, ROUND };

		for (uint32_t p = 0; p < a->n_pairs; p++, pair++, pixel += 8)
			for (unsigned c = 0; c < 3; c++)
				sum[c] += pixel[c] * weight_of(pair, 0) +
					  pixel[4 + c] * weight_of(pair, 1);
		for (unsigned c = 0; c < 3; c++)
			*dst++ = finish(sum[c]);
	}
}

static void across(const struct fby_across *a, const uint8_t *src, size_t stride,
		   unsigned n_rows, uint8_t *const *dst)
{
	for (unsigned r = 0; r < n_rows; r++)
		across_row(a, src + r * stride, dst[r]);
}

#define BLOCK 32

INLINE void add_pair(int32_t *restrict sum, const uint8_t *restrict a,
		     const uint8_t *restrict b, const struct fby_pair *pair)
{
	int32_t first = weight_of(pair, 0), second = weight_of(pair, 1);

	for (unsigned i = 0; i < BLOCK; i++)
		sum[i] += a[i] * first + b[i] * second;
}

static void down(const struct fby_down *d, uint8_t *dst, size_t n_bytes)
{
	for (size_t x = 0; x < n_bytes; x += BLOCK) {
		int32_t sum[BLOCK];

		for (unsigned i = 0; i < BLOCK; i++)
			sum[i] = ROUND;
		for (uint32_t p = 0; p < d->n_pairs; p++)
			add_pair(sum, d->row[2 * p] + x, d->row[2 * p + 1] + x,
				 &d->pair[p]);
		for (unsigned i = 0; i < BLOCK; i++)
			dst[x + i] = finish(sum[i]);
	}
}

extern const struct fby_passes fby_passes_baseline;
const struct fby_passes fby_passes_baseline = {
	.name = FBY_BASELINE,
	.across = across,
	.down = down,
	.planes = fby_planes,
};
