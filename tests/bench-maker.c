/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one image costs: nanoseconds by stage, and against a bare decode of the whole
 * photograph by libjpeg-turbo, alternating, each with its reads.
 *
 *	bench-maker [FOLDER]	an image folder; without one there is nothing to do
 */
#include "lib/pipeline.h"
#include "tools/bare.h"
#include "workers/sample.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_FILES 2000
#define ROUNDS    5
#define SKIP      77

static char *files[MAX_FILES];
static unsigned n_files;

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static void collect(const char *folder, unsigned depth)
{
	struct dirent *e;
	DIR *dir = opendir(folder);
	char path[4096 + 256];

	while (dir != NULL && (e = readdir(dir)) != NULL) {
		if (e->d_name[0] == '.')
			continue;
		if (snprintf(path, sizeof(path), "%s/%s", folder, e->d_name) >= 4096)
			continue;
		if (e->d_type == DT_DIR && depth > 0)
			collect(path, depth - 1);
		else if (e->d_type == DT_REG && n_files < MAX_FILES)
			files[n_files++] = strdup(path);
	}
	if (dir != NULL)
		closedir(dir);
}

static double make_all(struct fby_maker *maker, void *image, uint64_t stage_ns[])
{
	double start = cpu_ns();

	for (unsigned i = 0; i < n_files; i++) {
		struct fby_entry entry = { .root = "/",
					   .directory = "",
					   .name = files[i] + 1 };
		struct fby_job job = { .seed = 1, .position = i, .field = { image } };
		struct fby_report report;

		fby_maker_make_entry(maker, &job, &entry, &report);
		for (unsigned k = 0; k < FBY_N_STAGES; k++)
			stage_ns[k] += report.stage_ns[k];
	}
	return (cpu_ns() - start) / n_files;
}

/* A file that libjpeg refuses costs what it costs and gives nothing. */
static double decode_all(void)
{
	struct fby_bare *bare;
	double start, end;

	if (fby_bare_create(&bare) < 0)
		exit(1);
	start = cpu_ns();
	for (unsigned i = 0; i < n_files; i++)
		fby_bare_decode(bare, files[i]);
	end = cpu_ns();
	fby_bare_destroy(bare);
	return (end - start) / n_files;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void report(double *made, double *decoded, const uint64_t stage_ns[])
{
	static const char *const name[] = { "read", "decode", "resample", "store" };

	qsort(made, ROUNDS, sizeof(*made), compare);
	qsort(decoded, ROUNDS, sizeof(*decoded), compare);
	for (unsigned k = 0; k < FBY_ARRAY_SIZE(name); k++)
		printf("%-10s %9.0f ns\n", name[k],
		       (double)stage_ns[k] / n_files / ROUNDS);
	printf("maker      %9.0f ns CPU an image\nfull decode%9.0f ns\n",
	       made[ROUNDS / 2], decoded[ROUNDS / 2]);
	printf("ratio_to_full_decode %.3f\n", decoded[ROUNDS / 2] / made[ROUNDS / 2]);
}

int main(int argc, char **argv)
{
	struct fby_settings s = { .pillow = 13, .n_ops = 2 };
	double made[ROUNDS], decoded[ROUNDS];
	uint64_t stage_ns[FBY_N_STAGES] = { 0 };
	static struct fby_cfg cfg;
	struct fby_maker *maker;
	void *image;

	if (argc > 1)
		collect(realpath(argv[1], NULL), 2);
	if (n_files == 0) {
		printf("no photographs: name an image folder\n");
		return SKIP;
	}
	s.op[0] = (struct fby_op){ FBY_OP_RANDOM_RESIZED_CROP,
				   6,
				   { 224, 224, 0.08, 1, 3. / 4, 4. / 3 } };
	s.op[1] = (struct fby_op){ FBY_OP_RANDOM_HORIZONTAL_FLIP, 1, { 0.5 } };
	if (fby_pipeline_check(&s, &cfg) < 0 ||
	    fby_maker_create(&cfg, NULL, &maker) < 0) {
		fprintf(stderr, "%s\n", fby_error());
		return 1;
	}
	image = malloc(fby_pipeline_image_bytes(&cfg));
	for (unsigned k = 0; k < ROUNDS; k++) {
		made[k] = make_all(maker, image, stage_ns);
		decoded[k] = decode_all();
	}
	report(made, decoded, stage_ns);
	free(image);
	fby_maker_destroy(maker);
	return 0;
}
