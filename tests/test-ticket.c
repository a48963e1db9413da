/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ticket: rows are claimed once, committed once, drained, taken back from the dead.
 */
#include "lib/sem.h"
#include "lib/ticket.h"
#include "tests/rows.h"
#include "tests/unit.h"
#include <string.h>

#define BATCH 1000
#define SLOT  1

static struct fby_pool pool;

static int create(void **state)
{
	(void)state;
	return rows_pool(&pool, 2, 4, BATCH);
}

static int finish(void **state)
{
	(void)state;
	fby_pool_finish(&pool);
	return 0;
}

static struct fby_ticket *open_ticket(uint64_t seq, uint32_t n)
{
	const struct fby_ticket_content content = { .n = n, .slot = SLOT, .stride = 1 };

	atomic_store(&fby_pool_ready(&pool, SLOT)->word, 0);
	fby_ticket_open(&pool, seq, &content);
	return fby_pool_ticket(&pool, seq);
}

static uint32_t claim_one(uint64_t seq, uint32_t worker)
{
	struct fby_claim claim;

	assert_true(fby_ticket_claim(&pool, seq, worker, &claim));
	assert_int_equal(claim.seq, seq);
	assert_int_equal(claim.slot, SLOT);
	return claim.row;
}

static void commit(uint64_t seq, uint32_t row, uint32_t n)
{
	const struct fby_row record = { .status = FBY_ROW_GOOD };
	const struct fby_claim claim = { .ticket = fby_pool_ticket(&pool, seq),
					 .seq = seq,
					 .row = row,
					 .n = n,
					 .slot = SLOT };

	fby_ticket_commit(&pool, &claim, &record);
}

static uint32_t ready_word(void)
{
	return atomic_load(&fby_pool_ready(&pool, SLOT)->word);
}

static bool claims_nothing(uint64_t seq)
{
	struct fby_claim claim;

	return !fby_ticket_claim(&pool, seq, 0, &claim);
}

/* ---- claims ---- */

static void each_row_is_claimed_once(void **state)
{
	bool seen[70] = { false };

	(void)state;
	open_ticket(1, 70);
	for (int i = 0; i < 70; i++) {
		uint32_t row = claim_one(1, (uint32_t)i % 4);

		assert_true(row < 70);
		assert_false(seen[row]);
		seen[row] = true;
	}
	assert_true(claims_nothing(1));
}

static void freed_row_is_found_when_the_hint_is_used_up(void **state)
{
	struct fby_ticket *t = open_ticket(1, 3);
	uint32_t poisoned;

	(void)state;
	for (uint32_t i = 0; i < 3; i++)
		claim_one(1, i);
	assert_true(claims_nothing(1));
	assert_int_equal(fby_ticket_take_back(&pool, t, 1, FBY_DEATH_KILL, &poisoned), 1);
	assert_int_equal(claim_one(1, 3), 1);
}

static void lost_hint_loses_no_row(void **state)
{
	struct fby_ticket *t = open_ticket(1, 5);
	unsigned seen = 0;

	(void)state;
	atomic_store(&t->hint, 3);
	for (int i = 0; i < 5; i++)
		seen |= 1u << claim_one(1, 0);
	assert_int_equal(seen, 31);
}

static void row_of_another_generation_is_not_claimed(void **state)
{
	struct fby_ticket *t = open_ticket(1, 1);

	(void)state;
	atomic_store(&fby_ticket_claims(&pool, t)[0], 5ull << 32);
	assert_true(claims_nothing(1));
	assert_int_equal(atomic_load(&fby_ticket_claims(&pool, t)[0]), 5ull << 32);
}

static void ticket_with_another_number_is_not_claimed(void **state)
{
	(void)state;
	open_ticket(1, 1);
	assert_true(claims_nothing(1 + pool.geo.n_tickets));
	assert_true(claims_nothing(1 + (1ull << 32)));
}

static void generation_wraps_at_two_to_the_32(void **state)
{
	(void)state;
	for (uint64_t seq = (1ull << 32) - 3; seq < (1ull << 32) + 3; seq++) {
		struct fby_ticket *t = open_ticket(seq, 2);

		for (int i = 0; i < 2; i++)
			commit(seq, claim_one(seq, 0), 2);
		assert_true(fby_ticket_all_done(&pool, t, 2));
		fby_ticket_empty(&pool, seq);
	}
}

static void ticket_that_is_empty_is_not_claimed(void **state)
{
	(void)state;
	open_ticket(1, 1);
	commit(1, claim_one(1, 0), 1);
	fby_ticket_empty(&pool, 1);
	assert_true(claims_nothing(1));
}

static void number_of_rows_beyond_the_batch_is_told_and_leads_nowhere(void **state)
{
	struct fby_ticket *t = open_ticket(1, 2);
	struct fby_claim claim;

	(void)state;
	atomic_store(&t->n, UINT32_MAX);
	for (uint32_t i = 0; i < 2; i++) {
		assert_true(fby_ticket_claim(&pool, 1, 0, &claim));
		assert_int_equal(claim.n, UINT32_MAX);
	}
	assert_true(claims_nothing(1));
}

