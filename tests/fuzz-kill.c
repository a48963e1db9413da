/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Real worker processes under a trainer that seeks and lets go late, while random ones
 * are killed, single and in pairs: every batch in order with the right bytes, nobody
 * hangs, and no time-out slice is ever what woke somebody up.
 *
 *   undisturbed   the real supervisor, nobody is killed
 *   supervised    the real supervisor starts, buries and replaces; exec'ed workers
 *   forked        a bare supervisor of this file, so that deaths come far quicker
 *
 * Usage: fuzz-kill [SECONDS [SEED]]
 */
#include "lib/fail.h"
#include "lib/process.h"
#include "lib/sem.h"
#include "lib/supervisor.h"
#include "tests/fuzz.h"
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define N_WORKERS 3
#define BATCH     70
#define N_SLOTS   4
#define FIRST_SEQ ((1ull << 32) - 3)

static struct fby_pool pool;
static struct fby_window window;
static _Atomic bool ending;
static _Atomic unsigned long long kills, deaths, taken_back;
static uint64_t seed = 1, kill_us;
static int n_cases, n_bad;

static int make_world(void *ctx)
{
	struct fby_plan plan;
	int r = fby_plan_init(&plan, BATCH * 5 + 33, BATCH, true, false, seed);

	(void)ctx;
	if (r == 0)
		r = rows_pool(&pool, N_SLOTS, N_WORKERS, BATCH);
	return r < 0 ? r : fby_window_init(&window, &pool, &plan, FIRST_SEQ);
}

static void end_world(void)
{
	fby_window_finish(&window);
	fby_pool_finish(&pool);
}

static void result(const char *name, const struct fuzz *f)
{
	bool good = fuzz_is_good(f);

	fuzz_print(f);
	printf("# %llu kills, %llu deaths, %llu rows taken back\n", atomic_load(&kills),
	       atomic_load(&deaths), atomic_load(&taken_back));
	n_bad += !good;
	printf("%s %d - %s, seed %llu\n", good ? "ok" : "not ok", ++n_cases, name,
	       (unsigned long long)seed);
	fflush(stdout);
}

/* ---- the killer ---- */

/* A pidfd of worker i that is our child for sure, or -1. */
static int pidfd_of(uint32_t i)
{
	uint32_t pid = atomic_load(&fby_pool_worker(&pool, i)->pid);
	int fd = pid ? fby_process_pidfd((int)pid) : -1;
	siginfo_t info;

	if (fd >= 0 &&
	    waitid((idtype_t)P_PIDFD, (id_t)fd, &info, WEXITED | WNOHANG | WNOWAIT) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static void kill_one(uint64_t *random)
{
	int fd = pidfd_of((uint32_t)(fuzz_draw(random) % N_WORKERS));

	if (fd < 0)
		return;
	if (syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0) == 0)
		atomic_fetch_add(&kills, 1);
	close(fd);
}

static void *killer(void *arg)
{
	uint64_t random = seed ^ 0xdead;

	while (!atomic_load(&ending)) {
		usleep((useconds_t)(fuzz_draw(&random) % (2 * kill_us + 1)));
		kill_one(&random);
		if (fuzz_draw(&random) % 4 == 0)
			kill_one(&random);
	}
	return arg;
}

static void train_and_kill(struct fuzz *f, uint64_t ns)
{
	pthread_t thread;
	bool killing = kill_us && pthread_create(&thread, NULL, killer, NULL) == 0;

	fuzz_train(f, ns);
	atomic_store(&ending, true);
	if (killing)
		pthread_join(thread, NULL);
}

static void begin(uint64_t us)
{
	atomic_store(&ending, false);
	atomic_store(&kills, 0);
	atomic_store(&deaths, 0);
	atomic_store(&taken_back, 0);
	kill_us = us;
}

/* ---- the real supervisor ---- */

static void wake_supervisor(void *ctx)
{
	fby_supervisor_wake(ctx);
}

static void supervised(const char *name, uint64_t us, uint64_t ns)
{
	struct fby_supervisor s = { .window = &window,
				    .program = FAKE_WORKER,
				    .environment = environ,
				    .index_fd = -1,
				    .birth = make_world };
	struct fuzz f = {
		.window = &window, .released = wake_supervisor, .ctx = &s, .random = seed
	};

	begin(us);
	if (fby_supervisor_start(&s) < 0) {
		printf("Bail out! %s\n", fby_error());
		exit(2);
	}
	train_and_kill(&f, ns);
	if (fby_supervisor_failure(&s))
		printf("# the pool failed: %s\n", fby_supervisor_failure(&s));
	fby_supervisor_stop(&s);
	fby_supervisor_finish(&s);
	atomic_store(&deaths, atomic_load(&pool.ctl->trainer.deaths));
	atomic_store(&taken_back, atomic_load(&pool.ctl->trainer.rows_taken_back));
	result(name, &f);
	end_world();
}

/* ---- a bare one ---- */

static void busy_make(void *ctx, const struct fby_job *job, struct fby_report *ret_report)
{
	uint64_t end = fby_now() + fby_now() % 15000;

	while (fby_now() < end)
		;
	rows_make(ctx, job, ret_report);
}

static bool go_on(void *ctx)
{
	(void)ctx;
	return true;
}

static int start_fork(uint32_t me)
{
	struct fby_work work = {
		.pool = &pool, .me = me, .make = busy_make, .go_on = go_on
	};
	int pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	atomic_store(&fby_pool_worker(&pool, me)->pid, (uint32_t)getpid());
	_exit(fby_work_run(&work) < 0);
}

/* Death is what the kernel says. */
static void *fork_and_bury(void *arg)
{
	int pid[N_WORKERS];
	siginfo_t info;

	for (uint32_t i = 0; i < N_WORKERS; i++)
		pid[i] = start_fork(i);
	while (waitid(P_ALL, 0, &info, WEXITED) == 0) {
		struct fby_recovery recovery;
		uint32_t i = 0;

		while (i < N_WORKERS && pid[i] != info.si_pid)
			i++;
		if (i == N_WORKERS || atomic_load(&ending))
			continue;
		recovery = fby_window_recover(&window, i, FBY_DEATH_KILL);
		atomic_fetch_add(&deaths, 1);
		atomic_fetch_add(&taken_back, recovery.taken_back);
		pid[i] = start_fork(i);
	}
	return arg;
}

static void fill(void *ctx)
{
	(void)ctx;
	fby_window_fill(&window);
}

static void forked(uint64_t us, uint64_t ns)
{
	struct fuzz f = { .window = &window, .released = fill, .random = seed };
	pthread_t thread;

	begin(us);
	if (make_world(NULL) < 0 ||
	    pthread_create(&thread, NULL, fork_and_bury, NULL) != 0) {
		printf("Bail out! %s\n", fby_error());
		exit(2);
	}
	fill(NULL);
	train_and_kill(&f, ns);
	atomic_store(&pool.ctl->run, FBY_STOP);
	fby_sem_kick(&pool.ctl->work, N_WORKERS, N_WORKERS);
	pthread_join(thread, NULL);
	result("forked workers, killed", &f);
	end_world();
}

int main(int argc, char **argv)
{
	uint64_t seconds = argc > 1 ? strtoull(argv[1], NULL, 0) : 20;

	seed = argc > 2 ? strtoull(argv[2], NULL, 0) : fby_now();
	printf("1..3\n");
	setenv("FAKE_WORKER", "busy=30000", 1);
	supervised("undisturbed", 0, seconds * 200000000u);
	supervised("supervised workers, killed", 5000, seconds * 400000000u);
	forked(1500, seconds * 400000000u);
	return n_bad != 0;
}
