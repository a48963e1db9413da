/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the path a user gives to an opened index: finds the index file, sees
 * whether it still fits its sources, and has the `forebay` program build it
 * where it does not.
 */
#ifndef FBY_DATASET_H
#define FBY_DATASET_H

#include "lib/index.h"
#include "lib/layout.h"

/* Where the index of a folder may lie. */
struct fby_dataset {
	char root[FBY_PATH_BYTES];   /* absolute, no links */
	char beside[FBY_PATH_BYTES]; /* in the folder: counts when it fits its sources */
	char cache[FBY_PATH_BYTES];  /* else this one; "" without a cache folder */
};

/*
 * Says where it may lie.  The cache is $XDG_CACHE_HOME/forebay, else
 * $HOME/.cache/forebay; the file is named by a hash of the root.  -ENOENT no such
 * folder, -ENOTDIR a file.
 */
int fby_dataset_locate(const char *path, struct fby_dataset *ret_dataset);

#define FBY_MISSING 1

/* Opens an index that fits its sources; FBY_MISSING where there is none. */
int fby_dataset_find(const struct fby_dataset *dataset, struct fby_index **ret_index);

/*
 * The index of the image folder `path`.  A file whose name ends in .idx is opened as
 * it is.  Otherwise the index is found, or built where it is missing or stale: of
 * several processes one builds, under flock; the others wait.
 *
 * -ENOENT: no such folder, no photograph in it, or no `forebay` program (FOREBAY_TOOL,
 * then where the library lies).  -ENOTDIR: a file that is no index.  -EINTR: a signal
 * came while another process was building.  -EIO: the program failed; its words.
 */
int fby_dataset_open(const char *path, struct fby_index **ret_index);

#endif
