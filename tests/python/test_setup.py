# SPDX-License-Identifier: Apache-2.0
"""tools/setup, on machines made of stand-ins for dpkg-query, apt-get, id and sudo."""
import os
import shutil
import subprocess

import pytest

TOOLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools")
NEEDED = ("sh", "dirname", "grep", "sort", "tr", "env", "cat")


class Machine:
    """A PATH of its own, where programs note how they were called."""

    def __init__(self, folder):
        self.folder = folder
        self.log = folder / "log"
        for name in NEEDED:
            os.symlink(shutil.which(name), folder / name)

    def add(self, name, text):
        path = self.folder / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def lacks(self, *packages):
        self.add("dpkg-query", f'for p in {" ".join(packages)} none; do\n'
                               '[ "$4" = "$p" ] && exit 1\ndone\necho "install ok installed"')

    def setup(self, *groups):
        done = subprocess.run(["sh", os.path.join(TOOLS, "setup"), *groups],
                              env={"PATH": str(self.folder)}, capture_output=True, text=True,
                              check=False)
        calls = self.log.read_text().splitlines() if self.log.exists() else []
        return done.returncode, done.stderr, calls


@pytest.fixture(name="machine")
def make_machine(tmp_path):
    machine = Machine(tmp_path)
    note = f'[ "$2" = -s ] || echo "${{0##*/}} $*" >> {machine.log}'
    machine.lacks()
    machine.add("id", "echo 0")
    machine.add("apt-get", note)
    return machine


def test_nothing_is_run_where_all_is_there(machine):
    assert machine.setup("build") == (0, "", [])


def test_one_line_names_what_is_missing_and_is_run(machine):
    machine.lacks("meson", "gcc")
    line = "apt-get install -y --no-install-recommends gcc meson"
    assert machine.setup("build") == (0, line + "\n", [line])


def test_removed_package_with_its_settings_left_is_missing(machine):
    machine.add("dpkg-query", '[ "$4" = gcc ] && echo "deinstall ok config-files" || '
                              'echo "install ok installed"')
    assert machine.setup("build")[2] == ["apt-get install -y --no-install-recommends gcc"]


def test_package_on_hold_is_there(machine):
    machine.add("dpkg-query", 'echo "hold ok installed"')
    assert machine.setup("build")[0] == 0


def test_installation_shows_what_it_does_but_its_rehearsal_does_not(machine):
    machine.lacks("gcc")
    machine.add("apt-get", 'echo "$2 to tell"')
    status, text, _ = machine.setup("build")
    assert (status, text.count("to tell")) == (0, 1) and text.endswith("-y to tell\n")


def test_lists_are_fetched_once_when_the_first_try_fails(machine):
    machine.lacks("gcc")
    machine.add("apt-get", f'echo "$1" >> {machine.log}\n'
                           f'grep -q update {machine.log}')
    status, _, calls = machine.setup("build")
    assert (status, calls) == (0, ["install", "update", "install"])


def test_failing_installation_is_status_2_and_shows_the_line(machine):
    machine.lacks("gcc")
    machine.add("apt-get", "exit 100")
    status, text, _ = machine.setup("build")
    assert status == 2 and "apt-get install -y --no-install-recommends gcc" in text


def test_user_without_sudo_gets_the_line_and_status_2(machine):
    machine.lacks("gcc")
    machine.add("id", "echo 1000")
    status, text, calls = machine.setup("build")
    assert status == 2 and calls == []
    assert text.startswith("sudo apt-get install") and "no sudo" in text


def test_user_with_sudo_installs_by_it(machine):
    machine.lacks("gcc")
    machine.add("id", "echo 1000")
    machine.add("sudo", f'echo "sudo $*" >> {machine.log}\nexec "$@"')
    status, _, calls = machine.setup("build")
    assert status == 0 and calls[0].startswith("sudo ") and calls[1].startswith("apt-get install")


def test_python_without_torch_asks_for_debians(machine):
    machine.lacks("python3-torch", "python3-numpy", "python3-pil")
    machine.add("python3", "exit 1")
    shutil.copy(os.path.join(TOOLS, "find-python"), machine.folder / "find-python")
    shutil.copy(os.path.join(TOOLS, "setup"), machine.folder / "setup")
    text = (machine.folder / "find-python").read_text().replace("/usr/bin/python3", "python3")
    (machine.folder / "find-python").write_text(text)
    done = subprocess.run(["sh", str(machine.folder / "setup"), "demo"], check=False,
                          env={"PATH": str(machine.folder)}, capture_output=True, text=True)
    assert done.stderr.split()[-3:] == ["python3-numpy", "python3-pil", "python3-torch"]


def test_unknown_group_is_wrong_use(machine):
    assert machine.setup("kitchen")[0] == 2
    assert machine.setup()[0] == 2
