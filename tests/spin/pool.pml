/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pool's protocol as a SPIN model, sequentially consistent memory.
 *
 * Two workers share the ROWS rows of one ticket, whose commit bits lie in two done
 * words; a supervisor recovers beside a trainer that delivers or, at any look or out
 * of its sleep, seeks (DRAIN).  Up to DEATHS workers are killed, at any step.  The
 * ticket is used for BATCHES batches, one after the other, in SLOTS slots in turn.
 * A post is two steps, the compare-and-swap and FUTEX_WAKE; a wait is "take or arm",
 * then FUTEX_WAIT with its compare.  Nobody's sleep ever times out: a lost wake-up is
 * a deadlock, which SPIN reports as an invalid end state.
 *
 * Not modelled: several open tickets, poison, the trainer's death, weak memory.
 *
 * Rows are numbered from 0; row r has its bit in done[r % 2].  Words stand for those
 * in lib/layout.h; inlines for functions of lib/sem.c, lib/ticket.c and the
 * supervisor, whose steps they name.
 *
 * Variants, -D:
 *   LOOPWAIT    a wait that lasts until there is a token (the code's returns)
 *   STOPPED     a worker that holds no row and owes no wake is stopped for ever, in
 *               place of a death
 *   STOP_OWING  with STOPPED: also one that owes a wake.  This one fails: it is what
 *               the time-out slice of each wait is for
 *   NO_SEEK     the trainer never seeks
 *   MUT_...     a planted mistake; each must be found, see tests/spin/run
 */
#ifndef ROWS
#define ROWS 2
#endif
#ifndef BATCHES
#define BATCHES 1
#endif
#ifndef DEATHS
#define DEATHS 1
#endif
#ifndef SLOTS
#define SLOTS 1
#endif
#define WORKERS 2

/* op(row) for each row; test(row) of all, of any */
#if ROWS == 1
#define EACH(op)	op(0)
#define ALL(test)	(test(0))
#define ANY(test)	(test(0))
#elif ROWS == 2
#define EACH(op)	op(0); op(1)
#define ALL(test)	(test(0) && test(1))
#define ANY(test)	(test(0) || test(1))
#else
#define EACH(op)	op(0); op(1); op(2)
#define ALL(test)	(test(0) && test(1) && test(2))
#define ANY(test)	(test(0) || test(1) || test(2))
#endif

#define EMPTY		0
#define OPEN		1
#define DRAIN		2
#define WORD(gen, state)	((gen) * 4 + (state))
#define STATE		(word % 4)
#define GENERATION	(word / 4)

#define FREE		0	/* 1 and 2 are the workers */
#define CLOSED		3
#define CLAIM(gen, owner)	((gen) * 4 + (owner))

#define BIT(r)		(1 << ((r) / 2))
#define IS_DONE(r)	((done[(r) % 2] & BIT(r)) != 0)
#define SET_DONE(r)	done[(r) % 2] = done[(r) % 2] | BIT(r)
#define FULL_0		(ROWS >= 3 -> 3 : 1)
#define FULL_1		(ROWS >= 2 -> 1 : 0)

#define TORN		99	/* pixels half written */
#define AT(r)		(slot * ROWS + (r))

#ifdef MUT_POST_MIN
#define OPEN_POST	(ROWS < WORKERS -> ROWS : WORKERS)
#else
#define OPEN_POST	WORKERS
#endif
#ifdef MUT_NO_KICK
#define KICK		0
#else
#define KICK		1
#endif

/* the ticket */
byte word, slot, done[2], claim[ROWS];

/* the slots: pixels, and how many are writing them */
byte pixels[ROWS * SLOTS], writers[ROWS * SLOTS];

/* semaphores: count and "somebody may sleep"; who sleeps in the kernel */
byte work_count;
bit work_bit, ready_count[SLOTS], ready_bit[SLOTS];
bit worker_sleeps[3], trainer_sleeps;

/* life and death; `owes`: a commit whose wake is not yet given */
bit kill[3], gone[3], reborn[3], owes[3], stop, mutex;
byte deaths;

/* fby_sem_post, or fby_sem_kick: wakes whether or not the bit was set */
inline post_work(n, kick)
{
	atomic {
		wake = work_bit || kick;
		work_bit = 0;
		work_count = (work_count + n > WORKERS -> WORKERS : work_count + n)
	}
	if
	:: atomic { wake -> wake = 0; worker_sleeps[1] = 0; worker_sleeps[2] = 0 }
	:: else
	fi
}

inline post_ready(s, kick)
{
	atomic {
		wake = ready_bit[s] || kick;
		ready_bit[s] = 0;
		ready_count[s] = 1
	}
	if
	:: atomic { wake -> wake = 0; trainer_sleeps = (s == slot -> 0 : trainer_sleeps) }
	:: else
	fi
}

/* Two loads, a step each: are all rows done? */
inline scan_done(answer)
{
	answer = (done[0] == FULL_0);
	if
	:: answer -> answer = (done[1] == FULL_1)
	:: else
	fi
}

inline lock()
{
	atomic { mutex == 0 -> mutex = 1 }
}

inline write_pixels()
{
	atomic {
		assert(writers[s * ROWS + r] == 0);
		writers[s * ROWS + r] = 1;
		pixels[s * ROWS + r] = TORN
	}
	atomic { pixels[s * ROWS + r] = gen; writers[s * ROWS + r] = 0 }
}

inline commit_row()
{
#ifdef MUT_SCAN_FIRST
	all = ((done[0] | (r % 2 == 0 -> BIT(r) : 0)) == FULL_0);
	if
	:: all -> all = ((done[1] | (r % 2 == 1 -> BIT(r) : 0)) == FULL_1)
	:: else
	fi;
	atomic { SET_DONE(r); owes[me] = 1 }
#else
	atomic { SET_DONE(r); owes[me] = 1 }
	scan_done(all)
#endif
}

proctype worker(byte me)
{
	byte r, gen, s;
	bit all, mine, wake;

life:
	{
	true;
look:
	if
	:: stop -> goto over
	:: atomic { else -> r = 0; gen = (STATE == OPEN -> GENERATION : 0) }
	fi;
	do
	:: gen != 0 && r < ROWS ->
		atomic {
			if
			:: claim[r] == CLAIM(gen, FREE) ->
				claim[r] = CLAIM(gen, me);
				mine = 1;
				s = slot	/* cannot change while the claim stands */
			:: else -> r++
			fi
		}
		if
		:: atomic { mine -> mine = 0 };
#ifdef MUT_COMMIT_FIRST
			commit_row();
			write_pixels();
#else
			write_pixels();
			commit_row();
#endif
			if
			:: atomic { all -> all = 0 }; post_ready(s, 0)
			:: else
			fi;
			atomic { owes[me] = 0; s = 0; r = 0; gen = 0 };
			goto look
		:: else
		fi
	:: atomic { else -> r = 0; gen = 0; break }
	od;
wait:
	if
	:: atomic { work_count > 0 -> work_count-- }
	:: atomic { work_count == 0 -> work_bit = 1 };
		if
#ifdef MUT_NO_COMPARE
		:: worker_sleeps[me] = 1; (worker_sleeps[me] == 0)
#else
		:: atomic { work_count == 0 && work_bit -> worker_sleeps[me] = 1 };
			(worker_sleeps[me] == 0)
		:: atomic { else -> skip }
#endif
		fi;
#ifdef LOOPWAIT
		goto wait
#else
		if
		:: atomic { work_count > 0 -> work_count-- }
		:: else
		fi
#endif
	fi;
	goto look
	} unless { kill[me] };
	atomic {
		kill[me] = 0; gone[me] = 1; worker_sleeps[me] = 0; owes[me] = 0;
		r = 0; gen = 0; s = 0; all = 0; mine = 0; wake = 0
	}
end_dead:
	atomic { reborn[me] -> reborn[me] = 0; goto life }
over:
	skip
}

/* The done bit of a closed row, set on behalf: a store of its own. */
inline settle_row(r)
{
#ifndef MUT_CLOSE_WITHOUT_DONE
	SET_DONE(r)
#else
	skip
#endif
}

/* Who holds the row, if anybody does and has not committed? */
#define HELD(r, who)	(STATE != EMPTY && claim[r] == CLAIM(GENERATION, who) && !IS_DONE(r))
#define HELD_BY_1(r)	HELD(r, 1)

#ifdef MUT_NO_RECOVERY_IN_DRAIN
#define RECOVERS	(STATE == OPEN)
#else
#define RECOVERS	(STATE != EMPTY)
#endif

inline take_back(r)
{
	closed = 0;
	atomic {
		if
		:: RECOVERS && HELD(r, dead) ->
			writers[AT(r)] = 0;
			if
#ifdef MUT_FREE_IN_DRAIN
			:: true -> claim[r] = CLAIM(GENERATION, FREE)
#else
			:: STATE == OPEN -> claim[r] = CLAIM(GENERATION, FREE)
			:: else -> claim[r] = CLAIM(GENERATION, CLOSED); closed = 1
#endif
			fi
		:: else
		fi
	}
	if
	:: closed -> settle_row(r)
	:: else
	fi;
	closed = 0
}

#ifdef STOP_OWING
#define MAY_STOP	(!ANY(HELD_BY_1))
#else
#define MAY_STOP	(!ANY(HELD_BY_1) && !owes[1])
#endif

/* The trainer's second thread.  Worker 1 dies first: the two are alike. */
proctype supervisor()
{
	byte dead;
	bit closed, wake;

end_idle:
	do
	:: stop -> break
#ifdef STOPPED
	:: atomic { !stop && deaths < DEATHS && MAY_STOP -> deaths++; kill[1] = 1 }
#else
	:: atomic { !stop && deaths < DEATHS && !kill[1] && !gone[1] ->
		deaths++; kill[1] = 1 }
#if DEATHS > 1
	:: atomic { !stop && deaths > 0 && deaths < DEATHS && !kill[2] && !gone[2] ->
		deaths++; kill[2] = 1 }
#endif
	:: atomic { !stop && gone[1] -> dead = 1 }; goto recover
	:: atomic { !stop && gone[2] -> dead = 2 };
recover:
		lock();
		EACH(take_back);
		mutex = 0;
#ifndef MUT_NO_RECOVERY_WORK
		post_work(WORKERS, KICK);
#endif
#ifndef MUT_NO_RECOVERY_READY
		post_ready(0, KICK);
#if SLOTS > 1
		post_ready(1, KICK);
#endif
#endif
		atomic {
			gone[dead] = 0;
			if
			:: reborn[dead] = 1
#if DEATHS == 1
			:: true		/* back-off: perhaps never */
#endif
			fi;
			dead = 0
		}
#endif
	od
}

inline open_row(r)
{
	claim[r] = CLAIM(gen, FREE)
}

/* One row of a DRAIN: FREE to CLOSED, then its done bit. */
inline close_row(r)
{
#ifdef MUT_DONE_BEFORE_CLOSE
	if
	:: claim[r] == CLAIM(gen, FREE) -> SET_DONE(r)
	:: else
	fi;
#endif
	atomic {
		if
		:: claim[r] == CLAIM(gen, FREE) -> claim[r] = CLAIM(gen, CLOSED); ok = 1
		:: else -> ok = 0
		fi
	}
	if
	:: ok -> settle_row(r)
	:: else
	fi;
	ok = 0
}

#define SETTLED(r)	(claim[r] == CLAIM(gen, CLOSED) || \
			 (IS_DONE(r) && claim[r] != CLAIM(gen, FREE)))
