/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/supervisor.h"
#include "lib/fail.h"
#include "lib/futex.h"
#include "lib/log.h"
#include "lib/sem.h"
#include "lib/stats.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#define SLICE_NS     100000000u
#define STOP_NS      2000000000u /* how long a worker may finish its row at the end */
#define EXIT_VERSION 78          /* the worker's exit status: not of this build */
#define MAX_ARGS     32

enum { PHASE_BIRTH, PHASE_RUNNING, PHASE_FAILED, PHASE_DEAD };

struct fby_hand {
	struct fby_process process;
	uint64_t due_ns;   /* when to start the next one, while there is none */
	uint32_t failures; /* deaths in a row without a row made by anybody */
	_Atomic uint32_t kill_wanted, is_stuck;
};

static uint32_t n_workers(const struct fby_supervisor *s)
{
	return s->window->pool->geo.n_workers;
}

static bool all_gone(const struct fby_supervisor *s)
{
	for (uint32_t i = 0; i < n_workers(s); i++)
		if (s->hand[i].process.pid)
			return false;
	return true;
}

/* ---- failing ---- */

/* No worker is coming back: whoever waits shall wake up and read the text. */
static void fail_pool(struct fby_supervisor *s, const char *why)
{
	const struct fby_pool *p = s->window->pool;

	if (atomic_load(&s->phase) == PHASE_FAILED)
		return;
	fby_log(FBY_LOG_ERROR, "%s", why);
	snprintf(s->text, sizeof(s->text), "%s", why);
	atomic_store(&s->phase, PHASE_FAILED); /* pairs with fby_supervisor_failure */
	for (uint32_t i = 0; i < p->geo.n_slots; i++)
		fby_sem_kick(fby_pool_ready(p, i), 1, 1);
}

const char *fby_supervisor_failure(const struct fby_supervisor *s)
{
	return atomic_load(&s->phase) == PHASE_FAILED ? s->text : NULL;
}

/* ---- counting failures ---- */

static uint64_t rows_made(const struct fby_supervisor *s)
{
	uint64_t sum = s->poisoned;

	for (uint32_t i = 0; i < n_workers(s); i++)
		sum += atomic_load(&fby_pool_worker(s->window->pool, i)->samples);
	return sum;
}

/* Any row made by anybody means that the pool is not failing. */
static void count_failure(struct fby_supervisor *s, uint32_t i)
{
	uint64_t made = rows_made(s);

	if (made != s->progress)
		for (uint32_t k = 0; k < n_workers(s); k++)
			s->hand[k].failures = 0;
	s->progress = made;
	s->hand[i].failures++;
}

static uint64_t back_off_ns(uint32_t failures)
{
	static const uint64_t ms[] = { 0, 0, 100, 1000, 10000 };

	return ms[fby_min(failures, FBY_ARRAY_SIZE(ms) - 1)] * 1000000u;
}

/* ---- starting ---- */

/*
 * argv of a worker: FOREBAY_WORKER_WRAP's words in front, if there are any.  A wrapped
 * worker is not our child: it need not check for its parent.
 */
static int start_process(struct fby_supervisor *s, uint32_t i)
{
	const struct fby_pool *p = s->window->pool;
	char wrap[1024], index[16], parent[16], *rest = wrap, *argv[MAX_ARGS + 4];
	int fd[FBY_N_INHERITED] = { p->fd[0], p->fd[1], p->fd[2], s->index_fd,
				    s->self_fd };
	int n = 0;

	snprintf(wrap, sizeof(wrap), "%s", s->wrap ? s->wrap : "");
	snprintf(index, sizeof(index), "%u", i);
	snprintf(parent, sizeof(parent), "%d", wrap[0] ? 0 : getpid());
	for (char *word; n < MAX_ARGS && (word = strtok_r(rest, " ", &rest));)
		argv[n++] = word;
	argv[n++] = (char *)(uintptr_t)s->program;
	argv[n++] = index;
	argv[n++] = parent;
	argv[n] = NULL;
	return fby_process_start(&s->hand[i].process, argv, s->environment, fd,
				 FBY_N_INHERITED);
}

/*
 * What the system refuses now (memory, processes, descriptors) it may grant later: tried
 * again, and believed only the third time while nobody else works.
 */
