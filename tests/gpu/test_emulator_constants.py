"""Constants and Python's functions in a kernel mean what the compiler makes of them, or are refused as it does."""

import pytest
import torch
import triton
import triton.language as tl
from both_ways import assert_same
from graded_kernels.autograder.gpu.emulator import Emulator, EmulatorError

FACTOR = tl.constexpr(3)


@triton.jit
def seen_kernel(y_ptr, a, C: tl.constexpr, NAME: tl.constexpr):
    """Stores at n where the n-th question is answered with yes, as Triton 3.7.1 compiles it: 0, 2, 4, 5, 6, 8 to 11."""
    if isinstance(C, int):
        tl.store(y_ptr, 1)
    if isinstance(C, tl.constexpr):
        tl.store(y_ptr + 1, 1)
    if isinstance(FACTOR, int):
        tl.store(y_ptr + 2, 1)
    if isinstance(FACTOR, tl.constexpr) or hasattr(FACTOR, "value") or getattr(FACTOR, "value", 0) == 3:
        tl.store(y_ptr + 3, 1)
    if isinstance(C + 1, int):
        tl.store(y_ptr + 4, 1)
    if isinstance(C.value, int) and C.value == C:
        tl.store(y_ptr + 5, 1)
    if FACTOR.value == 3 and int(FACTOR) == 3 and float(C) == 16.0 and len(NAME) == 3:
        tl.store(y_ptr + 6, 1)
    if isinstance(a, int):
        tl.store(y_ptr + 7, 1)
    if isinstance(y_ptr, tl.tensor) and isinstance(a, tl.tensor):
        tl.store(y_ptr + 8, 1)
    if NAME == "abc":
        tl.store(y_ptr + 9, 1)
    if C.type == tl.constexpr_type(16) and C.type != FACTOR.type and NAME.type == NAME.type:
        tl.store(y_ptr + 10, 1)
    if a.type == tl.int32 and y_ptr.type.element_ty == tl.int32:
        tl.store(y_ptr + 11, 1)


def test_a_kernel_sees_constants_as_the_compiler_shows_them():
    def program():
        y = torch.zeros(12, dtype=torch.int32)
        seen_kernel[(1,)](y, 5, C=16, NAME="abc")
        return y

    with Emulator():
        assert program().nonzero().ravel().tolist() == [0, 2, 4, 5, 6, 8, 9, 10, 11]
    assert_same(program)


@triton.jit
def converting_kernel(y_ptr, a, WAY: tl.constexpr):
    if WAY == "float":
        tl.store(y_ptr, float(a))
    elif WAY == "int":
        tl.store(y_ptr, int(a))
    elif WAY == "bool":
        tl.store(y_ptr, bool(a))
    elif WAY == "abs":
        tl.store(y_ptr, abs(a))
    else:
        tl.store(y_ptr, a.to(tl.int32))


@pytest.mark.parametrize(
    "way, says",
    [
        ("float", r"known when it runs; convert it with `\.to\(tl\.float32\)`"),
        ("int", r"known when it runs; convert it with `\.to\(tl\.int32\)`"),
        ("bool", "Triton does not know Python's `bool`"),
        ("abs", "Triton does not know Python's `abs`"),
    ],
)
def test_what_the_compiler_refuses_is_refused(way, says):
    """`float(2.5)` of an argument was 2."""
    with Emulator() as emulator, pytest.raises(EmulatorError, match=says):
        converting_kernel[(1,)](torch.zeros(1), 2.5, WAY=way)
    (finding,) = emulator.findings
    assert finding.kind == "unsupported"
    assert f"{way}(a)" in finding.source
    assert f"line {finding.line}," in finding.message


def test_what_the_compiler_converts_is_converted():
    y = torch.zeros(1)
    with Emulator():
        converting_kernel[(1,)](y, 2.5, WAY="to")
    assert y.item() == 2.0


@triton.jit
def shadowing_kernel(y_ptr, abs: tl.constexpr):
    float = 4.0
    tl.store(y_ptr, float + abs)


def test_names_of_a_kernels_own_are_its_own():
    y = torch.zeros(1)
    with Emulator():
        shadowing_kernel[(1,)](y, abs=2)
    assert y.item() == 6.0


HALF = tl.constexpr(1.5)


