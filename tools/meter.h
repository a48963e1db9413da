/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a consumer of batches sees: throughput, gaps between batches, the gap between
 * epochs, how long a call of next took.  The clock is a parameter, so that the
 * arithmetic can be tested.
 */
#ifndef FBY_METER_H
#define FBY_METER_H

#include "tools/series.h"

struct fby_meter {
	uint64_t (*now)(void *ctx); /* nanoseconds */
	void *ctx;
	uint64_t opened, first, last; /* open began; first and last batch came */
	uint64_t last_epoch, rows;
	struct fby_series batch_gap_ms; /* between batches of one epoch */
	struct fby_series
		epoch_gap_ms; /* last batch of an epoch to the first of the next */
};

/* The loader is about to be opened. */
void fby_meter_init(struct fby_meter *meter, uint64_t (*now)(void *ctx), void *ctx);
void fby_meter_finish(struct fby_meter *meter);

/* A batch of n rows came.  -ENOMEM. */
int fby_meter_batch(struct fby_meter *meter, uint64_t epoch, uint32_t n);

/* From the call of open to the first batch. */
double fby_meter_first_batch_ms(const struct fby_meter *meter);

/* Rows a second between the first batch and the last one, the first one's not counted. */
double fby_meter_images_per_second(const struct fby_meter *meter);

#endif
