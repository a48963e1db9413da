/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An index being made: takes classes, folders and samples in their final order and
 * writes the file that lib/index.c reads.  Knows nothing of where they come from;
 * tools/walk.c does.
 */
#ifndef FBY_BUILD_H
#define FBY_BUILD_H

#include "lib/base.h"

/* What was found and left out. */
enum {
	FBY_SKIP_HIDDEN,            /* names that begin with a dot */
	FBY_SKIP_ROOT_FILE,         /* files in the root: they have no class */
	FBY_SKIP_OTHER,             /* no extension of a photograph */
	FBY_SKIP_DANGLING,          /* links to nothing */
	FBY_SKIP_SPECIAL,           /* FIFOs, sockets, devices */
	FBY_SKIP_UNREADABLE,        /* files that we may not read */
	FBY_SKIP_UNREADABLE_FOLDER, /* folders that we may not list */
	FBY_SKIP_LOOP,              /* links to a folder they are in */
	FBY_SKIP_LONG,              /* paths longer than the system takes */
	FBY_N_SKIPS
};

#define FBY_SKIP_NAMES 3 /* how many of each kind are named */

/* Kind `n` as "hidden", ... for JSON, and in words for people. */
const char *fby_skip_key(unsigned n);
const char *fby_skip_words(unsigned n);

struct fby_build;

int fby_build_create(struct fby_build **ret_build);
void fby_build_destroy(struct fby_build *build);

/* Classes in the order of their ids. */
int fby_build_class(struct fby_build *build, const char *name);

/* Folders are numbered from 0 in the order they come; `path` is below the root. */
int fby_build_directory(struct fby_build *build, const char *path, int64_t ns,
			uint32_t *ret_number);

/* Samples in the order of their ids. */
int fby_build_sample(struct fby_build *build, uint32_t directory, const char *name,
		     int64_t label);

int fby_build_skip(struct fby_build *build, unsigned n, const char *path);

void fby_build_root_names(struct fby_build *build, uint64_t hash);
uint64_t fby_build_count(const struct fby_build *build);

/*
 * Writes the index: whole, or not at all.  `root` is the folder's absolute path, or ""
 * where `file` lies in that folder.  -EACCES, -EROFS, -ENOSPC and others from the
 * system.
 */
int fby_build_write(struct fby_build *build, const char *file, const char *root);

#endif
