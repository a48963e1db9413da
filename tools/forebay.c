/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The forebay program: finds the subcommand.  All else is in a library that the tests
 * link as well.
 */
#include "lib/forebay.h"
#include "tools/command.h"
#include <stdio.h>
#include <string.h>

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *what;
} command[] = {
	{ "bench", fby_cmd_bench, "measures the loader on a folder" },
	{ "index", fby_cmd_index, "lists the photographs of a folder in an index" },
	{ "top", fby_cmd_top, "says what running loaders are doing" },
};

static void tell_use(FILE *to)
{
	fprintf(to, "usage: forebay COMMAND [OPTION]... [ARGUMENT]...\n"
		    "       forebay COMMAND --help\n"
		    "       forebay --version\n\n");
	for (size_t i = 0; i < FBY_ARRAY_SIZE(command); i++)
		fprintf(to, "  %-8s %s\n", command[i].name, command[i].what);
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		tell_use(stderr);
		return FBY_EXIT_USE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		tell_use(stdout);
		return FBY_EXIT_YES;
	}
	if (!strcmp(argv[1], "--version")) {
		printf("forebay %s\n", FBY_VERSION);
		return FBY_EXIT_YES;
	}
	for (size_t i = 0; i < FBY_ARRAY_SIZE(command); i++)
		if (!strcmp(argv[1], command[i].name))
			return command[i].run(argc - 1, argv + 1);
	fprintf(stderr, "forebay: there is no command '%s'\n", argv[1]);
	tell_use(stderr);
	return FBY_EXIT_USE;
}
