/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The instruction sets this build has loops for, best first.  One of isa-*.c has
 * the list; isa.c chooses.
 */
#ifndef FBY_ISA_H
#define FBY_ISA_H

#include "workers/passes.h"

/* Ends with NULL. */
extern const struct fby_passes *const fby_isa_list[];

/* Whether this machine has the instructions. */
bool fby_isa_runs(const struct fby_passes *passes);

#endif
