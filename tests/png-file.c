/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes PNG files with libpng, straight from its manual.
 */
#include "tests/png-file.h"
#include <stdlib.h>
#include <string.h>

#include <png.h>

struct out {
	uint8_t *at;
	size_t n, room;
};

static void on_write(png_structp png, png_bytep bytes, size_t n)
{
	struct out *out = png_get_io_ptr(png);

	if (out->n + n > out->room) {
		out->room = 2 * (out->n + n);
		out->at = realloc(out->at, out->room);
	}
	memcpy(out->at + out->n, bytes, n);
	out->n += n;
}

static void on_flush(png_structp png)
{
	(void)png;
}

uint8_t *png_file(const struct png_spec *s, size_t *ret_n)
{
	png_structp png =
		png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
	png_infop info = png_create_info_struct(png);
	struct out out = { 0 };
	uint32_t noise = 1;
	uint8_t *row;
	int passes;

	png_set_write_fn(png, &out, on_write, on_flush);
	png_set_IHDR(png, info, s->width, s->height, s->bits, s->colour_type,
		     s->interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
		     PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
	png_write_info(png, info);
	passes = png_set_interlace_handling(png);
	row = malloc(8 * (size_t)s->width);
	for (int pass = 0; pass < passes; pass++)
		for (unsigned y = 0; y < s->height; y++) {
			noise = y + 1;
			for (unsigned x = 0; x < 8 * s->width; x++) {
				noise = noise * 1664525 + 1013904223;
				row[x] = (uint8_t)(noise >> 24);
			}
			png_write_row(png, row);
		}
	png_write_end(png, info);
	png_destroy_write_struct(&png, &info);
	free(row);
	*ret_n = out.n;
	return out.at;
}
