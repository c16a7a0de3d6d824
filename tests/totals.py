#!/usr/bin/env python3
"""Adds up the result files of all test programs and prints the last line of a test run.

    totals.py FOLDER FAILED_CHECKS     exits 1 if a test or a check failed, or if no test ran
"""
import pathlib
import sys
import xml.etree.ElementTree as ElementTree


def count(folder):
    passed = failed = skipped = 0
    for file in pathlib.Path(folder).rglob("*.xml"):
        for case in ElementTree.parse(file).iter("testcase"):
            if case.find("failure") is not None or case.find("error") is not None:
                failed += 1
            elif case.find("skipped") is not None or case.get("status") == "notrun":
                skipped += 1
                print(f"skipped: {case.get('classname')}.{case.get('name')}")
            else:
                passed += 1
    return passed, failed, skipped


def main():
    passed, failed, skipped = count(sys.argv[1])
    checks = int(sys.argv[2])
    if checks and not failed:
        failed = checks  # a check outside the test programs: lint, a fuzzer, a program that crashed
    print(f"total: {passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
