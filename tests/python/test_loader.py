# SPDX-License-Identifier: Apache-2.0
"""Loader: what a batch is, and what iterating does."""
import copy
import os
import pickle

import numpy as np
import pytest
import torch

import helpers
from forebay import ClosedError, Loader, transforms as T

NORMALIZE = T.Normalize((0.5, 0.4, 0.3), (0.2, 0.3, 0.4))


def test_a_batch_is_images_and_labels(make_loader):
    loader = make_loader()
    batch = next(iter(loader))
    images, labels = batch
    assert isinstance(batch, tuple)
    assert images.shape == (8, 3, 32, 32) and images.dtype == torch.uint8
    assert labels.shape == (8,) and labels.dtype == torch.int64
    assert batch.ids.tolist() == list(range(8)) and batch.ids.dtype == torch.int64
    assert (batch.epoch, batch.index) == (0, 0)


def test_labels_are_the_classes_of_the_ids(make_loader):
    loader = make_loader(shuffle=True)
    for batch in loader:
        for sample, label in zip(batch.ids.tolist(), batch[1].tolist()):
            assert os.path.dirname(loader.sample_path(sample)).endswith(loader.classes[label])


@pytest.mark.parametrize("name", ["uint8", "float16", "bfloat16", "float32"])
@pytest.mark.parametrize("memory_format", ["contiguous", "channels_last"])
def test_types_and_formats_hold_the_same_numbers(make_loader, name, memory_format):
    plain = torch.cat([b[0].clone() for b in make_loader()])
    loader = make_loader(dtype=name, memory_format=memory_format)
    images = torch.cat([b[0].clone() for b in loader])
    expected = plain if name == "uint8" else (plain.float() / 255).to(getattr(torch, name))
    assert images.shape == plain.shape and images.dtype == getattr(torch, name)
    assert torch.equal(images, expected)
    first = next(iter(loader))[0]
    torch_format = getattr(torch, memory_format + "_format", None) or torch.channels_last
    assert first.is_contiguous(memory_format=torch_format)
    assert first.stride() == first.clone(memory_format=torch_format).stride()


def test_dtype_follows_normalize(make_loader):
    assert next(iter(make_loader()))[0].dtype == torch.uint8
    normalized = make_loader(pipeline=[T.Resize((32, 32)), NORMALIZE])
    assert next(iter(normalized))[0].dtype == torch.float32


@pytest.mark.parametrize("dtype", [torch.float16, "float16", np.float16, np.dtype("float16")])
def test_types_may_be_torchs_or_numpys(make_loader, dtype):
    loader = make_loader(dtype=dtype, memory_format=torch.channels_last)
    assert next(iter(loader))[0].dtype == torch.float16


@pytest.mark.parametrize("drop_last, length, last", [(False, 7, 2), (True, 6, 8)])
def test_len_counts_the_batches(make_loader, drop_last, length, last):
    loader = make_loader(drop_last=drop_last)
    sizes = [len(labels) for _, labels in loader]
    assert len(loader) == len(sizes) == length
    assert sizes[:-1] == [8] * (length - 1) and sizes[-1] == last
    assert len(loader.dataset) == 50


def test_a_batch_may_exceed_the_dataset(make_loader):
    assert [len(labels) for _, labels in make_loader(batch_size=64)] == [50]


def test_more_than_64_rows(make_loader):
    loader = make_loader(batch_size=50, shuffle=True)
    assert sorted(next(iter(loader)).ids.tolist()) == list(range(50))


def test_each_for_is_the_next_epoch(make_loader):
    loader = make_loader(shuffle=True)
    epochs = [[(b.epoch, b.index, b.ids.tolist()) for b in loader] for _ in range(3)]
    for number, batches in enumerate(epochs):
        assert [b[:2] for b in batches] == [(number, i) for i in range(7)]
        assert sorted(sum((b[2] for b in batches), [])) == list(range(50))
    assert epochs[0][0][2] != epochs[1][0][2]


@pytest.mark.parametrize("taken", [1, 3, 6, 7])
def test_after_a_break_the_next_epoch_begins_cleanly(make_loader, taken):
    whole = make_loader(shuffle=True)
    expected = [[b.ids.tolist() for b in whole] for _ in range(2)][1]
    loader = make_loader(shuffle=True)
    for i, _ in enumerate(loader, 1):
        if i == taken:
            break
    batches = list((b.epoch, b.ids.tolist()) for b in loader)
    assert batches == [(1, ids) for ids in expected]


