# SPDX-License-Identifier: Apache-2.0
"""Errors: which exception, and that its text helps."""
import errno
import os
from pathlib import Path

import pytest
import torchvision

import helpers
from forebay import BadSampleError, Loader, NoFreeSlotError, transforms as T

RESIZE = [T.Resize((32, 32))]


@pytest.mark.parametrize("options, text", [
    ({"batch_size": 0}, "batch_size"),
    ({"batch_size": -1}, "batch_size"),
    ({"batch_size": 2**32 + 8}, "batch_size"),
    ({"batch_size": 8.0}, "batch_size"),
    ({"batch_size": True}, "batch_size"),
    ({"workers": 0}, "workers"),
    ({"workers": "many"}, "workers"),
    ({"workers": None}, '"auto"'),
    ({"slots": 0}, "slots"),
    ({"slots": 1}, "slots must be .* from 2"),
    ({"seed": -1}, "seed"),
    ({"seed": 2**64}, "seed"),
    ({"pillow": 11}, "pillow"),
    ({"on_bad": "ignore"}, "on_bad must be one of replace, zeros, raise"),
    ({"on_bad": None}, "on_bad"),
    ({"max_bad": True}, "max_bad"),
    ({"max_bad": -1}, "max_bad"),
    ({"max_bad": 2**32}, "max_bad"),
    ({"max_bad": -0.01}, "max_bad"),
    ({"max_bad": 1.5}, "max_bad"),
    ({"max_bad": float("nan")}, "max_bad"),
    ({"max_bad": float("inf")}, "max_bad"),
    ({"max_bad": "1 %"}, "max_bad"),
    ({"max_bad": None}, "max_bad"),
    ({"dtype": "float64"}, "dtype"),
    ({"memory_format": "NHWC"}, "memory_format"),
    ({"pipeline": T.Resize(8)}, "pipeline"),
    ({"pipeline": []}, ""),
    ({"pipeline": [T.Resize(8)]}, ""),
    ({"pipeline": [torchvision.transforms.CenterCrop(8)]}, "pipeline"),
    ({"pipeline": [T.RandomHorizontalFlip()] * 17 + RESIZE}, "too long"),
    ({"pipeline": RESIZE + [T.Normalize([0.5], [0.5])], "dtype": "uint8"}, ""),
])
def test_settings_that_make_no_sense_are_value_errors(make_loader, options, text):
    with pytest.raises(ValueError, match=text) as e:
        make_loader(**options)
    assert len(str(e.value)) > 15


def test_unknown_parameters_are_type_errors(folder):
    with pytest.raises(TypeError):
        Loader(folder, 8, RESIZE, num_workers=3)


@pytest.mark.parametrize("path", ["/nowhere/at/all", b"/nowhere/at/all", Path("/nowhere/at/all")])
def test_a_missing_folder_is_file_not_found(path):
    with pytest.raises(FileNotFoundError, match="/nowhere/at/all") as e:
        Loader(path, 8, RESIZE)
    assert e.value.errno == errno.ENOENT


def test_a_folder_without_photographs_is_file_not_found(tmp_path):
    (tmp_path / "class").mkdir()
    with pytest.raises(FileNotFoundError, match=str(tmp_path)):
        Loader(tmp_path, 8, RESIZE)


def test_a_path_with_a_zero_byte_is_refused():
    with pytest.raises(ValueError, match="path"):
        Loader("/tmp/a\0b", 8, RESIZE)


def test_a_pool_that_does_not_fit_is_a_memory_error(make_loader):
    with pytest.raises(MemoryError, match=r"\d"):
        make_loader(batch_size=65536, pipeline=[T.Resize((4096, 4096))], dtype="float32",
                    slots=256)


def test_bad_samples_are_named_and_iteration_goes_on(make_loader, own_folder):
    spoilt = {1: b"", 2: b"no photograph at all", 7: None}
    for i, content in spoilt.items():
        path = Path(own_folder) / f"class{i // 5}" / f"{i:03d}.jpg"
        path.write_bytes(path.read_bytes()[:200] if content is None else content)
    loader = make_loader(own_folder, batch_size=4, on_bad="raise")
    iterator = iter(loader)
    with pytest.raises(BadSampleError) as e:
        next(iterator)
    assert [(s.row, s.id) for s in e.value.samples] == [(1, 1), (2, 2)]
    for s in e.value.samples:
        assert s.path == loader.sample_path(s.id) and s.path in str(e.value)
        assert s.reason and s.reason in str(e.value) and str(s.id) in str(e.value)
    with pytest.raises(BadSampleError, match="007.jpg"):
        next(iterator)
    assert next(iterator).ids.tolist() == [8, 9]
    with pytest.raises(StopIteration):
        next(iterator)
    assert loader.stats()["slots_leased"] == 0 and loader.stats()["bad_rows"] >= 3


def test_bad_samples_hold_no_slot(make_loader, own_folder):
    (Path(own_folder) / "class0" / "000.jpg").write_bytes(b"")
    loader = make_loader(own_folder, batch_size=4, slots=3, on_bad="raise")
    kept = []
    for _ in range(10):
        with pytest.raises(BadSampleError) as e:
            next(iter(loader))
        kept.append(e)
    assert loader.stats()["slots_leased"] == 0


def test_a_vanished_file_is_a_bad_sample(make_loader, own_folder):
    loader = make_loader(own_folder, batch_size=4, slots=2)
    loader.close()
    loader = make_loader(own_folder, batch_size=10, slots=2, shuffle=True, on_bad="raise")
    victim = Path(loader.sample_path(9))
    content = victim.read_bytes()
    victim.unlink()
    try:
        with pytest.raises(BadSampleError, match="009.jpg"):
            for _ in range(4):  # what was made ahead may still be good
                helpers.count(loader)
    finally:
        victim.write_bytes(content)


def test_all_slots_held_says_what_to_do(make_loader):
    loader = make_loader(slots=3)
    kept = []
    with pytest.raises(NoFreeSlotError, match="slots="):
        for batch in loader:
            kept.append(batch)
    assert len(kept) == 3
    iterator = iter(loader)
    with pytest.raises(NoFreeSlotError):
        next(iterator)
    kept.pop().release()
    del batch
    assert next(iterator).epoch == 1


def test_slots_in_a_cycle_of_references_are_found(make_loader):
    loader = make_loader(slots=3)
    for _ in range(3):
        for batch in loader:
            cycle = [batch]
            cycle.append(cycle)
            del cycle, batch


@pytest.mark.skipif(os.getuid() == 0, reason="root may read everything")
def test_a_folder_that_may_not_be_read(own_folder):
    os.chmod(own_folder, 0)
    try:
        with pytest.raises(OSError, match=own_folder):
            Loader(own_folder, 8, RESIZE)
    finally:
        os.chmod(own_folder, 0o755)
