/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/order.h"
#include "lib/rng.h"

static uint32_t bits_for(uint64_t n)
{
	return n <= 2 ? 1 : 64 - (uint32_t)__builtin_clzll(n - 1);
}

void fby_order_init(struct fby_order *order, uint64_t n, bool shuffle, uint64_t seed,
		    uint64_t epoch)
{
	struct fby_random random = { .seed = seed, .epoch = epoch, .position = 0 };
	uint32_t bits = bits_for(n);

	assert(n >= 1);
	bits = bits < 8 ? 8 : bits; /* narrower halves shuffle unevenly */
	*order = (struct fby_order){ .n = n,
				     .shuffle = shuffle,
				     .left_bits = bits / 2,
				     .right_bits = bits - bits / 2 };
	for (uint64_t i = 0; i < FBY_ORDER_ROUNDS / 4; i++)
		fby_random_draw(&random, FBY_RANDOM_ORDER, i, &order->key[4 * i]);
}

/* The finaliser of MurmurHash3: every bit of x reaches every bit of the result. */
static uint64_t scramble(uint64_t x)
{
	x = (x ^ x >> 33) * 0xff51afd7ed558ccdull;
	x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53ull;
	return x ^ x >> 33;
}

/* Alternating halves, so that unequal widths come back to their places. */
static uint64_t permute(const struct fby_order *order, uint64_t x)
{
	uint64_t left_mask = (1ull << order->left_bits) - 1;
	uint64_t right_mask = (1ull << order->right_bits) - 1;
	uint64_t left = x >> order->right_bits, right = x & right_mask;

	for (int i = 0; i < FBY_ORDER_ROUNDS; i += 2) {
		left ^= scramble(right ^ order->key[i]) & left_mask;
		right ^= scramble(left ^ order->key[i + 1]) & right_mask;
	}
	return left << order->right_bits | right;
}

uint64_t fby_order_at(const struct fby_order *order, uint64_t position)
{
	uint64_t x = position;

	assert(position < order->n);
	if (!order->shuffle)
		return position;
	do
		x = permute(order, x);
	while (x >= order->n);
	return x;
}
