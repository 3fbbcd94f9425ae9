"""Values that Triton's compiler gives, where numpy would give others: one bit, one byte, toward zero, fused."""

import math
from fractions import Fraction

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from graded_kernels.autograder.gpu.emulator import Emulator, EmulatorError, arithmetic


@triton.jit
def ones_kernel(out_ptr, ones, BLOCK: tl.constexpr):
    x = tl.arange(0, BLOCK) < ones
    tl.store(out_ptr, tl.sum(x, dtype=tl.int1).to(tl.int32))
    tl.store(out_ptr + 1, tl.sum(x).to(tl.int32))


@pytest.mark.parametrize("ones", [0, 1, 3, 6, 64])
def test_a_sum_of_one_bit_wraps_around(ones):
    out = torch.zeros(2, dtype=torch.int32)
    with Emulator():
        ones_kernel[(1,)](out, ones, BLOCK=64)
    assert out.tolist() == [ones % 2, ones]


@triton.jit
def scaled_kernel(a_ptr, b_ptr, out_ptr, byte, KIND: tl.constexpr):
    m, k = tl.arange(0, 32), tl.arange(0, 64)
    a = tl.load(a_ptr + m[:, None] * 64 + k[None, :])
    b = tl.load(b_ptr + k[:, None] * 32 + m[None, :])
    scale = tl.full((32, 2), byte.to(KIND), dtype=KIND)
    tl.store(out_ptr + m[:, None] * 32 + m[None, :], tl.dot_scaled(a, scale, "e5m2", b, scale, "e5m2"))


@pytest.mark.parametrize("byte", [125, 127, 128, 130])
@pytest.mark.parametrize("kind", [tl.uint8, tl.int8], ids=str)
def test_a_scale_is_a_byte_of_an_exponent(kind, byte):
    a, b, out = torch.ones(32, 64).to(torch.float8_e5m2), torch.ones(64, 32).to(torch.float8_e5m2), torch.empty(32, 32)
    with Emulator():
        scaled_kernel[(1,)](a, b, out, byte, kind)
    assert out.eq(64.0 * 4.0 ** (byte - 127)).all()


@triton.jit
def narrow_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr, ROUNDING: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at).to(tl.float8e5, fp_downcast_rounding=ROUNDING).to(tl.float32))


@pytest.mark.parametrize(
    ("rounding", "expected"),
    [("rtne", [1.0, 1.25, 1.25, 1.5, 1.75, 2.0, -2.0, 4.0]), ("rtz", [1.0, 1.0, 1.25, 1.25, 1.5, 1.75, -1.75, 3.5])],
)
def test_float8_is_rounded_as_asked(rounding, expected):
    x = torch.tensor([1.0, 1.24, 1.26, 1.49, 1.74, 1.99, -1.99, 3.9])
    out = torch.empty_like(x)
    with Emulator():
        narrow_kernel[(1,)](x, out, BLOCK=8, ROUNDING=rounding)
    assert out.tolist() == expected


@triton.jit
def e4b15_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at).to(tl.float8e4b15, bitcast=True).to(tl.float16))


def test_subnormals_of_e4b15_are_numbers():
    """Four bits of exponent with a bias of 15, three of fraction: 7/8 of 2^-14 is the largest below 2^-14."""
    codes = torch.arange(256, dtype=torch.int16).to(torch.uint8)
    out = torch.empty(256, dtype=torch.float16)
    with Emulator():
        e4b15_kernel[(1,)](codes, out, BLOCK=256)
    exponent, fraction = (codes.int() & 127) >> 3, (codes & 7) / 8
    magnitude = torch.where(exponent == 0, fraction * 2.0**-14, (1 + fraction) * 2.0 ** (exponent - 15))
    assert out.float().equal(torch.where(codes > 127, -magnitude, magnitude))


@triton.jit
def fma_kernel(x_ptr, y_ptr, z_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.fma(tl.load(x_ptr + at), tl.load(y_ptr + at), tl.load(z_ptr + at)))


def test_a_fused_float64_is_rounded_once():
    x = torch.tensor([1 + 2.0**-30, 1 + 2.0**-52, 3.0, 0.0], dtype=torch.float64)
    z = torch.tensor([-1 - 2.0**-29, -1 - 2.0**-51, 1.0, -0.0], dtype=torch.float64)
    out = torch.empty_like(x)
    with Emulator():
        fma_kernel[(1,)](x, x, z, out, BLOCK=4)
    assert out.tolist() == [2.0**-60, 2.0**-104, 10.0, 0.0]


@pytest.mark.parametrize("exponents", [(-5, 5), (-60, 60), (-540, 520), (-1074, -480)], ids=str)
def test_a_fused_float64_is_the_nearest(exponents):
    generator = np.random.default_rng(0)
    x, y, z = (generator.standard_normal(500) * 2.0 ** generator.integers(*exponents, 500) for _ in range(3))
    with np.errstate(all="ignore"):
        product = -(x * y)[:250] * (1 + 2.0**-52 * generator.integers(-3, 4, 250))
        z[:250] = np.where(np.isfinite(product), product, 1)
        made = arithmetic.fma(x, y, z)
    for one, other, third, fused in zip(x, y, z, made, strict=True):
        exact = Fraction(float(one)) * Fraction(float(other)) + Fraction(float(third))
        try:
            nearest = float(exact)
        except OverflowError:
            nearest = math.inf if exact > 0 else -math.inf
        assert fused == nearest


