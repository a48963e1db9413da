/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sweep-world.h"
#include "lib/fail.h"
#include "lib/sem.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct world live;
int fails;
const char *phase = "";

static struct world mirror;      /* where the dead are buried */
static struct world *now_acting; /* whose wake-ups are seen */
static struct fby_plan plan;
static unsigned char *newborn, *last_ctl, *last_data;

void violation(const char *format, ...)
{
	va_list args;

	if (++fails > MAX_FAILS)
		return;
	va_start(args, format);
	printf("# VIOLATION in %s: ", phase);
	vprintf(format, args);
	printf("\n");
	va_end(args);
}

static void *room(uint64_t bytes)
{
	void *p = aligned_alloc(4096, bytes);

	if (!p)
		abort();
	return memset(p, 0, bytes);
}

void world_create(void)
{
	const struct fby_geometry *g = &live.pool.geo;

	if (fby_plan_init(&plan, 40 * BATCH + 3, BATCH, false, false, SEED) < 0 ||
	    rows_pool(&live.pool, N_SLOTS, N_WORKERS, BATCH) < 0 ||
	    fby_window_init(&live.window, &live.pool, &plan, FIRST_SEQ) < 0) {
		printf("Bail out! %s\n", fby_error());
		exit(2);
	}
	newborn = memcpy(room(g->ctl_bytes), live.pool.ctl, g->ctl_bytes);
	last_ctl = room(g->ctl_bytes);
	last_data = room(g->data_bytes);
	mirror.pool = live.pool;
	mirror.pool.ctl = room(g->ctl_bytes);
	mirror.pool.data = room(g->data_bytes);
	if (fby_window_init(&mirror.window, &mirror.pool, &plan, FIRST_SEQ) < 0)
		exit(2);
	now_acting = &live;
}

bool world_changed(void)
{
	const struct fby_geometry *g = &live.pool.geo;
	bool changed = false;

	if (memcmp(last_ctl, live.pool.ctl, g->ctl_bytes) != 0) {
		memcpy(last_ctl, live.pool.ctl, g->ctl_bytes);
		changed = true;
	}
	if (memcmp(last_data, live.pool.data, g->data_bytes) != 0) {
		memcpy(last_data, live.pool.data, g->data_bytes);
		changed = true;
	}
	return changed;
}

/* ---- the virtual sleepers ---- */

void world_wake(const void *word)
{
	struct world *w = now_acting;

	if (word == &w->pool.ctl->work.word)
		w->worker_asleep = false;
	if (w->on && word == &w->on->word)
		w->trainer_asleep = false;
}

static void verify(struct world *w, const struct fby_lease *lease)
{
	unsigned long long seq = lease->seq;

	for (uint32_t i = 0; i < lease->part.n; i++) {
		struct fby_ticket *t = fby_pool_ticket(&w->pool, lease->seq);
		uint32_t status = fby_ticket_rows(&w->pool, t)[i].status;

		if (i == w->poison && status == FBY_ROW_POISON)
			continue;
		if (!rows_is_right(&w->pool, lease, SEED, i))
			violation("batch %llx row %u is corrupt", seq, i);
		if (status != (rows_is_bad(lease->ids[i]) ? FBY_ROW_BAD : FBY_ROW_GOOD))
			violation("batch %llx row %u has status %u", seq, i, status);
	}
	if (w->poison == BATCH && !rows_bad_are_right(lease))
		violation("batch %llx: the bad row is not told as it is", seq);
}

void trainer_waits(struct world *w)
{
	if (!fby_sem_take(w->on))
		w->trainer_asleep = fby_sem_arm(w->on);
}

/* False: nothing to hand out and nothing drained. */
static bool trainer_looks(struct world *w)
{
	struct fby_lease *lease;
	struct fby_part part;

	if (w->draining) {
		if (!fby_window_drain_step(&w->window))
			return false;
		w->draining = false;
		part = w->window.next;
		fby_window_restart(&w->window, &part);
		return true;
	}
	lease = fby_window_take(&w->window, true);
	if (!lease)
		return false;
	verify(w, lease);
	if (!fby_slots_release(&w->window.slots, lease->slot, lease->seq))
		violation("batch %llx: its slot is not leased",
			  (unsigned long long)lease->seq);
	w->delivered++;
	return true;
}

