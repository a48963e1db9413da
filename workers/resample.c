/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The streaming resize: a ring of rows between the two passes.
 *
 * Across first: each pushed row is resized at once and its result kept in the ring;
 * an output row is made when the ring has all it needs.  Down first: the ring keeps
 * the rows as they come, and output rows are resized across at the end.
 */
#include "workers/resample.h"
#include "lib/fail.h"
#include "workers/axis.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BAND 8  /* rows that go through a pass together */
#define OUT  16 /* finished rows that are handed on together */

struct room {
	uint8_t *at;
	size_t n;
};

struct fby_resample {
	const struct fby_passes *passes;
	struct fby_finished finished;
	struct fby_axis x, y;
	struct fby_across across;
	bool down_first;
	struct room x_first, x_pairs, y_pairs, ring, band, out, rows;
	size_t ring_stride, out_stride;
	uint32_t ring_rows;                 /* power of two */
	uint32_t width, height;             /* of the window */
	uint32_t pad_left, pad_right;       /* columns of 0 */
	uint32_t pad_top;                   /* rows of 0 */
	uint32_t n_pushed, n_made, n_ready; /* ready: made, not yet handed on */
};

int fby_resample_create(const struct fby_passes *passes,
			struct fby_resample **ret_resample)
{
	struct fby_resample *rs = calloc(1, sizeof(*rs));

	if (rs == NULL)
		return fby_fail(-ENOMEM, "no memory for the resize");
	rs->passes = passes;
	*ret_resample = rs;
	return 0;
}

void fby_resample_destroy(struct fby_resample *rs)
{
	if (rs == NULL)
		return;
	fby_axis_finish(&rs->x);
	fby_axis_finish(&rs->y);
	free(rs->x_first.at);
	free(rs->x_pairs.at);
	free(rs->y_pairs.at);
	free(rs->ring.at);
	free(rs->band.at);
	free(rs->out.at);
	free(rs->rows.at);
	free(rs);
}

/* Zeroed where it grows: what slack holds must not depend on earlier pictures. */
static int reserve(struct room *room, size_t n)
{
	if (n <= room->n)
		return 0;
	free(room->at);
	room->n = 0;
	room->at = aligned_alloc(64, fby_align(n, 64));
	if (room->at == NULL)
		return fby_fail(-ENOMEM, "no memory: %zu bytes for a resize", n);
	memset(room->at, 0, fby_align(n, 64));
	room->n = n;
	return 0;
}

/* The part of [at, at + n) that lies in [0, size). */
static void clip(int32_t at, uint32_t n, uint32_t size, struct fby_axis_plan *plan)
{
	int64_t from = at > 0 ? at : 0;
	int64_t end = fby_min((uint64_t)((int64_t)at + n), size);

	assert(end > from);
	plan->from = (uint32_t)from;
	plan->n = (uint32_t)(end - from);
}

static int init_axes(struct fby_resample *rs, const struct fby_resample_plan *p)
{
	const struct fby_view *v = p->view;
	struct fby_axis_plan x = { .in = v->width,
				   .out = v->to_width,
				   .mirror_in = v->mirror_before,
				   .mirror_out = v->mirror_after };
	struct fby_axis_plan y = { .in = v->height, .out = v->to_height };
	int r;

	clip(v->out_left, p->width, v->to_width, &x);
	clip(v->out_top, p->height, v->to_height, &y);
	rs->pad_left = (uint32_t)((int64_t)x.from - v->out_left);
	if (v->mirror_after)
		rs->pad_left = p->width - x.n - rs->pad_left;
	rs->pad_right = p->width - x.n - rs->pad_left;
	rs->pad_top = (uint32_t)((int64_t)y.from - v->out_top);
	r = fby_axis_init(&rs->x, &x);
	return r < 0 ? r : fby_axis_init(&rs->y, &y);
}

static struct fby_pair pair_of(const int32_t *weight, uint32_t n)
{
	int32_t second = n > 1 ? weight[1] : 0;
	int32_t low = (1 << FBY_LOW_BITS) - 1;

	return (struct fby_pair){ { (int16_t)(weight[0] & low), (int16_t)(second & low) },
				  { (int16_t)(weight[0] >> FBY_LOW_BITS),
				    (int16_t)(second >> FBY_LOW_BITS) } };
}

