# SPDX-License-Identifier: Apache-2.0
"""Loader: iteration and state.  Knows neither torch nor ctypes."""
import atexit
import errno
import gc
import os
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, NoReturn, Optional, Sequence, Union

from . import _ffi, checks
from .bad import ON_BAD, BadSamples
from .errors import BadSample, ClosedError, NoFreeSlotError
from .transforms import Normalize, Transform

if TYPE_CHECKING:
    from .torch import Batch

_live: "weakref.WeakSet[Loader]" = weakref.WeakSet()


class Dataset:
    """What is known of the photographs: names and classes."""

    def __init__(self, path: str, info: _ffi.Info, handle: int):
        self.path = path
        self.classes = [_ffi.class_name(handle, i) for i in range(info.n_classes)]
        self.class_to_idx = {name: i for i, name in enumerate(self.classes)}
        self._length = info.n_samples

    def __len__(self) -> int:
        return self._length

    def __repr__(self) -> str:
        return f"Dataset({self.path!r}, {len(self)} samples, {len(self.classes)} classes)"


class Epoch:
    """The iterator over one epoch."""

    def __init__(self, loader: "Loader", number: int):
        self._loader, self.number, self.over = loader, number, False

    def __iter__(self) -> "Epoch":
        return self

    def __next__(self) -> "Batch":
        return self._loader._next(self)

    def __length_hint__(self) -> int:
        return len(self._loader)


