/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits of control groups, on machines made of recorded files.
 */
#include "lib/cgroup.h"
#include "tests/fake-machine.h"

#define GB (1ull << 30)

#define MOUNT2 "40 23 0:28 / /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw\n"

/* A host of version 2, with this process in /a/b. */
static void make_second(struct folder *m)
{
	fake_machine_write(m, "/proc/self/cgroup", "0::/a/b\n");
	fake_machine_write(m, "/proc/self/mountinfo",
			   "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n" MOUNT2);
}

/* One of version 1, with controllers mounted together, as Debian 10 does. */
static void make_first(struct folder *m)
{
	fake_machine_write(m, "/proc/self/cgroup",
			   "9:memory:/docker/x\n5:cpu,cpuacct:/docker/x\n"
			   "1:name=systemd:/docker/x\n0::/docker/x\n");
	fake_machine_write(
		m, "/proc/self/mountinfo",
		"32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup "
		"rw,cpu,cpuacct\n"
		"35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
		"41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
}

static void assert_cpus(double want)
{
	assert_true(fby_cgroup_cpus() > want - 1e-9 && fby_cgroup_cpus() < want + 1e-9);
}

static void empty_machine_has_no_limits(void **state)
{
	(void)state;
	assert_cpus(0);
	assert_true(fby_cgroup_memory_room() == UINT64_MAX);
}

static void max_is_no_limit(void **state)
{
	make_second(*state);
	fake_machine_write(*state, "/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
	fake_machine_write(*state, "/sys/fs/cgroup/a/b/memory.max", "max\n");
	fake_machine_write(*state, "/sys/fs/cgroup/a/b/memory.current", "1000\n");
	assert_cpus(0);
	assert_true(fby_cgroup_memory_room() == UINT64_MAX);
}

static void quota_is_a_share_of_the_period(void **state)
{
	make_second(*state);
	fake_machine_write(*state, "/sys/fs/cgroup/a/b/cpu.max", "50000 100000\n");
	assert_cpus(0.5);
	fake_machine_write(*state, "/sys/fs/cgroup/a/b/cpu.max", "30000 20000\n");
	assert_cpus(1.5);
	fake_machine_write(*state, "/sys/fs/cgroup/a/b/cpu.max", "200000 100000\n");
	assert_cpus(2);
}

static void smallest_of_all_ancestors_counts(void **state)
{
	make_second(*state);
	fake_machine_write(*state, "/sys/fs/cgroup/a/b/cpu.max", "800000 100000\n");
	fake_machine_write(*state, "/sys/fs/cgroup/a/cpu.max", "300000 100000\n");
	fake_machine_write(*state, "/sys/fs/cgroup/cpu.max", "max 100000\n");
	fake_machine_write(*state, "/sys/fs/cgroup/a/b/memory.max", "8589934592\n");
	fake_machine_write(*state, "/sys/fs/cgroup/a/b/memory.current", "0\n");
	fake_machine_write(*state, "/sys/fs/cgroup/a/memory.max", "4294967296\n");
	fake_machine_write(*state, "/sys/fs/cgroup/a/memory.current", "1073741824\n");
	assert_cpus(3);
	assert_true(fby_cgroup_memory_room() == 3 * GB);
}

static void limit_of_the_mount_itself_counts(void **state)
{
	make_second(*state);
	fake_machine_write(*state, "/proc/self/cgroup", "0::/\n");
	fake_machine_write(*state, "/sys/fs/cgroup/cpu.max", "150000 100000\n");
	assert_cpus(1.5);
}

static void cached_files_leave_room(void **state)
{
	make_second(*state);
	fake_machine_write(*state, "/sys/fs/cgroup/a/memory.max", "4294967296\n");
	fake_machine_write(*state, "/sys/fs/cgroup/a/memory.current", "4294967296\n");
	fake_machine_write(*state, "/sys/fs/cgroup/a/memory.stat",
			   "anon 1073741824\nfile 3221225472\ninactive_file 2147483648\n"
			   "active_file 1073741824\nshmem 0\n");
	assert_true(fby_cgroup_memory_room() == 3 * GB);
}

static void high_limits_as_well(void **state)
{
	make_second(*state);
	fake_machine_write(*state, "/sys/fs/cgroup/a/memory.max", "4294967296\n");
	fake_machine_write(*state, "/sys/fs/cgroup/a/memory.high", "2147483648\n");
	fake_machine_write(*state, "/sys/fs/cgroup/a/memory.current", "1073741824\n");
	assert_true(fby_cgroup_memory_room() == GB);
}

static void more_used_than_allowed_is_no_room(void **state)
{
	make_second(*state);
	fake_machine_write(*state, "/sys/fs/cgroup/a/memory.max", "1000\n");
	fake_machine_write(*state, "/sys/fs/cgroup/a/memory.current", "2000\n");
	assert_true(fby_cgroup_memory_room() == 0);
}

static void first_version_limits_too(void **state)
{
	make_first(*state);
	fake_machine_write(*state, "/sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_quota_us",
			   "250000\n");
	fake_machine_write(*state,
			   "/sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_period_us",
			   "100000\n");
	fake_machine_write(*state, "/sys/fs/cgroup/memory/docker/memory.limit_in_bytes",
			   "4294967296\n");
	fake_machine_write(*state, "/sys/fs/cgroup/memory/docker/memory.usage_in_bytes",
			   "3221225472\n");
	fake_machine_write(*state, "/sys/fs/cgroup/memory/docker/memory.stat",
			   "cache 5\ninactive_file 7\ntotal_inactive_file 1073741824\n");
	assert_cpus(2.5);
	assert_true(fby_cgroup_memory_room() == 2 * GB);
}

static void first_version_without_limits(void **state)
{
	make_first(*state);
	fake_machine_write(*state, "/sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_quota_us",
			   "-1\n");
	fake_machine_write(*state,
			   "/sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_period_us",
			   "100000\n");
	fake_machine_write(*state, "/sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes",
			   "9223372036854771712\n");
	assert_cpus(0);
	assert_true(fby_cgroup_memory_room() == UINT64_MAX);
}

/* Docker without a namespace for groups: the mount begins at the container's group. */
static void mount_that_begins_at_our_group(void **state)
{
	fake_machine_write(*state, "/proc/self/cgroup", "5:cpu:/docker/x/sub\n");
	fake_machine_write(*state, "/proc/self/mountinfo",
			   "32 31 0:29 /docker/x /sys/fs/cgroup/cpu ro - cgroup cgroup "
			   "rw,cpu\n");
	fake_machine_write(*state, "/sys/fs/cgroup/cpu/sub/cpu.cfs_quota_us", "400000\n");
	fake_machine_write(*state, "/sys/fs/cgroup/cpu/sub/cpu.cfs_period_us",
			   "100000\n");
	assert_cpus(4);
	fake_machine_write(*state, "/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "100000\n");
	fake_machine_write(*state, "/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
	assert_cpus(1);
}

/* A group outside of our namespace is shown as "/../x": only the mount can be asked. */
static void group_that_cannot_be_seen(void **state)
{
	make_second(*state);
	fake_machine_write(*state, "/proc/self/cgroup", "0::/../other\n");
	fake_machine_write(*state, "/sys/fs/cgroup/cpu.max", "100000 100000\n");
	assert_cpus(1);
}

static void blank_in_a_mount_point(void **state)
{
	fake_machine_write(*state, "/proc/self/cgroup", "0::/\n");
	fake_machine_write(*state, "/proc/self/mountinfo",
			   "40 23 0:28 / /my\\040groups rw - cgroup2 none rw\n");
	fake_machine_write(*state, "/my groups/cpu.max", "700000 100000\n");
	assert_cpus(7);
}

static void nonsense_is_no_limit(void **state)
{
	static const char *const nonsense[] = { "",           "\n",         "-5 100000\n",
						"0 100000\n", "100000 0\n", "x y z\n",
						"100000\n" };

	for (size_t i = 0; i < FBY_ARRAY_SIZE(nonsense); i++) {
		make_second(*state);
		fake_machine_write(*state, "/sys/fs/cgroup/a/cpu.max", nonsense[i]);
		assert_cpus(0);
		fake_machine_write(*state, "/proc/self/cgroup", nonsense[i]);
		assert_cpus(0);
		fake_machine_write(*state, "/proc/self/mountinfo", nonsense[i]);
		assert_true(fby_cgroup_memory_room() == UINT64_MAX);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		on_machine(empty_machine_has_no_limits),
		on_machine(max_is_no_limit),
		on_machine(quota_is_a_share_of_the_period),
		on_machine(smallest_of_all_ancestors_counts),
		on_machine(limit_of_the_mount_itself_counts),
		on_machine(cached_files_leave_room),
		on_machine(high_limits_as_well),
		on_machine(more_used_than_allowed_is_no_room),
		on_machine(first_version_limits_too),
		on_machine(first_version_without_limits),
		on_machine(mount_that_begins_at_our_group),
		on_machine(group_that_cannot_be_seen),
		on_machine(blank_in_a_mount_point),
		on_machine(nonsense_is_no_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
