# SPDX-License-Identifier: Apache-2.0
"""The library: where it lies, its prototypes and structs, its errors as exceptions.

The only file that knows ctypes.  It mirrors lib/forebay.h, in the order of that
header, and nothing else; sizes and version are compared at import.
"""
import ctypes
import errno
import itertools
import os
from ctypes import (CDLL, POINTER, PyDLL, Structure, c_char, c_char_p, c_double, c_int,
                    c_size_t, c_ubyte, c_uint32, c_uint64, c_void_p)
from pathlib import Path
from typing import Any, Iterator, List, NoReturn, Optional, Tuple, Type

VERSION = "0.1.0"

END, AGAIN = 1, 2
DTYPES = {"uint8": 0, "float16": 1, "bfloat16": 2, "float32": 3}
MEMORY_FORMATS = {"contiguous": 0, "channels_last": 1}
BAD_REPLACE, BAD_ZEROS = 0, 1
OPS = {"RandomResizedCrop": 1, "Resize": 2, "ResizeExact": 3, "CenterCrop": 4,
       "RandomHorizontalFlip": 5, "Normalize": 6}
MAX_OPS, MAX_ARGS = 16, 10
STAGES = ("read", "decode", "resample", "store", "idle")
HISTOGRAM = 32
PATH_BYTES = 4096


class Op(Structure):
    """struct fby_op"""

    _fields_ = [("kind", c_uint32), ("n_args", c_uint32), ("arg", c_double * MAX_ARGS)]


class Settings(Structure):
    """struct fby_settings"""

    _fields_ = [(name, c_uint32) for name in (
        "size", "batch_size", "n_workers", "n_slots", "dtype", "memory_format", "shuffle",
        "drop_last", "pillow", "n_ops")] + [
            ("seed", c_uint64), ("op", Op * MAX_OPS), ("max_bad", c_double),
            ("max_bad_rows", c_uint32), ("on_bad", c_uint32)]


class Info(Structure):
    """struct fby_info"""

    _fields_ = [(name, c_uint64) for name in (
        "n_samples", "n_batches", "pool_bytes", "image_bytes")] + [(name, c_uint32) for name in (
            "n_classes", "n_workers", "n_slots", "batch_size", "channels", "height", "width",
            "dtype", "memory_format")]


class Batch(Structure):
    """struct fby_batch"""

    _fields_ = [("seq", c_uint64), ("epoch", c_uint64), ("index", c_uint64), ("n", c_uint32),
                ("n_bad", c_uint32), ("slot", c_uint32), ("padding", c_uint32),
                ("images", c_void_p), ("labels", c_void_p), ("ids", c_void_p),
                ("loader", c_void_p)]


class BadSample(Structure):
    """struct fby_bad_sample"""

    _fields_ = [("row", c_uint32), ("status", c_uint32), ("id", c_uint64),
                ("reason", c_char * 96)]


class Stats(Structure):
    """struct fby_stats"""

    _fields_ = [("batches", c_uint64), ("samples", c_uint64), ("bytes_read", c_uint64),
                ("stage_ns", c_uint64 * len(STAGES)), ("waits", c_uint64), ("wait_ns", c_uint64),
                ("wait_histogram", c_uint64 * HISTOGRAM)] + [(name, c_uint64) for name in (
                    "depth_sum", "slices_needed", "handover_ns", "deaths", "rows_taken_back",
                    "bad_rows", "rows_replaced", "bad_samples", "seeks", "pool_bytes", "trainer_cpu_ns")] + [
                        ("slots_leased", c_uint32), ("slots_free", c_uint32)]


MIRRORS = {"fby_op": Op, "fby_settings": Settings, "fby_info": Info, "fby_batch": Batch,
           "fby_bad_sample": BadSample, "fby_stats": Stats}

PROTOTYPES = {
    "fby_version": (c_char_p, []),
    "fby_sizeof": (c_size_t, [c_char_p]),
    "fby_settings_init": (None, [POINTER(Settings)]),
    "fby_loader_open": (c_int, [c_char_p, POINTER(Settings), POINTER(c_void_p)]),
    "fby_loader_info": (c_int, [c_void_p, POINTER(Info)]),
    "fby_loader_class_name": (c_char_p, [c_void_p, c_uint32]),
    "fby_loader_sample_path": (c_int, [c_void_p, c_uint64, POINTER(c_char), c_size_t]),
    "fby_loader_position": (c_int, [c_void_p, POINTER(c_uint64), POINTER(c_uint64)]),
    "fby_loader_seek": (c_int, [c_void_p, c_uint64, c_uint64]),
    "fby_loader_next": (c_int, [c_void_p, POINTER(Batch)]),
    "fby_loader_bad_sample": (c_int, [c_void_p, POINTER(Batch), c_uint32, POINTER(BadSample)]),
    "fby_loader_bad_list": (c_int, [c_void_p, c_uint32, POINTER(BadSample)]),
    "fby_loader_release": (None, [c_void_p, POINTER(Batch)]),
    "fby_batch_release": (None, [POINTER(Batch)]),
    "fby_loader_close": (None, [c_void_p]),
    "fby_loader_stats": (c_int, [c_void_p, POINTER(Stats)]),
    "fby_loader_worker_pid": (c_int, [c_void_p, c_uint32]),
    "fby_error": (c_char_p, []),
    "fby_set_log": (None, [c_int, c_void_p]),
}


def candidates() -> Iterator[str]:
    """Where the library may lie, the first that is there counts."""
    named = os.environ.get("FOREBAY_LIBRARY")
    if named:
        yield named
        return
    here = Path(__file__).resolve().parent
    for folder in (here, here.parents[2] / "build" / "lib"):
        path = folder / "libforebay.so.0"
        if path.exists():
            yield str(path)
    yield "libforebay.so.0"