/* ---- completion ---- */

static void complete(uint32_t n)
{
	struct fby_ticket *t = open_ticket(7, n);

	for (uint32_t i = 0; i < n; i++) {
		assert_false(fby_ticket_all_done(&pool, t, n));
		assert_int_equal(ready_word(), 0);
		commit(7, claim_one(7, i % 4), n);
	}
	assert_true(fby_ticket_all_done(&pool, t, n));
	assert_int_equal(ready_word(), 2); /* one token, posted by the last */
}

static void batch_of_any_size_is_complete_once(void **state)
{
	const uint32_t sizes[] = { 1, 2, 63, 64, 65, 70, 128, 256, 1000 };

	(void)state;
	for (size_t i = 0; i < FBY_ARRAY_SIZE(sizes); i++)
		complete(sizes[i]);
}

static void last_commit_in_any_word_completes_the_batch(void **state)
{
	(void)state;
	for (uint32_t last = 0; last < 130; last++) {
		struct fby_ticket *t = open_ticket(1, 130);

		for (uint32_t i = 0; i < 130; i++)
			if (claim_one(1, 0) != last)
				commit(1, i, 130);
		assert_false(fby_ticket_all_done(&pool, t, 130));
		commit(1, last, 130);
		assert_int_equal(ready_word(), 2);
	}
}

static void bad_row_is_marked_before_its_commit_and_no_other_is(void **state)
{
	const struct fby_row record = { .status = FBY_ROW_BAD };
	struct fby_ticket *t = open_ticket(1, 70);
	struct fby_claim claim;

	(void)state;
	for (uint32_t i = 0; i < 70; i++) {
		assert_true(fby_ticket_claim(&pool, 1, 0, &claim));
		if (claim.row == 66)
			fby_ticket_commit(&pool, &claim, &record);
		else
			commit(1, claim.row, 70);
	}
	assert_int_equal(atomic_load(&fby_ticket_bad(&pool, t)[0]), 0);
	assert_int_equal(atomic_load(&fby_ticket_bad(&pool, t)[1]), 4);
	assert_int_equal(fby_ticket_rows(&pool, t)[66].status, FBY_ROW_BAD);
}

static void opening_again_forgets_what_was_done_and_bad(void **state)
{
	struct fby_ticket *t = open_ticket(1, 1);

	(void)state;
	atomic_store(&fby_ticket_bad(&pool, t)[0], 1);
	commit(1, claim_one(1, 0), 1);
	fby_ticket_empty(&pool, 1);
	open_ticket(1 + pool.geo.n_tickets, 1);
	assert_false(fby_ticket_all_done(&pool, t, 1));
	assert_int_equal(atomic_load(&fby_ticket_bad(&pool, t)[0]), 0);
}

static void owned_means_claimed_and_not_done(void **state)
{
	struct fby_ticket *t = open_ticket(1, 2);

	(void)state;
	assert_false(fby_ticket_is_owned(&pool, t, 0));
	assert_int_equal(claim_one(1, 3), 0);
	assert_true(fby_ticket_is_owned(&pool, t, 0));
	commit(1, 0, 2);
	assert_false(fby_ticket_is_owned(&pool, t, 0));
}

/* ---- drain ---- */

static void drain_closes_what_nobody_has_begun(void **state)
{
	struct fby_ticket *t = open_ticket(1, 70);

	(void)state;
	fby_ticket_drain(&pool, 1);
	assert_true(fby_ticket_all_done(&pool, t, 70));
	assert_true(claims_nothing(1));
}

static void drain_leaves_owned_rows_to_their_owner(void **state)
{
	struct fby_ticket *t = open_ticket(1, 70);
	uint32_t row = claim_one(1, 2);

	(void)state;
	fby_ticket_drain(&pool, 1);
	assert_false(fby_ticket_all_done(&pool, t, 70));
	assert_true(fby_ticket_is_owned(&pool, t, row));
	commit(1, row, 70);
	assert_true(fby_ticket_all_done(&pool, t, 70));
	assert_int_equal(ready_word(), 2); /* who drains is woken */
}

/* ---- the dead ---- */

static void rows_of_the_dead_are_free_again(void **state)
{
	struct fby_ticket *t = open_ticket(1, 3);
	uint32_t poisoned = 9;

	(void)state;
	claim_one(1, 0);
	claim_one(1, 1);
	claim_one(1, 0);
	commit(1, 0, 3);
	assert_int_equal(fby_ticket_take_back(&pool, t, 0, FBY_DEATH_KILL, &poisoned), 1);
	assert_int_equal(poisoned, 0);
	assert_false(fby_ticket_is_owned(&pool, t, 2));
	assert_true(fby_ticket_is_owned(&pool, t, 1));
	assert_int_equal(claim_one(1, 3), 2);
}

