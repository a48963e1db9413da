/* SPDX-License-Identifier: Apache-2.0 */
#include "workers/work.h"
#include "lib/fail.h"
#include "lib/sem.h"
#include "lib/stats.h"
#include "lib/ticket.h"
#include <errno.h>
#include <string.h>

#define SLICE_NS 100000000u

static struct fby_worker_record *own_record(const struct fby_work *w)
{
	return fby_pool_worker(w->pool, w->me);
}

static void count_row(struct fby_worker_record *record, const struct fby_report *report)
{
	for (int i = 0; i < FBY_STAGE_IDLE; i++)
		fby_stats_add(&record->stage_ns[i], report->stage_ns[i]);
	fby_stats_add(&record->bytes, report->bytes);
	fby_stats_add(&record->samples, 1);
}

/* Everything is read of the ticket before the commit: after it, it may be recycled. */
static void make_row(struct fby_work *w, const struct fby_claim *claim)
{
	const struct fby_pool *p = w->pool;
	struct fby_ticket *t = claim->ticket;
	struct fby_worker_record *record = own_record(w);
	struct fby_job job = { .sample = fby_ticket_samples(p, t)[claim->row],
			       .seed = t->seed,
			       .epoch = t->epoch,
			       .position = t->first + claim->row * t->stride,
			       .stage = &record->stage };
	struct fby_report report = { 0 };
	struct fby_row row = { .worker = w->me, .start_ns = fby_now() };

	atomic_store(&record->seq, claim->seq);
	atomic_store(&record->row, claim->row);
	for (uint32_t f = 0; f < p->geo.n_fields; f++)
		job.field[f] = fby_pool_row(p, claim->slot, f, claim->row);
	w->make(w->ctx, &job, &report);
	row.status = report.status;
	if (row.status != FBY_ROW_GOOD)
		memcpy(fby_ticket_reason(p, t, claim->row), report.reason,
		       FBY_REASON_BYTES);
	count_row(record, &report); /* first: who has the batch finds its rows counted */
	row.end_ns = fby_now();
	fby_ticket_commit(p, claim, &row);
}

int fby_work_one(struct fby_work *w)
{
	struct fby_ctl *ctl = w->pool->ctl;
	uint64_t seq = atomic_load(&ctl->deliver), end = atomic_load(&ctl->open);
	struct fby_claim claim;

	if (end - seq >
	    w->pool->geo.n_tickets) /* read in two steps: at most a few too many */
		end = seq + w->pool->geo.n_tickets;
	for (; seq < end; seq++) {
		if (!fby_ticket_claim(w->pool, seq, w->me, &claim))
			continue;
		if (claim.n > w->pool->geo.batch || claim.slot >= w->pool->geo.n_slots)
			return fby_fail(-EBADMSG, "ticket %llu has %u rows in slot %u",
					(unsigned long long)seq, claim.n, claim.slot);
		make_row(w, &claim);
		return 1;
	}
	return 0;
}

static enum fby_woke sleep_once(struct fby_work *w)
{
	struct fby_worker_record *record = own_record(w);
	uint64_t start = fby_now();
	enum fby_woke woke;

	atomic_store(&record->stage, FBY_STAGE_IDLE);
	fby_stats_add(&record->sleeps, 1);
	woke = fby_sem_wait(&w->pool->ctl->work, SLICE_NS);
	fby_stats_add(&record->stage_ns[FBY_STAGE_IDLE], fby_now() - start);
	return woke;
}

/* A row found right after a time-out is a wake-up that got lost: it is counted. */
int fby_work_run(struct fby_work *w)
{
	enum fby_woke woke = FBY_WOKE_TOKEN;

	while (atomic_load(&w->pool->ctl->run) != FBY_STOP && w->go_on(w->ctx)) {
		int r = fby_work_one(w);

		if (r < 0)
			return r;
		if (r > 0 && woke == FBY_WOKE_BY_TIME)
			fby_stats_add(&own_record(w)->slices_needed, 1);
		woke = r > 0 ? FBY_WOKE_TOKEN : sleep_once(w);
	}
	return 0;
}
