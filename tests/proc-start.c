/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workers that end without a fault of theirs, that do not start, that others reap, or
 * that stand behind a wrapper.
 */
#include "tests/feed.h"
#include "tests/proc.h"
#include "tests/story.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BATCH = 65 };

static void only_once(void)
{
	static char path[4200];

	snprintf(path, sizeof(path), "%s/once-%d", feed_folder(), getpid());
	setenv("STORY_ONCE", path, 1);
}

/* next until it fails: the error, whose text has `word` in it. */
static void next_fails(struct fby_loader *l, int error, const char *word)
{
	struct fby_batch b;
	int r;

	do
		r = fby_loader_next(l, &b);
	while (r == FBY_AGAIN);
	assert_int_equal(r, error);
	if (!strstr(fby_error(), word))
		fail_msg("'%s' is not in '%s'", word, fby_error());
}

static void pool_fails(const char *fault, const char *word)
{
	struct fby_settings s = feed_settings(2, BATCH);
	struct fby_loader *l;

	feed_use_faults(fault);
	l = feed_open(&s);
	next_fails(l, -EPIPE, word);
	next_fails(l, -EPIPE, word);
	fby_loader_close(l);
}

static void worker_of_another_build_fails_the_pool_at_once(void **state)
{
	(void)state;
	pool_fails("attach-exit:78", "status 78");
}

static void worker_that_cannot_start_fails_the_pool(void **state)
{
	(void)state;
	pool_fails("attach-exit:3", "status 3");
}

/* It wrote to the addresses of fields that it does not know. */
static void worker_refuses_fields_that_it_does_not_make(void **state)
{
	(void)state;
	pool_fails("attach-fields:7", "the pool's rows are not those its pipeline makes");
}

static void workers_always_killed_while_attaching_fail_the_pool(void **state)
{
	(void)state;
	pool_fails("attach-kill", "SIGKILL");
}

static void program_that_is_no_worker_fails_the_pool(void **state)
{
	struct fby_settings s = feed_settings(2, BATCH);
	struct fby_loader *l;

	(void)state;
	setenv("FOREBAY_WORKER", "/bin/false", 1);
	l = feed_open(&s);
	next_fails(l, -EPIPE, "status 1");
	fby_loader_close(l);
}

static void missing_worker_program_is_named(void **state)
{
	struct fby_settings s = feed_settings(2, BATCH);
	struct fby_loader *l = NULL;

	(void)state;
	setenv("FOREBAY_WORKER", "/nowhere/worker", 1);
	assert_int_equal(fby_loader_open(feed_folder(), &s, &l), -ENOENT);
	assert_non_null(strstr(fby_error(), "/nowhere/worker"));
	assert_null(l);
}

static void file_that_cannot_be_executed_is_named(void **state)
{
	struct fby_settings s = feed_settings(2, BATCH);
	char path[4200];
	struct fby_loader *l;
	FILE *file;

	(void)state;
	snprintf(path, sizeof(path), "%s/not-a-program", feed_folder());
	file = fopen(path, "w");
	assert_non_null(file);
	fputs("\177ELF but no more", file);
	fclose(file);
	chmod(path, 0755);
	setenv("FOREBAY_WORKER", path, 1);
	l = feed_open(&s);
	next_fails(l, -EPIPE, "not-a-program");
	fby_loader_close(l);
	unlink(path);
}

static void goes_on(const char *fault, bool once, unsigned min_deaths)
{
	struct fby_settings s = feed_settings(3, BATCH);
	uint64_t expected = feed_reference(&s, 2);
	struct fby_loader *l;

	feed_use_faults(fault);
	if (once)
		only_once();
	l = feed_open(&s);
	assert_int_equal(feed_epoch(l, feed_epoch(l, 0)), expected);
	assert_true(feed_stats(l).deaths >= min_deaths);
	assert_int_equal(feed_stats(l).bad_rows, 0);
	fby_loader_close(l);
}

static void worker_that_exits_0_is_replaced(void **state)
{
	(void)state;
	goes_on("exit:20", false, 10);
}

static void worker_killed_while_attaching_is_replaced(void **state)
{
	(void)state;
	goes_on("attach-kill", true, 1);
}

static void worker_that_fails_to_start_once_is_replaced(void **state)
{
	(void)state;
	goes_on("attach-exit:3", true, 1);
}

/* Only a pool of another build is one: memory that is short today is no other build. */
static void worker_that_fails_to_attach_once_is_replaced(void **state)
{
	(void)state;
	goes_on("attach-fails:12", true, 1);
}

