/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forebay-worker NUMBER PARENT: one worker process.  Started by the library with the
 * pool at descriptors 3, 4 and 5, the index at 6, and a pidfd of the trainer at 7 where
 * the kernel has them.  Exit status: 0 told to stop, 78 the pool is of another build, 2
 * wrong use, 3 otherwise (the reason stands in the worker's record).
 */
#include "lib/fail.h"
#include "lib/index.h"
#include "lib/pipeline.h"
#include "lib/process.h"
#include "lib/ticket.h"
#include "workers/sample.h"
#include "workers/work.h"
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { EXIT_USE = 2, EXIT_SYSTEM = 3, EXIT_VERSION = 78 };
enum { INDEX_FD = FBY_FIRST_FD + FBY_INHERIT_INDEX };
enum { TRAINER_FD = FBY_FIRST_FD + FBY_INHERIT_TRAINER };

struct worker {
	struct fby_pool pool;
	struct fby_index *index;
	struct fby_maker *maker;
	struct fby_worker_record *record;
	uint32_t me;
	int parent; /* 0: wrapped, our parent is not the trainer */
};

static volatile sig_atomic_t told_to_end;
static struct worker *crashing; /* for the handler */

/* ---- life ---- */

/* The trainer's pidfd becomes readable when it is gone. */
static bool trainer_is_gone(const struct worker *w)
{
	struct pollfd p = { .fd = TRAINER_FD, .events = POLLIN };

	return (w->parent && getppid() != w->parent) ||
	       (poll(&p, 1, 0) == 1 && (p.revents & POLLIN));
}

static bool go_on(void *ctx)
{
	const struct worker *w = ctx;
	bool idle = atomic_load(&w->record->stage) == FBY_STAGE_IDLE;

	return !told_to_end && !(idle && trainer_is_gone(w));
}

static void make(void *ctx, const struct fby_job *job, struct fby_report *ret_report)
{
	struct worker *w = ctx;

	fby_maker_make(w->maker, job, ret_report);
}

/* ---- signals ---- */

static void on_term(int signal)
{
	(void)signal;
	told_to_end = 1;
}

static char *append(char *at, const char *text)
{
	while (*text)
		*at++ = *text++;
	return at;
}

static char *append_number(char *at, uint64_t number)
{
	char digits[24], *d = digits + sizeof(digits) - 1;

	*d = 0;
	do
		*--d = (char)('0' + number % 10);
	while (number /= 10);
	return append(at, d);
}

/* Says in the record where it happened, then dies of the same signal. */
static void on_crash(int signal)
{
	struct fby_worker_record *record = crashing->record;
	const struct fby_pool *p = &crashing->pool;
	uint64_t seq = atomic_load(&record->seq), row = atomic_load(&record->row);
	char *at = record->error;

	at = append(at, "it crashed on row ");
	at = append_number(at, row);
	at = append(at, " of batch ");
	at = append_number(at, seq);
	if (row < p->geo.batch) {
		at = append(at, ", sample ");
		at = append_number(at,
				   fby_ticket_samples(p, fby_pool_ticket(p, seq))[row]);
	}
	*at = 0;
	raise(signal); /* SA_RESETHAND: the default now */
}

static void handle(int signal, void (*handler)(int), int flags)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };

	sigaction(signal, &action, NULL);
}

static void set_signals(struct worker *w)
{
	static char stack[16384];
	stack_t alternative = { .ss_sp = stack, .ss_size = sizeof(stack) };

	crashing = w;
	sigaltstack(&alternative, NULL);
	handle(SIGSEGV, on_crash, (int)(SA_RESETHAND | SA_ONSTACK | SA_NODEFER));
	handle(SIGBUS, on_crash, (int)(SA_RESETHAND | SA_ONSTACK | SA_NODEFER));
	handle(SIGTERM, on_term, 0);
	handle(SIGINT, SIG_IGN, 0);
	handle(SIGTSTP, SIG_IGN, 0);
	handle(SIGPIPE, SIG_IGN, 0);
}

/* ---- surroundings ---- */

