"""Others' tests and programs in the emulator: ``python research/audit/suites.py [--triton VERSION] [NAME[/FILE] ...]``.

suites.toml names them: released source by version and hash or a repository by commit, what it imports beside this
environment's PyTorch, and which files run. Tests run under ``pytest --sanitize-kernels``, programs under
``graded-kernels sanitize``, a file at a time, in a folder that is thrown away. Another Triton than the environment's
is one that pins.txt has, put before it on the path. A file that has used its processor time is interrupted, and its row
has what had ended. Rows are kept in suites.json by file and version as they come; those that are named are made anew,
without a name those that are missing; suites_page.py makes suites.md from them. Needs psutil.
"""

import argparse
import json
import os
import re
import resource
import signal
import sys
import tempfile
import time
import tomllib
from datetime import date
from pathlib import Path
from xml.etree import ElementTree

import psutil
import triton
from fetching import checkout, install, lines_of, unpack
from suites_page import page

HERE = Path(__file__).resolve().parent
KEPT = HERE / "suites.json"
SECONDS = 45  # of processor time a file, where suites.toml has no other
AFTER = 30  # what an interrupted file may use to say what had ended


def suites() -> dict[str, dict]:
    return tomllib.loads((HERE / "suites.toml").read_text(encoding="utf-8"))


def put_before(version: str, folder: Path) -> str:
    """Fills a folder with a version of Triton; it stays empty for the environment's. "", or why that failed."""
    folder.mkdir()
    if version == triton.__version__:
        return ""
    line = next((line for line in lines_of(["triton"]) if line.startswith(f"triton=={version} ")), "")
    return install([line], folder) if line else f"pins.txt has no hash of Triton {version}"


def fetched(suite: dict, folder: Path) -> str:
    """Unpacks source into ``unpacked``, beside the packages that it needs in ``needs``. "", or why that failed."""
    for name in ("packed", "needs"):
        (folder / name).mkdir()
    if "commit" in suite:
        address = f"https://github.com/{suite['repository']}"
        why = checkout(address, suite["commit"], suite["folders"], folder / "unpacked")
    else:
        why = unpack(suite["source"], folder / "packed", folder / "unpacked")
    return why or (install(lines_of(suite["needs"]), folder / "needs") if suite["needs"] else "")


def run(folder: Path, suite: dict, file: dict) -> dict:
    """The row of one file: of tests, or a program that ran."""
    edit(folder / "unpacked" / file["path"], file.get("edits", {}))
    parts = folder / "triton", folder / "unpacked" / suite.get("on_path", ""), folder / "needs"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, parts)), "OMP_NUM_THREADS": "1"}
    environment["HOME"] = str(folder)  # FlagGems keeps there which configuration of an autotuner it chose
    told = folder / "junit.xml"
    told.unlink(missing_ok=True)
    command = sanitize(file) if suite.get("programs") else pytest(file, told)
    status, seconds, whole = limited(command, file.get("seconds", SECONDS), folder, environment)
    output = (folder / "stdout").read_text(encoding="utf-8", errors="replace")
    if suite.get("programs"):
        row = read_program(status, output)
    elif told.is_file():
        row = read(told) | counted(output)
    else:
        said = (output + (folder / "stderr").read_text(errors="replace")).strip().splitlines() or ["nothing"]
        row = {"unable": f"pytest ended with `{said[-1][-200:]}`"}
    return row | {"cut_off": not whole, "seconds": round(seconds), "date": str(date.today())}


def edit(path: Path, edits: dict[str, str]) -> None:
    """Changes numbers in a program. Raises ValueError where a text is not there."""
    text = path.read_text(encoding="utf-8")
    for before, after in edits.items():
        if before not in text:
            raise ValueError(f"{path.name} has no `{before}`, which suites.toml changes")
        text = text.replace(before, after)
    path.write_text(text, encoding="utf-8")


def sanitize(file: dict) -> list[str]:
    command = [sys.executable, "-m", "graded_kernels.autograder", "sanitize", "--json"]
    return [*command, *file.get("choose", ()), file["path"], *file.get("arguments", ())]


def pytest(file: dict, told: Path) -> list[str]:
    flags = [
        "--sanitize-kernels",
        "--color=no",
        "--verbosity=0",
        "-p",
        "no:cacheprovider",
        "-o",
        "log_cli=false",
        "--tb=line",
    ]
    return [sys.executable, "-m", "pytest", *flags, f"--junitxml={told}", *file.get("choose", ()), file["path"]]


