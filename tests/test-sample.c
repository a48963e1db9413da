/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The maker: every byte of a row is written, good or bad, and depends on the job alone.
 */
#include "lib/pipeline.h"
#include "tests/folder.h"
#include "tests/jpeg-file.h"
#include "workers/passes.h"
#include "workers/sample.h"
#include <errno.h>

#define SIDE  40
#define BYTES (3 * SIDE * SIDE)

static struct fby_cfg cfg;
static struct fby_maker *maker;
static struct fby_report report;
static uint8_t image[BYTES + 64];
static int64_t label;

static void write_file(const struct folder *folder, const char *name,
		       const uint8_t *bytes, size_t n)
{
	FILE *file = fopen(folder_path(folder, name), "w");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, n, file), n);
	fclose(file);
}

static int begin(void **state)
{
	struct jpeg_spec spec = {
		.width = 130, .height = 97, .across = 2, .down = 2, .colours = JPEG_YCC
	};
	struct fby_settings s = {
		.pillow = 13,
		.n_ops = 2,
		.op = { { FBY_OP_RANDOM_RESIZED_CROP, 6, { SIDE, SIDE, .3, 1, 1, 1 } },
			{ FBY_OP_RANDOM_HORIZONTAL_FLIP, 1, { .5 } } }
	};
	uint8_t *file;
	size_t n;

	if (folder_create(state) < 0 || fby_pipeline_check(&s, &cfg) < 0)
		return -1;
	file = jpeg_file(&spec, &n);
	write_file(*state, "good.jpg", file, n);
	write_file(*state, "half.jpg", file, n / 2);
	write_file(*state, "text.jpg", (const uint8_t *)"not a picture", 13);
	free(file);
	return fby_maker_create(&cfg, NULL, &maker);
}

static int end(void **state)
{
	fby_maker_destroy(maker);
	return folder_destroy(state);
}

static void make(const struct folder *folder, const char *name, uint64_t position)
{
	struct fby_entry entry = {
		.root = folder->path, .directory = "", .name = name, .label = 77
	};
	struct fby_job job = {
		.seed = 3,
		.position = position,
		.field = { [FBY_FIELD_IMAGE] = image, [FBY_FIELD_LABEL] = &label }
	};

	memset(image, 0xaa, sizeof(image));
	label = 0;
	fby_maker_make_entry(maker, &job, &entry, &report);
}

static bool only_zeros(void)
{
	for (unsigned i = 0; i < BYTES; i++)
		if (image[i] != 0)
			return false;
	return true;
}

static bool fence_stands(void)
{
	for (unsigned i = BYTES; i < sizeof(image); i++)
		if (image[i] != 0xaa)
			return false;
	return true;
}

static void a_good_sample_gets_image_label_and_times(void **state)
{
	make(*state, "good.jpg", 0);
	assert_int_equal(report.status, FBY_ROW_GOOD);
	assert_string_equal(report.reason, "");
	assert_int_equal(label, 77);
	assert_false(only_zeros());
	assert_true(fence_stands());
	assert_true(report.bytes > 1000);
	assert_true(report.stage_ns[FBY_STAGE_READ] > 0);
	assert_true(report.stage_ns[FBY_STAGE_DECODE] > 0);
	assert_true(report.stage_ns[FBY_STAGE_RESAMPLE] > 0);
	assert_true(report.stage_ns[FBY_STAGE_STORE] > 0);
	assert_int_equal(report.stage_ns[FBY_STAGE_IDLE], 0);
}

static void a_bad_sample_gets_zeros_a_label_and_a_reason(void **state)
{
	static const struct {
		const char *name, *reason;
	} bad[] = { { "half.jpg", "JPEG" },
		    { "text.jpg", "no picture known" },
		    { "none.jpg", "No such file" },
		    { ".", "directory" } };

	for (unsigned k = 0; k < FBY_ARRAY_SIZE(bad); k++) {
		make(*state, bad[k].name, 1);
		assert_int_equal(report.status, FBY_ROW_BAD);
		assert_non_null(strstr(report.reason, bad[k].reason));
		assert_int_equal(label, 77);
		assert_true(only_zeros());
		assert_true(fence_stands());
	}
}

static void a_row_depends_on_its_job_alone(void **state)
{
	uint8_t first[BYTES];

	make(*state, "good.jpg", 5);
	memcpy(first, image, BYTES);
	make(*state, "half.jpg", 6);
	make(*state, "good.jpg", 7);
	assert_memory_not_equal(image, first, BYTES);
	make(*state, "good.jpg", 5);
	assert_memory_equal(image, first, BYTES);
}

static void both_instruction_sets_make_the_same_row(void **state)
{
	uint8_t first[BYTES];

	make(*state, "good.jpg", 5);
	memcpy(first, image, BYTES);
	for (unsigned k = 0; fby_passes_get(k) != NULL; k++) {
		fby_maker_destroy(maker);
		maker = NULL;
		setenv("FOREBAY_ISA", fby_passes_get(k)->name, 1);
		assert_int_equal(fby_maker_create(&cfg, NULL, &maker), 0);
		make(*state, "good.jpg", 5);
		assert_memory_equal(image, first, BYTES);
	}
	unsetenv("FOREBAY_ISA");
}

/* The pipeline comes from shared memory: what it says of sizes is not believed. */
static void a_pipeline_that_contradicts_itself_is_refused(void **state)
{
	struct fby_cfg wrong = cfg;
	struct fby_maker *none = NULL;

	(void)state;
	wrong.height++;
	assert_int_equal(fby_maker_create(&wrong, NULL, &none), -EINVAL);
	wrong = cfg;
	wrong.n_ops = 10000;
	assert_int_equal(fby_maker_create(&wrong, NULL, &none), -EINVAL);
	wrong = cfg;
	wrong.dtype = 9;
	assert_int_equal(fby_maker_create(&wrong, NULL, &none), -EINVAL);
	assert_null(none);
}

#define with_files(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_files(a_good_sample_gets_image_label_and_times),
		with_files(a_bad_sample_gets_zeros_a_label_and_a_reason),
		with_files(a_row_depends_on_its_job_alone),
		with_files(both_instruction_sets_make_the_same_row),
		with_files(a_pipeline_that_contradicts_itself_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
