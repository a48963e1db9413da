# SPDX-License-Identifier: Apache-2.0
"""The operations of a pipeline: names, arguments and defaults are torchvision's.

They only say what is to be done; the workers do it.  Sizes are in pixels.  Pixels
equal those that torchvision makes with Pillow.  An argument that cannot be honoured is
refused with a ValueError that says so.
"""
import math
from numbers import Integral, Real
from typing import Any, List, Sequence, Tuple, Union

Size = Union[int, Sequence[int]]
Op = Tuple[str, List[float]]

__all__ = ["CenterCrop", "Normalize", "RandomHorizontalFlip", "RandomResizedCrop", "Resize",
           "Transform"]


def _sizes(who: str, size: Size) -> List[int]:
    """One or two whole numbers >= 1."""
    numbers = [size] if isinstance(size, Integral) else size
    if not isinstance(numbers, (list, tuple)) or len(numbers) not in (1, 2) or not all(
            isinstance(n, Integral) and not isinstance(n, bool) and n >= 1 for n in numbers):
        raise ValueError(f"{who}: size must be a number of pixels or (height, width), "
                         f"not {size!r}")
    return [int(n) for n in numbers]


def _pair(who: str, size: Size) -> Tuple[int, int]:
    """(height, width); one number is a square."""
    numbers = _sizes(who, size)
    return numbers[0], numbers[-1]


def _numbers(who: str, name: str, value: Sequence[float], lengths: Tuple[int, ...]) -> List[float]:
    """Finite numbers, so many."""
    try:
        numbers = [float(x) for x in value]
    except (TypeError, ValueError):
        numbers = []
    if len(numbers) not in lengths or not all(math.isfinite(x) for x in numbers):
        raise ValueError(f"{who}: {name} must be {lengths[-1]} numbers, not {value!r}")
    return numbers


def _bilinear_only(who: str, interpolation: Any, antialias: Any) -> None:
    """Refuses what is not antialiased bilinear resampling.

    Bilinear is torchvision's enum, its value, or Pillow's number 2.
    """
    value = getattr(interpolation, "value", interpolation)
    if value != "bilinear" and not (isinstance(value, Integral) and value == 2):
        raise ValueError(f"{who}: only bilinear interpolation is made, not {interpolation!r}")
    if antialias not in (True, None, "warn"):
        raise ValueError(f"{who}: resizing is always antialiased, as Pillow does it; "
                         f"antialias={antialias!r} cannot be had")


class Transform:
    """One operation of a pipeline."""

    _args: Tuple[Tuple[str, Any], ...] = ()

    def ops(self) -> List[Op]:
        """The library's operations: (name, numbers)."""
        raise NotImplementedError

    def __repr__(self) -> str:
        args = ", ".join(f"{name}={value!r}" for name, value in self._args)
        return f"{type(self).__name__}({args})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._args == getattr(other, "_args", None)

    def __hash__(self) -> int:
        return hash((type(self), self._args))


class RandomResizedCrop(Transform):
    """A random part of the photograph, resized to `size` (h, w), or a square.

    scale: bounds of the part's share of the area; ratio: bounds of its width / height.
    """

    def __init__(self, size: Size, scale: Sequence[float] = (0.08, 1.0),
                 ratio: Sequence[float] = (3.0 / 4.0, 4.0 / 3.0), interpolation: Any = "bilinear",
                 antialias: Any = True):
        who = "RandomResizedCrop"
        _bilinear_only(who, interpolation, antialias)
        self.size = _pair(who, size)
        self.scale = tuple(_numbers(who, "scale", scale, (2,)))
        self.ratio = tuple(_numbers(who, "ratio", ratio, (2,)))
        if not 0 < self.scale[0] <= self.scale[1]:
            raise ValueError(f"{who}: scale must be 0 < min <= max, not {scale!r}")
        if not 0 < self.ratio[0] <= self.ratio[1]:
            raise ValueError(f"{who}: ratio must be 0 < min <= max, not {ratio!r}")
        self._args = (("size", self.size), ("scale", self.scale), ("ratio", self.ratio))

    def ops(self) -> List[Op]:
        return [("RandomResizedCrop", [*self.size, *self.scale, *self.ratio])]


class Resize(Transform):
    """The whole photograph: its shorter side becomes `size`, or it becomes (h, w)."""

    def __init__(self, size: Size, interpolation: Any = "bilinear", max_size: None = None,
                 antialias: Any = True):
        _bilinear_only("Resize", interpolation, antialias)
        if max_size is not None:
            raise ValueError(f"Resize: max_size cannot be had, it was {max_size!r}")
        numbers = _sizes("Resize", size)
        self.size: Size = numbers[0] if len(numbers) == 1 else (numbers[0], numbers[1])
        self._args = (("size", self.size),)

    def ops(self) -> List[Op]:
        if isinstance(self.size, int):
            return [("Resize", [self.size])]
        return [("ResizeExact", list(self.size))]


class CenterCrop(Transform):
    """The middle, of `size` (h, w), or a square."""

    def __init__(self, size: Size):
        self.size = _pair("CenterCrop", size)
        self._args = (("size", self.size),)

    def ops(self) -> List[Op]:
        return [("CenterCrop", list(self.size))]


class RandomHorizontalFlip(Transform):
    """Left and right exchanged, with probability `p`."""

    def __init__(self, p: float = 0.5):
        if not isinstance(p, Real) or not 0 <= p <= 1:
            raise ValueError(f"RandomHorizontalFlip: p must be from 0 to 1, not {p!r}")
        self.p = float(p)
        self._args = (("p", self.p),)

    def ops(self) -> List[Op]:
        return [("RandomHorizontalFlip", [self.p])]


class Normalize(Transform):
    """(x - mean) / std for each channel, of values scaled to 0..1, in float32.

    mean, std: three numbers (r, g, b), or one for all.
    """

    def __init__(self, mean: Sequence[float], std: Sequence[float], inplace: bool = False):
        self.mean = tuple(_numbers("Normalize", "mean", mean, (1, 3)))
        self.std = tuple(_numbers("Normalize", "std", std, (1, 3)))
        if inplace:
            raise ValueError("Normalize: inplace has no meaning here, leave it out")
        if not all(x > 0 for x in self.std):
            raise ValueError(f"Normalize: std must be above 0, not {std!r}")
        self._args = (("mean", self.mean), ("std", self.std))

    def ops(self) -> List[Op]:
        mean, std = (x * 3 if len(x) == 1 else x for x in (self.mean, self.std))
        return [("Normalize", [*mean, *std])]
