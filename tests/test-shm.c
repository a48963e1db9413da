/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared-memory objects: reserved, private to the user, without a name; a memfd where
 * /dev/shm has no room.
 */
#include "lib/forebay.h"
#include "lib/shm.h"
#include "tests/unit.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB (1ull << 20)

static void link_of(int fd, char ret_text[256])
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = readlink(path, ret_text, 255);
	assert_true(n > 0);
	ret_text[n] = 0;
}

static int count_names(const char *begin)
{
	DIR *folder = opendir("/dev/shm");
	struct dirent *entry;
	int n = 0;

	while (folder && (entry = readdir(folder)))
		n += strncmp(entry->d_name, begin, strlen(begin)) == 0;
	if (folder)
		closedir(folder);
	return n;
}

static void object_is_private_and_wholly_reserved(void **state)
{
	struct stat s;
	int fd;

	(void)state;
	assert_int_equal(fby_shm_create("ctl", 3 * MIB + 4096, &fd), 0);
	assert_int_equal(fstat(fd, &s), 0);
	assert_int_equal(s.st_mode & 0777, 0600);
	assert_int_equal(s.st_size, 3 * MIB + 4096);
	assert_true((uint64_t)s.st_blocks * 512 >= 3 * MIB + 4096);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(fd);
}

static void object_leaves_no_name_but_tools_can_tell_it(void **state)
{
	char text[256], mine[64];
	int fd;

	(void)state;
	snprintf(mine, sizeof(mine), "forebay-%u-%d-", getuid(), getpid());
	assert_int_equal(fby_shm_create("data", 4096, &fd), 0);
	assert_int_equal(count_names(mine), 0);
	link_of(fd, text);
	assert_non_null(strstr(text, mine));
	assert_non_null(strstr(text, "-data"));
	close(fd);
}

static void map_of_another_size_is_refused_with_both(void **state)
{
	void *address;
	int fd;

	(void)state;
	assert_int_equal(fby_shm_create("ctl", 8192, &fd), 0);
	assert_int_equal(fby_shm_map(fd, 4096, true, &address), -EBADMSG);
	assert_non_null(strstr(fby_error(), "8192"));
	assert_non_null(strstr(fby_error(), "4096"));
	assert_int_equal(fby_shm_map(fd, 8192, true, &address), 0);
	memset(address, 1, 8192);
	fby_shm_unmap(address, 8192);
	fby_shm_unmap(NULL, 8192);
	close(fd);
}

/* ---- names left behind ---- */

static void make_name(const char *name)
{
	int fd = shm_open(name, O_CREAT | O_RDWR | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	close(fd);
}

static int dead_pid(void)
{
	int pid = fork();

	if (!pid)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return pid;
}

static void name_of_a_dead_process_is_removed(void **state)
{
	char name[128];

	(void)state;
	snprintf(name, sizeof(name), "/forebay-%u-%d-1-0-ctl", getuid(), dead_pid());
	make_name(name);
	fby_shm_sweep();
	assert_int_equal(count_names(name + 1), 0);
}

static void name_of_a_reused_pid_is_removed(void **state)
{
	char name[128];

	(void)state;
	snprintf(name, sizeof(name), "/forebay-%u-%d-1-0-ctl", getuid(), getpid());
	make_name(name);
	fby_shm_sweep();
	assert_int_equal(count_names(name + 1), 0);
}

static void expect_kept(const char *name)
{
	make_name(name);
	fby_shm_sweep();
	assert_int_equal(count_names(name + 1), 1);
	shm_unlink(name);
}

static void names_of_the_living_and_of_others_are_kept(void **state)
{
	char name[128];

	(void)state;
	snprintf(name, sizeof(name), "/forebay-%u-%d-%llu-7-ctl", getuid(), getpid(),
		 (unsigned long long)fby_shm_process_start(getpid()));
	expect_kept(name);
	snprintf(name, sizeof(name), "/forebay-%u-%d-1-0-ctl", getuid() + 1, dead_pid());
	expect_kept(name);
	snprintf(name, sizeof(name), "/forebay-%u-mine", getuid());
	expect_kept(name);
	snprintf(name, sizeof(name), "/foreboding-%u-%d-1-0-ctl", getuid(), dead_pid());
	expect_kept(name);
}

static void start_time_survives_a_hostile_name(void **state)
{
	uint64_t start = fby_shm_process_start(getpid());
	char was[16];

	(void)state;
	assert_true(start > 0);
	prctl(PR_GET_NAME, was);
	prctl(PR_SET_NAME, "a) S 1 (2 3");
	assert_int_equal(fby_shm_process_start(getpid()), start);
	prctl(PR_SET_NAME, was);
	assert_int_equal(fby_shm_process_start(dead_pid()), 0);
}

/* ---- a machine with another /dev/shm: in a process with mounts of its own ---- */

enum { GOOD, NO_NAMESPACE = 77 };

static bool enter_namespace(void)
{
	if (unshare(CLONE_NEWNS) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return false;
	return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

static int check_memfd(int fd)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	char text[256];
	struct stat s;

	link_of(fd, text);
	if (!strstr(text, "memfd:forebay-"))
		return 2;
	if (fstat(fd, &s) || (s.st_mode & 0777) != 0600 ||
	    (uint64_t)s.st_blocks * 512 < MIB)
		return 3;
	return (fcntl(fd, F_GET_SEALS) & seals) == seals ? GOOD : 4;
}

static int with_shm_folder(const char *options, unsigned long flags)
{
	int pid = fork(), status, fd;

	assert_true(pid >= 0);
	if (pid) {
		assert_int_equal(waitpid(pid, &status, 0), pid);
		return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
	}
	if (!enter_namespace() || mount("tmpfs", "/dev/shm", "tmpfs", flags, options) < 0)
		_exit(NO_NAMESPACE);
	if (fby_shm_create("data", MIB, &fd) < 0)
		_exit(1);
	_exit(check_memfd(fd));
}

static void expect_memfd(const char *options, unsigned long flags)
{
	int status = with_shm_folder(options, flags);

	/* Not skip(): cmocka says "not ok" then, which meson takes for a failure. */
	if (status == NO_NAMESPACE)
		print_message("# no mount namespace to be had here: not tried\n");
	else
		assert_int_equal(status, GOOD);
}

static void memfd_takes_over_where_the_folder_is_too_small(void **state)
{
	(void)state;
	expect_memfd("size=64k", 0);
}

static void memfd_takes_over_where_the_folder_cannot_be_written(void **state)
{
	(void)state;
	expect_memfd("size=64m", MS_RDONLY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(object_is_private_and_wholly_reserved),
		cmocka_unit_test(object_leaves_no_name_but_tools_can_tell_it),
		cmocka_unit_test(map_of_another_size_is_refused_with_both),
		cmocka_unit_test(name_of_a_dead_process_is_removed),
		cmocka_unit_test(name_of_a_reused_pid_is_removed),
		cmocka_unit_test(names_of_the_living_and_of_others_are_kept),
		cmocka_unit_test(start_time_survives_a_hostile_name),
		cmocka_unit_test(memfd_takes_over_where_the_folder_is_too_small),
		cmocka_unit_test(memfd_takes_over_where_the_folder_cannot_be_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
