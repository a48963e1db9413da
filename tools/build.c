/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/build.h"
#include "lib/columns.h"
#include "lib/fail.h"
#include "tools/replace.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The columns an index of a folder has, in the order of the file. */
enum {
	ROOT,
	CLASS_TEXT,
	CLASS_AT,
	DIRECTORY_TEXT,
	DIRECTORY_AT,
	DIRECTORY_NS,
	SKIPPED,
	SKIPPED_TEXT,
	LABEL,
	NAME_AT,
	DIRECTORY,
	NAME_TEXT,
	N_COLUMNS
};

static const struct fby_index_column kind[N_COLUMNS] = {
	[ROOT] = { "root", FBY_COLUMN_TEXT, 1, 0, 0 },
	[CLASS_TEXT] = { "class_text", FBY_COLUMN_TEXT, 1, 0, 0 },
	[CLASS_AT] = { "class_at", FBY_COLUMN_UNSIGNED, 8, 0, 0 },
	[DIRECTORY_TEXT] = { "directory_text", FBY_COLUMN_TEXT, 1, 0, 0 },
	[DIRECTORY_AT] = { "directory_at", FBY_COLUMN_UNSIGNED, 8, 0, 0 },
	[DIRECTORY_NS] = { "directory_ns", FBY_COLUMN_SIGNED, 8, 0, 0 },
	[SKIPPED] = { "skipped", FBY_COLUMN_UNSIGNED, 8, 0, 0 },
	[SKIPPED_TEXT] = { "skipped_text", FBY_COLUMN_TEXT, 1, 0, 0 },
	[LABEL] = { "label", FBY_COLUMN_SIGNED, 8, 0, 0 },
	[NAME_AT] = { "name_at", FBY_COLUMN_UNSIGNED, 8, 0, 0 },
	[DIRECTORY] = { "directory", FBY_COLUMN_UNSIGNED, 4, 0, 0 },
	[NAME_TEXT] = { "name_text", FBY_COLUMN_TEXT, 1, 0, 0 },
};

struct column {
	unsigned char *bytes;
	size_t n, size;
};

struct fby_build {
	struct column column[N_COLUMNS];
	uint64_t root_names;
	uint64_t skipped[FBY_N_SKIPS];
	char *skipped_name[FBY_N_SKIPS][FBY_SKIP_NAMES];
};

static const struct {
	const char *key, *words;
} skip[FBY_N_SKIPS] = {
	[FBY_SKIP_HIDDEN] = { "hidden", "hidden (names that begin with a dot)" },
	[FBY_SKIP_ROOT_FILE] = { "root_file", "files in the root, which have no class" },
	[FBY_SKIP_OTHER] = { "other", "without the extension of a photograph" },
	[FBY_SKIP_DANGLING] = { "dangling", "links to nothing" },
	[FBY_SKIP_SPECIAL] = { "special", "FIFOs, sockets and devices" },
	[FBY_SKIP_UNREADABLE] = { "unreadable", "files that may not be read" },
	[FBY_SKIP_UNREADABLE_FOLDER] = { "unreadable_folder",
					 "folders that may not be read" },
	[FBY_SKIP_LOOP] = { "loop", "links to a folder they are in" },
	[FBY_SKIP_LONG] = { "too_long", "paths too long for the system" },
};

const char *fby_skip_key(unsigned n)
{
	return n < FBY_N_SKIPS ? skip[n].key : NULL;
}

const char *fby_skip_words(unsigned n)
{
	return n < FBY_N_SKIPS ? skip[n].words : NULL;
}

int fby_build_create(struct fby_build **ret_build)
{
	struct fby_build *build = calloc(1, sizeof(*build));

	if (!build)
		return fby_fail(-ENOMEM, "no memory for an index");
	*ret_build = build;
	return 0;
}

void fby_build_destroy(struct fby_build *build)
{
	if (!build)
		return;
	for (unsigned i = 0; i < N_COLUMNS; i++)
		free(build->column[i].bytes);
	for (unsigned i = 0; i < FBY_N_SKIPS; i++)
		for (unsigned k = 0; k < FBY_SKIP_NAMES; k++)
			free(build->skipped_name[i][k]);
	free(build);
}

static int append(struct fby_build *build, unsigned which, const void *bytes, size_t n)
{
	struct column *c = &build->column[which];

	if (c->size - c->n < n) {
		size_t size = c->size + c->size / 2 + n + 4096;
		void *grown = realloc(c->bytes, size);

		if (!grown)
			return fby_fail(-ENOMEM, "no memory for an index of %zu bytes",
					size);
		c->bytes = grown;
		c->size = size;
	}
	memcpy(c->bytes + c->n, bytes, n);
	c->n += n;
	return 0;
}

static int append_text(struct fby_build *build, unsigned which, const char *text)
{
	return append(build, which, text, strlen(text) + 1);
}

