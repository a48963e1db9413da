/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pool's semaphore beside glibc's sem_t, case by case: the table of
 * docs/design.md.  Both take turns in short rounds, so that a noisy neighbour
 * disturbs both.
 */
#include "lib/sem.h"
#include <err.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 20, WAKES = 100, PAIRS = 200000, REST_US = 200 };

struct sem {
	struct fby_sem ours;
	alignas(FBY_LINE) sem_t glibc;
};

struct kind {
	const char *name;
	void (*init)(struct sem *sem);
	void (*post)(struct sem *sem);
	void (*wait)(struct sem *sem);
};

static void ours_init(struct sem *sem)
{
	atomic_store(&sem->ours.word, 0);
}

static void ours_post(struct sem *sem)
{
	fby_sem_post(&sem->ours, 1, 1);
}

static void ours_wait(struct sem *sem)
{
	while (fby_sem_wait(&sem->ours, 100000000) != FBY_WOKE_TOKEN)
		;
}

static void glibc_init(struct sem *sem)
{
	sem_init(&sem->glibc, 1, 0);
}

static void glibc_post(struct sem *sem)
{
	sem_post(&sem->glibc);
}

static void glibc_wait(struct sem *sem)
{
	while (sem_wait(&sem->glibc) < 0)
		;
}

static const struct kind kinds[] = {
	{ "fby_sem", ours_init, ours_post, ours_wait },
	{ "sem_t", glibc_init, glibc_post, glibc_wait },
};

enum { N_KINDS = FBY_ARRAY_SIZE(kinds) };

/* Shared by the two processes. */
struct table {
	struct sem there[N_KINDS], back[N_KINDS];
	_Atomic uint64_t sent_ns;
	uint64_t sample[N_KINDS][ROUNDS * WAKES];
};

static int by_size(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Post and wait with nobody else; the best of the rounds. */
static double time_alone(const struct kind *kind, struct sem *sem)
{
	uint64_t best = UINT64_MAX;

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t start = fby_now();

		for (int i = 0; i < PAIRS; i++) {
			kind->post(sem);
			kind->wait(sem);
		}
		best = fby_min(best, fby_now() - start);
	}
	return (double)best / PAIRS;
}

/* The other process: notes how long each of its wake-ups took, and answers. */
static void answer(struct table *t)
{
	for (int i = 0; i < ROUNDS * WAKES * N_KINDS; i++) {
		int k = i / WAKES % N_KINDS;
		int at = i / (WAKES * N_KINDS) * WAKES + i % WAKES;

		kinds[k].wait(&t->there[k]);
		t->sample[k][at] = fby_now() - atomic_load(&t->sent_ns);
		kinds[k].post(&t->back[k]);
	}
}

static void ask(struct table *t)
{
	for (int i = 0; i < ROUNDS * WAKES * N_KINDS; i++) {
		int k = i / WAKES % N_KINDS;

		usleep(REST_US); /* the other one falls asleep */
		atomic_store(&t->sent_ns, fby_now());
		kinds[k].post(&t->there[k]);
		kinds[k].wait(&t->back[k]);
	}
}

static void time_handover(struct table *t)
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		err(3, "fork");
	if (pid == 0) {
		answer(t);
		_exit(0);
	}
	ask(t);
	if (waitpid(pid, &status, 0) != pid || status != 0)
		errx(3, "the other process failed");
}

static void print_row(struct table *t, int k)
{
	enum { N = ROUNDS * WAKES, P50 = N / 2, P99 = N * 99 / 100 };
	uint64_t *sample = t->sample[k];

	qsort(sample, N, sizeof(*sample), by_size);
	printf("%-8s %16.1f %16.1f %16.1f\n", kinds[k].name,
	       time_alone(&kinds[k], &t->there[k]), (double)sample[P50] / 1e3,
	       (double)sample[P99] / 1e3);
}

int main(void)
{
	struct table *t = mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (t == MAP_FAILED)
		err(3, "mmap");
	for (int k = 0; k < N_KINDS; k++) {
		kinds[k].init(&t->there[k]);
		kinds[k].init(&t->back[k]);
	}
	time_handover(t);
	printf("%-8s %16s %16s %16s\n", "", "alone, ns", "wake p50, us", "wake p99, us");
	for (int k = 0; k < N_KINDS; k++)
		print_row(t, k);
	return 0;
}
