/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A list of names that can be sorted by their bytes.  Knows nothing of files.
 */
#ifndef FBY_NAMES_H
#define FBY_NAMES_H

#include "lib/base.h"

/* All zero is an empty list. */
struct fby_names {
	char *text;
	uint64_t *at; /* where each begins in text */
	size_t n, bytes, n_max, bytes_max;
};

int fby_names_add(struct fby_names *names, const char *name);
void fby_names_sort(struct fby_names *names);
void fby_names_finish(struct fby_names *names);

static inline const char *fby_names_get(const struct fby_names *names, size_t i)
{
	return names->text + names->at[i];
}

#endif
