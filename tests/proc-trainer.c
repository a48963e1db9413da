/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trainer dies, stops, or loses a thread: no worker and no memory outlives it, and
 * nothing is killed that is only stopped.  A trainer is a child of the story, which
 * adopts its workers (a subreaper), so that "all gone" is "no child left".
 */
#include "lib/loader.h"
#include "tests/feed.h"
#include "tests/proc.h"
#include "tests/story.h"
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BATCH = 65, N_KILLS = 50, LIMIT_MS = 1000 };

/* Never ends by itself.  Says over the pipe who its workers are, once they are there. */
static void train_for_ever(int pipe_fd, unsigned workers)
{
	struct fby_settings s = feed_settings(workers, BATCH);
	struct fby_loader *l = feed_open(&s);

	for (unsigned i = 0; i < workers && pipe_fd >= 0; i++) {
		int pid = feed_worker(l, i);

		if (write(pipe_fd, &pid, sizeof(pid)) != sizeof(pid))
			_exit(1);
	}
	for (;;)
		feed_epoch(l, 0);
}

static int start_trainer(unsigned workers, int *ret_pid)
{
	int fds[2], trainer;

	assert_int_equal(pipe(fds), 0);
	trainer = fork();
	assert_true(trainer >= 0);
	if (trainer == 0) {
		close(fds[0]);
		train_for_ever(ret_pid ? fds[1] : -1, workers);
	}
	close(fds[1]);
	for (unsigned i = 0; ret_pid && i < workers; i++)
		assert_int_equal(read(fds[0], &ret_pid[i], sizeof(*ret_pid)),
				 sizeof(*ret_pid));
	close(fds[0]);
	return trainer;
}

/* How long it took until nobody was left. */
static uint64_t wait_until_alone(void)
{
	uint64_t start = story_now_ms();
	int pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) >= 0) {
		if (pid == 0)
			story_pause_us(500);
		if (story_now_ms() > start + STORY_PATIENCE_MS)
			fail_msg("processes outlive their trainer");
	}
	return story_now_ms() - start;
}

/* An empty name may stay behind where death came right after the birth of an object. */
static void no_memory_is_left(int trainer)
{
	uint64_t bytes;

	proc_count_names(trainer, &bytes);
	assert_int_equal(bytes, 0);
}

static uint64_t kill_trainer(int trainer)
{
	uint64_t ms;

	kill(trainer, SIGKILL);
	ms = wait_until_alone();
	no_memory_is_left(trainer);
	return ms;
}

/* On a loaded machine a scheduling delay is no leftover: two of fifty may be late. */
static void few_are_late(const char *what, const uint64_t *ms, unsigned n)
{
	uint64_t worst = 0;
	unsigned late = 0;

	for (unsigned i = 0; i < n; i++) {
		worst = ms[i] > worst ? ms[i] : worst;
		late += ms[i] > LIMIT_MS;
	}
	story_note("%s: all gone after %llu ms at worst", what,
		   (unsigned long long)worst);
	assert_true(late <= n / 25);
}

static void nothing_outlives_a_trainer_killed_at_a_random_moment(void **state)
{
	uint64_t ms[N_KILLS];
	unsigned seed = 5;

	(void)state;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	for (unsigned i = 0; i < N_KILLS; i++) {
		int trainer = start_trainer(3, NULL);

		seed = seed * 1103515245 + 12345;
		story_pause_us((seed >> 16) % 40000);
		ms[i] = kill_trainer(trainer);
	}
	few_are_late("killed at random", ms, N_KILLS);
}

/* The first milliseconds: objects are born, workers attach. */
static void nothing_outlives_a_trainer_killed_while_it_opens(void **state)
{
	uint64_t ms[N_KILLS];

	(void)state;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	for (unsigned i = 0; i < N_KILLS; i++) {
		int trainer = start_trainer(3, NULL);

		story_pause_us(100 * i);
		ms[i] = kill_trainer(trainer);
	}
	few_are_late("killed in open", ms, N_KILLS);
}

