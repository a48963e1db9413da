/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a loader, and what it owes its user in between: batches stay readable, all
 * memory goes in the end, nothing grows with cycles or epochs.
 */
#include "tests/feed.h"
#include "tests/photos.h"
#include "tests/proc.h"
#include "tests/story.h"
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum { BATCH = 65, IMAGE = 24 * 24 * 3 };

static void batches_stay_readable_after_close_and_go_with_the_last_release(void **state)
{
	struct fby_settings s = feed_settings(2, BATCH);
	struct fby_loader *l = feed_open(&s);
	struct fby_batch a, b;
	unsigned char *copy = malloc(2 * BATCH * IMAGE);

	(void)state;
	assert_int_equal(feed_next(l, &a) | feed_next(l, &b), 0);
	memcpy(copy, a.images, BATCH * IMAGE);
	memcpy(copy + BATCH * IMAGE, b.images, BATCH * IMAGE);
	fby_loader_close(l);
	assert_int_equal(proc_count_children(getpid(), 0), 0);
	assert_memory_equal(copy, a.images, BATCH * IMAGE);
	fby_batch_release(&a);
	assert_true(proc_count_mappings(getpid(), "forebay-") > 0);
	assert_memory_equal(copy + BATCH * IMAGE, b.images, BATCH * IMAGE);
	assert_int_equal(b.ids[0], BATCH);
	fby_batch_release(&b);
	fby_batch_release(&b);
	fby_batch_release(&a);
	assert_int_equal(proc_count_mappings(getpid(), "forebay-"), 0);
	free(copy);
}

static void second_release_of_a_batch_is_ignored(void **state)
{
	struct fby_settings s = feed_settings(2, BATCH);
	struct fby_loader *l = feed_open(&s);
	struct fby_batch a, b;

	(void)state;
	assert_int_equal(feed_next(l, &a), 0);
	for (unsigned i = 0; i < 5; i++)
		fby_loader_release(l, &a);
	assert_int_equal(feed_next(l, &b), 0);
	fby_loader_release(l, &a);
	assert_int_equal(feed_stats(l).slots_leased, 1);
	fby_loader_close(l);
	fby_loader_release(l, &a);
	assert_true(proc_count_mappings(getpid(), "forebay-") > 0);
	fby_loader_release(l, &b);
	assert_int_equal(proc_count_mappings(getpid(), "forebay-"), 0);
}

struct given {
	struct fby_loader *loader;
	struct fby_batch batch;
};

static void *release_in_thread(void *arg)
{
	struct given *given = arg;

	fby_loader_release(given->loader, &given->batch);
	return NULL;
}

static void any_thread_may_release_also_after_close(void **state)
{
	struct fby_settings s = feed_settings(2, BATCH);

	(void)state;
	for (unsigned i = 0; i < 40; i++) {
		struct fby_loader *l = feed_open(&s);
		struct given given[3];
		pthread_t thread[3];

		for (unsigned k = 0; k < 3; k++) {
			given[k].loader = l;
			assert_int_equal(feed_next(l, &given[k].batch), 0);
		}
		for (unsigned k = 0; k < 3; k++)
			assert_int_equal(pthread_create(&thread[k], NULL,
							release_in_thread, &given[k]),
					 0);
		fby_loader_close(l);
		for (unsigned k = 0; k < 3; k++)
			pthread_join(thread[k], NULL);
		assert_int_equal(proc_count_mappings(getpid(), "forebay-"), 0);
	}
}

/* With every row still being made, and with a seek that has not ended. */
static void close_does_not_wait_for_batches(void **state)
{
	struct fby_settings s = feed_settings(2, BATCH);
	struct fby_loader *l;
	struct fby_batch b;

	(void)state;
	feed_use_faults(NULL);
	setenv("STORY_SLOW_US", "300000", 1);
	l = feed_open(&s);
	assert_int_equal(fby_loader_next(l, &b), FBY_AGAIN);
	fby_loader_close(l);
	l = feed_open(&s);
	feed_worker(l, 0);
	assert_int_equal(fby_loader_next(l, &b), FBY_AGAIN);
	fby_loader_seek(l, 2, 1);
	fby_loader_close(l);
	fby_loader_close(NULL);
}

