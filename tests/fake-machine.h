/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A folder that stands for another machine: for tests of what lib/machine.c reads.
 */
#ifndef FBY_FAKE_MACHINE_H
#define FBY_FAKE_MACHINE_H

#include "tests/unit.h"
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct fake_machine {
	char root[64];
};

/* cmocka's set-up: an empty machine in *state, which is the one that is read. */
static inline int fake_machine_create(void **state)
{
	struct fake_machine *m = calloc(1, sizeof(*m));

	if (!m)
		return -1;
	memcpy(m->root, "/tmp/forebay-machine-XXXXXX", 28);
	if (!mkdtemp(m->root) || setenv("FOREBAY_SYSROOT", m->root, 1))
		return -1;
	*state = m;
	return 0;
}

static inline int fake_machine_remove(const char *path, const struct stat *st, int type,
				      struct FTW *where)
{
	(void)st;
	(void)type;
	(void)where;
	return remove(path);
}

static inline int fake_machine_destroy(void **state)
{
	struct fake_machine *m = *state;

	nftw(m->root, fake_machine_remove, 16, FTW_DEPTH | FTW_PHYS);
	unsetenv("FOREBAY_SYSROOT");
	free(m);
	return 0;
}

/* Writes a file of the machine, with the folders above it. */
static inline void fake_machine_write(struct fake_machine *m, const char *path,
				      const char *text)
{
	char full[512];
	FILE *file;

	snprintf(full, sizeof(full), "%s%s", m->root, path);
	for (char *slash = full; (slash = strchr(slash + 1, '/'));) {
		*slash = 0;
		mkdir(full, 0700);
		*slash = '/';
	}
	file = fopen(full, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

#endif
