/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/pool.h"
#include "lib/cgroup.h"
#include "lib/fail.h"
#include "lib/machine.h"
#include "lib/shm.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const object_name[FBY_N_OBJECTS] = { "ctl", "data", "cfg" };

static void init_empty(struct fby_pool *pool)
{
	*pool = (struct fby_pool){ 0 };
	for (int i = 0; i < FBY_N_OBJECTS; i++)
		pool->fd[i] = -1;
}

static int map_objects(struct fby_pool *pool, bool cfg_writable)
{
	void *ctl, *data, *cfg;
	int r = fby_shm_map(pool->fd[FBY_OBJECT_CTL], pool->geo.ctl_bytes, true, &ctl);

	if (r < 0)
		return r;
	pool->ctl = ctl;
	r = fby_shm_map(pool->fd[FBY_OBJECT_DATA], pool->geo.data_bytes, true, &data);
	if (r < 0)
		return r;
	pool->data = data;
	r = fby_shm_map(pool->fd[FBY_OBJECT_CFG], pool->geo.cfg_bytes, cfg_writable,
			&cfg);
	if (r < 0)
		return r;
	pool->cfg = cfg;
	return 0;
}

/* ---- canaries ---- */

/* The canary behind field f: the last 64 bytes before the next field or the end. */
static uint64_t *canary(const struct fby_pool *pool, uint32_t slot, uint32_t f)
{
	const struct fby_geometry *g = &pool->geo;
	uint64_t end = fby_align(g->field_at[f] + g->row_bytes[f] * g->batch, 64);

	return (uint64_t *)(void *)(pool->data + slot * g->slot_bytes + end);
}

static void write_canaries(struct fby_pool *pool)
{
	for (uint32_t s = 0; s < pool->geo.n_slots; s++)
		for (uint32_t f = 0; f < pool->geo.n_fields; f++)
			for (size_t k = 0; k < FBY_CANARY_BYTES / 8; k++)
				canary(pool, s, f)[k] = FBY_CANARY;
}

static bool is_torn(const struct fby_pool *pool, uint32_t slot)
{
	for (uint32_t f = 0; f < pool->geo.n_fields; f++)
		for (size_t k = 0; k < FBY_CANARY_BYTES / 8; k++)
			if (canary(pool, slot, f)[k] != FBY_CANARY)
				return true;
	return false;
}

int fby_pool_torn_slot(const struct fby_pool *pool)
{
	for (uint32_t s = 0; s < pool->geo.n_slots; s++)
		if (is_torn(pool, s))
			return (int)s;
	return -1;
}

/* ---- birth ---- */

/* MemAvailable: what can be had without swapping (proc(5)). */
static uint64_t memory_available(void)
{
	unsigned long long kib = 0;
	char text[4096];
	const char *line;

	if (!fby_machine_read("/proc/meminfo", text, sizeof(text)))
		return UINT64_MAX;
	line = strstr(text, "MemAvailable:");
	if (!line || sscanf(line, "MemAvailable: %llu", &kib) != 1)
		return UINT64_MAX;
	return kib * 1024;
}

/*
 * Shared memory is charged to us and cannot be reclaimed: asked for before it is taken,
 * since what comes afterwards is not an error but the kernel's out-of-memory killer.
 */
static int check_room(const struct fby_geometry *g)
{
	uint64_t need = g->ctl_bytes + g->data_bytes + g->cfg_bytes;
	uint64_t machine = memory_available(), group = fby_cgroup_memory_room();
	const unsigned long long mib = 1 << 20;

	if (need <= machine && need <= group)
		return 0;
	return fby_fail(
		-ENOMEM,
		"the pool needs %llu MiB (%u slots of %u images of %llu bytes, and %llu "
		"MiB beside), but %s only %llu MiB: take a smaller batch, fewer slots or "
		"a smaller type",
		need / mib, g->n_slots, g->batch,
		(unsigned long long)g->row_bytes[FBY_FIELD_IMAGE],
		(need - g->data_bytes) / mib,
		group < machine ? "the memory limit of the control group leaves"
				: "the machine has",
		(unsigned long long)fby_min(machine, group) / mib);
}

static void write_header(struct fby_pool *pool)
{
	struct fby_header *h = &pool->ctl->header;
	const struct fby_geometry *g = &pool->geo;

	h->magic = FBY_CTL_MAGIC;
	h->layout = FBY_LAYOUT;
	h->layout_hash = fby_layout_hash();
	h->n_slots = g->n_slots;
	h->n_workers = g->n_workers;
	h->batch = g->batch;
	h->n_fields = g->n_fields;
	memcpy(h->row_bytes, g->row_bytes, sizeof(h->row_bytes));
	h->slot_bytes = g->slot_bytes;
	h->ctl_bytes = g->ctl_bytes;
	h->data_bytes = g->data_bytes;
	h->cfg_bytes = g->cfg_bytes;
	h->trainer_pid = (uint32_t)getpid();
	h->birth_ns = fby_now();
	h->trainer_start = fby_shm_process_start(getpid());
	snprintf(h->version, sizeof(h->version), "%s", FBY_VERSION);
	if (getrandom(h->uuid, sizeof(h->uuid), GRND_NONBLOCK) < 0)
		memcpy(h->uuid, &h->trainer_start, sizeof(h->trainer_start));
	atomic_store(&h->state, FBY_STATE_READY); /* last: pairs with fby_pool_verify */
}

