/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/quote.h"
#include <stdio.h>
#include <string.h>

/* Length of the UTF-8 character at s as Unicode 15, table 3-7, has it; 0: none. */
static size_t character(const unsigned char *s)
{
	static const struct {
		unsigned char first, last, low, high, length;
	} row[] = {
		{ 0x01, 0x7f, 0, 0, 1 },       { 0xc2, 0xdf, 0x80, 0xbf, 2 },
		{ 0xe0, 0xe0, 0xa0, 0xbf, 3 }, { 0xe1, 0xec, 0x80, 0xbf, 3 },
		{ 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 },
		{ 0xf0, 0xf0, 0x90, 0xbf, 4 }, { 0xf1, 0xf3, 0x80, 0xbf, 4 },
		{ 0xf4, 0xf4, 0x80, 0x8f, 4 },
	};
	size_t i = 0, n;

	while (i < FBY_ARRAY_SIZE(row) && (*s < row[i].first || *s > row[i].last))
		i++;
	if (i == FBY_ARRAY_SIZE(row))
		return 0;
	n = row[i].length;
	if (n > 1 && (s[1] < row[i].low || s[1] > row[i].high))
		return 0;
	for (size_t k = 2; k < n; k++)
		if (s[k] < 0x80 || s[k] > 0xbf)
			return 0;
	return n;
}

/* Also the controls of Latin-1: a terminal obeys them. */
static bool is_control(const unsigned char *s, size_t n)
{
	return (n == 1 && (*s < 0x20 || *s == 0x7f)) ||
	       (n == 2 && *s == 0xc2 && s[1] < 0xa0);
}

void fby_quote(const char *name, char *ret_text, size_t size)
{
	const unsigned char *s = (const unsigned char *)name;
	size_t at = 0;

	while (*s) {
		size_t n = character(s), room = size - at;
		char part[8] = "";

		if (!n || is_control(s, n)) {
			snprintf(part, sizeof(part), "\\x%02x", *s);
			n = 1;
		} else if (*s == '\\') {
			part[0] = part[1] = '\\';
		} else {
			memcpy(part, s, n);
		}
		if (strlen(part) >= room)
			break;
		memcpy(ret_text + at, part, strlen(part));
		at += strlen(part);
		s += n;
	}
	ret_text[at] = 0;
}
