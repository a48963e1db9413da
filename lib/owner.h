/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose process this is: tells an object's maker from a forked child.  A page that the
 * kernel wipes at fork (MADV_WIPEONFORK, Linux 4.14) costs one load to look at, where
 * getpid(2) costs a system call, a tenth of what handing out a batch costs.
 */
#ifndef FBY_OWNER_H
#define FBY_OWNER_H

#include "lib/base.h"

struct fby_owner {
	int pid;
	uint32_t *mark; /* 1 in the maker, 0 in a child; NULL: compare the pid */
};

/* This process is the owner.  Cannot fail: without the page it compares pids. */
void fby_owner_init(struct fby_owner *owner);
void fby_owner_finish(struct fby_owner *owner);

bool fby_owner_is_here(const struct fby_owner *owner);

#endif
