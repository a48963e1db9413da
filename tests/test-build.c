/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The builder: what it finds in a folder, in which order, and how the file appears.
 * tests/python/test_index.py compares the order with torchvision itself.
 */
#include "lib/forebay.h"
#include "lib/index.h"
#include "tests/folder.h"
#include "tools/build.h"
#include "tools/quote.h"
#include "tools/walk.h"
#include <dirent.h>
#include <errno.h>
#include <sys/resource.h>

/* The index of the folder, from a file inside it; NULL with *ret_error. */
static struct fby_index *index_of(const struct folder *folder, int *ret_error)
{
	struct fby_build *build = NULL;
	struct fby_index *index = NULL;
	int r;

	assert_int_equal(fby_build_create(&build), 0);
	r = fby_walk_folder(folder->path, build, NULL);
	if (!r)
		r = fby_build_write(build, folder_path(folder, ".forebay.idx"), "");
	if (!r)
		r = fby_index_open(folder_path(folder, ".forebay.idx"), &index);
	fby_build_destroy(build);
	*ret_error = r;
	return index;
}

/* Samples as "label:directory/name ", one behind the other. */
static void assert_samples(const struct folder *folder, const char *want)
{
	char text[4096] = "";
	struct fby_entry e;
	size_t n = 0;
	int r;
	struct fby_index *index = index_of(folder, &r);

	assert_int_equal(r, 0);
	for (uint64_t i = 0; i < fby_index_count(index); i++) {
		assert_int_equal(fby_index_entry(index, i, &e), 0);
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%d:%s/%s ",
				      (int)e.label, e.directory, e.name);
	}
	fby_index_close(index);
	assert_string_equal(text, want);
}

static uint64_t skipped(const struct folder *folder, unsigned kind)
{
	uint64_t n = 0, count;
	int r;
	struct fby_index *index = index_of(folder, &r);
	const uint64_t *column;

	assert_int_equal(r, 0);
	column = fby_index_column(index, "skipped", 8, &n);
	assert_non_null(column);
	assert_int_equal(n, FBY_N_SKIPS);
	count = column[kind];
	fby_index_close(index);
	return count;
}

static void classes_and_names_are_sorted(void **state)
{
	folder_write(*state, "b/2.jpg", "");
	folder_write(*state, "b/10.jpg", "");
	folder_write(*state, "B/x.jpg", "");
	folder_write(*state, "a/z.jpg", "");
	assert_samples(*state, "0:B/x.jpg 1:a/z.jpg 2:b/10.jpg 2:b/2.jpg ");
}

/* Sorted by the whole path: '-' stands before '/'. */
static void folders_are_sorted_as_strings(void **state)
{
	folder_write(*state, "c/a/b/1.jpg", "");
	folder_write(*state, "c/a-b/2.jpg", "");
	folder_write(*state, "c/a/3.jpg", "");
	folder_write(*state, "c/z.jpg", "");
	assert_samples(*state, "0:c/z.jpg 0:c/a/3.jpg 0:c/a-b/2.jpg 0:c/a/b/1.jpg ");
}

static void extensions_count_in_any_case(void **state)
{
	static const char *const good[] = { "a.jpg",  "a.JPEG", "a.Png", "a.ppm",
					    "a.bmp",  "a.pgm",  "a.tif", "a.TIFF",
					    "a.webp", "a.b.jpg" };
	static const char *const bad[] = { "jpg", "a.jpg2", "a.gif", "a.jpg.txt",
					   "a",   "jpeg",   "" };

	(void)state;
	for (size_t i = 0; i < FBY_ARRAY_SIZE(good); i++)
		assert_true(fby_walk_is_image(good[i]));
	for (size_t i = 0; i < FBY_ARRAY_SIZE(bad); i++)
		assert_false(fby_walk_is_image(bad[i]));
}

static void empty_classes_keep_their_number(void **state)
{
	folder_write(*state, "a/readme.txt", "");
	folder_write(*state, "b/1.jpg", "");
	assert_samples(*state, "1:b/1.jpg ");
	assert_int_equal(skipped(*state, FBY_SKIP_OTHER), 1);
}

static void hidden_names_are_skipped(void **state)
{
	folder_write(*state, ".git/1.jpg", "");
	folder_write(*state, "a/.thumbs/1.jpg", "");
	folder_write(*state, "a/._1.jpg", "");
	folder_write(*state, "a/1.jpg", "");
	assert_samples(*state, "0:a/1.jpg ");
	assert_int_equal(skipped(*state, FBY_SKIP_HIDDEN), 3);
}

static void files_in_the_root_have_no_class(void **state)
{
	folder_write(*state, "1.jpg", "");
	folder_write(*state, "a/1.jpg", "");
	assert_samples(*state, "0:a/1.jpg ");
	assert_int_equal(skipped(*state, FBY_SKIP_ROOT_FILE), 1);
}

