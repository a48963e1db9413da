/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/shm.h"
#include "lib/fail.h"
#include "lib/log.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define FOLDER       "/dev/shm"
#define RESERVE_STEP (8ull << 20)

/* Field 22 of /proc/PID/stat; the name in field 2 may hold blanks and brackets. */
uint64_t fby_shm_process_start(int pid)
{
	unsigned long long start = 0;
	char path[64], text[1024];
	const char *rest;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return 0;
	text[n] = 0;
	rest = strrchr(text, ')');
	if (!rest ||
	    sscanf(rest + 1,
		   " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d "
		   "%*d %*d %*d %*d %llu",
		   &start) != 1)
		return 0;
	return start;
}

static void name_of(const char *kind, char *ret_name, size_t size)
{
	static _Atomic unsigned counter;
	int pid = getpid();

	snprintf(ret_name, size, "/forebay-%u-%d-%llu-%u-%s", getuid(), pid,
		 (unsigned long long)fby_shm_process_start(pid),
		 atomic_fetch_add(&counter, 1), kind);
}

static int open_named(const char *name)
{
	int fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	shm_unlink(name); /* at once: nothing may come between */
	return fd;
}

static int open_memfd(const char *name)
{
	int fd = memfd_create(name + 1, MFD_CLOEXEC | MFD_ALLOW_SEALING), r;

	if (fd < 0)
		return -errno;
	if (fchmod(fd, 0600) == 0) /* it is born 0777 */
		return fd;
	r = -errno;
	close(fd);
	return r;
}

/*
 * In steps, so that a fatal signal need not wait for gigabytes.  MAP_POPULATE would be
 * no check: on a full tmpfs it succeeds, and the SIGBUS comes later.
 */
static int reserve(int fd, uint64_t bytes)
{
	int r;

	if (ftruncate(fd, (off_t)bytes) < 0)
		return -errno;
	for (uint64_t at = 0; at < bytes; at += RESERVE_STEP) {
		do
			r = posix_fallocate(fd, (off_t)at,
					    (off_t)fby_min(RESERVE_STEP, bytes - at));
		while (r == EINTR);
		if (r)
			return -r;
	}
	return 0;
}

static bool folder_has(uint64_t bytes)
{
	struct statvfs s;

	return statvfs(FOLDER, &s) == 0 && (uint64_t)s.f_bavail * s.f_bsize >= bytes;
}

static int create_named(const char *name, uint64_t bytes)
{
	int fd, r;

	if (!folder_has(bytes))
		return -ENOSPC;
	fd = open_named(name);
	if (fd < 0)
		return fd;
	r = reserve(fd, bytes);
	if (r == 0)
		return fd;
	close(fd);
	return r;
}

static int create_memfd(const char *name, uint64_t bytes)
{
	int fd = open_memfd(name), r;

	if (fd < 0)
		return fd;
	r = reserve(fd, bytes);
	if (r == 0 &&
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		r = -errno;
	if (r == 0)
		return fd;
	close(fd);
	return r;
}

int fby_shm_create(const char *kind, uint64_t bytes, int *ret_fd)
{
	char name[128];
	int fd, why;

	name_of(kind, name, sizeof(name));
	fd = create_named(name, bytes);
	if (fd < 0) {
		why = fd;
		fd = create_memfd(name, bytes);
		if (fd >= 0)
			fby_log(FBY_LOG_RUN,
				"the pool's %s is a memfd: %s has no room for it (%s)",
				kind, FOLDER, strerror(-why));
	}
	if (fd < 0)
		return fby_fail_errno(fd == -ENOSPC ? -ENOMEM : fd,
				      "the pool's %s needs %llu bytes of shared memory",
				      kind, (unsigned long long)bytes);
	*ret_fd = fd;
	return 0;
}

/* ---- names left behind ---- */

static bool is_orphan(const char *name)
{
	unsigned uid, number;
	unsigned long long start;
	int pid, end = 0;

	if (sscanf(name, "forebay-%u-%d-%llu-%u-%n", &uid, &pid, &start, &number, &end) !=
		    4 ||
	    !end || uid != getuid())
		return false;
	return fby_shm_process_start(pid) != start;
}

void fby_shm_sweep(void)
{
	DIR *folder = opendir(FOLDER);
	struct dirent *entry;
	char name[300];

	if (!folder)
		return;
	while ((entry = readdir(folder))) {
		if (!is_orphan(entry->d_name))
			continue;
		snprintf(name, sizeof(name), "/%s", entry->d_name);
		shm_unlink(name);
	}
	closedir(folder);
}

/* ---- mapping ---- */

int fby_shm_map(int fd, uint64_t bytes, bool writable, void **ret_address)
{
	struct stat s;
	void *address;

	if (fstat(fd, &s) < 0)
		return fby_fail_errno(-errno, "descriptor %d of the pool", fd);
	if ((uint64_t)s.st_size != bytes)
		return fby_fail(-EBADMSG,
				"a part of the pool has %lld bytes instead of %llu",
				(long long)s.st_size, (unsigned long long)bytes);
	address = mmap(NULL, bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ,
		       MAP_SHARED, fd, 0);
	if (address == MAP_FAILED)
		return fby_fail_errno(-errno, "mapping %llu bytes of the pool",
				      (unsigned long long)bytes);
	madvise(address, bytes, MADV_DONTDUMP);
	*ret_address = address;
	return 0;
}

void fby_shm_unmap(void *address, uint64_t bytes)
{
	if (address)
		munmap(address, bytes);
}
