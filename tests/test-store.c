/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes to numbers: places, scaling, and the rounding of the short floats.
 */
#include "tests/unit.h"
#include "workers/store.h"
#include <math.h>
#include <string.h>

static struct fby_store store;

static void init(uint32_t dtype, uint32_t memory_format, float mean, float std)
{
	struct fby_cfg cfg = {
		.dtype = dtype,
		.memory_format = memory_format,
		.height = 2,
		.width = 3,
		.n_ops = std > 0,
		.op = { { FBY_OP_NORMALIZE, 6, { mean, mean, mean, std, std, std } } }
	};

	fby_store_init(&store, &cfg, fby_passes_get(0));
}

/* Two rows of three pixels, channel c of pixel i of row y being 100y + 10i + c. */
static const uint8_t rows[2][16] = { { 0, 1, 2, 10, 11, 12, 20, 21, 22 },
				     { 100, 101, 102, 110, 111, 112, 120, 121, 122 } };

static void bytes_go_to_three_planes(void **state)
{
	static const uint8_t want[] = { 0,   10,  20,  100, 110, 120, 1,   11,  21,
					101, 111, 121, 2,   12,  22,  102, 112, 122 };
	uint8_t image[18];

	(void)state;
	init(FBY_U8, FBY_CONTIGUOUS, 0, 0);
	fby_store_rows(&store, image, 0, 2, rows[0], sizeof(rows[0]));
	assert_memory_equal(image, want, sizeof(want));
}

static void bytes_stay_together_in_channels_last(void **state)
{
	uint8_t image[18];

	(void)state;
	init(FBY_U8, FBY_CHANNELS_LAST, 0, 0);
	fby_store_rows(&store, image, 1, 1, rows[1], sizeof(rows[1]));
	fby_store_rows(&store, image, 0, 1, rows[0], sizeof(rows[0]));
	assert_memory_equal(image, rows[0], 9);
	assert_memory_equal(image + 9, rows[1], 9);
}

static void floats_are_scaled_to_one(void **state)
{
	float image[18];

	(void)state;
	init(FBY_F32, FBY_CONTIGUOUS, 0, 0);
	fby_store_rows(&store, image, 0, 2, rows[0], sizeof(rows[0]));
	assert_true(image[0] == 0 && image[1] == 10 / 255.0f);
	assert_true(image[17] == 122 / 255.0f);
}

static void normalised_floats_are_computed_step_by_step(void **state)
{
	float image[18];
	float x = 122 / 255.0f;

	(void)state;
	init(FBY_F32, FBY_CHANNELS_LAST, 0.485f, 0.229f);
	fby_store_rows(&store, image, 0, 2, rows[0], sizeof(rows[0]));
	x -= 0.485f;
	x /= 0.229f;
	assert_memory_equal(&image[17], &x, sizeof(x));
}

/* The value of a float16, which every double can hold. */
static double half_value(uint16_t bits)
{
	int exponent = bits >> 10 & 31;
	double fraction = bits & 1023;
	double value = exponent == 0 ? ldexp(fraction, -24)
				     : ldexp(fraction + 1024, exponent - 25);

	return bits & 0x8000 ? -value : value;
}

static double brain_value(uint16_t bits)
{
	uint32_t wide = (uint32_t)bits << 16;
	float value;

	memcpy(&value, &wide, sizeof(value));
	return (double)value;
}

/* Nearer than both neighbours, or as near and even. */
static void check_nearest(double x, uint16_t bits, double (*value)(uint16_t))
{
	double error = fabs(value(bits) - x);

	for (int step = -1; step <= 1; step += 2) {
		double other = fabs(value((uint16_t)(bits + step)) - x);

		if ((bits & 0x7fff) == 0)
			continue;
		assert_true(error < other || (error == other && (bits & 1) == 0));
	}
}

static void check_short(uint32_t dtype, double (*value)(uint16_t), float mean, float std)
{
	struct fby_store wide;

	init(FBY_F32, FBY_CONTIGUOUS, mean, std);
	wide = store;
	init(dtype, FBY_CONTIGUOUS, mean, std);
	for (unsigned c = 0; c < 3; c++)
		for (unsigned i = 0; i < 256; i++)
			check_nearest((double)wide.table.f32[c][i], store.table.f16[c][i],
				      value);
}

static void short_floats_are_the_nearest_ones(void **state)
{
	static const float std[] = { 0, 0.229f, 1, 100, 1e4f, 3e5f };

	(void)state;
	for (unsigned k = 0; k < FBY_ARRAY_SIZE(std); k++) {
		check_short(FBY_F16, half_value, 0.485f, std[k]);
		check_short(FBY_BF16, brain_value, 0.485f, std[k]);
	}
}

static void halves_too_large_are_infinite(void **state)
{
	(void)state;
	init(FBY_F16, FBY_CONTIGUOUS, 0, 1e-6f);
	assert_int_equal(store.table.f16[0][255], 0x7c00);
	init(FBY_F16, FBY_CONTIGUOUS, 2, 1e-6f);
	assert_int_equal(store.table.f16[0][255], 0xfc00);
}

static void halves_too_small_are_zero(void **state)
{
	(void)state;
	init(FBY_F16, FBY_CONTIGUOUS, 0, 1e9f);
	assert_int_equal(store.table.f16[0][255], 0);
	init(FBY_F16, FBY_CONTIGUOUS, 0, 255.0f * 65536);
	assert_int_equal(store.table.f16[0][255], 0x0001);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_go_to_three_planes),
		cmocka_unit_test(bytes_stay_together_in_channels_last),
		cmocka_unit_test(floats_are_scaled_to_one),
		cmocka_unit_test(normalised_floats_are_computed_step_by_step),
		cmocka_unit_test(short_floats_are_the_nearest_ones),
		cmocka_unit_test(halves_too_large_are_infinite),
		cmocka_unit_test(halves_too_small_are_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
