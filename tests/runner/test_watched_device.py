"""Watching a real GPU: what can be proven without one, by memory between pads in the place of the GPU's."""

import ctypes

import pytest
import torch
import triton
import triton.language as tl
from graded_kernels.autograder import EXERCISES, Emulator
from graded_kernels.autograder.runner import InProcess, Peak
from graded_kernels.autograder.runner.call.device import Device
from graded_kernels.autograder.runner.call.given import unchanged
from graded_kernels.autograder.runner.call.machine import Machine
from graded_kernels.autograder.runner.sandbox.extracted import answer_of, needed
from graded_kernels.solutions.silu import silu_forward
from on_a_device import on_a_device


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


def test_what_runs_on_a_device_has_a_twin_in_the_emulator(monkeypatch):
    contract = EXERCISES["silu_forward"].contract

    def twin(backend):
        return InProcess(silu_forward, contract, backend).facts.in_emulator

    assert (twin("triton"), twin("torch")) == (None, None)
    on_a_device(monkeypatch)
    assert (twin("triton") is not None, twin("torch")) == (True, None)


@triton.jit
def doubled_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets, mask=offsets < n) * 2, mask=offsets < n)


def doubled(x):
    y = torch.empty_like(x)
    doubled_kernel[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
    return y


def test_a_function_of_a_file_of_tests_is_taken_out_of_it():
    found = answer_of(doubled, "doubled").load()
    assert found.__name__ == "doubled"
    assert "def doubled_kernel" in answer_of(doubled, "doubled").text
    assert found is not doubled
    assert "def test_" not in answer_of(doubled, "doubled").text
    kept = needed(
        "if 1:\n    import a.b as c\nx: int = c.d\nx += 1\ndef g(y): return f(y)\ndef f(x): ...\nz = x\n", "z"
    )
    assert kept == "if 1:\n    import a.b as c\nx: int = c.d\nx += 1\nz = x"


def test_tensors_are_on_the_device_after_a_call_that_launched_nothing(monkeypatch):
    put = []

    class Noted(Device):
        def __init__(self):
            super().__init__("cpu")

        def put(self, name, tensor):
            put.append(tuple(tensor.shape))
            return super().put(name, tensor)

    on_a_device(monkeypatch, Noted)
    called = InProcess(torch.nn.functional.silu, EXERCISES["silu_forward"].contract, "triton", guarded=False)
    for rows in (0, 3, 2):
        assert called.once((torch.ones(rows, 4),)).trouble is None
    assert put == [(0, 4), (3, 4), (2, 4)]


@pytest.mark.parametrize("machine", [Emulator, lambda: Device("cpu")], ids=["emulator", "device"])
def test_emulator_and_device_offer_the_same(machine):
    assert isinstance(machine(), Machine)
