/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random numbers without state: known answers of Random123 and of numpy.
 */
#include "lib/rng.h"
#include "tests/unit.h"

static void first_known_answer_of_random123(void **state)
{
	const struct fby_random random = { 0 };
	uint64_t out[4];

	(void)state;
	fby_random_draw(&random, 0, 0, out);
	assert_int_equal(out[0], 0x16554d9eca36314c);
	assert_int_equal(out[1], 0xdb20fe9d672d0fdc);
	assert_int_equal(out[2], 0xd7e772cee186176b);
	assert_int_equal(out[3], 0x7e68b68aec7ba23b);
}

/* numpy.random.Philox(key=[seed, 0], counter=[draw - 1, op, position, epoch]). */
static void numbers_are_those_of_numpy(void **state)
{
	static const struct {
		uint64_t seed, epoch, position, op, draw, out[4];
	} known[] = {
		{ 0,
		  0,
		  0,
		  0,
		  1,
		  { 0x2f4ba6408e4d89b, 0x3dd62b0b9ca8c5b2, 0x1c8667a55d902e79,
		    0x907d7a052fd5b4dc } },
		{ 7,
		  3,
		  0xf4240,
		  2,
		  5,
		  { 0xb1cd944f2096b991, 0xace3aaa700d30bf0, 0x755056ba78f96f8d,
		    0xd8789e0b1958e356 } },
		{ 0xffffffffffffffff,
		  0x10000000000,
		  0x8000000000000000,
		  0x100000000,
		  0x100000000,
		  { 0xefa30c258cb5891e, 0x85d64733a46d5d2d, 0x7d4ff31460dcd545,
		    0x364b30dfb198fcdc } },
	};
	uint64_t out[4];

	(void)state;
	for (size_t i = 0; i < FBY_ARRAY_SIZE(known); i++) {
		const struct fby_random random = { known[i].seed, known[i].epoch,
						   known[i].position };

		fby_random_draw(&random, known[i].op, known[i].draw, out);
		for (int k = 0; k < 4; k++)
			assert_int_equal(out[k], known[i].out[k]);
	}
}

static void unit_is_at_least_0_and_below_1(void **state)
{
	(void)state;
	assert_true(fby_random_unit(0) == 0.0);
	assert_true(fby_random_unit(UINT64_MAX) < 1.0);
	assert_true(fby_random_unit(UINT64_MAX) > 0.9999999999999998);
	assert_true(fby_random_unit(1ull << 63) == 0.5);
}

static void below_reaches_all_and_nothing_else(void **state)
{
	(void)state;
	assert_int_equal(fby_random_below(0, 3), 0);
	assert_int_equal(fby_random_below(UINT64_MAX / 2, 3), 1);
	assert_int_equal(fby_random_below(UINT64_MAX, 3), 2);
	assert_int_equal(fby_random_below(UINT64_MAX, 1), 0);
	assert_int_equal(fby_random_below(UINT64_MAX, UINT64_MAX), UINT64_MAX - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_known_answer_of_random123),
		cmocka_unit_test(numbers_are_those_of_numpy),
		cmocka_unit_test(unit_is_at_least_0_and_below_1),
		cmocka_unit_test(below_reaches_all_and_nothing_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
