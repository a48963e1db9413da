/* SPDX-License-Identifier: Apache-2.0 */
/* All accesses to shared words are seq_cst (lib/layout.h); the comments name partners. */
#include "lib/ticket.h"
#include "lib/sem.h"
#include <stdio.h>

/* Bits of done word w that belong to a ticket of n rows. */
static uint64_t mask(uint32_t n, uint32_t w)
{
	if (n >= 64 * (w + 1))
		return ~0ull;
	return n <= 64 * w ? 0 : (1ull << (n - 64 * w)) - 1;
}

static uint64_t claim_word(uint64_t seq, uint32_t crashes, uint32_t kills, uint32_t owner)
{
	return (seq & 0xffffffff) << 32 | (uint64_t)crashes << 24 |
	       (uint64_t)kills << 16 | owner;
}

static void set_done(const struct fby_pool *p, struct fby_ticket *t, uint32_t row)
{
	atomic_fetch_or(&fby_ticket_done(p, t)[row / 64], 1ull << (row % 64));
}

bool fby_ticket_all_done(const struct fby_pool *p, struct fby_ticket *t, uint32_t n)
{
	for (uint32_t w = 0; w < p->geo.n_words; w++) {
		uint64_t want = mask(n, w);

		if ((atomic_load(&fby_ticket_done(p, t)[w]) & want) != want)
			return false;
	}
	return true;
}

bool fby_ticket_is_owned(const struct fby_pool *p, struct fby_ticket *t, uint32_t row)
{
	uint32_t owner = fby_claim_owner(atomic_load(&fby_ticket_claims(p, t)[row]));

	return owner != FBY_OWNER_FREE && owner != FBY_OWNER_CLOSED &&
	       !fby_ticket_is_done(p, t, row);
}

/* ---- the worker's side ---- */

/*
 * One exchange decides generation and owner together: a worker that slept over a
 * recycling holds an old generation and fails here.  Pairs with open, take_back and
 * drain, which make a word FREE or CLOSED.
 */
static bool try_claim(const struct fby_pool *p, uint64_t seq, uint32_t row,
		      uint32_t worker)
{
	_Atomic uint64_t *claim = &fby_ticket_claims(p, fby_pool_ticket(p, seq))[row];
	uint64_t word = atomic_load(claim);

	if (fby_claim_generation(word) != (uint32_t)seq ||
	    fby_claim_owner(word) != FBY_OWNER_FREE)
		return false;
	return atomic_compare_exchange_strong(claim, &word, word | fby_owner_of(worker));
}

/* The hint first; when it is used up, one sweep for rows that a dead worker gave back. */
static bool find_row(const struct fby_pool *p, uint64_t seq, uint32_t worker, uint32_t n,
		     uint32_t *ret_row)
{
	struct fby_ticket *t = fby_pool_ticket(p, seq);
	uint32_t row;

	while (atomic_load(&t->hint) < n) {
		row = atomic_fetch_add(&t->hint, 1);
		if (row < n && try_claim(p, seq, row, worker)) {
			*ret_row = row;
			return true;
		}
	}
	for (row = 0; row < n; row++) {
		if (try_claim(p, seq, row, worker)) {
			*ret_row = row;
			return true;
		}
	}
	return false;
}

/* n and slot come from shared memory: the caller checks them, with the row in hand. */
bool fby_ticket_claim(const struct fby_pool *p, uint64_t seq, uint32_t worker,
		      struct fby_claim *ret_claim)
{
	struct fby_ticket *t = fby_pool_ticket(p, seq);
	uint32_t n, row;

	if (atomic_load(&t->word) != fby_ticket_word(seq, FBY_TICKET_OPEN))
		return false;
	n = (uint32_t)fby_min(atomic_load(&t->n), p->geo.batch);
	if (!find_row(p, seq, worker, n, &row))
		return false;
	/* The claim holds the ticket: n and slot are this generation's from here on. */
	*ret_claim = (struct fby_claim){ .ticket = t,
					 .seq = seq,
					 .row = row,
					 .n = atomic_load(&t->n),
					 .slot = t->slot };
	return true;
}

void fby_ticket_commit(const struct fby_pool *p, const struct fby_claim *claim,
		       const struct fby_row *record)
{
	struct fby_ticket *t = claim->ticket;
	uint32_t row = claim->row;

	fby_ticket_rows(p, t)[row] = *record;
	if (record->status != FBY_ROW_GOOD)
		atomic_fetch_or(&fby_ticket_bad(p, t)[row / 64], 1ull << (row % 64));
	set_done(p, t, row); /* the commit: pairs with the looks of next and drain */
	if (fby_ticket_all_done(p, t,
				claim->n)) /* after our own bit, else two may miss */
		fby_sem_post(fby_pool_ready(p, claim->slot), 1, 1);
}

/* ---- the trainer's side ---- */

