"""Makes ``.venv`` with the pins of requirements.txt. Standard library only; every failure is one line that helps."""

import platform
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"


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
    if not (VENV / "bin" / "pip").exists():  # also where making it was interrupted
        print("Setting up .venv: about 2 GB arrive. Ctrl-C stops it; the same command goes on from there.", flush=True)
        print("Step 1 of 3: an empty environment ...", flush=True)
        run(
            [sys.executable, "-m", "venv", str(VENV)],
            "the virtual environment could not be made.",
            f"Remove {VENV} and try again.",
        )
    print("Step 2 of 3: PyTorch, Triton, JupyterLab, nbgrader; the first time it takes minutes ...", flush=True)
    if platform.system() == "Darwin":
        print("  Triton has packages for Linux alone: book/where.md says what runs without it.", flush=True)
    pip = [str(python), "-m", "pip", "install", "--disable-pip-version-check"]
    if not sys.stdout.isatty():  # a person sees pip's progress bars, a log only what went wrong
        pip.append("--quiet")
    fix = (
        "Is there a network? Behind a proxy set https_proxy, and PIP_CERT to its certificate; for a mirror\n"
        "  PIP_INDEX_URL. Then run make again.\n"
        f"  Has Python {platform.python_version()} no packages yet? Then: make clean, make PYTHON=python3.12 ..."
    )
    run([*pip, "-r", str(ROOT / "requirements.txt")], "pip could not install the pins (its message is above).", fix)
    print("Step 3 of 3: this project ...", flush=True)
    # Older builds left metadata here, which hides the entry points of newer ones from `python -m`, run in this folder.
    shutil.rmtree(ROOT / "graded_kernels.egg-info", ignore_errors=True)
    run([*pip, "--no-deps", "--editable", str(ROOT)], "pip could not install this package (its message is above).", fix)
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


def run(command: list[str], problem: str, fix: str):
    if subprocess.run(command).returncode:
        stop(problem, fix)


if __name__ == "__main__":
    main()
