"""184 strangers' Triton programs, 24 of them labelled as wrong by hand, put to checkers.

    python research/checkers/tritonbench.py FOLDER [--checker NAME] [--seeds 1 2 3] [--only NAME] [--again]

FOLDER: a checkout of github.com/thunlp/TritonBench at commit 603e28a (`git clone`, then `git checkout 603e28a`); its
files are not ours to copy. Labels: issue 12 there, "Memory corruption bugs in Triton kernels", of 26 August 2026.
Checkers: graded-kernels; interpreter, Triton's own; triton-viz, in the folder that --triton-viz names and beside this
environment's torch and triton (`pip install --no-deps --target THAT triton-viz==3.0 anytree blinker cairocffi cffi
click flask flask_cloudflared itsdangerous pyarrow pycparser tqdm werkzeug z3-solver`); compute-sanitizer, NVIDIA's
memcheck, which needs a GPU and gets each tensor in memory of its own. What has been run is in tritonbench.json beside
this file and is not run again without --again; tritonbench.md is made from it. Without FOLDER: not run.
"""

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path

from tritonbench_table import page

FILES = "data/TritonBench_G_v1"
HERE = Path(__file__).resolve().parent
RECORDED = HERE / "tritonbench.json"
CHECKERS = ("graded-kernels", "interpreter", "triton-viz", "compute-sanitizer")
ENDINGS = {0: "clean", 1: "found", 2: "not judged", 3: "program failed"}
CRASHES = {-4: "SIGILL", -6: "SIGABRT", -7: "SIGBUS", -8: "SIGFPE", -11: "SIGSEGV"}


def judged(checker: str, seed: int, file: Path, seconds: int, viz: Path | None) -> dict:
    """What one checker says of one program: how it ended, the findings, the reason where it is neither, seconds."""
    program = [str(HERE / "program.py"), "none" if checker == CHECKERS[0] else checker, str(seed), str(file)]
    if checker == CHECKERS[0]:
        program = ["-m", "graded_kernels.autograder", "sanitize", "--json", *program]
    command = [sys.executable, *program]
    if checker == "compute-sanitizer":
        command = [checker, "--tool", "memcheck", "--print-limit", "1", *command]
    paths = [str(viz)] if viz and checker == "triton-viz" else []
    paths += filter(None, [os.environ.get("PYTHONPATH")])

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))

    with (
        tempfile.TemporaryDirectory() as folder,
        open(f"{folder}/out", "w+b") as out,
        open(f"{folder}/err", "w+b") as err,
    ):
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            preexec_fn=limited,
            cwd=folder,
            env=os.environ
            | {"PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1", "PYTORCH_NO_CUDA_MEMORY_CACHING": "1"},
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read().decode(errors="replace"))
    cpu = round(used.ru_utime + used.ru_stime, 1)
    row = {
        "file": file.stem,
        "checker": checker,
        "seed": seed,
        "ending": "",
        "kinds": [],
        "at": "",
        "why": "",
        "cpu": cpu,
        "date": str(date.today()),
    }
    tell = _of_report if checker == CHECKERS[0] else _of_process
    return row | tell(process.returncode, *texts, seconds)


def _of_report(code: int, out: str, err: str, seconds: int) -> dict:
    """The columns of a row by `graded-kernels sanitize --json`."""
    try:
        told = json.loads(out)
    except json.JSONDecodeError:
        return {"ending": "no report", "why": err[-200:]}
    ending = ENDINGS.get(told["status"], "interrupted")
    if not told["findings"] and re.search(r"signal (9|24)\b", told["failed"] or ""):
        return {"ending": f"over {seconds} s of processor"}
    why = (told["not_judged"] or [{}])[0].get("message") or told["failed"] or told["unusable"] or ""
    if told["status"] == 2 and not why:
        why = "launched no kernel"
    at = [_place(one) for one in told["findings"]]
    kinds = sorted({one["kind"] for one in told["findings"]})
    return {"ending": ending, "kinds": kinds, "why": _short(why), "at": "; ".join(at)}


def _place(one: dict) -> str:
    element = f" {one['tensor']} {one['offset']}" if one["tensor"] else ""
    return f"{one['kind']} line {one['line']}{element}"


def _of_process(code: int, out: str, err: str, seconds: int) -> dict:
    """The columns of a row by a checker that prints what it finds, or that finds by dying."""
    if code in (-9, -24):
        return {"ending": f"over {seconds} s of processor"}
    if (shown := re.sub(r"\x1b\[[0-9;]*m", "", out)).count("ILLEGAL MEMORY ACCESS DETECTED"):
        line, name = re.search(r"Line (\d+)", shown), re.search(r"arg: +(\w+)", shown)
        at = f"out-of-bounds line {line[1] if line else '?'} {name[1] if name else ''}".strip()
        return {"ending": "found", "kinds": ["out-of-bounds"], "at": at}
    if re.search(r"=+ +(Invalid __\w+__ (?:read|write|atomic).*)", out):
        kernel = re.search(r"=+ +at (\w+)\S*.*?(?:in (\S+\.py):(\d+))?$", out, re.MULTILINE)
        where = f" line {kernel[3]}" if kernel and kernel[3] else f" {kernel[1]}" if kernel else ""
        return {"ending": "found", "kinds": ["out-of-bounds"], "at": f"out-of-bounds{where}"}
    if code in CRASHES:
        return {"ending": "found", "kinds": ["crash"], "at": CRASHES[code]}
    if code == 0:
        return {"ending": "clean"}
    last = err.strip().splitlines() or [f"status {code}"]
    return {"ending": "program failed", "why": _short(last[-1])}


def _short(text: str) -> str:
    return re.sub(r"/\S*/", "", " ".join(text.split()))[:160]


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("folder", nargs="?", type=Path)
    options.add_argument("--checker", choices=CHECKERS, default=CHECKERS[0])
    options.add_argument("--triton-viz", type=Path)
    options.add_argument("--seeds", type=int, nargs="+", default=[1])
    options.add_argument("--jobs", type=int, default=1)
    options.add_argument("--seconds", type=int, default=40)
    options.add_argument("--only", default="")
    options.add_argument("--again", action="store_true")
    chosen = options.parse_args()
    if chosen.folder is None or not (chosen.folder / FILES).is_dir():
        print(f"not run: no {FILES} here. Clone github.com/thunlp/TritonBench, check out 603e28a, and name the folder.")
        return 0
    recorded = json.loads(RECORDED.read_text()) if RECORDED.is_file() else []
    rows = {(row["file"], row["checker"], row["seed"]): row for row in recorded}
    files = sorted(file for file in (chosen.folder / FILES).glob("*.py") if chosen.only in file.stem)
    wanted = [(file, seed) for seed in chosen.seeds for file in files]
    if not chosen.again:
        wanted = [(file, seed) for file, seed in wanted if (file.stem, chosen.checker, seed) not in rows]

    def run(one: tuple[Path, int]) -> dict:
        return judged(chosen.checker, one[1], one[0].resolve(), chosen.seconds, chosen.triton_viz)

    with ThreadPoolExecutor(chosen.jobs) as pool:
        for row in pool.map(run, wanted):
            rows[row["file"], row["checker"], row["seed"]] = row
            print(
                row["file"],
                row["seed"],
                row["ending"],
                row["at"] or row["why"],
                row["cpu"],
                file=sys.stderr,
                flush=True,
            )
            ordered = [rows[key] for key in sorted(rows)]
            RECORDED.write_text("[\n" + ",\n".join(map(json.dumps, ordered)) + "\n]\n", encoding="utf-8")
    (HERE / "tritonbench.md").write_text(page(list(rows.values())), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
