/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The open tickets from the trainer's side: opened while there are slots, handed out in
 * order, drained, taken back.
 */
#include "lib/sem.h"
#include "lib/window.h"
#include "tests/rows.h"
#include "tests/unit.h"
#include <errno.h>

#define SLOTS   3
#define WORKERS 2
#define BATCH   70
#define SAMPLES (BATCH * 4 + 5)
#define SEED    9

static struct fby_pool pool;
static struct fby_window window;

static int create(void **state)
{
	struct fby_plan plan;

	(void)state;
	if (rows_pool(&pool, SLOTS, WORKERS, BATCH) < 0 ||
	    fby_plan_init(&plan, SAMPLES, BATCH, true, false, SEED) < 0)
		return -1;
	return fby_window_init(&window, &pool, &plan, (1ull << 32) - 2);
}

static int finish(void **state)
{
	(void)state;
	fby_window_finish(&window);
	fby_pool_finish(&pool);
	return 0;
}

static void work_all(uint32_t me)
{
	while (rows_work(&pool, me) == 1)
		;
}

static struct fby_lease *take_right(void)
{
	struct fby_lease *lease = fby_window_take(&window, true);

	assert_non_null(lease);
	for (uint32_t i = 0; i < lease->part.n; i++)
		assert_true(rows_is_right(&pool, lease, SEED, i));
	assert_true(rows_bad_are_right(lease));
	assert_true(lease->last_commit_ns > 0);
	return lease;
}

static void release(const struct fby_lease *lease)
{
	assert_true(fby_slots_release(&window.slots, lease->slot, lease->seq));
}

static void fill_opens_as_many_as_there_are_slots(void **state)
{
	(void)state;
	assert_null(fby_window_oldest(&window));
	assert_int_equal(fby_window_fill(&window), SLOTS);
	assert_int_equal(fby_window_fill(&window), 0);
	assert_non_null(fby_window_oldest(&window));
}

static void fill_calls_each_worker(void **state)
{
	(void)state;
	fby_window_fill(&window);
	for (int i = 0; i < WORKERS; i++)
		assert_true(fby_sem_take(&pool.ctl->work));
	assert_false(fby_sem_take(&pool.ctl->work));
}

static void incomplete_batch_is_not_handed_out(void **state)
{
	(void)state;
	fby_window_fill(&window);
	for (int i = 0; i < BATCH - 1; i++)
		assert_int_equal(rows_work(&pool, 0), 1);
	assert_false(fby_window_is_ready(&window));
	assert_null(fby_window_take(&window, false));
	assert_int_equal(rows_work(&pool, 1), 1);
	assert_true(fby_window_is_ready(&window));
	take_right();
}

static void batches_come_in_order_over_the_end_of_the_epoch(void **state)
{
	uint64_t epoch = 0, index = 0;

	(void)state;
	for (int i = 0; i < 12; i++) {
		struct fby_lease *lease;

		fby_window_fill(&window);
		work_all((uint32_t)i % WORKERS);
		lease = take_right();
		assert_int_equal(lease->seq, (1ull << 32) - 2 + (uint64_t)i);
		assert_int_equal(lease->part.epoch, epoch);
		assert_int_equal(lease->part.index, index);
		assert_int_equal(lease->part.n, index == 4 ? 5 : BATCH);
		epoch += index == 4;
		index = index == 4 ? 0 : index + 1;
		release(lease);
	}
}

static void held_batch_costs_its_slot_and_nothing_else(void **state)
{
	struct fby_lease *kept, copy;

	(void)state;
	fby_window_fill(&window);
	work_all(0);
	kept = take_right();
	copy = *kept;
	for (int i = 0; i < 20; i++) {
		fby_window_fill(&window);
		work_all(0);
		assert_int_equal(fby_window_depth(&window), SLOTS - 1);
		release(take_right());
	}
	for (uint32_t i = 0; i < BATCH; i++)
		assert_true(rows_is_right(&pool, kept, SEED, i));
	assert_memory_equal(&copy, kept, sizeof(copy));
}

static void nothing_is_opened_while_all_slots_are_held(void **state)
{
	struct fby_lease *lease[SLOTS];

	(void)state;
	fby_window_fill(&window);
	work_all(0);
	for (int i = 0; i < SLOTS; i++)
		lease[i] = take_right();
	assert_int_equal(fby_window_fill(&window), 0);
	assert_null(fby_window_oldest(&window));
	assert_null(fby_window_take(&window, false));
	release(lease[1]);
	assert_int_equal(fby_window_fill(&window), 1);
}

static void depth_counts_complete_batches_from_the_oldest_on(void **state)
{
	(void)state;
	fby_window_fill(&window);
	assert_int_equal(fby_window_depth(&window), 0);
	for (int i = 0; i < BATCH; i++)
		rows_work(&pool, 0);
	assert_int_equal(fby_window_depth(&window), 1);
	work_all(0);
	assert_int_equal(fby_window_depth(&window), SLOTS);
}

