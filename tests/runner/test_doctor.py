"""The doctor: says what runs, and for every problem the fix. Asked about machines that this one is not."""

import json
import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from graded_kernels.autograder.runner.doctor import doctor

STRONG = "isolation: strong (bubblewrap, Landlock, seccomp)\n  bubblewrap: works\n  landlock: works"
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def machine(monkeypatch):
    """A healthy machine without a GPU, on which nothing is really run; ``machine(...)`` breaks it."""
    pins = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    healthy = dict(re.findall(r"^([\w-]+)(?:\[\w+\])?==([\w.]+)", pins, flags=re.MULTILINE))
    commands = []

    def broken(versions=None, run=lambda command: ("", ""), **platform):
        installed = healthy | (versions or {})

        def version(name):
            if installed[name] is None:
                raise metadata.PackageNotFoundError(name)
            return installed[name]

        monkeypatch.setattr(doctor.metadata, "version", version)
        monkeypatch.setattr(doctor, "run", lambda command, environment: commands.append(command) or answer(command))

        def answer(command):
            found, error = run(command)
            return (found or STRONG, error) if command[-1] == doctor.SANDBOX else (found, error)

        for name, value in platform.items():
            monkeypatch.setattr(doctor.platform, name, lambda value=value: value)

    broken(system="Linux")
    broken.commands = commands
    return broken


def printed(capsys, status):
    assert doctor.main() == status
    return capsys.readouterr().out


def test_a_healthy_machine(machine, capsys):
    page = printed(capsys, 0)
    assert "problem" not in page
    assert "fix:" not in page
    assert "yes      check Triton answers\n" in page
    assert "no       check Triton answers on a GPU: needs GPU" in page
    assert "The course can be used." in page
    assert len(page.splitlines()) <= 24, "one screen"


@pytest.mark.parametrize("version", ["3.5.1", "3.10.0"])
def test_a_triton_outside_the_range(machine, capsys, version):
    machine({"triton": version})
    page = printed(capsys, 1)
    assert f"triton {version} is outside" in page
    assert 'pip install "triton<3.10,>=3.6"' in page
    assert "yes      check PyTorch answers\n" in page
    assert "no       check Triton answers: needs triton, interpreter" in page


@pytest.mark.parametrize("version", ["3.6.0", "3.9.1", "3.8.0.dev20260101"])
def test_a_triton_inside_the_range(machine, capsys, version):
    machine({"triton": version})
    assert f"ok       triton {version}" in printed(capsys, 0)


def test_a_missing_package_is_named_with_its_fix(machine, capsys):
    machine({"nbgrader": None})
    page = printed(capsys, 0)
    assert "nbgrader is not installed" in page
    assert 'pip install "nbgrader' in page
    assert "no       grade a class with nbgrader: needs nbgrader" in page
    machine({"jupyterlab": None})
    assert "no       read and run the chapters: needs jupyterlab" in printed(capsys, 1)


def test_the_grader_without_the_course(machine, capsys):
    """As `pip install ./graded-kernels` leaves it, beside a JupyterLab of one's own."""
    course = ("nbgrader", "jupytext", "bleach", "latex2mathml", "distributed", "rapidfuzz")
    machine(dict.fromkeys(course))
    page = printed(capsys, 0)
    assert "problem" not in page
    assert "fix:" not in page
    assert "absent   the course (nbgrader, jupyterlab and others) is not installed" in page
    assert page.endswith("\nKernels can be checked. The course is not installed.\n")
    machine(dict.fromkeys((*course, "triton")))
    assert "fix what is marked problem" in printed(capsys, 1)


def test_an_interpreter_that_does_not_run(machine, capsys):
    machine(run=lambda command: ("", "AttributeError: no such thing") if "interpret" in command else ("", ""))
    page = printed(capsys, 1)
    assert "problem  Triton's interpreter runs a kernel: no (AttributeError: no such thing)" in page
    assert "fix: " in page
    assert "no       check Triton answers: needs interpreter" in page


@pytest.mark.parametrize("system", ["Darwin", "Windows"])
def test_a_platform_without_triton(machine, capsys, system):
    machine({"triton": None}, system=system)
    page = printed(capsys, 0)
    assert f"triton: no version for {system}" in page
    assert "fix: kernels run on Linux, in WSL2" in page
    assert "yes      check PyTorch answers\n" in page
    assert not [command for command in machine.commands if "interpret" in command]


