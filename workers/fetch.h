/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of one sample, read into memory that is private to this process.  Knows
 * files, no pictures.
 */
#ifndef FBY_FETCH_H
#define FBY_FETCH_H

#include "lib/index.h"
#include "workers/codec.h"

/* More is no photograph. */
#define FBY_MAX_FILE_BYTES (1u << 30)

struct fby_fetch;

int fby_fetch_create(struct fby_fetch **ret_fetch);
void fby_fetch_destroy(struct fby_fetch *fetch);

/*
 * Reads the part of the file that the entry names.  *ret_bytes is valid until the next
 * call.  Negative errno with a sentence: what the system says, -EISDIR and -EINVAL
 * for what is no file, -EBADMSG for a file that is too short, -EFBIG, -ENOMEM.
 */
int fby_fetch_read(struct fby_fetch *fetch, const struct fby_entry *entry,
		   struct fby_bytes *ret_bytes);

#endif
