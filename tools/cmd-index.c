/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forebay index: builds the index of a folder where it has none that fits, and tells
 * what is in it.
 */
#include "lib/columns.h"
#include "lib/dataset.h"
#include "lib/fail.h"
#include "lib/fingerprint.h"
#include "tools/command.h"
#include "tools/report.h"
#include "tools/walk.h"
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct arguments {
	const char *path, *output;
	bool force, progress, json;
	uint64_t n_listed;
};

static const char use[] =
	"usage: forebay index [OPTION]... PATH\n\n"
	"Lists the photographs in the image folder PATH (PATH/CLASS/PHOTO.jpg) in an\n"
	"index, where there is none that fits, and says what is in it.  PATH may be an\n"
	"index file as well.\n\n"
	"  -o, --output=FILE  write the index there\n"
	"  -f, --force        build it even where one fits\n"
	"  -p, --progress     print `done total` lines, in classes, while building\n"
	"  -l, --list[=N]     print the samples, or the first N: label, tab, path\n"
	"  -j, --json         print JSON\n"
	"  -h, --help         print this\n";

static int parse(int argc, char **argv, struct arguments *ret)
{
	static const struct option options[] = {
		{ "output", required_argument, NULL, 'o' },
		{ "force", no_argument, NULL, 'f' },
		{ "progress", no_argument, NULL, 'p' },
		{ "list", optional_argument, NULL, 'l' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	struct arguments a = { 0 };
	int option;

	optind = 0;
	while ((option = getopt_long(argc, argv, "o:fpl::jh", options, NULL)) >= 0) {
		if (option == 'o')
			a.output = optarg;
		else if (option == 'f')
			a.force = true;
		else if (option == 'p')
			a.progress = true;
		else if (option == 'j')
			a.json = true;
		else if (option == 'l' && !optarg)
			a.n_listed = UINT64_MAX;
		else if (option != 'l')
			return option == 'h' ? FBY_EXIT_YES : FBY_EXIT_USE;
		else if (fby_parse_number(optarg, UINT64_MAX, &a.n_listed) < 0)
			return fby_complain(FBY_EXIT_USE);
	}
	if (optind + 1 != argc) {
		fprintf(stderr, "forebay: index: one PATH is needed\n");
		return FBY_EXIT_USE;
	}
	a.path = argv[optind];
	*ret = a;
	return -1;
}

/* At most ten lines a second, and the last one. */
static void tell_progress(void *arg, uint64_t done, uint64_t total)
{
	uint64_t *last = arg, now = fby_now();

	if (done < total && now - *last < 100000000)
		return;
	*last = now;
	printf("%llu %llu\n", (unsigned long long)done, (unsigned long long)total);
	fflush(stdout);
}

/* $XDG_CACHE_HOME and the folder in it; what cannot be made is seen when writing. */
static void make_parents(const char *file)
{
	char path[FBY_PATH_BYTES];

	snprintf(path, sizeof(path), "%s", file);
	for (char *slash = path; (slash = strchr(slash + 1, '/'));) {
		*slash = 0;
		mkdir(path, 0700);
		*slash = '/';
	}
}

/* A folder that nobody may write is left alone by root as well. */
static int write_beside(struct fby_build *build, const struct fby_dataset *d)
{
	struct stat st;

	if (!stat(d->root, &st) && !(st.st_mode & (S_IWUSR | S_IWGRP | S_IWOTH)))
		return fby_fail_errno(-EACCES, "write '%s'", d->beside);
	return fby_build_write(build, d->beside, "");
}

static int tell_places(int r)
{
	char why[FBY_PATH_BYTES];

	snprintf(why, sizeof(why), "%s", fby_error());
	return fby_fail(r,
			"%s; an index goes beside the photographs or else into "
			"$XDG_CACHE_HOME ($HOME/.cache), one of which must take it",
			why);
}

/* Beside the data, or in the cache where that cannot be. */
static int write_somewhere(struct fby_build *build, const struct fby_dataset *d,
			   const char **ret_file)
{
	int r = write_beside(build, d);

	*ret_file = d->beside;
	if (!r || r == -ENOMEM)
		return r;
	if (*d->cache) {
		make_parents(d->cache);
		*ret_file = d->cache;
		r = fby_build_write(build, d->cache, d->root);
	}
	return r ? tell_places(r) : 0;
}

static int build_index(const struct arguments *a, const struct fby_dataset *d,
		       struct fby_index **ret_index)
{
	uint64_t last = 0;
	struct fby_walk_progress progress = { tell_progress, &last };
	const char *file = a->output;
	struct fby_build *build = NULL;
	int r;

	if ((r = fby_build_create(&build)) < 0)
		return r;
	r = fby_walk_folder(d->root, build, a->progress ? &progress : NULL);
	if (!r && file)
		r = fby_build_write(build, file, d->root);
	else if (!r)
		r = write_somewhere(build, d, &file);
	if (!r)
		r = fby_index_open(file, ret_index);
	fby_build_destroy(build);
	return r;
}

/* Where a file is named, no other counts. */
static int find_index(const struct arguments *a, const struct fby_dataset *d,
		      struct fby_index **ret_index)
{
	struct fby_dataset only = *d;

	if (a->force)
		return FBY_MISSING;
	if (a->output) {
		snprintf(only.beside, sizeof(only.beside), "%s", a->output);
		*only.cache = 0;
	}
	return fby_dataset_find(&only, ret_index);
}

static int open_index(const struct arguments *a, struct fby_index **ret_index)
{
	struct fby_dataset d = { 0 };
	struct stat st;
	size_t n;
	int r;

	assert(a->path);
	n = strlen(a->path);
	if (n > 4 && !strcmp(a->path + n - 4, ".idx") && !stat(a->path, &st) &&
	    S_ISREG(st.st_mode))
		return fby_index_open(a->path, ret_index);
	r = fby_dataset_locate(a->path, &d);
	if (!r)
		r = find_index(a, &d, ret_index);
	return r == FBY_MISSING ? build_index(a, &d, ret_index) : r;
}

int fby_cmd_index(int argc, char **argv)
{
	struct fby_index *index = NULL;
	struct arguments a = { 0 };
	int r = parse(argc, argv, &a);

	if (r >= 0) {
		fputs(use, r == FBY_EXIT_YES ? stdout : stderr);
		return r;
	}
	r = open_index(&a, &index);
	if (!r)
		r = a.json ? fby_report_json(index, a.n_listed)
			   : fby_report_text(index, a.n_listed);
	fby_index_close(index);
	if (!r && fflush(stdout))
		r = fby_fail_errno(-errno, "standard output");
	if (r < 0)
		return fby_complain(r == -ENOENT ? FBY_EXIT_NO : FBY_EXIT_SYSTEM);
	return FBY_EXIT_YES;
}
