/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole loader with a consumer that does nothing: how fast, how even, at what cost,
 * and next to what the same work costs without it.  Prints nothing.
 *
 * Costs are CPU time from the kernel's accounting, of workers and consumer together,
 * over rounds that begin and end with a full pool.
 */
#ifndef FBY_BENCH_H
#define FBY_BENCH_H

#include "lib/forebay.h"
#include "tools/meter.h"

struct fby_bench_options {
	const char *path;
	struct fby_settings settings;
	uint32_t epochs; /* of the timed pass */
	bool baseline;
};

struct fby_bench_result {
	struct fby_info info;
	struct fby_stats stats; /* at the end */
	struct fby_meter meter;
	struct fby_series handover_us;   /* last commit to consumer running */
	struct fby_series next_ready_us; /* a call of next with a batch ready */
	struct fby_series cpu_ms, full_cpu_ms, plain_cpu_ms; /* an image, by round */
	uint64_t worker_rss_bytes; /* private memory of the largest worker */
	char digest[33];           /* XXH3-128 of the batches of epoch 0, in order */
};

/* -errno with a sentence. */
int fby_bench_run(const struct fby_bench_options *options,
		  struct fby_bench_result *ret_result);
void fby_bench_finish(struct fby_bench_result *result);

/* Quotients of the medians; 0 where the baseline was not measured. */
double fby_bench_ratio_to_full_decode(const struct fby_bench_result *result);
double fby_bench_pool_efficiency(const struct fby_bench_result *result);

#endif
