/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The futex-backed semaphore of the pool: ready[slot] and work are made of it.
 * One 32-bit word: bits 31..1 count, bit 0 "somebody may sleep".
 *
 * A semaphore is a hint.  A token says "look", never "it is so"; a lost or an extra
 * one costs a look or a wake-up, never a row.  A process may be killed inside any
 * of these functions: the word is valid after every instruction, and fby_sem_kick()
 * mends the one case that is not mended by the next post.
 *
 * Why not sem_t: see docs/design.md.
 */
#ifndef FBY_SEM_H
#define FBY_SEM_H

#include "lib/layout.h"

enum fby_woke {
	FBY_WOKE_TOKEN,   /* took one */
	FBY_WOKE_BY_WAKE, /* woken, or the word moved: look */
	FBY_WOKE_BY_TIME, /* the time is over: look, and count it if there was something
			   */
	FBY_WOKE_BY_SIGNAL,
};

/* Takes a token if there is one; never sleeps. */
bool fby_sem_take(struct fby_sem *sem);

/* Announces a sleeper; false where a token has come by now. */
bool fby_sem_arm(struct fby_sem *sem);

/* Adds n tokens, up to `cap` in all; wakes everybody if somebody may sleep. */
void fby_sem_post(struct fby_sem *sem, uint32_t n, uint32_t cap);

/*
 * A post that always wakes: for recovery.  Who cleared the sleeper bit may have died
 * before its wake; a post then finds the count at its cap and nobody asleep, and
 * would wake nobody.
 */
void fby_sem_kick(struct fby_sem *sem, uint32_t n, uint32_t cap);

/* Takes a token, or sleeps once, at most `ns`.  Whatever it returns, look at the truth.
 */
enum fby_woke fby_sem_wait(struct fby_sem *sem, uint64_t ns);

#endif
