"""float8 and int8 in kernels: loads, stores and products have the bits of PyTorch's, over all 256 codes."""

import pytest
import torch
import triton
import triton.language as tl
from graded_kernels.autograder.gpu.emulator import Emulator

E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2
CODES = torch.arange(256, dtype=torch.uint8)


@triton.jit
def convert_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    tl.store(y_ptr + at, x.to(y_ptr.dtype.element_ty), mask=at < n)


def converted(x, dtype):
    y = torch.empty(x.shape, dtype=dtype)
    with Emulator() as emulator:
        convert_kernel[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), BLOCK=128)
    assert not emulator.findings
    return y


def same(one, other):
    """The same bits, where neither is NaN."""
    one, other = one.contiguous(), other.contiguous()
    nan = one.float().isnan()
    assert torch.equal(nan, other.float().isnan())
    bits = {1: torch.uint8, 2: torch.int16, 4: torch.int32}[one.element_size()]
    return torch.equal(one.view(bits)[~nan], other.view(bits)[~nan])


@pytest.mark.parametrize("wide", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("dtype", [E4M3, E5M2])
def test_all_codes_are_loaded_and_stored(dtype, wide):
    x = CODES.view(dtype)
    assert same(converted(x, wide), x.to(wide))
    most = torch.finfo(dtype).max  # to which an infinity goes, as NVIDIA's conversion does
    assert same(converted(x.to(wide), dtype), x.float().clamp(-most, most).to(dtype))


@pytest.mark.parametrize("dtype", [E4M3, E5M2])
def test_a_store_rounds_to_the_nearest_even_and_saturates(dtype):
    """The middles between two codes, the float32 numbers beside them, and what lies beyond."""
    every = CODES[:128].view(dtype).float()
    every = every[every.isfinite()]
    middles = (every[1:] + every[:-1]) / 2
    beside = [torch.nextafter(middles, torch.tensor(end)) for end in (0.0, torch.inf)]
    x = torch.cat((every, middles, *beside))
    x = torch.cat((x, -x))
    assert same(converted(x, dtype), x.to(dtype))
    most = every.max()
    beyond = torch.stack((1.01 * most, 2 * most, torch.tensor(1e38), torch.tensor(torch.inf)))
    for sign in (1, -1):
        assert (converted(sign * beyond, dtype).float() == sign * most).all()


@triton.jit
def integer_product_kernel(a_ptr, b_ptr, c_ptr, start, K: tl.constexpr):
    m, k = tl.arange(0, 16), tl.arange(0, K)
    a = tl.load(a_ptr + m[:, None] * K + k[None, :])
    b = tl.load(b_ptr + k[:, None] * 16 + m[None, :])
    c = tl.full((16, 16), 1, tl.int32) * start
    tl.store(c_ptr + m[:, None] * 16 + m[None, :], tl.dot(a, b, c, out_dtype=tl.int32))


def test_a_product_of_int8_is_exact_in_int32():
    """All 256 numbers, -128 among them; the sum of 4,096 largest products is beyond float32's digits."""
    a, b = CODES.view(torch.int8).repeat(16, 16), CODES.view(torch.int8).repeat(16).repeat_interleave(16).view(-1, 16)
    a[0], b[:, 0] = -128, -128
    c = torch.empty(16, 16, dtype=torch.int32)
    with Emulator() as emulator:
        integer_product_kernel[(1,)](a, b, c, 12345, K=4096)
    assert not emulator.findings
    assert torch.equal(c.long(), a.long() @ b.long() + 12345)
    assert c[0, 0] == 4096 * 2**14 + 12345


@triton.jit
def scaled_kernel(a_ptr, scale_ptr, c_ptr):
    """Rows of 32 codes with a scale each, times 1."""
    m, k = tl.arange(0, 32), tl.arange(0, 32)
    a = tl.load(a_ptr + m[:, None] * 32 + k[None, :])
    scale = tl.load(scale_ptr + m[:, None] + tl.arange(0, 1)[None, :])
    eye = (k[:, None] == m[None, :]).to(tl.bfloat16)
    tl.store(c_ptr + m[:, None] * 32 + k[None, :], tl.dot_scaled(a, scale, "e4m3", eye, None, "bf16"))


def test_scaled_products_read_all_codes_and_scales():
    """Each code that is a number, and each byte of a scale in turn, also 0 and 254; NaN and 255 are NaN."""
    numbers = CODES[(CODES & 127) != 127][:224].view(7, 32)
    codes = torch.cat((numbers, CODES[-33:-1].view(1, 32))).repeat(4, 1)
    for first in range(0, 256, 32):
        scale = torch.arange(first, first + 32, dtype=torch.int32).to(torch.uint8)
        c = torch.empty(32, 32)
        with Emulator():
            scaled_kernel[(1,)](codes.view(E4M3), scale, c)
        right = torch.ldexp(codes.view(E4M3).double(), scale.int()[:, None] - 127).float()
        right[scale == 255] = torch.nan
        right[right.isinf()] = torch.nan  # times the zeros of the other factor
        rows = right.isnan().any(1)
        assert torch.equal(c[~rows], right[~rows])
        assert c[rows].isnan().any(1).all()
