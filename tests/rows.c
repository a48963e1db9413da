/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/rows.h"
#include <stdio.h>
#include <string.h>

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 33) * 0xff51afd7ed558ccdull;
	x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53ull;
	return x ^ x >> 33;
}

static void fill(unsigned char *row, const struct fby_job *job)
{
	uint64_t x = mix(job->sample + 1) ^ mix(job->seed + 2) ^ mix(job->epoch + 3) ^
		     mix(job->position + 4);

	for (uint32_t k = 0; k < ROWS_BYTES; k += 8) {
		x = x * 6364136223846793005ull + 1442695040888963407ull;
		memcpy(row + k, &x, 8);
	}
}

bool rows_is_bad(uint64_t sample)
{
	return sample % 70 == 64;
}

static void reason(uint64_t sample, char *ret_text)
{
	memset(ret_text, 0, FBY_REASON_BYTES);
	snprintf(ret_text, FBY_REASON_BYTES, "sample of no use");
	memcpy(ret_text + 24, &sample, sizeof(sample));
}

void rows_make(void *ctx, const struct fby_job *job, struct fby_report *ret_report)
{
	(void)ctx;
	memcpy(job->field[FBY_FIELD_LABEL], &job->sample, 8);
	if (rows_is_bad(job->sample)) {
		memset(job->field[FBY_FIELD_IMAGE], 0, ROWS_BYTES);
		ret_report->status = FBY_ROW_BAD;
		reason(job->sample, ret_report->reason);
		return;
	}
	fill(job->field[FBY_FIELD_IMAGE], job);
	ret_report->status = FBY_ROW_GOOD;
	ret_report->bytes = ROWS_BYTES;
}

bool rows_is_right(const struct fby_pool *pool, const struct fby_lease *lease,
		   uint64_t seed, uint32_t i)
{
	struct fby_job job = { .sample = lease->ids[i],
			       .seed = seed,
			       .epoch = lease->part.epoch,
			       .position = lease->part.first + i * lease->part.stride };
	unsigned char want[ROWS_BYTES] = { 0 };

	if (!rows_is_bad(job.sample))
		fill(want, &job);
	return memcmp(want, fby_pool_row(pool, lease->slot, FBY_FIELD_IMAGE, i),
		      sizeof(want)) == 0 &&
	       memcmp(&job.sample, fby_pool_row(pool, lease->slot, FBY_FIELD_LABEL, i),
		      8) == 0;
}

bool rows_bad_are_right(const struct fby_lease *lease)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < lease->part.n; i++) {
		const struct fby_bad_sample *bad = &lease->bad[n];
		char want[FBY_REASON_BYTES];

		if (!rows_is_bad(lease->ids[i]))
			continue;
		reason(lease->ids[i], want);
		if (n == lease->n_bad || bad->row != i || bad->id != lease->ids[i] ||
		    bad->status != FBY_ROW_BAD ||
		    memcmp(bad->reason, want, sizeof(want)) != 0)
			return false;
		n++;
	}
	return n == lease->n_bad;
}

int rows_pool(struct fby_pool *pool, uint32_t n_slots, uint32_t n_workers, uint32_t batch)
{
	struct fby_geometry geo = { .n_slots = n_slots,
				    .n_workers = n_workers,
				    .batch = batch,
				    .n_fields = FBY_N_FIELDS,
				    .row_bytes = { ROWS_BYTES, 8 } };
	struct fby_cfg cfg = { .channels = 1 };

	return fby_pool_create(pool, &geo, &cfg);
}

int rows_work(const struct fby_pool *pool, uint32_t me)
{
	struct fby_work work = { .pool = pool, .me = me, .make = rows_make };

	return fby_work_one(&work);
}
