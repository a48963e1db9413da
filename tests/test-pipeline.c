/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which lists of operations are taken, and what is said of the others.
 */
#include "lib/pipeline.h"
#include "tests/unit.h"
#include <errno.h>
#include <math.h>
#include <string.h>

#define CROP                                                                             \
	{                                                                                \
		FBY_OP_RANDOM_RESIZED_CROP, 6,                                           \
		{                                                                        \
			224, 192, 0.08, 1, 0.75, 1.25                                    \
		}                                                                        \
	}
#define RESIZE                                                                           \
	{                                                                                \
		FBY_OP_RESIZE, 1,                                                        \
		{                                                                        \
			256                                                              \
		}                                                                        \
	}
#define EXACT                                                                            \
	{                                                                                \
		FBY_OP_RESIZE_EXACT, 2,                                                  \
		{                                                                        \
			30, 40                                                           \
		}                                                                        \
	}
#define CENTER                                                                           \
	{                                                                                \
		FBY_OP_CENTER_CROP, 2,                                                   \
		{                                                                        \
			50, 60                                                           \
		}                                                                        \
	}
#define FLIP                                                                             \
	{                                                                                \
		FBY_OP_RANDOM_HORIZONTAL_FLIP, 1,                                        \
		{                                                                        \
			0.5                                                              \
		}                                                                        \
	}
#define NORMALIZE                                                                        \
	{                                                                                \
		FBY_OP_NORMALIZE, 6,                                                     \
		{                                                                        \
			.5, .5, .5, .2, .2, .2                                           \
		}                                                                        \
	}

static struct fby_cfg cfg;

static int check(uint32_t dtype, const struct fby_op *op, uint32_t n)
{
	struct fby_settings s = { .dtype = dtype, .pillow = 13, .n_ops = n };

	memcpy(s.op, op, n * sizeof(*op));
	return fby_pipeline_check(&s, &cfg);
}

static void takes(uint32_t dtype, uint32_t height, uint32_t width,
		  const struct fby_op *op, uint32_t n)
{
	assert_int_equal(check(dtype, op, n), 0);
	assert_int_equal(cfg.height, height);
	assert_int_equal(cfg.width, width);
}

static void refuses(uint32_t dtype, const char *text, const struct fby_op *op, uint32_t n)
{
	assert_int_equal(check(dtype, op, n), -EINVAL);
	if (strstr(fby_error(), text) == NULL)
		fail_msg("'%s' is not in: %s", text, fby_error());
}

#define LIST(...)                                                                        \
	(struct fby_op[]){ __VA_ARGS__ },                                                \
		sizeof((struct fby_op[]){ __VA_ARGS__ }) / sizeof(struct fby_op)
#define TAKES(dtype, h, w, ...)   takes(dtype, h, w, LIST(__VA_ARGS__))
#define REFUSES(dtype, text, ...) refuses(dtype, text, LIST(__VA_ARGS__))

static void lists_that_end_in_one_size_are_taken(void **state)
{
	(void)state;
	TAKES(FBY_U8, 224, 192, CROP);
	TAKES(FBY_U8, 224, 192, FLIP, CROP, FLIP);
	TAKES(FBY_U8, 50, 60, RESIZE, CENTER);
	TAKES(FBY_U8, 50, 60, RESIZE, FLIP, CENTER);
	TAKES(FBY_U8, 30, 40, EXACT);
	TAKES(FBY_U8, 50, 60, EXACT, CENTER);
	TAKES(FBY_U8, 50, 60, CENTER);
	TAKES(FBY_F32, 50, 60, CENTER, NORMALIZE, FLIP);
}

static void a_list_without_a_fixed_size_is_refused(void **state)
{
	(void)state;
	REFUSES(FBY_U8, "its own size", FLIP);
	REFUSES(FBY_U8, "its own size", RESIZE);
	assert_int_equal(check(FBY_U8, &(struct fby_op){ 0 }, 0), -EINVAL);
}

static void a_second_resampling_is_refused(void **state)
{
	(void)state;
	REFUSES(FBY_U8, "second time", RESIZE, CROP);
	REFUSES(FBY_U8, "second time", CROP, EXACT);
	REFUSES(FBY_U8, "after CenterCrop", CENTER, EXACT);
	REFUSES(FBY_U8, "second CenterCrop", CENTER, CENTER);
}

static void normalize_needs_floats_and_the_end(void **state)
{
	(void)state;
	REFUSES(FBY_U8, "uint8", CROP, NORMALIZE);
	REFUSES(FBY_F16, "after Normalize", NORMALIZE, CROP);
	REFUSES(FBY_F16, "after Normalize", CROP, NORMALIZE, NORMALIZE);
	REFUSES(FBY_F32, "above 0", CROP,
		{ FBY_OP_NORMALIZE, 6, { .5, .5, .5, .2, 0, .2 } });
	REFUSES(FBY_F32, "above 0", CROP,
		{ FBY_OP_NORMALIZE, 6, { .5, .5, .5, .2, 1e-60, .2 } });
	REFUSES(FBY_F32, "too large", CROP,
		{ FBY_OP_NORMALIZE, 6, { 1e60, .5, .5, .2, .2, .2 } });
}

