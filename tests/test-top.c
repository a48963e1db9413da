/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forebay top against a pool of this process: found by its descriptor alone, read
 * right, and refused where it is of another version.
 */
#include "lib/forebay.h"
#include "lib/pool.h"
#include "lib/ticket.h"
#include "tests/unit.h"
#include "tools/live.h"
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int set_up(void **state)
{
	struct fby_pool *pool = calloc(1, sizeof(*pool));
	struct fby_geometry geo = { .n_slots = 3,
				    .n_workers = 2,
				    .batch = 5,
				    .n_fields = 2,
				    .row_bytes = { 12, 8 } };
	static const struct fby_cfg cfg;

	if (!pool || fby_pool_create(pool, &geo, &cfg) < 0)
		return -1;
	*state = pool;
	return 0;
}

static int tear_down(void **state)
{
	fby_pool_finish(*state);
	free(*state);
	return 0;
}

/* Runs the program on this process alone; its standard output and exit status. */
static int top(const char *options, char *ret_text, size_t size)
{
	char self[1024], command[2048];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	FILE *pipe;
	int status;

	assert_true(n > 0);
	self[n] = 0;
	*strrchr(self, '/') = 0;
	snprintf(command, sizeof(command), "'%s/../tools/forebay' top --pid=%d %s 2>&1",
		 self, (int)getpid(), options);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	ret_text[fread(ret_text, 1, size - 1, pipe)] = 0;
	status = pclose(pipe);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void without_a_loader_the_answer_is_no(void **state)
{
	char text[4096];

	(void)state;
	assert_int_equal(top("--once", text, sizeof(text)), 1);
	assert_non_null(strstr(text, "no loader"));
	assert_int_equal(top("--once --json", text, sizeof(text)), 1);
	assert_non_null(strstr(text, "[]"));
}

static void wrong_use_is_told(void **state)
{
	char text[4096];

	(void)state;
	assert_int_equal(top("", text, sizeof(text)), 2);
	assert_int_equal(top("--once --pid=x", text, sizeof(text)), 2);
	assert_int_equal(top("--help", text, sizeof(text)), 0);
}

static void fill(struct fby_pool *pool)
{
	struct fby_trainer_record *t = &pool->ctl->trainer;
	struct fby_worker_record *w = fby_pool_worker(pool, 1);

	atomic_store(&t->batches, 10);
	atomic_store(&t->depth_sum, 25);
	atomic_store(&t->waits, 4);
	atomic_store(&t->wait_ns, 5000000);
	atomic_store(&t->wait_histogram[3], 3);
	atomic_store(&t->wait_histogram[12], 1);
	atomic_store(&t->deaths, 2);
	atomic_store(&t->bad_rows, 8);
	atomic_store(&t->rows_replaced, 6);
	atomic_store(&t->bad_samples, 5);
	atomic_store(&w->state, FBY_WORKER_RUNNING);
	atomic_store(&w->pid, 4711);
	atomic_store(&w->samples, 77);
	atomic_store(&w->bytes, 2500000);
	atomic_store(&w->stage_ns[FBY_STAGE_DECODE], 750);
	atomic_store(&w->stage_ns[FBY_STAGE_IDLE], 250);
	atomic_store(&w->seq, 9);
	atomic_store(&w->row, 4);
	atomic_store(&w->stage, FBY_STAGE_STORE);
	atomic_store(&w->slices_needed, 1);
}

static json_int_t number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	if (!json_is_integer(value))
		fail_msg("'%s' is no number", key);
	return json_integer_value(value);
}

static void counters_are_told_as_json(void **state)
{
	char text[16384];
	json_t *list, *loader, *waits, *worker;

	fill(*state);
	assert_int_equal(top("--once --json", text, sizeof(text)), 0);
	list = json_loads(text, 0, NULL);
	assert_int_equal(json_array_size(list), 1);
	loader = json_array_get(list, 0);
	waits = json_object_get(loader, "waits");
	worker = json_array_get(json_object_get(loader, "workers"), 1);
	assert_int_equal(number(loader, "trainer_pid"), getpid());
	assert_non_null(strstr(json_string_value(json_object_get(loader, "command")),
			       "test-top"));
	assert_int_equal(number(loader, "slots"), 3);
	assert_int_equal(number(loader, "batches"), 10);
	assert_int_equal(number(loader, "deaths"), 2);
	assert_int_equal(number(loader, "bad_rows"), 8);
	assert_int_equal(number(loader, "rows_replaced"), 6);
	assert_int_equal(number(loader, "bad_samples"), 5);
	assert_int_equal(number(loader, "slices_needed"), 1);
	assert_true(json_real_value(json_object_get(loader, "depth")) == 2.5);
	assert_int_equal(number(waits, "count"), 4);
	assert_int_equal(number(waits, "p50_us"), 16);
	assert_int_equal(number(waits, "p99_us"), 8192);
	assert_int_equal(number(worker, "pid"), 4711);
	assert_int_equal(number(worker, "bytes_read"), 2500000);
	assert_int_equal(number(worker, "row"), 4);
	assert_true(json_is_null(json_object_get(worker, "sample")));
	assert_string_equal(json_string_value(json_object_get(worker, "stage")), "store");
	json_decref(list);
}

