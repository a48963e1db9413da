/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JPEG by libjpeg-turbo's libjpeg interface: decodes a region, with the pixels that
 * decoding the whole and cutting out would give.  The only file that knows jpeglib.h.
 *
 * libjpeg reports errors by a jump: each function that calls it sets the target
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

#include <jerror.h>
#include <jpeglib.h>

#define BAND        16 /* rows handed on together */
#define MIN_COLUMNS 16

/*
 * Photographs have about ten scans.  A file can have as many as its bytes allow, each
 * of them a walk over all the memory of a picture that its header claims.
 */
#define MAX_SCANS 100

struct jpeg {
	struct jpeg_decompress_struct d;
	struct jpeg_error_mgr errors;
	struct jpeg_source_mgr source;
	struct jpeg_progress_mgr progress;
	jmp_buf failed;
	bool alive;   /* d is to be destroyed */
	bool ran_out; /* the bytes ended before the end marker */
	int n_lies;   /* warnings after which pixels are not what was stored */
	char text[JMSG_LENGTH_MAX];
	uint8_t *band;
	size_t band_bytes;
};

static struct jpeg *of(j_common_ptr c)
{
	return c->client_data;
}

static void keep_text(j_common_ptr c)
{
	c->err->format_message(c, of(c)->text);
}

static void on_error(j_common_ptr c)
{
	keep_text(c);
	longjmp(of(c)->failed, 1);
}

/*
 * Warnings that leave every pixel as it was stored: bytes between segments, versions
 * and flags that are not in the standard, a scan that repeats what is known.
 */
static void on_message(j_common_ptr c, int level)
{
	int code = c->err->msg_code;

	if (level >= 0 || code == JWRN_EXTRANEOUS_DATA || code == JWRN_ADOBE_XFORM ||
	    code == JWRN_JFIF_MAJOR || code == JWRN_BOGUS_PROGRESSION)
		return;
	if (of(c)->n_lies++ == 0)
		keep_text(c);
}

static void on_progress(j_common_ptr c)
{
	if (((j_decompress_ptr)c)->input_scan_number <= MAX_SCANS)
		return;
	snprintf(of(c)->text, sizeof(of(c)->text), "more than %d scans", MAX_SCANS);
	longjmp(of(c)->failed, 1);
}

static void on_source(j_decompress_ptr d)
{
	(void)d;
}

/* Behind the last byte stands an end marker, as often as it is asked for. */
static boolean on_source_empty(j_decompress_ptr d)
{
	static const JOCTET end[2] = { 0xff, JPEG_EOI };

	of((j_common_ptr)d)->ran_out = true;
	d->src->next_input_byte = end;
	d->src->bytes_in_buffer = sizeof(end);
	return TRUE;
}

static void on_source_skip(j_decompress_ptr d, long n)
{
	if (n <= 0)
		return;
	if ((size_t)n > d->src->bytes_in_buffer) {
		on_source_empty(d);
		return;
	}
	d->src->next_input_byte += n;
	d->src->bytes_in_buffer -= (size_t)n;
}

static int create(void **ret_state)
{
	struct jpeg *j = calloc(1, sizeof(*j));

	if (j == NULL)
		return fby_fail(-ENOMEM, "no memory for the JPEG decoder");
	jpeg_std_error(&j->errors);
	j->errors.error_exit = on_error;
	j->errors.emit_message = on_message;
	j->progress.progress_monitor = on_progress;
	j->source = (struct jpeg_source_mgr){
		.init_source = on_source,
		.fill_input_buffer = on_source_empty,
		.skip_input_data = on_source_skip,
		.resync_to_restart = jpeg_resync_to_restart,
		.term_source = on_source,
	};
	*ret_state = j;
	return 0;
}

static void forget(struct jpeg *j)
{
	if (j->alive)
		jpeg_destroy_decompress(&j->d);
	j->alive = false;
}

static void destroy(void *state)
{
	struct jpeg *j = state;

	if (j == NULL)
		return;
	forget(j);
	free(j->band);
	free(j);
}

static bool claims(struct fby_bytes b)
{
	return b.n >= 3 && b.at[0] == 0xff && b.at[1] == 0xd8 && b.at[2] == 0xff;
}

static int refuse(struct jpeg *j)
{
	int r = fby_fail(-EBADMSG, "JPEG: %s", j->text);

	forget(j);
	return r;
}

/*
 * A decompress object keeps the tables of one photograph for the next, which would
 * decode a photograph without tables by those of a stranger.  So each photograph
 * gets a new one: it costs a microsecond.
 */
static void start(struct jpeg *j, struct fby_bytes bytes)
{
	forget(j);
	j->ran_out = false;
	j->n_lies = 0;
	j->d.err = &j->errors;
	j->d.client_data = j;
	jpeg_create_decompress(&j->d);
	j->alive = true;
	j->d.progress = &j->progress;
	j->d.src = &j->source;
	j->source.next_input_byte = bytes.at;
	j->source.bytes_in_buffer = bytes.n;
}

/* What Pillow makes of the number of components. */
static int choose_colours(struct jpeg *j)
{
	struct jpeg_decompress_struct *d = &j->d;

	if (d->num_components == 4)
		d->out_color_space = JCS_CMYK;
	else if (d->num_components == 3 || d->num_components == 1)
		d->out_color_space = JCS_EXT_RGBX;
	else {
		fby_fail(-ENOTSUP, "JPEG: %d colour components are not read",
			 d->num_components);
		forget(j);
		return -ENOTSUP;
	}
	d->dct_method = JDCT_ISLOW;
	d->do_fancy_upsampling = TRUE;
	return 0;
}

