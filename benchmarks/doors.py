"""What each door of the project takes before and beside its work, as processor time and by the clock.

    python benchmarks/doors.py [--rounds N] [--only WORD]

The commands take turns (A, B, A, B), so that a busy machine slows all alike. A row's ratio is to the row it names.
Bytecode is written and read as for any user: PYTHONDONTWRITEBYTECODE is unset.
"""

import argparse
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from stopwatch import Stopwatch

ROOT = Path(__file__).parent.parent
BIN = Path(sys.executable).parent
CHECK = f"{BIN}/graded-kernels check silu_backward"
IMPORTS = "import torch and triton"
SUITE = "import pytest\n\n\n@pytest.mark.parametrize('i', range(300))\ndef test_it(i):\n    assert i * 2 == i + i\n"
REFERENCE = (
    "import torch\n\n\ndef reference(x):\n    return x.abs()\n\n\ndef example():\n    return (torch.randn(5, 7),)\n"
)
CANDIDATE = "import torch\n\n\ndef mine(x):\n    return torch.where(x < 0, -x, x) + {}\n"
SIDES = '"reference": "reference.py:reference", "candidate": "mine_{0}.py:mine", "arguments": "reference.py:example"'
JOB = f'{{{{"id": {{0}}, {SIDES}}}}}\n'


def commands() -> dict[str, tuple[str, str]]:
    """A row's command, and the row that it is compared with."""
    silu, norm = f"{ROOT}/kernels/silu.py --root {ROOT}", f"{ROOT}/kernels/layer_norm.py --root {ROOT}"
    table = f"{BIN}/graded-kernels compare --table jobs.jsonl --output verdicts.jsonl"
    return {
        IMPORTS: (f"{sys.executable} -c 'import torch, triton'", ""),
        "graded-kernels --help": (f"{BIN}/graded-kernels --help", IMPORTS),
        "check, Triton": (f"{CHECK} {silu}", IMPORTS),
        "check, PyTorch": (f"{CHECK} {ROOT}/solutions/silu.py", IMPORTS),
        "check, in process": (f"{CHECK} {silu} --in-process", IMPORTS),
        "check, layer_norm_backward": (f"{BIN}/graded-kernels check layer_norm_backward {norm}", IMPORTS),
        "check of four files": (f"{CHECK} a.py b.py c.py d.py", "check, PyTorch"),
        "300 tests without kernels": (f"{BIN}/pytest -q -p no:cacheprovider suite.py", ""),
        "the same, --sanitize-kernels": (
            f"{BIN}/pytest -q -p no:cacheprovider --sanitize-kernels suite.py",
            "300 tests without kernels",
        ),
        "compare --table, four jobs": (f"{table} --jobs 1", IMPORTS),
        "the same, --jobs 2": (f"{table} --jobs 2", "compare --table, four jobs"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--only", default="", help="rows that have this in their names, and those they are compared with"
    )
    options = parser.parse_args()
    rows = commands()
    chosen = [row for row in rows if options.only in row]
    chosen += [other for row in chosen if (other := rows[row][1]) and other not in chosen]
    found: dict[str, list[tuple[float, float]]] = {row: [] for row in rows if row in chosen}
    with tempfile.TemporaryDirectory(prefix="graded-kernels-") as folder:
        fill(Path(folder))
        for _ in range(options.rounds):
            for row in found:
                found[row].append(timed(rows[row][0], folder))
    print("| command | processor, s | by the clock, s | times | each round |\n|---|---|---|---|---|")
    for row, times in found.items():
        busy, clock = (statistics.median(one) for one in zip(*times, strict=True))
        beside = rows[row][1]
        ratio = f"{busy / statistics.median(one for one, _ in found[beside]):.2f} of {beside}" if beside else ""
        each = ", ".join(f"{one:.2f}" for one, _ in times)
        print(f"| {row} | {busy:.2f} | {clock:.1f} | {ratio} | {each} |")
    print(f"load {os.getloadavg()[0]:.0f}")


def fill(folder: Path) -> None:
    """What the commands read."""
    (folder / "suite.py").write_text(SUITE)
    (folder / "reference.py").write_text(REFERENCE)
    for number, name in enumerate("abcd"):
        answer = (ROOT / "solutions" / "silu.py").read_text()
        (folder / f"{name}.py").write_text(f"{answer}\n# {name}\n")
        (folder / f"mine_{number}.py").write_text(CANDIDATE.format(number))
    (folder / "jobs.jsonl").write_text("".join(JOB.format(number) for number in range(4)))


def timed(command: str, folder: str) -> tuple[float, float]:
    """Seconds of processor and by the clock. Raises SystemExit with what the command said where it is used wrongly."""
    environment = {name: v for name, v in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["OMP_NUM_THREADS"] = "1"
    (Path(folder) / "verdicts.jsonl").unlink(missing_ok=True)
    watch, began = Stopwatch(), time.perf_counter()
    done = subprocess.run(
        shlex.split(command), cwd=folder, env=environment, preexec_fn=watch.join, capture_output=True, text=True
    )
    clock = time.perf_counter() - began
    if done.returncode not in (0, 1):
        raise SystemExit(f"{command}\n{done.stdout}{done.stderr}")
    watch.wait()
    busy = watch.read()
    watch.close()
    return busy, clock


if __name__ == "__main__":
    main()