static void start_failed(struct fby_supervisor *s, uint32_t i)
{
	struct fby_hand *hand = &s->hand[i];

	fby_log(FBY_LOG_RUN, "worker %u is missing: %s", i, fby_error());
	count_failure(s, i);
	hand->due_ns = fby_now() + fby_max(back_off_ns(hand->failures), SLICE_NS);
	if (hand->failures >= 3 && all_gone(s))
		fail_pool(s, fby_error());
}

static void start(struct fby_supervisor *s, uint32_t i)
{
	struct fby_worker_record *record = fby_pool_worker(s->window->pool, i);

	atomic_store(&record->incarnation, atomic_load(&record->incarnation) + 1);
	atomic_store(&record->state, FBY_WORKER_STARTING);
	record->error[0] = 0;
	atomic_store(&s->hand[i].kill_wanted, 0); /* the one before was meant */
	if (start_process(s, i) < 0)
		start_failed(s, i);
}

static void start_due(struct fby_supervisor *s)
{
	uint64_t now = fby_now();

	if (atomic_load(&s->phase) != PHASE_RUNNING)
		return;
	for (uint32_t i = 0; i < n_workers(s); i++)
		if (!s->hand[i].process.pid && s->hand[i].due_ns <= now)
			start(s, i);
}

/* ---- death ---- */

static enum fby_death judge(struct fby_hand *hand, const struct fby_ending *ending)
{
	if (atomic_exchange(&hand->is_stuck, 0))
		return FBY_DEATH_CRASH;
	if (!ending->known || (!ending->signal && ending->code == 0))
		return FBY_DEATH_KILL;
	if (!ending->signal)
		return FBY_DEATH_CRASH;
	switch (ending->code) {
	case SIGSEGV:
	case SIGBUS:
	case SIGILL:
	case SIGFPE:
	case SIGABRT:
		return FBY_DEATH_CRASH;
	default:
		return FBY_DEATH_KILL;
	}
}

static void describe(const struct fby_ending *ending, char *ret_text, size_t size)
{
	if (!ending->known)
		snprintf(ret_text, size,
			 "ended (its status was taken by another thread)");
	else if (ending->signal && ending->code == SIGKILL)
		snprintf(ret_text, size, "was killed (SIGKILL: perhaps out of memory)");
	else if (ending->signal)
		snprintf(ret_text, size, "was ended by signal %d (%s)", ending->code,
			 strsignal(ending->code));
	else
		snprintf(ret_text, size, "ended with status %d", ending->code);
}

/*
 * A worker that says itself that it cannot run is believed at once, one that ends before
 * it runs at the third time; killed ones only when every worker died four times in a
 * row.
 */
static bool is_hopeless(const struct fby_supervisor *s, uint32_t i,
			const struct fby_ending *ending)
{
	bool said_so = ending->known && !ending->signal;
	bool ran = atomic_load(&fby_pool_worker(s->window->pool, i)->state) ==
		   FBY_WORKER_RUNNING;

	if (said_so && ending->code == EXIT_VERSION)
		return true;
	if (said_so && ending->code && !ran && s->hand[i].failures >= 3)
		return true;
	for (uint32_t k = 0; k < n_workers(s); k++)
		if (s->hand[k].failures < 4)
			return false;
	return true;
}

/* The record is input: it was written by a process that is not well. */
static void tell(struct fby_supervisor *s, uint32_t i, const struct fby_ending *ending,
		 char *ret_text, size_t size)
{
	struct fby_worker_record *record = fby_pool_worker(s->window->pool, i);
	char what[128];

	record->error[FBY_ERROR_BYTES - 1] = 0;
	describe(ending, what, sizeof(what));
	snprintf(ret_text, size, "worker %u (pid %d) %s%s%s", i, s->hand[i].process.pid,
		 what, record->error[0] ? ": " : "", record->error);
}

