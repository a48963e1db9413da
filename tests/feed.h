/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trainer of the stories: opens loaders over one small image folder and digests
 * what they give, in order.  Fails the test where a call fails that should not.
 */
#ifndef FBY_FEED_H
#define FBY_FEED_H

#include "lib/forebay.h"
#include "tests/unit.h"

#define FEED_SAMPLES 300
#define FEED_CLASSES 6

/* The folder that all tests of a program share: cmocka's setup and teardown. */
int feed_setup(void **state);
int feed_teardown(void **state);
const char *feed_folder(void);

/* RandomResizedCrop(24) and a flip, seed 7, batches of `batch`; 4 slots. */
struct fby_settings feed_settings(unsigned workers, unsigned batch);

struct fby_loader *feed_open(const struct fby_settings *settings);
struct fby_loader *feed_open_at(const char *path, const struct fby_settings *settings);

/* As fby_loader_next, but waits through FBY_AGAIN; 0 or FBY_END. */
int feed_next(struct fby_loader *loader, struct fby_batch *ret_batch);

/* As fby_loader_seek, waits as well. */
void feed_seek(struct fby_loader *loader, uint64_t epoch, uint64_t index);

/* Of everything that the user sees of a batch. */
uint64_t feed_digest(struct fby_loader *loader, const struct fby_batch *batch);

/* Digest of `before` and then of the batches up to the next FBY_END. */
uint64_t feed_epoch(struct fby_loader *loader, uint64_t before);

/* Of `n` epochs of a loader that nobody disturbs, with two workers. */
uint64_t feed_reference(const struct fby_settings *settings, unsigned n);

/*
 * Of the rows alone, id by id, however they are cut into batches: `n` epochs.
 */
uint64_t feed_rows(struct fby_loader *loader, unsigned n);

struct fby_stats feed_stats(struct fby_loader *loader);

/* Workers are started from tests/story-worker.c from now on; `fault` may be NULL. */
void feed_use_faults(const char *fault);

/* A worker that is there now: waits until there is one. */
int feed_worker(struct fby_loader *loader, unsigned i);

/*
 * Sends a signal to worker `i` if it is there.  Never to a stranger: only a child of
 * this process is meant.  True where it was sent.
 */
int feed_hit(struct fby_loader *loader, unsigned i, int signal);

/* A thread that hits a worker at random every `period_us`. */
struct feed_killer;
struct feed_killer *feed_killer_start(struct fby_loader *loader, int signal,
				      unsigned period_us);
/* How often it hit. */
unsigned feed_killer_stop(struct feed_killer *killer);

#endif
