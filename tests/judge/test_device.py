"""Watching a real GPU: what can be proven without one, and the same checks on the device where there is one."""

import ctypes
import dataclasses
import importlib.util
import os
import subprocess
import sys
import types
from functools import partial

import pytest
import torch
import triton
import triton.language as tl
from answers import PAIRS, answer
from graded_kernels.autograder import EXERCISES, Emulator, Report, check
from graded_kernels.autograder.judge.checking.device_and_emulator import combined, emulated
from graded_kernels.autograder.judge.checking.judge import judge
from graded_kernels.autograder.judge.records.settings import Settings
from graded_kernels.autograder.runner import InProcess, Peak
from graded_kernels.autograder.runner.call import runner
from graded_kernels.autograder.runner.call.device import Device
from graded_kernels.autograder.runner.call.given import unchanged
from graded_kernels.autograder.runner.call.machine import Machine
from graded_kernels.autograder.runner.sandbox.extracted import Extracted, answer_of, needed
from graded_kernels.solutions.silu import silu_forward


def outside(tensor: torch.Tensor, first: int, count: int) -> torch.Tensor:
    """Elements relative to the first of ``tensor``, as a stray kernel would address them."""
    size = tensor.element_size()
    there = (ctypes.c_uint8 * (count * size)).from_address(tensor.data_ptr() + first * size)
    return torch.frombuffer(there, dtype=tensor.dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int64])
def test_a_tensor_keeps_shape_strides_and_values(dtype):
    original = torch.arange(60).to(dtype).reshape(6, 10)[1:, ::2]
    padded = Device("cpu").put("x", original)
    assert (padded.shape, padded.stride(), padded.dtype) == (original.shape, original.stride(), dtype)
    assert torch.equal(padded, original)
    assert padded.data_ptr() != original.data_ptr()


def test_a_store_outside_is_found_on_both_sides():
    device = Device("cpu")
    x, y = device.put("x", torch.ones(10)), device.poison_(torch.empty(10))
    assert y.isnan().all()
    assert not device.findings
    outside(x, 10, 3)[2] = 7.0
    outside(y, -2, 1).zero_()
    assert [f.message for f in device.findings] == [
        "A kernel stored 8 bytes past the end of x: mask the store.",
        "A kernel stored 8 bytes before the beginning of a tensor from torch.empty.",
    ]


def test_a_load_outside_reads_nan():
    x = Device("cpu").put("x", torch.ones(10))
    assert outside(x, 10, 100).isnan().all()
    assert outside(x, -5, 5).isnan().all()


def test_a_view_within_a_larger_tensor_is_unchanged_until_it_changes():
    original = torch.full((64, 11), torch.inf)[5:28]
    copy = Device("cpu").put("b", original)
    assert unchanged(original, copy)
    outside(copy, -1, 1).fill_(0.0)  # the element before it is its caller's, too
    assert not unchanged(original, copy)
    empty = torch.empty(0, 11)
    assert unchanged(empty, Device("cpu").put("b", empty))


def test_memory_that_was_given_back_counts_once_and_pads_do_not():
    device, peak = Device("cpu"), Peak()
    for _ in range(3):
        peak.note(device.poison_(torch.empty(100)))
    assert (peak.most, peak.now) == (400, 0)
    assert not device.findings


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
    assert "def plain_silu_kernel" in answer_of(silu_in_triton, "silu_forward").text
    again = check("silu_forward", silu_in_triton, backend="triton", compiler=False)
    both = combined(device_report(True), again)
    assert both.passed
    assert [c.name for c in both.cases][2] == "in the emulator: ordinary values"
    assert not combined(device_report(False), again).passed
    assert not combined(device_report(True), dataclasses.replace(again, passed=False)).passed
    alone = combined(device_report(True), "there is no worker")
    assert (alone.cases[-1].status, alone.cases[-1].message) == ("not-run", "there is no worker")


