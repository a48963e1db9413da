/* SPDX-License-Identifier: Apache-2.0 */
/* The bench's arithmetic, on a clock that goes as the test says. */
#include "tests/unit.h"
#include "tools/bench.h"
#include "tools/meter.h"

#define MS 1000000u

static uint64_t clock_ns;

static uint64_t fake_now(void *ctx)
{
	(void)ctx;
	return clock_ns;
}

/* A batch of n rows comes `ms` after the last event. */
static void batch_after(struct fby_meter *meter, uint64_t ms, uint64_t epoch, uint32_t n)
{
	clock_ns += ms * MS;
	assert_int_equal(fby_meter_batch(meter, epoch, n), 0);
}

static void start(struct fby_meter *meter)
{
	clock_ns = 5000 * MS;
	fby_meter_init(meter, fake_now, NULL);
}

static void the_first_batch_counts_from_open(void **state)
{
	struct fby_meter meter;

	(void)state;
	start(&meter);
	assert_true(fby_meter_first_batch_ms(&meter) == 0);
	batch_after(&meter, 80, 0, 64);
	batch_after(&meter, 10, 0, 64);
	assert_true(fby_meter_first_batch_ms(&meter) == 80);
	fby_meter_finish(&meter);
}

static void throughput_leaves_the_first_batch_out(void **state)
{
	struct fby_meter meter;

	(void)state;
	start(&meter);
	batch_after(&meter, 500, 0, 64);
	assert_true(fby_meter_images_per_second(&meter) == 0);
	batch_after(&meter, 100, 0, 64);
	batch_after(&meter, 100, 0, 36);
	assert_true(fby_meter_images_per_second(&meter) == 500);
	fby_meter_finish(&meter);
}

static void gaps_within_and_between_epochs_are_kept_apart(void **state)
{
	struct fby_meter meter;

	(void)state;
	start(&meter);
	batch_after(&meter, 50, 0, 1);
	batch_after(&meter, 7, 0, 1);
	batch_after(&meter, 90, 1, 1);
	batch_after(&meter, 9, 1, 1);
	batch_after(&meter, 30, 2, 1);
	assert_int_equal(meter.batch_gap_ms.n, 2);
	assert_int_equal(meter.epoch_gap_ms.n, 2);
	assert_true(fby_series_percentile(&meter.batch_gap_ms, 50) == 7);
	assert_true(fby_series_percentile(&meter.batch_gap_ms, 100) == 9);
	assert_true(fby_series_percentile(&meter.epoch_gap_ms, 50) == 30);
	fby_meter_finish(&meter);
}

static void ratios_are_quotients_of_medians(void **state)
{
	struct fby_bench_result result = { 0 };
	const double ours[] = { 2, 1, 50 }, full[] = { 3, 4, 5 }, plain[] = { 1, 1.5, 9 };

	(void)state;
	assert_true(fby_bench_ratio_to_full_decode(&result) == 0);
	for (int i = 0; i < 3; i++) {
		fby_series_add(&result.cpu_ms, ours[i]);
		fby_series_add(&result.full_cpu_ms, full[i]);
		fby_series_add(&result.plain_cpu_ms, plain[i]);
	}
	assert_true(fby_bench_ratio_to_full_decode(&result) == 2);
	assert_true(fby_bench_pool_efficiency(&result) == 0.75);
	fby_bench_finish(&result);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_batch_counts_from_open),
		cmocka_unit_test(throughput_leaves_the_first_batch_out),
		cmocka_unit_test(gaps_within_and_between_epochs_are_kept_apart),
		cmocka_unit_test(ratios_are_quotients_of_medians),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
