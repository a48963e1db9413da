/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pixels to planes: one text, which each table of hot loops compiles for its own
 * instruction set (passes.c, passes-v3.c).
 */
#ifndef FBY_PLANES_H
#define FBY_PLANES_H

#include "lib/base.h"

static inline void fby_planes(const uint8_t *restrict src, size_t n,
			      uint8_t *const dst[3])
{
	uint8_t *restrict r = dst[0], *restrict g = dst[1], *restrict b = dst[2];

	for (size_t i = 0; i < n; i++) {
		r[i] = src[3 * i];
		g[i] = src[3 * i + 1];
		b[i] = src[3 * i + 2];
	}
}

#endif
