/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The instruction sweep: a SIGKILL after every machine instruction of a real worker.
 *
 * The loop of workers/work.c, with lib/ as the release build compiles it, is stepped one
 * instruction at a time.  Whatever instruction it dies at, recovery loses, doubles and
 * corrupts no row, a drain ends, and nobody sleeps for ever without time-outs.
 *
 *   sweep    claim, make, commit, scan, post, idle over two batches; one row is bad
 *   drain    the trainer drains after instruction k, for every k
 *   recycle  the batch is finished, handed out, its ticket used again, after every k
 *   beside   another worker makes the other row of the same done word, after every k
 *   late     the trainer, which looked in vain before, goes to sleep after every k
 *   stop     the workers are told to stop, at every fifth k
 *   pair     two workers in seeded random order, one SIGKILLed
 *   limits   deaths end in poison
 *
 * What a death leaves behind is the shared memory and who is awake: an instruction that
 * changes neither leaves the same world as the one before it, which was tried.  So no
 * instruction is left out, those of libc included; the clock is not stepped.
 */
#include "lib/sem.h"
#include "tests/sweep-step.h"
#include "tests/sweep-world.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MAX_STEPS 200000 /* of one worker: it must have ended by then */

static int n_cases, n_bad;
static int fails_before;

static void begin(const char *name)
{
	phase = name;
	fails_before = fails;
}

__attribute__((format(printf, 1, 2))) static void result(const char *format, ...)
{
	bool good = fails == fails_before;
	va_list args;

	n_bad += !good;
	printf("%s %d - %s: ", good ? "ok" : "not ok", ++n_cases, phase);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
}

/* ---- one worker ---- */

/* The run ended without a death, so without recovery: who waits must be awake. */
static void check_alive(uint64_t at)
{
	finish(&live, HELPER);
	check_end(&live, at);
}

struct tally {
	unsigned long long events, steps, points, held;
};

static void step_and_die(int pid, uint64_t from, struct tally *tally, uint64_t *ret_at)
{
	bool woke;

	for (; step_one(pid, &woke) && fails < MAX_FAILS; ++*ret_at) {
		if (*ret_at > from + MAX_STEPS) {
			violation("the worker does not end");
			return;
		}
		tally->steps++;
		if (!world_changed() && !woke)
			continue;
		tally->points++;
		tally->held += die_here(*ret_at);
	}
}

static void sweep(void)
{
	struct tally tally = { 0 };
	uint64_t at = 0;
	int pid;

	begin("sweep");
	world_begin(2, 62, 66);
	pid = step_start(STEPPED, 3);
	tally.held += die_here(0);
	step_and_die(pid, 0, &tally, &at);
	step_kill(pid);
	check_alive(at);
	result("%llu instructions, %llu worlds to die in, %llu with a claim held",
	       tally.steps, tally.points, tally.held);
}

/* ---- events ---- */

static void drain(void)
{
	live.trainer_asleep = false; /* a signal; then a seek */
	live.draining = true;
	fby_window_drain(&live.window);
	trainer_runs(&live);
}

/* Others finish the batch; its ticket is used again, once round the ring. */
static void recycle(void)
{
	live.trainer_asleep = false; /* a signal; it looks again */
	for (uint32_t k = 0; k < live.pool.geo.n_tickets; k++) {
		finish(&live, HELPER);
		world_open(&live, 63, 64);
	}
	trainer_runs(&live);
}

static void work_beside(void)
{
	finish(&live, HELPER);
}

static void fall_asleep(void)
{
	if (live.on) {
		trainer_waits(&live);
		trainer_runs(&live);
	}
}

static void stop(void)
{
	atomic_store(&live.pool.ctl->run, FBY_STOP);
	fby_sem_kick(&live.pool.ctl->work, N_WORKERS, N_WORKERS);
}

/* The trainer looked, and has not yet said that it sleeps. */
static void wake_up(void)
{
	live.trainer_asleep = false;
	atomic_store(&live.on->word, 0);
}

static void as_it_is(void)
{
}

static bool always(void)
{
	return true;
}

