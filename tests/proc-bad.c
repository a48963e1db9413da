/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that are no photographs any more: each is named with its reason, its row is
 * zero but for the label, and all other rows are as if nothing had been.
 */
#include "lib/layout.h"
#include "tests/feed.h"
#include "tests/photos.h"
#include "tests/story.h"
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { N = 24, CLASSES = 3, BATCH = 10, IMAGE = 24 * 24 * 3 };

/* What one epoch gave, by sample. */
struct outcome {
	unsigned char image[N][IMAGE];
	int64_t label[N];
	uint32_t status[N];
	char reason[N][FBY_REASON_BYTES];
	unsigned n_bad, n_rows;
};

static struct outcome before, after;
static char folder[4096];

static void take_bad(struct fby_loader *l, const struct fby_batch *b, struct outcome *o)
{
	struct fby_bad_sample bad;

	for (uint32_t k = 0; k < b->n_bad; k++) {
		assert_int_equal(fby_loader_bad_sample(l, b, k, &bad), 0);
		assert_true(bad.row < b->n && bad.id < N);
		assert_int_equal(b->ids[bad.row], bad.id);
		o->status[bad.id] = bad.status;
		memcpy(o->reason[bad.id], bad.reason, sizeof(bad.reason));
		o->n_bad++;
	}
	assert_int_equal(fby_loader_bad_sample(l, b, b->n_bad, &bad), -ERANGE);
}

static void take_epoch(struct fby_loader *l, struct outcome *o)
{
	struct fby_batch b;

	memset(o, 0, sizeof(*o));
	while (feed_next(l, &b) != FBY_END) {
		for (uint32_t i = 0; i < b.n; i++) {
			memcpy(o->image[b.ids[i]], (char *)b.images + i * IMAGE, IMAGE);
			o->label[b.ids[i]] = b.labels[i];
		}
		o->n_rows += b.n;
		take_bad(l, &b, o);
		fby_loader_release(l, &b);
	}
}

static const char *file_of(unsigned id)
{
	static char path[4200];

	photos_file(folder, N, CLASSES, id, path, sizeof(path));
	return path;
}

/* A loader whose index knows `id` as a good photograph. */
static struct fby_loader *open_before_the_damage(void)
{
	struct fby_settings s = feed_settings(2, BATCH);
	struct fby_loader *l;

	s.on_bad = FBY_BAD_ZEROS;
	s.max_bad = 1;
	photos_make(folder, sizeof(folder), N, CLASSES);
	l = feed_open_at(folder, &s);
	take_epoch(l, &before);
	assert_int_equal(before.n_bad, 0);
	assert_int_equal(before.n_rows, N);
	fby_loader_close(l);
	return feed_open_at(folder, &s);
}

/* Damaged files are read from the second epoch on, seeked back to the first's batches. */
static void compare(struct fby_loader *l, const unsigned *bad, unsigned n_bad,
		    const char *word)
{
	static const unsigned char zero[IMAGE];
	bool is_bad[N] = { false };

	feed_seek(l, 1, 0);
	feed_seek(l, 0, 0);
	take_epoch(l, &after);
	for (unsigned i = 0; i < n_bad; i++)
		is_bad[bad[i]] = true;
	for (unsigned id = 0; id < N; id++) {
		assert_int_equal(after.label[id], before.label[id]);
		assert_int_equal(after.status[id], is_bad[id] ? FBY_ROW_BAD : 0);
		assert_memory_equal(after.image[id], is_bad[id] ? zero : before.image[id],
				    IMAGE);
		if (is_bad[id] && !strstr(after.reason[id], word))
			fail_msg("'%s' is not in '%s'", word, after.reason[id]);
	}
	assert_int_equal(after.n_bad, n_bad);
	assert_int_equal(feed_stats(l).bad_rows, n_bad);
	assert_int_equal(feed_stats(l).bad_samples, n_bad);
	assert_int_equal(feed_stats(l).rows_replaced, 0);
	assert_int_equal(feed_stats(l).deaths, 0);
	fby_loader_close(l);
	photos_remove(folder);
}

static void write_file(unsigned id, const char *bytes, size_t n)
{
	FILE *file = fopen(file_of(id), "w");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, n, file), n);
	fclose(file);
}

static void truncated_photograph_is_bad(void **state)
{
	struct fby_loader *l = open_before_the_damage();
	const unsigned bad[] = { 5, 23 };

	(void)state;
	assert_int_equal(truncate(file_of(5), 900), 0);
	assert_int_equal(truncate(file_of(23), 40), 0);
	compare(l, bad, 2, "JPEG");
}