/* From one weight a tap to pairs of taps. */
static int init_pairs(const struct fby_axis *axis, uint32_t n, struct room *room)
{
	uint32_t n_pairs = (axis->n_taps + 1) / 2;
	const int32_t *weight = axis->weight;
	struct fby_pair *pair;
	int r;

	r = reserve(room, (size_t)n * n_pairs * sizeof(*pair));
	if (r < 0)
		return r;
	pair = (struct fby_pair *)(void *)room->at;
	assert(pair);
	for (uint32_t i = 0; i < axis->n; i++, weight += axis->n_taps)
		for (uint32_t j = 0; j < axis->n_taps; j += 2)
			*pair++ = pair_of(weight + j, axis->n_taps - j);
	memset(pair, 0, (size_t)(n - axis->n) * n_pairs * sizeof(*pair));
	return 0;
}

/* Output pixels beyond the last, up to a whole unit, are made of nothing. */
static int init_across(struct fby_resample *rs)
{
	const struct fby_axis *x = &rs->x;
	uint32_t n = (uint32_t)fby_align(x->n, FBY_ACROSS_UNIT);
	uint32_t *first;
	int r;

	r = init_pairs(x, n, &rs->x_pairs);
	if (r == 0)
		r = reserve(&rs->x_first, n * sizeof(*first));
	if (r < 0)
		return r;
	first = (uint32_t *)(void *)rs->x_first.at;
	memcpy(first, x->first, x->n * sizeof(*first));
	memset(first + x->n, 0, (n - x->n) * sizeof(*first));
	rs->across = (struct fby_across){ n, (x->n_taps + 1) / 2, first,
					  (struct fby_pair *)(void *)rs->x_pairs.at };
	return 0;
}

static int init_rooms(struct fby_resample *rs)
{
	uint32_t in_width = rs->x.end - rs->x.begin;
	size_t row = rs->down_first ? 4 * (size_t)in_width : 3 * (size_t)rs->x.n;
	int r;

	rs->ring_stride = fby_align(row + FBY_ROW_SLACK, 64);
	rs->out_stride = fby_align(3 * (size_t)rs->width + FBY_ROW_SLACK, 64);
	for (rs->ring_rows = 16; rs->ring_rows < rs->y.n_taps + BAND;)
		rs->ring_rows *= 2;
	r = reserve(&rs->ring, rs->ring_stride * rs->ring_rows);
	if (r == 0 && rs->down_first)
		r = reserve(&rs->band, rs->ring_stride * BAND);
	if (r == 0)
		r = reserve(&rs->out, rs->out_stride * OUT);
	if (r == 0)
		r = reserve(&rs->rows, (rs->y.n_taps + 1) * sizeof(uint8_t *));
	return r;
}

int fby_resample_begin(struct fby_resample *rs, const struct fby_resample_plan *p,
		       struct fby_region *ret_need)
{
	const struct fby_view *v = p->view;
	int64_t shrink_x = (int64_t)v->width - v->to_width;
	int64_t shrink_y = (int64_t)v->height - v->to_height;
	int r;

	rs->finished = p->finished;
	rs->width = p->width;
	rs->height = p->height;
	rs->n_pushed = rs->n_made = rs->n_ready = 0;
	rs->down_first = p->pillow >= 13 && shrink_y > 2 * (shrink_x > 0 ? shrink_x : 0);
	r = init_axes(rs, p);
	if (r == 0)
		r = init_across(rs);
	if (r == 0)
		r = init_pairs(&rs->y, rs->y.n, &rs->y_pairs);
	if (r == 0)
		r = init_rooms(rs);
	if (r < 0)
		return r;
	*ret_need = (struct fby_region){ .left = v->left + rs->x.begin,
					 .top = v->top + rs->y.begin,
					 .width = rs->x.end - rs->x.begin,
					 .height = rs->y.end - rs->y.begin };
	return 0;
}

static uint8_t *ring_row(struct fby_resample *rs, uint32_t y)
{
	return rs->ring.at + (y & (rs->ring_rows - 1)) * rs->ring_stride;
}

static uint8_t *out_row(struct fby_resample *rs, uint32_t k)
{
	return rs->out.at + k * rs->out_stride;
}

