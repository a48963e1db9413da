/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The harness of the process stories.  A story is a test that runs in a process of its
 * own, leader of its own group, against a deadline; when it is over, however it ended,
 * nothing of it may be left: no process, no name in /dev/shm, and in the story itself
 * as many descriptors and threads as before.
 */
#ifndef FBY_STORY_H
#define FBY_STORY_H

#include "lib/base.h"
#include "tests/unit.h"

struct story {
	const char *name;
	void (*tell)(void **state); /* uses cmocka's assertions */
	unsigned seconds;           /* deadline */
};

#define story(function) story_within(function, 60)
#define story_within(function, limit)                                                    \
	{                                                                                \
#function, function, (limit)                                             \
	}

/*
 * All stories of a program, one after the other, in words of TAP.  `setup` and
 * `teardown` run around all of them, outside; NULL is allowed.  main's result.
 */
int stories_tell(const struct story *stories, unsigned n, int (*setup)(void **state),
		 int (*teardown)(void **state));

/* Ends the story without a verdict; the reason is shown. */
void story_skip(const char *reason) __attribute__((noreturn));

/* A line that is shown although all went well. */
void story_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Memory is an allocator's that keeps what is freed: a sanitizer's. */
bool story_is_sanitized(void);

/* How long something may take that is waited for: far more than it needs. */
#define STORY_PATIENCE_MS 20000

/* Asks until it is true; false after STORY_PATIENCE_MS. */
bool story_wait_until(bool (*is_so)(void *ctx), void *ctx);

/* Pacing of those who do harm: never a way to wait for something. */
void story_pause_us(unsigned us);

uint64_t story_now_ms(void);

#endif
