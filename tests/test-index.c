/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The index: what was built is read back, and no damaged file does harm.
 */
#include "lib/columns.h"
#include "lib/forebay.h"
#include "lib/index.h"
#include "tests/unit.h"
#include "tools/build.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define N 60

struct stage {
	char folder[64], file[96];
	unsigned char *bytes;
	size_t n;
};

/* Not O_TRUNC: ext4 writes such a file to the disk at once. */
static void write_bytes(const char *file, const void *bytes, size_t n)
{
	int fd = open(file, O_WRONLY | O_CREAT, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, n), n);
	assert_int_equal(ftruncate(fd, (off_t)n), 0);
	close(fd);
}

/* Two classes; names "p0.jpg" ..., every third in the second class. */
static void build_some(const char *file, const char *root, unsigned n)
{
	struct fby_build *build;
	uint32_t a, b;
	char name[32];

	assert_int_equal(fby_build_create(&build), 0);
	assert_int_equal(fby_build_class(build, "cat"), 0);
	assert_int_equal(fby_build_class(build, "dog"), 0);
	assert_int_equal(fby_build_directory(build, "cat", 1, &a), 0);
	assert_int_equal(fby_build_directory(build, "dog/deep", 2, &b), 0);
	for (unsigned i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "p%u.jpg", i);
		assert_int_equal(fby_build_sample(build, i % 3 ? a : b, name, i % 3 == 0),
				 0);
	}
	assert_int_equal(fby_build_skip(build, FBY_SKIP_OTHER, "cat/readme"), 0);
	assert_int_equal(fby_build_write(build, file, root), 0);
	fby_build_destroy(build);
}

static int set_up(void **state)
{
	struct stage *s = calloc(1, sizeof(*s));
	struct stat st;
	int fd;

	strcpy(s->folder, "/tmp/forebay-test-XXXXXX");
	if (!mkdtemp(s->folder))
		return -1;
	snprintf(s->file, sizeof(s->file), "%s/a.idx", s->folder);
	build_some(s->file, "/data", N);
	fd = open(s->file, O_RDONLY);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	s->n = (size_t)st.st_size;
	s->bytes = malloc(s->n);
	if (read(fd, s->bytes, s->n) != (ssize_t)s->n)
		return -1;
	close(fd);
	*state = s;
	return 0;
}

static int tear_down(void **state)
{
	struct stage *s = *state;

	unlink(s->file);
	rmdir(s->folder);
	free(s->bytes);
	free(s);
	return 0;
}

/* Opens what is on the disk and looks at all of it; the last error, or 0. */
static int look_at_all(const char *file)
{
	struct fby_index *index;
	struct fby_entry e;
	char path[256];
	int r = fby_index_open(file, &index), bad = 0;

	if (r < 0)
		return r;
	for (uint64_t i = 0; i < fby_min(fby_index_count(index), 4 * N); i++) {
		r = fby_index_entry(index, i, &e);
		if (r < 0)
			bad = r;
		else if (strlen(e.name) + strlen(e.directory) + strlen(e.root) > 4096)
			bad = -1;
		fby_index_path(index, i, path, sizeof(path));
	}
	for (uint32_t i = 0; i < fby_min(fby_index_classes(index), 1000); i++)
		if (!fby_index_class_name(index, i))
			bad = -EBADMSG;
	for (uint64_t i = 0; i < fby_min(fby_index_directories(index), 1000); i++)
		if (!fby_index_directory(index, i))
			bad = -EBADMSG;
	fby_index_close(index);
	return bad;
}

static void samples_are_read_back(void **state)
{
	struct stage *s = *state;
	struct fby_index *index;
	struct fby_entry e;
	char path[64];

	assert_int_equal(fby_index_open(s->file, &index), 0);
	assert_int_equal(fby_index_count(index), N);
	assert_int_equal(fby_index_classes(index), 2);
	assert_string_equal(fby_index_class_name(index, 1), "dog");
	assert_null(fby_index_class_name(index, 2));
	assert_int_equal(fby_index_entry(index, 3, &e), 0);
	assert_string_equal(e.root, "/data");
	assert_string_equal(e.directory, "dog/deep");
	assert_string_equal(e.name, "p3.jpg");
	assert_int_equal(e.label, 1);
	assert_int_equal(e.offset, 0);
	assert_int_equal(e.length, 0);
	assert_int_equal(fby_index_path(index, 4, path, sizeof(path)), 0);
	assert_string_equal(path, "/data/cat/p4.jpg");
	assert_int_equal(fby_index_path(index, 4, path, 9), 0);
	assert_string_equal(path, "/data/ca");
	fby_index_close(index);
}

static void sample_past_the_end_is_a_range_error(void **state)
{
	struct stage *s = *state;
	struct fby_index *index;
	struct fby_entry e;

	assert_int_equal(fby_index_open(s->file, &index), 0);
	assert_int_equal(fby_index_entry(index, N, &e), -ERANGE);
	assert_int_equal(fby_index_entry(index, UINT64_MAX, &e), -ERANGE);
	fby_index_close(index);
}

