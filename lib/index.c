/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/index.h"
#include "lib/columns.h"
#include "lib/fail.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Strings in one text, with where each begins. */
struct strings {
	const char *text;
	const uint64_t *at;
	uint64_t bytes, n;
};

struct fby_index {
	int fd;
	const unsigned char *map;
	uint64_t bytes;
	const struct fby_index_header *header;
	const struct fby_index_column *table;
	struct strings classes, directories;
	const char *name_text;
	uint64_t name_bytes;
	const uint32_t *directory;
	const uint64_t *name_at;
	const int64_t *label;   /* NULL: all 0 */
	const uint64_t *offset; /* NULL: all 0 */
	const uint64_t *length; /* NULL: all 0 */
	char *file;
	char *root;
};

static int damaged(const struct fby_index *index, const char *what)
{
	return fby_fail(-EBADMSG,
			"index '%s' is damaged: %s; build it anew with "
			"`forebay index --force`",
			index->file, what);
}

static int map_file(struct fby_index *index)
{
	struct stat st;
	void *map;

	if (fstat(index->fd, &st) < 0)
		return fby_fail_errno(-errno, "index '%s'", index->file);
	if (!S_ISREG(st.st_mode) || st.st_size < (off_t)sizeof(struct fby_index_header))
		return fby_fail(-EBADMSG, "'%s' is not an index of forebay", index->file);
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, index->fd, 0);
	if (map == MAP_FAILED)
		return fby_fail_errno(-errno, "map '%s'", index->file);
	index->map = map;
	index->bytes = (uint64_t)st.st_size;
	return 0;
}

static int check_header(struct fby_index *index)
{
	const struct fby_index_header *h = (const void *)index->map;

	assert(h);
	if (h->magic != FBY_INDEX_MAGIC)
		return fby_fail(-EBADMSG,
				"'%s' is not an index of forebay, or of a "
				"machine of another byte order",
				index->file);
	if (h->version != FBY_INDEX_VERSION || h->byte_order != FBY_INDEX_BYTE_ORDER)
		return fby_fail(-EBADMSG,
				"index '%s' is of version %u, this forebay "
				"reads version %u",
				index->file, h->version, FBY_INDEX_VERSION);
	if (h->file_bytes != index->bytes)
		return fby_fail(-EBADMSG, "index '%s' has %llu bytes instead of %llu",
				index->file, (unsigned long long)index->bytes,
				(unsigned long long)h->file_bytes);
	if (h->n_columns > FBY_MAX_COLUMNS || h->table_at % 8 ||
	    h->table_at < sizeof(*h) || h->table_at > index->bytes ||
	    h->n_columns * sizeof(*index->table) > index->bytes - h->table_at)
		return damaged(index, "its table of columns lies outside");
	index->header = h;
	index->table = (const void *)(index->map + h->table_at);
	return 0;
}

static int check_column(const struct fby_index *index, const struct fby_index_column *c)
{
	uint64_t bytes;

	if (!memchr(c->name, 0, sizeof(c->name)))
		return damaged(index, "a column's name has no end");
	if ((c->width != 1 && c->width != 4 && c->width != 8) ||
	    c->offset % FBY_INDEX_ALIGN || c->offset > index->bytes ||
	    __builtin_mul_overflow(c->count, c->width, &bytes) ||
	    bytes > index->bytes - c->offset)
		return damaged(index, "a column lies outside");
	if (c->type == FBY_COLUMN_TEXT && c->count &&
	    (c->width != 1 || index->map[c->offset + c->count - 1]))
		return damaged(index, "a column of text has no end");
	return 0;
}

const void *fby_index_column(const struct fby_index *index, const char *name,
			     uint32_t width, uint64_t *ret_count)
{
	const struct fby_index_column *c = index->table;

	for (uint32_t i = 0; i < index->header->n_columns; i++, c++) {
		if (c->width != width || strcmp(c->name, name) != 0)
			continue;
		*ret_count = c->count;
		return index->map + c->offset;
	}
	return NULL;
}

/* A text is a column of that type: its last byte was seen to be 0. */
static const char *text_column(const struct fby_index *index, const char *name,
			       uint64_t *ret_bytes)
{
	const struct fby_index_column *c = index->table;

	for (uint32_t i = 0; i < index->header->n_columns; i++, c++) {
		if (c->type != FBY_COLUMN_TEXT || strcmp(c->name, name) != 0)
			continue;
		*ret_bytes = c->count;
		return (const char *)index->map + c->offset;
	}
	return NULL;
}

static int find_strings(const struct fby_index *index, const char *text, const char *at,
			struct strings *ret)
{
	struct strings s = { 0 };

	s.text = text_column(index, text, &s.bytes);
	s.at = fby_index_column(index, at, 8, &s.n);
	if (!s.text || !s.at)
		return damaged(index, "a column that each index has is not there");
	*ret = s;
	return 0;
}

/* The `i`th string, "" or longer; NULL where the numbers point outside. */
static const char *string(const struct strings *s, uint64_t i)
{
	uint64_t at;

	if (i >= s->n)
		return NULL;
	at = s->at[i];
	if (at >= s->bytes || (at && s->text[at - 1]))
		return NULL;
	return s->text + at;
}

/* One number for each sample; an absent column is all 0. */
static int find_numbers(const struct fby_index *index, const char *name, uint32_t width,
			const void **ret)
{
	uint64_t count = index->header->n_samples;

	*ret = fby_index_column(index, name, width, &count);
	if (count != index->header->n_samples)
		return damaged(index, "a column is shorter or longer than the others");
	return 0;
}

