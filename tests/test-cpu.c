/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many CPUs there are for us, on machines made of recorded files.
 */
#include "lib/cpu.h"
#include "tests/fake-machine.h"

static void set_cpus(void **state, const char *allowed, const char *online)
{
	char status[256];

	snprintf(
		status, sizeof(status),
		"Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t%s\nMems_allowed:\t1\n",
		allowed);
	fake_machine_write(*state, "/proc/thread-self/status", status);
	if (online)
		fake_machine_write(*state, "/sys/devices/system/cpu/online", online);
}

static void set_quota(void **state, const char *quota)
{
	fake_machine_write(*state, "/proc/self/cgroup", "0::/job\n");
	fake_machine_write(*state, "/proc/self/mountinfo",
			   "40 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
	fake_machine_write(*state, "/sys/fs/cgroup/job/cpu.max", quota);
}

static void mask_is_counted(void **state)
{
	set_cpus(state, "0-3,8,10-11", NULL);
	assert_int_equal(fby_cpu_count(), 7);
}

static void cpus_that_are_not_there_do_not_count(void **state)
{
	set_cpus(state, "0-127", "0-1,4\n");
	assert_int_equal(fby_cpu_count(), 3);
}

static void quota_is_rounded_down_but_not_to_zero(void **state)
{
	set_cpus(state, "0-7", "0-7\n");
	set_quota(state, "50000 100000\n");
	assert_int_equal(fby_cpu_count(), 1);
	set_quota(state, "150000 100000\n");
	assert_int_equal(fby_cpu_count(), 1);
	set_quota(state, "200000 100000\n");
	assert_int_equal(fby_cpu_count(), 2);
	set_quota(state, "9900000 100000\n");
	assert_int_equal(fby_cpu_count(), 8);
	set_quota(state, "max 100000\n");
	assert_int_equal(fby_cpu_count(), 8);
}

static void nonsense_is_asked_of_the_kernel(void **state)
{
	static const char *const nonsense[] = { "", "x", "3-1", "0-99999999", "0,,b" };

	unsetenv("FOREBAY_SYSROOT");
	unsigned real = fby_cpu_count();

	setenv("FOREBAY_SYSROOT", ((struct folder *)*state)->path, 1);
	for (size_t i = 0; i < FBY_ARRAY_SIZE(nonsense); i++) {
		set_cpus(state, nonsense[i], NULL);
		assert_true(fby_cpu_count() >= real);
	}
}

static void trainer_keeps_some(void **state)
{
	static const unsigned char kept[] = { 0, 0, 0, 1, 1, 2, 2 };

	(void)state;
	for (unsigned i = 0; i < sizeof(kept); i++)
		assert_int_equal(fby_cpu_reserved(i), kept[i]);
	assert_int_equal(fby_cpu_reserved(256), 2);
}

static void workers_get_the_rest(void **state)
{
	set_cpus(state, "5", NULL);
	assert_int_equal(fby_cpu_workers(), 1);
	set_cpus(state, "0-1", NULL);
	assert_int_equal(fby_cpu_workers(), 2);
	set_cpus(state, "0-3", NULL);
	assert_int_equal(fby_cpu_workers(), 3);
	set_cpus(state, "0-15", NULL);
	assert_int_equal(fby_cpu_workers(), 14);
}

static void this_machine_has_at_least_one(void **state)
{
	(void)state;
	assert_true(fby_cpu_count() >= 1);
	assert_true(fby_cpu_workers() >= 1);
	assert_true(fby_cpu_count() <= (unsigned)sysconf(_SC_NPROCESSORS_CONF));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		on_machine(mask_is_counted),
		on_machine(cpus_that_are_not_there_do_not_count),
		on_machine(quota_is_rounded_down_but_not_to_zero),
		on_machine(nonsense_is_asked_of_the_kernel),
		on_machine(workers_get_the_rest),
		cmocka_unit_test(trainer_keeps_some),
		cmocka_unit_test(this_machine_has_at_least_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
