"""A piece of the plan: the planted bugs (tests/material/planted) on the device, under compute-sanitizer, emulated."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tests" / "material" / "planted"
MODULES = ("out_of_bounds", "races", "refused", "values")
TOOLS = ("memcheck", "initcheck", "racecheck")
TOGETHER, LONGEST = min(8, os.cpu_count() or 1), 120  # processes at once; seconds for one of them
SUMMARY = re.compile(r"^========= (?:ERROR SUMMARY: (\d+) error|RACECHECK SUMMARY: (\d+) hazard)", re.MULTILINE)
FIRST = re.compile(
    r"^========= ((?:Error: |Warning: )?(?:Invalid|Uninitialized|Race|Potential|Program hit|Misaligned).*)",
    re.MULTILINE,
)


def bugs_of(module: str) -> dict[str, str]:
    """The titles of a module's bugs by name, read from its source: it imports Triton."""
    functions = ast.parse((FOLDER / f"{module}.py").read_text(encoding="utf-8")).body
    marked = [f for f in functions if isinstance(f, ast.FunctionDef) and f.decorator_list]
    return {function.name: ast.get_docstring(function) for function in marked}


def planted(module: str, simulated: bool) -> dict:
    """For each bug: ``device``, ``emulator``, and a word of each of `TOOLS`; ``missing``: why there is none of them."""
    names, tool = [*bugs_of(module)], sanitizer()
    found = {name: {"emulator": told} for name, told in said(names, "emulator").items()}
    with ThreadPoolExecutor(TOGETHER) as pool:
        if simulated:
            devices = said(names, "simulated")
        else:  # a bug that ends its process ends no other's
            devices = dict(zip(names, pool.map(lambda name: said([name], "device")[name], names), strict=True))
        for name in names:
            found[name]["device"] = devices[name]
        if tool:
            view = "simulated" if simulated else "device"
            asked = [(name, check) for name in names for check in TOOLS]
            for (name, check), told in zip(
                asked, pool.map(lambda one: sanitized(tool, *one, view), asked), strict=True
            ):
                found[name][check] = told
    return {"bugs": found, "missing": "" if tool else "compute-sanitizer is not installed"}


def sanitizer() -> str | None:
    """Where compute-sanitizer is."""
    usual = os.pathsep.join((os.environ.get("PATH", ""), "/usr/local/cuda/bin", "/opt/cuda/bin"))
    return shutil.which("compute-sanitizer", path=usual)


def said(names: list[str], view: str) -> dict[str, str]:
    """The word on each bug, of one process; on a bug at which it ends, and those behind it, how it ended."""
    ended = run([sys.executable, "-m", "benchmarks.gpu.bug", view, *names], view)
    lines = [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("{")]
    words = {line["bug"]: line["word"] for line in lines}
    how = f"ends the process with {last_line(ended)}"
    return {name: words.get(name, how) for name in names}


def sanitized(tool: str, name: str, check: str, view: str) -> str:
    """What compute-sanitizer's ``check`` says of a bug: its first complaint, or "nothing"."""
    command = [tool, "--tool", check, "--print-limit", "1", sys.executable, "-m", "benchmarks.gpu.bug", view, name]
    ended = run(command, view)
    summary = SUMMARY.search(ended.stdout)
    if summary is None:
        return f"does not end: {last_line(ended)}"
    count = int(summary[1] or summary[2])
    first = FIRST.search(ended.stdout)
    return f"{first[1] if first else 'an error'} ({count})" if count else "nothing"


def run(command: list[str], view: str) -> subprocess.CompletedProcess:
    """Without the caching allocator, since a pool hides where a tensor ends."""
    environment = {**os.environ, "PYTHONPATH": str(FOLDER.parent), "PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
    environment |= (
        {"TRITON_INTERPRET": "0"} if view == "device" else {"TRITON_INTERPRET": "1", "CUDA_VISIBLE_DEVICES": ""}
    )
    try:
        return subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, errors="replace", timeout=LONGEST
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 1, "", f"no end after {LONGEST} s")


def last_line(ended: subprocess.CompletedProcess) -> str:
    if ended.returncode < 0:
        return f"signal {-ended.returncode}"
    return next(reversed(ended.stderr.strip().splitlines()), f"status {ended.returncode}")
