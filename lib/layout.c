/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/layout.h"
#include "lib/fail.h"
#include <errno.h>
#include <string.h>

#define PAGE 4096

static uint32_t power_of_two_above(uint32_t n)
{
	uint32_t p = 1;

	while (p <= n)
		p *= 2;
	return p;
}

static int check(const struct fby_geometry *g)
{
	bool good = g->n_slots >= 1 && g->n_slots <= FBY_MAX_SLOTS && g->n_workers >= 1 &&
		    g->n_workers <= FBY_MAX_WORKERS && g->batch >= 1 &&
		    g->batch <= FBY_MAX_BATCH && g->n_fields >= 1 &&
		    g->n_fields <= FBY_MAX_FIELDS;

	if (!good)
		return fby_fail(-EINVAL,
				"a pool of %u slots, %u workers and %u rows a batch: at "
				"most %u, %u and %u can be had, and at least one of each",
				g->n_slots, g->n_workers, g->batch, FBY_MAX_SLOTS,
				FBY_MAX_WORKERS, FBY_MAX_BATCH);
	return 0;
}

/* Fields, each on a 64-byte line, each with its canary behind. */
static int lay_out_slot(struct fby_geometry *g)
{
	uint64_t at = 0, bytes;

	for (uint32_t f = 0; f < g->n_fields; f++) {
		g->field_at[f] = at;
		if (__builtin_mul_overflow(g->row_bytes[f], g->batch, &bytes) ||
		    bytes > UINT64_MAX / 4 - at)
			return fby_fail(-EOVERFLOW,
					"a batch of %u rows of %llu bytes is "
					"more than can be addressed",
					g->batch, (unsigned long long)g->row_bytes[f]);
		at = fby_align(at + bytes, 64) + FBY_CANARY_BYTES;
	}
	g->slot_bytes = fby_align(at, PAGE);
	if (__builtin_mul_overflow(g->slot_bytes, g->n_slots, &g->data_bytes) ||
	    g->data_bytes > INT64_MAX)
		return fby_fail(-EOVERFLOW,
				"%u slots of %llu bytes are more than can be "
				"addressed",
				g->n_slots, (unsigned long long)g->slot_bytes);
	return 0;
}

static void lay_out_ticket(struct fby_geometry *g)
{
	uint64_t at = sizeof(struct fby_ticket);

	g->n_words = (g->batch + 63) / 64;
	g->done_at = at;
	g->bad_at = at + 8ull * g->n_words; /* same writers: up to 512 rows, same line */
	at = g->bad_at;
	at = fby_align(at + 8ull * g->n_words, FBY_LINE);
	g->claim_at = at;
	at = fby_align(at + 8ull * g->batch, FBY_LINE);
	g->sample_at = at;
	at = fby_align(at + 8ull * g->batch, FBY_LINE);
	g->row_at = at;
	at = fby_align(at + sizeof(struct fby_row) * g->batch, FBY_LINE);
	g->reason_at = at;
	g->ticket_bytes = fby_align(at + (uint64_t)FBY_REASON_BYTES * g->batch, FBY_LINE);
}

int fby_geometry_init(struct fby_geometry *g)
{
	int r = check(g);

	if (r < 0)
		return r;
	r = lay_out_slot(g);
	if (r < 0)
		return r;
	lay_out_ticket(g);
	g->n_tickets = power_of_two_above(g->n_slots);
	g->ready_at = fby_align(sizeof(struct fby_ctl), FBY_LINE);
	g->worker_at = g->ready_at + sizeof(struct fby_sem) * g->n_slots;
	g->ticket_at = g->worker_at + sizeof(struct fby_worker_record) * g->n_workers;
	g->ctl_bytes = fby_align(g->ticket_at + g->ticket_bytes * g->n_tickets, PAGE);
	g->cfg_bytes = fby_align(sizeof(struct fby_cfg), PAGE);
	return 0;
}

/* ---- the hash: any member that moves, grows or changes its name changes it ---- */

struct member {
	const char *name;
	uint64_t at, bytes;
};

