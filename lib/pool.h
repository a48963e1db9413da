/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pool: the three shared objects of lib/layout.h, mapped into this process.
 * Knows how they are born, attached and checked, and where a thing stands in them;
 * what the words mean is the business of lib/ticket.h.
 */
#ifndef FBY_POOL_H
#define FBY_POOL_H

#include "lib/layout.h"

enum { FBY_OBJECT_CTL, FBY_OBJECT_DATA, FBY_OBJECT_CFG, FBY_N_OBJECTS };

/*
 * A worker finds its descriptors at FBY_FIRST_FD and up (lib/process.h): the three
 * objects in this order, the index, and a pidfd of the trainer where the kernel has
 * pidfds.
 */
enum { FBY_INHERIT_INDEX = FBY_N_OBJECTS, FBY_INHERIT_TRAINER, FBY_N_INHERITED };

/* Private to the process.  All numbers in it are checked. */
struct fby_pool {
	struct fby_geometry geo;
	struct fby_ctl *ctl;
	unsigned char *data;
	const struct fby_cfg *cfg;
	int fd[FBY_N_OBJECTS]; /* -1 where not open */
};

/*
 * Makes the pool: the first numbers of `geo` say how large, `cfg` is copied.
 * -ENOMEM with the sum written out where memory or a cgroup has no room for it.
 */
int fby_pool_create(struct fby_pool *pool, const struct fby_geometry *geo,
		    const struct fby_cfg *cfg);

/*
 * Maps a pool that another process made, from three descriptors, which become the
 * pool's own.  -EBADMSG where it is of another version, or is not what it says.
 */
int fby_pool_attach(struct fby_pool *pool, const int fd[FBY_N_OBJECTS]);

/*
 * Checks a mapped control segment of `bytes` against this build, and computes the
 * geometry.  -EBADMSG with the difference.  For attach, and for tools that look at a
 * running pool.
 */
int fby_pool_verify(const struct fby_ctl *ctl, uint64_t bytes,
		    struct fby_geometry *ret_geo);

/* Unmaps and closes what there is; a half-made pool as well. */
void fby_pool_finish(struct fby_pool *pool);

/* The first canary that somebody wrote over: its slot, or -1. */
int fby_pool_torn_slot(const struct fby_pool *pool);

static inline void *fby_pool_at(const struct fby_pool *pool, uint64_t at)
{
	return (unsigned char *)pool->ctl + at;
}

static inline struct fby_sem *fby_pool_ready(const struct fby_pool *pool, uint32_t slot)
{
	assert(slot < pool->geo.n_slots);
	return (struct fby_sem *)fby_pool_at(pool, pool->geo.ready_at) + slot;
}

static inline struct fby_worker_record *fby_pool_worker(const struct fby_pool *pool,
							uint32_t i)
{
	assert(i < pool->geo.n_workers);
	return (struct fby_worker_record *)fby_pool_at(pool, pool->geo.worker_at) + i;
}

/* Ticket of a sequence number: a ring. */
static inline struct fby_ticket *fby_pool_ticket(const struct fby_pool *pool,
						 uint64_t seq)
{
	uint64_t k = seq & (pool->geo.n_tickets - 1);

	return fby_pool_at(pool, pool->geo.ticket_at + k * pool->geo.ticket_bytes);
}

/* Where row `row` of a field of a slot begins. */
static inline unsigned char *fby_pool_row(const struct fby_pool *pool, uint32_t slot,
					  uint32_t field, uint32_t row)
{
	const struct fby_geometry *g = &pool->geo;

	assert(slot < g->n_slots && field < g->n_fields && row <= g->batch);
	return pool->data + slot * g->slot_bytes + g->field_at[field] +
	       row * g->row_bytes[field];
}

#endif