static void make_link(const struct folder *folder, const char *target, const char *path)
{
	assert_int_equal(symlink(target, folder_path(folder, path)), 0);
}

static void links_are_followed(void **state)
{
	folder_write(*state, "a/1.jpg", "");
	make_link(*state, "a", "b");
	make_link(*state, "1.jpg", "a/2.jpg");
	assert_samples(*state, "0:a/1.jpg 0:a/2.jpg 1:b/1.jpg 1:b/2.jpg ");
}

static void links_to_nothing_are_skipped(void **state)
{
	folder_write(*state, "a/1.jpg", "");
	make_link(*state, "gone.jpg", "a/2.jpg");
	assert_samples(*state, "0:a/1.jpg ");
	assert_int_equal(skipped(*state, FBY_SKIP_DANGLING), 1);
}

static void loops_of_links_end(void **state)
{
	folder_write(*state, "a/s/1.jpg", "");
	make_link(*state, "..", "a/root");
	make_link(*state, "..", "a/s/up");
	make_link(*state, "self.jpg", "a/self.jpg");
	assert_samples(*state, "0:a/s/1.jpg ");
	assert_int_equal(skipped(*state, FBY_SKIP_LOOP), 3);
}

/* Two folders that link to each other: each is found in the other, once. */
static void mutual_links_end(void **state)
{
	folder_write(*state, "a/1.jpg", "");
	folder_write(*state, "b/2.jpg", "");
	make_link(*state, "../b", "a/b");
	make_link(*state, "../a", "b/a");
	assert_samples(*state, "0:a/1.jpg 0:a/b/2.jpg 1:b/2.jpg 1:b/a/1.jpg ");
}

static void fifos_and_sockets_are_skipped(void **state)
{
	folder_write(*state, "a/1.jpg", "");
	assert_int_equal(mkfifo(folder_path(*state, "a/2.jpg"), 0600), 0);
	assert_int_equal(mknod(folder_path(*state, "a/3.jpg"), S_IFSOCK | 0600, 0), 0);
	assert_samples(*state, "0:a/1.jpg ");
	assert_int_equal(skipped(*state, FBY_SKIP_SPECIAL), 2);
}

/* Root may read everything; nobody may not. */
static void what_may_not_be_read_is_skipped(void **state)
{
	bool root = geteuid() == 0;
	uint64_t files, folders;

	folder_write(*state, "a/1.jpg", "");
	folder_write(*state, "a/2.jpg", "");
	folder_write(*state, "b/1.jpg", "");
	assert_int_equal(chmod(folder_path(*state, "a/2.jpg"), 0), 0);
	assert_int_equal(chmod(folder_path(*state, "b"), 0), 0);
	assert_int_equal(chmod(folder_path(*state, ""), 0777), 0);
	assert_int_equal(root ? seteuid(65534) : 0, 0);
	files = skipped(*state, FBY_SKIP_UNREADABLE);
	folders = skipped(*state, FBY_SKIP_UNREADABLE_FOLDER);
	assert_int_equal(root ? seteuid(0) : 0, 0);
	assert_int_equal(chmod(folder_path(*state, "b"), 0700), 0);
	assert_int_equal(files, 1);
	assert_int_equal(folders, 1);
}

static void names_may_hold_any_byte(void **state)
{
	folder_write(*state, "a\nb/\"q'\xff\\.jpg", "");
	assert_samples(*state, "0:a\nb/\"q'\xff\\.jpg ");
}

/* Deeper than there are file descriptors. */
static void deep_folders_are_walked(void **state)
{
	struct rlimit limit, few = { 32, 32 };
	char path[512] = "";
	size_t n = 0;
	struct fby_index *index;
	int r;

	while (n < 200)
		n += (size_t)snprintf(path + n, sizeof(path) - n, "a/");
	snprintf(path + n, sizeof(path) - n, "1.jpg");
	folder_write(*state, path, "");
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	few.rlim_max = limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	index = index_of(*state, &r);
	setrlimit(RLIMIT_NOFILE, &limit);
	assert_int_equal(r, 0);
	assert_int_equal(fby_index_count(index), 1);
	assert_int_equal(fby_index_directories(index), 100);
	fby_index_close(index);
}

