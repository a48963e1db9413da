/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/stuck.h"
#include "lib/fail.h"
#include "lib/machine.h"
#include "lib/stats.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int fby_stuck_init(struct fby_stuck *stuck, uint32_t n_workers, uint32_t limit)
{
	*stuck = (struct fby_stuck){ .limit = limit };
	stuck->worker = calloc(n_workers, sizeof(*stuck->worker));
	return stuck->worker ? 0
			     : fby_fail(-ENOMEM, "no memory for %u workers", n_workers);
}

void fby_stuck_finish(struct fby_stuck *stuck)
{
	free(stuck->worker);
	stuck->worker = NULL;
}

/* One more slice on the same row, or the first on another. */
static bool age(struct fby_stuck *stuck, uint32_t worker, uint64_t seq, uint32_t row)
{
	struct fby_stuck_worker *s = &stuck->worker[worker];

	if (s->seq != seq || s->row != row)
		*s = (struct fby_stuck_worker){ .seq = seq, .row = row };
	if (++s->slices < stuck->limit)
		return false;
	s->slices = 0;
	return true;
}

/* Grows with each row made, each sleep (an idle worker's slice) and each new worker. */
static uint64_t signs_of_life(const struct fby_pool *p)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < p->geo.n_workers; i++) {
		struct fby_worker_record *record = fby_pool_worker(p, i);

		sum += atomic_load(&record->samples) + atomic_load(&record->sleeps) +
		       atomic_load(&record->incarnation);
	}
	return sum;
}

static int find_living(const struct fby_pool *p)
{
	for (uint32_t i = 0; i < p->geo.n_workers; i++) {
		uint32_t state = atomic_load(&fby_pool_worker(p, i)->state);

		if (state == FBY_WORKER_STARTING || state == FBY_WORKER_RUNNING)
			return (int)i;
	}
	return -1;
}

/*
 * One worker that is well would have taken the free row.  To replace one is enough: the
 * next one takes it.
 */
static int age_all(struct fby_stuck *stuck, const struct fby_pool *p)
{
	uint64_t life = signs_of_life(p);

	if (life != stuck->life)
		stuck->quiet = 0;
	stuck->life = life;
	if (++stuck->quiet < stuck->limit)
		return -1;
	stuck->quiet = 0;
	return find_living(p);
}

int fby_stuck_slice(struct fby_stuck *stuck, struct fby_window *window)
{
	const struct fby_pool *p = window->pool;
	uint64_t seq = atomic_load(&window->deliver);
	struct fby_ticket *t = fby_pool_ticket(p, seq);
	bool any_free = false;
	int found = -1;

	for (uint32_t row = 0; row < p->geo.batch; row++) {
		uint32_t owner =
			fby_claim_owner(atomic_load(&fby_ticket_claims(p, t)[row]));

		any_free |= owner == FBY_OWNER_FREE && !fby_ticket_is_done(p, t, row);
		/* Two looks: it may have been FREE at the first, and owned at the second.
		 */
		if (owner == FBY_OWNER_FREE || owner > p->geo.n_workers ||
		    !fby_ticket_is_owned(p, t, row))
			continue;
		if (age(stuck, owner - 1, seq, row))
			found = (int)owner - 1;
	}
	if (!any_free)
		stuck->quiet = 0;
	return any_free && found < 0 ? age_all(stuck, p) : found;
}

/* wchan is "0" for a process that runs. */
static void find_wait_channel(uint32_t pid, char *ret_text, size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/wchan", pid);
	if (!fby_machine_read(path, ret_text, size) || !strcmp(ret_text, "0"))
		snprintf(ret_text, size, "nothing");
}

/* The record is input: it was written by a process that is not well. */
void fby_stuck_describe(const struct fby_pool *p, const struct fby_index *index,
			uint32_t worker, char *ret_text, size_t size)
{
	struct fby_worker_record *record = fby_pool_worker(p, worker);
	uint32_t pid = atomic_load(&record->pid), row = atomic_load(&record->row);
	struct fby_ticket *t = fby_pool_ticket(p, atomic_load(&record->seq));
	char file[FBY_PATH_BYTES] = "?", channel[64];

	if (row < p->geo.batch &&
	    fby_index_path(index, fby_ticket_samples(p, t)[row], file, sizeof(file)) < 0)
		snprintf(file, sizeof(file), "?");
	find_wait_channel(pid, channel, sizeof(channel));
	snprintf(ret_text, size,
		 "worker %u (pid %u), stage %s, waiting in the kernel for %s, at '%s'",
		 worker, pid, fby_stats_stage(atomic_load(&record->stage)), channel,
		 file);
}
