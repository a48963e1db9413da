/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The geometry: boxes within the photograph, torchvision's rounding, windows that
 * stick out, mirrors at the right place.
 */
#include "tests/unit.h"
#include "workers/view.h"
#include <string.h>

static struct fby_view draw(uint32_t width, uint32_t height, uint64_t position,
			    const struct fby_op *op, uint32_t n)
{
	struct fby_random random = { .seed = 9, .epoch = 1, .position = position };
	struct fby_cfg cfg = { .n_ops = n };
	struct fby_view view;

	memcpy(cfg.op, op, n * sizeof(*op));
	assert_true(fby_view_draw(&cfg, &random, width, height, &view));
	return view;
}

#define DRAW(w, h, position, ...)                                                        \
	draw(w, h, position, (struct fby_op[]){ __VA_ARGS__ },                           \
	     sizeof((struct fby_op[]){ __VA_ARGS__ }) / sizeof(struct fby_op))

#define CROP                                                                             \
	{                                                                                \
		FBY_OP_RANDOM_RESIZED_CROP, 6,                                           \
		{                                                                        \
			24, 30, 0.08, 1, 3. / 4, 4. / 3                                  \
		}                                                                        \
	}
#define FLIP(p)                                                                          \
	{                                                                                \
		FBY_OP_RANDOM_HORIZONTAL_FLIP, 1,                                        \
		{                                                                        \
			p                                                                \
		}                                                                        \
	}

static void random_boxes_lie_in_the_photograph(void **state)
{
	static const uint32_t sides[] = { 1, 2, 3, 7, 50, 333, 5000 };

	(void)state;
	for (uint64_t k = 0; k < 20000; k++) {
		uint32_t w = sides[k % 7], h = sides[k / 7 % 7];
		struct fby_view v = DRAW(w, h, k, CROP);

		assert_true(v.width >= 1 && v.left + v.width <= w);
		assert_true(v.height >= 1 && v.top + v.height <= h);
		assert_true(v.to_width == 30 && v.to_height == 24);
		assert_true(v.out_left == 0 && v.out_top == 0);
	}
}

static void random_boxes_reach_every_edge(void **state)
{
	unsigned left = 0, top = 0, right = 0, bottom = 0;

	(void)state;
	for (uint64_t k = 0; k < 5000; k++) {
		struct fby_view v = DRAW(20, 20, k, CROP);

		left += v.left == 0;
		top += v.top == 0;
		right += v.left + v.width == 20;
		bottom += v.top + v.height == 20;
	}
	assert_true(left > 0 && top > 0 && right > 0 && bottom > 0);
}

static void a_box_depends_on_its_position_alone(void **state)
{
	struct fby_view a = DRAW(500, 375, 7, CROP), b = DRAW(500, 375, 7, CROP);
	struct fby_view c = DRAW(500, 375, 8, CROP);

	(void)state;
	assert_memory_equal(&a, &b, offsetof(struct fby_view, mirror_before));
	assert_memory_not_equal(&a, &c, offsetof(struct fby_view, mirror_before));
}

static void a_strip_falls_back_to_its_middle(void **state)
{
	struct fby_view v = DRAW(10000, 9, 3, CROP);

	(void)state;
	assert_int_equal(v.height, 9);
	assert_int_equal(v.width, 12);
	assert_int_equal(v.left, (10000 - 12) / 2);
	v = DRAW(9, 10000, 3, CROP);
	assert_int_equal(v.width, 9);
	assert_int_equal(v.height, 12);
}

static void a_fallback_box_is_never_empty(void **state)
{
	struct fby_view v =
		DRAW(1, 1, 0,
		     { FBY_OP_RANDOM_RESIZED_CROP, 6, { 8, 8, 0.1, 0.1, 5, 6 } });

	(void)state;
	assert_int_equal(v.width, 1);
	assert_int_equal(v.height, 1);
}

static void the_longer_side_is_cut_not_rounded(void **state)
{
	struct fby_view v = DRAW(500, 375, 0, { FBY_OP_RESIZE, 1, { 256 } });

	(void)state;
	assert_int_equal(v.to_height, 256);
	assert_int_equal(v.to_width, 341);
	v = DRAW(333, 500, 0, { FBY_OP_RESIZE, 1, { 256 } });
	assert_int_equal(v.to_width, 256);
	assert_int_equal(v.to_height, 384);
}

static void a_centre_offset_of_a_half_goes_to_the_even(void **state)
{
	struct fby_view v = DRAW(103, 101, 0, { FBY_OP_CENTER_CROP, 2, { 100, 100 } });

	(void)state;
	assert_int_equal(v.out_left, 2); /* 1.5 */
	assert_int_equal(v.out_top, 0);  /* 0.5 */
}

static void a_window_sticks_out_of_a_small_image(void **state)
{
	struct fby_view v = DRAW(10, 20, 0, { FBY_OP_CENTER_CROP, 2, { 25, 15 } });

	(void)state;
	assert_int_equal(v.out_left, -2);
	assert_int_equal(v.out_top, -2);
	assert_int_equal(v.to_width, 10);
}

static void mirrors_before_and_after_the_resize_are_told_apart(void **state)
{
	struct fby_view v = DRAW(50, 40, 0, FLIP(1), CROP);

	(void)state;
	assert_true(v.mirror_before && !v.mirror_after);
	v = DRAW(50, 40, 0, CROP, FLIP(1));
	assert_true(!v.mirror_before && v.mirror_after);
	v = DRAW(50, 40, 0, CROP, FLIP(1), FLIP(1));
	assert_true(!v.mirror_before && !v.mirror_after);
	v = DRAW(50, 40, 0, CROP, FLIP(0));
	assert_true(!v.mirror_before && !v.mirror_after);
}

static void half_of_the_images_are_mirrored(void **state)
{
	unsigned n = 0;

	(void)state;
	for (uint64_t k = 0; k < 10000; k++)
		n += DRAW(50, 40, k, CROP, FLIP(0.5)).mirror_after;
	assert_in_range(n, 4800, 5200);
}

static void a_photograph_beyond_measure_is_refused(void **state)
{
	struct fby_random random = { 0 };
	struct fby_cfg cfg = { .n_ops = 1, .op = { { FBY_OP_RESIZE, 1, { 256 } } } };
	struct fby_view view;

	(void)state;
	assert_false(fby_view_draw(&cfg, &random, 1, 100000000, &view));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_boxes_lie_in_the_photograph),
		cmocka_unit_test(random_boxes_reach_every_edge),
		cmocka_unit_test(a_box_depends_on_its_position_alone),
		cmocka_unit_test(a_strip_falls_back_to_its_middle),
		cmocka_unit_test(a_fallback_box_is_never_empty),
		cmocka_unit_test(the_longer_side_is_cut_not_rounded),
		cmocka_unit_test(a_centre_offset_of_a_half_goes_to_the_even),
		cmocka_unit_test(a_window_sticks_out_of_a_small_image),
		cmocka_unit_test(mirrors_before_and_after_the_resize_are_told_apart),
		cmocka_unit_test(half_of_the_images_are_mirrored),
		cmocka_unit_test(a_photograph_beyond_measure_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
