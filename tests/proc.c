/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/proc.h"
#include "tests/story.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static bool read_stat(int pid, char *ret_state, int *ret_parent)
{
	char path[64], text[512];
	const char *rest;
	FILE *file;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	n = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[n] = 0;
	rest = strrchr(text, ')');
	return rest && sscanf(rest + 1, " %c %d", ret_state, ret_parent) == 2;
}

char proc_state(int pid)
{
	char state;
	int parent;

	return read_stat(pid, &state, &parent) ? state : 0;
}

bool proc_is_over(int pid)
{
	char state = proc_state(pid);

	return state == 0 || state == 'Z' || state == 'X';
}

int proc_parent(int pid)
{
	char state;
	int parent;

	return read_stat(pid, &state, &parent) ? parent : 0;
}

static int next_child(DIR *folder, int parent)
{
	struct dirent *entry;

	while ((entry = readdir(folder))) {
		int pid = atoi(entry->d_name);

		if (pid > 0 && proc_parent(pid) == parent)
			return pid;
	}
	return 0;
}

static bool has_name(int pid, const char *name)
{
	char path[64], text[64] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	if (fgets(text, sizeof(text), file))
		text[strcspn(text, "\n")] = 0;
	fclose(file);
	return !strcmp(text, name);
}

int proc_child_of(int parent, const char *name)
{
	DIR *folder = opendir("/proc");
	int pid;

	assert_non_null(folder);
	do
		pid = next_child(folder, parent);
	while (pid && !has_name(pid, name));
	closedir(folder);
	return pid;
}

unsigned proc_count_children(int parent, int except)
{
	DIR *folder = opendir("/proc");
	unsigned n = 0;
	int pid;

	assert_non_null(folder);
	while ((pid = next_child(folder, parent)))
		n += pid != except;
	closedir(folder);
	return n;
}

static bool is_over(void *ctx)
{
	return proc_is_over(*(int *)ctx);
}

bool proc_wait_over(int pid)
{
	return story_wait_until(is_over, &pid);
}

struct wanted {
	int pid;
	char state;
};

static bool is_in_state(void *ctx)
{
	const struct wanted *w = ctx;

	return proc_state(w->pid) == w->state;
}

bool proc_wait_state(int pid, char state)
{
	struct wanted wanted = { pid, state };

	return story_wait_until(is_in_state, &wanted);
}

int proc_reap(int pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Entries of a folder without "." and "..". */
static unsigned count_entries(const char *path)
{
	DIR *folder = opendir(path);
	struct dirent *entry;
	unsigned n = 0;

	assert_non_null(folder);
	while ((entry = readdir(folder)))
		n += entry->d_name[0] != '.';
	closedir(folder);
	return n;
}

unsigned proc_count_fds(void)
{
	return count_entries("/proc/self/fd") - 1; /* the walk's own */
}

unsigned proc_count_threads(void)
{
	return count_entries("/proc/self/task");
}

unsigned proc_count_mappings(int pid, const char *word)
{
	char path[64], line[1024];
	unsigned n = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file))
		n += strstr(line, word) != NULL;
	fclose(file);
	return n;
}

unsigned long proc_rss_kib(void)
{
	unsigned long pages = 0;
	FILE *file = fopen("/proc/self/statm", "re");

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%*u %lu", &pages), 1);
	fclose(file);
	return pages * ((unsigned long)sysconf(_SC_PAGESIZE) / 1024);
}

unsigned proc_count_names(int pid, uint64_t *ret_bytes)
{
	char prefix[64], path[300];
	DIR *folder = opendir("/dev/shm");
	struct dirent *entry;
	struct stat s;
	unsigned n = 0;

	if (ret_bytes)
		*ret_bytes = 0;
	if (!folder)
		return 0;
	snprintf(prefix, sizeof(prefix), "forebay-%u-%d-", getuid(), pid);
	while ((entry = readdir(folder))) {
		if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
			continue;
		n++;
		snprintf(path, sizeof(path), "/dev/shm/%s", entry->d_name);
		if (ret_bytes && stat(path, &s) == 0)
			*ret_bytes += (uint64_t)s.st_size;
	}
	closedir(folder);
	return n;
}
