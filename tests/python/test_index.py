# SPDX-License-Identifier: Apache-2.0
"""`forebay index` against torchvision's ImageFolder: same classes, labels and order.

The program is the one in the build folder, FOREBAY_BUILD or build/.
"""
import json
import os
import re
import subprocess

import pytest

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
TOOL = os.path.join(os.environ.get("FOREBAY_BUILD", os.path.join(TOP, "build")),
                    "tools", "forebay")
IMAGENET = os.path.join(TOP, "..", "shared", "data", "imagenet")


def run(*arguments, **environment):
    return subprocess.run([TOOL, "index", *map(os.fspath, arguments)], capture_output=True,
                          check=False, timeout=60, env={**os.environ, **environment})


def unquote(text):
    """The bytes of a name as `forebay index` prints it."""
    return re.sub(rb"\\(\\|x[0-9a-f]{2})",
                  lambda m: b"\\" if m[1] == b"\\" else bytes([int(m[1][1:], 16)]), text)


def listed(root, output):
    done = run("--force", "--list", "--output", output, root)
    assert done.returncode == 0, done.stderr
    rows = [line.split(b"\t") for line in done.stdout.split(b"\n")[:-1]]
    return [(os.path.join(os.fsencode(root), unquote(path)), int(label))
            for label, path in rows]


def expected(root):
    folder = pytest.importorskip("torchvision.datasets").ImageFolder(os.fspath(root))
    return [(os.fsencode(path), label) for path, label in folder.samples], folder.classes


def fill(root, *names):
    for name in names:
        path = os.path.join(os.fsencode(root), os.fsencode(name))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb"):
            pass


ODD = ["a/1.jpg", "a/10.jpg", "a/2.jpg", "a/b/c/d/e.png", "a/b-c/x.JPG", "a/b.c/x.Jpeg",
       "a/b/x.webp", "a/b c/x.tif", "a/b!/x.tiff", "A/x.bmp", "Z/x.ppm", "10/x.pgm", "9/x.jpg",
       "ä/ö.jpg", "ä/z.jpg", "猫/子.jpg", "🐈/a.jpg", "\uffee/a.jpg", "new\nline/a\nb.jpg",
       "quote'\"/\\.jpg", "tab\t/\t.jpg", "space /  .jpg", "a/x.jpg/y.jpg", "~/a.jpg",
       "a/notes.txt", "a/x.jpg.bak", "a/noextension", "dir.jpg/x.jpg", "e\u0301/1.jpg"]


def test_odd_names_in_the_order_of_imagefolder(tmp_path):
    root = tmp_path / "data"
    fill(root, *ODD)
    want, _ = expected(root)
    assert len(want) > 20
    assert listed(root, tmp_path / "a.idx") == want


def test_names_that_are_not_utf8(tmp_path):
    root = tmp_path / "data"
    fill(root, b"\xff/\xfe.jpg", b"a/\xc3.jpg", b"a/\x80.jpg", "é/1.jpg")
    want, _ = expected(root)
    assert listed(root, tmp_path / "a.idx") == want


def test_links_are_followed_as_imagefolder_does(tmp_path):
    root = tmp_path / "data"
    fill(root, "a/1.jpg", "a/deep/2.jpg", tmp_path / "elsewhere/3.jpg")
    os.symlink("../a", root / "a-link")
    os.rename(root / "a-link", root / "b")
    os.unlink(root / "b")
    os.symlink(root / "a", root / "b")
    os.symlink(tmp_path / "elsewhere", root / "a" / "c")
    os.symlink(tmp_path / "elsewhere" / "3.jpg", root / "a" / "0.jpg")
    want, _ = expected(root)
    assert len(want) == 8
    assert listed(root, tmp_path / "a.idx") == want


def test_classes_have_the_same_numbers(tmp_path):
    root = tmp_path / "data"
    fill(root, *ODD)
    _, classes = expected(root)
    done = run("--json", "--output", tmp_path / "a.idx", root)
    told = json.loads(done.stdout)
    assert [unquote(c["name"].encode()) for c in told["classes"]] == \
        [os.fsencode(name) for name in classes]
    assert sum(c["samples"] for c in told["classes"]) == told["samples"]


def test_order_does_not_depend_on_the_file_system(tmp_path):
    names = [f"{c}/{i * 7919 % 100:03}.jpg" for c in "cab" for i in range(100)]
    fill(tmp_path / "one", *names)
    fill(tmp_path / "two", *reversed(names))
    one, two = (listed(tmp_path / which, tmp_path / f"{which}.idx") for which in ("one", "two"))
    assert [os.path.relpath(path, os.fsencode(tmp_path / "one")) for path, _ in one] == \
        [os.path.relpath(path, os.fsencode(tmp_path / "two")) for path, _ in two]


