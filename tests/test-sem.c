/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The semaphore: post with a cap, take, arm, wait, kick; between processes as well, and
 * beside sem_t where that can do the same.  fby_futex_wake is wrapped: what a word says
 * at the moment of a wake is seen.
 */
#include "lib/futex.h"
#include "lib/sem.h"
#include "tests/unit.h"
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define LONG_NS 10000000000u /* a deadline, never reached when all is well */

static int n_wakes;
static uint32_t word_at_wake;

void __wrap_fby_futex_wake(_Atomic uint32_t *word);
void __real_fby_futex_wake(_Atomic uint32_t *word);

void __wrap_fby_futex_wake(_Atomic uint32_t *word)
{
	n_wakes++;
	word_at_wake = atomic_load(word);
	__real_fby_futex_wake(word);
}

/* ---- one process ---- */

static void take_of_nothing_fails(void **state)
{
	struct fby_sem sem = { 0 };

	(void)state;
	assert_false(fby_sem_take(&sem));
	assert_int_equal(atomic_load(&sem.word), 0);
}

static void each_token_is_taken_once(void **state)
{
	struct fby_sem sem = { 0 };

	(void)state;
	fby_sem_post(&sem, 2, 8);
	assert_true(fby_sem_take(&sem));
	assert_true(fby_sem_take(&sem));
	assert_false(fby_sem_take(&sem));
}

static void post_stops_at_its_cap(void **state)
{
	struct fby_sem sem = { 0 };
	int n = 0;

	(void)state;
	fby_sem_post(&sem, 2, 3);
	fby_sem_post(&sem, 2, 3);
	fby_sem_post(&sem, 2, 3);
	while (fby_sem_take(&sem))
		n++;
	assert_int_equal(n, 3);
}

static void arm_marks_a_sleeper_on_an_empty_semaphore(void **state)
{
	struct fby_sem sem = { 0 };

	(void)state;
	assert_true(fby_sem_arm(&sem));
	assert_int_equal(atomic_load(&sem.word), 1);
	assert_true(fby_sem_arm(&sem)); /* one bit for all sleepers */
	assert_int_equal(atomic_load(&sem.word), 1);
}

static void arm_over_a_token_fails_and_leaves_it(void **state)
{
	struct fby_sem sem = { 0 };

	(void)state;
	fby_sem_post(&sem, 1, 1);
	assert_false(fby_sem_arm(&sem));
	assert_true(fby_sem_take(&sem));
}

static void post_wakes_only_where_somebody_may_sleep(void **state)
{
	struct fby_sem sem = { 0 };

	(void)state;
	n_wakes = 0;
	fby_sem_post(&sem, 1, 4);
	assert_int_equal(n_wakes, 0);
	assert_true(fby_sem_take(&sem));
	assert_true(fby_sem_arm(&sem));
	fby_sem_post(&sem, 1, 4);
	assert_int_equal(n_wakes, 1);
	assert_int_equal(atomic_load(&sem.word), 2); /* the bit is gone with it */
}

static void token_is_there_when_sleepers_are_woken(void **state)
{
	struct fby_sem sem = { 0 };

	(void)state;
	assert_true(fby_sem_arm(&sem));
	word_at_wake = 0;
	fby_sem_post(&sem, 1, 4);
	assert_int_equal(word_at_wake, 2);
}

static void kick_wakes_even_at_its_cap_with_nobody_announced(void **state)
{
	struct fby_sem sem = { 0 };

	(void)state;
	fby_sem_post(&sem, 1, 1);
	n_wakes = 0;
	fby_sem_post(&sem, 1, 1);
	assert_int_equal(n_wakes, 0);
	fby_sem_kick(&sem, 1, 1);
	assert_int_equal(n_wakes, 1);
}

static void wait_takes_a_token_that_is_there(void **state)
{
	struct fby_sem sem = { 0 };

	(void)state;
	fby_sem_post(&sem, 1, 1);
	assert_int_equal(fby_sem_wait(&sem, LONG_NS), FBY_WOKE_TOKEN);
	assert_false(fby_sem_take(&sem));
}

