/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Codecs: regions equal what decoding the whole gives, over every sampling; broken and
 * hostile files are refused with a reason and leave no trace in the next one.
 */
#include "lib/forebay.h"
#include "tests/decode.h"
#include "tests/jpeg-file.h"
#include "tests/unit.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct decoders decoders;
static uint64_t noise_state = 88172645463325252ull;
static struct fby_region wanted;

static uint32_t noise(uint32_t below)
{
	noise_state ^= noise_state << 13;
	noise_state ^= noise_state >> 7;
	noise_state ^= noise_state << 17;
	return (uint32_t)((noise_state >> 33) % below);
}

static void choose_noise(const struct fby_photo *photo, struct fby_region *ret)
{
	ret->left = noise(photo->width);
	ret->top = noise(photo->height);
	ret->width = 1 + noise(photo->width - ret->left);
	ret->height = 1 + noise(photo->height - ret->top);
}

static void choose_wanted(const struct fby_photo *photo, struct fby_region *ret)
{
	(void)photo;
	*ret = wanted;
}

static void compare(const uint8_t *whole, uint32_t width, const struct fby_region *region,
		    const uint8_t *pixels)
{
	for (uint32_t y = 0; y < region->height; y++)
		for (uint32_t x = 0; x < region->width; x++)
			assert_memory_equal(pixels + 4 * ((size_t)y * region->width + x),
					    whole + 4 * ((size_t)(region->top + y) *
								 width +
							 region->left + x),
					    3);
}

static void check_regions(const struct jpeg_spec *spec, unsigned n)
{
	struct fby_bytes bytes;
	uint8_t *file = jpeg_file(spec, &bytes.n);
	uint8_t *whole = jpeg_whole(file, bytes.n);

	bytes.at = file;
	for (unsigned k = 0; k < n; k++) {
		struct fby_region region;
		uint8_t *pixels = NULL;

		assert_int_equal(decode_region(&decoders, bytes,
					       k == 0 ? NULL : choose_noise, &region,
					       &pixels),
				 0);
		compare(whole, spec->width, &region, pixels);
		free(pixels);
	}
	free(whole);
	free(file);
}

static const uint32_t samplings[][2] = { { 1, 1 }, { 2, 1 }, { 2, 2 }, { 1, 2 },
					 { 4, 1 }, { 4, 2 }, { 1, 4 } };
static const uint32_t sides[] = { 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 50, 64, 97 };

static void regions_of_every_sampling_equal_the_whole(void **state)
{
	(void)state;
	for (unsigned k = 0; k < 7 * 2 * 24; k++) {
		struct jpeg_spec spec = { .width = sides[noise(14)],
					  .height = sides[noise(14)],
					  .across = samplings[k % 7][0],
					  .down = samplings[k % 7][1],
					  .colours = JPEG_YCC,
					  .progressive = k / 7 % 2,
					  .restart = noise(3),
					  .seed = k };

		check_regions(&spec, 12);
	}
}

/* libjpeg-turbo 2.1 interpolates wrongly where a crop leaves one column of chroma. */
static void one_column_at_an_edge_equals_the_whole(void **state)
{
	struct jpeg_spec spec = {
		.width = 50, .height = 31, .across = 2, .down = 2, .colours = JPEG_YCC
	};
	struct fby_bytes bytes;
	uint8_t *file = jpeg_file(&spec, &bytes.n), *pixels = NULL;
	uint8_t *whole = jpeg_whole(file, bytes.n);
	struct fby_region region;

	(void)state;
	bytes.at = file;
	for (unsigned left = 0; left < 50; left++) {
		wanted = (struct fby_region){ left, 5, 1, 20 };
		assert_int_equal(decode_region(&decoders, bytes, choose_wanted, &region,
					       &pixels),
				 0);
		compare(whole, spec.width, &region, pixels);
		free(pixels);
	}
	free(whole);
	free(file);
}

static void regions_of_large_photographs_equal_the_whole(void **state)
{
	(void)state;
	for (unsigned k = 0; k < 7; k++) {
		struct jpeg_spec spec = { .width = 401,
					  .height = 299,
					  .across = samplings[k][0],
					  .down = samplings[k][1],
					  .colours = JPEG_YCC,
					  .seed = k };

		check_regions(&spec, 40);
	}
}

static void regions_of_grey_and_rgb_equal_the_whole(void **state)
{
	(void)state;
	for (unsigned k = 0; k < 40; k++) {
		struct jpeg_spec spec = { .width = sides[noise(14)],
					  .height = sides[noise(14)],
					  .across = 1,
					  .down = 1,
					  .colours = k % 2 ? JPEG_GREY : JPEG_RGB,
					  .progressive = k / 2 % 2,
					  .seed = k };

		check_regions(&spec, 8);
	}
}

