/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/owner.h"
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096

static void *page_wiped_at_fork(void)
{
	void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);

	if (page == MAP_FAILED)
		return NULL;
	if (madvise(page, PAGE, MADV_WIPEONFORK) == 0)
		return page;
	munmap(page, PAGE);
	return NULL;
}

void fby_owner_init(struct fby_owner *owner)
{
	*owner = (struct fby_owner){ .pid = getpid(), .mark = page_wiped_at_fork() };
	if (owner->mark)
		*owner->mark = 1;
}

void fby_owner_finish(struct fby_owner *owner)
{
	if (owner->mark)
		munmap(owner->mark, PAGE);
	owner->mark = NULL;
}

bool fby_owner_is_here(const struct fby_owner *owner)
{
	return owner->mark ? *owner->mark != 0 : owner->pid == getpid();
}
