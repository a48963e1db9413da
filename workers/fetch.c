/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads files whole, into a buffer that grows.
 */
#include "workers/fetch.h"
#include "lib/fail.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A buffer that a rare large file has blown up beyond this is given back. */
#define KEEP_BYTES (2u << 20)

struct fby_fetch {
	const char *root; /* the folder that root_fd is open on */
	int root_fd;
	uint8_t *buffer;
	size_t size;
};

int fby_fetch_create(struct fby_fetch **ret_fetch)
{
	struct fby_fetch *f = calloc(1, sizeof(*f));

	if (f == NULL)
		return fby_fail(-ENOMEM, "no memory to read files");
	f->root_fd = -1;
	*ret_fetch = f;
	return 0;
}

void fby_fetch_destroy(struct fby_fetch *f)
{
	if (f == NULL)
		return;
	if (f->root_fd >= 0)
		close(f->root_fd);
	free(f->buffer);
	free(f);
}

static int open_root(struct fby_fetch *f, const char *root)
{
	if (f->root == root)
		return 0;
	if (f->root_fd >= 0)
		close(f->root_fd);
	f->root = NULL;
	f->root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (f->root_fd < 0)
		return fby_fail_errno(-errno, "cannot open the dataset's folder");
	f->root = root;
	return 0;
}

/* Not to wait where somebody put a FIFO, the file is opened without blocking. */
static int open_file(struct fby_fetch *f, const struct fby_entry *e)
{
	char path[PATH_MAX];
	int n, fd;

	n = snprintf(path, sizeof(path), "%s%s%s", e->directory,
		     *e->directory == 0 ? "" : "/", e->name);
	if (n < 0 || (size_t)n >= sizeof(path))
		return fby_fail(-ENAMETOOLONG, "the path of the file is too long");
	do
		fd = openat(f->root_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	while (fd < 0 && errno == EINTR);
	return fd < 0 ? fby_fail_errno(-errno, "cannot open the file") : fd;
}

/* How many bytes the entry means. */
static int measure(int fd, const struct fby_entry *e, uint64_t *ret_n)
{
	struct stat st;
	uint64_t size;

	if (fstat(fd, &st) < 0)
		return fby_fail_errno(-errno, "cannot look at the file");
	if (S_ISDIR(st.st_mode))
		return fby_fail(-EISDIR, "this is a directory");
	if (!S_ISREG(st.st_mode))
		return fby_fail(-EINVAL, "this is not a regular file");
	size = (uint64_t)st.st_size;
	if (e->offset > size || e->length > size - e->offset)
		return fby_fail(-EBADMSG,
				"the file has %llu bytes, the sample needs %llu from "
				"%llu on",
				(unsigned long long)size, (unsigned long long)e->length,
				(unsigned long long)e->offset);
	*ret_n = e->length > 0 ? e->length : size - e->offset;
	if (*ret_n == 0)
		return fby_fail(-EBADMSG, "the file is empty");
	if (*ret_n > FBY_MAX_FILE_BYTES)
		return fby_fail(-EFBIG, "%llu bytes are too many for a photograph",
				(unsigned long long)*ret_n);
	return 0;
}

static int reserve(struct fby_fetch *f, size_t n)
{
	size_t size = fby_align(n + 1, 1u << 16); /* an empty file needs a buffer, too */

	assert(size > n);
	if (n <= f->size && (f->size <= KEEP_BYTES || n > KEEP_BYTES))
		return 0;
	free(f->buffer);
	f->size = 0;
	f->buffer = malloc(size);
	if (f->buffer == NULL)
		return fby_fail(-ENOMEM, "no memory for a file of %zu bytes", n);
	f->size = size;
	return 0;
}

static int read_all(struct fby_fetch *f, int fd, uint64_t offset, size_t n)
{
	size_t done = 0;

	while (done < n) {
		ssize_t got =
			pread(fd, f->buffer + done, n - done, (off_t)(offset + done));

		if (got > 0)
			done += (size_t)got;
		else if (got == 0)
			return fby_fail(-EBADMSG, "the file ends after %zu of %zu bytes",
					done, n);
		else if (errno != EINTR)
			return fby_fail_errno(-errno, "cannot read the file");
	}
	return 0;
}

int fby_fetch_read(struct fby_fetch *f, const struct fby_entry *e,
		   struct fby_bytes *ret_bytes)
{
	uint64_t n = 0;
	int fd, r;

	r = open_root(f, e->root);
	if (r < 0)
		return r;
	fd = open_file(f, e);
	if (fd < 0)
		return fd;
	r = measure(fd, e, &n);
	if (r == 0)
		r = reserve(f, n);
	if (r == 0)
		r = read_all(f, fd, e->offset, n);
	close(fd);
	if (r < 0)
		return r;
	*ret_bytes = (struct fby_bytes){ f->buffer, n };
	return 0;
}
