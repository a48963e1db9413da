/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/attach.h"
#include "lib/fail.h"
#include "lib/shm.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Segments that were visited: workers have them open as well. */
struct walk {
	const struct fby_attach_visitor *visitor;
	struct {
		uint64_t device, inode;
	} * seen;
	size_t n_seen;
};

/* lib/shm.c names them so, in /dev/shm or as a memfd; both are deleted. */
static bool is_control_segment(const char *target)
{
	static const char *const begin[] = { "/dev/shm/forebay-", "/memfd:forebay-" };
	static const char end[] = "-ctl (deleted)";
	size_t n = strlen(target);

	if (n < sizeof(end) || strcmp(target + n - (sizeof(end) - 1), end) != 0)
		return false;
	for (size_t i = 0; i < FBY_ARRAY_SIZE(begin); i++)
		if (!strncmp(target, begin[i], strlen(begin[i])))
			return true;
	return false;
}

/* Remembers a segment; false where it was known, or there is no memory. */
static bool is_new(struct walk *walk, const struct stat *st)
{
	void *grown;

	for (size_t i = 0; i < walk->n_seen; i++)
		if (walk->seen[i].device == st->st_dev &&
		    walk->seen[i].inode == st->st_ino)
			return false;
	grown = reallocarray(walk->seen, walk->n_seen + 1, sizeof(*walk->seen));
	if (!grown)
		return false;
	walk->seen = grown;
	walk->seen[walk->n_seen].device = st->st_dev;
	walk->seen[walk->n_seen++].inode = st->st_ino;
	return true;
}

/* All zero: its trainer has not come to the header yet. */
static bool is_being_born(const struct fby_ctl *ctl)
{
	return !ctl->header.magic && atomic_load(&ctl->header.state) == FBY_STATE_BIRTH;
}

static void visit(struct walk *walk, int fd, const struct stat *st)
{
	struct fby_attached attached = { 0 };
	uint64_t bytes = (uint64_t)st->st_size;
	void *ctl = NULL;

	if (bytes < sizeof(struct fby_ctl)) {
		fby_fail(-EBADMSG, "%llu bytes are too few for a control segment",
			 (unsigned long long)bytes);
		walk->visitor->visit(walk->visitor->arg, NULL);
		return;
	}
	if (fby_shm_map(fd, bytes, false, &ctl) < 0) {
		walk->visitor->visit(walk->visitor->arg, NULL);
		return;
	}
	attached.pool.ctl = ctl;
	attached.age_s = (double)(fby_now() - attached.pool.ctl->header.birth_ns) * 1e-9;
	if (!is_being_born(ctl))
		walk->visitor->visit(walk->visitor->arg,
				     fby_pool_verify(ctl, bytes, &attached.pool.geo) < 0
					     ? NULL
					     : &attached);
	fby_shm_unmap(ctl, bytes);
}

/* An empty one is being born. */
static void look_at_link(struct walk *walk, int folder, const char *name)
{
	char target[256];
	struct stat st;
	ssize_t n = readlinkat(folder, name, target, sizeof(target) - 1);
	int fd;

	if (n <= 0)
		return;
	target[n] = 0;
	if (!is_control_segment(target))
		return;
	fd = openat(folder, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	    st.st_size && is_new(walk, &st))
		visit(walk, fd, &st);
	close(fd);
}

/* Other users' processes, and those that just ended, are passed over. */
static void look_at_process(struct walk *walk, const char *pid)
{
	struct dirent *entry;
	char path[64];
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%.20s/fd", pid);
	folder = opendir(path);
	while (folder && (entry = readdir(folder)))
		if (*entry->d_name != '.')
			look_at_link(walk, dirfd(folder), entry->d_name);
	if (folder)
		closedir(folder);
}

int fby_attach_each(int only_pid, const struct fby_attach_visitor *visitor)
{
	struct walk walk = { .visitor = visitor };
	DIR *folder = opendir("/proc");
	struct dirent *entry;

	if (!folder)
		return fby_fail_errno(-errno, "folder '/proc'");
	while ((entry = readdir(folder))) {
		int pid = atoi(entry->d_name);

		if (pid > 0 && (!only_pid || pid == only_pid))
			look_at_process(&walk, entry->d_name);
	}
	closedir(folder);
	free(walk.seen);
	return 0;
}
