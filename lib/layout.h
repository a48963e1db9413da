/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every byte that two processes share, and nothing else.  Three objects:
 *
 *   ctl   struct fby_ctl, then ready[n_slots], worker[n_workers],
 *         ticket[n_tickets]; all but the pixels.  Read-write for all.
 *   data  n_slots slots; a slot is the fields one behind the other, each with
 *         its rows back to back, each followed by a canary.  No metadata.
 *   cfg   struct fby_cfg; immutable, workers map it read-only.
 *
 * Rules.  Offsets, never pointers.  No enum, bool, long, size_t.  Whatever several
 * processes look at while one changes it is _Atomic, lock-free and 8 bytes at
 * most; all of these accesses are seq_cst.  One writer per 128-byte line, but for
 * semaphores, claims, done words and hints.  Truth is in claim words and done bits;
 * semaphores are hints, counters are statistics.
 *
 * Where things stand follows from four numbers (struct fby_geometry), which each
 * process computes for itself and compares with the header: a number read from a
 * segment is never used as an offset unchecked.
 */
#ifndef FBY_LAYOUT_H
#define FBY_LAYOUT_H

#include "lib/base.h"
#include "lib/forebay.h"

#define FBY_LAYOUT       1                     /* changes whenever a byte moves */
#define FBY_CTL_MAGIC    0x6c74632d79626600ull /* "\0fby-ctl" */
#define FBY_CFG_MAGIC    0x6766632d79626600ull /* "\0fby-cfg" */
#define FBY_CANARY       0xf0e1d2c3b4a59687ull
#define FBY_CANARY_BYTES 64
#define FBY_LINE         128 /* bytes that two writers must not share */

#define FBY_MAX_WORKERS 1024
#define FBY_MAX_SLOTS   256
#define FBY_MAX_BATCH   65536
#define FBY_MAX_FIELDS  8
#define FBY_ERROR_BYTES 512
#define FBY_PATH_BYTES  4096

/* The fields there are: each a column of the batch. */
enum { FBY_FIELD_IMAGE, FBY_FIELD_LABEL, FBY_N_FIELDS };

/* Header, worker record and ticket states. */
enum { FBY_STATE_BIRTH, FBY_STATE_READY, FBY_STATE_CLOSED };
enum { FBY_RUN, FBY_STOP };
enum { FBY_WORKER_NONE, FBY_WORKER_STARTING, FBY_WORKER_RUNNING, FBY_WORKER_ENDED };
enum { FBY_TICKET_EMPTY, FBY_TICKET_OPEN, FBY_TICKET_DRAIN };

/* Owner part of a claim word; worker w is owner w + 1. */
enum { FBY_OWNER_FREE = 0, FBY_OWNER_CLOSED = 0xffff };

/* A 32-bit futex word: count << 1 | "somebody may sleep".  See lib/sem.h. */
struct fby_sem {
	alignas(FBY_LINE) _Atomic uint32_t word;
};

/* Written before `state` becomes READY, immutable afterwards. */
struct fby_header {
	alignas(FBY_LINE) uint64_t magic;
	uint32_t layout;
	uint32_t n_slots;
	uint64_t layout_hash;
	uint64_t ctl_bytes, data_bytes, cfg_bytes;
	uint32_t n_workers, batch, n_fields, trainer_pid;
	uint64_t row_bytes[FBY_MAX_FIELDS];
	uint64_t slot_bytes;
	uint64_t trainer_start; /* field 22 of /proc/PID/stat */
	uint64_t birth_ns;      /* CLOCK_MONOTONIC */
	uint8_t uuid[16];
	char version[16];
	_Atomic uint32_t state;
};

/* The trainer's counters.  Only the trainer's thread and the supervisor write. */
struct fby_trainer_record {
	alignas(FBY_LINE) _Atomic uint64_t batches, waits, wait_ns, depth_sum;
	_Atomic uint64_t slices_needed, handover_ns, bad_rows, seeks;
	_Atomic uint64_t wait_histogram[FBY_HISTOGRAM];
	_Atomic uint64_t rows_replaced, bad_samples;
	alignas(FBY_LINE) _Atomic uint64_t deaths, rows_taken_back, supervisor_cpu_ns;
};

