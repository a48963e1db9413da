/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/dataset.h"
#include "lib/columns.h"
#include "lib/fail.h"
#include "lib/fingerprint.h"
#include "lib/log.h"
#include "lib/program.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- where ---- */

static void locate_cache(struct fby_dataset *d)
{
	const char *base = getenv("XDG_CACHE_HOME"), *middle = "";
	int n;

	if (!base || *base != '/') {
		base = getenv("HOME");
		middle = "/.cache";
	}
	if (!base || *base != '/')
		return;
	n = snprintf(d->cache, sizeof(d->cache), "%s%s/forebay/%016llx.idx", base, middle,
		     (unsigned long long)fby_fingerprint_text(d->root));
	if (n >= (int)sizeof(d->cache))
		*d->cache = 0;
}

int fby_dataset_locate(const char *path, struct fby_dataset *ret_dataset)
{
	struct fby_dataset d = { 0 };
	struct stat st;

	static_assert(sizeof(d.root) >= PATH_MAX, "realpath writes that much");
	if (!realpath(path, d.root) || stat(d.root, &st) < 0)
		return fby_fail_errno(-errno, "dataset '%s'", path);
	if (!S_ISDIR(st.st_mode))
		return fby_fail(-ENOTDIR,
				"'%s' is neither a folder of photographs nor an index",
				path);
	if (snprintf(d.beside, sizeof(d.beside), "%s/%s",
		     strcmp(d.root, "/") ? d.root : "",
		     FBY_INDEX_NAME) >= (int)sizeof(d.beside))
		return fby_fail_errno(-ENAMETOOLONG, "dataset '%s'", path);
	locate_cache(&d);
	*ret_dataset = d;
	return 0;
}

/* An index that is damaged or of another folder is as good as none. */
static int open_fresh(const char *file, const char *root, struct fby_index **ret_index)
{
	struct fby_index *index = NULL;

	if (!*file || access(file, F_OK) < 0)
		return FBY_MISSING;
	if (fby_index_open(file, &index) < 0) {
		fby_log(FBY_LOG_RUN, "%s", fby_error());
		return FBY_MISSING;
	}
	if (strcmp(fby_index_root(index), root) != 0 || fby_fingerprint_check(index)) {
		fby_index_close(index);
		return FBY_MISSING;
	}
	*ret_index = index;
	return 0;
}

int fby_dataset_find(const struct fby_dataset *dataset, struct fby_index **ret_index)
{
	if (!open_fresh(dataset->beside, dataset->root, ret_index))
		return 0;
	return open_fresh(dataset->cache, dataset->root, ret_index);
}

/* ---- the program ---- */

/*
 * Standard error goes to `fd`, the rest nowhere.  No signal is blocked or ignored in
 * the child: a Python thread may have done both.
 */
static int start_tool(const char *tool, const char *root, int fd, pid_t *ret_pid)
{
	char *argv[] = { (char *)tool, (char *)"index", (char *)"--", (char *)root,
			 NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none, all;
	int r;

	sigemptyset(&none);
	sigfillset(&all);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attr);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
	posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_RDWR, 0);
	posix_spawn_file_actions_adddup2(&actions, fd, 2);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &all);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	r = posix_spawn(ret_pid, tool, &actions, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return r ? fby_fail_errno(-r, "start '%s'", tool) : 0;
}

/* All of it, so that the writer never waits; what fits is kept. */
static void read_words(int fd, char *ret_words, size_t size)
{
	char buffer[512];
	size_t n = 0;
	ssize_t got;

	while ((got = read(fd, buffer, sizeof(buffer))) > 0 ||
	       (got < 0 && errno == EINTR)) {
		size_t part = fby_min(got > 0 ? (uint64_t)got : 0, size - 1 - n);

		memcpy(ret_words + n, buffer, part);
		n += part;
	}
	while (n && ret_words[n - 1] == '\n')
		n--;
	ret_words[n] = 0;
}

