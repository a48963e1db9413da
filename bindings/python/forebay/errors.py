# SPDX-License-Identifier: Apache-2.0
"""The exceptions that are forebay's own.

Everything else is one of Python's: ValueError for a setting that makes no sense,
FileNotFoundError, MemoryError where the pool does not fit, RuntimeError for a use
that cannot work (an ended iterator, a forked child), OSError for the rest.
"""
from typing import List, NamedTuple


class BadSample(NamedTuple):
    """A sample that could not be made."""

    id: int
    """Its number in the dataset."""
    path: str
    """Its file."""
    reason: str
    """Why it could not be made."""


class BadRow(NamedTuple):
    """A row of a batch that could not be made."""

    row: int
    """Its place in the batch."""
    id: int
    """The sample's number in the dataset."""
    path: str
    """The sample's file."""
    reason: str
    """Why it could not be made."""


class BadSampleError(RuntimeError):
    """A batch has rows that could not be made.

    ``samples`` lists them all.  The batch is given back already; the next ``next()``
    goes on with the batch behind it.
    """

    def __init__(self, samples: List[BadRow]):
        super().__init__(samples)
        self.samples = samples

    def __str__(self) -> str:
        head = "1 sample" if len(self.samples) == 1 else f"{len(self.samples)} samples"
        lines = [f"sample {s.id} ({s.path}): {s.reason}" for s in self.samples]
        return "\n  ".join([f"{head} of the batch could not be made:", *lines])


class TooManyBadSamplesError(RuntimeError):
    """More samples could not be made than `max_bad` allows: the run is over.

    ``samples`` lists them all, as ``Loader.bad_samples()`` does.
    """

    def __init__(self, message: str, samples: List[BadSample]):
        super().__init__(message, samples)
        self.message, self.samples = message, samples

    def __str__(self) -> str:
        return self.message


class BadSampleWarning(UserWarning):
    """A sample could not be made, and another row or zeros stand in its place."""


class ClosedError(RuntimeError):
    """The loader is closed.  Batches that it handed out stay readable."""


class NoFreeSlotError(RuntimeError):
    """Every slot of the pool is held by batches that the caller keeps."""
