/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/meter.h"

static double ms(uint64_t ns)
{
	return (double)ns / 1e6;
}

void fby_meter_init(struct fby_meter *m, uint64_t (*now)(void *ctx), void *ctx)
{
	*m = (struct fby_meter){ .now = now, .ctx = ctx };
	m->opened = now(ctx);
}

void fby_meter_finish(struct fby_meter *m)
{
	fby_series_finish(&m->batch_gap_ms);
	fby_series_finish(&m->epoch_gap_ms);
}

int fby_meter_batch(struct fby_meter *m, uint64_t epoch, uint32_t n)
{
	uint64_t now = m->now(m->ctx), gap = now - m->last;
	bool first = !m->first, same = epoch == m->last_epoch;

	m->last = now;
	m->last_epoch = epoch;
	if (first) {
		m->first = now;
		return 0;
	}
	m->rows += n;
	return fby_series_add(same ? &m->batch_gap_ms : &m->epoch_gap_ms, ms(gap));
}

double fby_meter_first_batch_ms(const struct fby_meter *m)
{
	return m->first ? ms(m->first - m->opened) : 0;
}

double fby_meter_images_per_second(const struct fby_meter *m)
{
	uint64_t ns = m->last - m->first;

	return ns ? (double)m->rows / ((double)ns / 1e9) : 0;
}
