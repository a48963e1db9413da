# SPDX-License-Identifier: Apache-2.0
"""The same batches as a plain Python loader, and as many times as one likes."""
import io
import os
import random
import signal
import threading
from pathlib import Path

import PIL
import pytest
import torch
import torchvision
from PIL import Image

import helpers
import reference
from forebay import Loader, transforms as T

PILLOW = 13 if int(PIL.__version__.split(".", maxsplit=1)[0]) >= 13 else 12
IMAGENET = Path(__file__).resolve().parents[3] / "shared" / "data" / "imagenet"


def compare(path, pipeline, seed=3, epochs=1, batch_size=8, n_batches=None):
    files = torchvision.datasets.ImageFolder(path).samples
    with Loader(path, batch_size, pipeline, shuffle=True, seed=seed, workers=2,
                pillow=PILLOW) as loader:
        assert len(loader.dataset) == len(files)
        for epoch in range(epochs):
            expected = reference.batches(files, batch_size, pipeline, seed, epoch)
            for batch, (images, ids) in zip(loader, expected):
                assert batch.ids.tolist() == ids
                assert batch[1].tolist() == [files[i][1] for i in ids]
                assert (batch[0].numpy() == images).all()
                if batch.index + 1 == n_batches:
                    break


@pytest.mark.parametrize("pipeline", [
    [T.Resize((32, 48))],
    [T.Resize((90, 20)), T.RandomHorizontalFlip()],
    [T.RandomResizedCrop(32), T.RandomHorizontalFlip()],
    [T.RandomHorizontalFlip(0.5), T.RandomResizedCrop((24, 40), scale=(0.01, 0.2))],
    [T.RandomResizedCrop(70, scale=(0.9, 1.0), ratio=(0.2, 0.3))],
    [T.RandomResizedCrop((9, 150), ratio=(3, 5))],
], ids=repr)
def test_batches_equal_those_of_a_plain_loader(folder, pipeline):
    compare(folder, pipeline, epochs=2)


@pytest.mark.parametrize("seed", [0, 1, 2**64 - 1])
def test_order_is_the_permutation_of_the_rule(make_loader, seed):
    loader = make_loader(shuffle=True, seed=seed)
    for epoch in range(3):
        assert sum((b.ids.tolist() for b in loader), []) == reference.order(50, seed, epoch)


