/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workers die in every way there is: no row is lost, none comes twice, the trainer does
 * not hang; a sample that kills workers is named, and where no worker can live the error
 * says why.
 */
#include "lib/loader.h"
#include "tests/feed.h"
#include "tests/photos.h"
#include "tests/proc.h"
#include "tests/story.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BATCH = 65, VICTIM = 142 };

/* A fault that happens once: marked by a file beside the photographs. */
static void only_once(void)
{
	static char path[4200];

	snprintf(path, sizeof(path), "%s/once-%d", feed_folder(), getpid());
	setenv("STORY_ONCE", path, 1);
}

static void one_epoch_is_undisturbed(struct fby_loader *l, uint64_t expected)
{
	assert_int_equal(feed_epoch(l, 0), expected);
	assert_int_equal(feed_stats(l).bad_rows, 0);
}

static void all_workers_killed_at_once_lose_nothing(void **state)
{
	struct fby_settings s = feed_settings(3, BATCH);
	uint64_t expected = feed_reference(&s, 4), digest = 0;
	struct fby_loader *l;
	unsigned hits = 0;

	(void)state;
	feed_use_faults(NULL);
	setenv("STORY_SLOW_US", "500", 1);
	l = feed_open(&s);
	for (unsigned i = 0; i < 4; i++) {
		for (unsigned k = 0; k < 3; k++)
			feed_worker(l, k);
		for (unsigned k = 0; k < 3; k++)
			hits += (unsigned)feed_hit(l, k, SIGKILL);
		digest = feed_epoch(l, digest);
	}
	assert_int_equal(digest, expected);
	assert_true(hits >= 9);
	fby_loader_close(l);
}

/* ---- a worker that does not go on ---- */

/* The row that worker `i` says it is at is really its own. */
static bool holds_a_row(struct fby_loader *l, uint32_t i)
{
	struct fby_worker_record *record = fby_pool_worker(&l->pool, i);
	uint64_t seq = atomic_load(&record->seq);
	struct fby_ticket *t = fby_pool_ticket(&l->pool, seq);
	uint32_t row = atomic_load(&record->row);
	uint64_t claim = atomic_load(&fby_ticket_claims(&l->pool, t)[row]);

	return atomic_load(&record->samples) > 0 &&
	       fby_claim_generation(claim) == (uint32_t)seq &&
	       fby_claim_owner(claim) == fby_owner_of(i) &&
	       !fby_ticket_is_done(&l->pool, t, row);
}

struct sitter {
	struct fby_loader *loader;
	int pid;
};

static bool is_stopped_with_a_row(void *ctx)
{
	const struct sitter *s = ctx;

	if (!feed_hit(s->loader, 0, SIGSTOP) || !proc_wait_state(s->pid, 'T'))
		return false;
	if (holds_a_row(s->loader, 0))
		return true;
	feed_hit(s->loader, 0, SIGCONT);
	return false;
}

/* Rows take 20 ms: it is mostly at one. */
static int stop_worker_with_a_row(struct fby_loader *l)
{
	struct sitter sitter = { l, feed_worker(l, 0) };

	assert_true(story_wait_until(is_stopped_with_a_row, &sitter));
	return sitter.pid;
}

static void stopped_worker_is_killed_and_its_row_redone(void **state)
{
	struct fby_settings s = feed_settings(2, BATCH);
	uint64_t expected = feed_reference(&s, 1);
	struct fby_loader *l;
	int pid;

	(void)state;
	feed_use_faults(NULL);
	setenv("STORY_SLOW_US", "20000", 1);
	s.n_workers = 2;
	l = feed_open(&s);
	l->stuck.limit = 6;
	pid = stop_worker_with_a_row(l);
	one_epoch_is_undisturbed(l, expected);
	assert_int_equal(feed_stats(l).deaths, 1);
	assert_true(proc_is_over(pid));
	fby_loader_close(l);
}

