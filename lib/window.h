/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The open tickets, [deliver, open): the trainer's side of the protocol.  Opens the
 * batches of the plan while slots are free, hands complete ones out in order, drains
 * for a seek, takes back what a dead worker held.
 *
 * Two threads use it, the trainer's and the supervisor.  Every change of a ticket is
 * made under one process-private mutex, which no worker sees and which is never held
 * over a wait: a seek that sleeps must not block recovery.
 */
#ifndef FBY_WINDOW_H
#define FBY_WINDOW_H

#include "lib/plan.h"
#include "lib/slot.h"
#include "lib/ticket.h"
#include <pthread.h>

/*
 * A batch in the user's hands: a private copy of what its ticket said, since a lease
 * holds a slot and never a ticket.
 */
struct fby_lease {
	uint64_t seq;
	struct fby_part part;
	uint32_t slot, n_bad;
	uint64_t last_commit_ns;    /* 0 where the caller did not ask */
	uint64_t *ids;              /* part.n */
	struct fby_bad_sample *bad; /* n_bad */
};

struct fby_window {
	struct fby_pool *pool;
	struct fby_plan plan;
	struct fby_slots slots;
	pthread_mutex_t lock;
	bool draining; /* nobody opens */
	/* [deliver, open) are open.  Ours: ctl has copies for workers and viewers. */
	_Atomic uint64_t deliver, open;
	struct fby_part next; /* what will be opened next */
	struct fby_ticket_content
		*open_as;      /* [n_tickets] our own copy: not read from shared memory */
	struct fby_part *part; /* [n_tickets] */
	struct fby_lease *lease; /* [n_slots] */
};

/* The first ticket gets number `first_seq`.  -ENOMEM. */
int fby_window_init(struct fby_window *window, struct fby_pool *pool,
		    const struct fby_plan *plan, uint64_t first_seq);
void fby_window_finish(struct fby_window *window);

/* Opens tickets while there are free slots, and calls the workers.  How many. */
uint32_t fby_window_fill(struct fby_window *window);

/*
 * The oldest batch, if it is complete: its slot is leased.  `want_time`: fill in
 * last_commit_ns.  NULL: not complete, or nothing is open.
 */
struct fby_lease *fby_window_take(struct fby_window *window, bool want_time);

/* Where to wait for the oldest batch; NULL when nothing is open. */
struct fby_sem *fby_window_oldest(struct fby_window *window);

/* The oldest batch is complete (or drained): a look without the mutex. */
bool fby_window_is_ready(struct fby_window *window);

/*
 * For who waited in vain: the oldest batch can still be made, as far as the control
 * segment goes.  -EBADMSG where a stray store hit it.
 */
int fby_window_is_sound(struct fby_window *window);

/* Complete batches, counted from the oldest on. */
uint32_t fby_window_depth(struct fby_window *window);

/* What the next take will give, or would if it were open. */
struct fby_part fby_window_position(struct fby_window *window);

/*
 * Seek, in three steps: begin closes what nobody has begun; step is called until it
 * returns true (wait on fby_window_oldest() in between); restart sets what comes next.
 */
void fby_window_drain(struct fby_window *window);
bool fby_window_drain_step(struct fby_window *window);
void fby_window_restart(struct fby_window *window, const struct fby_part *part);

/* What became of a dead worker's rows. */
struct fby_recovery {
	uint32_t taken_back, poisoned;
};

/*
 * Only after the kernel said that the whole process is gone: takes its rows back, then
 * wakes everybody.
 */
struct fby_recovery fby_window_recover(struct fby_window *window, uint32_t dead,
				       enum fby_death how);

/*
 * FOREBAY_CHECK: each open ticket has a bound slot of its own, no slot is lost, and no
 * canary is overwritten.  -EBADMSG with what is wrong.
 */
int fby_window_check(struct fby_window *window);

#endif