/* One row of the vertical pass; where the taps are odd, the last row comes twice. */
static void run_down(struct fby_resample *rs, uint32_t y, uint8_t *dst, size_t n_bytes)
{
	const struct fby_pair *pairs = (struct fby_pair *)(void *)rs->y_pairs.at;
	const uint8_t **rows = (const uint8_t **)(void *)rs->rows.at;
	uint32_t n_pairs = (rs->y.n_taps + 1) / 2;
	struct fby_down down = { n_pairs, rows, pairs + (size_t)y * n_pairs };

	for (uint32_t j = 0; j < rs->y.n_taps; j++)
		rows[j] = ring_row(rs, rs->y.first[y] + j);
	rows[2 * n_pairs - 1] = ring_row(rs, rs->y.first[y] + rs->y.n_taps - 1);
	rs->passes->down(&down, dst, n_bytes);
}

/* The passes write beyond a row's end, so the columns of 0 come last. */
static void pad_row(struct fby_resample *rs, uint32_t k)
{
	uint8_t *row = out_row(rs, k);

	memset(row, 0, 3 * (size_t)rs->pad_left);
	memset(row + 3 * (size_t)(rs->width - rs->pad_right), 0,
	       3 * (size_t)rs->pad_right);
}

/* How many rows, from row y of the resized ones, can be made now. */
static unsigned count_possible(const struct fby_resample *rs, uint32_t y, unsigned max)
{
	unsigned n = 0;

	while (n < max && y + n < rs->y.n &&
	       rs->y.first[y + n] + rs->y.n_taps <= rs->n_pushed)
		n++;
	return n;
}

/* Makes up to a band of rows, behind those that are ready; returns how many. */
static unsigned make_rows(struct fby_resample *rs, uint32_t y)
{
	unsigned room = OUT - rs->n_ready;
	unsigned n = count_possible(rs, y, room < BAND ? room : BAND);
	size_t band_bytes = 4 * (size_t)(rs->x.end - rs->x.begin);
	uint8_t *dst[BAND];

	for (unsigned i = 0; i < n; i++) {
		dst[i] = out_row(rs, rs->n_ready + i) + 3 * (size_t)rs->pad_left;
		if (rs->down_first)
			run_down(rs, y + i, rs->band.at + i * rs->ring_stride,
				 band_bytes);
		else
			run_down(rs, y + i, dst[i], 3 * (size_t)rs->x.n);
	}
	if (rs->down_first && n > 0)
		rs->passes->across(&rs->across, rs->band.at, rs->ring_stride, n, dst);
	for (unsigned i = 0; i < n; i++)
		pad_row(rs, rs->n_ready + i);
	return n;
}

static unsigned make_zeros(struct fby_resample *rs)
{
	memset(out_row(rs, rs->n_ready), 0, 3 * (size_t)rs->width);
	return 1;
}

static void hand_on(struct fby_resample *rs)
{
	if (rs->n_ready > 0)
		rs->finished.rows(rs->finished.user, rs->n_made - rs->n_ready,
				  rs->n_ready, rs->out.at, rs->out_stride);
	rs->n_ready = 0;
}

/* Makes every row of the window that can be made. */
static void make_possible(struct fby_resample *rs)
{
	while (rs->n_made < rs->height) {
		bool zero =
			rs->n_made < rs->pad_top || rs->n_made - rs->pad_top >= rs->y.n;
		unsigned n;

		if (rs->n_ready == OUT)
			hand_on(rs);
		n = zero ? make_zeros(rs) : make_rows(rs, rs->n_made - rs->pad_top);
		if (n == 0)
			break;
		rs->n_made += n;
		rs->n_ready += n;
	}
}

/* Takes up to a band of rows into the ring. */
static void take(struct fby_resample *rs, const uint8_t *rows, size_t stride, unsigned n)
{
	uint8_t *dst[BAND];

	for (unsigned i = 0; i < n; i++)
		dst[i] = ring_row(rs, rs->n_pushed + i);
	if (!rs->down_first)
		rs->passes->across(&rs->across, rows, stride, n, dst);
	else
		for (unsigned i = 0; i < n; i++)
			memcpy(dst[i], rows + i * stride,
			       4 * (size_t)(rs->x.end - rs->x.begin));
	rs->n_pushed += n;
}

void fby_resample_push(struct fby_resample *rs, const uint8_t *rows, size_t stride,
		       unsigned n)
{
	n = (unsigned)fby_min(n, rs->y.end - rs->y.begin - rs->n_pushed);
	while (n > 0) {
		unsigned some = n < BAND ? n : BAND;

		take(rs, rows, stride, some);
		make_possible(rs);
		rows += some * stride;
		n -= some;
	}
	hand_on(rs);
}

bool fby_resample_done(const struct fby_resample *rs)
{
	return rs->n_made == rs->height && rs->n_ready == 0;
}
