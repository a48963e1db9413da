/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bad rows at hand-out: which row a bad one becomes a copy of, that samples are listed
 * once, and when there are too many.
 */
#include "lib/bad.h"
#include "tests/rows.h"
#include "tests/unit.h"
#include <errno.h>
#include <string.h>

enum { BATCH = 10, MANY = 70000 };

static uint64_t ids[BATCH];
static struct fby_bad_sample samples[BATCH];
static struct fby_lease lease = { .ids = ids, .bad = samples };

static struct fby_settings settings(double max_bad, uint32_t max_bad_rows)
{
	struct fby_settings s;

	fby_settings_init(&s);
	s.max_bad = max_bad;
	s.max_bad_rows = max_bad_rows;
	return s;
}

/* `n` rows of samples from `first` on; the bits of `pattern` say which are bad. */
static void lay_lease(uint64_t first, uint32_t n, unsigned pattern)
{
	lease.part.n = n;
	lease.n_bad = 0;
	for (uint32_t row = 0; row < n; row++) {
		ids[row] = first + row;
		if (pattern >> row & 1)
			samples[lease.n_bad++] = (struct fby_bad_sample){
				.row = row, .id = ids[row], .status = FBY_ROW_BAD
			};
	}
}

/* Each row holds its number, in every field. */
static void lay_rows(const struct fby_pool *pool, uint32_t n)
{
	for (uint32_t f = 0; f < pool->geo.n_fields; f++)
		for (uint32_t row = 0; row < n; row++)
			memset(fby_pool_row(pool, 0, f, row), (int)row + 1,
			       pool->geo.row_bytes[f]);
}

static uint32_t expected_source(uint32_t row, uint32_t n, unsigned pattern)
{
	while (pattern >> row & 1)
		row = (row + 1) % n;
	return row;
}

static void check_rows(const struct fby_pool *pool, uint32_t n, unsigned pattern)
{
	for (uint32_t row = 0; row < n; row++) {
		uint32_t source = expected_source(row, n, pattern);

		assert_int_equal(ids[row], 100 + source);
		for (uint32_t f = 0; f < pool->geo.n_fields; f++)
			for (uint32_t k = 0; k < pool->geo.row_bytes[f]; k++)
				assert_int_equal(fby_pool_row(pool, 0, f, row)[k],
						 source + 1);
	}
}

/* Every pattern of every size up to 8, but those without a good row. */
static void bad_row_becomes_the_next_good_row_cyclically(void **state)
{
	struct fby_settings s = settings(1, 0);
	struct fby_pool pool;
	struct fby_bad bad;

	(void)state;
	assert_int_equal(rows_pool(&pool, 2, 1, BATCH), 0);
	assert_int_equal(fby_bad_init(&bad, &s, 200), 0);
	for (uint32_t n = 1; n <= 8; n++)
		for (unsigned pattern = 0; pattern < (1u << n) - 1; pattern++) {
			lay_lease(100, n, pattern);
			lay_rows(&pool, n);
			assert_int_equal(fby_bad_fill(&bad, &pool, NULL, &lease),
					 lease.n_bad);
			check_rows(&pool, n, pattern);
		}
	assert_int_equal(fby_pool_torn_slot(&pool), -1);
	fby_bad_finish(&bad);
	fby_pool_finish(&pool);
}

static void sample_is_counted_and_listed_once(void **state)
{
	struct fby_settings s = settings(1, 0);
	struct fby_bad bad;

	(void)state;
	assert_int_equal(fby_bad_init(&bad, &s, 200), 0);
	for (unsigned epoch = 0; epoch < 3; epoch++) {
		lay_lease(60, BATCH, 0x210); /* 64, 69 */
		fby_bad_count(&bad, &lease);
		lay_lease(190, BATCH, 0x201); /* 190, 199 */
		fby_bad_count(&bad, &lease);
	}
	assert_int_equal(bad.n, 4);
	assert_int_equal(bad.n_list, 4);
	assert_int_equal(bad.n_seen, 60);
	assert_int_equal(bad.list[0].id, 64);
	assert_int_equal(bad.list[0].row, 4);
	assert_int_equal(bad.list[1].id, 69);
	assert_int_equal(bad.list[2].id, 190);
	assert_int_equal(bad.list[3].id, 199);
	fby_bad_finish(&bad);
}

