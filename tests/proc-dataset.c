/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several processes, as the ranks of a host, open a dataset without an index at once:
 * one builds, the others wait and use what it built.
 */
#include "lib/dataset.h"
#include "lib/forebay.h"
#include "tests/folder.h"
#include <signal.h>
#include <sys/wait.h>

#define N_PROCESSES 6
#define DEADLINE_S  60

/* Counts its runs, then does what the real program does. */
static void write_counting_tool(const struct folder *folder, const char *real)
{
	char script[2048];

	snprintf(script, sizeof(script),
		 "#!/bin/sh\necho run >> '%.200s/runs'\nexec '%.1500s' \"$@\"\n",
		 folder->path, real);
	folder_write(folder, "tool", script);
	assert_int_equal(chmod(folder_path(folder, "tool"), 0755), 0);
	setenv("FOREBAY_TOOL", folder_path(folder, "tool"), 1);
}

static void find_real_tool(char *ret_path, size_t size)
{
	char self[1024];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	assert_true(n > 0);
	self[n] = 0;
	*strrchr(self, '/') = 0;
	snprintf(ret_path, size, "%s/../tools/forebay", self);
	assert_int_equal(access(ret_path, X_OK), 0);
}

/* In a child: 0 when it sees all samples.  It begins when the pipe is closed. */
static int open_it(const char *path, int start, uint64_t want)
{
	struct fby_index *index;
	char byte;

	alarm(DEADLINE_S);
	if (read(start, &byte, 1) != 0)
		return 2;
	if (fby_dataset_open(path, &index) < 0) {
		fprintf(stderr, "%s\n", fby_error());
		return 3;
	}
	return fby_index_count(index) == want ? 0 : 4;
}

static unsigned count_runs(const struct folder *folder)
{
	FILE *file = fopen(folder_path(folder, "runs"), "r");
	char line[64];
	unsigned n = 0;

	while (file && fgets(line, sizeof(line), file))
		n++;
	if (file)
		fclose(file);
	return n;
}

static void open_in_all(const struct folder *folder, uint64_t want)
{
	pid_t pid[N_PROCESSES];
	int start[2], status;

	assert_int_equal(pipe(start), 0);
	for (unsigned i = 0; i < N_PROCESSES; i++) {
		pid[i] = fork();
		if (!pid[i]) {
			close(start[1]);
			_exit(open_it(folder_path(folder, "data"), start[0], want));
		}
	}
	close(start[0]);
	close(start[1]);
	for (unsigned i = 0; i < N_PROCESSES; i++) {
		assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
		assert_int_equal(status, 0);
	}
}

static void one_of_several_processes_builds(void **state)
{
	char real[2048], name[64];

	find_real_tool(real, sizeof(real));
	for (unsigned i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "data/class%u/%u.jpg", i % 7, i);
		folder_write(*state, name, "");
	}
	write_counting_tool(*state, real);
	open_in_all(*state, 200);
	assert_int_equal(count_runs(*state), 1);
	folder_write(*state, "data/class1/new.jpg", "");
	open_in_all(*state, 201);
	assert_int_equal(count_runs(*state), 2);
}

/* The first builder is killed while the others wait: one of them builds. */
static void death_of_the_builder_lets_the_next_one_build(void **state)
{
	char real[2048], script[2600];
	pid_t pid;
	int status, start[2];

	find_real_tool(real, sizeof(real));
	folder_write(*state, "data/a/1.jpg", "");
	snprintf(
		script, sizeof(script),
		"#!/bin/sh\ncd '%.200s'\nif mkdir first 2> /dev/null; then kill -9 $PPID "
		"$$; fi\nexec '%.1500s' \"$@\"\n",
		((struct folder *)*state)->path, real);
	folder_write(*state, "tool", script);
	assert_int_equal(chmod(folder_path(*state, "tool"), 0755), 0);
	setenv("FOREBAY_TOOL", folder_path(*state, "tool"), 1);
	assert_int_equal(pipe(start), 0);
	close(start[1]);
	pid = fork();
	if (!pid)
		_exit(open_it(folder_path(*state, "data"), start[0], 1));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	close(start[0]);
	open_in_all(*state, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(one_of_several_processes_builds),
		in_folder(death_of_the_builder_lets_the_next_one_build),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