static void sizes_are_whole_and_within_reason(void **state)
{
	(void)state;
	REFUSES(FBY_U8, "whole sizes", { FBY_OP_RESIZE_EXACT, 2, { 0, 5 } });
	REFUSES(FBY_U8, "whole sizes", { FBY_OP_RESIZE_EXACT, 2, { 5, -5 } });
	REFUSES(FBY_U8, "whole sizes", { FBY_OP_CENTER_CROP, 2, { 5.5, 5 } });
	REFUSES(FBY_U8, "whole sizes", { FBY_OP_CENTER_CROP, 2, { 5, 1e9 } });
	REFUSES(FBY_U8, "whole sizes", { FBY_OP_RESIZE, 1, { 0.5 } }, CENTER);
}

static void arguments_are_counted_and_finite(void **state)
{
	(void)state;
	REFUSES(FBY_U8, "takes 2 arguments", { FBY_OP_CENTER_CROP, 1, { 5 } });
	REFUSES(FBY_U8, "takes 6 arguments", { FBY_OP_RANDOM_RESIZED_CROP, 2, { 5, 5 } });
	REFUSES(FBY_U8, "not a finite", { FBY_OP_CENTER_CROP, 2, { NAN, 5 } });
	REFUSES(FBY_U8, "not a finite", { FBY_OP_CENTER_CROP, 2, { 5, INFINITY } });
	REFUSES(FBY_U8, "no operation 0", { 0, 0, { 0 } });
	REFUSES(FBY_U8, "no operation 99", CROP, { 99, 0, { 0 } });
}

static void ranges_are_in_order(void **state)
{
	(void)state;
	REFUSES(FBY_U8, "scale", { FBY_OP_RANDOM_RESIZED_CROP, 6, { 9, 9, 0, 1, 1, 1 } });
	REFUSES(FBY_U8, "scale",
		{ FBY_OP_RANDOM_RESIZED_CROP, 6, { 9, 9, 1, .5, 1, 1 } });
	REFUSES(FBY_U8, "ratio",
		{ FBY_OP_RANDOM_RESIZED_CROP, 6, { 9, 9, .5, 1, -1, 1 } });
	REFUSES(FBY_U8, "probability", CROP,
		{ FBY_OP_RANDOM_HORIZONTAL_FLIP, 1, { 1.5 } });
	REFUSES(FBY_U8, "probability", CROP,
		{ FBY_OP_RANDOM_HORIZONTAL_FLIP, 1, { -.1 } });
}

static void types_formats_and_pillows_are_those_we_have(void **state)
{
	struct fby_settings s = { .pillow = 13, .n_ops = 1, .op = { CROP } };

	(void)state;
	assert_int_equal(fby_pipeline_check(&s, &cfg), 0);
	s.dtype = 4;
	assert_int_equal(fby_pipeline_check(&s, &cfg), -EINVAL);
	s.dtype = FBY_F32;
	s.memory_format = 2;
	assert_int_equal(fby_pipeline_check(&s, &cfg), -EINVAL);
	s.memory_format = FBY_CHANNELS_LAST;
	s.pillow = 11;
	assert_int_equal(fby_pipeline_check(&s, &cfg), -EINVAL);
	s.pillow = 12;
	s.n_ops = FBY_MAX_OPS + 1;
	assert_int_equal(fby_pipeline_check(&s, &cfg), -EINVAL);
}

static void the_image_is_counted_in_bytes(void **state)
{
	static const uint64_t bytes[] = { 1, 2, 2, 4 };

	(void)state;
	for (uint32_t dtype = FBY_U8; dtype <= FBY_F32; dtype++) {
		TAKES(dtype, 224, 192, CROP);
		assert_int_equal(fby_pipeline_image_bytes(&cfg),
				 3 * 224 * 192 * bytes[dtype]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_that_end_in_one_size_are_taken),
		cmocka_unit_test(a_list_without_a_fixed_size_is_refused),
		cmocka_unit_test(a_second_resampling_is_refused),
		cmocka_unit_test(normalize_needs_floats_and_the_end),
		cmocka_unit_test(sizes_are_whole_and_within_reason),
		cmocka_unit_test(arguments_are_counted_and_finite),
		cmocka_unit_test(ranges_are_in_order),
		cmocka_unit_test(types_formats_and_pillows_are_those_we_have),
		cmocka_unit_test(the_image_is_counted_in_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
