/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PNG files for tests, by libpng: any colour type it knows, straight or interlaced.
 */
#ifndef PNG_FILE_H
#define PNG_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct png_spec {
	unsigned width, height;
	int bits, colour_type; /* as in the file's header: 0, 2, 4 or 6 */
	bool interlaced;
};

/* The file's bytes, of a picture of noise; the caller frees them. */
uint8_t *png_file(const struct png_spec *spec, size_t *ret_n);

#endif
