/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/cgroup.h"
#include "lib/layout.h"
#include "lib/machine.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Version 1 says "no limit" with a number near 2^63, rounded to pages. */
#define NO_LIMIT (1ull << 62)

/* What is looked for in each group: a controller of version 1 and what to do there. */
struct search {
	const char *controller;
	void (*look)(const char *folder, bool second, void *answer);
	void *answer;
};

/* Is `word` in a list with commas? */
static bool lists(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = list; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (!strncmp(at, word, n) && (!at[n] || at[n] == ','))
			return true;
	}
	return false;
}

/* The kernel writes blanks and the like in these paths as \040. */
static void unescape(char *path)
{
	char *to = path;

	for (const char *from = path; *from; from++, to++) {
		*to = *from;
		if (*from != '\\' || strspn(from + 1, "01234567") < 3)
			continue;
		*to = (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + from[3] - '0');
		from += 3;
	}
	*to = 0;
}

/* The group's path as seen from where the mount begins; "" where it cannot be seen. */
static const char *below(const char *path, const char *mount_root)
{
	size_t n = strlen(mount_root);

	if (!strcmp(mount_root, "/"))
		n = 0;
	if (strncmp(path, mount_root, n) != 0 || (path[n] && path[n] != '/') ||
	    strstr(path, "/..") || !strcmp(path + n, "/"))
		return "";
	return path + n;
}

/* From the group up to the root of the mount. */
static void look_upwards(const struct search *s, const char *mount, const char *group,
			 bool second)
{
	char folder[FBY_PATH_BYTES];
	size_t top = strlen(mount);

	if ((size_t)snprintf(folder, sizeof(folder), "%s%s", mount, group) >=
	    sizeof(folder))
		return;
	while (s->look(folder, second, s->answer), strlen(folder) > top) {
		char *slash = strrchr(folder + top, '/');

		if (!slash)
			break;
		*slash = 0;
	}
}

/*
 * Our group in one hierarchy: a line "id:controllers:path" of /proc/self/cgroup, where
 * version 2 is "0::path".
 */
static bool find_group(const char *groups, const char *controller, bool second,
		       char *ret_path, size_t size)
{
	char line[FBY_PATH_BYTES];

	while (*groups) {
		size_t n = strcspn(groups, "\n");
		char *list, *path;

		snprintf(line, sizeof(line), "%.*s", (int)n, groups);
		groups += n + (groups[n] == '\n');
		list = strchr(line, ':');
		path = list ? strchr(list + 1, ':') : NULL;
		if (!path || path[1] != '/')
			continue;
		*path++ = 0;
		list++;
		if (second ? !strncmp(line, "0:", 2) && !*list : lists(list, controller))
			return (size_t)snprintf(ret_path, size, "%s", path) < size;
	}
	return false;
}

/*
 * A line of /proc/self/mountinfo: id, parent, device, root, mount point, options,
 * tags ..., "-", type, source, options of the file system.  See proc(5).
 */
static void look_in_mount(const struct search *s, const char *groups, char *line)
{
	char root[1024], mount[1024], type[32], options[512], group[FBY_PATH_BYTES];
	char *rest = strstr(line, " - ");
	bool second;

	if (!rest || sscanf(line, "%*s %*s %*s %1023s %1023s", root, mount) != 2 ||
	    sscanf(rest + 3, "%31s %*s %511s", type, options) != 2)
		return;
	second = !strcmp(type, "cgroup2");
	if (!second && (strcmp(type, "cgroup") != 0 || !lists(options, s->controller)))
		return;
	unescape(root);
	unescape(mount);
	if (find_group(groups, s->controller, second, group, sizeof(group)))
		look_upwards(s, mount, below(group, root), second);
}

static void search(const struct search *s)
{
	static const size_t size = 1 << 18;
	char *groups = malloc(size), *mounts = malloc(size), *save = NULL;

	if (groups && mounts && fby_machine_read("/proc/self/cgroup", groups, size) &&
	    fby_machine_read("/proc/self/mountinfo", mounts, size))
		for (char *line = strtok_r(mounts, "\n", &save); line;
		     line = strtok_r(NULL, "\n", &save))
			look_in_mount(s, groups, line);
	free(groups);
	free(mounts);
}

static bool read_in(const char *folder, const char *name, char *ret_text, size_t size)
{
	char path[FBY_PATH_BYTES + 64];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return fby_machine_read(path, ret_text, size);
}

static bool number_in(const char *folder, const char *name, uint64_t *ret_number)
{
	char path[FBY_PATH_BYTES + 64];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return fby_machine_number(path, ret_number);
}

/* ---- CPU ---- */

static void look_at_cpu(const char *folder, bool second, void *answer)
{
	uint64_t quota = 0, period = 0;
	double *smallest = answer, cpus;
	char text[64];
	bool given;

	if (second)
		given = read_in(folder, "cpu.max", text, sizeof(text)) && *text >= '0' &&
			*text <= '9' && sscanf(text, "%20lu %20lu", &quota, &period) == 2;
	else
		given = number_in(folder, "cpu.cfs_quota_us", &quota) &&
			number_in(folder, "cpu.cfs_period_us", &period);
	if (!given || !quota || !period)
		return;
	cpus = (double)quota / (double)period;
	if (*smallest == 0 || cpus < *smallest)
		*smallest = cpus;
}

double fby_cgroup_cpus(void)
{
	double cpus = 0;
	struct search s = { "cpu", look_at_cpu, &cpus };

	search(&s);
	return cpus;
}

/* ---- memory ---- */

/* A line "name number" of memory.stat; 0 where there is none. */
static uint64_t stat_of(const char *stat, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = stat; at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (!strncmp(at, name, n) && at[n] == ' ')
			return strtoull(at + n + 1, NULL, 10);
	}
	return 0;
}

static uint64_t cached(const char *folder, bool second)
{
	char text[8192];

	if (!read_in(folder, "memory.stat", text, sizeof(text)))
		return 0;
	if (second)
		return stat_of(text, "inactive_file") + stat_of(text, "active_file");
	return stat_of(text, "total_inactive_file") + stat_of(text, "total_active_file");
}

/* Above memory.high nothing fails, but everything waits. */
static uint64_t limit_of(const char *folder, bool second)
{
	uint64_t max = UINT64_MAX, high = UINT64_MAX;

	if (second) {
		number_in(folder, "memory.max", &max);
		number_in(folder, "memory.high", &high);
	} else {
		number_in(folder, "memory.limit_in_bytes", &max);
	}
	return fby_min(max, high);
}

static void look_at_memory(const char *folder, bool second, void *answer)
{
	uint64_t *room = answer, limit = limit_of(folder, second), used = 0, cache;

	if (limit >= NO_LIMIT)
		return;
	number_in(folder, second ? "memory.current" : "memory.usage_in_bytes", &used);
	cache = cached(folder, second);
	used -= fby_min(used, cache);
	*room = fby_min(*room, limit - fby_min(limit, used));
}

uint64_t fby_cgroup_memory_room(void)
{
	uint64_t room = UINT64_MAX;
	struct search s = { "memory", look_at_memory, &room };

	search(&s);
	return room;
}
