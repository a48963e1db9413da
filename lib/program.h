/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where our other programs lie: what an environment variable says, then at places
 * relative to this library.  Never PATH.
 */
#ifndef FBY_PROGRAM_H
#define FBY_PROGRAM_H

#include "lib/base.h"

/*
 * `variable` names the environment variable; `place`[0..n) are paths relative to the
 * folder of this library.  -ENOENT with a sentence that lists what was tried.
 */
int fby_program_find(const char *variable, const char *const *place, size_t n,
		     char *ret_path, size_t size);

#endif
