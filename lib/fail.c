/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/fail.h"
#include "lib/forebay.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char text[1024] = "no error";

static void FBY_PRINTF(1, 0) keep(const char *format, va_list ap)
{
	vsnprintf(text, sizeof(text), format, ap);
}

int fby_fail(int code, const char *format, ...)
{
	va_list ap;

	assert(code < 0);
	va_start(ap, format);
	keep(format, ap);
	va_end(ap);
	return code;
}

int fby_fail_errno(int code, const char *format, ...)
{
	char reason[128];
	va_list ap;
	size_t n;

	assert(code < 0);
	va_start(ap, format);
	keep(format, ap);
	va_end(ap);
	n = fby_min(strlen(text), sizeof(text) - sizeof(reason)); /* the reason counts */
	snprintf(text + n, sizeof(text) - n, ": %s",
		 strerror_r(-code, reason, sizeof(reason)));
	return code;
}

const char *fby_error(void)
{
	return text;
}
