"""``graded-kernels doctor``: what this machine has, what will run on it, and how to fix what will not.

Imports nothing but the standard library and `packaging`. Where PyTorch or NumPy cannot be imported, neither can the
package; ``python -P autograder/runner/doctor/doctor.py`` runs there, too.
"""

import contextlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

PYTHON = (3, 11)
ONE_KERNEL = Path(__file__).with_name("one_kernel.py")
TORCH = "import torch; print(torch.cuda.get_device_name() if torch.cuda.is_available() else '')"
SANDBOX = "from graded_kernels.autograder.runner.sandbox import probe; print(probe())"
SECONDS = 120  # a first import of torch on a busy machine takes many
REINSTALL = "reinstall PyTorch and Triton: remove .venv, then run `make lab`"
STRONGER = "install bubblewrap (apt install bubblewrap), use Linux 5.13 or later, or grade in a virtual machine"
PRIVATE = (
    *("submitted", "autograded", "feedback", "source", "gradebook.db"),
    *("hidden_cases", "class_secret", "teacher_config.py", "verdicts", "reports", "appeals"),
)
ELSEWHERE = "kernels run on Linux, in WSL2, in the course's container and in Colab"


@dataclass(frozen=True)
class Diagnosis:
    """Holds what was found about one thing. state: ``ok``; ``absent``, which is fine; ``problem``, which ``fix``
    solves.
    """

    name: str
    state: str
    message: str
    fix: str = ""


def main() -> int:
    """Prints the findings and what will run here; returns 1 where answers cannot be checked, else 0."""
    findings = {finding.name: finding for finding in examine()}
    for finding in findings.values():
        if finding.state == "ok" and not any(finding.name in needs for needs in ABILITIES.values()):
            continue  # the rest fits one screen
        print(f"{finding.state:8} {finding.message}")
        if finding.fix:
            print(f"{'':8} fix: {finding.fix}")
    print("\nWhat will run here")
    abilities = what_runs(findings)
    for ability, missing in abilities.items():
        print(f"{'no' if missing else 'yes':8} {ability}{': needs ' if missing else ''}{', '.join(missing)}")
    checks = not any(abilities[ability] for ability in CHECKING)
    if checks and not abilities[CHAPTERS]:
        print("\nThe course can be used.")
    elif not abilities[CHAPTERS] and findings.get("triton", findings["Python"]).state == "absent":
        print("\nThe course can be used: all that is written with PyTorch.")
    elif checks and COURSE in findings:
        print("\nKernels can be checked. The course is not installed.")
    else:
        print("\nThe course cannot be used yet: fix what is marked problem.")
        return 1
    return 0


# What can be done here, and the findings it depends on.
ABILITIES = {
    "read and run the chapters": ("Python", "torch", "numpy", "matplotlib", "jupyterlab"),
    "check PyTorch answers": ("Python", "torch", "numpy"),
    "check Triton answers": ("Python", "torch", "numpy", "triton", "interpreter"),
    "report what the compiler makes of a kernel": ("Python", "torch", "triton", "compiler"),
    "check Triton answers on a GPU": ("Python", "torch", "triton", "GPU"),
    "grade a class with nbgrader": ("Python", "torch", "triton", "interpreter", "isolation")
    + ("jupyterlab", "nbgrader", "jupytext", "bleach"),
}
CHAPTERS, *CHECKING = tuple(ABILITIES)[:3]
COURSE = "course"  # the finding in place of the course's packages where it was not installed
OF_THE_COURSE = ("nbgrader", "jupytext")  # hardly installed for anything else


def what_runs(findings: dict[str, Diagnosis]) -> dict[str, list[str]]:
    """The findings that prevent each ability."""
    good = {name for name, finding in findings.items() if finding.state == "ok"}
    return {ability: [name for name in needs if name not in good] for ability, needs in ABILITIES.items()}


def examine() -> Iterator[Diagnosis]:
    """Yields every finding as soon as it is made."""
    yield python()
    diagnoses = packages()
    yield from diagnoses.values()
    if diagnoses.get("triton", Diagnosis("", "problem", "")).state == "ok":
        yield tried("interpreter", "interpret", "Triton's interpreter runs a kernel", {"TRITON_INTERPRET": "1"})
        yield tried("compiler", "compile", "Triton compiles ahead of time, no GPU needed", {})
    yield gpu()
    yield extension()
    yield isolation()
    yield from course_root()


def python() -> Diagnosis:
    """Returns whether Python is recent enough."""
    message = f"Python {platform.python_version()} on {platform.system()} {platform.machine()}"
    if sys.version_info < PYTHON:
        wanted = ".".join(map(str, PYTHON))
        return Diagnosis(
            "Python", "problem", message, f"install Python {wanted} or newer, remove .venv, run `make lab`"
        )
    return Diagnosis("Python", "ok", message)


def requirements() -> list[Requirement]:
    """The packages that grader and course need, as if on Linux; without those that only tests and the book need."""
    try:
        lines = metadata.requires("graded-kernels") or []
    except metadata.PackageNotFoundError:
        return []
    needed = {"extra": "course", "platform_system": "Linux"}
    listed = [Requirement(line) for line in lines]
    return [requirement for requirement in listed if not requirement.marker or requirement.marker.evaluate(needed)]


def packages() -> dict[str, Diagnosis]:
    """The findings on packages, by name. Where the course was not installed, which is fine, its packages are one."""
    wanted = requirements()
    diagnoses = {requirement.name: package(requirement) for requirement in wanted}
    if not wanted or any(diagnoses[name].state == "ok" for name in OF_THE_COURSE):
        return diagnoses
    rest = {
        dependency.name: diagnoses[dependency.name] for dependency in wanted if "extra" not in str(dependency.marker)
    }
    line = "the course (nbgrader, jupyterlab and others) is not installed: checking kernels needs none of it"
    return rest | {COURSE: Diagnosis(COURSE, "absent", line)}