/* Exit status 1 is the answer "there is nothing to index". */
static int tell_failure(const char *tool, int status, const char *words)
{
	static const char own[] = "forebay: ";

	if (!strncmp(words, own, sizeof(own) - 1))
		words += sizeof(own) - 1;
	if (WIFSIGNALED(status))
		return fby_fail(WTERMSIG(status) == SIGINT ? -EINTR : -EIO,
				"'%s index' was ended by signal %d%s%s", tool,
				WTERMSIG(status), *words ? ": " : "", words);
	if (!*words)
		return fby_fail(-EIO, "'%s index' ended with status %d", tool,
				WEXITSTATUS(status));
	return fby_fail(WEXITSTATUS(status) == 1 ? -ENOENT : -EIO, "%s", words);
}

static int run_tool(const char *root)
{
	/* Package or bin, build folder, installation, one with lib/x86_64-linux-gnu. */
	static const char *const place[] = { "forebay", "../tools/forebay",
					     "../bin/forebay", "../../bin/forebay" };
	char tool[FBY_PATH_BYTES], words[800] = "";
	int r, ends[2], status = 0;
	pid_t pid;

	r = fby_program_find("FOREBAY_TOOL", place, FBY_ARRAY_SIZE(place), tool,
			     sizeof(tool));
	if (r < 0)
		return r;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return fby_fail_errno(-errno, "pipe");
	fby_log(FBY_LOG_RUN, "building the index of '%s'", root);
	r = start_tool(tool, root, ends[1], &pid);
	close(ends[1]);
	if (!r)
		read_words(ends[0], words, sizeof(words));
	close(ends[0]);
	if (r)
		return r;
	do
		r = waitpid(pid, &status, 0);
	while (r < 0 && errno == EINTR);
	/* Where others reap our children, the index itself tells how it ended. */
	if (r < 0 && !*words)
		return 0;
	if (r < 0)
		return fby_fail(-EIO, "%s", words);
	return status ? tell_failure(tool, status, words) : 0;
}

/* ---- one builder ---- */

static int lock(int fd, const char *root)
{
	if (!flock(fd, LOCK_EX))
		return 0;
	if (errno == EINTR)
		return fby_fail(-EINTR,
				"interrupted while another process was building the "
				"index of '%s'",
				root);
	return -errno;
}

/*
 * The lock is on the folder itself, which leaves nothing behind; where the file system
 * refuses that (NFS does), on the cache's copy of the name; where that fails too, two
 * may build, which costs time and breaks nothing.
 */
static int take_lock(const struct fby_dataset *d, int *ret_fd)
{
	char file[FBY_PATH_BYTES + 8];
	int fd = open(d->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC), r;

	*ret_fd = fd;
	if (fd >= 0) {
		r = lock(fd, d->root);
		if (!r || r == -EINTR)
			return r;
		close(fd);
	}
	snprintf(file, sizeof(file), "%s.lock", d->cache);
	*ret_fd = fd = *d->cache ? open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
	return fd >= 0 && lock(fd, d->root) == -EINTR ? -EINTR : 0;
}

static int build(const struct fby_dataset *d, struct fby_index **ret_index)
{
	int fd = -1, r = take_lock(d, &fd);

	if (!r && (r = fby_dataset_find(d, ret_index)) == FBY_MISSING) {
		r = run_tool(d->root);
		if (!r && (r = fby_dataset_find(d, ret_index)) == FBY_MISSING)
			r = fby_fail(-EIO,
				     "the index of '%s' was built and does not fit: the "
				     "folder is being changed, or neither it nor the "
				     "cache folder can be written",
				     d->root);
	}
	if (fd >= 0)
		close(fd);
	return r;
}

static bool is_index_name(const char *path)
{
	size_t n = strlen(path);

	return n > 4 && !strcmp(path + n - 4, ".idx");
}

int fby_dataset_open(const char *path, struct fby_index **ret_index)
{
	struct fby_dataset *d;
	struct stat st;
	int r;

	if (is_index_name(path) && !stat(path, &st) && !S_ISDIR(st.st_mode))
		return fby_index_open(path, ret_index);
	d = calloc(1, sizeof(*d));
	if (!d)
		return fby_fail(-ENOMEM, "no memory for the names of an index");
	r = fby_dataset_locate(path, d);
	if (!r)
		r = fby_dataset_find(d, ret_index);
	if (r == FBY_MISSING)
		r = build(d, ret_index);
	free(d);
	return r;
}
