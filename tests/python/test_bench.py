# SPDX-License-Identifier: Apache-2.0
"""`forebay bench`: its keys, what it refuses, where it writes, and what its digest means.

The program is the one in the build folder, FOREBAY_BUILD or build/.
"""
import json
import os
import subprocess

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
TOOL = os.path.join(os.environ.get("FOREBAY_BUILD", os.path.join(TOP, "build")),
                    "tools", "forebay")
KEYS = {"images_per_second", "cpu_ms_per_image", "batch_gap_ms", "first_batch_ms", "epoch_gap_ms",
        "handover_us", "next_ready_us", "pool_bytes", "worker_rss_bytes", "slices_needed", "digest"}
BASELINE_KEYS = {"full_decode_cpu_ms", "ratio_to_full_decode", "pool_efficiency"}


def bench(*arguments, **options):
    return subprocess.run([TOOL, "bench", "--epochs", "1", "--batch", "8", "--size", "16",
                           *map(os.fspath, arguments)],
                          **{"capture_output": True, "text": True, "check": False,
                             "timeout": 60, **options})


def test_result_goes_to_a_file_and_to_the_terminal(folder, tmp_path):
    done = bench(folder, "--json", tmp_path / "result")
    assert done.returncode == 0 and "images a second" in done.stdout
    assert json.loads((tmp_path / "result").read_text())["batch"] == 8


def measure(folder, *arguments):
    done = bench(folder, "--json", "-", *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_keys_are_those_of_the_manual(folder):
    result = measure(folder, "--workers", "2", "--epochs", "3", "--baseline")
    assert KEYS | BASELINE_KEYS <= set(result)
    assert set(result["batch_gap_ms"]) == {"p50", "p99", "max"}
    assert set(result["handover_us"]) == set(result["next_ready_us"]) == {"p50", "p99"}
    assert result["rounds"] >= 7
    assert min(result[key] for key in BASELINE_KEYS | {"cpu_ms_per_image"}) > 0
    assert result["slices_needed"] == result["bad_rows"] == 0
    assert 0 < result["worker_rss_bytes"] <= 15e6
    with open(os.path.join(TOP, "docs", "forebay-bench.1"), encoding="utf-8") as manual:
        text = manual.read()
    assert all(f".It {key}" in text for key in KEYS | BASELINE_KEYS)


def test_digest_depends_on_the_seed_but_not_on_the_workers(folder):
    one = measure(folder, "--workers", "1")
    assert not BASELINE_KEYS & set(one)
    assert measure(folder, "--workers", "3")["digest"] == one["digest"]
    assert measure(folder, "--workers", "2", "--seed", "1")["digest"] != one["digest"]


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