static void write_cfg(struct fby_pool *pool, const struct fby_cfg *cfg)
{
	struct fby_cfg *to = (struct fby_cfg *)(uintptr_t)pool->cfg;

	*to = *cfg;
	to->magic = FBY_CFG_MAGIC;
	to->layout = FBY_LAYOUT;
	to->bytes = sizeof(*to);
	mprotect(to, pool->geo.cfg_bytes, PROT_READ);
}

int fby_pool_create(struct fby_pool *pool, const struct fby_geometry *geo,
		    const struct fby_cfg *cfg)
{
	int r;

	init_empty(pool);
	pool->geo = *geo;
	r = fby_geometry_init(&pool->geo);
	if (r == 0)
		r = check_room(&pool->geo);
	if (r < 0)
		return r;
	fby_shm_sweep();
	const uint64_t bytes[FBY_N_OBJECTS] = { pool->geo.ctl_bytes, pool->geo.data_bytes,
						pool->geo.cfg_bytes };

	for (int i = 0; i < FBY_N_OBJECTS; i++) {
		r = fby_shm_create(object_name[i], bytes[i], &pool->fd[i]);
		if (r < 0)
			goto fail;
	}
	r = map_objects(pool, true);
	if (r < 0)
		goto fail;
	write_cfg(pool, cfg);
	write_canaries(pool);
	write_header(pool);
	return 0;
fail:
	fby_pool_finish(pool);
	return r;
}

/* ---- attaching ---- */

static int check_header(const struct fby_header *h)
{
	if (h->magic != FBY_CTL_MAGIC)
		return fby_fail(-EBADMSG, "this is no control segment of forebay");
	if (h->layout != FBY_LAYOUT || h->layout_hash != fby_layout_hash())
		return fby_fail(
			-EBADMSG,
			"the pool has layout %u (%016llx, version %.*s), this program "
			"%u (%016llx, version %s): they are of different builds",
			h->layout, (unsigned long long)h->layout_hash,
			(int)sizeof(h->version), h->version, FBY_LAYOUT,
			(unsigned long long)fby_layout_hash(), FBY_VERSION);
	if (atomic_load(&h->state) == FBY_STATE_BIRTH)
		return fby_fail(-EBADMSG, "the pool is not finished");
	return 0;
}

int fby_pool_verify(const struct fby_ctl *ctl, uint64_t bytes,
		    struct fby_geometry *ret_geo)
{
	const struct fby_header *h = &ctl->header;
	struct fby_geometry g;
	int r;

	if (bytes < sizeof(*ctl))
		return fby_fail(-EBADMSG, "%llu bytes are too few for a control segment",
				(unsigned long long)bytes);
	r = check_header(h);
	if (r < 0)
		return r;
	g = (struct fby_geometry){ .n_slots = h->n_slots,
				   .n_workers = h->n_workers,
				   .batch = h->batch,
				   .n_fields = h->n_fields };
	memcpy(g.row_bytes, h->row_bytes, sizeof(g.row_bytes));
	if (fby_geometry_init(&g) < 0)
		return -EBADMSG;
	if (g.ctl_bytes != bytes || g.ctl_bytes != h->ctl_bytes ||
	    g.data_bytes != h->data_bytes || g.cfg_bytes != h->cfg_bytes ||
	    g.slot_bytes != h->slot_bytes)
		return fby_fail(-EBADMSG, "the pool's header contradicts itself");
	*ret_geo = g;
	return 0;
}

/* A first look with the size as it is; all else is known only after the header. */
static int verify_by_descriptor(int fd, struct fby_geometry *ret_geo)
{
	struct stat s;
	void *ctl;
	int r;

	if (fstat(fd, &s) < 0)
		return fby_fail_errno(-errno, "descriptor %d, the control segment", fd);
	if ((uint64_t)s.st_size < sizeof(struct fby_ctl))
		return fby_fail(-EBADMSG, "the control segment has %lld bytes only",
				(long long)s.st_size);
	r = fby_shm_map(fd, (uint64_t)s.st_size, false, &ctl);
	if (r < 0)
		return r;
	r = fby_pool_verify(ctl, (uint64_t)s.st_size, ret_geo);
	fby_shm_unmap(ctl, (uint64_t)s.st_size);
	return r;
}

int fby_pool_attach(struct fby_pool *pool, const int fd[FBY_N_OBJECTS])
{
	int r;

	init_empty(pool);
	memcpy(pool->fd, fd, sizeof(pool->fd));
	r = verify_by_descriptor(fd[FBY_OBJECT_CTL], &pool->geo);
	if (r < 0)
		goto fail;
	r = map_objects(pool, false);
	if (r < 0)
		goto fail;
	if (pool->cfg->magic != FBY_CFG_MAGIC || pool->cfg->layout != FBY_LAYOUT ||
	    pool->cfg->bytes != sizeof(*pool->cfg)) {
		r = fby_fail(-EBADMSG, "the pool's settings are of another version");
		goto fail;
	}
	return 0;
fail:
	fby_pool_finish(pool);
	return r;
}

void fby_pool_finish(struct fby_pool *pool)
{
	fby_shm_unmap(pool->ctl, pool->geo.ctl_bytes);
	fby_shm_unmap(pool->data, pool->geo.data_bytes);
	fby_shm_unmap((void *)(uintptr_t)pool->cfg, pool->geo.cfg_bytes);
	for (int i = 0; i < FBY_N_OBJECTS; i++)
		if (pool->fd[i] >= 0)
			close(pool->fd[i]);
	init_empty(pool);
}
