"""The emulator computes what a device computes: conversions bit for bit, bfloat16 and float16 rounded at every step."""

import math

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from graded_kernels.autograder.gpu.emulator import Emulator, arithmetic

BF16 = torch.arange(2**16, dtype=torch.int32).to(torch.int16).view(torch.bfloat16)


def float32_sample() -> torch.Tensor:
    """Random bit patterns, every exponent's boundary, halfway points between neighbours of either half precision."""
    generator = np.random.default_rng(0)
    random = generator.integers(0, 2**32, 2**20, dtype=np.uint32)
    upper = np.arange(2**16, dtype=np.uint32) << 16
    halfway = np.concatenate([upper + low for low in (0x0001, 0x7FFF, 0x8000, 0x8001, 0xFFFF)])
    halves = np.arange(2**16, dtype=np.uint16).view(np.float16).astype(np.float32).view(np.uint32)
    near = np.concatenate([halves + low for low in (0x0FFF, 0x1000, 0x1001)])
    bits = np.concatenate([random, upper, halfway, near])
    bits = bits[: bits.size // 1024 * 1024]
    return torch.from_numpy(bits.view(np.float32).copy())


def same_bits(ours: torch.Tensor, theirs: torch.Tensor) -> bool:
    """Equal bit for bit, or both NaN."""
    word = {2: torch.int16, 4: torch.int32}[ours.element_size()]
    return bool(((ours.view(word) == theirs.view(word)) | (ours.isnan() & theirs.isnan())).all())


@triton.jit
def convert_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets).to(y_ptr.dtype.element_ty))


