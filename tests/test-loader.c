/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The public interface, call by call: what it refuses, and what position, seek and the
 * end of an epoch mean.
 */
#include "tests/feed.h"
#include "tests/story.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 64, BATCHES = (FEED_SAMPLES + BATCH - 1) / BATCH };

static int open_with(const struct fby_settings *s)
{
	struct fby_loader *l = NULL;
	int r = fby_loader_open(feed_folder(), s, &l);

	if (r == 0)
		fby_loader_close(l);
	else
		assert_null(l);
	return r;
}

static void sizes_are_known_by_name(void **state)
{
	(void)state;
	assert_int_equal(fby_sizeof("fby_op"), sizeof(struct fby_op));
	assert_int_equal(fby_sizeof("fby_settings"), sizeof(struct fby_settings));
	assert_int_equal(fby_sizeof("fby_info"), sizeof(struct fby_info));
	assert_int_equal(fby_sizeof("fby_batch"), sizeof(struct fby_batch));
	assert_int_equal(fby_sizeof("fby_stats"), sizeof(struct fby_stats));
	assert_int_equal(fby_sizeof("fby_bad_sample"), sizeof(struct fby_bad_sample));
	assert_int_equal(fby_sizeof("fby_loader"), 0);
	assert_int_equal(fby_sizeof(""), 0);
	assert_int_equal(fby_sizeof(NULL), 0);
	assert_string_equal(fby_version(), FBY_VERSION);
}

static void defaults_are_those_of_the_header(void **state)
{
	struct fby_settings s;

	(void)state;
	memset(&s, 0xff, sizeof(s));
	fby_settings_init(&s);
	assert_int_equal(s.size, sizeof(s));
	assert_int_equal(s.batch_size, 64);
	assert_int_equal(s.pillow, 13);
	assert_int_equal(s.n_workers | s.n_slots | s.n_ops | s.shuffle | s.drop_last, 0);
	assert_int_equal(s.seed, 0);
	assert_int_equal(s.on_bad, FBY_BAD_REPLACE);
	assert_int_equal(s.max_bad_rows, 10);
	assert_true(s.max_bad == 0.01);
}

static void open_refuses_null(void **state)
{
	struct fby_settings s = feed_settings(1, BATCH);
	struct fby_loader *l;

	(void)state;
	assert_int_equal(fby_loader_open(NULL, &s, &l), -EINVAL);
	assert_int_equal(fby_loader_open(feed_folder(), NULL, &l), -EINVAL);
	assert_int_equal(fby_loader_open(feed_folder(), &s, NULL), -EINVAL);
}

static void open_names_a_folder_that_is_not_there(void **state)
{
	struct fby_settings s = feed_settings(1, BATCH);
	struct fby_loader *l;

	(void)state;
	assert_int_equal(fby_loader_open("/nowhere/photos", &s, &l), -ENOENT);
	assert_non_null(strstr(fby_error(), "/nowhere/photos"));
}

static void settings_of_another_size_are_refused(void **state)
{
	struct fby_settings s = feed_settings(1, BATCH);

	(void)state;
	s.size--;
	assert_int_equal(open_with(&s), -EINVAL);
	s.size += 2;
	assert_int_equal(open_with(&s), -EINVAL);
}

static int open_changed(void (*change)(struct fby_settings *s))
{
	struct fby_settings s = feed_settings(1, BATCH);

	change(&s);
	return open_with(&s);
}

static void no_rows(struct fby_settings *s)
{
	s->batch_size = 0;
}

static void too_many_rows(struct fby_settings *s)
{
	s->batch_size = UINT32_MAX;
}

static void too_many_workers(struct fby_settings *s)
{
	s->n_workers = 100000;
}

static void one_slot(struct fby_settings *s)
{
	s->n_slots = 1;
}

static void too_many_slots(struct fby_settings *s)
{
	s->n_slots = 100000;
}

static void another_type(struct fby_settings *s)
{
	s->dtype = 17;
}

static void another_format(struct fby_settings *s)
{
	s->memory_format = 2;
}

static void another_pillow(struct fby_settings *s)
{
	s->pillow = 11;
}

static void no_operation(struct fby_settings *s)
{
	s->n_ops = 0;
}

static void too_many_operations(struct fby_settings *s)
{
	s->n_ops = FBY_MAX_OPS + 1;
}

