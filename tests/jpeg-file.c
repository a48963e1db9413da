/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes JPEG files with libjpeg, straight from its manual.
 */
#include "tests/jpeg-file.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>

static const J_COLOR_SPACE spaces[] = {
	[JPEG_GREY] = JCS_GRAYSCALE, [JPEG_YCC] = JCS_YCbCr, [JPEG_RGB] = JCS_RGB,
	[JPEG_CMYK] = JCS_CMYK,      [JPEG_YCCK] = JCS_YCCK,
};

static unsigned inputs_of(unsigned colours)
{
	return colours == JPEG_GREY ? 1 : colours >= JPEG_CMYK ? 4 : 3;
}

static void paint(const struct jpeg_spec *s, unsigned y, unsigned n, uint8_t *row)
{
	uint32_t noise = s->seed * 7919 + y * 104729 + 1;

	for (unsigned x = 0; x < s->width; x++)
		for (unsigned c = 0; c < n; c++) {
			double wave = 60 * sin(x / (2.0 + c) + s->seed) +
				      50 * cos(y / (3.0 + c)) +
				      ((x + y * (c + 1)) % 23 > 11 ? 50 : 0);

			noise = noise * 1664525 + 1013904223;
			wave += 100 + (double)(noise >> 28);
			*row++ = (uint8_t)(wave < 0 ? 0 : wave > 255 ? 255 : wave);
		}
}

static void set_up(struct jpeg_compress_struct *c, const struct jpeg_spec *s)
{
	unsigned n = inputs_of(s->colours);

	c->image_width = s->width;
	c->image_height = s->height;
	c->input_components = (int)n;
	c->in_color_space = n == 1 ? JCS_GRAYSCALE : n == 3 ? JCS_RGB : JCS_CMYK;
	jpeg_set_defaults(c);
	jpeg_set_colorspace(c, spaces[s->colours]);
	jpeg_set_quality(c, 85, TRUE);
	for (unsigned k = 0; k < n; k++)
		c->comp_info[k].h_samp_factor = c->comp_info[k].v_samp_factor = 1;
	for (unsigned k = 0; k < n; k += 3) {
		c->comp_info[k].h_samp_factor = (int)s->across;
		c->comp_info[k].v_samp_factor = (int)s->down;
	}
	c->restart_interval = s->restart;
	if (s->progressive)
		jpeg_simple_progression(c);
}

uint8_t *jpeg_file(const struct jpeg_spec *s, size_t *ret_n)
{
	struct jpeg_compress_struct c;
	struct jpeg_error_mgr errors;
	unsigned char *bytes = NULL;
	unsigned long n_bytes = 0;
	unsigned n = inputs_of(s->colours);
	uint8_t *row = malloc((size_t)s->width * n);

	c.err = jpeg_std_error(&errors);
	jpeg_create_compress(&c);
	jpeg_mem_dest(&c, &bytes, &n_bytes);
	set_up(&c, s);
	jpeg_start_compress(&c, TRUE);
	for (unsigned y = 0; y < s->height; y++) {
		JSAMPROW at = row;

		paint(s, y, n, row);
		jpeg_write_scanlines(&c, &at, 1);
	}
	jpeg_finish_compress(&c);
	jpeg_destroy_compress(&c);
	free(row);
	*ret_n = n_bytes;
	return bytes;
}

uint8_t *jpeg_whole(const uint8_t *bytes, size_t n)
{
	struct jpeg_decompress_struct d;
	struct jpeg_error_mgr errors;
	uint8_t *pixels;
	size_t stride;

	d.err = jpeg_std_error(&errors);
	jpeg_create_decompress(&d);
	jpeg_mem_src(&d, bytes, n);
	jpeg_read_header(&d, TRUE);
	d.out_color_space = d.num_components == 4 ? JCS_CMYK : JCS_EXT_RGBX;
	jpeg_start_decompress(&d);
	stride = 4 * (size_t)d.output_width;
	pixels = malloc(stride * d.output_height);
	while (d.output_scanline < d.output_height) {
		JSAMPROW row = pixels + d.output_scanline * stride;

		jpeg_read_scanlines(&d, &row, 1);
	}
	jpeg_finish_decompress(&d);
	jpeg_destroy_decompress(&d);
	return pixels;
}
