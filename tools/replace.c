/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/replace.h"
#include "lib/fail.h"
#include "lib/layout.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct fby_replace {
	char file[FBY_PATH_BYTES], folder[FBY_PATH_BYTES];
	char other[FBY_PATH_BYTES + 32]; /* "" while the file has no name */
	int fd;
};

/* The folder of `file`, "." where it names none. */
static void set_folder(struct fby_replace *replace)
{
	char *slash;

	memcpy(replace->folder, replace->file, sizeof(replace->folder));
	slash = strrchr(replace->folder, '/');
	if (slash)
		slash[slash == replace->folder] = 0;
	else
		snprintf(replace->folder, sizeof(replace->folder), ".");
}

/*
 * Without a name where the file system can do that: then nothing is left behind even
 * by a kill.
 */
static int open_other(struct fby_replace *replace)
{
	replace->fd = open(replace->folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0644);
	if (replace->fd >= 0)
		return 0;
	snprintf(replace->other, sizeof(replace->other), "%s.XXXXXX", replace->file);
	replace->fd = mkostemp(replace->other, O_CLOEXEC);
	if (replace->fd >= 0 && !fchmod(replace->fd, 0644))
		return 0;
	if (replace->fd < 0)
		*replace->other = 0;
	return fby_fail_errno(-errno, "write '%s'", replace->file);
}

/* Root could put a file in the place of /dev/null. */
static int refuse_special(const char *file)
{
	struct stat st;

	if (stat(file, &st) < 0 || S_ISREG(st.st_mode))
		return 0;
	return fby_fail(-EINVAL, "'%s' is no ordinary file and cannot be replaced by one",
			file);
}

int fby_replace_create(const char *file, struct fby_replace **ret_replace)
{
	struct fby_replace *replace = calloc(1, sizeof(*replace));
	int r;

	if (!replace)
		return fby_fail(-ENOMEM, "no memory to write '%s'", file);
	replace->fd = -1;
	if (strlen(file) >= sizeof(replace->file)) {
		r = fby_fail_errno(-ENAMETOOLONG, "write '%s'", file);
		goto fail;
	}
	memcpy(replace->file, file, strlen(file) + 1);
	set_folder(replace);
	if ((r = refuse_special(file)) < 0)
		goto fail;
	if ((r = open_other(replace)) < 0)
		goto fail;
	*ret_replace = replace;
	return 0;
fail:
	fby_replace_destroy(replace);
	return r;
}

int fby_replace_write(struct fby_replace *replace, const void *bytes, size_t n)
{
	const char *from = bytes;

	while (n) {
		ssize_t done = write(replace->fd, from, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return fby_fail_errno(-errno, "write '%s'", replace->file);
		from += done;
		n -= (size_t)done;
	}
	return 0;
}

/* A name for what has none yet: a link cannot take the place of a file, a rename can. */
static int give_name(struct fby_replace *replace)
{
	char self[64];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", replace->fd);
	snprintf(replace->other, sizeof(replace->other), "%s.%d", replace->file,
		 (int)getpid());
	unlink(replace->other);
	if (!linkat(AT_FDCWD, self, AT_FDCWD, replace->other, AT_SYMLINK_FOLLOW))
		return 0;
	*replace->other = 0;
	return fby_fail_errno(-errno, "name '%s'", replace->file);
}

/* Best effort: not every file system can do that with a folder. */
static void sync_folder(const char *folder)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return;
	fsync(fd);
	close(fd);
}

int fby_replace_commit(struct fby_replace *replace)
{
	int r;

	if (fsync(replace->fd) < 0)
		return fby_fail_errno(-errno, "write '%s'", replace->file);
	if (!*replace->other && (r = give_name(replace)) < 0)
		return r;
	if (rename(replace->other, replace->file) < 0)
		return fby_fail_errno(-errno, "rename to '%s'", replace->file);
	*replace->other = 0;
	sync_folder(replace->folder);
	return 0;
}

void fby_replace_destroy(struct fby_replace *replace)
{
	if (!replace)
		return;
	if (replace->fd >= 0)
		close(replace->fd);
	if (*replace->other)
		unlink(replace->other);
	free(replace);
}