#define M(type, name)                                                                    \
	{                                                                                \
#type "." #name, offsetof(struct type, name),                            \
			sizeof(((struct type *)0)->name)                                 \
	}

static const struct member members[] = {
	M(fby_sem, word),
	M(fby_header, magic),
	M(fby_header, layout),
	M(fby_header, n_slots),
	M(fby_header, layout_hash),
	M(fby_header, ctl_bytes),
	M(fby_header, data_bytes),
	M(fby_header, cfg_bytes),
	M(fby_header, n_workers),
	M(fby_header, batch),
	M(fby_header, n_fields),
	M(fby_header, trainer_pid),
	M(fby_header, row_bytes),
	M(fby_header, slot_bytes),
	M(fby_header, trainer_start),
	M(fby_header, birth_ns),
	M(fby_header, uuid),
	M(fby_header, version),
	M(fby_header, state),
	M(fby_trainer_record, batches),
	M(fby_trainer_record, waits),
	M(fby_trainer_record, wait_ns),
	M(fby_trainer_record, depth_sum),
	M(fby_trainer_record, slices_needed),
	M(fby_trainer_record, handover_ns),
	M(fby_trainer_record, bad_rows),
	M(fby_trainer_record, seeks),
	M(fby_trainer_record, wait_histogram),
	M(fby_trainer_record, rows_replaced),
	M(fby_trainer_record, bad_samples),
	M(fby_trainer_record, deaths),
	M(fby_trainer_record, rows_taken_back),
	M(fby_trainer_record, supervisor_cpu_ns),
	M(fby_ctl, header),
	M(fby_ctl, work),
	M(fby_ctl, run),
	M(fby_ctl, deliver),
	M(fby_ctl, open),
	M(fby_ctl, trainer),
	M(fby_worker_record, state),
	M(fby_worker_record, pid),
	M(fby_worker_record, seq),
	M(fby_worker_record, row),
	M(fby_worker_record, stage),
	M(fby_worker_record, samples),
	M(fby_worker_record, bytes),
	M(fby_worker_record, stage_ns),
	M(fby_worker_record, sleeps),
	M(fby_worker_record, slices_needed),
	M(fby_worker_record, error),
	M(fby_worker_record, incarnation),
	M(fby_row, status),
	M(fby_row, worker),
	M(fby_row, start_ns),
	M(fby_row, end_ns),
	M(fby_ticket, word),
	M(fby_ticket, n),
	M(fby_ticket, slot),
	M(fby_ticket, epoch),
	M(fby_ticket, seed),
	M(fby_ticket, first),
	M(fby_ticket, stride),
	M(fby_ticket, hint),
	M(fby_cfg, magic),
	M(fby_cfg, layout),
	M(fby_cfg, bytes),
	M(fby_cfg, dtype),
	M(fby_cfg, memory_format),
	M(fby_cfg, pillow),
	M(fby_cfg, n_ops),
	M(fby_cfg, channels),
	M(fby_cfg, height),
	M(fby_cfg, width),
	M(fby_cfg, op),
	M(fby_cfg, index_path),
	M(fby_op, kind),
	M(fby_op, n_args),
	M(fby_op, arg),
};

/* FNV-1a, 64 bits. */
static uint64_t mix(uint64_t hash, const void *bytes, size_t n)
{
	const unsigned char *b = bytes;

	while (n--)
		hash = (hash ^ *b++) * 0x100000001b3ull;
	return hash;
}

uint64_t fby_layout_hash(void)
{
	uint64_t hash = 0xcbf29ce484222325ull, number = FBY_LAYOUT;

	hash = mix(hash, &number, sizeof(number));
	for (size_t i = 0; i < FBY_ARRAY_SIZE(members); i++) {
		hash = mix(hash, members[i].name, strlen(members[i].name) + 1);
		hash = mix(hash, &members[i].at, sizeof(members[i].at));
		hash = mix(hash, &members[i].bytes, sizeof(members[i].bytes));
	}
	return hash;
}
