/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters in the control segment: buckets of waits, and sums over workers.
 */
#include "lib/stats.h"
#include "tests/rows.h"
#include "tests/unit.h"

static void bucket_is_the_power_of_two_of_microseconds(void **state)
{
	(void)state;
	assert_int_equal(fby_stats_bucket(0), 0);
	assert_int_equal(fby_stats_bucket(1999), 0);
	assert_int_equal(fby_stats_bucket(2000), 1);
	assert_int_equal(fby_stats_bucket(3999), 1);
	assert_int_equal(fby_stats_bucket(4000), 2);
	assert_int_equal(fby_stats_bucket(1000000000), 19); /* 1 s */
	assert_int_equal(fby_stats_bucket(UINT64_MAX), FBY_HISTOGRAM - 1);
}

static void wait_is_counted_summed_and_put_into_its_bucket(void **state)
{
	struct fby_trainer_record record = { 0 };

	(void)state;
	fby_stats_wait(&record, 5000, 700);
	fby_stats_wait(&record, 7000, 800);
	assert_int_equal(atomic_load(&record.waits), 2);
	assert_int_equal(atomic_load(&record.wait_ns), 12000);
	assert_int_equal(atomic_load(&record.wait_histogram[2]), 2);
	assert_int_equal(atomic_load(&record.handover_ns), 800);
}

static void collect_sums_over_workers(void **state)
{
	struct fby_stats stats;
	struct fby_pool pool;

	(void)state;
	assert_int_equal(rows_pool(&pool, 2, 3, 4), 0);
	for (uint32_t i = 0; i < 3; i++) {
		struct fby_worker_record *record = fby_pool_worker(&pool, i);

		fby_stats_add(&record->samples, i + 1);
		fby_stats_add(&record->bytes, 10);
		fby_stats_add(&record->slices_needed, 1);
		fby_stats_add(&record->stage_ns[FBY_STAGE_DECODE], 100);
	}
	fby_stats_add(&pool.ctl->trainer.slices_needed, 1);
	fby_stats_add(&pool.ctl->trainer.deaths, 4);
	fby_stats_add(&pool.ctl->trainer.bad_rows, 7);
	fby_stats_add(&pool.ctl->trainer.rows_replaced, 6);
	fby_stats_add(&pool.ctl->trainer.bad_samples, 5);
	fby_stats_collect(&pool, &stats);
	assert_int_equal(stats.samples, 6);
	assert_int_equal(stats.bytes_read, 30);
	assert_int_equal(stats.slices_needed, 4);
	assert_int_equal(stats.stage_ns[FBY_STAGE_DECODE], 300);
	assert_int_equal(stats.deaths, 4);
	assert_int_equal(stats.bad_rows, 7);
	assert_int_equal(stats.rows_replaced, 6);
	assert_int_equal(stats.bad_samples, 5);
	assert_int_equal(stats.pool_bytes,
			 pool.geo.ctl_bytes + pool.geo.data_bytes + pool.geo.cfg_bytes);
	fby_pool_finish(&pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bucket_is_the_power_of_two_of_microseconds),
		cmocka_unit_test(wait_is_counted_summed_and_put_into_its_bucket),
		cmocka_unit_test(collect_sums_over_workers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
