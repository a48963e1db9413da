/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/window.h"
#include "lib/fail.h"
#include "lib/sem.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint32_t ring(const struct fby_window *w, uint64_t seq)
{
	return (uint32_t)(seq & (w->pool->geo.n_tickets - 1));
}

static void set_deliver(struct fby_window *w, uint64_t seq)
{
	atomic_store(&w->deliver, seq);
	atomic_store(&w->pool->ctl->deliver, seq);
}

static void set_open(struct fby_window *w, uint64_t seq)
{
	atomic_store(&w->open, seq);
	atomic_store(&w->pool->ctl->open, seq); /* pairs with the search of workers */
}

static int allocate(struct fby_window *w)
{
	const struct fby_geometry *g = &w->pool->geo;

	w->open_as = calloc(g->n_tickets, sizeof(*w->open_as));
	w->part = calloc(g->n_tickets, sizeof(*w->part));
	w->lease = calloc(g->n_slots, sizeof(*w->lease));
	if (!w->open_as || !w->part || !w->lease)
		return -ENOMEM;
	for (uint32_t s = 0; s < g->n_slots; s++) {
		w->lease[s].ids = calloc(g->batch, sizeof(*w->lease[s].ids));
		w->lease[s].bad = calloc(g->batch, sizeof(*w->lease[s].bad));
		if (!w->lease[s].ids || !w->lease[s].bad)
			return -ENOMEM;
	}
	return 0;
}

int fby_window_init(struct fby_window *w, struct fby_pool *pool,
		    const struct fby_plan *plan, uint64_t first_seq)
{
	*w = (struct fby_window){ .pool = pool, .plan = *plan };
	pthread_mutex_init(&w->lock, NULL);
	fby_slots_init(&w->slots, pool->geo.n_slots);
	w->next = fby_plan_part(plan, 0, 0);
	set_deliver(w, first_seq);
	set_open(w, first_seq);
	if (allocate(w) == 0)
		return 0;
	fby_window_finish(w);
	return fby_fail(-ENOMEM, "no memory for the ids of %u batches of %u rows",
			pool->geo.n_slots, pool->geo.batch);
}

void fby_window_finish(struct fby_window *w)
{
	for (uint32_t s = 0; w->lease && s < w->pool->geo.n_slots; s++) {
		free(w->lease[s].ids);
		free(w->lease[s].bad);
	}
	free(w->lease);
	free(w->part);
	free(w->open_as);
	w->lease = NULL;
	w->part = NULL;
	w->open_as = NULL;
	pthread_mutex_destroy(&w->lock);
	w->pool = NULL;
}

/* ---- opening ---- */

/* Under the mutex. */
static void open_ticket(struct fby_window *w, uint32_t slot)
{
	struct fby_pool *p = w->pool;
	uint64_t seq = atomic_load(&w->open);
	uint32_t k = ring(w, seq);

	w->part[k] = w->next;
	w->open_as[k] = (struct fby_ticket_content){ .n = w->next.n,
						     .slot = slot,
						     .epoch = w->next.epoch,
						     .seed = w->plan.seed,
						     .first = w->next.first,
						     .stride = w->next.stride };
	fby_plan_ids(&w->plan, &w->next, fby_ticket_samples(p, fby_pool_ticket(p, seq)));
	fby_ticket_open(p, seq, &w->open_as[k]);
	w->next = fby_plan_after(&w->plan, &w->next);
	set_open(w, seq + 1);
}

static bool open_one(struct fby_window *w)
{
	int slot;

	pthread_mutex_lock(&w->lock);
	slot = w->draining ? -1 : fby_slots_bind(&w->slots);
	if (slot >= 0)
		open_ticket(w, (uint32_t)slot);
	pthread_mutex_unlock(&w->lock);
	return slot >= 0;
}

/*
 * One token for each worker, however few the rows: a worker that took the only token
 * and is then stopped would leave a free row unseen.
 */
uint32_t fby_window_fill(struct fby_window *w)
{
	uint32_t n_workers = w->pool->geo.n_workers, opened = 0;

	while (open_one(w)) {
		fby_sem_post(&w->pool->ctl->work, n_workers, n_workers);
		opened++;
	}
	return opened;
}

/* ---- handing out ---- */