def test_a_machine_that_cannot_isolate(machine, capsys):
    weak = "isolation: weak (limits and wall clock only)\n  bubblewrap: no (not installed)\n  limits: works"
    machine(run=lambda command: (weak, "") if command[-1] == doctor.SANDBOX else ("", ""))
    page = printed(capsys, 0)
    assert "problem  isolation: weak (limits and wall clock only); bubblewrap: no (not installed)\n" in page
    assert "fix: install bubblewrap" in page
    assert "no       grade a class with nbgrader: needs isolation" in page
    assert "yes      check Triton answers\n" in page


def test_isolation_without_bubblewrap(machine, capsys):
    good = "isolation: good (Landlock or bubblewrap)\n  bubblewrap: no (not installed)\n  landlock: works"
    machine(run=lambda command: (good, "") if command[-1] == doctor.SANDBOX else ("", ""))
    page = printed(capsys, 0)
    assert "ok       isolation: good (Landlock or bubblewrap); bubblewrap: no (not installed)\n" in page
    assert "yes      grade a class with nbgrader" in page


def test_the_isolation_of_this_machine():
    from graded_kernels.autograder.runner.sandbox import probe

    probe.cache_clear()  # this process may have tried before something was installed
    finding = doctor.isolation()
    assert finding.message.startswith(f"isolation: {probe().level}")
    assert (finding.state == "ok") == (probe().level != "weak")


def test_a_gpu(machine, capsys, monkeypatch):
    monkeypatch.setattr(doctor.shutil, "which", lambda name: f"/usr/bin/{name}")
    answers = {"-c": ("NVIDIA H200", ""), "--query-gpu=name,driver_version": ("NVIDIA H200, 570.86.10", "")}
    machine(run=lambda command: answers.get(command[1], ("", "")))
    page = printed(capsys, 0)
    assert "ok       GPU NVIDIA H200, driver 570.86.10" in page
    assert "yes      check Triton answers on a GPU" in page


def test_a_gpu_that_pytorch_does_not_see(machine, capsys, monkeypatch):
    monkeypatch.setattr(doctor.shutil, "which", lambda name: f"/usr/bin/{name}")
    machine(run=lambda command: ("NVIDIA H200, 570.86.10", "") if "nvidia-smi" in command[0] else ("", ""))
    page = printed(capsys, 0)
    assert "which PyTorch does not see" in page
    assert "PyTorch build for CUDA" in page


@pytest.mark.exhaustive
def test_the_probe_runs_and_compiles_a_kernel():
    assert doctor.tried("interpreter", "interpret", "", {"TRITON_INTERPRET": "1"}).state == "ok"
    assert doctor.tried("compiler", "compile", "", {}).state == "ok"


def test_the_probe_reports_what_broke():
    finding = doctor.tried("interpreter", "no such way", "it runs", {})
    assert finding.state == "problem"
    assert "KeyError" in finding.message


def test_the_doctor_answers_where_pytorch_and_numpy_cannot_be_imported(tmp_path):
    for name in ("torch", "triton", "numpy", "matplotlib"):
        (tmp_path / f"{name}.py").write_text("raise ImportError('libcudart.so: cannot open shared object file')")
    command = [sys.executable, "-P", doctor.__file__]
    broken = os.environ | {"PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, env=broken)
    assert done.returncode == 1, done.stderr
    assert "PyTorch does not start (ImportError: libcudart.so: cannot open shared object file)" in done.stdout
    assert "What will run here" in done.stdout


def test_doctor_sees_a_class_that_others_can_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert list(doctor.course_root()) == []
    (tmp_path / "submitted").mkdir()
    for name in ("gradebook.db", "hidden_cases"):
        (tmp_path / name).write_text(json.dumps({}))
        (tmp_path / name).chmod(0o644)
    (tmp_path / "submitted").chmod(0o755)
    (finding,) = doctor.course_root()
    assert finding.state == "problem"
    assert "submitted, gradebook.db, hidden_cases" in finding.message
    assert os.system(finding.fix) == 0
    (finding,) = doctor.course_root()
    assert finding.state == "ok"
    (tmp_path / "submitted").chmod(0o770)
    (tmp_path / "teacher_config.py").write_text('c.CourseDirectory.db_url = "postgresql://class:secret@host/db"')
    (tmp_path / "teacher_config.py").chmod(0o644)
    assert doctor.open_to_others(tmp_path) == ["submitted", "teacher_config.py"]
    (tmp_path / "teacher_config.py").chmod(0o600)
    assert doctor.open_to_others(tmp_path) == ["submitted"]
    assert doctor.open_to_others(tmp_path, groupshared=True) == []
    assert doctor.close_to_others(tmp_path) == ["submitted"]
    assert doctor.open_to_others(tmp_path) == []