/* Made by steps: no call takes such a path. */
static void paths_that_are_too_long_are_skipped(void **state)
{
	char name[201];
	int here = open(".", O_RDONLY | O_DIRECTORY);

	memset(name, 'd', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	folder_write(*state, "a/1.jpg", "");
	assert_int_equal(chdir(folder_path(*state, "a")), 0);
	for (unsigned i = 0; i < 22; i++) {
		assert_int_equal(mkdir(name, 0755), 0);
		assert_int_equal(chdir(name), 0);
	}
	assert_int_equal(fchdir(here), 0);
	close(here);
	assert_samples(*state, "0:a/1.jpg ");
	assert_int_equal(skipped(*state, FBY_SKIP_LONG), 1);
}

static void folder_without_classes_is_refused(void **state)
{
	int r;

	folder_write(*state, "1.jpg", "");
	assert_null(index_of(*state, &r));
	assert_int_equal(r, -ENOENT);
	assert_non_null(strstr(fby_error(), "no class folder"));
}

static void folder_without_photographs_is_refused(void **state)
{
	int r;

	folder_write(*state, "a/1.txt", "");
	assert_null(index_of(*state, &r));
	assert_int_equal(r, -ENOENT);
	assert_non_null(strstr(fby_error(), "no photograph"));
}

static unsigned count_files(const struct folder *folder)
{
	DIR *stream = opendir(folder->path);
	unsigned n = 0;

	assert_non_null(stream);
	while (readdir(stream))
		n++;
	closedir(stream);
	return n - 2;
}

static void only_the_index_is_left_behind(void **state)
{
	folder_write(*state, "a/1.jpg", "");
	assert_samples(*state, "0:a/1.jpg ");
	assert_samples(*state, "0:a/1.jpg ");
	assert_int_equal(count_files(*state), 2);
}

static void old_index_stays_readable_while_a_new_one_appears(void **state)
{
	struct fby_index *old;
	struct fby_entry e;
	int r;

	folder_write(*state, "a/1.jpg", "");
	old = index_of(*state, &r);
	assert_int_equal(r, 0);
	folder_write(*state, "a/0.jpg", "");
	assert_samples(*state, "0:a/0.jpg 0:a/1.jpg ");
	assert_int_equal(fby_index_entry(old, 0, &e), 0);
	assert_string_equal(e.name, "1.jpg");
	fby_index_close(old);
}

static void failed_write_changes_nothing(void **state)
{
	struct fby_build *build;
	uint32_t number;

	assert_int_equal(fby_build_create(&build), 0);
	assert_int_equal(fby_build_class(build, "a"), 0);
	assert_int_equal(fby_build_directory(build, "a", 0, &number), 0);
	assert_int_equal(fby_build_write(build, folder_path(*state, "no/a.idx"), ""),
			 -ENOENT);
	assert_non_null(strstr(fby_error(), "no/a.idx"));
	fby_build_destroy(build);
}

static void quoted_names_are_one_line_of_utf8(void **state)
{
	static const struct {
		const char *name, *text;
	} list[] = {
		{ "plain.jpg", "plain.jpg" },
		{ "a\nb\x7f", "a\\x0ab\\x7f" },
		{ "back\\slash", "back\\\\slash" },
		{ "\xc3\xa9\xf0\x9f\x90\x88", "\xc3\xa9\xf0\x9f\x90\x88" },
		{ "\xff\xc3", "\\xff\\xc3" },
		{ "\xed\xa0\x80", "\\xed\\xa0\\x80" }, /* half of a surrogate pair */
		{ "\xc0\xaf", "\\xc0\\xaf" },          /* '/' in two bytes */
		{ "\xc2\x9b", "\\xc2\\x9b" },          /* begins a terminal's command */
	};
	char text[64];

	(void)state;
	for (size_t i = 0; i < FBY_ARRAY_SIZE(list); i++) {
		fby_quote(list[i].name, text, sizeof(text));
		assert_string_equal(text, list[i].text);
	}
	fby_quote("ab\ncd", text, 6);
	assert_string_equal(text, "ab");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(classes_and_names_are_sorted),
		in_folder(folders_are_sorted_as_strings),
		cmocka_unit_test(extensions_count_in_any_case),
		in_folder(empty_classes_keep_their_number),
		in_folder(hidden_names_are_skipped),
		in_folder(files_in_the_root_have_no_class),
		in_folder(links_are_followed),
		in_folder(links_to_nothing_are_skipped),
		in_folder(loops_of_links_end),
		in_folder(mutual_links_end),
		in_folder(fifos_and_sockets_are_skipped),
		in_folder(what_may_not_be_read_is_skipped),
		in_folder(names_may_hold_any_byte),
		in_folder(deep_folders_are_walked),
		in_folder(paths_that_are_too_long_are_skipped),
		in_folder(folder_without_classes_is_refused),
		in_folder(folder_without_photographs_is_refused),
		in_folder(only_the_index_is_left_behind),
		in_folder(old_index_stays_readable_while_a_new_one_appears),
		in_folder(failed_write_changes_nothing),
		cmocka_unit_test(quoted_names_are_one_line_of_utf8),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