static int find_columns(struct fby_index *index)
{
	const void *directory, *name_at, *label, *offset, *length;
	int r;

	assert(index->header && index->table);
	for (uint32_t i = 0; i < index->header->n_columns; i++)
		if ((r = check_column(index, &index->table[i])) < 0)
			return r;
	if ((r = find_strings(index, "class_text", "class_at", &index->classes)) < 0 ||
	    (r = find_strings(index, "directory_text", "directory_at",
			      &index->directories)) < 0 ||
	    (r = find_numbers(index, "directory", 4, &directory)) < 0 ||
	    (r = find_numbers(index, "name_at", 8, &name_at)) < 0 ||
	    (r = find_numbers(index, "label", 8, &label)) < 0 ||
	    (r = find_numbers(index, "offset", 8, &offset)) < 0 ||
	    (r = find_numbers(index, "length", 8, &length)) < 0)
		return r;
	index->name_text = text_column(index, "name_text", &index->name_bytes);
	if (!directory || !name_at || !index->name_text)
		return damaged(index, "a column that each index has is not there");
	if (index->classes.n != index->header->n_classes)
		return damaged(index, "its number of classes is not that of their names");
	index->directory = directory;
	index->name_at = name_at;
	index->label = label;
	index->offset = offset;
	index->length = length;
	return 0;
}

/* An index without a root lies in the folder that it describes. */
static int find_root(struct fby_index *index)
{
	uint64_t bytes;
	const char *root = text_column(index, "root", &bytes);

	if (!root || !bytes)
		return damaged(index, "a column that each index has is not there");
	if (*root && *root != '/')
		return damaged(index, "its root is not an absolute path");
	index->root = strdup(*root ? root : index->file);
	if (index->root && !*root) {
		char *slash = strrchr(index->root, '/');

		slash[slash == index->root] = 0;
	}
	if (!index->root)
		return fby_fail(-ENOMEM, "no memory for the index");
	return 0;
}

int fby_index_open(const char *path, struct fby_index **ret_index)
{
	char *real = realpath(path, NULL);
	int fd, r;

	fd = real ? open(real, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
	r = fd < 0 ? fby_fail_errno(-errno, "index '%s'", path)
		   : fby_index_open_fd(fd, real, ret_index);
	free(real);
	return r;
}

int fby_index_open_fd(int fd, const char *path, struct fby_index **ret_index)
{
	struct fby_index *index = calloc(1, sizeof(*index));
	int r;

	if (!index) {
		close(fd);
		return fby_fail(-ENOMEM, "no memory for the index");
	}
	index->fd = fd;
	index->file = strdup(path);
	if (!index->file) {
		r = fby_fail(-ENOMEM, "no memory for the index");
		goto fail;
	}
	if ((r = map_file(index)) < 0 || (r = check_header(index)) < 0 ||
	    (r = find_columns(index)) < 0 || (r = find_root(index)) < 0)
		goto fail;
	*ret_index = index;
	return 0;
fail:
	fby_index_close(index);
	return r;
}

void fby_index_close(struct fby_index *index)
{
	if (!index)
		return;
	if (index->map)
		munmap((void *)index->map, index->bytes);
	close(index->fd);
	free(index->file);
	free(index->root);
	free(index);
}

int fby_index_fd(const struct fby_index *index)
{
	return index->fd;
}

uint64_t fby_index_count(const struct fby_index *index)
{
	return index->header->n_samples;
}

uint32_t fby_index_classes(const struct fby_index *index)
{
	return index->header->n_classes;
}

const char *fby_index_class_name(const struct fby_index *index, uint32_t label)
{
	return string(&index->classes, label);
}

const char *fby_index_file(const struct fby_index *index)
{
	return index->file;
}

const char *fby_index_root(const struct fby_index *index)
{
	return index->root;
}

uint64_t fby_index_root_names(const struct fby_index *index)
{
	return index->header->root_names;
}

uint64_t fby_index_directories(const struct fby_index *index)
{
	return index->directories.n;
}

const char *fby_index_directory(const struct fby_index *index, uint64_t i)
{
	return string(&index->directories, i);
}

int fby_index_entry(const struct fby_index *index, uint64_t id,
		    struct fby_entry *ret_entry)
{
	const char *no_name = "a name lies outside";
	struct fby_entry e = { .root = index->root };
	uint64_t at;

	if (id >= index->header->n_samples)
		return fby_fail(-ERANGE, "sample %llu of %llu in index '%s'",
				(unsigned long long)id,
				(unsigned long long)index->header->n_samples,
				index->file);
	at = index->name_at[id];
	if (at >= index->name_bytes || (at && index->name_text[at - 1]))
		return damaged(index, no_name);
	e.name = index->name_text + at;
	e.directory = string(&index->directories, index->directory[id]);
	if (!e.directory || !*e.name)
		return damaged(index, no_name);
	e.label = index->label ? index->label[id] : 0;
	if (e.label < 0 || e.label >= (int64_t)index->header->n_classes)
		return damaged(index, "a label is not that of a class");
	e.offset = index->offset ? index->offset[id] : 0;
	e.length = index->length ? index->length[id] : 0;
	if (e.offset > INT64_MAX || e.length > INT64_MAX - e.offset)
		return damaged(index, "a sample ends behind all files");
	*ret_entry = e;
	return 0;
}

int fby_index_path(const struct fby_index *index, uint64_t id, char *ret_path,
		   size_t size)
{
	struct fby_entry e = { .directory = "" };
	int r = fby_index_entry(index, id, &e);

	if (r < 0)
		return r;
	snprintf(ret_path, size, "%s/%s%s%s", e.root, e.directory,
		 *e.directory ? "/" : "", e.name);
	return 0;
}
