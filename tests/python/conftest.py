# SPDX-License-Identifier: Apache-2.0
"""What the Python tests share: the build under test, folders of photographs made on the
spot, and a check that a test leaves nothing behind.

FOREBAY_BUILD names the build folder (default: build of this checkout), FOREBAY_LONG=1
makes the long tests as long as the project's bars ask for.
"""
import gc
import os
import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("FOREBAY_BUILD", CHECKOUT / "build")).resolve()
sys.path[:0] = [str(CHECKOUT / "bindings" / "python"), str(Path(__file__).resolve().parent)]
os.environ.setdefault("FOREBAY_LIBRARY", str(BUILD / "lib" / "libforebay.so.0"))
os.environ.setdefault("FOREBAY_CHECK", "1")
os.environ["PYTHONPATH"] = os.pathsep.join(
    [str(CHECKOUT / "bindings" / "python"), *os.environ.get("PYTHONPATH", "").split(os.pathsep)])

import pytest  # noqa: E402
import torch  # noqa: E402

import helpers  # noqa: E402
from forebay import Loader, transforms as T  # noqa: E402

torch.set_num_threads(1)


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """50 photographs in 3 classes, of all usual sorts."""
    return helpers.make_folder(tmp_path_factory.mktemp("photographs"), 50, 3)


@pytest.fixture
def own_folder(tmp_path):
    """10 photographs in 2 classes, to be spoilt."""
    return helpers.make_folder(tmp_path / "photographs", 10, 2)


@pytest.fixture
def make_loader(folder):
    """Opens small loaders and closes them after the test."""
    loaders = []

    def make(path=folder, batch_size=8, pipeline=None, **options):
        options.setdefault("workers", 2)
        pipeline = [T.Resize((32, 32))] if pipeline is None else pipeline
        loader = Loader(path, batch_size, pipeline, **options)
        loaders.append(loader)
        return loader

    yield make
    for loader in loaders:
        loader.close()


@pytest.fixture(autouse=True)
def nothing_is_left():
    """No worker of ours and no name in /dev/shm outlives a test."""
    yield
    gc.collect()
    helpers.wait_until(lambda: not helpers.leftovers(os.getpid()), "workers are left")
