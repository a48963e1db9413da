/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PNG by libpng.  The only file that knows png.h.
 *
 * libpng reports errors by a jump: each function that calls it sets the target
 * first, and nothing that outlives the jump is kept in its local variables.
 */
#include "lib/fail.h"
#include "workers/codec.h"
#include "workers/passes.h"
#include <errno.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <png.h>

#define BAND 16 /* rows handed on together */

/* Rows that a large interlaced picture has blown up beyond this are given back. */
#define KEEP_BYTES (4u << 20)

struct png {
	png_structp png;
	png_infop info;
	struct fby_bytes rest; /* not yet read */
	struct fby_photo photo;
	int passes;
	jmp_buf failed;
	char text[128];
	uint8_t *rows;
	size_t rows_bytes;
};

static void on_error(png_structp png, png_const_charp text)
{
	struct png *p = png_get_error_ptr(png);

	snprintf(p->text, sizeof(p->text), "%s", text);
	longjmp(p->failed, 1);
}

static void on_warning(png_structp png, png_const_charp text)
{
	(void)png;
	(void)text;
}

static void on_read(png_structp png, png_bytep to, size_t n)
{
	struct png *p = png_get_io_ptr(png);

	if (n > p->rest.n)
		png_error(png, "the file ends too early");
	memcpy(to, p->rest.at, n);
	p->rest.at += n;
	p->rest.n -= n;
}

static int create(void **ret_state)
{
	struct png *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return fby_fail(-ENOMEM, "no memory for the PNG decoder");
	*ret_state = p;
	return 0;
}

static void forget(struct png *p)
{
	png_destroy_read_struct(&p->png, &p->info, NULL);
	if (p->rows_bytes <= KEEP_BYTES)
		return;
	free(p->rows);
	p->rows = NULL;
	p->rows_bytes = 0;
}

static void destroy(void *state)
{
	struct png *p = state;

	if (p == NULL)
		return;
	forget(p);
	free(p->rows);
	free(p);
}

static bool claims(struct fby_bytes b)
{
	return b.n >= 8 && png_sig_cmp(b.at, 0, 8) == 0;
}

static int refuse(struct png *p)
{
	int r = fby_fail(-EBADMSG, "PNG: %s", p->text);

	forget(p);
	return r;
}

/* Everything becomes RGB and a filler byte; transparency is dropped, as Pillow does. */
static int choose_colours(struct png *p)
{
	int bits = png_get_bit_depth(p->png, p->info);
	int type = png_get_color_type(p->png, p->info);

	if (bits == 16 && type == PNG_COLOR_TYPE_GRAY)
		return fby_fail(-ENOTSUP, "PNG: 16-bit grey is not read");
	if (type == PNG_COLOR_TYPE_PALETTE)
		png_set_palette_to_rgb(p->png);
	if (type == PNG_COLOR_TYPE_GRAY && bits < 8)
		png_set_expand_gray_1_2_4_to_8(p->png);
	if (bits == 16)
		png_set_strip_16(p->png);
	if ((type & PNG_COLOR_MASK_COLOR) == 0)
		png_set_gray_to_rgb(p->png);
	png_set_strip_alpha(p->png);
	png_set_filler(p->png, 0xff, PNG_FILLER_AFTER);
	p->passes = png_set_interlace_handling(p->png);
	png_read_update_info(p->png, p->info);
	if (png_get_rowbytes(p->png, p->info) != 4 * (size_t)p->photo.width)
		return fby_fail(-ENOTSUP, "PNG: rows of %zu bytes for %u pixels",
				png_get_rowbytes(p->png, p->info), p->photo.width);
	return 0;
}

static int start(struct png *p, struct fby_bytes bytes)
{
	forget(p);
	p->rest = bytes;
	p->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, p, on_error, on_warning);
	p->info = p->png == NULL ? NULL : png_create_info_struct(p->png);
	if (p->info == NULL)
		return fby_fail(-ENOMEM, "no memory for the PNG decoder");
	png_set_read_fn(p->png, p, on_read);
	png_set_user_limits(p->png, FBY_MAX_PIXELS, FBY_MAX_PIXELS);
	return 0;
}

static int open_photo(void *state, struct fby_bytes bytes, struct fby_photo *ret_photo)
{
	struct png *p = state;
	int r;

	if (setjmp(p->failed) != 0)
		return refuse(p);
	r = start(p, bytes);
	if (r < 0)
		return r;
	png_read_info(p->png, p->info);
	p->photo.width = png_get_image_width(p->png, p->info);
	p->photo.height = png_get_image_height(p->png, p->info);
	r = fby_codec_check_size("PNG", p->photo.width, p->photo.height);
	if (r == 0)
		r = choose_colours(p);
	if (r < 0) {
		forget(p);
		return r;
	}
	*ret_photo = p->photo;
	return 0;
}

static int reserve_rows(struct png *p, size_t bytes)
{
	if (bytes <= p->rows_bytes)
		return 0;
	free(p->rows);
	p->rows_bytes = 0;
	p->rows = calloc(1, bytes);
	if (p->rows == NULL)
		return fby_fail(-ENOMEM, "no memory for %zu bytes of PNG rows", bytes);
	p->rows_bytes = bytes;
	return 0;
}

/* Row by row: those above the region are read to nowhere. */
static void read_straight(struct png *p, const struct fby_region *region, size_t stride,
			  const struct fby_rows *rows)
{
	const uint8_t *from = p->rows + 4 * (size_t)region->left;
	unsigned n = 0;

	for (uint32_t y = 0; y < region->top; y++)
		png_read_row(p->png, p->rows, NULL);
	for (uint32_t y = 0; y < region->height; y++) {
		png_read_row(p->png, p->rows + n++ * stride, NULL);
		if (n < BAND && y + 1 < region->height)
			continue;
		rows->push(rows->user, from, stride, n);
		n = 0;
	}
}

/* Seven passes, each over the whole: the picture has to be in memory. */
static void read_interlaced(struct png *p, const struct fby_region *region, size_t stride,
			    const struct fby_rows *rows)
{
	for (int pass = 0; pass < p->passes; pass++)
		for (uint32_t y = 0; y < p->photo.height; y++)
			png_read_row(p->png, p->rows + y * stride, NULL);
	rows->push(rows->user, p->rows + region->top * stride + 4 * (size_t)region->left,
		   stride, region->height);
}

static int decode(void *state, const struct fby_region *region,
		  const struct fby_rows *rows)
{
	struct png *p = state;
	size_t stride = fby_align(4 * (size_t)p->photo.width + FBY_ROW_SLACK, 64);
	bool whole = p->passes > 1;
	int r;

	assert(p->png != NULL && region->width > 0 && region->height > 0);
	if (setjmp(p->failed) != 0)
		return refuse(p);
	r = reserve_rows(p, stride * (whole ? p->photo.height : BAND));
	if (r == 0 && whole)
		read_interlaced(p, region, stride, rows);
	else if (r == 0)
		read_straight(p, region, stride, rows);
	forget(p);
	return r;
}

const struct fby_codec fby_codec_png = {
	.name = "PNG",
	.claims = claims,
	.create = create,
	.destroy = destroy,
	.open = open_photo,
	.decode = decode,
};
