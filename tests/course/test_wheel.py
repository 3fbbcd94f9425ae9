"""A wheel holds every package with the files that its modules read, and is enough for somebody who has only pip."""

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import version

import pytest
from graded_kernels.autograder import cli
from graded_kernels.course.build import ROOT

FOLDERS = ("autograder", "course", "kernels", "pytest_plugin", "solutions")
FILES = ["LICENSE", "LICENSE-chapters", "README.md", "pyproject.toml", "setup.py", "package", *FOLDERS]
OF_THE_COURSE = (
    "nbgrader",
    "nbformat",
    "nbconvert",
    "nbclient",
    "jupytext",
    "jupyterlab",
    "dask",
    "distributed",
    "bleach",
)
BLOCKER = f"""import sys


class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {OF_THE_COURSE}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)


sys.meta_path.insert(0, Blocker())
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Built from a copy, since building leaves files behind."""
    clone, dist = tmp_path_factory.mktemp("clone"), tmp_path_factory.mktemp("dist")
    tracked = subprocess.run(["git", "ls-files", "-z", *FILES], cwd=ROOT, check=True, capture_output=True, text=True)
    for name in filter(None, tracked.stdout.split("\0")):
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        (clone / name).write_bytes((ROOT / name).read_bytes())
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, "--wheel-dir", dist, clone], check=True)
    return next(dist.glob("*.whl"))


@pytest.mark.exhaustive
def test_every_module_of_the_packages_is_in_the_wheel(wheel):
    held = set(zipfile.ZipFile(wheel).namelist())
    packages = {path.parent for folder in FOLDERS for path in (ROOT / folder).rglob("__init__.py")}
    modules = {f"graded_kernels/{m.relative_to(ROOT)}" for package in packages for m in package.glob("*.py")}
    assert len(modules) > 300
    assert not modules - held


@pytest.mark.exhaustive
def test_it_works_beside_nothing_of_the_clone(wheel, tmp_path):
    """The one on the path comes first, before that of the clone."""
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    program = (
        "import graded_kernels.autograder as door, torch; from graded_kernels.kernels import silu;"
        "from graded_kernels.autograder import compare; print(door.__file__);"
        "how = {'compiler': False, 'gradients': False, 'without': ('dimension', 'NaN', 'infinity', '-infinity')};"
        "print(bool(compare(torch.nn.functional.silu, silu, (torch.randn(5, 7),), **how)))"
    )
    environment = {"PYTHONPATH": str(tmp_path / "site"), "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-P", "-c", program]
    ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split() == [str(tmp_path / "site/graded_kernels/autograder/__init__.py"), "True"]


def test_changelog_and_citation_are_those_of_this_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[0] == project
    assert f"version: {project}" in (ROOT / "CITATION.cff").read_text().splitlines()


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """A folder with the wheel's packages, without those of the course's extra, to be first on the path."""
    packages = tmp_path_factory.mktemp("packages")
    zipfile.ZipFile(wheel).extractall(packages)
    (packages / "sitecustomize.py").write_text(BLOCKER)
    return packages


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


@pytest.mark.exhaustive
def test_the_package_tells_version_and_types(run, installed):
    code = "import graded_kernels; print(graded_kernels.__version__, graded_kernels.__path__[0])"
    assert run("-c", code).stdout.split() == [version("graded-kernels"), str(installed / "graded_kernels")]
    assert (installed / "graded_kernels" / "py.typed").exists()


@pytest.mark.exhaustive
def test_every_command_shows_its_help_with_an_example(command):
    shown = command("--help")
    assert shown.returncode == 0
    for name in cli.EXAMPLES:
        told = command(name, "--help")
        assert told.returncode == 0 and f"example: graded-kernels {cli.EXAMPLES[name]}" in " ".join(told.stdout.split())


