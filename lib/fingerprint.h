/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does an index still fit the folder it was made of?  The root counts by its list of
 * names, every folder below by its modification time: a check costs a call for each
 * folder, not for each photograph.  What changes inside a file is not seen, nor is a
 * file that becomes readable, nor a link whose target appears.
 */
#ifndef FBY_FINGERPRINT_H
#define FBY_FINGERPRINT_H

#include "lib/index.h"
#include <sys/stat.h>

#define FBY_STALE 1

/*
 * Of the names in a folder, in any order.  Names that begin with a dot do not count:
 * the index itself is one.
 */
int fby_fingerprint_names(const char *root, uint64_t *ret_hash);

/* When a folder was last changed, in ns since 1970. */
int64_t fby_fingerprint_time(const struct stat *st);

/* 0, or FBY_STALE (the log says why). */
int fby_fingerprint_check(const struct fby_index *index);

/* FNV-1a, 64 bits: for names, not against an adversary. */
uint64_t fby_fingerprint_text(const char *text);

#endif