static void unknown_operation(struct fby_settings *s)
{
	s->op[0].kind = 99;
}

static void too_many_arguments(struct fby_settings *s)
{
	s->op[0].n_args = FBY_MAX_ARGS + 1;
}

static void size_of_zero(struct fby_settings *s)
{
	s->op[0].arg[0] = 0;
}

static void settings_that_make_no_sense_are_refused(void **state)
{
	static void (*const change[])(struct fby_settings *) = {
		no_rows,           too_many_rows,
		too_many_workers,  one_slot,
		too_many_slots,    another_type,
		another_format,    another_pillow,
		no_operation,      too_many_operations,
		unknown_operation, too_many_arguments,
		size_of_zero,
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(change) / sizeof(*change); i++) {
		int r = open_changed(change[i]);

		if (r != -EINVAL)
			fail_msg("change %u: %d instead of -EINVAL", i, r);
		assert_true(strlen(fby_error()) > 10);
	}
}

static void drop_last_of_a_dataset_below_one_batch_is_refused(void **state)
{
	struct fby_settings s = feed_settings(1, FEED_SAMPLES + 1);

	(void)state;
	s.drop_last = 1;
	assert_int_equal(open_with(&s), -EINVAL);
	s.drop_last = 0;
	assert_int_equal(open_with(&s), 0);
}

static void every_call_refuses_null(void **state)
{
	struct fby_settings s = feed_settings(1, BATCH);
	struct fby_loader *l = feed_open(&s);
	struct fby_bad_sample bad;
	struct fby_batch b = { 0 };
	struct fby_stats stats;
	struct fby_info info;
	uint64_t number;
	char path[100];

	(void)state;
	assert_int_equal(fby_loader_info(NULL, &info), -EINVAL);
	assert_int_equal(fby_loader_info(l, NULL), -EINVAL);
	assert_null(fby_loader_class_name(NULL, 0));
	assert_int_equal(fby_loader_sample_path(NULL, 0, path, 100), -EINVAL);
	assert_int_equal(fby_loader_sample_path(l, 0, NULL, 100), -EINVAL);
	assert_int_equal(fby_loader_sample_path(l, 0, path, 0), -EINVAL);
	assert_int_equal(fby_loader_position(NULL, &number, &number), -EINVAL);
	assert_int_equal(fby_loader_position(l, NULL, &number), -EINVAL);
	assert_int_equal(fby_loader_position(l, &number, NULL), -EINVAL);
	assert_int_equal(fby_loader_seek(NULL, 0, 0), -EINVAL);
	assert_int_equal(fby_loader_next(NULL, &b), -EINVAL);
	assert_int_equal(fby_loader_next(l, NULL), -EINVAL);
	assert_int_equal(fby_loader_bad_sample(NULL, &b, 0, &bad), -EINVAL);
	assert_int_equal(fby_loader_bad_sample(l, NULL, 0, &bad), -EINVAL);
	assert_int_equal(fby_loader_bad_sample(l, &b, 0, NULL), -EINVAL);
	assert_int_equal(fby_loader_bad_list(NULL, 0, &bad), -EINVAL);
	assert_int_equal(fby_loader_bad_list(l, 0, NULL), -EINVAL);
	assert_int_equal(fby_loader_bad_list(l, 0, &bad), -ERANGE);
	assert_int_equal(fby_loader_stats(NULL, &stats), -EINVAL);
	assert_int_equal(fby_loader_stats(l, NULL), -EINVAL);
	assert_int_equal(fby_loader_worker_pid(NULL, 0), -EINVAL);
	fby_settings_init(NULL);
	fby_loader_release(NULL, &b);
	fby_loader_release(l, NULL);
	fby_batch_release(NULL);
	fby_batch_release(&b);
	fby_loader_close(NULL);
	fby_loader_close(l);
}

static void info_says_what_was_asked_for(void **state)
{
	struct fby_settings s = feed_settings(3, BATCH);
	struct fby_loader *l = feed_open(&s);
	struct fby_info info;

	(void)state;
	assert_int_equal(fby_loader_info(l, &info), 0);
	assert_int_equal(info.n_samples, FEED_SAMPLES);
	assert_int_equal(info.n_batches, BATCHES);
	assert_int_equal(info.n_classes, FEED_CLASSES);
	assert_int_equal(info.n_workers, 3);
	assert_int_equal(info.n_slots, 4);
	assert_int_equal(info.batch_size, BATCH);
	assert_int_equal(info.channels, 3);
	assert_int_equal(info.height, 24);
	assert_int_equal(info.width, 24);
	assert_int_equal(info.image_bytes, 3 * 24 * 24);
	assert_true(info.pool_bytes > 4ull * BATCH * 3 * 24 * 24);
	fby_loader_close(l);
}

