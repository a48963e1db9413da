/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The measure the bench compares with: a whole JPEG file read and decoded to RGB by
 * libjpeg-turbo alone, as little around it as can be.
 */
#ifndef FBY_BARE_H
#define FBY_BARE_H

#include "lib/base.h"

struct fby_bare;

int fby_bare_create(struct fby_bare **ret_bare);
void fby_bare_destroy(struct fby_bare *bare);

/* 0: decoded; 1: it is no JPEG file, or a damaged one; -errno: it cannot be read. */
int fby_bare_decode(struct fby_bare *bare, const char *path);

#endif
