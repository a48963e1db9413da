/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/process.h"
#include "lib/fail.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int fby_process_copy_environment(char ***ret_environment)
{
	size_t n = 0, bytes = 0;
	char **copy, *text;

	for (; environ && environ[n]; n++)
		bytes += strlen(environ[n]) + 1;
	copy = malloc((n + 1) * sizeof(*copy) + bytes);
	if (!copy)
		return fby_fail(-ENOMEM, "no memory for %zu environment variables", n);
	text = (char *)(copy + n + 1);
	for (size_t i = 0; i < n; i++) {
		copy[i] = text;
		text = stpcpy(text, environ[i]) + 1;
	}
	copy[n] = NULL;
	*ret_environment = copy;
	return 0;
}

int fby_process_pidfd(int pid)
{
	long fd = syscall(SYS_pidfd_open, pid, 0);

	return fd < 0 ? -errno : (int)fd;
}

/*
 * First above all target numbers, and only then down: dup2(4, 3) and then dup2(3, 4)
 * would leave the same object at both.
 */
static int lift(const int *fd, unsigned n_fds, int *ret_high)
{
	for (unsigned i = 0; i < n_fds; i++) {
		if (fd[i] < 0)
			continue;
		ret_high[i] = fcntl(fd[i], F_DUPFD_CLOEXEC, FBY_FIRST_FD + FBY_MAX_FDS);
		if (ret_high[i] < 0)
			return fby_fail_errno(-errno,
					      "a descriptor for a worker process");
	}
	return 0;
}

/* Where one is left out, what the trainer has inherited itself must not stand there. */
static int fill_actions(posix_spawn_file_actions_t *actions, const int *high,
			unsigned n_fds)
{
	int r = 0;

	for (unsigned i = 0; r == 0 && i < n_fds; i++) {
		int target = FBY_FIRST_FD + (int)i;

		r = high[i] < 0
			    ? posix_spawn_file_actions_addclose(actions, target)
			    : posix_spawn_file_actions_adddup2(actions, high[i], target);
	}
	return r;
}

static int fill_attributes(posix_spawnattr_t *attributes)
{
	sigset_t none, all;
	int r;

	sigemptyset(&none);
	sigfillset(&all);
	r = posix_spawnattr_setsigmask(attributes, &none);
	if (r == 0)
		r = posix_spawnattr_setsigdefault(attributes, &all);
	if (r == 0)
		r = posix_spawnattr_setpgroup(attributes, 0);
	if (r == 0)
		r = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK |
								 POSIX_SPAWN_SETSIGDEF |
								 POSIX_SPAWN_SETPGROUP);
	return r;
}

static int spawn(char *const argv[], char *const environment[], const int *high,
		 unsigned n_fds, int *ret_pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	pid_t pid;
	int r;

	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attributes);
	r = fill_actions(&actions, high, n_fds);
	if (r == 0)
		r = fill_attributes(&attributes);
	if (r == 0)
		r = posix_spawnp(&pid, argv[0], &actions, &attributes, argv, environment);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	if (r)
		return fby_fail_errno(-r, "starting '%s'", argv[0]);
	*ret_pid = pid;
	return 0;
}

int fby_process_start(struct fby_process *process, char *const argv[],
		      char *const environment[], const int *fd, unsigned n_fds)
{
	int high[FBY_MAX_FDS], r;

	assert(n_fds <= FBY_MAX_FDS);
	for (unsigned i = 0; i < FBY_MAX_FDS; i++)
		high[i] = -1;
	*process = (struct fby_process){ .pid = 0, .pidfd = -1 };
	r = lift(fd, n_fds, high);
	if (r == 0)
		r = spawn(argv, environment, high, n_fds, &process->pid);
	for (unsigned i = 0; i < n_fds; i++)
		if (high[i] >= 0)
			close(high[i]);
	if (r == 0) {
		int pidfd = fby_process_pidfd(process->pid);

		process->pidfd = pidfd < 0 ? -1 : pidfd;
	}
	return r;
}

/* Readable once every thread of it is gone. */
static bool pidfd_says_over(int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

static int look(idtype_t by, int id, siginfo_t *ret_info)
{
	int r;

	do
		r = waitid(by, (id_t)id, ret_info, WEXITED | WNOHANG);
	while (r < 0 && errno == EINTR);
	return r;
}

/*
 * By pidfd, where the kernel can wait for one (5.4): by number it may be another child
 * by now.  The status may have been taken by others (SIGCHLD ignored, a wait for any
 * child): then waitid says ECHILD, and the pidfd, or kill(2), has the last word.
 */
bool fby_process_is_over(struct fby_process *process, struct fby_ending *ret_ending)
{
	siginfo_t info = { .si_pid = 0 };
	int r = -1;

	*ret_ending = (struct fby_ending){ .known = false };
	if (process->pidfd >= 0)
		r = look(P_PIDFD, process->pidfd, &info);
	if (process->pidfd < 0 || (r < 0 && errno == EINVAL))
		r = look(P_PID, process->pid, &info);
	if (r == 0 && info.si_pid == 0)
		return false;
	if (r == 0) {
		*ret_ending = (struct fby_ending){ .known = true,
						   .signal = info.si_code != CLD_EXITED,
						   .code = info.si_status };
		return true;
	}
	if (process->pidfd >= 0)
		return pidfd_says_over(process->pidfd);
	return kill(process->pid, 0) < 0 && errno == ESRCH;
}

/*
 * By pidfd where there is one, whose process cannot have become another; by number
 * where the kernel refuses that.
 */
void fby_process_signal(const struct fby_process *process, int signal)
{
	if (process->pid <= 0)
		return;
	if (process->pidfd >= 0 &&
	    (syscall(SYS_pidfd_send_signal, process->pidfd, signal, NULL, 0) == 0 ||
	     errno == ESRCH))
		return;
	kill(process->pid, signal);
}

void fby_process_finish(struct fby_process *process)
{
	if (process->pidfd >= 0)
		close(process->pidfd);
	*process = (struct fby_process){ .pid = 0, .pidfd = -1 };
}
