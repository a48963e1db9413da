/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks an image folder (root/class/.../photo.jpg) into an index being made: the same
 * classes, labels and order as torchvision's ImageFolder, whatever order the file
 * system tells names in.  Opens no photograph.
 *
 * Different from ImageFolder: names that begin with a dot are skipped; classes without
 * a photograph are kept, not refused; what is no readable file is skipped.  Where a
 * name is not UTF-8, names are ordered by their bytes, not by Python's escapes.
 */
#ifndef FBY_WALK_H
#define FBY_WALK_H

#include "tools/build.h"

/* Called after each class; NULL: nobody wants to know. */
struct fby_walk_progress {
	void (*tell)(void *arg, uint64_t done, uint64_t total);
	void *arg;
};

/*
 * -ENOENT: no class folder, or no photograph in any.  -EIO and others: a folder could
 * not be read to its end.
 */
int fby_walk_folder(const char *path, struct fby_build *build,
		    const struct fby_walk_progress *progress);

/* Does the name end as torchvision wants it, in any case? */
bool fby_walk_is_image(const char *name);

#endif
