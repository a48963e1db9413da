/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forebay top: finds the running loaders of this user and says what they are doing.
 */
#include "lib/fail.h"
#include "lib/forebay.h"
#include "tools/command.h"
#include "tools/live.h"
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>

struct arguments {
	bool once, json;
	int pid;
};

static const char use[] =
	"usage: forebay top --once [--json] [--pid=PID]\n\n"
	"Says what the running loaders of this user are doing.\n\n"
	"  -1, --once     print once and end; without it there is nothing yet\n"
	"  -j, --json     print JSON\n"
	"  -p, --pid=PID  only loaders that this process has open\n"
	"  -h, --help     print this\n";

/* -1, or the status to end with. */
static int parse(int argc, char **argv, struct arguments *ret)
{
	static const struct option options[] = {
		{ "once", no_argument, NULL, '1' },
		{ "json", no_argument, NULL, 'j' },
		{ "pid", required_argument, NULL, 'p' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	struct arguments a = { 0 };
	uint64_t number = 0;
	int option;

	optind = 0;
	while ((option = getopt_long(argc, argv, "1jp:h", options, NULL)) >= 0) {
		if (option == '1')
			a.once = true;
		else if (option == 'j')
			a.json = true;
		else if (option != 'p')
			return option == 'h' ? FBY_EXIT_YES : FBY_EXIT_USE;
		else if (fby_parse_number(optarg, INT_MAX, &number) < 0)
			return fby_complain(FBY_EXIT_USE);
	}
	if (optind != argc || !a.once)
		return FBY_EXIT_USE;
	a.pid = (int)number;
	*ret = a;
	return -1;
}

struct found {
	json_t *list; /* NULL: text */
	unsigned n, n_strange;
};

static void take(void *arg, const struct fby_attached *attached)
{
	struct found *found = arg;

	if (!attached) {
		found->n_strange++;
		fby_complain(FBY_EXIT_SYSTEM);
		return;
	}
	if (found->list)
		json_array_append_new(found->list, fby_live_json(attached));
	else if (found->n)
		putchar('\n');
	if (!found->list)
		fby_live_text(attached);
	found->n++;
}

static int print(const struct arguments *a)
{
	struct found found = { .list = a->json ? json_array() : NULL };
	struct fby_attach_visitor visitor = { take, &found };
	int r = fby_attach_each(a->pid, &visitor);

	if (!r && found.list) {
		json_dumpf(found.list, stdout, JSON_INDENT(1));
		putchar('\n');
	}
	json_decref(found.list);
	if (!r && fflush(stdout))
		r = fby_fail_errno(-errno, "standard output");
	if (r < 0)
		return fby_complain(FBY_EXIT_SYSTEM);
	if (found.n)
		return FBY_EXIT_YES;
	if (found.n_strange)
		return FBY_EXIT_SYSTEM;
	fprintf(stderr, "forebay: no loader of this user is running\n");
	return FBY_EXIT_NO;
}

int fby_cmd_top(int argc, char **argv)
{
	struct arguments a = { 0 };
	int r = parse(argc, argv, &a);

	if (r >= 0) {
		fputs(use, r == FBY_EXIT_YES ? stdout : stderr);
		return r;
	}
	return print(&a);
}
