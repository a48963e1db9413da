/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a path to an index that fits: found, built, built anew, or refused with a
 * sentence.  The program is the one in the build folder.
 */
#include "lib/columns.h"
#include "lib/dataset.h"
#include "lib/forebay.h"
#include "tests/folder.h"
#include <errno.h>
#include <signal.h>

/* A folder with data/ and cache/, and a log of the runs of the program. */
static int set_up(void **state)
{
	const struct folder *folder;

	if (folder_create(state))
		return -1;
	folder = *state;
	setenv("XDG_CACHE_HOME", folder_path(folder, "cache"), 1);
	unsetenv("FOREBAY_TOOL");
	folder_write(folder, "data/a/1.jpg", "");
	folder_write(folder, "data/b/2.jpg", "");
	return 0;
}

static uint64_t open_and_count(const struct folder *folder, const char *path)
{
	struct fby_index *index;
	uint64_t n;

	if (fby_dataset_open(folder_path(folder, path), &index) < 0)
		fail_msg("%s", fby_error());
	n = fby_index_count(index);
	fby_index_close(index);
	return n;
}

/* From now on running the program is a mistake. */
static void forbid_building(void)
{
	setenv("FOREBAY_TOOL", "/bin/false", 1);
}

static void missing_index_is_built_beside_the_data(void **state)
{
	assert_int_equal(open_and_count(*state, "data"), 2);
	assert_int_equal(access(folder_path(*state, "data/.forebay.idx"), R_OK), 0);
}

static void index_that_fits_is_used(void **state)
{
	assert_int_equal(open_and_count(*state, "data"), 2);
	forbid_building();
	assert_int_equal(open_and_count(*state, "data"), 2);
	assert_int_equal(open_and_count(*state, "data/../data/"), 2);
}

static void new_photograph_makes_it_old(void **state)
{
	assert_int_equal(open_and_count(*state, "data"), 2);
	folder_write(*state, "data/a/0.jpg", "");
	assert_int_equal(open_and_count(*state, "data"), 3);
	assert_int_equal(unlink(folder_path(*state, "data/a/0.jpg")), 0);
	assert_int_equal(open_and_count(*state, "data"), 2);
}

static void new_class_makes_it_old(void **state)
{
	assert_int_equal(open_and_count(*state, "data"), 2);
	folder_write(*state, "data/c/0.jpg", "");
	assert_int_equal(open_and_count(*state, "data"), 3);
}

static void new_folder_deep_below_makes_it_old(void **state)
{
	folder_write(*state, "data/a/x/y/0.jpg", "");
	assert_int_equal(open_and_count(*state, "data"), 3);
	folder_write(*state, "data/a/x/y/z/0.jpg", "");
	assert_int_equal(open_and_count(*state, "data"), 4);
}

static void hidden_names_in_the_root_do_not_make_it_old(void **state)
{
	assert_int_equal(open_and_count(*state, "data"), 2);
	folder_write(*state, "data/.forebay.idx.123", "");
	folder_write(*state, "data/.DS_Store", "");
	forbid_building();
	assert_int_equal(open_and_count(*state, "data"), 2);
}

static void index_moves_with_its_folder(void **state)
{
	char from[256];

	assert_int_equal(open_and_count(*state, "data"), 2);
	snprintf(from, sizeof(from), "%.200s", folder_path(*state, "data"));
	assert_int_equal(rename(from, folder_path(*state, "moved")), 0);
	forbid_building();
	assert_int_equal(open_and_count(*state, "moved"), 2);
}

static void folder_that_nobody_may_write_is_indexed_in_the_cache(void **state)
{
	assert_int_equal(chmod(folder_path(*state, "data"), 0555), 0);
	assert_int_equal(open_and_count(*state, "data"), 2);
	assert_int_equal(access(folder_path(*state, "data/.forebay.idx"), F_OK), -1);
	forbid_building();
	assert_int_equal(open_and_count(*state, "data"), 2);
	assert_int_equal(chmod(folder_path(*state, "data"), 0755), 0);
}

static void damaged_index_is_built_anew(void **state)
{
	folder_write(*state, "data/.forebay.idx", "not an index at all");
	assert_int_equal(open_and_count(*state, "data"), 2);
	assert_int_equal(truncate(folder_path(*state, "data/.forebay.idx"), 700), 0);
	assert_int_equal(open_and_count(*state, "data"), 2);
}

static void index_file_is_opened_as_it_is(void **state)
{
	assert_int_equal(open_and_count(*state, "data"), 2);
	folder_write(*state, "data/a/0.jpg", "");
	forbid_building();
	assert_int_equal(open_and_count(*state, "data/.forebay.idx"), 2);
}

/* The error, and a word that its sentence must have. */
static void assert_refused(const struct folder *folder, const char *path, int error,
			   const char *word)
{
	struct fby_index *index = NULL;

	assert_int_equal(fby_dataset_open(folder_path(folder, path), &index), error);
	assert_null(index);
	if (!strstr(fby_error(), word))
		fail_msg("'%s' does not say '%s'", fby_error(), word);
}

