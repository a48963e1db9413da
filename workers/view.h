/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The geometry of one image: which box of the photograph, resized to what, which
 * window of that, mirrored or not.  Knows numbers only, no pixel.
 *
 * The rule, so that anybody can compute it again.  All in float64.
 *
 * Random numbers: r(op, draw)[word] is what lib/rng.h gives for the operation's
 * index in the pipeline; unit() and below() are its two conversions.
 *
 * RandomResizedCrop(h, w, scale, ratio), after torchvision's.  For t = 0..9:
 *	n      = r(op, t)
 *	area   = height * width * (scale_min + (scale_max - scale_min) * unit(n[0]))
 *	aspect = exp(log(ratio_min) + (log(ratio_max) - log(ratio_min)) * unit(n[1]))
 *	bw = round(sqrt(area * aspect)),  bh = round(sqrt(area / aspect))
 *	if 0 < bw <= width and 0 < bh <= height:
 *		top = below(n[2], height - bh + 1), left = below(n[3], width - bw + 1)
 *		done
 * then the box in the middle, with f = width / height:
 *	f < ratio_min: bw = width, bh = round(bw / ratio_min)
 *	f > ratio_max: bh = height, bw = round(bh * ratio_max)
 *	else the whole photograph; each side at least 1 and at most the photograph's
 *	top = (height - bh) / 2, left = (width - bw) / 2, rounded down
 * round() is to nearest, halves to even.
 *
 * Resize(s): the shorter side becomes s, the longer int(s * long / short).
 * CenterCrop(h, w): an offset is round((have - want) / 2) where the image is large
 * enough; where it is not, zeros are put around it, (want - have) / 2 rounded down
 * of them on the left or top.
 * RandomHorizontalFlip(p): unit(r(op, 0)[0]) < p.
 */
#ifndef FBY_VIEW_H
#define FBY_VIEW_H

#include "lib/layout.h"
#include "lib/rng.h"

struct fby_view {
	uint32_t left, top, width, height; /* box in the photograph */
	uint32_t to_width, to_height;      /* size the box is resized to */
	int32_t out_left, out_top; /* window in that, of the size of the output; */
				   /* it may stick out: those pixels are 0 */
	bool mirror_before;        /* the box is mirrored before the resize */
	bool mirror_after;         /* the window is mirrored at the end */
};

/*
 * Folds the operations of a checked pipeline for a photograph of width x height.
 * False where the resized photograph would be beyond all measure (a side of more
 * than 2^24 pixels): such a photograph cannot be used with this pipeline.
 */
bool fby_view_draw(const struct fby_cfg *cfg, const struct fby_random *random,
		   uint32_t width, uint32_t height, struct fby_view *ret_view);

#endif
