# SPDX-License-Identifier: Apache-2.0
"""Samples that cannot be made: what stands in their place, what is said, when it ends."""
import os
import pickle
import signal
import threading
import warnings
from pathlib import Path

import pytest
import torch

import helpers
from forebay import (BadSampleError, BadSampleWarning, TooManyBadSamplesError)

N, CLASSES = 40, 4
pytestmark = pytest.mark.filterwarnings("ignore::forebay.BadSampleWarning")


@pytest.fixture(scope="session")
def sound_folder(tmp_path_factory):
    """40 good photographs in 4 classes."""
    return helpers.make_folder(tmp_path_factory.mktemp("sound"), N, CLASSES)


@pytest.fixture
def spoil(tmp_path, sound_folder):
    """A folder of the same photographs, of which some are spoilt."""

    def make(*spoilt):
        for i in range(N):
            part = f"class{i * CLASSES // N}/{i:03d}.jpg"
            target = tmp_path / "some" / part
            target.parent.mkdir(parents=True, exist_ok=True)
            if i in spoilt:
                target.write_bytes(Path(sound_folder, part).read_bytes()[:150])
            else:
                target.symlink_to(Path(sound_folder, part))
        return str(tmp_path / "some")

    return make


def take(loader):
    """(images, labels, ids) of each batch of an epoch, copied."""
    return [(images.clone(), labels, batch.ids) for batch in loader for images, labels in [batch]]


# ---- what stands in their place ----