class Loader:
    """Batches of photographs, made by worker processes, in shared memory.

    path        an image folder: path/class/photo.jpg.  It is walked once; its index is
                kept beside the photographs or in the user's cache folder.
    batch_size  rows of a batch
    pipeline    what is done to each photograph: a list of forebay.transforms.  It must
                end with a size that does not depend on the photograph.
    dtype       uint8, float16, bfloat16 or float32: a name, or torch's object.  None:
                uint8 without Normalize, float32 with.  Floats are x / 255.
    memory_format  contiguous or channels_last: the order of an image's numbers in
                memory, in torch's meaning.  The shape is the same for both.
    shuffle     each epoch in an order of its own, which `seed` decides
    drop_last   leave out a last batch of less than batch_size rows
    seed        of order and transforms, 0 to 2**64 - 1.  The same seed gives the same
                batches, with any number of workers.
    workers     processes; "auto": the CPUs that this process may use, less one for the
                trainer of three or four, less two of five or more
    slots       batches that the pool holds; "auto": 6
    on_bad      what becomes of a photograph that cannot be read.  "replace": its row is an
                exact copy of the next good row of its batch, label and id too, so that
                batches stay full; "zeros": its row is zeros, with its own label and id;
                both with one BadSampleWarning a file.  "raise": BadSampleError instead of
                the batch; the next next() goes on behind it.  A batch without a good row
                is zeros.
    max_bad     how many samples may be bad, each counted once.  A fraction is a share of
                the samples seen so far, and 10 are always allowed, but for 0.0; a whole
                number is a number of samples.  More: TooManyBadSamplesError, for good.
    pillow      13 or 12: whose resized pixels are made.  They differ in few bytes, and
                do not depend on the Pillow that is installed.

    Iterating goes through one epoch and gives batches ``(images, labels)``:

    images  N, C, H, W of `dtype`, RGB: a view of the pool's memory.  The memory is
            yours until the last tensor or array that looks at it is gone; the slot
            goes back to the pool then.  Keep copies (images.clone()), not batches.
    labels  N of int64: a tensor of its own

    and ``batch.ids`` (the samples' numbers), ``batch.epoch``, ``batch.index`` and
    ``batch.release()``.  The next ``for`` goes through the next epoch, also after a
    ``break``.  A new ``iter()`` ends the older one.

    Opening raises FileNotFoundError (no such folder, no photograph in it, no worker
    program), ValueError (a setting that makes no sense), MemoryError (the pool does not
    fit), OSError.  Iterating raises BadSampleError, TooManyBadSamplesError,
    NoFreeSlotError, ClosedError, RuntimeError (an ended iterator; a forked child),
    ChildProcessError (no worker is left).

    Several threads may use one loader; they take turns.
    """

    _handle = 0

    def __init__(self, path: Union[str, "os.PathLike[str]"], batch_size: int,
                 pipeline: Sequence[Transform], *, dtype: Any = None,
                 memory_format: Any = "contiguous", shuffle: bool = False,
                 drop_last: bool = False, seed: int = 0, workers: Union[int, str] = "auto",
                 slots: Union[int, str] = "auto", on_bad: str = "replace",
                 max_bad: Union[float, int] = 0.01, pillow: int = 13):
        from .torch import batch_maker

        s = _ffi.default_settings()
        self.pipeline = checks.transforms(pipeline)
        self._seed = checks.number("seed", seed, 0, 2**64 - 1)
        if dtype is None:
            dtype = "float32" if any(isinstance(t, Normalize) for t in pipeline) else "uint8"
        s.batch_size = checks.number("batch_size", batch_size, 1, 65536)
        s.n_workers = checks.number_or_auto("workers", workers, 1, 1024)
        s.n_slots = checks.number_or_auto("slots", slots, 2, 256)
        s.dtype = checks.choice("dtype", dtype, _ffi.DTYPES)
        s.memory_format = checks.choice("memory_format", memory_format, _ffi.MEMORY_FORMATS,
                                        "_format")
        s.shuffle, s.drop_last = bool(shuffle), bool(drop_last)
        s.pillow, s.seed = checks.number("pillow", pillow, 12, 13), self._seed
        s.on_bad = checks.choice("on_bad", on_bad, ON_BAD)
        s.max_bad, s.max_bad_rows = checks.bad_limits(max_bad)
        self._bad = BadSamples(str(on_bad))
        _ffi.set_ops(s, [op for t in self.pipeline for op in t.ops()])
        raw = os.fsencode(path)
        if b"\0" in raw:
            raise ValueError("path: a path cannot have a 0 byte")

        self._pid, self._lock, self._visitors = os.getpid(), threading.RLock(), 0
        self._epoch, self._begun, self._current = 0, False, None
        self._handle = _ffi.open_loader(raw, s)
        _live.add(self)
        self._opened = time.monotonic()
        self._info = info = _ffi.info(self._handle)
        self._make = batch_maker(info)
        self.dataset = Dataset(os.fsdecode(path), info, self._handle)
        self._names = (list(_ffi.DTYPES)[info.dtype], list(_ffi.MEMORY_FORMATS)[info.memory_format])
        self._flags = (bool(shuffle), bool(drop_last))

    # ---- what it is ----

    @property
    def batch_size(self) -> int:
        """Rows of a batch."""
        return self._info.batch_size

    @property
    def classes(self) -> List[str]:
        """Names of the classes, in the order of the labels."""
        return self.dataset.classes

    @property
    def class_to_idx(self) -> Dict[str, int]:
        """Label of each class name."""
        return self.dataset.class_to_idx

    @property
    def workers(self) -> int:
        """How many worker processes there are."""
        return self._info.n_workers

    @property
    def slots(self) -> int:
        """How many batches the pool holds."""
        return self._info.n_slots

    def __len__(self) -> int:
        """Batches of an epoch."""
        return self._info.n_batches

    def __repr__(self) -> str:
        dtype, memory_format = self._names
        shuffle, drop_last = self._flags
        state = "" if self._handle else " (closed)"
        return (f"Loader({self.dataset.path!r}, batch_size={self.batch_size}, "
                f"pipeline={self.pipeline!r}, dtype={dtype!r}, memory_format={memory_format!r}, "
                f"shuffle={shuffle}, drop_last={drop_last}, seed={self._seed}, "
                f"workers={self.workers}, slots={self.slots}, on_bad={self._bad.on_bad!r}){state}")

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Loader has processes and memory of its own: it can be neither copied "
                        "nor pickled")

    # ---- iteration ----

    def __iter__(self) -> Iterator["Batch"]:
        """The next epoch; the first time epoch 0.  An older iterator ends."""
        number = self._epoch + 1 if self._begun else self._epoch
        self._current = None
        while self._call(_ffi.lib.fby_loader_seek, number, 0) == _ffi.AGAIN:
            pass
        self._epoch, self._begun = number, False
        self._current = Epoch(self, number)
        return self._current

    def _next(self, epoch: Epoch, take: Any = _ffi.lib.fby_loader_next) -> "Batch":
        """The next batch of an epoch.  Comes back to Python for signals all the time."""
        tried = False
        while True:
            with self._lock:
                if epoch is not self._current:
                    self._ended(epoch)
                lease = _ffi.Lease()
                r = take(self._handle, lease)
                if r == 0:
                    self._begun = True
                    if lease.n_bad:
                        self._bad.met(self._handle, lease)
                    return self._make(lease)
                if r == _ffi.END:
                    self._epoch, self._begun, self._current = epoch.number + 1, False, None
                    epoch.over = True
                    raise StopIteration
                if r == -errno.ENOSR and not tried:
                    tried = gc.collect() >= 0  # batches that only a cycle of references holds
                elif r < 0:
                    self._failed(r)
            if self._visitors:
                time.sleep(0.001)

    def _ended(self, epoch: Epoch) -> NoReturn:
        if epoch.over:
            raise StopIteration
        if not self._handle:
            self._closed()
        raise RuntimeError(f"this iterator (epoch {epoch.number}) has ended: a newer iter() of the "
                           "same loader took its place")

    def _failed(self, r: int) -> NoReturn:
        if r == -errno.ENOSR:
            raise NoFreeSlotError(
                f"all {self.slots} slots of the pool are held by batches that are still in use: "
                "let go of them (del, or batch.release()), keep copies (images.clone()), or open "
                "the loader with more slots=")
        if r == -errno.EUCLEAN:
            raise self._bad.too_many(self._handle)
        _ffi.fail(r)

    def _closed(self) -> NoReturn:
        raise ClosedError(f"the loader of {self.dataset.path!r} is closed")

    def _call(self, function: Any, *args: Any) -> Any:
        """Calls the library while no other thread does."""
        self._visitors += 1
        try:
            with self._lock:
                if not self._handle:
                    self._closed()
                r = function(self._handle, *args)
                return _ffi.check(r) if isinstance(r, int) else r
        finally:
            self._visitors -= 1

    # ---- what it does ----

    def sample_path(self, sample: int) -> str:
        """The file of a sample; IndexError for a number the dataset does not have."""
        return self._call(_ffi.sample_path, checks.number("sample", sample, 0, 2**64 - 1))

    def bad_samples(self) -> List[BadSample]:
        """(id, path, reason) of each sample that could not be made so far, each once, in
        the order in which they were met; also after the loader is closed.

        The first 65536 are listed, all are counted in stats()["bad_samples"].
        """
        return list(self._bad.known)

    def worker_pids(self) -> List[Optional[int]]:
        """Process ids of the workers at this moment; None for one that is being replaced."""
        return [self._call(_ffi.worker_pid, i) or None for i in range(self.workers)]

    def stats(self) -> Dict[str, Any]:
        """Counters since the loader was opened.  Times are in nanoseconds.

        seconds          since it was opened: samples / seconds is images a second
        batches          handed out
        samples          made by the workers, also those not handed out yet
        bytes_read       of files, by the workers
        stage_ns         time of the workers by stage, summed over them: read, decode,
                         resample, store, idle
        waits, wait_ns   times that next() had to wait, and for how long in sum
        wait_histogram   [i]: waits of 2**i to 2**(i + 1) us; [0]: below 2 us
        depth_sum        complete batches found by next(), summed; / batches is the mean
        slices_needed    waits that only a time-out ended: 0 if all is well
        handover_ns      of the last wait: from the last row done to next() running
        deaths           workers that ended unasked
        rows_taken_back  from dead workers, and made again
        bad_rows         handed out that could not be made
        rows_replaced    of these: copies of good rows stand in their place
        bad_samples      that could not be made, each counted once
        seeks            jumps: a `break` before the end of an epoch is one
        pool_bytes       shared memory
        trainer_cpu_ns   CPU time of forebay's own thread in this process
        slots_leased, slots_free   at this moment
        """
        s = self._call(_ffi.stats)
        result: Dict[str, Any] = {"seconds": time.monotonic() - self._opened}
        for name, *_ in s._fields_:
            result[name] = getattr(s, name)
        result["stage_ns"] = dict(zip(_ffi.STAGES, s.stage_ns))
        result["wait_histogram"] = list(s.wait_histogram)
        return result

    def close(self) -> None:
        """Stops the workers.  Batches stay readable; their memory goes with the last.

        A second close does nothing, nor does one in a forked child.
        """
        if not self._handle or os.getpid() != self._pid:
            return
        self._visitors += 1
        with self._lock:
            handle, self._handle, self._current = self._handle, 0, None
        self._visitors -= 1
        _live.discard(self)
        if handle:
            _ffi.lib.fby_loader_close(handle)

    def __enter__(self) -> "Loader":
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()

    __del__ = close


@atexit.register
def _close_all() -> None:
    """The interpreter ends: no worker may outlive it."""
    for loader in list(_live):
        loader.close()
