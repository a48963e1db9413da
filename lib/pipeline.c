/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which lists of operations make one image of a fixed size with a single
 * resampling, and which do not.  Knows no pixel.
 */
#include "lib/pipeline.h"
#include "lib/fail.h"
#include <errno.h>
#include <math.h>
#include <string.h>

/* Sides of an output image; also keeps every product of two sides in 32 bits. */
#define MAX_SIDE 16384

/* What the operations so far amount to. */
struct fold {
	bool resized, fixed, cropped, normalized;
	uint32_t height, width;
};

static const struct {
	const char *name;
	unsigned n_args;
} kinds[] = {
	[FBY_OP_RANDOM_RESIZED_CROP] = { "RandomResizedCrop", 6 },
	[FBY_OP_RESIZE] = { "Resize", 1 },
	[FBY_OP_RESIZE_EXACT] = { "Resize to an exact size", 2 },
	[FBY_OP_CENTER_CROP] = { "CenterCrop", 2 },
	[FBY_OP_RANDOM_HORIZONTAL_FLIP] = { "RandomHorizontalFlip", 1 },
	[FBY_OP_NORMALIZE] = { "Normalize", 6 },
};

unsigned fby_dtype_bytes(uint32_t dtype)
{
	static const unsigned bytes[] = {
		[FBY_U8] = 1, [FBY_F16] = 2, [FBY_BF16] = 2, [FBY_F32] = 4
	};

	assert(dtype < FBY_ARRAY_SIZE(bytes));
	return bytes[dtype];
}

uint64_t fby_pipeline_image_bytes(const struct fby_cfg *cfg)
{
	return (uint64_t)cfg->channels * cfg->height * cfg->width *
	       fby_dtype_bytes(cfg->dtype);
}

static int check_shape(const struct fby_op *op, unsigned at)
{
	if (op->kind < 1 || op->kind >= FBY_ARRAY_SIZE(kinds))
		return fby_fail(-EINVAL, "operation %u: there is no operation %u", at,
				op->kind);
	if (op->n_args != kinds[op->kind].n_args)
		return fby_fail(-EINVAL, "operation %u: %s takes %u arguments, not %u",
				at, kinds[op->kind].name, kinds[op->kind].n_args,
				op->n_args);
	for (unsigned i = 0; i < op->n_args; i++)
		if (!isfinite(op->arg[i]))
			return fby_fail(
				-EINVAL,
				"operation %u: argument %u of %s is not a finite number",
				at, i, kinds[op->kind].name);
	return 0;
}

static int check_sides(const struct fby_op *op, unsigned at, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		double side = op->arg[i];

		if (side < 1 || side > MAX_SIDE || side != (double)(uint32_t)side)
			return fby_fail(-EINVAL,
					"operation %u: %s needs whole sizes of 1 to %u "
					"pixels, not %g",
					at, kinds[op->kind].name, MAX_SIDE, side);
	}
	return 0;
}

static int check_range(const struct fby_op *op, unsigned at, unsigned first,
		       const char *what)
{
	double low = op->arg[first], high = op->arg[first + 1];

	if (low <= 0 || high < low)
		return fby_fail(-EINVAL,
				"operation %u: %s needs a %s of 0 < min <= max, not "
				"(%g, %g)",
				at, kinds[op->kind].name, what, low, high);
	return 0;
}

static int check_normalize(const struct fby_op *op, unsigned at)
{
	for (unsigned i = 0; i < 3; i++) {
		float mean = (float)op->arg[i], std = (float)op->arg[3 + i];

		if (!isfinite(mean) || !isfinite(std))
			return fby_fail(
				-EINVAL,
				"operation %u: Normalize computes in 32-bit floats, and "
				"%g or %g is too large for them",
				at, op->arg[i], op->arg[3 + i]);
		if (std <= 0)
			return fby_fail(-EINVAL,
					"operation %u: Normalize needs a standard "
					"deviation above 0, not %g",
					at, op->arg[3 + i]);
	}
	return 0;
}

static int check_args(const struct fby_op *op, unsigned at)
{
	int r;

	switch (op->kind) {
	case FBY_OP_RANDOM_RESIZED_CROP:
		r = check_sides(op, at, 2);
		if (r == 0)
			r = check_range(op, at, 2, "scale");
		return r < 0 ? r : check_range(op, at, 4, "ratio");
	case FBY_OP_RESIZE:
		return check_sides(op, at, 1);
	case FBY_OP_RESIZE_EXACT:
	case FBY_OP_CENTER_CROP:
		return check_sides(op, at, 2);
	case FBY_OP_RANDOM_HORIZONTAL_FLIP:
		if (op->arg[0] < 0 || op->arg[0] > 1)
			return fby_fail(-EINVAL,
					"operation %u: RandomHorizontalFlip needs a "
					"probability of 0 to 1, not %g",
					at, op->arg[0]);
		return 0;
	default:
		return check_normalize(op, at);
	}
}