/* Take back, wake everybody, and only then start the next one: no row waits for that. */
static void bury(struct fby_supervisor *s, uint32_t i, const struct fby_ending *ending)
{
	struct fby_hand *hand = &s->hand[i];
	struct fby_worker_record *record = fby_pool_worker(s->window->pool, i);
	struct fby_trainer_record *stats = &s->window->pool->ctl->trainer;
	struct fby_recovery recovery;
	char text[1024];
	bool hopeless;

	fby_stats_add(&stats->deaths, 1); /* first: who sees what follows sees it too */
	recovery = fby_window_recover(s->window, i, judge(hand, ending));
	s->poisoned += recovery.poisoned;
	fby_stats_add(&stats->rows_taken_back, recovery.taken_back);
	tell(s, i, ending, text, sizeof(text));
	fby_log(FBY_LOG_RUN, "%s; %u rows taken back", text, recovery.taken_back);
	count_failure(s, i);
	hopeless = is_hopeless(s, i, ending);
	atomic_store(&record->state, FBY_WORKER_ENDED);
	atomic_store(&record->pid, 0);
	fby_process_finish(&hand->process);
	hand->due_ns = fby_now() + back_off_ns(hand->failures);
	if (hopeless)
		fail_pool(s, text);
}

static void kill_wanted(struct fby_supervisor *s, uint32_t i)
{
	struct fby_hand *hand = &s->hand[i];
	uint32_t pid = atomic_load(&fby_pool_worker(s->window->pool, i)->pid);

	if (!atomic_exchange(&hand->kill_wanted, 0))
		return;
	atomic_store(&hand->is_stuck, 1);
	fby_process_signal(&hand->process, SIGKILL);
	if (pid && (int)pid != hand->process.pid && s->wrap)
		kill((int)pid, SIGKILL); /* the worker behind its wrapper */
}

/* poll(2) has marked the dead, where there are pidfds; the others are asked. */
static void bury_dead(struct fby_supervisor *s)
{
	struct fby_ending ending;

	for (uint32_t i = 0; i < n_workers(s); i++) {
		struct fby_process *process = &s->hand[i].process;

		if (!process->pid)
			continue;
		kill_wanted(s, i);
		if (process->pidfd >= 0 && !s->fds[1 + i].revents)
			continue;
		if (fby_process_is_over(process, &ending))
			bury(s, i, &ending);
	}
}

/* ---- the thread ---- */

static void drain_wake_fd(struct fby_supervisor *s)
{
	uint64_t count;

	if (read(s->wake_fd, &count, sizeof(count)) < 0)
		return; /* nobody wrote */
}

/* Until something happens; in short slices where deaths do not show by themselves. */
static void sleep_a_while(struct fby_supervisor *s)
{
	struct pollfd *fds = s->fds;
	uint64_t now = fby_now(), wake_at = now + SLICE_NS;

	fds[0] = (struct pollfd){ .fd = s->wake_fd, .events = POLLIN };
	for (uint32_t i = 0; i < n_workers(s); i++) {
		const struct fby_hand *hand = &s->hand[i];

		fds[1 + i] =
			(struct pollfd){ .fd = hand->process.pidfd, .events = POLLIN };
		if (hand->process.pid && hand->process.pidfd < 0)
			wake_at = fby_min(wake_at, now + SLICE_NS / 10);
		else if (!hand->process.pid && !atomic_load(&s->stop) &&
			 atomic_load(&s->phase) == PHASE_RUNNING)
			wake_at = fby_min(wake_at, fby_max(hand->due_ns, now));
	}
	poll(fds, 1 + n_workers(s), (int)((wake_at - now + 999999) / 1000000));
	drain_wake_fd(s);
}

static void note_cpu_time(struct fby_supervisor *s)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	atomic_store(&s->window->pool->ctl->trainer.supervisor_cpu_ns,
		     (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec);
}

static void reap_at_end(struct fby_supervisor *s)
{
	struct fby_ending ending;

	for (uint32_t i = 0; i < n_workers(s); i++)
		if (s->hand[i].process.pid &&
		    fby_process_is_over(&s->hand[i].process, &ending))
			fby_process_finish(&s->hand[i].process);
}