/* A text, and where it begins in the column before. */
static int append_string(struct fby_build *build, unsigned text, unsigned at,
			 const char *string)
{
	uint64_t where = build->column[text].n;
	int r = append(build, at, &where, sizeof(where));

	return r ? r : append_text(build, text, string);
}

int fby_build_class(struct fby_build *build, const char *name)
{
	return append_string(build, CLASS_TEXT, CLASS_AT, name);
}

int fby_build_directory(struct fby_build *build, const char *path, int64_t ns,
			uint32_t *ret_number)
{
	size_t number = build->column[DIRECTORY_NS].n / sizeof(ns);
	int r;

	if (number > UINT32_MAX)
		return fby_fail(-EOVERFLOW, "more than 2^32 folders");
	if ((r = append(build, DIRECTORY_NS, &ns, sizeof(ns))) < 0 ||
	    (r = append_string(build, DIRECTORY_TEXT, DIRECTORY_AT, path)) < 0)
		return r;
	*ret_number = (uint32_t)number;
	return 0;
}

int fby_build_sample(struct fby_build *build, uint32_t directory, const char *name,
		     int64_t label)
{
	int r;

	if ((r = append(build, DIRECTORY, &directory, sizeof(directory))) < 0 ||
	    (r = append(build, LABEL, &label, sizeof(label))) < 0)
		return r;
	return append_string(build, NAME_TEXT, NAME_AT, name);
}

int fby_build_skip(struct fby_build *build, unsigned n, const char *path)
{
	uint64_t count = build->skipped[n]++;

	if (count >= FBY_SKIP_NAMES)
		return 0;
	build->skipped_name[n][count] = strdup(path);
	return build->skipped_name[n][count]
		       ? 0
		       : fby_fail(-ENOMEM, "no memory for the name of a file");
}

void fby_build_root_names(struct fby_build *build, uint64_t hash)
{
	build->root_names = hash;
}

uint64_t fby_build_count(const struct fby_build *build)
{
	return build->column[LABEL].n / sizeof(int64_t);
}

/* Columns that are made of the rest; made anew at each call. */
static int append_rest(struct fby_build *build, const char *root)
{
	int r;

	build->column[ROOT].n = build->column[SKIPPED].n = 0;
	build->column[SKIPPED_TEXT].n = 0;
	if ((r = append_text(build, ROOT, root)) < 0)
		return r;
	for (unsigned i = 0; i < FBY_N_SKIPS; i++) {
		if ((r = append(build, SKIPPED, &build->skipped[i], 8)) < 0)
			return r;
		for (unsigned k = 0; k < FBY_SKIP_NAMES; k++) {
			const char *name = build->skipped_name[i][k];

			if ((r = append_text(build, SKIPPED_TEXT, name ? name : "")) < 0)
				return r;
		}
	}
	return 0;
}

static int write_columns(const struct fby_build *build, struct fby_replace *out,
			 const struct fby_index_header *header,
			 const struct fby_index_column *table)
{
	static const char padding[FBY_INDEX_ALIGN];
	uint64_t at = sizeof(*header) + sizeof(*table) * N_COLUMNS;
	int r;

	if ((r = fby_replace_write(out, header, sizeof(*header))) < 0 ||
	    (r = fby_replace_write(out, table, sizeof(*table) * N_COLUMNS)) < 0)
		return r;
	for (unsigned i = 0; i < N_COLUMNS; i++) {
		const struct column *c = &build->column[i];

		if ((r = fby_replace_write(out, padding, table[i].offset - at)) < 0 ||
		    (r = fby_replace_write(out, c->bytes, c->n)) < 0)
			return r;
		at = table[i].offset + c->n;
	}
	return 0;
}

int fby_build_write(struct fby_build *build, const char *file, const char *root)
{
	struct fby_index_column table[N_COLUMNS];
	struct fby_index_header header = {
		.magic = FBY_INDEX_MAGIC,
		.version = FBY_INDEX_VERSION,
		.byte_order = FBY_INDEX_BYTE_ORDER,
		.n_columns = N_COLUMNS,
		.table_at = sizeof(header),
		.root_names = build->root_names,
	};
	uint64_t at = sizeof(header) + sizeof(table);
	struct fby_replace *out = NULL;
	int r;

	if ((r = append_rest(build, root)) < 0)
		return r;
	for (unsigned i = 0; i < N_COLUMNS; i++) {
		table[i] = kind[i];
		table[i].offset = fby_align(at, FBY_INDEX_ALIGN);
		table[i].count = build->column[i].n / kind[i].width;
		at = table[i].offset + build->column[i].n;
	}
	header.file_bytes = at;
	header.n_samples = fby_build_count(build);
	header.n_classes = (uint32_t)table[CLASS_AT].count;
	if (!(r = fby_replace_create(file, &out)) &&
	    !(r = write_columns(build, out, &header, table)))
		r = fby_replace_commit(out);
	fby_replace_destroy(out);
	return r;
}
