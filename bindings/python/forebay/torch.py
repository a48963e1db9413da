# SPDX-License-Identifier: Apache-2.0
"""A batch as torch tensors.  The only file that imports torch.

The tensor of the images lies over the slot.  Under it is a buffer that holds the lease:
torch keeps the buffer for as long as any tensor or array looks at that memory, so the
slot goes back to the pool when the last of them dies, whichever it is.
"""
from typing import Any, Callable, Iterable, Optional, Tuple

import torch

from . import _ffi


class Batch(tuple):
    """``(images, labels)``, as Loader describes them."""

    _ids: Optional[bytes] = None
    epoch: Optional[int] = None
    """Which epoch it is of."""
    index: Optional[int] = None
    """Which batch of that epoch it is."""

    def __new__(cls, fields: Iterable[Any]) -> "Batch":
        return super().__new__(cls, fields)

    @property
    def ids(self) -> Optional[torch.Tensor]:
        """Numbers of the samples in the dataset: int64, one a row; a copy."""
        if self._ids is None:
            return None
        return torch.frombuffer(bytearray(self._ids), dtype=torch.int64)

    def release(self) -> None:
        """Lets go of the images now, not when their last name is gone.

        The tensor of the images becomes empty.  Other views of the same memory stay
        what they are, and keep the slot until they die.  Labels and ids stay.
        """
        with torch.no_grad():
            self[0].set_()

    def __reduce__(self) -> Tuple[Any, ...]:
        return Batch, (tuple(self),), self.__dict__


def batch_maker(info: _ffi.Info) -> Callable[[_ffi.Lease], Batch]:
    """The function that makes a lease of this loader a Batch."""
    name = [name for name, number in _ffi.DTYPES.items() if number == info.dtype][0]
    dtype, labels_dtype = getattr(torch, name), torch.int64
    c, h, w = info.channels, info.height, info.width
    image = c * h * w
    strides = (image, h * w, w, 1)
    if info.memory_format == _ffi.MEMORY_FORMATS["channels_last"]:
        strides = (image, 1, w * c, c)
    buffer_at = _ffi.buffer_type(info.batch_size * info.image_bytes).from_address
    frombuffer, copy, new = torch.frombuffer, _ffi.copy_bytes, Batch.__new__

    def make(lease: _ffi.Lease) -> Batch:
        n = lease.n
        memory = buffer_at(lease.images)
        memory.lease = lease
        images = frombuffer(memory, dtype=dtype, count=n * image)
        labels = frombuffer(bytearray(copy(lease.labels, n * 8)), dtype=labels_dtype)
        batch = new(Batch, (images.as_strided_((n, c, h, w), strides), labels))
        batch._ids = copy(lease.ids, n * 8)
        batch.epoch, batch.index = lease.epoch, lease.index
        return batch

    return make
