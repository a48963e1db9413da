/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The three shared objects: made, attached, and refused where they are not what they
 * say.
 */
#include "lib/pool.h"
#include "tests/rows.h"
#include "tests/unit.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct fby_pool pool;

static int create(void **state)
{
	(void)state;
	return rows_pool(&pool, 2, 3, 5);
}

static int finish(void **state)
{
	(void)state;
	fby_pool_finish(&pool);
	return 0;
}

static int attach(struct fby_pool *other)
{
	int fd[FBY_N_OBJECTS];

	for (int i = 0; i < FBY_N_OBJECTS; i++) {
		fd[i] = fcntl(pool.fd[i], F_DUPFD_CLOEXEC, 0);
		assert_true(fd[i] >= 0);
	}
	return fby_pool_attach(other, fd);
}

static void expect_refusal(const char *why)
{
	struct fby_pool other;

	assert_int_equal(attach(&other), -EBADMSG);
	assert_non_null(strstr(fby_error(), why));
	assert_null(other.ctl);
	for (int i = 0; i < FBY_N_OBJECTS; i++)
		assert_int_equal(other.fd[i], -1);
}

static void attached_pool_is_the_same_memory(void **state)
{
	struct fby_pool other;

	(void)state;
	assert_int_equal(attach(&other), 0);
	assert_memory_equal(&other.geo, &pool.geo, sizeof(pool.geo));
	memset(fby_pool_row(&pool, 1, FBY_FIELD_IMAGE, 4), 0x5a, ROWS_BYTES);
	assert_memory_equal(fby_pool_row(&other, 1, FBY_FIELD_IMAGE, 4),
			    fby_pool_row(&pool, 1, FBY_FIELD_IMAGE, 4), ROWS_BYTES);
	fby_pool_finish(&other);
}

static void settings_arrive(void **state)
{
	struct fby_geometry geo = {
		.n_slots = 1, .n_workers = 1, .batch = 1, .n_fields = 1
	};
	struct fby_cfg cfg = { .channels = 3, .height = 224, .index_path = "/a/b" };

	(void)state;
	fby_pool_finish(&pool);
	assert_int_equal(fby_pool_create(&pool, &geo, &cfg), 0);
	assert_int_equal(pool.cfg->height, 224);
	assert_string_equal(pool.cfg->index_path, "/a/b");
	assert_int_equal(pool.cfg->magic, FBY_CFG_MAGIC);
}

static void objects_of_others_are_refused(void **state)
{
	(void)state;
	pool.ctl->header.magic++;
	expect_refusal("no control segment");
}

static void another_layout_is_refused_with_both_numbers(void **state)
{
	(void)state;
	pool.ctl->header.layout_hash++;
	expect_refusal("different builds");
	pool.ctl->header.layout_hash--;
	pool.ctl->header.layout++;
	expect_refusal("layout 2");
}

static void unfinished_pool_is_refused(void **state)
{
	(void)state;
	atomic_store(&pool.ctl->header.state, FBY_STATE_BIRTH);
	expect_refusal("not finished");
}

/* Each number alone, up, down and wild: none may be taken as it stands. */
static void header_that_contradicts_itself_is_refused(void **state)
{
	struct fby_header *h = &pool.ctl->header;
	uint32_t *const small[] = { &h->n_slots, &h->n_workers, &h->batch, &h->n_fields };
	uint64_t *const large[] = { &h->ctl_bytes, &h->data_bytes, &h->cfg_bytes,
				    &h->slot_bytes, &h->row_bytes[0] };

	(void)state;
	for (size_t i = 0; i < FBY_ARRAY_SIZE(small); i++) {
		const uint32_t was = *small[i], bad[] = { 0, was * 64 + 1, UINT32_MAX };

		for (size_t k = 0; k < FBY_ARRAY_SIZE(bad); k++) {
			*small[i] = bad[k];
			expect_refusal("");
		}
		*small[i] = was;
	}
	for (size_t i = 0; i < FBY_ARRAY_SIZE(large); i++) {
		const uint64_t was = *large[i], bad[] = { was + 4096, UINT64_MAX };

		for (size_t k = 0; k < FBY_ARRAY_SIZE(bad); k++) {
			*large[i] = bad[k];
			expect_refusal("");
		}
		*large[i] = was;
	}
}

