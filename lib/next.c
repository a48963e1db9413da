/* SPDX-License-Identifier: Apache-2.0 */
/* What a training loop calls for each batch: next, seek, release. */
#include "lib/fail.h"
#include "lib/loader.h"
#include "lib/log.h"
#include "lib/sem.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SLICE_NS 100000000u

/* ---- waiting ---- */

static int failure(struct fby_loader *l)
{
	const char *why = fby_supervisor_failure(&l->supervisor);

	return why ? fby_fail(-EPIPE, "no worker is left: %s", why) : 0;
}

static int no_slot(struct fby_loader *l)
{
	return fby_fail(
		-ENOSR,
		"all %u slots of the pool are held: release batches, copy those that "
		"are kept, or open the loader with more slots",
		l->pool.geo.n_slots);
}

/* Only its owner's death frees a row. */
static void look_for_stuck(struct fby_loader *l)
{
	int worker = fby_stuck_slice(&l->stuck, &l->window);
	char text[FBY_PATH_BYTES];

	if (worker < 0)
		return;
	fby_stuck_describe(&l->pool, l->index, (uint32_t)worker, text, sizeof(text));
	fby_log(FBY_LOG_ERROR, "no progress for %u s, killing %s", l->stuck.limit / 10,
		text);
	fby_supervisor_kill(&l->supervisor, (uint32_t)worker);
}

/*
 * Sleeps once on the oldest ticket, for what is left of the present slice: neither
 * signals nor wakes for nothing may put off the look for stuck workers, or FBY_AGAIN.
 * 0: look again; FBY_AGAIN: a signal, or a slice went by and nothing was there.
 */
static int wait_once(struct fby_loader *l, struct fby_sem *sem)
{
	uint64_t start = fby_now(), left = SLICE_NS - l->slice_ns;
	enum fby_woke woke = fby_sem_wait(sem, left);
	int r;

	l->slice_ns += fby_min(fby_now() - start, left);
	if (l->slice_ns < SLICE_NS)
		return woke == FBY_WOKE_BY_SIGNAL ? FBY_AGAIN : 0;
	l->slice_ns = 0;
	if (woke == FBY_WOKE_BY_TIME && fby_window_is_ready(&l->window)) {
		fby_stats_add(&l->pool.ctl->trainer.slices_needed, 1);
		return 0;
	}
	look_for_stuck(l);
	r = fby_window_is_sound(&l->window);
	return r < 0 ? r : FBY_AGAIN;
}

/* next opens tickets itself where none is open: it does not depend on the supervisor. */
static int wait_for_batch(struct fby_loader *l)
{
	struct fby_sem *sem;
	int r = failure(l);

	if (r < 0)
		return r;
	if (!l->wait_since)
		l->wait_since = fby_now();
	fby_window_fill(&l->window);
	sem = fby_window_oldest(&l->window);
	return sem ? wait_once(l, sem) : no_slot(l);
}

/* ---- seeking ---- */

static int finish_seek(struct fby_loader *l)
{
	while (!fby_window_drain_step(&l->window)) {
		int r = failure(l);

		if (r == 0)
			r = wait_once(l, fby_window_oldest(&l->window));
		if (r)
			return r;
	}
	fby_window_restart(&l->window, &l->seek_to);
	l->seeking = false;
	fby_window_fill(&l->window);
	return 0;
}

int fby_loader_seek(struct fby_loader *l, uint64_t epoch, uint64_t batch)
{
	struct fby_part at;
	int r = fby_loader_check_owner(l);

	if (r < 0)
		return r;
	if (batch >= l->plan.n_batches)
		return fby_fail(-ERANGE, "batch %llu: an epoch has %llu",
				(unsigned long long)batch,
				(unsigned long long)l->plan.n_batches);
	l->end_is_due = false;
	l->wait_since = 0;
	at = l->seeking ? l->seek_to : fby_window_position(&l->window);
	if (at.epoch != epoch || at.index != batch) {
		l->seek_to = fby_plan_part(&l->plan, epoch, batch);
		if (!l->seeking) {
			fby_window_drain(&l->window);
			fby_stats_add(&l->pool.ctl->trainer.seeks, 1);
		}
		l->seeking = true;
	}
	return l->seeking ? finish_seek(l) : 0;
}

int fby_loader_position(struct fby_loader *l, uint64_t *ret_epoch, uint64_t *ret_batch)
{
	struct fby_part at;
	int r = fby_loader_check_call(l, ret_epoch);

	if (r == 0)
		r = fby_loader_check_call(l, ret_batch);
	if (r < 0)
		return r;
	at = l->seeking ? l->seek_to : fby_window_position(&l->window);
	*ret_epoch = at.epoch;
	*ret_batch = at.index;
	return 0;
}

