/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bar: random workers are SIGKILLed all through a run, and every epoch is byte for
 * byte the undisturbed one.  100 kills, or 2000 with FOREBAY_LONG=1.
 */
#include "tests/feed.h"
#include "tests/story.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned kills_wanted(void)
{
	const char *is_long = getenv("FOREBAY_LONG");

	return is_long && !strcmp(is_long, "1") ? 2000 : 100;
}

static void two_thousand_kills_change_no_byte(void **state)
{
	struct fby_settings s = feed_settings(3, 65);
	struct fby_loader *calm, *l;
	struct feed_killer *killer;
	unsigned epochs = 0, hits;

	(void)state;
	s.shuffle = 1;
	calm = feed_open(&s);
	l = feed_open(&s);
	killer = feed_killer_start(l, SIGKILL, 4000);
	for (; feed_stats(l).deaths < kills_wanted(); epochs++)
		assert_int_equal(feed_epoch(l, 0), feed_epoch(calm, 0));
	hits = feed_killer_stop(killer);
	story_note("%u kills in %u epochs, %llu rows redone, %llu slices needed", hits,
		   epochs, (unsigned long long)feed_stats(l).rows_taken_back,
		   (unsigned long long)feed_stats(l).slices_needed);
	assert_int_equal(feed_stats(l).bad_rows, 0);
	fby_loader_close(l);
	fby_loader_close(calm);
}

int main(void)
{
	static const struct story stories[] = {
		story_within(two_thousand_kills_change_no_byte, 115),
	};

	return stories_tell(stories, FBY_ARRAY_SIZE(stories), feed_setup, feed_teardown);
}
