/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of samples that cannot be made are copies of good ones, the same for any number
 * of workers and whoever is killed; the run lists the samples, and too many end it.
 */
#include "tests/feed.h"
#include "tests/photos.h"
#include "tests/story.h"
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 24, CLASSES = 3, BATCH = 10, IMAGE = 24 * 24 * 3 };

static char folder[4096];

static void spoil(unsigned id)
{
	char path[4200];
	FILE *file;

	photos_file(folder, N, CLASSES, id, path, sizeof(path));
	file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fputs("spoilt", file) >= 0);
	fclose(file);
}

/* A folder whose samples in `bad` cannot be made; `max_bad_rows` may be so. */
static struct fby_settings damage(const unsigned *bad, unsigned n_bad,
				  unsigned max_bad_rows)
{
	struct fby_settings s = feed_settings(2, BATCH);

	photos_make(folder, sizeof(folder), N, CLASSES);
	for (unsigned i = 0; i < n_bad; i++)
		spoil(bad[i]);
	s.max_bad = 0;
	s.max_bad_rows = max_bad_rows;
	return s;
}

static const char *image_at(const struct fby_batch *b, unsigned row)
{
	return (const char *)b->images + row * IMAGE;
}

/* Row i of the batch is row from[i]: pixels, label, id. */
static void rows_are(const struct fby_batch *b, const unsigned *from)
{
	for (unsigned i = 0; i < b->n; i++) {
		assert_int_equal(b->ids[i], b->index * BATCH + from[i]);
		assert_int_equal(b->labels[i], b->ids[i] * CLASSES / N);
		assert_memory_equal(image_at(b, i), image_at(b, from[i]), IMAGE);
	}
}

static void bad_row_is_replaced_by_the_next_good_one_of_its_batch(void **state)
{
	static const unsigned bad[] = { 3, 4, 9, 10, 19 };
	static const unsigned from[][BATCH] = { { 0, 1, 2, 5, 5, 5, 6, 7, 8, 0 },
						{ 1, 1, 2, 3, 4, 5, 6, 7, 8, 1 },
						{ 0, 1, 2, 3 } };
	struct fby_settings s = damage(bad, 5, 5);
	struct fby_loader *l = feed_open_at(folder, &s);
	struct fby_bad_sample sample;
	struct fby_batch b;

	(void)state;
	while (feed_next(l, &b) != FBY_END) {
		rows_are(&b, from[b.index]);
		for (unsigned k = 0; k < b.n_bad; k++) {
			assert_int_equal(fby_loader_bad_sample(l, &b, k, &sample), 0);
			assert_int_equal(sample.id, b.index * BATCH + sample.row);
		}
		fby_loader_release(l, &b);
	}
	assert_int_equal(feed_stats(l).rows_replaced, 5);
	fby_loader_close(l);
	photos_remove(folder);
}

/* There is nothing to replace it by. */
static void batch_without_a_good_row_is_zeros(void **state)
{
	static const unsigned bad[] = { 20, 21, 22, 23, 0 };
	static const unsigned char zero[IMAGE];
	struct fby_settings s = damage(bad, 5, 5);
	struct fby_loader *l = feed_open_at(folder, &s);
	struct fby_batch b;

	(void)state;
	feed_seek(l, 0, 2);
	assert_int_equal(feed_next(l, &b), 0);
	assert_int_equal(b.n, 4);
	assert_int_equal(b.n_bad, 4);
	for (unsigned i = 0; i < b.n; i++) {
		assert_int_equal(b.ids[i], 20 + i);
		assert_int_equal(b.labels[i], 2);
		assert_memory_equal(image_at(&b, i), zero, IMAGE);
	}
	assert_int_equal(feed_stats(l).bad_rows, 4);
	assert_int_equal(feed_stats(l).rows_replaced, 0);
	fby_loader_release(l, &b);
	fby_loader_close(l);
	photos_remove(folder);
}

/* ---- the same for everybody ---- */

static uint64_t two_epochs(const struct fby_settings *s)
{
	struct fby_loader *l = feed_open_at(folder, s);
	uint64_t digest = feed_epoch(l, feed_epoch(l, 0));

	assert_int_equal(feed_stats(l).bad_samples, 4);
	assert_int_equal(feed_stats(l).bad_rows, 8);
	fby_loader_close(l);
	return digest;
}

/* Three files are spoilt, and workers die of the fourth sample. */
static void replaced_rows_do_not_depend_on_the_number_of_workers(void **state)
{
	static const unsigned bad[] = { 3, 4, 17 }, workers[] = { 2, 3, 7 };
	struct fby_settings s = damage(bad, 3, 4);
	uint64_t expected;

	(void)state;
	feed_use_faults("segv:11");
	s.shuffle = 1;
	s.n_workers = 1;
	expected = two_epochs(&s);
	for (unsigned i = 0; i < FBY_ARRAY_SIZE(workers); i++) {
		s.n_workers = workers[i];
		assert_int_equal(two_epochs(&s), expected);
	}
	photos_remove(folder);
}

