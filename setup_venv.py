"""Makes ``.venv`` with the pins of requirements.txt. Standard library only; every failure is one line that helps."""

import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
LARGE = 5.0  # MB of a file that is worth a line


def stop(problem: str, fix: str):
    sys.exit(f"\nCannot set up: {problem}\n  {fix}")


def main():
    if sys.version_info < (3, 11):  # noqa: UP036  a fresh machine's python3 may be older than what we ask for
        stop(
            f"Python {platform.python_version()} is too old.",
            "Install Python 3.11 or newer, then: make PYTHON=python3.11 ...",
        )
    if platform.system() not in ("Linux", "Darwin"):
        stop(f"the course is not made for {platform.system()}.", "Use Linux, WSL2 on Windows, or a Linux container.")
    try:
        import ensurepip  # noqa: F401
    except ModuleNotFoundError:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        stop("this Python has no venv.", f"Debian and Ubuntu: sudo apt install python{version}-venv")
    python = VENV / "bin" / "python"
    pip = [str(python), "-m", "pip", "install", "--disable-pip-version-check"]
    fix = (
        "Is there a network? Behind a proxy set https_proxy, and PIP_CERT to its certificate; for a mirror\n"
        "  PIP_INDEX_URL. Then run make again.\n"
        f"  Has Python {platform.python_version()} no packages yet? Then: make clean, make PYTHON=python3.12 ..."
    )
    if not (VENV / "bin" / "pip").exists():  # also where making it was interrupted
        print("Setting up .venv: about 2 GB arrive. Ctrl-C stops it; the same command goes on from there.", flush=True)
        print("Step 1 of 3: an empty environment ...", flush=True)
        run(
            [sys.executable, "-m", "venv", str(VENV)],
            "the virtual environment could not be made.",
            f"Remove {VENV} and try again.",
        )
        # Python's own pip may be silent for minutes while it unpacks; a newer one draws a bar there, too.
        run([*pip, "--quiet", "--upgrade", "pip"], "pip could not be brought up to date (its message is above).", fix)
    print("Step 2 of 3: PyTorch, Triton, JupyterLab, nbgrader; the first time it takes minutes ...", flush=True)
    if platform.system() == "Darwin":
        print("  Triton has packages for Linux alone: book/where.md says what runs without it.", flush=True)
    arrive([*pip, "-r", str(ROOT / "requirements.txt")], "pip could not install the pins (its message is above).", fix)
    print("Step 3 of 3: this project ...", flush=True)
    # Older builds left metadata here, which hides the entry points of newer ones from `python -m`, run in this folder.
    shutil.rmtree(ROOT / "graded_kernels.egg-info", ignore_errors=True)
    editable = [*pip, "--quiet", "--no-deps", "--editable", str(ROOT)]
    quietly(editable, "pip could not install this package (its message is above).", fix)
    first_cell = [str(python), "-m", "graded_kernels.course.first_cell"]
    run(first_cell, "the kernels of .venv could not be configured (the reason is above).", "Is the disk full?")
    link_package(VENV)


def link_package(environment: Path):
    """The package under its name, for mypy, which does not follow an editable install whose folder has another name."""
    folder = environment / "types"
    folder.mkdir(exist_ok=True)
    link = folder / "graded_kernels"
    link.unlink(missing_ok=True)
    link.symlink_to(Path("..", ".."))


def arrive(command: list[str], problem: str, fix: str):
    """Runs a pip that takes minutes. A terminal shows its bars; where there is none, lines tell how far it is."""
    if sys.stdout.isatty():
        run(command, problem, fix)
        return
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace") as process:
        for line in told(process.stdout or ()):
            print(f"  {line}", flush=True)
    if process.returncode:
        stop(problem, fix)


def told(output: Iterable[str]) -> Iterator[str]:
    """What a log needs of pip's output: the large files that arrive, with the sum so far, and when it unpacks them."""
    megabytes = 0.0
    for line in output:
        if found := re.search(r"Downloading (?:\S*/)?([^-/\s]+)-\S+ \(([\d.]+) (kB|MB|GB)\)", line):
            name, size = found[1], float(found[2]) * {"kB": 0.001, "MB": 1, "GB": 1000}[found[3]]
            megabytes += size
            if size >= LARGE:
                yield f"{name}, {size:.0f} MB ({megabytes:.0f} MB so far)"
        elif line.startswith("Installing collected packages:"):
            yield f"unpacking {line.count(',') + 1} packages; that takes a minute or two"


def run(command: list[str], problem: str, fix: str):
    if subprocess.run(command).returncode:
        stop(problem, fix)


def quietly(command: list[str], problem: str, fix: str):
    """Runs what is worth a line only where it fails: pip passes on setuptools' pages about folders of data."""
    ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    if ran.returncode:
        print(ran.stdout, flush=True)
        stop(problem, fix)


if __name__ == "__main__":
    main()
