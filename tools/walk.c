/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/walk.h"
#include "lib/columns.h"
#include "lib/fail.h"
#include "lib/fingerprint.h"
#include "lib/layout.h"
#include "tools/names.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/*
 * Time stamps of files come from a clock that ticks every 10 ms at worst.  A folder
 * changed within this time is read only after it: else a later change could leave the
 * same stamp.
 */
#define TICK_NS 10000000

/* A folder on the list of those to be read, or read. */
struct folder {
	struct folder *parent; /* NULL: the root */
	char *path;            /* below the root; "" for the root */
	dev_t device;
	ino_t inode;
	int64_t ns;
	struct fby_names files, folders;
};

/* One class being read: folders in the order they were found. */
struct walk {
	const char *root;
	struct fby_build *build;
	struct folder **folder;
	size_t n, n_max;
};

enum found { FILE_FOUND, FOLDER_FOUND, NOTHING_FOUND };

bool fby_walk_is_image(const char *name)
{
	static const char *const extension[] = { ".jpg", ".jpeg", ".png",  ".ppm", ".bmp",
						 ".pgm", ".tif",  ".tiff", ".webp" };
	size_t n = strlen(name);

	for (size_t i = 0; i < FBY_ARRAY_SIZE(extension); i++) {
		size_t k = strlen(extension[i]);

		if (n >= k && !strcasecmp(name + n - k, extension[i]))
			return true;
	}
	return false;
}

static void folder_destroy(struct folder *folder)
{
	if (!folder)
		return;
	free(folder->path);
	fby_names_finish(&folder->files);
	fby_names_finish(&folder->folders);
	free(folder);
}

static int folder_create(struct folder *parent, const char *name, struct folder **ret)
{
	struct folder *folder = calloc(1, sizeof(*folder));

	if (folder)
		folder->parent = parent;
	if (!folder || asprintf(&folder->path, "%s%s%s", parent ? parent->path : "",
				parent && *parent->path ? "/" : "", name) < 0) {
		free(folder);
		return fby_fail(-ENOMEM, "no memory for the name of a folder");
	}
	*ret = folder;
	return 0;
}

/* What is left out; named by its path below the root. */
static int skip(struct walk *walk, const struct folder *folder, const char *name,
		unsigned kind)
{
	char path[FBY_PATH_BYTES + NAME_MAX + 2];

	snprintf(path, sizeof(path), "%s%s%s", folder->path,
		 *folder->path && *name ? "/" : "", name);
	return fby_build_skip(walk->build, kind, path);
}

static bool too_long(const struct walk *walk, const struct folder *folder,
		     const char *name)
{
	return strlen(walk->root) + 1 + strlen(folder->path) + 1 + strlen(name) >=
	       FBY_PATH_BYTES;
}

static bool is_readable(int fd, const char *name, const struct stat *st)
{
	const mode_t all = S_IRUSR | S_IRGRP | S_IROTH;

	return (st->st_mode & all) == all || !faccessat(fd, name, R_OK, AT_EACCESS);
}

/* What kind of thing to skip, or -1 where it is gone since we read its name. */
static int why_no_stat(int fd, const char *name, int error)
{
	struct stat st;

	if (error == ELOOP)
		return FBY_SKIP_LOOP;
	if (error == EACCES)
		return FBY_SKIP_UNREADABLE;
	if (!fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) && S_ISLNK(st.st_mode))
		return FBY_SKIP_DANGLING;
	return -1;
}

/* What is not a hidden name.  Most folders and strangers are told by their type. */
static int look_behind(int fd, const char *name, unsigned char type, bool image,
		       enum found *ret)
{
	struct stat st = { 0 };

	if (type == DT_REG && !image)
		return FBY_SKIP_OTHER;
	if (type != DT_DIR && fstatat(fd, name, &st, 0) < 0)
		return why_no_stat(fd, name, errno);
	if (type == DT_DIR || S_ISDIR(st.st_mode)) {
		*ret = FOLDER_FOUND;
		return -1;
	}
	if (!S_ISREG(st.st_mode))
		return FBY_SKIP_SPECIAL;
	if (!image)
		return FBY_SKIP_OTHER;
	if (!is_readable(fd, name, &st))
		return FBY_SKIP_UNREADABLE;
	*ret = FILE_FOUND;
	return -1;
}

