# SPDX-License-Identifier: Apache-2.0
"""What next() costs in Python on a batch that is ready: prints median, p90 and p99 in us.

Back to back its code is in the caches, as it is in no training loop but a very fast
one; after a pause in which other code ran, most of its time is fetching code.

Usage: python3 tests/python/bench_next.py    (FOREBAY_BUILD as for the tests)
"""
import statistics
import tempfile
import time

import conftest  # noqa: F401  pylint: disable=unused-import
import helpers
from forebay import Loader, transforms as T


PAUSE = 0.008  # the workers fill the pool meanwhile


def measure(loader, burst, wanted):
    """us of next() where it did not wait: `burst` times back to back, then a pause."""
    taken = []
    while len(taken) < wanted:
        iterator = iter(loader)
        for _ in range(len(loader) // burst):
            time.sleep(PAUSE)
            waits, times = loader.stats()["waits"], []
            for _ in range(burst):
                start = time.perf_counter_ns()
                batch = next(iterator)
                times.append((time.perf_counter_ns() - start) / 1000)
                del batch
            if loader.stats()["waits"] == waits:
                taken += times
        for batch in iterator:
            del batch
    return statistics.quantiles(taken, n=100)


def main():
    with tempfile.TemporaryDirectory() as folder:
        helpers.make_folder(folder, 64, 2)
        with Loader(folder, 4, [T.Resize((32, 32))], shuffle=True, workers=1) as loader:
            measure(loader, 4, 50)
            for burst, what in ((4, "four back to back"), (1, "each after a pause")):
                us = measure(loader, burst, 500)
                print(f"next() on a ready batch, {what}: median {us[49]:.1f} us, "
                      f"p90 {us[89]:.1f}, p99 {us[98]:.1f}")


if __name__ == "__main__":
    main()