def test_what_runs_on_a_device_has_a_twin_in_the_emulator(monkeypatch):
    contract = EXERCISES["silu_forward"].contract

    def twin(backend):
        return InProcess(silu_in_triton, contract, backend).facts.in_emulator

    assert (twin("triton"), twin("torch")) == (None, None)
    monkeypatch.setattr(runner, "mode", lambda: "device")
    assert (twin("triton") is not None, twin("torch")) == (True, None)


@pytest.mark.exhaustive
def test_the_emulator_runs_in_a_worker_on_the_functions_text(tmp_path):
    path = tmp_path / "mine.py"
    whole = answer("silu_forward", "triton")
    path.write_text("\n\n".join(cell.source for cell in whole.cells))
    module, record = module_of(path), EXERCISES["silu_forward"]
    twin = partial(Extracted, module.silu_forward, record.contract)
    report = emulated(twin, lambda runner: judge(record, runner, Settings("triton", compiler=False)))
    if isinstance(report, str) and "isolat" in report:
        pytest.skip(f"not run: {report}")
    assert not isinstance(report, str), report
    assert report.passed
    assert report.traffic["ratio"] == 1.0


def module_of(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_function_of_a_file_of_tests_is_taken_out_of_it():
    found = answer_of(silu_in_triton, "silu_forward").load()
    assert found.__name__ == "silu_in_triton"
    assert found is not silu_in_triton
    assert "def test_" not in answer_of(silu_in_triton, "silu_forward").text
    kept = needed(
        "if 1:\n    import a.b as c\nx: int = c.d\nx += 1\ndef g(y): return f(y)\ndef f(x): ...\nz = x\n", "z"
    )
    assert kept == "if 1:\n    import a.b as c\nx: int = c.d\nx += 1\nz = x"


def test_a_function_whose_text_is_refused_keeps_the_devices_points(tmp_path):
    (tmp_path / "ours.py").write_text("def silu_forward(x):\n    import graded_kernels.kernels\n    return x\n")
    module = module_of(tmp_path / "ours.py")
    twin = partial(Extracted, module.silu_forward, EXERCISES["silu_forward"].contract)
    report = emulated(twin, lambda runner: pytest.fail("it was called"))
    assert isinstance(report, str)
    assert "imports graded_kernels" in report
    assert combined(device_report(True), report).passed


@pytest.mark.exhaustive
def test_a_function_that_does_not_load_alone_keeps_the_devices_points(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "neighbour", types.SimpleNamespace(factor=2))
    (tmp_path / "mine.py").write_text("from neighbour import factor\ndef silu_forward(x): return factor * x\n")
    module, record = module_of(tmp_path / "mine.py"), EXERCISES["silu_forward"]
    twin = partial(Extracted, module.silu_forward, record.contract)
    report = emulated(twin, lambda runner: judge(record, runner, Settings("triton", compiler=False)))
    if isinstance(report, str) and "isolat" in report:
        pytest.skip(f"not run: {report}")
    assert isinstance(report, str)
    assert "does not run on its own" in report
    assert "neighbour" in report


def test_tensors_are_on_the_device_after_a_call_that_launched_nothing(monkeypatch):
    put = []

    class Noted(Device):
        def __init__(self):
            super().__init__("cpu")

        def put(self, name, tensor):
            put.append(tuple(tensor.shape))
            return super().put(name, tensor)

    monkeypatch.setattr(runner, "mode", lambda: "device")
    monkeypatch.setattr(runner, "Device", Noted)
    called = InProcess(torch.nn.functional.silu, EXERCISES["silu_forward"].contract, "triton", guarded=False)
    for rows in (0, 3, 2):
        assert called.once((torch.ones(rows, 4),)).trouble is None
    assert put == [(0, 4), (3, 4), (2, 4)]


@pytest.mark.parametrize("machine", [Emulator, lambda: Device("cpu")], ids=["emulator", "device"])
def test_emulator_and_device_offer_the_same(machine):
    assert isinstance(machine(), Machine)
