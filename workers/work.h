/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop of a worker: claim a row, have it made, commit it; sleep where there is none.
 * Knows tickets and slots, and nothing of pixels: `make` does those.
 */
#ifndef FBY_WORK_H
#define FBY_WORK_H

#include "lib/pool.h"
#include "workers/sample.h"

struct fby_work {
	const struct fby_pool *pool;
	uint32_t me;
	void (*make)(void *ctx, const struct fby_job *job, struct fby_report *ret_report);
	bool (*go_on)(
		void *ctx); /* asked after each row and each sleep; false ends run */
	void *ctx;
};

/*
 * Makes one row of the oldest ticket that has one.  1: made one; 0: there is none;
 * -EBADMSG: the control segment makes no sense.
 */
int fby_work_one(struct fby_work *work);

/* Until it is told to stop: 0, or as fby_work_one. */
int fby_work_run(struct fby_work *work);

#endif
