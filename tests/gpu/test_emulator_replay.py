"""A launch on the same bits is replayed and not run again; whatever else it could depend on makes it run."""

import pytest
import torch
import triton
import triton.language as tl
from both_ways import observe
from graded_kernels.autograder import check
from graded_kernels.autograder.gpu.emulator import Replay

FACTOR = tl.constexpr(3.0)
CALLS = [0.0]


@triton.jit
def scaled(x, factor):
    return tl.exp(x) * factor * FACTOR


@triton.jit
def scale_kernel(x_ptr, y_ptr, n, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    tl.static_print("BLOCK is", BLOCK)
    tl.store(y_ptr + at, scaled(x, factor), mask=at < n)


@triton.jit
def counting_kernel(x_ptr, y_ptr, n, factor, BLOCK: tl.constexpr):
    CALLS[0] += 1.0
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n, other=0.0) + CALLS[0], mask=at < n)


@triton.jit
def adding_kernel(x_ptr, y_ptr, n, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(y_ptr + at % 2, tl.load(x_ptr + at, mask=at < n, other=0.0), mask=at < n)


@triton.jit
def one_store_kernel(x_ptr, y_ptr, n, factor, BLOCK: tl.constexpr):
    """Every program stores the same value in one place."""
    tl.store(y_ptr, tl.load(x_ptr))


@triton.jit
def following_kernel(table_ptr, y_ptr):
    tl.store(y_ptr, tl.load(tl.load(table_ptr).to(tl.pointer_type(tl.float32))))


def launch(kernel=scale_kernel, n=40, factor=2.0, offset=0, changed=0.0, together=False, size=64, block=16):
    """Elements 0 to n of a tensor that begins ``offset`` elements into its storage, of which the last is ``changed``.

    together: x and y share a storage.
    """
    memory = torch.linspace(-1, 1, 256)
    memory[-1] += changed
    x = memory[offset : offset + 64]
    y = memory[128 : 128 + size] if together else torch.full((size,), 7.0)

    def program():
        kernel[(triton.cdiv(n, 16),)](x, y, n, factor, BLOCK=block)
        return y

    return program


def test_a_launch_on_the_same_bits_is_replayed(capfd):
    for options in ({}, {"together": True}, {"offset": 3}):
        alone, _ = observe(launch(**options), "one at a time", 1)
        capfd.readouterr()
        replay = Replay()
        for times in range(2):
            assert observe(launch(**options), "together", 1, replay)[0] == alone
            assert (capfd.readouterr().out, replay.replayed) == ("BLOCK is 16\n", times)


@pytest.mark.parametrize(
    "change",
    [{"n": 41}, {"factor": 2.5}, {"offset": 3}, {"changed": 1.0}, {"together": True}, {"size": 65}, {"block": 32}],
    ids=lambda change: next(iter(change)),
)
def test_another_launch_is_run(change):
    """A scalar, where a tensor begins, one byte that it may reach, and which tensors share memory."""
    replay = Replay()
    observe(launch(), "together", 1, replay)
    assert observe(launch(**change), "together", 1, replay) == observe(launch(**change), "together", 1)
    assert replay.replayed == 0


def test_another_constant_is_another_launch(monkeypatch):
    replay = Replay()
    before, _ = observe(launch(), "together", 1, replay)
    monkeypatch.setitem(globals(), "FACTOR", tl.constexpr(4.0))
    after, _ = observe(launch(), "together", 1, replay)
    assert replay.replayed == 0
    assert after.outputs != before.outputs


@pytest.mark.parametrize(
    "kernel", [counting_kernel, adding_kernel, one_store_kernel], ids=lambda kernel: kernel.__name__
)
def test_a_launch_that_depends_on_more_is_run(kernel):
    """On what its module keeps, on the order of its programs, or on what no pass could settle."""
    replay = Replay()
    for _ in range(2):
        observe(launch(kernel), "together", 1, replay)
    assert replay.replayed == 0


def test_a_launch_that_follows_a_stored_address_is_run():
    x, y, replay = torch.ones(1), torch.zeros(1), Replay()
    table = torch.tensor([x.data_ptr()])
    for value in (1.0, 2.0):
        x.fill_(value)
        y.zero_()
        _, fallbacks = observe(lambda: following_kernel[(1,)](table, y), "together", None, replay)
        assert y.item() == value
        assert not fallbacks
    assert replay.replayed == 0


@triton.jit
def drifting_kernel(a, x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x, y = tl.load(x_ptr + at, mask=at < n, other=0.0), tl.load(y_ptr + at, mask=at < n, other=0.0)
    tl.store(out_ptr + at, a * x + y + CALLS[0], mask=at < n)


def test_what_a_kernel_takes_from_its_module_is_found_by_the_second_call():
    def axpy(a, x, y):
        out, n = torch.empty(x.shape, dtype=x.dtype), x.numel()
        if n:
            drifting_kernel[(triton.cdiv(n, 1024),)](a, x.contiguous(), y.contiguous(), out, n, BLOCK=1024)
        CALLS[0] += drift
        return out

    for drift in (0.0, 1.0):
        CALLS[0] = 0.0
        first = check("axpy", axpy, compiler=False).cases[0]
        assert first.status == ("fail" if drift else "pass")
        assert not drift or first.message == "The same input, given twice, gives different bits."
