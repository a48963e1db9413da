/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A child process: its descriptors, how it ends, and that its death is seen whatever
 * others do.  syscall(2) is wrapped: the kernel can be made to refuse pidfds.
 */
#include "lib/forebay.h"
#include "lib/process.h"
#include "tests/unit.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LONG_NS 10000000000u
#define N_FDS   4

static bool refuse_pidfds;

long __wrap_syscall(long number, long a, long b, long c, long d, long e);
long __real_syscall(long number, long a, long b, long c, long d, long e);

long __wrap_syscall(long number, long a, long b, long c, long d, long e)
{
	if (refuse_pidfds && number == SYS_pidfd_open) {
		errno = ENOSYS;
		return -1;
	}
	return __real_syscall(number, a, b, c, d, e);
}

static struct fby_process start_shell(const char *script)
{
	char *const argv[] = { (char *)(uintptr_t) "/bin/sh", (char *)(uintptr_t) "-c",
			       (char *)(uintptr_t)script, NULL };
	struct fby_process process;

	assert_int_equal(fby_process_start(&process, argv, environ, NULL, 0), 0);
	assert_true(process.pid > 0);
	return process;
}

static struct fby_ending await(struct fby_process *process)
{
	uint64_t deadline = fby_now() + LONG_NS;
	struct fby_ending ending;

	while (!fby_process_is_over(process, &ending)) {
		assert_true(fby_now() < deadline);
		sched_yield();
	}
	fby_process_finish(process);
	return ending;
}

static void exit_status_is_told(void **state)
{
	struct fby_process process = start_shell("exit 5");
	struct fby_ending ending = await(&process);

	(void)state;
	assert_true(ending.known);
	assert_false(ending.signal);
	assert_int_equal(ending.code, 5);
	assert_int_equal(process.pid, 0);
}

static void signal_that_ended_it_is_told(void **state)
{
	struct fby_process process = start_shell("kill -SEGV $$");
	struct fby_ending ending = await(&process);

	(void)state;
	assert_true(ending.known && ending.signal);
	assert_int_equal(ending.code, SIGSEGV);
}

static void process_that_runs_is_not_over_until_it_is_killed(void **state)
{
	struct fby_process process = start_shell("exec sleep 100");
	struct fby_ending ending;

	(void)state;
	assert_false(fby_process_is_over(&process, &ending));
	assert_int_equal(getpgid(process.pid), process.pid);
	fby_process_signal(&process, SIGKILL);
	ending = await(&process);
	assert_true(ending.signal);
	assert_int_equal(ending.code, SIGKILL);
}

static void stopped_process_is_not_over(void **state)
{
	struct fby_process process = start_shell("kill -STOP $$; exit 0");
	struct fby_ending ending;
	siginfo_t info;

	(void)state;
	assert_int_equal(waitid(P_PID, (id_t)process.pid, &info, WSTOPPED | WNOWAIT), 0);
	assert_false(fby_process_is_over(&process, &ending));
	fby_process_signal(&process, SIGKILL);
	assert_int_equal(await(&process).code, SIGKILL);
}

static void program_that_is_not_there_is_named(void **state)
{
	char *const argv[] = { (char *)(uintptr_t) "/no/such/program", NULL };
	struct fby_process process;

	(void)state;
	assert_int_equal(fby_process_start(&process, argv, environ, NULL, 0), -ENOENT);
	assert_non_null(strstr(fby_error(), "/no/such/program"));
	assert_int_equal(process.pid, 0);
	fby_process_signal(&process, SIGKILL); /* kills nobody */
}

/* Others reaped it, and its number went to another child of ours. */
static void number_of_another_child_does_not_hide_a_death(void **state)
{
	struct fby_process gone = start_shell("exit 0");
	struct fby_process other = start_shell("exec sleep 100");
	struct fby_process mixed = { .pid = other.pid, .pidfd = gone.pidfd };
	struct fby_ending ending;

	(void)state;
	if (gone.pidfd < 0)
		skip();
	assert_int_equal(waitpid(gone.pid, NULL, 0), gone.pid);
	assert_true(fby_process_is_over(&mixed, &ending));
	assert_false(ending.known);
	fby_process_finish(&gone);
	fby_process_signal(&other, SIGKILL);
	assert_int_equal(await(&other).code, SIGKILL);
}

