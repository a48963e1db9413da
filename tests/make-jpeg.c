/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a JPEG file to standard output, for the Python tests:
 *	make-jpeg WIDTH HEIGHT ACROSS DOWN grey|ycc|rgb|cmyk|ycck PROGRESSIVE RESTART SEED
 */
#include "tests/jpeg-file.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned number(const char *text)
{
	return (unsigned)strtoul(text, NULL, 10);
}

int main(int argc, char **argv)
{
	static const char *const names[] = { "grey", "ycc", "rgb", "cmyk", "ycck" };
	struct jpeg_spec spec;
	uint8_t *bytes;
	size_t n;

	if (argc != 9)
		return 2;
	spec = (struct jpeg_spec){ .width = number(argv[1]),
				   .height = number(argv[2]),
				   .across = number(argv[3]),
				   .down = number(argv[4]),
				   .progressive = number(argv[6]) != 0,
				   .restart = number(argv[7]),
				   .seed = number(argv[8]) };
	while (spec.colours < 5 && strcmp(names[spec.colours], argv[5]) != 0)
		spec.colours++;
	if (spec.colours == 5)
		return 2;
	bytes = jpeg_file(&spec, &n);
	n -= fwrite(bytes, 1, n, stdout);
	free(bytes);
	return n == 0 ? 0 : 3;
}
