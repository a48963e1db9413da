/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bare full decode.  Its decompress object and its buffers are kept, as a loop that
 * does nothing else would.
 */
#include "tests/full-decode.h"
#include <fcntl.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jpeglib.h>

static struct jpeg_decompress_struct d;
static struct jpeg_error_mgr errors;
static jmp_buf failed;
static unsigned char *bytes, *pixels;
static size_t n_bytes, n_pixels;

static void on_error(j_common_ptr c)
{
	(void)c;
	longjmp(failed, 1);
}

static void on_message(j_common_ptr c, int level)
{
	(void)c;
	(void)level;
}

static void *reserve(void *at, size_t *room, size_t n)
{
	if (n <= *room)
		return at;
	*room = n;
	free(at);
	return malloc(n);
}

static size_t read_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st = { 0 };
	ssize_t n = 0;

	if (fd >= 0 && fstat(fd, &st) == 0) {
		bytes = reserve(bytes, &n_bytes, (size_t)st.st_size);
		n = pread(fd, bytes, (size_t)st.st_size, 0);
	}
	if (fd >= 0)
		close(fd);
	return n > 0 ? (size_t)n : 0;
}

static void decode(size_t n)
{
	jpeg_mem_src(&d, bytes, n);
	jpeg_read_header(&d, TRUE);
	d.out_color_space = d.num_components == 4 ? JCS_CMYK : JCS_RGB;
	d.dct_method = JDCT_ISLOW;
	jpeg_start_decompress(&d);
	size_t stride = (size_t)d.output_width * (size_t)d.output_components;

	pixels = reserve(pixels, &n_pixels, stride * d.output_height);
	while (d.output_scanline < d.output_height) {
		JSAMPROW row = pixels + d.output_scanline * stride;

		jpeg_read_scanlines(&d, &row, 1);
	}
	jpeg_finish_decompress(&d);
}

void full_decode(const char *path)
{
	size_t n = read_file(path);

	if (n == 0)
		return;
	if (d.err == NULL) {
		d.err = jpeg_std_error(&errors);
		errors.error_exit = on_error;
		errors.emit_message = on_message;
		jpeg_create_decompress(&d);
	}
	if (setjmp(failed) == 0)
		decode(n);
	else
		jpeg_abort_decompress(&d);
}
