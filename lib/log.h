/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of the library: silent unless asked.  One level, one sink.  Levels
 * mean how often a thing happens (FBY_LOG_... in forebay.h).
 */
#ifndef FBY_LOG_H
#define FBY_LOG_H

#include "lib/base.h"
#include "lib/forebay.h"

void fby_log(int level, const char *format, ...) FBY_PRINTF(2, 3);

/* For those who would have to compute the arguments first. */
bool fby_log_wants(int level);

#endif
