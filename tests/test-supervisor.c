/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workers are started, watched, taken back from and replaced.  They are fake-workers;
 * FAKE_WORKER says what is wrong with them.  syscall(2) and poll(2) are wrapped: the
 * kernel can be made to refuse pidfds, and looks of the thread are counted.
 */
#include "lib/fail.h"
#include "lib/sem.h"
#include "lib/supervisor.h"
#include "tests/rows.h"
#include "tests/unit.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LONG_NS  20000000000u
#define SLICE_NS 10000000u
#define WORKERS  2
#define BATCH    8
#define SEED     4

static struct fby_pool pool;
static struct fby_window window;
static struct fby_supervisor s;
static bool refuse_pidfds;
static _Atomic unsigned n_polls;

long __wrap_syscall(long number, long a, long b, long c, long d, long e);
long __real_syscall(long number, long a, long b, long c, long d, long e);
int __wrap_poll(struct pollfd *fds, nfds_t n, int ms);
int __real_poll(struct pollfd *fds, nfds_t n, int ms);

long __wrap_syscall(long number, long a, long b, long c, long d, long e)
{
	if (refuse_pidfds && number == SYS_pidfd_open) {
		errno = ENOSYS;
		return -1;
	}
	return __real_syscall(number, a, b, c, d, e);
}

int __wrap_poll(struct pollfd *fds, nfds_t n, int ms)
{
	atomic_fetch_add(&n_polls, 1);
	return __real_poll(fds, n, ms);
}

static int birth(void *ctx)
{
	struct fby_plan plan;

	(void)ctx;
	if (fby_plan_init(&plan, 1000 * BATCH, BATCH, false, false, SEED) < 0 ||
	    rows_pool(&pool, 3, WORKERS, BATCH) < 0)
		return -EIO;
	return fby_window_init(&window, &pool, &plan, 0);
}

static void start_with(const char *fault, const char *program)
{
	setenv("FAKE_WORKER", fault, 1);
	s = (struct fby_supervisor){ .window = &window,
				     .program = program,
				     .environment = environ,
				     .index_fd = -1,
				     .birth = birth };
	assert_int_equal(fby_supervisor_start(&s), 0);
}

static void start(const char *fault)
{
	start_with(fault, FAKE_WORKER);
}

static void stop(void)
{
	uint32_t pid[WORKERS];

	for (uint32_t i = 0; i < WORKERS; i++)
		pid[i] = atomic_load(&fby_pool_worker(&pool, i)->pid);
	fby_supervisor_stop(&s);
	fby_supervisor_finish(&s);
	for (uint32_t i = 0; i < WORKERS; i++)
		assert_true(!pid[i] || (kill((int)pid[i], 0) < 0 && errno == ESRCH));
	fby_window_finish(&window);
	fby_pool_finish(&pool);
}

/* What the user does: wait, look, release. */
static void take_batches(int n, uint32_t n_bad)
{
	uint64_t deadline = fby_now() + LONG_NS;

	while (n) {
		struct fby_lease *lease = fby_window_take(&window, false);
		struct fby_sem *sem = fby_window_oldest(&window);

		assert_null(fby_supervisor_failure(&s));
		assert_true(fby_now() < deadline);
		if (!lease) {
			if (sem)
				fby_sem_wait(sem, SLICE_NS);
			continue;
		}
		assert_int_equal(lease->n_bad, n_bad);
		for (uint32_t i = 0; !n_bad && i < lease->part.n; i++)
			assert_true(rows_is_right(&pool, lease, SEED, i));
		fby_slots_release(&window.slots, lease->slot, lease->seq);
		fby_supervisor_wake(&s);
		n--;
	}
}

static uint32_t await_pid(uint32_t worker, uint32_t other_than)
{
	struct fby_worker_record *record = fby_pool_worker(&pool, worker);
	uint64_t deadline = fby_now() + LONG_NS;

	while (atomic_load(&record->state) != FBY_WORKER_RUNNING ||
	       !atomic_load(&record->pid) || atomic_load(&record->pid) == other_than)
		assert_true(fby_now() < deadline);
	return atomic_load(&record->pid);
}

