# SPDX-License-Identifier: Apache-2.0
"""The lease: a slot is the caller's until the last view of its memory dies."""
import gc
import threading

import numpy as np
import pytest
import torch

import helpers


def leased(loader):
    return loader.stats()["slots_leased"]


def run_epochs(loader):
    """Fills every slot that is free."""
    for _ in range(3):
        for batch in loader:
            del batch


VIEWS = {
    "the tensor": lambda images: images,
    "a row": lambda images: images[3],
    "a view": lambda images: images.view(-1),
    "a permutation": lambda images: images.permute(0, 2, 3, 1),
    "a detached one": lambda images: images.detach(),
    "a numpy array": lambda images: images.numpy(),
    "a numpy slice": lambda images: images[0].numpy()[1:, ::2],
    "a numpy reshape": lambda images: images.numpy().reshape(-1)[5:],
    "another type": lambda images: images.view(torch.int8),
    "a tensor over an array": lambda images: torch.from_numpy(images.numpy()[2:]),
    "a memoryview": lambda images: memoryview(images.numpy()),
    "dlpack": lambda images: torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(images)),
}


@pytest.mark.parametrize("name", VIEWS)
def test_every_view_keeps_the_slot(make_loader, name):
    loader = make_loader()
    batch = next(iter(loader))
    view = VIEWS[name](batch[0])
    content = bytes(np.ascontiguousarray(np.asarray(view)))
    del batch
    gc.collect()
    assert leased(loader) == 1
    run_epochs(loader)
    assert bytes(np.ascontiguousarray(np.asarray(view))) == content
    del view
    gc.collect()
    assert leased(loader) == 0


def test_a_plain_loop_holds_one_batch(make_loader):
    loader = make_loader()
    for _images, _labels in loader:
        assert leased(loader) == 1
    del _images, _labels
    assert leased(loader) == 0


def test_labels_and_ids_hold_no_slot(make_loader):
    loader = make_loader(slots=2)
    kept = []
    for _ in range(3):
        for batch in loader:
            kept.append((batch[1], batch.ids))
    del batch
    assert leased(loader) == 0
    assert all((labels == ids * 3 // 50).all() for labels, ids in kept)


def test_release_empties_the_tensor_and_frees_the_slot(make_loader):
    loader = make_loader()
    batch = next(iter(loader))
    images, labels = batch
    batch.release()
    batch.release()
    assert leased(loader) == 0 and images.numel() == 0 and len(labels) == len(batch.ids) == 8


def test_release_leaves_other_views_alone(make_loader):
    loader = make_loader()
    batch = next(iter(loader))
    row, expected = batch[0][2], batch[0][2].clone()
    batch.release()
    run_epochs(loader)
    assert leased(loader) == 1 and torch.equal(row, expected)
    del row
    assert leased(loader) == 0


def test_release_before_the_backward_pass_is_an_error_not_garbage(make_loader):
    loader = make_loader(dtype="float32")
    batch = next(iter(loader))
    loss = torch.nn.Conv2d(3, 2, 3)(batch[0]).sum()
    batch.release()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_the_graph_keeps_the_slot(make_loader):
    loader = make_loader(dtype="float32")
    model = torch.nn.Conv2d(3, 2, 3)
    batch = next(iter(loader))
    loss = model(batch[0]).sum()
    del batch
    assert leased(loader) == 1
    loss.backward()
    del loss
    assert leased(loader) == 0


def test_images_may_be_written(make_loader):
    loader = make_loader(dtype="float32")
    for _ in range(2):
        for images, _labels in loader:
            assert images.max() <= 1
            images.mul_(0).add_(7)


def test_a_batch_dies_in_another_thread(make_loader):
    loader = make_loader()
    batches = [next(iter(loader)) for _ in range(3)]
    assert leased(loader) == 3
    thread = threading.Thread(target=batches.clear)
    thread.start()
    thread.join()
    assert leased(loader) == 0


def test_a_kept_traceback_keeps_its_batch_and_no_more(make_loader):
    loader = make_loader()

    def train():
        for images, _labels in loader:
            raise KeyError(images.shape[0])

    try:
        train()
    except KeyError as e:
        kept = e
    assert leased(loader) == 1
    assert [b.epoch for b in loader] == [1] * 7
    kept.__traceback__ = None
    del kept
    gc.collect()
    assert leased(loader) == 0


def test_views_outlive_close(make_loader):
    loader = make_loader()
    batch = next(iter(loader))
    expected = batch[0].clone()
    row = batch[0][1].numpy()
    before = helpers.pool_mappings()
    loader.close()
    assert before > 0 and torch.equal(batch[0], expected)
    del batch
    gc.collect()
    assert (row == expected[1].numpy()).all()
    assert helpers.pool_mappings() > 0
    del row
    gc.collect()
    assert helpers.pool_mappings() == 0


def test_a_forgotten_loader_closes_and_its_batch_lives(make_loader, folder):
    from forebay import Loader, transforms as T

    batch = next(iter(Loader(folder, 8, [T.Resize((32, 32))], workers=1)))
    gc.collect()
    assert batch[0].float().mean() > 0
    del batch
    gc.collect()
    assert helpers.pool_mappings() == 0