static struct fby_bytes file_of(unsigned width, unsigned height, bool progressive)
{
	struct jpeg_spec spec = { .width = width,
				  .height = height,
				  .across = 2,
				  .down = 2,
				  .colours = JPEG_YCC,
				  .progressive = progressive };
	struct fby_bytes bytes;

	bytes.at = jpeg_file(&spec, &bytes.n);
	return bytes;
}

static void release(struct fby_bytes bytes)
{
	free((void *)(uintptr_t)bytes.at);
}

/* Whole or not at all: 0, or the error of decoding these bytes. */
static int try(struct fby_bytes bytes)
{
	struct fby_region region;
	uint8_t *pixels = NULL;
	int r = decode_region(&decoders, bytes, NULL, &region, &pixels);

	free(pixels);
	return r;
}

#define REFUSED(bytes, code, text)                                                       \
	do {                                                                             \
		assert_int_equal(try(bytes), code);                                      \
		if (strstr(fby_error(), text) == NULL)                                   \
			fail_msg("'%s' is not in: %s", text, fby_error());               \
	} while (0)

static void a_file_cut_anywhere_before_its_end_is_refused(void **state)
{
	(void)state;
	for (unsigned progressive = 0; progressive < 2; progressive++) {
		struct fby_bytes b = file_of(90, 70, progressive);

		for (size_t n = 3; n < b.n - 40; n += 23)
			assert_true(try((struct fby_bytes){ b.at, n }) < 0);
		release(b);
	}
}

static void a_missing_end_marker_and_spare_bytes_do_no_harm(void **state)
{
	struct fby_bytes b = file_of(90, 70, false), more = { 0 };
	uint8_t *copy = calloc(1, b.n + 20);

	(void)state;
	assert_int_equal(try((struct fby_bytes){ b.at, b.n - 2 }), 0);
	memcpy(copy, b.at, b.n - 2);
	memcpy(copy + b.n - 2 + 20, b.at + b.n - 2, 2);
	more = (struct fby_bytes){ copy, b.n + 20 };
	assert_int_equal(try(more), 0);
	free(copy);
	release(b);
}

static void rows_above_a_damage_can_still_be_had(void **state)
{
	struct fby_bytes b = file_of(90, 70, false);
	struct fby_region region;
	uint8_t *pixels = NULL;

	(void)state;
	wanted = (struct fby_region){ 3, 2, 20, 10 };
	b.n /= 2;
	assert_int_equal(decode_region(&decoders, b, choose_wanted, &region, &pixels), 0);
	free(pixels);
	release(b);
}

/* Where the frame header of a JPEG file has its height. */
static uint8_t *size_of(uint8_t *at)
{
	for (at += 2; at[1] < 0xc0 || at[1] > 0xc2; at += 2 + (at[2] << 8 | at[3]))
		;
	return at + 5;
}

static void put_size(uint8_t *at, unsigned height, unsigned width)
{
	at[0] = (uint8_t)(height >> 8);
	at[1] = (uint8_t)height;
	at[2] = (uint8_t)(width >> 8);
	at[3] = (uint8_t)width;
}

static void a_header_that_claims_too_many_pixels_is_refused(void **state)
{
	struct fby_bytes b = file_of(16, 16, true);
	uint8_t *size = size_of((uint8_t *)(uintptr_t)b.at);

	(void)state;
	put_size(size, 65280, 65280);
	REFUSED(b, -EBADMSG, "65280x65280");
	put_size(size, 16, 0);
	assert_true(try(b) < 0);
	release(b);
}

static void a_file_of_endless_scans_is_refused(void **state)
{
	struct fby_bytes b = file_of(16, 16, true);
	size_t scan = b.n - 2, n_scan, n = b.n;
	uint8_t *bomb;

	(void)state;
	do
		scan--;
	while (b.at[scan] != 0xff || b.at[scan + 1] != 0xda);
	n_scan = b.n - 2 - scan;
	bomb = malloc(b.n + 500 * n_scan);
	memcpy(bomb, b.at, b.n);
	for (unsigned k = 0; k < 500; k++, n += n_scan)
		memcpy(bomb + n - 2, b.at + scan, n_scan);
	bomb[n - 2] = 0xff;
	bomb[n - 1] = 0xd9;
	REFUSED(((struct fby_bytes){ bomb, n }), -EBADMSG, "scans");
	free(bomb);
	release(b);
}

