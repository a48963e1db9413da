/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The streaming resize against a plain one: whole pictures, two loops, no tables.
 * Every table of hot loops that this machine can run is held to it.
 */
#include "tests/unit.h"
#include "workers/resample.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A picture of 4-byte pixels. */
struct picture {
	uint32_t width, height;
	uint8_t *at;
};

static struct picture picture_new(uint32_t width, uint32_t height)
{
	struct picture p = { width, height, calloc((size_t)width * height + 64, 4) };

	assert_non_null(p.at);
	return p;
}

static uint64_t noise_state = 88172645463325252ull;

static uint32_t noise(uint32_t below)
{
	noise_state ^= noise_state << 13;
	noise_state ^= noise_state >> 7;
	noise_state ^= noise_state << 17;
	return (uint32_t)((noise_state >> 33) % below);
}

/* Noise, and now and then nothing but the extremes. */
static void paint(struct picture *p)
{
	bool extreme = noise(4) == 0;

	for (size_t i = 0; i < 4 * (size_t)p->width * p->height; i++)
		p->at[i] = (uint8_t)(extreme ? noise(2) * 255 : noise(256));
}

/* One number of a line of n, `step` bytes apart, resized to m: number i of them. */
static uint8_t oracle(const uint8_t *line, size_t step, uint32_t n, uint32_t m,
		      uint32_t i)
{
	double scale = (double)n / m, support = scale < 1 ? 1 : scale;
	double centre = (i + 0.5) * scale, total = 0;
	int first = (int)(centre - support + 0.5), end = (int)(centre + support + 0.5);
	int64_t sum = 1 << 21;

	first = first < 0 ? 0 : first;
	end = end > (int)n ? (int)n : end;
	for (int k = 0; k < 2; k++)
		for (int x = first; x < end; x++) {
			double d = fabs((x - centre + 0.5) * (1.0 / support));
			double w = d < 1 ? 1 - d : 0;

			if (k == 0)
				total += w;
			else
				sum += line[(size_t)x * step] *
				       (int64_t)(0.5 + w / total * (1 << 22));
		}
	sum >>= 22;
	return (uint8_t)(sum > 255 ? 255 : sum);
}

static struct picture across(struct picture p, uint32_t to)
{
	struct picture q = picture_new(to, p.height);

	for (uint32_t y = 0; y < q.height; y++)
		for (uint32_t x = 0; x < 4 * to; x++)
			q.at[(size_t)y * 4 * to + x] =
				oracle(p.at + (size_t)y * 4 * p.width + x % 4, 4, p.width,
				       to, x / 4);
	free(p.at);
	return q;
}

static struct picture down(struct picture p, uint32_t to)
{
	struct picture q = picture_new(p.width, to);
	size_t row = 4 * (size_t)p.width;

	for (uint32_t y = 0; y < to; y++)
		for (size_t x = 0; x < row; x++)
			q.at[y * row + x] = oracle(p.at + x, row, p.height, to, y);
	free(p.at);
	return q;
}

static struct picture cut(const struct picture *p, const struct fby_view *v)
{
	struct picture q = picture_new(v->width, v->height);

	for (uint32_t y = 0; y < q.height; y++)
		for (uint32_t x = 0; x < q.width; x++) {
			uint32_t from = v->mirror_before ? q.width - 1 - x : x;

			memcpy(q.at + 4 * ((size_t)y * q.width + x),
			       p->at + 4 * ((size_t)(v->top + y) * p->width + v->left +
					    from),
			       4);
		}
	return q;
}

/* What the window must hold, as 3-byte pixels. */
static uint8_t *expect(const struct picture *p, const struct fby_resample_plan *plan)
{
	const struct fby_view *v = plan->view;
	struct picture q = cut(p, v);
	int spare_x = (int)v->width - (int)v->to_width;
	int spare_y = (int)v->height - (int)v->to_height;
	uint8_t *out = calloc((size_t)plan->width * plan->height, 3);

	if (plan->pillow == 13 && spare_y > 2 * (spare_x > 0 ? spare_x : 0))
		q = across(down(q, v->to_height), v->to_width);
	else
		q = down(across(q, v->to_width), v->to_height);
	for (int y = 0; y < (int)plan->height; y++)
		for (int x = 0; x < (int)plan->width; x++) {
			int at_x = v->out_left +
				   (v->mirror_after ? (int)plan->width - 1 - x : x);
			int at_y = v->out_top + y;

			if (at_x < 0 || at_x >= (int)q.width || at_y < 0 ||
			    at_y >= (int)q.height)
				continue;
			memcpy(out + 3 * ((size_t)y * plan->width + (size_t)x),
			       q.at + 4 * ((size_t)at_y * q.width + (size_t)at_x), 3);
		}
	free(q.at);
	return out;
}