def test_what_is_skipped_is_counted_and_named(tmp_path):
    root = tmp_path / "data"
    fill(root, "a/1.jpg", "a/.hidden.jpg", ".cache/1.jpg", "stray.jpg", "a/x.txt", "empty/y.txt")
    os.symlink("gone", root / "a" / "gone.jpg")
    os.symlink(".", root / "a" / "loop")
    os.mkfifo(root / "a" / "pipe.jpg")
    told = json.loads(run("--json", root).stdout)
    skipped = {kind: (what["count"], sorted(what["first"]))
               for kind, what in told["skipped"].items() if what["count"]}
    assert skipped == {
        "hidden": (2, [".cache", "a/.hidden.jpg"]), "root_file": (1, ["stray.jpg"]),
        "other": (2, ["a/x.txt", "empty/y.txt"]), "dangling": (1, ["a/gone.jpg"]),
        "loop": (1, ["a/loop"]), "special": (1, ["a/pipe.jpg"])}
    assert told["classes"] == [{"name": "a", "samples": 1}, {"name": "empty", "samples": 0}]
    assert told["index"] == os.fspath(root / ".forebay.idx")
    summary = run(root).stdout.decode()
    assert "samples  1 in 2 classes" in summary and "empty" in summary and "stray.jpg" in summary


def test_list_may_be_cut(tmp_path):
    fill(tmp_path / "data", "a/1.jpg", "a/2.jpg", "b/3.jpg")
    assert run("--list=2", tmp_path / "data").stdout == b"0\ta/1.jpg\n0\ta/2.jpg\n"
    assert run("-l1", tmp_path / "data").stdout == b"0\ta/1.jpg\n"


def test_index_file_can_be_asked(tmp_path):
    fill(tmp_path / "data", "a/1.jpg")
    run(tmp_path / "data")
    done = run("--list", tmp_path / "data" / ".forebay.idx")
    assert done.stdout == b"0\ta/1.jpg\n"


def test_force_builds_anew(tmp_path):
    fill(tmp_path / "data", "a/1.jpg")
    run(tmp_path / "data")
    before = os.stat(tmp_path / "data" / ".forebay.idx").st_ino
    run(tmp_path / "data")
    assert os.stat(tmp_path / "data" / ".forebay.idx").st_ino == before
    run("--force", tmp_path / "data")
    assert os.stat(tmp_path / "data" / ".forebay.idx").st_ino != before


def test_progress_is_told_in_classes(tmp_path):
    fill(tmp_path / "data", *[f"{i}/1.jpg" for i in range(30)])
    lines = run("--progress", "--list=1", tmp_path / "data").stdout.decode().splitlines()
    assert lines[-2:] == ["30 30", "0\t0/1.jpg"]


@pytest.mark.parametrize("arguments,status,word", [
    (["--nonsense"], 2, "usage"), ([], 2, "usage"), (["--list=x", "."], 2, "not a number"),
    (["/no/such/folder"], 1, "/no/such/folder"), (["/dev/null"], 3, "/dev/null"),
    (["a", "b"], 2, "usage"), (["--help"], 0, "usage")])
def test_exit_status_says_what_kind_of_failure(arguments, status, word):
    done = run(*arguments)
    assert done.returncode == status
    assert word in (done.stdout + done.stderr).decode()


def test_program_knows_its_commands():
    for arguments, status, word in (([], 2, "index"), (["--help"], 0, "index"),
                                    (["--version"], 0, "forebay "), (["nope"], 2, "'nope'")):
        done = subprocess.run([TOOL, *arguments], capture_output=True, check=False, timeout=60)
        assert done.returncode == status
        assert word in (done.stdout + done.stderr).decode()


@pytest.mark.skipif(not os.path.isdir(IMAGENET), reason="no ImageNet at hand")
def test_real_photographs(tmp_path):
    root = os.path.realpath(IMAGENET)
    want, _ = expected(root)
    assert listed(root, tmp_path / "a.idx") == want


def test_output_that_is_no_ordinary_file_is_left_alone(tmp_path):
    fill(tmp_path, "data/a/1.jpg")
    os.mkfifo(tmp_path / "fifo")
    for name in ("fifo", "data"):
        done = run("--output", tmp_path / name, tmp_path / "data")
        assert done.returncode == 3 and b"no ordinary file" in done.stderr
        assert not (tmp_path / name).is_file()


def test_index_that_nothing_takes_says_where_it_may_go(tmp_path):
    fill(tmp_path, "data/a/1.jpg", "file")
    (tmp_path / "data").chmod(0o555)
    for environment in ({"XDG_CACHE_HOME": str(tmp_path / "file")},
                        {"XDG_CACHE_HOME": "", "HOME": ""}):
        done = run(tmp_path / "data", **environment)
        assert done.returncode == 3
        assert b": write '" in done.stderr and b"XDG_CACHE_HOME" in done.stderr
        assert done.stderr.count(b"\n") == 1