/* Says what it is, or counts it among the skipped; our own index is neither. */
static int look(struct walk *walk, const struct folder *folder, int fd,
		const struct dirent *entry, enum found *ret)
{
	const char *name = entry->d_name;
	bool image = fby_walk_is_image(name) || !folder->parent;
	int kind;

	*ret = NOTHING_FOUND;
	if (!strncmp(name, FBY_INDEX_NAME, strlen(FBY_INDEX_NAME)))
		return 0;
	if (*name == '.')
		kind = FBY_SKIP_HIDDEN;
	else if (too_long(walk, folder, name))
		kind = FBY_SKIP_LONG;
	else
		kind = look_behind(fd, name, entry->d_type, image, ret);
	return kind < 0 ? 0 : skip(walk, folder, name, (unsigned)kind);
}

static int read_entries(struct walk *walk, struct folder *folder, DIR *stream)
{
	struct dirent *entry;
	enum found found;
	int r = 0;

	while (errno = 0, (entry = readdir(stream))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		r = look(walk, folder, dirfd(stream), entry, &found);
		if (!r && found == FILE_FOUND)
			r = fby_names_add(&folder->files, entry->d_name);
		if (!r && found == FOLDER_FOUND)
			r = fby_names_add(&folder->folders, entry->d_name);
		if (r)
			return r;
	}
	if (errno)
		return fby_fail_errno(-errno, "folder '%s/%s'", walk->root, folder->path);
	return 0;
}

/* A folder that is its own ancestor would be walked for ever. */
static bool is_loop(const struct folder *folder)
{
	const struct folder *f = folder->parent;

	while (f && (f->device != folder->device || f->inode != folder->inode))
		f = f->parent;
	return f;
}

static void wait_for_tick(int64_t ns)
{
	struct timespec now, tick = { .tv_nsec = TICK_NS };
	int64_t age;

	clock_gettime(CLOCK_REALTIME, &now);
	age = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec - ns;
	if (age >= 0 && age < TICK_NS)
		clock_nanosleep(CLOCK_MONOTONIC, 0, &tick, NULL);
}

static int open_folder(struct walk *walk, struct folder *folder, int *ret_fd)
{
	char path[FBY_PATH_BYTES];
	int fd;

	assert(folder);
	*ret_fd = -1;
	folder->ns = FBY_UNREADABLE;
	if (snprintf(path, sizeof(path), "%s/%s", walk->root, folder->path) >=
	    (int)sizeof(path))
		return skip(walk, folder, "", FBY_SKIP_LONG);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 && (errno == EACCES || errno == EPERM))
		return skip(walk, folder, "", FBY_SKIP_UNREADABLE_FOLDER);
	if (fd < 0)
		return fby_fail_errno(-errno, "folder '%s'", path);
	*ret_fd = fd;
	return 0;
}

/* Fills the lists of `folder`; they stay empty where it is left out. */
static int read_folder(struct walk *walk, struct folder *folder)
{
	struct stat st;
	DIR *stream;
	int fd, r = open_folder(walk, folder, &fd);

	if (r || fd < 0)
		return r;
	stream = fdopendir(fd);
	if (!stream || fstat(fd, &st) < 0) {
		r = fby_fail_errno(-errno, "folder '%s/%s'", walk->root, folder->path);
		if (stream)
			closedir(stream);
		else
			close(fd);
		return r;
	}
	folder->device = st.st_dev;
	folder->inode = st.st_ino;
	folder->ns = fby_fingerprint_time(&st);
	if (is_loop(folder)) {
		r = skip(walk, folder, "", FBY_SKIP_LOOP);
	} else {
		wait_for_tick(folder->ns);
		r = read_entries(walk, folder, stream);
	}
	closedir(stream);
	return r;
}

