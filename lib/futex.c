/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/futex.h"
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

int fby_futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t ns)
{
	struct timespec t = { .tv_sec = (time_t)(ns / 1000000000u),
			      .tv_nsec = (long)(ns % 1000000000u) };

	if (syscall(SYS_futex, word, FUTEX_WAIT, value, &t, NULL, 0) == 0)
		return 0;
	return -errno;
}

void fby_futex_wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}
