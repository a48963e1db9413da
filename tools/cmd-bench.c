/* SPDX-License-Identifier: Apache-2.0 */
/* forebay bench: measures the whole loader on a folder; see forebay-bench(1). */
#include "lib/fail.h"
#include "tools/bench.h"
#include "tools/command.h"
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_SIZE   224
#define DEFAULT_EPOCHS 5

static const char usage[] =
	"usage: forebay bench PATH [--workers N] [--batch N] [--size N] [--epochs N]\n"
	"                     [--dtype u8|f16|bf16|f32] [--slots N] [--seed N]\n"
	"                     [--json FILE] [--baseline]\n"
	"\n"
	"Runs the loader on an image folder (RandomResizedCrop and flip) with a consumer\n"
	"that does nothing.  --baseline compares it, in the same run and on the same cores,\n"
	"with a bare libjpeg-turbo decode and with the same pipeline without the pool.\n";

struct arguments {
	struct fby_bench_options options;
	const char *json;
	uint32_t size;
};

static const char *const dtype_name[] = {
	[FBY_U8] = "u8", [FBY_F16] = "f16", [FBY_BF16] = "bf16", [FBY_F32] = "f32"
};

static int parse_dtype(const char *text, uint32_t *ret_dtype)
{
	for (uint32_t i = 0; i < FBY_ARRAY_SIZE(dtype_name); i++) {
		if (strcmp(dtype_name[i], text) != 0)
			continue;
		*ret_dtype = i;
		return 0;
	}
	return fby_fail(-EINVAL, "--dtype '%s': u8, f16, bf16 or f32", text);
}

static int parse_number(const char *option, const char *text, uint32_t *ret_number)
{
	uint64_t n;
	int r = fby_parse_number(text, INT32_MAX, &n);

	if (r < 0 || n < 1)
		return fby_fail(-EINVAL, "--%s '%s': must be a number from 1 on", option,
				text);
	*ret_number = (uint32_t)n;
	return 0;
}

static int parse_option(struct arguments *a, int option, const char *text)
{
	struct fby_settings *s = &a->options.settings;

	switch (option) {
	case 'w':
		return parse_number("workers", text, &s->n_workers);
	case 'b':
		return parse_number("batch", text, &s->batch_size);
	case 's':
		return parse_number("size", text, &a->size);
	case 'e':
		return parse_number("epochs", text, &a->options.epochs);
	case 'l':
		return parse_number("slots", text, &s->n_slots);
	case 'r':
		return fby_parse_number(text, UINT64_MAX, &s->seed);
	case 'd':
		return parse_dtype(text, &s->dtype);
	case 'j':
		a->json = text;
		return 0;
	case 'B':
		a->options.baseline = true;
		return 0;
	default:
		return fby_fail(-EINVAL, "see forebay bench --help");
	}
}

static void set_pipeline(struct arguments *a)
{
	struct fby_settings *s = &a->options.settings;

	s->n_ops = 2;
	s->op[0] =
		(struct fby_op){ .kind = FBY_OP_RANDOM_RESIZED_CROP,
				 .n_args = 6,
				 .arg = { a->size, a->size, 0.08, 1, 3. / 4, 4. / 3 } };
	s->op[1] = (struct fby_op){ .kind = FBY_OP_RANDOM_HORIZONTAL_FLIP,
				    .n_args = 1,
				    .arg = { 0.5 } };
}

