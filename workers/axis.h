/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The weights of one axis of a resize: which input pixels make which output pixel.
 * The rule is Pillow's antialiased bilinear one: a triangle of half-width
 * max(1, in / out), in float64, normalised, rounded to 22 fractional bits.
 */
#ifndef FBY_AXIS_H
#define FBY_AXIS_H

#include "lib/base.h"

#define FBY_WEIGHT_BITS 22

/* The inputs one output needs: the first, and one past the last. */
struct fby_span {
	uint32_t first, end;
};

/*
 * Every output pixel has n_taps weights, the spare ones 0, so that loops need no
 * count of their own: output i is the sum over j of weight[i * n_taps + j] *
 * input[begin + first[i] + j].  Nothing at or above `end` is looked at, which is
 * within the input.
 */
struct fby_axis {
	uint32_t n, n_taps;
	uint32_t begin, end; /* of all inputs that are looked at */
	uint32_t *first;
	int32_t *weight;
	struct fby_span *span;
	double *scratch;
	size_t n_first, n_weight, n_span, n_scratch; /* room */
};

/* What to compute: outputs from..from+n-1 of `in` pixels resized to `out`. */
struct fby_axis_plan {
	uint32_t in, out, from, n;
	bool mirror_in;  /* the input is mirrored first */
	bool mirror_out; /* the n outputs come in reverse order */
};

/*
 * Replaces what the axis held; begin with a zeroed one.  -ENOMEM, or -E2BIG for a
 * strip of many million pixels.
 */
int fby_axis_init(struct fby_axis *axis, const struct fby_axis_plan *plan);
void fby_axis_finish(struct fby_axis *axis);

#endif
