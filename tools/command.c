/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command.h"
#include "lib/fail.h"
#include "lib/forebay.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

int fby_complain(int status)
{
	fflush(stdout);
	fprintf(stderr, "forebay: %s\n", fby_error());
	return status;
}

int fby_parse_number(const char *text, uint64_t max, uint64_t *ret_number)
{
	unsigned long long number;
	char *end;

	errno = 0;
	number = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || number > max)
		return fby_fail(-EINVAL, "'%s' is not a number from 0 to %llu", text,
				(unsigned long long)max);
	*ret_number = number;
	return 0;
}