def load() -> CDLL:
    """Loads the library and compares it with this file.  ImportError.

    The interpreter's lock is let go during each call but the release, which does not
    block and runs in finalisers.
    """
    path = next(candidates())
    try:
        lib = CDLL(path)
        quick = PyDLL(path)
    except OSError as e:
        raise ImportError(f"the forebay library cannot be loaded: {e}; set FOREBAY_LIBRARY to "
                          "libforebay.so.0, or build it (make build)") from e
    try:
        for name, (restype, argtypes) in PROTOTYPES.items():
            function = getattr(lib, name)
            function.restype, function.argtypes = restype, argtypes
        lib.fby_batch_release = quick.fby_batch_release
        lib.fby_batch_release.restype, lib.fby_batch_release.argtypes = (
            PROTOTYPES["fby_batch_release"])
    except AttributeError as e:
        raise ImportError(f"{path} is not this version's library: {e}") from e
    version = lib.fby_version().decode()
    if version != VERSION:
        raise ImportError(f"{path} is version {version}, the Python package is {VERSION}")
    for name, mirror in MIRRORS.items():
        theirs, ours = lib.fby_sizeof(name.encode()), ctypes.sizeof(mirror)
        if theirs != ours:
            raise ImportError(f"{path}: struct {name} has {theirs} bytes, Python expects {ours}")
    return lib


lib = load()


def method(function: Any) -> Any:
    """A C function as a method: called with the object, without a step of Python's.

    Between two steps a signal may raise, and in a finaliser that would cut it short.
    """
    make = ctypes.pythonapi.PyInstanceMethod_New
    make.restype, make.argtypes = ctypes.py_object, [ctypes.py_object]
    return make(function)


class Lease(Batch):
    """A batch, and the duty to give it back: when this object dies, or give_back().

    fby_loader_next() fills it in place, so that no moment exists in which an interrupt
    could lose a batch.
    """

    __del__ = give_back = method(lib.fby_batch_release)


def text(raw: Optional[bytes]) -> str:
    """A text of the library; bytes that are no UTF-8 are shown as \\x.."""
    return (raw or b"").decode("utf-8", "backslashreplace")


def fail(r: int) -> NoReturn:
    """Raises the exception for a negative answer, with the library's sentence."""
    message = text(lib.fby_error()) or os.strerror(-r)
    if r == -errno.EINVAL:
        raise ValueError(message)
    if r == -errno.ENOMEM:
        raise MemoryError(message)
    if r == -errno.EOWNERDEAD:
        raise RuntimeError(message)
    if r == -errno.ERANGE:
        raise IndexError(message)
    if r == -errno.EPIPE:  # no BrokenPipeError, which programs ignore for their output's sake
        raise ChildProcessError(errno.ECHILD, message)
    raise OSError(-r, message)


def check(r: int) -> int:
    """Passes an answer on; an error becomes an exception."""
    if r < 0:
        fail(r)
    return r


def default_settings() -> Settings:
    """Settings with the library's defaults."""
    settings = Settings()
    lib.fby_settings_init(settings)
    return settings


def set_ops(settings: Settings, ops: List[Any]) -> None:
    """Writes (name, arguments) pairs."""
    if len(ops) > MAX_OPS:
        raise ValueError(f"a pipeline of {len(ops)} operations is too long: {MAX_OPS} at most")
    settings.n_ops = len(ops)
    for op, (name, args) in zip(settings.op, ops):
        op.kind, op.n_args = OPS[name], len(args)
        op.arg[:len(args)] = args


def open_loader(path: bytes, settings: Settings) -> int:
    """The handle of a new loader."""
    handle = c_void_p()
    check(lib.fby_loader_open(path, settings, handle))
    return handle.value or 0


def info(handle: int) -> Info:
    """What the loader is."""
    result = Info()
    check(lib.fby_loader_info(handle, result))
    return result


def stats(handle: int) -> Stats:
    """The loader's counters."""
    result = Stats()
    check(lib.fby_loader_stats(handle, result))
    return result


def class_name(handle: int, label: int) -> str:
    """Name of a class."""
    return os.fsdecode(lib.fby_loader_class_name(handle, label) or b"")


def sample_path(handle: int, sample: int) -> str:
    """Path of a sample's file."""
    buffer = ctypes.create_string_buffer(PATH_BYTES)
    check(lib.fby_loader_sample_path(handle, sample, buffer, PATH_BYTES))
    return os.fsdecode(buffer.value)


def bad_rows(handle: int, batch: Batch) -> Iterator[Tuple[int, int, str]]:
    """(row, sample, reason) of each bad row of a batch that is not given back yet."""
    bad = BadSample()
    for k in range(batch.n_bad):
        check(lib.fby_loader_bad_sample(handle, batch, k, bad))
        yield bad.row, bad.id, text(bad.reason)


def bad_list(handle: int, first: int) -> Iterator[Tuple[int, str]]:
    """(sample, reason) of the bad samples of the run, from number `first` on."""
    bad = BadSample()
    for k in itertools.count(first):
        r = lib.fby_loader_bad_list(handle, k, bad)
        if r == -errno.ERANGE:
            return
        check(r)
        yield bad.id, text(bad.reason)


def worker_pid(handle: int, i: int) -> int:
    """pid of a worker, 0 while it is being replaced."""
    return check(lib.fby_loader_worker_pid(handle, i))


def buffer_type(size: int) -> Type[ctypes.Array]:
    """The type of a buffer of `size` bytes; from_address() lays one over memory.

    What is stored in an attribute of a buffer lives as long as the last tensor or
    array over it.
    """
    return type("Buffer", (c_ubyte * size,), {})


copy_bytes = ctypes.string_at
