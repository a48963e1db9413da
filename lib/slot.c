/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/slot.h"

void fby_slots_init(struct fby_slots *slots, uint32_t n)
{
	assert(n >= 1 && n <= FBY_MAX_SLOTS);
	slots->n = n;
	for (uint32_t i = 0; i < n; i++)
		atomic_store(&slots->word[i], FBY_SLOT_FREE);
}

int fby_slots_bind(struct fby_slots *slots)
{
	for (uint32_t i = 0; i < slots->n; i++) {
		uint64_t word = FBY_SLOT_FREE;

		/* Pairs with release: what the user read of the slot is read by now. */
		if (atomic_compare_exchange_strong(&slots->word[i], &word,
						   FBY_SLOT_BOUND))
			return (int)i;
	}
	return -1;
}

void fby_slots_unbind(struct fby_slots *slots, uint32_t slot)
{
	assert(atomic_load(&slots->word[slot]) == FBY_SLOT_BOUND);
	atomic_store(&slots->word[slot], FBY_SLOT_FREE);
}

void fby_slots_lease(struct fby_slots *slots, uint32_t slot, uint64_t seq)
{
	assert(atomic_load(&slots->word[slot]) == FBY_SLOT_BOUND);
	atomic_store(&slots->word[slot], FBY_SLOT_FIRST_LEASE + seq);
}

bool fby_slots_release(struct fby_slots *slots, uint32_t slot, uint64_t seq)
{
	uint64_t word = FBY_SLOT_FIRST_LEASE + seq;

	return slot < slots->n &&
	       atomic_compare_exchange_strong(&slots->word[slot], &word, FBY_SLOT_FREE);
}

void fby_slots_count(const struct fby_slots *slots, uint32_t *ret_free,
		     uint32_t *ret_leased)
{
	*ret_free = *ret_leased = 0;
	for (uint32_t i = 0; i < slots->n; i++) {
		uint64_t word = atomic_load(&slots->word[i]);

		*ret_free += word == FBY_SLOT_FREE;
		*ret_leased += word >= FBY_SLOT_FIRST_LEASE;
	}
}