static const char *await_failure(void)
{
	uint64_t deadline = fby_now() + LONG_NS;

	while (!fby_supervisor_failure(&s))
		assert_true(fby_now() < deadline);
	return fby_supervisor_failure(&s);
}

static uint32_t incarnations(uint32_t worker)
{
	return atomic_load(&fby_pool_worker(&pool, worker)->incarnation);
}

static void await_incarnation(uint32_t worker, uint32_t n)
{
	uint64_t deadline = fby_now() + LONG_NS;

	while (incarnations(worker) < n)
		assert_true(fby_now() < deadline);
}

/* ---- life ---- */

static void workers_make_batches_and_end_when_told(void **state)
{
	(void)state;
	start("");
	take_batches(7, 0);
	assert_int_equal(atomic_load(&pool.ctl->trainer.deaths), 0);
	stop();
}

static int failing_birth(void *ctx)
{
	(void)ctx;
	return fby_fail(-EIO, "it was not to be");
}

static void error_of_birth_is_forwarded(void **state)
{
	struct fby_supervisor bad = { .window = &window, .birth = failing_birth };

	(void)state;
	assert_int_equal(fby_supervisor_start(&bad), -EIO);
	assert_string_equal(fby_error(), "it was not to be");
}

static void killed_worker_is_replaced_and_its_rows_made(void **state)
{
	uint32_t pid;

	(void)state;
	start("busy=20000");
	pid = await_pid(0, 0);
	take_batches(2, 0);
	assert_int_equal(kill((int)pid, SIGKILL), 0);
	await_pid(0, pid);
	take_batches(5, 0);
	assert_int_equal(incarnations(0), 2);
	assert_int_equal(atomic_load(&pool.ctl->trainer.deaths), 1);
	stop();
}

static void worker_that_exits_unasked_is_replaced(void **state)
{
	(void)state;
	start("rows=5");
	take_batches(6, 0);
	assert_true(atomic_load(&pool.ctl->trainer.deaths) >= 6);
	assert_null(fby_supervisor_failure(&s));
	stop();
}

static void death_is_seen_while_sigchld_is_ignored(void **state)
{
	uint32_t pid;

	(void)state;
	signal(SIGCHLD, SIG_IGN);
	start("");
	pid = await_pid(1, 0);
	assert_int_equal(kill((int)pid, SIGKILL), 0);
	await_pid(1, pid);
	take_batches(5, 0);
	stop();
	signal(SIGCHLD, SIG_DFL);
}

static void death_is_seen_without_pidfds(void **state)
{
	uint32_t pid;

	(void)state;
	refuse_pidfds = true;
	start("");
	assert_int_equal(s.self_fd < 0, true);
	pid = await_pid(1, 0);
	assert_int_equal(kill((int)pid, SIGKILL), 0);
	await_pid(1, pid);
	take_batches(5, 0);
	stop();
	refuse_pidfds = false;
}

/* ---- faults ---- */

static void worker_of_another_build_fails_the_pool_at_once(void **state)
{
	const char *text;

	(void)state;
	start("exit=78");
	text = await_failure();
	assert_non_null(strstr(text, "status 78"));
	assert_non_null(strstr(text, "this worker does not want to"));
	assert_true(incarnations(0) <= 1 && incarnations(1) <= 1);
	stop();
}

static void third_start_that_fails_fails_the_pool(void **state)
{
	const char *text;

	(void)state;
	start("exit=3");
	text = await_failure();
	assert_non_null(strstr(text, "this worker does not want to"));
	assert_true(incarnations(0) == 3 || incarnations(1) == 3);
	stop();
}

static void program_that_is_not_there_fails_the_pool(void **state)
{
	(void)state;
	start_with("", "/no/such/worker");
	assert_non_null(strstr(await_failure(), "/no/such/worker"));
	stop();
}

