/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the control groups of this process allow: those of version 2 and of version 1,
 * ours and every ancestor that can be seen.  The rules are in the kernel's
 * admin-guide/cgroup-v2.rst and cgroup-v1/.  Files that are missing or make no sense
 * are no limit.
 */
#ifndef FBY_CGROUP_H
#define FBY_CGROUP_H

#include "lib/base.h"

/* The smallest quota in CPUs, such as 1.5; 0 when there is none. */
double fby_cgroup_cpus(void);

/*
 * The smallest room over all groups: limit - usage, where pages of files that are
 * cached do not count as used, since the kernel gives them up first.  UINT64_MAX:
 * unlimited.
 */
uint64_t fby_cgroup_memory_room(void);

#endif
