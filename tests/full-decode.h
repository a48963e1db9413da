/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The yardstick: reads a file and decodes the whole of it with libjpeg-turbo, exact
 * DCT and fancy upsampling, to RGB; nothing else.
 */
#ifndef FULL_DECODE_H
#define FULL_DECODE_H

/* A file that libjpeg refuses costs what it costs and gives nothing. */
void full_decode(const char *path);

#endif
