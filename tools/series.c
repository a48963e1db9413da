/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/series.h"
#include "lib/fail.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int fby_series_add(struct fby_series *s, double value)
{
	if (s->n == s->room) {
		size_t room = s->room ? 2 * s->room : 256;
		double *grown = realloc(s->value, room * sizeof(*grown));

		if (!grown)
			return fby_fail(-ENOMEM, "no memory for %zu measurements", room);
		s->value = grown;
		s->room = room;
	}
	s->value[s->n++] = value;
	return 0;
}

void fby_series_finish(struct fby_series *s)
{
	free(s->value);
	*s = (struct fby_series){ 0 };
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double fby_series_percentile(const struct fby_series *s, double p)
{
	double *sorted, result;
	size_t rank;

	if (!s->n)
		return 0;
	sorted = malloc(s->n * sizeof(*sorted));
	if (!sorted)
		return 0;
	memcpy(sorted, s->value, s->n * sizeof(*sorted));
	qsort(sorted, s->n, sizeof(*sorted), compare);
	rank = (size_t)ceil(p * (double)s->n / 100 - 1e-9); /* 99.9 is not exact */
	result = sorted[rank ? rank - 1 : 0];
	free(sorted);
	return result;
}
