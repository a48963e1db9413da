/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/bad.h"
#include "lib/fail.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMED 3 /* samples in the sentence */

int fby_bad_init(struct fby_bad *bad, const struct fby_settings *s, uint64_t n_samples)
{
	*bad = (struct fby_bad){ .policy = s->on_bad,
				 .max_rows = s->max_bad_rows,
				 .max_share = s->max_bad,
				 .n_samples = n_samples };
	bad->met = calloc(n_samples / 64 + 1, sizeof(*bad->met));
	bad->list = calloc(fby_min(n_samples, FBY_MAX_BAD_LIST) + 1, sizeof(*bad->list));
	if (bad->met && bad->list)
		return 0;
	fby_bad_finish(bad);
	return fby_fail(-ENOMEM, "no memory to list bad ones of %llu samples",
			(unsigned long long)n_samples);
}

void fby_bad_finish(struct fby_bad *bad)
{
	free(bad->met);
	free(bad->list);
	bad->met = NULL;
	bad->list = NULL;
}

/* ---- filling ---- */

static void copy_row(const struct fby_pool *p, struct fby_lease *lease, uint32_t from,
		     uint32_t to)
{
	for (uint32_t f = 0; f < p->geo.n_fields; f++)
		memcpy(fby_pool_row(p, lease->slot, f, to),
		       fby_pool_row(p, lease->slot, f, from), p->geo.row_bytes[f]);
	lease->ids[to] = lease->ids[from];
}

/* Bad rows stand in ascending order. */
static uint32_t first_good_row(const struct fby_lease *lease)
{
	uint32_t row = 0;

	while (row < lease->n_bad && lease->bad[row].row == row)
		row++;
	return row;
}

/* From the last row to the first: the good row behind is always known. */
static void replace(const struct fby_pool *p, struct fby_lease *lease)
{
	uint32_t good = first_good_row(lease), k = lease->n_bad;

	for (uint32_t row = lease->part.n; row-- > 0;) {
		if (k == 0 || lease->bad[k - 1].row != row) {
			good = row;
			continue;
		}
		copy_row(p, lease, good, row);
		k--;
	}
}

/* The row of a sample that workers died of holds what they left, its label too. */
static void blank(const struct fby_pool *p, const struct fby_index *index,
		  const struct fby_lease *lease)
{
	struct fby_entry entry;

	for (uint32_t k = 0; k < lease->n_bad; k++) {
		const struct fby_bad_sample *b = &lease->bad[k];
		int64_t label = -1;

		if (fby_index_entry(index, b->id, &entry) == 0)
			label = entry.label;
		memset(fby_pool_row(p, lease->slot, FBY_FIELD_IMAGE, b->row), 0,
		       p->geo.row_bytes[FBY_FIELD_IMAGE]);
		memcpy(fby_pool_row(p, lease->slot, FBY_FIELD_LABEL, b->row), &label,
		       sizeof(label));
	}
}

uint32_t fby_bad_fill(const struct fby_bad *bad, const struct fby_pool *pool,
		      const struct fby_index *index, struct fby_lease *lease)
{
	assert(lease->n_bad <= lease->part.n);
	if (bad->policy != FBY_BAD_REPLACE || lease->n_bad == lease->part.n) {
		blank(pool, index, lease);
		return 0;
	}
	if (lease->n_bad)
		replace(pool, lease);
	return lease->n_bad;
}

/* ---- counting ---- */

static void meet(struct fby_bad *bad, const struct fby_bad_sample *sample)
{
	uint64_t *word = &bad->met[sample->id / 64], bit = 1ull << (sample->id % 64);

	if (*word & bit)
		return;
	*word |= bit;
	bad->n++;
	if (bad->n_list < FBY_MAX_BAD_LIST)
		bad->list[bad->n_list++] = *sample;
}

/* An id that the dataset does not have is nobody's: a stray store's. */
void fby_bad_count(struct fby_bad *bad, const struct fby_lease *lease)
{
	bad->n_seen += lease->part.n;
	for (uint32_t k = 0; k < lease->n_bad; k++)
		if (lease->bad[k].id < bad->n_samples)
			meet(bad, &lease->bad[k]);
	bad->over |= bad->n > bad->max_rows &&
		     (double)bad->n > bad->max_share * (double)bad->n_seen;
}

int fby_bad_judge(const struct fby_bad *bad, const struct fby_index *index)
{
	char text[900] = "";
	struct fby_entry e;
	size_t n = 0;

	if (!bad->over)
		return 0;
	for (uint32_t k = 0; k < bad->n_list && k < NAMED && n < sizeof(text); k++) {
		if (fby_index_entry(index, bad->list[k].id, &e) < 0)
			e = (struct fby_entry){ .directory = "", .name = "?" };
		n += (size_t)snprintf(text + n, sizeof(text) - n,
				      "; sample %llu (%.100s%s%.80s): %s",
				      (unsigned long long)bad->list[k].id, e.directory,
				      *e.directory ? "/" : "", e.name,
				      bad->list[k].reason);
	}
	return fby_fail(-EUCLEAN,
			"%llu bad samples in %llu rows are more than max_bad allows "
			"(%g %% of the rows, and %u in any case): mend or remove the "
			"files, or allow more%s%s",
			(unsigned long long)bad->n, (unsigned long long)bad->n_seen,
			100 * bad->max_share, bad->max_rows, text,
			bad->n > NAMED ? "; ..." : "");
}
