/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many CPUs this process may truly use, and how many of them are for workers.
 * Says how many, not which.
 */
#ifndef FBY_CPU_H
#define FBY_CPU_H

#include "lib/base.h"

/*
 * The CPUs in the affinity mask of this thread (which the kernel keeps inside the
 * cpuset) that are online, but no more than a quota of the control groups pays for:
 * min(CPUs, max(1, floor(quota))).  At least 1.
 */
unsigned fby_cpu_count(void);

/* Kept for the trainer: 2 from five CPUs up, 1 of three or four, else 0. */
unsigned fby_cpu_reserved(unsigned n_cpus);

/* fby_cpu_count() without those; at least 1. */
unsigned fby_cpu_workers(void);

#endif
