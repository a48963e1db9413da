/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small files in which the kernel describes the machine.  FOREBAY_SYSROOT stands in
 * front of their paths: tests put another machine there.
 */
#ifndef FBY_MACHINE_H
#define FBY_MACHINE_H

#include "lib/base.h"

/* "$FOREBAY_SYSROOT/path"; false where that is too long. */
bool fby_machine_path(const char *path, char *ret_path, size_t size);

/* The file as text, cut to `size` bytes with its final 0; false: it cannot be read. */
bool fby_machine_read(const char *path, char *ret_text, size_t size);

/*
 * A file that holds one number.  false where there is none, or a word such as "max";
 * a number too large for uint64_t is UINT64_MAX.
 */
bool fby_machine_number(const char *path, uint64_t *ret_number);

#endif
