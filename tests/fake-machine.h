/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A folder that stands for another machine: for tests of what lib/machine.c reads.
 */
#ifndef FBY_FAKE_MACHINE_H
#define FBY_FAKE_MACHINE_H

#include "tests/folder.h"

/* cmocka's set-up: an empty machine in *state, which is the one that is read. */
static inline int fake_machine_create(void **state)
{
	struct folder *folder;

	if (folder_create(state))
		return -1;
	folder = *state;
	return setenv("FOREBAY_SYSROOT", folder->path, 1);
}

static inline int fake_machine_destroy(void **state)
{
	unsetenv("FOREBAY_SYSROOT");
	return folder_destroy(state);
}

/* Writes a file of the machine, with the folders above it. */
static inline void fake_machine_write(struct folder *machine, const char *path,
				      const char *text)
{
	folder_write(machine, path + 1, text);
}

#define on_machine(f)                                                                    \
	cmocka_unit_test_setup_teardown(f, fake_machine_create, fake_machine_destroy)

#endif
