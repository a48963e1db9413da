/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A temporary folder with files in it, as a fixture of tests.
 */
#ifndef FBY_FOLDER_H
#define FBY_FOLDER_H

#include "tests/unit.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct folder {
	char path[64];
};

/* By one name at a time: some paths are longer than a call takes.  Closes `fd`. */
static inline void folder_empty(int fd)
{
	DIR *stream = fdopendir(fd);
	struct dirent *entry;

	while (stream && (entry = readdir(stream))) {
		const char *name = entry->d_name;

		if (!strcmp(name, ".") || !strcmp(name, "..") || !unlinkat(fd, name, 0))
			continue;
		folder_empty(openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
		unlinkat(fd, name, AT_REMOVEDIR);
	}
	if (stream)
		closedir(stream);
}

/* cmocka's set-up: an empty folder in *state. */
static inline int folder_create(void **state)
{
	struct folder *folder = calloc(1, sizeof(*folder));

	if (!folder)
		return -1;
	memcpy(folder->path, "/tmp/forebay-test-XXXXXX", 25);
	if (!mkdtemp(folder->path) || chmod(folder->path, 0755))
		return -1;
	*state = folder;
	return 0;
}

static inline int folder_destroy(void **state)
{
	struct folder *folder = *state;

	folder_empty(open(folder->path, O_RDONLY | O_DIRECTORY));
	rmdir(folder->path);
	free(folder);
	return 0;
}

/* "folder/path" in static memory, until the next call. */
static inline const char *folder_path(const struct folder *folder, const char *path)
{
	static char full[8192];

	snprintf(full, sizeof(full), "%s/%s", folder->path, path);
	return full;
}

/* Makes the folders above a path in it. */
static inline void folder_make_parents(const struct folder *folder, const char *path)
{
	char full[8192];

	snprintf(full, sizeof(full), "%s/%s", folder->path, path);
	for (char *slash = full; (slash = strchr(slash + 1, '/'));) {
		*slash = 0;
		mkdir(full, 0755);
		*slash = '/';
	}
}

/* A file with this text. */
static inline void folder_write(const struct folder *folder, const char *path,
				const char *text)
{
	FILE *file;

	folder_make_parents(folder, path);
	file = fopen(folder_path(folder, path), "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

#define in_folder(f) cmocka_unit_test_setup_teardown(f, folder_create, folder_destroy)

#endif