static int fold_resize(struct fold *fold, const struct fby_op *op, unsigned at)
{
	if (fold->resized)
		return fby_fail(-EINVAL,
				"operation %u: %s would resample a second time; one "
				"resize a pipeline is what there is",
				at, kinds[op->kind].name);
	if (fold->cropped)
		return fby_fail(-EINVAL, "operation %u: %s cannot come after CenterCrop",
				at, kinds[op->kind].name);
	fold->resized = true;
	if (op->kind != FBY_OP_RESIZE) {
		fold->fixed = true;
		fold->height = (uint32_t)op->arg[0];
		fold->width = (uint32_t)op->arg[1];
	}
	return 0;
}

static int fold_crop(struct fold *fold, const struct fby_op *op, unsigned at)
{
	if (fold->cropped)
		return fby_fail(-EINVAL,
				"operation %u: a second CenterCrop; one is what there is",
				at);
	fold->cropped = fold->fixed = true;
	fold->height = (uint32_t)op->arg[0];
	fold->width = (uint32_t)op->arg[1];
	return 0;
}

static int fold_op(struct fold *fold, const struct fby_op *op, unsigned at,
		   uint32_t dtype)
{
	if (op->kind == FBY_OP_RANDOM_HORIZONTAL_FLIP)
		return 0;
	if (fold->normalized)
		return fby_fail(-EINVAL,
				"operation %u: only RandomHorizontalFlip can come after "
				"Normalize, not %s",
				at, kinds[op->kind].name);
	if (op->kind == FBY_OP_CENTER_CROP)
		return fold_crop(fold, op, at);
	if (op->kind != FBY_OP_NORMALIZE)
		return fold_resize(fold, op, at);
	if (dtype == FBY_U8)
		return fby_fail(-EINVAL,
				"operation %u: Normalize makes fractions, which uint8 "
				"cannot hold; choose a float type",
				at);
	fold->normalized = true;
	return 0;
}

static int check_ops(const struct fby_settings *s, struct fold *fold)
{
	int r = 0;

	if (s->n_ops > FBY_MAX_OPS)
		return fby_fail(-EINVAL, "%u operations; a pipeline has at most %u",
				s->n_ops, FBY_MAX_OPS);
	for (unsigned i = 0; i < s->n_ops && r == 0; i++) {
		r = check_shape(&s->op[i], i);
		if (r == 0)
			r = check_args(&s->op[i], i);
		if (r == 0)
			r = fold_op(fold, &s->op[i], i, s->dtype);
	}
	if (r < 0)
		return r;
	if (!fold->fixed)
		return fby_fail(
			-EINVAL,
			"the pipeline gives each photograph its own size; end it "
			"with RandomResizedCrop, CenterCrop or a Resize to height "
			"and width");
	return 0;
}

int fby_pipeline_check(const struct fby_settings *settings, struct fby_cfg *ret_cfg)
{
	struct fold fold = { 0 };
	int r;

	if (settings->dtype > FBY_F32)
		return fby_fail(-EINVAL, "there is no element type %u", settings->dtype);
	if (settings->memory_format > FBY_CHANNELS_LAST)
		return fby_fail(-EINVAL, "there is no memory format %u",
				settings->memory_format);
	if (settings->pillow != 12 && settings->pillow != 13)
		return fby_fail(-EINVAL,
				"pillow is 12 or 13 (whose resized pixels), not %u",
				settings->pillow);
	r = check_ops(settings, &fold);
	if (r < 0)
		return r;
	ret_cfg->dtype = settings->dtype;
	ret_cfg->memory_format = settings->memory_format;
	ret_cfg->pillow = settings->pillow;
	ret_cfg->n_ops = settings->n_ops;
	ret_cfg->channels = 3;
	ret_cfg->height = fold.height;
	ret_cfg->width = fold.width;
	memset(ret_cfg->op, 0, sizeof(ret_cfg->op));
	memcpy(ret_cfg->op, settings->op, settings->n_ops * sizeof(settings->op[0]));
	return 0;
}
