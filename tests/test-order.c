/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of an epoch: a permutation for every n, another one each epoch and seed,
 * and no sample prefers a place.
 */
#include "lib/order.h"
#include "tests/unit.h"
#include <stdlib.h>
#include <string.h>

static void expect_permutation(uint64_t n, uint64_t seed, uint64_t epoch)
{
	unsigned char *seen = calloc(n, 1);
	struct fby_order order;

	assert_non_null(seen);
	fby_order_init(&order, n, true, seed, epoch);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t sample = fby_order_at(&order, i);

		assert_true(sample < n);
		assert_int_equal(seen[sample]++, 0);
	}
	free(seen);
}

static void each_small_number_is_permuted(void **state)
{
	(void)state;
	for (uint64_t n = 1; n <= 300; n++)
		expect_permutation(n, 11, n % 7);
}

static void numbers_around_powers_of_two_are_permuted(void **state)
{
	(void)state;
	for (uint64_t bits = 9; bits <= 17; bits++)
		for (int64_t d = -1; d <= 1; d++)
			expect_permutation((1ull << bits) + (uint64_t)d, 5, 1);
}

static void large_numbers_stay_inside(void **state)
{
	const uint64_t sizes[] = { 1ull << 32, (1ull << 32) + 1, 1ull << 62,
				   (1ull << 63) + 12345, UINT64_MAX };
	struct fby_order order;

	(void)state;
	for (size_t k = 0; k < FBY_ARRAY_SIZE(sizes); k++) {
		fby_order_init(&order, sizes[k], true, 1, 1);
		for (uint64_t i = 0; i < 1000; i++) {
			assert_true(fby_order_at(&order, i) < sizes[k]);
			assert_true(fby_order_at(&order, sizes[k] - 1 - i) < sizes[k]);
		}
	}
}

static void sequential_order_is_the_position(void **state)
{
	struct fby_order order;

	(void)state;
	fby_order_init(&order, 1000, false, 1, 1);
	for (uint64_t i = 0; i < 1000; i++)
		assert_int_equal(fby_order_at(&order, i), i);
}

static unsigned count_equal(uint64_t n, uint64_t seed[2], uint64_t epoch[2])
{
	struct fby_order a, b;
	unsigned equal = 0;

	fby_order_init(&a, n, true, seed[0], epoch[0]);
	fby_order_init(&b, n, true, seed[1], epoch[1]);
	for (uint64_t i = 0; i < n; i++)
		equal += fby_order_at(&a, i) == fby_order_at(&b, i);
	return equal;
}

/* Two independent orders agree in one place on the average. */
static void epochs_and_seeds_differ(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 20; i++) {
		assert_true(count_equal(10000, (uint64_t[]){ 1, 1 },
					(uint64_t[]){ i, i + 1 }) < 12);
		assert_true(count_equal(10000, (uint64_t[]){ i, i + 1 },
					(uint64_t[]){ 3, 3 }) < 12);
	}
	assert_int_equal(count_equal(10000, (uint64_t[]){ 1, 1 }, (uint64_t[]){ 4, 4 }),
			 10000);
}

/*
 * A network over three bits is no ideal shuffle: up to 6 % off for n = 5, 6, 7, and
 * nothing that can be measured from 8 on.
 */
static void no_sample_prefers_a_place(void **state)
{
	unsigned count[5][5] = { 0 }, n = 20000;
	struct fby_order order;

	(void)state;
	for (uint64_t epoch = 0; epoch < n; epoch++) {
		fby_order_init(&order, 5, true, 1, epoch);
		for (uint64_t i = 0; i < 5; i++)
			count[i][fby_order_at(&order, i)]++;
	}
	for (int i = 0; i < 5; i++)
		for (int k = 0; k < 5; k++)
			assert_in_range(count[i][k], n / 5 * 9 / 10, n / 5 * 11 / 10);
}

/* Pearson's statistic over places and samples; its mean is (n - 1)^2. */
static double unevenness(uint64_t n, uint64_t epochs)
{
	double expected = (double)epochs / (double)n, sum = 0;
	unsigned count[16][16] = { { 0 } };
	struct fby_order order;

	for (uint64_t e = 0; e < epochs; e++) {
		fby_order_init(&order, n, true, 7, e);
		for (uint64_t p = 0; p < n; p++)
			count[p][fby_order_at(&order, p)]++;
	}
	for (uint64_t p = 0; p < n; p++)
		for (uint64_t s = 0; s < n; s++)
			sum += (count[p][s] - expected) * (count[p][s] - expected) /
			       expected;
	return sum;
}

/* Halves of one or two bits put sample 3 of 5 in the first place 5 % too often. */
static void few_samples_are_shuffled_evenly(void **state)
{
	(void)state;
	for (uint64_t n = 2; n <= 7; n++)
		assert_true(unevenness(n, 30000) < 3 * (double)((n - 1) * (n - 1)));
}

static void all_orders_of_three_occur(void **state)
{
	unsigned count[27] = { 0 }, n = 12000;
	struct fby_order order;

	(void)state;
	for (uint64_t epoch = 0; epoch < n; epoch++) {
		unsigned code = 0;

		fby_order_init(&order, 3, true, 1, epoch);
		for (uint64_t i = 0; i < 3; i++)
			code = code * 3 + (unsigned)fby_order_at(&order, i);
		count[code]++;
	}
	const unsigned codes[] = { 5, 7, 11, 15, 19, 21 };

	for (size_t i = 0; i < FBY_ARRAY_SIZE(codes); i++)
		assert_in_range(count[codes[i]], n / 6 * 9 / 10, n / 6 * 11 / 10);
}

/* Neighbours of one epoch are no neighbours in the next. */
static void neighbours_are_torn_apart(void **state)
{
	struct fby_order order;
	unsigned together = 0;

	(void)state;
	fby_order_init(&order, 10000, true, 1, 1);
	for (uint64_t i = 0; i + 1 < 10000; i++) {
		uint64_t a = fby_order_at(&order, i), b = fby_order_at(&order, i + 1);

		together += a + 1 == b || b + 1 == a;
	}
	assert_true(together < 15);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_small_number_is_permuted),
		cmocka_unit_test(numbers_around_powers_of_two_are_permuted),
		cmocka_unit_test(large_numbers_stay_inside),
		cmocka_unit_test(sequential_order_is_the_position),
		cmocka_unit_test(epochs_and_seeds_differ),
		cmocka_unit_test(no_sample_prefers_a_place),
		cmocka_unit_test(few_samples_are_shuffled_evenly),
		cmocka_unit_test(all_orders_of_three_occur),
		cmocka_unit_test(neighbours_are_torn_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