/* A process too many, at the wrong moment, ended a training run. */
static void worker_that_cannot_be_started_now_is_started_later(void **state)
{
	char folder[] = "/tmp/forebay-XXXXXX", program[64];
	uint32_t pid, before;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(program, sizeof(program), "%s/worker", folder);
	assert_int_equal(symlink(FAKE_WORKER, program), 0);
	start_with("", program);
	pid = await_pid(0, 0);
	await_pid(1, 0);
	assert_int_equal(unlink(program), 0);
	before = incarnations(0);
	assert_int_equal(kill((int)pid, SIGKILL), 0);
	await_incarnation(0, before + 2);
	take_batches(5, 0);
	assert_int_equal(symlink(FAKE_WORKER, program), 0);
	await_pid(0, pid);
	stop();
	unlink(program);
	rmdir(folder);
}

static void who_waits_is_woken_when_the_pool_fails(void **state)
{
	(void)state;
	start("exit=78");
	await_failure();
	for (uint32_t i = 0; i < 3; i++)
		assert_true(fby_sem_wait(fby_pool_ready(&pool, i), LONG_NS) ==
			    FBY_WOKE_TOKEN);
	stop();
}

static void sample_that_crashes_workers_is_poison_and_the_rest_goes_on(void **state)
{
	(void)state;
	start("crash=3");
	take_batches(1, 1);
	take_batches(4, 0);
	assert_true(atomic_load(&pool.ctl->trainer.deaths) >= FBY_CRASH_LIMIT);
	stop();
}

static uint32_t await_owner(uint32_t row)
{
	uint64_t deadline = fby_now() + LONG_NS;
	uint32_t owner;

	do {
		struct fby_ticket *t = fby_pool_ticket(&pool, 0);

		owner = fby_claim_owner(atomic_load(&fby_ticket_claims(&pool, t)[row]));
		assert_true(fby_now() < deadline);
	} while (owner == FBY_OWNER_FREE || owner > WORKERS);
	return owner;
}

/* A stuck worker that is killed counts a crash: three, not ten. */
static void stuck_worker_is_killed_and_its_sample_poison(void **state)
{
	uint64_t deadline = fby_now() + LONG_NS;

	(void)state;
	start("stick=0");
	for (uint64_t died = 0; died < FBY_CRASH_LIMIT; died++) {
		uint32_t owner = await_owner(0);

		fby_supervisor_kill(&s, owner - 1);
		while (atomic_load(&pool.ctl->trainer.rows_taken_back) == died)
			assert_true(fby_now() < deadline);
	}
	take_batches(1, 1);
	assert_int_equal(atomic_load(&pool.ctl->trainer.deaths), FBY_CRASH_LIMIT);
	stop();
}

/* Once one worker was reaped, the wait for the others turned into a busy loop. */
static void stop_does_not_spin_while_a_worker_lingers(void **state)
{
	uint32_t pid;

	(void)state;
	start("");
	take_batches(3, 0);
	await_pid(0, 0);
	pid = await_pid(1, 0);
	assert_int_equal(kill((int)pid, SIGSTOP), 0);
	atomic_store(&n_polls, 0);
	stop(); /* 2 s, then SIGKILL */
	assert_true(atomic_load(&n_polls) < 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(workers_make_batches_and_end_when_told),
		cmocka_unit_test(error_of_birth_is_forwarded),
		cmocka_unit_test(killed_worker_is_replaced_and_its_rows_made),
		cmocka_unit_test(worker_that_exits_unasked_is_replaced),
		cmocka_unit_test(death_is_seen_while_sigchld_is_ignored),
		cmocka_unit_test(death_is_seen_without_pidfds),
		cmocka_unit_test(worker_of_another_build_fails_the_pool_at_once),
		cmocka_unit_test(third_start_that_fails_fails_the_pool),
		cmocka_unit_test(program_that_is_not_there_fails_the_pool),
		cmocka_unit_test(worker_that_cannot_be_started_now_is_started_later),
		cmocka_unit_test(who_waits_is_woken_when_the_pool_fails),
		cmocka_unit_test(
			sample_that_crashes_workers_is_poison_and_the_rest_goes_on),
		cmocka_unit_test(stuck_worker_is_killed_and_its_sample_poison),
		cmocka_unit_test(stop_does_not_spin_while_a_worker_lingers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
