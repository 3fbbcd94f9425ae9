"""`graded-kernels check EXERCISE package.module:function`: called as it is, in this process."""

import json
import subprocess
import sys

import pytest
from graded_kernels.autograder import cli
from graded_kernels.solutions import silu

MODULE = """
import torch
import triton
import triton.language as tl

NUMBER = 3
assert torch.cuda.is_available()


@triton.autotune(configs=[triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})], key=["n"])
@triton.jit
def kernel(x, y, n, OVER: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n + OVER, other=0.0).to(tl.float32)
    tl.store(y + i, v * tl.sigmoid(v), mask=i < n)


class Silu:
    over = 0

    @classmethod
    def apply(cls, x):
        assert x.is_cuda
        flat = x.contiguous().view(-1)
        y = torch.empty_like(flat)
        kernel[lambda meta: (triton.cdiv(flat.numel(), meta["BLOCK"]),)](flat, y, flat.numel(), cls.over)
        return y.view(x.shape) * 1  # what a file's answer may not: arithmetic of PyTorch around its kernel


class TooFar(Silu):
    over = 1
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """The folder that a module `own_ops` lies in, which is where the command is called."""
    (tmp_path / "own_ops.py").write_text(MODULE)
    (tmp_path / "no_import.py").write_text("import not_there_at_all\n")
    (tmp_path / "raises.py").write_text("1 / 0\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield tmp_path
    for name in ("own_ops", "no_import", "raises"):
        sys.modules.pop(name, None)


@pytest.mark.exhaustive
def test_a_function_of_pytorch_passes(called):
    done = called("check", "silu_forward", "torch.nn.functional:silu", "--json")
    data = json.loads(done.stdout)
    assert done.returncode == 0
    assert data["passed"]
    assert data["correct"]
    assert data["environment"]["device"] == "cpu"
    assert sum(case["status"] == "pass" for case in data["cases"]) >= 15


@pytest.mark.exhaustive  # a kernel through all cases of an exercise
@pytest.mark.parametrize("place", ["own_ops", "own_ops.py"])
def test_a_method_that_launches_a_kernel_is_judged_by_values_and_memory(module, called, place):
    right = called("check", "silu_forward", f"{place}:Silu.apply")
    assert right.returncode == 0, right.stdout
    assert "passed (required: correct)" in right.stdout, right.stdout
    wrong = called("check", "silu_forward", f"{place}:TooFar.apply")
    assert wrong.returncode == 1
    assert "past the end" in wrong.stdout


def test_a_wrong_function_is_refused_and_its_bug_named(module, called):
    (module / "candle.py").write_text("import torch\n\n\ndef silu(x):\n    return x * torch.sigmoid(x) + 1e-3\n")
    done = called("check", "silu_forward", "candle.py:silu")
    assert done.returncode == 1
    assert "y is wrong" in done.stdout


@pytest.mark.parametrize(
    "named, remedy",
    [
        ("nowhere.ops:f", "there is no module nowhere"),
        ("torch.nowhere:f", "there is no module torch.nowhere"),
        ("nowhere.py:f", "there is no file nowhere.py"),
        ("torch.nn.functional:sillu", "has no function sillu; it has silu"),
        ("torch.nn:functional", "functional of torch.nn is not a function but of type module"),
        ("no_import:f", "importing no_import needs a module that is not installed: not_there_at_all; --root names the"),
        ("raises.py:f", "importing raises.py stopped with ZeroDivisionError: division by zero"),
    ],
)
def test_a_function_that_cannot_be_had_ends_in_one_sentence(named, remedy, module, capsys):
    assert cli.main(["check", "silu_forward", named]) == 2
    printed = capsys.readouterr()
    assert remedy in printed.err
    assert not printed.out


def test_a_file_of_a_package_is_imported_from_its_root(module, called):
    (module / "src/rooted_ops").mkdir(parents=True)
    (module / "src/rooted_ops/__init__.py").touch()
    (module / "src/rooted_ops/right.py").write_text("import torch\nsilu = torch.nn.functional.silu\n")
    (module / "src/rooted_ops/ops.py").write_text("import rooted_ops\nfrom .right import silu\n")
    assert called("check", "silu_forward", "src/rooted_ops/ops.py:silu", "--root", "src").returncode == 0
    other = called("check", "silu_forward", "own_ops.py:Silu.apply", "--root", "src")
    assert other.returncode == 2
    assert "own_ops.py is not in src" in other.stderr
    for name in [name for name in sys.modules if name.startswith("rooted_ops")]:
        del sys.modules[name]


def test_a_function_is_checked_alone(capsys):
    assert cli.main(["check", "silu_forward", "torch.nn.functional:silu", silu.__file__]) == 2
    assert "is checked alone" in capsys.readouterr().err


def test_a_pytorch_function_is_the_first_that_a_process_checks(tmp_path):
    """The simulated GPU replaces classes of Triton, of which modules that come later are made."""
    (tmp_path / "mine.py").write_text("def accumulation_witness():\n    return None\n")
    words = ["check", "accumulation_witness", "mine:accumulation_witness"]
    command = [sys.executable, "-m", "graded_kernels.autograder", *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("accumulation_witness (torch): not implemented yet")
    assert done.stderr == ""