@pytest.mark.exhaustive
def test_the_first_report_of_the_readme(command):
    (words,) = re.findall(
        r"^graded-kernels (check silu_backward graded_kernels\S+)", (ROOT / "README.md").read_text(), re.M
    )
    told = command(*words.split())
    assert told.returncode == 1 and "candle" in told.stdout


@pytest.mark.exhaustive
def test_the_python_of_the_readme(run, tmp_path):
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    beginning = "import torch\nfrom graded_kernels.kernels import silu as my_rotary\n\n"
    names = "rotary_in_pytorch, example = torch.nn.functional.silu, lambda seed, size: torch.randn(size, 5)\n"
    (tmp_path / "block.py").write_text(beginning + names + block)
    ran = run("block.py")
    assert ran.returncode == 0, ran.stderr


@pytest.mark.exhaustive
def test_the_exercises_are_listed(command):
    listed = command("list")
    assert listed.returncode == 0 and "silu_backward" in listed.stdout


@pytest.mark.exhaustive
def test_a_file_of_somebodys_own_is_checked(command, tmp_path):
    (tmp_path / "my_kernel.py").write_text((ROOT / "solutions/silu.py").read_text())
    assert command("check", "silu_backward", "my_kernel.py").returncode == 0


@pytest.mark.exhaustive
def test_a_program_is_sanitized(command, tmp_path):
    (tmp_path / "demo.py").write_text((ROOT / "examples/scaled/demo.py").read_text())
    (tmp_path / "scaled.py").write_text((ROOT / "examples/scaled/scaled.py").read_text())
    ran = command("sanitize", "demo.py")
    assert ran.returncode == 0 and "nothing found" in ran.stdout + ran.stderr


@pytest.mark.exhaustive
def test_an_answer_cell_is_reset_or_the_command_says_what_it_needs(command, tmp_path):
    refused = command("reset", "silu_backward", "--backend", "torch", "--notebooks", str(tmp_path))
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "Traceback" not in refused.stderr and len(refused.stderr.splitlines()) == 1


@pytest.mark.exhaustive
def test_a_function_beside_itself(command, tmp_path):
    (tmp_path / "f.py").write_text(
        "import torch\n\n\ndef f(x):\n    return x * 2\n\n\ndef arguments():\n    return torch.randn(3, 5)\n"
    )
    told = command("compare", "f.py:f", "f.py:f", "--arguments", "f.py:arguments", "--any-method")
    assert told.returncode == 0, told.stdout + told.stderr


@pytest.mark.exhaustive
def test_commands_of_the_desk_work_or_say_what_they_need(command, tmp_path):
    for name in ("progress", "done", "update"):
        told = command(name)
        assert (told.returncode, told.stdout) == (2, "")
        assert "--notebooks" in told.stderr and "Traceback" not in told.stderr
    shown = command("progress", "--notebooks", str(tmp_path))
    assert shown.returncode == 0 and "01 SiLU" in shown.stdout
    told = command("update", "--notebooks", str(tmp_path))
    assert told.returncode == 2 and 'pip install "graded-kernels[course]"' in told.stderr


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["grade", "report", "export", "answers", "marks", "extend"])
def test_commands_of_a_class_say_what_to_install(command, name):
    told = command(*cli.EXAMPLES[name].split())
    assert (told.returncode, told.stdout) == (2, "")
    assert 'pip install "graded-kernels[course]"' in told.stderr and "Traceback" not in told.stderr


@pytest.mark.exhaustive
def test_the_cells_at_both_ends_of_a_chapter_run(run):
    code = "from graded_kernels.course import gpt, progress; print(gpt.__name__, repr(progress.chapter('my_own')))"
    told = run("-c", code)
    assert told.returncode == 0, told.stderr
    assert "There is no chapter 'my_own' here" in told.stdout
    known = run("-c", "from graded_kernels.course import progress; print(progress.chapter('01_silu'))")
    assert known.returncode == 0 and "Left" in known.stdout