static bool has_filled_the_pool(void *ctx)
{
	struct fby_loader *l = ctx;

	return feed_stats(l).samples == 4ull * BATCH;
}

/* It holds no row: the trainer waited for ever for those of the fifth batch. */
static void only_worker_stopped_without_a_row_is_replaced(void **state)
{
	struct fby_settings s = feed_settings(1, BATCH);
	uint64_t expected = feed_reference(&s, 1);
	struct fby_loader *l = feed_open(&s);
	int pid = feed_worker(l, 0);

	(void)state;
	l->stuck.limit = 6;
	assert_true(story_wait_until(has_filled_the_pool, l));
	feed_hit(l, 0, SIGSTOP);
	assert_true(proc_wait_state(pid, 'T'));
	one_epoch_is_undisturbed(l, expected);
	assert_true(proc_is_over(pid));
	fby_loader_close(l);
}

/* Whoever hangs, once, is killed, and the epoch is as if nothing had been. */
static void one_hang_is_got_over(const char *fault, uint32_t n_workers)
{
	struct fby_settings s = feed_settings(n_workers, BATCH);
	uint64_t expected = feed_reference(&s, 1);
	struct fby_loader *l;

	feed_use_faults(fault);
	only_once();
	l = feed_open(&s);
	l->stuck.limit = 6;
	one_epoch_is_undisturbed(l, expected);
	assert_int_equal(feed_stats(l).deaths, 1);
	fby_loader_close(l);
}

static void worker_that_hangs_while_attaching_is_replaced(void **state)
{
	(void)state;
	one_hang_is_got_over("attach-hang", 1);
}

/* What was logged, all in one: by the supervisor's thread, and by ours. */
static char log_text[16384];
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;

static void keep_log(int level, const char *text)
{
	size_t n;

	(void)level;
	pthread_mutex_lock(&log_lock);
	n = strlen(log_text);
	snprintf(log_text + n, sizeof(log_text) - n, "%s\n", text);
	pthread_mutex_unlock(&log_lock);
}

static void was_logged(const char *text)
{
	pthread_mutex_lock(&log_lock);
	if (!strstr(log_text, text))
		fail_msg("'%s' is not in '%s'", text, log_text);
	pthread_mutex_unlock(&log_lock);
}

/* Before anybody is killed the log says who, where, and with which file. */
static void was_logged_with_its_file(unsigned id)
{
	char file[4200];

	photos_file(feed_folder(), FEED_SAMPLES, FEED_CLASSES, id, file, sizeof(file));
	was_logged(file);
	was_logged("killing worker ");
	was_logged(", stage ");
	was_logged(", waiting in the kernel for ");
}

static void sample_that_never_ends_is_given_up_after_three_tries(void **state)
{
	struct fby_settings s = feed_settings(2, BATCH);
	struct fby_loader *l;
	struct fby_stats stats;

	(void)state;
	feed_use_faults("spin:142");
	fby_set_log(FBY_LOG_ERROR, keep_log);
	l = feed_open(&s);
	l->stuck.limit = 6;
	feed_epoch(l, 0);
	stats = feed_stats(l);
	assert_int_equal(stats.bad_rows, 1);
	assert_int_equal(stats.deaths, 3);
	was_logged_with_its_file(142);
	fby_loader_close(l);
}

/* Nobody but the kernel knows why: the message names the most likely reason. */
static void killed_worker_is_told_as_perhaps_out_of_memory(void **state)
{
	struct fby_settings s = feed_settings(2, BATCH);
	uint64_t expected = feed_reference(&s, 1);
	struct fby_loader *l;

	(void)state;
	fby_set_log(FBY_LOG_RUN, keep_log);
	l = feed_open(&s);
	feed_worker(l, 0);
	assert_true(feed_hit(l, 0, SIGKILL));
	one_epoch_is_undisturbed(l, expected);
	fby_loader_close(l);
	was_logged("was killed (SIGKILL: perhaps out of memory)");
}