#define GOOD(r)		(pixels[AT(r)] == gen && writers[AT(r)] == 0)
#define QUIET(r)	(writers[AT(r)] == 0)

active proctype trainer()
{
	byte gen = 1;
	bit ok, wake, seeks, draining;

	atomic { run worker(1); run worker(2); run supervisor() };
open:
	atomic { mutex == 0 -> mutex = 1; slot = (gen - 1) % SLOTS };
	done[0] = 0;
	done[1] = 0;
	EACH(open_row);
	word = WORD(gen, OPEN);
	mutex = 0;
	post_work(OPEN_POST, 0);
	if
	:: seeks = 0
#ifndef NO_SEEK
	:: seeks = 1			/* leaves next() somewhere, to seek */
#endif
	fi;
look:
#ifdef MUT_CLOSE_WITHOUT_DONE
	if
	:: atomic { draining -> ok = ALL(SETTLED) }
	:: else -> scan_done(ok)
	fi;
#else
	scan_done(ok);
#endif
	if
	:: atomic { ok && draining -> ok = 0 }; goto drained
	:: atomic { ok && !draining -> ok = 0 }; goto deliver
	:: !ok && seeks && !draining -> goto seek
	:: !ok
	fi;
wait:
	if
	:: atomic { ready_count[slot] -> ready_count[slot] = 0 }
	:: atomic { !ready_count[slot] -> ready_bit[slot] = 1 };
		if
#ifdef MUT_NO_COMPARE
		:: trainer_sleeps = 1;
#else
		:: atomic { !ready_count[slot] && ready_bit[slot] -> trainer_sleeps = 1 };
#endif
			if
			:: trainer_sleeps == 0
			:: atomic { trainer_sleeps && seeks && !draining -> trainer_sleeps = 0 };
				goto seek	/* EINTR */
			fi
#ifndef MUT_NO_COMPARE
		:: atomic { else -> skip }
#endif
		fi;
#ifdef LOOPWAIT
		goto wait
#else
		if
		:: atomic { ready_count[slot] -> ready_count[slot] = 0 }
		:: else
		fi
#endif
	fi;
#ifdef MUT_NO_LOOK
	goto deliver;
#endif
	goto look;
seek:
	lock();
	word = WORD(gen, DRAIN);
	EACH(close_row);
	atomic { mutex = 0; draining = 1 };
	goto look;
drained:
	lock();
	atomic { assert(ALL(SETTLED) && ALL(QUIET)); word = WORD(gen, EMPTY) };
	atomic { mutex = 0; draining = 0 };
	goto next;
deliver:
	lock();
	atomic { assert(ALL(GOOD)); word = WORD(gen, EMPTY) };
	mutex = 0;
	assert(ALL(GOOD));		/* still, when the lease ends */
next:
	atomic { seeks = 0; gen++ };
	if
	:: gen <= BATCHES -> goto open
	:: else
	fi;
	stop = 1;
	post_work(WORKERS, 0)
}
