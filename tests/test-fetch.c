/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading files: parts and wholes, and everything a folder can hold instead.
 */
#include "lib/forebay.h"
#include "tests/folder.h"
#include "workers/fetch.h"
#include <errno.h>

static struct fby_fetch *fetch;

static int read_part(const struct folder *folder, const char *name, uint64_t offset,
		     uint64_t length, struct fby_bytes *ret_bytes)
{
	struct fby_entry entry = { .root = folder->path,
				   .directory = "cat",
				   .name = name,
				   .offset = offset,
				   .length = length };

	return fby_fetch_read(fetch, &entry, ret_bytes);
}

static int begin(void **state)
{
	int r = folder_create(state);

	if (r == 0)
		folder_write(*state, "cat/a.jpg", "0123456789");
	return r < 0 ? r : fby_fetch_create(&fetch);
}

static int end(void **state)
{
	fby_fetch_destroy(fetch);
	return folder_destroy(state);
}

static void a_file_is_read_whole(void **state)
{
	struct fby_bytes bytes;

	assert_int_equal(read_part(*state, "a.jpg", 0, 0, &bytes), 0);
	assert_int_equal(bytes.n, 10);
	assert_memory_equal(bytes.at, "0123456789", 10);
}

static void a_part_of_a_file_is_read(void **state)
{
	struct fby_bytes bytes;

	assert_int_equal(read_part(*state, "a.jpg", 3, 4, &bytes), 0);
	assert_int_equal(bytes.n, 4);
	assert_memory_equal(bytes.at, "3456", 4);
	assert_int_equal(read_part(*state, "a.jpg", 7, 0, &bytes), 0);
	assert_memory_equal(bytes.at, "789", 3);
}

static void a_part_that_is_not_there_is_refused(void **state)
{
	struct fby_bytes bytes;

	assert_int_equal(read_part(*state, "a.jpg", 3, 8, &bytes), -EBADMSG);
	assert_int_equal(read_part(*state, "a.jpg", 11, 0, &bytes), -EBADMSG);
	assert_int_equal(read_part(*state, "a.jpg", UINT64_MAX, 2, &bytes), -EBADMSG);
	assert_int_equal(read_part(*state, "a.jpg", 1, UINT64_MAX, &bytes), -EBADMSG);
}

static void an_empty_file_is_refused(void **state)
{
	struct fby_bytes bytes;

	folder_write(*state, "cat/empty.jpg", "");
	assert_int_equal(read_part(*state, "empty.jpg", 0, 0, &bytes), -EBADMSG);
	assert_non_null(strstr(fby_error(), "empty"));
}

static void a_missing_file_is_named_as_such(void **state)
{
	struct fby_bytes bytes;

	assert_int_equal(read_part(*state, "b.jpg", 0, 0, &bytes), -ENOENT);
	assert_non_null(strstr(fby_error(), "No such file"));
}

static void a_folder_is_no_file(void **state)
{
	struct fby_bytes bytes;

	folder_write(*state, "cat/dog/b.jpg", "x");
	assert_int_equal(read_part(*state, "dog", 0, 0, &bytes), -EISDIR);
}

static void a_fifo_is_refused_and_not_waited_for(void **state)
{
	struct fby_bytes bytes;

	assert_int_equal(mkfifo(folder_path(*state, "cat/f.jpg"), 0600), 0);
	assert_int_equal(read_part(*state, "f.jpg", 0, 0, &bytes), -EINVAL);
}

static void a_large_file_is_read_and_its_memory_given_back(void **state)
{
	struct fby_bytes bytes;
	FILE *file = fopen(folder_path(*state, "cat/big.jpg"), "w");

	assert_non_null(file);
	assert_int_equal(ftruncate(fileno(file), 30 << 20), 0);
	fclose(file);
	assert_int_equal(read_part(*state, "big.jpg", 0, 0, &bytes), 0);
	assert_int_equal(bytes.n, 30 << 20);
	assert_int_equal(read_part(*state, "a.jpg", 0, 0, &bytes), 0);
	assert_memory_equal(bytes.at, "0123456789", 10);
}

static void a_file_beyond_all_measure_is_refused(void **state)
{
	struct fby_bytes bytes;
	FILE *file = fopen(folder_path(*state, "cat/huge.jpg"), "w");

	assert_non_null(file);
	assert_int_equal(ftruncate(fileno(file), 3ll << 30), 0);
	fclose(file);
	assert_int_equal(read_part(*state, "huge.jpg", 0, 0, &bytes), -EFBIG);
	assert_int_equal(read_part(*state, "huge.jpg", 100, 5, &bytes), 0);
}

#define with_files(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_files(a_file_is_read_whole),
		with_files(a_part_of_a_file_is_read),
		with_files(a_part_that_is_not_there_is_refused),
		with_files(an_empty_file_is_refused),
		with_files(a_missing_file_is_named_as_such),
		with_files(a_folder_is_no_file),
		with_files(a_fifo_is_refused_and_not_waited_for),
		with_files(a_large_file_is_read_and_its_memory_given_back),
		with_files(a_file_beyond_all_measure_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
