/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker that is not well writes over words of the control segment.  Whatever it
 * hits, the trainer neither crashes nor loops: it goes on, or fails with a message.
 * FOREBAY_SEED=N begins elsewhere, FOREBAY_LONG=1 takes five times as many words.
 */
#include "lib/loader.h"
#include "tests/feed.h"
#include "tests/story.h"
#include <stdlib.h>
#include <string.h>

enum { BATCH = 65, ROUNDS = 60, PATIENCE = 25 };

static uint64_t seed;

static uint64_t draw(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static uint64_t some_value(uint64_t old)
{
	switch (draw() % 5) {
	case 0:
		return 0;
	case 1:
		return UINT64_MAX;
	case 2:
		return old ^ 1ull << draw() % 64;
	case 3:
		return old + 1;
	default:
		return draw();
	}
}

/* Any word but the header's, which nobody reads twice. */
static void scribble(struct fby_loader *l)
{
	uint64_t first = sizeof(struct fby_header) / 8, end = l->pool.geo.ctl_bytes / 8;
	_Atomic uint64_t *word = (_Atomic uint64_t *)(void *)l->pool.ctl;
	uint64_t at = first + draw() % (end - first);

	/* Half of the time one of those that matter most: run, deliver, open, and so on.
	 */
	if (draw() % 4)
		at = first + draw() % (offsetof(struct fby_ctl, trainer) / 8 - first);
	atomic_store(&word[at], some_value(atomic_load(&word[at])));
}

/* Up to the end of the epoch.  False: nothing comes, and no error either. */
static bool goes_on_or_fails(struct fby_loader *l)
{
	struct fby_batch b;
	unsigned idle = 0;

	for (;;) {
		int r = fby_loader_next(l, &b);

		if (r < 0)
			return strlen(fby_error()) > 10;
		if (r == FBY_END)
			return true;
		if (r == 0)
			fby_loader_release(l, &b);
		idle = r == FBY_AGAIN ? idle + 1 : 0;
		if (idle > PATIENCE)
			return false;
	}
}

static void scribbled_control_words_never_hang_or_crash_the_trainer(void **state)
{
	const char *first = getenv("FOREBAY_SEED"), *is_long = getenv("FOREBAY_LONG");
	unsigned rounds = is_long && !strcmp(is_long, "1") ? 5 * ROUNDS : ROUNDS;
	struct fby_settings s = feed_settings(2, BATCH);

	(void)state;
	seed = first ? strtoull(first, NULL, 10) : 88172645463325252ull;
	for (unsigned i = 0; i < rounds; i++) {
		struct fby_loader *l = feed_open(&s);
		struct fby_batch b;

		l->stuck.limit = 8;
		assert_int_equal(feed_next(l, &b), 0);
		scribble(l);
		fby_loader_release(l, &b);
		if (!goes_on_or_fails(l))
			fail_msg("round %u of seed %llu: nothing comes, and no error", i,
				 (unsigned long long)seed);
		fby_loader_close(l);
	}
}

int main(void)
{
	static const struct story stories[] = {
		story_within(scribbled_control_words_never_hang_or_crash_the_trainer,
			     115),
	};

	return stories_tell(stories, FBY_ARRAY_SIZE(stories), feed_setup, feed_teardown);
}