void fby_ticket_open(const struct fby_pool *p, uint64_t seq,
		     const struct fby_ticket_content *content)
{
	struct fby_ticket *t = fby_pool_ticket(p, seq);

	assert(content->n >= 1 && content->n <= p->geo.batch);
	assert(content->slot < p->geo.n_slots);
	atomic_store(&t->n, content->n);
	t->slot = content->slot;
	t->epoch = content->epoch;
	t->seed = content->seed;
	t->first = content->first;
	t->stride = content->stride;
	atomic_store(&t->hint, 0);
	for (uint32_t w = 0; w < p->geo.n_words; w++) {
		atomic_store(&fby_ticket_bad(p, t)[w], 0);
		atomic_store(&fby_ticket_done(p, t)[w], 0);
	}
	/* Before the word: who sees it OPEN finds FREE claims.  Pairs with try_claim. */
	for (uint32_t i = 0; i < p->geo.batch; i++)
		atomic_store(&fby_ticket_claims(p, t)[i],
			     claim_word(seq, 0, 0,
					i < content->n ? FBY_OWNER_FREE
						       : FBY_OWNER_CLOSED));
	atomic_store(&t->word, fby_ticket_word(seq, FBY_TICKET_OPEN));
}

/* A row that nobody will make any more is committed on behalf, after its claim is closed.
 */
static void close_row(const struct fby_pool *p, struct fby_ticket *t, uint32_t row)
{
	set_done(p, t, row);
}

/*
 * The word first: recovery must know that a row given back is not wanted.  All claims,
 * since those behind the last row are CLOSED: n is not needed, which is input here.
 */
void fby_ticket_drain(const struct fby_pool *p, uint64_t seq)
{
	struct fby_ticket *t = fby_pool_ticket(p, seq);

	atomic_store(&t->word, fby_ticket_word(seq, FBY_TICKET_DRAIN));
	for (uint32_t i = 0; i < p->geo.batch; i++) {
		_Atomic uint64_t *claim = &fby_ticket_claims(p, t)[i];
		uint64_t word = atomic_load(claim);

		/* Against try_claim: one of the two wins, and the row runs out or is
		 * closed. */
		if (fby_claim_owner(word) == FBY_OWNER_FREE &&
		    atomic_compare_exchange_strong(claim, &word, word | FBY_OWNER_CLOSED))
			close_row(p, t, i);
	}
}

void fby_ticket_empty(const struct fby_pool *p, uint64_t seq)
{
	struct fby_ticket *t = fby_pool_ticket(p, seq);

	atomic_store(&t->word, fby_ticket_word(seq, FBY_TICKET_EMPTY));
}

static void poison(const struct fby_pool *p, struct fby_ticket *t, uint32_t row,
		   uint32_t crashes, uint32_t kills)
{
	struct fby_row *record = &fby_ticket_rows(p, t)[row];

	record->status = FBY_ROW_POISON;
	snprintf(fby_ticket_reason(p, t, row), FBY_REASON_BYTES,
		 "worker processes ended while they made it: %u crashed, %u were killed",
		 crashes, kills);
	atomic_fetch_or(&fby_ticket_bad(p, t)[row / 64], 1ull << (row % 64));
}

/* Nobody else writes this word: its owner is dead, and only FREE can be claimed. */
static bool take_back_row(const struct fby_pool *p, struct fby_ticket *t, uint32_t row,
			  enum fby_death how, bool wanted)
{
	_Atomic uint64_t *claim = &fby_ticket_claims(p, t)[row];
	uint64_t word = atomic_load(claim);
	uint64_t generation = fby_claim_generation(word);
	uint32_t crashes = (uint32_t)(word >> 24 & 0xff) + (how == FBY_DEATH_CRASH);
	uint32_t kills = (uint32_t)(word >> 16 & 0xff) + (how == FBY_DEATH_KILL);
	bool too_many = crashes >= FBY_CRASH_LIMIT || kills >= FBY_KILL_LIMIT;

	if (wanted && !too_many) {
		atomic_store(claim,
			     claim_word(generation, crashes, kills, FBY_OWNER_FREE));
		return false;
	}
	if (wanted)
		poison(p, t, row, crashes, kills);
	atomic_store(claim, claim_word(generation, crashes, kills, FBY_OWNER_CLOSED));
	close_row(p, t, row);
	return wanted;
}

uint32_t fby_ticket_take_back(const struct fby_pool *p, struct fby_ticket *t,
			      uint32_t dead, enum fby_death how, uint32_t *ret_poisoned)
{
	uint32_t state = (uint32_t)atomic_load(&t->word) & 0xff;
	uint32_t back = 0;

	*ret_poisoned = 0;
	if (state == FBY_TICKET_EMPTY)
		return 0;
	for (uint32_t i = 0; i < p->geo.batch; i++) {
		uint64_t word = atomic_load(&fby_ticket_claims(p, t)[i]);

		if (fby_claim_owner(word) != fby_owner_of(dead) ||
		    fby_ticket_is_done(p, t, i))
			continue;
		*ret_poisoned += take_back_row(p, t, i, how, state == FBY_TICKET_OPEN);
		back++;
	}
	return back;
}
