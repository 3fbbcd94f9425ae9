"""Operations an answer seldom needs: integers, order, tables, bits, generators of random numbers, float8."""

import torch
import triton
import triton.language as tl

from . import randn


@triton.jit
def integers_kernel(x_ptr, y_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    tl.store(y_ptr + i, x // 3)
    tl.store(y_ptr + N + i, x % 3)
    tl.store(y_ptr + 2 * N + i, (x >> 1) ^ (x << 2) | (~x & 7))
    tl.store(y_ptr + 3 * N + i, tl.umulhi(x, 1 << 20) - x)


def integers_divide_toward_zero():
    x, y = torch.arange(-32, 32, dtype=torch.int32), torch.empty(256, dtype=torch.int32)
    integers_kernel[(1,)](x, y, N=64)
    high = (x.long() % 2**32 * 2**20 >> 32).int() - x
    shifted = (x >> 1) ^ (x << 2) | (~x & 7)
    return y, torch.cat([torch.div(x, 3, rounding_mode="trunc"), torch.fmod(x, 3), shifted, high])


@triton.jit
def order_kernel(x_ptr, y_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    tl.store(y_ptr + i, tl.sort(x, descending=True))
    tl.store(y_ptr + N + i, tl.flip(x, 0))
    tl.store(y_ptr + 2 * N + i, tl.gather(x, N - 1 - i, 0))


def sorted_flipped_gathered():
    x, y = randn(64), torch.empty(192)
    order_kernel[(1,)](x, y, N=64)
    return y, torch.cat([x.sort(descending=True).values, x.flip(0), x.flip(0)])


@triton.jit
def table_kernel(x_ptr, y_ptr, n, N: tl.constexpr, BINS: tl.constexpr):
    i = tl.arange(0, N)
    counts = tl.histogram(tl.load(x_ptr + i, mask=i < n, other=0), BINS, mask=i < n)
    tl.store(y_ptr + tl.arange(0, BINS), counts)


def a_masked_histogram():
    x = torch.randint(0, 8, (50,), generator=torch.Generator().manual_seed(0), dtype=torch.int32)
    y = torch.empty(8, dtype=torch.int32)
    table_kernel[(1,)](x, y, 50, N=64, BINS=8)
    return y, torch.bincount(x, minlength=8).int()


@triton.jit
def largest_kernel(x_ptr, y_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.program_id(0) * N + tl.arange(0, N))
    tl.atomic_max(y_ptr, tl.max(x))
    tl.atomic_min(y_ptr + 1, tl.min(x))
    tl.atomic_or(y_ptr + 2, tl.max(x))
    tl.atomic_xor(y_ptr + 3, tl.max(x))


def atomics_of_64_bits():
    x, y = torch.arange(256) * 2**33, torch.tensor([-1, 2**60, 0, 0])
    largest_kernel[(4,)](x, y, N=64)
    peaks = x.reshape(4, 64).max(1).values.tolist()
    either = odd = 0
    for peak in peaks:
        either, odd = either | peak, odd ^ peak
    return y, torch.tensor([peaks[-1], 0, either, odd])


@triton.jit
def random_kernel(y_ptr, seed, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b, c, d = tl.randint4x(seed, i)
    tl.store(y_ptr + i, (a ^ b ^ c ^ d).to(tl.float32))
    tl.store(y_ptr + N + i, tl.rand(seed, i))
    tl.store(y_ptr + 2 * N + i, tl.randn(seed, i))


def random_numbers_of_a_64_bit_seed():
    y, again = torch.empty(192), torch.empty(192)
    random_kernel[(1,)](y, 2**40 + 5, N=64)
    random_kernel[(1,)](again, 2**40 + 5, N=64)
    assert len(y[64:].unique()) > 120
    return y, again


@triton.jit
def address_kernel(x_ptr, y_ptr, N: tl.constexpr):
    i = tl.arange(0, N).to(tl.int64)
    address = x_ptr.to(tl.int64, bitcast=True) + 4 * i
    tl.store(y_ptr + i, tl.load(address.to(tl.pointer_type(tl.float32), bitcast=True)))


def arithmetic_on_addresses():
    x, y = randn(64), torch.empty(64)
    address_kernel[(1,)](x, y, N=64)
    return y, x


@triton.jit
def float8_kernel(x_ptr, y_ptr, z_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    tl.store(y_ptr + i, x.to(y_ptr.dtype.element_ty))
    tl.store(z_ptr + i, x.to(y_ptr.dtype.element_ty).to(tl.float32))


def float8(dtype):
    x, y, z = randn(256) * 2, torch.empty(256, dtype=dtype), torch.empty(256)
    float8_kernel[(1,)](x, y, z, N=256)
    expected = x.to(dtype).float()
    return torch.cat([y.float(), z]), torch.cat([expected, expected])


def float8_with_three_bits():
    return float8(torch.float8_e4m3fn)


def float8_with_two_bits():
    return float8(torch.float8_e5m2)


PROGRAMS = [
    integers_divide_toward_zero,
    sorted_flipped_gathered,
    a_masked_histogram,
    atomics_of_64_bits,
    random_numbers_of_a_64_bit_seed,
    arithmetic_on_addresses,
    float8_with_three_bits,
    float8_with_two_bits,
]
