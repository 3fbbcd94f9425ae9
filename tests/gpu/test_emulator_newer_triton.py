"""What Triton's own interpreter lacks: flags, aggregates' methods, functions of elements, descriptors' atomics."""

import pytest
import torch
import triton
import triton.language as tl
from graded_kernels.autograder.gpu.emulator import Emulator, EmulatorError
from graded_kernels.autograder.gpu.emulator.aggregates import owners
from triton.tools.tensor_descriptor import TensorDescriptor

FLAGS = pytest.mark.skipif(not hasattr(tl, "atomic_poll"), reason="this Triton has no tl.atomic_poll, which 3.9 added")
AGGREGATES = pytest.mark.skipif(not owners(), reason="this Triton has no aggregates")


@triton.jit
def chain_kernel(x, total, flag, SEM: tl.constexpr, AFTER: tl.constexpr, SCOPE: tl.constexpr):
    """A running sum: each program waits for the one before."""
    p = tl.program_id(0)
    tl.atomic_poll(flag + p + AFTER, 1, sem="acquire" if SEM == "release" else "relaxed", scope=SCOPE)
    before = tl.load(total + p)
    tl.store(total + p + 1, before + tl.load(x + p))
    tl.atomic_store(flag + p + 1, 1, sem=SEM, scope=SCOPE)


@triton.jit
def loaded_kernel(data, flag, y):
    if tl.program_id(0) == 0:
        tl.store(data, 7.0)
        tl.atomic_store(flag, 1)
    elif tl.atomic_load(flag, sem="acquire") == 1:
        tl.store(y, tl.load(data))


@triton.jit
def timed_out_kernel(flag, y):
    tl.store(y, tl.atomic_poll(flag, 1, timeout_ns=1000).to(tl.int32))


def chain(sem="release", after=0, scope="gpu"):
    """The findings, and what the chain computes."""
    x, total = torch.arange(1.0, 6.0), torch.zeros(6)
    flag = torch.zeros(7, dtype=torch.int32)
    flag[0] = 1
    with Emulator() as emulator:
        chain_kernel[(5,)](x, total, flag, SEM=sem, AFTER=after, SCOPE=scope)
    return [finding.kind for finding in emulator.findings], total


@FLAGS
def test_flags_order_the_programs():
    kinds, total = chain()
    assert kinds == []
    assert total.tolist() == [0, 1, 3, 6, 10, 15]
    y, flag = torch.zeros(1), torch.zeros(1, dtype=torch.int32)
    with Emulator() as emulator:
        loaded_kernel[(2,)](torch.zeros(1), flag, y)
    assert emulator.findings == ()
    assert y.item() == 7


@FLAGS
@pytest.mark.parametrize(("sem", "scope"), [("relaxed", "gpu"), ("release", "cta")])
def test_flags_that_order_nothing(sem, scope):
    assert "race-read" in chain(sem, scope=scope)[0]


@FLAGS
def test_a_poll_for_what_does_not_come():
    with pytest.raises(EmulatorError, match="waits for a value that no program before it has stored"):
        chain(after=1)
    flag, y = torch.zeros(1, dtype=torch.int32), torch.ones(1, dtype=torch.int32)
    with Emulator():
        timed_out_kernel[(1,)](flag, y)
    assert y.item() == 0


@triton.jit
def selu_of(x, alpha):
    if x > 0:
        return x
    return alpha * (tl.exp(x) - 1)


@triton.jit
def pair_of(x0, x1):
    return x0 + x1, x0 - x1, x1 * 2, x0


@triton.jit
def elementwise_kernel(x, y, z, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i)
    tl.store(y + i, tl.map_elementwise(selu_of, v, v * 0 + 1.5))
    first, second = tl.map_elementwise(pair_of, v, pack=2)
    tl.store(z + i, first)
    tl.store(z + 64 + i, second)


def test_a_function_of_scalars_for_each_element():
    x, y, z = torch.linspace(-3, 3, 64), torch.empty(64), torch.empty(128)
    with Emulator() as emulator:
        elementwise_kernel[(2,)](x, y, z, BLOCK=32)
    assert emulator.findings == ()
    assert torch.allclose(y, torch.where(x > 0, x, 1.5 * (x.exp() - 1)))
    even, odd = x[::2], x[1::2]
    assert torch.allclose(z[:64], torch.stack([even + odd, even - odd], 1).ravel())
    assert torch.allclose(z[64:], torch.stack([odd * 2, even], 1).ravel())


def row_class():
    """An aggregate with two methods, of which one is called by the other, and a static one."""
    aggregate = getattr(*owners()[0])

    @aggregate
    class Row:
        start: tl.tensor
        n: tl.tensor

        @triton.constexpr_function
        def __init__(self, start, n):
            self.start = start
            self.n = n

        @triton.jit
        def on(self, columns):
            return columns < self.n

        @triton.jit
        def load(self, columns, other):
            return tl.load(self.start + columns, mask=self.on(columns), other=other)

        @staticmethod
        @triton.jit
        def twice(x):
            return 2 * x

    return Row


@AGGREGATES
@pytest.mark.parametrize("other", [0.0, None])
def test_methods_of_aggregates(other):
    x, y = torch.arange(20.0).reshape(2, 10), torch.empty(2)
    with Emulator() as emulator:
        Row = row_class()

        @triton.jit
        def kernel(x, y, n, OTHER: tl.constexpr, BLOCK: tl.constexpr):
            row = Row(x + tl.program_id(0) * n, n)
            tl.store(y + tl.program_id(0), tl.sum(Row.twice(row.load(tl.arange(0, BLOCK), OTHER))))

        kernel[(2,)](x, y, 10, OTHER=other, BLOCK=16)
    assert emulator.findings == ()
    assert [hint.kind for hint in emulator.hints] == ([] if other == 0 else ["masked-load"])
    assert (y.tolist() == (2 * x.sum(1)).tolist()) == (other == 0)


@triton.jit
def added_kernel(descriptor, x, OP: tl.constexpr, BLOCK: tl.constexpr):
    p = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    values = tl.load(x + p * BLOCK * BLOCK + i[:, None] * BLOCK + i[None, :])
    if OP == "add":
        descriptor.atomic_add([1, 0], values)
    else:
        descriptor.atomic_max([1, 0], values)


@pytest.mark.parametrize(("operation", "dtype"), [("add", torch.float32), ("add", torch.int32), ("max", torch.int32)])
def test_atomics_of_a_descriptor(operation, dtype):
    """The block hangs over the tensor's end, which is not touched."""
    x = torch.randint(-9, 9, (3, 8, 8), generator=torch.Generator().manual_seed(0)).to(dtype)
    y = torch.zeros(8, 8, dtype=dtype)
    with Emulator() as emulator:
        added_kernel[(3,)](TensorDescriptor.from_tensor(y, [8, 8]), x, OP=operation, BLOCK=8)
    assert emulator.findings == ()
    expected = torch.zeros_like(y)
    expected[1:] = (x.sum(0) if operation == "add" else x.amax(0).clamp(min=0))[:7]
    assert y.equal(expected)
