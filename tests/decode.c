/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes a region into memory and counts its rows.
 */
#include "tests/decode.h"
#include <stdlib.h>
#include <string.h>

struct target {
	uint8_t *at;
	size_t row;
	uint32_t n;
};

void decoders_create(struct decoders *d)
{
	for (unsigned k = 0; k < FBY_N_CODECS; k++)
		if (fby_codec_get(k)->create(&d->state[k]) < 0)
			abort();
}

void decoders_destroy(struct decoders *d)
{
	for (unsigned k = 0; k < FBY_N_CODECS; k++)
		fby_codec_get(k)->destroy(d->state[k]);
}

static void on_rows(void *user, const uint8_t *rows, size_t stride, unsigned n)
{
	struct target *t = user;

	for (unsigned i = 0; i < n; i++)
		memcpy(t->at + (t->n + i) * t->row, rows + i * stride, t->row);
	t->n += n;
}

int decode_region(struct decoders *d, struct fby_bytes bytes, choose_region choose,
		  struct fby_region *ret_region, uint8_t **ret_pixels)
{
	int k = fby_codec_find(bytes);
	struct fby_photo photo = { 0 };
	struct target target = { 0 };
	struct fby_rows rows = { on_rows, &target };
	int r;

	if (k < 0)
		return k;
	r = fby_codec_get((unsigned)k)->open(d->state[k], bytes, &photo);
	if (r < 0)
		return r;
	*ret_region = (struct fby_region){ 0, 0, photo.width, photo.height };
	if (choose != NULL)
		choose(&photo, ret_region);
	target.row = 4 * (size_t)ret_region->width;
	target.at = malloc(target.row * ret_region->height);
	if (target.at == NULL)
		abort();
	r = fby_codec_get((unsigned)k)->decode(d->state[k], ret_region, &rows);
	if (r == 0 && target.n != ret_region->height)
		abort();
	if (r < 0)
		free(target.at);
	else
		*ret_pixels = target.at;
	return r;
}