static bool never(void)
{
	return false;
}

static bool token_is_there(void)
{
	return atomic_load(&live.on->word) > 1;
}

static bool holds_nothing(void)
{
	uint32_t held;

	count_left(&live, STEPPED, &held);
	return !held;
}

struct event {
	const char *name;
	void (*before)(void), (*happens)(void);
	bool (*may)(void);
	uint64_t every;     /* so many instructions */
	bool (*over)(void); /* a later event is no other than one at this moment */
	uint32_t first;     /* this row and the next are left to do */
};

static bool step_until(int pid, uint64_t k, uint64_t *ret_at)
{
	bool woke, there = true;

	for (*ret_at = 0; *ret_at < k; ++*ret_at) {
		there = step_one(pid, &woke);
		if (!there)
			break;
	}
	return there;
}

/* `event` after k instructions, then all worlds to die in.  False: it ended before. */
static bool run_with_event(const struct event *event, uint64_t k, struct tally *tally)
{
	uint64_t at;
	bool there, over;
	int pid;

	world_begin(1, event->first, event->first + 1);
	event->before();
	pid = step_start(STEPPED, 1);
	there = step_until(pid, k, &at);
	over = !there || event->over();
	if (there && event->may()) {
		event->happens();
		world_changed();
		tally->events++;
		tally->points++;
		tally->held += die_here(at);
		step_and_die(pid, k, tally, &at);
		step_kill(pid);
		check_alive(at);
		return !over;
	}
	step_kill(pid);
	return !over;
}

static void event_phase(const struct event *event)
{
	struct tally tally = { 0 };
	uint64_t k = 0;

	begin(event->name);
	while (run_with_event(event, k, &tally) && fails < MAX_FAILS)
		k += event->every;
	result("at %llu instructions, %llu instructions and %llu worlds to "
	       "die in behind them",
	       tally.events, tally.steps, tally.points);
}

/* ---- two workers ---- */

struct pair {
	int pid[2];
	bool alive[2];
	uint64_t random, kill_at, drain_at, steps;
	int victim, turn, burst;
	bool want_claim, killed;
};

static uint64_t draw(struct pair *r)
{
	uint64_t x = r->random += 0x9e3779b97f4a7c15ull;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

/* Half of the kills wait, for some time, for a claim to be held. */
static bool kill_now(struct pair *r)
{
	uint32_t held;

	if (r->killed || !r->alive[r->victim] || r->steps < r->kill_at)
		return false;
	count_left(&live, (uint32_t)r->victim, &held);
	return held || !r->want_claim || r->steps > r->kill_at + 600;
}

static uint32_t kill_victim(struct pair *r)
{
	uint32_t back;

	r->killed = true;
	r->alive[r->victim] = false;
	step_kill(r->pid[r->victim]);
	back = fby_window_recover(&live.window, (uint32_t)r->victim, FBY_DEATH_KILL)
		       .taken_back;
	trainer_runs(&live);
	return back;
}

static void next_turn(struct pair *r)
{
	if (r->burst-- > 0 && r->alive[r->turn])
		return;
	r->turn = draw(r) & 1;
	r->burst = (int)(draw(r) % 40);
	if (!r->alive[r->turn])
		r->turn = !r->turn;
}

static uint64_t rows_made(void)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < N_WORKERS; i++)
		sum += atomic_load(&fby_pool_worker(&live.pool, i)->samples);
	return sum;
}

struct kills {
	unsigned long long all, with_claim, beside_another;
};

/* Who is killed between the count and the commit has counted a row that is made again. */
static void pair_round(struct pair *r, struct kills *kills)
{
	uint64_t at_most = 10;
	bool woke;

	world_begin(2, 62, 66);
	for (int i = 0; i < 2; i++)
		r->pid[i] = step_start((uint32_t)i, 2);
	r->alive[0] = r->alive[1] = true;
	r->killed = false;
	for (r->steps = 0; r->alive[0] || r->alive[1]; r->steps++) {
		if (kill_now(r)) {
			bool held = kill_victim(r) > 0;

			at_most += held;
			kills->all++;
			kills->with_claim += held;
			kills->beside_another += held && r->alive[!r->victim];
			continue;
		}
		if (r->steps == r->drain_at)
			drain();
		next_turn(r);
		r->alive[r->turn] = step_one(r->pid[r->turn], &woke);
	}
	finish(&live, HELPER);
	if (rows_made() > at_most)
		violation("%llu rows made of %llu", (unsigned long long)rows_made(),
			  (unsigned long long)at_most);
	check_end(&live, r->steps);
}

