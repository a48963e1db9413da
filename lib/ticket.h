/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One batch to be made: open, claim a row, commit it, drain, take back from the
 * dead.  This is the core of the protocol; what it rests on:
 *
 * 1. A row is claimed by one compare-and-swap that holds generation and owner, and
 *    committed by one idempotent bit.  A worker killed between any two instructions
 *    leaves a row that is free, or owned by the dead, or done.
 * 2. Who commits scans all done words after his own bit (seq_cst): of two finishers
 *    the later one sees both, so "all done" is never missed, though perhaps seen twice.
 * 3. CLOSED implies "done, on behalf": a drained ticket is one with all bits set, and
 *    the last live worker's scan wakes the trainer that drains.
 * 4. After its commit a worker reads nothing of the ticket but the done words: it may
 *    be recycled by then.
 *
 * Open, drain, empty and take_back are the trainer side's, under its mutex.
 */
#ifndef FBY_TICKET_H
#define FBY_TICKET_H

#include "lib/pool.h"

/* How often a row may cost a worker its life before it counts as poison. */
#define FBY_CRASH_LIMIT 3
#define FBY_KILL_LIMIT  10

/* How a worker died: by its own fault, or by somebody's SIGKILL. */
enum fby_death { FBY_DEATH_CRASH, FBY_DEATH_KILL };

/* A row that this worker owns. */
struct fby_claim {
	struct fby_ticket *ticket;
	uint64_t seq;
	uint32_t row;
	uint32_t n; /* rows of the ticket */
	uint32_t slot;
};

/* ---- the arrays behind a ticket ---- */

static inline _Atomic uint64_t *fby_ticket_done(const struct fby_pool *p,
						struct fby_ticket *t)
{
	return (_Atomic uint64_t *)(void *)((unsigned char *)t + p->geo.done_at);
}

static inline _Atomic uint64_t *fby_ticket_bad(const struct fby_pool *p,
					       struct fby_ticket *t)
{
	return (_Atomic uint64_t *)(void *)((unsigned char *)t + p->geo.bad_at);
}

static inline _Atomic uint64_t *fby_ticket_claims(const struct fby_pool *p,
						  struct fby_ticket *t)
{
	return (_Atomic uint64_t *)(void *)((unsigned char *)t + p->geo.claim_at);
}

static inline uint64_t *fby_ticket_samples(const struct fby_pool *p, struct fby_ticket *t)
{
	return (uint64_t *)(void *)((unsigned char *)t + p->geo.sample_at);
}

static inline struct fby_row *fby_ticket_rows(const struct fby_pool *p,
					      struct fby_ticket *t)
{
	return (struct fby_row *)(void *)((unsigned char *)t + p->geo.row_at);
}

/* FBY_REASON_BYTES of text. */
static inline char *fby_ticket_reason(const struct fby_pool *p, struct fby_ticket *t,
				      uint32_t row)
{
	return (char *)t + p->geo.reason_at + (uint64_t)row * FBY_REASON_BYTES;
}

/* ---- words ---- */

static inline uint64_t fby_ticket_word(uint64_t seq, uint32_t state)
{
	return seq << 8 | state;
}

static inline uint32_t fby_claim_owner(uint64_t claim)
{
	return (uint32_t)claim & 0xffff;
}

static inline uint32_t fby_claim_generation(uint64_t claim)
{
	return (uint32_t)(claim >> 32);
}

/* Owner number of worker i: 0 is FREE. */
static inline uint32_t fby_owner_of(uint32_t worker)
{
	return worker + 1;
}

static inline bool fby_ticket_is_done(const struct fby_pool *p, struct fby_ticket *t,
				      uint32_t row)
{
	return atomic_load(&fby_ticket_done(p, t)[row / 64]) >> (row % 64) & 1;
}

/* Every row of n is committed. */
bool fby_ticket_all_done(const struct fby_pool *p, struct fby_ticket *t, uint32_t n);

/* A live worker, or a dead one not yet taken back, may write this row. */
bool fby_ticket_is_owned(const struct fby_pool *p, struct fby_ticket *t, uint32_t row);

/* ---- the worker's side ---- */

/*
 * Claims a free row of ticket `seq`: where the hint says, then wherever one is left.
 * False: none, or the ticket is not open.  Its n and slot are what the shared memory
 * says: to be checked before they are used.
 */
bool fby_ticket_claim(const struct fby_pool *p, uint64_t seq, uint32_t worker,
		      struct fby_claim *ret_claim);

/*
 * The row's bytes and its `record` are final.  Sets its bit, and posts ready[slot] when
 * it was the last one.
 */
void fby_ticket_commit(const struct fby_pool *p, const struct fby_claim *claim,
		       const struct fby_row *record);

/* ---- the trainer's side ---- */

struct fby_ticket_content {
	uint32_t n, slot;
	uint64_t epoch, seed, first, stride;
};

/*
 * EMPTY -> OPEN.  The ids stand in fby_ticket_samples() already; the caller then moves
 * ctl->open and posts the work semaphore.
 */
void fby_ticket_open(const struct fby_pool *p, uint64_t seq,
		     const struct fby_ticket_content *content);

/* OPEN -> DRAIN: rows nobody has begun are closed; those that are owned run out. */
void fby_ticket_drain(const struct fby_pool *p, uint64_t seq);

/* OPEN or DRAIN -> EMPTY, when all is done. */
void fby_ticket_empty(const struct fby_pool *p, uint64_t seq);

/*
 * After the kernel said that worker `dead` is gone: its rows of this ticket become
 * free again, or are closed where nobody wants them or too many died of them.
 * Returns how many; *ret_poisoned of them will not be made.
 */
uint32_t fby_ticket_take_back(const struct fby_pool *p, struct fby_ticket *t,
			      uint32_t dead, enum fby_death how, uint32_t *ret_poisoned);

#endif
