"""Libraries' own tests under ``pytest --sanitize-kernels``: ``python research/audit/suites.py [LIBRARY[/FILE] ...]``.

suites.toml names each library's source distribution by version and hash, what its tests import beside this
environment's PyTorch and Triton, and the tests that are run. They run unchanged, a file at a time, in a folder that is
thrown away. What a run found is kept in suites.json, of which only the rows that are named are made anew, and none of a
library that cannot be fetched, which is "not run" where there is no row; suites.md is made from it.
"""

import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import tomllib
from datetime import date
from pathlib import Path
from xml.etree import ElementTree

import torch
import triton
from fetching import install, lines_of, unpack

HERE = Path(__file__).resolve().parent
KEPT = HERE / "suites.json"
REPOSITORIES = HERE / "repositories.md"  # runs from repositories, with the command of each, put behind the page
SECONDS = 3600
FINDING = re.compile(r"\S+\.py:\d+: (?!not judged)\S+ in `")
ABOUT = f"""# Libraries' own tests under `pytest --sanitize-kernels`

`python research/audit/suites.py`, {{date}}, PyTorch {torch.__version__}, Triton {triton.__version__}, no GPU: one was
simulated, and Triton kernels ran in the strict emulator. The tests are the libraries' own, from their source
distributions, unchanged; suites.toml has versions and hashes, and says which tests are left out and why.

*Skipped*: by the suite itself. *Findings*: tests that failed because of what the emulator saw in a kernel. *Seconds*:
of processor time, one process, with PyTorch's start. Goal: no finding in a kernel that is right.

| library | test file | passed | failed | findings | skipped | left out | kernels and launches | seconds |
|---|---|---|---|---|---|---|---|---|"""


def suites() -> dict[str, dict]:
    return tomllib.loads((HERE / "suites.toml").read_text(encoding="utf-8"))


def fetched(suite: dict, folder: Path) -> str:
    """Unpacks a library's source beside the packages that its tests need. "", or why that failed."""
    (folder / "packed").mkdir()
    (folder / "needs").mkdir()
    why = unpack(suite["source"], folder / "packed", folder / "unpacked")
    return why or (install(lines_of(suite["needs"]), folder / "needs") if suite["needs"] else "")


def run(folder: Path, file: dict) -> dict:
    """One file of tests. Raises RuntimeError where pytest itself could not run."""
    told = folder / "junit.xml"
    told.unlink(missing_ok=True)
    flags = ["--sanitize-kernels", "--color=no", "-p", "no:cacheprovider", "-o", "log_cli=false", "--tb=line"]
    command = [sys.executable, "-m", "pytest", *flags, f"--junitxml={told}", *file.get("choose", ()), file["path"]]
    environment = os.environ | {"PYTHONPATH": str(folder / "needs"), "OMP_NUM_THREADS": "1"}
    before = _processor()
    child = subprocess.run(
        command, cwd=folder / "unpacked", env=environment, capture_output=True, text=True, timeout=SECONDS
    )
    if not told.is_file():
        raise RuntimeError((child.stdout + child.stderr).strip()[-300:])
    left = re.search(r"(\d+) deselected", child.stdout)
    moved = re.search(r"^(\d[\d,]* kernels?, [\d,]* launch(es)?)", child.stdout, re.MULTILINE)
    row = read(told) | {"left_out": int(left[1]) if left else 0, "launches": moved[1] if moved else ""}
    return row | {"seconds": round(_processor() - before)}


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def read(told: Path) -> dict:
    """What pytest's junit file says: counts, and each failure's first lines by test."""
    row: dict = {"passed": 0, "skipped": 0, "failed": {}}
    for case in ElementTree.parse(told).iter("testcase"):
        problem = next((part for part in case if part.tag in ("failure", "error")), None)
        if problem is not None:
            row["failed"][case.get("name")] = " ".join(problem.get("message", "").split())[:300]
        elif case.find("skipped") is not None:
            row["skipped"] += 1
        else:
            row["passed"] += 1
    return row


def page(known: dict[str, dict], results: dict[str, dict]) -> str:
    lines, failures = [ABOUT.format(date=date.today())], []
    for name, suite in known.items():
        library = suite["source"].split()[0].replace("==", " ")
        for file in suite["files"]:
            row, short = results.get(f"{name}/{file['path']}", {"unable": "not run"}), Path(file["path"]).name
            if "unable" in row:
                lines.append(f"| {library} | {short} | {row['unable']} | | | | | | |")
                continue
            found = sum(bool(FINDING.match(message)) for message in row["failed"].values())
            counts = row["passed"], len(row["failed"]), found, row["skipped"], row["left_out"]
            cells = " | ".join(map(str, [*counts, row["launches"], row["seconds"]]))
            lines.append(f"| {library} | {short} | {cells} |")
            failures += [f"- {library}, {short}: {text}" for text in reasons(row["failed"], file.get("why", {}))]
    return "\n".join([*lines, "", "## Failed, and why", "", *failures, "", REPOSITORIES.read_text(encoding="utf-8")])


def reasons(failed: dict[str, str], why: dict[str, str]) -> list[str]:
    """A sentence for each reason that reading gave, with how many tests it is for; the message where none was read."""
    found: dict[str, list[str]] = {}
    for test, message in failed.items():
        reason = next((text for part, text in why.items() if part in test), f"not read: {message[:200]}")
        found.setdefault(reason, []).append(test.partition("[")[0])
    return [f"{len(tests)} of {', '.join(sorted(set(tests)))}: {reason}" for reason, tests in found.items()]


def main(names: list[str]) -> int:
    known = suites()
    results = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.is_file() else {}
    for name, suite in known.items():
        chosen = [
            file for file in suite["files"] if not names or {name, f"{name}/{Path(file['path']).name}"} & {*names}
        ]
        if not chosen:
            continue
        with tempfile.TemporaryDirectory(prefix="suite-") as folder:
            why = fetched(suite, Path(folder))
            for file in chosen:
                key = f"{name}/{file['path']}"
                print(key, file=sys.stderr, flush=True)
                if why and key in results:
                    print(f"  as before, not run: {why}", file=sys.stderr)
                    continue
                results[key] = {"unable": f"not run: {why}"} if why else run(Path(folder), file)
                KEPT.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    (HERE / "suites.md").write_text(page(known, results), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
