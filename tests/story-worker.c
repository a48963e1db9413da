/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The worker program with faults: all of forebay-worker, but the linker leads its calls
 * of fby_maker_make and fby_pool_attach through here (--wrap).  By environment:
 *
 *   STORY_FAULT   segv:ID, abort:ID, spin:ID   on sample ID
 *                 exit:N                       exit(0) after N rows
 *                 attach-exit:STATUS, attach-hang, attach-kill   before it runs
 *                 attach-fails:ERRNO           so does fby_pool_attach
 *                 attach-fields:N              it finds N fields in a slot
 *   STORY_ONCE    a path: the fault happens only where this file can be made
 *   STORY_SLOW_US how long each row takes at least
 */
#include "lib/fail.h"
#include "lib/pool.h"
#include "workers/sample.h"
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void __real_fby_maker_make(struct fby_maker *maker, const struct fby_job *job,
			   struct fby_report *ret_report);
void __wrap_fby_maker_make(struct fby_maker *maker, const struct fby_job *job,
			   struct fby_report *ret_report);
int __real_fby_pool_attach(struct fby_pool *pool, const int fd[FBY_N_OBJECTS]);
int __wrap_fby_pool_attach(struct fby_pool *pool, const int fd[FBY_N_OBJECTS]);

/* Is it time for this fault?  *ret_number is what stands behind the colon. */
static bool is_wanted(const char *fault, uint64_t *ret_number)
{
	const char *wanted = getenv("STORY_FAULT");
	size_t n = strlen(fault);

	if (!wanted || strncmp(wanted, fault, n) != 0 || (wanted[n] && wanted[n] != ':'))
		return false;
	*ret_number = wanted[n] ? strtoull(wanted + n + 1, NULL, 10) : 0;
	return true;
}

static bool is_time(void)
{
	const char *marker = getenv("STORY_ONCE");
	int fd;

	if (!marker)
		return true;
	fd = open(marker, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void pause_us(uint64_t us)
{
	struct timespec t = { .tv_sec = (time_t)(us / 1000000),
			      .tv_nsec = (long)(us % 1000000 * 1000) };

	nanosleep(&t, NULL);
}

/* What the dead left in the row must not be seen: it is written over first. */
static void suffer(const struct fby_job *job)
{
	uint64_t id;

	memset(job->field[FBY_FIELD_IMAGE], 0xee, 64);
	memset(job->field[FBY_FIELD_LABEL], 0xee, sizeof(int64_t));
	if (is_wanted("segv", &id) && id == job->sample && is_time())
		raise(SIGSEGV);
	if (is_wanted("abort", &id) && id == job->sample && is_time())
		abort();
	while (is_wanted("spin", &id) && id == job->sample && is_time())
		for (;;)
			pause_us(1000000);
}

void __wrap_fby_maker_make(struct fby_maker *maker, const struct fby_job *job,
			   struct fby_report *ret_report)
{
	static uint64_t n_rows;
	const char *slow = getenv("STORY_SLOW_US");
	uint64_t n;

	if (is_wanted("exit", &n) && n_rows++ == n && is_time())
		_exit(0);
	suffer(job);
	if (slow)
		pause_us(strtoull(slow, NULL, 10));
	__real_fby_maker_make(maker, job, ret_report);
}

int __wrap_fby_pool_attach(struct fby_pool *pool, const int fd[FBY_N_OBJECTS])
{
	uint64_t n;
	int r;

	if (is_wanted("attach-exit", &n) && is_time())
		_exit((int)n);
	if (is_wanted("attach-kill", &n) && is_time())
		raise(SIGKILL);
	while (is_wanted("attach-hang", &n) && is_time())
		for (;;)
			pause_us(1000000);
	if (is_wanted("attach-fails", &n) && is_time())
		return fby_fail(-(int)n, "it does not attach");
	r = __real_fby_pool_attach(pool, fd);
	if (is_wanted("attach-fields", &n) && is_time())
		pool->geo.n_fields = (uint32_t)n;
	return r;
}