/* Puts a folder on the list; it is the walk's to destroy. */
static int push(struct walk *walk, struct folder *parent, const char *name)
{
	int r;

	if (walk->n == walk->n_max) {
		size_t n = walk->n_max * 2 + 16;
		void *grown = reallocarray(walk->folder, n, sizeof(struct folder *));

		if (!grown)
			return fby_fail(-ENOMEM, "no memory for a list of folders");
		walk->folder = grown;
		walk->n_max = n;
	}
	walk->folder[walk->n] = NULL;
	r = folder_create(parent, name, &walk->folder[walk->n]);
	walk->n += !r;
	return r;
}

static int by_path(const void *a, const void *b)
{
	return strcmp((*(struct folder *const *)a)->path,
		      (*(struct folder *const *)b)->path);
}

/* The samples of a folder that was read. */
static int emit(struct walk *walk, struct folder *folder, int64_t label)
{
	uint32_t number;
	int r = fby_build_directory(walk->build, folder->path, folder->ns, &number);

	fby_names_sort(&folder->files);
	for (size_t i = 0; !r && i < folder->files.n; i++)
		r = fby_build_sample(walk->build, number,
				     fby_names_get(&folder->files, i), label);
	return r;
}

static void forget_folders(struct walk *walk)
{
	for (size_t i = 0; i < walk->n; i++)
		folder_destroy(walk->folder[i]);
	walk->n = 0;
}

/*
 * The list grows while it is read: no recursion, one open folder at a time.  Sorted by
 * the whole path, as ImageFolder has it: "a-b" stands before "a/b".
 */
static int walk_class(struct walk *walk, struct folder *root, const char *name,
		      int64_t label)
{
	int r = push(walk, root, name);

	for (size_t i = 0; !r && i < walk->n; i++) {
		struct folder *folder = walk->folder[i];

		assert(folder);
		r = read_folder(walk, folder);
		for (size_t k = 0; !r && k < folder->folders.n; k++)
			r = push(walk, folder, fby_names_get(&folder->folders, k));
	}
	if (!r && walk->n)
		qsort(walk->folder, walk->n, sizeof(struct folder *), by_path);
	for (size_t i = 0; !r && i < walk->n; i++)
		r = emit(walk, walk->folder[i], label);
	forget_folders(walk);
	return r;
}

static int walk_classes(struct walk *walk, struct folder *root,
			const struct fby_walk_progress *progress)
{
	int r = 0;

	for (size_t i = 0; !r && i < root->folders.n; i++) {
		const char *name = fby_names_get(&root->folders, i);

		r = fby_build_class(walk->build, name);
		if (!r)
			r = walk_class(walk, root, name, (int64_t)i);
		if (!r && progress)
			progress->tell(progress->arg, i + 1, root->folders.n);
	}
	return r;
}

/* The names are taken first: a class that appears during the walk makes it stale. */
static int read_root(struct walk *walk, struct folder *root)
{
	uint64_t hash;
	int r = fby_fingerprint_names(walk->root, &hash);

	if (!r)
		r = read_folder(walk, root);
	if (r)
		return r;
	fby_build_root_names(walk->build, hash);
	for (size_t i = 0; !r && i < root->files.n; i++)
		r = skip(walk, root, fby_names_get(&root->files, i), FBY_SKIP_ROOT_FILE);
	fby_names_sort(&root->folders);
	return r;
}

int fby_walk_folder(const char *path, struct fby_build *build,
		    const struct fby_walk_progress *progress)
{
	struct walk walk = { .root = path, .build = build };
	struct folder *root = NULL;
	int r = folder_create(NULL, "", &root);

	if (!r)
		r = read_root(&walk, root);
	if (!r && !root->folders.n)
		r = fby_fail(-ENOENT,
			     "'%s' has no class folder; photographs are looked "
			     "for in %s/CLASS/PHOTO.jpg",
			     path, path);
	if (!r)
		r = walk_classes(&walk, root, progress);
	if (!r && !fby_build_count(build))
		r = fby_fail(-ENOENT, "no photograph in the %zu class folders of '%s'",
			     root->folders.n, path);
	free(walk.folder);
	folder_destroy(root);
	return r;
}
