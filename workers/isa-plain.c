/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Machines with one table of hot loops.
 */
#include "workers/isa.h"

extern const struct fby_passes fby_passes_baseline;

const struct fby_passes *const fby_isa_list[] = {
	&fby_passes_baseline,
	NULL,
};

bool fby_isa_runs(const struct fby_passes *passes)
{
	return passes != NULL;
}
