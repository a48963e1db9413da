/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wait and wake across processes on a 32-bit word, always with a deadline.  Knows
 * nothing of what the word means.  futex(2).
 */
#ifndef FBY_FUTEX_H
#define FBY_FUTEX_H

#include "lib/base.h"

/*
 * Sleeps while *word is `value`, at most `ns`.  Returns 0 after a wake (perhaps a
 * spurious one), -EAGAIN when the word was another one, -ETIMEDOUT, -EINTR.
 */
int fby_futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t ns);

/* Wakes all who sleep on the word. */
void fby_futex_wake(_Atomic uint32_t *word);

#endif
