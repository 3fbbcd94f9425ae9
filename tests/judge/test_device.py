"""A check on a GPU, and of the same text in the emulator beside it: without a GPU, and on one where there is one."""

import dataclasses
import importlib.util
import os
import subprocess
import sys
import types

import pytest
import torch
import triton
import triton.language as tl
from answers import PAIRS, answer
from graded_kernels.autograder import EXERCISES, Report, check
from graded_kernels.autograder.judge.checking.device_and_emulator import combined, emulated
from graded_kernels.autograder.judge.checking.judge import judge
from graded_kernels.autograder.judge.records.settings import Settings
from graded_kernels.autograder.runner import InProcess
from graded_kernels.solutions.silu import silu_forward
from on_a_device import on_a_device


@pytest.mark.gpu
@pytest.mark.parametrize(("name", "backend"), [pair for pair in PAIRS if pair[1] == "triton"])
def test_answers_pass_on_the_device(name, backend, tmp_path):
    """In a process of its own: this one interprets."""
    path = tmp_path / "answer.py"
    whole = answer(name, backend)
    path.write_text("\n\n".join(cell.source for cell in whole.cells))
    environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    command = [sys.executable, "-m", "graded_kernels.autograder", "check", name, str(path), "--backend", "triton"]
    run = subprocess.run([*command, "--in-process"], env=environment, capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, run.stdout + run.stderr


def test_a_process_that_can_neither_interpret_nor_launch_says_so(monkeypatch):
    if torch.cuda.is_available():
        pytest.skip("not run: needs a machine without a GPU")
    monkeypatch.setenv("TRITON_INTERPRET", "0")
    with pytest.raises(RuntimeError, match="unset it and restart"):
        check("silu_forward", lambda x: x, backend="triton")
    assert check("silu_forward", silu_forward, backend="torch").passed


@triton.jit
def plain_silu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    tl.store(y_ptr + offsets, (x / (1 + tl.exp(-x))).to(y_ptr.dtype.element_ty), mask=mask)


def silu_in_triton(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    plain_silu_kernel[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
    return y


def device_report(passed: bool) -> Report:
    """A report as the device would give it: the words come from the emulator here, where there is no GPU."""
    report = check("silu_forward", silu_in_triton, backend="triton", compiler=False)
    return dataclasses.replace(report, passed=passed, cases=report.cases[:2])


def test_the_emulators_cases_stand_beside_the_devices():
    again = check("silu_forward", silu_in_triton, backend="triton", compiler=False)
    both = combined(device_report(True), again)
    assert both.passed
    assert [c.name for c in both.cases][2] == "in the emulator: ordinary values"
    assert not combined(device_report(False), again).passed
    assert not combined(device_report(True), dataclasses.replace(again, passed=False)).passed
    alone = combined(device_report(True), "there is no worker")
    assert (alone.cases[-1].status, alone.cases[-1].message) == ("not-run", "there is no worker")


@pytest.mark.exhaustive
def test_the_emulator_runs_in_a_worker_on_the_functions_text(tmp_path, monkeypatch):
    path = tmp_path / "mine.py"
    whole = answer("silu_forward", "triton")
    path.write_text("\n\n".join(cell.source for cell in whole.cells))
    module, record = module_of(path), EXERCISES["silu_forward"]
    twin = twin_of(module.silu_forward, monkeypatch)
    report = emulated(twin, lambda runner: judge(record, runner, Settings("triton", compiler=False)))
    if isinstance(report, str) and "isolat" in report:
        pytest.skip(f"not run: {report}")
    assert not isinstance(report, str), report
    assert report.passed
    assert report.traffic["ratio"] == 1.0


def twin_of(function, monkeypatch):
    """What a runner of this function on a GPU has to call its text in the emulator."""
    with monkeypatch.context() as patch:
        on_a_device(patch)
        return InProcess(function, EXERCISES["silu_forward"].contract, "triton").facts.in_emulator


def module_of(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_function_whose_text_is_refused_keeps_the_devices_points(tmp_path, monkeypatch):
    (tmp_path / "ours.py").write_text("def silu_forward(x):\n    import graded_kernels.kernels\n    return x\n")
    module = module_of(tmp_path / "ours.py")
    twin = twin_of(module.silu_forward, monkeypatch)
    report = emulated(twin, lambda runner: pytest.fail("it was called"))
    assert isinstance(report, str)
    assert "imports graded_kernels" in report
    assert combined(device_report(True), report).passed


@pytest.mark.exhaustive
def test_a_function_that_does_not_load_alone_keeps_the_devices_points(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "neighbour", types.SimpleNamespace(factor=2))
    (tmp_path / "mine.py").write_text("from neighbour import factor\ndef silu_forward(x): return factor * x\n")
    module, record = module_of(tmp_path / "mine.py"), EXERCISES["silu_forward"]
    twin = twin_of(module.silu_forward, monkeypatch)
    report = emulated(twin, lambda runner: judge(record, runner, Settings("triton", compiler=False)))
    if isinstance(report, str) and "isolat" in report:
        pytest.skip(f"not run: {report}")
    assert isinstance(report, str)
    assert "does not run on its own" in report
    assert "neighbour" in report
