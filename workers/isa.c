/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses one of the tables of hot loops.
 */
#include "workers/isa.h"
#include "lib/fail.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct fby_passes *fby_passes_get(unsigned k)
{
	for (unsigned i = 0; fby_isa_list[i] != NULL; i++)
		if (fby_isa_runs(fby_isa_list[i]) && k-- == 0)
			return fby_isa_list[i];
	return NULL;
}

int fby_passes_choose(const struct fby_passes **ret_passes)
{
	const char *name = getenv("FOREBAY_ISA");
	unsigned i = 0;

	assert(fby_isa_list[0] != NULL);
	if (name == NULL || *name == 0) {
		*ret_passes = fby_passes_get(0);
		return 0;
	}
	while (fby_isa_list[i] != NULL && strcmp(fby_isa_list[i]->name, name) != 0)
		i++;
	if (fby_isa_list[i] == NULL)
		return fby_fail(-EINVAL,
				"FOREBAY_ISA='%s': this build knows no such instruction "
				"set; its best is '%s'",
				name, fby_isa_list[0]->name);
	if (!fby_isa_runs(fby_isa_list[i]))
		return fby_fail(-ENOTSUP,
				"FOREBAY_ISA='%s': this machine lacks some of its "
				"instructions",
				name);
	*ret_passes = fby_isa_list[i];
	return 0;
}
