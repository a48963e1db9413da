/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An index of a million samples: how long it takes to open, what it costs to ask for
 * samples in random order, and its bytes a sample.  Fails above 50 ms or 48 bytes.
 */
#include "lib/fail.h"
#include "lib/forebay.h"
#include "lib/index.h"
#include "tools/build.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define N_SAMPLES 1000000
#define N_CLASSES 1000
#define A_CLASS   (N_SAMPLES / N_CLASSES)
#define N_OPENS   21

/* The names of ImageNet: n01440764/n01440764_10026.JPEG. */
static int fill(struct fby_build *build, uint64_t *ret_name_bytes)
{
	uint64_t bytes = 0;
	uint32_t folder = 0;
	char name[64];
	int r;

	for (unsigned i = 0; i < N_SAMPLES; i++) {
		unsigned label = i / A_CLASS;

		snprintf(name, sizeof(name), "n%08u", label);
		if (i % A_CLASS == 0 &&
		    ((r = fby_build_class(build, name)) < 0 ||
		     (r = fby_build_directory(build, name, 0, &folder)) < 0))
			return r;
		bytes += 1 + (unsigned)snprintf(name, sizeof(name), "n%08u_%u.JPEG",
						label, i);
		if ((r = fby_build_sample(build, folder, name, label)) < 0)
			return r;
	}
	*ret_name_bytes = bytes;
	return 0;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Median and maximum, in us: opened, one sample looked at, closed. */
static int measure_open(const char *file, double *ret_median, double *ret_max)
{
	const unsigned half = N_OPENS / 2;
	uint64_t took[N_OPENS];
	struct fby_index *index;
	struct fby_entry e;
	int r;

	for (unsigned i = 0; i < N_OPENS; i++) {
		uint64_t start = fby_now();

		if ((r = fby_index_open(file, &index)) < 0)
			return r;
		r = fby_index_entry(index, i * 12345, &e);
		took[i] = fby_now() - start;
		fby_index_close(index);
		if (r < 0)
			return r;
	}
	qsort(took, N_OPENS, sizeof(*took), by_value);
	*ret_median = (double)took[half] / 1e3;
	*ret_max = (double)took[N_OPENS - 1] / 1e3;
	return 0;
}

/* ns a sample, in an order that no cache foresees. */
static int measure_entries(const char *file, double *ret_ns)
{
	struct fby_index *index;
	struct fby_entry e;
	uint64_t start;
	int r = fby_index_open(file, &index);

	if (r < 0)
		return r;
	start = fby_now();
	for (uint64_t i = 0; !r && i < N_SAMPLES; i++)
		r = fby_index_entry(index, i * 7919 % N_SAMPLES, &e);
	*ret_ns = (double)(fby_now() - start) / N_SAMPLES;
	fby_index_close(index);
	return r;
}

static int run(const char *file)
{
	double median = 0, max = 0, ns = 0, beside;
	struct fby_build *build = NULL;
	uint64_t names = 0;
	struct stat st = { 0 };
	int r;

	if ((r = fby_build_create(&build)) < 0 || (r = fill(build, &names)) < 0 ||
	    (r = fby_build_write(build, file, "/data")) < 0) {
		fby_build_destroy(build);
		return r;
	}
	fby_build_destroy(build);
	if ((r = measure_open(file, &median, &max)) < 0 ||
	    (r = measure_entries(file, &ns)) < 0)
		return r;
	if (stat(file, &st) < 0)
		return fby_fail(-1, "'%s' is gone", file);
	beside = ((double)st.st_size - (double)names) / N_SAMPLES;
	printf("open_us %.1f (max %.1f)  entry_ns %.0f  bytes_a_sample %.1f beside names\n",
	       median, max, ns, beside);
	if (max > 50e3 || beside > 48)
		return fby_fail(-1, "more than 50 ms or 48 bytes a sample");
	return 0;
}

int main(void)
{
	char file[] = "/tmp/forebay-bench-XXXXXX";
	int fd = mkstemp(file), r;

	if (fd < 0)
		return 3;
	close(fd);
	r = run(file);
	unlink(file);
	if (r < 0)
		fprintf(stderr, "%s\n", fby_error());
	return r < 0;
}