static void end_workers(struct fby_supervisor *s)
{
	const struct fby_pool *p = s->window->pool;
	uint64_t deadline = fby_now() + STOP_NS;

	atomic_store(&p->ctl->run, FBY_STOP);
	fby_sem_kick(&p->ctl->work, p->geo.n_workers, p->geo.n_workers);
	for (reap_at_end(s); !all_gone(s); reap_at_end(s)) {
		if (fby_now() > deadline)
			for (uint32_t i = 0; i < n_workers(s); i++)
				fby_process_signal(&s->hand[i].process, SIGKILL);
		sleep_a_while(s);
	}
	atomic_store(&p->ctl->header.state, FBY_STATE_CLOSED);
}

/* The sleeper's flag goes up before each look: pairs with fby_supervisor_wake. */
static void look_after(struct fby_supervisor *s)
{
	atomic_store(&s->asleep, 1);
	while (!atomic_load(&s->stop)) {
		start_due(s);
		fby_window_fill(s->window);
		note_cpu_time(s);
		sleep_a_while(s);
		atomic_store(&s->asleep, 1);
		bury_dead(s);
	}
}

static int prepare(struct fby_supervisor *s)
{
	int r = s->birth(s->ctx);

	if (r < 0)
		return r;
	s->fds = calloc(n_workers(s) + 1, sizeof(*s->fds));
	s->hand = calloc(n_workers(s), sizeof(*s->hand));
	if (!s->fds || !s->hand)
		return fby_fail(-ENOMEM, "no memory for %u workers", n_workers(s));
	for (uint32_t i = 0; i < n_workers(s); i++)
		s->hand[i].process.pidfd = -1;
	return 0;
}

static void *thread_main(void *arg)
{
	struct fby_supervisor *s = arg;

	prctl(PR_SET_NAME, "forebay");
	s->birth_result = prepare(s);
	if (s->birth_result < 0)
		snprintf(s->text, sizeof(s->text), "%s", fby_error());
	atomic_store(&s->phase, s->birth_result < 0 ? PHASE_DEAD : PHASE_RUNNING);
	fby_futex_wake(&s->phase);
	if (s->birth_result == 0) {
		look_after(s);
		end_workers(s);
	}
	return NULL;
}

/* ---- the other threads' side ---- */

/* Signals are the trainer's business: the thread is born with all of them blocked. */
static int start_thread(struct fby_supervisor *s)
{
	sigset_t all, before;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&s->thread, NULL, thread_main, s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r)
		return fby_fail_errno(-r, "starting the supervisor's thread");
	return 0;
}

/* Not before the last release: a wake writes to wake_fd from any thread. */
void fby_supervisor_finish(struct fby_supervisor *s)
{
	if (s->wake_fd >= 0)
		close(s->wake_fd);
	if (s->self_fd >= 0)
		close(s->self_fd);
	s->wake_fd = s->self_fd = -1;
}

int fby_supervisor_start(struct fby_supervisor *s)
{
	int r;

	atomic_store(&s->phase, PHASE_BIRTH);
	s->self_fd = fby_process_pidfd(getpid());
	s->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = s->wake_fd < 0 ? fby_fail_errno(-errno, "an eventfd for the supervisor")
			   : start_thread(s);
	if (r < 0) {
		fby_supervisor_finish(s);
		return r;
	}
	while (atomic_load(&s->phase) == PHASE_BIRTH)
		fby_futex_wait(&s->phase, PHASE_BIRTH, SLICE_NS);
	if (s->birth_result == 0)
		return 0;
	fby_supervisor_stop(s);
	fby_supervisor_finish(s);
	return fby_fail(s->birth_result, "%s", s->text);
}

void fby_supervisor_stop(struct fby_supervisor *s)
{
	atomic_store(&s->stop, 1);
	fby_supervisor_wake(s);
	pthread_join(s->thread, NULL);
	free(s->hand);
	free(s->fds);
	s->hand = NULL;
	s->fds = NULL;
}

void fby_supervisor_wake(struct fby_supervisor *s)
{
	uint64_t one = 1;

	if (atomic_exchange(&s->asleep, 0) && write(s->wake_fd, &one, sizeof(one)) < 0)
		return; /* its counter is full: it is awake */
}

void fby_supervisor_kill(struct fby_supervisor *s, uint32_t worker)
{
	assert(worker < n_workers(s));
	atomic_store(&s->hand[worker].kill_wanted, 1);
	fby_supervisor_wake(s);
}
