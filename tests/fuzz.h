/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trainer that behaves like a user: takes batches, holds some, lets them go late, seeks
 * now and then; and checks every byte.  Who works for it is the business of others.
 */
#ifndef FBY_FUZZ_H
#define FBY_FUZZ_H

#include "tests/rows.h"

#define FUZZ_SLICE_NS 100000000u

struct fuzz {
	struct fby_window *window;
	void (*released)(void *ctx); /* a slot is free: open the next */
	void *ctx;
	uint64_t random;
	unsigned long long batches, rows, wrong, seeks, sleeps, slices_needed, stalls;
	uint64_t longest_ns;
};

uint64_t fuzz_draw(uint64_t *random);

/* Trains for so long. */
void fuzz_train(struct fuzz *fuzz, uint64_t ns);

/* Slices needed and sleeps of all workers. */
uint64_t fuzz_worker_slices(const struct fby_pool *pool);
uint64_t fuzz_worker_sleeps(const struct fby_pool *pool);

/* Every byte and every word as it must be, nobody saved by a time-out. */
bool fuzz_is_good(const struct fuzz *fuzz);

/* A line of what happened, as a TAP comment. */
void fuzz_print(const struct fuzz *fuzz);

#endif
