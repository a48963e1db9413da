/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Real worker processes, one machine instruction at a time: ptrace(2), x86-64.  Their
 * FUTEX_WAKEs go to the world, their FUTEX_WAITs end at once as if the time were over.
 */
#ifndef FBY_SWEEP_STEP_H
#define FBY_SWEEP_STEP_H

#include "lib/base.h"

/* Once, before all others. */
void step_init(void);

/* Runs fby_work_run on the live pool until it has slept `sleeps` times. */
int step_start(uint32_t me, uint64_t sleeps);

/* One instruction; false: the worker is gone.  *ret_woke: it was a FUTEX_WAKE. */
bool step_one(int pid, bool *ret_woke);

/* SIGKILL, if it is not gone. */
void step_kill(int pid);

#endif
