/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/plan.h"
#include "lib/fail.h"
#include "lib/order.h"
#include <errno.h>

int fby_plan_init(struct fby_plan *plan, uint64_t n_samples, uint32_t batch, bool shuffle,
		  bool drop_last, uint64_t seed)
{
	uint64_t full;

	assert(batch >= 1);
	full = n_samples / batch;
	*plan = (struct fby_plan){ .n_samples = n_samples,
				   .n_batches = full + (!drop_last && n_samples % batch),
				   .seed = seed,
				   .batch = batch,
				   .shuffle = shuffle };
	if (plan->n_batches)
		return 0;
	return fby_fail(-EINVAL,
			"%llu samples do not fill one batch of %u, and drop_last leaves "
			"short batches out",
			(unsigned long long)n_samples, batch);
}

struct fby_part fby_plan_part(const struct fby_plan *plan, uint64_t epoch, uint64_t index)
{
	uint64_t first = index * plan->batch;

	assert(index < plan->n_batches);
	return (struct fby_part){ .epoch = epoch,
				  .index = index,
				  .first = first,
				  .stride = 1,
				  .n = (uint32_t)fby_min(plan->batch,
							 plan->n_samples - first) };
}

struct fby_part fby_plan_after(const struct fby_plan *plan, const struct fby_part *part)
{
	if (part->index + 1 < plan->n_batches)
		return fby_plan_part(plan, part->epoch, part->index + 1);
	return fby_plan_part(plan, part->epoch + 1, 0);
}

void fby_plan_ids(const struct fby_plan *plan, const struct fby_part *part,
		  uint64_t *ret_id)
{
	struct fby_order order;

	fby_order_init(&order, plan->n_samples, plan->shuffle, plan->seed, part->epoch);
	for (uint32_t i = 0; i < part->n; i++)
		ret_id[i] = fby_order_at(&order, part->first + i * part->stride);
}