static void replaced_rows_do_not_depend_on_who_is_killed(void **state)
{
	static const unsigned bad[] = { 3, 4, 16, 17 };
	struct fby_settings s = damage(bad, 4, 4);
	struct feed_killer *killer;
	struct fby_loader *calm, *l;

	(void)state;
	s.shuffle = 1;
	calm = feed_open_at(folder, &s);
	feed_use_faults(NULL);
	setenv("STORY_SLOW_US", "1000", 1);
	l = feed_open_at(folder, &s);
	killer = feed_killer_start(l, SIGKILL, 4000);
	while (feed_stats(l).rows_taken_back < 20)
		assert_int_equal(feed_epoch(l, 0), feed_epoch(calm, 0));
	feed_killer_stop(killer);
	assert_int_equal(feed_stats(l).bad_samples, 4);
	assert_int_equal(feed_stats(l).bad_rows, feed_stats(calm).bad_rows);
	fby_loader_close(l);
	fby_loader_close(calm);
	photos_remove(folder);
}

/* ---- the run's list, and its end ---- */

static void list_is(struct fby_loader *l, const unsigned *bad, unsigned n_bad)
{
	struct fby_bad_sample sample;

	for (unsigned k = 0; k < n_bad; k++) {
		assert_int_equal(fby_loader_bad_list(l, k, &sample), 0);
		assert_int_equal(sample.id, bad[k]);
		assert_int_equal(sample.status, FBY_ROW_BAD);
		assert_non_null(strstr(sample.reason, "6 bytes"));
	}
	assert_int_equal(fby_loader_bad_list(l, n_bad, &sample), -ERANGE);
	assert_int_equal(feed_stats(l).bad_samples, n_bad);
}

static void list_of_the_run_has_each_sample_once(void **state)
{
	static const unsigned bad[] = { 1, 12, 13, 22 };
	struct fby_settings s = damage(bad, 4, 4);
	struct fby_loader *l = feed_open_at(folder, &s);

	(void)state;
	list_is(l, bad, 0);
	for (unsigned epoch = 1; epoch <= 3; epoch++) {
		feed_epoch(l, 0);
		list_is(l, bad, 4);
		assert_int_equal(feed_stats(l).bad_rows, 4 * epoch);
	}
	fby_loader_close(l);
	photos_remove(folder);
}

static int next(struct fby_loader *l, struct fby_batch *ret_batch)
{
	int r;

	while ((r = fby_loader_next(l, ret_batch)) == FBY_AGAIN)
		;
	return r;
}

/* At the same batch in every run, for good, and no slot is lost. */
static void too_many_bad_samples_end_the_run(void **state)
{
	static const unsigned bad[] = { 1, 12, 13, 14, 15 };
	struct fby_settings s = damage(bad, 5, 3);
	struct fby_loader *l = feed_open_at(folder, &s);
	struct fby_batch b;

	(void)state;
	assert_int_equal(feed_next(l, &b), 0);
	fby_loader_release(l, &b);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(next(l, &b), -EUCLEAN);
		assert_non_null(strstr(fby_error(), "5 bad samples in 20 rows"));
		assert_non_null(strstr(fby_error(), "sample 1 (class000/00001.jpg): "));
		assert_non_null(strstr(fby_error(), "; sample 13 ("));
		assert_non_null(strstr(fby_error(), "; ..."));
		assert_int_equal(feed_stats(l).slots_leased, 0);
	}
	feed_seek(l, 0, 0);
	assert_int_equal(next(l, &b), -EUCLEAN);
	list_is(l, bad, 5);
	fby_loader_close(l);
	photos_remove(folder);
}

static void share_is_of_the_rows_handed_out(void **state)
{
	static const unsigned bad[] = { 9, 19, 20 };
	struct fby_settings s = damage(bad, 3, 0);
	struct fby_loader *l;
	struct fby_batch b;

	(void)state;
	s.max_bad = 0.1;
	l = feed_open_at(folder, &s);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(feed_next(l, &b), 0);
		fby_loader_release(l, &b);
	}
	assert_int_equal(next(l, &b), -EUCLEAN);
	assert_non_null(strstr(fby_error(), "3 bad samples in 24 rows"));
	fby_loader_close(l);
	photos_remove(folder);
}

static void is_refused(double max_bad, uint32_t on_bad, const char *word)
{
	struct fby_settings s = feed_settings(1, BATCH);
	struct fby_loader *l;

	s.max_bad = max_bad;
	s.on_bad = on_bad;
	assert_int_equal(fby_loader_open(folder, &s, &l), -EINVAL);
	assert_non_null(strstr(fby_error(), word));
}

static void limits_that_make_no_sense_are_refused(void **state)
{
	(void)state;
	is_refused(0.01, FBY_BAD_ZEROS + 1, "on_bad");
	is_refused(-0.01, FBY_BAD_ZEROS, "max_bad");
	is_refused(1.01, FBY_BAD_ZEROS, "max_bad");
	is_refused(NAN, FBY_BAD_ZEROS, "max_bad");
}

int main(void)
{
	static const struct story stories[] = {
		story(bad_row_is_replaced_by_the_next_good_one_of_its_batch),
		story(batch_without_a_good_row_is_zeros),
		story(replaced_rows_do_not_depend_on_the_number_of_workers),
		story(replaced_rows_do_not_depend_on_who_is_killed),
		story(list_of_the_run_has_each_sample_once),
		story(too_many_bad_samples_end_the_run),
		story(share_is_of_the_rows_handed_out),
		story(limits_that_make_no_sense_are_refused),
	};

	return stories_tell(stories, FBY_ARRAY_SIZE(stories), NULL, NULL);
}
