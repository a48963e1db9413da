/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/baseline.h"
#include "lib/fail.h"
#include "lib/index.h"
#include "lib/order.h"
#include "tools/bare.h"
#include "workers/sample.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* What one process has to say at its end. */
struct result {
	uint64_t cpu_ns, images;
	int error;
};

struct share {
	const struct fby_baseline *baseline;
	struct fby_index *index;
	struct fby_order order;
	uint32_t k; /* this process makes positions k, k + n, k + 2n, ... */
};

static uint64_t cpu_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- what a process does ---- */

static int make_full(const struct share *s, struct result *ret_result)
{
	struct fby_bare *bare;
	char path[FBY_PATH_BYTES];
	int r = fby_bare_create(&bare);

	if (r < 0)
		return r;
	for (uint64_t p = s->k; r >= 0 && p < s->baseline->n_positions;
	     p += s->baseline->n_processes) {
		r = fby_index_path(s->index, fby_order_at(&s->order, p), path,
				   sizeof(path));
		if (r == 0)
			r = fby_bare_decode(bare, path);
		ret_result->images += r == 0;
	}
	fby_bare_destroy(bare);
	return r < 0 ? r : 0;
}

/* Rows go round through the memory, as they do through the pool. */
static int make_rows(const struct share *s, struct fby_maker *maker,
		     unsigned char *memory, uint64_t n_rows, struct result *ret_result)
{
	struct fby_report report;
	int64_t label;

	for (uint64_t p = s->k, row = 0; p < s->baseline->n_positions;
	     p += s->baseline->n_processes, row = (row + 1) % n_rows) {
		struct fby_job job = {
			.sample = fby_order_at(&s->order, p),
			.seed = s->baseline->plan->seed,
			.epoch = s->baseline->epoch,
			.position = p,
			.field = { [FBY_FIELD_IMAGE] =
					   memory + row * s->baseline->image_bytes,
				   [FBY_FIELD_LABEL] = &label },
		};

		fby_maker_make(maker, &job, &report);
		ret_result->images++;
	}
	return 0;
}

static int make_plain(const struct share *s, struct result *ret_result)
{
	const struct fby_baseline *b = s->baseline;
	uint64_t rows = (uint64_t)b->plan->batch * b->n_slots / b->n_processes + 1;
	unsigned char *memory = calloc(rows, b->image_bytes);
	struct fby_maker *maker = NULL;
	int r = memory ? fby_maker_create(b->cfg, s->index, &maker)
		       : fby_fail(-ENOMEM, "no memory for %llu rows",
				  (unsigned long long)rows);

	for (uint64_t at = 0; memory && at < rows * b->image_bytes; at += 4096)
		memory[at] =
			1; /* the pool's pages exist before the first batch as well */
	ret_result->cpu_ns = cpu_now();
	if (r == 0)
		r = make_rows(s, maker, memory, rows, ret_result);
	fby_maker_destroy(maker);
	free(memory);
	return r;
}

/* ---- the processes ---- */

typedef int (*work_fn)(const struct share *share, struct result *ret_result);

static void run_child(const struct fby_baseline *b, uint32_t k, work_fn work, int fd)
{
	struct result result = { 0 };
	struct share share = { .baseline = b, .k = k };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fby_order_init(&share.order, b->plan->n_samples, b->plan->shuffle, b->plan->seed,
		       b->epoch);
	result.error = fby_index_open(b->cfg->index_path, &share.index);
	result.cpu_ns = cpu_now();
	if (result.error == 0)
		result.error = work(&share, &result);
	result.cpu_ns = cpu_now() - result.cpu_ns;
	if (write(fd, &result, sizeof(result)) != sizeof(result))
		_exit(1);
	_exit(0);
}

static int start(const struct fby_baseline *b, work_fn work, int fd, pid_t *ret_pid)
{
	for (uint32_t k = 0; k < b->n_processes; k++) {
		ret_pid[k] = fork();
		if (ret_pid[k] < 0)
			return fby_fail_errno(-errno,
					      "starting a process to compare with");
		if (ret_pid[k] == 0)
			run_child(b, k, work, fd);
	}
	return 0;
}

static int collect(const struct fby_baseline *b, int fd, double *ret_cpu_ms)
{
	struct result one, all = { 0 };

	for (uint32_t k = 0; k < b->n_processes; k++) {
		if (read(fd, &one, sizeof(one)) != sizeof(one))
			return fby_fail(-EPIPE, "a process to compare with died");
		if (one.error < 0)
			return fby_fail(one.error, "a process to compare with failed");
		all.cpu_ns += one.cpu_ns;
		all.images += one.images;
	}
	if (!all.images)
		return fby_fail(-EINVAL, "none of the files is a JPEG file");
	*ret_cpu_ms = (double)all.cpu_ns / 1e6 / (double)all.images;
	return 0;
}

static int run(const struct fby_baseline *b, work_fn work, double *ret_cpu_ms)
{
	pid_t pid[FBY_MAX_WORKERS] = { 0 };
	int fd[2], r;

	if (pipe(fd) < 0)
		return fby_fail_errno(-errno, "a pipe");
	r = start(b, work, fd[1], pid);
	close(fd[1]);
	if (r == 0)
		r = collect(b, fd[0], ret_cpu_ms);
	close(fd[0]);
	for (uint32_t k = 0; k < b->n_processes; k++) {
		if (pid[k] <= 0)
			continue;
		if (r < 0)
			kill(pid[k], SIGKILL);
		waitpid(pid[k], NULL, 0);
	}
	return r;
}

int fby_baseline_full(const struct fby_baseline *b, double *ret_cpu_ms)
{
	return run(b, make_full, ret_cpu_ms);
}

int fby_baseline_plain(const struct fby_baseline *b, double *ret_cpu_ms)
{
	return run(b, make_plain, ret_cpu_ms);
}