static void pairs(int rounds, uint64_t seed)
{
	struct pair r = { .random = seed };
	unsigned long long steps = 0, drains = 0;
	struct kills kills = { 0 };

	begin("pair");
	for (int i = 0; i < rounds && fails < MAX_FAILS; i++) {
		r.kill_at = draw(&r) % 4500;
		r.victim = draw(&r) & 1;
		r.want_claim = draw(&r) & 1;
		r.drain_at = draw(&r) & 3 ? UINT64_MAX : draw(&r) % 5000;
		pair_round(&r, &kills);
		steps += r.steps;
		drains += r.drain_at < r.steps;
	}
	result("%d rounds from seed %llu, %llu instructions, %llu kills, %llu with a "
	       "claim held, %llu of these beside a running worker, %llu drains",
	       rounds, (unsigned long long)seed, steps, kills.all, kills.with_claim,
	       kills.beside_another, drains);
}

/* ---- poison ---- */

static void limit(enum fby_death how, int deaths)
{
	struct fby_ticket *t;
	struct fby_claim claim;

	world_begin(1, 65, 65);
	live.poison = 65;
	t = fby_pool_ticket(&live.pool, FIRST_SEQ);
	for (int i = 1; i <= deaths; i++) {
		uint32_t poisoned;

		if (!fby_ticket_claim(&live.pool, FIRST_SEQ, STEPPED, &claim))
			violation("the row is not free before death %d", i);
		poisoned = fby_window_recover(&live.window, STEPPED, how).poisoned;
		if (poisoned != (i == deaths) ||
		    fby_ticket_is_done(&live.pool, t, 65) != (i == deaths))
			violation("poison after %d deaths", i);
	}
	trainer_runs(&live);
	if (live.trainer_asleep || live.delivered != 1)
		violation("the trainer does not get the batch");
}

static void limits(void)
{
	begin("limits");
	limit(FBY_DEATH_CRASH, FBY_CRASH_LIMIT);
	limit(FBY_DEATH_KILL, FBY_KILL_LIMIT);
	result("poison after %d crashes and after %d kills", FBY_CRASH_LIMIT,
	       FBY_KILL_LIMIT);
}

/* ---- all of it ---- */

static void pairs_seeded(void)
{
	pairs(120, 42);
}

static const struct event events[] = {
	{ "drain", as_it_is, drain, always, 1, never, 63 },
	{ "recycle", as_it_is, recycle, holds_nothing, 1, never, 63 },
	{ "beside", as_it_is, work_beside, always, 1, never, 62 },
	{ "late", wake_up, fall_asleep, always, 1, token_is_there, 63 },
	{ "stop", as_it_is, stop, always, 5, never, 63 },
};

static const struct {
	const char *name;
	void (*run)(void);
} phases[] = {
	{ "limits", limits },
	{ "sweep", sweep },
	{ "pair", pairs_seeded },
};

static bool is_wanted(const char *name, int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], name) == 0)
			return true;
	return argc == 1;
}

/* Usage: sweep [PHASE]... */
int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	step_init();
	world_create();
	for (size_t i = 0; i < FBY_ARRAY_SIZE(phases); i++)
		if (is_wanted(phases[i].name, argc, argv))
			phases[i].run();
	for (size_t i = 0; i < FBY_ARRAY_SIZE(events); i++)
		if (is_wanted(events[i].name, argc, argv))
			event_phase(&events[i]);
	printf("1..%d\n", n_cases);
	return n_bad != 0 || n_cases == 0;
}
