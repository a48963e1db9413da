/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/machine.h"
#include "lib/layout.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

bool fby_machine_path(const char *path, char *ret_path, size_t size)
{
	const char *root = getenv("FOREBAY_SYSROOT");

	return (size_t)snprintf(ret_path, size, "%s%s", root ? root : "", path) < size;
}

bool fby_machine_read(const char *path, char *ret_text, size_t size)
{
	char full[FBY_PATH_BYTES];
	size_t n = 0;
	ssize_t got;
	int fd;

	assert(size);
	if (!fby_machine_path(path, full, sizeof(full)))
		return false;
	fd = open(full, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	while (n < size - 1 && ((got = read(fd, ret_text + n, size - 1 - n)) > 0 ||
				(got < 0 && errno == EINTR)))
		n += got > 0 ? (size_t)got : 0;
	close(fd);
	ret_text[n] = 0;
	return n > 0;
}

bool fby_machine_number(const char *path, uint64_t *ret_number)
{
	char text[64], *end;
	unsigned long long number;

	if (!fby_machine_read(path, text, sizeof(text)) || *text < '0' || *text > '9')
		return false;
	number = strtoull(text, &end, 10);
	if (*end && *end != '\n')
		return false;
	*ret_number = number;
	return true;
}
