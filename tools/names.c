/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/names.h"
#include "lib/fail.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int grow(void *pointer, size_t *max, size_t need, size_t width)
{
	void **array = pointer, *grown;
	size_t n = *max + *max / 2 + need + 16;

	if (need <= *max)
		return 0;
	grown = reallocarray(*array, n, width);
	if (!grown)
		return fby_fail(-ENOMEM, "no memory for a list of names");
	*array = grown;
	*max = n;
	return 0;
}

int fby_names_add(struct fby_names *names, const char *name)
{
	size_t bytes = strlen(name) + 1;
	int r;

	if ((r = grow(&names->text, &names->bytes_max, names->bytes + bytes, 1)) < 0 ||
	    (r = grow(&names->at, &names->n_max, names->n + 1, sizeof(*names->at))) < 0)
		return r;
	memcpy(names->text + names->bytes, name, bytes);
	names->at[names->n++] = names->bytes;
	names->bytes += bytes;
	return 0;
}

static int compare(const void *a, const void *b, void *text)
{
	return strcmp((char *)text + *(const uint64_t *)a,
		      (char *)text + *(const uint64_t *)b);
}

void fby_names_sort(struct fby_names *names)
{
	if (names->n)
		qsort_r(names->at, names->n, sizeof(*names->at), compare, names->text);
}

void fby_names_finish(struct fby_names *names)
{
	free(names->text);
	free(names->at);
	*names = (struct fby_names){ 0 };
}
