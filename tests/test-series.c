/* SPDX-License-Identifier: Apache-2.0 */
/* Percentiles by nearest rank. */
#include "tests/unit.h"
#include "tools/series.h"

static void add_all(struct fby_series *series, int n)
{
	for (int i = n; i >= 1; i--)
		assert_int_equal(fby_series_add(series, i), 0);
}

static void an_empty_series_has_zero_percentiles(void **state)
{
	struct fby_series series = { 0 };

	(void)state;
	assert_true(fby_series_percentile(&series, 50) == 0);
}

static void one_value_is_every_percentile(void **state)
{
	struct fby_series series = { 0 };

	(void)state;
	add_all(&series, 1);
	assert_true(fby_series_percentile(&series, 0) == 1);
	assert_true(fby_series_percentile(&series, 50) == 1);
	assert_true(fby_series_percentile(&series, 100) == 1);
	fby_series_finish(&series);
}

static void percentiles_are_the_nearest_rank(void **state)
{
	struct fby_series series = { 0 };

	(void)state;
	add_all(&series, 1000);
	assert_true(fby_series_percentile(&series, 50) == 500);
	assert_true(fby_series_percentile(&series, 99) == 990);
	assert_true(fby_series_percentile(&series, 99.9) == 999);
	assert_true(fby_series_percentile(&series, 100) == 1000);
	fby_series_finish(&series);
}

static void the_series_keeps_its_order(void **state)
{
	struct fby_series series = { 0 };

	(void)state;
	add_all(&series, 3);
	fby_series_percentile(&series, 50);
	assert_true(series.value[0] == 3 && series.value[2] == 1);
	fby_series_finish(&series);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_series_has_zero_percentiles),
		cmocka_unit_test(one_value_is_every_percentile),
		cmocka_unit_test(percentiles_are_the_nearest_rank),
		cmocka_unit_test(the_series_keeps_its_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
