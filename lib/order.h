/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of an epoch: which sample stands at which position.  A pure function of
 * (n, seed, epoch) that may start anywhere: no table, no state.
 *
 * Shuffled: a permutation of 0..n-1 by a Feistel network of eight rounds over the
 * smallest power of two that holds n, 256 at least, walked along its cycle until it
 * falls below n (Black and Rogaway, "Ciphers with arbitrary finite domains", CT-RSA
 * 2002).  The round keys are Philox numbers of (seed, epoch).
 */
#ifndef FBY_ORDER_H
#define FBY_ORDER_H

#include "lib/base.h"

#define FBY_ORDER_ROUNDS 8

struct fby_order {
	uint64_t n;
	uint64_t key[FBY_ORDER_ROUNDS];
	uint32_t left_bits, right_bits;
	bool shuffle;
};

void fby_order_init(struct fby_order *order, uint64_t n, bool shuffle, uint64_t seed,
		    uint64_t epoch);

/* The sample at `position` < n. */
uint64_t fby_order_at(const struct fby_order *order, uint64_t position);

#endif
