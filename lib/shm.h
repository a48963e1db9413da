/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared-memory objects: make, reserve, map, verify.  Bytes only: knows nothing of
 * what is in them.
 *
 * An object has a name for some 40 instructions: shm_open, then shm_unlink at once.
 * It lives as long as somebody has it open or mapped.  A process killed between the
 * two leaves an empty name, which the next start of the same user removes.
 */
#ifndef FBY_SHM_H
#define FBY_SHM_H

#include "lib/base.h"

/*
 * Makes an object of `bytes`, every page of it reserved: a later store cannot raise
 * SIGBUS.  In /dev/shm where it fits there, else as a sealed memfd.  `kind` ("ctl")
 * ends its name, by which tools find it in /proc/PID/fd.  Returns the descriptor
 * (close-on-exec) in *ret_fd; -ENOMEM where it does not fit.
 */
int fby_shm_create(const char *kind, uint64_t bytes, int *ret_fd);

/* Removes names that killed processes of this user left behind. */
void fby_shm_sweep(void);

/* Maps a whole object.  -EBADMSG where its size is not `bytes`. */
int fby_shm_map(int fd, uint64_t bytes, bool writable, void **ret_address);
void fby_shm_unmap(void *address, uint64_t bytes);

/* Start time of a process in clock ticks since boot, 0 where there is none. */
uint64_t fby_shm_process_start(int pid);

#endif
