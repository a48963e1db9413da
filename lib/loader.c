/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/loader.h"
#include "lib/cpu.h"
#include "lib/fail.h"
#include "lib/log.h"
#include "lib/pipeline.h"
#include "lib/program.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_BATCH 64
#define DEFAULT_SLOTS 6   /* one leased, one to be released late, the rest ahead */
#define STUCK_SLICES  600 /* of 100 ms */
#define BAD_ROWS      10

/* ---- version and sizes ---- */

const char *fby_version(void)
{
	return FBY_VERSION;
}

size_t fby_sizeof(const char *name)
{
	static const struct {
		const char *name;
		size_t bytes;
	} known[] = {
		{ "fby_op", sizeof(struct fby_op) },
		{ "fby_settings", sizeof(struct fby_settings) },
		{ "fby_info", sizeof(struct fby_info) },
		{ "fby_batch", sizeof(struct fby_batch) },
		{ "fby_bad_sample", sizeof(struct fby_bad_sample) },
		{ "fby_stats", sizeof(struct fby_stats) },
	};

	for (size_t i = 0; name && i < FBY_ARRAY_SIZE(known); i++)
		if (!strcmp(known[i].name, name))
			return known[i].bytes;
	return 0;
}

void fby_settings_init(struct fby_settings *settings)
{
	if (!settings)
		return;
	*settings = (struct fby_settings){ .size = sizeof(*settings),
					   .batch_size = DEFAULT_BATCH,
					   .pillow = 13,
					   .max_bad = 0.01,
					   .max_bad_rows = BAD_ROWS };
}

/* ---- opening ---- */

static int check_settings(const struct fby_settings *s)
{
	if (s->size != sizeof(*s))
		return fby_fail(-EINVAL, "settings of %u bytes: this library's have %zu",
				s->size, sizeof(*s));
	if (s->batch_size < 1 || s->batch_size > FBY_MAX_BATCH)
		return fby_fail(-EINVAL, "batch_size %u: must be 1 to %u", s->batch_size,
				FBY_MAX_BATCH);
	if (s->n_workers > FBY_MAX_WORKERS)
		return fby_fail(-EINVAL, "%u workers: must be at most %u", s->n_workers,
				FBY_MAX_WORKERS);
	if (s->n_slots == 1 || s->n_slots > FBY_MAX_SLOTS)
		return fby_fail(-EINVAL, "%u slots: must be 2 to %u", s->n_slots,
				FBY_MAX_SLOTS);
	if (s->on_bad > FBY_BAD_ZEROS)
		return fby_fail(-EINVAL, "on_bad %u: must be FBY_BAD_REPLACE or _ZEROS",
				s->on_bad);
	if (!(s->max_bad >= 0 && s->max_bad <= 1))
		return fby_fail(-EINVAL, "max_bad %g: must be a share from 0 to 1",
				s->max_bad);
	return 0;
}

static int find_worker(struct fby_loader *l)
{
	static const char *const place[] = {
		"../workers/forebay-worker",    /* a build folder */
		"forebay-worker",               /* beside the library: a Python package */
		"../libexec/forebay-worker",    /* an installation */
		"../../libexec/forebay-worker", /* with a folder for each architecture */
	};

	return fby_program_find("FOREBAY_WORKER", place, FBY_ARRAY_SIZE(place),
				l->program, sizeof(l->program));
}

static void set_geometry(struct fby_loader *l, const struct fby_settings *s)
{
	uint32_t n_workers = s->n_workers ? s->n_workers : fby_cpu_workers();

	l->geo = (struct fby_geometry){
		.n_slots = s->n_slots ? s->n_slots : DEFAULT_SLOTS,
		.n_workers = (uint32_t)fby_min(n_workers, FBY_MAX_WORKERS),
		.batch = s->batch_size,
		.n_fields = FBY_N_FIELDS,
		.row_bytes = { [FBY_FIELD_IMAGE] = fby_pipeline_image_bytes(&l->cfg),
			       [FBY_FIELD_LABEL] = sizeof(int64_t) },
	};
}

/* All that we want of the environment, once: later it may move under our threads. */
static int read_environment(struct fby_loader *l)
{
	const char *check = getenv("FOREBAY_CHECK"),
		   *wrap = getenv("FOREBAY_WORKER_WRAP");
	int r = fby_process_copy_environment(&l->environment);

	if (r < 0)
		return r;
	l->check = check && !strcmp(check, "1");
	snprintf(l->wrap, sizeof(l->wrap), "%s", wrap ? wrap : "");
	l->supervisor.wrap = l->wrap[0] ? l->wrap : NULL;
	l->supervisor.environment = l->environment;
	return 0;
}

static int prepare(struct fby_loader *l, const char *path, const struct fby_settings *s)
{
	int r = check_settings(s);

	if (r == 0)
		r = read_environment(l);
	if (r == 0)
		r = fby_pipeline_check(s, &l->cfg);
	if (r == 0)
		r = find_worker(l);
	if (r == 0)
		r = fby_dataset_open(path, &l->index);
	if (r == 0)
		r = fby_plan_init(&l->plan, fby_index_count(l->index), s->batch_size,
				  s->shuffle, s->drop_last, s->seed);
	if (r == 0)
		r = fby_bad_init(&l->bad, s, fby_index_count(l->index));
	if (r < 0)
		return r;
	l->supervisor.index_fd = fby_index_fd(l->index);
	snprintf(l->cfg.index_path, sizeof(l->cfg.index_path), "%s",
		 fby_index_file(l->index));
	set_geometry(l, s);
	return fby_stuck_init(&l->stuck, l->geo.n_workers, STUCK_SLICES);
}

