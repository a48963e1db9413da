/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that appears whole or not at all: written under another name, or under none,
 * forced to the disk, and renamed.  Who reads the old one keeps it.
 */
#ifndef FBY_REPLACE_H
#define FBY_REPLACE_H

#include "lib/base.h"

struct fby_replace;

/* Begins to write `file`, in a folder that is there. */
int fby_replace_create(const char *file, struct fby_replace **ret_replace);
int fby_replace_write(struct fby_replace *replace, const void *bytes, size_t n);

/* The file is now what was written. */
int fby_replace_commit(struct fby_replace *replace);

/* Without a commit nothing happened.  NULL is allowed. */
void fby_replace_destroy(struct fby_replace *replace);

#endif
