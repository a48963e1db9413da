/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a running loader is doing, told to people or as JSON.
 */
#ifndef FBY_LIVE_H
#define FBY_LIVE_H

#include "tools/attach.h"
#include <jansson.h>

void fby_live_text(const struct fby_attached *attached);

/* NULL: no memory. */
json_t *fby_live_json(const struct fby_attached *attached);

/*
 * The time below which a share of the waits ended, in us: the upper end of its bucket
 * (fby_stats_bucket); 0 without waits.
 */
uint64_t fby_live_percentile(const uint64_t histogram[FBY_HISTOGRAM], double share);

#endif
