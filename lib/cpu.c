/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/cpu.h"
#include "lib/cgroup.h"
#include "lib/machine.h"
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_CPUS 8192

struct cpus {
	bool has[MAX_CPUS];
};

/* A list such as "0-3,8"; false where it makes no sense. */
static bool parse_list(const char *text, struct cpus *ret)
{
	*ret = (struct cpus){ 0 };
	while (*text >= '0' && *text <= '9') {
		char *end;
		unsigned long first = strtoul(text, &end, 10), last = first;

		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		if (first > last || last >= MAX_CPUS)
			return false;
		while (first <= last)
			ret->has[first++] = true;
		text = end + (*end == ',');
	}
	return !*text || *text == '\n';
}

static unsigned count(const struct cpus *allowed, const struct cpus *online)
{
	unsigned n = 0;

	for (unsigned i = 0; i < MAX_CPUS; i++)
		n += allowed->has[i] && (!online || online->has[i]);
	return n;
}

/* The kernel's word on this thread; on some machines it has CPUs that do not exist. */
static unsigned count_listed(void)
{
	static const char line[] = "Cpus_allowed_list:";
	struct cpus allowed, online;
	char status[8192], list[8192];
	char *at;

	if (!fby_machine_read("/proc/thread-self/status", status, sizeof(status)))
		return 0;
	at = strstr(status, line);
	if (!at)
		return 0;
	at += sizeof(line) - 1;
	at += strspn(at, " \t");
	if (!parse_list(at, &allowed))
		return 0;
	if (fby_machine_read("/sys/devices/system/cpu/online", list, sizeof(list)) &&
	    parse_list(list, &online))
		return count(&allowed, &online);
	return count(&allowed, NULL);
}

/* Without /proc. */
static unsigned count_called(void)
{
	cpu_set_t set;
	long n;

	if (!sched_getaffinity(0, sizeof(set), &set))
		return (unsigned)CPU_COUNT(&set);
	n = sysconf(_SC_NPROCESSORS_ONLN);
	return n > 0 ? (unsigned)n : 1;
}

unsigned fby_cpu_count(void)
{
	unsigned n = count_listed();
	double quota = fby_cgroup_cpus();

	if (!n)
		n = count_called();
	if (quota > 0 && quota < n)
		n = quota < 1 ? 1 : (unsigned)quota;
	return n ? n : 1;
}

unsigned fby_cpu_reserved(unsigned n_cpus)
{
	if (n_cpus >= 5)
		return 2;
	return n_cpus >= 3 ? 1 : 0;
}

unsigned fby_cpu_workers(void)
{
	unsigned n = fby_cpu_count();

	return n - fby_cpu_reserved(n);
}
