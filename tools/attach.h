/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the pools of running loaders and maps their control segments, to look only.
 * The segments have no name: they are found by the links in /proc/PID/fd.  Needs
 * nobody's help, and no process notices.
 */
#ifndef FBY_ATTACH_H
#define FBY_ATTACH_H

#include "lib/pool.h"

struct fby_attached {
	struct fby_pool pool; /* ctl and geo are set, nothing else */
	double age_s;         /* since its pool was made */
};

struct fby_attach_visitor {
	void (*visit)(void *arg, const struct fby_attached *attached);
	void *arg;
};

/*
 * Visits each pool once, whose control segment a process of this user has open: any
 * process, or only `only_pid`.  One that cannot be understood is visited with NULL, and
 * fby_error() says why.  -errno where /proc cannot be read.
 */
int fby_attach_each(int only_pid, const struct fby_attach_visitor *visitor);

#endif
