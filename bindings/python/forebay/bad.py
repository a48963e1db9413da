# SPDX-License-Identifier: Apache-2.0
"""What becomes of samples that cannot be made: warnings, errors, and the run's list."""
import warnings
from typing import List

from . import _ffi
from .errors import BadRow, BadSample, BadSampleError, BadSampleWarning, TooManyBadSamplesError

ON_BAD = {"replace": _ffi.BAD_REPLACE, "zeros": _ffi.BAD_ZEROS, "raise": _ffi.BAD_ZEROS}


class BadSamples:
    """The bad samples of one loader's run, each once.  `on_bad`: one of ON_BAD."""

    def __init__(self, on_bad: str):
        self.on_bad = on_bad
        self.known: List[BadSample] = []

    def _learn(self, handle: int) -> List[BadSample]:
        """Reads on in the library's list; what is new."""
        new = [BadSample(sample, _ffi.sample_path(handle, sample), reason)
               for sample, reason in _ffi.bad_list(handle, len(self.known))]
        self.known += new
        return new

    def met(self, handle: int, lease: _ffi.Lease) -> None:
        """A batch has bad rows: raises BadSampleError, or warns of each new sample.

        Whatever is raised, and a warning may be, the batch is given back.
        """
        try:
            new = self._learn(handle)
            if self.on_bad == "raise":
                raise BadSampleError([BadRow(row, sample, _ffi.sample_path(handle, sample), reason)
                                      for row, sample, reason in _ffi.bad_rows(handle, lease)])
            copied = self.on_bad == "replace" and lease.n_bad < lease.n
            instead = "a copy of the next good row" if copied else "zeros"
            for s in new:  # pointed at the line with the loop: met, _next, __next__, loop
                warnings.warn(f"sample {s.id} ({s.path}) could not be made: {s.reason}; its row "
                              f"of the batch is {instead}", BadSampleWarning, stacklevel=4)
        except BaseException:
            lease.give_back()
            raise

    def too_many(self, handle: int) -> TooManyBadSamplesError:
        """The exception that ends the run, right after the library said so."""
        message = _ffi.text(_ffi.lib.fby_error())
        self._learn(handle)
        return TooManyBadSamplesError(message, list(self.known))