static void stopped_worker_does_not_outlive_its_trainer(void **state)
{
	uint64_t ms[10];

	(void)state;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	for (unsigned i = 0; i < 10; i++) {
		int worker[3], trainer = start_trainer(3, worker);

		kill(worker[i % 3], SIGSTOP);
		assert_true(proc_wait_state(worker[i % 3], 'T'));
		ms[i] = kill_trainer(trainer);
	}
	few_are_late("with a stopped worker", ms, 10);
}

static void workers_do_not_outlive_a_trainer_that_exits_without_close(void **state)
{
	struct fby_settings s = feed_settings(3, BATCH);
	int trainer;

	(void)state;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	trainer = fork();
	if (trainer == 0) {
		struct fby_batch b;

		feed_next(feed_open(&s), &b);
		exit(0);
	}
	assert_int_equal(proc_reap(trainer), 0);
	wait_until_alone();
	no_memory_is_left(trainer);
}

/* ---- stopped, not dead ---- */

static void undisturbed_epochs(const struct fby_settings *s, uint64_t expected)
{
	struct fby_loader *l = feed_open(s);

	l->stuck.limit = 6;
	for (unsigned i = 0; i < 40; i++)
		if (feed_epoch(l, 0) == 0)
			_exit(2);
	feed_seek(l, 0, 0);
	_exit(feed_epoch(l, 0) == expected && !feed_stats(l).deaths ? 0 : 1);
}

/* Stopped for far longer than a worker may sit on a row: nobody ages meanwhile. */
static void stopped_trainer_goes_on_and_nobody_is_killed(void **state)
{
	struct fby_settings s = feed_settings(3, BATCH);
	uint64_t expected = feed_reference(&s, 1);
	int trainer;

	(void)state;
	feed_use_faults(NULL);
	setenv("STORY_SLOW_US", "200", 1);
	trainer = fork();
	if (trainer == 0)
		undisturbed_epochs(&s, expected);
	for (unsigned i = 0; i < 3; i++) {
		story_pause_us(50000);
		kill(trainer, SIGSTOP);
		assert_true(proc_wait_state(trainer, 'T'));
		story_pause_us(700000);
		kill(trainer, SIGCONT);
	}
	assert_int_equal(proc_reap(trainer), 0);
}

/* ---- threads ---- */

static void *open_in_thread(void *arg)
{
	const struct fby_settings *s = arg;

	return feed_open(s);
}

static void workers_outlive_the_thread_that_opened_the_loader(void **state)
{
	struct fby_settings s = feed_settings(3, BATCH);
	uint64_t expected = feed_reference(&s, 2);
	struct fby_loader *l;
	pthread_t thread;
	void *opened;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, open_in_thread, &s), 0);
	assert_int_equal(pthread_join(thread, &opened), 0);
	l = opened;
	assert_int_equal(feed_epoch(l, feed_epoch(l, 0)), expected);
	assert_int_equal(feed_stats(l).deaths, 0);
	fby_loader_close(l);
}

static void two_loaders_live_side_by_side(void **state)
{
	struct fby_settings s = feed_settings(2, BATCH);
	struct fby_loader *a = feed_open(&s), *b = feed_open(&s);
	uint64_t digest = feed_epoch(a, 0);

	(void)state;
	assert_int_equal(feed_epoch(b, 0), digest);
	fby_loader_close(a);
	feed_seek(b, 0, 0);
	assert_int_equal(feed_epoch(b, 0), digest);
	fby_loader_close(b);
}

int main(void)
{
	static const struct story stories[] = {
		story(nothing_outlives_a_trainer_killed_at_a_random_moment),
		story(nothing_outlives_a_trainer_killed_while_it_opens),
		story(stopped_worker_does_not_outlive_its_trainer),
		story(workers_do_not_outlive_a_trainer_that_exits_without_close),
		story(stopped_trainer_goes_on_and_nobody_is_killed),
		story(workers_outlive_the_thread_that_opened_the_loader),
		story(two_loaders_live_side_by_side),
	};

	return stories_tell(stories, FBY_ARRAY_SIZE(stories), feed_setup, feed_teardown);
}