/* ---- next ---- */

static void count(struct fby_loader *l, const struct fby_lease *lease, uint32_t depth)
{
	struct fby_trainer_record *stats = &l->pool.ctl->trainer;
	uint64_t now;

	fby_stats_add(&stats->batches, 1);
	fby_stats_add(&stats->depth_sum, depth);
	if (!l->wait_since)
		return;
	l->slice_ns = 0;
	now = fby_now();
	fby_stats_wait(stats, now - l->wait_since,
		       now > lease->last_commit_ns ? now - lease->last_commit_ns : 0);
	l->wait_since = 0;
}

static void fill_batch(struct fby_loader *l, const struct fby_lease *lease,
		       struct fby_batch *ret_batch)
{
	*ret_batch = (struct fby_batch){
		.seq = lease->seq,
		.epoch = lease->part.epoch,
		.index = lease->part.index,
		.n = lease->part.n,
		.n_bad = lease->n_bad,
		.slot = lease->slot,
		.images = fby_pool_row(&l->pool, lease->slot, FBY_FIELD_IMAGE, 0),
		.labels = (const int64_t *)(void *)fby_pool_row(&l->pool, lease->slot,
								FBY_FIELD_LABEL, 0),
		.ids = lease->ids,
		.loader = l,
	};
}

/* Before anybody sees the batch. */
static int settle_bad(struct fby_loader *l, struct fby_lease *lease)
{
	struct fby_trainer_record *stats = &l->pool.ctl->trainer;

	if (lease->n_bad) {
		fby_stats_add(&stats->bad_rows, lease->n_bad);
		fby_stats_add(&stats->rows_replaced,
			      fby_bad_fill(&l->bad, &l->pool, l->index, lease));
	}
	fby_bad_count(&l->bad, lease);
	atomic_store(&stats->bad_samples, l->bad.n);
	return fby_bad_judge(&l->bad, l->index);
}

static int hand_out(struct fby_loader *l, struct fby_lease *lease, uint32_t depth,
		    struct fby_batch *ret_batch)
{
	struct fby_batch batch;
	int r;

	atomic_fetch_add(&l->refs, 1);
	r = settle_bad(l, lease);
	count(l, lease, depth);
	l->end_is_due = lease->part.index + 1 == l->plan.n_batches;
	fill_batch(l, lease, &batch);
	if (r == 0 && l->check)
		r = fby_window_check(&l->window);
	if (r < 0)
		fby_loader_release(l, &batch);
	else
		*ret_batch = batch;
	return r;
}

int fby_loader_next(struct fby_loader *l, struct fby_batch *ret_batch)
{
	struct fby_lease *lease;
	uint32_t depth;
	int r = fby_loader_check_call(l, ret_batch);

	if (r == 0)
		r = fby_bad_judge(&l->bad, l->index);
	if (r == 0 && l->seeking)
		r = finish_seek(l);
	if (r)
		return r;
	if (l->end_is_due) {
		l->end_is_due = false;
		return FBY_END;
	}
	depth = l->wait_since ? 0 : fby_window_depth(&l->window);
	while (!(lease = fby_window_take(&l->window, l->wait_since))) {
		r = wait_for_batch(l);
		if (r)
			return r;
	}
	return hand_out(l, lease, depth, ret_batch);
}

int fby_loader_bad_sample(struct fby_loader *l, const struct fby_batch *batch, uint32_t k,
			  struct fby_bad_sample *ret_sample)
{
	int r = fby_loader_check_call(l, ret_sample);

	if (r < 0)
		return r;
	if (!batch)
		return fby_fail(-EINVAL, "a NULL batch");
	if (batch->slot >= l->pool.geo.n_slots || k >= l->window.lease[batch->slot].n_bad)
		return fby_fail(-ERANGE, "bad sample %u: the batch has %u", k,
				batch->n_bad);
	*ret_sample = l->window.lease[batch->slot].bad[k];
	return 0;
}

void fby_loader_release(struct fby_loader *l, const struct fby_batch *batch)
{
	if (!l || !batch || !fby_owner_is_here(&l->owner) ||
	    !fby_slots_release(&l->window.slots, batch->slot, batch->seq))
		return;
	fby_supervisor_wake(&l->supervisor);
	fby_loader_unref(l);
}

void fby_batch_release(struct fby_batch *batch)
{
	struct fby_loader *l;

	if (!batch)
		return;
	l = batch->loader;
	batch->loader = NULL;
	fby_loader_release(l, batch);
}