static void what_cannot_be_a_dataset_is_refused(void **state)
{
	assert_refused(*state, "gone", -ENOENT, "gone");
	assert_refused(*state, "gone.idx", -ENOENT, "gone.idx");
	assert_refused(*state, "data/a/1.jpg", -ENOTDIR, "1.jpg");
	folder_write(*state, "file.idx", "no");
	assert_refused(*state, "file.idx", -EBADMSG, "file.idx");
}

static void words_of_the_program_become_the_error(void **state)
{
	folder_write(*state, "empty/a/1.txt", "");
	assert_refused(*state, "empty", -ENOENT, "no photograph in the 1 class folder");
	assert_int_equal(strncmp(fby_error(), "forebay: ", 9) == 0, 0);
}

static void write_tool(const struct folder *folder, const char *script)
{
	folder_write(folder, "tool", script);
	assert_int_equal(chmod(folder_path(folder, "tool"), 0755), 0);
	setenv("FOREBAY_TOOL", folder_path(folder, "tool"), 1);
}

static void program_that_fails_is_named(void **state)
{
	setenv("FOREBAY_TOOL", "/no/such/program", 1);
	assert_refused(*state, "data", -ENOENT, "FOREBAY_TOOL");
	write_tool(*state, "#!/bin/sh\nexit 3\n");
	assert_refused(*state, "data", -EIO, "status 3");
	write_tool(*state, "#!/bin/sh\nkill -9 $$\n");
	assert_refused(*state, "data", -EIO, "signal 9");
	write_tool(*state, "#!/bin/sh\nexit 0\n");
	assert_refused(*state, "data", -EIO, "does not fit");
}

/* A builder's death leaves no lock: the next one builds. */
static void killed_builder_leaves_nothing(void **state)
{
	write_tool(*state, "#!/bin/sh\nkill -9 $$\n");
	assert_refused(*state, "data", -EIO, "signal 9");
	unsetenv("FOREBAY_TOOL");
	assert_int_equal(open_and_count(*state, "data"), 2);
}

/* More than a pipe holds: the program must not wait for us, nor we for it. */
static void talkative_program_is_cut_short(void **state)
{
	write_tool(*state,
		   "#!/bin/sh\nhead -c 300000 /dev/zero | tr '\\0' x >&2\nexit 3\n");
	assert_refused(*state, "data", -EIO, "xxxxx");
	assert_true(strlen(fby_error()) < 1024);
}

/* As in a Python that ignores it, or whose handler waits for all children. */
static void children_that_others_reap_do_no_harm(void **state)
{
	signal(SIGCHLD, SIG_IGN);
	assert_int_equal(open_and_count(*state, "data"), 2);
	signal(SIGCHLD, SIG_DFL);
}

static void blocked_signals_are_not_passed_on(void **state)
{
	sigset_t all, old;

	write_tool(*state, "#!/bin/sh\nkill -TERM $$\nsleep 20\n");
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	assert_refused(*state, "data", -EIO, "signal 15");
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void cache_is_named_by_the_environment(void **state)
{
	struct fby_dataset d;
	const struct folder *folder = *state;

	assert_int_equal(fby_dataset_locate(folder_path(folder, "data"), &d), 0);
	assert_non_null(strstr(d.cache, "/cache/forebay/"));
	setenv("XDG_CACHE_HOME", "relative", 1);
	setenv("HOME", "/home/somebody", 1);
	assert_int_equal(fby_dataset_locate(folder_path(folder, "data"), &d), 0);
	assert_int_equal(strncmp(d.cache, "/home/somebody/.cache/forebay/", 30), 0);
	unsetenv("HOME");
	assert_int_equal(fby_dataset_locate(folder_path(folder, "data"), &d), 0);
	assert_string_equal(d.cache, "");
}

#define with_data(f) cmocka_unit_test_setup_teardown(f, set_up, folder_destroy)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_data(missing_index_is_built_beside_the_data),
		with_data(index_that_fits_is_used),
		with_data(new_photograph_makes_it_old),
		with_data(new_class_makes_it_old),
		with_data(new_folder_deep_below_makes_it_old),
		with_data(hidden_names_in_the_root_do_not_make_it_old),
		with_data(index_moves_with_its_folder),
		with_data(folder_that_nobody_may_write_is_indexed_in_the_cache),
		with_data(damaged_index_is_built_anew),
		with_data(index_file_is_opened_as_it_is),
		with_data(what_cannot_be_a_dataset_is_refused),
		with_data(words_of_the_program_become_the_error),
		with_data(program_that_fails_is_named),
		with_data(killed_builder_leaves_nothing),
		with_data(talkative_program_is_cut_short),
		with_data(children_that_others_reap_do_no_harm),
		with_data(blocked_signals_are_not_passed_on),
		with_data(cache_is_named_by_the_environment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