static void counters_are_told_to_people(void **state)
{
	char text[16384];

	fill(*state);
	assert_int_equal(top("--once", text, sizeof(text)), 0);
	assert_non_null(strstr(text, "10 handed out, 2.5 ready"));
	assert_non_null(strstr(text, "p50 < 16 us, p99 < 8192 us"));
	assert_non_null(strstr(text, "2 deaths, 0 rows taken back, 1 slices"));
	assert_non_null(strstr(text, "5 samples, 8 rows handed out, 6 of them replaced"));
	assert_non_null(strstr(text, "4711 running"));
	assert_non_null(strstr(text, "75.0"));
	assert_non_null(strstr(text, "9/4 store"));
}

/* As soon as its batch is open, its row leads to a sample. */
static void sample_of_a_worker_is_told(void **state)
{
	struct fby_ticket *t = fby_pool_ticket(*state, 9);
	char text[16384];

	fill(*state);
	fby_ticket_samples(*state, t)[4] = 123456;
	atomic_store(&t->word, 9 << 8 | FBY_TICKET_OPEN);
	assert_int_equal(top("--once", text, sizeof(text)), 0);
	assert_non_null(strstr(text, "9/4 store sample 123456\n"));
	assert_int_equal(top("--once --json", text, sizeof(text)), 0);
	assert_non_null(strstr(text, "\"sample\": 123456"));
	atomic_store(&t->word, 10 << 8 | FBY_TICKET_OPEN);
	assert_int_equal(top("--once", text, sizeof(text)), 0);
	assert_null(strstr(text, "sample 1"));
}

/* A duplicate, as a worker has one. */
static void pool_is_told_once(void **state)
{
	struct fby_pool *pool = *state;
	char text[16384];
	json_t *list;
	int fd = dup(pool->fd[FBY_OBJECT_CTL]);

	assert_int_equal(top("--once --json", text, sizeof(text)), 0);
	list = json_loads(text, 0, NULL);
	assert_int_equal(json_array_size(list), 1);
	json_decref(list);
	close(fd);
}

static void assert_refused(void)
{
	char text[4096];

	assert_int_equal(top("--once", text, sizeof(text)), 3);
	assert_int_equal(strncmp(text, "forebay: ", 9), 0);
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
}

static void pool_that_does_not_fit_is_refused_in_one_line(void **state)
{
	struct fby_header *h = &((struct fby_pool *)*state)->ctl->header;

	h->layout++;
	assert_refused();
	h->layout--;
	h->layout_hash ^= 1;
	assert_refused();
	h->layout_hash ^= 1;
	h->n_workers = 0xffffffff;
	assert_refused();
	h->n_workers = 1000;
	assert_refused();
	h->n_workers = 2;
	h->magic++;
	assert_refused();
}

/* Numbers that only their writer could vouch for are bounded before use. */
static void nonsense_in_records_does_no_harm(void **state)
{
	struct fby_pool *pool = *state;
	char text[16384];

	memset(fby_pool_worker(pool, 0), 0xff, 2 * sizeof(struct fby_worker_record));
	memset(&pool->ctl->trainer, 0xff, sizeof(pool->ctl->trainer));
	assert_int_equal(top("--once", text, sizeof(text)), 0);
	assert_int_equal(top("--once --json", text, sizeof(text)), 0);
}

static void pool_being_born_is_passed_over(void **state)
{
	struct fby_header *h = &((struct fby_pool *)*state)->ctl->header;
	char text[4096];

	memset(h, 0, sizeof(*h));
	assert_int_equal(top("--once", text, sizeof(text)), 1);
}

static void percentile_is_the_upper_end_of_a_bucket(void **state)
{
	uint64_t histogram[FBY_HISTOGRAM] = { 0 };

	(void)state;
	assert_int_equal(fby_live_percentile(histogram, 0.5), 0);
	histogram[0] = 1;
	assert_int_equal(fby_live_percentile(histogram, 0.5), 2);
	histogram[31] = 1;
	assert_int_equal(fby_live_percentile(histogram, 0.5), 2);
	assert_true(fby_live_percentile(histogram, 0.99) == 1ull << 32);
}

#define with_pool(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_loader_the_answer_is_no),
		cmocka_unit_test(wrong_use_is_told),
		with_pool(counters_are_told_as_json),
		with_pool(counters_are_told_to_people),
		with_pool(sample_of_a_worker_is_told),
		with_pool(pool_is_told_once),
		with_pool(pool_that_does_not_fit_is_refused_in_one_line),
		with_pool(nonsense_in_records_does_no_harm),
		with_pool(pool_being_born_is_passed_over),
		cmocka_unit_test(percentile_is_the_upper_end_of_a_bucket),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
