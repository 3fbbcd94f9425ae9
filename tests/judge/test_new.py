"""`graded-kernels new`: what it writes runs at once, passes with a right kernel and fails with the stub."""

import importlib
import subprocess
import sys

import pytest
from graded_kernels.autograder import check, cli
from graded_kernels.autograder.judge.commands.new import FAMILIES


def write(folder, family, *more) -> int:
    return cli.main(["new", "tried_op", "--like", family, "--into", str(folder), *more])


def outcome_of(folder) -> subprocess.CompletedProcess:
    """What the command that is printed says, below a project whose tests are imported as those of this one."""
    (folder.parent / "pyproject.toml").write_text('[tool.pytest.ini_options]\naddopts = "--import-mode=importlib"\n')
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_tried_op.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=900)


@pytest.mark.parametrize("family", FAMILIES)
def test_plain_pytorch_passes_and_the_stub_is_told_so(family, tmp_path, monkeypatch, capsys):
    assert write(tmp_path, family) == 0
    said = capsys.readouterr().out
    assert f"run it with `cd {tmp_path} && python -m pytest test_tried_op.py`" in said
    assert f"graded-kernels check --record {tmp_path / 'tried_op_record.py'} tried_op" in said
    monkeypatch.syspath_prepend(str(tmp_path))
    modules = ("tried_op", "tried_op_record")
    try:
        answer, record = map(importlib.import_module, modules)
        right = check(record.tried_op, record.in_pytorch, backend="torch")
        assert right, str(right)
        assert check(record.tried_op, answer.tried_op, backend="triton").summary.startswith("not implemented yet")
    finally:
        for name in modules:
            sys.modules.pop(name, None)
    files = [str(tmp_path / f"{name}.py") for name in ("tried_op_record", "tried_op")]
    assert cli.main(["check", "--record", files[0], "tried_op", files[1], "--in-process"]) == 1
    assert "backend triton: the file imports triton" in capsys.readouterr().err


@pytest.mark.exhaustive
@pytest.mark.parametrize("family", FAMILIES)
def test_the_test_that_is_written_tells_a_kernel_from_a_stub(family, tmp_path):
    for folder, more in (("stub", []), ("solved", ["--solved"])):
        assert write(tmp_path / folder, family, *more) == 0
    unsolved = outcome_of(tmp_path / "stub")
    assert unsolved.returncode == 1, unsolved.stdout
    assert "1 failed, 1 passed" in unsolved.stdout, unsolved.stdout
    assert "not implemented yet" in unsolved.stdout
    solved = outcome_of(tmp_path / "solved")
    assert solved.returncode == 0, solved.stdout
    assert "2 passed" in solved.stdout, solved.stdout
    lint = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--select", "E,F,B,UP,W", "--line-length", "120", str(tmp_path)],
        capture_output=True,
        text=True,
    )
    assert lint.returncode == 0, lint.stdout


def test_what_is_there_stays(tmp_path, capsys):
    (tmp_path / "tried_op.py").write_text("mine")
    assert write(tmp_path, "elementwise") == 2
    assert "exists and stays as it is; choose another name" in capsys.readouterr().err
    assert (tmp_path / "tried_op.py").read_text() == "mine"
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("name", ["my-op", "class", "1st"])
def test_a_name_that_no_function_can_have_is_refused(name, tmp_path, capsys):
    assert cli.main(["new", name, "--like", "loss", "--into", str(tmp_path)]) == 2
    assert "is not a name for a Python function" in capsys.readouterr().err


def test_it_writes_through_no_link(tmp_path, capsys):
    elsewhere = tmp_path / "elsewhere.py"
    (tmp_path / "tried_op.py").symlink_to(elsewhere)
    assert write(tmp_path, "rowwise") == 2
    assert "tried_op.py exists and stays as it is" in capsys.readouterr().err
    assert not elsewhere.exists()
    assert not (tmp_path / "tried_op_record.py").exists()
