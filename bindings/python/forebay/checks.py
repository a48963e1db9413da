# SPDX-License-Identifier: Apache-2.0
"""What a caller may pass: each check returns the value as the library wants it, or
raises a ValueError that names the argument, the rule and the value."""
import operator
from typing import Any, Dict, List, Sequence

from .transforms import Transform


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
