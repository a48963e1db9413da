/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The world of the instruction sweep: a pool, its trainer, and who sleeps.  The trainer
 * is the real lib/window.c, but it never blocks: it is a virtual sleeper, which only a
 * FUTEX_WAKE on its word wakes.  There are no time-outs in this world.
 */
#ifndef FBY_SWEEP_WORLD_H
#define FBY_SWEEP_WORLD_H

#include "tests/rows.h"

#define BATCH     70 /* rows: two done words */
#define N_SLOTS   3
#define N_WORKERS 4
#define FIRST_SEQ ((1ull << 32) - 2) /* generations wrap */
#define SEED      7
#define MAX_FAILS 3

/* Workers: the one that is stepped, its twin, the sleeper, and the one that helps. */
enum { STEPPED, TWIN, SLEEPER, HELPER };

struct world {
	struct fby_pool pool;
	struct fby_window window;
	struct fby_sem *on; /* what the trainer waits for */
	bool trainer_asleep, worker_asleep, draining;
	uint32_t delivered, held_slots;
	uint32_t poison; /* this row of each batch will be poison; BATCH: none */
};

extern struct world live;
extern int fails;
extern const char *phase;

/* One violation: said, counted. */
void violation(const char *format, ...) FBY_PRINTF(1, 2);

/* Makes the pool, and a second world to die in.  Once. */
void world_create(void);

/*
 * A new world: `tickets` batches of which only rows lo..hi are left to do, the trainer
 * asleep over the first, worker SLEEPER asleep.
 */
void world_begin(uint32_t tickets, uint32_t lo, uint32_t hi);

/* One more batch like that, in the slot that is free. */
void world_open(struct world *w, uint32_t lo, uint32_t hi);

/* A FUTEX_WAKE on a word: by the code of this process or by a stepped worker. */
void world_wake(const void *word);

/* Look, take, arm, sleep: what next and seek do. */
void trainer_runs(struct world *w);

/* The second half of that: take a token, or sleep. */
void trainer_waits(struct world *w);

/* A worker that nobody steps makes all rows it finds. */
uint32_t finish(struct world *w, uint32_t me);

/* Rows of open batches that are not done, and how many `worker` owns. */
uint32_t count_left(struct world *w, uint32_t worker, uint32_t *ret_held);

/* A row that a worker could claim right now. */
bool is_row_free(struct world *w);

/* Shared memory is another than at the last call. */
bool world_changed(void);

/* Worker STEPPED dies here and now: what becomes of the world?  Claims it held. */
uint32_t die_here(uint64_t at);

/* Everything is finished, nobody sleeps, and the slots are usable. */
void check_end(struct world *w, uint64_t at);

#endif
