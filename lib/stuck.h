/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which worker has sat on one row for too long, while the trainer waits for it; or on
 * nothing, while a row is free that the trainer waits for and no worker shows a sign of
 * life.  Time is counted in the trainer's own wait slices, so that a paused container
 * ages nothing.
 */
#ifndef FBY_STUCK_H
#define FBY_STUCK_H

#include "lib/index.h"
#include "lib/window.h"

struct fby_stuck_worker {
	uint64_t seq;
	uint32_t row, slices;
};

struct fby_stuck {
	uint32_t limit;                  /* slices */
	struct fby_stuck_worker *worker; /* [n_workers] */
	uint64_t life;                   /* of all workers, at the last change */
	uint32_t quiet;                  /* slices since then, with a free row */
};

/* `limit`: slices after which a worker counts as stuck.  -ENOMEM. */
int fby_stuck_init(struct fby_stuck *stuck, uint32_t n_workers, uint32_t limit);
void fby_stuck_finish(struct fby_stuck *stuck);

/*
 * A slice went by in which the trainer waited for its oldest ticket.  Returns a worker
 * that reached the limit, whose count begins anew, or -1.
 */
int fby_stuck_slice(struct fby_stuck *stuck, struct fby_window *window);

/* What a worker is at: process, stage, kernel function it waits in, and file. */
void fby_stuck_describe(const struct fby_pool *pool, const struct fby_index *index,
			uint32_t worker, char *ret_text, size_t size);

#endif
