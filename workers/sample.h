/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One sample's bytes to one row: fetch, decode the region, resample, convert,
 * store.  A maker is private to a process and knows no ticket and no slot: the
 * bench runs it without a pool.
 */
#ifndef FBY_SAMPLE_H
#define FBY_SAMPLE_H

#include "lib/index.h"
#include "lib/layout.h"

struct fby_maker;

/* What is to be made, and where to: a pure function of these numbers. */
struct fby_job {
	uint64_t sample, seed, epoch, position;
	void *field[FBY_N_FIELDS]; /* where the row of each field begins */
	_Atomic uint32_t *stage;   /* FBY_STAGE_... goes here when it changes; or NULL */
};

/* What came of it. */
struct fby_report {
	uint32_t status; /* FBY_ROW_GOOD or FBY_ROW_BAD */
	uint32_t padding;
	uint64_t bytes;                  /* read from the file */
	uint64_t stage_ns[FBY_N_STAGES]; /* FBY_STAGE_IDLE is not ours: 0 */
	char reason[FBY_REASON_BYTES];   /* why it is bad; "" */
};

/*
 * `cfg` and `index` must outlive the maker.  -ENOMEM, or -EINVAL for a pipeline
 * that this worker does not know.
 */
int fby_maker_create(const struct fby_cfg *cfg, const struct fby_index *index,
		     struct fby_maker **ret_maker);
void fby_maker_destroy(struct fby_maker *maker);

/*
 * Makes one row of the sample job->sample.  A sample that cannot be made is no error: its
 * image is zeroed, and the report says why.  Every byte of the row is written either way.
 */
void fby_maker_make(struct fby_maker *maker, const struct fby_job *job,
		    struct fby_report *ret_report);

/*
 * The same for an entry that is in no index: job->sample does not count, and the maker
 * may have been made with an index of NULL.
 */
void fby_maker_make_entry(struct fby_maker *maker, const struct fby_job *job,
			  const struct fby_entry *entry, struct fby_report *ret_report);

#endif