static void ids_lead_to_classes_and_files(void **state)
{
	struct fby_settings s = feed_settings(1, BATCH);
	struct fby_loader *l = feed_open(&s);
	char path[4096], few[8];

	(void)state;
	assert_string_equal(fby_loader_class_name(l, 0), "class000");
	assert_string_equal(fby_loader_class_name(l, FEED_CLASSES - 1), "class005");
	assert_null(fby_loader_class_name(l, FEED_CLASSES));
	assert_int_equal(fby_loader_sample_path(l, 299, path, sizeof(path)), 0);
	assert_string_equal(path + strlen(path) - strlen("/class005/00299.jpg"),
			    "/class005/00299.jpg");
	assert_int_equal(fby_loader_sample_path(l, 299, few, sizeof(few)), 0);
	assert_int_equal(strlen(few), sizeof(few) - 1);
	assert_int_equal(fby_loader_sample_path(l, 300, path, sizeof(path)), -ERANGE);
	fby_loader_close(l);
}

static void worker_numbers_have_a_range(void **state)
{
	struct fby_settings s = feed_settings(2, BATCH);
	struct fby_loader *l = feed_open(&s);

	(void)state;
	assert_int_not_equal(feed_worker(l, 0), feed_worker(l, 1));
	assert_int_equal(fby_loader_worker_pid(l, 2), -ERANGE);
	assert_int_equal(fby_loader_worker_pid(l, UINT32_MAX), -ERANGE);
	fby_loader_close(l);
}

/* ---- epochs ---- */

static void stands_at(struct fby_loader *l, uint64_t epoch, uint64_t index)
{
	uint64_t e, i;

	assert_int_equal(fby_loader_position(l, &e, &i), 0);
	assert_int_equal(e, epoch);
	assert_int_equal(i, index);
}

static void take(struct fby_loader *l, unsigned n)
{
	struct fby_batch b;

	while (n--) {
		assert_int_equal(feed_next(l, &b), 0);
		fby_loader_release(l, &b);
	}
}

static void end_comes_exactly_once_an_epoch(void **state)
{
	struct fby_settings s = feed_settings(2, BATCH);
	struct fby_loader *l = feed_open(&s);
	struct fby_batch b;
	uint64_t seq = 0;

	(void)state;
	for (unsigned epoch = 0; epoch < 3; epoch++) {
		for (unsigned i = 0; i < BATCHES; i++) {
			stands_at(l, epoch, i);
			assert_int_equal(feed_next(l, &b), 0);
			assert_int_equal(b.epoch, epoch);
			assert_int_equal(b.index, i);
			assert_int_equal(b.seq, seq++);
			assert_int_equal(b.n,
					 i == BATCHES - 1 ? FEED_SAMPLES % BATCH : BATCH);
			fby_loader_release(l, &b);
		}
		assert_int_equal(feed_next(l, &b), FBY_END);
	}
	fby_loader_close(l);
}

static void drop_last_leaves_the_short_batch_out(void **state)
{
	struct fby_settings s = feed_settings(2, BATCH);
	struct fby_loader *l;
	struct fby_batch b;

	(void)state;
	s.drop_last = 1;
	l = feed_open(&s);
	take(l, BATCHES - 1);
	assert_int_equal(feed_next(l, &b), FBY_END);
	fby_loader_close(l);
}

static void seek_to_the_position_is_free(void **state)
{
	struct fby_settings s = feed_settings(2, BATCH);
	struct fby_loader *l = feed_open(&s);

	(void)state;
	assert_int_equal(fby_loader_seek(l, 0, 0), 0);
	take(l, 2);
	assert_int_equal(fby_loader_seek(l, 0, 2), 0);
	take(l, BATCHES - 2);
	assert_int_equal(feed_stats(l).seeks, 0);
	feed_seek(l, 5, 1);
	assert_int_equal(feed_stats(l).seeks, 1);
	stands_at(l, 5, 1);
	assert_int_equal(fby_loader_seek(l, 5, 1), 0);
	assert_int_equal(feed_stats(l).seeks, 1);
	fby_loader_close(l);
}

