/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sweep-step.h"
#include "lib/futex.h"
#include "tests/sweep-world.h"
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define SYSCALL 0x050f /* the instruction */

void __wrap_fby_futex_wake(_Atomic uint32_t *word);
void __real_fby_futex_wake(_Atomic uint32_t *word);
int __wrap_fby_futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t ns);
int __real_fby_futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t ns);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret_time);

static bool is_stepped; /* this process is a stepped worker */
static int gone;        /* the last worker that ended by itself: reaped */

/* Shared: a stepped worker is inside of lib/futex.c.  Saves looks at registers. */
static _Atomic uint32_t *in_futex;

/* These are linked in front of the real ones (--wrap): nobody sleeps in this process. */
void __wrap_fby_futex_wake(_Atomic uint32_t *word)
{
	if (!is_stepped) {
		world_wake(word);
		return;
	}
	atomic_fetch_add(in_futex, 1);
	__real_fby_futex_wake(word);
	atomic_fetch_sub(in_futex, 1);
}

int __wrap_fby_futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t ns)
{
	int r;

	assert(is_stepped);
	atomic_fetch_add(in_futex, 1);
	r = __real_fby_futex_wait(word, value, ns);
	atomic_fetch_sub(in_futex, 1);
	return r;
}

/* Time is not under test, and the vDSO need not be stepped through. */
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret_time)
{
	(void)clock;
	*ret_time = (struct timespec){ .tv_sec = 1 };
	return 0;
}

struct until {
	_Atomic uint64_t *sleeps;
	uint64_t enough;
};

static bool go_on(void *ctx)
{
	struct until *until = ctx;

	return atomic_load(until->sleeps) < until->enough;
}

static void be_worker(uint32_t me, uint64_t sleeps)
{
	struct until until = { .sleeps = &fby_pool_worker(&live.pool, me)->sleeps,
			       .enough = sleeps };
	struct fby_work work = { .pool = &live.pool,
				 .me = me,
				 .make = rows_make,
				 .go_on = go_on,
				 .ctx = &until };

	is_stepped = true;
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	raise(SIGSTOP);
	_exit(fby_work_run(&work) < 0);
}

/* One CPU for both sides: a step is two switches, and no message to another CPU. */
void step_init(void)
{
	cpu_set_t one;

	in_futex = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	if (in_futex == MAP_FAILED)
		abort();
	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
}

int step_start(uint32_t me, uint64_t sleeps)
{
	int pid, status;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		abort();
	if (!pid)
		be_worker(me, sleeps);
	gone = 0;
	if (me == STEPPED) /* the first: one that was killed may have left it up */
		atomic_store(in_futex, 0);
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) ||
	    ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_EXITKILL)) {
		printf("Bail out! ptrace: %s\n", strerror(errno));
		exit(2);
	}
	return pid;
}

void step_kill(int pid)
{
	if (pid == gone) /* its number may be another's by now */
		return;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* It would sleep: then nothing may be left to do, and its wake-up must be to come. */
static long end_wait(const struct user_regs_struct *regs)
{
	const _Atomic uint32_t *word = (const _Atomic uint32_t *)regs->rdi;

	if (atomic_load(word) != (uint32_t)regs->rdx)
		return -EAGAIN;
	if (is_row_free(&live))
		violation("a worker sleeps although a row is free");
	return -ETIMEDOUT;
}

/* The text is the same in this process: it was forked from it. */
static bool is_futex(const struct user_regs_struct *regs, uint64_t operation)
{
	return *(const uint16_t *)regs->rip == SYSCALL && regs->rax == SYS_futex &&
	       (regs->rsi & FUTEX_CMD_MASK) == operation;
}

bool step_one(int pid, bool *ret_woke)
{
	struct user_regs_struct regs;
	int status;

	*ret_woke = false;
	if (atomic_load(in_futex) && ptrace(PTRACE_GETREGS, pid, 0, &regs) == 0) {
		*ret_woke = is_futex(&regs, FUTEX_WAKE);
		if (is_futex(&regs, FUTEX_WAIT)) {
			regs.rax = (unsigned long long)end_wait(&regs);
			regs.rip += 2;
			ptrace(PTRACE_SETREGS, pid, 0, &regs);
			return true;
		}
	}
	if (ptrace(PTRACE_SINGLESTEP, pid, 0, 0) || waitpid(pid, &status, 0) < 0 ||
	    !WIFSTOPPED(status)) {
		gone = pid;
		return false;
	}
	if (*ret_woke) {
		world_wake((const void *)regs.rdi);
		trainer_runs(&live);
	}
	return true;
}