/* Runs on the supervisor's thread, where no signal can come between. */
static int birth(void *ctx)
{
	struct fby_loader *l = ctx;
	int r = fby_pool_create(&l->pool, &l->geo, &l->cfg);

	if (r < 0)
		return r;
	return fby_window_init(&l->window, &l->pool, &l->plan, 0);
}

static void free_loader(struct fby_loader *l)
{
	if (!l)
		return;
	fby_supervisor_finish(&l->supervisor);
	if (l->window.pool)
		fby_window_finish(&l->window);
	fby_pool_finish(&l->pool);
	fby_stuck_finish(&l->stuck);
	fby_bad_finish(&l->bad);
	fby_index_close(l->index);
	fby_owner_finish(&l->owner);
	free(l->environment);
	free(l);
}

static struct fby_loader *new_loader(void)
{
	struct fby_loader *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	fby_owner_init(&l->owner);
	atomic_store(&l->refs, 1);
	for (int i = 0; i < FBY_N_OBJECTS; i++)
		l->pool.fd[i] = -1;
	l->supervisor = (struct fby_supervisor){ .window = &l->window,
						 .program = l->program,
						 .birth = birth,
						 .ctx = l,
						 .index_fd = -1,
						 .wake_fd = -1,
						 .self_fd = -1 };
	return l;
}

int fby_loader_open(const char *path, const struct fby_settings *settings,
		    struct fby_loader **ret_loader)
{
	struct fby_loader *l;
	int r;

	if (!path || !settings || !ret_loader)
		return fby_fail(-EINVAL, "fby_loader_open: a NULL argument");
	l = new_loader();
	if (!l)
		return fby_fail(-ENOMEM, "no memory for a loader");
	r = prepare(l, path, settings);
	if (r < 0)
		goto fail;
	r = fby_supervisor_start(&l->supervisor);
	if (r < 0)
		goto fail;
	fby_log(FBY_LOG_RUN, "'%s': %llu samples, %u workers, %u slots, %llu bytes", path,
		(unsigned long long)l->plan.n_samples, l->geo.n_workers, l->geo.n_slots,
		(unsigned long long)l->pool.geo.data_bytes);
	*ret_loader = l;
	return 0;
fail:
	free_loader(l);
	return r;
}

/* ---- closing ---- */

int fby_loader_check_owner(const struct fby_loader *l)
{
	if (!l)
		return fby_fail(-EINVAL, "a NULL loader");
	if (fby_owner_is_here(&l->owner))
		return 0;
	return fby_fail(
		-EOWNERDEAD,
		"this loader belongs to process %d; a forked child cannot use it, only "
		"read batches it inherited",
		l->owner.pid);
}

int fby_loader_check_call(const struct fby_loader *l, const void *result)
{
	if (l && !result)
		return fby_fail(-EINVAL, "no place for the result");
	return fby_loader_check_owner(l);
}

void fby_loader_unref(struct fby_loader *l)
{
	if (atomic_fetch_sub(&l->refs, 1) == 1)
		free_loader(l);
}

void fby_loader_close(struct fby_loader *l)
{
	if (!l || !fby_owner_is_here(&l->owner))
		return;
	fby_supervisor_stop(&l->supervisor);
	fby_loader_unref(l);
}

/* ---- looking ---- */

int fby_loader_info(struct fby_loader *l, struct fby_info *ret_info)
{
	const struct fby_geometry *g;
	int r = fby_loader_check_call(l, ret_info);

	if (r < 0)
		return r;
	g = &l->pool.geo;
	*ret_info = (struct fby_info){
		.n_samples = l->plan.n_samples,
		.n_batches = l->plan.n_batches,
		.pool_bytes = g->ctl_bytes + g->data_bytes + g->cfg_bytes,
		.image_bytes = g->row_bytes[FBY_FIELD_IMAGE],
		.n_classes = fby_index_classes(l->index),
		.n_workers = g->n_workers,
		.n_slots = g->n_slots,
		.batch_size = g->batch,
		.channels = l->cfg.channels,
		.height = l->cfg.height,
		.width = l->cfg.width,
		.dtype = l->cfg.dtype,
		.memory_format = l->cfg.memory_format,
	};
	return 0;
}

const char *fby_loader_class_name(struct fby_loader *l, uint32_t label)
{
	if (!l || label >= fby_index_classes(l->index))
		return NULL;
	return fby_index_class_name(l->index, label);
}

int fby_loader_sample_path(struct fby_loader *l, uint64_t id, char *ret_path, size_t size)
{
	int r = fby_loader_check_call(l, size ? ret_path : NULL);

	return r < 0 ? r : fby_index_path(l->index, id, ret_path, size);
}

int fby_loader_bad_list(struct fby_loader *l, uint32_t k,
			struct fby_bad_sample *ret_sample)
{
	int r = fby_loader_check_call(l, ret_sample);

	if (r < 0)
		return r;
	if (k >= l->bad.n_list)
		return fby_fail(-ERANGE, "bad sample %u: %u are listed", k,
				l->bad.n_list);
	*ret_sample = l->bad.list[k];
	return 0;
}

int fby_loader_stats(struct fby_loader *l, struct fby_stats *ret_stats)
{
	int r = fby_loader_check_call(l, ret_stats);

	if (r < 0)
		return r;
	fby_stats_collect(&l->pool, ret_stats);
	fby_slots_count(&l->window.slots, &ret_stats->slots_free,
			&ret_stats->slots_leased);
	return 0;
}

int fby_loader_worker_pid(struct fby_loader *l, uint32_t i)
{
	int r = fby_loader_check_owner(l);

	if (r < 0)
		return r;
	if (i >= l->pool.geo.n_workers)
		return fby_fail(-ERANGE, "worker %u: there are %u", i,
				l->pool.geo.n_workers);
	return (int)atomic_load(&fby_pool_worker(&l->pool, i)->pid);
}
