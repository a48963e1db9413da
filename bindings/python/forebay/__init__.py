# SPDX-License-Identifier: Apache-2.0
"""Batches of photographs for PyTorch, made by worker processes in shared memory.

    from forebay import Loader, transforms as T

    with Loader("imagenet/train", batch_size=256, shuffle=True, dtype="float16",
                pipeline=[T.RandomResizedCrop(224), T.RandomHorizontalFlip(),
                          T.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))]) as loader:
        for images, labels in loader:
            ...

``Loader`` says what a batch is and how long its memory is yours.
"""
from . import transforms
from .errors import (BadSampleError, BadSampleWarning, ClosedError, NoFreeSlotError,
                     TooManyBadSamplesError)
from .loader import Loader
from ._ffi import VERSION as __version__

__all__ = ["BadSampleError", "BadSampleWarning", "ClosedError", "Loader", "NoFreeSlotError",
           "TooManyBadSamplesError", "transforms"]
