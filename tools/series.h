/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A series of measured numbers, and its percentiles.  Whatever unit goes in comes out.
 */
#ifndef FBY_SERIES_H
#define FBY_SERIES_H

#include "lib/base.h"

struct fby_series {
	double *value;
	size_t n, room;
};

/* -ENOMEM. */
int fby_series_add(struct fby_series *series, double value);
void fby_series_finish(struct fby_series *series);

/*
 * The smallest value that at least p percent of the series do not exceed (nearest
 * rank); 0 for an empty series.  p = 50: the (lower) median; p = 100: the largest.
 */
double fby_series_percentile(const struct fby_series *series, double p);

#endif
