/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Machines with little to give: a small /dev/shm as containers have it, none at all, no
 * memory for the pool, no descriptors.
 */
#include "tests/fake-machine.h"
#include "tests/feed.h"
#include "tests/proc.h"
#include "tests/story.h"
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

enum { BATCH = 65 };

/* A mount table of its own: as root, or in a user namespace where those are allowed. */
static void private_mounts(void)
{
	if (unshare(CLONE_NEWNS) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		story_skip("this machine gives no private mounts");
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		story_skip("this machine gives no private mounts");
}

static void replace_shm(unsigned long flags, const char *options)
{
	private_mounts();
	if (mount("tmpfs", "/dev/shm", "tmpfs", flags, options) < 0)
		story_skip("a tmpfs cannot be mounted");
}

/* 4 slots of 200 x 128 KiB and more: above 64 MiB, and below what a test may use. */
static struct fby_settings large_pool(void)
{
	struct fby_settings s = feed_settings(2, 200);

	s.op[0].arg[0] = s.op[0].arg[1] = 208;
	return s;
}

static unsigned n_told;

static void count_told(int level, const char *text)
{
	(void)level;
	n_told += strstr(text, "is a memfd") != NULL;
}

static void works_through(const char *kind, const struct fby_settings *s,
			  uint64_t expected)
{
	struct fby_loader *l;

	fby_set_log(FBY_LOG_RUN, count_told);
	l = feed_open(s);
	fby_set_log(FBY_LOG_RUN, NULL);
	assert_true(proc_count_mappings(getpid(), kind) > 0);
	assert_int_equal(n_told > 0, strstr(kind, "memfd") != NULL);
	assert_int_equal(feed_epoch(l, 0), expected);
	fby_loader_close(l);
	assert_int_equal(proc_count_mappings(getpid(), "forebay-"), 0);
}

static void pool_lies_in_dev_shm_where_there_is_room(void **state)
{
	struct fby_settings s = feed_settings(2, BATCH);

	(void)state;
	replace_shm(0, "size=64m");
	works_through("/dev/shm/forebay-", &s, feed_reference(&s, 1));
}

static void pool_larger_than_dev_shm_lies_in_a_memfd(void **state)
{
	struct fby_settings s = large_pool();
	uint64_t expected = feed_reference(&s, 1);

	(void)state;
	replace_shm(0, "size=64m");
	works_through("/memfd:forebay-", &s, expected);
}

static void pool_lies_in_a_memfd_where_dev_shm_cannot_be_written(void **state)
{
	struct fby_settings s = feed_settings(2, BATCH);
	uint64_t expected = feed_reference(&s, 1);

	(void)state;
	replace_shm(MS_RDONLY, NULL);
	works_through("/memfd:forebay-", &s, expected);
}

static void pool_lies_in_a_memfd_where_there_is_no_dev_shm(void **state)
{
	struct fby_settings s = feed_settings(2, BATCH);
	uint64_t expected = feed_reference(&s, 1);

	(void)state;
	private_mounts();
	umount2("/dev/shm", MNT_DETACH);
	if (mount("tmpfs", "/dev", "tmpfs", 0, NULL) < 0)
		story_skip("a tmpfs cannot be mounted");
	works_through("/memfd:forebay-", &s, expected);
}

/* 256 slots of 65536 photographs: 2.5 TB, which no machine of a test has. */
static void pool_that_does_not_fit_is_refused_with_its_sum(void **state)
{
	struct fby_settings s = feed_settings(2, 65536);
	struct fby_loader *l = NULL;

	(void)state;
	s.n_slots = 256;
	s.op[0].arg[0] = s.op[0].arg[1] = 224;
	assert_int_equal(fby_loader_open(feed_folder(), &s, &l), -ENOMEM);
	assert_null(l);
	assert_non_null(strpbrk(fby_error(), "0123456789"));
	story_note("%s", fby_error());
	assert_int_equal(proc_count_names(getpid(), NULL), 0);
	assert_int_equal(proc_count_mappings(getpid(), "forebay-"), 0);
}

static void pool_above_the_limit_of_its_group_is_refused_with_its_sum(void **state)
{
	struct fby_settings s = large_pool();
	struct fby_loader *l = NULL;
	void *machine = NULL;

	(void)state;
	fby_loader_close(feed_open(&s)); /* the index is there from now on */
	assert_int_equal(fake_machine_create(&machine), 0);
	if (!machine)
		return;
	fake_machine_write(machine, "/proc/self/cgroup", "0::/a\n");
	fake_machine_write(
		machine, "/proc/self/mountinfo",
		"40 23 0:28 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n");
	fake_machine_write(machine, "/sys/fs/cgroup/a/memory.max", "50000000\n");
	fake_machine_write(machine, "/sys/fs/cgroup/a/memory.current", "20000000\n");
	assert_int_equal(fby_loader_open(feed_folder(), &s, &l), -ENOMEM);
	assert_null(l);
	assert_non_null(strstr(fby_error(), "4 slots of 200 images"));
	assert_non_null(strstr(fby_error(), "control group leaves only 28 MiB"));
	fake_machine_destroy(&machine);
	fby_loader_close(feed_open(&s));
}

/* ---- descriptors ---- */

static void limit_descriptors(unsigned n)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = n;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/*
 * With one more each time until it works.  A loader that opened may still find none
 * left for its workers: then next says so.
 */
static int try_with(unsigned n_fds, const struct fby_settings *s)
{
	struct fby_loader *l = NULL;
	struct fby_batch b;
	int r;

	limit_descriptors(n_fds);
	r = fby_loader_open(feed_folder(), s, &l);
	while (r == 0 && (r = fby_loader_next(l, &b)) == FBY_AGAIN)
		r = 0;
	if (r < 0)
		assert_true(strlen(fby_error()) > 10);
	if (r == 0)
		fby_loader_release(l, &b);
	fby_loader_close(l);
	limit_descriptors(1000);
	return r;
}

static void too_few_descriptors_are_an_error_and_leak_nothing(void **state)
{
	struct fby_settings s = feed_settings(2, BATCH);
	unsigned before, n, n_failed = 0;

	(void)state;
	fby_loader_close(feed_open(&s)); /* the index is there from now on */
	before = proc_count_fds();
	for (n = before; n < before + 64; n++) {
		int r = try_with(n, &s);

		assert_int_equal(proc_count_fds(), before);
		assert_int_equal(proc_count_mappings(getpid(), "forebay-"), 0);
		assert_int_equal(proc_count_children(getpid(), 0), 0);
		if (r == 0)
			break;
		n_failed++;
	}
	assert_true(n_failed > 3);
	assert_true(n < before + 64);
}

int main(void)
{
	static const struct story stories[] = {
		story(pool_lies_in_dev_shm_where_there_is_room),
		story(pool_larger_than_dev_shm_lies_in_a_memfd),
		story(pool_lies_in_a_memfd_where_dev_shm_cannot_be_written),
		story(pool_lies_in_a_memfd_where_there_is_no_dev_shm),
		story(pool_that_does_not_fit_is_refused_with_its_sum),
		story(pool_above_the_limit_of_its_group_is_refused_with_its_sum),
		story(too_few_descriptors_are_an_error_and_leak_nothing),
	};

	return stories_tell(stories, FBY_ARRAY_SIZE(stories), feed_setup, feed_teardown);
}
