/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draws and folds the geometry; the rule is in view.h.
 */
#include "workers/view.h"
#include <math.h>

#define MAX_RESIZED (1u << 24)
#define TRIES       10

struct size {
	uint32_t width, height;
};

/* rint() rounds halves to even in the default rounding mode, as Python's round(). */
static double round_even(double x)
{
	return rint(x);
}

static void place_box(struct fby_view *v, struct size box, uint64_t left, uint64_t top)
{
	v->left = (uint32_t)left;
	v->top = (uint32_t)top;
	v->width = box.width;
	v->height = box.height;
}

static uint32_t clamp_side(double side, uint32_t max)
{
	return side < 1 ? 1 : side > max ? max : (uint32_t)side;
}

static void middle_box(struct fby_view *v, const double ratio[2], struct size whole)
{
	double have = (double)whole.width / (double)whole.height;
	struct size box = whole;

	if (have < ratio[0])
		box.height = clamp_side(round_even(whole.width / ratio[0]), whole.height);
	else if (have > ratio[1])
		box.width = clamp_side(round_even(whole.height * ratio[1]), whole.width);
	place_box(v, box, (whole.width - box.width) / 2, (whole.height - box.height) / 2);
}

static void random_box(struct fby_view *v, const struct fby_random *random, uint64_t at,
		       const struct fby_op *op, struct size whole)
{
	double pixels = (double)whole.height * (double)whole.width;
	double low = log(op->arg[4]), high = log(op->arg[5]);
	uint64_t n[4];

	for (uint64_t t = 0; t < TRIES; t++) {
		fby_random_draw(random, at, t, n);
		double part =
			op->arg[2] + (op->arg[3] - op->arg[2]) * fby_random_unit(n[0]);
		double area = pixels * part;
		double aspect = exp(low + (high - low) * fby_random_unit(n[1]));
		double w = round_even(sqrt(area * aspect));
		double h = round_even(sqrt(area / aspect));

		if (!(w > 0 && w <= whole.width && h > 0 && h <= whole.height))
			continue;
		struct size box = { (uint32_t)w, (uint32_t)h };

		place_box(v, box, fby_random_below(n[3], whole.width - box.width + 1),
			  fby_random_below(n[2], whole.height - box.height + 1));
		return;
	}
	middle_box(v, &op->arg[4], whole);
}

/* A box drawn in the mirrored photograph lies at the other end of the real one. */
static void crop_and_resize(struct fby_view *v, const struct fby_random *random,
			    uint64_t at, const struct fby_op *op, struct size whole)
{
	random_box(v, random, at, op, whole);
	if (v->mirror_before)
		v->left = whole.width - v->left - v->width;
	v->to_height = (uint32_t)op->arg[0];
	v->to_width = (uint32_t)op->arg[1];
}

static bool resize_short(struct fby_view *v, const struct fby_op *op)
{
	uint32_t small = v->width <= v->height ? v->width : v->height;
	uint32_t large = v->width <= v->height ? v->height : v->width;
	double other = floor(op->arg[0] * large / small);

	if (other > MAX_RESIZED)
		return false;
	v->to_width = (uint32_t)(v->width <= v->height ? op->arg[0] : other);
	v->to_height = (uint32_t)(v->width <= v->height ? other : op->arg[0]);
	return true;
}

static int32_t middle(uint32_t have, uint32_t want)
{
	if (want > have)
		return -(int32_t)((want - have) / 2);
	return (int32_t)round_even((have - want) / 2.0);
}

/* The window is chosen in the image as it stands, and counted before mirror_after. */
static void crop_middle(struct fby_view *v, const struct fby_op *op)
{
	uint32_t height = (uint32_t)op->arg[0], width = (uint32_t)op->arg[1];
	int32_t left = middle(v->to_width, width);

	v->out_top = middle(v->to_height, height);
	v->out_left =
		v->mirror_after ? (int32_t)v->to_width - left - (int32_t)width : left;
}

static bool flips(const struct fby_random *random, uint64_t at, const struct fby_op *op)
{
	uint64_t n[4];

	fby_random_draw(random, at, 0, n);
	return fby_random_unit(n[0]) < op->arg[0];
}

bool fby_view_draw(const struct fby_cfg *cfg, const struct fby_random *random,
		   uint32_t width, uint32_t height, struct fby_view *ret_view)
{
	struct size whole = { width, height };
	struct fby_view v = { .width = width, .height = height };
	bool resized = false;

	v.to_width = width;
	v.to_height = height;
	for (unsigned i = 0; i < cfg->n_ops; i++) {
		const struct fby_op *op = &cfg->op[i];

		switch (op->kind) {
		case FBY_OP_RANDOM_RESIZED_CROP:
			crop_and_resize(&v, random, i, op, whole);
			resized = true;
			break;
		case FBY_OP_RESIZE:
			if (!resize_short(&v, op))
				return false;
			resized = true;
			break;
		case FBY_OP_RESIZE_EXACT:
			v.to_height = (uint32_t)op->arg[0];
			v.to_width = (uint32_t)op->arg[1];
			resized = true;
			break;
		case FBY_OP_CENTER_CROP:
			crop_middle(&v, op);
			resized = true;
			break;
		case FBY_OP_RANDOM_HORIZONTAL_FLIP:
			*(resized ? &v.mirror_after : &v.mirror_before) ^=
				flips(random, i, op);
			break;
		default:
			break;
		}
	}
	*ret_view = v;
	return true;
}
