/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bad rows: what stands in their place when a batch is handed out, which samples of
 * the run they were, and when there are too many.  Depends on the batches alone, never
 * on workers or time.  The trainer's thread is the only one here.
 */
#ifndef FBY_BAD_H
#define FBY_BAD_H

#include "lib/index.h"
#include "lib/window.h"

struct fby_bad {
	uint32_t policy, max_rows;
	double max_share;
	bool over;       /* there were too many: for good */
	uint32_t n_list; /* of list; FBY_MAX_BAD_LIST at most */
	uint64_t n;      /* samples that were bad, each once */
	uint64_t n_seen; /* rows handed out, good or bad */
	uint64_t n_samples;
	uint64_t *met; /* one bit a sample: it is one of n */
	struct fby_bad_sample *list;
};

/*
 * Takes on_bad, max_bad and max_bad_rows of the settings, which must be checked.
 * -ENOMEM.  All memory is reserved here, and touched when samples are bad.
 */
int fby_bad_init(struct fby_bad *bad, const struct fby_settings *settings,
		 uint64_t n_samples);
void fby_bad_finish(struct fby_bad *bad);

/*
 * No bad row keeps what it holds: it becomes a copy of the batch's next good row, with
 * label and id, or zeros with a label and an id of its own.  How many were replaced.
 */
uint32_t fby_bad_fill(const struct fby_bad *bad, const struct fby_pool *pool,
		      const struct fby_index *index, struct fby_lease *lease);

/* The rows of a batch that is handed out now. */
void fby_bad_count(struct fby_bad *bad, const struct fby_lease *lease);

/* -EUCLEAN, with the first samples of the list, as soon as there are too many. */
int fby_bad_judge(const struct fby_bad *bad, const struct fby_index *index);

#endif
