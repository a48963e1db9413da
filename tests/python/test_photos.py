# SPDX-License-Identifier: Apache-2.0
"""The maker of synthetic photographs: the demo and other tests build on it."""
import os
import subprocess
import sys

from PIL import Image

PHOTOS = os.path.join(os.path.dirname(__file__), "..", "..", "tools", "photos.py")


def make(folder, *arguments):
    return subprocess.run([sys.executable, PHOTOS, str(folder), *arguments],
                          capture_output=True, text=True, check=False)


def read(folder):
    return {str(path.relative_to(folder)): path.read_bytes()
            for path in folder.rglob("*") if path.is_file()}


def test_same_seed_gives_the_same_bytes_and_another_seed_others(tmp_path):
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        assert make(tmp_path / name, "--count", "20", "--seed", seed).returncode == 0
    assert read(tmp_path / "a") == read(tmp_path / "b")
    assert read(tmp_path / "a").keys() == read(tmp_path / "c").keys()
    assert read(tmp_path / "a") != read(tmp_path / "c")


def test_kinds_of_files_that_real_folders_have(tmp_path):
    make(tmp_path / "a", "--count", "24", "--classes", "3")
    images = [Image.open(path) for path in (tmp_path / "a").rglob("*.JPEG")]
    assert len(images) == 24 and len(list((tmp_path / "a").iterdir())) == 3
    assert {(image.format, image.mode) for image in images} == {
        ("JPEG", "RGB"), ("JPEG", "L"), ("JPEG", "CMYK"), ("PNG", "RGB")}
    assert len({image.size for image in images}) > 10


def test_folder_that_is_there_is_left_as_it_is(tmp_path):
    (tmp_path / "a").mkdir()
    done = make(tmp_path / "a", "--count", "5")
    assert done.returncode == 0 and "there already" in done.stderr
    assert not list((tmp_path / "a").iterdir())


def test_unusable_numbers_are_wrong_use(tmp_path):
    assert make(tmp_path / "a", "--count", "0").returncode == 2
