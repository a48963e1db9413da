/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An image folder made on the spot: small JPEGs in classes, the same for the same
 * numbers.
 */
#ifndef FBY_PHOTOS_H
#define FBY_PHOTOS_H

#include <stddef.h>

/* PATH/class0/00000.jpg and so on, in a new folder below TMPDIR; n spread over classes.
 */
void photos_make(char *ret_path, size_t size, unsigned n, unsigned n_classes);

/* Sample `id` of such a folder: its file. */
void photos_file(const char *path, unsigned n, unsigned n_classes, unsigned id,
		 char *ret_path, size_t size);

/* With all that is in it. */
void photos_remove(const char *path);

#endif
