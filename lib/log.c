/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/log.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LEVEL_NONE = -1, LEVEL_UNKNOWN = -2 };

/* Plain atomics: who sets the sink while others log gets either one. */
static _Atomic int level_wanted = LEVEL_UNKNOWN;
static void (*_Atomic sink_wanted)(int level, const char *text);

static void to_stderr(int level, const char *message)
{
	char line[1100];
	int n = snprintf(line, sizeof(line), "forebay: %s\n", message);

	(void)level;
	if (n > 0 &&
	    write(STDERR_FILENO, line, fby_min((uint64_t)n, sizeof(line) - 1)) < 0)
		return; /* nobody reads: nothing to be done about it */
}

static int level_from_environment(void)
{
	static const char *const name[] = { "error", "run", "epoch", "batch", "sample" };
	const char *wanted = getenv("FOREBAY_LOG");

	for (int i = 0; wanted && i < (int)FBY_ARRAY_SIZE(name); i++)
		if (!strcmp(wanted, name[i]))
			return i;
	return LEVEL_NONE;
}

bool fby_log_wants(int level)
{
	int wanted = atomic_load(&level_wanted);

	if (wanted == LEVEL_UNKNOWN) {
		wanted = level_from_environment();
		if (wanted != LEVEL_NONE)
			atomic_store(&sink_wanted, to_stderr);
		atomic_store(&level_wanted, wanted);
	}
	return level <= wanted;
}

void fby_set_log(int level, void (*sink)(int level, const char *text))
{
	atomic_store(&sink_wanted, sink);
	atomic_store(&level_wanted, sink ? level : LEVEL_NONE);
}

void fby_log(int level, const char *format, ...)
{
	void (*sink)(int, const char *);
	char message[1024];
	va_list ap;

	if (!fby_log_wants(level))
		return;
	va_start(ap, format);
	vsnprintf(message, sizeof(message), format, ap);
	va_end(ap);
	sink = atomic_load(&sink_wanted);
	if (sink)
		sink(level, message);
}
