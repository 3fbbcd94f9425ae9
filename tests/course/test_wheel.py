"""Somebody who has only pip: the wheel, alone in a folder, without a clone and without the course's extra."""

import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from graded_kernels.autograder import cli

ROOT = Path(__file__).resolve().parents[2]
OF_THE_COURSE = ("nbgrader", "nbformat", "nbconvert", "nbclient", "jupytext", "jupyterlab", "distributed", "bleach")
BLOCKER = f"""import sys


class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {OF_THE_COURSE}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)


sys.meta_path.insert(0, Blocker())
"""
pytestmark = pytest.mark.exhaustive


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with the wheel's packages, and nothing of the course's extra, first on the path."""
    if int(version("setuptools").partition(".")[0]) < 77:
        pytest.skip("not run: needs setuptools 77 or newer: pip install --upgrade setuptools")
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", folder, ROOT], check=True)
    (wheel,) = folder.glob("*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--target", folder / "packages", wheel], check=True)
    (folder / "packages" / "sitecustomize.py").write_text(BLOCKER)
    return folder / "packages"


@pytest.fixture
def run(installed, tmp_path):
    """Runs Python with the wheel's packages in an empty folder; returns the finished process."""

    def run(*arguments):
        environment = os.environ | {"PYTHONPATH": str(installed), "COLUMNS": "200"}
        return subprocess.run(
            [sys.executable, *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=900
        )

    return run


@pytest.fixture
def command(run):
    return lambda *words: run("-m", "graded_kernels.autograder", *words)


def test_the_package_tells_version_and_types(run, installed):
    code = "import graded_kernels; print(graded_kernels.__version__, graded_kernels.__path__[0])"
    assert run("-c", code).stdout.split() == [version("graded-kernels"), str(installed / "graded_kernels")]
    assert (installed / "graded_kernels" / "py.typed").exists()


def test_every_command_shows_its_help_with_an_example(command):
    shown = command("--help")
    assert shown.returncode == 0
    for name in cli.EXAMPLES:
        told = command(name, "--help")
        assert told.returncode == 0 and f"example: graded-kernels {cli.EXAMPLES[name]}" in " ".join(told.stdout.split())


def test_the_first_report_of_the_readme(command):
    (words,) = re.findall(
        r"^graded-kernels (check silu_backward graded_kernels\S+)", (ROOT / "README.md").read_text(), re.M
    )
    told = command(*words.split())
    assert told.returncode == 1 and "candle" in told.stdout


def test_a_function_beside_itself(command, tmp_path):
    (tmp_path / "f.py").write_text(
        "import torch\n\n\ndef f(x):\n    return x * 2\n\n\ndef arguments():\n    return torch.randn(3, 5)\n"
    )
    told = command("compare", "f.py:f", "f.py:f", "--arguments", "f.py:arguments", "--any-method")
    assert told.returncode == 0, told.stdout + told.stderr


def test_commands_of_the_desk_work_or_say_what_they_need(command, tmp_path):
    for name in ("progress", "done", "update"):
        told = command(name)
        assert (told.returncode, told.stdout) == (2, "")
        assert "--notebooks" in told.stderr and "Traceback" not in told.stderr
    shown = command("progress", "--notebooks", str(tmp_path))
    assert shown.returncode == 0 and "01 SiLU" in shown.stdout
    told = command("update", "--notebooks", str(tmp_path))
    assert told.returncode == 2 and 'pip install "graded-kernels[course]"' in told.stderr


def test_the_cells_at_both_ends_of_a_chapter_run(run):
    code = "from graded_kernels.course import gpt, progress; print(gpt.__name__, repr(progress.chapter('my_own')))"
    told = run("-c", code)
    assert told.returncode == 0, told.stderr
    assert "There is no chapter 'my_own' here" in told.stdout
    known = run("-c", "from graded_kernels.course import progress; print(progress.chapter('01_silu'))")
    assert known.returncode == 0 and "Left" in known.stdout