/* Whom to kill while the loader closes: it must not be asked any more by then. */
struct victims {
	int pid[3];
	atomic_bool over;
};

static void *kill_victims(void *arg)
{
	struct victims *v = arg;

	for (unsigned i = 0; i < 3; i++) {
		story_pause_us(300);
		if (!atomic_load(&v->over) && proc_parent(v->pid[i]) == getpid())
			kill(v->pid[i], SIGKILL);
	}
	return NULL;
}

static void workers_killed_during_close_do_no_harm(void **state)
{
	struct fby_settings s = feed_settings(3, BATCH);

	(void)state;
	feed_use_faults(NULL);
	setenv("STORY_SLOW_US", "500", 1);
	for (unsigned i = 0; i < 40; i++) {
		struct fby_loader *l = feed_open(&s);
		struct victims victims = { .over = false };
		struct fby_batch b;
		pthread_t thread;

		for (unsigned k = 0; k < 3; k++)
			victims.pid[k] = feed_worker(l, k);
		assert_int_equal(feed_next(l, &b), 0);
		assert_int_equal(pthread_create(&thread, NULL, kill_victims, &victims),
				 0);
		if (i % 2)
			fby_loader_seek(l, 4, 1);
		fby_loader_release(l, &b);
		fby_loader_close(l);
		atomic_store(&victims.over, true);
		pthread_join(thread, NULL);
	}
	assert_int_equal(proc_count_children(getpid(), 0), 0);
}

/* ---- slots ---- */

static void next_says_that_all_slots_are_held_and_goes_on_after_a_release(void **state)
{
	struct fby_settings s = feed_settings(2, BATCH);
	struct fby_loader *l = feed_open(&s);
	struct fby_batch b[4], more;

	(void)state;
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(feed_next(l, &b[i]), 0);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(fby_loader_next(l, &more), -ENOSR);
		assert_non_null(strstr(fby_error(), "all 4 slots"));
	}
	fby_loader_release(l, &b[2]);
	assert_int_equal(feed_next(l, &more), 0);
	assert_int_equal(more.index, 4);
	assert_int_equal(more.slot, b[2].slot);
	fby_loader_close(l);
	fby_loader_release(l, &b[0]);
	fby_loader_release(l, &b[1]);
	fby_loader_release(l, &b[3]);
	fby_loader_release(l, &more);
}

/* One batch kept for ever costs one slot of depth, and its bytes never change. */
static void kept_batch_is_never_written_over(void **state)
{
	struct fby_settings s = feed_settings(2, BATCH);
	struct fby_loader *l = feed_open(&s);
	struct fby_batch kept;
	uint64_t digest;

	(void)state;
	assert_int_equal(feed_next(l, &kept), 0);
	digest = feed_digest(l, &kept);
	for (unsigned i = 0; i < 10; i++)
		feed_epoch(l, 0);
	feed_seek(l, 3, 1);
	feed_epoch(l, 0);
	assert_int_equal(feed_digest(l, &kept), digest);
	fby_loader_release(l, &kept);
	fby_loader_close(l);
}

/* ---- signals ---- */

static volatile sig_atomic_t n_signals;

static void count_signal(int signal)
{
	(void)signal;
	n_signals++;
}

static uint64_t shortest_wait(struct fby_loader *l, unsigned tries)
{
	uint64_t shortest = 1000;
	struct fby_batch b;

	for (unsigned i = 0; i < tries; i++) {
		uint64_t start = story_now_ms(), ms;

		assert_int_equal(fby_loader_next(l, &b), FBY_AGAIN);
		ms = story_now_ms() - start;
		shortest = ms < shortest ? ms : shortest;
	}
	return shortest;
}