void trainer_runs(struct world *w)
{
	while (!w->trainer_asleep) {
		if (trainer_looks(w))
			continue;
		w->on = fby_window_oldest(&w->window);
		if (!w->on)
			return;
		trainer_waits(w);
	}
}

/* ---- scenes ---- */

/* All rows but lo..hi are made, by the helper. */
void world_open(struct world *w, uint32_t lo, uint32_t hi)
{
	uint64_t seq = atomic_load(&w->pool.ctl->open);
	struct fby_ticket *t = fby_pool_ticket(&w->pool, seq);
	struct fby_claim claim;

	if (fby_window_fill(&w->window) != 1)
		violation("not one slot is free for batch %llx", (unsigned long long)seq);
	for (uint32_t i = 0; i < BATCH; i++) {
		struct fby_row row = { .worker = HELPER };
		struct fby_report report = { 0 };
		struct fby_job job = { .seed = SEED, .epoch = t->epoch };

		if (i >= lo && i <= hi)
			continue;
		atomic_store(&t->hint, i);
		if (!fby_ticket_claim(&w->pool, seq, HELPER, &claim) || claim.row != i)
			violation("row %u cannot be claimed", i);
		job.sample = fby_ticket_samples(&w->pool, t)[i];
		job.position = t->first + i * t->stride;
		for (uint32_t f = 0; f < FBY_N_FIELDS; f++)
			job.field[f] = fby_pool_row(&w->pool, claim.slot, f, i);
		rows_make(NULL, &job, &report);
		row.status = report.status;
		memcpy(fby_ticket_reason(&w->pool, t, i), report.reason,
		       FBY_REASON_BYTES);
		fby_ticket_commit(&w->pool, &claim, &row);
	}
	atomic_store(&t->hint, lo);
}

/* The user holds all slots but one. */
static void hold_slots(struct world *w, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		int slot = fby_slots_bind(&w->window.slots);

		if (slot < 0)
			violation("a slot is missing");
		else
			fby_slots_lease(&w->window.slots, (uint32_t)slot, 1000);
	}
	w->held_slots += n;
}

static void let_go_of_slot(struct world *w)
{
	for (uint32_t i = 0; i < N_SLOTS; i++) {
		if (fby_slots_release(&w->window.slots, i, 1000)) {
			w->held_slots--;
			return;
		}
	}
}

void world_begin(uint32_t tickets, uint32_t lo, uint32_t hi)
{
	const struct fby_geometry *g = &live.pool.geo;

	now_acting = &live;
	memcpy(live.pool.ctl, newborn, g->ctl_bytes);
	fby_window_finish(&live.window);
	if (fby_window_init(&live.window, &live.pool, &plan, FIRST_SEQ) < 0)
		abort();
	live.on = NULL;
	live.trainer_asleep = live.draining = false;
	live.delivered = live.held_slots = 0;
	live.poison = BATCH;
	hold_slots(&live, N_SLOTS - 1);
	while (tickets--) {
		world_open(&live, lo, hi);
		if (tickets)
			let_go_of_slot(&live);
	}
	trainer_runs(&live);
	atomic_store(&live.pool.ctl->work.word, 1); /* SLEEPER sleeps */
	live.worker_asleep = true;
	world_changed();
}

/* ---- what must hold ---- */

uint32_t count_left(struct world *w, uint32_t worker, uint32_t *ret_held)
{
	uint32_t left = 0, owner = fby_owner_of(worker);
	uint64_t end = atomic_load(&w->pool.ctl->open);

	*ret_held = 0;
	for (uint64_t seq = atomic_load(&w->pool.ctl->deliver); seq < end; seq++) {
		struct fby_ticket *t = fby_pool_ticket(&w->pool, seq);

		for (uint32_t i = 0; i < atomic_load(&t->n); i++) {
			uint64_t claim = atomic_load(&fby_ticket_claims(&w->pool, t)[i]);

			left += !fby_ticket_is_done(&w->pool, t, i);
			*ret_held += fby_claim_owner(claim) == owner &&
				     fby_ticket_is_owned(&w->pool, t, i);
		}
	}
	return left;
}

