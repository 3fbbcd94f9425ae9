"""A piece of the plan: the tests that are marked for a device."""

import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

TESTS = Path(__file__).resolve().parents[2] / "tests"
MARK = "mark.gpu"


def device_tests(name: str, simulated: bool) -> dict:
    """``tests``: by name "passed", or "failed: ..." or "not run: ..." with the reason."""
    files = [path for path in sorted(TESTS.rglob("test_*.py")) if MARK in path.read_text(encoding="utf-8")]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "tests.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-m", "gpu", "-n", str(min(8, os.cpu_count() or 1))]
        ended = subprocess.run([*command, f"--junitxml={report}", *map(str, files)], cwd=TESTS.parent, stdout=2)
        if not report.exists():
            raise RuntimeError(f"pytest ended with status {ended.returncode} and left no report")
        return {"tests": outcomes(report)}


def outcomes(report: Path) -> dict[str, str]:
    """The outcome of each test of a JUnit file."""
    return {case.get("name", ""): outcome(case) for case in ElementTree.parse(report).iter("testcase")}


def outcome(case: ElementTree.Element) -> str:
    for tag, said in (("failure", "failed"), ("error", "failed"), ("skipped", "not run")):
        found = case.find(tag)
        if found is not None:
            reason = found.get("message", "").partition("\n")[0].removeprefix("not run: ")
            return f"{said}: {reason}"
    return "passed"
