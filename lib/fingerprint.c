/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/fingerprint.h"
#include "lib/columns.h"
#include "lib/fail.h"
#include "lib/layout.h"
#include "lib/log.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

uint64_t fby_fingerprint_text(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325ull;

	while (*text)
		hash = (hash ^ (unsigned char)*text++) * 0x100000001b3ull;
	return hash;
}

int64_t fby_fingerprint_time(const struct stat *st)
{
	return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

/* A sum, so that the order in which the file system tells names does not count. */
int fby_fingerprint_names(const char *root, uint64_t *ret_hash)
{
	DIR *folder = opendir(root);
	struct dirent *entry;
	uint64_t hash = 0;
	int r;

	if (!folder)
		return fby_fail_errno(-errno, "folder '%s'", root);
	while (errno = 0, (entry = readdir(folder)))
		if (*entry->d_name != '.')
			hash += fby_fingerprint_text(entry->d_name) *
				0x9e3779b97f4a7c15ull;
	r = -errno;
	closedir(folder);
	if (r)
		return fby_fail_errno(r, "folder '%s'", root);
	*ret_hash = hash;
	return 0;
}

static bool directory_changed(const char *path, int64_t then)
{
	struct stat st;

	if (then == FBY_UNREADABLE)
		return access(path, R_OK | X_OK) == 0;
	return stat(path, &st) < 0 || fby_fingerprint_time(&st) != then;
}

int fby_fingerprint_check(const struct fby_index *index)
{
	const char *root = fby_index_root(index), *directory;
	uint64_t names = 0, n = fby_index_directories(index), count = 0;
	const int64_t *ns = fby_index_column(index, "directory_ns", 8, &count);
	char path[FBY_PATH_BYTES];

	if (!ns || count != n || fby_fingerprint_names(root, &names) < 0 ||
	    names != fby_index_root_names(index)) {
		fby_log(FBY_LOG_RUN, "index '%s' is old: the list of classes changed",
			fby_index_file(index));
		return FBY_STALE;
	}
	for (uint64_t i = 0; i < n; i++) {
		directory = fby_index_directory(index, i);
		if (directory &&
		    snprintf(path, sizeof(path), "%s/%s", root, directory) <
			    (int)sizeof(path) &&
		    !directory_changed(path, ns[i]))
			continue;
		fby_log(FBY_LOG_RUN, "index '%s' is old: folder '%s' changed",
			fby_index_file(index), directory ? directory : "?");
		return FBY_STALE;
	}
	return 0;
}
