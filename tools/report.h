/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an index holds, told to people or as JSON.
 */
#ifndef FBY_REPORT_H
#define FBY_REPORT_H

#include "lib/index.h"

/*
 * With the first `n_listed` samples, one a line: label, tab, path below the root as
 * fby_quote() writes it.  -ENOMEM, -EBADMSG.
 */
int fby_report_text(const struct fby_index *index, uint64_t n_listed);
int fby_report_json(const struct fby_index *index, uint64_t n_listed);

#endif
