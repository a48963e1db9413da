/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows without pixels: the bytes of a row are a pure function of its job, so that any
 * test can tell what must stand in a slot.  Also a small pool to put them into.
 */
#ifndef FBY_ROWS_H
#define FBY_ROWS_H

#include "lib/pool.h"
#include "lib/window.h"
#include "workers/work.h"

#define ROWS_BYTES 64 /* of an image */

/* The `make` of struct fby_work; one sample of 70 is bad.  Takes no time. */
void rows_make(void *ctx, const struct fby_job *job, struct fby_report *ret_report);

bool rows_is_bad(uint64_t sample);

/* The bytes of row i of a lease are those that rows_make writes. */
bool rows_is_right(const struct fby_pool *pool, const struct fby_lease *lease,
		   uint64_t seed, uint32_t i);

/* What the lease says of bad rows is what rows_make reports. */
bool rows_bad_are_right(const struct fby_lease *lease);

/* A pool of that size with rows of ROWS_BYTES and of a label. */
int rows_pool(struct fby_pool *pool, uint32_t n_slots, uint32_t n_workers,
	      uint32_t batch);

/* One worker's look for a row, as worker `me`: as fby_work_one. */
int rows_work(const struct fby_pool *pool, uint32_t me);

#endif