static void wait_for_nothing_ends_by_time(void **state)
{
	struct fby_sem sem = { 0 };

	(void)state;
	assert_int_equal(fby_sem_wait(&sem, 1000), FBY_WOKE_BY_TIME);
	assert_int_equal(fby_sem_wait(&sem, 0), FBY_WOKE_BY_TIME);
}

/* The bit of a sleeper that gave up costs the next post a wake, and nothing else. */
static void post_after_a_sleeper_gave_up_leaves_a_token(void **state)
{
	struct fby_sem sem = { 0 };

	(void)state;
	fby_sem_wait(&sem, 0);
	fby_sem_post(&sem, 1, 1);
	assert_int_equal(atomic_load(&sem.word), 2);
}

/* ---- several processes ---- */

struct shared {
	struct fby_sem sem, back;
	sem_t posix, posix_back;
};

static struct shared *shared;

static int share(void **state)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	*state = shared;
	if (shared == MAP_FAILED)
		return -1;
	return sem_init(&shared->posix, 1, 0) || sem_init(&shared->posix_back, 1, 0);
}

static int unshare_all(void **state)
{
	return munmap(*state, sizeof(*shared));
}

static void on_signal(int signal)
{
	(void)signal;
}

/* A process that waits once and exits with what woke it. */
static int start_waiter(void)
{
	struct sigaction action = { .sa_handler = on_signal };
	int pid = fork();

	assert_true(pid >= 0);
	if (pid)
		return pid;
	sigaction(SIGUSR1, &action, NULL);
	_exit((int)fby_sem_wait(&shared->sem, LONG_NS));
}

static char process_state(int pid)
{
	char path[64], text[512], *end;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	end = fgets(text, sizeof(text), file) ? strrchr(text, ')') : NULL;
	fclose(file);
	return end ? end[2] : 0;
}

/* Until it has announced itself and the kernel has put it to sleep. */
static void await_sleep(int pid)
{
	uint64_t deadline = fby_now() + LONG_NS;

	while (!(atomic_load(&shared->sem.word) & 1) || process_state(pid) != 'S')
		assert_true(fby_now() < deadline);
}

