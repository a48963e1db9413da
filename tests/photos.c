/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the photographs with libjpeg: soft colours and a little noise from a counter. */
#include "tests/photos.h"
#include "tests/unit.h"
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jpeglib.h>

enum { MAX_WIDTH = 128 };

static unsigned char pixel(unsigned id, unsigned x, unsigned y, unsigned c)
{
	unsigned noise = (id * 2654435761u ^ (x * 31 + y * 17 + c)) * 2246822519u >> 29;

	return (unsigned char)(x * (2 + id % 3) + y * (1 + id % 5) + c * 60 + id * 37 +
			       noise);
}

static void write_rows(struct jpeg_compress_struct *jpeg, unsigned id)
{
	unsigned char row[MAX_WIDTH * 3], *rows[] = { row };

	while (jpeg->next_scanline < jpeg->image_height) {
		for (unsigned i = 0; i < jpeg->image_width * 3; i++)
			row[i] = pixel(id, i / 3, jpeg->next_scanline, i % 3);
		jpeg_write_scanlines(jpeg, rows, 1);
	}
}

static void write_jpeg(const char *path, unsigned id)
{
	struct jpeg_compress_struct jpeg;
	struct jpeg_error_mgr error;
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	jpeg.err = jpeg_std_error(&error);
	jpeg_create_compress(&jpeg);
	jpeg_stdio_dest(&jpeg, file);
	jpeg.image_width = 60 + id % 23;
	jpeg.image_height = 50 + id % 17;
	jpeg.input_components = 3;
	jpeg.in_color_space = JCS_RGB;
	jpeg_set_defaults(&jpeg);
	jpeg_set_quality(&jpeg, 85, TRUE);
	jpeg_start_compress(&jpeg, TRUE);
	write_rows(&jpeg, id);
	jpeg_finish_compress(&jpeg);
	jpeg_destroy_compress(&jpeg);
	assert_int_equal(fclose(file), 0);
}

/* Sorted by class and name the files stand in the order of their ids. */
static unsigned class_of(unsigned n, unsigned n_classes, unsigned id)
{
	return (unsigned)((unsigned long long)id * n_classes / n);
}

void photos_file(const char *path, unsigned n, unsigned n_classes, unsigned id,
		 char *ret_path, size_t size)
{
	snprintf(ret_path, size, "%s/class%03u/%05u.jpg", path,
		 class_of(n, n_classes, id), id);
}

void photos_make(char *ret_path, size_t size, unsigned n, unsigned n_classes)
{
	const char *base = getenv("TMPDIR");
	char name[4096];

	snprintf(ret_path, size, "%s/forebay-story-XXXXXX", base ? base : "/tmp");
	assert_non_null(mkdtemp(ret_path));
	for (unsigned k = 0; k < n_classes; k++) {
		snprintf(name, sizeof(name), "%s/class%03u", ret_path, k);
		assert_int_equal(mkdir(name, 0755), 0);
	}
	for (unsigned id = 0; id < n; id++) {
		photos_file(ret_path, n, n_classes, id, name, sizeof(name));
		write_jpeg(name, id);
	}
}

static int remove_one(const char *path, const struct stat *s, int kind, struct FTW *at)
{
	(void)s;
	(void)kind;
	(void)at;
	return remove(path);
}

void photos_remove(const char *path)
{
	nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
