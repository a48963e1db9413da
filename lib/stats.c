/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/stats.h"

uint32_t fby_stats_bucket(uint64_t ns)
{
	uint64_t us = ns / 1000;

	return us < 2 ? 0
		      : (uint32_t)fby_min(63 - (uint64_t)__builtin_clzll(us),
					  FBY_HISTOGRAM - 1);
}

void fby_stats_wait(struct fby_trainer_record *record, uint64_t ns, uint64_t handover_ns)
{
	fby_stats_add(&record->waits, 1);
	fby_stats_add(&record->wait_ns, ns);
	fby_stats_add(&record->wait_histogram[fby_stats_bucket(ns)], 1);
	atomic_store(&record->handover_ns, handover_ns);
}

const char *fby_stats_stage(uint32_t stage)
{
	static const char *const name[FBY_N_STAGES] = { "read", "decode", "resample",
							"store", "idle" };

	return stage < FBY_N_STAGES ? name[stage] : "?";
}

static void add_worker(const struct fby_worker_record *w, struct fby_stats *s)
{
	s->samples += atomic_load(&w->samples);
	s->bytes_read += atomic_load(&w->bytes);
	s->slices_needed += atomic_load(&w->slices_needed);
	for (int i = 0; i < FBY_N_STAGES; i++)
		s->stage_ns[i] += atomic_load(&w->stage_ns[i]);
}

void fby_stats_collect(const struct fby_pool *pool, struct fby_stats *ret_stats)
{
	const struct fby_trainer_record *t = &pool->ctl->trainer;
	const struct fby_geometry *g = &pool->geo;

	*ret_stats = (struct fby_stats){
		.batches = atomic_load(&t->batches),
		.waits = atomic_load(&t->waits),
		.wait_ns = atomic_load(&t->wait_ns),
		.depth_sum = atomic_load(&t->depth_sum),
		.slices_needed = atomic_load(&t->slices_needed),
		.handover_ns = atomic_load(&t->handover_ns),
		.deaths = atomic_load(&t->deaths),
		.rows_taken_back = atomic_load(&t->rows_taken_back),
		.bad_rows = atomic_load(&t->bad_rows),
		.rows_replaced = atomic_load(&t->rows_replaced),
		.bad_samples = atomic_load(&t->bad_samples),
		.seeks = atomic_load(&t->seeks),
		.pool_bytes = g->ctl_bytes + g->data_bytes + g->cfg_bytes,
		.trainer_cpu_ns = atomic_load(&t->supervisor_cpu_ns),
	};
	for (int i = 0; i < FBY_HISTOGRAM; i++)
		ret_stats->wait_histogram[i] = atomic_load(&t->wait_histogram[i]);
	for (uint32_t i = 0; i < g->n_workers; i++)
		add_worker(fby_pool_worker(pool, i), ret_stats);
}