static void position_is_what_the_next_take_gives(void **state)
{
	(void)state;
	assert_int_equal(fby_window_position(&window).index, 0);
	for (uint64_t i = 0; i < 4; i++) {
		fby_window_fill(&window);
		work_all(0);
		assert_int_equal(fby_window_position(&window).index, i);
		release(take_right());
	}
	assert_int_equal(fby_window_position(&window).index, 4);
}

static void drained_window_goes_on_where_it_is_told(void **state)
{
	struct fby_part part = fby_plan_part(&window.plan, 5, 3);

	(void)state;
	fby_window_fill(&window);
	rows_work(&pool, 0);
	fby_window_drain(&window);
	assert_true(fby_window_drain_step(&window));
	fby_window_restart(&window, &part);
	assert_int_equal(fby_window_fill(&window), SLOTS);
	work_all(1);
	assert_int_equal(take_right()->part.epoch, 5);
	assert_int_equal(take_right()->part.index, 4);
	assert_int_equal(take_right()->part.epoch, 6);
}

static void nothing_is_opened_or_handed_out_during_a_drain(void **state)
{
	struct fby_claim claim;
	struct fby_row row = { .status = FBY_ROW_GOOD };

	(void)state;
	fby_window_fill(&window);
	work_all(0);
	release(take_right());
	fby_window_fill(&window);
	assert_true(fby_ticket_claim(&pool, atomic_load(&pool.ctl->open) - 1, 1, &claim));
	fby_window_drain(&window);
	assert_null(fby_window_take(&window, false));
	assert_false(fby_window_drain_step(&window));
	assert_int_equal(fby_window_fill(&window), 0);
	fby_ticket_commit(&pool, &claim, &row);
	assert_true(fby_window_drain_step(&window));
	assert_null(fby_window_oldest(&window));
}

static void drain_waits_for_the_oldest_row_that_is_owned(void **state)
{
	struct fby_row row = { .status = FBY_ROW_GOOD };
	struct fby_claim claim;

	(void)state;
	fby_window_fill(&window);
	assert_true(fby_ticket_claim(&pool, atomic_load(&pool.ctl->deliver), 0, &claim));
	fby_window_drain(&window);
	assert_false(fby_window_drain_step(&window));
	assert_ptr_equal(fby_window_oldest(&window), fby_pool_ready(&pool, claim.slot));
	fby_ticket_commit(&pool, &claim, &row);
	assert_true(fby_sem_take(fby_window_oldest(&window)));
	assert_true(fby_window_drain_step(&window));
}

static void dead_worker_loses_its_rows_to_another(void **state)
{
	struct fby_claim claim[2];
	struct fby_recovery recovery;
	uint64_t seq;

	(void)state;
	fby_window_fill(&window);
	seq = atomic_load(&pool.ctl->deliver);
	for (uint64_t i = 0; i < 2; i++)
		assert_true(fby_ticket_claim(&pool, seq + i, 1, &claim[i]));
	work_all(0);
	assert_false(fby_window_is_ready(&window));
	recovery = fby_window_recover(&window, 1, FBY_DEATH_KILL);
	assert_int_equal(recovery.taken_back, 2);
	assert_int_equal(recovery.poisoned, 0);
	work_all(0);
	for (int i = 0; i < SLOTS; i++)
		take_right();
}

static void recovery_posts_every_semaphore(void **state)
{
	(void)state;
	fby_window_recover(&window, 0, FBY_DEATH_KILL);
	assert_true(fby_sem_take(&pool.ctl->work));
	for (uint32_t i = 0; i < SLOTS; i++)
		assert_true(fby_sem_take(fby_pool_ready(&pool, i)));
}

static void row_of_poison_is_told_and_the_batch_delivered(void **state)
{
	struct fby_claim claim;
	struct fby_lease *lease;

	(void)state;
	fby_window_fill(&window);
	for (int i = 0; i < FBY_CRASH_LIMIT; i++) {
		struct fby_recovery r;

		assert_true(fby_ticket_claim(&pool, atomic_load(&pool.ctl->deliver), 1,
					     &claim));
		assert_int_equal(claim.row, 0);
		r = fby_window_recover(&window, 1, FBY_DEATH_CRASH);
		assert_int_equal(r.taken_back, 1);
		atomic_store(&claim.ticket->hint, 0);
	}
	work_all(0);
	lease = fby_window_take(&window, false);
	assert_non_null(lease);
	assert_true(lease->n_bad >= 1);
	assert_int_equal(lease->bad[0].row, 0);
	assert_int_equal(lease->bad[0].status, FBY_ROW_POISON);
	assert_int_equal(lease->bad[0].id, lease->ids[0]);
	assert_int_equal(lease->last_commit_ns, 0);
}

/* A stray store of a worker into n must not lead the trainer outside. */
static void scribbled_number_of_rows_does_no_harm(void **state)
{
	(void)state;
	fby_window_fill(&window);
	work_all(0);
	atomic_store(&fby_pool_ticket(&pool, atomic_load(&pool.ctl->deliver))->n, 1);
	assert_int_equal(take_right()->part.n, BATCH);
}

