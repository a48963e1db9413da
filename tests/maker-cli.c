/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A maker of samples that a script can talk to: lines on standard input, rows on
 * standard output.  Not installed; the Python tests compare its pixels with others'.
 *
 *	set dtype N | set memory_format N | set pillow N	the settings of forebay.h
 *	clear					forgets the operations
 *	op KIND ARG...				adds one
 *	make SEED EPOCH POSITION PATH		makes an image
 *
 * `make` answers with a line "good BYTES", and the bytes of the image behind it; or
 * "bad REASON"; or "refused WHY" where the settings are no pipeline.
 */
#include "lib/pipeline.h"
#include "workers/sample.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct fby_settings arg_settings;

static void set(char *line)
{
	char name[32];
	unsigned value;

	if (sscanf(line, "%31s %u", name, &value) != 2)
		return;
	if (strcmp(name, "dtype") == 0)
		arg_settings.dtype = value;
	else if (strcmp(name, "memory_format") == 0)
		arg_settings.memory_format = value;
	else if (strcmp(name, "pillow") == 0)
		arg_settings.pillow = value;
}

static void add_op(char *line)
{
	struct fby_op op = { .kind = (uint32_t)strtoul(line, &line, 10) };

	while (op.n_args < FBY_MAX_ARGS) {
		char *end;
		double value = strtod(line, &end);

		if (end == line)
			break;
		op.arg[op.n_args++] = value;
		line = end;
	}
	if (arg_settings.n_ops < FBY_MAX_OPS)
		arg_settings.op[arg_settings.n_ops++] = op;
}

static int make_row(const struct fby_cfg *cfg, const struct fby_job *job,
		    const char *path, struct fby_report *ret_report)
{
	struct fby_entry entry = { .root = "/", .directory = "", .name = path + 1 };
	struct fby_maker *maker;
	int r;

	r = fby_maker_create(cfg, NULL, &maker);
	if (r < 0)
		return r;
	fby_maker_make_entry(maker, job, &entry, ret_report);
	fby_maker_destroy(maker);
	return 0;
}

/* The row starts as ones, so that a byte that nobody wrote is seen. */
static void make(char *line)
{
	struct fby_job job = { 0 };
	struct fby_report report;
	struct fby_cfg cfg;
	uint64_t n;

	job.seed = strtoull(line, &line, 10);
	job.epoch = strtoull(line, &line, 10);
	job.position = strtoull(line, &line, 10);
	line += strspn(line, " ");
	if (fby_pipeline_check(&arg_settings, &cfg) < 0) {
		printf("refused %s\n", fby_error());
		return;
	}
	n = fby_pipeline_image_bytes(&cfg);
	job.field[FBY_FIELD_IMAGE] = malloc(n);
	if (job.field[FBY_FIELD_IMAGE] == NULL)
		exit(3);
	memset(job.field[FBY_FIELD_IMAGE], 0xff, n);
	if (make_row(&cfg, &job, line, &report) < 0) {
		printf("refused %s\n", fby_error());
	} else if (report.status != FBY_ROW_GOOD) {
		printf("bad %s\n", report.reason);
	} else {
		printf("good %" PRIu64 "\n", n);
		fwrite(job.field[FBY_FIELD_IMAGE], 1, n, stdout);
	}
	free(job.field[FBY_FIELD_IMAGE]);
}

int main(void)
{
	static char line[8192];

	arg_settings.pillow = 13;
	while (fgets(line, sizeof(line), stdin) != NULL) {
		line[strcspn(line, "\n")] = 0;
		if (strncmp(line, "set ", 4) == 0)
			set(line + 4);
		else if (strcmp(line, "clear") == 0)
			arg_settings.n_ops = 0;
		else if (strncmp(line, "op ", 3) == 0)
			add_op(line + 3);
		else if (strncmp(line, "make ", 5) == 0)
			make(line + 5);
		fflush(stdout);
	}
	return 0;
}
