# SPDX-License-Identifier: Apache-2.0
"""`forebay bench`: what it refuses, and where it writes.

The program is the one in the build folder, FOREBAY_BUILD or build/.
"""
import json
import os
import subprocess

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
TOOL = os.path.join(os.environ.get("FOREBAY_BUILD", os.path.join(TOP, "build")),
                    "tools", "forebay")


def bench(*arguments, **options):
    return subprocess.run([TOOL, "bench", "--epochs", "1", "--batch", "8", "--size", "16",
                           *map(os.fspath, arguments)],
                          **{"capture_output": True, "text": True, "check": False,
                             "timeout": 60, **options})


def test_result_goes_to_a_file_and_to_the_terminal(folder, tmp_path):
    done = bench(folder, "--json", tmp_path / "result")
    assert done.returncode == 0 and "images a second" in done.stdout
    assert json.loads((tmp_path / "result").read_text())["batch"] == 8


def test_file_that_cannot_be_written_is_told_before_the_run(folder, tmp_path):
    done = bench(folder, "--json", tmp_path / "none" / "result")
    assert (done.returncode, done.stdout) == (3, "")
    assert "none/result': No such file or directory" in done.stderr


def test_full_disk_is_told(folder):
    with open("/dev/full", "w", encoding="ascii") as full:
        for options in ((), ("--json", "-")):
            done = bench(folder, *options, capture_output=False, stdout=full,
                         stderr=subprocess.PIPE)
            assert done.returncode == 3 and "No space left" in done.stderr


def test_every_seed_of_the_loader_is_taken(folder):
    assert bench(folder, "--seed", "0").returncode == 0
    assert bench(folder, "--seed", str(2**64 - 1)).returncode == 0
    assert bench(folder, "--seed", str(2**64)).returncode == 2
