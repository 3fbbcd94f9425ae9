"""What somebody installs from a clone: a wheel of every package, with the files that its modules read."""

import re
import subprocess
import sys
import tomllib
import zipfile

import pytest
from graded_kernels.course.build import ROOT

FOLDERS = ("autograder", "course", "kernels", "pytest_plugin", "solutions")
FILES = ["LICENSE", "LICENSE-chapters", "README.md", "pyproject.toml", "setup.py", *FOLDERS]


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
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[0] == version
    assert f"version: {version}" in (ROOT / "CITATION.cff").read_text().splitlines()
