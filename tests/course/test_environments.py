"""The files by which other services and tools make the course's environment."""

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
