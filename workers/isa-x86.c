/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which tables of hot loops an x86-64 machine can run.
 */
#include "workers/isa.h"

extern const struct fby_passes fby_passes_baseline, fby_passes_v3;

const struct fby_passes *const fby_isa_list[] = {
	&fby_passes_v3,
	&fby_passes_baseline,
	NULL,
};

/* What the psABI calls x86-64-v3, as far as a compiler makes use of it here. */
bool fby_isa_runs(const struct fby_passes *passes)
{
	if (passes != &fby_passes_v3)
		return true;
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
	       __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma");
}
