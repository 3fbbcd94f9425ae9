"""Watching a real GPU: what can be proven without one (the pads), and the same checks on the device where there is
one.
"""

import pytest
import torch
from answers import PAIRS, answer
from graded_kernels.autograder import check
from graded_kernels.autograder.device import Device
from graded_kernels.solutions.silu import silu_forward


def outside(tensor: torch.Tensor, first: int, count: int) -> torch.Tensor:
    """Elements relative to the first of ``tensor``, as a stray kernel would address them."""
    storage = torch.empty(0, dtype=tensor.dtype).set_(tensor.untyped_storage())
    return storage[tensor.storage_offset() + first :][:count]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int64])
def test_a_tensor_keeps_shape_strides_and_values(dtype):
    original = torch.arange(60).to(dtype).reshape(6, 10)[1:, ::2]
    padded = Device("cpu").put("x", original)
    assert (padded.shape, padded.stride(), padded.dtype) == (original.shape, original.stride(), dtype)
    assert torch.equal(padded, original) and padded.data_ptr() != original.data_ptr()


def test_a_store_outside_is_found_on_both_sides():
    device = Device("cpu")
    x, y = device.put("x", torch.ones(10)), device.poison_(torch.empty(10))
    assert y.isnan().all() and not device.findings
    outside(x, 10, 3)[2] = 7.0
    outside(y, -2, 1).zero_()
    assert [f.message for f in device.findings] == [
        "A kernel stored 8 bytes past the end of x: mask the store.",
        "A kernel stored 8 bytes before the beginning of a tensor from torch.empty.",
    ]


def test_a_load_outside_reads_nan():
    x = Device("cpu").put("x", torch.ones(10))
    assert outside(x, 10, 100).isnan().all() and outside(x, -5, 5).isnan().all()


@pytest.mark.gpu
@pytest.mark.parametrize(("name", "backend"), [pair for pair in PAIRS if pair[1] == "triton"])
def test_answers_pass_on_the_device(name, backend, tmp_path):
    """In a process of its own: this one interprets."""
    import os
    import subprocess
    import sys

    path = tmp_path / "answer.py"
    whole = answer(name, backend)
    path.write_text("\n\n".join([whole.setup, *(cell.source for cell in whole.cells)]))
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