static void close_by_walk(int first)
{
	DIR *folder = opendir("/proc/self/fd");
	struct dirent *entry;

	if (!folder)
		return;
	while ((entry = readdir(folder))) {
		int fd = atoi(entry->d_name);

		if (fd >= first && fd != dirfd(folder))
			close(fd);
	}
	closedir(folder);
}

/* An inherited socket would keep a port, /dev/nvidia0 a GPU. */
static void close_foreign(void)
{
	unsigned first = TRAINER_FD + 1;

	if (syscall(SYS_close_range, first, ~0u, 0) < 0)
		close_by_walk((int)first);
}

/* A dump would hold the pool, and the death is not visible before it is written. */
static void forbid_core(void)
{
	const char *wanted = getenv("FOREBAY_CORE");
	struct rlimit none = { 0, 0 };

	if (!wanted || strcmp(wanted, "1") != 0)
		setrlimit(RLIMIT_CORE, &none);
}

static int parse(const char *text, int *ret_number)
{
	char *end;
	long n = strtol(text, &end, 10);

	if (*end || end == text || n < 0 || n > INT32_MAX)
		return -EINVAL;
	*ret_number = (int)n;
	return 0;
}

/* ---- start and end ---- */

static int attach(struct worker *w)
{
	const int fd[FBY_N_OBJECTS] = { FBY_FIRST_FD, FBY_FIRST_FD + 1,
					FBY_FIRST_FD + 2 };
	int r = fby_pool_attach(&w->pool, fd);

	if (r < 0)
		return r;
	if (w->me >= w->pool.geo.n_workers) {
		fby_pool_finish(&w->pool);
		return fby_fail(-EBADMSG, "worker %u: the pool has %u", w->me,
				w->pool.geo.n_workers);
	}
	w->record = fby_pool_worker(&w->pool, w->me);
	atomic_store(&w->record->pid, (uint32_t)getpid());
	return 0;
}

/* After the maker has seen that the pipeline makes sense: rows end where the next begin.
 */
static int check_rows(const struct fby_pool *p)
{
	const struct fby_geometry *g = &p->geo;

	if (g->n_fields == FBY_N_FIELDS &&
	    g->row_bytes[FBY_FIELD_IMAGE] == fby_pipeline_image_bytes(p->cfg) &&
	    g->row_bytes[FBY_FIELD_LABEL] == sizeof(int64_t))
		return 0;
	return fby_fail(-EBADMSG, "the pool's rows are not those its pipeline makes");
}

static int work(struct worker *w)
{
	struct fby_work loop = {
		.pool = &w->pool, .me = w->me, .make = make, .go_on = go_on, .ctx = w
	};
	int r = fby_index_open_fd(INDEX_FD, w->pool.cfg->index_path, &w->index);

	if (r == 0)
		r = fby_maker_create(w->pool.cfg, w->index, &w->maker);
	if (r == 0)
		r = check_rows(&w->pool);
	if (r == 0) {
		atomic_store(&w->record->state, FBY_WORKER_RUNNING);
		r = fby_work_run(&loop);
	}
	if (r < 0)
		snprintf(w->record->error, sizeof(w->record->error), "%s", fby_error());
	fby_maker_destroy(w->maker);
	fby_index_close(w->index);
	return r < 0 ? EXIT_SYSTEM : 0;
}

int main(int argc, char **argv)
{
	struct worker w = { 0 };
	int me, r;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (argc != 3 || parse(argv[1], &me) < 0 || parse(argv[2], &w.parent) < 0) {
		fprintf(stderr, "usage: forebay-worker NUMBER PARENT\n"
				"It is started by libforebay, not by hand.\n");
		return EXIT_USE;
	}
	w.me = (uint32_t)me;
	if (w.parent && getppid() != w.parent)
		return EXIT_SYSTEM; /* it died before the prctl */
	close_foreign();
	forbid_core();
	r = attach(&w);
	if (r < 0) {
		fprintf(stderr, "forebay-worker: %s\n", fby_error());
		return r == -EBADMSG ? EXIT_VERSION : EXIT_SYSTEM;
	}
	set_signals(&w);
	return work(&w);
}