static int await_exit(int pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void post_wakes_a_sleeper_in_another_process(void **state)
{
	int pid = start_waiter();

	(void)state;
	await_sleep(pid);
	fby_sem_post(&shared->sem, 1, 1);
	assert_int_equal(await_exit(pid), FBY_WOKE_TOKEN);
	assert_false(fby_sem_take(&shared->sem));
}

static void one_token_wakes_all_sleepers_and_one_takes_it(void **state)
{
	int pid[3], how[5] = { 0 };

	(void)state;
	for (int i = 0; i < 3; i++) {
		pid[i] = start_waiter();
		await_sleep(pid[i]);
	}
	fby_sem_post(&shared->sem, 1, 1);
	for (int i = 0; i < 3; i++)
		how[await_exit(pid[i])]++;
	assert_int_equal(how[FBY_WOKE_TOKEN], 1);
	assert_int_equal(how[FBY_WOKE_BY_WAKE], 2);
}

/* Who cleared the bit died before its wake: only a kick reaches the sleeper. */
static void kick_wakes_a_sleeper_whose_wake_died_with_its_sender(void **state)
{
	int pid = start_waiter();

	(void)state;
	await_sleep(pid);
	atomic_store(&shared->sem.word, 2);
	fby_sem_post(&shared->sem, 1, 1);
	assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
	assert_int_equal(process_state(pid), 'S');
	fby_sem_kick(&shared->sem, 1, 1);
	assert_int_equal(await_exit(pid), FBY_WOKE_TOKEN);
}

static void signal_ends_a_wait(void **state)
{
	int pid = start_waiter();

	(void)state;
	await_sleep(pid);
	assert_int_equal(kill(pid, SIGUSR1), 0);
	assert_int_equal(await_exit(pid), FBY_WOKE_BY_SIGNAL);
}

/* ---- beside sem_t ---- */

static void takes_succeed_and_fail_as_those_of_sem_t(void **state)
{
	struct fby_sem sem = { 0 };
	uint64_t random = 1;
	sem_t posix;

	(void)state;
	assert_int_equal(sem_init(&posix, 0, 0), 0);
	for (int i = 0; i < 10000; i++) {
		random = random * 6364136223846793005ull + 1442695040888963407ull;
		if (random >> 63) {
			fby_sem_post(&sem, 1, 1u << 30);
			sem_post(&posix);
		} else {
			assert_int_equal(fby_sem_take(&sem), sem_trywait(&posix) == 0);
		}
	}
	sem_destroy(&posix);
}

/* False: the time was over, so a wake-up got lost. */
static bool take_one(struct fby_sem *sem)
{
	enum fby_woke how;

	do
		how = fby_sem_wait(sem, LONG_NS);
	while (how == FBY_WOKE_BY_WAKE || how == FBY_WOKE_BY_SIGNAL);
	return how == FBY_WOKE_TOKEN;
}

/* A token goes to and fro; each side counts, nobody loses one. */
static void ping_pong_of_two_processes_ends(void **state)
{
	int pid = fork(), rounds = 2000;

	(void)state;
	assert_true(pid >= 0);
	for (int i = 0; i < rounds && !pid; i++) {
		if (!take_one(&shared->sem))
			_exit(1);
		fby_sem_post(&shared->back, 1, 1);
	}
	if (!pid)
		_exit(0);
	for (int i = 0; i < rounds; i++) {
		fby_sem_post(&shared->sem, 1, 1);
		assert_true(take_one(&shared->back));
	}
	assert_int_equal(await_exit(pid), 0);
}

static void ping_pong_over_sem_t_ends_as_well(void **state)
{
	int pid = fork(), rounds = 2000;

	(void)state;
	assert_true(pid >= 0);
	for (int i = 0; i < rounds && !pid; i++) {
		sem_wait(&shared->posix);
		sem_post(&shared->posix_back);
	}
	if (!pid)
		_exit(0);
	for (int i = 0; i < rounds; i++) {
		sem_post(&shared->posix);
		assert_int_equal(sem_wait(&shared->posix_back), 0);
	}
	assert_int_equal(await_exit(pid), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(take_of_nothing_fails),
		cmocka_unit_test(each_token_is_taken_once),
		cmocka_unit_test(post_stops_at_its_cap),
		cmocka_unit_test(arm_marks_a_sleeper_on_an_empty_semaphore),
		cmocka_unit_test(arm_over_a_token_fails_and_leaves_it),
		cmocka_unit_test(post_wakes_only_where_somebody_may_sleep),
		cmocka_unit_test(token_is_there_when_sleepers_are_woken),
		cmocka_unit_test(kick_wakes_even_at_its_cap_with_nobody_announced),
		cmocka_unit_test(wait_takes_a_token_that_is_there),
		cmocka_unit_test(wait_for_nothing_ends_by_time),
		cmocka_unit_test(post_after_a_sleeper_gave_up_leaves_a_token),
		cmocka_unit_test_setup_teardown(post_wakes_a_sleeper_in_another_process,
						share, unshare_all),
		cmocka_unit_test_setup_teardown(
			one_token_wakes_all_sleepers_and_one_takes_it, share,
			unshare_all),
		cmocka_unit_test_setup_teardown(
			kick_wakes_a_sleeper_whose_wake_died_with_its_sender, share,
			unshare_all),
		cmocka_unit_test_setup_teardown(signal_ends_a_wait, share, unshare_all),
		cmocka_unit_test(takes_succeed_and_fail_as_those_of_sem_t),
		cmocka_unit_test_setup_teardown(ping_pong_of_two_processes_ends, share,
						unshare_all),
		cmocka_unit_test_setup_teardown(ping_pong_over_sem_t_ends_as_well, share,
						unshare_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
