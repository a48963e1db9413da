/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Codecs against damaged files: some thousand mutations of small ones, a random region
 * of each.  Nothing may crash, hang or read what it should not (sanitizers watch); a
 * good file after each hundred must still give its pixels.  The same on every run.
 */
#include "tests/decode.h"
#include "tests/jpeg-file.h"
#include "tests/png-file.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MUTATIONS 4000
#define SEEDS     10

static uint64_t noise_state = 88172645463325252ull;
static struct fby_bytes seeds[SEEDS];

static uint32_t noise(uint32_t below)
{
	noise_state ^= noise_state << 13;
	noise_state ^= noise_state >> 7;
	noise_state ^= noise_state << 17;
	return (uint32_t)((noise_state >> 33) % below);
}

static void make_seeds(void)
{
	static const uint32_t sampling[][2] = {
		{ 1, 1 }, { 2, 1 }, { 2, 2 }, { 1, 2 }, { 4, 1 }
	};

	for (unsigned k = 0; k < SEEDS; k++) {
		struct jpeg_spec jpeg = { .width = 40 + 9 * k,
					  .height = 60,
					  .across = sampling[k % 5][0],
					  .down = sampling[k % 5][1],
					  .colours = k == 6 ? JPEG_YCCK : JPEG_YCC,
					  .progressive = k >= 4,
					  .restart = k == 3 ? 2 : 0 };
		struct png_spec png = { 40, 30, 8, k == 8 ? 6 : 2, k == 9 };

		seeds[k].at = k < 8 ? jpeg_file(&jpeg, &seeds[k].n)
				    : png_file(&png, &seeds[k].n);
	}
}

/* A size that a few flipped bits made huge would only cost time. */
static void choose(const struct fby_photo *photo, struct fby_region *ret)
{
	uint32_t width = photo->width < 4096 ? photo->width : 4096;
	uint32_t height = photo->height < 256 ? photo->height : 256;

	ret->left = noise(photo->width - width + 1) + noise(width);
	ret->top = noise(height);
	ret->width = 1 + noise(photo->width - ret->left);
	ret->height = 1 + noise(height - ret->top);
	if (ret->width > 4096)
		ret->width = 4096;
}

static size_t mutate(uint8_t *at, size_t n)
{
	static const uint8_t special[] = {
		0, 1, 0x7f, 0x80, 0xc2, 0xd0, 0xd9, 0xda, 0xff
	};

	for (unsigned k = 1 + noise(6); k > 0; k--) {
		size_t i = noise(4) == 0 ? noise((uint32_t)n)
					 : noise(n < 700 ? (uint32_t)n : 700);

		switch (noise(4)) {
		case 0:
			at[i] ^= (uint8_t)(1u << noise(8));
			break;
		case 1:
			at[i] = special[noise(sizeof(special))];
			break;
		case 2:
			memmove(at + i, at + noise((uint32_t)n - 8),
				n - i < 8 ? n - i : 8);
			break;
		default:
			if (noise(8) == 0)
				n = 16 + noise((uint32_t)n - 15);
			break;
		}
	}
	return n;
}

static int decode(struct decoders *d, struct fby_bytes bytes, choose_region how)
{
	struct fby_region region;
	uint8_t *pixels = NULL;
	int r = decode_region(d, bytes, how, &region, &pixels);

	free(pixels);
	return r;
}

int main(void)
{
	struct decoders d;
	unsigned n_good = 0;

	make_seeds();
	decoders_create(&d);
	for (unsigned k = 0; k < MUTATIONS; k++) {
		struct fby_bytes seed = seeds[k % SEEDS];
		uint8_t *copy = malloc(seed.n);

		memcpy(copy, seed.at, seed.n);
		n_good += decode(&d, (struct fby_bytes){ copy, mutate(copy, seed.n) },
				 choose) == 0;
		free(copy);
		if (k % 100 == 0 && decode(&d, seeds[k / 100 % SEEDS], NULL) < 0) {
			printf("a good file was refused after mutation %u\n", k);
			return 1;
		}
	}
	decoders_destroy(&d);
	for (unsigned k = 0; k < SEEDS; k++)
		free((void *)(uintptr_t)seeds[k].at);
	printf("%u of %u mutated files decoded, the others refused\n", n_good, MUTATIONS);
	return 0;
}
