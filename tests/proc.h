/* SPDX-License-Identifier: Apache-2.0 */
/* What /proc and /dev/shm say of processes, for the stories. */
#ifndef FBY_PROC_H
#define FBY_PROC_H

#include <stdbool.h>
#include <stdint.h>

/* State letter of a process as in /proc/PID/stat; 0 where there is none. */
char proc_state(int pid);

/* Gone, or a zombie. */
bool proc_is_over(int pid);

/* The parent's pid, 0 where there is no such process. */
int proc_parent(int pid);

/* A child of `parent` whose program is called `name`; 0: none.  Zombies count. */
int proc_child_of(int parent, const char *name);

/* Children of `parent` but for `except`. */
unsigned proc_count_children(int parent, int except);

/* Waits until it is gone or a zombie; false when it is not. */
bool proc_wait_over(int pid);

/* Waits for a state, 'T' for stopped. */
bool proc_wait_state(int pid, char state);

/* Exit status of a child, 128 + signal where it was killed. */
int proc_reap(int pid);

/* ---- what this process holds ---- */

unsigned proc_count_fds(void);
unsigned proc_count_threads(void);

/* Mappings of /proc/self/maps (or of another process) whose name has `word` in it. */
unsigned proc_count_mappings(int pid, const char *word);

/* Pages this process has in memory, in KiB. */
unsigned long proc_rss_kib(void);

/* Names in /dev/shm that process `pid` of this user made; *ret_bytes: their sizes. */
unsigned proc_count_names(int pid, uint64_t *ret_bytes);

#endif
