/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/bare.h"
#include "lib/fail.h"
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jpeglib.h>

struct fby_bare {
	struct jpeg_decompress_struct codec;
	struct jpeg_error_mgr errors;
	jmp_buf out;
	unsigned char *file, *row;
	size_t file_bytes, file_room, row_room;
};

static void give_up(j_common_ptr codec)
{
	longjmp(((struct fby_bare *)codec->client_data)->out, 1);
}

static void say_nothing(j_common_ptr codec, int level)
{
	(void)codec;
	(void)level;
}

int fby_bare_create(struct fby_bare **ret_bare)
{
	struct fby_bare *b = calloc(1, sizeof(*b));

	if (!b)
		return fby_fail(-ENOMEM, "no memory for a decoder");
	b->codec.err = jpeg_std_error(&b->errors);
	b->errors.error_exit = give_up;
	b->errors.emit_message = say_nothing;
	b->codec.client_data = b;
	if (setjmp(b->out)) {
		free(b);
		return fby_fail(-ENOMEM, "no memory for a decoder");
	}
	jpeg_create_decompress(&b->codec);
	*ret_bare = b;
	return 0;
}

void fby_bare_destroy(struct fby_bare *b)
{
	if (!b)
		return;
	jpeg_destroy_decompress(&b->codec);
	free(b->file);
	free(b->row);
	free(b);
}

static int make_room(unsigned char **buffer, size_t *room, size_t bytes)
{
	unsigned char *grown;

	if (bytes <= *room)
		return 0;
	grown = realloc(*buffer, bytes);
	if (!grown)
		return fby_fail(-ENOMEM, "no memory for %zu bytes", bytes);
	*buffer = grown;
	*room = bytes;
	return 0;
}

static int read_file(struct fby_bare *b, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), r;
	struct stat s;
	ssize_t n = 0;

	if (fd < 0)
		return fby_fail_errno(-errno, "'%s'", path);
	r = fstat(fd, &s) < 0 ? fby_fail_errno(-errno, "'%s'", path)
			      : make_room(&b->file, &b->file_room, (size_t)s.st_size + 1);
	if (r == 0)
		n = read(fd, b->file, (size_t)s.st_size);
	if (n < 0)
		r = fby_fail_errno(-errno, "'%s'", path);
	close(fd);
	b->file_bytes = (size_t)n;
	return r;
}

/* All rows to the same buffer: the decoder's work and nothing else. */
static void decode(struct fby_bare *b)
{
	struct jpeg_decompress_struct *codec = &b->codec;

	while (codec->output_scanline < codec->output_height) {
		JSAMPROW rows[8];

		for (int i = 0; i < 8; i++)
			rows[i] = b->row + (size_t)i * codec->output_width * 3;
		jpeg_read_scanlines(codec, rows, 8);
	}
}

/* libjpeg gives no RGB of CMYK and YCCK. */
static bool has_rgb(const struct jpeg_decompress_struct *codec)
{
	return codec->jpeg_color_space != JCS_CMYK && codec->jpeg_color_space != JCS_YCCK;
}

/* May leave by longjmp. */
static int decode_all(struct fby_bare *b)
{
	struct jpeg_decompress_struct *codec = &b->codec;
	int r;

	jpeg_mem_src(codec, b->file, (unsigned long)b->file_bytes);
	jpeg_read_header(codec, TRUE);
	if (!has_rgb(codec))
		return 1;
	codec->out_color_space = JCS_RGB;
	codec->dct_method = JDCT_ISLOW;
	jpeg_start_decompress(codec);
	r = make_room(&b->row, &b->row_room, (size_t)codec->output_width * 3 * 8);
	if (r == 0)
		decode(b);
	return r;
}

static int decode_file(struct fby_bare *b)
{
	int r;

	if (setjmp(b->out)) {
		jpeg_abort_decompress(&b->codec);
		return 1;
	}
	r = decode_all(b);
	jpeg_abort_decompress(&b->codec);
	return r;
}

int fby_bare_decode(struct fby_bare *b, const char *path)
{
	int r = read_file(b, path);

	return r < 0 ? r : decode_file(b);
}
