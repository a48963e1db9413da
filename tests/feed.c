/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/feed.h"
#include "lib/process.h"
#include "tests/photos.h"
#include "tests/proc.h"
#include "tests/story.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static char folder[4096];

int feed_setup(void **state)
{
	(void)state;
	photos_make(folder, sizeof(folder), FEED_SAMPLES, FEED_CLASSES);
	return 0;
}

int feed_teardown(void **state)
{
	(void)state;
	photos_remove(folder);
	return 0;
}

const char *feed_folder(void)
{
	return folder;
}

struct fby_settings feed_settings(unsigned workers, unsigned batch)
{
	struct fby_settings s;

	fby_settings_init(&s);
	s.batch_size = batch;
	s.n_workers = workers;
	s.n_slots = 4;
	s.seed = 7;
	s.n_ops = 2;
	s.op[0] = (struct fby_op){ .kind = FBY_OP_RANDOM_RESIZED_CROP,
				   .n_args = 6,
				   .arg = { 24, 24, 0.08, 1, 0.75, 4.0 / 3 } };
	s.op[1] = (struct fby_op){ .kind = FBY_OP_RANDOM_HORIZONTAL_FLIP,
				   .n_args = 1,
				   .arg = { 0.5 } };
	return s;
}

/* ---- batches ---- */

struct fby_loader *feed_open_at(const char *path, const struct fby_settings *settings)
{
	struct fby_loader *loader = NULL;
	int r = fby_loader_open(path, settings, &loader);

	if (r < 0)
		fail_msg("open '%s': %d, %s", path, r, fby_error());
	assert_int_equal(r, 0);
	return loader;
}

struct fby_loader *feed_open(const struct fby_settings *settings)
{
	return feed_open_at(folder, settings);
}

int feed_next(struct fby_loader *loader, struct fby_batch *ret_batch)
{
	int r;

	do
		r = fby_loader_next(loader, ret_batch);
	while (r == FBY_AGAIN);
	if (r < 0)
		fail_msg("next: %d, %s", r, fby_error());
	return r;
}

void feed_seek(struct fby_loader *loader, uint64_t epoch, uint64_t index)
{
	int r;

	do
		r = fby_loader_seek(loader, epoch, index);
	while (r == FBY_AGAIN);
	if (r < 0)
		fail_msg("seek: %d, %s", r, fby_error());
}

uint64_t feed_digest(struct fby_loader *loader, const struct fby_batch *batch)
{
	const uint64_t where[] = { batch->epoch, batch->index, batch->n, batch->n_bad };
	struct fby_info info;
	XXH3_state_t state;

	assert_int_equal(fby_loader_info(loader, &info), 0);
	XXH3_64bits_reset(&state);
	XXH3_64bits_update(&state, where, sizeof(where));
	XXH3_64bits_update(&state, batch->ids, batch->n * sizeof(*batch->ids));
	XXH3_64bits_update(&state, batch->labels, batch->n * sizeof(*batch->labels));
	XXH3_64bits_update(&state, batch->images, batch->n * info.image_bytes);
	return XXH3_64bits_digest(&state);
}

uint64_t feed_epoch(struct fby_loader *loader, uint64_t before)
{
	struct fby_batch batch;

	while (feed_next(loader, &batch) != FBY_END) {
		uint64_t both[] = { before, feed_digest(loader, &batch) };

		before = XXH3_64bits(both, sizeof(both));
		fby_loader_release(loader, &batch);
	}
	return before;
}

uint64_t feed_rows(struct fby_loader *loader, unsigned n)
{
	struct fby_batch batch;
	struct fby_info info;
	XXH3_state_t state;

	assert_int_equal(fby_loader_info(loader, &info), 0);
	XXH3_64bits_reset(&state);
	while (n) {
		if (feed_next(loader, &batch) == FBY_END) {
			n--;
			continue;
		}
		for (unsigned i = 0; i < batch.n; i++) {
			XXH3_64bits_update(&state, &batch.ids[i], sizeof(*batch.ids));
			XXH3_64bits_update(&state, &batch.labels[i],
					   sizeof(*batch.labels));
			XXH3_64bits_update(&state,
					   (char *)batch.images + i * info.image_bytes,
					   info.image_bytes);
		}
		fby_loader_release(loader, &batch);
	}
	return XXH3_64bits_digest(&state);
}

uint64_t feed_reference(const struct fby_settings *settings, unsigned n)
{
	struct fby_settings s = *settings;
	struct fby_loader *loader;
	uint64_t digest = 0;

	s.n_workers = 2;
	loader = feed_open(&s);
	for (unsigned i = 0; i < n; i++)
		digest = feed_epoch(loader, digest);
	fby_loader_close(loader);
	return digest;
}

struct fby_stats feed_stats(struct fby_loader *loader)
{
	struct fby_stats stats;

	assert_int_equal(fby_loader_stats(loader, &stats), 0);
	return stats;
}

/* ---- workers ---- */

/* It lies beside the test program. */
void feed_use_faults(const char *fault)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 32);

	assert_true(n > 0);
	path[n] = 0;
	snprintf(strrchr(path, '/'), 32, "/story-worker");
	setenv("FOREBAY_WORKER", path, 1);
	if (fault)
		setenv("STORY_FAULT", fault, 1);
}

struct seat {
	struct fby_loader *loader;
	unsigned i;
	int pid;
};

static bool is_taken(void *ctx)
{
	struct seat *seat = ctx;

	seat->pid = fby_loader_worker_pid(seat->loader, seat->i);
	return seat->pid > 0;
}

int feed_worker(struct fby_loader *loader, unsigned i)
{
	struct seat seat = { loader, i, 0 };

	assert_true(story_wait_until(is_taken, &seat));
	return seat.pid;
}

int feed_hit(struct fby_loader *loader, unsigned i, int signal)
{
	int pid = fby_loader_worker_pid(loader, i);
	int pidfd = pid > 0 ? fby_process_pidfd(pid) : -1, sent = 0;

	if (pidfd < 0)
		return 0;
	if (proc_parent(pid) == getpid())
		sent = syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0) == 0;
	close(pidfd);
	return sent;
}

struct feed_killer {
	struct fby_loader *loader;
	int signal;
	unsigned period_us, hits, n_workers;
	atomic_uint stop;
	pthread_t thread;
};

static void *kill_at_random(void *arg)
{
	struct feed_killer *k = arg;
	unsigned seed = 1;

	while (!atomic_load(&k->stop)) {
		story_pause_us(k->period_us);
		seed = seed * 1103515245 + 12345;
		k->hits += (unsigned)feed_hit(k->loader, (seed >> 16) % k->n_workers,
					      k->signal);
	}
	return NULL;
}

struct feed_killer *feed_killer_start(struct fby_loader *loader, int signal,
				      unsigned period_us)
{
	struct feed_killer *k = calloc(1, sizeof(*k));
	struct fby_info info;

	assert_non_null(k);
	assert_int_equal(fby_loader_info(loader, &info), 0);
	k->loader = loader;
	k->signal = signal;
	k->period_us = period_us;
	k->n_workers = info.n_workers;
	assert_int_equal(pthread_create(&k->thread, NULL, kill_at_random, k), 0);
	return k;
}

unsigned feed_killer_stop(struct feed_killer *k)
{
	unsigned hits;

	atomic_store(&k->stop, 1);
	pthread_join(k->thread, NULL);
	hits = k->hits;
	free(k);
	return hits;
}
