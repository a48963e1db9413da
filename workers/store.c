/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes to tensor.  Float16 and bfloat16 are made by hand: not every compiler has
 * them, and none of them is in a hurry here.
 */
#include "workers/store.h"
#include "lib/pipeline.h"
#include <string.h>

static uint32_t bits_of(float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

/* x >> n, rounded to nearest, halves to even; 0 < n < 32. */
static uint32_t shift_even(uint32_t x, unsigned n)
{
	uint32_t half = 1u << (n - 1), rest = x & ((1u << n) - 1), whole = x >> n;

	return whole + (rest > half || (rest == half && (whole & 1)));
}

static uint16_t to_bf16(float x)
{
	return (uint16_t)shift_even(bits_of(x), 16);
}

/* A carry out of the fraction runs into the exponent, which is what is wanted. */
static uint16_t to_f16(float x)
{
	uint32_t bits = bits_of(x);
	uint32_t sign = bits >> 16 & 0x8000, fraction = bits & 0x7fffff;
	int exponent = (int)(bits >> 23 & 0xff) - 127 + 15;
	uint32_t half;

	if (exponent >= 31)
		half = 0x7c00;
	else if (exponent > 0)
		half = shift_even((uint32_t)exponent << 23 | fraction, 13);
	else if (exponent > -11)
		half = shift_even(fraction | 0x800000, (unsigned)(14 - exponent));
	else
		half = 0;
	return (uint16_t)(sign | (half > 0x7c00 ? 0x7c00 : half));
}

static const struct fby_op *find_normalize(const struct fby_cfg *cfg)
{
	for (unsigned i = 0; i < cfg->n_ops; i++)
		if (cfg->op[i].kind == FBY_OP_NORMALIZE)
			return &cfg->op[i];
	return NULL;
}

static float value_of(unsigned byte, const struct fby_op *normalize, unsigned channel)
{
	float x = (float)byte / 255.0f;

	if (normalize == NULL)
		return x;
	return (x - (float)normalize->arg[channel]) / (float)normalize->arg[3 + channel];
}

void fby_store_init(struct fby_store *s, const struct fby_cfg *cfg,
		    const struct fby_passes *passes)
{
	const struct fby_op *normalize = find_normalize(cfg);

	*s = (struct fby_store){ .passes = passes,
				 .height = cfg->height,
				 .width = cfg->width,
				 .dtype = cfg->dtype,
				 .memory_format = cfg->memory_format };
	for (unsigned c = 0; c < 3; c++)
		for (unsigned i = 0; i < 256; i++) {
			float x = value_of(i, normalize, c);

			if (s->dtype == FBY_F32)
				s->table.f32[c][i] = x;
			else
				s->table.f16[c][i] =
					s->dtype == FBY_F16 ? to_f16(x) : to_bf16(x);
		}
}

/* Where a row's channels begin, and how far apart its pixels are, in numbers. */
struct places {
	size_t channel[3];
	size_t step;
};

static struct places find_places(const struct fby_store *s, uint32_t y)
{
	size_t row = (size_t)y * s->width, plane = (size_t)s->width * s->height;

	if (s->memory_format == FBY_CHANNELS_LAST)
		return (struct places){ { 3 * row, 3 * row + 1, 3 * row + 2 }, 3 };
	return (struct places){ { row, row + plane, row + 2 * plane }, 1 };
}

static void store_u8(const struct fby_store *s, uint8_t *image, uint32_t y,
		     const uint8_t *rgb)
{
	struct places at = find_places(s, y);
	uint8_t *const dst[3] = { image + at.channel[0], image + at.channel[1],
				  image + at.channel[2] };

	if (at.step == 3)
		memcpy(dst[0], rgb, 3 * (size_t)s->width);
	else
		s->passes->planes(rgb, s->width, dst);
}

static void store_16(const struct fby_store *s, uint16_t *image, uint32_t y,
		     const uint8_t *rgb)
{
	struct places at = find_places(s, y);

	for (unsigned c = 0; c < 3; c++) {
		const uint16_t *table = s->table.f16[c];
		uint16_t *dst = image + at.channel[c];

		for (size_t x = 0; x < s->width; x++)
			dst[x * at.step] = table[rgb[3 * x + c]];
	}
}

static void store_f32(const struct fby_store *s, float *image, uint32_t y,
		      const uint8_t *rgb)
{
	struct places at = find_places(s, y);

	for (unsigned c = 0; c < 3; c++) {
		const float *table = s->table.f32[c];
		float *dst = image + at.channel[c];

		for (size_t x = 0; x < s->width; x++)
			dst[x * at.step] = table[rgb[3 * x + c]];
	}
}

void fby_store_rows(const struct fby_store *s, void *image, uint32_t first, unsigned n,
		    const uint8_t *rgb, size_t stride)
{
	assert(first + n <= s->height);
	for (unsigned i = 0; i < n; i++, rgb += stride) {
		if (s->dtype == FBY_U8)
			store_u8(s, image, first + i, rgb);
		else if (s->dtype == FBY_F32)
			store_f32(s, image, first + i, rgb);
		else
			store_16(s, image, first + i, rgb);
	}
}
