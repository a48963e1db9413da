/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One sample to one row: the parts in the order in which a photograph goes through
 * them.  Decoding drives: rows leave the codec in bands, each band goes through the
 * resize and, as far as rows are finished, to the slot.  The clock is read a few
 * times a band.
 */
#include "workers/sample.h"
#include "lib/fail.h"
#include "lib/pipeline.h"
#include "workers/fetch.h"
#include "workers/resample.h"
#include "workers/store.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fby_maker {
	const struct fby_cfg *cfg;
	const struct fby_index *index;
	const struct fby_passes *passes;
	struct fby_fetch *fetch;
	struct fby_resample *resample;
	void *codec[FBY_N_CODECS];
	struct fby_store store;

	/* While a sample is being made: */
	void *image;
	uint64_t since; /* the clock when the present stage began */
	uint32_t stage;
	uint64_t *stage_ns;
	_Atomic uint32_t *shown; /* where others see the stage; or NULL */
};

static int check_cfg(const struct fby_cfg *cfg)
{
	struct fby_settings s = { .dtype = cfg->dtype,
				  .memory_format = cfg->memory_format,
				  .pillow = cfg->pillow,
				  .n_ops = cfg->n_ops };
	struct fby_cfg same = { 0 };
	int r;

	memcpy(s.op, cfg->op, sizeof(s.op));
	r = fby_pipeline_check(&s, &same);
	if (r < 0)
		return r;
	if (same.channels != cfg->channels || same.height != cfg->height ||
	    same.width != cfg->width)
		return fby_fail(-EINVAL,
				"the pipeline makes %ux%u images, not %ux%u as it says",
				same.height, same.width, cfg->height, cfg->width);
	return 0;
}

int fby_maker_create(const struct fby_cfg *cfg, const struct fby_index *index,
		     struct fby_maker **ret_maker)
{
	struct fby_maker *m;
	int r;

	r = check_cfg(cfg);
	if (r < 0)
		return r;
	m = calloc(1, sizeof(*m));
	if (m == NULL)
		return fby_fail(-ENOMEM, "no memory for a maker of samples");
	m->cfg = cfg;
	m->index = index;
	r = fby_passes_choose(&m->passes);
	if (r < 0)
		goto fail;
	fby_store_init(&m->store, cfg, m->passes);
	r = fby_fetch_create(&m->fetch);
	if (r < 0)
		goto fail;
	r = fby_resample_create(m->passes, &m->resample);
	for (unsigned k = 0; k < FBY_N_CODECS && r == 0; k++)
		r = fby_codec_get(k)->create(&m->codec[k]);
	if (r < 0)
		goto fail;
	*ret_maker = m;
	return 0;
fail:
	fby_maker_destroy(m);
	return r;
}

void fby_maker_destroy(struct fby_maker *m)
{
	if (m == NULL)
		return;
	for (unsigned k = 0; k < FBY_N_CODECS; k++)
		fby_codec_get(k)->destroy(m->codec[k]);
	fby_resample_destroy(m->resample);
	fby_fetch_destroy(m->fetch);
	free(m);
}

/* Ends the present stage, to which the time since it began belongs. */
static void enter(struct fby_maker *m, uint32_t stage)
{
	uint64_t now = fby_now();

	m->stage_ns[m->stage] += now - m->since;
	m->since = now;
	m->stage = stage;
	if (m->shown)
		atomic_store_explicit(m->shown, stage, memory_order_relaxed);
}

static void on_decoded(void *user, const uint8_t *rows, size_t stride, unsigned n)
{
	struct fby_maker *m = user;

	enter(m, FBY_STAGE_RESAMPLE);
	fby_resample_push(m->resample, rows, stride, n);
	enter(m, FBY_STAGE_DECODE);
}

static void on_finished(void *user, uint32_t first, unsigned n, const uint8_t *rgb,
			size_t stride)
{
	struct fby_maker *m = user;

	enter(m, FBY_STAGE_STORE);
	fby_store_rows(&m->store, m->image, first, n, rgb, stride);
	enter(m, FBY_STAGE_RESAMPLE);
}

static int make_image(struct fby_maker *m, const struct fby_job *job,
		      struct fby_bytes bytes)
{
	struct fby_random random = { job->seed, job->epoch, job->position };
	struct fby_view view;
	struct fby_resample_plan plan = { .view = &view,
					  .width = m->cfg->width,
					  .height = m->cfg->height,
					  .pillow = m->cfg->pillow,
					  .finished = { on_finished, m } };
	struct fby_rows rows = { on_decoded, m };
	struct fby_region need;
	struct fby_photo photo;
	int k, r;

	k = fby_codec_find(bytes);
	if (k < 0)
		return k;
	r = fby_codec_get((unsigned)k)->open(m->codec[k], bytes, &photo);
	if (r < 0)
		return r;
	if (!fby_view_draw(m->cfg, &random, photo.width, photo.height, &view))
		return fby_fail(-EBADMSG, "%ux%u pixels are too long a strip to resize",
				photo.width, photo.height);
	r = fby_resample_begin(m->resample, &plan, &need);
	if (r < 0)
		return r;
	r = fby_codec_get((unsigned)k)->decode(m->codec[k], &need, &rows);
	if (r == 0 && !fby_resample_done(m->resample))
		return fby_fail(-EBADMSG, "the decoder gave too few rows");
	return r;
}

static void begin(struct fby_maker *m, const struct fby_job *job,
		  struct fby_report *ret_report)
{
	*ret_report = (struct fby_report){ .status = FBY_ROW_GOOD };
	m->image = job->field[FBY_FIELD_IMAGE];
	m->stage_ns = ret_report->stage_ns;
	m->shown = job->stage;
	m->stage = FBY_STAGE_READ;
	m->since = fby_now();
	enter(m, FBY_STAGE_READ);
}

static int make(struct fby_maker *m, const struct fby_job *job,
		const struct fby_entry *entry, struct fby_report *report)
{
	struct fby_bytes bytes;
	int r;

	r = fby_fetch_read(m->fetch, entry, &bytes);
	enter(m, FBY_STAGE_DECODE);
	if (r < 0)
		return r;
	report->bytes = bytes.n;
	return make_image(m, job, bytes);
}

static void put_label(const struct fby_job *job, int64_t label)
{
	if (job->field[FBY_FIELD_LABEL] != NULL)
		memcpy(job->field[FBY_FIELD_LABEL], &label, sizeof(label));
}

/* Whatever was stored before the sample turned out bad goes. */
static void blank(struct fby_maker *m, struct fby_report *report)
{
	enter(m, FBY_STAGE_STORE);
	report->status = FBY_ROW_BAD;
	snprintf(report->reason, sizeof(report->reason), "%s", fby_error());
	memset(m->image, 0, fby_pipeline_image_bytes(m->cfg));
}

void fby_maker_make_entry(struct fby_maker *m, const struct fby_job *job,
			  const struct fby_entry *entry, struct fby_report *ret_report)
{
	begin(m, job, ret_report);
	put_label(job, entry->label);
	if (make(m, job, entry, ret_report) < 0)
		blank(m, ret_report);
	enter(m, FBY_STAGE_READ);
}

void fby_maker_make(struct fby_maker *m, const struct fby_job *job,
		    struct fby_report *ret_report)
{
	struct fby_entry entry;

	if (fby_index_entry(m->index, job->sample, &entry) == 0) {
		fby_maker_make_entry(m, job, &entry, ret_report);
		return;
	}
	begin(m, job, ret_report);
	put_label(job, -1);
	blank(m, ret_report);
	enter(m, FBY_STAGE_READ);
}
