/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the subcommands of the forebay program have in common: how they are called
 * and how they end.  tools/forebay.c has their table.
 */
#ifndef FBY_COMMAND_H
#define FBY_COMMAND_H

#include "lib/base.h"

/* Exit statuses. */
enum {
	FBY_EXIT_YES,    /* done */
	FBY_EXIT_NO,     /* done, and the answer is no or nothing */
	FBY_EXIT_USE,    /* wrong use */
	FBY_EXIT_SYSTEM, /* the system, or a mismatch */
};

/* argv[0] is the subcommand; each returns its exit status. */
int fby_cmd_bench(int argc, char **argv);
int fby_cmd_index(int argc, char **argv);
int fby_cmd_top(int argc, char **argv);

/* Says "forebay: <text of the last error>" and returns `status`. */
int fby_complain(int status);

/* A whole number in all of `text`, at most `max`: 0, or -EINVAL with a sentence. */
int fby_parse_number(const char *text, uint64_t max, uint64_t *ret_number);

#endif
