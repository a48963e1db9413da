/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake-worker NUMBER PARENT: a worker process without pixels: the real loop with the rows
 * of tests/rows.c.  FAKE_WORKER says what is wrong with it:
 *
 *   exit=STATUS     ends before it runs, with a reason in its record
 *   rows=N          ends with status 0 after N rows
 *   crash=SAMPLE    raises SIGSEGV over this sample
 *   stick=SAMPLE    never finishes this sample
 *   busy=MAX_NS     a row takes up to so long
 */
#include "lib/fail.h"
#include "lib/process.h"
#include "tests/rows.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

struct fake {
	struct fby_worker_record *record;
	uint64_t rows, crash, stick, busy, left;
	int parent;
};

static uint64_t wish(const char *name)
{
	const char *text = getenv("FAKE_WORKER");
	size_t n = strlen(name);

	if (!text || strncmp(text, name, n) != 0 || text[n] != '=')
		return UINT64_MAX;
	return strtoull(text + n + 1, NULL, 0);
}

static void spin(uint64_t ns)
{
	uint64_t end = fby_now() + ns;

	while (fby_now() < end)
		;
}

static void make(void *ctx, const struct fby_job *job, struct fby_report *ret_report)
{
	struct fake *f = ctx;
	uint64_t busy = f->busy == UINT64_MAX ? 0 : fby_now() % (f->busy / 2 + 1);

	if (job->sample == f->crash)
		raise(SIGSEGV);
	while (job->sample == f->stick)
		pause();
	spin(busy);
	rows_make(NULL, job, ret_report);
	spin(busy);
	f->left--;
}

static bool go_on(void *ctx)
{
	const struct fake *f = ctx;

	return f->left && getppid() == f->parent;
}

int main(int argc, char **argv)
{
	const int fd[FBY_N_OBJECTS] = { FBY_FIRST_FD, FBY_FIRST_FD + 1,
					FBY_FIRST_FD + 2 };
	struct fake f = { .crash = wish("crash"),
			  .stick = wish("stick"),
			  .busy = wish("busy"),
			  .left = wish("rows") };
	struct fby_pool pool;
	struct fby_work work = { .pool = &pool, .make = make, .go_on = go_on, .ctx = &f };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (argc != 3 || fby_pool_attach(&pool, fd) < 0)
		return 2;
	f.parent = atoi(argv[2]);
	work.me = (uint32_t)atoi(argv[1]);
	f.record = fby_pool_worker(&pool, work.me);
	atomic_store(&f.record->pid, (uint32_t)getpid());
	if (wish("exit") != UINT64_MAX) {
		snprintf(f.record->error, FBY_ERROR_BYTES,
			 "this worker does not want to");
		return (int)wish("exit");
	}
	atomic_store(&f.record->state, FBY_WORKER_RUNNING);
	return fby_work_run(&work) < 0 ? 3 : 0;
}
