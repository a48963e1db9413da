/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/sem.h"
#include "lib/futex.h"
#include <errno.h>

enum { SLEEPER = 1, ONE = 2 };

bool fby_sem_take(struct fby_sem *sem)
{
	uint32_t word = atomic_load(&sem->word);

	while (word >= ONE)
		if (atomic_compare_exchange_weak(&sem->word, &word, word - ONE))
			return true;
	return false;
}

/*
 * Only from count 0: pairs with the exchange in post().  Either the poster sees the
 * bit and wakes, or we see its token and do not sleep.
 */
bool fby_sem_arm(struct fby_sem *sem)
{
	uint32_t word = 0;

	return atomic_compare_exchange_strong(&sem->word, &word, SLEEPER) ||
	       word == SLEEPER;
}

static void post(struct fby_sem *sem, uint32_t n, uint32_t cap, bool always)
{
	uint32_t word = atomic_load(&sem->word), want;

	do {
		uint32_t sum = word / ONE + n;

		want = (sum < cap ? sum : cap) * ONE; /* the sleeper bit goes with it */
	} while (want != word && !atomic_compare_exchange_weak(&sem->word, &word, want));
	if ((word & SLEEPER) || always)
		fby_futex_wake(&sem->word);
}

void fby_sem_post(struct fby_sem *sem, uint32_t n, uint32_t cap)
{
	post(sem, n, cap, false);
}

void fby_sem_kick(struct fby_sem *sem, uint32_t n, uint32_t cap)
{
	post(sem, n, cap, true);
}

enum fby_woke fby_sem_wait(struct fby_sem *sem, uint64_t ns)
{
	int r;

	if (fby_sem_take(sem))
		return FBY_WOKE_TOKEN;
	if (!fby_sem_arm(sem))
		return FBY_WOKE_BY_WAKE;
	r = fby_futex_wait(&sem->word, SLEEPER, ns);
	if (r == -ETIMEDOUT) {
		fby_sem_take(sem); /* a token that is here now was a lost wake-up */
		return FBY_WOKE_BY_TIME;
	}
	if (fby_sem_take(sem))
		return FBY_WOKE_TOKEN;
	return r == -EINTR ? FBY_WOKE_BY_SIGNAL : FBY_WOKE_BY_WAKE;
}
