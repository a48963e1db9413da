/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who has the memory of a batch: free, bound to a ticket, or leased to the user.
 * Private to the trainer; workers see a slot only as a number in a ticket.  A lease
 * holds a slot, never a ticket.
 */
#ifndef FBY_SLOT_H
#define FBY_SLOT_H

#include "lib/layout.h"

/* One word a slot: FREE, BOUND, or FIRST_LEASE + sequence number. */
enum { FBY_SLOT_FREE, FBY_SLOT_BOUND, FBY_SLOT_FIRST_LEASE };

struct fby_slots {
	uint32_t n;
	_Atomic uint64_t word[FBY_MAX_SLOTS];
};

void fby_slots_init(struct fby_slots *slots, uint32_t n);

/* A free slot becomes bound; -1 where there is none.  Under the window's mutex. */
int fby_slots_bind(struct fby_slots *slots);

/* The ticket was dropped. */
void fby_slots_unbind(struct fby_slots *slots, uint32_t slot);

/* The ticket is complete, the slot goes to the user. */
void fby_slots_lease(struct fby_slots *slots, uint32_t slot, uint64_t seq);

/*
 * The user gives it back: any thread, no lock.  False where this lease is over
 * already: only one release of a lease counts.
 */
bool fby_slots_release(struct fby_slots *slots, uint32_t slot, uint64_t seq);

/* How many are in state FREE, and how many are leased. */
void fby_slots_count(const struct fby_slots *slots, uint32_t *ret_free,
		     uint32_t *ret_leased);

#endif