/* 1: help was asked for. */
static int parse(int argc, char **argv, struct arguments *a)
{
	static const struct option options[] = {
		{ "workers", required_argument, NULL, 'w' },
		{ "batch", required_argument, NULL, 'b' },
		{ "size", required_argument, NULL, 's' },
		{ "epochs", required_argument, NULL, 'e' },
		{ "slots", required_argument, NULL, 'l' },
		{ "seed", required_argument, NULL, 'r' },
		{ "dtype", required_argument, NULL, 'd' },
		{ "json", required_argument, NULL, 'j' },
		{ "baseline", no_argument, NULL, 'B' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int option, r;

	*a = (struct arguments){ .size = DEFAULT_SIZE };
	fby_settings_init(&a->options.settings);
	a->options.settings.shuffle = 1;
	a->options.epochs = DEFAULT_EPOCHS;
	while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (option == 'h')
			return 1;
		r = parse_option(a, option, optarg);
		if (r < 0)
			return r;
	}
	if (optind + 1 != argc)
		return fby_fail(-EINVAL,
				"one folder is needed; see forebay bench --help");
	a->options.path = argv[optind];
	set_pipeline(a);
	return 0;
}

/* ---- what is printed ---- */

static double p(const struct fby_series *s, double percent)
{
	return fby_series_percentile(s, percent);
}

static void print_baseline(const struct fby_bench_result *r)
{
	printf("  bare full decode      %8.3f ms CPU an image (libjpeg-turbo)\n",
	       p(&r->full_cpu_ms, 50));
	printf("  without the pool      %8.3f ms CPU an image\n",
	       p(&r->plain_cpu_ms, 50));
	printf("  ratio to full decode  %8.3f (above 1: cheaper than the bare decode)\n",
	       fby_bench_ratio_to_full_decode(r));
	printf("  pool efficiency       %8.3f (1: the pool costs nothing)\n",
	       fby_bench_pool_efficiency(r));
}

static void print_result(const struct arguments *a, const struct fby_bench_result *r)
{
	const struct fby_info *i = &r->info;

	printf("%s: %llu samples, %u workers, batches of %u x 3 x %u x %u %s, %u slots\n",
	       a->options.path, (unsigned long long)i->n_samples, i->n_workers,
	       i->batch_size, i->height, i->width, dtype_name[i->dtype], i->n_slots);
	printf("  images a second       %8.0f\n", fby_meter_images_per_second(&r->meter));
	printf("  CPU an image          %8.3f ms (workers and consumer)\n",
	       p(&r->cpu_ms, 50));
	printf("  first batch           %8.1f ms\n", fby_meter_first_batch_ms(&r->meter));
	printf("  gap between batches   %8.1f ms p50, %.1f p99, %.1f max\n",
	       p(&r->meter.batch_gap_ms, 50), p(&r->meter.batch_gap_ms, 99),
	       p(&r->meter.batch_gap_ms, 100));
	if (r->meter.epoch_gap_ms.n)
		printf("  gap between epochs    %8.1f ms p50\n",
		       p(&r->meter.epoch_gap_ms, 50));
	printf("  hand-over             %8.1f us p50, %.1f p99\n", p(&r->handover_us, 50),
	       p(&r->handover_us, 99));
	printf("  next, batch ready     %8.2f us p50, %.2f p99\n",
	       p(&r->next_ready_us, 50), p(&r->next_ready_us, 99));
	printf("  pool                  %8.1f MB\n", (double)i->pool_bytes / 1e6);
	printf("  a worker's own memory %8.1f MB\n", (double)r->worker_rss_bytes / 1e6);
	printf("  time-outs needed      %8llu\n",
	       (unsigned long long)r->stats.slices_needed);
	if (a->options.baseline)
		print_baseline(r);
	printf("  digest of epoch 0     %s\n", r->digest);
}

static json_t *percentiles(const struct fby_series *s, bool max)
{
	json_t *object = json_object();

	json_object_set_new(object, "p50", json_real(p(s, 50)));
	json_object_set_new(object, "p99", json_real(p(s, 99)));
	if (max)
		json_object_set_new(object, "max", json_real(p(s, 100)));
	return object;
}

static void add_baseline(json_t *o, const struct fby_bench_result *r)
{
	json_object_set_new(o, "full_decode_cpu_ms", json_real(p(&r->full_cpu_ms, 50)));
	json_object_set_new(o, "plain_cpu_ms", json_real(p(&r->plain_cpu_ms, 50)));
	json_object_set_new(o, "ratio_to_full_decode",
			    json_real(fby_bench_ratio_to_full_decode(r)));
	json_object_set_new(o, "pool_efficiency",
			    json_real(fby_bench_pool_efficiency(r)));
	json_object_set_new(o, "rounds", json_integer((json_int_t)r->cpu_ms.n));
}

static json_t *to_json(const struct arguments *a, const struct fby_bench_result *r)
{
	json_t *o = json_object();

	json_object_set_new(o, "path", json_string(a->options.path));
	json_object_set_new(o, "samples", json_integer((json_int_t)r->info.n_samples));
	json_object_set_new(o, "workers", json_integer(r->info.n_workers));
	json_object_set_new(o, "batch", json_integer(r->info.batch_size));
	json_object_set_new(o, "size", json_integer(a->size));
	json_object_set_new(o, "epochs", json_integer(a->options.epochs));
	json_object_set_new(o, "dtype", json_string(dtype_name[r->info.dtype]));
	json_object_set_new(o, "images_per_second",
			    json_real(fby_meter_images_per_second(&r->meter)));
	json_object_set_new(o, "cpu_ms_per_image", json_real(p(&r->cpu_ms, 50)));
	json_object_set_new(o, "batch_gap_ms", percentiles(&r->meter.batch_gap_ms, true));
	json_object_set_new(o, "first_batch_ms",
			    json_real(fby_meter_first_batch_ms(&r->meter)));
	json_object_set_new(o, "epoch_gap_ms", json_real(p(&r->meter.epoch_gap_ms, 50)));
	json_object_set_new(o, "handover_us", percentiles(&r->handover_us, false));
	json_object_set_new(o, "next_ready_us", percentiles(&r->next_ready_us, false));
	json_object_set_new(o, "pool_bytes",
			    json_integer((json_int_t)r->info.pool_bytes));
	json_object_set_new(o, "worker_rss_bytes",
			    json_integer((json_int_t)r->worker_rss_bytes));
	json_object_set_new(o, "slices_needed",
			    json_integer((json_int_t)r->stats.slices_needed));
	json_object_set_new(o, "bad_rows", json_integer((json_int_t)r->stats.bad_rows));
	json_object_set_new(o, "digest", json_string(r->digest));
	if (a->options.baseline)
		add_baseline(o, r);
	return o;
}

/* Opened before the run, which may take long: what cannot be written is told at once. */
static int open_json(const struct arguments *a, FILE **ret_file)
{
	*ret_file = NULL;
	if (!a->json)
		return 0;
	*ret_file = strcmp(a->json, "-") ? fopen(a->json, "we") : stdout;
	return *ret_file ? 0 : fby_fail_errno(-errno, "write '%s'", a->json);
}

static int write_json(const struct arguments *a, const struct fby_bench_result *r,
		      FILE *file)
{
	json_t *object = to_json(a, r);
	int written = json_dumpf(object, file, JSON_INDENT(2));

	json_decref(object);
	if (written < 0 || fputc('\n', file) < 0 || fflush(file) < 0)
		return fby_fail_errno(-errno, "write '%s'", a->json);
	return 0;
}

static int tell(const struct arguments *a, const struct fby_bench_result *r, FILE *json)
{
	if (json != stdout)
		print_result(a, r);
	if (fflush(stdout) < 0)
		return fby_fail_errno(-errno, "standard output");
	return json ? write_json(a, r, json) : 0;
}

int fby_cmd_bench(int argc, char **argv)
{
	struct fby_bench_result result;
	struct arguments a;
	FILE *json;
	int r = parse(argc, argv, &a);

	if (r > 0) {
		fputs(usage, stdout);
		return 0;
	}
	if (r < 0)
		return fby_complain(FBY_EXIT_USE);
	if (open_json(&a, &json) < 0)
		return fby_complain(FBY_EXIT_SYSTEM);
	r = fby_bench_run(&a.options, &result);
	if (r == 0)
		r = tell(&a, &result, json);
	fby_bench_finish(&result);
	if (json && json != stdout)
		fclose(json);
	return r < 0 ? fby_complain(FBY_EXIT_SYSTEM) : FBY_EXIT_YES;
}
