/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/report.h"
#include "lib/fail.h"
#include "lib/layout.h"
#include "tools/build.h"
#include "tools/quote.h"
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUOTED (4 * FBY_PATH_BYTES + 1)
#define NAMED  3 /* empty classes named to people */

/* What the builder left out, read back from the index. */
struct skipped {
	uint64_t count[FBY_N_SKIPS];
	const char *name[FBY_N_SKIPS][FBY_SKIP_NAMES]; /* "" */
};

/* Kinds that an older builder did not know stay 0. */
static void find_skipped(const struct fby_index *index, struct skipped *ret)
{
	uint64_t n = 0, bytes = 0;
	const uint64_t *count = fby_index_column(index, "skipped", 8, &n);
	const char *text = fby_index_column(index, "skipped_text", 1, &bytes);

	for (size_t i = 0; i < FBY_N_SKIPS; i++) {
		ret->count[i] = count && i < n ? count[i] : 0;
		for (size_t k = 0; k < FBY_SKIP_NAMES; k++) {
			size_t length = text ? strnlen(text, bytes) : 0;

			ret->name[i][k] = "";
			if (!text || length == bytes)
				continue;
			ret->name[i][k] = text;
			text += length + 1;
			bytes -= length + 1;
		}
	}
}

/* Samples of each class; the caller's to free. */
static int count_classes(const struct fby_index *index, uint64_t **ret_count)
{
	uint64_t *count = calloc((size_t)fby_index_classes(index) + 1, sizeof(*count));
	struct fby_entry e;
	int r;

	if (!count)
		return fby_fail(-ENOMEM, "no memory for the number of classes");
	for (uint64_t i = 0; i < fby_index_count(index); i++) {
		if ((r = fby_index_entry(index, i, &e)) < 0) {
			free(count);
			return r;
		}
		count[e.label]++;
	}
	*ret_count = count;
	return 0;
}

static void quote_entry(const struct fby_entry *e, char ret_text[QUOTED])
{
	char path[FBY_PATH_BYTES];

	snprintf(path, sizeof(path), "%s%s%s", e->directory, *e->directory ? "/" : "",
		 e->name);
	fby_quote(path, ret_text, QUOTED);
}

/* ---- for people ---- */

static void print_skipped(const struct skipped *s)
{
	char text[QUOTED];

	for (unsigned i = 0; i < FBY_N_SKIPS; i++) {
		if (!s->count[i])
			continue;
		printf("skipped  %llu %s:", (unsigned long long)s->count[i],
		       fby_skip_words(i));
		for (unsigned k = 0; k < FBY_SKIP_NAMES && *s->name[i][k]; k++) {
			fby_quote(s->name[i][k], text, sizeof(text));
			printf("%s %s", k ? "," : "", text);
		}
		printf("%s\n", s->count[i] > FBY_SKIP_NAMES ? ", ..." : "");
	}
}

static void print_empty(const struct fby_index *index, const uint64_t *count)
{
	char text[QUOTED];
	uint32_t n = 0;

	for (uint32_t i = 0; i < fby_index_classes(index); i++) {
		const char *name = fby_index_class_name(index, i);

		if (count[i] || n++ >= NAMED || !name)
			continue;
		fby_quote(name, text, sizeof(text));
		printf("%s %s", n == 1 ? "empty    classes without a photograph:" : ",",
		       text);
	}
	if (n)
		printf("%s (%u in all)\n", n > NAMED ? ", ..." : "", n);
}

static int print_list(const struct fby_index *index, uint64_t n)
{
	char text[QUOTED];
	struct fby_entry e;
	int r;

	for (uint64_t i = 0; i < fby_min(n, fby_index_count(index)); i++) {
		if ((r = fby_index_entry(index, i, &e)) < 0)
			return r;
		quote_entry(&e, text);
		printf("%lld\t%s\n", (long long)e.label, text);
	}
	return 0;
}

int fby_report_text(const struct fby_index *index, uint64_t n_listed)
{
	struct skipped skipped;
	char text[QUOTED];
	uint64_t *count;
	int r;

	if (n_listed)
		return print_list(index, n_listed);
	if ((r = count_classes(index, &count)) < 0)
		return r;
	fby_quote(fby_index_root(index), text, sizeof(text));
	printf("dataset  %s\n", text);
	fby_quote(fby_index_file(index), text, sizeof(text));
	printf("index    %s\n", text);
	printf("samples  %llu in %u classes\n",
	       (unsigned long long)fby_index_count(index), fby_index_classes(index));
	print_empty(index, count);
	find_skipped(index, &skipped);
	print_skipped(&skipped);
	free(count);
	return 0;
}

/* ---- JSON ---- */

static json_t *quoted(const char *name)
{
	char text[QUOTED];

	fby_quote(name, text, sizeof(text));
	return json_string(text);
}

static json_t *json_classes(const struct fby_index *index, const uint64_t *count)
{
	json_t *list = json_array();

	assert(count);
	for (uint32_t i = 0; i < fby_index_classes(index); i++) {
		const char *name = fby_index_class_name(index, i);

		json_array_append_new(list, json_pack("{s:o, s:I}", "name",
						      quoted(name ? name : ""), "samples",
						      (json_int_t)count[i]));
	}
	return list;
}

static json_t *json_skipped(const struct fby_index *index)
{
	json_t *all = json_object();
	struct skipped s;

	find_skipped(index, &s);
	for (unsigned i = 0; i < FBY_N_SKIPS; i++) {
		json_t *first = json_array();

		for (unsigned k = 0; k < FBY_SKIP_NAMES && *s.name[i][k]; k++)
			json_array_append_new(first, quoted(s.name[i][k]));
		json_object_set_new(all, fby_skip_key(i),
				    json_pack("{s:I, s:o}", "count",
					      (json_int_t)s.count[i], "first", first));
	}
	return all;
}

static int json_list(const struct fby_index *index, uint64_t n, json_t *list)
{
	char text[QUOTED];
	struct fby_entry e;
	int r;

	for (uint64_t i = 0; i < fby_min(n, fby_index_count(index)); i++) {
		if ((r = fby_index_entry(index, i, &e)) < 0)
			return r;
		quote_entry(&e, text);
		json_array_append_new(list, json_pack("{s:I, s:s}", "label",
						      (json_int_t)e.label, "path", text));
	}
	return 0;
}

int fby_report_json(const struct fby_index *index, uint64_t n_listed)
{
	json_t *list = json_array(), *all;
	uint64_t *count = NULL;
	int r = json_list(index, n_listed, list);

	if (r || (r = count_classes(index, &count)) < 0) {
		json_decref(list);
		return r;
	}
	all = json_pack("{s:o, s:o, s:I, s:o, s:o, s:o}", "root",
			quoted(fby_index_root(index)), "index",
			quoted(fby_index_file(index)), "samples",
			(json_int_t)fby_index_count(index), "classes",
			json_classes(index, count), "skipped", json_skipped(index),
			"list", list);
	free(count);
	if (!all)
		return fby_fail(-ENOMEM, "no memory for JSON");
	json_dumpf(all, stdout, JSON_INDENT(1));
	putchar('\n');
	json_decref(all);
	return 0;
}
