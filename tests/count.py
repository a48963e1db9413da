#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Adds up what test runners wrote: Meson's testlog.json and JUnit files of pytest.

Prints one line, 'N passed, N failed', with ', N skipped' where some were, and exits
1 if anything failed.  A case of a TAP program counts for itself, a program that
speaks no TAP counts as one.  A log that is missing counts as a failure: a run that
left none cannot have passed.
"""
import argparse
import collections
import json
import re
import sys
import xml.etree.ElementTree as ElementTree

TAP = re.compile(r"^(ok|not ok)\b([^#\n]*)(#\s*skip)?", re.IGNORECASE | re.MULTILINE)


def count_program(test):
    """One program of a Meson run."""
    count = collections.Counter()
    for match in TAP.finditer(test.get("stdout") or ""):
        word = "skipped" if match[3] else "passed" if match[1].lower() == "ok" else "failed"
        count[word] += 1
    if test["result"] in ("OK", "EXPECTEDFAIL"):
        count = count or collections.Counter(passed=1)
    elif test["result"] == "SKIP":
        count = count or collections.Counter(skipped=1)
    elif not count["failed"]:
        count["failed"] = 1    # it crashed or hung; the cases before that count as well
    return count


def count_meson(path):
    with open(path, encoding="utf-8") as lines:
        return sum((count_program(json.loads(line)) for line in lines), collections.Counter())


def count_junit(path):
    count = collections.Counter()
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        tags = {child.tag for child in case}
        count["failed" if tags & {"failure", "error"} else
              "skipped" if "skipped" in tags else "passed"] += 1
    return count


def count_log(path):
    try:
        return count_meson(path) if path.endswith(".json") else count_junit(path)
    except (OSError, ValueError, KeyError, ElementTree.ParseError) as error:
        print(f"{path}: {error}")
        return collections.Counter(failed=1)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--runner-status", type=int, default=0,
                        help="not 0: some runner failed, so at least one test has")
    parser.add_argument("log", nargs="+")
    arg = parser.parse_args(argv)
    count = sum(map(count_log, arg.log), collections.Counter())
    if arg.runner_status and not count["failed"]:
        count["failed"] = 1
    skipped = f", {count['skipped']} skipped" if count["skipped"] else ""
    print(f"{count['passed']} passed, {count['failed']} failed{skipped}")
    return 1 if count["failed"] or not count["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