/* No worker ever comes: only a slice (100 ms) or a signal ends the wait. */
static void signal_ends_the_wait_in_next(void **state)
{
	struct fby_settings s = feed_settings(2, BATCH);
	struct itimerval often = { { 0, 20000 }, { 0, 20000 } }, never = { 0 };
	struct sigaction action = { .sa_handler = count_signal, .sa_flags = SA_RESTART };
	struct fby_loader *l;

	(void)state;
	feed_use_faults("attach-hang");
	l = feed_open(&s);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	assert_true(shortest_wait(l, 20) < 80);
	setitimer(ITIMER_REAL, &never, NULL);
	assert_true(n_signals > 0);
	shortest_wait(l, 1); /* what the signals left of a slice */
	assert_true(shortest_wait(l, 3) >= 90);
	fby_loader_close(l);
}

/* ---- nothing grows ---- */

/* What malloc keeps for itself is no leak: a bound far below one pool or index. */
static void is_flat(unsigned long before_kib, unsigned fds, unsigned threads)
{
	malloc_trim(0);
	assert_int_equal(proc_count_fds(), fds);
	assert_int_equal(proc_count_threads(), threads);
	if (!story_is_sanitized() && proc_rss_kib() > before_kib + 256)
		fail_msg("%lu KiB in memory, %lu before", proc_rss_kib(), before_kib);
}

static void cycle(const struct fby_settings *s, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct fby_loader *l = feed_open(s);
		struct fby_batch b;

		if (i % 2)
			assert_int_equal(feed_next(l, &b), 0);
		fby_loader_close(l);
		if (i % 2)
			fby_loader_release(l, &b);
	}
	malloc_trim(0);
}

static void two_hundred_loaders_leave_nothing(void **state)
{
	struct fby_settings s = feed_settings(2, BATCH);
	unsigned long kib;
	unsigned fds, threads;

	(void)state;
	cycle(&s, 20);
	kib = proc_rss_kib();
	fds = proc_count_fds();
	threads = proc_count_threads();
	cycle(&s, 200);
	is_flat(kib, fds, threads);
	assert_int_equal(proc_count_names(getpid(), NULL), 0);
	assert_int_equal(proc_count_mappings(getpid(), "forebay-"), 0);
}

static void a_thousand_short_epochs_cost_no_memory(void **state)
{
	struct fby_settings s = feed_settings(2, 64);
	char few[4096];
	struct fby_loader *l;
	unsigned long kib;
	unsigned fds, threads;

	(void)state;
	photos_make(few, sizeof(few), 20, 2);
	l = feed_open_at(few, &s);
	for (unsigned i = 0; i < 50; i++)
		feed_epoch(l, 0);
	malloc_trim(0);
	kib = proc_rss_kib();
	fds = proc_count_fds();
	threads = proc_count_threads();
	for (unsigned i = 0; i < 1000; i++)
		feed_epoch(l, 0);
	is_flat(kib, fds, threads);
	assert_int_equal(feed_stats(l).slices_needed, 0);
	fby_loader_close(l);
	photos_remove(few);
}

int main(void)
{
	static const struct story stories[] = {
		story(batches_stay_readable_after_close_and_go_with_the_last_release),
		story(second_release_of_a_batch_is_ignored),
		story(any_thread_may_release_also_after_close),
		story(close_does_not_wait_for_batches),
		story(workers_killed_during_close_do_no_harm),
		story(next_says_that_all_slots_are_held_and_goes_on_after_a_release),
		story(kept_batch_is_never_written_over),
		story(signal_ends_the_wait_in_next),
		story(two_hundred_loaders_leave_nothing),
		story(a_thousand_short_epochs_cost_no_memory),
	};

	return stories_tell(stories, FBY_ARRAY_SIZE(stories), feed_setup, feed_teardown);
}
