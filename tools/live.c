/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/live.h"
#include "lib/stats.h"
#include "lib/ticket.h"
#include "tools/quote.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define COMMAND_BYTES 512

/* Counters of a pool, and numbers made of them. */
struct view {
	const struct fby_header *header;
	struct fby_stats stats;
	char command[COMMAND_BYTES], uuid[33];
	double wait_share, depth;
	uint64_t wait_p50_us, wait_p99_us;
};

static double ratio(double a, double b)
{
	return b > 0 ? a / b : 0;
}

uint64_t fby_live_percentile(const uint64_t histogram[FBY_HISTOGRAM], double share)
{
	uint64_t sum = 0, n = 0;

	for (unsigned i = 0; i < FBY_HISTOGRAM; i++)
		sum += histogram[i];
	for (unsigned i = 0; i < FBY_HISTOGRAM; i++) {
		n += histogram[i];
		if (n && (double)n >= share * (double)sum)
			return 2ull << i;
	}
	return 0;
}

/* Its command line with blanks between the words; "?" where it is gone. */
static void find_command(uint32_t pid, char ret_command[COMMAND_BYTES])
{
	char path[64], raw[COMMAND_BYTES];
	ssize_t n;
	int fd;

	snprintf(ret_command, COMMAND_BYTES, "?");
	snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	n = read(fd, raw, sizeof(raw) - 1);
	close(fd);
	if (n <= 0)
		return;
	for (ssize_t i = 0; i < n; i++)
		if (!raw[i])
			raw[i] = ' ';
	while (n > 1 && raw[n - 1] == ' ')
		n--;
	raw[n] = 0;
	fby_quote(raw, ret_command, COMMAND_BYTES);
}

static void make_view(const struct fby_attached *attached, struct view *ret)
{
	struct view v = { .header = &attached->pool.ctl->header };

	fby_stats_collect(&attached->pool, &v.stats);
	find_command(v.header->trainer_pid, v.command);
	for (unsigned i = 0; i < sizeof(v.header->uuid); i++)
		snprintf(v.uuid + 2 * i, 3, "%02x", v.header->uuid[i]);
	v.wait_share = ratio((double)v.stats.wait_ns * 1e-9, attached->age_s);
	v.depth = ratio((double)v.stats.depth_sum, (double)v.stats.batches);
	v.wait_p50_us = fby_live_percentile(v.stats.wait_histogram, 0.5);
	v.wait_p99_us = fby_live_percentile(v.stats.wait_histogram, 0.99);
	*ret = v;
}

static const char *state_name(const struct fby_worker_record *w)
{
	static const char *const name[] = { "none", "starting", "running", "ended" };
	uint32_t state = atomic_load(&w->state);

	return state < FBY_ARRAY_SIZE(name) ? name[state] : "?";
}

static const char *doing(const struct fby_worker_record *w)
{
	return fby_stats_stage(atomic_load(&w->stage));
}

static double stage_share(const struct fby_worker_record *w, unsigned stage)
{
	double sum = 0;

	for (unsigned i = 0; i < FBY_N_STAGES; i++)
		sum += (double)atomic_load(&w->stage_ns[i]);
	return ratio((double)atomic_load(&w->stage_ns[stage]), sum);
}

/* The sample it works on; false where none is known.  All of it is input. */
static bool find_sample(const struct fby_pool *p, const struct fby_worker_record *w,
			uint64_t *ret_sample)
{
	uint64_t seq = atomic_load(&w->seq), row = atomic_load(&w->row);
	struct fby_ticket *t = fby_pool_ticket(p, seq);

	if (atomic_load(&w->stage) == FBY_STAGE_IDLE || row >= p->geo.batch ||
	    atomic_load(&t->word) != (seq << 8 | FBY_TICKET_OPEN))
		return false;
	*ret_sample = fby_ticket_samples(p, t)[row];
	return true;
}

/* ---- for people ---- */

static void print_worker(const struct fby_pool *p, uint32_t i)
{
	const struct fby_worker_record *w = fby_pool_worker(p, i);
	uint64_t sample;

	printf("%6u %8u %-8s %10llu %10.1f", i, atomic_load(&w->pid), state_name(w),
	       (unsigned long long)atomic_load(&w->samples),
	       (double)atomic_load(&w->bytes) / 1e6);
	for (unsigned k = 0; k < FBY_N_STAGES; k++)
		printf(" %8.1f", 100 * stage_share(w, k));
	printf("  %llu/%u %s", (unsigned long long)atomic_load(&w->seq),
	       atomic_load(&w->row), doing(w));
	if (find_sample(p, w, &sample))
		printf(" sample %llu", (unsigned long long)sample);
	printf("\n");
}