def limited(command: list[str], limit: float, folder: Path, environment: dict) -> tuple[int, float, bool]:
    """Runs a command in ``unpacked``, with its output in the files ``stdout`` and ``stderr`` beside it, and interrupts
    it when it has used its processor time (s). Its status, what it used, and whether it ended by itself.
    """
    whole, before = True, ended()
    with (folder / "stdout").open("w") as output, (folder / "stderr").open("w") as errors:
        child = psutil.Popen(command, cwd=folder / "unpacked", env=environment, stdout=output, stderr=errors)
        while child.poll() is None:
            time.sleep(0.2)
            used = processor(child)
            if used > limit + AFTER:
                child.kill()
            elif used > limit and whole:
                whole = False
                child.send_signal(signal.SIGINT)
    return child.returncode, ended() - before, whole


def ended() -> float:
    """Processor time of this process's children that have ended (s)."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def processor(child: psutil.Process) -> float:
    """Processor time that a process and those below it have used so far (s)."""
    try:
        return sum(sum(one.cpu_times()[:4]) for one in (child, *child.children(recursive=True)))
    except psutil.NoSuchProcess:  # one ended meanwhile
        return 0.0


def read(told: Path) -> dict:
    """What pytest's junit file says: each failure's first lines by test, without its folder's name, and how many tests
    were skipped.
    """
    row: dict = {"skipped": 0, "failed": {}}
    for case in ElementTree.parse(told).iter("testcase"):
        problem = next((part for part in case if part.tag in ("failure", "error")), None)
        if problem is not None:
            message = problem.get("message", "").replace(f"{told.parent}/", "")
            row["failed"][case.get("name")] = " ".join(message.split())[:300]
        elif case.find("skipped") is not None:
            row["skipped"] += 1
    return row


def read_program(status: int, told: str) -> dict:
    """The row of a program, from what `sanitize --json` printed."""
    try:
        data = json.loads(told)
    except ValueError:
        return {"unable": "not run: sanitize printed no JSON"}
    parts = "kind", "kernel", "tensor", "line"
    findings = [{part: one[part] for part in parts} for one in [*data["findings"], *data["not_judged"]]]
    return {"status": status, "launches": data["launches"], "failed": data["failed"], "findings": findings}


def counted(output: str) -> dict:
    """What pytest printed of tests that were chosen and left out, of launches, and of tests that passed: the junit file
    has the one that was interrupted among these.
    """
    collected = re.search(r"collected (\d+) items?(?: / \d+ errors?)?(?: / (\d+) deselected)?", output)
    launches = re.search(r"^([\d,]+) kernels?, ([\d,]+) launch", output, re.MULTILINE)
    passed = re.search(r"^=.* (\d+) passed.* in .*=$", output, re.MULTILINE)
    every, left_out = (int(number or 0) for number in collected.groups()) if collected else (0, 0)
    kernels, launched = (int(number.replace(",", "")) for number in launches.groups()) if launches else (0, 0)
    counts = {"passed": int(passed[1]) if passed else 0, "chosen": every - left_out, "left_out": left_out}
    return counts | {"kernels": kernels, "launches": launched}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Others' tests and programs in the emulator.")
    parser.add_argument("--triton", metavar="VERSION", default=triton.__version__, help="one of pins.txt")
    parser.add_argument("names", nargs="*", metavar="NAME[/FILE]", help="made anew; without, what is missing is run")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job, and its children, ignore it
    known, results = suites(), json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.is_file() else {}
    for name, suite in known.items():
        files = [file for file in suite["files"] if chosen(name, file, options, results)]
        if files:
            with tempfile.TemporaryDirectory(prefix="suite-") as folder:
                fill(results, name, suite, files, options.triton, Path(folder))
    (HERE / "suites.md").write_text(page(known, results), encoding="utf-8")
    return 0


def chosen(name: str, file: dict, options: argparse.Namespace, results: dict[str, dict]) -> bool:
    if options.names:
        return bool({name, f"{name}/{Path(file['path']).name}"} & {*options.names})
    return "date" not in results.get(f"{name}/{file['path']}", {}).get(options.triton, {})


def fill(results: dict[str, dict], name: str, suite: dict, files: list[dict], version: str, folder: Path) -> None:
    """Runs files of a suite with a version of Triton, each of which is a row. What cannot be fetched leaves a row."""
    why = put_before(version, folder / "triton") or fetched(suite, folder)
    for file in files:
        key = f"{name}/{file['path']}"
        rows = results.setdefault(key, {})
        print(f"{key}, Triton {version}", file=sys.stderr, flush=True)
        if why and version in rows:
            print(f"  as before, not run: {why}", file=sys.stderr)
            continue
        rows[version] = {"unable": why} if why else run(folder, suite, file)
        KEPT.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
