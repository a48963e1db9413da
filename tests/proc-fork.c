/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A forked child of the trainer may read what it inherited, and can do its parent no
 * harm.  A child that outlives its trainer keeps its own mapping of the pool, and that
 * is all it keeps.
 */
#include "tests/feed.h"
#include "tests/proc.h"
#include "tests/story.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BATCH = 65 };

/* What is false in the child becomes its exit status: the number of the line. */
#define expect(truth)                                                                    \
	do {                                                                             \
		if (!(truth))                                                            \
			_exit(__LINE__ % 250 + 1);                                       \
	} while (0)

static unsigned sum(const struct fby_batch *b)
{
	const unsigned char *byte = b->images;
	unsigned s = 0;

	for (unsigned i = 0; i < b->n * 24 * 24 * 3; i++)
		s = s * 31 + byte[i];
	return s;
}

static struct fby_loader *inherited; /* no leak, to those who look for one at exit */

/*
 * A child that was forked while the supervisor's thread starts a process has what that
 * thread had in hand, and not the thread: no leak either, but it looks like one.
 */
const char *__asan_default_options(void);
__attribute__((visibility("default"))) const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}

static void act_as_child(struct fby_loader *l, const struct fby_batch *b,
			 unsigned expected)
{
	struct fby_batch other;
	struct fby_stats stats;
	struct fby_info info;
	uint64_t epoch, index;

	inherited = l;
	expect(sum(b) == expected);
	expect(fby_loader_next(l, &other) == -EOWNERDEAD);
	expect(strlen(fby_error()) > 20);
	expect(fby_loader_seek(l, 1, 0) == -EOWNERDEAD);
	expect(fby_loader_stats(l, &stats) == -EOWNERDEAD);
	expect(fby_loader_info(l, &info) == -EOWNERDEAD);
	expect(fby_loader_position(l, &epoch, &index) == -EOWNERDEAD);
	fby_loader_release(l, b);
	fby_loader_release(l, b);
	fby_loader_close(l);
	expect(sum(b) == expected);
	exit(0);
}

static void child_may_read_and_does_no_harm(void **state)
{
	struct fby_settings s = feed_settings(3, BATCH);
	uint64_t expected = feed_reference(&s, 2);
	struct fby_loader *l = feed_open(&s);
	struct fby_batch b;
	int child;

	(void)state;
	assert_int_equal(feed_next(l, &b), 0);
	child = fork();
	if (child == 0)
		act_as_child(l, &b, sum(&b));
	assert_int_equal(proc_reap(child), 0);
	assert_int_equal(feed_stats(l).slots_leased, 1);
	fby_loader_release(l, &b);
	assert_int_equal(feed_stats(l).slots_leased, 0);
	feed_seek(l, 0, 0);
	assert_int_equal(feed_epoch(l, feed_epoch(l, 0)), expected);
	assert_int_equal(feed_stats(l).deaths, 0);
	fby_loader_close(l);
}

/* The parent's last batch: who gave it back in earnest would unmap the pool. */
static void release_in_the_child_unmaps_nothing(void **state)
{
	struct fby_settings s = feed_settings(2, BATCH);
	struct fby_loader *l = feed_open(&s);
	struct fby_batch b;
	unsigned expected;
	int child;

	(void)state;
	assert_int_equal(feed_next(l, &b), 0);
	expected = sum(&b);
	fby_loader_close(l);
	child = fork();
	if (child == 0) {
		inherited = l;
		fby_loader_release(l, &b);
		expect(sum(&b) == expected);
		exit(0);
	}
	assert_int_equal(proc_reap(child), 0);
	fby_loader_release(l, &b);
}

static void try_next_and_exit(struct fby_loader *l)
{
	struct fby_batch b;

	inherited = l;
	expect(fby_loader_next(l, &b) == -EOWNERDEAD);
	exit(0);
}

static void children_forked_all_the_time_do_no_harm(void **state)
{
	struct fby_settings s = feed_settings(2, BATCH);
	uint64_t expected = feed_reference(&s, 4), digest = 0;
	struct fby_loader *l = feed_open(&s);

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		int child = fork();

		if (child == 0)
			try_next_and_exit(l);
		digest = feed_epoch(l, digest);
		assert_int_equal(proc_reap(child), 0);
	}
	assert_int_equal(digest, expected);
	fby_loader_close(l);
}

/* A loader of the child's own, beside the one it inherited. */
static void child_may_open_a_loader_of_its_own(void **state)
{
	struct fby_settings s = feed_settings(2, BATCH);
	struct fby_loader *l = feed_open(&s);
	uint64_t expected = feed_epoch(l, 0);
	int child = fork();

	(void)state;
	if (child == 0) {
		struct fby_loader *own = feed_open(&s);

		inherited = l;
		expect(feed_epoch(own, 0) == expected);
		fby_loader_close(own);
		exit(0);
	}
	assert_int_equal(proc_reap(child), 0);
	feed_seek(l, 0, 0);
	assert_int_equal(feed_epoch(l, 0), expected);
	fby_loader_close(l);
}

/* The trainer of the next story: leaves a child behind and dies. */
static void train_and_leave_a_child(int from_story, int to_story)
{
	struct fby_settings s = feed_settings(2, BATCH);
	struct fby_loader *l = feed_open(&s);
	struct fby_batch b;
	unsigned expected;
	char go;

	feed_next(l, &b);
	expected = sum(&b);
	if (fork() == 0) {
		expect(write(to_story, "c", 1) == 1);
		expect(read(from_story, &go, 1) == 1);
		expect(sum(&b) == expected);
		_exit(0);
	}
	pause();
}

static bool one_child_is_left(void *ctx)
{
	int survivor = *(int *)ctx, pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		if (pid == survivor)
			return false;
	return proc_count_children(getpid(), survivor) == 0;
}

static void child_that_outlives_the_trainer_holds_its_mapping_only(void **state)
{
	int to_child[2], to_story[2], trainer, survivor;
	char ready;

	(void)state;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	assert_int_equal(pipe(to_child) | pipe(to_story), 0);
	trainer = fork();
	if (trainer == 0)
		train_and_leave_a_child(to_child[0], to_story[1]);
	assert_int_equal(read(to_story[0], &ready, 1), 1);
	survivor = proc_child_of(trainer, "proc-fork");
	assert_true(survivor > 0);
	kill(trainer, SIGKILL);
	assert_true(story_wait_until(one_child_is_left, &survivor));
	assert_true(proc_count_mappings(survivor, "forebay-") > 0);
	assert_int_equal(proc_count_names(trainer, NULL), 0);
	assert_int_equal(write(to_child[1], "g", 1), 1);
	assert_int_equal(proc_reap(survivor), 0);
	for (int i = 0; i < 2; i++) {
		close(to_child[i]);
		close(to_story[i]);
	}
}

int main(void)
{
	static const struct story stories[] = {
		story(child_may_read_and_does_no_harm),
		story(release_in_the_child_unmaps_nothing),
		story(children_forked_all_the_time_do_no_harm),
		story(child_may_open_a_loader_of_its_own),
		story(child_that_outlives_the_trainer_holds_its_mapping_only),
	};

	return stories_tell(stories, FBY_ARRAY_SIZE(stories), feed_setup, feed_teardown);
}