static void die(struct fby_ticket *t, enum fby_death how, int times)
{
	uint32_t poisoned, row = 0;

	for (int i = 0; i < times; i++) {
		row = claim_one(1, 1);
		assert_int_equal(fby_ticket_take_back(&pool, t, 1, how, &poisoned), 1);
		assert_int_equal(poisoned, 0);
	}
	claim_one(1, 1);
	assert_int_equal(fby_ticket_take_back(&pool, t, 1, how, &poisoned), 1);
	assert_int_equal(poisoned, 1);
	assert_true(fby_ticket_all_done(&pool, t, 1));
	assert_int_equal(fby_ticket_rows(&pool, t)[row].status, FBY_ROW_POISON);
	assert_int_equal(atomic_load(&fby_ticket_bad(&pool, t)[0]), 1);
	assert_true(strlen(fby_ticket_reason(&pool, t, row)) > 0);
}

static void third_crash_makes_a_row_poison(void **state)
{
	(void)state;
	die(open_ticket(1, 1), FBY_DEATH_CRASH, 2);
}

static void tenth_kill_makes_a_row_poison(void **state)
{
	(void)state;
	die(open_ticket(1, 1), FBY_DEATH_KILL, 9);
}

static void crashes_and_kills_are_counted_apart(void **state)
{
	struct fby_ticket *t = open_ticket(1, 1);
	uint32_t poisoned;

	(void)state;
	for (int i = 0; i < 9; i++) {
		claim_one(1, 1);
		fby_ticket_take_back(&pool, t, 1,
				     i < 2 ? FBY_DEATH_CRASH : FBY_DEATH_KILL, &poisoned);
		assert_int_equal(poisoned, 0);
	}
	assert_int_equal(claim_one(1, 1), 0);
}

static void counts_of_deaths_end_with_the_batch(void **state)
{
	struct fby_ticket *t = open_ticket(1, 1);
	uint32_t poisoned;

	(void)state;
	for (int i = 0; i < 2; i++) {
		claim_one(1, 1);
		fby_ticket_take_back(&pool, t, 1, FBY_DEATH_CRASH, &poisoned);
	}
	commit(1, claim_one(1, 0), 1);
	fby_ticket_empty(&pool, 1);
	open_ticket(1 + pool.geo.n_tickets, 1);
	claim_one(1 + pool.geo.n_tickets, 1);
	fby_ticket_take_back(&pool, t, 1, FBY_DEATH_CRASH, &poisoned);
	assert_int_equal(poisoned, 0);
}

static void row_of_the_dead_in_a_drain_is_closed_and_done(void **state)
{
	struct fby_ticket *t = open_ticket(1, 3);
	uint32_t poisoned;

	(void)state;
	claim_one(1, 2);
	fby_ticket_drain(&pool, 1);
	assert_int_equal(fby_ticket_take_back(&pool, t, 2, FBY_DEATH_KILL, &poisoned), 1);
	assert_int_equal(poisoned, 0);
	assert_true(fby_ticket_all_done(&pool, t, 3));
}

static void empty_ticket_has_nothing_of_the_dead(void **state)
{
	struct fby_ticket *t = open_ticket(1, 1);
	uint32_t poisoned;

	(void)state;
	commit(1, claim_one(1, 0), 1);
	fby_ticket_empty(&pool, 1);
	atomic_store(&fby_ticket_done(&pool, t)[0], 0);
	assert_int_equal(fby_ticket_take_back(&pool, t, 0, FBY_DEATH_KILL, &poisoned), 0);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, create, finish)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(each_row_is_claimed_once),
		CASE(freed_row_is_found_when_the_hint_is_used_up),
		CASE(lost_hint_loses_no_row),
		CASE(row_of_another_generation_is_not_claimed),
		CASE(ticket_with_another_number_is_not_claimed),
		CASE(generation_wraps_at_two_to_the_32),
		CASE(ticket_that_is_empty_is_not_claimed),
		CASE(number_of_rows_beyond_the_batch_is_told_and_leads_nowhere),
		CASE(batch_of_any_size_is_complete_once),
		CASE(last_commit_in_any_word_completes_the_batch),
		CASE(bad_row_is_marked_before_its_commit_and_no_other_is),
		CASE(opening_again_forgets_what_was_done_and_bad),
		CASE(owned_means_claimed_and_not_done),
		CASE(drain_closes_what_nobody_has_begun),
		CASE(drain_leaves_owned_rows_to_their_owner),
		CASE(rows_of_the_dead_are_free_again),
		CASE(third_crash_makes_a_row_poison),
		CASE(tenth_kill_makes_a_row_poison),
		CASE(crashes_and_kills_are_counted_apart),
		CASE(counts_of_deaths_end_with_the_batch),
		CASE(row_of_the_dead_in_a_drain_is_closed_and_done),
		CASE(empty_ticket_has_nothing_of_the_dead),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