static void index_without_root_describes_its_own_folder(void **state)
{
	struct stage *s = *state;
	struct fby_index *index;
	char *real = realpath(s->folder, NULL);

	build_some(s->file, "", 1);
	assert_int_equal(fby_index_open(s->file, &index), 0);
	assert_string_equal(fby_index_root(index), real);
	fby_index_close(index);
	free(real);
	write_bytes(s->file, s->bytes, s->n);
}

static void beside_names_a_sample_costs_20_bytes(void **state)
{
	struct stage *s = *state;
	const unsigned n = 100000;
	struct stat st;
	double names = 0;

	build_some(s->file, "/data", n);
	assert_int_equal(stat(s->file, &st), 0);
	for (unsigned i = 0; i < n; i++)
		names += snprintf(NULL, 0, "p%u.jpg", i) + 1;
	assert_true(((double)st.st_size - names) / n < 20.1);
	write_bytes(s->file, s->bytes, s->n);
}

static void no_file_is_no_entry(void **state)
{
	struct fby_index *index;

	(void)state;
	assert_int_equal(fby_index_open("/tmp/no/such.idx", &index), -ENOENT);
	assert_non_null(strstr(fby_error(), "/tmp/no/such.idx"));
}

static void other_files_are_no_index(void **state)
{
	struct stage *s = *state;
	struct fby_index *index;
	char zeros[4096] = { 0 };

	assert_int_equal(fby_index_open("/dev/null", &index), -EBADMSG);
	assert_int_equal(fby_index_open(s->folder, &index), -EBADMSG);
	write_bytes(s->file, zeros, sizeof(zeros));
	assert_int_equal(fby_index_open(s->file, &index), -EBADMSG);
	assert_non_null(strstr(fby_error(), "not an index"));
	write_bytes(s->file, s->bytes, s->n);
}

static void other_version_is_named(void **state)
{
	struct stage *s = *state;
	struct fby_index *index;
	unsigned char *copy = malloc(s->n);

	memcpy(copy, s->bytes, s->n);
	copy[8] = 7;
	write_bytes(s->file, copy, s->n);
	assert_int_equal(fby_index_open(s->file, &index), -EBADMSG);
	assert_non_null(strstr(fby_error(), "version 7"));
	write_bytes(s->file, s->bytes, s->n);
	free(copy);
}

static void file_cut_anywhere_is_refused(void **state)
{
	struct stage *s = *state;

	for (size_t n = 0; n < s->n; n += n < 1500 ? 1 : 97) {
		write_bytes(s->file, s->bytes, n);
		assert_int_equal(look_at_all(s->file), -EBADMSG);
	}
	write_bytes(s->file, s->bytes, s->n);
	assert_int_equal(look_at_all(s->file), 0);
}

static void try_byte(struct stage *s, size_t at, unsigned char byte)
{
	unsigned char was = s->bytes[at];
	int r;

	s->bytes[at] = byte;
	write_bytes(s->file, s->bytes, s->n);
	r = look_at_all(s->file);
	assert_true(r == 0 || r == -EBADMSG);
	s->bytes[at] = was;
}

/* Each byte of header and table, and of some beyond, to several values. */
static void flipped_bytes_do_no_harm(void **state)
{
	struct stage *s = *state;
	static const unsigned char value[] = { 0x00, 0x01, 0x7f, 0x80, 0xff };

	for (size_t at = 0; at < s->n; at += at < 2000 ? 1 : 61)
		for (size_t i = 0; i < sizeof(value); i++)
			try_byte(s, at, value[i]);
	write_bytes(s->file, s->bytes, s->n);
	assert_int_equal(look_at_all(s->file), 0);
}

/* Numbers that overflow when they are added or multiplied. */
static void huge_numbers_in_the_table_do_no_harm(void **state)
{
	static const uint64_t value[] = { UINT64_MAX, UINT64_MAX - 63, 1ull << 63,
					  1ull << 61, 1ull << 32 };
	struct stage *s = *state;
	unsigned char *copy = malloc(s->n);
	int r;

	for (size_t at = 16; at < 64 + 12 * 48; at += 8)
		for (size_t i = 0; i < FBY_ARRAY_SIZE(value); i++) {
			memcpy(copy, s->bytes, s->n);
			memcpy(copy + at, &value[i], 8);
			write_bytes(s->file, copy, s->n);
			r = look_at_all(s->file);
			assert_true(r == 0 || r == -EBADMSG);
		}
	write_bytes(s->file, s->bytes, s->n);
	free(copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_are_read_back),
		cmocka_unit_test(sample_past_the_end_is_a_range_error),
		cmocka_unit_test(index_without_root_describes_its_own_folder),
		cmocka_unit_test(beside_names_a_sample_costs_20_bytes),
		cmocka_unit_test(no_file_is_no_entry),
		cmocka_unit_test(other_files_are_no_index),
		cmocka_unit_test(other_version_is_named),
		cmocka_unit_test(file_cut_anywhere_is_refused),
		cmocka_unit_test(flipped_bytes_do_no_harm),
		cmocka_unit_test(huge_numbers_in_the_table_do_no_harm),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