/* Another file in an object's place: these can be cut, ours need not be. */
static void put_file(int object, uint64_t bytes)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
	if (object == FBY_OBJECT_CTL)
		assert_true(pwrite(fd, pool.ctl, fby_min(bytes, pool.geo.ctl_bytes), 0) >=
			    0);
	close(pool.fd[object]);
	pool.fd[object] = fd;
}

static void cut_control_segment_is_refused(void **state)
{
	(void)state;
	put_file(FBY_OBJECT_CTL, 0);
	expect_refusal("0 bytes");
	put_file(FBY_OBJECT_CTL, sizeof(struct fby_ctl) - 1);
	expect_refusal("bytes only");
	put_file(FBY_OBJECT_CTL, pool.geo.ctl_bytes - 1);
	expect_refusal("contradicts");
}

static void cut_data_and_settings_are_refused(void **state)
{
	(void)state;
	put_file(FBY_OBJECT_DATA, pool.geo.data_bytes - 1);
	expect_refusal("instead of");
	put_file(FBY_OBJECT_DATA, pool.geo.data_bytes);
	put_file(FBY_OBJECT_CFG, 0);
	expect_refusal("instead of");
	put_file(FBY_OBJECT_CFG, pool.geo.cfg_bytes); /* of the right size, but zeros */
	expect_refusal("another version");
}

static void closed_descriptor_is_refused(void **state)
{
	struct fby_pool other;
	const int fd[FBY_N_OBJECTS] = { -1, -1, -1 };

	(void)state;
	assert_true(fby_pool_attach(&other, fd) < 0);
}

static void write_behind_a_field_tears_its_canary(void **state)
{
	(void)state;
	assert_int_equal(fby_pool_torn_slot(&pool), -1);
	for (uint32_t i = 0; i < 5; i++) {
		memset(fby_pool_row(&pool, 1, FBY_FIELD_IMAGE, i), 0xff, ROWS_BYTES);
		memset(fby_pool_row(&pool, 1, FBY_FIELD_LABEL, i), 0xff, 8);
	}
	assert_int_equal(fby_pool_torn_slot(&pool), -1);
	fby_pool_row(&pool, 1, FBY_FIELD_IMAGE,
		     5)[0]++; /* one byte behind the last row */
	assert_int_equal(fby_pool_torn_slot(&pool), 1);
}

static void finish_takes_a_half_made_pool(void **state)
{
	struct fby_geometry geo = { .n_slots = 0 };
	struct fby_cfg cfg = { 0 };
	struct fby_pool other;

	(void)state;
	assert_int_equal(fby_pool_create(&other, &geo, &cfg), -EINVAL);
	fby_pool_finish(&other);
	fby_pool_finish(&other);
}

static void pool_that_fits_nowhere_is_refused_with_the_sum(void **state)
{
	struct fby_geometry geo = { .n_slots = 4,
				    .n_workers = 1,
				    .batch = 64,
				    .n_fields = 1,
				    .row_bytes = { 1ull << 48 } };
	struct fby_cfg cfg = { 0 };
	struct fby_pool other;

	(void)state;
	assert_true(fby_pool_create(&other, &geo, &cfg) < 0);
	assert_true(strpbrk(fby_error(), "0123456789") != NULL);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, create, finish)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(attached_pool_is_the_same_memory),
		CASE(settings_arrive),
		CASE(objects_of_others_are_refused),
		CASE(another_layout_is_refused_with_both_numbers),
		CASE(unfinished_pool_is_refused),
		CASE(header_that_contradicts_itself_is_refused),
		CASE(cut_control_segment_is_refused),
		CASE(cut_data_and_settings_are_refused),
		CASE(closed_descriptor_is_refused),
		CASE(write_behind_a_field_tears_its_canary),
		CASE(finish_takes_a_half_made_pool),
		CASE(pool_that_fits_nowhere_is_refused_with_the_sum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
