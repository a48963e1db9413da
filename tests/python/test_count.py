# SPDX-License-Identifier: Apache-2.0
"""The adding up behind the last line of `make test`."""
import json
import os
import subprocess
import sys

COUNT = os.path.join(os.path.dirname(__file__), "..", "count.py")


def count(*arguments):
    done = subprocess.run([sys.executable, COUNT, *map(str, arguments)],
                          capture_output=True, text=True, check=False)
    return done.stdout.splitlines()[-1], done.returncode


def meson_log(folder, *tests):
    path = folder / "testlog.json"
    path.write_text("".join(json.dumps({"name": "t", "result": result, "stdout": out}) + "\n"
                            for result, out in tests))
    return path


def junit(folder, cases):
    path = folder / "pytest.xml"
    path.write_text(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")
    return path


def test_each_case_of_a_tap_program_counts(tmp_path):
    log = meson_log(tmp_path, ("FAIL", "1..3\nok 1 - a\nnot ok 2 - b\nnot ok 3 # SKIP c\n"))
    assert count(log) == ("1 passed, 1 failed, 1 skipped", 1)


def test_program_without_tap_counts_as_one(tmp_path):
    log = meson_log(tmp_path, ("OK", "all fine\n"), ("SKIP", ""), ("OK", ""))
    assert count(log) == ("2 passed, 0 failed, 1 skipped", 0)


def test_program_that_crashes_between_good_cases_has_failed(tmp_path):
    assert count(meson_log(tmp_path, ("ERROR", "1..3\nok 1 - a\n"))) == ("1 passed, 1 failed", 1)
    assert count(meson_log(tmp_path, ("TIMEOUT", "ok 1 - a\n"))) == ("1 passed, 1 failed", 1)


def test_cases_of_pytest_are_added(tmp_path):
    xml = junit(tmp_path, '<testcase/><testcase><failure/></testcase>'
                          '<testcase><error/></testcase><testcase><skipped/></testcase>')
    log = meson_log(tmp_path, ("OK", "ok 1 - a\n"))
    assert count(log, xml) == ("2 passed, 2 failed, 1 skipped", 1)


def test_missing_log_is_a_failure(tmp_path):
    assert count(tmp_path / "none.xml") == ("0 passed, 1 failed", 1)


def test_broken_log_is_a_failure(tmp_path):
    path = tmp_path / "cut.xml"
    path.write_text("<testsuites><testsu")
    assert count(path) == ("0 passed, 1 failed", 1)


def test_runner_that_failed_fails_what_it_did_not_count(tmp_path):
    log = meson_log(tmp_path, ("OK", "ok 1 - a\n"))
    assert count("--runner-status", 1, log) == ("1 passed, 1 failed", 1)


def test_nothing_run_is_a_failure(tmp_path):
    assert count(meson_log(tmp_path))[1] == 1