struct fby_ctl {
	struct fby_header header;
	struct fby_sem work; /* tokens for workers: "there is something to look for" */
	alignas(FBY_LINE) _Atomic uint32_t run;           /* by the trainer side */
	alignas(FBY_LINE) _Atomic uint64_t deliver, open; /* [deliver, open) are open */
	struct fby_trainer_record trainer;
};

/*
 * One worker process.  Lines before `incarnation` are written by it, and by the trainer
 * side only while it is not there.
 */
struct fby_worker_record {
	alignas(FBY_LINE) _Atomic uint32_t state, pid;
	_Atomic uint64_t seq; /* what it works on */
	_Atomic uint32_t row, stage;
	alignas(FBY_LINE) _Atomic uint64_t samples, bytes, stage_ns[FBY_N_STAGES];
	_Atomic uint64_t sleeps, slices_needed;
	char error[FBY_ERROR_BYTES];
	alignas(FBY_LINE) _Atomic uint32_t incarnation; /* by the trainer side */
};

/* What the holder of a claim says of its row before the commit. */
struct fby_row {
	uint32_t status, worker;
	uint64_t start_ns, end_ns;
};

/*
 * One batch to be made.  The arrays stand behind it, at the offsets of struct
 * fby_geometry: done[words], bad[words], claim[batch], sample[batch], row[batch],
 * reason[batch].
 *
 * word   sequence number << 8 | state; by the trainer side
 * hint   where to look first; lossy
 * done   one bit a row: it is committed.  Truth
 * bad    one bit a row, set before the commit of a row that is not good.  A worker
 *        may die between the two: a set bit says "look at row[i].status"
 * claim  generation:32 | crashes:8 | kills:8 | owner:16.  Truth
 */
struct fby_ticket {
	alignas(FBY_LINE) _Atomic uint64_t word;
	_Atomic uint32_t n; /* rows; workers look at it without a claim */
	uint32_t slot;
	uint64_t epoch, seed, first, stride; /* position of row i: first + i * stride */
	alignas(FBY_LINE) _Atomic uint32_t hint;
};

/* What a worker must know to make samples. */
struct fby_cfg {
	uint64_t magic;
	uint32_t layout, bytes;
	uint32_t dtype, memory_format, pillow, n_ops;
	uint32_t channels, height, width, padding;
	struct fby_op op[FBY_MAX_OPS];
	char index_path[FBY_PATH_BYTES];
};

/*
 * Where everything stands; private to each process.  The four numbers in front
 * decide the rest.
 */
struct fby_geometry {
	uint32_t n_slots, n_workers, batch, n_fields;
	uint64_t row_bytes[FBY_MAX_FIELDS];
	uint32_t n_tickets;                      /* power of two > n_slots */
	uint32_t n_words;                        /* done words of a ticket */
	uint64_t ready_at, worker_at, ticket_at; /* in ctl */
	uint64_t done_at, bad_at, claim_at, sample_at, row_at,
		reason_at; /* in a ticket */
	uint64_t ticket_bytes;
	uint64_t field_at[FBY_MAX_FIELDS]; /* in a slot */
	uint64_t slot_bytes;               /* a multiple of the page */
	uint64_t ctl_bytes, data_bytes, cfg_bytes;
};

/*
 * Computes the rest of *g from the numbers in front.  -EINVAL where one of them
 * is out of range, -EOVERFLOW where the sum does not fit.
 */
int fby_geometry_init(struct fby_geometry *g);

/* Over name, offset and size of every shared member. */
uint64_t fby_layout_hash(void);

static_assert(ATOMIC_INT_LOCK_FREE == 2 && ATOMIC_LLONG_LOCK_FREE == 2, "lock-free");
static_assert(sizeof(struct fby_sem) == FBY_LINE, "one semaphore a line");
static_assert(sizeof(struct fby_row) == 24, "packed");

#endif