/* The bits say where to look, the status says what is so: see struct fby_ticket. */
static void copy_bad_rows(struct fby_window *w, struct fby_ticket *t,
			  struct fby_lease *lease)
{
	for (uint32_t i = 0; i < lease->part.n; i++) {
		uint32_t status = fby_ticket_rows(w->pool, t)[i].status;
		struct fby_bad_sample *bad = &lease->bad[lease->n_bad];

		if (status == FBY_ROW_GOOD)
			continue;
		*bad = (struct fby_bad_sample){ .row = i,
						.status = status,
						.id = lease->ids[i] };
		memcpy(bad->reason, fby_ticket_reason(w->pool, t, i), FBY_REASON_BYTES);
		bad->reason[FBY_REASON_BYTES - 1] = 0;
		lease->n_bad++;
	}
}

static bool any_bad(struct fby_window *w, struct fby_ticket *t)
{
	for (uint32_t i = 0; i < w->pool->geo.n_words; i++)
		if (atomic_load(&fby_ticket_bad(w->pool, t)[i]))
			return true;
	return false;
}

static uint64_t last_commit(struct fby_window *w, struct fby_ticket *t, uint32_t n)
{
	uint64_t last = 0;

	for (uint32_t i = 0; i < n; i++)
		last = fby_max(last, fby_ticket_rows(w->pool, t)[i].end_ns);
	return last;
}

/* Under the mutex, all rows done: OPEN -> EMPTY, and the slot changes hands. */
static struct fby_lease *lease_ticket(struct fby_window *w, uint64_t seq, bool want_time)
{
	struct fby_ticket *t = fby_pool_ticket(w->pool, seq);
	const struct fby_ticket_content *c = &w->open_as[ring(w, seq)];
	struct fby_lease *lease = &w->lease[c->slot];

	lease->seq = seq;
	lease->slot = c->slot;
	lease->part = w->part[ring(w, seq)];
	memcpy(lease->ids, fby_ticket_samples(w->pool, t), c->n * sizeof(*lease->ids));
	lease->n_bad = 0;
	if (any_bad(w, t))
		copy_bad_rows(w, t, lease);
	lease->last_commit_ns = want_time ? last_commit(w, t, c->n) : 0;
	fby_slots_lease(&w->slots, c->slot, seq);
	fby_ticket_empty(w->pool, seq);
	set_deliver(w, seq + 1);
	return lease;
}

/* n from our own copy: a worker's stray store must not lead us outside. */
static bool is_done(struct fby_window *w, uint64_t seq)
{
	return seq < atomic_load(&w->open) &&
	       fby_ticket_all_done(w->pool, fby_pool_ticket(w->pool, seq),
				   w->open_as[ring(w, seq)].n);
}

struct fby_lease *fby_window_take(struct fby_window *w, bool want_time)
{
	struct fby_lease *lease = NULL;
	uint64_t seq;

	pthread_mutex_lock(&w->lock);
	seq = atomic_load(&w->deliver);
	if (!w->draining && is_done(w, seq))
		lease = lease_ticket(w, seq, want_time);
	pthread_mutex_unlock(&w->lock);
	return lease;
}

struct fby_sem *fby_window_oldest(struct fby_window *w)
{
	uint64_t seq = atomic_load(&w->deliver);

	if (seq == atomic_load(&w->open))
		return NULL;
	return fby_pool_ready(w->pool, w->open_as[ring(w, seq)].slot);
}

bool fby_window_is_ready(struct fby_window *w)
{
	return is_done(w, atomic_load(&w->deliver));
}

uint32_t fby_window_depth(struct fby_window *w)
{
	uint64_t seq = atomic_load(&w->deliver);
	uint32_t depth = 0;

	while (depth < w->slots.n && is_done(w, seq + depth))
		depth++;
	return depth;
}

struct fby_part fby_window_position(struct fby_window *w)
{
	struct fby_part part;
	uint64_t seq;

	pthread_mutex_lock(&w->lock);
	seq = atomic_load(&w->deliver);
	part = seq < atomic_load(&w->open) && !w->draining ? w->part[ring(w, seq)]
							   : w->next;
	pthread_mutex_unlock(&w->lock);
	return part;
}

/* ---- soundness ---- */

/* Under the mutex.  A row that is not done is free or a worker's, of this generation. */
static bool is_row_sound(struct fby_window *w, struct fby_ticket *t, uint32_t row)
{
	uint64_t claim = atomic_load(&fby_ticket_claims(w->pool, t)[row]);

	return fby_ticket_is_done(w->pool, t, row) ||
	       (fby_claim_generation(claim) == (uint32_t)atomic_load(&w->deliver) &&
		fby_claim_owner(claim) <= w->pool->geo.n_workers);
}

