/* SPDX-License-Identifier: Apache-2.0 */
/* A forked child is not the owner, with the wiped page and without it. */
#include "lib/owner.h"
#include "tests/unit.h"
#include <sys/wait.h>
#include <unistd.h>

static int ask_in_child(const struct fby_owner *owner)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(fby_owner_is_here(owner));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WEXITSTATUS(status);
}

static void maker_is_the_owner_and_its_child_is_not(void **state)
{
	struct fby_owner owner;

	(void)state;
	fby_owner_init(&owner);
	assert_non_null(owner.mark);
	assert_true(fby_owner_is_here(&owner));
	assert_int_equal(ask_in_child(&owner), 0);
	assert_true(fby_owner_is_here(&owner));
	fby_owner_finish(&owner);
}

static void without_the_page_pids_are_compared(void **state)
{
	struct fby_owner owner;

	(void)state;
	fby_owner_init(&owner);
	fby_owner_finish(&owner);
	assert_null(owner.mark);
	assert_true(fby_owner_is_here(&owner));
	assert_int_equal(ask_in_child(&owner), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(maker_is_the_owner_and_its_child_is_not),
		cmocka_unit_test(without_the_page_pids_are_compared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
