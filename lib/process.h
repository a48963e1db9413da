/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A child process: start with chosen descriptors, watch, confirm its death, kill.
 * posix_spawn, never fork: a fork copies the page tables of the trainer (30 ms a GiB)
 * and is not safe beside CUDA.
 */
#ifndef FBY_PROCESS_H
#define FBY_PROCESS_H

#include "lib/base.h"

#define FBY_FIRST_FD 3 /* the child finds its descriptors from here on */
#define FBY_MAX_FDS  5

struct fby_process {
	int pid;   /* 0 where there is none */
	int pidfd; /* -1 where the kernel has none to give */
};

/* How it ended. */
struct fby_ending {
	bool known;  /* false: somebody else took the status */
	bool signal; /* `code` is a signal, else an exit status */
	int code;
};

/*
 * A copy of this process's environment, in one piece for free(3).  Taken where the user
 * calls us: while a later thread reads environ(7), anybody's setenv may move it.
 * -ENOMEM.
 */
int fby_process_copy_environment(char ***ret_environment);

/*
 * Starts argv[0] as the leader of its own process group, with no signal blocked and
 * all at their defaults.  fd[i] becomes descriptor FBY_FIRST_FD + i, whatever
 * numbers they have here; where one is -1, nothing is open.  To be called on a thread
 * that lives as long as the child is wanted: PR_SET_PDEATHSIG means that thread.
 */
int fby_process_start(struct fby_process *process, char *const argv[],
		      char *const environment[], const int *fd, unsigned n_fds);

/* True once the kernel says that it is gone; reaps it.  Never blocks. */
bool fby_process_is_over(struct fby_process *process, struct fby_ending *ret_ending);

/* SIGKILL or another signal; nothing where it is over. */
void fby_process_signal(const struct fby_process *process, int signal);

/* Forgets it; closes the pidfd. */
void fby_process_finish(struct fby_process *process);

/* A pidfd of a process, -errno where that cannot be had. */
int fby_process_pidfd(int pid);

#endif
