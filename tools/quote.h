/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of files may hold any byte.  For a line of text and for JSON they are written
 * as UTF-8, where a backslash is \\ and each byte that is a control character or not
 * part of UTF-8 is \xNN: nothing is lost, and a name is one line.
 */
#ifndef FBY_QUOTE_H
#define FBY_QUOTE_H

#include "lib/base.h"

/* Cut to `size` bytes with its final 0; 4 x strlen(name) + 1 are always enough. */
void fby_quote(const char *name, char *ret_text, size_t size);

#endif