@pytest.mark.parametrize(
    ("warps", "words"), [(3, "must be a power of 2"), (0, "must be a power of 2"), (64, "programs of 2,048 threads")]
)
def test_warps_that_no_gpu_runs_are_refused(warps, words):
    with Emulator() as emulator, pytest.raises(EmulatorError, match=f"num_warps={warps}.*{words}"):
        ones_kernel[(1,)](torch.zeros(2, dtype=torch.int32), 3, BLOCK=64, num_warps=warps)
    assert [finding.kind for finding in emulator.findings] == ["unsupported"]


@triton.jit
def given_kernel(out_ptr, given):
    tl.store(out_ptr, 1)


@pytest.mark.parametrize("given", ["mode", b"mode", 1j, tl.float32, torch.float32], ids=repr)
def test_an_argument_that_the_launcher_refuses_is_refused(given):
    with (
        Emulator(),
        pytest.raises(EmulatorError, match=f"`given` of `given_kernel` is of type {type(given).__name__}: "),
    ):
        given_kernel[(1,)](torch.zeros(1), given)


@triton.jit
def target_kernel(out_ptr):
    if tl.target_info.is_cuda():
        tl.store(out_ptr, 1)
    if tl.target_info.cuda_capability_geq(9, 0):
        tl.store(out_ptr + 1, 1)
    if tl.target_info.is_hip() or tl.target_info.cuda_capability_geq(10, 0):
        tl.store(out_ptr + 2, 1)


def test_a_kernel_that_asks_for_its_device_takes_the_branch_of_a_gpu():
    out = torch.zeros(3, dtype=torch.int32)
    with Emulator():
        target_kernel[(1,)](out)
    assert out.tolist() == [1, 1, 0]


@triton.jit
def computes_in_float8(x_ptr, out_ptr, OPERATION: tl.constexpr):
    i = tl.arange(0, 16)
    x = tl.load(x_ptr + i)
    y = x
    if OPERATION == "adds":
        y = x + x
    if OPERATION == "negates":
        y = -x
    if OPERATION == "compares":
        y = x < x
    if OPERATION == "adds a number":
        y = x + 1.0
    if OPERATION == "takes the larger":
        y = tl.maximum(x, x)
    if OPERATION == "sums":
        y = tl.sum(x, 0)
    if OPERATION == "scans":
        y = tl.cumsum(x, 0)
    if OPERATION == "sorts":
        y = tl.sort(x)
    tl.store(out_ptr + i, y.to(tl.float32))


@pytest.mark.parametrize(
    "operation", ["adds", "negates", "compares", "adds a number", "takes the larger", "sums", "scans", "sorts"]
)
def test_what_no_gpu_computes_in_float8_is_refused(operation):
    """The whole compiler refuses it, and its front end does not."""
    x = torch.ones(16).to(torch.float8_e5m2)
    with (
        Emulator(),
        pytest.raises(triton.CompilationError, match=r"fp8e5; convert them first, as in `x.to\(tl.float32"),
    ):
        computes_in_float8[(1,)](x, torch.empty(16), OPERATION=operation)


@triton.jit
def passes_on_float8(x_ptr, out_ptr):
    i = tl.arange(0, 16)
    x = tl.load(x_ptr + i)
    chosen = tl.where(i < 8, x, tl.abs(x))
    tl.store(out_ptr + i, chosen + x.to(tl.float32) + tl.max(x, 0))


def test_what_a_gpu_does_with_float8_is_not_refused():
    x = -torch.arange(16.0)
    out = torch.empty(16)
    with Emulator():
        passes_on_float8[(1,)](x.to(torch.float8_e4m3fn), out)
    assert out.tolist() == [*(2.0 * x[:8]).tolist(), *[0.0] * 8]


@triton.jit
def magnitude_of_float8(x_ptr, out_ptr, DTYPE: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, N)
    value = tl.abs(tl.load(x_ptr + at).to(DTYPE, bitcast=True))
    tl.store(out_ptr + at, value.to(tl.int8, bitcast=True))


@pytest.mark.parametrize("dtype", [tl.float8e4b15, tl.float8e4nv, tl.float8e5], ids=str)
def test_the_magnitude_of_a_float8_is_its_bits_without_the_sign(dtype):
    """Of one that Triton makes in software as well, for which `tl.abs` is an "and" of a float and an integer."""
    codes, out = torch.arange(-128, 128).to(torch.int8), torch.zeros(256, dtype=torch.int8)
    with Emulator() as emulator:
        magnitude_of_float8[(1,)](codes, out, DTYPE=dtype, N=256)
    assert emulator.findings == ()
    assert torch.equal(out, codes & 127)