def test_by_default_a_bad_row_is_a_copy_of_the_next_good_one(make_loader, sound_folder, spoil):
    sound = take(make_loader(sound_folder, batch_size=8))
    batches = take(make_loader(spoil(2, 3, 7, 8, 39), batch_size=8))
    source = list(range(N))
    source[2] = source[3] = 4
    source[7], source[8], source[39] = 0, 9, 32
    for k, (images, labels, ids) in enumerate(batches):
        assert ids.tolist() == source[8 * k:8 * k + 8]
        assert labels.tolist() == [i * CLASSES // N for i in ids.tolist()]
        for image, i in zip(images, ids.tolist()):
            assert torch.equal(image, sound[i // 8][0][i % 8])


def test_zeros_come_with_their_own_label_and_id(make_loader, sound_folder, spoil):
    sound = take(make_loader(sound_folder, batch_size=8))
    batches = take(make_loader(spoil(2, 3, 39), batch_size=8, on_bad="zeros"))
    for (images, labels, ids), (expected, *rest) in zip(batches, sound):
        assert [labels.tolist(), ids.tolist()] == [tensor.tolist() for tensor in rest]
        for image, other, i in zip(images, expected, ids.tolist()):
            assert torch.equal(image, torch.zeros_like(image) if i in (2, 3, 39) else other)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_batch_without_a_good_row_is_zeros(make_loader, spoil, dtype):
    loader = make_loader(spoil(4, 5), batch_size=2, dtype=dtype)
    images, labels, ids = take(loader)[2]
    assert not images.any() and labels.tolist() == [0, 0] and ids.tolist() == [4, 5]
    assert loader.stats()["bad_rows"] == 2 and loader.stats()["rows_replaced"] == 0


def test_replaced_rows_are_the_same_for_any_number_of_workers(make_loader, spoil):
    path = spoil(0, 1, 5, 21, 38)
    digests = {helpers.digest(make_loader(path, workers=n, shuffle=True, seed=3))
               for n in (1, 2, 3, 7)}
    assert len(digests) == 1


def test_replaced_rows_are_the_same_when_workers_are_killed(make_loader, spoil):
    path = spoil(0, 1, 5, 21, 38)
    expected = helpers.digest(make_loader(path, shuffle=True), epochs=20)
    loader = make_loader(path, shuffle=True)
    over = threading.Event()

    def kill():
        while not over.wait(0.005):
            for pid in filter(None, loader.worker_pids()[:1]):
                os.kill(pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        assert helpers.digest(loader, epochs=20) == expected
    finally:
        over.set()
        killer.join()
    assert loader.stats()["deaths"] >= 1 and loader.stats()["bad_samples"] == 5


# ---- what is said ----

@pytest.mark.parametrize("on_bad, instead", [("replace", "a copy of the next good row"),
                                             ("zeros", "zeros")])
def test_one_warning_a_file_names_sample_file_and_reason(make_loader, spoil, on_bad, instead):
    loader = make_loader(spoil(2, 21), on_bad=on_bad)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            helpers.count(loader)
    assert [w.category for w in caught] == [BadSampleWarning] * 2
    for w, sample in zip(caught, (2, 21)):
        text = str(w.message)
        assert f"sample {sample} " in text and loader.sample_path(sample) in text
        assert "JPEG" in text and instead in text
    assert loader.stats()["bad_rows"] == 6 and loader.stats()["bad_samples"] == 2


def test_the_warning_points_at_the_loop(make_loader, spoil):
    loader = make_loader(spoil(0))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in loader:
            pass
    assert [w.filename for w in caught] == [__file__]


def test_a_warning_that_is_an_error_gives_the_batch_back(make_loader, spoil):
    loader = make_loader(spoil(2, 21), slots=2)
    iterator = iter(loader)
    kept = []
    with warnings.catch_warnings():
        warnings.simplefilter("error", BadSampleWarning)
        with pytest.raises(BadSampleWarning, match="002.jpg") as e:
            next(iterator)
        kept.append(e)
        assert loader.stats()["slots_leased"] == 0
        assert next(iterator).index == 1


def test_raise_names_all_bad_rows_of_the_batch_and_goes_on(make_loader, spoil):
    loader = make_loader(spoil(2, 3, 21), on_bad="raise")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        iterator = iter(loader)
        with pytest.raises(BadSampleError) as e:
            next(iterator)
        assert [(s.row, s.id) for s in e.value.samples] == [(2, 2), (3, 3)]
        assert next(iterator).ids.tolist() == list(range(8, 16))
        with pytest.raises(BadSampleError, match="021.jpg"):
            next(iterator)
        assert helpers.count(iterator) == 2
    assert [s.id for s in loader.bad_samples()] == [2, 3, 21]


def test_bad_samples_are_listed_once_also_after_the_end(make_loader, spoil):
    loader = make_loader(spoil(2, 21))
    assert loader.bad_samples() == []
    for _ in range(2):
        helpers.count(loader)
    paths = [loader.sample_path(i) for i in (2, 21)]
    loader.close()
    assert [(s.id, s.path) for s in loader.bad_samples()] == list(zip((2, 21), paths))
    assert all("JPEG" in s.reason for s in loader.bad_samples())
    sample, path, reason = loader.bad_samples()[0]
    assert (sample, path, reason) == (2, paths[0], loader.bad_samples()[0].reason)


# ---- when it ends ----

@pytest.mark.parametrize("max_bad", [3, 0.1])
def test_so_many_may_be_bad(make_loader, spoil, max_bad):
    loader = make_loader(spoil(2, 21, 30), max_bad=max_bad)
    assert helpers.count(loader) + helpers.count(loader) == 10
    assert loader.stats()["bad_samples"] == 3


@pytest.mark.parametrize("max_bad", [0, 0.0])
@pytest.mark.parametrize("on_bad", ["replace", "zeros", "raise"])
def test_none_may_be_bad(make_loader, spoil, on_bad, max_bad):
    iterator = iter(make_loader(spoil(12), on_bad=on_bad, max_bad=max_bad))
    assert next(iterator).index == 0
    with pytest.raises(TooManyBadSamplesError, match="012.jpg"):
        next(iterator)


def test_too_many_end_the_run_with_the_list(make_loader, spoil):
    loader = make_loader(spoil(2, 21, 22, 30), max_bad=2)
    iterator = iter(loader)
    assert [next(iterator).index for _ in range(2)] == [0, 1]
    for again in (False, False, True):
        with pytest.raises(TooManyBadSamplesError, match="3 bad samples in 24 rows") as e:
            next(iter(loader) if again else iterator)
    assert [s.id for s in e.value.samples] == [2, 21, 22]
    assert e.value.samples == loader.bad_samples()
    assert loader.stats()["slots_leased"] == 0
    copy = pickle.loads(pickle.dumps(e.value))
    assert (str(copy), copy.samples) == (str(e.value), e.value.samples)


def test_by_default_ten_may_be_bad_and_eleven_not(make_loader, spoil):
    loader = make_loader(spoil(*range(0, 40, 4)))
    assert helpers.count(loader) == 5


def test_the_eleventh_ends_it(make_loader, spoil):
    loader = make_loader(spoil(*range(0, 33, 3)), batch_size=1)
    with pytest.raises(TooManyBadSamplesError) as e:
        helpers.count(loader)
    assert [s.id for s in e.value.samples] == list(range(0, 33, 3))
    assert loader.stats()["batches"] == 31