/* ---- descriptors ---- */

static int file_with(char letter)
{
	int fd = memfd_create("test", MFD_CLOEXEC);
	char text[2] = { letter, '\n' };

	if (fd < 0 || write(fd, text, 2) != 2 || lseek(fd, 0, SEEK_SET) < 0)
		_exit(2);
	return fd;
}

static const char read_all[] = "read a <&3; read b <&4; read c <&5; read d <&6;"
			       "[ $a$b$c$d = abcd ]";

/* In a process of its own: it moves descriptors about.  order: where a, b, c, d lie. */
static int start_with_sources_at(const int order[N_FDS])
{
	struct fby_process process;
	char *const argv[] = { (char *)(uintptr_t) "/bin/sh", (char *)(uintptr_t) "-c",
			       (char *)(uintptr_t)read_all, NULL };
	int pid = fork(), status, high[N_FDS];

	if (pid) {
		assert_int_equal(waitpid(pid, &status, 0), pid);
		return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
	}
	for (int i = 0; i < N_FDS; i++)
		high[i] = fcntl(file_with((char)('a' + i)), F_DUPFD_CLOEXEC, 100);
	for (int i = 0; i < N_FDS; i++)
		if (dup3(high[i], order[i], O_CLOEXEC) < 0)
			_exit(3);
	if (fby_process_start(&process, argv, environ, order, N_FDS) < 0 ||
	    waitpid(process.pid, &status, 0) != process.pid)
		_exit(4);
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 5);
}

static void descriptors_arrive_at_their_numbers_wherever_they_lie(void **state)
{
	static const int orders[][N_FDS] = {
		{ 3, 4, 5, 6 }, { 4, 3, 6, 5 },   { 6, 5, 4, 3 },     { 4, 5, 6, 3 },
		{ 6, 3, 4, 5 }, { 50, 3, 51, 4 }, { 50, 51, 52, 53 }, { 7, 8, 3, 4 },
	};

	(void)state;
	for (size_t i = 0; i < FBY_ARRAY_SIZE(orders); i++)
		assert_int_equal(start_with_sources_at(orders[i]), 0);
}

static int count_descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	int n = 0;

	assert_non_null(folder);
	while (readdir(folder))
		n++;
	closedir(folder);
	return n;
}

static void descriptor_that_is_left_out_is_closed_there(void **state)
{
	char *const argv[] = { (char *)(uintptr_t) "/bin/sh", (char *)(uintptr_t) "-c",
			       (char *)(uintptr_t) "[ -e /proc/self/fd/20 ] &&"
						   "[ ! -e /proc/self/fd/21 ]",
			       NULL };
	const int none[2] = { -1, -1 };
	struct fby_process process;
	int kept = dup3(1, 20, 0), closed = dup3(1, 21, O_CLOEXEC);

	(void)state;
	assert_int_equal(fby_process_start(&process, argv, environ, none, 2), 0);
	assert_int_equal(await(&process).code, 0);
	close(kept);
	close(closed);
}

/* A worker took what stood there for its trainer's pidfd. */
static void nothing_inherited_stands_where_a_descriptor_is_left_out(void **state)
{
	char *const argv[] = { (char *)(uintptr_t) "/bin/sh", (char *)(uintptr_t) "-c",
			       (char *)(uintptr_t) "[ ! -e /proc/self/fd/4 ]", NULL };
	const int none[2] = { -1, -1 };
	int before = fcntl(4, F_DUPFD_CLOEXEC, 100);
	struct fby_process process;

	(void)state;
	assert_int_equal(dup3(1, 4, 0), 4);
	assert_int_equal(fby_process_start(&process, argv, environ, none, 2), 0);
	assert_int_equal(await(&process).code, 0);
	if (before < 0)
		close(4);
	else
		dup3(before, 4, O_CLOEXEC);
	close(before);
}

