/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hot loops for x86-64-v3 (AVX2).
 *
 * Sums of low and of high halves of the weights run apart, two taps a multiply
 * (vpmaddwd), and are put together at the end; nothing overflows, so the result is
 * that of 32-bit arithmetic.  The last pack clips to 255.
 */
#include "workers/axis.h"
#include "workers/passes.h"
#include "workers/planes.h"
#include <immintrin.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

struct sums {
	__m256i low, high;
};

INLINE __m256i both(const int16_t weight[2])
{
	int32_t bits;

	memcpy(&bits, weight, sizeof(bits));
	return _mm256_set1_epi32(bits);
}

/* `taps`: 16-bit numbers, those of the pair's two taps side by side. */
INLINE void add_taps(struct sums *s, __m256i taps, const struct fby_pair *pair)
{
	s->low = _mm256_add_epi32(s->low, _mm256_madd_epi16(taps, both(pair->low)));
	s->high = _mm256_add_epi32(s->high, _mm256_madd_epi16(taps, both(pair->high)));
}

INLINE __m256i finish(const struct sums *s)
{
	__m256i sum = _mm256_add_epi32(s->low, _mm256_slli_epi32(s->high, FBY_LOW_BITS));

	return _mm256_srli_epi32(sum, FBY_WEIGHT_BITS);
}

INLINE struct sums start(void)
{
	return (struct sums){ _mm256_set1_epi32(1 << (FBY_WEIGHT_BITS - 1)),
			      _mm256_setzero_si256() };
}

/* Four pixels each of two rows. */
INLINE __m256i load_rows(const uint8_t *a, const uint8_t *b)
{
	__m256i low = _mm256_castsi128_si256(_mm_loadu_si128((const void *)a));

	return _mm256_inserti128_si256(low, _mm_loadu_si128((const void *)b), 1);
}

/*
 * One output pixel of four rows, as 16-bit numbers: rows 0, 1 | 2, 3.  n_pairs is a
 * constant where it matters.
 */
INLINE __m256i across_pixel(const uint8_t *src, size_t stride,
			    const struct fby_pair *pair, uint32_t n_pairs)
{
	const __m256i first = _mm256_broadcastsi128_si256(
		_mm_setr_epi8(0, -1, 4, -1, 1, -1, 5, -1, 2, -1, 6, -1, 3, -1, 7, -1));
	const __m256i second = _mm256_broadcastsi128_si256(
		_mm_setr_epi8(8, -1, 12, -1, 9, -1, 13, -1, 10, -1, 14, -1, 11, -1, 15,
			      -1));
	struct sums even = start(), odd = start();

	for (uint32_t p = 0; p < n_pairs; p += 2, src += 16) {
		__m256i a = load_rows(src, src + 2 * stride);
		__m256i b = load_rows(src + stride, src + 3 * stride);

		add_taps(&even, _mm256_shuffle_epi8(a, first), &pair[p]);
		add_taps(&odd, _mm256_shuffle_epi8(b, first), &pair[p]);
		if (p + 1 == n_pairs)
			break;
		add_taps(&even, _mm256_shuffle_epi8(a, second), &pair[p + 1]);
		add_taps(&odd, _mm256_shuffle_epi8(b, second), &pair[p + 1]);
	}
	return _mm256_packs_epi32(finish(&even), finish(&odd));
}

/* Four pixels of four rows; drops each pixel's fourth byte. */
INLINE void store_pixels(const __m256i pixel[4], uint8_t *const *dst, size_t at)
{
	const __m256i keep = _mm256_broadcastsi128_si256(
		_mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1));
	__m256 a = _mm256_castsi256_ps(_mm256_packus_epi16(pixel[0], pixel[1]));
	__m256 b = _mm256_castsi256_ps(_mm256_packus_epi16(pixel[2], pixel[3]));
	__m256i even = _mm256_castps_si256(_mm256_shuffle_ps(a, b, 0x88));
	__m256i odd = _mm256_castps_si256(_mm256_shuffle_ps(a, b, 0xdd));

	even = _mm256_shuffle_epi8(even, keep);
	odd = _mm256_shuffle_epi8(odd, keep);
	_mm_storeu_si128((void *)(dst[0] + at), _mm256_castsi256_si128(even));
	_mm_storeu_si128((void *)(dst[1] + at), _mm256_castsi256_si128(odd));
	_mm_storeu_si128((void *)(dst[2] + at), _mm256_extracti128_si256(even, 1));
	_mm_storeu_si128((void *)(dst[3] + at), _mm256_extracti128_si256(odd, 1));
}

