/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The batches are a function of the dataset, the pipeline, the seed, the epoch and the
 * order alone: not of how many workers there are, nor of what happens to them, nor of
 * where one begins.
 */
#include "tests/feed.h"
#include "tests/story.h"
#include <sched.h>
#include <signal.h>
#include <stdlib.h>

enum { EPOCHS = 3, BATCH = 65, BATCHES = (FEED_SAMPLES + BATCH - 1) / BATCH };

static struct fby_settings shuffled(unsigned workers, unsigned batch)
{
	struct fby_settings s = feed_settings(workers, batch);

	s.shuffle = 1;
	return s;
}

static void digest_is_the_same_for_any_number_of_workers(void **state)
{
	static const unsigned n_workers[] = { 1, 2, 3, 7 };
	struct fby_settings s = shuffled(2, 64);
	uint64_t digest = 0, expected = feed_reference(&s, 2);

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct fby_loader *l;

		s.n_workers = n_workers[i];
		l = feed_open(&s);
		digest = feed_epoch(l, feed_epoch(l, 0));
		assert_int_equal(digest, expected);
		assert_int_equal(feed_stats(l).deaths, 0);
		fby_loader_close(l);
	}
}

static void undisturbed_runs_need_no_time_slice(void **state)
{
	struct fby_settings s = shuffled(3, 64);
	struct fby_loader *l = feed_open(&s);

	(void)state;
	for (unsigned i = 0; i < 5; i++)
		feed_epoch(l, 0);
	assert_int_equal(feed_stats(l).slices_needed, 0);
	fby_loader_close(l);
}

static void rows_are_the_same_for_any_batch_size(void **state)
{
	static const unsigned size[] = { 1, 64, 65, 200, 1000 };
	uint64_t expected = 0;

	(void)state;
	for (unsigned i = 0; i < 5; i++) {
		struct fby_settings s = shuffled(3, size[i]);
		struct fby_loader *l = feed_open(&s);
		uint64_t digest = feed_rows(l, 2);

		if (i == 0)
			expected = digest;
		assert_int_equal(digest, expected);
		fby_loader_close(l);
	}
}

static void epochs_differ_and_seeds_differ(void **state)
{
	struct fby_settings s = shuffled(2, 64);
	uint64_t one = feed_reference(&s, 1), two;
	struct fby_loader *l = feed_open(&s);

	(void)state;
	assert_int_equal(feed_rows(l, 1) == feed_rows(l, 1), 0);
	fby_loader_close(l);
	s.seed++;
	two = feed_reference(&s, 1);
	assert_int_not_equal(one, two);
}

/* Epochs until it was hit often enough, each compared with the undisturbed one. */
static void compare_under(int signal, unsigned period_us, unsigned n_hits)
{
	struct fby_settings s = shuffled(3, BATCH);
	struct fby_loader *calm = feed_open(&s), *l;
	struct feed_killer *killer;
	uint64_t begin = story_now_ms();

	feed_use_faults(NULL);
	setenv("STORY_SLOW_US", "1000", 1);
	l = feed_open(&s);
	killer = feed_killer_start(l, signal, period_us);
	while (feed_stats(l).deaths < n_hits && story_now_ms() < begin + 30000)
		assert_int_equal(feed_epoch(l, 1), feed_epoch(calm, 1));
	assert_true(feed_killer_stop(killer) >= n_hits);
	assert_int_equal(feed_epoch(l, 1), feed_epoch(calm, 1));
	assert_int_equal(feed_stats(l).bad_rows, 0);
	fby_loader_close(l);
	fby_loader_close(calm);
}

static void digest_is_the_same_with_a_worker_killed_every_50_ms(void **state)
{
	(void)state;
	compare_under(SIGKILL, 50000, 30);
}

static void digest_is_the_same_with_kills_as_fast_as_workers_start(void **state)
{
	(void)state;
	compare_under(SIGKILL, 3000, 200);
}

static void digest_is_the_same_with_workers_asked_to_end(void **state)
{
	(void)state;
	compare_under(SIGTERM, 20000, 50);
}

/* Trainer and workers lose all CPUs but one in the middle of an epoch, then get them
 * back. */