static void sample_that_hangs_once_is_made_by_another_worker(void **state)
{
	(void)state;
	one_hang_is_got_over("spin:142", 2);
}

static void on_alarm(int signal)
{
	(void)signal;
}

/* Every signal began a new slice, and a slice that ends is what ages a stuck worker. */
static void signals_do_not_keep_a_stuck_worker_alive(void **state)
{
	struct fby_settings s = feed_settings(2, BATCH);
	const struct sigaction action = { .sa_handler = on_alarm };
	const struct itimerval often = { { 0, 10000 }, { 0, 10000 } }, never = { 0 };
	uint64_t expected = feed_reference(&s, 1);
	struct fby_loader *l;

	(void)state;
	feed_use_faults("spin:142");
	only_once();
	l = feed_open(&s);
	l->stuck.limit = 6;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	one_epoch_is_undisturbed(l, expected);
	setitimer(ITIMER_REAL, &never, NULL);
	assert_int_equal(feed_stats(l).deaths, 1);
	fby_loader_close(l);
}

static void stopped_worker_does_not_keep_the_loader_from_closing(void **state)
{
	struct fby_settings s = feed_settings(2, BATCH);
	struct fby_loader *l = feed_open(&s);
	int pid = feed_worker(l, 1);

	(void)state;
	feed_hit(l, 1, SIGSTOP);
	assert_true(proc_wait_state(pid, 'T'));
	fby_loader_close(l);
	assert_true(proc_is_over(pid));
}

static void stopped_worker_does_not_keep_a_seek_from_ending(void **state)
{
	struct fby_settings s = feed_settings(2, BATCH);
	struct fby_loader *l;
	struct fby_batch b;
	int pid;

	(void)state;
	feed_use_faults(NULL);
	setenv("STORY_SLOW_US", "20000", 1);
	l = feed_open(&s);
	l->stuck.limit = 6;
	pid = stop_worker_with_a_row(l);
	feed_seek(l, 3, 2);
	assert_int_equal(feed_next(l, &b), 0);
	assert_int_equal(b.epoch, 3);
	assert_int_equal(b.index, 2);
	assert_int_equal(feed_stats(l).deaths, 1);
	assert_true(proc_is_over(pid));
	fby_loader_release(l, &b);
	fby_loader_close(l);
}

/* ---- a sample that kills ---- */

/* Every row but VICTIM's equals `calm`'s, and VICTIM is all zero with its label. */
static void compare_rows(struct fby_loader *l, const struct fby_batch *b,
			 const struct fby_batch *calm)
{
	static const unsigned char zero[24 * 24 * 3];
	struct fby_info info;

	assert_int_equal(fby_loader_info(l, &info), 0);
	assert_int_equal(info.image_bytes, sizeof(zero));
	assert_memory_equal(b->ids, calm->ids, b->n * sizeof(*b->ids));
	assert_memory_equal(b->labels, calm->labels, b->n * sizeof(*b->labels));
	for (unsigned i = 0; i < b->n; i++)
		assert_memory_equal((unsigned char *)b->images + i * sizeof(zero),
				    b->ids[i] == VICTIM ? zero
							: (unsigned char *)calm->images +
								  i * sizeof(zero),
				    sizeof(zero));
}

static void check_reason(struct fby_loader *l, const struct fby_batch *b,
			 const char *word)
{
	struct fby_bad_sample bad;

	assert_int_equal(fby_loader_bad_sample(l, b, 0, &bad), 0);
	assert_int_equal(bad.id, VICTIM);
	assert_int_equal(bad.status, FBY_ROW_POISON);
	assert_int_equal(b->ids[bad.row], VICTIM);
	if (!strstr(bad.reason, word))
		fail_msg("'%s' is not in '%s'", word, bad.reason);
	assert_int_equal(fby_loader_bad_sample(l, b, 1, &bad), -ERANGE);
}

