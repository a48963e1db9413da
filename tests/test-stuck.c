/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which worker sits on one row for too long, counted in slices of the trainer's waiting.
 * fby_ticket_is_owned is wrapped: a worker may claim a row just before that look.
 */
#include "lib/stuck.h"
#include "tests/rows.h"
#include "tests/unit.h"

#define LIMIT 3

static struct fby_pool pool;
static struct fby_window window;
static struct fby_stuck stuck;
static bool claim_now;

bool __wrap_fby_ticket_is_owned(const struct fby_pool *p, struct fby_ticket *t,
				uint32_t row);
bool __real_fby_ticket_is_owned(const struct fby_pool *p, struct fby_ticket *t,
				uint32_t row);

bool __wrap_fby_ticket_is_owned(const struct fby_pool *p, struct fby_ticket *t,
				uint32_t row)
{
	if (claim_now)
		atomic_store(&fby_ticket_claims(p, t)[row],
			     atomic_load(&fby_ticket_claims(p, t)[row]) |
				     fby_owner_of(1));
	return __real_fby_ticket_is_owned(p, t, row);
}

static int create(void **state)
{
	struct fby_plan plan;

	(void)state;
	claim_now = false;
	if (rows_pool(&pool, 2, 3, 4) < 0 ||
	    fby_plan_init(&plan, 40, 4, false, false, 1) < 0 ||
	    fby_window_init(&window, &pool, &plan, 0) < 0)
		return -1;
	fby_window_fill(&window);
	return fby_stuck_init(&stuck, 3, LIMIT);
}

static int finish(void **state)
{
	(void)state;
	fby_stuck_finish(&stuck);
	fby_window_finish(&window);
	fby_pool_finish(&pool);
	return 0;
}

static struct fby_claim claim_row(uint64_t seq, uint32_t worker)
{
	struct fby_claim claim;

	assert_true(fby_ticket_claim(&pool, seq, worker, &claim));
	return claim;
}

static void commit(const struct fby_claim *claim)
{
	const struct fby_row record = { .status = FBY_ROW_GOOD };

	fby_ticket_commit(&pool, claim, &record);
}

static void worker_that_keeps_a_row_is_named_at_the_limit(void **state)
{
	(void)state;
	claim_row(0, 2);
	for (int i = 1; i < LIMIT; i++)
		assert_int_equal(fby_stuck_slice(&stuck, &window), -1);
	assert_int_equal(fby_stuck_slice(&stuck, &window), 2);
}

static void count_begins_anew_after_it_was_named(void **state)
{
	(void)state;
	claim_row(0, 2);
	for (int round = 0; round < 2; round++) {
		for (int i = 1; i < LIMIT; i++)
			assert_int_equal(fby_stuck_slice(&stuck, &window), -1);
		assert_int_equal(fby_stuck_slice(&stuck, &window), 2);
	}
}

static void worker_that_goes_on_is_never_named(void **state)
{
	(void)state;
	for (int row = 0; row < 4; row++) {
		struct fby_claim claim = claim_row(0, 1);

		for (int i = 1; i < LIMIT; i++)
			assert_int_equal(fby_stuck_slice(&stuck, &window), -1);
		commit(&claim);
	}
	assert_int_equal(fby_stuck_slice(&stuck, &window), -1);
}

static void rows_that_nobody_waits_for_do_not_age(void **state)
{
	(void)state;
	claim_row(1, 0); /* not of the oldest batch */
	for (int i = 0; i < 3 * LIMIT; i++)
		assert_int_equal(fby_stuck_slice(&stuck, &window), -1);
}

static void scribbled_owner_names_nobody(void **state)
{
	struct fby_ticket *t = fby_pool_ticket(&pool, 0);

	(void)state;
	atomic_store(&fby_ticket_claims(&pool, t)[1], 999);
	for (int i = 0; i < 3 * LIMIT; i++)
		assert_int_equal(fby_stuck_slice(&stuck, &window), -1);
}

static void set_workers_running(void)
{
	for (uint32_t i = 0; i < 3; i++)
		atomic_store(&fby_pool_worker(&pool, i)->state, FBY_WORKER_RUNNING);
}

/* All were stopped between two rows: nobody held the row, and nobody was ever missed. */
static void workers_that_leave_a_free_row_and_show_no_life_are_named(void **state)
{
	(void)state;
	set_workers_running();
	for (int i = 1; i < LIMIT; i++)
		assert_int_equal(fby_stuck_slice(&stuck, &window), -1);
	assert_int_equal(fby_stuck_slice(&stuck, &window), 0);
	atomic_store(&fby_pool_worker(&pool, 0)->state, FBY_WORKER_ENDED);
	for (int i = 1; i < LIMIT; i++)
		assert_int_equal(fby_stuck_slice(&stuck, &window), -1);
	assert_int_equal(fby_stuck_slice(&stuck, &window), 1);
}

static void sign_of_life_of_one_worker_is_enough(void **state)
{
	(void)state;
	set_workers_running();
	for (int i = 0; i < 3 * LIMIT; i++) {
		if (i % 2)
			atomic_fetch_add(&fby_pool_worker(&pool, 2)->sleeps, 1);
		assert_int_equal(fby_stuck_slice(&stuck, &window), -1);
	}
}

static void quiet_workers_are_not_named_while_all_rows_are_done(void **state)
{
	(void)state;
	set_workers_running();
	for (int row = 0; row < 4; row++) {
		struct fby_claim claim = claim_row(0, 1);

		commit(&claim);
	}
	for (int i = 0; i < 3 * LIMIT; i++)
		assert_int_equal(fby_stuck_slice(&stuck, &window), -1);
}

/* A row was read as FREE and then as owned: its owner was taken to be worker -1. */
static void row_claimed_between_two_looks_names_no_worker_minus_one(void **state)
{
	struct fby_stuck_worker guarded[4] = { 0 }, *own = stuck.worker;

	(void)state;
	stuck.worker = guarded + 1; /* so that [-1] is ours */
	claim_now = true;
	for (int i = 0; i < 3; i++) {
		struct fby_ticket *t = fby_pool_ticket(&pool, 0);

		for (uint32_t row = 0; row < 4; row++)
			atomic_store(&fby_ticket_claims(&pool, t)[row], 0);
		fby_stuck_slice(&stuck, &window);
	}
	stuck.worker = own;
	assert_int_equal(guarded[0].slices, 0);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, create, finish)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(worker_that_keeps_a_row_is_named_at_the_limit),
		CASE(count_begins_anew_after_it_was_named),
		CASE(worker_that_goes_on_is_never_named),
		CASE(rows_that_nobody_waits_for_do_not_age),
		CASE(scribbled_owner_names_nobody),
		CASE(workers_that_leave_a_free_row_and_show_no_life_are_named),
		CASE(sign_of_life_of_one_worker_is_enough),
		CASE(quiet_workers_are_not_named_while_all_rows_are_done),
		CASE(row_claimed_between_two_looks_names_no_worker_minus_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