def test_an_iterator_that_gave_nothing_costs_no_epoch(make_loader):
    loader = make_loader()
    iter(loader)
    assert next(iter(loader)).epoch == 0
    assert next(iter(loader)).epoch == 1


def test_a_new_iterator_ends_the_older_one(make_loader):
    loader = make_loader()
    older = iter(loader)
    next(older)
    newer = iter(loader)
    with pytest.raises(RuntimeError, match="newer iter"):
        next(older)
    assert next(newer).epoch == 1


def test_an_exhausted_iterator_stays_exhausted(make_loader):
    loader = make_loader()
    iterator = iter(loader)
    assert helpers.count(iterator) == 7
    assert helpers.count(iterator) == 0
    next(iter(loader))
    assert helpers.count(iterator) == 0


def test_zip_and_enumerate_work(make_loader):
    a, b = make_loader(seed=1), make_loader(seed=1)
    assert sum(torch.equal(x[0], y[0]) for x, y in zip(a, b)) == 7


def test_seed_decides(make_loader):
    def ids(seed):
        return [b.ids.tolist() for b in make_loader(shuffle=True, seed=seed)]

    assert ids(1) == ids(1) != ids(2)
    assert ids(2**64 - 1) == ids(2**64 - 1)


def test_without_shuffle_the_order_is_the_datasets(make_loader):
    assert sum((b.ids.tolist() for b in make_loader()), []) == list(range(50))


def test_what_it_is(make_loader, folder):
    loader = make_loader(slots=4)
    assert loader.classes == ["class0", "class1", "class2"]
    assert loader.class_to_idx == {"class0": 0, "class1": 1, "class2": 2}
    assert (loader.batch_size, loader.workers, loader.slots) == (8, 2, 4)
    assert len(set(helpers.workers(loader))) == 2
    assert loader.sample_path(0) == f"{folder}/class0/000.jpg"
    assert "Resize(size=(32, 32))" in repr(loader) and folder in repr(loader)
    loader.close()
    assert "closed" in repr(loader)


def test_stats_count(make_loader):
    loader = make_loader()
    assert helpers.count(loader) == 7
    helpers.wait_until(lambda: loader.stats()["samples"] >= 50, "samples are not counted")
    stats = loader.stats()
    assert stats["batches"] == 7
    assert set(stats["stage_ns"]) == {"read", "decode", "resample", "store", "idle"}
    assert stats["stage_ns"]["decode"] > 0 and stats["bytes_read"] > 0
    assert sum(stats["wait_histogram"]) == stats["waits"]
    assert stats["pool_bytes"] > 6 * 8 * 3 * 32 * 32 and stats["seconds"] > 0
    assert stats["deaths"] == stats["slices_needed"] == stats["seeks"] == 0
    for key in stats:
        assert key in Loader.stats.__doc__


def test_after_close_everything_says_so(make_loader):
    loader = make_loader()
    iterator = iter(loader)
    next(iterator)
    loader.close()
    loader.close()
    for use in (lambda: next(iterator), lambda: iter(loader), loader.stats,
                lambda: loader.sample_path(0), loader.worker_pids):
        with pytest.raises(ClosedError, match="closed"):
            use()
    assert len(loader) == 7 and loader.classes


def test_a_with_block_closes(make_loader):
    with make_loader() as loader:
        next(iter(loader))
    with pytest.raises(ClosedError):
        iter(loader)


def test_a_loader_cannot_be_copied(make_loader):
    loader = make_loader()
    for use in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="neither copied nor pickled"):
            use(loader)


def test_a_batch_can_be_copied_and_pickled(make_loader):
    batch = next(iter(make_loader()))
    for other in (copy.deepcopy(batch), pickle.loads(pickle.dumps(batch))):
        assert torch.equal(other[0], batch[0]) and torch.equal(other.ids, batch.ids)
        assert other[0].data_ptr() != batch[0].data_ptr() and other.epoch == 0
    rebuilt = type(batch)(x + 1 for x in batch)  # as pin_memory and Accelerate do it
    assert torch.equal(rebuilt[1], batch[1] + 1) and rebuilt.ids is None