INLINE void across_four(const struct fby_across *a, const uint8_t *src, size_t stride,
			uint8_t *const *dst, uint32_t n_pairs)
{
	const struct fby_pair *pair = a->pair;

	for (uint32_t x = 0; x < a->n; x += 4) {
		__m256i pixel[4];

		for (unsigned i = 0; i < 4; i++, pair += n_pairs)
			pixel[i] = across_pixel(src + 4 * (size_t)a->first[x + i], stride,
						pair, n_pairs);
		store_pixels(pixel, dst, 3 * (size_t)x);
	}
}

static void across_rows(const struct fby_across *a, const uint8_t *src, size_t stride,
			uint8_t *const *dst)
{
	switch (a->n_pairs) {
	case 1:
		across_four(a, src, stride, dst, 1);
		break;
	case 2:
		across_four(a, src, stride, dst, 2);
		break;
	case 3:
		across_four(a, src, stride, dst, 3);
		break;
	case 4:
		across_four(a, src, stride, dst, 4);
		break;
	default:
		across_four(a, src, stride, dst, a->n_pairs);
		break;
	}
}

/* A rest of less than four rows: each alone, four times over. */
static void across(const struct fby_across *a, const uint8_t *src, size_t stride,
		   unsigned n_rows, uint8_t *const *dst)
{
	unsigned r = 0;

	for (; r + 4 <= n_rows; r += 4)
		across_rows(a, src + r * stride, stride, dst + r);
	for (; r < n_rows; r++) {
		uint8_t *const same[4] = { dst[r], dst[r], dst[r], dst[r] };

		across_rows(a, src + r * stride, 0, same);
	}
}

/* 32 bytes; what the unpacks take apart in each half, the packs put together. */
INLINE __m256i down_block(const struct fby_down *d, size_t x, uint32_t n_pairs)
{
	const __m256i zero = _mm256_setzero_si256();
	struct sums s[4] = { start(), start(), start(), start() };

	for (uint32_t p = 0; p < n_pairs; p++) {
		__m256i a = _mm256_loadu_si256((const void *)(d->row[2 * p] + x));
		__m256i b = _mm256_loadu_si256((const void *)(d->row[2 * p + 1] + x));
		__m256i low = _mm256_unpacklo_epi8(a, b);
		__m256i high = _mm256_unpackhi_epi8(a, b);

		add_taps(&s[0], _mm256_unpacklo_epi8(low, zero), &d->pair[p]);
		add_taps(&s[1], _mm256_unpackhi_epi8(low, zero), &d->pair[p]);
		add_taps(&s[2], _mm256_unpacklo_epi8(high, zero), &d->pair[p]);
		add_taps(&s[3], _mm256_unpackhi_epi8(high, zero), &d->pair[p]);
	}
	return _mm256_packus_epi16(_mm256_packs_epi32(finish(&s[0]), finish(&s[1])),
				   _mm256_packs_epi32(finish(&s[2]), finish(&s[3])));
}

INLINE void down_row(const struct fby_down *d, uint8_t *dst, size_t n_bytes,
		     uint32_t n_pairs)
{
	for (size_t x = 0; x < n_bytes; x += 32)
		_mm256_storeu_si256((void *)(dst + x), down_block(d, x, n_pairs));
}

static void down(const struct fby_down *d, uint8_t *dst, size_t n_bytes)
{
	switch (d->n_pairs) {
	case 1:
		down_row(d, dst, n_bytes, 1);
		break;
	case 2:
		down_row(d, dst, n_bytes, 2);
		break;
	case 3:
		down_row(d, dst, n_bytes, 3);
		break;
	default:
		down_row(d, dst, n_bytes, d->n_pairs);
		break;
	}
}

extern const struct fby_passes fby_passes_v3;
const struct fby_passes fby_passes_v3 = {
	.name = "x86-64-v3",
	.across = across,
	.down = down,
	.planes = fby_planes,
};
