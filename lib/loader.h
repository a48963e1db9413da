/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The object behind forebay.h: holds one of each part.  loader.c has its life,
 * next.c what is called for each batch.
 */
#ifndef FBY_LOADER_H
#define FBY_LOADER_H

#include "lib/bad.h"
#include "lib/dataset.h"
#include "lib/forebay.h"
#include "lib/owner.h"
#include "lib/plan.h"
#include "lib/pool.h"
#include "lib/stats.h"
#include "lib/stuck.h"
#include "lib/supervisor.h"
#include "lib/window.h"

struct fby_loader {
	struct fby_owner owner; /* the process that opened it, and not its child */
	_Atomic uint32_t refs;  /* one for the open loader, one for each lease */
	bool check;             /* FOREBAY_CHECK=1 */
	bool end_is_due; /* the last batch was its epoch's last: FBY_END comes next */
	bool seeking;
	struct fby_part seek_to;
	uint64_t wait_since; /* 0: next does not wait */
	uint64_t slice_ns;   /* slept of the present slice of waiting */
	char program[4096];  /* the worker's */
	char wrap[1024];     /* FOREBAY_WORKER_WRAP */
	char **environment;  /* of the workers, as it was when the loader was opened */

	struct fby_index *index;
	struct fby_cfg cfg;
	struct fby_geometry geo;
	struct fby_plan plan;
	struct fby_pool pool;
	struct fby_window window;
	struct fby_stuck stuck;
	struct fby_bad bad;
	struct fby_supervisor supervisor;
};

/* -EINVAL for NULL, -EOWNERDEAD in a forked child. */
int fby_loader_check_owner(const struct fby_loader *loader);

/* The same for a call that writes to `result`. */
int fby_loader_check_call(const struct fby_loader *loader, const void *result);

/* The last one frees it all. */
void fby_loader_unref(struct fby_loader *loader);

#endif
