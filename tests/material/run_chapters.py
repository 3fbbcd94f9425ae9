"""The chapters with their answers, run as notebooks where this Python is: ``python run_chapters.py [NAME ...]``.

For an environment that has other versions than the project's pins, or no Triton: it needs the installed package,
nbclient and ipykernel. A line for each chapter; the exit status is 0 where no cell raised and every check passed.
Without Triton a check of Triton code says where it runs, and does not count.
"""

import importlib.util
import sys
import tempfile
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from nbclient.exceptions import CellExecutionError
from notebook_kernel import ESCAPES, execute

SOURCES = Path(__file__).resolve().parents[2] / "course" / "source"
PACKAGES = ("graded-kernels", "torch", "triton", "numpy", "matplotlib", "IPython", "ipykernel")


def run(name: str) -> tuple[bool, str]:
    """Whether a chapter ran and its checks passed, and what to say of it."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            reports, _ = execute(SOURCES / name / f"{name}.ipynb", Path(folder))
        except CellExecutionError as error:
            return False, f"a cell raised: {ESCAPES.sub('', str(error)).strip().splitlines()[-1]}"
    if importlib.util.find_spec("triton") is None:
        reports = [report for report in reports if report["backend"] != "triton"]
    wrong = [
        f"{report['exercise']} ({report['backend']}): {report['summary']}" for report in reports if not report["passed"]
    ]
    return not wrong, "; ".join(wrong) or f"{len(reports)} checks passed"


def main(names: list[str]) -> int:
    versions = []
    for package in PACKAGES:
        try:
            versions.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            versions.append(f"no {package}")
    print(", ".join([f"Python {sys.version.split()[0]}", *versions]), flush=True)
    right = True
    for name in names or sorted(path.name for path in SOURCES.iterdir()):
        begun = time.monotonic()
        passed, said = run(name)
        right = right and passed
        print(f"{name}: {said} ({time.monotonic() - begun:.0f} s)", flush=True)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
