"""Where a kernel loads and stores: descriptors, loops, helpers, tuples, packed integers, strides."""

import torch
import triton
import triton.language as tl
from graded_kernels.autograder.gpu.emulator.aggregates import owners
from triton.tools.tensor_descriptor import TensorDescriptor

from .pair import pair


@triton.jit
def tiles_kernel(tiles, y, stride, N: tl.constexpr, BLOCK: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    rows, columns = start + tl.arange(0, BLOCK), tl.arange(0, N)
    tile = tiles.load([start, 0])
    tl.store(y + rows[:, None] * stride + columns[None, :], 2 * tile)


@pair("out-of-bounds")
def a_descriptor_of_the_host(wrong):
    """Wrong: it is told of more rows than there are."""
    x, y = torch.randn(20, 16, device="cuda"), torch.zeros(32, 16, device="cuda")
    tiles_kernel[(4,)](TensorDescriptor(x, [20 + 4 * wrong, 16], [16, 1], [8, 16]), y, 16, N=16, BLOCK=8)
    return y[:20], 2 * x


@triton.jit
def made_kernel(x, y, rows, more, N: tl.constexpr, BLOCK: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    read = tl.make_tensor_descriptor(x, [rows, N], [N, 1], [BLOCK, N])
    written = tl.make_tensor_descriptor(y, [rows + more, N], [N, 1], [BLOCK, N])
    written.store([start, 0], read.load([start, 0]) * 2)


@pair("out-of-bounds")
def a_descriptor_of_the_device(wrong):
    """Wrong: that of the result is told of more rows than there are."""
    triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
    x, y = torch.randn(20, 16, device="cuda"), torch.zeros(20, 16, device="cuda")
    made_kernel[(3,)](x, y, 20, 4 * wrong, N=16, BLOCK=8)
    return y, 2 * x


@triton.jit
def added_kernel(tile, x, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tile.atomic_add([0, 0], tl.load(x + i[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]))


@pair("out-of-bounds")
def an_atomic_of_a_descriptor(wrong):
    """Wrong: it is told of more rows than there are."""
    x, y = torch.randn(24, 8, device="cuda"), torch.zeros(6, 8, device="cuda")
    added_kernel[(3,)](TensorDescriptor(y, [6 + 2 * wrong, 8], [8, 1], [8, 8]), x, BLOCK=8)
    return y, x.view(3, 8, 8).sum(0)[:6]


@triton.jit
def strided_kernel(x, y, n, WRONG: tl.constexpr, BLOCK: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    while start < n:
        i = start + tl.arange(0, BLOCK)
        inside = i < n + WRONG
        tl.store(y + i, 2 * tl.load(x + i, mask=inside, other=0.0), mask=i < n)
        start += tl.num_programs(0) * BLOCK


@pair("out-of-bounds")
def a_while_over_blocks(wrong):
    """Wrong: the last block reads an element too many."""
    x, y = torch.randn(100, device="cuda"), torch.empty(100, device="cuda")
    strided_kernel[(2,)](x, y, 100, WRONG=wrong, BLOCK=16)
    return y, 2 * x


@triton.jit
def found_kernel(sorted_ptr, x, y, n, WRONG: tl.constexpr):
    value = tl.load(x + tl.program_id(0))
    low, high = 0, n
    while low < high + WRONG:
        middle = (low + high) // 2
        if tl.load(sorted_ptr + middle) < value:
            low = middle + 1
        else:
            high = middle - WRONG
    tl.store(y + tl.program_id(0), low)


@pair("out-of-bounds")
def a_while_until_it_is_found(wrong):
    """A binary search. Wrong: the end of the interval belongs to it, and is one past the last element."""
    x, places = torch.tensor([-1.0, 2.5, 3.0, 99.0], device="cuda"), torch.arange(8.0, device="cuda")
    y = torch.empty(4, dtype=torch.int64, device="cuda")
    found_kernel[(4,)](places, x, y, 8, WRONG=wrong)
    return y, torch.searchsorted(places.cpu(), x.cpu())


@triton.jit
def sums_kernel(xs, strides, y, WRONG: tl.constexpr, N: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, N)
    total = tl.zeros([N], tl.float32)
    for k in tl.static_range(2):
        total += tl.load(xs[k] + row * strides[0 if WRONG else k] + i)
    tl.store(y + row * N + i, total)


@pair("out-of-bounds")
def tuples_of_tensors(wrong):
    """Wrong: the second tensor is read with the first one's stride."""
    a, b = torch.randn(4, 32, device="cuda"), torch.randn(4, 16, device="cuda")
    y = torch.empty(4, 16, device="cuda")
    sums_kernel[(4,)]((a, b), (32, 16), y, WRONG=wrong, N=16)
    return y, a[:, :16] + b


@triton.constexpr_function
def padded(n):
    return triton.next_power_of_2(n)


@triton.jit
def row_kernel(x, y, N: tl.constexpr, WRONG: tl.constexpr):
    i = tl.arange(0, padded(N))
    inside = i < (padded(N) if WRONG else N)
    at = tl.program_id(0) * N + i
    values = tl.load(x + at, mask=inside, other=-float("inf"))
    tl.store(y + tl.program_id(0), tl.max(values))


@pair("out-of-bounds")
def a_function_of_constants(wrong):
    """Wrong: the mask takes the padded size."""
    x, y = torch.randn(3, 20, device="cuda"), torch.empty(3, device="cuda")
    row_kernel[(3,)](x, y, N=20, WRONG=wrong)
    return y, x.amax(1)


@triton.jit(noinline=True)
def fetched(x, i, n, WRONG: tl.constexpr):
    return tl.load(x + i) if WRONG else tl.load(x + i, mask=i < n, other=0.0)


@triton.jit
def calling_kernel(x, y, n, WRONG: tl.constexpr):
    i = tl.program_id(0)
    tl.store(y + i, 2 * fetched(x, i, n, WRONG), mask=i < n)


@pair("out-of-bounds")
def a_function_of_its_own(wrong):
    """`noinline`, which takes no block. Wrong: the function's load lacks its mask."""
    x, y = torch.randn(50, device="cuda"), torch.empty(50, device="cuda")
    calling_kernel[(64,)](x, y, 50, WRONG=wrong)
    return y, 2 * x


@triton.jit
def unpacked_kernel(packed, scale, y, WRONG: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    byte = tl.load(packed + tl.program_id(0) * (N // 2) + (i if WRONG else i // 2))
    nibble = (byte >> 4 * (i % 2)) & 15
    tl.store(y + tl.program_id(0) * N + i, (nibble.to(tl.float32) - 8) * tl.load(scale))


@pair("out-of-bounds")
def integers_of_four_bits(wrong):
    """Wrong: a byte is read for each number, of which it holds two."""
    whole = torch.randint(0, 16, (3, 32))
    packed = (whole[:, ::2] | whole[:, 1::2] << 4).to(torch.uint8).cuda()
    y = torch.empty(3, 32, device="cuda")
    unpacked_kernel[(3,)](packed, torch.full((1,), 0.5, device="cuda"), y, WRONG=wrong, N=32)
    return y, (whole - 8) * 0.5


@triton.jit
def gradient_kernel(dy, y, n, stride, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, 3 * tl.load(dy + i * stride, mask=i < n, other=0.0), mask=i < n)


@pair("out-of-bounds")
def an_expanded_gradient(wrong):
    """What a sum hands back is one number. Wrong: the kernel takes it for as many as it says it has."""

    class Triple(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return 3 * x

        @staticmethod
        def backward(ctx, dy):
            dx = torch.empty(dy.shape, device="cuda")
            gradient_kernel[(3,)](dy, dx, dy.numel(), 1 if wrong else dy.stride(0), BLOCK=16)
            return dx

    x = torch.randn(40, device="cuda", requires_grad=True)
    Triple.apply(x).sum().backward()
    return x.grad, torch.full((40,), 3.0)


@triton.jit
def far_kernel(x, y, stride, N: tl.constexpr, WIDE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) if WIDE else tl.program_id(0)
    i = tl.arange(0, N)
    tl.store(y + tl.program_id(0) * N + i, tl.load(x + row * stride + i))


@pair("out-of-bounds")
def offsets_of_64_bits(wrong):
    """Rows that lie 2^30 elements apart. Wrong: the third one's offset is computed in 32 bits."""
    memory = torch.empty(2**31 + 8, dtype=torch.int8, device="cuda")
    x, y = memory.as_strided((3, 8), (2**30, 1)), torch.empty(3, 8, dtype=torch.int8, device="cuda")
    x.copy_(torch.arange(24).view(3, 8))
    far_kernel[(3,)](x, y, 2**30, N=8, WIDE=not wrong)
    return y, torch.arange(24, dtype=torch.int8).view(3, 8)


@triton.jit
def complex_kernel(x, y, n, WRONG: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * 2 * BLOCK + tl.arange(0, 2 * BLOCK)
    real, imaginary = tl.split(tl.load(x + i, mask=i < 2 * n, other=0.0).reshape(BLOCK, 2))
    square = tl.join(real * real - imaginary * imaginary, 2 * real * imaginary).reshape(2 * BLOCK)
    also = tl.interleave(real * real - imaginary * imaginary, 2 * real * imaginary)
    tl.store(y + i, (square + also) / 2, mask=i < 2 * (n + WRONG))


@pair("out-of-bounds")
def joined_and_split(wrong):
    """Squares of complex numbers. Wrong: the store's mask is one number too long."""
    x, y = torch.randn(20, 2, device="cuda"), torch.empty(20, 2, device="cuda")
    complex_kernel[(3,)](x, y, 20, WRONG=wrong, BLOCK=8)
    return y, torch.view_as_real(torch.view_as_complex(x.cpu()).square())


def rows_class(checked):
    """An aggregate that loads rows of a tensor, masked where ``checked``."""
    aggregate = getattr(*owners()[0])

    @aggregate
    class Rows:
        start: tl.tensor
        n: tl.tensor

        @triton.constexpr_function
        def __init__(self, start, n):
            self.start = start
            self.n = n

        @triton.jit
        def on(self, columns):
            return columns < self.n if checked else columns >= 0

        @triton.jit
        def load(self, row, columns):
            return tl.load(self.start + row * self.n + columns, mask=self.on(columns), other=0.0)

    return Rows


@pair("out-of-bounds", "" if owners() else "aggregates")
def methods_of_an_aggregate(wrong):
    """Wrong: a method's mask holds everywhere."""
    Rows = rows_class(checked=not wrong)

    @triton.jit
    def kernel(x, y, n, BLOCK: tl.constexpr):
        rows, i = Rows(x, n), tl.arange(0, BLOCK)
        tl.store(y + tl.program_id(0) * n + i, 2 * rows.load(tl.program_id(0), i), mask=i < n)

    x, y = torch.randn(3, 12, device="cuda"), torch.empty(3, 12, device="cuda")
    kernel[(3,)](x, y, 12, BLOCK=16)
    return y, 2 * x


@triton.jit
def leaky(x):
    if x > 0:
        return x
    return 0.1 * x


@triton.jit
def mapped_kernel(x, y, n, WRONG: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(y + i, tl.map_elementwise(leaky, values), mask=i < n + WRONG)


@pair("out-of-bounds", "" if hasattr(tl, "map_elementwise") else "tl.map_elementwise")
def a_function_of_each_element(wrong):
    """Wrong: the store's mask is one element too long."""
    x, y = torch.randn(20, device="cuda"), torch.empty(20, device="cuda")
    mapped_kernel[(2,)](x, y, 20, WRONG=wrong, BLOCK=16)
    return y, torch.nn.functional.leaky_relu(x, 0.1)