/* Where the n-th segment with this marker begins; 0 where there is none. */
static size_t find_segment(struct fby_bytes b, uint8_t marker, unsigned n)
{
	for (size_t at = 2; at + 1 < b.n; at++)
		if (b.at[at] == 0xff && b.at[at + 1] == marker && n-- == 0)
			return at;
	return 0;
}

/* What later scans would have said is guessed from neighbours, also beyond the crop. */
static void regions_of_an_unfinished_progressive_file_equal_the_whole(void **state)
{
	struct fby_bytes b = file_of(97, 64, true);
	size_t end = find_segment(b, 0xc4, 3);
	uint8_t *at = (uint8_t *)(uintptr_t)b.at, *whole;

	(void)state;
	assert_true(end > 0);
	at[end + 1] = 0xd9;
	whole = jpeg_whole(at, end + 2);
	for (unsigned k = 0; k < 60; k++) {
		struct fby_region region;
		uint8_t *pixels = NULL;

		assert_int_equal(decode_region(&decoders,
					       (struct fby_bytes){ at, end + 2 },
					       choose_noise, &region, &pixels),
				 0);
		compare(whole, 97, &region, pixels);
		free(pixels);
	}
	REFUSED(((struct fby_bytes){ at, end }), -EBADMSG, "between two scans");
	free(whole);
	release(b);
}

/* Takes the segments with this marker out of a file. */
static struct fby_bytes without(struct fby_bytes b, uint8_t marker)
{
	uint8_t *copy = malloc(b.n);
	size_t n = 2, at = 2;

	memcpy(copy, b.at, 2);
	while (b.at[at + 1] != 0xda) {
		size_t size = 2 + (size_t)(b.at[at + 2] << 8 | b.at[at + 3]);

		if (b.at[at + 1] != marker) {
			memcpy(copy + n, b.at + at, size);
			n += size;
		}
		at += size;
	}
	memcpy(copy + n, b.at + at, b.n - at);
	return (struct fby_bytes){ copy, n + b.n - at };
}

/* Kept decompress objects lend their tables: the result would depend on the order. */
static void a_photograph_never_borrows_the_tables_of_another(void **state)
{
	struct fby_bytes b = file_of(50, 40, false), bare = without(b, 0xdb);

	(void)state;
	assert_int_equal(try(b), 0);
	assert_true(try(bare) < 0);
	release(bare);
	release(b);
}

static void a_good_file_after_a_bad_one_is_good(void **state)
{
	struct fby_bytes b = file_of(90, 70, false);
	static const uint8_t junk[64] = { 0xff, 0xd8, 0xff, 0xc4, 1 };

	(void)state;
	for (unsigned k = 0; k < 3; k++) {
		assert_true(try((struct fby_bytes){ junk, sizeof(junk) }) < 0);
		assert_true(try((struct fby_bytes){ b.at, b.n / 2 }) < 0);
		assert_int_equal(try(b), 0);
	}
	release(b);
}

static void what_is_not_read_is_named(void **state)
{
	(void)state;
	REFUSED(((struct fby_bytes){ (const uint8_t *)"GIF89a..", 8 }), -ENOTSUP, "GIF");
	REFUSED(((struct fby_bytes){ (const uint8_t *)"RIFF....WEBPVP8 ", 16 }), -ENOTSUP,
		"WebP");
	REFUSED(((struct fby_bytes){ (const uint8_t *)"", 0 }), -ENOTSUP, "empty");
	REFUSED(((struct fby_bytes){ (const uint8_t *)"abc", 3 }), -ENOTSUP, "61 62 63");
	REFUSED(((struct fby_bytes){ (const uint8_t *)"\x89PNG\r\n\x1a\n", 8 }), -EBADMSG,
		"PNG");
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(regions_of_every_sampling_equal_the_whole),
		cmocka_unit_test(one_column_at_an_edge_equals_the_whole),
		cmocka_unit_test(regions_of_large_photographs_equal_the_whole),
		cmocka_unit_test(regions_of_grey_and_rgb_equal_the_whole),
		cmocka_unit_test(a_file_cut_anywhere_before_its_end_is_refused),
		cmocka_unit_test(a_missing_end_marker_and_spare_bytes_do_no_harm),
		cmocka_unit_test(rows_above_a_damage_can_still_be_had),
		cmocka_unit_test(a_header_that_claims_too_many_pixels_is_refused),
		cmocka_unit_test(
			regions_of_an_unfinished_progressive_file_equal_the_whole),
		cmocka_unit_test(a_file_of_endless_scans_is_refused),
		cmocka_unit_test(a_photograph_never_borrows_the_tables_of_another),
		cmocka_unit_test(a_good_file_after_a_bad_one_is_good),
		cmocka_unit_test(what_is_not_read_is_named),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
