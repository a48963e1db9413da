/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fuzz.h"
#include "lib/sem.h"
#include <stdio.h>
#include <unistd.h>

#define STALL_NS 5000000000u /* nobody waits so long: something hangs */

uint64_t fuzz_draw(uint64_t *random)
{
	uint64_t x = *random += 0x9e3779b97f4a7c15ull;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

static void verify(struct fuzz *f, const struct fby_lease *lease,
		   const struct fby_part *want)
{
	f->wrong += lease->part.epoch != want->epoch || lease->part.index != want->index;
	for (uint32_t i = 0; i < lease->part.n; i++)
		f->wrong +=
			!rows_is_right(f->window->pool, lease, f->window->plan.seed, i);
	f->wrong += !rows_bad_are_right(lease);
	f->rows += lease->part.n;
	f->batches++;
}

/* Sleeps once; a time-out after which there was something was needed. */
static bool sleep_until(struct fuzz *f, bool (*look)(struct fuzz *, void *), void *result)
{
	enum fby_woke woke = FBY_WOKE_TOKEN;
	uint64_t start = fby_now();

	while (!look(f, result)) {
		struct fby_sem *sem = fby_window_oldest(f->window);

		if (fby_now() - start > STALL_NS) {
			f->stalls++;
			return false;
		}
		if (!sem) { /* nothing is open yet */
			fby_window_fill(f->window);
			continue;
		}
		f->sleeps++;
		woke = fby_sem_wait(sem, FUZZ_SLICE_NS);
	}
	f->slices_needed += woke == FBY_WOKE_BY_TIME;
	f->longest_ns = fby_max(f->longest_ns, fby_now() - start);
	return true;
}

static bool look_for_batch(struct fuzz *f, void *result)
{
	struct fby_lease **lease = result;

	*lease = fby_window_take(f->window, true);
	return *lease;
}

static bool look_for_drain(struct fuzz *f, void *result)
{
	(void)result;
	return fby_window_drain_step(f->window);
}

static bool seek(struct fuzz *f, struct fby_part *ret_next)
{
	const struct fby_plan *plan = &f->window->plan;

	fby_window_drain(f->window);
	if (!sleep_until(f, look_for_drain, NULL))
		return false;
	*ret_next = fby_plan_part(plan, fuzz_draw(&f->random) % 1000,
				  fuzz_draw(&f->random) % plan->n_batches);
	fby_window_restart(f->window, ret_next);
	f->released(f->ctx);
	f->seeks++;
	return true;
}

static void release_all(struct fuzz *f, struct fby_lease **held, unsigned *n)
{
	while (*n) {
		--*n;
		f->wrong += !fby_slots_release(&f->window->slots, held[*n]->slot,
					       held[*n]->seq);
	}
	f->released(f->ctx);
}

void fuzz_train(struct fuzz *f, uint64_t ns)
{
	struct fby_part next = fby_window_position(f->window);
	uint64_t end = fby_now() + ns;
	struct fby_lease *held[2];
	unsigned n = 0;

	while (fby_now() < end) {
		if (fuzz_draw(&f->random) % 64 == 0 && !seek(f, &next))
			break;
		if (!sleep_until(f, look_for_batch, &held[n]))
			break;
		verify(f, held[n++], &next);
		next = fby_plan_after(&f->window->plan, &next);
		if (n == 2 || fuzz_draw(&f->random) % 4)
			release_all(f, held, &n);
		if (fuzz_draw(&f->random) % 8 == 0)
			usleep((useconds_t)(fuzz_draw(&f->random) % 500));
	}
	release_all(f, held, &n);
}

uint64_t fuzz_worker_slices(const struct fby_pool *pool)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < pool->geo.n_workers; i++)
		sum += atomic_load(&fby_pool_worker(pool, i)->slices_needed);
	return sum;
}

uint64_t fuzz_worker_sleeps(const struct fby_pool *pool)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < pool->geo.n_workers; i++)
		sum += atomic_load(&fby_pool_worker(pool, i)->sleeps);
	return sum;
}

bool fuzz_is_good(const struct fuzz *f)
{
	const struct fby_pool *pool = f->window->pool;

	return f->batches && !f->wrong && !f->stalls && !f->slices_needed &&
	       !fuzz_worker_slices(pool) && fby_pool_torn_slot(pool) < 0;
}

void fuzz_print(const struct fuzz *f)
{
	const struct fby_pool *pool = f->window->pool;

	printf("# %llu batches in order, %llu rows, %llu wrong; %llu seeks; %llu stalls, "
	       "longest wait %.1f ms; slices needed: trainer %llu of %llu sleeps, workers "
	       "%llu of %llu sleeps\n",
	       f->batches, f->rows, f->wrong, f->seeks, f->stalls,
	       (double)f->longest_ns / 1e6, f->slices_needed, f->sleeps,
	       (unsigned long long)fuzz_worker_slices(pool),
	       (unsigned long long)fuzz_worker_sleeps(pool));
}
