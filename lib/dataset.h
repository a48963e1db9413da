/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the path a user gives to an opened index: finds the index file, sees
 * whether it still fits its sources, and has the `forebay` program build it
 * where it does not.
 */
#ifndef FBY_DATASET_H
#define FBY_DATASET_H

#include "lib/index.h"

/*
 * The index file of a dataset: `path`/.forebay.idx, or, where that folder cannot be
 * written, $XDG_CACHE_HOME/forebay/<hash of the real path>.idx.  Which of them counts
 * is said in dataset.c.
 *
 * Opens it, after building it where it is missing or stale.  Of several processes
 * one builds, under flock; the others wait.  -ENOENT: no such folder, no image in
 * it, or no `forebay` program (FOREBAY_TOOL, then beside the library).
 */
int fby_dataset_open(const char *path, struct fby_index **ret_index);

#endif
