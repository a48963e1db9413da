/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where things stand in the shared objects: aligned, apart from each other, refused
 * where the sum does not fit.
 */
#include "lib/layout.h"
#include "tests/unit.h"
#include <errno.h>
#include <string.h>

static struct fby_geometry geometry(uint32_t slots, uint32_t workers, uint32_t batch,
				    uint64_t row_bytes)
{
	struct fby_geometry g = { .n_slots = slots,
				  .n_workers = workers,
				  .batch = batch,
				  .n_fields = 2,
				  .row_bytes = { row_bytes, 8 } };

	assert_int_equal(fby_geometry_init(&g), 0);
	return g;
}

static void lines_that_two_write_are_apart(void **state)
{
	const uint32_t batches[] = { 1, 63, 64, 65, 1000 };

	(void)state;
	for (size_t i = 0; i < FBY_ARRAY_SIZE(batches); i++) {
		struct fby_geometry g = geometry(3, 5, batches[i], 150);

		assert_int_equal(g.ready_at % FBY_LINE, 0);
		assert_int_equal(g.worker_at % FBY_LINE, 0);
		assert_int_equal(g.ticket_at % FBY_LINE, 0);
		assert_int_equal(g.ticket_bytes % FBY_LINE, 0);
		assert_int_equal(g.done_at % FBY_LINE, 0);
		assert_int_equal(g.bad_at % 8, 0);
		assert_int_equal(g.claim_at % FBY_LINE, 0);
		assert_int_equal(g.n_words, (batches[i] + 63) / 64);
	}
}

static void arrays_of_a_ticket_do_not_overlap(void **state)
{
	struct fby_geometry g = geometry(3, 5, 70, 150);

	(void)state;
	assert_true(g.done_at >= sizeof(struct fby_ticket));
	assert_true(g.bad_at >= g.done_at + 16);
	assert_true(g.claim_at >= g.bad_at + 16);
	assert_true(g.sample_at >= g.claim_at + 70 * 8);
	assert_true(g.row_at >= g.sample_at + 70 * 8);
	assert_true(g.reason_at >= g.row_at + 70 * sizeof(struct fby_row));
	assert_true(g.ticket_bytes >= g.reason_at + 70 * FBY_REASON_BYTES);
}

static void parts_of_the_control_segment_do_not_overlap(void **state)
{
	struct fby_geometry g = geometry(3, 5, 70, 150);

	(void)state;
	assert_true(g.ready_at >= sizeof(struct fby_ctl));
	assert_true(g.worker_at >= g.ready_at + 3 * sizeof(struct fby_sem));
	assert_true(g.ticket_at >= g.worker_at + 5 * sizeof(struct fby_worker_record));
	assert_true(g.ctl_bytes >= g.ticket_at + g.n_tickets * g.ticket_bytes);
}

static void fields_begin_on_a_line_with_a_canary_between(void **state)
{
	struct fby_geometry g = geometry(3, 5, 7, 33);

	(void)state;
	assert_int_equal(g.field_at[0], 0);
	assert_int_equal(g.field_at[1] % 64, 0);
	assert_true(g.field_at[1] >= 7 * 33 + FBY_CANARY_BYTES);
	assert_true(g.slot_bytes >= g.field_at[1] + 7 * 8 + FBY_CANARY_BYTES);
	assert_int_equal(g.slot_bytes % 4096, 0);
	assert_int_equal(g.data_bytes, 3 * g.slot_bytes);
}

static void tickets_are_a_power_of_two_above_the_slots(void **state)
{
	(void)state;
	assert_int_equal(geometry(1, 1, 1, 1).n_tickets, 2);
	assert_int_equal(geometry(3, 1, 1, 1).n_tickets, 4);
	assert_int_equal(geometry(4, 1, 1, 1).n_tickets, 8);
	assert_int_equal(geometry(FBY_MAX_SLOTS, 1, 1, 1).n_tickets, 512);
}

static void expect_refusal(struct fby_geometry g, int why)
{
	assert_int_equal(fby_geometry_init(&g), why);
}

static void numbers_out_of_range_are_refused(void **state)
{
	const struct fby_geometry good = {
		.n_slots = 1, .n_workers = 1, .batch = 1, .n_fields = 1
	};
	struct fby_geometry g;

	(void)state;
	g = good, g.n_slots = 0, expect_refusal(g, -EINVAL);
	g = good, g.n_slots = FBY_MAX_SLOTS + 1, expect_refusal(g, -EINVAL);
	g = good, g.n_workers = 0, expect_refusal(g, -EINVAL);
	g = good, g.n_workers = FBY_MAX_WORKERS + 1, expect_refusal(g, -EINVAL);
	g = good, g.batch = 0, expect_refusal(g, -EINVAL);
	g = good, g.batch = FBY_MAX_BATCH + 1, expect_refusal(g, -EINVAL);
	g = good, g.n_fields = 0, expect_refusal(g, -EINVAL);
	g = good, g.n_fields = FBY_MAX_FIELDS + 1, expect_refusal(g, -EINVAL);
	assert_true(strlen(fby_error()) > 0);
}

static void sums_that_overflow_are_refused(void **state)
{
	struct fby_geometry g = {
		.n_slots = 200, .n_workers = 1, .batch = 65536, .n_fields = 2
	};

	(void)state;
	g.row_bytes[0] = UINT64_MAX;
	expect_refusal(g, -EOVERFLOW);
	g.row_bytes[0] = UINT64_MAX / 65536;
	expect_refusal(g, -EOVERFLOW);
	g.row_bytes[0] = 1ull << 44;
	expect_refusal(g, -EOVERFLOW);
	g.row_bytes[0] = 8;
	g.row_bytes[1] = UINT64_MAX / 65536;
	expect_refusal(g, -EOVERFLOW);
}

/* Whoever moves a byte changes FBY_LAYOUT, and with it this number. */
static void hash_is_the_same_each_time_and_says_something(void **state)
{
	(void)state;
	assert_int_equal(fby_layout_hash(), fby_layout_hash());
	assert_int_not_equal(fby_layout_hash(), 0xcbf29ce484222325ull);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_that_two_write_are_apart),
		cmocka_unit_test(arrays_of_a_ticket_do_not_overlap),
		cmocka_unit_test(parts_of_the_control_segment_do_not_overlap),
		cmocka_unit_test(fields_begin_on_a_line_with_a_canary_between),
		cmocka_unit_test(tickets_are_a_power_of_two_above_the_slots),
		cmocka_unit_test(numbers_out_of_range_are_refused),
		cmocka_unit_test(sums_that_overflow_are_refused),
		cmocka_unit_test(hash_is_the_same_each_time_and_says_something),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
