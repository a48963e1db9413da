/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who has a slot: free, bound, leased; only one release of a lease counts.
 */
#include "lib/slot.h"
#include "tests/unit.h"

static void expect(const struct fby_slots *slots, uint32_t n_free, uint32_t n_leased)
{
	uint32_t is_free, leased;

	fby_slots_count(slots, &is_free, &leased);
	assert_int_equal(is_free, n_free);
	assert_int_equal(leased, n_leased);
}

static void all_slots_are_free_at_first(void **state)
{
	struct fby_slots slots;

	(void)state;
	fby_slots_init(&slots, 3);
	expect(&slots, 3, 0);
}

static void bind_gives_each_slot_once_and_then_none(void **state)
{
	struct fby_slots slots;
	unsigned seen = 0;

	(void)state;
	fby_slots_init(&slots, 3);
	for (int i = 0; i < 3; i++)
		seen |= 1u << fby_slots_bind(&slots);
	assert_int_equal(seen, 7);
	assert_int_equal(fby_slots_bind(&slots), -1);
	expect(&slots, 0, 0);
}

static void unbound_slot_is_free_again(void **state)
{
	struct fby_slots slots;

	(void)state;
	fby_slots_init(&slots, 1);
	fby_slots_unbind(&slots, (uint32_t)fby_slots_bind(&slots));
	assert_int_equal(fby_slots_bind(&slots), 0);
}

static void released_slot_is_free_again(void **state)
{
	struct fby_slots slots;

	(void)state;
	fby_slots_init(&slots, 2);
	fby_slots_lease(&slots, (uint32_t)fby_slots_bind(&slots), 0);
	expect(&slots, 1, 1);
	assert_true(fby_slots_release(&slots, 0, 0));
	expect(&slots, 2, 0);
}

static void second_release_of_a_lease_counts_nothing(void **state)
{
	struct fby_slots slots;

	(void)state;
	fby_slots_init(&slots, 1);
	fby_slots_lease(&slots, (uint32_t)fby_slots_bind(&slots), 5);
	assert_true(fby_slots_release(&slots, 0, 5));
	assert_false(fby_slots_release(&slots, 0, 5));
	fby_slots_lease(&slots, (uint32_t)fby_slots_bind(&slots), 6);
	assert_false(fby_slots_release(&slots, 0, 5));
	expect(&slots, 0, 1);
}

static void release_of_a_bound_slot_counts_nothing(void **state)
{
	struct fby_slots slots;

	(void)state;
	fby_slots_init(&slots, 1);
	fby_slots_bind(&slots);
	assert_false(fby_slots_release(&slots, 0, 0));
	assert_int_equal(fby_slots_bind(&slots), -1);
}

static void release_of_a_slot_that_is_none_counts_nothing(void **state)
{
	struct fby_slots slots;

	(void)state;
	fby_slots_init(&slots, 1);
	assert_false(fby_slots_release(&slots, 1, 0));
	assert_false(fby_slots_release(&slots, UINT32_MAX, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_slots_are_free_at_first),
		cmocka_unit_test(bind_gives_each_slot_once_and_then_none),
		cmocka_unit_test(unbound_slot_is_free_again),
		cmocka_unit_test(released_slot_is_free_again),
		cmocka_unit_test(second_release_of_a_lease_counts_nothing),
		cmocka_unit_test(release_of_a_bound_slot_counts_nothing),
		cmocka_unit_test(release_of_a_slot_that_is_none_counts_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