def package(requirement: Requirement) -> Diagnosis:
    """Returns whether one package is installed, in a version that will do."""
    name = requirement.name
    wanted = f"{name}{requirement.specifier}"
    if name == "triton" and platform.system() != "Linux":
        return Diagnosis(name, "absent", f"{name}: no version for {platform.system()}", ELSEWHERE)
    fix = f'{sys.executable} -m pip install "{wanted}"'
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return Diagnosis(name, "problem", f"{name} is not installed", fix)
    if not requirement.specifier.contains(version, prereleases=True):
        return Diagnosis(name, "problem", f"{name} {version} is outside {requirement.specifier}", fix)
    return Diagnosis(name, "ok", f"{name} {version}")


def tried(name: str, how: str, message: str, environment: dict[str, str]) -> Diagnosis:
    """Returns whether the probe's kernel runs, as ``how`` says: ``interpret``, ``compile`` or ``device``."""
    with tempfile.TemporaryDirectory() as cache:
        error = run([sys.executable, "-P", str(ONE_KERNEL), how], environment | {"TRITON_CACHE_DIR": cache})[1]
    if error:
        return Diagnosis(name, "problem", f"{message}: no ({error})", REINSTALL)
    return Diagnosis(name, "ok", message)


def open_to_others(course: Path, groupshared: bool = False) -> list[str]:
    """The class's private files and folders in the course root that other accounts of this machine can access."""
    mask = 0o007 if groupshared else 0o077
    paths = [course / name for name in PRIVATE]
    return [path.name for path in paths if path.exists() and path.stat().st_mode & mask]


def close_to_others(course: Path, groupshared: bool = False) -> list[str]:
    """Removes that access where the current account may; returns what was open.

    Creates the folders that nbgrader fills later, so that they are private before anything is in them.
    """
    mask = 0o007 if groupshared else 0o077
    for name in ("autograded", "feedback"):
        (course / name).mkdir(mode=0o777 & ~mask, exist_ok=True)
    names = open_to_others(course, groupshared)
    for name in names:
        with contextlib.suppress(PermissionError):
            (course / name).chmod((course / name).stat().st_mode & ~mask)
    return names


def course_root() -> Iterator[Diagnosis]:
    """Yields whether other accounts can read the class in this folder, if there is one."""
    here = [folder for folder in (Path.cwd(), Path.cwd() / "course") if (folder / "gradebook.db").exists()]
    for folder in here[:1]:
        if names := open_to_others(folder):
            fix = f"cd {folder} && chmod go-rwx {' '.join(names)}"
            yield Diagnosis("class", "problem", f"other accounts can read {', '.join(names)} of this class", fix)
        else:
            yield Diagnosis("class", "ok", "only you can read this class's submissions and gradebook")


def gpu() -> Diagnosis:
    """The GPU and its driver. A GPU that PyTorch does not see is a problem; to have none is fine."""
    device, error = run([sys.executable, "-c", TORCH], {})
    smi = shutil.which("nvidia-smi")
    card = run([smi, "--query-gpu=name,driver_version", "--format=csv,noheader"], {})[0] if smi else ""
    if error:
        return Diagnosis("GPU", "problem", f"PyTorch does not start ({error})", REINSTALL)
    if not device and card:
        fix = "install a PyTorch build for CUDA; until then everything runs in the emulator"
        return Diagnosis("GPU", "problem", f"GPU {card}, which PyTorch does not see", fix)
    if not device:
        return Diagnosis("GPU", "absent", "no GPU: kernels run in the emulator, for which the course is made")
    driver = f", driver {card.split(',')[-1].strip()}" if card else ""
    return tried("GPU", "device", f"GPU {device}{driver}", {})


def extension() -> Diagnosis:
    """Returns whether JupyterLab has nbgrader's panels: validation for the learner, formgrader for the instructor."""
    if Path(sys.prefix, "share", "jupyter", "labextensions", "@jupyter", "nbgrader").is_dir():
        return Diagnosis("extension", "ok", "nbgrader's JupyterLab extension")
    return Diagnosis("extension", "absent", "nbgrader's JupyterLab extension: only instructors use it")


def isolation() -> Diagnosis:
    """Returns how well answers can be isolated: each layer is tried as grading itself tries it."""
    printed, error = run([sys.executable, "-c", SANDBOX], {})
    if error:
        return Diagnosis("isolation", "problem", f"isolation of answers: could not be tried ({error})", REINSTALL)
    head, *layers = (line.strip() for line in printed.splitlines())
    missing = "".join(f"; {layer}" for layer in layers if not layer.endswith(": works"))
    if head.startswith(("isolation: strong", "isolation: good")):
        return Diagnosis("isolation", "ok", head + missing)
    return Diagnosis("isolation", "problem", head + missing, STRONGER)


def run(command: list[str], environment: dict[str, str]) -> tuple[str, str]:
    """Runs a command; returns its stdout and, where it failed, the last line of stderr, else ""."""
    inherited = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    try:
        done = subprocess.run(command, env=inherited | environment, capture_output=True, text=True, timeout=SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        return "", str(error)
    if done.returncode == 0:
        return done.stdout.strip(), ""
    lines = done.stderr.strip().splitlines()
    return "", lines[-1] if lines else f"exit status {done.returncode}"


if __name__ == "__main__":
    sys.exit(main())
