"""Triton's own language tests: ``python research/language_tests/run_language_tests.py CHECKOUT [FILE ...]``.

CHECKOUT has ``python/test`` of Triton's repository, at the commit that the page names. Each file of
``unit/language`` runs twice, a process each: under ``pytest --sanitize-kernels``, and in Triton's own interpreter
(``TRITON_INTERPRET=1``). `each_test` says which of its tests run, and gives each a limit. A test that ends its process
has failed, and the rest runs in another one. Rows are kept in results.json as they come; files that are named are run
anew, without a name those that are missing; `language_tests_page` makes README.md of them. Needs scipy.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from datetime import date
from pathlib import Path

from language_tests_page import page

HERE = Path(__file__).resolve().parent
KEPT = HERE / "results.json"
WAYS = {
    "ours": ["--device=cuda", "--sanitize-kernels", "--sanitize-device=h100"],
    "interpreter": ["--device=cpu"],
}
MOST, SECONDS = 4, 5  # parametrizations of a test function that run, seconds of processor time of each
PROCESSES = 12  # at most for a file
_TEXT = 300  # characters of a failure that are kept
_OF_ONE_RUN = {
    r"(?<![\w.~/])/(?:[^\s/'\"]+/)+": "",  # the folders of an absolute path
    r"\b0x[0-9a-f]{6,}": "0x...",
    r"\bkernels_\w+\.py": "kernels.py",  # the compiler's file
}


def run(checkout: Path, file: str, way: str, out: Path) -> dict:
    """The row of a file: what became of its tests."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])}
    environment |= {"EACH_TEST_OUT": str(out), "EACH_TEST_MOST": str(MOST), "EACH_TEST_SECONDS": str(SECONDS)}
    environment |= {"OMP_NUM_THREADS": "1", "TRITON_INTERPRET": "1"}
    command = [
        sys.executable,
        "-m",
        "pytest",
        f"unit/language/{file}",
        "--rootdir=.",
        "--confcutdir=.",
        "-p",
        "each_test",
    ]
    command += [*WAYS[way], "-q", "--tb=no", "-p", "no:cacheprovider", "-p", "no:randomly"]
    out.touch()
    before = time.monotonic()
    for _ in range(PROCESSES):
        done = subprocess.run(
            command, cwd=checkout / "python" / "test", env=environment, capture_output=True, text=True
        )
        if done.returncode in (0, 1, 5):
            break
    events = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    row = summary(events) | {"seconds": round(time.monotonic() - before), "date": str(date.today())}
    if "collected" not in row:
        said = [line for line in done.stdout.splitlines() if line.startswith("E  ")] or [done.stderr.strip()[-200:]]
        row["unable"] = portable(said[-1].removeprefix("E"))
    return row


def summary(events: list[dict]) -> dict:
    """Counts, and why each test failed. Of several outcomes of a test a failure counts."""
    outcomes: dict[str, tuple[str, str]] = {}
    row: dict = {}
    for event in events:
        if "collected" in event:
            row |= event
        elif "begins" in event:
            outcomes[event["begins"]] = ("failed", "its process ended")
        elif outcomes[event["ended"]] == ("failed", "its process ended") or event["outcome"] == "failed":
            outcomes[event["ended"]] = event["outcome"], event["why"]
    counts = Counter(outcome for outcome, _ in outcomes.values())
    row["passed"] = counts["passed"]
    row["skipped"] = sorted(name for name, (how, _) in outcomes.items() if how == "skipped")
    row["failed"] = {name: portable(why)[:_TEXT] for name, (how, why) in outcomes.items() if how == "failed"}
    return row


def portable(text: str) -> str:
    """A message in one line, without what is of this machine or of one run: folders, addresses, temporary names."""
    for pattern, instead in _OF_ONE_RUN.items():
        text = re.sub(pattern, instead, text)
    return " ".join(text.split())


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Triton's own language tests.")
    parser.add_argument("checkout", type=Path, metavar="CHECKOUT", help="of Triton's repository")
    parser.add_argument("files", nargs="*", metavar="FILE", help="run anew; without, what is missing is run")
    parser.add_argument("--way", choices=WAYS, help="only this one")
    options = parser.parse_args(arguments)
    results = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.is_file() else {}
    for path in sorted((options.checkout / "python/test/unit/language").glob("test_*.py")):
        rows = results.setdefault(path.name, {})
        for way in [options.way] if options.way else WAYS:
            if path.name in options.files or (not options.files and way not in rows):
                print(f"{path.name}, {way}", file=sys.stderr, flush=True)
                with tempfile.TemporaryDirectory(prefix="language-tests-") as folder:
                    rows[way] = run(options.checkout, path.name, way, Path(folder) / "events")
                KEPT.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    whole = {name: rows for name, rows in results.items() if len(rows) == len(WAYS)}
    (HERE / "README.md").write_text(page(whole, MOST, SECONDS), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