def resampled(data, horizontal, vertical):
    """A JPEG with other sampling factors: the same blocks, arranged differently.

    4:2:2 has two luma blocks beside each other in a unit, 4:4:0 has them one below the
    other; 4:2:0 has four in a square, 4:1:1 in a row.
    """
    data = bytearray(data)
    at = data.index(b"\xff\xc0")
    old = data[at + 11]
    height, width = (int.from_bytes(data[at + i:at + i + 2], "big") for i in (5, 7))
    across, down = -(-width // (8 * (old >> 4))), -(-height // (8 * (old & 15)))
    size = across * 8 * horizontal - 3, down * 8 * vertical - 5
    data[at + 5:at + 9] = size[1].to_bytes(2, "big") + size[0].to_bytes(2, "big")
    data[at + 11] = horizontal << 4 | vertical
    return bytes(data)


SORTS = {
    "4:4:4": {"subsampling": 0},
    "4:2:2": {"subsampling": 1},
    "4:2:0": {"subsampling": 2},
    "4:4:0": {"subsampling": 1, "factors": (1, 2)},
    "4:1:1": {"subsampling": 2, "factors": (4, 1)},
    "grey": {"mode": "L"},
    "CMYK": {"mode": "CMYK"},
    "progressive": {"progressive": True, "subsampling": 2},
    "progressive 4:4:4": {"progressive": True, "subsampling": 0},
    "restart markers": {"restart_marker_blocks": 3, "subsampling": 2},
    "PNG in disguise": {"format": "PNG"},
    "PNG with alpha": {"format": "PNG", "mode": "RGBA"},
    "PNG with palette": {"format": "PNG", "mode": "P"},
    "PNG grey": {"format": "PNG", "mode": "L"},
}


@pytest.mark.parametrize("sort", SORTS)
def test_all_sorts_of_photographs_equal_pillows(tmp_path, sort):
    options = {"format": "JPEG", "quality": 92, **SORTS[sort]}
    mode, factors = options.pop("mode", "RGB"), options.pop("factors", None)
    where = tmp_path / "class"
    where.mkdir()
    for i in range(16):
        file = io.BytesIO()
        helpers.photograph(i, 41 + 13 * (i % 5), 39 + 17 * (i % 4)).convert(mode).save(
            file, **options)
        data = resampled(file.getvalue(), *factors) if factors else file.getvalue()
        (where / f"{i:02d}.jpg").write_bytes(data)
    assert Image.open(where / "00.jpg").mode == mode
    for size in (20, 64, 200):
        compare(str(tmp_path), [T.RandomResizedCrop(size), T.RandomHorizontalFlip()], epochs=2)
        compare(str(tmp_path), [T.Resize((size, size + 5))])


@pytest.mark.parametrize("resize, crop", [(40, 32), (256, 224), (50, (50, 41)), (20, 31)])
def test_resize_and_center_crop_equal_torchvisions(folder, resize, crop):
    theirs = torchvision.transforms.Compose([
        torchvision.transforms.Resize(resize), torchvision.transforms.CenterCrop(crop),
        torchvision.transforms.PILToTensor()])
    dataset = torchvision.datasets.ImageFolder(folder, theirs)
    with Loader(folder, 8, [T.Resize(resize), T.CenterCrop(crop)], workers=2,
                pillow=PILLOW) as loader:
        assert loader.class_to_idx == dataset.class_to_idx
        for batch in loader:
            for row, sample in enumerate(batch.ids.tolist()):
                image, label = dataset[sample]
                assert torch.equal(batch[0][row], image) and batch[1][row] == label


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_normalize_equals_torchvisions(folder, dtype):
    mean, std = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
    with Loader(folder, 8, [T.Resize((32, 32))], workers=1) as plain, \
            Loader(folder, 8, [T.Resize((32, 32)), T.Normalize(mean, std)], dtype=dtype,
                   workers=1) as loader:
        for (images, _), (normalized, _) in zip(plain, loader):
            expected = torchvision.transforms.functional.normalize(
                images.float().div(255), mean, std)
            assert torch.equal(normalized, expected.to(normalized.dtype))


@pytest.mark.skipif(not IMAGENET.is_dir(), reason="no real photographs here")
def test_real_photographs_equal_pillows():
    compare(str(IMAGENET), [T.RandomResizedCrop(224), T.RandomHorizontalFlip()], batch_size=50,
            n_batches=10 if helpers.LONG else 3)


def test_one_digest_for_all_numbers_of_workers(make_loader):
    pipeline = [T.RandomResizedCrop(32), T.RandomHorizontalFlip(), T.Normalize([0.5], [0.5])]
    digests = {helpers.digest(make_loader(pipeline=pipeline, shuffle=True, workers=workers,
                                          slots=slots, dtype="float16"))
               for workers, slots in ((1, 2), (2, "auto"), (3, 3), (7, 12))}
    assert len(digests) == 1


def test_one_digest_while_workers_are_killed(make_loader):
    pipeline = [T.RandomResizedCrop(96), T.RandomHorizontalFlip()]
    epochs = 400 if helpers.LONG else 60
    expected = helpers.digest(make_loader(pipeline=pipeline, shuffle=True), epochs)
    loader = make_loader(pipeline=pipeline, shuffle=True)
    over = threading.Event()

    def kill():
        while not over.wait(0.05):
            pid = random.choice(loader.worker_pids())
            if pid:
                os.kill(pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        assert helpers.digest(loader, epochs) == expected
    finally:
        over.set()
        killer.join()
    assert loader.stats()["deaths"] >= 3 and loader.stats()["bad_rows"] == 0
    assert loader.stats()["slots_leased"] == 0
