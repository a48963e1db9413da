/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/bench.h"
#include "lib/fail.h"
#include "lib/loader.h"
#include "tools/baseline.h"
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define ROUNDS       9 /* with the baseline; odd: a median of one run */
#define ROUNDS_ALONE 3
#define ROUND_IMAGES 4096 /* at most, in a round */
#define READY_CALLS  400

struct bench {
	const struct fby_bench_options *options;
	struct fby_bench_result *result;
	struct fby_loader *loader;
};

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal)
{
	(void)signal;
	interrupted = 1;
}

static uint64_t now(void *ctx)
{
	(void)ctx;
	return fby_now();
}

/* ---- the loader ---- */

/* The next batch, or FBY_END. */
static int next(struct bench *b, struct fby_batch *ret_batch)
{
	int r;

	do
		r = fby_loader_next(b->loader, ret_batch);
	while (r == FBY_AGAIN && !interrupted);
	if (interrupted)
		return fby_fail(-EINTR, "interrupted");
	return r;
}

static int seek(struct bench *b, uint64_t epoch)
{
	int r;

	do
		r = fby_loader_seek(b->loader, epoch, 0);
	while (r == FBY_AGAIN && !interrupted);
	return interrupted ? fby_fail(-EINTR, "interrupted") : r;
}

/* Until every slot holds a complete batch, and the workers sleep. */
static int settle(struct bench *b)
{
	struct fby_window *window = &b->loader->window;

	while (fby_window_depth(window) < window->slots.n) {
		if (interrupted)
			return fby_fail(-EINTR, "interrupted");
		if (fby_supervisor_failure(&b->loader->supervisor))
			return fby_fail(-EPIPE, "%s", b->loader->supervisor.text);
		usleep(3000); /* rarely: this costs CPU time, which is measured */
	}
	return 0;
}

/* ---- the timed pass ---- */

static uint64_t waits(const struct bench *b)
{
	return atomic_load(&b->loader->pool.ctl->trainer.waits);
}

static int note_batch(struct bench *b, const struct fby_batch *batch,
		      uint64_t waits_before)
{
	const struct fby_trainer_record *t = &b->loader->pool.ctl->trainer;
	int r = fby_meter_batch(&b->result->meter, batch->epoch, batch->n);

	if (r == 0 && waits(b) != waits_before)
		r = fby_series_add(&b->result->handover_us,
				   (double)atomic_load(&t->handover_ns) / 1e3);
	return r;
}

static int run_timed(struct bench *b)
{
	struct fby_batch batch;
	uint32_t ends = 0;

	while (ends < b->options->epochs) {
		uint64_t before = waits(b);
		int r = next(b, &batch);

		if (r < 0)
			return r;
		if (r == FBY_END) {
			ends++;
			continue;
		}
		r = note_batch(b, &batch, before);
		fby_loader_release(b->loader, &batch);
		if (r < 0)
			return r;
	}
	return 0;
}

static int time_call(struct bench *b)
{
	struct fby_batch batch;
	uint64_t start = fby_now();
	int r = next(b, &batch);

	if (r)
		return r;
	r = fby_series_add(&b->result->next_ready_us, (double)(fby_now() - start) / 1e3);
	fby_loader_release(b->loader, &batch);
	return r;
}

/* Each time the pool is full, as many calls as there are batches in it. */
static int run_ready(struct bench *b)
{
	int r = 0;

	for (uint32_t i = 0; r >= 0 && i < READY_CALLS; i++) {
		if (i % b->result->info.n_slots == 0)
			r = settle(b);
		if (r >= 0)
			r = time_call(b);
	}
	return r < 0 ? r : 0;
}

/* ---- cost ---- */