static void digest_is_the_same_while_cpus_go_and_come(void **state)
{
	struct fby_settings s = shuffled(3, BATCH);
	uint64_t expected = feed_reference(&s, 6), digest = 0;
	struct fby_loader *l = feed_open(&s);
	cpu_set_t all, one;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	CPU_ZERO(&one);
	for (int cpu = 0; CPU_COUNT(&one) == 0; cpu++)
		if (CPU_ISSET(cpu, &all))
			CPU_SET(cpu, &one);
	for (unsigned i = 0; i < 6; i++) {
		const cpu_set_t *set = i % 2 ? &all : &one;

		sched_setaffinity(0, sizeof(*set), set);
		for (unsigned k = 0; k < 3; k++)
			sched_setaffinity(feed_worker(l, k), sizeof(*set), set);
		digest = feed_epoch(l, digest);
	}
	assert_int_equal(digest, expected);
	assert_int_equal(feed_stats(l).deaths, 0);
	fby_loader_close(l);
}

/* ---- seeks ---- */

static uint64_t table[EPOCHS][BATCHES];

/* What each batch must be, from a loader that goes straight through. */
static void fill_table(void)
{
	struct fby_settings s = shuffled(2, BATCH);
	struct fby_loader *l = feed_open(&s);
	struct fby_batch b;

	for (unsigned e = 0; e < EPOCHS; e++) {
		for (unsigned i = 0; i < BATCHES; i++) {
			assert_int_equal(feed_next(l, &b), 0);
			table[e][i] = feed_digest(l, &b);
			fby_loader_release(l, &b);
		}
		assert_int_equal(feed_next(l, &b), FBY_END);
	}
	fby_loader_close(l);
}

/* Batches from here on, at most `n`, up to the end of the table. */
static void follow(struct fby_loader *l, uint64_t epoch, uint64_t index, unsigned n)
{
	struct fby_batch b;

	while (n-- && epoch < EPOCHS) {
		if (feed_next(l, &b) == FBY_END) {
			assert_int_equal(index, BATCHES);
			epoch++;
			index = 0;
			continue;
		}
		assert_int_equal(b.epoch, epoch);
		assert_int_equal(b.index, index);
		assert_int_equal(feed_digest(l, &b), table[epoch][index]);
		fby_loader_release(l, &b);
		index++;
	}
}

static void seek_at_random(struct fby_loader *l, unsigned n)
{
	unsigned seed = 3;

	while (n--) {
		unsigned epoch, index;

		seed = seed * 1103515245 + 12345;
		epoch = (seed >> 16) % EPOCHS;
		index = (seed >> 20) % BATCHES;
		feed_seek(l, epoch, index);
		follow(l, epoch, index, (seed >> 24) % 4);
	}
}

static void batches_from_any_start_equal_the_undisturbed_rest(void **state)
{
	struct fby_settings s = shuffled(3, BATCH);

	(void)state;
	fill_table();
	for (unsigned i = 0; i < BATCHES; i++) {
		struct fby_loader *l = feed_open(&s);

		feed_seek(l, 1, i);
		follow(l, 1, i, 2 * BATCHES);
		fby_loader_close(l);
	}
}

static void seeks_at_random_give_the_same_batches(void **state)
{
	struct fby_settings s = shuffled(3, BATCH);
	struct fby_loader *l;

	(void)state;
	fill_table();
	l = feed_open(&s);
	seek_at_random(l, 100);
	assert_int_equal(feed_stats(l).slices_needed, 0);
	fby_loader_close(l);
}

static void seeks_under_kills_give_the_same_batches(void **state)
{
	struct fby_settings s = shuffled(3, BATCH);
	struct feed_killer *killer;
	struct fby_loader *l;

	(void)state;
	fill_table();
	feed_use_faults(NULL);
	setenv("STORY_SLOW_US", "500", 1);
	l = feed_open(&s);
	killer = feed_killer_start(l, SIGKILL, 5000);
	seek_at_random(l, 100);
	feed_killer_stop(killer);
	seek_at_random(l, 20);
	fby_loader_close(l);
}

int main(void)
{
	static const struct story stories[] = {
		story(digest_is_the_same_for_any_number_of_workers),
		story(undisturbed_runs_need_no_time_slice),
		story(rows_are_the_same_for_any_batch_size),
		story(epochs_differ_and_seeds_differ),
		story(digest_is_the_same_with_a_worker_killed_every_50_ms),
		story(digest_is_the_same_with_kills_as_fast_as_workers_start),
		story(digest_is_the_same_with_workers_asked_to_end),
		story(digest_is_the_same_while_cpus_go_and_come),
		story(batches_from_any_start_equal_the_undisturbed_rest),
		story(seeks_at_random_give_the_same_batches),
		story(seeks_under_kills_give_the_same_batches),
	};

	return stories_tell(stories, FBY_ARRAY_SIZE(stories), feed_setup, feed_teardown);
}
