# SPDX-License-Identifier: Apache-2.0
"""The demo, on few photographs: what it prints, and that its digest means something."""
import os
import re
import signal
import subprocess
import sys

DEMO = os.path.join(os.path.dirname(__file__), "..", "..", "tools", "demo.py")


def demo(folder, *arguments):
    return subprocess.run([sys.executable, DEMO, str(folder), "--epochs", "1", "--batch", "16",
                           "--size", "32", *arguments],
                          capture_output=True, text=True, check=False, timeout=120)


def digest(done):
    assert done.returncode == 0, done.stderr
    return re.search(r"^digest +([0-9a-f]{32}) ", done.stdout, re.MULTILINE)[1]


def test_demo_says_what_it_promises(folder):
    done = demo(folder)
    assert done.returncode == 0, done.stderr
    for line in (r"images/s +\d", r"iteration ms +p50 [\d.]+   p99 [\d.]+   max [\d.]+",
                 r"waited for data +\d", r"workers' time +read \d+ %   decode \d+ %   "
                 r"resample \d+ %   store \d+ %   idle \d+ %", r"pool +[\d.]+ MiB"):
        assert re.search("^" + line, done.stdout, re.MULTILINE), done.stdout


def test_digest_depends_on_the_seed_but_not_on_the_workers(folder):
    one, three = demo(folder, "--workers", "1"), demo(folder, "--workers", "3")
    assert digest(one) == digest(three)
    assert digest(demo(folder, "--seed", "1")) != digest(one)


def test_folder_that_is_not_there_is_named(tmp_path):
    done = demo(tmp_path / "nothing")
    assert done.returncode == 1
    assert "nothing" in done.stderr and "Traceback" not in done.stderr


def test_interrupt_while_torch_loads_is_quiet(tmp_path):
    (tmp_path / "torch.py").write_text("import time\nprint('loading', flush=True)\n"
                                       "time.sleep(60)\n")
    with subprocess.Popen([sys.executable, DEMO, str(tmp_path)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True,
                          env={**os.environ, "PYTHONPATH": str(tmp_path)}) as process:
        assert process.stdout.readline() == "loading\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (-signal.SIGINT, "")