void fby_live_text(const struct fby_attached *attached)
{
	const struct fby_geometry *g = &attached->pool.geo;
	struct view v;

	make_view(attached, &v);
	printf("trainer  %u  %s\n", v.header->trainer_pid, v.command);
	printf("pool     %u slots of %u rows, %.1f MB, %.0f s old\n", g->n_slots,
	       g->batch, (double)v.stats.pool_bytes / 1e6, attached->age_s);
	printf("batches  %llu handed out, %.1f ready when asked\n",
	       (unsigned long long)v.stats.batches, v.depth);
	printf("waits    %llu, %.2f %% of the time, p50 < %llu us, p99 < %llu us\n",
	       (unsigned long long)v.stats.waits, 100 * v.wait_share,
	       (unsigned long long)v.wait_p50_us, (unsigned long long)v.wait_p99_us);
	printf("trouble  %llu deaths, %llu rows taken back, %llu slices needed\n",
	       (unsigned long long)v.stats.deaths,
	       (unsigned long long)v.stats.rows_taken_back,
	       (unsigned long long)v.stats.slices_needed);
	printf("bad      %llu samples, %llu rows handed out, %llu of them replaced\n",
	       (unsigned long long)v.stats.bad_samples,
	       (unsigned long long)v.stats.bad_rows,
	       (unsigned long long)v.stats.rows_replaced);
	printf("worker      pid state       samples    MB read");
	for (unsigned k = 0; k < FBY_N_STAGES; k++)
		printf(" %8s", fby_stats_stage(k));
	printf(" %%  batch/row stage\n");
	for (uint32_t i = 0; i < g->n_workers; i++)
		print_worker(&attached->pool, i);
}

/* ---- JSON ---- */

#define INT(n) ((json_int_t)(n))

static json_t *json_worker(const struct fby_pool *p, uint32_t i)
{
	const struct fby_worker_record *w = fby_pool_worker(p, i);
	json_t *stages = json_object();
	uint64_t sample;
	bool known = find_sample(p, w, &sample);

	for (unsigned k = 0; k < FBY_N_STAGES; k++)
		json_object_set_new(stages, fby_stats_stage(k),
				    json_integer(INT(atomic_load(&w->stage_ns[k]))));
	return json_pack("{s:I, s:s, s:I, s:I, s:o, s:I, s:I, s:o, s:s, s:I, s:I}", "pid",
			 INT(atomic_load(&w->pid)), "state", state_name(w), "samples",
			 INT(atomic_load(&w->samples)), "bytes_read",
			 INT(atomic_load(&w->bytes)), "stage_ns", stages, "seq",
			 INT(atomic_load(&w->seq)), "row", INT(atomic_load(&w->row)),
			 "sample", known ? json_integer(INT(sample)) : json_null(),
			 "stage", doing(w), "slices_needed",
			 INT(atomic_load(&w->slices_needed)), "incarnation",
			 INT(atomic_load(&w->incarnation)));
}

static json_t *json_waits(const struct view *v)
{
	json_t *histogram = json_array();

	for (unsigned i = 0; i < FBY_HISTOGRAM; i++)
		json_array_append_new(histogram,
				      json_integer(INT(v->stats.wait_histogram[i])));
	return json_pack("{s:I, s:I, s:f, s:I, s:I, s:o}", "count", INT(v->stats.waits),
			 "ns", INT(v->stats.wait_ns), "share", v->wait_share, "p50_us",
			 INT(v->wait_p50_us), "p99_us", INT(v->wait_p99_us), "histogram",
			 histogram);
}

json_t *fby_live_json(const struct fby_attached *attached)
{
	const struct fby_geometry *g = &attached->pool.geo;
	json_t *workers = json_array();
	struct view v;

	make_view(attached, &v);
	for (uint32_t i = 0; i < g->n_workers; i++)
		json_array_append_new(workers, json_worker(&attached->pool, i));
	return json_pack("{s:I, s:s, s:s, s:f, s:I, s:I, s:I, s:I, s:f, s:o, s:I, s:I, "
			 "s:I, s:I, s:I, s:I, s:o}",
			 "trainer_pid", INT(v.header->trainer_pid), "command", v.command,
			 "uuid", v.uuid, "age_s", attached->age_s, "slots",
			 INT(g->n_slots), "batch", INT(g->batch), "pool_bytes",
			 INT(v.stats.pool_bytes), "batches", INT(v.stats.batches),
			 "depth", v.depth, "waits", json_waits(&v), "deaths",
			 INT(v.stats.deaths), "rows_taken_back",
			 INT(v.stats.rows_taken_back), "bad_rows", INT(v.stats.bad_rows),
			 "rows_replaced", INT(v.stats.rows_replaced), "bad_samples",
			 INT(v.stats.bad_samples), "slices_needed",
			 INT(v.stats.slices_needed), "workers", workers);
}
