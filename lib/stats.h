/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters in the control segment: written from the first day, read by stats(), top and
 * the bench.  Never truth: a process that is killed may leave one behind by one.
 */
#ifndef FBY_STATS_H
#define FBY_STATS_H

#include "lib/pool.h"

/* A counter with one writer: no locked instruction needed. */
static inline void fby_stats_add(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_store_explicit(counter,
			      atomic_load_explicit(counter, memory_order_relaxed) + n,
			      memory_order_relaxed);
}

/* Bucket of a wait: [2^i, 2^(i+1)) us, 0 below 2 us. */
uint32_t fby_stats_bucket(uint64_t ns);

/* next had to wait `ns`; `handover_ns` from the last commit until it ran. */
void fby_stats_wait(struct fby_trainer_record *record, uint64_t ns, uint64_t handover_ns);

/* A stage of a worker's time in a word; "?" for a number that is none. */
const char *fby_stats_stage(uint32_t stage);

/* Sums the pool's counters; slots are the caller's. */
void fby_stats_collect(const struct fby_pool *pool, struct fby_stats *ret_stats);

#endif
