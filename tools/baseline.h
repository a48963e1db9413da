/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the bench compares the loader with, each in as many processes as the loader has
 * workers, all at once, file reads included:
 *
 *   full   a bare libjpeg-turbo decode of each file of an epoch (tools/bare.h)
 *   plain  the worker's own pipeline on the same samples, into private memory of the
 *          same size as the pool, without tickets, slots and semaphores
 */
#ifndef FBY_BASELINE_H
#define FBY_BASELINE_H

#include "lib/layout.h"
#include "lib/plan.h"

struct fby_baseline {
	const struct fby_cfg *cfg; /* of the loader that is compared */
	const struct fby_plan *plan;
	uint32_t n_processes, n_slots;
	uint64_t image_bytes;
	uint64_t epoch, n_positions; /* whose samples and crops are made, and how many */
};

/* Mean CPU time an image, in ms, all processes together.  -errno. */
int fby_baseline_full(const struct fby_baseline *baseline, double *ret_cpu_ms);
int fby_baseline_plain(const struct fby_baseline *baseline, double *ret_cpu_ms);

#endif