/* ---- others reap ---- */

static atomic_bool reaping;

static void *reap_any(void *arg)
{
	(void)arg;
	while (atomic_load(&reaping))
		if (waitpid(-1, NULL, WNOHANG) <= 0)
			story_pause_us(200);
	return NULL;
}

static void kills_are_survived(void)
{
	struct fby_settings s = feed_settings(3, BATCH);
	struct fby_loader *calm = feed_open(&s), *l = feed_open(&s);
	struct feed_killer *killer = feed_killer_start(l, SIGKILL, 5000);
	uint64_t begin = story_now_ms();

	while (feed_stats(l).deaths < 40 && story_now_ms() < begin + 20000)
		assert_int_equal(feed_epoch(l, 0), feed_epoch(calm, 0));
	assert_true(feed_killer_stop(killer) >= 40);
	assert_int_equal(feed_stats(l).bad_rows, 0);
	fby_loader_close(l);
	fby_loader_close(calm);
}

static void deaths_are_seen_where_another_thread_reaps_all_children(void **state)
{
	pthread_t thread;

	(void)state;
	atomic_store(&reaping, true);
	assert_int_equal(pthread_create(&thread, NULL, reap_any, NULL), 0);
	kills_are_survived();
	atomic_store(&reaping, false);
	pthread_join(thread, NULL);
}

static void deaths_are_seen_where_sigchld_is_ignored(void **state)
{
	(void)state;
	signal(SIGCHLD, SIG_IGN);
	kills_are_survived();
}

/* ---- surroundings of the trainer ---- */

static void workers_run_behind_a_wrapper_that_execs(void **state)
{
	(void)state;
	setenv("FOREBAY_WORKER_WRAP", "env STORY_WRAPPED=1", 1);
	goes_on(NULL, false, 0);
}

static void workers_run_behind_a_wrapper_that_stays(void **state)
{
	struct fby_settings s = feed_settings(2, BATCH);
	struct fby_loader *l;
	int pid;

	(void)state;
	setenv("FOREBAY_WORKER_WRAP", "timeout 1000", 1);
	l = feed_open(&s);
	pid = feed_worker(l, 0);
	assert_int_not_equal(proc_parent(pid), getpid());
	feed_epoch(l, 0);
	fby_loader_close(l);
	assert_true(proc_is_over(pid));
}

static void blocked_and_ignored_signals_do_not_reach_workers(void **state)
{
	sigset_t all;

	(void)state;
	sigfillset(&all);
	signal(SIGTERM, SIG_IGN);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	goes_on(NULL, false, 0);
}

static void parents_descriptors_may_lie_where_the_workers_do(void **state)
{
	bool ours[12] = { false };

	(void)state;
	for (int fd = 3; fd < 12; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			ours[fd] = dup2(STDERR_FILENO, fd) == fd;
	goes_on(NULL, false, 0);
	for (int fd = 3; fd < 12; fd++)
		if (ours[fd])
			close(fd);
}

static void closed_standard_descriptors_do_no_harm(void **state)
{
	int output = dup(STDOUT_FILENO);

	(void)state;
	for (int fd = 0; fd < 3; fd++)
		close(fd);
	goes_on(NULL, false, 0);
	for (int fd = 0; fd < 3; fd++)
		dup2(output, fd);
	close(output);
}

int main(void)
{
	static const struct story stories[] = {
		story(worker_of_another_build_fails_the_pool_at_once),
		story(worker_that_cannot_start_fails_the_pool),
		story(worker_refuses_fields_that_it_does_not_make),
		story(workers_always_killed_while_attaching_fail_the_pool),
		story(program_that_is_no_worker_fails_the_pool),
		story(missing_worker_program_is_named),
		story(file_that_cannot_be_executed_is_named),
		story(worker_that_exits_0_is_replaced),
		story(worker_killed_while_attaching_is_replaced),
		story(worker_that_fails_to_start_once_is_replaced),
		story(worker_that_fails_to_attach_once_is_replaced),
		story(deaths_are_seen_where_another_thread_reaps_all_children),
		story(deaths_are_seen_where_sigchld_is_ignored),
		story(workers_run_behind_a_wrapper_that_execs),
		story(workers_run_behind_a_wrapper_that_stays),
		story(blocked_and_ignored_signals_do_not_reach_workers),
		story(parents_descriptors_may_lie_where_the_workers_do),
		story(closed_standard_descriptors_do_no_harm),
	};

	return stories_tell(stories, FBY_ARRAY_SIZE(stories), feed_setup, feed_teardown);
}
