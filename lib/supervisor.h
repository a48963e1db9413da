/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread that looks after the workers: starts them, watches them, takes back what
 * the dead held, replaces them, and opens the next tickets.  It never runs Python and
 * takes no signal.  Workers ask the kernel to be killed when this thread ends
 * (PR_SET_PDEATHSIG), so it lives as long as they are wanted.
 */
#ifndef FBY_SUPERVISOR_H
#define FBY_SUPERVISOR_H

#include "lib/process.h"
#include "lib/window.h"

struct fby_hand; /* one worker process, as its supervisor sees it */

struct fby_supervisor {
	struct fby_window *window;
	const char *program;     /* the worker's path */
	const char *wrap;        /* words before its command line; NULL: none */
	char **environment;      /* of the workers */
	int index_fd;            /* what workers inherit of the dataset; -1: nothing */
	int (*birth)(void *ctx); /* run first, on the thread: makes window and pool */
	void *ctx;

	pthread_t thread;
	int wake_fd, self_fd;    /* eventfd; pidfd of this process or -1 */
	_Atomic uint32_t phase;  /* a futex word; PHASE_... in supervisor.c */
	_Atomic uint32_t asleep; /* a wake must write to wake_fd */
	_Atomic uint32_t stop;
	int birth_result;
	char text[1024];             /* why birth or the pool failed */
	struct fby_hand *hand;       /* [n_workers] */
	struct pollfd *fds;          /* what it sleeps on: wake_fd, then the pidfds */
	uint64_t progress, poisoned; /* rows made at the last death; rows given up */
};

/*
 * Starts the thread, waits until `birth` has run, and returns its result.  `window` is
 * what birth fills in.
 */
int fby_supervisor_start(struct fby_supervisor *supervisor);

/* Stops workers (2 s, then SIGKILL), reaps them, joins the thread. */
void fby_supervisor_stop(struct fby_supervisor *supervisor);

/* Closes what a wake may still need after the stop. */
void fby_supervisor_finish(struct fby_supervisor *supervisor);

/* A slot is free: look.  Any thread, no lock. */
void fby_supervisor_wake(struct fby_supervisor *supervisor);

/* Kills a stuck worker; its row counts a crash. */
void fby_supervisor_kill(struct fby_supervisor *supervisor, uint32_t worker);

/* Why no worker will ever run again; NULL while all is well. */
const char *fby_supervisor_failure(const struct fby_supervisor *supervisor);

#endif