/* Two epochs: the pool is alive after the first. */
static void poison_is_delivered(const char *fault)
{
	struct fby_settings s = feed_settings(2, BATCH);
	struct fby_loader *calm = feed_open(&s), *l;
	struct fby_batch b, expected;
	unsigned n_bad = 0;
	int r;

	feed_use_faults(fault);
	s.on_bad = FBY_BAD_ZEROS;
	l = feed_open(&s);
	for (unsigned ends = 0; ends < 2;) {
		r = feed_next(l, &b);
		assert_int_equal(feed_next(calm, &expected), r);
		ends += r == FBY_END;
		if (r == FBY_END)
			continue;
		compare_rows(l, &b, &expected);
		n_bad += b.n_bad;
		if (b.n_bad)
			check_reason(l, &b, "3 crashed");
		fby_loader_release(l, &b);
		fby_loader_release(calm, &expected);
	}
	assert_int_equal(n_bad, 2);
	assert_int_equal(feed_stats(l).bad_rows, 2);
	assert_true(feed_stats(l).deaths >= 6); /* the third epoch has begun */
	fby_loader_close(l);
	fby_loader_close(calm);
}

static void sample_that_segfaults_is_poison_and_the_rest_is_delivered(void **state)
{
	(void)state;
	poison_is_delivered("segv:142");
}

static void sample_that_aborts_is_poison_and_the_rest_is_delivered(void **state)
{
	(void)state;
	poison_is_delivered("abort:142");
}

static bool one_row_was_taken_back(void *ctx)
{
	return feed_stats(ctx).rows_taken_back == 1;
}

static void sample_that_crashes_once_is_redone(void **state)
{
	struct fby_settings s = feed_settings(2, BATCH);
	uint64_t expected = feed_reference(&s, 1);
	struct fby_loader *l;

	(void)state;
	feed_use_faults("segv:142");
	only_once();
	fby_set_log(FBY_LOG_RUN, keep_log);
	l = feed_open(&s);
	one_epoch_is_undisturbed(l, expected);
	assert_int_equal(feed_stats(l).deaths, 1);
	assert_true(story_wait_until(one_row_was_taken_back, l));
	was_logged(", sample 142; 1 rows taken back");
	fby_loader_close(l);
}

/* Poison in a batch of one, with one worker: nobody else is there to notice. */
static void single_worker_gets_over_a_killing_sample(void **state)
{
	struct fby_settings s = feed_settings(1, 1);
	struct fby_loader *l;

	(void)state;
	feed_use_faults("segv:142");
	l = feed_open(&s);
	feed_epoch(l, 0);
	assert_int_equal(feed_stats(l).bad_rows, 1);
	fby_loader_close(l);
}

int main(void)
{
	static const struct story stories[] = {
		story(all_workers_killed_at_once_lose_nothing),
		story(stopped_worker_is_killed_and_its_row_redone),
		story(only_worker_stopped_without_a_row_is_replaced),
		story(worker_that_hangs_while_attaching_is_replaced),
		story(sample_that_never_ends_is_given_up_after_three_tries),
		story(killed_worker_is_told_as_perhaps_out_of_memory),
		story(sample_that_hangs_once_is_made_by_another_worker),
		story(signals_do_not_keep_a_stuck_worker_alive),
		story(stopped_worker_does_not_keep_the_loader_from_closing),
		story(stopped_worker_does_not_keep_a_seek_from_ending),
		story(sample_that_segfaults_is_poison_and_the_rest_is_delivered),
		story(sample_that_aborts_is_poison_and_the_rest_is_delivered),
		story(sample_that_crashes_once_is_redone),
		story(single_worker_gets_over_a_killing_sample),
	};

	return stories_tell(stories, FBY_ARRAY_SIZE(stories), feed_setup, feed_teardown);
}
