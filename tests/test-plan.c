/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches of an epoch: how many, how large, and every sample exactly once.
 */
#include "lib/forebay.h"
#include "lib/plan.h"
#include "tests/unit.h"
#include <errno.h>
#include <string.h>

static struct fby_plan plan_of(uint64_t n, uint32_t batch, bool drop_last)
{
	struct fby_plan plan;

	assert_int_equal(fby_plan_init(&plan, n, batch, true, drop_last, 3), 0);
	return plan;
}

static void number_of_batches_counts_the_short_one(void **state)
{
	(void)state;
	assert_int_equal(plan_of(100, 10, false).n_batches, 10);
	assert_int_equal(plan_of(101, 10, false).n_batches, 11);
	assert_int_equal(plan_of(1, 10, false).n_batches, 1);
}

static void drop_last_leaves_the_short_one_out(void **state)
{
	(void)state;
	assert_int_equal(plan_of(100, 10, true).n_batches, 10);
	assert_int_equal(plan_of(109, 10, true).n_batches, 10);
}

static void plan_without_a_batch_is_refused_with_numbers(void **state)
{
	struct fby_plan plan;

	(void)state;
	assert_int_equal(fby_plan_init(&plan, 0, 10, false, false, 0), -EINVAL);
	assert_int_equal(fby_plan_init(&plan, 9, 10, false, true, 0), -EINVAL);
	assert_non_null(strstr(fby_error(), "9 samples"));
}

static void last_batch_is_short(void **state)
{
	struct fby_plan plan = plan_of(25, 10, false);

	(void)state;
	assert_int_equal(fby_plan_part(&plan, 0, 0).n, 10);
	assert_int_equal(fby_plan_part(&plan, 0, 2).n, 5);
	assert_int_equal(fby_plan_part(&plan, 0, 2).first, 20);
}

static void batch_after_the_last_is_the_first_of_the_next_epoch(void **state)
{
	struct fby_plan plan = plan_of(25, 10, false);
	struct fby_part part = fby_plan_part(&plan, 4, 1);

	(void)state;
	part = fby_plan_after(&plan, &part);
	assert_int_equal(part.index, 2);
	assert_int_equal(part.epoch, 4);
	part = fby_plan_after(&plan, &part);
	assert_int_equal(part.index, 0);
	assert_int_equal(part.epoch, 5);
	assert_int_equal(part.n, 10);
}

static void count_epoch(const struct fby_plan *plan, unsigned char seen[25])
{
	uint64_t id[10];

	for (uint64_t i = 0; i < plan->n_batches; i++) {
		struct fby_part part = fby_plan_part(plan, 6, i);

		fby_plan_ids(plan, &part, id);
		for (uint32_t k = 0; k < part.n; k++) {
			assert_true(id[k] < 25);
			seen[id[k]]++;
		}
	}
}

static void each_sample_is_in_an_epoch_once(void **state)
{
	struct fby_plan plan = plan_of(25, 10, false);
	unsigned char seen[25] = { 0 };

	(void)state;
	count_epoch(&plan, seen);
	for (int i = 0; i < 25; i++)
		assert_int_equal(seen[i], 1);
}

static void drop_last_leaves_out_as_many_as_do_not_fit(void **state)
{
	struct fby_plan plan = plan_of(25, 10, true);
	unsigned char seen[25] = { 0 };
	unsigned sum = 0;

	(void)state;
	count_epoch(&plan, seen);
	for (int i = 0; i < 25; i++) {
		assert_true(seen[i] <= 1);
		sum += seen[i];
	}
	assert_int_equal(sum, 20);
}

static void stride_takes_every_second_position(void **state)
{
	struct fby_plan plan;
	struct fby_part part = { .first = 1, .stride = 2, .n = 3 };
	uint64_t id[3];

	(void)state;
	assert_int_equal(fby_plan_init(&plan, 10, 10, false, false, 0), 0);
	fby_plan_ids(&plan, &part, id);
	for (uint64_t i = 0; i < 3; i++)
		assert_int_equal(id[i], 1 + 2 * i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(number_of_batches_counts_the_short_one),
		cmocka_unit_test(drop_last_leaves_the_short_one_out),
		cmocka_unit_test(plan_without_a_batch_is_refused_with_numbers),
		cmocka_unit_test(last_batch_is_short),
		cmocka_unit_test(batch_after_the_last_is_the_first_of_the_next_epoch),
		cmocka_unit_test(each_sample_is_in_an_epoch_once),
		cmocka_unit_test(drop_last_leaves_out_as_many_as_do_not_fit),
		cmocka_unit_test(stride_takes_every_second_position),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
