"""The files by which other services and tools make the course's environment."""

import importlib.util
import os
import re
import stat
from pathlib import Path

import yaml
from graded_kernels.course import learner

ROOT = learner.ROOT


def test_binder_finds_the_environment_and_no_dockerfile():
    """Binder builds from a Dockerfile at the root, if there is one, and then ignores environment.yml and postBuild; the
    image of ours has no Jupyter on its PATH, which Binder starts. Podman, Buildah and `docker -f` take a Containerfile.
    """
    for place in (ROOT, ROOT / "binder", ROOT / ".binder"):
        assert not (place / "Dockerfile").exists()
    assert (ROOT / "Containerfile").is_file()
    script = ROOT / "postBuild"
    assert os.stat(script).st_mode & stat.S_IXUSR
    assert script.read_text(encoding="utf-8").startswith("#!/bin/sh")


def test_the_environment_installs_the_pins_and_this_package():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    assert environment.keys() == {"name", "channels", "dependencies"}
    assert environment["channels"] == ["conda-forge"]
    (pip,) = [entry["pip"] for entry in environment["dependencies"] if isinstance(entry, dict)]
    assert pip == ["-r requirements.txt", "-e ."]
    assert (ROOT / "requirements.txt").is_file()
    (python,) = [entry for entry in environment["dependencies"] if str(entry).startswith("python=")]
    oldest = re.search(r'requires-python = ">=([\d.]+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert tuple(map(int, python.removeprefix("python=").split("."))) >= tuple(map(int, oldest[1].split(".")))


def test_everything_the_image_runs_is_in_its_context():
    ignored = [line for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line[:1] != "#"]
    assert {".git", ".venv", "my-notebooks"} <= set(ignored)
    needed = ("Makefile", "setup_venv.py", "requirements.txt", "pyproject.toml", "course/learner.py", "course/source")
    assert all((ROOT / Path(name)).exists() and not any(name.startswith(line) for line in ignored) for name in needed)


PIP = """\
Collecting torch==2.13.0 (from -r requirements.txt (line 4))
  Downloading https://mirror.example/torch-2.13.0-cp311-cp311-manylinux_2_28_x86_64.whl (0.8 GB)
Collecting bleach[css]==6.4.0 (from -r requirements.txt (line 19))
  Downloading bleach-6.4.0-py3-none-any.whl (164 kB)
Collecting triton==3.7.1 (from -r requirements.txt (line 5))
  Downloading triton-3.7.1-cp311-cp311-manylinux_2_28_x86_64.whl (197.7 MB)
Installing collected packages: torch, bleach, triton
"""


def test_a_log_says_what_arrives_and_how_much():
    spec = importlib.util.spec_from_file_location("setup_venv", ROOT / "setup_venv.py")
    setup = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(setup)
    assert [*setup.told(PIP.splitlines(keepends=True))] == [
        "torch, 800 MB (800 MB so far)",
        "triton, 198 MB (998 MB so far)",
        "unpacking 3 packages; that takes a minute or two",
    ]