/* A new epoch begun right after the last batch is no seek, and takes the END with it. */
static void seek_after_the_last_batch_begins_the_next_epoch_without_an_end(void **state)
{
	struct fby_settings s = feed_settings(2, BATCH);
	struct fby_loader *l = feed_open(&s);
	struct fby_batch b;

	(void)state;
	take(l, BATCHES);
	stands_at(l, 1, 0);
	assert_int_equal(fby_loader_seek(l, 1, 0), 0);
	assert_int_equal(feed_stats(l).seeks, 0);
	assert_int_equal(feed_next(l, &b), 0);
	assert_int_equal(b.epoch, 1);
	assert_int_equal(b.index, 0);
	fby_loader_release(l, &b);
	take(l, BATCHES - 1);
	assert_int_equal(feed_next(l, &b), FBY_END);
	fby_loader_close(l);
}

static void seek_back_after_the_last_batch_repeats_the_epoch_with_its_end(void **state)
{
	struct fby_settings s = feed_settings(2, BATCH);
	struct fby_loader *l = feed_open(&s);
	struct fby_batch b;

	(void)state;
	take(l, BATCHES);
	feed_seek(l, 0, BATCHES - 1);
	take(l, 1);
	assert_int_equal(feed_next(l, &b), FBY_END);
	assert_int_equal(feed_next(l, &b), 0);
	assert_int_equal(b.epoch, 1);
	fby_loader_release(l, &b);
	fby_loader_close(l);
}

static void seek_past_the_epoch_is_refused_and_changes_nothing(void **state)
{
	struct fby_settings s = feed_settings(2, BATCH);
	struct fby_loader *l = feed_open(&s);
	struct fby_batch b;

	(void)state;
	take(l, BATCHES);
	assert_int_equal(fby_loader_seek(l, 0, BATCHES), -ERANGE);
	assert_int_equal(fby_loader_seek(l, 0, UINT64_MAX), -ERANGE);
	stands_at(l, 1, 0);
	assert_int_equal(feed_next(l, &b), FBY_END);
	fby_loader_close(l);
}

static void counters_add_up(void **state)
{
	struct fby_settings s = feed_settings(2, BATCH);
	struct fby_loader *l = feed_open(&s);
	struct fby_stats stats;
	uint64_t in_histogram = 0;

	(void)state;
	feed_epoch(l, 0);
	feed_epoch(l, 0);
	stats = feed_stats(l);
	assert_int_equal(stats.batches, 2 * BATCHES);
	assert_true(stats.samples >= 2 * FEED_SAMPLES);
	assert_true(stats.bytes_read > 2 * FEED_SAMPLES * 100);
	assert_true(stats.stage_ns[FBY_STAGE_DECODE] > 0);
	for (unsigned i = 0; i < FBY_HISTOGRAM; i++)
		in_histogram += stats.wait_histogram[i];
	assert_int_equal(in_histogram, stats.waits);
	assert_true(stats.waits <= stats.batches);
	assert_int_equal(stats.deaths | stats.bad_rows | stats.seeks, 0);
	assert_int_equal(stats.slots_leased, 0);
	fby_loader_close(l);
}

int main(void)
{
	static const struct story stories[] = {
		story(sizes_are_known_by_name),
		story(defaults_are_those_of_the_header),
		story(open_refuses_null),
		story(open_names_a_folder_that_is_not_there),
		story(settings_of_another_size_are_refused),
		story(settings_that_make_no_sense_are_refused),
		story(drop_last_of_a_dataset_below_one_batch_is_refused),
		story(every_call_refuses_null),
		story(info_says_what_was_asked_for),
		story(ids_lead_to_classes_and_files),
		story(worker_numbers_have_a_range),
		story(end_comes_exactly_once_an_epoch),
		story(drop_last_leaves_the_short_batch_out),
		story(seek_to_the_position_is_free),
		story(seek_after_the_last_batch_begins_the_next_epoch_without_an_end),
		story(seek_back_after_the_last_batch_repeats_the_epoch_with_its_end),
		story(seek_past_the_epoch_is_refused_and_changes_nothing),
		story(counters_add_up),
	};

	return stories_tell(stories, FBY_ARRAY_SIZE(stories), feed_setup, feed_teardown);
}