/* It led a drain behind the end of the segment, and recovery past the dead one's row. */
static void scribbled_number_of_rows_does_not_lead_a_drain_astray(void **state)
{
	struct fby_claim claim;
	uint64_t seq;

	(void)state;
	fby_window_fill(&window);
	seq = atomic_load(&pool.ctl->deliver);
	assert_true(fby_ticket_claim(&pool, seq, 1, &claim));
	assert_true(fby_ticket_claim(&pool, seq, 1, &claim));
	atomic_store(&fby_pool_ticket(&pool, seq)->n, 1);
	atomic_store(&fby_pool_ticket(&pool, seq + 1)->n, UINT32_MAX);
	fby_window_drain(&window);
	assert_int_equal(fby_window_recover(&window, 1, FBY_DEATH_KILL).taken_back, 2);
	assert_true(fby_window_drain_step(&window));
}

/* Workers saw no row in such a ticket, and everybody waited for ever. */
static void scribbled_ticket_is_named_by_the_worker_that_finds_it(void **state)
{
	struct fby_ticket *t;

	(void)state;
	fby_window_fill(&window);
	t = fby_pool_ticket(&pool, atomic_load(&pool.ctl->deliver));
	atomic_store(&t->n, BATCH + 1);
	assert_int_equal(rows_work(&pool, 0), -EBADMSG);
	atomic_store(&t->n, BATCH);
	t->slot = SLOTS;
	assert_int_equal(rows_work(&pool, 0), -EBADMSG);
}

/* The done bits of an empty ticket stay: a look at the depth went round for ever. */
static void scribbled_end_of_the_window_has_a_depth(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < SLOTS + 2; i++) {
		fby_window_fill(&window);
		work_all(0);
		release(take_right());
	}
	fby_window_fill(&window);
	work_all(0);
	atomic_store(&pool.ctl->open, UINT64_MAX);
	assert_int_equal(fby_window_depth(&window), SLOTS);
}

static void stray_store_is_found_by_who_waited_in_vain(void **state)
{
	struct fby_ticket *t;
	_Atomic uint64_t *claim;

	(void)state;
	assert_int_equal(fby_window_is_sound(&window), 0);
	fby_window_fill(&window);
	t = fby_pool_ticket(&pool, atomic_load(&window.deliver));
	claim = fby_ticket_claims(&pool, t);
	assert_int_equal(rows_work(&pool, 0), 1);
	assert_int_equal(fby_window_is_sound(&window), 0);
	atomic_fetch_add(&claim[BATCH - 1], 1ull << 32); /* its generation */
	assert_int_equal(fby_window_is_sound(&window), -EBADMSG);
	atomic_fetch_sub(&claim[BATCH - 1], 1ull << 32);
	atomic_fetch_add(&claim[BATCH - 1], fby_owner_of(WORKERS)); /* nobody */
	assert_int_equal(fby_window_is_sound(&window), -EBADMSG);
	atomic_fetch_sub(&claim[BATCH - 1], fby_owner_of(WORKERS));
	atomic_fetch_add(&t->word, 1);
	atomic_fetch_add(&t->word, 1ull << 8);
	assert_int_equal(fby_window_is_sound(&window), -EBADMSG);
	atomic_fetch_sub(&t->word, 1ull << 8);
	assert_int_equal(fby_window_is_sound(&window), 0);
	atomic_fetch_add(&pool.ctl->deliver, 1);
	assert_int_equal(fby_window_is_sound(&window), -EBADMSG);
}

/* The trainer goes by its own numbers: workers' stores reach the copies only. */
static void scribbled_window_hands_out_what_it_has(void **state)
{
	(void)state;
	fby_window_fill(&window);
	work_all(0);
	atomic_store(&pool.ctl->deliver, 5);
	atomic_store(&pool.ctl->open, 0);
	for (unsigned i = 0; i < SLOTS; i++)
		assert_int_equal(take_right()->part.index, i);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, create, finish)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(fill_opens_as_many_as_there_are_slots),
		CASE(fill_calls_each_worker),
		CASE(incomplete_batch_is_not_handed_out),
		CASE(batches_come_in_order_over_the_end_of_the_epoch),
		CASE(held_batch_costs_its_slot_and_nothing_else),
		CASE(nothing_is_opened_while_all_slots_are_held),
		CASE(depth_counts_complete_batches_from_the_oldest_on),
		CASE(position_is_what_the_next_take_gives),
		CASE(drained_window_goes_on_where_it_is_told),
		CASE(nothing_is_opened_or_handed_out_during_a_drain),
		CASE(drain_waits_for_the_oldest_row_that_is_owned),
		CASE(dead_worker_loses_its_rows_to_another),
		CASE(recovery_posts_every_semaphore),
		CASE(row_of_poison_is_told_and_the_batch_delivered),
		CASE(scribbled_number_of_rows_does_no_harm),
		CASE(scribbled_number_of_rows_does_not_lead_a_drain_astray),
		CASE(scribbled_ticket_is_named_by_the_worker_that_finds_it),
		CASE(scribbled_end_of_the_window_has_a_depth),
		CASE(stray_store_is_found_by_who_waited_in_vain),
		CASE(scribbled_window_hands_out_what_it_has),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