static void start_and_end_leak_no_descriptor(void **state)
{
	const int fd[2] = { 0, 1 };
	char *const argv[] = { (char *)(uintptr_t) "/bin/true", NULL };
	int before = count_descriptors();

	(void)state;
	for (int i = 0; i < 10; i++) {
		struct fby_process process;

		assert_int_equal(fby_process_start(&process, argv, environ, fd, 2), 0);
		await(&process);
	}
	assert_int_equal(count_descriptors(), before);
}

/* ---- signals ---- */

/* Signals 32 and 33 are glibc's own: its posix_spawn leaves them ignored. */
static void child_blocks_and_ignores_nothing(void **state)
{
	struct fby_process process;
	sigset_t all, before;

	(void)state;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGUSR1, SIG_IGN);
	process = start_shell(
		"grep -q '^SigBlk:.0*$' /proc/self/status &&"
		"grep -q '^SigIgn:.0000000[01][08]0000000$' /proc/self/status");
	sigprocmask(SIG_SETMASK, &before, NULL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGUSR1, SIG_DFL);
	assert_int_equal(await(&process).code, 0);
}

/* ---- foreign code ---- */

static void death_is_seen_while_sigchld_is_ignored(void **state)
{
	struct fby_process process;
	struct fby_ending ending;

	(void)state;
	signal(SIGCHLD, SIG_IGN);
	process = start_shell("exec sleep 100");
	assert_false(fby_process_is_over(&process, &ending));
	fby_process_signal(&process, SIGKILL);
	ending = await(&process);
	signal(SIGCHLD, SIG_DFL);
	assert_false(ending.known);
}

static void death_is_seen_after_others_took_the_status(void **state)
{
	struct fby_process process = start_shell("exit 0");

	(void)state;
	assert_int_equal(waitpid(-1, NULL, 0), process.pid);
	assert_false(await(&process).known);
}

static void all_works_without_pidfds(void **state)
{
	struct fby_process process;
	struct fby_ending ending;

	(void)state;
	refuse_pidfds = true;
	process = start_shell("exec sleep 100");
	assert_int_equal(process.pidfd, -1);
	assert_false(fby_process_is_over(&process, &ending));
	fby_process_signal(&process, SIGTERM);
	assert_int_equal(await(&process).code, SIGTERM);
	process = start_shell("exit 0");
	assert_int_equal(waitpid(-1, NULL, 0), process.pid);
	assert_false(await(&process).known);
	refuse_pidfds = false;
}

static void pidfd_of_nobody_is_an_error(void **state)
{
	struct fby_process process = start_shell("exit 0");
	int pid = process.pid;

	(void)state;
	await(&process);
	assert_true(fby_process_pidfd(pid) < 0);
}

static void environment_is_copied_as_it_stands(void **state)
{
	char **copy;
	size_t n = 0;

	(void)state;
	assert_int_equal(setenv("FOREBAY_TEST", "before", 1), 0);
	assert_int_equal(fby_process_copy_environment(&copy), 0);
	assert_int_equal(setenv("FOREBAY_TEST", "after", 1), 0);
	while (copy[n] && strcmp(copy[n], "FOREBAY_TEST=before") != 0)
		n++;
	assert_non_null(copy[n]);
	unsetenv("FOREBAY_TEST");
	free(copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(environment_is_copied_as_it_stands),
		cmocka_unit_test(exit_status_is_told),
		cmocka_unit_test(signal_that_ended_it_is_told),
		cmocka_unit_test(process_that_runs_is_not_over_until_it_is_killed),
		cmocka_unit_test(stopped_process_is_not_over),
		cmocka_unit_test(number_of_another_child_does_not_hide_a_death),
		cmocka_unit_test(program_that_is_not_there_is_named),
		cmocka_unit_test(descriptors_arrive_at_their_numbers_wherever_they_lie),
		cmocka_unit_test(descriptor_that_is_left_out_is_closed_there),
		cmocka_unit_test(nothing_inherited_stands_where_a_descriptor_is_left_out),
		cmocka_unit_test(start_and_end_leak_no_descriptor),
		cmocka_unit_test(child_blocks_and_ignores_nothing),
		cmocka_unit_test(death_is_seen_while_sigchld_is_ignored),
		cmocka_unit_test(death_is_seen_after_others_took_the_status),
		cmocka_unit_test(all_works_without_pidfds),
		cmocka_unit_test(pidfd_of_nobody_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