def convert(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    y = torch.zeros(x.shape, dtype=dtype)
    with Emulator() as emulator:
        convert_kernel[(x.numel() // 1024,)](x, y, BLOCK=1024)
    assert emulator.findings == ()
    return y


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_float32_rounds_to_nearest_even(dtype):
    x = float32_sample()
    assert same_bits(convert(x, dtype), x.to(dtype))


def test_every_bfloat16_widens_exactly_and_comes_back():
    wide = convert(BF16, torch.float32)
    assert same_bits(wide, BF16.float())
    assert same_bits(convert(wide, torch.bfloat16), BF16)


def test_every_bfloat16_rounds_to_float16():
    assert same_bits(convert(BF16, torch.float16), BF16.to(torch.float16))


def test_float64_rounds_to_bfloat16_once():
    # Just above the midpoint of 1 and 1 + 2^-7: float32 would round it down to the midpoint, and the midpoint to 1.
    x = torch.tensor([1 + 2**-8 + 2**-40, -1 - 2**-8 - 2**-40, 1 + 2**-8, 1e-50, -1e-50], dtype=torch.float64)
    x = torch.cat([x, torch.zeros(1019, dtype=torch.float64)])
    assert convert(x, torch.bfloat16)[:5].tolist() == [1 + 2**-7, -1 - 2**-7, 1.0, 0.0, 0.0]


def test_float_to_integer_saturates_and_nan_becomes_zero():
    x = torch.tensor([1e20, -1e20, math.nan, math.inf, -math.inf, 2.9, -2.9, 2147483520.0], dtype=torch.float32)
    y = convert(torch.cat([x, torch.zeros(1016)]), torch.int32)[:8].tolist()
    assert y == [2**31 - 1, -(2**31), 0, 2**31 - 1, -(2**31), 2, -2, 2147483520]


def test_truncation_on_request():
    values = np.array([1 + 2**-8 + 2**-9, -(1 + 2**-8 + 2**-9), 3.0], dtype=np.float32)
    assert arithmetic.from_bf16(arithmetic.to_bf16(values, to_zero=True)).tolist() == [1.0, -1.0, 3.0]


@triton.jit
def binary_kernel(a_ptr, b_ptr, y_ptr, OP: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a, b = tl.load(a_ptr + offsets), tl.load(b_ptr + offsets)
    if OP == "add":
        y = a + b
    elif OP == "sub":
        y = a - b
    elif OP == "mul":
        y = a * b
    elif OP == "less":
        y = (a < b).to(y_ptr.dtype.element_ty)
    elif OP == "equal":
        y = (a == b).to(y_ptr.dtype.element_ty)
    elif OP == "maximum":
        y = tl.maximum(a, b)
    else:
        y = tl.where(a > b, a, b)
    tl.store(y_ptr + offsets, y)


REFERENCE = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "less": torch.lt,
    "equal": torch.eq,
    "maximum": lambda a, b: torch.where(a.isnan(), b, torch.where(b.isnan(), a, torch.maximum(a, b))),
    "where": lambda a, b: torch.where(a > b, a, b),
}


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("op", REFERENCE)
def test_half_precision_operators_over_every_value(op, dtype):
    a = BF16 if dtype == torch.bfloat16 else BF16.view(torch.float16)
    b = a[torch.randperm(2**16, generator=torch.Generator().manual_seed(1))]
    y = torch.zeros_like(a)
    with Emulator():
        binary_kernel[(64,)](a, b, y, OP=op, BLOCK=1024)
    expected = REFERENCE[op](a, b).to(dtype)
    equal = (y == expected) | (y.isnan() & expected.isnan())
    assert bool(equal.all()), f"{int((~equal).sum())} of 65536 differ"


@triton.jit
def reduce_kernel(x_ptr, y_ptr, KIND: tl.constexpr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    if KIND == "sum":
        y = tl.sum(x)
    elif KIND == "max":
        y = tl.max(x)
    elif KIND == "min":
        y = tl.min(x)
    elif KIND == "argmax":
        y = tl.argmax(x, axis=0)
    elif KIND == "cumsum":
        y = tl.sum(tl.where(tl.arange(0, N) == N - 1, tl.cumsum(x), 0.0))
    tl.store(y_ptr, y.to(tl.float32))


def reduce(x: torch.Tensor, kind: str) -> float:
    y = torch.zeros(1)
    with Emulator():
        reduce_kernel[(1,)](x, y, KIND=kind, N=x.numel())
    return y.item()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_reductions(dtype):
    x = torch.tensor([1.0, 2.0, 3.0, 4.0, -5.0, -2.0, 7.0, 0.5], dtype=dtype)
    assert [reduce(x, kind) for kind in ("sum", "max", "min", "argmax", "cumsum")] == [10.5, 7.0, -5.0, 6.0, 10.5]


def test_a_sum_is_as_wrong_as_its_type():
    ulp = 2.0**-8  # half an ulp of 1 in bfloat16: lost in every addition to 1
    x = torch.tensor([1.0, ulp, 0.0, 0.0, ulp, 0.0, 0.0, 0.0], dtype=torch.bfloat16)
    assert reduce(x, "sum") == 1.0
    assert reduce(x.float(), "sum") == 1 + 2 * ulp
    half = torch.tensor([2048.0, 1.0, 1.0, 0.0], dtype=torch.float16)  # 2049 is no float16
    assert reduce(half, "sum") == 2048.0
    assert reduce(half.float(), "sum") == 2050.0
    assert math.isinf(reduce(torch.full((4,), 30000.0, dtype=torch.float16), "sum"))


def test_maximum_drops_nan_as_the_hardware_does():
    assert reduce(torch.tensor([1.0, math.nan, 3.0, math.nan]), "max") == 3.0
    assert math.isnan(reduce(torch.full((4,), math.nan), "max"))


@triton.jit
def atomic_kernel(x_ptr, y_ptr, N: tl.constexpr):
    tl.atomic_add(y_ptr + tl.arange(0, N) % 2, tl.load(x_ptr + tl.program_id(0) * N + tl.arange(0, N)))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_atomic_add(dtype):
    x, y = torch.arange(16.0).to(dtype), torch.zeros(2, dtype=dtype)
    with Emulator() as emulator:
        atomic_kernel[(2,)](x, y, N=8)
    assert emulator.findings == ()
    assert y.tolist() == [56.0, 64.0]


@triton.jit
def constants_kernel(x_ptr, y_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    y = tl.full([N], 1.5, x.dtype) - x * 0.5
    tl.store(y_ptr + i, tl.where(-x > 1, tl.abs(x), y))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_constants_in_half_precision(dtype):
    x, y = torch.linspace(-3, 3, 16).to(dtype), torch.zeros(16, dtype=dtype)
    with Emulator():
        constants_kernel[(1,)](x, y, N=16)
    assert torch.equal(y, torch.where(-x > 1, x.abs(), 1.5 - x * 0.5))


@triton.jit
def dot_kernel(a_ptr, b_ptr, y_ptr, N: tl.constexpr, PRECISION: tl.constexpr):
    i = tl.arange(0, N)
    at = i[:, None] * N + i[None, :]
    y = tl.dot(tl.load(a_ptr + at), tl.load(b_ptr + at), input_precision=PRECISION)
    tl.store(y_ptr + at, y)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_dot(dtype):
    generator = torch.Generator().manual_seed(2)
    a, b = (torch.randn(16, 16, generator=generator).to(dtype) for _ in range(2))
    y = torch.zeros(16, 16)
    with Emulator() as emulator:
        dot_kernel[(1,)](a, b, y, N=16, PRECISION="ieee")
    assert torch.allclose(y.double(), a.double() @ b.double(), rtol=1e-5, atol=1e-5)
    assert "dot" not in emulator.looser


@pytest.mark.parametrize("value, cut", [(1 + 2**-10, 1 + 2**-10), (1 + 2**-11, 1), (-1 - 2**-10 + 2**-23, -1)])
def test_a_product_of_float32_is_in_tf32_unless_told_otherwise(value, cut):
    """As Triton's compiler has it on an A100 and later: `mma` reads a float32 and leaves out its last 13 bits."""
    a, y = torch.eye(16) * value, torch.zeros(16, 16)
    with Emulator() as emulator:
        default_dot_kernel[(1,)](a, torch.eye(16), y, N=16)
    assert y[3, 3] == torch.tensor(cut)
    assert y[3, 4] == 0
    assert emulator.looser == ("dot",)
    (hint,) = emulator.hints
    assert hint.kind == "tf32"
    assert "y = tl.dot(" in hint.source
    assert 'Pass `input_precision="ieee"`' in hint.message
    with Emulator() as emulator:
        dot_kernel[(1,)](a, torch.eye(16), y, N=16, PRECISION="ieee")
    assert y[3, 3] == torch.tensor(value)
    assert emulator.looser == () == emulator.hints


@triton.jit
def default_dot_kernel(a_ptr, b_ptr, y_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    at = i[:, None] * N + i[None, :]
    y = tl.dot(tl.load(a_ptr + at), tl.load(b_ptr + at))
    tl.store(y_ptr + at, y)


@triton.jit
def allowed_dot_kernel(a_ptr, b_ptr, y_ptr, N: tl.constexpr, ALLOWED: tl.constexpr):
    i = tl.arange(0, N)
    at = i[:, None] * N + i[None, :]
    y = tl.dot(tl.load(a_ptr + at), tl.load(b_ptr + at), allow_tf32=ALLOWED)
    tl.store(y_ptr + at, y)


@pytest.mark.parametrize("allowed, expected", [(True, 1.0), (False, 1 + 2**-12)])
def test_tf32_by_its_former_name(allowed, expected):
    y = torch.zeros(16, 16)
    with Emulator():
        allowed_dot_kernel[(1,)](torch.eye(16) * (1 + 2**-12), torch.eye(16), y, N=16, ALLOWED=allowed)
    assert y[0, 0] == expected


def test_three_products_in_tf32_are_nearly_one_in_float32():
    a, b = torch.randn(2, 16, 16, generator=torch.Generator().manual_seed(4))
    errors = {}
    for precision in ("tf32", "tf32x3", "ieee"):
        y = torch.zeros(16, 16)
        with Emulator():
            dot_kernel[(1,)](a, b, y, N=16, PRECISION=precision)
        errors[precision] = float((y.double() - a.double() @ b.double()).abs().max())
    assert errors["ieee"] < errors["tf32x3"] < 4e-6 < 4e-4 < errors["tf32"], errors


def test_tf32_to_nearest_has_ties_away_from_zero():
    values = np.array([1 + 2**-11, -1 - 2**-11, 1 + 2**-11 - 2**-23, np.inf, -np.inf, np.nan, 0.0], np.float32)
    expected = np.array([1 + 2**-10, -1 - 2**-10, 1, np.inf, -np.inf, np.nan, 0.0], np.float32)
    assert np.array_equal(arithmetic.to_tf32(values, nearest=True), expected, equal_nan=True)


@triton.jit
def scaled_product_kernel(
    a_ptr, a_scale_ptr, b_ptr, b_scale_ptr, c_ptr,
    A: tl.constexpr, B: tl.constexpr, PACK: tl.constexpr, GROUP: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
    K: tl.constexpr,
):  # fmt: skip
    """One product for each program; B scaled where a group is given for it."""
    p = tl.program_id(0)
    rows, columns = tl.arange(0, M), tl.arange(0, N)
    AK: tl.constexpr = K // 2 if A == "e2m1" else K
    a = tl.load(a_ptr + p * M * AK + rows[:, None] * AK + tl.arange(0, AK)[None, :])
    BK: tl.constexpr = K // 2 if B == "e2m1" and PACK else K
    BN: tl.constexpr = N // 2 if B == "e2m1" and not PACK else N
    b = tl.load(b_ptr + tl.arange(0, BK)[:, None] * BN + tl.arange(0, BN)[None, :])
    a_scale = tl.load(a_scale_ptr + rows[:, None] * (K // GROUP) + tl.arange(0, K // GROUP)[None, :])
    b_scale = None
    if B != "bf16":
        b_scale = tl.load(b_scale_ptr + columns[:, None] * (K // GROUP) + tl.arange(0, K // GROUP)[None, :])
    c = tl.dot_scaled(a, a_scale, A, b, b_scale, B, acc=tl.full((M, N), 0.5, tl.float32), rhs_k_pack=PACK)
    tl.store(c_ptr + p * M * N + rows[:, None] * N + columns[None, :], c)


FLOAT4 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])
FLOAT4 = torch.cat([FLOAT4, -FLOAT4]).double()


def float4(words, axis):
    words = words.movedim(axis, -1)
    both = torch.stack([FLOAT4[(words & 15).long()], FLOAT4[(words >> 4).long()]], -1)
    return both.flatten(-2).movedim(-1, axis)


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize(
    ("left", "right", "pack", "group"),
    [("e2m1", "e2m1", True, 32), ("e2m1", "e2m1", False, 32), ("e4m3", "bf16", True, 32), ("e2m1", "e2m1", True, 16)],
)
def test_products_in_microscaling_formats(left, right, pack, group, together):
    M, N, K, programs = 16, 32, 64, 3
    generator = torch.Generator().manual_seed(0)

    def words(*shape):
        return torch.randint(0, 256, shape, dtype=torch.uint8, generator=generator)

    def block(form, shape, axis):
        if form == "bf16":
            dense = torch.randn(*shape, generator=generator).bfloat16()
            return dense, dense.double()
        if form == "e4m3":
            dense = torch.randn(*shape, generator=generator).to(torch.float8_e4m3fn)
            return dense, dense.double()
        shape = list(shape)
        shape[axis] //= 2
        packed = words(*shape)
        return packed, float4(packed, axis)

    a, a_exact = block(left, (programs, M, K), 2)
    b, b_exact = block(right, (K, N), 0 if pack else 1)
    if group == 16:
        scales = [torch.rand(n, K // 16, generator=generator).to(torch.float8_e4m3fn) for n in (M, N)]
        factors = [scale.double() for scale in scales]
    else:
        scales = [torch.randint(120, 135, (n, K // 32), dtype=torch.uint8, generator=generator) for n in (M, N)]
        factors = [torch.exp2(scale.double() - 127) for scale in scales]
    a_exact = a_exact * factors[0].repeat_interleave(group, 1)
    if right != "bf16":
        b_exact = b_exact * factors[1].repeat_interleave(group, 1).T
    c = torch.empty(programs, M, N)
    with Emulator() as emulator:
        emulator.together = together
        scaled_product_kernel[(programs,)](a, scales[0], b, scales[1], c, left, right, pack, group, M, N, K)
    assert not emulator.fallbacks
    exact = a_exact @ b_exact + 0.5
    assert (c - exact).abs().max() <= 1e-6 * (a_exact.abs() @ b_exact.abs()).max()
    scales[0][3, 1] = 255 if group == 32 else torch.nan
    with Emulator():
        scaled_product_kernel[(programs,)](a, scales[0], b, scales[1], c, left, right, pack, group, M, N, K)
    assert c[:, 3].isnan().all()
    assert not c[:, :3].isnan().any()