struct target {
	uint8_t *at;
	size_t row;
	uint32_t next;
};

static void on_rows(void *user, uint32_t first, unsigned n, const uint8_t *rgb,
		    size_t stride)
{
	struct target *t = user;

	assert_int_equal(first, t->next);
	for (unsigned i = 0; i < n; i++)
		memcpy(t->at + (first + i) * t->row, rgb + i * stride, t->row);
	t->next += n;
}

/* Pushes the needed part in uneven portions. */
static void run(struct fby_resample *rs, const struct picture *p,
		struct fby_resample_plan *plan, uint8_t *out)
{
	struct target target = { out, 3 * (size_t)plan->width, 0 };
	struct fby_region need;
	const uint8_t *from;

	plan->finished = (struct fby_finished){ on_rows, &target };
	assert_int_equal(fby_resample_begin(rs, plan, &need), 0);
	assert_true(need.left + need.width <= p->width);
	assert_true(need.top + need.height <= p->height);
	from = p->at + 4 * ((size_t)need.top * p->width + need.left);
	for (uint32_t y = 0; y < need.height;) {
		unsigned n = 1 + noise(20);

		n = n > need.height - y ? need.height - y : n;
		assert_false(fby_resample_done(rs));
		fby_resample_push(rs, from + 4 * (size_t)y * p->width,
				  4 * (size_t)p->width, n);
		y += n;
	}
	plan->finished.user = NULL;
	assert_true(fby_resample_done(rs));
	assert_int_equal(target.next, plan->height);
}

static void check(const struct picture *p, struct fby_resample_plan *plan)
{
	size_t n = 3 * (size_t)plan->width * plan->height;
	uint8_t *want = expect(p, plan), *got = malloc(n);
	const struct fby_passes *passes;

	for (unsigned k = 0; (passes = fby_passes_get(k)) != NULL; k++) {
		struct fby_resample *rs;

		assert_int_equal(fby_resample_create(passes, &rs), 0);
		memset(got, 0xaa, n);
		run(rs, p, plan, got);
		assert_memory_equal(got, want, n);
		fby_resample_destroy(rs);
	}
	free(want);
	free(got);
}

static void random_boxes_sizes_and_mirrors_equal_the_oracle(void **state)
{
	(void)state;
	for (unsigned k = 0; k < 400; k++) {
		struct picture p = picture_new(1 + noise(90), 1 + noise(90));
		struct fby_view v = { .left = noise(p.width), .top = noise(p.height) };
		struct fby_resample_plan plan = { .view = &v, .pillow = 12 + noise(2) };

		paint(&p);
		v.width = 1 + noise(p.width - v.left);
		v.height = 1 + noise(p.height - v.top);
		plan.width = v.to_width = 1 + noise(70);
		plan.height = v.to_height = 1 + noise(70);
		v.mirror_before = noise(2);
		v.mirror_after = noise(2);
		check(&p, &plan);
		free(p.at);
	}
}

static void windows_inside_and_sticking_out_equal_the_oracle(void **state)
{
	(void)state;
	for (unsigned k = 0; k < 300; k++) {
		struct picture p = picture_new(1 + noise(60), 1 + noise(90));
		struct fby_view v = { .width = p.width, .height = p.height };
		struct fby_resample_plan plan = { .view = &v, .pillow = 12 + noise(2) };

		paint(&p);
		v.to_width = 1 + noise(50);
		v.to_height = 1 + noise(50);
		plan.width = 1 + noise(80);
		plan.height = 1 + noise(80);
		v.out_left = ((int)v.to_width - (int)plan.width) / 2;
		v.out_top = ((int)v.to_height - (int)plan.height) / 2;
		v.mirror_after = noise(2);
		check(&p, &plan);
		free(p.at);
	}
}

