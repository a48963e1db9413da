/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cuts an epoch into batches: the only place that knows of last batches.  Pure
 * arithmetic: any batch of any epoch, without those before it.
 */
#ifndef FBY_PLAN_H
#define FBY_PLAN_H

#include "lib/base.h"

struct fby_plan {
	uint64_t n_samples, n_batches; /* of an epoch */
	uint64_t seed;
	uint32_t batch;
	bool shuffle;
};

/* One batch: rows at positions first, first + stride, ... of the epoch. */
struct fby_part {
	uint64_t epoch, index;
	uint64_t first, stride;
	uint32_t n;
};

/* -EINVAL where the plan has no batch: no sample, or fewer than one batch and drop_last.
 */
int fby_plan_init(struct fby_plan *plan, uint64_t n_samples, uint32_t batch, bool shuffle,
		  bool drop_last, uint64_t seed);

/* Batch `index` < n_batches of an epoch. */
struct fby_part fby_plan_part(const struct fby_plan *plan, uint64_t epoch,
			      uint64_t index);

/* The batch after it: of the same epoch, or the first of the next. */
struct fby_part fby_plan_after(const struct fby_plan *plan, const struct fby_part *part);

/* The sample ids of a batch: ret_id[part->n]. */
void fby_plan_ids(const struct fby_plan *plan, const struct fby_part *part,
		  uint64_t *ret_id);

#endif
