# SPDX-License-Identifier: Apache-2.0
"""What a caller may pass: each check returns the value as the library wants it, or
raises a ValueError that names the argument, the rule and the value."""
import operator
from numbers import Real
from typing import Any, Dict, List, Sequence, Tuple

from .transforms import Transform

DEFAULT_BAD = 10


def number(name: str, value: Any, lowest: int, highest: int, other: str = "") -> int:
    """A whole number within bounds; ValueError otherwise."""
    try:
        result = operator.index(value)
    except TypeError:
        result = lowest - 1
    if isinstance(value, bool) or not lowest <= result <= highest:
        raise ValueError(f"{name} must be {other}a whole number from {lowest} to {highest}, "
                         f"not {value!r}")
    return result


def number_or_auto(name: str, value: Any, lowest: int, highest: int) -> int:
    """The same, or "auto", the library's 0."""
    if isinstance(value, str) and value == "auto":
        return 0
    return number(name, value, lowest, highest, '"auto" or ')


def bad_limits(value: Any) -> Tuple[float, int]:
    """max_bad: a share and a number of samples; what is above both is too many.

    A whole number is a number of samples.  A fraction is a share, and DEFAULT_BAD samples
    are allowed whatever their share, but for a share of 0.
    """
    if not isinstance(value, (bool, str)):
        if hasattr(value, "__index__"):
            return 0.0, number("max_bad", value, 0, 2**32 - 1)
        if isinstance(value, Real) and 0 <= value <= 1:
            return float(value), DEFAULT_BAD if value > 0 else 0
    raise ValueError("max_bad must be a share of the samples, from 0.0 to 1.0, or a whole number "
                     f"of samples, not {value!r}")


def choice(name: str, value: Any, choices: Dict[str, int], suffix: str = "") -> int:
    """One of the names in `choices`, or torch's or numpy's object of that name."""
    text = getattr(value, "__name__", str(value))
    text = text[len("torch."):] if text.startswith("torch.") else text
    if suffix and text.endswith(suffix):
        text = text[:-len(suffix)]
    if text not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, not {value!r}")
    return choices[text]


def transforms(pipeline: Sequence[Transform]) -> List[Transform]:
    """A list of forebay.transforms; ValueError otherwise."""
    if isinstance(pipeline, Transform) or not isinstance(pipeline, (list, tuple)):
        raise ValueError(f"pipeline must be a list of forebay.transforms, not {pipeline!r}")
    for t in pipeline:
        if not isinstance(t, Transform):
            raise ValueError(f"pipeline: {t!r} is none of forebay.transforms; those run in "
                             "the workers, anything else belongs in the training loop")
    return list(pipeline)