static void page_of_html_is_bad_and_the_reason_says_so(void **state)
{
	struct fby_loader *l = open_before_the_damage();
	const unsigned bad[] = { 0 };

	(void)state;
	write_file(0, "<html>not found</html>\n", 23);
	compare(l, bad, 1, "HTML");
}

static void empty_file_is_bad_and_the_reason_says_so(void **state)
{
	struct fby_loader *l = open_before_the_damage();
	const unsigned bad[] = { 11 };

	(void)state;
	write_file(11, "", 0);
	compare(l, bad, 1, "empty");
}

static void removed_file_is_bad_and_the_reason_says_so(void **state)
{
	struct fby_loader *l = open_before_the_damage();
	const unsigned bad[] = { 7, 8, 9, 10 };

	(void)state;
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(unlink(file_of(bad[i])), 0);
	compare(l, bad, 4, "No such file");
}

/* Root may read all files: nobody may not. */
static void become_nobody(void)
{
	char path[4096] = "";

	if (geteuid() != 0)
		return;
	assert_true(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	if (setgroups(0, NULL) < 0 || setresgid(65534, 65534, 65534) < 0 ||
	    setresuid(65534, 65534, 65534) < 0 || access(path, X_OK) < 0)
		story_skip("root may read all files, and nobody cannot run this");
	prctl(PR_SET_DUMPABLE, 1); /* else /proc/self/fd is root's */
}

static void file_without_permission_is_bad_and_the_reason_says_so(void **state)
{
	struct fby_loader *l;
	const unsigned bad[] = { 3 };

	(void)state;
	become_nobody();
	l = open_before_the_damage();
	assert_int_equal(chmod(file_of(3), 0), 0);
	compare(l, bad, 1, "Permission denied");
}

static void folder_in_the_place_of_a_file_is_bad(void **state)
{
	struct fby_loader *l = open_before_the_damage();
	const unsigned bad[] = { 12 };

	(void)state;
	unlink(file_of(12));
	assert_int_equal(mkdir(file_of(12), 0755), 0);
	compare(l, bad, 1, "directory");
}

/* A pipe in the place of a file must not be waited for. */
static void fifo_in_the_place_of_a_file_is_bad(void **state)
{
	struct fby_loader *l = open_before_the_damage();
	const unsigned bad[] = { 13 };

	(void)state;
	unlink(file_of(13));
	assert_int_equal(mkfifo(file_of(13), 0644), 0);
	compare(l, bad, 1, "not a regular file");
}

static void all_files_may_be_bad(void **state)
{
	struct fby_loader *l = open_before_the_damage();
	unsigned bad[N];

	(void)state;
	for (unsigned id = 0; id < N; id++) {
		bad[id] = id;
		write_file(id, "x", 1);
	}
	compare(l, bad, N, "1 bytes");
}

/* What a slot held before does not shine through: good batches went through all slots. */
static void bad_rows_keep_nothing_of_what_the_slot_held(void **state)
{
	static const unsigned char zero[IMAGE];
	struct fby_loader *l = open_before_the_damage();
	struct fby_batch b;

	(void)state;
	for (unsigned i = 0; i < 4; i++)
		feed_epoch(l, 0);
	for (unsigned id = 0; id < N; id++)
		assert_int_equal(truncate(file_of(id), 900), 0);
	feed_seek(l, 9, 0);
	while (feed_next(l, &b) != FBY_END) {
		assert_int_equal(b.n_bad, b.n);
		for (unsigned i = 0; i < b.n; i++)
			assert_memory_equal((char *)b.images + i * IMAGE, zero, IMAGE);
		fby_loader_release(l, &b);
	}
	fby_loader_close(l);
	photos_remove(folder);
}

int main(void)
{
	static const struct story stories[] = {
		story(truncated_photograph_is_bad),
		story(page_of_html_is_bad_and_the_reason_says_so),
		story(empty_file_is_bad_and_the_reason_says_so),
		story(removed_file_is_bad_and_the_reason_says_so),
		story(file_without_permission_is_bad_and_the_reason_says_so),
		story(folder_in_the_place_of_a_file_is_bad),
		story(fifo_in_the_place_of_a_file_is_bad),
		story(all_files_may_be_bad),
		story(bad_rows_keep_nothing_of_what_the_slot_held),
	};

	return stories_tell(stories, FBY_ARRAY_SIZE(stories), NULL, NULL);
}
