/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of this thread's last error.  Whoever finds an error says it once,
 * where it was born: return fby_fail(-ENOENT, "index '%s'", path);
 * Whoever passes it on says nothing.
 */
#ifndef FBY_FAIL_H
#define FBY_FAIL_H

#include "lib/base.h"

/* Keeps the text and returns `code` (negative errno); its name is not added. */
int fby_fail(int code, const char *format, ...) FBY_PRINTF(2, 3);

/* The same, with ": " and strerror(-code) behind the text. */
int fby_fail_errno(int code, const char *format, ...) FBY_PRINTF(2, 3);

#endif
