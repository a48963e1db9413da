/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels and containers that refuse a call: each is made to fail by a filter, for the
 * trainer and its workers alike, and the loader works without it.
 */
#include "tests/feed.h"
#include "tests/proc.h"
#include "tests/story.h"
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BATCH = 65 };

/* From here on these two calls fail. */
static void refuse(unsigned call, unsigned other, unsigned error)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, other, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { FBY_ARRAY_SIZE(code), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		story_skip("this kernel has no filter of system calls");
	assert_int_equal(syscall(call, 0, 0, 0, 0, 0), -1);
	assert_int_equal(errno, error);
}

/* Kills by pid: feed_hit needs a pidfd. */
static void kill_all(struct fby_loader *l)
{
	for (unsigned i = 0; i < 3; i++) {
		int pid = feed_worker(l, i);

		if (proc_parent(pid) == getpid())
			kill(pid, SIGKILL);
	}
}

static void works_with_deaths(void)
{
	struct fby_settings s = feed_settings(3, BATCH);
	struct fby_loader *l = feed_open(&s);
	uint64_t expected = feed_epoch(l, 0);

	for (unsigned i = 0; i < 3; i++) {
		kill_all(l);
		feed_seek(l, 0, 0);
		assert_int_equal(feed_epoch(l, 0), expected);
	}
	assert_true(feed_stats(l).deaths >= 6);
	fby_loader_close(l);
	assert_int_equal(proc_count_children(getpid(), 0), 0);
}

static void works_where_there_are_no_pidfds(void **state)
{
	(void)state;
	refuse(SYS_pidfd_open, SYS_pidfd_send_signal, ENOSYS);
	works_with_deaths();
}

static void works_where_pidfds_are_forbidden(void **state)
{
	(void)state;
	refuse(SYS_pidfd_open, SYS_pidfd_send_signal, EPERM);
	works_with_deaths();
}

static void works_where_signals_by_pidfd_are_refused(void **state)
{
	struct fby_settings s = feed_settings(2, BATCH);
	struct fby_loader *l;
	int pid;

	(void)state;
	refuse(SYS_pidfd_send_signal, SYS_pidfd_send_signal, ENOSYS);
	l = feed_open(&s);
	pid = feed_worker(l, 1);
	feed_epoch(l, 0);
	kill(pid, SIGSTOP);
	assert_true(proc_wait_state(pid, 'T'));
	fby_loader_close(l); /* has to kill it */
	assert_true(proc_is_over(pid));
}

/* A descriptor of the trainer that is not close-on-exec must not reach a worker. */
static bool has_descriptor(int pid, int fd)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
	return access(path, F_OK) == 0;
}

static void descriptors_do_not_reach_workers(void)
{
	struct fby_settings s = feed_settings(2, BATCH);
	int foreign = dup2(STDERR_FILENO, 77);
	struct fby_loader *l = feed_open(&s);
	struct fby_batch b;

	assert_int_equal(foreign, 77);
	assert_int_equal(feed_next(l, &b), 0); /* by now they have closed theirs */
	assert_false(has_descriptor(feed_worker(l, 0), 77));
	assert_false(has_descriptor(feed_worker(l, 1), 77));
	fby_loader_close(l);
	fby_loader_release(l, &b);
	close(77);
}

static void foreign_descriptors_do_not_reach_workers(void **state)
{
	(void)state;
	descriptors_do_not_reach_workers();
}

static void foreign_descriptors_do_not_reach_workers_without_close_range(void **state)
{
	(void)state;
	refuse(SYS_close_range, SYS_close_range, ENOSYS);
	descriptors_do_not_reach_workers();
}

static void works_where_memory_advice_and_affinity_are_refused(void **state)
{
	(void)state;
	refuse(SYS_madvise, SYS_sched_setaffinity, EPERM);
	works_with_deaths();
}

static void works_where_random_bytes_and_node_binding_are_refused(void **state)
{
	(void)state;
	refuse(SYS_getrandom, SYS_mbind, ENOSYS);
	works_with_deaths();
}

int main(void)
{
	static const struct story stories[] = {
		story(works_where_there_are_no_pidfds),
		story(works_where_pidfds_are_forbidden),
		story(works_where_signals_by_pidfd_are_refused),
		story(foreign_descriptors_do_not_reach_workers),
		story(foreign_descriptors_do_not_reach_workers_without_close_range),
		story(works_where_memory_advice_and_affinity_are_refused),
		story(works_where_random_bytes_and_node_binding_are_refused),
	};

	return stories_tell(stories, FBY_ARRAY_SIZE(stories), feed_setup, feed_teardown);
}