static int open_photo(void *state, struct fby_bytes bytes, struct fby_photo *ret_photo)
{
	struct jpeg *j = state;
	int r;

	if (setjmp(j->failed) != 0)
		return refuse(j);
	start(j, bytes);
	jpeg_read_header(&j->d, TRUE);
	r = fby_codec_check_size("JPEG", j->d.image_width, j->d.image_height);
	if (r < 0) {
		forget(j);
		return r;
	}
	ret_photo->width = j->d.image_width;
	ret_photo->height = j->d.image_height;
	return choose_colours(j);
}

static int reserve_band(struct jpeg *j, size_t bytes)
{
	if (bytes <= j->band_bytes)
		return 0;
	free(j->band);
	j->band_bytes = 0;
	j->band = calloc(1, bytes);
	if (j->band == NULL)
		return fby_fail(-ENOMEM, "no memory for %zu bytes of JPEG rows", bytes);
	j->band_bytes = bytes;
	return 0;
}

/*
 * Asks for the region's columns and one more on each side: the chroma of a pixel is
 * interpolated from its neighbours', which at an edge are taken to be its own.  And for
 * MIN_COLUMNS at least where there are as many: libjpeg-turbo's interpolation gives
 * other values, or runs away, where a crop leaves it less than two columns of chroma.
 * Returns where the rows then begin.
 */
static JDIMENSION crop(struct jpeg *j, const struct fby_region *region)
{
	JDIMENSION all = j->d.output_width;
	JDIMENSION left = region->left - (region->left > 0);
	JDIMENSION end = region->left + region->width;
	JDIMENSION width;

	end += end < all;
	if (end < left + MIN_COLUMNS)
		end = all < left + MIN_COLUMNS ? all : left + MIN_COLUMNS;
	if (end < left + MIN_COLUMNS)
		left = end < MIN_COLUMNS ? 0 : end - MIN_COLUMNS;
	width = end - left;
	if (width < all)
		jpeg_crop_scanline(&j->d, &left, &width);
	return left;
}

/* Pillow inverts what it reads, always; then black takes its share of each colour. */
static void colours_of_inks(uint8_t *pixel, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++, pixel += 4)
		for (unsigned c = 0; c < 3; c++) {
			unsigned white = pixel[3];
			unsigned share = (255u - pixel[c]) * white + 128;

			share = ((share >> 8) + share) >> 8;
			pixel[c] = (uint8_t)(share > white ? 0 : white - share);
		}
}

/* Reads up to a band of rows; returns how many. */
static unsigned read_band(struct jpeg *j, size_t stride, unsigned n)
{
	JSAMPROW row[BAND];
	unsigned got = 0;

	for (unsigned i = 0; i < n; i++)
		row[i] = j->band + i * stride;
	while (got < n)
		got += jpeg_read_scanlines(&j->d, row + got, n - got);
	if (j->d.out_color_space == JCS_CMYK)
		for (unsigned i = 0; i < n; i++)
			colours_of_inks(row[i], j->d.output_width);
	return got;
}

/* Whether the scans of a progressive file leave some coefficient open. */
static bool incomplete(const struct jpeg *j)
{
	if (!j->d.progressive_mode || j->d.coef_bits == NULL)
		return false;
	for (int c = 0; c < j->d.num_components; c++)
		for (int k = 0; k < DCTSIZE2; k++)
			if (j->d.coef_bits[c][k] != 0)
				return true;
	return false;
}

static void skip(struct jpeg *j, size_t stride, uint32_t n, bool whole)
{
	if (!whole && n > 0)
		jpeg_skip_scanlines(&j->d, n);
	while (whole && n > 0)
		n -= read_band(j, stride, n < BAND ? n : BAND);
}

/*
 * Returns 1 where the photograph lies about its pixels, -ENOMEM, or 0.
 *
 * What an incomplete file leaves open, libjpeg guesses from the blocks around, and
 * guesses otherwise at the edge of a crop: such a file is decoded whole.
 */
static int read_rows(struct jpeg *j, const struct fby_region *region,
		     const struct fby_rows *rows)
{
	bool whole = incomplete(j);
	JDIMENSION left = whole ? 0 : crop(j, region);
	size_t stride = fby_align(4 * (size_t)j->d.output_width + FBY_ROW_SLACK, 64);
	const uint8_t *from;
	int r;

	r = reserve_band(j, stride * BAND);
	if (r < 0)
		return r;
	from = j->band + 4 * (size_t)(region->left - left);
	skip(j, stride, region->top, whole);
	for (uint32_t y = 0; y < region->height && j->n_lies == 0;) {
		uint32_t rest = region->height - y;
		unsigned n = read_band(j, stride, rest < BAND ? rest : BAND);

		if (j->n_lies == 0)
			rows->push(rows->user, from, stride, n);
		y += n;
	}
	return j->n_lies > 0;
}

static int decode(void *state, const struct fby_region *region,
		  const struct fby_rows *rows)
{
	struct jpeg *j = state;
	int r;

	assert(j->alive && region->width > 0 && region->height > 0);
	if (setjmp(j->failed) != 0)
		return refuse(j);
	jpeg_start_decompress(&j->d);
	if (j->ran_out && incomplete(j)) {
		snprintf(j->text, sizeof(j->text), "the file ends between two scans");
		return refuse(j);
	}
	r = read_rows(j, region, rows);
	if (r > 0)
		return refuse(j);
	forget(j);
	return r;
}

const struct fby_codec fby_codec_jpeg = {
	.name = "JPEG",
	.claims = claims,
	.create = create,
	.destroy = destroy,
	.open = open_photo,
	.decode = decode,
};
