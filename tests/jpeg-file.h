/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JPEG files for tests, of kinds that few programs write: any sampling, any colour
 * space, any number of scans.  The picture is waves, an edge and a little noise.
 */
#ifndef JPEG_FILE_H
#define JPEG_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How the components of a file are to be understood. */
enum { JPEG_GREY, JPEG_YCC, JPEG_RGB, JPEG_CMYK, JPEG_YCCK };

struct jpeg_spec {
	unsigned width, height;
	unsigned across, down; /* sampling of the first component; the others' are 1 */
	unsigned colours;
	bool progressive;
	unsigned restart; /* MCUs between restart markers, 0: none */
	unsigned seed;
};

/* The file's bytes; the caller frees them.  Ends the program where libjpeg objects. */
uint8_t *jpeg_file(const struct jpeg_spec *spec, size_t *ret_n);

/* A photograph decoded whole by libjpeg alone, as RGBX or CMYK; the caller frees it. */
uint8_t *jpeg_whole(const uint8_t *bytes, size_t n);

#endif
