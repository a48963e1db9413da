/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words that C lacks.  No type of ours.  The only file with conditional
 * compilation.
 */
#ifndef FBY_BASE_H
#define FBY_BASE_H

#include <assert.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define FBY_ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define FBY_PRINTF(f, a)  __attribute__((format(printf, f, a)))
#define FBY_UNUSED        __attribute__((unused))

static inline uint64_t fby_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t fby_max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* The next multiple of `unit`, a power of two. */
static inline uint64_t fby_align(uint64_t n, uint64_t unit)
{
	return (n + unit - 1) & ~(unit - 1);
}

/* CLOCK_MONOTONIC in nanoseconds: comes from the vDSO, about 30 ns. */
static inline uint64_t fby_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#endif