@triton.jit
def operator_kernel(x_ptr, i_ptr, y_ptr, z_ptr, NAME: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x, i = tl.load(x_ptr + offsets), tl.load(i_ptr + offsets)
    if NAME == "arithmetic":
        y = tl.exp(HALF * x) + tl.abs(HALF - x) + tl.sqrt(HALF + x) + tl.abs(HALF / x)
        z = tl.exp(x * 1.5) + tl.abs(1.5 - x) + tl.sqrt(x + 1.5) + tl.abs(1.5 / x)
    elif NAME == "integers":
        y = tl.abs(FACTOR // i) + tl.abs(FACTOR % i) + tl.abs((FACTOR & i) | (FACTOR ^ i))
        z = tl.abs(3 // i) + tl.abs(3 % i) + tl.abs((3 & i) | (3 ^ i))
    elif NAME == "order":
        y = tl.where((HALF < x) | (HALF >= 2 * x), tl.exp(x), 0.0)
        z = tl.where((x > 1.5) | (2 * x <= 1.5), tl.exp(x), 0.0)
    else:
        y = tl.where((FACTOR == i) | (FACTOR != i + 1), tl.exp(x), 0.0)
        z = tl.where((i == 3) | (i + 1 != 3), tl.exp(x), 0.0)
    tl.store(y_ptr + offsets, y)
    tl.store(z_ptr + offsets, z)


@pytest.mark.parametrize("name", ["arithmetic", "integers", "order", "equality"])
def test_a_global_constant_on_the_left_of_a_tensor_is_a_number(name):
    """Where a function takes the result: of a constant of Triton's that holds a tensor none can."""
    x, i = torch.linspace(0.1, 3, 8), torch.arange(1, 9, dtype=torch.int32)
    y, z = torch.zeros(8), torch.ones(8)
    with Emulator():
        operator_kernel[(1,)](x, i, y, z, NAME=name, BLOCK=8)
    assert y.equal(z)
    assert y.unique().numel() > 2


@triton.jit
def asking_kernel(y_ptr, one, two, real, FLAG: tl.constexpr):
    tl.store(y_ptr, 1 if isinstance(one, int) else 0)
    tl.store(y_ptr + 1, 1 if isinstance(two, int) else 0)
    tl.store(y_ptr + 2, 1 if isinstance(real, float) else 0)


@pytest.mark.parametrize("fixed, seen", [((), [1, 0, 0]), (("one",), [0, 0, 0]), ((1,), [0, 0, 0])])
def test_an_integer_of_one_is_a_constant_as_compiled(fixed, seen):
    """A kernel that asks gets the compiled kernel's answer, and not another one here."""
    kernel, y = triton.jit(asking_kernel.fn, do_not_specialize=list(fixed)), torch.zeros(3, dtype=torch.int32)
    with Emulator():
        kernel[(1,)](y, 1, 2, 1.0, FLAG=True)
    assert y.tolist() == seen


@triton.jit
def dividing_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    divisor = tl.load(x_ptr + i, mask=i < n, other=0)
    tl.store(y_ptr + i, 100 // divisor + 100 % divisor, mask=i < n)


@pytest.mark.parametrize("n, kinds", [(5, []), (0, ["division-by-zero"])])
def test_lanes_that_a_mask_leaves_out_may_divide_by_zero(n, kinds):
    y = torch.zeros(8, dtype=torch.int32)
    with Emulator() as emulator:
        dividing_kernel[(1,)](torch.full((8,), 7, dtype=torch.int32), y, n, BLOCK=8)
    assert [finding.kind for finding in emulator.findings][:1] == kinds
    assert y[:n].tolist() == [16] * n


@triton.jit
def chosen(n):
    if n > 3:
        return 1
    return 2


@triton.jit
def first_of_two(x):
    if x != 1:
        return 2
    return 1


@triton.jit
def one_or(x, n):
    if x == 1:
        return x
    return n


@triton.jit
def one_or_one(x):
    if x == 1:
        return x
    return 1


@triton.jit
def assigned_kernel(y_ptr, one, n):
    """Stores at k where the k-th number is an int32, whose lowest bit becomes a sign, as Triton 3.7.1 compiles it: 1 to
    7, 10, and not where it is a constant.
    """
    if (one << 31) < 0:
        tl.store(y_ptr, 1)
    a, _ = one, 0
    tl.store(y_ptr + 1, (a << 31) < 0)
    both = (one, 0)
    both += (one,)
    tl.store(y_ptr + 2, ((both[0] << 31) < 0) & ((both[2] << 31) < 0))
    c: tl.int32 = one
    tl.store(y_ptr + 3, (c << 31) < 0)
    tl.store(y_ptr + 4, ((one if n > 3 else 0) << 31) < 0)
    tl.store(y_ptr + 5, (chosen(n) << 31) < 0)
    tenth = 0.0
    tenth += 0.1
    tl.store(y_ptr + 6, (tenth + 0.2) == 0.3)
    one += 0
    tl.store(y_ptr + 7, (one << 31) < 0)
    if (first_of_two(1) << 31) < 0:
        tl.store(y_ptr + 8, 1)
    d: tl.constexpr = 1
    if (d << 31) < 0:
        tl.store(y_ptr + 9, 1)
    tl.store(y_ptr + 10, (one_or(1, n) << 31) < 0)
    if (one_or_one(1) << 31) < 0:
        tl.store(y_ptr + 11, 1)


def test_a_number_that_is_assigned_is_a_tensor():
    def program():
        y = torch.zeros(12, dtype=torch.int32)
        assigned_kernel[(1,)](y, 1, 5)
        return y

    with Emulator():
        assert program().tolist() == [0, 1, 1, 1, 1, 1, 1, 1, 0, 0, 1, 0]
    assert_same(program)
