/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop of the worker on threads, beside a trainer that seeks and lets go late, and a
 * second thread that opens tickets: for the thread sanitizer, which sees no processes.
 */
#include "lib/sem.h"
#include "tests/fuzz.h"
#include "tests/unit.h"
#include <pthread.h>
#include <stdlib.h>

#define N_WORKERS 3
#define BATCH     70

static struct fby_pool pool;
static struct fby_window window;
static struct fby_sem released;
static _Atomic bool ending;

static bool go_on(void *ctx)
{
	(void)ctx;
	return true;
}

static void *work(void *arg)
{
	struct fby_work work = { .pool = &pool,
				 .me = (uint32_t)(uintptr_t)arg,
				 .make = rows_make,
				 .go_on = go_on };

	fby_work_run(&work);
	return NULL;
}

static void *open_tickets(void *arg)
{
	while (!atomic_load(&ending)) {
		fby_window_fill(&window);
		fby_sem_wait(&released, FUZZ_SLICE_NS);
	}
	return arg;
}

static void on_release(void *ctx)
{
	fby_sem_post(ctx, 1, 1);
}

static void workers_on_threads_and_a_trainer_agree(void **state)
{
	struct fuzz f = { .window = &window,
			  .released = on_release,
			  .ctx = &released,
			  .random = fby_now() };
	unsigned long long seed = f.random;
	pthread_t thread[N_WORKERS + 1];
	struct fby_plan plan;

	(void)state;
	assert_int_equal(fby_plan_init(&plan, BATCH * 5 + 33, BATCH, true, false, 1), 0);
	assert_int_equal(rows_pool(&pool, 4, N_WORKERS, BATCH), 0);
	assert_int_equal(fby_window_init(&window, &pool, &plan, (1ull << 32) - 3), 0);
	for (uintptr_t i = 0; i < N_WORKERS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, work, (void *)i), 0);
	assert_int_equal(pthread_create(&thread[N_WORKERS], NULL, open_tickets, NULL), 0);
	fuzz_train(&f, 2000000000u);
	atomic_store(&ending, true);
	atomic_store(&pool.ctl->run, FBY_STOP);
	fby_sem_kick(&released, 1, 1);
	fby_sem_kick(&pool.ctl->work, N_WORKERS, N_WORKERS);
	for (int i = 0; i <= N_WORKERS; i++)
		pthread_join(thread[i], NULL);
	print_message("# seed %llu: %llu batches, %llu seeks\n", seed, f.batches,
		      f.seeks);
	assert_true(f.batches > 0);
	assert_int_equal(f.wrong, 0);
	assert_int_equal(f.stalls, 0);
	fby_window_finish(&window);
	fby_pool_finish(&pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(workers_on_threads_and_a_trainer_agree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