/* Ids come out of shared memory. */
static void id_that_is_not_there_is_passed_over(void **state)
{
	struct fby_settings s = settings(1, 0);
	struct fby_bad bad;

	(void)state;
	assert_int_equal(fby_bad_init(&bad, &s, 64), 0);
	lay_lease(63, 2, 3);
	fby_bad_count(&bad, &lease);
	lay_lease(UINT64_MAX, 1, 1);
	fby_bad_count(&bad, &lease);
	assert_int_equal(bad.n, 1);
	fby_bad_finish(&bad);
}

static void list_has_an_end_and_counting_has_not(void **state)
{
	struct fby_settings s = settings(1, 0);
	struct fby_bad bad;

	(void)state;
	assert_int_equal(fby_bad_init(&bad, &s, MANY), 0);
	for (uint64_t id = 0; id < MANY; id += BATCH) {
		lay_lease(id, BATCH, 0x3ff);
		fby_bad_count(&bad, &lease);
	}
	assert_int_equal(bad.n, MANY);
	assert_int_equal(bad.n_list, FBY_MAX_BAD_LIST);
	assert_int_equal(bad.list[FBY_MAX_BAD_LIST - 1].id, FBY_MAX_BAD_LIST - 1);
	fby_bad_finish(&bad);
}

/* After how many batches with `bad_a_batch` of 10 bad it is over; 0: never. */
static unsigned batches_until_over(double max_bad, uint32_t max_bad_rows,
				   unsigned bad_a_batch, unsigned n_batches)
{
	struct fby_settings s = settings(max_bad, max_bad_rows);
	struct fby_bad bad;
	unsigned over = 0;

	assert_int_equal(fby_bad_init(&bad, &s, n_batches * BATCH), 0);
	for (unsigned i = 0; i < n_batches && !over; i++) {
		lay_lease(i * BATCH, BATCH, (1u << bad_a_batch) - 1);
		fby_bad_count(&bad, &lease);
		over = bad.over ? i + 1 : 0;
	}
	fby_bad_finish(&bad);
	return over;
}

static void so_many_are_too_many(void **state)
{
	(void)state;
	assert_int_equal(batches_until_over(0, 0, 1, 5), 1);
	assert_int_equal(batches_until_over(0, 10, 1, 50), 11);
	assert_int_equal(batches_until_over(0, 10, 5, 50), 3);
	assert_int_equal(batches_until_over(0.1, 0, 1, 50), 0);
	assert_int_equal(batches_until_over(0.1, 3, 2, 50), 2);
	assert_int_equal(batches_until_over(0.01, 10, 1, 50), 11);
	assert_int_equal(batches_until_over(1, 0, 10, 50), 0);
	assert_int_equal(batches_until_over(0, 0, 0, 50), 0);
}

/* What is over stays so, however many good rows follow. */
static void too_many_is_for_good(void **state)
{
	struct fby_settings s = settings(0.1, 0);
	struct fby_bad bad;

	(void)state;
	assert_int_equal(fby_bad_init(&bad, &s, 100), 0);
	lay_lease(0, BATCH, 3);
	fby_bad_count(&bad, &lease);
	for (unsigned i = 1; i < 10; i++) {
		lay_lease(i * BATCH, BATCH, 0);
		fby_bad_count(&bad, &lease);
	}
	assert_int_equal(bad.n, 2);
	assert_int_equal(bad.n_seen, 100);
	assert_true(bad.over);
	fby_bad_finish(&bad);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_row_becomes_the_next_good_row_cyclically),
		cmocka_unit_test(sample_is_counted_and_listed_once),
		cmocka_unit_test(id_that_is_not_there_is_passed_over),
		cmocka_unit_test(list_has_an_end_and_counting_has_not),
		cmocka_unit_test(so_many_are_too_many),
		cmocka_unit_test(too_many_is_for_good),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