static bool is_ticket_sound(struct fby_window *w, uint64_t seq)
{
	struct fby_ticket *t = fby_pool_ticket(w->pool, seq);
	uint64_t word = atomic_load(&t->word);

	if (word != fby_ticket_word(seq, FBY_TICKET_OPEN) &&
	    word != fby_ticket_word(seq, FBY_TICKET_DRAIN))
		return false;
	for (uint32_t row = 0; row < w->open_as[ring(w, seq)].n; row++)
		if (!is_row_sound(w, t, row))
			return false;
	return true;
}

int fby_window_is_sound(struct fby_window *w)
{
	const struct fby_ctl *ctl = w->pool->ctl;
	uint64_t seq;
	bool sound;

	pthread_mutex_lock(&w->lock);
	seq = atomic_load(&w->deliver);
	sound = atomic_load(&ctl->deliver) == seq &&
		atomic_load(&ctl->open) == atomic_load(&w->open) &&
		(seq == atomic_load(&w->open) || is_ticket_sound(w, seq));
	pthread_mutex_unlock(&w->lock);
	return sound ? 0
		     : fby_fail(-EBADMSG,
				"batch %llu cannot be made: something wrote over the "
				"control segment",
				(unsigned long long)seq);
}

/* ---- seeking ---- */

void fby_window_drain(struct fby_window *w)
{
	uint64_t end;

	pthread_mutex_lock(&w->lock);
	w->draining = true;
	end = atomic_load(&w->open);
	for (uint64_t seq = atomic_load(&w->deliver); seq < end; seq++)
		fby_ticket_drain(w->pool, seq);
	pthread_mutex_unlock(&w->lock);
}

bool fby_window_drain_step(struct fby_window *w)
{
	uint64_t seq;

	pthread_mutex_lock(&w->lock);
	for (seq = atomic_load(&w->deliver); is_done(w, seq); seq++) {
		fby_ticket_empty(w->pool, seq);
		fby_slots_unbind(&w->slots, w->open_as[ring(w, seq)].slot);
		set_deliver(w, seq + 1);
	}
	pthread_mutex_unlock(&w->lock);
	return seq == atomic_load(&w->open);
}

void fby_window_restart(struct fby_window *w, const struct fby_part *part)
{
	pthread_mutex_lock(&w->lock);
	assert(atomic_load(&w->deliver) == atomic_load(&w->open));
	w->next = *part;
	w->draining = false;
	pthread_mutex_unlock(&w->lock);
}

/* ---- recovery ---- */

struct fby_recovery fby_window_recover(struct fby_window *w, uint32_t dead,
				       enum fby_death how)
{
	struct fby_pool *p = w->pool;
	struct fby_recovery all = { 0 };

	pthread_mutex_lock(&w->lock);
	for (uint32_t k = 0; k < p->geo.n_tickets; k++) {
		uint32_t poisoned;

		all.taken_back += fby_ticket_take_back(p, fby_pool_ticket(p, k), dead,
						       how, &poisoned);
		all.poisoned += poisoned;
	}
	pthread_mutex_unlock(&w->lock);
	fby_sem_kick(&p->ctl->work, p->geo.n_workers, p->geo.n_workers);
	for (uint32_t s = 0; s < p->geo.n_slots; s++)
		fby_sem_kick(fby_pool_ready(p, s), 1, 1);
	return all;
}

/* ---- self-check ---- */

static int check_slots(struct fby_window *w)
{
	uint64_t deliver = atomic_load(&w->deliver);
	uint64_t open = atomic_load(&w->open);
	uint32_t bound = 0;

	for (uint32_t s = 0; s < w->slots.n; s++) {
		uint64_t word = atomic_load(&w->slots.word[s]);

		bound += word == FBY_SLOT_BOUND;
		if (word >= FBY_SLOT_FIRST_LEASE &&
		    word - FBY_SLOT_FIRST_LEASE >= deliver)
			return fby_fail(-EBADMSG, "slot %u is leased before its time", s);
	}
	if (open - deliver == bound)
		return 0;
	return fby_fail(-EBADMSG, "%u slots are bound to %llu open tickets", bound,
			(unsigned long long)(open - deliver));
}

int fby_window_check(struct fby_window *w)
{
	int r, torn = fby_pool_torn_slot(w->pool);

	if (torn >= 0)
		return fby_fail(-EBADMSG, "a worker wrote outside its rows in slot %d",
				torn);
	pthread_mutex_lock(&w->lock);
	r = check_slots(w);
	pthread_mutex_unlock(&w->lock);
	return r;
}