bool is_row_free(struct world *w)
{
	uint64_t end = atomic_load(&w->pool.ctl->open);

	for (uint64_t seq = atomic_load(&w->pool.ctl->deliver); seq < end; seq++) {
		struct fby_ticket *t = fby_pool_ticket(&w->pool, seq);

		if (atomic_load(&t->word) != fby_ticket_word(seq, FBY_TICKET_OPEN))
			continue;
		for (uint32_t i = 0; i < atomic_load(&t->n); i++)
			if (fby_claim_owner(
				    atomic_load(&fby_ticket_claims(&w->pool, t)[i])) ==
			    FBY_OWNER_FREE)
				return true;
	}
	return false;
}

uint32_t finish(struct world *w, uint32_t me)
{
	uint32_t rows = 0;
	int r;

	while ((r = rows_work(&w->pool, me)) > 0)
		rows++;
	if (r < 0)
		violation("a worker gives up: %s", fby_error());
	trainer_runs(w);
	return rows;
}

/* One short batch more, in the one slot that the user leaves. */
static void check_next_batch(struct world *w, unsigned long long at)
{
	struct fby_part part = fby_plan_part(&plan, 0, plan.n_batches - 1);
	uint32_t n_free, n_leased;

	fby_slots_count(&w->window.slots, &n_free, &n_leased);
	if (n_free != N_SLOTS - w->held_slots || n_leased != w->held_slots) {
		violation("step %llu: %u slots are free, %u leased", at, n_free,
			  n_leased);
		return;
	}
	hold_slots(w, n_free - 1);
	fby_window_restart(&w->window, &part);
	if (fby_window_fill(&w->window) != 1 || finish(w, TWIN) != part.n ||
	    fby_window_oldest(&w->window))
		violation("step %llu: the next batch fails", at);
}

void check_end(struct world *w, uint64_t at)
{
	unsigned long long step = at;

	if (w->trainer_asleep)
		violation("step %llu: the trainer sleeps for ever", step);
	if (w->draining)
		violation("step %llu: the drain does not end", step);
	if (fby_window_oldest(&w->window))
		violation("step %llu: a batch is lost", step);
	else
		check_next_batch(w, step);
	if (fby_pool_torn_slot(&w->pool) >= 0)
		violation("step %llu: somebody wrote outside of a row", step);
}

/* ---- death ---- */

static void copy_window(struct fby_window *to, const struct fby_window *from)
{
	const struct fby_geometry *g = &from->pool->geo;

	for (uint32_t i = 0; i < N_SLOTS; i++)
		atomic_store(&to->slots.word[i], atomic_load(&from->slots.word[i]));
	to->draining = from->draining;
	atomic_store(&to->deliver, atomic_load(&from->deliver));
	atomic_store(&to->open, atomic_load(&from->open));
	to->next = from->next;
	memcpy(to->open_as, from->open_as, g->n_tickets * sizeof(*to->open_as));
	memcpy(to->part, from->part, g->n_tickets * sizeof(*to->part));
}

static void copy_world(struct world *to, const struct world *from)
{
	const struct fby_geometry *g = &from->pool.geo;

	memcpy(to->pool.ctl, from->pool.ctl, g->ctl_bytes);
	memcpy(to->pool.data, from->pool.data, g->data_bytes);
	copy_window(&to->window, &from->window);
	to->on = from->on ? fby_pool_ready(&to->pool,
					   (uint32_t)(from->on -
						      fby_pool_ready(&from->pool, 0)))
			  : NULL;
	to->trainer_asleep = from->trainer_asleep;
	to->worker_asleep = from->worker_asleep;
	to->draining = from->draining;
	to->delivered = from->delivered;
	to->held_slots = from->held_slots;
	to->poison = from->poison;
}

uint32_t die_here(uint64_t at)
{
	struct world *w = &mirror;
	unsigned long long step = at;
	uint32_t held, left, redone;
	struct fby_recovery recovery;

	copy_world(w, &live);
	now_acting = w;
	left = count_left(w, STEPPED, &held);
	if (w->draining)
		left = 0;
	recovery = fby_window_recover(&w->window, STEPPED, FBY_DEATH_KILL);
	if (held > 1 || recovery.taken_back != held)
		violation("step %llu: %u claims held, %u taken back", step, held,
			  recovery.taken_back);
	trainer_runs(w);
	redone = w->worker_asleep ? 0 : finish(w, SLEEPER);
	if (redone != left)
		violation("step %llu: %u rows redone, %u were left", step, redone, left);
	check_end(w, at);
	now_acting = &live;
	return held;
}
