/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/program.h"
#include "lib/fail.h"
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of the library, or of the program that it is linked into. */
static int own_folder(char *ret_folder, size_t size)
{
	Dl_info info;
	char *real, *slash;
	bool fits;

	if (!dladdr((void *)(uintptr_t)own_folder, &info) || !info.dli_fname)
		return fby_fail(-ENOENT, "the library does not know where it lies");
	real = realpath(info.dli_fname, NULL);
	if (!real)
		real = realpath("/proc/self/exe", NULL); /* a bare argv[0] */
	if (!real)
		return fby_fail_errno(-errno, "'%s'", info.dli_fname);
	slash = strrchr(real, '/');
	*slash = 0;
	fits = (size_t)snprintf(ret_folder, size, "%s", real) < size;
	free(real);
	return fits ? 0 : fby_fail(-ENAMETOOLONG, "the library's path is too long");
}

/* A folder may be entered where a program may be run: lib/forebay/ is no program. */
static bool is_program(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

static int by_variable(const char *variable, const char *path, char *ret_path,
		       size_t size)
{
	if (access(path, X_OK) < 0)
		return fby_fail_errno(-ENOENT, "%s names '%s', which cannot be run",
				      variable, path);
	if ((size_t)snprintf(ret_path, size, "%s", path) >= size)
		return fby_fail(-ENAMETOOLONG, "%s is too long", variable);
	return 0;
}

int fby_program_find(const char *variable, const char *const *place, size_t n,
		     char *ret_path, size_t size)
{
	const char *wanted = getenv(variable);
	char folder[3000];
	int r;

	if (wanted && *wanted)
		return by_variable(variable, wanted, ret_path, size);
	r = own_folder(folder, sizeof(folder));
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		if ((size_t)snprintf(ret_path, size, "%s/%s", folder, place[i]) < size &&
		    is_program(ret_path))
			return 0;
	return fby_fail(-ENOENT,
			"no program at '%s/%s' or its other places; %s can name it",
			folder, place[0], variable);
}