static uint64_t cpu_of(clockid_t clock)
{
	struct timespec t;

	if (clock_gettime(clock, &t) < 0)
		return 0;
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Of this process, with the supervisor's thread, and of all workers. */
static uint64_t cpu_now(const struct bench *b)
{
	uint64_t sum = cpu_of(CLOCK_PROCESS_CPUTIME_ID);

	for (uint32_t i = 0; i < b->result->info.n_workers; i++) {
		clockid_t clock;
		int pid = fby_loader_worker_pid(b->loader, i);

		if (pid > 0 && clock_getcpuclockid(pid, &clock) == 0)
			sum += cpu_of(clock);
	}
	return sum;
}

static uint64_t round_batches(const struct bench *b)
{
	const struct fby_info *info = &b->result->info;

	return fby_min(info->n_batches, ROUND_IMAGES / info->batch_size + 1);
}

static int consume(struct bench *b, uint64_t n_batches)
{
	struct fby_batch batch;

	while (n_batches) {
		int r = next(b, &batch);

		if (r < 0)
			return r;
		if (r == FBY_END)
			continue;
		fby_loader_release(b->loader, &batch);
		n_batches--;
	}
	return settle(b);
}

/* From full pool to full pool: what was made in between is what is counted. */
static int run_round(struct bench *b, uint64_t epoch)
{
	struct fby_stats before, after;
	uint64_t cpu;
	int r = seek(b, epoch);

	if (r == 0)
		r = settle(b);
	if (r < 0)
		return r;
	fby_loader_stats(b->loader, &before);
	cpu = cpu_now(b);
	r = consume(b, round_batches(b));
	if (r < 0)
		return r;
	cpu = cpu_now(b) - cpu;
	fby_loader_stats(b->loader, &after);
	return fby_series_add(&b->result->cpu_ms,
			      (double)cpu / 1e6 /
				      (double)(after.samples - before.samples));
}

static int run_baseline(struct bench *b, uint64_t epoch)
{
	const struct fby_info *info = &b->result->info;
	struct fby_baseline baseline = {
		.cfg = &b->loader->cfg,
		.plan = &b->loader->plan,
		.n_processes = info->n_workers,
		.n_slots = info->n_slots,
		.image_bytes = info->image_bytes,
		.epoch = epoch,
		.n_positions =
			fby_min(round_batches(b) * info->batch_size, info->n_samples),
	};
	double full, plain;
	int r = fby_baseline_full(&baseline, &full);

	if (r == 0)
		r = fby_baseline_plain(&baseline, &plain);
	if (r == 0)
		r = fby_series_add(&b->result->full_cpu_ms, full);
	if (r == 0)
		r = fby_series_add(&b->result->plain_cpu_ms, plain);
	return r;
}

static int run_rounds(struct bench *b)
{
	uint64_t rounds = b->options->baseline ? ROUNDS : ROUNDS_ALONE;

	for (uint64_t i = 0; i < rounds; i++) {
		int r = run_round(b, i);

		if (r == 0 && b->options->baseline)
			r = run_baseline(b, i);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- memory and digest ---- */

/* RssAnon of /proc/PID/status: what the process has for itself. */
static uint64_t private_bytes(int pid)
{
	char path[64], line[256];
	unsigned long long kib = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "RssAnon: %llu kB", &kib) == 1)
			break;
	fclose(file);
	return kib * 1024;
}

static void measure_memory(struct bench *b)
{
	for (uint32_t i = 0; i < b->result->info.n_workers; i++) {
		uint64_t bytes = private_bytes(fby_loader_worker_pid(b->loader, i));

		b->result->worker_rss_bytes = fby_max(b->result->worker_rss_bytes, bytes);
	}
}

static int run_digest(struct bench *b)
{
	XXH3_state_t *state = XXH3_createState();
	XXH128_hash_t hash;
	struct fby_batch batch;
	int r = state ? seek(b, 0) : fby_fail(-ENOMEM, "no memory for a digest");

	if (state)
		XXH3_128bits_reset(state);
	while (r == 0 && (r = next(b, &batch)) == 0) {
		XXH3_128bits_update(state, batch.images,
				    batch.n * b->result->info.image_bytes);
		XXH3_128bits_update(state, batch.labels, batch.n * sizeof(*batch.labels));
		fby_loader_release(b->loader, &batch);
	}
	if (r == FBY_END) {
		hash = XXH3_128bits_digest(state);
		snprintf(b->result->digest, sizeof(b->result->digest), "%016llx%016llx",
			 (unsigned long long)hash.high64, (unsigned long long)hash.low64);
	}
	XXH3_freeState(state);
	return r < 0 ? r : 0;
}

/* ---- all of it ---- */

/* Loader and baselines on the same cores: the first n_workers that we may use. */
static void keep_to_cores(uint32_t n)
{
	cpu_set_t allowed, kept;

	CPU_ZERO(&kept);
	if (!n || sched_getaffinity(0, sizeof(allowed), &allowed) < 0)
		return;
	for (int cpu = 0; cpu < CPU_SETSIZE && n; cpu++) {
		if (!CPU_ISSET(cpu, &allowed))
			continue;
		CPU_SET(cpu, &kept);
		n--;
	}
	sched_setaffinity(0, sizeof(kept), &kept);
}

static int run_all(struct bench *b)
{
	int r = fby_loader_info(b->loader, &b->result->info);

	if (r == 0)
		r = run_timed(b);
	if (r == 0)
		r = settle(b);
	if (r == 0)
		r = run_ready(b);
	if (r == 0)
		r = run_rounds(b);
	if (r == 0)
		r = run_digest(b);
	if (r == 0)
		r = fby_loader_stats(b->loader, &b->result->stats);
	if (r == 0)
		measure_memory(b);
	return r;
}

int fby_bench_run(const struct fby_bench_options *options,
		  struct fby_bench_result *ret_result)
{
	struct bench b = { .options = options, .result = ret_result };
	struct sigaction action = { .sa_handler = on_interrupt };
	int r;

	*ret_result = (struct fby_bench_result){ 0 };
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	keep_to_cores(options->settings.n_workers);
	fby_meter_init(&ret_result->meter, now, NULL);
	r = fby_loader_open(options->path, &options->settings, &b.loader);
	if (r < 0)
		return r;
	r = run_all(&b);
	fby_loader_close(b.loader);
	return r;
}

void fby_bench_finish(struct fby_bench_result *r)
{
	fby_meter_finish(&r->meter);
	fby_series_finish(&r->handover_us);
	fby_series_finish(&r->next_ready_us);
	fby_series_finish(&r->cpu_ms);
	fby_series_finish(&r->full_cpu_ms);
	fby_series_finish(&r->plain_cpu_ms);
}

static double quotient(const struct fby_series *a, const struct fby_series *b)
{
	double below = fby_series_percentile(b, 50);

	return below > 0 ? fby_series_percentile(a, 50) / below : 0;
}

double fby_bench_ratio_to_full_decode(const struct fby_bench_result *r)
{
	return quotient(&r->full_cpu_ms, &r->cpu_ms);
}

double fby_bench_pool_efficiency(const struct fby_bench_result *r)
{
	return quotient(&r->plain_cpu_ms, &r->cpu_ms);
}
