/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every byte of an index file that is not a column's content: the header and the
 * table of columns.  lib/index.c reads it, tools/build.c writes it, docs/layout.md
 * explains it.  What an index does not have is an absent column.
 */
#ifndef FBY_COLUMNS_H
#define FBY_COLUMNS_H

#include "lib/base.h"

#define FBY_INDEX_MAGIC      0x0a78646979626689ull /* "\x89fbyidx\n" */
#define FBY_INDEX_VERSION    1
#define FBY_INDEX_BYTE_ORDER 0x01020304u
#define FBY_INDEX_ALIGN      64 /* of each column in the file */
#define FBY_MAX_COLUMNS      64
#define FBY_INDEX_NAME       ".forebay.idx" /* in the folder that it describes */

/* directory_ns of a folder that could not be read. */
#define FBY_UNREADABLE INT64_MIN

struct fby_index_header {
	uint64_t magic;
	uint32_t version, byte_order;
	uint64_t file_bytes, n_samples;
	uint32_t n_columns, n_classes;
	uint64_t table_at;   /* n_columns x struct fby_index_column */
	uint64_t root_names; /* fby_fingerprint_names() of the root */
	uint64_t reserved;   /* 0 */
};

/* `width` bytes x `count` at `offset`; text is of width 1 and ends with a 0. */
struct fby_index_column {
	char name[24];
	uint32_t type, width;
	uint64_t offset, count;
};

/* Types of a column. */
enum { FBY_COLUMN_TEXT = 1, FBY_COLUMN_UNSIGNED, FBY_COLUMN_SIGNED };

static_assert(sizeof(struct fby_index_header) == 64, "in files");
static_assert(sizeof(struct fby_index_column) == 48, "in files");

#endif
