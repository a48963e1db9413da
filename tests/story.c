/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a story as a child and looks for what it left.  This process adopts the orphans
 * of its descendants (a subreaper), so "no process left" is "no child left".
 */
#include "tests/story.h"
#include "lib/process.h"
#include "tests/proc.h"
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOTE "## "

enum { EXIT_SKIP = 77 };

/* ---- inside the story ---- */

struct holdings {
	unsigned fds, threads;
};

static struct holdings before;

static int note_holdings(void **state)
{
	(void)state;
	before = (struct holdings){ proc_count_fds(), proc_count_threads() };
	return 0;
}

/* A thread that was joined may be seen for a moment longer. */
static bool holds_as_before(void *ctx)
{
	struct holdings *now = ctx;

	*now = (struct holdings){ proc_count_fds(), proc_count_threads() };
	return now->fds == before.fds && now->threads == before.threads;
}

static int compare_holdings(void **state)
{
	struct holdings now;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		if (holds_as_before(&now))
			return 0;
		story_pause_us(1000);
	}
	printf("the story began with %u descriptors and %u threads, ends with %u and "
	       "%u\n",
	       before.fds, before.threads, now.fds, now.threads);
	return -1;
}

static void tell(const struct story *story, int output)
{
	const struct CMUnitTest test[] = {
		{ "story", story->tell, note_holdings, compare_holdings, NULL },
	};
	int failed;

	setpgid(0, 0);
	dup2(output, STDOUT_FILENO);
	dup2(output, STDERR_FILENO);
	close(output);
	setvbuf(stdout, NULL, _IONBF, 0);
	failed = cmocka_run_group_tests(test, NULL, NULL);
	exit(failed ? 1 : 0);
}

void story_skip(const char *reason)
{
	story_note("skipped: %s", reason);
	fflush(NULL);
	_exit(EXIT_SKIP);
}

void story_note(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	printf(NOTE);
	vprintf(format, args);
	printf("\n");
	va_end(args);
}

bool story_is_sanitized(void)
{
	return dlsym(RTLD_DEFAULT, "__asan_init") || dlsym(RTLD_DEFAULT, "__tsan_init");
}

/* ---- around it ---- */

/* All that it said, or its notes only. */
static void show(int output, bool all)
{
	FILE *file = fdopen(output, "r");
	char line[4096];

	if (!file)
		return;
	rewind(file);
	while (fgets(line, sizeof(line), file))
		if (all || !strncmp(line, NOTE, strlen(NOTE)))
			fputs(line, stderr);
	fclose(file);
}

/* The kernel calls those of us who do not come back. */
static void show_threads(int pid)
{
	char command[256];

	snprintf(command, sizeof(command),
		 "ps -o pid,ppid,stat,wchan:20,args --ppid %d,%d >&2; "
		 "for t in /proc/%d/task/*; do cat $t/comm $t/wchan >&2; echo >&2; done",
		 pid, getpid(), pid);
	if (system(command) < 0)
		return;
}

static bool wait_for_end(int pid, unsigned seconds)
{
	int pidfd = fby_process_pidfd(pid);
	struct pollfd p = { .fd = pidfd, .events = POLLIN };
	uint64_t deadline = story_now_ms() + seconds * 1000ull, now;
	bool over = false;

	while (!over && (now = story_now_ms()) < deadline)
		over = poll(&p, 1, (int)(deadline - now)) == 1;
	close(pidfd);
	return over;
}

/* Kills every child there is: the story, and orphans that it left. */
static void kill_children(void)
{
	DIR *folder = opendir("/proc");
	struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		int pid = atoi(entry->d_name);

		if (pid > 0 && proc_parent(pid) == getpid())
			kill(pid, SIGKILL);
	}
	if (folder)
		closedir(folder);
}

/* Waits until no child is left.  False: some had to be killed. */
static bool no_child_is_left(void)
{
	uint64_t deadline = story_now_ms() + 5000;
	bool alone = true;
	int pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) >= 0) {
		if (pid == 0 && story_now_ms() > deadline) {
			alone = false;
			kill_children();
		}
		if (pid == 0)
			story_pause_us(1000);
	}
	return alone;
}

/* What is wrong with it; NULL: nothing. */
static const char *find_fault(int pid, int status, bool in_time, bool alone)
{
	if (!in_time)
		return "it was not over at its deadline";
	if (!alone)
		return "it left processes behind";
	if (proc_count_names(pid, NULL))
		return "it left names in /dev/shm";
	if (WIFSIGNALED(status))
		return "it was ended by a signal";
	if (WEXITSTATUS(status) && WEXITSTATUS(status) != EXIT_SKIP)
		return "it failed";
	return NULL;
}

static int start(const struct story *story, int output)
{
	int pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0)
		tell(story, output);
	if (pid > 0)
		setpgid(pid, pid);
	return pid;
}

static bool run(const struct story *story, unsigned number)
{
	int output = memfd_create("story", MFD_CLOEXEC), status = 0;
	int pid = start(story, output);
	bool in_time = wait_for_end(pid, story->seconds), alone;
	const char *fault;

	if (!in_time) {
		show_threads(pid);
		kill(-pid, SIGKILL);
	}
	waitpid(pid, &status, 0);
	alone = no_child_is_left();
	fault = find_fault(pid, status, in_time, alone);
	show(output, fault);
	if (fault)
		printf("not ok %u - %s\n# %s\n", number, story->name, fault);
	else
		printf("ok %u - %s%s\n", number, story->name,
		       WEXITSTATUS(status) ? " # SKIP" : "");
	return !fault;
}

int stories_tell(const struct story *stories, unsigned n, int (*setup)(void **state),
		 int (*teardown)(void **state))
{
	unsigned failed = 0;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("1..%u\n", n);
	if (setup)
		setup(NULL);
	for (unsigned i = 0; i < n; i++)
		failed += !run(&stories[i], i + 1);
	if (teardown)
		teardown(NULL);
	return failed ? 1 : 0;
}

/* ---- time ---- */

uint64_t story_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

void story_pause_us(unsigned us)
{
	struct timespec t = { .tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000L };

	nanosleep(&t, NULL);
}

bool story_wait_until(bool (*is_so)(void *ctx), void *ctx)
{
	uint64_t deadline = story_now_ms() + STORY_PATIENCE_MS;

	while (!is_so(ctx)) {
		if (story_now_ms() > deadline)
			return false;
		story_pause_us(1000);
	}
	return true;
}
