/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resizes a picture while its rows arrive, bit for bit as Pillow does: antialiased
 * bilinear, one axis after the other, bytes between the two.  Knows no codec and no
 * tensor.  Only the wanted window is computed and only the rows it needs are looked
 * at; no picture is ever stored whole.
 */
#ifndef FBY_RESAMPLE_H
#define FBY_RESAMPLE_H

#include "workers/codec.h"
#include "workers/passes.h"
#include "workers/view.h"

struct fby_resample;

/*
 * Takes finished rows: n rows of 3-byte pixels from row `first` of the window, in
 * order, each row once.
 */
struct fby_finished {
	void (*rows)(void *user, uint32_t first, unsigned n, const uint8_t *rgb,
		     size_t stride);
	void *user;
};

struct fby_resample_plan {
	const struct fby_view *view;
	uint32_t width, height; /* of the window */
	uint32_t pillow; /* 13 or 12: the order of the two axes, see docs/pixels.md */
	struct fby_finished finished;
};

int fby_resample_create(const struct fby_passes *passes,
			struct fby_resample **ret_resample);
void fby_resample_destroy(struct fby_resample *rs);

/*
 * Begins a picture.  *ret_need is the part of the photograph that must be pushed.
 * -ENOMEM, -E2BIG.
 */
int fby_resample_begin(struct fby_resample *rs, const struct fby_resample_plan *plan,
		       struct fby_region *ret_need);

/*
 * The next n rows of that part, as 4-byte pixels with FBY_ROW_SLACK bytes that can be
 * read behind them.  Rows beyond the part are ignored.
 */
void fby_resample_push(struct fby_resample *rs, const uint8_t *rows, size_t stride,
		       unsigned n);

/* Whether all rows of the window are finished. */
bool fby_resample_done(const struct fby_resample *rs);

#endif
