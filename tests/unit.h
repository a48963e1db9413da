/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What cmocka.h needs in front of it, and cmocka.h: for test files only.
 */
#ifndef FBY_UNIT_H
#define FBY_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
