/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PNG: an interlaced file is the same picture as a straight one, regions are parts of
 * the whole, and broken files are refused.  Pixels are compared with Pillow's elsewhere.
 */
#include "lib/forebay.h"
#include "tests/decode.h"
#include "tests/png-file.h"
#include "tests/unit.h"
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

static struct decoders decoders;
static struct fby_region wanted;

static void choose(const struct fby_photo *photo, struct fby_region *ret)
{
	(void)photo;
	*ret = wanted;
}

static uint8_t *whole_of(const struct png_spec *spec)
{
	struct fby_bytes bytes;
	struct fby_region region;
	uint8_t *pixels = NULL;
	uint8_t *file = png_file(spec, &bytes.n);

	bytes.at = file;
	assert_int_equal(decode_region(&decoders, bytes, NULL, &region, &pixels), 0);
	assert_int_equal(region.width, spec->width);
	assert_int_equal(region.height, spec->height);
	free(file);
	return pixels;
}

static void check_kind(int bits, int colour_type)
{
	struct png_spec spec = { 37, 29, bits, colour_type, false };
	uint8_t *straight = whole_of(&spec);
	uint8_t *laced;

	spec.interlaced = true;
	laced = whole_of(&spec);
	for (size_t i = 0; i < (size_t)37 * 29; i++)
		assert_memory_equal(straight + 4 * i, laced + 4 * i, 3);
	free(straight);
	free(laced);
}

static void interlaced_files_are_the_same_pictures(void **state)
{
	(void)state;
	for (int bits = 1; bits <= 8; bits *= 2)
		check_kind(bits, 0);
	for (int bits = 8; bits <= 16; bits *= 2) {
		check_kind(bits, 2);
		check_kind(bits, 4);
		check_kind(bits, 6);
	}
}

static void check_region(struct fby_bytes bytes, const uint8_t *whole)
{
	struct fby_region region;
	uint8_t *pixels = NULL;

	assert_int_equal(decode_region(&decoders, bytes, choose, &region, &pixels), 0);
	for (uint32_t y = 0; y < region.height; y++)
		assert_memory_equal(pixels + (size_t)y * 4 * region.width,
				    whole + 4 * ((region.top + y) * 61 + region.left),
				    4 * (size_t)region.width);
	free(pixels);
}

static void regions_are_parts_of_the_whole(void **state)
{
	static const struct fby_region regions[] = {
		{ 0, 0, 1, 1 }, { 60, 52, 1, 1 }, { 5, 7, 40, 40 }, { 0, 30, 61, 3 }
	};

	(void)state;
	for (unsigned interlaced = 0; interlaced < 2; interlaced++) {
		struct png_spec spec = { 61, 53, 8, 2, interlaced };
		struct fby_bytes bytes;
		uint8_t *whole = whole_of(&spec);
		uint8_t *file = png_file(&spec, &bytes.n);

		bytes.at = file;
		for (unsigned k = 0; k < FBY_ARRAY_SIZE(regions); k++) {
			wanted = regions[k];
			check_region(bytes, whole);
		}
		free(whole);
		free(file);
	}
}

static void a_file_cut_short_is_refused(void **state)
{
	struct png_spec spec = { 61, 53, 8, 2, false };
	struct fby_bytes bytes;
	struct fby_region region;
	uint8_t *pixels = NULL;
	uint8_t *file = png_file(&spec, &bytes.n);

	(void)state;
	bytes.at = file;
	for (bytes.n -= 20; bytes.n > 20; bytes.n -= bytes.n / 9 + 1) {
		assert_int_equal(decode_region(&decoders, bytes, NULL, &region, &pixels),
				 -EBADMSG);
		assert_non_null(strstr(fby_error(), "too early"));
	}
	free(file);
}

static void sixteen_bit_grey_is_refused_by_name(void **state)
{
	struct png_spec spec = { 9, 9, 16, 0, false };
	struct fby_bytes bytes;
	struct fby_region region;
	uint8_t *pixels = NULL;
	uint8_t *file = png_file(&spec, &bytes.n);

	(void)state;
	bytes.at = file;
	assert_int_equal(decode_region(&decoders, bytes, NULL, &region, &pixels),
			 -ENOTSUP);
	assert_non_null(strstr(fby_error(), "16-bit grey"));
	free(file);
}

static int begin(void **state)
{
	(void)state;
	decoders_create(&decoders);
	return 0;
}

static int end(void **state)
{
	(void)state;
	decoders_destroy(&decoders);
	return 0;
}

/* The whole picture is in memory, 16 MB here; it stayed there when the file was broken.
 */
static void broken_interlaced_file_keeps_no_memory(void **state)
{
	struct png_spec spec = { 2000, 2000, 8, 2, true };
	struct fby_region region;
	struct fby_bytes bytes;
	uint8_t *pixels = NULL, *file = png_file(&spec, &bytes.n);
	size_t before = mallinfo2().hblkhd;

	(void)state;
	bytes.at = file;
	bytes.n /= 2;
	assert_true(decode_region(&decoders, bytes, NULL, &region, &pixels) < 0);
	assert_true(mallinfo2().hblkhd < before + 8000000);
	free(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(interlaced_files_are_the_same_pictures),
		cmocka_unit_test(regions_are_parts_of_the_whole),
		cmocka_unit_test(a_file_cut_short_is_refused),
		cmocka_unit_test(sixteen_bit_grey_is_refused_by_name),
		cmocka_unit_test(broken_interlaced_file_keeps_no_memory),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
