# SPDX-License-Identifier: Apache-2.0
"""Transforms: torchvision's names, arguments and defaults; refusals in sentences."""
import inspect

import pytest
import torchvision

from forebay import transforms as T


@pytest.mark.parametrize("name", ["RandomResizedCrop", "Resize", "CenterCrop",
                                  "RandomHorizontalFlip", "Normalize"])
def test_arguments_and_defaults_are_torchvisions(name):
    ours = inspect.signature(getattr(T, name)).parameters
    theirs = inspect.signature(getattr(torchvision.transforms, name)).parameters
    assert list(ours) == list(theirs)
    for p in ours.values():
        if p.name in ("scale", "ratio", "p", "size", "mean", "std", "inplace", "max_size"):
            assert p.default == theirs[p.name].default


@pytest.mark.parametrize("transform, ops", [
    (T.RandomResizedCrop(224), [("RandomResizedCrop", [224, 224, 0.08, 1.0, 0.75, 4 / 3])]),
    (T.RandomResizedCrop((3, 5), scale=[0.5, 0.6]),
     [("RandomResizedCrop", [3, 5, 0.5, 0.6, 0.75, 4 / 3])]),
    (T.Resize(256), [("Resize", [256])]),
    (T.Resize([256]), [("Resize", [256])]),
    (T.Resize((3, 5)), [("ResizeExact", [3, 5])]),
    (T.CenterCrop(224), [("CenterCrop", [224, 224])]),
    (T.CenterCrop((3, 5)), [("CenterCrop", [3, 5])]),
    (T.RandomHorizontalFlip(), [("RandomHorizontalFlip", [0.5])]),
    (T.Normalize([0.1, 0.2, 0.3], (1, 2, 3)), [("Normalize", [0.1, 0.2, 0.3, 1, 2, 3])]),
    (T.Normalize([0.5], [0.25]), [("Normalize", [0.5] * 3 + [0.25] * 3)]),
])
def test_arguments_become_numbers(transform, ops):
    assert transform.ops() == ops


@pytest.mark.parametrize("make", [
    lambda: T.RandomResizedCrop(0),
    lambda: T.RandomResizedCrop(1.5),
    lambda: T.RandomResizedCrop((1, 2, 3)),
    lambda: T.RandomResizedCrop(8, scale=(1, 0.5)),
    lambda: T.RandomResizedCrop(8, scale=(0, 1)),
    lambda: T.RandomResizedCrop(8, ratio=(2, 1)),
    lambda: T.RandomResizedCrop(8, ratio=(1, float("inf"))),
    lambda: T.RandomResizedCrop(8, interpolation="bicubic"),
    lambda: T.RandomResizedCrop(8, interpolation=3),
    lambda: T.Resize(8, antialias=False),
    lambda: T.Resize(8, max_size=9),
    lambda: T.Resize("8"),
    lambda: T.CenterCrop(True),
    lambda: T.RandomHorizontalFlip(1.1),
    lambda: T.RandomHorizontalFlip("x"),
    lambda: T.Normalize([1, 2], [1, 2, 3]),
    lambda: T.Normalize([1, 2, 3], [1, 0, 3]),
    lambda: T.Normalize([1, 2, "x"], [1, 2, 3]),
    lambda: T.Normalize([1, 2, 3], [1, 2, 3], inplace=True),
])
def test_what_cannot_be_had_is_refused_with_a_sentence(make):
    with pytest.raises(ValueError, match="^(RandomResizedCrop|Resize|CenterCrop|RandomHoriz"
                                         "ontalFlip|Normalize): .{15,}"):
        make()


@pytest.mark.parametrize("interpolation", [
    torchvision.transforms.InterpolationMode.BILINEAR, "bilinear", 2])
def test_bilinear_has_several_names(interpolation):
    assert T.Resize(8, interpolation=interpolation) == T.Resize(8)


def test_unknown_arguments_are_type_errors():
    with pytest.raises(TypeError):
        T.CenterCrop(8, padding=1)


def test_repr_can_be_read_back():
    for t in (T.RandomResizedCrop(8), T.Resize(8), T.Resize((8, 9)), T.CenterCrop(8),
              T.RandomHorizontalFlip(0.25), T.Normalize((0.5, 0.5, 0.5), (1, 1, 1))):
        assert eval(repr(t), vars(T)) == t  # pylint: disable=eval-used
        assert hash(eval(repr(t), vars(T))) == hash(t)