static void check_shape(uint32_t w, uint32_t h, uint32_t to_w, uint32_t to_h)
{
	struct picture p = picture_new(w, h);
	struct fby_view v = {
		.width = w, .height = h, .to_width = to_w, .to_height = to_h
	};
	struct fby_resample_plan plan = { .view = &v, .width = to_w, .height = to_h };

	for (plan.pillow = 12; plan.pillow <= 13; plan.pillow++) {
		paint(&p);
		check(&p, &plan);
	}
	free(p.at);
}

static void extreme_shapes_equal_the_oracle(void **state)
{
	(void)state;
	check_shape(1, 1, 1, 1);
	check_shape(1, 1, 40, 30);
	check_shape(3000, 2, 3, 2);
	check_shape(2, 3000, 2, 3);
	check_shape(500, 375, 224, 224);
	check_shape(333, 500, 224, 224);
	check_shape(20000, 1, 1, 1);
	check_shape(1, 20000, 1, 1);
}

/* Taps by the thousand round their weights up until white would wrap to black. */
static void white_stays_white_under_many_taps(void **state)
{
	struct picture p = picture_new(33000, 2);
	struct fby_view v = {
		.width = p.width, .height = p.height, .to_width = 1, .to_height = 1
	};
	struct fby_resample_plan plan = { &v, 1, 1, 13, { NULL, NULL } };

	(void)state;
	memset(p.at, 255, 4 * (size_t)p.width * p.height);
	check(&p, &plan);
	free(p.at);
}

static void a_strip_beyond_measure_is_refused(void **state)
{
	struct fby_view v = {
		.width = 100000000, .height = 1, .to_width = 16384, .to_height = 1
	};
	struct fby_resample_plan plan = { &v, 16384, 1, 13, { NULL, NULL } };
	struct fby_resample *rs;
	struct fby_region need;

	(void)state;
	assert_int_equal(fby_resample_create(fby_passes_get(0), &rs), 0);
	assert_int_equal(fby_resample_begin(rs, &plan, &need), -E2BIG);
	fby_resample_destroy(rs);
}

static void one_object_serves_pictures_of_any_size_in_turn(void **state)
{
	struct fby_resample *rs;

	(void)state;
	assert_int_equal(fby_resample_create(fby_passes_get(0), &rs), 0);
	for (unsigned k = 0; k < 60; k++) {
		struct picture p = picture_new(1 + noise(200), 1 + noise(200));
		struct fby_view v = { .width = p.width, .height = p.height };
		struct fby_resample_plan plan = { .view = &v, .pillow = 13 };
		uint8_t *want, *got;

		paint(&p);
		plan.width = v.to_width = 1 + noise(50);
		plan.height = v.to_height = 1 + noise(50);
		want = expect(&p, &plan);
		got = malloc(3 * (size_t)plan.width * plan.height);
		run(rs, &p, &plan, got);
		assert_memory_equal(got, want, 3 * (size_t)plan.width * plan.height);
		free(got);
		free(want);
		free(p.at);
	}
	fby_resample_destroy(rs);
}

static void the_instruction_set_can_be_forced(void **state)
{
	const struct fby_passes *passes = NULL;

	(void)state;
	for (unsigned k = 0; fby_passes_get(k) != NULL; k++) {
		setenv("FOREBAY_ISA", fby_passes_get(k)->name, 1);
		assert_int_equal(fby_passes_choose(&passes), 0);
		assert_ptr_equal(passes, fby_passes_get(k));
	}
	setenv("FOREBAY_ISA", "z80", 1);
	assert_true(fby_passes_choose(&passes) < 0);
	unsetenv("FOREBAY_ISA");
	assert_int_equal(fby_passes_choose(&passes), 0);
	assert_ptr_equal(passes, fby_passes_get(0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_boxes_sizes_and_mirrors_equal_the_oracle),
		cmocka_unit_test(windows_inside_and_sticking_out_equal_the_oracle),
		cmocka_unit_test(extreme_shapes_equal_the_oracle),
		cmocka_unit_test(white_stays_white_under_many_taps),
		cmocka_unit_test(a_strip_beyond_measure_is_refused),
		cmocka_unit_test(one_object_serves_pictures_of_any_size_in_turn),
		cmocka_unit_test(the_instruction_set_can_be_forced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
