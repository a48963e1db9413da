/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The index: for each sample where its bytes lie and what its label is, as
 * columns of one file that all processes map read-only.  This file only reads;
 * tools/build.c writes.  docs/layout.md has the bytes.
 */
#ifndef FBY_INDEX_H
#define FBY_INDEX_H

#include "lib/base.h"

struct fby_index;

/* One sample.  The strings live as long as the index. */
struct fby_entry {
	const char *root;      /* folder of the dataset, absolute */
	const char *directory; /* below the root; "" for the root itself */
	const char *name;      /* of the file */
	uint64_t offset;       /* in the file */
	uint64_t length;       /* 0: to the end of the file */
	int64_t label;
};

/*
 * Maps an index file.  -ENOENT no such file; -EBADMSG not an index, cut short, of
 * another version, or with columns that point outside: the text says which.
 */
int fby_index_open(const char *path, struct fby_index **ret_index);

/*
 * The same from a descriptor, which the index keeps; `path` is its name in texts.  A
 * worker gets the very file that its trainer has, also when it was built anew meanwhile.
 */
int fby_index_open_fd(int fd, const char *path, struct fby_index **ret_index);
int fby_index_fd(const struct fby_index *index);

void fby_index_close(struct fby_index *index);

uint64_t fby_index_count(const struct fby_index *index);
uint32_t fby_index_classes(const struct fby_index *index);
const char *fby_index_class_name(const struct fby_index *index, uint32_t label);

/* Absolute paths: of the index file, and of the folder that it describes. */
const char *fby_index_file(const struct fby_index *index);
const char *fby_index_root(const struct fby_index *index);

/*
 * Sample `id`.  -ERANGE for an id that is not there, -EBADMSG where the columns
 * point outside the file (every access is checked: the file is input).
 */
int fby_index_entry(const struct fby_index *index, uint64_t id,
		    struct fby_entry *ret_entry);

/* root/directory/name, cut to `size`; returns as fby_index_entry. */
int fby_index_path(const struct fby_index *index, uint64_t id, char *ret_path,
		   size_t size);

/* ---- what the index was made of: for lib/fingerprint.c and the tools ---- */

/* Every folder that was walked, below the root; NULL past the end or outside. */
uint64_t fby_index_directories(const struct fby_index *index);
const char *fby_index_directory(const struct fby_index *index, uint64_t i);

/* Fingerprint of the list of names in the root. */
uint64_t fby_index_root_names(const struct fby_index *index);

/*
 * Any column by its name (docs/layout.md), with its number of values; it lies wholly
 * in the file.  NULL where there is none of this width.
 */
const void *fby_index_column(const struct fby_index *index, const char *name,
			     uint32_t width, uint64_t *ret_count);

#endif
