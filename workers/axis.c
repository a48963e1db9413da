/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weights of a resize along one axis.
 */
#include "workers/axis.h"
#include "lib/fail.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Hundred times what a JPEG photograph can ask for. */
#define MAX_WEIGHTS (1u << 24)

static int grow(void *array, size_t size, size_t *room, size_t need)
{
	void **at = array;
	void *bigger;

	if (need <= *room)
		return 0;
	bigger = realloc(*at, need * size);
	if (bigger == NULL)
		return fby_fail(-ENOMEM, "no memory for %zu weights of a resize", need);
	*at = bigger;
	*room = need;
	return 0;
}

/*
 * Weights of one output into w.  Products and sums in this order, and no other:
 * the last bit counts.
 */
static struct fby_span weigh(const struct fby_axis_plan *plan, uint32_t i, double *w)
{
	double scale = (double)plan->in / plan->out;
	double support = scale < 1 ? 1 : scale;
	double inverse = 1.0 / support;
	double centre = (i + 0.5) * scale;
	double low = centre - support + 0.5, high = centre + support + 0.5;
	struct fby_span span = { low < 0 ? 0 : (uint32_t)low,
				 high > plan->in ? plan->in : (uint32_t)high };
	double sum = 0;

	for (uint32_t x = span.first; x < span.end; x++) {
		double d = fabs(((double)x - centre + 0.5) * inverse);

		w[x - span.first] = d < 1 ? 1 - d : 0;
		sum += w[x - span.first];
	}
	for (uint32_t j = 0; j < span.end - span.first && sum != 0; j++)
		w[j] /= sum;
	return span;
}

static int32_t round_weight(double w)
{
	return (int32_t)(0.5 + w * (1 << FBY_WEIGHT_BITS));
}

/* Leaves out zero weights at both ends; one tap at least stays. */
static struct fby_span trim(struct fby_span span, const double *w)
{
	uint32_t zero = span.first;

	while (span.end - span.first > 1 && round_weight(w[span.end - 1 - zero]) == 0)
		span.end--;
	while (span.end - span.first > 1 && round_weight(w[span.first - zero]) == 0)
		span.first++;
	return span;
}

/* Puts one output's weights to their place, spare taps set to 0. */
static void place(struct fby_axis *a, const struct fby_axis_plan *plan, uint32_t at,
		  struct fby_span span, const double *w)
{
	uint32_t spare_at = plan->in - a->n_taps;
	uint32_t first, n = span.end - span.first;
	int32_t *weight = a->weight + (size_t)at * a->n_taps;

	first = plan->mirror_in ? plan->in - span.end : span.first;
	a->first[at] = first < spare_at ? first : spare_at;
	memset(weight, 0, a->n_taps * sizeof(*weight));
	weight += first - a->first[at];
	for (uint32_t j = 0; j < n; j++)
		weight[j] = round_weight(w[plan->mirror_in ? n - 1 - j : j]);
	a->begin = (uint32_t)fby_min(a->begin, a->first[at]);
	a->end = (uint32_t)fby_max(a->end, a->first[at] + a->n_taps);
}

/* Weights and span of every output into the scratch; counts the taps. */
static void weigh_all(struct fby_axis *a, const struct fby_axis_plan *plan, size_t widest)
{
	a->n_taps = 1;
	for (uint32_t i = 0; i < plan->n; i++) {
		double *w = a->scratch + i * widest;
		struct fby_span all = weigh(plan, plan->from + i, w);
		struct fby_span span = trim(all, w);

		memmove(w, w + (span.first - all.first),
			(span.end - span.first) * sizeof(*w));
		a->span[i] = span;
		a->n_taps = (uint32_t)fby_max(a->n_taps, span.end - span.first);
	}
}

int fby_axis_init(struct fby_axis *a, const struct fby_axis_plan *plan)
{
	double scale = (double)plan->in / plan->out;
	size_t widest = (size_t)fmin(plan->in, ceil(scale < 1 ? 1 : scale) * 2 + 1);
	int r;

	if (widest * plan->n > MAX_WEIGHTS)
		return fby_fail(-E2BIG, "resizing %u pixels to %u is beyond all measure",
				plan->in, plan->out);
	assert(plan->n > 0 && plan->from + plan->n <= plan->out && plan->in > 0);
	a->n = plan->n;
	a->begin = plan->in;
	a->end = 0;
	r = grow(&a->scratch, sizeof(*a->scratch), &a->n_scratch, widest * plan->n);
	if (r == 0)
		r = grow(&a->span, sizeof(*a->span), &a->n_span, plan->n);
	if (r == 0)
		r = grow(&a->first, sizeof(*a->first), &a->n_first, plan->n);
	if (r < 0)
		return r;
	weigh_all(a, plan, widest);
	r = grow(&a->weight, sizeof(*a->weight), &a->n_weight,
		 (size_t)a->n_taps * plan->n);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < plan->n; i++)
		place(a, plan, plan->mirror_out ? plan->n - 1 - i : i, a->span[i],
		      a->scratch + i * widest);
	for (uint32_t i = 0; i < plan->n; i++)
		a->first[i] -= a->begin;
	return 0;
}

void fby_axis_finish(struct fby_axis *a)
{
	free(a->first);
	free(a->weight);
	free(a->span);
	free(a->scratch);
	*a = (struct fby_axis){ 0 };
}
